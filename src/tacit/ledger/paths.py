"""The paths of a ledger's file, recorded in the file, so that a log beside an earlier path is not forgotten.

SQLite writes charges to a log beside the file's path. If the file is renamed while a connection is open, or after a
process was killed, the log stays beside the old path, and the file alone lacks the newest charges. The table
`tacit_paths` therefore lists each path under which the file was ever charged. `LedgerFile.check_logs` refuses the file
while one of the other paths has a log.

The list helps only if it is in the file itself, not in the log that stays behind. A path is therefore recorded in three
steps, before anything is charged under it:

1. insert the path, with `in_file` = 0, and commit;
2. write the whole log back into the file, or stop;
3. set `in_file` to 1.

Who reads `in_file` = 1, from the file or from its log, knows that step 2 was completed. If a process is killed before
step 3, the next transaction repeats step 2. A transaction under a recorded path writes nothing.

The table is not part of the chain of records: `verify`, `export` and `import` ignore it, and so does version 0.1.0.
"""

from __future__ import annotations

from time import monotonic, sleep

from sqlalchemy import Connection

_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tacit_paths'"
_CREATE = "CREATE TABLE IF NOT EXISTS tacit_paths (path BLOB PRIMARY KEY, in_file INTEGER NOT NULL) WITHOUT ROWID"


def recorded_paths(connection: Connection) -> dict[bytes, bool]:
    """Return each recorded path, and whether it is known to be in the file itself; within a transaction."""
    if connection.exec_driver_sql(_EXISTS).first() is None:
        return {}
    rows = connection.exec_driver_sql("SELECT path, in_file FROM tacit_paths")
    return {path: in_file == 1 for path, in_file in rows if isinstance(path, bytes)}


def record_path(connection: Connection, path: bytes, wait: float) -> bool:
    """Record a path in the file; return False if a reader kept the log from being written back.

    Args:
        connection: a connection to the file, outside a transaction.
        path: the path, without symbolic links.
        wait: for how many seconds to repeat an attempt that others prevent.
    """
    with connection.begin():
        connection.exec_driver_sql(_CREATE)
        connection.exec_driver_sql("INSERT OR IGNORE INTO tacit_paths VALUES (?, 0)", (path,))
    until, pause = monotonic() + wait, 0.005
    while not _write_back(connection):
        if monotonic() > until:
            return False
        sleep(pause)
        pause = min(2 * pause, 0.25)
    with connection.begin():
        connection.exec_driver_sql("UPDATE tacit_paths SET in_file = 1 WHERE path = ?", (path,))
    return True


def _write_back(connection: Connection) -> bool:
    """Write the log back into the file and sync it; return whether all of it was written."""
    connection.execution_options(outside_transaction=True)
    try:
        with connection.begin():
            busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(FULL)").one()
    finally:
        connection.execution_options(outside_transaction=False)
    return bool(busy == 0)
