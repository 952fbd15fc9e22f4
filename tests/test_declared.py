"""Declared plans: one charge for a list of questions that is fixed in advance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.declared import Declared
from tacit.errors import BudgetError, InvalidError, RefusedError, SourceError
from tacit.guarantees.composition import compose
from tacit.guarantees.events import to_json
from tacit.guarantees.filters import Budget
from tacit.query.plan import Plan
from tacit.query.results.quote import Quote

ROWS = pd.DataFrame({"u": [n // 2 for n in range(400)], "x": [n % 100 for n in range(400)], "g": ["a", "b"] * 200})
COUNT = "SELECT g, count(*) AS n FROM data GROUP BY g"


def opened(budget: Budget, rows: pd.DataFrame = ROWS) -> Database:
    keys, bounds = {"g": ["a", "b"]}, {"x": (0, 100)}
    return tc.open(rows, unit="u", max_groups=2, max_rows=2, bounds=bounds, keys=keys, budget=budget)


def test_a_declared_plan_costs_what_its_composed_noise_does_and_is_charged_once() -> None:
    db = opened(tc.ApproxDP(epsilon=3, delta=1e-6))
    declared = tc.declare([db.plan(COUNT, epsilon=0.1) for _ in range(40)])
    noise = compose([(declared.questions[0].price.noise[0].event, 40)])
    assert declared.together.loss == pytest.approx(noise.epsilon(delta=1e-6).upper)
    assert declared.together.delta == Fraction(1, 10**6)
    assert 0.25 < declared.saves < 0.4
    answers = declared.ask()
    assert len(answers) == 40
    assert len({tuple(answer.rows()) for answer in answers}) > 1  # each has separate noise
    assert len(db.ledger.entries()) == 1
    assert db.spent == declared.cost
    receipt = answers[0].receipt
    (single,) = declared.questions[0].price.events
    assert receipt["declared_plan"] == {
        "questions": 40,
        "promise": {"epsilon": float(declared.together.loss), "delta": 1e-6},
        "charged": [to_json(event) for event in declared.events],
        "parts": [{"queries": 40, "charged": [to_json(single)], "noise": [to_json(single)]}],
    }
    with pytest.raises(BudgetError):
        declared.ask()


def test_questions_of_several_kinds_are_composed_together() -> None:
    db = opened(tc.ApproxDP(epsilon=30, delta=1e-5))
    planned = [
        db.plan(COUNT, epsilon=0.2),
        db.plan("SELECT g, avg(x) AS m, count(*) AS n, sum(x) AS s FROM data GROUP BY g", epsilon=0.5, delta=1e-6),
        db.plan("SELECT count(DISTINCT u) AS n FROM data", epsilon=0.3),
    ]
    declared = tc.declare(planned * 10, delta=1e-5)
    assert declared.together.loss < 10 == declared.apart.loss
    assert [len(answer.rows()) for answer in declared.ask()] == [2, 2, 1] * 10


@pytest.mark.parametrize("budget", [tc.PureDP(epsilon=10), tc.ZCDP(rho=10)])
def test_without_delta_or_in_another_currency_nothing_is_saved(budget: Budget) -> None:
    db = opened(budget)
    cost = {"rho": 0.1} if isinstance(budget, tc.ZCDP) else {"epsilon": 0.1}
    declared = tc.declare([db.plan(COUNT, **cost)] * 3)  # type: ignore[arg-type]
    assert declared.saves == 0
    declared.ask()
    assert float(db.ledger.spent.loss) == pytest.approx(0.3)


def test_one_question_costs_no_more_as_a_plan() -> None:
    db = opened(tc.ApproxDP(epsilon=3, delta=1e-6))
    assert tc.declare([db.plan(COUNT, epsilon=0.1)]).together.loss <= db.plan(COUNT, epsilon=0.1).cost.epsilon  # type: ignore[operator]


class Failing:
    """An engine that fails at the second question."""

    def __init__(self, engine: object) -> None:
        self._engine, self.asked = engine, 0

    def check(self, plan: Plan) -> None:
        """Support every plan."""

    def ready(self) -> None:
        """Know of nothing."""

    @property
    def keeps_state(self) -> bool:
        """True: nothing changes here."""
        return True

    def one_state(self) -> AbstractContextManager[None]:
        """Read the state that there is."""
        return nullcontext()

    def measure(self, plan: Plan) -> Sequence[Sequence[int]]:
        self.asked += 1
        if self.asked > 1:
            raise OSError("secret")
        return self._engine.measure(plan)  # type: ignore[attr-defined, no-any-return]


def test_a_failure_in_the_middle_stays_charged_and_shows_no_answer() -> None:
    db = opened(tc.ApproxDP(epsilon=3, delta=1e-6))
    declared = tc.declare([db.plan(COUNT, epsilon=0.1) for _ in range(3)])
    policy, engine = db._tables["data"]
    failing = Failing(engine)
    db._tables["data"] = policy, failing  # type: ignore[assignment]
    with pytest.raises(SourceError) as caught:
        declared.ask()
    assert failing.asked == 2
    assert "secret" not in str(caught.value)
    assert [entry.outcome for entry in db.ledger.entries()] == ["failed"]
    assert db.spent == declared.cost


SUM = "SELECT sum(x) AS s FROM data"


def test_a_plan_with_more_questions_is_priced_for_all_of_them() -> None:
    db = opened(tc.ApproxDP(epsilon=30, delta=1e-6))
    few = tc.declare([db.plan(COUNT, epsilon=0.1)] * 4)
    many = replace(few, questions=few.questions * 10)
    assert many.cost == tc.declare(few.questions * 10).cost
    assert many.together.loss > few.together.loss
    assert len(many.ask()) == 40
    assert db.spent == many.cost


def forged_price(db: Database) -> Declared:
    cheap, dear = db.plan(COUNT, epsilon=0.001), db.plan(COUNT, epsilon=1)
    return tc.declare([replace(dear, price=replace(dear.price, events=cheap.price.events, noise=cheap.price.noise))])


def swapped_plan(db: Database) -> Declared:
    return tc.declare([replace(db.plan(COUNT, epsilon=0.001), question=db.plan(SUM, epsilon=1).question)])


def forged_events(db: Database) -> Declared:
    declared = tc.declare([db.plan(COUNT, epsilon=1)])
    object.__setattr__(declared, "price", tc.declare([db.plan(COUNT, epsilon=0.001)]).price)
    return declared


def swapped_questions(db: Database) -> Declared:
    declared = tc.declare([db.plan(COUNT, epsilon=0.001)])
    object.__setattr__(declared, "questions", (db.plan(COUNT, epsilon=1),))
    return declared


@pytest.mark.parametrize("forge", [forged_price, swapped_plan, forged_events, swapped_questions])
def test_no_question_is_answered_at_the_price_of_another(forge: Callable[[Database], Declared]) -> None:
    db = opened(tc.ApproxDP(epsilon=3, delta=1e-6))
    with pytest.raises(RefusedError, match="changed after it was priced") as caught:
        forge(db).ask()
    assert caught.value.unspent
    assert not db.ledger.entries()


def test_a_plan_is_answered_from_its_text_whatever_plan_is_put_beside_it() -> None:
    db = opened(tc.PureDP(epsilon=3))
    count, total = db.plan("SELECT count(*) AS n FROM data", epsilon=1), db.plan(SUM, epsilon=1)
    (answer,) = tc.declare([replace(count, plan=total.plan)]).ask()
    assert [name for name, _ in answer.plan.outputs] == ["n"]
    assert [entry.question for entry in db.ledger.entries()] == [count.plan.sql]


def test_a_plan_that_was_not_made_by_a_database_is_not_declared() -> None:
    db = opened(tc.PureDP(epsilon=3))
    quote = db.plan(COUNT, epsilon=1)
    with pytest.raises(InvalidError, match="questions"):
        tc.declare([Quote(quote.plan, quote.price, 0.95, None)])
    assert not db.ledger.entries()


def test_what_is_declared_must_be_plans_of_one_database() -> None:
    one, two = opened(tc.PureDP(epsilon=1)), opened(tc.PureDP(epsilon=1))
    for wrong in ([], [COUNT], [one.plan(COUNT, epsilon=0.1), two.plan(COUNT, epsilon=0.1)], None):
        with pytest.raises((InvalidError, TypeError)):
            tc.declare(wrong)
    assert not one.ledger.entries()


def test_the_first_item_that_is_not_a_plan_is_named() -> None:
    db = opened(tc.PureDP(epsilon=1))
    with pytest.raises(
        InvalidError, match=r"item 2 of questions must be a plan from `db\.plan\(\.\.\.\)`, not 'SELECT 1'"
    ):
        tc.declare([db.plan(COUNT, epsilon=0.1), "SELECT 1"])
    with pytest.raises(InvalidError, match=r"questions must be a list of plans from `db\.plan"):
        tc.declare("SELECT 1")


@pytest.mark.parametrize(
    ("budget", "cost", "short"),
    [
        (tc.PureDP(epsilon=1), {"epsilon": 0.123456}, "ε = 1.24 but only 1 is left"),
        (tc.ZCDP(rho=1), {"rho": 0.123456}, "ρ = 1.24 but only 1 is left"),
        (tc.ApproxDP(epsilon=0.123456, delta=1e-6), {"epsilon": 0.2}, "ε = 2 but only 0.123 is left"),
    ],
)
def test_a_plan_that_costs_too_much_says_what_all_its_questions_cost(
    budget: Budget, cost: dict[str, float], short: str
) -> None:
    db = opened(budget)
    declared = tc.declare([db.plan(COUNT, **cost)] * 10, delta=0)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match=f"^These 10 queries cost {short}\\. Declare fewer") as caught:
        declared.ask()
    assert caught.value.unspent
    assert not db.ledger.entries()


def test_a_plan_that_exceeds_the_limit_of_its_analyst_says_so() -> None:
    terms = {"unit": "u", "max_groups": 2, "max_rows": 2, "keys": {"g": ["a", "b"]}, "budget": tc.PureDP(epsilon=3)}
    db = tc.open(ROWS, analyst="ann", analysts={"ann": tc.PureDP(epsilon=0.5)}, **terms)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match=r"^These 3 queries cost ε = 0\.6 but only 0\.5 is left for you\."):
        tc.declare([db.plan(COUNT, epsilon=0.2)] * 3).ask()
    with pytest.raises(BudgetError, match=r"^This query costs epsilon = 0\.6 but only 0\.5 is left"):
        tc.declare([db.plan(COUNT, epsilon=0.6)]).ask()
