from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import BudgetError, InvalidError
from tacit.guarantees.events import (
    ApproxRelease,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    PureRelease,
)
from tacit.guarantees.filters import ApproxZCDP, Budget
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.ledger import described
from tacit.ledger.memory import MemoryLedger


def pure(epsilon: str) -> PureRelease:
    return PureRelease(epsilon=Fraction(epsilon))


def begun(budget: Budget | None = None) -> MemoryLedger:
    return MemoryLedger(budget or PureDP(epsilon=1), "add/remove")


def test_ten_tenths_are_one_and_no_more() -> None:
    ledger = begun()
    assert [ledger.charge("q", [pure("0.1")]) for _ in range(10)] == list(range(1, 11))
    assert ledger.spent.loss == 1
    with pytest.raises(BudgetError, match=r"only 0\.0 is left"):
        ledger.charge("q", [pure("1e-300")])


@given(st.lists(st.fractions(min_value=Fraction(1, 997), max_value=1, max_denominator=997), max_size=12))
def test_sums_are_exact(parts: list[Fraction]) -> None:
    ledger = begun(ApproxDP(epsilon=100, delta=0.5))
    for part in parts:
        ledger.charge("q", [PureRelease(epsilon=part), ApproxRelease(epsilon=part, delta=part / 100)])
    assert ledger.spent.loss == 2 * sum(parts)
    assert ledger.spent.delta == sum(parts) / 100


def test_a_refusal_changes_nothing() -> None:
    ledger = begun()
    ledger.charge("q", [pure("0.7")])
    before = (ledger.spent, ledger.entries())
    refused: list[tuple[type[Exception], Sequence[Event]]] = [
        (BudgetError, [pure("0.2"), pure("0.2")]),  # each fits, both do not
        (BudgetError, [ApproxRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 10**9))]),
        (InvalidError, [pure("0.1"), DiscreteGaussianNoise(variance=Fraction(9), l2_squared=1, coordinates=1)]),
        (InvalidError, [PureRelease(epsilon=Fraction(1, 10), neighbours="change one")]),
    ]
    for error, events in refused:
        with pytest.raises(error):
            ledger.charge("q", events)
        assert (ledger.spent, ledger.entries()) == before
    assert ledger.charge("q", [pure("0.3")]) == 2


@pytest.mark.parametrize("budget", [ZCDP(rho=1), ApproxZCDP(rho=1, delta=1e-6)])
def test_gaussian_noise_is_charged_in_rho(budget: Budget) -> None:
    ledger = begun(budget)
    ledger.charge("q", [DiscreteGaussianNoise(variance=Fraction(50), l2_squared=3, coordinates=2)])
    ledger.charge("q", [DiscreteLaplaceNoise(scale=Fraction(10), l1=Fraction(2), coordinates=1)])
    assert ledger.spent.loss == Fraction(3, 100) + Fraction(1, 5) ** 2 / 2


def test_history_says_who_asked_what_and_how_it_ended() -> None:
    ledger = begun()
    first, second, third = (ledger.charge(f"q{i}", [pure("0.1")], analyst="ann" if i else "") for i in range(3))
    ledger.close(first, "answered")
    ledger.close(second, "failed")
    found = ledger.entries()
    assert [(e.number, e.question, e.analyst, e.outcome) for e in found] == [
        (first, "q0", "", "answered"),
        (second, "q1", "ann", "failed"),
        (third, "q2", "ann", "pending"),
    ]
    assert found[0].events == (pure("0.1"),)
    assert described(found[1]) == {"number": second, "question": "q1", "analyst": "ann", "outcome": "failed"}
    assert ledger.spent.loss == Fraction(3, 10)  # what failed stays charged


def test_an_empty_charge_costs_nothing_and_is_recorded() -> None:
    ledger = begun()
    assert ledger.charge("q", []) == 1
    assert ledger.spent.loss == 0


def test_eight_threads_never_spend_more_than_there_is() -> None:
    ledger, together = begun(), Barrier(8)

    def ask(_: int) -> int:
        together.wait()
        admitted = 0
        for _ in range(50):
            try:
                ledger.charge("q", [pure("0.004"), pure("0.003")])
            except BudgetError:
                continue
            admitted += 1
        return admitted

    with ThreadPoolExecutor(8) as pool:
        admitted = sum(pool.map(ask, range(8)))
    assert admitted == len(ledger.entries()) == 142  # 142·0.007 = 0.994
    assert ledger.spent.loss == Fraction(994, 1000)
    assert [entry.number for entry in ledger.entries()] == list(range(1, 143))


def test_the_budget_is_told() -> None:
    budget = ApproxDP(epsilon=1, delta=1e-6)
    assert begun(budget).budget == budget
    assert begun(budget).spent.neighbours == "add/remove"
