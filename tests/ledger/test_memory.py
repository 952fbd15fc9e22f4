from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from children import ended, forked
from ledgers import again, ask, pure
from tacit.errors import BudgetError, InvalidError, RefusedError
from tacit.guarantees.events import (
    ApproxRelease,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    PureRelease,
)
from tacit.guarantees.filters import Budget
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.ledger import Request, described
from tacit.ledger.memory import MemoryLedger


def begun(budget: Budget | None = None, **analysts: Budget) -> MemoryLedger:
    return MemoryLedger(budget or PureDP(epsilon=1), "add/remove", analysts)


def test_ten_tenths_are_one_and_no_more() -> None:
    ledger = begun()
    assert [ledger.charge(ask()).number for _ in range(10)] == list(range(1, 11))
    assert ledger.spent.loss == 1
    with pytest.raises(BudgetError, match=r"only 0\.0 is left"):
        ledger.charge(ask("1e-300"))


@given(st.lists(st.fractions(min_value=Fraction(1, 997), max_value=1, max_denominator=997), max_size=12))
def test_sums_are_exact(parts: list[Fraction]) -> None:
    ledger = begun(ApproxDP(epsilon=100, delta=0.5))
    for part in parts:
        events = (PureRelease(epsilon=part), ApproxRelease(epsilon=part, delta=part / 100))
        ledger.charge(Request(question="q", events=events))
    assert ledger.spent.loss == 2 * sum(parts)
    assert ledger.spent.delta == sum(parts) / 100


def test_a_refusal_changes_nothing() -> None:
    ledger = begun()
    ledger.charge(ask("0.7"))
    before = (ledger.spent, ledger.entries())
    refused: list[tuple[type[Exception], Sequence[Event]]] = [
        (BudgetError, [pure("0.2"), pure("0.2")]),  # each fits, both do not
        (BudgetError, [ApproxRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 10**9))]),
        (InvalidError, [pure("0.1"), DiscreteGaussianNoise(variance=Fraction(9), l2_squared=1, coordinates=1)]),
        (InvalidError, [PureRelease(epsilon=Fraction(1, 10), neighbours="change one")]),
    ]
    for error, events in refused:
        with pytest.raises(error):
            ledger.charge(Request(question="q", events=tuple(events)))
        assert (ledger.spent, ledger.entries()) == before
    assert ledger.charge(ask("0.3")).number == 2


@pytest.mark.parametrize("budget", [ZCDP(rho=1), ApproxZCDP(rho=1, delta=1e-6)])
def test_gaussian_noise_is_charged_in_rho(budget: Budget) -> None:
    ledger = begun(budget)
    for event in (
        DiscreteGaussianNoise(variance=Fraction(50), l2_squared=3, coordinates=2),
        DiscreteLaplaceNoise(scale=Fraction(10), l1=Fraction(2), coordinates=1),
    ):
        ledger.charge(Request(question="q", events=(event,)))
    assert ledger.spent.loss == Fraction(3, 100) + Fraction(1, 5) ** 2 / 2


def test_history_says_who_asked_what_and_how_it_ended() -> None:
    ledger = begun()
    first, second, third = (ledger.charge(ask(question=f"q{i}", analyst="ann" if i else "")).number for i in range(3))
    ledger.finish(first, "answered")
    ledger.finish(second, "failed")
    found = ledger.entries()
    assert [(e.number, e.question, e.analyst, e.outcome) for e in found] == [
        (first, "q0", "", "answered"),
        (second, "q1", "ann", "failed"),
        (third, "q2", "ann", "pending"),
    ]
    assert found[0].events == (pure("0.1"),)
    shown = {"number": second, "time": found[1].time, "question": "q1", "analyst": "ann", "outcome": "failed"}
    assert described(found[1]) == shown
    assert ledger.spent.loss == Fraction(3, 10)  # a failed query stays charged


def test_an_outcome_is_recorded_once_and_is_one_of_two() -> None:
    ledger = begun()
    number = ledger.charge(ask()).number
    for bad in ("", "pending", "refunded"):
        with pytest.raises(InvalidError, match="outcome"):
            ledger.finish(number, bad)
    for other in (0, -1, number + 1, 10**30):
        with pytest.raises(InvalidError, match="number"):
            ledger.finish(other, "answered")
    ledger.finish(number, "failed")
    with pytest.raises(InvalidError, match="has not ended"):
        ledger.finish(number, "answered", "7")
    assert ledger.entries()[0].outcome == "failed"


