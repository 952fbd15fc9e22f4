"""Many processes share one ledger; some inherit a ledger that their parent opened."""

from __future__ import annotations

import os
from fractions import Fraction

import pytest

from children import ended, forked
from ledgers import ONE, Site, ask
from tacit.errors import BudgetError
from tacit.guarantees.values import PureDP
from tacit.ledger.open_ledger import open_ledger
from tacit.ledger.replay import verify
from tacit.ledger.sql_ledger import SqlLedger

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")

CROWD = 32


def spend(ledger: SqlLedger, price: str, times: int, analyst: str) -> list[int]:
    """Return the numbers of the charges that were admitted."""
    admitted = []
    for _ in range(times):
        try:
            number = ledger.charge(ask(price, analyst=analyst)).number
        except BudgetError:
            continue
        admitted.append(number)
        ledger.finish(number, "answered", f"{number}")
    return admitted


def crowd(site: Site, price: str, times: int) -> list[int]:
    """Start processes at the same time that open the ledger and spend; return the numbers of their charges."""
    gate, told = os.pipe(), os.pipe()

    def work(name: str) -> None:
        os.close(gate[1])
        os.read(gate[0], 1)  # until the parent closes it
        ledger = open_ledger(site.location, ONE, "add/remove", analysts={"a": PureDP(epsilon=0.5)})
        for number in spend(ledger, price, times, name):
            os.write(told[1], b"%d\n" % number)
        ledger.close()

    children = [forked(lambda name="ab"[i % 2]: work(name)) for i in range(CROWD)]  # type: ignore[misc]
    for end in (gate[0], gate[1], told[1]):
        os.close(end)
    with os.fdopen(told[0]) as lines:
        numbers = [int(line) for line in lines]
    assert [ended(child) for child in children] == [0] * CROWD
    return numbers


@pytest.mark.parametrize(
    ("price", "times"), [("0.03", 3), pytest.param("0.001", 60, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_thirty_two_processes_never_spend_more_than_there_is_not_even_when_they_begin_it(
    site: Site, price: str, times: int
) -> None:
    numbers = crowd(site, price, times)
    ledger = site.open(analysts={"a": PureDP(epsilon=0.5)})
    entries = ledger.entries()
    assert sorted(numbers) == [entry.number for entry in entries]  # none lost, none twice
    assert {entry.outcome for entry in entries} == {"answered"}
    assert ledger.spent.loss == len(numbers) * Fraction(price)
    assert 1 - Fraction(price) < ledger.spent.loss <= 1
    assert ledger.spent_by("a").loss <= Fraction(1, 2)
    assert [one.kind for one in ledger.records()[:3]].count("begin") == 1
    assert verify(ledger).holds


def test_a_ledger_that_was_opened_before_a_fork_works_on_both_sides(site: Site) -> None:
    ledger = site.open()
    ledger.charge(ask("0.02"))  # a connection to a server is open now
    children = [forked(lambda: spend(ledger, "0.02", 5, "child")) for _ in range(4)]
    own = spend(ledger, "0.02", 5, "parent")
    assert [ended(child) for child in children] == [0] * 4
    assert len(own) == 5
    assert ledger.spent.loss == Fraction(26 * 2, 100)
    assert [entry.analyst for entry in ledger.entries()].count("child") == 20
    assert verify(ledger).holds


def test_a_child_that_ends_takes_nothing_of_its_parent_with_it(site: Site) -> None:
    """A child must not close the connections of its parent."""
    ledger = site.open()
    with ledger._store.writing() as connection:  # a fork in the middle of a transaction, as threads may cause
        connection.exec_driver_sql("UPDATE tacit_head SET format = format")
        assert ended(forked(ledger.close)) == 0
        connection.exec_driver_sql("UPDATE tacit_head SET format = format")
    assert ledger.charge(ask()).number == 1
    assert verify(ledger).holds
