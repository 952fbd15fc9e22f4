"""The SQL tables of a ledger, and reading and writing their rows.

`tacit_records` holds the whole ledger. The other tables are derived from it, so that lookups are fast:

* `tacit_head` has one row: the number and the link of the last record, and the totals after it;
* `tacit_analysts` has the total and the limit of each analyst;
* `tacit_charges` has the outcome of each charge;
* `tacit_requests` has the charge of each digest and each request key.

They are written in the transaction that appends a record, so the cost of a charge does not grow with history. `verify`
computes all of them again from the records. This module does not know the rules of a ledger; see `state`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

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
    select,
    text,
    update,
)
from sqlalchemy.exc import MultipleResultsFound

from tacit.errors import LedgerError
from tacit.guarantees.filters import Spent, start
from tacit.ledger.policies import read_policy
from tacit.ledger.records import FORMAT, OLDEST_FORMAT, SEAL, Account, Head, Record, decode_budget, decode_total

TABLES = MetaData()

_Number = BigInteger().with_variant(Integer, "sqlite")
"""The number of a record. SQLite finds a row by an INTEGER key without a separate index."""

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
RESERVATION = Table("tacit_reservation", MetaData(), Column("token", Text, primary_key=True))
"""The place to which a ledger is being moved has this table until the ledger is there; see `relocation`."""

REQUESTS = Table(
    "tacit_requests",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("number", _Number, nullable=False),
    Column("digest", Text),
    sqlite_with_rowid=False,
)

DERIVED = (HEAD, ANALYSTS, CHARGES, REQUESTS)
"""The tables that are derived from the records."""

APPLICATION = 0x7AC17
"""The application_id of our SQLite files."""

_FIRST_FORMAT = ("about", "entries", "outcomes")
_BATCH = 1000


def contents(connection: Connection) -> Literal["nothing", "ledger", "first", "reserved", "other"]:
    """Return what a database holds: nothing, a ledger, one of the first format, a reservation, or something else."""
    inspector = inspect(connection)
    if inspector.has_table(HEAD.name) and inspector.has_table(RECORDS.name):
        return "ledger"
    if inspector.has_table(RESERVATION.name):
        return "reserved"
    if connection.dialect.name != "sqlite":
        return "nothing"  # a database server may hold other tables beside ours
    names = set(inspector.get_table_names())
    if names.issuperset(_FIRST_FORMAT):
        return "first"
    return "other" if names else "nothing"


def create(connection: Connection) -> None:
    """Create the tables."""
    TABLES.create_all(connection)
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA application_id = {APPLICATION}"))


def write(
    connection: Connection, records: Sequence[Record], derived: Mapping[str, Sequence[Mapping[str, object]]]
) -> None:
    """Insert records and the rows of their derived tables into an empty ledger."""
    rows = {table.name: derived[table.name] for table in DERIVED} | {RECORDS.name: [_row(record) for record in records]}
    for name, listed in rows.items():
        for begin in range(0, len(listed), _BATCH):
            connection.execute(insert(TABLES.tables[name]), [dict(row) for row in listed[begin : begin + _BATCH]])


def append_row(connection: Connection, before: Head, record: Record, after: Head) -> None:
    """Insert a record, and change the row of the head where it differs."""
    connection.execute(insert(RECORDS), _row(record))
    old = before.row()
    changed = {column: value for column, value in after.row().items() if old[column] != value}
    connection.execute(update(HEAD).values(**changed))


def _row(record: Record) -> dict[str, object]:
    return {"number": record.number, "kind": record.kind, "body": record.body, "link": record.link}


def read_head(connection: Connection, name: str, *, lock: bool = False) -> Head:
    """Return the head of a ledger. With `lock`, no other transaction can change it before this one ends."""
    query = select(HEAD.c.format)
    try:
        number = connection.execute(query.with_for_update() if lock else query).scalar_one_or_none()
        _check_format(number, name)
        head = _head(dict(connection.execute(select(HEAD)).mappings().one()))
        return head if head.format == OLDEST_FORMAT else replace(head, moved_to=_moved_to(connection, head.number))
    except (KeyError, ValueError, TypeError, ArithmeticError, AttributeError, RecursionError, MultipleResultsFound):
        raise damaged(name) from None


def damaged(name: str) -> LedgerError:
    """Return the error for a ledger whose derived tables cannot be read."""
    return LedgerError(
        f"Ledger {name} is corrupt: its totals cannot be read.",
        hint="Restore it from a backup, and compare it with your latest receipt: `tacit ledger verify POLICY --receipt "
        "FILE`.",
    )


def _check_format(number: object, name: str) -> None:
    if number is None:
        raise LedgerError(
            f"Ledger {name} is corrupt: its head row, which stores the total spent, is missing.",
            hint="Restore it from a backup.",
        )
    if not isinstance(number, int) or number < OLDEST_FORMAT:
        raise damaged(name)
    if number > FORMAT:
        raise LedgerError(
            f"Ledger {name} was written by a newer version of tacit (format {number}; this version reads formats up to "
            f"{FORMAT}).",
            hint="Install that version (pip install --upgrade tacit).",
        )


def _moved_to(connection: Connection, number: int) -> str:
    """Return the new place of a ledger that is sealed, else an empty text: a seal is the last record."""
    row = connection.execute(select(RECORDS.c.kind, RECORDS.c.body).where(RECORDS.c.number == number)).one_or_none()
    if row is None:
        raise KeyError(number)
    return str(json.loads(row.body)["to"]) if row.kind == SEAL else ""


def _head(row: Mapping[str, Any]) -> Head:
    budget = decode_budget(json.loads(row["budget"]))
    if not isinstance(row["number"], int) or not isinstance(row["since"], int):
        raise TypeError("number")
    return Head(
        number=row["number"],
        link=row["link"],
        spent=decode_total(start(budget, row["neighbours"]), row["loss"], row["delta"]),
        budget=budget,
        policy=read_policy(json.loads(row["policy"])),
        version=row["version"],
        since=row["since"],
        format=row["format"],
        time=datetime.fromisoformat(row["time"]).astimezone(UTC).isoformat(timespec="milliseconds"),
    )


class SqlTables:
    """The derived tables of a SQL ledger beside its head, within a transaction that holds the lock of the head."""

    def __init__(self, connection: Connection, name: str) -> None:
        """Store the connection, and the name of the ledger in messages."""
        self._connection, self.name = connection, name

    def account(self, analyst: str, nothing: Spent) -> Account:
        """Return the account of an analyst."""
        row = self._connection.execute(select(ANALYSTS).where(ANALYSTS.c.name == analyst)).one_or_none()
        if row is None:
            return Account(nothing, None)
        try:
            spent = decode_total(nothing, row.loss, row.delta)
            return Account(spent, None if row.budget is None else decode_budget(json.loads(row.budget)))
        except (KeyError, ValueError, TypeError, ArithmeticError, RecursionError):
            raise damaged(self.name) from None

    def set_account(self, analyst: str, account: Account) -> None:
        """Store the account of an analyst."""
        self._put(ANALYSTS, account.row(analyst))

    def reset_accounts(self, nothing: Spent) -> None:
        """Set what each analyst has spent to zero."""
        self._connection.execute(update(ANALYSTS).values(loss=str(nothing.loss), delta=str(nothing.delta)))

    def outcome(self, charge: int) -> str | None:
        """Return the outcome of a charge."""
        return self._connection.execute(select(CHARGES.c.outcome).where(CHARGES.c.number == charge)).scalar()

    def set_outcome(self, charge: int, outcome: str, record: int | None) -> None:
        """Store the outcome of a charge; a charge without a record of its outcome is new."""
        values = {"number": charge, "outcome": outcome, "ended": record}
        if record is None:
            self._connection.execute(insert(CHARGES), values)
        else:
            self._connection.execute(update(CHARGES).where(CHARGES.c.number == charge).values(**values))

    def charged_after(self, number: int) -> bool:
        """Return whether there is a charge after a record."""
        charges = select(RECORDS.c.number).where(RECORDS.c.kind == "charge", RECORDS.c.number > number)
        return self._connection.execute(charges.limit(1)).first() is not None

    def request(self, name: str) -> tuple[int, str] | None:
        """Return the latest record with a request name."""
        query = select(REQUESTS.c.number, REQUESTS.c.digest).where(REQUESTS.c.name == name)
        row = self._connection.execute(query).one_or_none()
        return None if row is None else (row.number, row.digest)

    def set_request(self, name: str, number: int, digest: str) -> None:
        """Store a request."""
        self._put(REQUESTS, {"name": name, "number": number, "digest": digest})

    def _put(self, table: Table, row: Mapping[str, object]) -> None:
        """Insert a row by its name, or change it. The lock of the head excludes other writers."""
        changed = self._connection.execute(update(table).where(table.c.name == row["name"]).values(**row))
        if not changed.rowcount:
            self._connection.execute(insert(table), dict(row))
