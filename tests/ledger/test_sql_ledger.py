from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from threading import Barrier, Timer

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledgers import ONE, Site, Sites, ask, pure
from tacit.errors import BudgetError, InvalidError, RefusedError
from tacit.guarantees.events import ApproxRelease, DiscreteGaussianNoise, Event, PureRelease
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import Budget
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.ledger import Request
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.open_ledger import read_ledger
from tacit.ledger.replay import verify


def test_ten_tenths_are_one_and_no_more_however_often_it_is_reopened(site: Site) -> None:
    assert [site.open().charge(ask()).number for _ in range(10)] == list(range(1, 11))
    assert site.open().spent.loss == 1
    with pytest.raises(BudgetError, match=r"only 0\.0 is left"):
        site.open().charge(ask("1e-300"))
    assert verify(site.open()).holds


@given(st.lists(st.fractions(min_value=Fraction(1, 997), max_value=1, max_denominator=997), min_size=1, max_size=5))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sums_are_exact_and_those_of_the_ledger_in_memory(site: Site, parts: list[Fraction]) -> None:
    budget = ApproxDP(epsilon=10**6, delta=0.999)
    durable, memory = site.open(budget), MemoryLedger(budget, "add/remove")
    before = durable.spent
    for part in parts:
        events: tuple[Event, ...] = (PureRelease(epsilon=part), ApproxRelease(epsilon=part, delta=part / 10**5))
        for ledger in (durable, memory):
            ledger.charge(Request(question="q", events=events))
    assert durable.spent.loss - before.loss == memory.spent.loss == 2 * sum(parts)
    assert durable.spent.delta - before.delta == memory.spent.delta == sum(parts) / 10**5


def test_a_refusal_changes_nothing(site: Site) -> None:
    ledger = site.open()
    ledger.charge(ask("0.7"))
    before = (ledger.records(), ledger.derived())
    with pytest.raises(BudgetError) as caught:
        ledger.charge(ask("0.2", "0.2"))
    assert caught.value.unspent
    gaussian = DiscreteGaussianNoise(variance=Fraction(9), l2_squared=1, coordinates=1)
    for event in (gaussian, PureRelease(epsilon=Fraction(1, 10), neighbours="change one")):
        with pytest.raises(InvalidError):
            ledger.charge(Request(question="q", events=(pure("0.1"), event)))
    assert (ledger.records(), ledger.derived()) == before
    assert ledger.charge(ask("0.3")).number == 2


def test_a_ledger_survives_being_reopened(site: Site) -> None:
    first = site.open()
    text = "SELECT '{}' -- ü; \0 DROP \ud800 \u2028"
    one, two, three = (first.charge(ask(question=text.format(i), analyst="Ann ü")).number for i in range(3))
    first.finish(one, "answered", "ü 7")
    first.finish(two, "failed")
    again = site.open()
    assert again.entries() == first.entries()
    assert [(e.number, e.outcome) for e in again.entries()] == [(one, "answered"), (two, "failed"), (three, "pending")]
    assert again.entries()[0].question == text.format(0)
    assert again.entries()[0].events == (pure("0.1"),)
    assert again.entries()[0].analyst == "Ann ü"
    assert again.spent == first.spent == read_ledger(site.location).spent
    assert again.spent.loss == Fraction(3, 10)  # a failed query stays charged
    assert again.budget == ONE
    assert verify(again).holds


def test_an_outcome_is_recorded_once_and_is_one_of_two(site: Site) -> None:
    ledger = site.open()
    number = ledger.charge(ask()).number
    for bad in ("", "pending", "refunded"):
        with pytest.raises(InvalidError, match="outcome"):
            ledger.finish(number, bad)
    for other in (0, -1, number + 1, 2**63, 10**30, True, "1"):
        with pytest.raises(InvalidError, match="number"):
            ledger.finish(other, "answered")  # type: ignore[arg-type]
    ledger.finish(number, "failed", "7")
    with pytest.raises(InvalidError, match="has not ended"):
        ledger.finish(number, "answered", "7")
    assert ledger.entries()[0].outcome == "failed"
    assert verify(ledger).holds


def test_an_equal_budget_is_the_same_however_it_is_written(site: Site) -> None:
    site.open(PureDP(epsilon=0.1)).charge(ask("0.05"))
    assert site.open(PureDP(epsilon=Exact(Fraction(1, 10)))).spent.loss == Fraction(1, 20)
    assert site.open(ApproxDP(epsilon=0.1, delta=0)).spent.loss == Fraction(1, 20)


