"""Locks on the inode of a ledger's file: all running transactions on one file use the same name.

SQLite locks the file itself, but its write-ahead log and the index of that log are beside the *name*. Two names of one
file (a second hard link, a file mounted at a second path) have two logs, and neither side sees the other's charges.

**Statement.** Every transaction on one file uses one write-ahead log: transactions that run at the same time share it.
A transaction that uses another name finds all earlier charges in the file itself, or is refused.

**At the same time.** A name is the device and inode of its folder and the file's own name, without case. Each name is
mapped to one byte far beyond the end of the file (and beyond the bytes that SQLite locks). A process opens the file,
takes a shared lock on the byte of its name, *and then* asks whether any other byte of the range is locked. If so, it
refuses. The kernel takes locks one after the other. Of two processes with two names, the later to lock therefore sees
the earlier lock, so at most one of them continues. The lock is held until the process's last connection is closed.
Names collide with probability 2^-60, and then only this lock misses them.

No exclusive lock is needed for writers: with one name, SQLite's own write lock, which is beside the name, excludes
them from each other.

**One after the other.** SQLite writes the log back into the file when the last connection closes, unless two
connections close at the same moment and each sees the other. Connections are therefore closed under an exclusive lock
on one more byte. The last to close then finds no other connection, and leaves no log.

A log still stays beside a name if a process is killed, if the disk is full, if the last to close may not write the
file, or if the file was renamed while a connection was open: SQLite does not write back into a renamed file at its
close. The file therefore lists its paths (see `ledger_file`). A path is in the file itself before anything is charged
under it, and each transaction looks for logs beside the other paths. While a name is locked, no other name is in use,
so no log appears between that check and the end of the transaction.

**Closing descriptors.** When a process closes any descriptor of a file, POSIX drops all its classic locks on that file,
SQLite's too; another process could then delete a log in use. Each inode therefore has one entry per process, which
counts the running transactions; its descriptors are closed after the last connection. The locks here are those of open
file descriptions, which no other descriptor affects.

**Forks.** A child has copies of the descriptors and none of the classic locks. It closes the copies: this drops no lock
of the parent, which still has the open file description. SQLite's own memory still says that the child holds the
locks of a transaction that ran during the fork, so the child refuses to use that file.

**Not covered.** Systems other than Linux, which have no such locks (the checks of links and of logs in `ledger_file`
remain). A log that this process cannot see: it was deleted, or its path is in another container. A log beside a path
at which there is another file by now, since the log may belong to that file. A log that version 0.1.0 left behind,
since it recorded no paths. A program that opens the file with SQLite itself, in this process.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import EACCES, EAGAIN, EINVAL, EPERM, EROFS
from hashlib import blake2b
from pathlib import Path
from threading import Lock, RLock
from time import monotonic, sleep
from typing import NamedTuple
from unicodedata import normalize

if sys.platform == "linux":
    import fcntl

Inode = tuple[int, int]
"""The device and the number of a file."""


class Failure(NamedTuple):
    """A failure of a ledger: a fact that completes "Ledger X …", without a period, and a hint."""

    fact: str
    hint: str


class FileUseError(Exception):
    """The file of a ledger must not be used."""

    def __init__(self, failure: Failure) -> None:
        """Store the failure."""
        super().__init__(*failure)
        self.failure = failure


_OTHER_NAME = Failure(
    "is in use under another name, which could have charges that this name does not see",
    "Use one path in all programs and containers. Mount the folder that holds the ledger, not the file.",
)
_FORKED = Failure(
    "was in use by another thread when this process was forked",
    "Start processes while no query runs, or with the method 'spawn'.",
)

_FIRST, _COUNT = 2**61, 2**60
"""The range of bytes for names. SQLite locks bytes from 2^30 on."""

_CLOSING = _FIRST - 1
"""The byte that is locked while a connection is closed."""

_PATIENCE = 60.0
"""The number of seconds to wait for others that close; then the connection is closed anyway."""

_FLOCK = "hhqqi0q"
"""C's struct flock: type, origin, start, length, process, and the padding at its end."""


@dataclass(eq=False, slots=True)
class Use:
    """The use of one file by this process: its descriptors, the byte of its name, its running transactions."""

    inode: Inode
    descriptors: list[int]
    name: int | None = None
    transactions: int = 0
    closing: Lock = field(default_factory=Lock)


_USES: dict[Inode, Use] = {}
_INHERITED: set[Inode] = set()
_GUARD = RLock()


def inode_of(status: os.stat_result) -> Inode:
    """Return the device and the number of the file of a status."""
    return status.st_dev, status.st_ino


