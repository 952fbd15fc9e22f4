"""What a database's failures mean to people, without a word of its own, which could quote what is in it."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

_AGAIN = "then ask again."
_COPY = "Put a copy back, and hold it against your latest receipt: `tacit ledger POLICY verify --receipt FILE`."
_LEAVE = f"Have its owner give you leave to write, {_AGAIN}"

_READ_ONLY = "cannot be written: it, its folder or its server is read-only", _LEAVE
_LOCKED = "is locked by another program, which did not let go of it within {wait:g} s", f"End that program, {_AGAIN}"
_FULL = "cannot be written: the disk is full", f"Make room, {_AGAIN}"
_AWAY = "could not be reached", f"See that its server runs and that its URL, user and password are right, {_AGAIN}"
_CUT = "could not be reached: its server ended the connection", f"Wait until it runs again, {_AGAIN}"
_DAMAGED = "is damaged", _COPY

_FOREIGN = "is no ledger: the file is something else", f"If it was one, it is damaged. {_COPY} Else name another file."
_GONE = (
    "cannot be opened: it is gone, or its folder may not be written",
    f"Look at its path and permissions, {_AGAIN} If it was removed: {_COPY}",
)
_DOUBTFUL = (_DAMAGED[0], _FOREIGN[0], _GONE[0])
"""Of these nobody can say that no charge is lost."""

_FILE = {
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
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
    "55P03": _LOCKED,
    "08": _AWAY,
    "57": _CUT,
    "25P03": _CUT,
    "53": ("could not be reached: its server has no room for more connections", f"Wait a little, {_AGAIN}"),
    "XX": _DAMAGED,
}
_UNKNOWN = "could not be used: it is not as it should be", _COPY


def said(error: SQLAlchemyError, wait: float) -> str:
    """Return the rest of a sentence that begins with the ledger's name.

    Args:
        error: the failure.
        wait: for how many seconds one waits for a lock.
    """
    what, then = _meaning(error)
    lost = "" if what in _DOUBTFUL else ", and no charge that was recorded is lost"
    return f"{what.format(wait=wait)}. Nothing was answered{lost}. {then}"


def _meaning(error: SQLAlchemyError) -> tuple[str, str]:
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
