"""`verify`: the chain and every total of a ledger, computed again from its records.

What is checked of each record: that its number follows, that its link is the hash of all that came before it, that its
totals are those that the filter gives for its events after the totals before, and that both the data's budget and the
analyst's admitted it. Then that the head and the other tables say what the records say. The first record that is wrong
is named. A changed, removed, added or moved record breaks the chain from there on; an older copy of the ledger that is
put back has a chain that holds, but not the links of the receipts that were issued after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tacit.errors import InvalidError
from tacit.ledger.records import Record
from tacit.ledger.replay import Report, State, WrongError, replay
from tacit.ledger.sql_ledger import DurableLedger

__all__ = ["Report", "replay", "verify"]


def verify(ledger: DurableLedger, receipts: Sequence[Mapping[str, object]] = ()) -> Report:
    """Check a ledger, and that it has the charges of some receipts.

    Args:
        ledger: the ledger.
        receipts: receipts of answers that were given under it.
    """
    wanted = [_read(receipt) for receipt in receipts]
    links: dict[int, str] = dict.fromkeys((number for number, _ in wanted), "")
    with ledger.snapshot() as (records, derived):
        state, report = replay(_noted(records, links))
        if state is None:
            return report
        try:
            _check_derived(state, derived())
            _check_receipts(wanted, links)
        except WrongError as wrong:
            return Report(report.records, wrong.number, wrong.why)
    return report


def _noted(records: Iterable[Record], links: dict[int, str]) -> Iterator[Record]:
    """Pass records on, and keep the links of those charges that receipts name."""
    for one in records:
        if one.number in links and one.kind == "charge":
            links[one.number] = one.link
        yield one


_BESIDE = {
    "tacit_head": "what its head says of the totals, the budget or the policy is not what the records say",
    "tacit_analysts": "the totals or limits of its analysts are not those of the records",
    "tacit_charges": "how charges ended is not what the records say",
    "tacit_requests": "what answers are found by is not what the records say",
}


def _check_derived(state: State, derived: Mapping[str, Sequence[Mapping[str, object]]]) -> None:
    """Hold the tables beside the records against what the records say."""
    expected, heads = state.derived(), derived["tacit_head"]
    if len(heads) != 1:
        raise WrongError(None, "it has lost its head")
    if (heads[0]["number"], heads[0]["link"]) != (state.number, state.link):
        raise WrongError(state.number + 1, "records at the end are missing, or the head was moved")
    for name, why in _BESIDE.items():
        other = _as_set(expected[name]) ^ _as_set(derived[name])
        if other or len(expected[name]) != len(derived[name]):
            raise WrongError(_first(other) if name in ("tacit_charges", "tacit_requests") else None, why)


def _as_set(rows: Sequence[Mapping[str, object]]) -> set[tuple[tuple[str, str], ...]]:
    """Return rows that can be compared, by value and type."""
    return {tuple((name, repr(value)) for name, value in sorted(row.items())) for row in rows}


def _first(rows: Iterable[tuple[tuple[str, str], ...]]) -> int | None:
    """Return the least number of a charge in some rows."""
    return min((int(number) for row in rows if (number := dict(row)["number"]).isdecimal()), default=None)


def _read(receipt: Mapping[str, object]) -> tuple[int, str]:
    """Return a receipt's number and link, or raise InvalidError."""
    number, link = receipt.get("ledger_entry"), receipt.get("ledger_link")
    if not isinstance(number, int) or not isinstance(link, str):
        raise InvalidError("receipt", "one without a record's number and link", "a receipt of an answer from a ledger")
    return number, link


def _check_receipts(wanted: Sequence[tuple[int, str]], links: Mapping[int, str]) -> None:
    for number, link in sorted(wanted):
        if links[number] != link:
            raise WrongError(
                number, "it is not the one that a receipt was issued for: this copy is old, or of another ledger"
            )
