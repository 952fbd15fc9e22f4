"""Datasets: one for each policy file, opened once in each worker and opened again when its file changes.

The policy file is the truth, as it is for the command line. A worker checks the file at most once a second. If the
new policy cannot be opened, the dataset answers nothing until the file is right: the old policy might promise less.
A database that is replaced closes when its last question has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import Lock
from time import monotonic

from tacit import opening
from tacit.database import Database
from tacit.errors import InvalidError, TacitError, UnreadableFileError, show_name
from tacit.ledger.sql_ledger import SqlLedger
from tacit.query.policy.declaration import Policy
from tacit.query.policy.file import parse
from tacit.web.problems import Problem

LOGGER = logging.getLogger("tacit.web")
_LOOK_EVERY = 1.0


class OpenDataset:
    """A database that is open under one content of its policy file, and the number of its users."""

    def __init__(self, policy: Policy, version: str, database: Database) -> None:
        """Store what was opened."""
        self.policy, self.version, self.database = policy, version, database
        self._users, self._is_replaced, self._lock = 0, False, Lock()

    @property
    def ledger(self) -> SqlLedger:
        """The ledger."""
        ledger = self.database.ledger
        if not isinstance(ledger, SqlLedger):
            raise TypeError("a dataset has a ledger in a database")
        return ledger

    def enter(self) -> bool:
        """Count a user; return False if the database was replaced."""
        with self._lock:
            if self._is_replaced:
                return False
            self._users += 1
            return True

    def leave(self) -> None:
        """Count a user less, and close a database that was replaced."""
        with self._lock:
            self._users -= 1
            is_last = self._is_replaced and self._users == 0
        if is_last:
            self.database.close()

    def replace(self) -> None:
        """Close the database when its last user leaves."""
        with self._lock:
            self._is_replaced = True
            is_last = self._users == 0
        if is_last:
            self.database.close()


class Dataset:
    """A policy file and the database that is open under it."""

    def __init__(self, path: str) -> None:
        """Open the policy."""
        self.path = Path(path)
        self.name = self.path.stem
        self._lock, self._looked, self._seen = Lock(), 0.0, (0, 0)
        self._failure = False
        self._open = self._opened()

    @contextmanager
    def use(self) -> Iterator[OpenDataset]:
        """Open the policy again if its file changed, and keep the database open within."""
        one = self._current()
        while not one.enter():
            one = self._current()
        try:
            yield one
        finally:
            one.leave()

    @property
    def secrets(self) -> dict[str, str]:
        """The paths and URLs of the newest policy that could be opened; the file is not read again."""
        one = self._open
        tables = (*one.policy.tables.values(), *one.policy.public.values())
        sources = [str(table.source) for table in tables] + [str(table.location()) for table in tables]
        shown = dict.fromkeys(sources, "the source")
        shown |= {one.ledger.name: "the ledger", str(self.path): self.path.name}
        return shown | {f"{self.path.parent}/": ""}

    def look_again(self) -> None:
        """Check the file at the next use, after this process wrote it."""
        with self._lock:
            self._looked = 0.0

    def close(self) -> None:
        """Close the database after its last question."""
        self._open.replace()

    def _current(self) -> OpenDataset:
        with self._lock:
            if monotonic() - self._looked >= _LOOK_EVERY or self._looked == 0:
                self._look()
            if self._failure:
                raise Problem(
                    503,
                    "policy",
                    "The policy of this dataset cannot be opened.",
                    hint="Tell the data steward; the log of the server has the reason.",
                )
            return self._open

    def _look(self) -> None:
        """Open the policy again if its file changed."""
        self._looked = monotonic()
        try:
            if not self._failure and self._stamp() == self._seen:
                return
            if not self._failure and version_of(self._content()) == self._open.version:
                self._seen = self._stamp()
                return
            before, self._open, self._failure = self._open, self._opened(), False
            before.replace()
        except TacitError as error:
            if not self._failure:
                LOGGER.error("a policy cannot be opened dataset=%s reason=%s", self.name, error)  # noqa: TRY400 - no trace
            self._failure = True

    def _opened(self) -> OpenDataset:
        stamp, content = self._stamp(), self._content()
        policy = parse(content, self.path)
        if policy.ledger is None:
            raise InvalidError(
                f"The policy {show_name(self.path.name)} has no ledger.",
                argument="ledger",
                hint='Add a line such as ledger = "policy.ledger" above the first table.',
            )
        database = opening.open_policy(policy)
        self._seen, self._looked = stamp, monotonic()
        return OpenDataset(policy, version_of(content), database)

    def _stamp(self) -> tuple[int, int]:
        try:
            status = self.path.stat()
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_size

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError:
            raise UnreadableFileError(self.path.name, "the file cannot be read.", argument="policy") from None


def version_of(content: bytes) -> str:
    """Return the version of a policy file: the hash of its bytes."""
    return sha256(content).hexdigest()


class Datasets(Mapping[str, Dataset]):
    """The datasets of a server, by name: the stem of the policy's file."""

    def __init__(self, policies: Sequence[str]) -> None:
        """Open every policy."""
        self._all: dict[str, Dataset] = {}
        try:
            for path in policies:
                self._add(path)
        except BaseException:
            self.close()
            raise

    def _add(self, path: str) -> None:
        name = Path(path).stem
        if name in self._all:
            raise InvalidError(
                f"Two policies are called {show_name(name)}.", argument="policies", hint="Rename one of them."
            )
        self._all[name] = Dataset(path)

    def __getitem__(self, name: str) -> Dataset:
        """Return a dataset, or raise the problem 404."""
        if name not in self._all:
            raise Problem(404, "no-dataset", "There is no such dataset.", hint="GET /api/v1/datasets lists them.")
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._all)

    def __len__(self) -> int:
        """Return the number of datasets."""
        return len(self._all)

    def close(self) -> None:
        """Close all databases."""
        for dataset in self._all.values():
            dataset.close()

    def secrets(self) -> dict[str, str]:
        """Return the paths and URLs that no response may show, each with what it shows instead."""
        shown: dict[str, str] = {}
        for dataset in self._all.values():
            shown |= dataset.secrets
        return shown
