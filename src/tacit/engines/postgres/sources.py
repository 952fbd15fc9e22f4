"""Where PostgreSQL keeps rows: how a server is reached, which table is meant, and whether its reader may only read.

The URL is for the driver alone, which also knows environment variables, service files and password files; nothing of it
is ever shown. Of a table only the catalog is read here, never a row.

Refused are a role that could change the table or see everything (see `postgres_rights`), a table of which the role sees
only some rows, a view, since it may fail on a row or run somebody's functions, and a foreign table, whose rows another
server computes. A materialized view holds rows like a table, and is opened. A column that is computed while it is read
may fail on a row like a view; it cannot be used.
"""
# ruff: noqa: S608 - every part of these texts is our own, or a quoted name

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, LiteralString

from tacit.engines.postgres.privileges import FOREIGN, ROLE, check_rights, check_role
from tacit.engines.postgres.table_names import OPENED, Relation, meant, plain, quoted, spelled
from tacit.errors import InvalidError, NoSourceError, SourceError, TableNotNamedError, show
from tacit.query.policy.locations import scheme
from tacit.query.policy.toml_lines import string

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

SCHEMES = ("postgresql", "postgres")
UNREACHED = (
    "The PostgreSQL server could not be reached; nothing was read or spent. See that it runs, that host and port are "
    "right, in the URL, the environment (PGHOST, PGPORT) or the service file, and that a service that is named exists. "
    "What the driver said is not shown, nor is the URL."
)
NO_ENTRY = (
    "The PostgreSQL server answered, but did not let this user in; nothing was read or spent. See that database, user "
    "and password are right, in the URL, the environment (PGUSER, PGPASSWORD …), the service file or the password "
    "file, and that the server's pg_hba.conf allows this machine. What the server said is not shown, nor is the URL."
)
NO_CREDENTIALS = (
    "The PostgreSQL server asks for a password, and there is none; nothing was read or spent. Put it into the password "
    "file (~/.pgpass), the service file or the environment (PGPASSWORD), rather than into the URL."
)
NO_DRIVER = (
    "A table in PostgreSQL needs the package psycopg; nothing was read or spent. Install it with: pip install "
    "'tacit[postgres]'"
)
_URL = "a URL such as postgresql://user@host/database or postgresql:///?service=name"
_REACH = 15
_OLDEST = 16
_MOST_NAMES = 20
_LONG_NUMBER = 4000
_ALIVE = {
    "connect_timeout": _REACH,
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
    "application_name": "tacit",
    "client_encoding": "UTF8",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A table of a server: its number there, its names, and its columns' types, as `postgres_casts` calls them."""

    number: int
    schema: str
    name: str
    types: Mapping[str, str]
    lockable: bool

    @property
    def named(self) -> str:
        """The table's name in SQL."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def told(self) -> str:
        """The table's name as a policy writes it."""
        return f"{plain(self.schema)}.{plain(self.name)}"

    @property
    def lock(self) -> str:
        """What keeps the table as it is until the transaction ends; LOCK comes before the transaction's state is fixed.

        Where the role may only read some columns, or the rows are those of a materialized view, LOCK is not allowed.
        """
        return f"LOCK TABLE {self.named} IN ACCESS SHARE MODE" if self.lockable else f"SELECT FROM {self.named} LIMIT 0"

    def is_kept_by(self, now: Place) -> bool:
        """Whether a table has all columns of this one, of the same types, and can be locked if this one can."""
        return self.types.items() <= now.types.items() and (now.lockable or not self.lockable)

    @property
    def written(self) -> str:
        """How the table is written after FROM: with those columns alone that can be used."""
        columns = ", ".join(map(quoted, self.types)) or "TRUE"
        return f"(SELECT {columns} FROM {self.named}) AS held"


class Url:
    """A URL, which is for the driver alone: whatever shows an engine or its attributes does not show it."""

    __slots__ = ("reveal",)

    def __init__(self, written: str) -> None:
        """Keep it where neither `vars` nor `repr` nor a pickle finds it."""
        self.reveal: Callable[[], str] = lambda: written

    def __repr__(self) -> str:
        """Return that it is not shown."""
        return "<a URL that is not shown>"


def checked_url(source: object) -> Url:
    """Return a source that is a URL of PostgreSQL, or raise NoSourceError, which shows its scheme alone."""
    if not isinstance(source, str) or scheme(source) not in SCHEMES:
        found = scheme(source) if isinstance(source, str) else None
        raise NoSourceError(f"of type {type(source).__name__}" if found is None else f"the URL {found}://…", _URL)
    psycopg = driver()
    try:
        psycopg.conninfo.conninfo_to_dict(source)
        readable = "\0" not in source
    except (psycopg.Error, UnicodeError):
        readable = False
    if not readable:
        raise NoSourceError(f"the URL {scheme(source)}://…, which cannot be read", _URL)
    return Url(source)


def driver() -> Any:  # noqa: ANN401 - a module
    """Return psycopg, or raise SourceError with what to install."""
    try:
        import psycopg  # noqa: PLC0415 - it is an extra
        import psycopg.types.numeric  # noqa: PLC0415 - as above
    except ImportError:
        raise SourceError(NO_DRIVER) from None
    return psycopg


def connected(url: Url) -> Connection:
    """Return a new connection, or raise SourceError with a constant text."""
    psycopg, connection, failed = driver(), None, UNREACHED
    try:
        given = psycopg.conninfo.conninfo_to_dict(url.reveal())
        terms = {name: value for name, value in _ALIVE.items() if name not in given or name in _PINNED}
        connection = psycopg.connect(url.reveal(), **terms, prepare_threshold=None, cursor_factory=psycopg.RawCursor)
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.adapters.register_loader("numeric", _whole_loader())
    except Exception as error:  # noqa: BLE001 - whatever it says may quote the URL
        failed = _why(error)
    if connection is None:  # outside of `except`, so that not even the context carries the driver's text
        raise SourceError(failed)
    return connection  # type: ignore[no-any-return]  # the driver is loaded at run time


def _why(error: Exception) -> str:
    """Return which of three constant texts fits: a driver tells how far it came only in its words."""
    if getattr(getattr(error, "pgconn", None), "needs_password", False):
        return NO_CREDENTIALS
    return NO_ENTRY if "FATAL:" in str(error) else UNREACHED


_PINNED = ("application_name", "client_encoding")
_SETTINGS = {
    "search_path": "pg_catalog",
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "row_security": "off",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "jit": "off",
    "work_mem": "64MB",
    "lock_timeout": "60s",
    "idle_in_transaction_session_timeout": "600s",
}


def pinned(timeout: float) -> str:
    """Return what pins, in a transaction, all settings that could change a result or let it wait forever."""
    settings = {**_SETTINGS, "statement_timeout": f"{max(1, round(timeout * 1000))}ms"}
    return "; ".join(f"SET LOCAL {name} TO '{value}'" for name, value in settings.items())


def _whole_loader() -> type:
    psycopg = driver()

    class Whole(psycopg.adapt.Loader):  # type: ignore[name-defined, misc]  # the driver is loaded at run time
        """Reads a NUMERIC as an integer if it is written as one and not too long for that, else as a Decimal."""

        def load(self, data: bytes) -> int | Decimal:
            text = bytes(data).decode()
            return int(text) if text.lstrip("-").isdecimal() and len(text) < _LONG_NUMBER else Decimal(text)

    return Whole


def check_server(connection: Connection) -> None:
    """Raise NoSourceError for a server that is too old, keeps text otherwise, or lets this role do everything."""
    version = connection.info.server_version // 10_000
    if version < _OLDEST:
        raise NoSourceError(f"a database of PostgreSQL {version}", f"a database of PostgreSQL {_OLDEST} or newer")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise NoSourceError(f"a database in {encoding}", "a database whose encoding is UTF8")
    check_role(connection)


_RELATIONS: LiteralString = """
WITH RECURSIVE away AS (
    SELECT oid AS part FROM pg_class WHERE relkind = 'f' UNION
    SELECT inhparent FROM away JOIN pg_inherits ON inhrelid = part)
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text, c.relispartition,
    has_any_column_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE'), c.oid IN (SELECT part FROM away)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm', 'v', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
ORDER BY 2, 3"""
_COLUMNS: LiteralString = """
WITH RECURSIVE held AS (
    SELECT attnum, attname, attgenerated, atttypid AS type, atttypmod AS modifier FROM pg_attribute
    WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped AND has_column_privilege(attrelid, attnum, 'SELECT')
    UNION ALL
    SELECT attnum, attname, attgenerated, t.typbasetype, t.typtypmod
    FROM held JOIN pg_type t ON t.oid = held.type WHERE t.typtype = 'd')
SELECT attname::text, attgenerated::text, t.typname::text, t.typtype::text, format_type(held.type, modifier),
    n.nspname = 'pg_catalog',
    EXISTS (SELECT FROM pg_cast c WHERE c.castsource = t.oid AND c.castmethod <> 'b'),
    EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid WHERE d.classid = 'pg_type'::regclass
        AND d.objid = t.oid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'citext')
        AND EXISTS (SELECT FROM pg_cast c WHERE c.castsource = t.oid AND c.casttarget = 'text'::regtype
        AND c.castmethod = 'b')
FROM held JOIN pg_type t ON t.oid = held.type JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype <> 'd' ORDER BY attnum"""


def _rows(connection: Connection, sql: LiteralString, *parameters: object) -> list[tuple[Any, ...]]:
    return connection.execute(sql, parameters).fetchall()


def place_of(connection: Connection, table: str | None) -> Place:
    """Return the table that is meant, if its role may read it and no more; or raise InvalidError or NoSourceError."""
    relations = [Relation(*row) for row in _rows(connection, _RELATIONS)]
    found = _named(relations, table)
    called = spelled(relations, found)
    if found.sort not in OPENED:
        raise NoSourceError(f"{_SORTS[found.sort]} {called}", f"a table: {_WHY[found.sort]}")
    if not found.is_open:
        raise NoSourceError(
            f"the table {called}, which this role may not read",
            f"one that it may read: GRANT USAGE ON SCHEMA {quoted(found.schema)} TO …; "
            f"GRANT SELECT ON {quoted(found.schema)}.{quoted(found.name)} TO …",
        )
    whole = check_rights(connection, found.number, f"{quoted(found.schema)}.{quoted(found.name)}")
    types = types_of(connection, found.number)
    return Place(found.number, found.schema, found.name, types, whole and found.sort != "m")


_NUMBER: LiteralString = """
SELECT c.oid::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2 AND has_schema_privilege(n.oid, 'USAGE')"""


def same_place(connection: Connection, place: Place, number: int | None) -> Place:
    """Return a table as it is now; if it has another number, it is looked at as when it was opened, with all errors."""
    if number is None or _rows(connection, _NUMBER, place.schema, place.name) != [(number,)]:
        return place_of(connection, place.named)
    whole = check_rights(connection, number, place.named)
    return replace(place, number=number, types=types_of(connection, number), lockable=place.lockable and whole)


_SORTS = {"v": "the view", "f": "the foreign table"}
_WHY = {
    "v": "a view may fail on a row, which would tell of it, or run somebody's functions; open the table below it, or "
    "CREATE MATERIALIZED VIEW … and open that",
    "f": FOREIGN,
}


def _named(relations: Sequence[Relation], table: str | None) -> Relation:
    offered = [one for one in relations if one.is_offered]
    fits = offered if table is None else meant(relations, table)
    if len(fits) == 1:
        return fits[0]
    chosen = [one for one in fits if one.is_offered] or offered
    raise _which(table, [spelled(relations, one) for one in chosen])


def _which(table: str | None, names: Sequence[str]) -> InvalidError:
    """Return the error for a database of which no table is named; names of tables are its schema, not its data."""
    if not names:
        return NoSourceError("a database with no table that this role may read", f"one with such a table: {ROLE}")
    if table is None:
        return TableNotNamedError(names)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    choice = f"one of {', '.join(map(repr, sorted(names)[:_MOST_NAMES]))}{more}"
    how = f"table = {string(min(names))} in the policy, table= in Python, --table for `tacit init`"
    return InvalidError("table", show(table), f"{choice} ({how})")


def types_of(connection: Connection, number: int) -> dict[str, str]:
    """Return the types of a table's columns that the role may read."""
    return {name: _type(*rest) for name, *rest in _rows(connection, _COLUMNS, number)}


def _type(generated: str, name: str, sort: str, written: str, *facts: bool) -> str:
    """Return how a type is called here; one whose values would be read by somebody's functions is none that is used.

    The facts are: whether it is PostgreSQL's own, whether a function casts it, whether it is that of the extension
    citext, which is text as it stands.
    """
    ours, cast_by_function, is_citext = facts
    if generated == "v":
        return "computed when read"
    if sort == "e":
        return f"{written}, which a function casts" if cast_by_function else "enum"
    if name == "citext":
        return name if is_citext else f"{written}, which is not of the extension citext"
    return name if ours and name != "numeric" else written
