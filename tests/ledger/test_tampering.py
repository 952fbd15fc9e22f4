"""`verify` finds every change made outside the ledger, and names the first wrong record."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledgers import Site, Sites, again, ask
from tacit.errors import InvalidError, LedgerError
from tacit.guarantees.values import PureDP
from tacit.ledger.backup import export, load
from tacit.ledger.open_ledger import read_ledger
from tacit.ledger.policies import Promise
from tacit.ledger.records import canonical, link_of
from tacit.ledger.replay import verify
from tacit.ledger.schema import TABLES
from tacit.ledger.sql_ledger import SqlLedger

POLICY = {"visits": Promise(unit="patient", neighbours="add/remove", bounds={"cost": "0 to 100"})}


def written(site: Site) -> SqlLedger:
    """Return a ledger with records of every kind but clock."""
    ledger = site.open(policies=POLICY, analysts={"ann": PureDP(epsilon=0.5)})
    first = ledger.charge(again("a", analyst="ann", key="mine"))
    ledger.finish(first.number, "answered", "[7]")
    ledger.set_budget(PureDP(epsilon=2))
    ledger.finish(ledger.charge(again("b", analyst="bob")).number, "failed")
    ledger.set_version("v2")
    ledger.charge(ask("0.2"))
    ledger.set_version("v3", disjoint=True)
    ledger = site.open(PureDP(epsilon=2), version="v3")
    ledger.charge(again("c", analyst="ann"))
    assert {one.kind for one in ledger.records()} == {
        *("begin", "policy", "analyst", "charge", "outcome", "budget", "version")
    }
    return ledger


def other(value: object) -> object:
    """Return a value of the same type that is nearly the same."""
    match value:
        case None:
            return 1
        case int():
            return value + 1000
        case str() if value:
            return value[:-1] + chr(ord(value[-1]) ^ 4)
        case _:
            return "x"


def test_a_change_in_any_column_of_any_row_of_any_table_is_told(site: Site) -> None:
    ledger, tried = written(site), 0
    for table in TABLES.sorted_tables:
        names = [column.name for column in table.columns]
        key = next(column.name for column in table.primary_key)
        for row in site.run(f"SELECT {', '.join(names)} FROM {table.name}"):  # noqa: S608 - our own names
            said = dict(zip(names, row, strict=True))
            for name in names:
                set_to = f"UPDATE {table.name} SET {name} = :new WHERE {key} = :key"  # noqa: S608
                changed = "x" if (name, said[name]) == ("budget", None) else other(said[name])
                site.run(set_to, new=changed, key=said[key])
                report = verify(ledger)
                assert not report.holds, (table.name, said[key], name)
                if table.name == "tacit_records":
                    assert report.wrong == said["number"]
                elif table.name in ("tacit_charges", "tacit_requests"):
                    assert report.wrong is not None
                site.run(set_to, new=said[name], key=changed if name == key else said[key])
                tried += 1
    assert tried > 60
    assert verify(ledger).holds


def test_a_removed_row_of_any_table_is_told(site: Site) -> None:
    written(site)
    sites = [(table.name, len(site.run(f"SELECT 1 FROM {table.name}"))) for table in TABLES.sorted_tables]  # noqa: S608
    assert all(count for _, count in sites)
    for name, _ in sites:
        lines = site.run(f"SELECT * FROM {name}")  # noqa: S608 - our own names
        key = next(iter(TABLES.tables[name].primary_key)).name
        columns = ", ".join(f":{column.name}" for column in TABLES.tables[name].columns)
        for line in lines:
            values = dict(zip((column.name for column in TABLES.tables[name].columns), line, strict=True))
            site.run(f"DELETE FROM {name} WHERE {key} = :key", key=values[key])  # noqa: S608
            report = verify(SqlLedger(read_store(site), _head(site), None)) if name != "tacit_head" else None
            assert report is None or not report.holds
            if name == "tacit_records":
                assert report is not None
                assert report.wrong == values["number"]
            site.run(f"INSERT INTO {name} VALUES ({columns})", **values)  # noqa: S608
    site.run("DELETE FROM tacit_head")
    with pytest.raises(LedgerError, match=r"head row.* is missing"):
        read_ledger(site.location)


def read_store(site: Site) -> Any:  # noqa: ANN401 - a store, which closes itself
    return site.open(PureDP(epsilon=2), version="v3")._store


def _head(site: Site) -> Any:  # noqa: ANN401 - a head
    from tacit.ledger.schema import read_head  # noqa: PLC0415 - here alone

    with read_store(site).reading() as connection:
        return read_head(connection, "x")


Change = Callable[[Site], object]
CHANGES: dict[str, tuple[int, Change]] = {
    "two records in each other's place": (
        3,
        lambda site: [
            site.run("UPDATE tacit_records SET number = 1000 WHERE number = 3"),
            site.run("UPDATE tacit_records SET number = 3 WHERE number = 4"),
            site.run("UPDATE tacit_records SET number = 4 WHERE number = 1000"),
        ],
    ),
    "a record twice": (
        3,
        lambda site: [
            site.run("UPDATE tacit_records SET number = -number WHERE number > 2"),
            site.run("INSERT INTO tacit_records SELECT 3, kind, body, link FROM tacit_records WHERE number = 2"),
            site.run("UPDATE tacit_records SET number = 1 - number WHERE number < 0"),
        ],
    ),
    "a record added at the end": (
        12,
        lambda site: site.run(
            "INSERT INTO tacit_records SELECT 12, kind, body, link FROM tacit_records WHERE number = 11"
        ),
    ),
    "the end removed": (11, lambda site: site.run("DELETE FROM tacit_records WHERE number = 11")),
}


@pytest.mark.parametrize("what", CHANGES)
def test_moved_doubled_added_and_missing_records_are_told(site: Site, what: str) -> None:
    ledger, (number, change) = written(site), CHANGES[what]
    assert verify(ledger).records == 12
    change(site)
    report = verify(ledger)
    assert report.wrong == number
    assert f"at record {number}" in str(report)


def test_a_shorter_tail_with_the_head_moved_back_to_it_is_told(site: Site) -> None:
    ledger = written(site)
    (number, link) = site.run("SELECT number, link FROM tacit_records WHERE number = 10")[0]
    site.run("DELETE FROM tacit_records WHERE number > 10")
    site.run("UPDATE tacit_head SET number = :number, link = :link", number=number, link=link)
    assert not verify(ledger).holds
    site.run("UPDATE tacit_head SET loss = '0', time = (SELECT max(time) FROM tacit_head)")
    assert not verify(ledger).holds


def forged(lines: list[str], change: Callable[[dict[str, Any]], None], kind: str) -> Iterator[str]:
    """Yield lines whose last record of a kind is changed, with a chain that was computed again."""
    records = [json.loads(line) for line in lines[:-1]]
    location = max(i for i, one in enumerate(records) if one["kind"] == kind)
    before = ""
    for i, one in enumerate(records):
        said = json.loads(one["body"])
        if i == location:
            change(said)
        one["body"] = canonical(said)
        one["link"] = before = link_of(before, one["number"], one["kind"], one["body"])
        yield canonical(one)
    yield canonical({**json.loads(lines[-1]), "head": before})


FORGERIES: list[tuple[str, dict[str, object]]] = [
    ("charge", {"loss": "0"}),
    ("charge", {"analyst_loss": "0"}),
    ("charge", {"loss": "nan"}),
    ("charge", {"loss": "1/0"}),
    ("charge", {"events": [{"event": "PureRelease", "version": 1, "epsilon": "5"}], "loss": "5", "analyst_loss": "5"}),
    ("charge", {"events": [{"event": "PureRelease", "version": 1, "epsilon": "-1"}]}),
    ("charge", {"events": [{"event": "Unheard", "version": 1}]}),
    ("charge", {"events": None}),
    ("charge", {"version": "v2"}),
    ("charge", {"since": 0}),
    ("outcome", {"charge": 1}),
    ("outcome", {"charge": []}),
    ("outcome", {"outcome": "refunded"}),
    ("budget", {"loss": "1/20"}),
    ("budget", {"currency": "zcdp"}),
    ("budget", {"currency": "gdp"}),
    ("analyst", {"budget": {"currency": "zcdp", "loss": "1", "delta": "0"}}),
    ("analyst", {"budget": {"currency": "basic", "loss": "1/50", "delta": "0"}}),
    ("policy", {"tables": None}),
    ("begin", {"neighbours": "none"}),
    ("begin", {"time": None, "loss": "-1"}),
    ("begin", {"loss": "1/20"}),
]


@pytest.mark.parametrize(("kind", "said"), FORGERIES)
def test_a_forger_who_computes_the_chain_again_must_still_add_up(
    sites: Sites, kind: str, said: dict[str, object]
) -> None:
    lines = list(export(written(sites("sqlite"))))
    with pytest.raises(LedgerError, match=r"fails verification at record \d+\. .*Nothing was written"):
        load(forged(lines, lambda body: body.update(said), kind), sites("sqlite").location)


def test_a_forger_who_rewrites_everything_is_told_by_any_later_receipt(sites: Sites) -> None:
    ledger = written(sites("sqlite"))
    receipts = [
        {"ledger_entry": one.number, "ledger_link": one.link} for one in ledger.records() if one.kind == "charge"
    ]
    assert verify(ledger, receipts).holds
    lines, location = list(export(ledger)), sites("sqlite").location
    assert load(forged(lines, lambda body: body.update(question="another"), "policy"), location).holds
    forgery = read_ledger(location)
    for receipt in receipts:
        report = verify(forgery, [receipt])
        assert report.wrong == receipt["ledger_entry"]
        assert "receipt" in report.why


def test_an_old_copy_is_told_by_any_receipt_that_was_issued_later(site: Site, sites: Sites) -> None:
    ledger = site.open()
    early = ledger.charge(ask())
    old, location = list(export(ledger)), sites("sqlite" if site.is_file else "postgresql").location
    later = [ledger.charge(ask()) for _ in range(3)]
    assert load(old, location).holds
    copy = read_ledger(location)
    assert verify(copy, [{"ledger_entry": early.number, "ledger_link": early.head}]).holds
    for ticket in later:
        report = verify(copy, [{"ledger_entry": ticket.number, "ledger_link": ticket.head}])
        assert (report.holds, report.wrong) == (False, ticket.number)
        assert "this copy is old" in str(report)
    copy.close()


def test_an_old_copy_that_was_written_on_is_told_too(sites: Sites) -> None:
    site = sites("sqlite")
    ledger = site.open()
    ledger.charge(ask())
    shutil.copy(site.location, f"{site.location}.old")
    lost = ledger.charge(ask(question="lost"))
    shutil.copy(f"{site.location}.old", site.location)
    with pytest.raises(LedgerError, match="lost charges: record 2"):
        ledger.charge(ask(question="instead"))
    another = site.open()  # a process that has not seen the lost charge
    again_charged = another.charge(ask(question="instead"))
    assert again_charged.number == lost.number
    assert verify(another).holds
    assert verify(another, [{"ledger_entry": lost.number, "ledger_link": lost.head}]).wrong == lost.number


@pytest.mark.parametrize("receipt", [{}, {"ledger_entry": 1, "ledger_link": None}, {"ledger_entry": "1"}])
def test_what_is_no_receipt_of_a_ledger_is_refused(sites: Sites, receipt: dict[str, object]) -> None:
    with pytest.raises(InvalidError, match="receipt"):
        verify(sites("sqlite").open(), [receipt])


@pytest.fixture
def steady(sites: Sites) -> Site:
    """A file that many changes are tried on, each undone."""
    site = sites("sqlite")
    written(site)
    return site


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_flipped_bit_in_a_body_is_told_at_its_record(steady: Site, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, 11))
    ((body,),) = steady.run("SELECT body FROM tacit_records WHERE number = :n", n=number)
    raw = bytearray(body.encode())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    set_to = "UPDATE tacit_records SET body = CAST(:raw AS TEXT) WHERE number = :n"
    steady.run(set_to, raw=bytes(raw), n=number)
    ledger = read_ledger(steady.location)
    report = verify(ledger)
    steady.run(set_to, raw=body.encode(), n=number)
    assert report.wrong == number
    assert verify(ledger).holds


def test_a_flipped_bit_anywhere_in_the_file_is_told_or_changes_nothing(steady: Site) -> None:
    chance = random.Random(20261115)  # noqa: S311 - sites to flip
    whole, ledger = Path(steady.location).read_bytes(), read_ledger(steady.location)
    said = ledger.records(), ledger.derived()
    told = 0
    for _ in range(150):
        raw = bytearray(whole)
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        Path(steady.location).write_bytes(raw)
        for leftover in ("-wal", "-shm"):
            Path(f"{steady.location}{leftover}").unlink(missing_ok=True)
        try:
            holds = verify(ledger).holds
        except LedgerError:
            holds = False
        told += not holds
        assert not holds or (ledger.records(), ledger.derived()) == said
    assert told > 10
