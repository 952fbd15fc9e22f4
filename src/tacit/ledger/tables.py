"""Where records are written. `records` is all there is; the other tables say the same in a form that is quick to ask.

`head` is the last record's number and link and the totals after it; `analysts` each one's totals and limit; `charges`
how each charge ended; `requests` which charge has which digest or key. They are written in the transaction that appends
a record, so the cost of a charge does not grow with history, and `verify` computes all of them again from the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

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
)

from tacit.ledger.records import FORMAT, canonical, record
from tacit.version import VERSION

TABLES = MetaData()

HEAD = Table(
    "tacit_head",
    TABLES,
    Column("place", Integer, primary_key=True),
    Column("format", Integer, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("link", String(64), nullable=False),
    Column("loss", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("budget", Text, nullable=False),
    Column("neighbours", String(20), nullable=False),
    Column("policy", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("time", String(40), nullable=False),
)
RECORDS = Table(
    "tacit_records",
    TABLES,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
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
)
CHARGES = Table(
    "tacit_charges",
    TABLES,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("outcome", String(20), nullable=False),
    Column("ended", BigInteger),
)
REQUESTS = Table(
    "tacit_requests",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("digest", Text),
)

APPLICATION = 0x7AC17
"""What a SQLite file of ours says it is."""

_FIRST_FORMAT = {"about", "entries", "outcomes"}


def found(connection: Connection) -> str:
    """Return what a database holds: "nothing", "ledger", "first" for one of the first format, or "other"."""
    names = set(inspect(connection).get_table_names())
    if HEAD.name in names and RECORDS.name in names:
        return "ledger"
    if names >= _FIRST_FORMAT:
        return "first"
    if connection.dialect.name == "sqlite":
        return "other" if names else "nothing"
    return "nothing"  # a database server may hold other tables beside ours


def begin(connection: Connection, said: Mapping[str, object]) -> None:
    """Write the first record, with a budget and a relation, and the head."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    first = record(0, "begin", {**said, "software": f"tacit {VERSION}", "time": now}, "")
    connection.execute(insert(RECORDS), {"number": 0, "kind": "begin", "body": first.body, "link": first.link})
    budget = canonical({part: said[part] for part in ("currency", "loss", "delta")})
    head = {"place": 1, "format": FORMAT, "number": 0, "link": first.link, "loss": "0", "delta": "0", "time": now}
    rest = {"budget": budget, "neighbours": said["neighbours"], "policy": "{}", "version": ""}
    connection.execute(insert(HEAD), {**head, **rest})


def restore(connection: Connection, derived: Mapping[str, Sequence[Mapping[str, object]]]) -> None:
    """Write the tables beside the records, where they are empty."""
    for table in (HEAD, ANALYSTS, CHARGES, REQUESTS):
        rows = [dict(row) for row in derived[table.name]]
        if rows:
            connection.execute(insert(table), rows)


def create(connection: Connection) -> None:
    """Make the tables."""
    TABLES.create_all(connection)
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA application_id = {APPLICATION}"))
