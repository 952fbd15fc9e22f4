"""The PostgreSQL server of a ledger: it is the primary, it is the same one as before, and its standbys are safe.

**Standbys.** A standby that was promoted lacks the charges that it had not received. Their budget could be spent again.
PostgreSQL waits for a standby only if `synchronous_standby_names` names one; tacit's commits then wait for its disk.

* A server in recovery is refused, also to read: its totals may be old.
* If a server has standbys and none is synchronous, tacit warns whoever opens the ledger.
* If the server was promoted, or restored from a backup, since the ledger was last opened, tacit refuses the ledger
  until the steward accepts it. PostgreSQL starts a new *timeline* at each promotion and each restore to a point in
  time. The table `tacit_server` stores the server's identifier and its timeline.
* A process that has seen a record refuses a ledger without that record (`sql_ledger`). So a process knows that charges
  were lost even if the timeline is not known.

The timeline is compared in every transaction that writes. The name of the write-ahead file that PostgreSQL writes now
starts with it. The control file is not used: after a promotion it has the old timeline until the next checkpoint.

The table `tacit_server` is not part of the chain, and `verify`, `export` and `move` ignore it. A role that may not read
it, or a server without these functions, skips the comparison with the stored timeline.
"""

from __future__ import annotations

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from tacit.errors import LedgerError

ACCEPT = (
    "Check it with your latest receipt: `tacit ledger verify POLICY --receipt FILE`. If no charge is missing, accept "
    "it: `tacit ledger accept POLICY`, or accept=True in Python."
)

_IDENTITY = "SELECT system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()"
_READABLE = "SELECT has_table_privilege('tacit_server', 'SELECT')"
_OWNED = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_catalog.pg_class WHERE oid = to_regclass('tacit_head')"
_CREATE = (
    "CREATE TABLE IF NOT EXISTS tacit_server (place integer PRIMARY KEY CHECK (place = 1), identity text NOT NULL)"
)
_STORE = "INSERT INTO tacit_server VALUES (1, :identity) ON CONFLICT (place) DO UPDATE SET identity = EXCLUDED.identity"
_STANDBYS = (
    "SELECT current_setting('synchronous_standby_names') = '' AND EXISTS (SELECT FROM pg_catalog.pg_stat_replication)"
)


def prepare(connection: Connection, name: str, *, wait: float) -> None:
    """Before a write: wait for the disk at the commit, and set timeouts so that a dead client blocks nobody.

    Args:
        connection: a connection in a transaction that writes.
        name: the name of the ledger in messages.
        wait: the number of seconds to wait for a lock, or for a client that does nothing.
    """
    settings = {
        "synchronous_commit": "on",
        "lock_timeout": f"{wait * 1000:.0f}",
        "idle_in_transaction_session_timeout": f"{wait * 1000:.0f}",
    }
    calls = ", ".join(f"set_config('{setting}', '{value}', true)" for setting, value in settings.items())
    _refuse_standby(connection.exec_driver_sql(f"SELECT {calls}, pg_is_in_recovery()").one()[-1], name)


def check_primary(connection: Connection, name: str) -> None:
    """Raise LedgerError if the server is in recovery."""
    _refuse_standby(connection.exec_driver_sql("SELECT pg_is_in_recovery()").scalar_one(), name)


def _refuse_standby(is_in_recovery: object, name: str) -> None:
    if is_in_recovery:
        raise LedgerError(
            f"Ledger {name} is on a standby server, which may lack the newest charges.",
            hint="Name the primary server in the URL.",
        )


def identity(connection: Connection) -> str:
    """Return the server's identifier and its timeline, or an empty text if the server does not show them."""
    try:
        with connection.begin_nested():
            return str(connection.exec_driver_sql(_IDENTITY).scalar_one())
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        return ""


def check_unchanged(connection: Connection, before: str, name: str) -> None:
    """Raise LedgerError if the server is not the one whose identity this process knows."""
    check_same(str(connection.exec_driver_sql(_IDENTITY).scalar_one()), before, name)


def check_same(now: str, before: str, name: str) -> None:
    """Raise LedgerError if the server was replaced, promoted or restored."""
    if now and before and now != before:
        raise LedgerError(
            f"The server of ledger {name} was replaced, promoted from a standby, or restored from a backup since the "
            f"ledger was last opened (timeline {_timeline(before)} became {_timeline(now)}). Charges may be missing.",
            hint=ACCEPT,
        )


def _timeline(of: str) -> str:
    """Return the timeline of an identity, as PostgreSQL writes it.

    >>> _timeline("7709479098874710595/0000000A")
    '10'
    """
    try:
        return str(int(of.rpartition("/")[2], 16))
    except ValueError:
        return "unknown"


def check_stored(connection: Connection, now: str, name: str, *, accept: bool) -> bool:
    """Compare the server with the stored one, or store it; return whether it replaced an earlier server.

    Args:
        connection: a connection in a transaction that holds the lock of the head.
        now: the server's identity.
        name: the name of the ledger in messages.
        accept: whether the steward accepts another server.
    """
    if not now:
        return False
    readable = connection.exec_driver_sql(_READABLE).scalar_one() if _exists(connection) else None
    if readable is False:
        return False
    before = None if readable is None else connection.exec_driver_sql("SELECT identity FROM tacit_server").scalar()
    if before is not None and not accept:
        check_same(now, str(before), name)
    is_stored = before != now and _store(connection, now)
    if before not in (None, now) and not is_stored:
        raise LedgerError(
            f"Only the owner of the tables of ledger {name} can accept another server.", hint="Ask the data steward."
        )
    return is_stored and before is not None


def _exists(connection: Connection) -> bool:
    return connection.exec_driver_sql("SELECT to_regclass('tacit_server')").scalar() is not None


def _store(connection: Connection, now: str) -> bool:
    """Store the server, if this role owns the ledger; return whether it was stored."""
    if not connection.exec_driver_sql(_OWNED).scalar():
        return False
    connection.exec_driver_sql(_CREATE)
    connection.execute(text(_STORE), {"identity": now})
    return True


def has_unsafe_standbys(connection: Connection) -> bool:
    """Return whether the server has standbys and waits for none."""
    return bool(connection.exec_driver_sql(_STANDBYS).scalar_one())


def standby_warning(name: str) -> str:
    """Return the warning about standbys that are not synchronous."""
    return (
        f"The server of ledger {name} has a standby that is not synchronous. If the standby is promoted, the newest "
        "charges are lost, and their budget could be spent again. Set synchronous_standby_names on the server."
    )
