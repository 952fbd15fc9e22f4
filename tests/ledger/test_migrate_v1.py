"""Ledgers of the first format: migrated, or left unchanged."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from ledgers import ONE, Site, Sites, ask, pure
from tacit.errors import BudgetError, LedgerError, RefusedError
from tacit.guarantees.events import to_json
from tacit.guarantees.values import PureDP
from tacit.ledger.open_ledger import read_ledger, upgrade_ledger
from tacit.ledger.replay import verify


def first_format(location: str, charges: int = 4, budget: str = "basic: 1, delta 0") -> None:
    """Write a ledger as the first version of tacit did."""
    with closing(sqlite3.connect(location)) as file, file:
        file.execute("PRAGMA journal_mode=WAL")
        file.execute("CREATE TABLE about (key VARCHAR NOT NULL PRIMARY KEY, value VARCHAR NOT NULL)")
        file.execute(
            "CREATE TABLE entries (number INTEGER NOT NULL PRIMARY KEY, question VARCHAR NOT NULL, analyst VARCHAR NOT "
            "NULL, events VARCHAR NOT NULL, loss VARCHAR NOT NULL, delta VARCHAR NOT NULL, chain VARCHAR NOT NULL)"
        )
        file.execute("CREATE TABLE outcomes (number INTEGER NOT NULL PRIMARY KEY, outcome VARCHAR NOT NULL)")
        about = {"version": "1", "budget": budget, "neighbours": "add/remove"}
        file.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        chain = ""
        for number in range(1, charges + 1):
            row = {
                "number": number,
                "question": f"SELECT 'ü {number}'",
                "analyst": "ann" if number % 2 else "",
                "events": json.dumps([to_json(pure("0.05")), to_json(pure("0.05"))]),
                "loss": str(Fraction(number, 10)),
                "delta": "0",
            }
            chain = sha256((chain + json.dumps(row, sort_keys=True, separators=(",", ":"))).encode()).hexdigest()
            file.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", (*row.values(), chain))
        file.executemany("INSERT INTO outcomes VALUES (?, ?)", [(1, "answered"), (2, "failed")][:charges])


@pytest.fixture
def old(sites: Sites) -> Site:
    return sites("sqlite")


def test_it_is_upgraded_by_a_command_that_the_refusal_names(old: Site) -> None:
    first_format(old.location)
    with pytest.raises(LedgerError, match="`tacit ledger upgrade POLICY`"):
        read_ledger(old.location)
    assert [upgrade_ledger(old.location) for _ in range(2)] == [True, False]
    ledger = read_ledger(old.location)
    assert verify(ledger).holds
    assert ledger.spent.loss == Fraction(4, 10)
    ledger.close()


def test_it_is_brought_up_to_date_with_all_it_holds(old: Site) -> None:
    first_format(old.location)
    with pytest.raises(LedgerError, match="older format"):
        read_ledger(old.location)
    ((chain,),) = old.run("SELECT chain FROM entries WHERE number = 4")
    ledger = old.open()
    assert not ledger.created
    assert ledger.spent.loss == Fraction(4, 10)
    assert [(e.question, e.analyst, e.events, e.outcome) for e in ledger.entries()] == [
        (f"SELECT 'ü {n}'", "ann" if n % 2 else "", (pure("0.05"), pure("0.05")), outcome)
        for n, outcome in enumerate(["answered", "failed", "pending", "pending"], 1)
    ]
    assert [ledger.spent_by(name).loss for name in ("ann", "")] == [Fraction(2, 10), Fraction(2, 10)]
    assert ledger.records()[0].fields["first_format"] == chain
    assert verify(ledger).holds
    assert old.run("SELECT name FROM sqlite_master WHERE name IN ('about', 'entries', 'outcomes')") == []
    ledger.charge(ask("0.6"))
    with pytest.raises(BudgetError):
        old.open().charge(ask("0.01"))
    assert verify(old.open()).holds


def test_one_without_a_charge_too(old: Site) -> None:
    first_format(old.location, charges=0)
    assert old.open().spent.loss == 0
    assert verify(old.open()).holds


CHANGES = {
    "a question": "UPDATE entries SET question = 'another' WHERE number = 2",
    "a price": "UPDATE entries SET loss = '0' WHERE number = 4",
    "a missing charge": "DELETE FROM entries WHERE number = 2",
    "a missing first charge": "DELETE FROM entries WHERE number = 1",
    "an outcome that there is not": "UPDATE outcomes SET outcome = 'refunded'",
    "a budget below what is spent": "UPDATE about SET value = 'basic: 1/10, delta 0' WHERE key = 'budget'",
    "another currency": "UPDATE about SET value = 'gdp: 1, delta 0' WHERE key = 'budget'",
    "no budget": "DELETE FROM about WHERE key = 'budget'",
    "another version": "UPDATE about SET value = '7' WHERE key = 'version'",
    "other columns": "ALTER TABLE outcomes RENAME COLUMN outcome TO ended",
}


@pytest.mark.parametrize("what", CHANGES)
def test_one_that_was_changed_is_refused_and_left_as_it_is(old: Site, what: str) -> None:
    first_format(old.location)
    old.run(CHANGES[what])
    before = Path(old.location).read_bytes()
    with pytest.raises(LedgerError, match="Nothing was") as caught:
        old.open()
    assert old.location in str(caught.value) or "at record" in str(caught.value)
    assert Path(old.location).read_bytes() == before


def test_one_for_another_budget_or_relation_is_refused_and_left_as_it_is(old: Site) -> None:
    first_format(old.location)
    before = Path(old.location).read_bytes()
    with pytest.raises(RefusedError):
        old.open(PureDP(epsilon=2))
    with pytest.raises(RefusedError):
        old.open(ONE, "change one")
    assert Path(old.location).read_bytes() == before
    assert old.open().spent.loss == Fraction(4, 10)