def test_an_empty_charge_costs_nothing_and_is_recorded() -> None:
    ledger = begun()
    assert ledger.charge(Request(question="q", events=())).number == 1
    assert ledger.spent.loss == 0


def test_eight_threads_never_spend_more_than_there_is() -> None:
    ledger, together = begun(), Barrier(8)

    def asks(_: int) -> int:
        together.wait()
        admitted = 0
        for _ in range(50):
            try:
                ledger.charge(ask("0.004", "0.003"))
            except BudgetError:
                continue
            admitted += 1
        return admitted

    with ThreadPoolExecutor(8) as pool:
        admitted = sum(pool.map(asks, range(8)))
    assert admitted == len(ledger.entries()) == 142  # 142·0.007 = 0.994
    assert ledger.spent.loss == Fraction(994, 1000)
    assert [entry.number for entry in ledger.entries()] == list(range(1, 143))


def test_the_budget_is_told() -> None:
    budget = ApproxDP(epsilon=1, delta=1e-6)
    assert begun(budget).budget == budget
    assert begun(budget).spent.neighbours == "add/remove"


def test_both_budgets_must_admit_the_analysts_and_that_of_the_data() -> None:
    ledger = begun(ann=PureDP(epsilon=0.3), bob=PureDP(epsilon=5))
    ledger.charge(ask("0.3", analyst="ann"))
    with pytest.raises(BudgetError, match="the analyst's own limit"):
        ledger.charge(ask("0.01", analyst="ann"))
    ledger.charge(ask("0.7", analyst="bob"))
    for analyst in ("ann", "bob", "carl", ""):
        with pytest.raises(BudgetError):
            ledger.charge(ask("0.01", analyst=analyst))
    assert ledger.spent.loss == 1
    assert [ledger.spent_by(name).loss for name in ("ann", "bob", "carl")] == [Fraction(3, 10), Fraction(7, 10), 0]
    with pytest.raises(RefusedError, match="one currency"):
        begun(ann=ZCDP(rho=1))


def test_the_same_question_again_is_free_and_only_then() -> None:
    ledger = begun()
    first = ledger.charge(again("a"))
    assert ledger.charge(again("a")).answer is None  # it has no answer yet, so it is charged once more
    ledger.finish(first.number, "answered", "7")
    assert ledger.recorded(again("a")) == ledger.charge(again("a"))
    assert ledger.recorded(ask(digest="a")) is None
    assert ledger.charge(again("a")).answer == "7"
    assert ledger.charge(again("a", analyst="bob")).answer is None
    assert ledger.charge(ask(digest="a")).answer is None
    failed = ledger.charge(again("b"))
    ledger.finish(failed.number, "failed", "8")
    assert ledger.charge(again("b")).answer is None
    assert ledger.spent.loss == Fraction(6, 10)


def test_a_key_is_for_one_question() -> None:
    ledger = begun()
    number = ledger.charge(ask(digest="a", key="mine")).number
    ledger.finish(number, "answered", "7")
    assert ledger.charge(ask(digest="a", key="mine")).answer == "7"
    with pytest.raises(RefusedError, match="another query"):
        ledger.charge(ask(digest="b", key="mine"))
    assert ledger.charge(ask(digest="b", key="mine", analyst="bob")).answer is None
    assert ledger.spent.loss == Fraction(2, 10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_child_cannot_spend_the_copy_that_it_has() -> None:
    ledger = begun()

    def spend() -> None:
        with pytest.raises(RefusedError, match="memory of the process"):
            ledger.charge(ask())

    assert ended(forked(spend)) == 0
    assert ledger.charge(ask()).number == 1


def test_a_ledger_in_memory_has_no_records_to_verify_or_copy() -> None:
    with tc.open({"x": [1]}, unit=tc.ROW, budget=tc.PureDP(epsilon=1)) as db:
        for use in (tc.ledger.verify, lambda ledger: list(tc.ledger.export(ledger))):
            with pytest.raises(tc.InvalidError, match="This ledger is in memory and has no records"):
                use(db.ledger)
