"""`verify`: check the chain of a ledger, and compute every total again from its records.

For each record `replay` checks that

* its number is the next one;
* its link is the hash of its content and of all records before it;
* the rules admit it (see `state`): for example, that its totals are those that the filter gives for its events, and
  that both the budget of the data and the analyst's limit admitted it.

Then `verify` compares the head and the other derived tables with the records. The report names the first wrong record.
A changed, removed, added or moved record breaks the chain from there on. An older copy of the ledger that was restored
has a valid chain, but not the links of the receipts that were issued after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tacit.errors import BudgetError, InvalidError, TacitError
from tacit.ledger.records import Head, MemoryTables, Record, WrongRecordError, link_of
from tacit.ledger.state import apply
from tacit.notebook import ShownAsLines
from tacit.safe_text import visible

if TYPE_CHECKING:
    from tacit.ledger import Ledger
    from tacit.ledger.sql_ledger import SqlLedger, TableRows


@dataclass(frozen=True, slots=True)
class VerifyReport(ShownAsLines):
    """The number of records that were read, the number of the first wrong record, and the reason.

    `wrong` is None if no record is wrong, or if the fault is not in one record. `why` is empty if the ledger is valid.
    """

    records: int
    wrong: int | None = None
    why: str = ""

    @property
    def holds(self) -> bool:
        """True if the ledger is valid."""
        return not self.why

    def __str__(self) -> str:
        """Return the report in a sentence or two."""
        if self.holds:
            return f"All {self.records:,} records are valid: the chain, the totals and the limits."
        at = "" if self.wrong is None else f" at record {self.wrong}"
        return visible(f"The ledger fails verification{at}. {self.why}")


class _FaultError(Exception):
    """A fault: the number of the first wrong record, if there is one, and the reason."""

    def __init__(self, number: int | None, why: str) -> None:
        super().__init__(why)
        self.number, self.why = number, why


class LedgerState(NamedTuple):
    """The whole state of a ledger after its last record."""

    head: Head
    tables: MemoryTables

    def rows(self) -> dict[str, list[dict[str, object]]]:
        """Return the rows of the derived tables."""
        return self.tables.rows(self.head)


def replay(records: Iterable[Record], name: str) -> tuple[LedgerState | None, VerifyReport]:
    """Apply records from the first one on; return the state after the last, or None if one is wrong, and a report.

    Args:
        records: the records, oldest first.
        name: the name of the ledger in reasons.
    """
    head, tables, count = None, MemoryTables(name), 0
    try:
        for number, record in enumerate(records):
            count = number + 1
            head = _next_head(head, number, record, tables)
        if head is None:
            raise _FaultError(None, "It has no records.")  # noqa: TRY301 - reported like every other fault
    except _FaultError as fault:
        return None, VerifyReport(count, fault.number, fault.why)
    return LedgerState(head, tables), VerifyReport(count)


def _next_head(head: Head | None, number: int, record: Record, tables: MemoryTables) -> Head:
    """Return the head after one more record, or raise _FaultError."""
    if record.number != number:
        raise _FaultError(number, f"It is missing: record {record.number} is in its place.")
    if record.link != link_of("" if head is None else head.link, number, record.kind, record.body):
        raise _FaultError(number, "Its link does not match its content and the records before it.")
    try:
        return apply(head, record, tables)
    except BudgetError:
        raise _FaultError(number, "Its charge does not fit the budget or the analyst's limit.") from None
    except TacitError as error:
        raise _FaultError(number, error.message) from None
    except WrongRecordError as error:
        raise _FaultError(number, str(error)) from None


def stored(ledger: Ledger) -> SqlLedger:
    """Return a ledger with its records, or raise InvalidError for a ledger in memory."""
    from tacit.ledger.sql_ledger import SqlLedger  # noqa: PLC0415 - only where a ledger is there, it was imported

    if not isinstance(ledger, SqlLedger):
        hint = "Open the data with ledger='FILE' to record the budget."
        raise InvalidError("This ledger is in memory and has no records.", argument="ledger", hint=hint)
    return ledger


def verify(ledger: Ledger, receipts: Sequence[Mapping[str, object]] = ()) -> VerifyReport:
    """Check a ledger, and that it holds the charges of some receipts.

    Args:
        ledger: the ledger, which is in a file or in PostgreSQL.
        receipts: receipts of answers that were released under it.
    """
    ledger = stored(ledger)
    issued = [_read_receipt(receipt) for receipt in receipts]
    links: dict[int, str] = dict.fromkeys((number for number, _ in issued), "")
    with ledger.snapshot() as (records, derived):
        state, report = replay(_note_links(records, links), ledger.name)
        if state is None:
            return report
        try:
            _check_derived(state, derived())
            _check_receipts(issued, links, state.head.number)
        except _FaultError as fault:
            return VerifyReport(report.records, fault.number, fault.why)
    return report


def _note_links(records: Iterable[Record], links: dict[int, str]) -> Iterator[Record]:
    """Yield the records, and store the links of the charges that receipts name."""
    for record in records:
        if record.number in links and record.kind == "charge":
            links[record.number] = record.link
        yield record


_DERIVED = {
    "tacit_head": "The totals, the budget or the policy of its head do not match the records.",
    "tacit_analysts": "The totals or the limits of its analysts do not match the records.",
    "tacit_charges": "The outcomes of its charges do not match the records.",
    "tacit_requests": "The index of its answers does not match the records.",
}


def _check_derived(state: LedgerState, derived: Mapping[str, TableRows]) -> None:
    """Compare the derived tables with the records."""
    expected, heads, head = state.rows(), derived["tacit_head"], state.head
    if len(heads) != 1:
        raise _FaultError(None, "Its head row is missing.")
    if (heads[0]["number"], heads[0]["link"]) != (head.number, head.link):
        raise _FaultError(head.number + 1, "Records at the end are missing, or the head was changed.")
    for name, why in _DERIVED.items():
        different = _as_set(expected[name]) ^ _as_set(derived[name])
        if different or len(expected[name]) != len(derived[name]):
            by_number = name in ("tacit_charges", "tacit_requests")
            raise _FaultError(_least_number(different) if by_number else None, why)


def _as_set(rows: Sequence[Mapping[str, object]]) -> set[tuple[tuple[str, str], ...]]:
    """Return rows that can be compared by value and type."""
    return {tuple((name, repr(value)) for name, value in sorted(row.items())) for row in rows}


def _least_number(rows: Iterable[tuple[tuple[str, str], ...]]) -> int | None:
    """Return the least number of a charge in some rows."""
    return min((int(number) for row in rows if (number := dict(row)["number"]).isdecimal()), default=None)


def _read_receipt(receipt: Mapping[str, object]) -> tuple[int, str]:
    """Return the number and the link of a receipt, or raise InvalidError."""
    number, link = receipt.get("ledger_entry"), receipt.get("ledger_link")
    if not isinstance(number, int) or not isinstance(link, str):
        raise InvalidError(
            "The receipt has no record number and link.",
            argument="receipt",
            hint="Give a receipt of an answer that was charged to a ledger in a file or in PostgreSQL.",
        )
    return number, link


def _check_receipts(issued: Sequence[tuple[int, str]], links: Mapping[int, str], last: int) -> None:
    """Compare the links of receipts with those of the records."""
    for number, link in sorted(issued):
        if links[number] == link:
            continue
        old = "this copy is old, or it is of another ledger."
        why = (
            f"A receipt has this record, but the ledger ends at record {last}. Charges are missing: {old} Lower the "
            "budget by what they may have cost, or do not query through it."
            if number > last
            else f"A receipt was issued for another record with this number: {old}"
        )
        raise _FaultError(number, why)
