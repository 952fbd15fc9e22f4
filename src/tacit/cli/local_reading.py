"""How reports get from files into a tally: what is malformed or for other parameters is counted and dropped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt

from tacit.cli import local_files, local_frames
from tacit.errors import InvalidError, NoSourceError, SourceError
from tacit.local import Aggregator, Reports
from tacit.local.report_tables import parquet
from tacit.local.reports import NAMES, read_line

Step = Callable[[int], None]
Records = npt.NDArray[np.uint8]

_BATCH, _MANY = 1 << 22, 1 << 16  # bytes and messages that are added at once


@dataclass(slots=True)
class Strangers:
    """Reports that are well-formed, but made for other parameters: how many, and what the first was made for."""

    reports: int = 0
    first: str = ""

    def note(self, reports: int, name: str, digest: bytes) -> None:
        """Count some more."""
        self.reports += reports
        self.first = self.first or f"{name}{', ' if name else ''}digest {digest.hex()}"


class Reading:
    """Files being added to a tally."""

    def __init__(self, total: Aggregator, step: Step) -> None:
        """Begin with what the tally holds already."""
        self.total, self.step = total, step
        self.strangers = Strangers()
        self._n, self._dropped = total.n, total.dropped
        self._own = total.protocol.code, bytes.fromhex(total.protocol.digest)
        self._width = total.protocol.report_bytes

    def add(self, path: str) -> None:
        """Add a file of reports, or a tally of another machine."""
        if path.lower().endswith(".npz"):
            self.total.merge(local_files.read_tally(path, self.total.protocol))
        elif path.lower().endswith(".parquet"):
            self._add_parquet(path)
        elif local_files.is_lines(path):
            with _lines(path) as file:
                self.total.add_json_lines(self._looked_at(file))
        else:
            for some in self._messages(path):
                self.step(self.total.add(some))

    def require_some(self) -> None:
        """Raise if the files held reports, but not one that counts; or if there is nothing to estimate from.

        Raises:
            InvalidError: it says how many reports there were, and what they were made for.
        """
        dropped = self.total.dropped - self._dropped
        if self.total.n > self._n or (not dropped and self.total.n):
            return
        want = f"some that are made for these parameters ({local_files.named(self.total.protocol)})"
        raise InvalidError("reports", f"{self._none_of(dropped)}; no tally was saved", want)

    def _none_of(self, dropped: int) -> str:
        others, many = self.strangers.reports, f"{dropped:,} report{'s' * (dropped != 1)}"
        made = f"made for other parameters (the first: {self.strangers.first})"
        if not dropped:
            return "no report"
        if not others:
            return f"{many}, all malformed"
        return f"{many}, " + (
            f"all {made}" if others == dropped else f"{others:,} {made} and {dropped - others:,} malformed"
        )

    def _add_parquet(self, path: str) -> None:
        accepted = self.total.add_parquet(path)
        self.step(accepted)
        if not accepted:
            for many, digest in _digests(path):
                if digest.hex() != self.total.protocol.digest:
                    self.strangers.note(many, "", digest)

    def _looked_at(self, lines: Iterable[str]) -> Iterator[str]:
        own = self.total.protocol.digest
        for line in lines:
            self.step(1)
            if own not in line:
                self._look(line)
            yield line

    def _look(self, line: str) -> None:
        try:
            code, digest, _ = read_line(line)
        except InvalidError:
            return
        self.strangers.note(1, NAMES[code], digest)

    def _messages(self, path: str) -> Iterator[Reports]:
        """Give the reports of a file of messages, many at a time; count what is malformed or for other parameters."""
        held: list[Records] = []
        size = 0
        for message in local_frames.read(path):
            records = self._records(message)
            held.append(records)
            size += records.nbytes
            if size >= _BATCH or len(held) >= _MANY:
                yield from self._joined(held)
                held, size = [], 0
        yield from self._joined(held)

    def _records(self, message: memoryview) -> Records:
        """Return the records of a message; none, and count it, where it is malformed or for other parameters."""
        none = np.empty((0, self._width), dtype=np.uint8)
        try:
            some = Reports.from_bytes(message)
        except InvalidError:
            self.total.dropped += 1
            return none
        own = (some.code, some.digest) == self._own
        if own and some.width == self._width:
            return some.records
        if not own:
            self.strangers.note(len(some), some.protocol, some.digest)
        self.total.dropped += len(some)
        return none

    def _joined(self, held: list[Records]) -> Iterator[Reports]:
        code, digest = self._own
        records = held[0] if len(held) == 1 else np.concatenate(held) if held else np.empty((0, 1), dtype=np.uint8)
        many = max(1, _BATCH // self._width)
        for start in range(0, len(records), many):
            yield Reports(protocol=code, digest=digest, records=records[start : start + many])


@contextmanager
def _lines(path: str) -> Iterator[TextIO]:
    """Open JSON lines; a line that is no text becomes one that is malformed."""
    try:
        if path == "-":
            if hasattr(sys.stdin, "reconfigure"):
                sys.stdin.reconfigure(errors="replace")
            yield sys.stdin
        else:
            with Path(path).open(encoding="utf-8", errors="replace") as file:
                yield file
    except OSError:
        raise NoSourceError(f"{path!r}, which cannot be read", "a file of reports that can be read") from None


def _digests(path: str) -> list[tuple[int, bytes]]:
    """Return how many rows of a Parquet file there are for each set of parameters."""
    import duckdb  # noqa: PLC0415 - heavy

    connection, source = parquet(path)
    try:
        with connection:
            found = connection.execute(
                f"SELECT count(*), parameters FROM {source} WHERE octet_length(parameters) = 16 GROUP BY parameters"  # noqa: S608 - its path is quoted
            ).fetchall()
    except duckdb.Error:
        raise SourceError("The file of reports could not be read; nothing was added. Check the file.") from None
    return [(int(many), bytes(digest)) for many, digest in found]
