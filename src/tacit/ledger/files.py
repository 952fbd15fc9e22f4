"""The file of a ledger: which file it is, and what is checked before each transaction on it.

SQLite writes charges to a log beside the file's name. A file that has two names has two logs, and could be spent twice.
A transaction is therefore refused if

* the file has more than one hard link;
* the file itself, not its folder, is a mount point (Linux), as when a container mounts a single file;
* its file system spans machines (Linux), since SQLite's log needs shared memory on one machine;
* another name of the file is in use at the moment (Linux; see `locks`);
* the path leads to another file than when the ledger was opened;
* a log is beside the path but no file, or beside an earlier path of the file (see `paths`).

All but the third are checked again in every transaction before anything is charged; links and the file's identity also
after the write lock was taken. A link or a mount that is made later is refused when its name is used. Symbolic links
are resolved first, as SQLite does, so that they are no second name. After a commit the path is checked once more:
SQLite does not write the log back into a file that has moved, so the question is not answered then.

FAT and some file systems of user programs give a file another number after a while. A ledger there can be refused as
replaced; it works again when it is opened again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from stat import S_ISREG

from tacit.errors import LedgerError
from tacit.ledger import locks
from tacit.ledger.failures import (
    LINKED,
    MOUNTED,
    MOVED,
    NO_FILE_FOR_LOG,
    NOT_A_FILE,
    REPLACED,
    FileUseError,
    left_behind,
    said,
    shared,
)
from tacit.ledger.mounts import is_mount_point, shared_file_system


class LedgerFile:
    """A path, and the file that was there when the ledger was opened or made."""

    def __init__(self, path: Path, named: str) -> None:
        """Remember the file at a path, if there is one, and check it; raise LedgerError if it must not be used.

        Args:
            path: an absolute path.
            named: what people call it.
        """
        self.path, self._named = path, named
        self._inode: locks.Inode | None = None
        with self._ledger_errors():
            kind = shared_file_system(os.path.realpath(path))
            if kind is not None:
                raise FileUseError(shared(kind))
            if path.exists():
                self._inode = _inode_of_regular(path)
                _check_mount(os.path.realpath(path))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the file's name for a transaction, which opens its connection, calls `check`, and closes within."""
        if self._inode is not None:
            self.check()
        with self._ledger_errors():
            real = os.path.realpath(self.path)
            _check_mount(real)
            _check_log_has_file(real)
            use = locks.enter(real, create=self._inode is None)
        try:
            self._inode = self._inode or use.inode
            yield
        finally:
            locks.leave(use)

    def closing(self) -> AbstractContextManager[None]:
        """Let nobody else close a connection to the file meanwhile; within `transaction`."""
        return locks.closing(self._inode)

    def check(self) -> None:
        """Raise LedgerError unless the path leads to the same file, which has one link."""
        with self._ledger_errors():
            if _inode_of_regular(self.path) != self._inode:
                raise FileUseError(REPLACED)

    @property
    def real_path(self) -> bytes:
        """The path without symbolic links, as the file system has it."""
        return os.fsencode(os.path.realpath(self.path))

    def check_logs(self, paths: Iterable[bytes]) -> None:
        """Raise LedgerError if a log stayed beside an earlier path of the file; within `transaction`.

        Args:
            paths: the recorded paths of the file, without symbolic links.
        """
        now = os.fsdecode(self.real_path)
        with self._ledger_errors():
            for earlier in map(os.fsdecode, paths):
                if earlier != now and _has_log(earlier) and not self._is_log_of_another(earlier, now):
                    raise FileUseError(left_behind(earlier, now))

    def _is_log_of_another(self, earlier: str, now: str) -> bool:
        """Return whether the log beside an earlier path belongs to another file, or is the log beside this path."""
        status = _status(earlier)
        if status is None or status.st_size == 0:
            return False
        return locks.inode_of(status) != self._inode or locks.byte_of(earlier) == locks.byte_of(now)

    def check_after_commit(self) -> None:
        """Raise LedgerError if the file was moved while a charge was written."""
        try:
            inode = locks.inode_of(self.path.stat())
        except OSError:
            inode = None
        with self._ledger_errors():
            if inode != self._inode:
                raise FileUseError(MOVED)

    @contextmanager
    def _ledger_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, FileUseError) as error:
            raise LedgerError(f"The ledger {self._named} {said(error, 0)}") from None


def _inode_of_regular(path: Path) -> locks.Inode:
    """Return which file a path leads to; raise FileUseError if it is not a regular file with one link."""
    status = path.stat()
    if not S_ISREG(status.st_mode):
        raise FileUseError(NOT_A_FILE)
    if status.st_nlink > 1:
        raise FileUseError(LINKED)
    return locks.inode_of(status)


def _status(path: str) -> os.stat_result | None:
    """Return the status of a path, or None if there is nothing that this process can see."""
    try:
        return os.stat(path)  # noqa: PTH116 - a path of another machine need not be one here
    except (OSError, ValueError):
        return None


def _has_log(real: str) -> bool:
    """Return whether a log that is not empty is beside a path."""
    status = _status(f"{real}-wal")
    return status is not None and status.st_size > 0


def _check_log_has_file(real: str) -> None:
    """Raise FileUseError if a log is beside a path without a ledger: SQLite would delete it with its charges.

    SQLite writes the first page of a new file before its log, so the log is looked for first.
    """
    if _has_log(real):
        status = _status(real)
        if status is None or status.st_size == 0:
            raise FileUseError(NO_FILE_FOR_LOG)


def _check_mount(real: str) -> None:
    """Raise FileUseError if a path without symbolic links is a mount point."""
    if is_mount_point(real):
        raise FileUseError(MOUNTED)