@pytest.mark.parametrize("budget", [ZCDP(rho=1), ApproxZCDP(rho=1, delta=1e-6)])
def test_gaussian_noise_is_charged_in_rho(site: Site, budget: Budget) -> None:
    ledger = site.open(budget)
    event = DiscreteGaussianNoise(variance=Fraction(50), l2_squared=3, coordinates=2)
    ledger.charge(Request(question="q", events=(event,)))
    assert site.open(budget).spent.loss == Fraction(3, 100)
    assert site.open(budget).budget == budget
    assert verify(ledger).holds


def test_what_is_charged_is_there_before_charge_returns_and_synced(site: Site) -> None:
    """Another connection sees the charge at once, and commits wait for the disk."""
    ledger = site.open()
    ledger.charge(ask("0.25"))
    assert site.run("SELECT number, loss, delta FROM tacit_head") == [(1, "1/4", "0")]
    with ledger._store.writing() as connection:
        if site.is_file:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        else:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
            assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"


def test_both_budgets_must_admit_the_analysts_and_that_of_the_data(site: Site) -> None:
    limits = {"ann": PureDP(epsilon=0.3), "bob": PureDP(epsilon=5)}
    ledger = site.open(analysts=limits)
    for _ in range(3):
        ledger.charge(ask(analyst="ann"))
    before = ledger.records()
    with pytest.raises(BudgetError, match="the analyst's own limit"):
        site.open(analysts=limits).charge(ask("1e-9", analyst="ann"))
    assert ledger.records() == before
    ledger.charge(ask("0.7", analyst="bob"))
    for analyst in ("ann", "bob", "carl", ""):  # for any analyst
        with pytest.raises(BudgetError):
            ledger.charge(ask("1e-9", analyst=analyst))
    assert ledger.spent.loss == 1
    assert [ledger.spent_by(name).loss for name in ("ann", "bob", "carl")] == [Fraction(3, 10), Fraction(7, 10), 0]
    assert [ledger.limit_of(name) for name in ("ann", "carl")] == [PureDP(epsilon=0.3), None]
    assert verify(ledger).holds


def test_a_limit_that_is_set_later_counts_what_was_spent_before(site: Site) -> None:
    ledger = site.open()
    ledger.charge(ask("0.4", analyst="ann"))
    ledger.set_limit("ann", PureDP(epsilon=0.5))
    ledger.charge(ask("0.1", analyst="ann"))
    with pytest.raises(BudgetError):
        ledger.charge(ask("0.01", analyst="ann"))
    ledger.set_limit("ann", PureDP(epsilon=0.2))  # below what is spent: she cannot query
    with pytest.raises(BudgetError, match=r"only 0\.0 is left"):
        ledger.charge(ask("0.01", analyst="ann"))
    ledger.set_limit("ann", None)
    ledger.charge(ask("0.01", analyst="ann"))
    with pytest.raises(RefusedError, match="one currency"):
        ledger.set_limit("ann", ZCDP(rho=1))
    assert verify(ledger).holds


def test_a_budget_is_raised_on_the_stewards_word_for_all_who_have_it_open(site: Site) -> None:
    first, second = site.open(), site.open()
    first.charge(ask("1"))
    with pytest.raises(RefusedError, match="accept"):
        site.open(PureDP(epsilon=2))
    site.open(PureDP(epsilon=2), accept=True)
    second.charge(ask("0.5"))
    assert (second.budget, second.spent.loss) == (PureDP(epsilon=2), Fraction(3, 2))
    with pytest.raises(BudgetError):
        second.charge(ask("0.51"))
    assert verify(second).holds


def test_eight_threads_never_spend_more_than_there_is(site: Site) -> None:
    ledger, together = site.open(), Barrier(8)

    def asks(_: int) -> int:
        together.wait()
        admitted = 0
        for _ in range(6):
            try:
                ledger.charge(ask("0.02", "0.01"))
            except BudgetError:
                continue
            admitted += 1
        return admitted

    with ThreadPoolExecutor(8) as pool:
        admitted = sum(pool.map(asks, range(8)))
    assert admitted == len(ledger.entries()) == 33  # 33·0.03 = 0.99
    assert ledger.spent.loss == Fraction(99, 100)
    assert [entry.number for entry in ledger.entries()] == list(range(1, 34))
    assert verify(ledger).holds


def test_a_check_while_others_charge_sees_one_moment(site: Site) -> None:
    ledger = site.open(PureDP(epsilon=1000))
    with ledger.snapshot() as (records, derived):
        next(records)
        ledger.charge(ask())
        assert list(records) == []
        assert derived()["tacit_charges"] == []
    assert verify(ledger).records == 2


def test_who_opens_a_file_that_another_has_locked_waits(sites: Sites) -> None:
    site = sites("sqlite")
    with closing(sqlite3.connect(site.location, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        release = Timer(0.3, lambda: other.execute("COMMIT"))
        release.start()
        assert site.open().charge(ask()).number == 1
        release.join()
