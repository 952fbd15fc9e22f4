"""Directories for data that does not fit memory: they are checked before a charge, and nobody else may read them."""

from __future__ import annotations

import os
import shutil
from errno import EDQUOT, ENOSPC
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import Final

from tacit.errors import InvalidError

LEAST_FREE: Final = 64_000_000
"""The least free space in bytes; a disk with less is full for any query that does not fit memory."""

_PLACES = "temporary= in Python, TACIT_TEMPORARY, or temporary under [engine] in the policy"
_BLOCK = 4096


def check_directory(directory: Path) -> None:
    """Raise InvalidError unless a directory exists, a file can be written there, and its disk has room.

    No message shows the path: it may come from a variable of the environment.
    """
    problem = _problem(directory)
    if problem is not None:
        raise InvalidError(
            f"The temporary directory {problem}.", argument="temporary", hint=f"Name another directory ({_PLACES})."
        )


def _problem(directory: Path) -> str | None:
    """Return what is wrong with a directory, as the end of a sentence; None if it can be used."""
    try:  # a file is written, because rights do not show that a disk is read-only
        if not directory.is_dir():
            return "is not a directory" if directory.exists() else "does not exist"
        with TemporaryFile(dir=directory, prefix="tacit-") as file:
            file.write(bytes(_BLOCK))
            file.flush()
        is_full = shutil.disk_usage(directory).free < LEAST_FREE
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) not in (ENOSPC, EDQUOT):
            return "cannot be written to"
        is_full = True
    return f"is on a disk with less than {LEAST_FREE // 10**6} MB free" if is_full else None


def private_directory(directory: Path) -> Path:
    """Create a directory inside a given directory, which only this user can read, and return it.

    The files there hold private rows while a query runs.
    """
    check_directory(directory)
    return Path(mkdtemp(prefix="tacit-", dir=directory))


def remove(directory: Path, process: int) -> None:
    """Remove a directory with its files, if this is the process that created it: a forked child must not."""
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)