def enter(path: str, *, create: bool) -> Use:
    """Start a transaction on a file by a name.

    Args:
        path: the file's path without symbolic links.
        create: whether to create the file if it does not exist.

    Raises:
        FileUseError: another name of the file is in use.
        OSError: the file cannot be opened.
    """
    with _GUARD:
        use = _current_use(path) or _new_use(path, create=create)
        use.transactions += 1
        try:
            _claim(use, byte_of(path))
        except BaseException:
            leave(use)
            raise
        return use


def leave(use: Use) -> None:
    """End a transaction, after its connection was closed."""
    with _GUARD:
        use.transactions -= 1
        if use.transactions == 0 and _USES.get(use.inode) is use:
            del _USES[use.inode]
            for descriptor in use.descriptors:
                os.close(descriptor)


@contextmanager
def closing(inode: Inode | None) -> Iterator[None]:
    """Hold the lock under which connections to a file are closed."""
    use = None if inode is None else _USES.get(inode)
    if use is None:
        yield
        return
    with use.closing:
        locked = _lock_closing(use.descriptors[0])
        try:
            yield
        finally:
            if locked:
                _command(use.descriptors[0], fcntl.F_OFD_SETLK, fcntl.F_UNLCK, _CLOSING, 1)


def _current_use(path: str) -> Use | None:
    try:
        return _USES.get(inode_of(Path(path).stat()))
    except FileNotFoundError:
        return None


def _new_use(path: str, *, create: bool) -> Use:
    """Open a file. If a rename put it into use just now, the descriptor stays open as long as the others."""
    descriptor = _open(path, create=create)
    inode = inode_of(os.fstat(descriptor))
    use = _USES.setdefault(inode, Use(inode, []))
    use.descriptors.append(descriptor)
    return use


def _open(path: str, *, create: bool) -> int:
    """Open a file to read and write, or only to read if writing is not permitted; child programs do not inherit it."""
    try:
        return os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o644)
    except OSError as error:
        if error.errno not in (EACCES, EPERM, EROFS):
            raise
    return os.open(path, os.O_RDONLY)


def byte_of(path: str) -> int:
    """Return the byte of a name. Names that some file systems treat as equal have the same byte."""
    folder, name = os.path.split(path)
    device, number = inode_of(Path(folder).stat())
    folded = normalize("NFD", normalize("NFD", name).casefold())
    digest = blake2b(f"{device} {number} {folded}".encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return _FIRST + int.from_bytes(digest) % _COUNT


def _claim(use: Use, name: int) -> None:
    """Lock the byte of a name, then check that no other is locked; or raise FileUseError."""
    if use.inode in _INHERITED:
        raise FileUseError(_FORKED)
    if use.name is None and _is_only_name(use.descriptors[0], name):
        use.name = name
    if use.name != name:
        raise FileUseError(_OTHER_NAME)


def _is_only_name(descriptor: int, name: int) -> bool:
    """Lock the byte of a name, and return whether no other byte is locked."""
    if sys.platform != "linux":
        return True
    try:
        _command(descriptor, fcntl.F_OFD_SETLK, fcntl.F_RDLCK, name, 1)
    except OSError as error:
        if error.errno == EINVAL:  # a kernel without such locks
            return True
        raise
    below, above = (_FIRST, name - _FIRST), (name + 1, _FIRST + _COUNT - name - 1)
    return all(
        _command(descriptor, fcntl.F_OFD_GETLK, fcntl.F_WRLCK, start, length) == fcntl.F_UNLCK
        for start, length in (below, above)
        if length  # 0 would mean: up to the end
    )


def _lock_closing(descriptor: int) -> bool:
    """Wait for the lock on closing, and return whether this process holds it."""
    if sys.platform != "linux":
        return False
    until, pause = monotonic() + _PATIENCE, 0.0005
    while monotonic() < until:
        try:
            _command(descriptor, fcntl.F_OFD_SETLK, fcntl.F_WRLCK, _CLOSING, 1)
        except OSError as error:
            if error.errno not in (EACCES, EAGAIN):  # a reader may not take it, and old kernels have no such lock
                return False
        else:
            return True
        sleep(pause)
        pause = min(2 * pause, 0.02)
    return False


def _command(descriptor: int, command: int, kind: int, start: int, length: int) -> int:
    """Run a lock command, and return the type of lock that the kernel reports."""
    reply = fcntl.fcntl(descriptor, command, struct.pack(_FLOCK, kind, os.SEEK_SET, start, length, 0))
    return int(struct.unpack(_FLOCK, reply)[0])


def _after_fork() -> None:
    """Close a parent's descriptors in its child, and refuse files whose transactions ran during the fork."""
    _INHERITED.update(_USES)
    for use in _USES.values():
        for descriptor in use.descriptors:
            os.close(descriptor)
        use.descriptors.clear()
    _USES.clear()
    _GUARD.release()


if sys.platform != "win32":
    os.register_at_fork(before=_GUARD.acquire, after_in_parent=_GUARD.release, after_in_child=_after_fork)
