"""reach="auto" in records: repeated answers, declared plans, and a given error with two charges."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import tacit as tc
from tacit.errors import BudgetError, InvalidError
from tacit.guarantees.events import PureRelease
from tacit.guarantees.exact import to_fraction
from test_chosen_reach import BY_MONTH, BY_NAME, COUNT, choosing, chosen, year

# --- records --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"epsilon": 1}, {"epsilon": 0.5, "delta": 1e-6}])
def test_a_version_of_the_data_repeats_the_answer_at_its_reach(options: dict[str, Any]) -> None:
    with year(data_version="2026", max_rows=1) as db:
        first = db.sql(BY_MONTH, reach="auto", **options)
        spent = db.spent
        again = [db.sql(BY_MONTH, reach="auto", **options) for _ in range(5)]
        assert db.spent == spent
        assert all(answer.repeated and answer.rows() == first.rows() for answer in again)
        assert {chosen(answer) for answer in again} == {chosen(first)}
        assert again[0].intervals().rows() == first.intervals().rows()
        assert again[0].receipt == first.receipt


def test_found_groups_and_tables_are_repeated_at_their_reach() -> None:
    with year(data_version="2026", max_groups=12) as db:
        options: dict[str, Any] = {"epsilon": 50, "reach": "auto"}
        found = [db.sql(BY_NAME, delta=1e-6, **options) for _ in range(2)]
        tables = [db.crosstab("month", **options) for _ in range(2)]
        assert len(db.ledger.entries()) == 2
        for first, second in (found, tables):
            assert second.repeated
            assert (second.rows(), chosen(second)) == (first.rows(), chosen(first))
        assert tables[0].margin().rows() == tables[1].margin().rows()


def test_a_request_repeats_the_answer_at_its_reach() -> None:
    with year() as db:
        first = db.sql(BY_MONTH, epsilon=1, reach="auto", request="monday")
        second = db.sql(BY_MONTH, epsilon=1, reach="auto", request="monday")
        assert (second.rows(), second.repeated, chosen(second)) == (first.rows(), True, chosen(first))
        assert db.spent == tc.ApproxDP(epsilon=1, delta=0)
        fresh = db.sql(BY_MONTH, epsilon=1, reach="auto")
        assert not fresh.repeated


def test_a_fixed_question_does_not_get_the_recorded_answer_of_a_choice() -> None:
    """At a reach of 1 and the rest of ε, the plan and its noise are equal to those of the quote that chooses."""
    with year(data_version="2026") as db:
        quote, fixed = choosing(db, BY_MONTH, epsilon=1), db.plan(BY_MONTH, epsilon=Fraction(9, 10), reach=1)
        assert (quote.plan, quote.price.noise) == (fixed.plan, fixed.price.noise)
        db.sql(BY_MONTH, epsilon=1, reach="auto")
        assert not db.sql(BY_MONTH, epsilon=Fraction(9, 10), reach=1).repeated
        assert not db.sql(BY_MONTH, epsilon=1, reach="auto", share=0.2).repeated
        assert db.ledger.spent.loss == Fraction(29, 10)


def test_another_delta_is_another_question_even_if_the_noise_at_a_reach_of_one_is_the_same() -> None:
    with year(data_version="2026", max_rows=1) as db:
        quotes = [choosing(db, BY_MONTH, epsilon=1, delta=delta) for delta in (1e-5, 1e-9)]
        assert quotes[0].price.noise == quotes[1].price.noise
        first = db.sql(BY_MONTH, epsilon=1, delta=1e-5, reach="auto")
        second = db.sql(BY_MONTH, epsilon=1, delta=1e-9, reach="auto")
        assert (first.repeated, second.repeated) == (False, False)
        assert second.cost == tc.ApproxDP(epsilon=1, delta=1e-9)
        assert db.ledger.spent.loss == 2


# --- declared plans -------------------------------------------------------------------------------------------------


def test_a_declared_plan_of_choices_costs_their_sum_and_answers() -> None:
    with year(tc.PureDP(epsilon=3)) as db:
        declared = tc.declare([db.plan(BY_MONTH, epsilon=0.5, reach="auto"), db.plan(COUNT, epsilon=1, reach="auto")])
        assert declared.together.loss == Fraction(3, 2)
        answers = declared.ask()
        assert [len(answer.rows()) for answer in answers] == [12, 1]
        assert db.ledger.spent.loss == Fraction(3, 2)
        assert len(db.ledger.entries()) == 1
        for answer in answers:
            chosen(answer)


def test_choices_are_composed_as_guarantees_and_never_by_their_noise() -> None:
    with year(tc.ApproxDP(epsilon=100, delta=1e-5)) as db:
        declared = tc.declare([db.plan(COUNT, epsilon=0.1, reach="auto")] * 60)
        noise = tc.declare([db.plan(COUNT, epsilon=0.1, reach=1)] * 60)
        pure = tc.compose([(PureRelease(epsilon=Fraction(1, 10)), 60)]).epsilon(delta=1e-5).upper
        assert float(declared.together.loss) == pytest.approx(pure)
        assert noise.together.loss < declared.together.loss < 6
        assert len(declared.ask()) == 60
        assert db.spent == declared.cost


def test_an_error_with_a_choice_cannot_be_declared() -> None:
    """Its cost is known only after the choice."""
    with year() as db:
        plans = [db.plan(COUNT, epsilon=1, reach="auto"), db.plan(COUNT, error=50, reach="auto")]
        with pytest.raises(InvalidError, match="Item 2 of questions has an error and reach='auto'") as caught:
            tc.declare(plans)
        assert str(caught.value).endswith("Nothing was spent.")
        assert not db.ledger.entries()


# --- a given error --------------------------------------------------------------------------------------------------


def test_an_error_is_solved_at_the_chosen_reach_and_charged_apart() -> None:
    with year() as db:
        quote = choosing(db, BY_MONTH, error=50, share=0.9)
        answer = db.sql(BY_MONTH, error=50, reach="auto", share=0.9)
        reach = chosen(answer)
        fixed = db.plan(BY_MONTH, error=50, reach=reach)
        assert answer.price.noise == fixed.price.noise
        assert fixed.error["n"] <= 50
        first, second = db.ledger.entries()
        assert first.events == quote.price.events
        assert second.events == fixed.price.events
        exact = [
            to_fraction(cost.epsilon, "epsilon") for cost in (quote.cost, fixed.cost) if isinstance(cost, tc.PureDP)
        ]
        assert (len(exact), db.ledger.spent.loss) == (2, sum(exact))
        assert answer.cost == tc.PureDP(epsilon=db.spent.epsilon)  # type: ignore[arg-type]  # the choice and the answer: what was released depends on both
        assert answer.price.events == (*first.events, *second.events)


def test_the_choice_for_an_error_costs_a_share_of_the_answer_at_a_reach_of_fifty() -> None:
    with year() as db:
        usual = db.plan(BY_MONTH, error=50, reach=50).cost
        assert choosing(db, BY_MONTH, error=50).cost.epsilon == pytest.approx(usual.epsilon / 10)  # type: ignore[operator]
    with year(tc.ZCDP(rho=10**9)) as db:
        quote, fixed = choosing(db, BY_MONTH, error=500), db.plan(BY_MONTH, error=500, reach=50)
        assert quote.cost.rho == pytest.approx(fixed.cost.rho / 10)  # type: ignore[union-attr]
        answer = db.sql(BY_MONTH, error=500, reach="auto")
        last = db.plan(BY_MONTH, error=500, reach=chosen(answer)).cost
        assert answer.cost.rho == pytest.approx(quote.cost.rho + last.rho)  # type: ignore[union-attr]
        assert len(db.ledger.entries()) == 2


def test_if_the_budget_suffices_for_the_choice_only_the_error_says_so() -> None:
    with year() as db:
        usual = choosing(db, COUNT, error=50).cost
    with year(tc.PureDP(epsilon=usual.epsilon)) as db:  # type: ignore[arg-type]
        with pytest.raises(BudgetError) as caught:
            db.sql(COUNT, error=50, reach="auto")
        text = str(caught.value)
        assert "Nothing was spent" not in text
        assert not caught.value.unspent
        assert "The choice of reach=" in text
        assert "stays charged (ε = " in text
        assert "to keep it, use reach=" in text
        assert db.spent == tc.PureDP(epsilon=usual.epsilon)  # type: ignore[arg-type]
        assert [entry.outcome for entry in db.ledger.entries()] == ["answered"]


def test_if_the_budget_does_not_suffice_for_the_choice_nothing_is_spent() -> None:
    with year(tc.PureDP(epsilon=0.001)) as db:
        with pytest.raises(BudgetError) as caught:
            db.sql(COUNT, error=50, reach="auto")
        assert str(caught.value).endswith("Nothing was spent.")
        assert not db.ledger.entries()


@pytest.mark.parametrize("options", [{"data_version": "2026"}, {}])
def test_a_choice_for_an_error_is_repeated(options: dict[str, Any]) -> None:
    request = None if options else "monday"
    with year(**options) as db:
        first, second = (db.sql(COUNT, error=50, reach="auto", request=request) for _ in range(2))
        assert (second.rows(), second.repeated, chosen(second)) == (first.rows(), True, chosen(first))
        assert len(db.ledger.entries()) == 2
