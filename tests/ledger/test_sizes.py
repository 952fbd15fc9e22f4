"""The public size of a table: one for each declared version of the data, in every ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tacit as tc
from ledgers import ONE, Site, ask
from tacit.errors import RefusedError
from tacit.ledger import Ledger, TableSize
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.records import Head, MemoryTables, Record, WrongRecordError, canonical
from tacit.ledger.state import apply


def size(rows: int, table: str = "visits", version: str = "v1") -> TableSize:
    return TableSize(version=version, table=table, size=rows)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    if request.param == "memory":
        return MemoryLedger(ONE, "change one")
    site: Site = request.getfixturevalue("sites")(request.param)
    return site.open(neighbours="change one")


def test_the_first_size_of_a_version_is_recorded_and_another_is_refused_unspent(ledger: Ledger) -> None:
    assert ledger.size_of("v1", "visits") is None
    ledger.charge(ask(sizes=(size(5133),)))
    assert ledger.size_of("v1", "visits") == ledger.size_of("v1", " VISITS") == 5133
    spent = ledger.spent
    with pytest.raises(RefusedError, match="Table 'Visits' has 5,134 rows, but it had 5,133") as refused:
        ledger.charge(ask(sizes=(size(5134, "Visits"),)))
    assert "Nothing was spent." in str(refused.value)
    assert ledger.spent == spent
    assert len(ledger.entries()) == 1
    ledger.charge(ask(sizes=(size(5133), size(0, "staff"))))
    ledger.charge(ask(sizes=(size(5134, version="v2"),)))
    sizes = [ledger.size_of(version, table) for version, table in (("v1", "staff"), ("v2", "visits"), ("v2", "staff"))]
    assert sizes == [0, 5134, None]


def test_two_sizes_of_one_table_in_one_charge_are_refused(ledger: Ledger) -> None:
    with pytest.raises(RefusedError, match="has 8 rows, but it had 7"):
        ledger.charge(ask(sizes=(size(7), size(8))))
    assert ledger.size_of("v1", "visits") is None
    assert not ledger.entries()


def test_a_charge_that_does_not_fit_records_no_size(ledger: Ledger) -> None:
    with pytest.raises(tc.BudgetError):
        ledger.charge(ask("2", sizes=(size(7),)))
    assert ledger.size_of("v1", "visits") is None
    ledger.charge(ask(sizes=(size(7),)))


def test_a_charge_without_events_is_recorded_and_costs_nothing(ledger: Ledger) -> None:
    ledger.charge(ask("1"))
    free = ask(sizes=(size(7),))
    ticket = ledger.charge(type(free)(question="count", events=(), sizes=free.sizes))
    ledger.finish(ticket.number, "answered")
    assert [entry.events for entry in ledger.entries()][1] == ()
    assert ledger.spent.loss == 1


def test_a_ledger_with_sizes_is_verified_copied_and_opened_again(site: Site, tmp_path: Path) -> None:
    first = site.open(neighbours="change one")
    first.charge(ask(sizes=(size(5133),)))
    assert [record.kind for record in first.records()] == ["begin", "size", "charge"]
    assert json.loads(first.records()[1].body)["size"] == 5133
    assert tc.ledger.verify(first).holds
    again = site.open(neighbours="change one")
    assert again.size_of("v1", "visits") == 5133
    assert tc.ledger.load(tc.ledger.export(again), tmp_path / "copy.ledger").holds


def test_a_size_that_was_changed_afterwards_is_found(site: Site) -> None:
    ledger = site.open(neighbours="change one")
    ledger.charge(ask(sizes=(size(5133),)))
    site.run("UPDATE tacit_requests SET digest = '5134' WHERE digest = '5133'")
    assert "The index of its answers does not match" in str(tc.ledger.verify(ledger))


@pytest.mark.parametrize(
    "body",
    [
        {"version": "", "table": "t", "size": 3},
        {"version": "v1", "table": "t", "size": -1},
        {"version": "v1", "table": "t", "size": "3"},
        {"version": "v1", "table": "t", "size": True},
        {"version": "v1", "table": "T ", "size": 5},
        {"version": "v1", "table": "T ", "size": 4},
        {"version": "v1", "size": 5},
    ],
)
def test_a_record_that_no_ledger_writes_does_not_verify(body: dict[str, object]) -> None:
    tables = MemoryTables("a ledger")
    head = Head.begin(ONE, "change one")

    def record(number: int, fields: dict[str, object]) -> Record:
        return Record(number, "size", canonical({**fields, "time": "2026-01-01"}), "")

    head = apply(head, record(1, {"version": "v1", "table": "t", "size": 5}), tables)
    with pytest.raises(WrongRecordError):
        apply(head, record(2, body), tables)


def test_a_ledger_knows_the_tables_that_were_opened_with_it(ledger: Ledger) -> None:
    assert ledger.tables == frozenset()
    ledger.open_tables(["a", "b"])
    ledger.open_tables(["b", "c"])
    assert ledger.tables == {"a", "b", "c"}
