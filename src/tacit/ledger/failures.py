"""What a database's failures mean to people, without a word of its own, which could quote what is in it."""

from __future__ import annotations

import sqlite3
from errno import EDQUOT, ENOLCK, ENOSPC, ENOSYS, EOPNOTSUPP

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

_AGAIN = "then ask again."
_VERIFY = "`tacit ledger POLICY verify --receipt FILE`"
_COPY = f"Put a copy back, and hold it against your latest receipt: {_VERIFY}."
_LEAVE = f"Have its owner give you leave to write, {_AGAIN}"

_READ_ONLY = "cannot be written: it, its folder or its server is read-only", _LEAVE
LOCKED = "is locked by another program, which did not let go of it within {wait:g} s", f"End that program, {_AGAIN}"
_FULL = "cannot be written: the disk is full", f"Make room, {_AGAIN}"
_AWAY = "could not be reached", f"See that its server runs and that its URL, user and password are right, {_AGAIN}"
_CUT = "could not be reached: its server ended the connection", f"Wait until it runs again, {_AGAIN}"
_DAMAGED = "is damaged", _COPY

_FOREIGN = "is no ledger: the file is something else", f"If it was one, it is damaged. {_COPY} Else name another file."
_GONE = (
    "is not there, or its folder is not writable",
    f"If it was renamed, open it by the new name. If it was deleted, restore a copy and check it: {_VERIFY}.",
)
_NO_LOCKS = "cannot be locked: its file system has no locks", f"Move it to a local disk, {_AGAIN}"

_RENAMED = "If its folder or file was renamed, open it by the new name; a `-wal` file beside it belongs to it."
LINKED = (
    "has more than one name (hard link), and each name would have its own list of charges",
    "Remove the other names; `find FOLDER -samefile FILE` lists them. Then run `tacit ledger POLICY verify`.",
)
MOUNTED = (
    "is mounted as a single file. Another name could hold newer charges",
    "Mount its folder, then run `tacit ledger POLICY verify`.",
)
OTHER_NAME = (
    "is in use under another name, which could have charges that this name does not see",
    "Use one path in all programs and containers; mount the folder that holds the ledger, not the file.",
)
REPLACED = (
    "was replaced by another file since it was opened",
    f"If you replaced it on purpose, open it again and check it with your latest receipt. {_RENAMED}",
)
MOVED = "was moved while the charge was written, so the charge may be recorded or lost", _RENAMED
FORKED = (
    "was in use by another thread when this process was forked",
    "Start processes while no question runs, or with the method 'spawn'.",
)
NO_FILE_FOR_LOG = (
    "is not there, but a log (`-wal`) with charges is beside its path; a new ledger would delete the log",
    "If the ledger was renamed, rename it back. If it is lost, move the log elsewhere, then restore a copy.",
)
NOT_A_FILE = "is not a regular file", "Name a file."

_DOUBTFUL = (_DAMAGED[0], _FOREIGN[0], _GONE[0])
"""Of these nobody can say that no charge is lost."""

_FILE = {
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_CANTOPEN: _GONE,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _FOREIGN,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: ("could not be read or written: the disk is full or fails", f"Look at the disk, {_AGAIN}"),
}
_SERVER = {
    "42501": ("may not be used by this user of its server", _LEAVE),
    "25006": _READ_ONLY,
    "53100": _FULL,
    "55P03": LOCKED,
    "08": _AWAY,
    "57": _CUT,
    "25P03": _CUT,
    "53": ("could not be reached: its server has no room for more connections", f"Wait a little, {_AGAIN}"),
    "XX": _DAMAGED,
}
_SYSTEM = {ENOSPC: _FULL, EDQUOT: _FULL, ENOLCK: _NO_LOCKS, ENOSYS: _NO_LOCKS, EOPNOTSUPP: _NO_LOCKS}
_UNKNOWN = "could not be used: it is not as it should be", _COPY


class FileUseError(Exception):
    """Why the file of a ledger cannot be used: a fact and a hint."""

    def __init__(self, meaning: tuple[str, str]) -> None:
        """Keep the fact and the hint."""
        super().__init__(*meaning)
        self.meaning = meaning


def said(error: SQLAlchemyError | OSError | FileUseError, wait: float) -> str:
    """Return the rest of a sentence that begins with the ledger's name.

    Args:
        error: the failure.
        wait: for how many seconds one waits for a lock.
    """
    what, then = _meaning(error)
    fact = what.replace("{wait:g}", f"{wait:g}")  # not str.format: a path may have braces
    return f"{fact}. {_effect(error, what)} {then}"


def _effect(error: SQLAlchemyError | OSError | FileUseError, what: str) -> str:
    """Return the sentence that says what the failure left undone; all checks of a file but one precede the charge."""
    if isinstance(error, FileUseError):
        return "Nothing was answered." if error.meaning == MOVED else "Nothing was spent."
    lost = "" if what in _DOUBTFUL else ", and no charge that was recorded is lost"
    return f"Nothing was answered{lost}."


def shared(kind: str) -> tuple[str, str]:
    """Return the meaning of a ledger on a file system that spans machines.

    Args:
        kind: the type of the file system.
    """
    return (
        f"is on a file system ({kind}) that several machines can write, which do not see each other's newest charges",
        "Keep it on a local disk (in a container: in a volume of its engine), or in PostgreSQL by a postgresql:// URL.",
    )


def left_behind(earlier: str, path: str) -> tuple[str, str]:
    """Return the meaning of a log that stayed beside an earlier path of a ledger.

    Args:
        earlier: the earlier path.
        path: the path now.
    """
    fact = f"had the path {earlier} before, and its newest charges are still in {earlier}-wal"
    hint = (
        f"End all programs that use it. If it was renamed, rename {earlier}-wal to {path}-wal, or rename the ledger "
        f"back. If {earlier} is still a name of it, open it by that name. Then run `tacit ledger POLICY verify`."
    )
    return fact, hint


def _meaning(error: SQLAlchemyError | OSError | FileUseError) -> tuple[str, str]:
    if isinstance(error, FileUseError):
        return error.meaning
    if isinstance(error, OSError):
        return _SYSTEM.get(error.errno or 0, _GONE)
    return _database_meaning(error)


def _database_meaning(error: SQLAlchemyError) -> tuple[str, str]:
    cause = error.orig if isinstance(error, DBAPIError) else None
    code, state = getattr(cause, "sqlite_errorcode", None), getattr(cause, "sqlstate", None)
    if isinstance(error, IntegrityError):
        return _UNKNOWN
    if isinstance(code, int):
        return _FILE.get(code & 0xFF, _UNKNOWN)
    if isinstance(state, str):
        return _SERVER.get(state) or _SERVER.get(state[:2], _UNKNOWN)
    if isinstance(error, DBAPIError) and (error.connection_invalidated or type(cause).__name__ == "OperationalError"):
        return _AWAY
    return _UNKNOWN
