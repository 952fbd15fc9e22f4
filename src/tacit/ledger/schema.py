"""Where records are written. `records` is all there is; the other tables say the same in a form that is quick to ask.

`head` is the last record's number and link and the totals after it; `analysts` each one's totals and limit; `charges`
how each charge ended; `requests` which charge has which digest or key. They are written in the transaction that appends
a record, so the cost of a charge does not grow with history, and `verify` computes all of them again from the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    text,
    update,
)

from tacit.errors import LedgerError
from tacit.ledger.records import Record
from tacit.ledger.replay import replay

TABLES = MetaData()

_Number = BigInteger().with_variant(Integer, "sqlite")
"""A record's number: SQLite finds a row by an INTEGER without an index beside it."""

HEAD = Table(
    "tacit_head",
    TABLES,
    Column("place", Integer, primary_key=True),
    Column("format", Integer, nullable=False),
    Column("number", _Number, nullable=False),
    Column("link", String(64), nullable=False),
    Column("loss", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("budget", Text, nullable=False),
    Column("neighbours", String(20), nullable=False),
    Column("policy", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("since", _Number, nullable=False),
    Column("time", String(40), nullable=False),
)
RECORDS = Table(
    "tacit_records",
    TABLES,
    Column("number", _Number, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("body", Text, nullable=False),
    Column("link", String(64), nullable=False),
)
ANALYSTS = Table(
    "tacit_analysts",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("loss", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("budget", Text),
    sqlite_with_rowid=False,
)
CHARGES = Table(
    "tacit_charges",
    TABLES,
    Column("number", _Number, primary_key=True, autoincrement=False),
    Column("outcome", String(20), nullable=False),
    Column("ended", _Number),
)
REQUESTS = Table(
    "tacit_requests",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("number", _Number, nullable=False),
    Column("digest", Text),
    sqlite_with_rowid=False,
)

APPLICATION = 0x7AC17
"""What a SQLite file of ours says it is."""

_FIRST_FORMAT = ("about", "entries", "outcomes")
_MANY = 1000


def found(connection: Connection) -> str:
    """Return what a database holds: "nothing", "ledger", "first" for one of the first format, or "other"."""
    seen = inspect(connection)
    if seen.has_table(HEAD.name) and seen.has_table(RECORDS.name):
        return "ledger"
    if connection.dialect.name != "sqlite":
        return "nothing"  # a database server may hold other tables beside ours
    names = set(seen.get_table_names())
    if names.issuperset(_FIRST_FORMAT):
        return "first"
    return "other" if names else "nothing"


def create(connection: Connection) -> None:
    """Make the tables."""
    TABLES.create_all(connection)
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA application_id = {APPLICATION}"))


def write(connection: Connection, records: Sequence[Record]) -> None:
    """Write a ledger's records and all that stands beside them, where the tables are empty; LedgerError if they lie."""
    state, report = replay(records)
    if state is None:
        raise LedgerError(f"{report} Nothing was written.")
    rows = [{"number": one.number, "kind": one.kind, "body": one.body, "link": one.link} for one in records]
    tables: list[tuple[Table, Sequence[Mapping[str, object]]]] = [(RECORDS, rows)]
    derived = state.derived()
    tables += [(table, derived[table.name]) for table in (HEAD, ANALYSTS, CHARGES, REQUESTS)]
    for table, listed in tables:
        for begin in range(0, len(listed), _MANY):
            connection.execute(insert(table), [dict(row) for row in listed[begin : begin + _MANY]])


def put(connection: Connection, table: Table, values: Mapping[str, object]) -> None:
    """Insert a row by its name, or change it if it is there; under the lock of the head, so nobody comes between."""
    changed = connection.execute(update(table).where(table.c.name == values["name"]).values(**values))
    if not changed.rowcount:
        connection.execute(insert(table), dict(values))
