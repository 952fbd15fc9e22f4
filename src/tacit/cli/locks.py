"""One run at a time: a lock beside a file, which the system takes back from a process however that ends.

The lock is on a file of its own, since the file that is meant is replaced as a whole. Whoever has the lock removes that
file at the end. One that a killed process left is in nobody's way: it is taken, and removed like any other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from tacit.cli.show import say
from tacit.errors import SourceError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PATIENCE = 1.0
"""After how many seconds of waiting one says so."""

_PAUSE = 0.02
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def alone(path: str, *, quiet: bool = False) -> Iterator[None]:
    """Keep other runs from changing a file; wait for one that is at it, and say so after a second.

    Args:
        path: the file that is read, changed and replaced in between; it need not be there.
        quiet: whether waiting is not to be told.

    Raises:
        SourceError: the folder or its disk cannot have a lock.
    """
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    try:
        held = _taken(lock, "" if quiet else path)
    except OSError:
        raise SourceError(
            f"{path!r} could not be locked against other runs, which would lose what one of them adds; nothing was "
            f"added, and the file is as it was. See that {lock.name!r} can be made beside it, on a disk with locks."
        ) from None
    try:
        yield
    finally:
        _let_go(held, lock)


def _taken(lock: Path, told: str) -> int:
    """Wait for a lock and return its open file; `told` is what to call the file that another run is at."""
    patient = monotonic() + _PATIENCE
    while True:
        file = os.open(lock, _FLAGS, 0o666)
        try:
            if _locked(file) and _is_at(file, lock):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        if told and monotonic() > patient:
            say(f"Another run is adding to {told!r}; this one waits until it is done, and adds to what it leaves.")
            told = ""
        sleep(_PAUSE)


def _is_at(file: int, lock: Path) -> bool:
    """Return whether an open file is the one of that name still: who had the lock before has removed theirs."""
    try:
        return os.path.samestat(os.fstat(file), lock.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def _locked(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _let_go(file: int, lock: Path) -> None:
        os.close(file)
        with suppress(OSError):  # another run has it open, and removes it
            lock.unlink()

else:

    def _locked(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _let_go(file: int, lock: Path) -> None:
        with suppress(OSError):  # a folder that is gone
            lock.unlink()
        os.close(file)
