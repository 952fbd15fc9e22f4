"""Questions about disjoint rows in a declared plan: what they cost, and that one row never reveals more than that."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.declared import Declared
from tacit.engines import MeasuredIntegers
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.engines.spark.engine import SparkEngine
from tacit.errors import BudgetError, RefusedError
from tacit.guarantees.events import Neighbours, PureRelease
from tacit.guarantees.filters import Budget
from tacit.query.histograms import Absorb
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Bundle, Plan
from tacit.query.results.quote import Quote

VALUES = [0, 1, 2]
PURE = tc.PureDP(epsilon=100)


def opened(
    rows: pd.DataFrame | None = None,
    neighbours: Neighbours = "add/remove",
    budget: Budget = PURE,
    unit: str | None = None,
) -> Database:
    frame = pd.DataFrame({"x": [0, 1, 2, 1], "g": ["a", "b", "a", "b"], "v": [1, 2, 3, 4]}) if rows is None else rows
    limits: Mapping[str, int] = {} if unit is None else {"max_groups": 2, "max_rows": 2}
    return tc.open(
        frame,
        unit=tc.ROW if unit is None else unit,
        bounds={"v": (-1, 4), "x": (0, 2)},
        keys={"g": ["a", "b"]},
        neighbours=neighbours,
        budget=budget,
        **limits,  # type: ignore[arg-type]
    )


def declared(
    db: Database, costs: Mapping[str, float], select: str = "count(*)", *, delta: float | None = 0
) -> Declared:
    """Return the declared plan of one query for each condition, with its ε."""
    text = "SELECT {} AS n FROM data WHERE {}"
    plans = [db.plan(text.format(select, where), epsilon=epsilon) for where, epsilon in costs.items()]
    return tc.declare(plans, delta=delta)


# --- the price ------------------------------------------------------------------------------------------------------


def test_disjoint_questions_cost_the_dearest_and_are_charged_once() -> None:
    with opened() as db:
        plan = declared(db, {"x = 0": 0.5, "x = 1": 0.25, "x > 1": 1.0, "x IS NULL": 0.125})
        assert plan.disjoint == ((0, 1, 2, 3),)
        assert (plan.together.loss, plan.apart.loss) == (Fraction(1), Fraction(15, 8))
        assert plan.events == (PureRelease(epsilon=Fraction(1), neighbours="add/remove"),)
        answers = plan.ask()
        assert db.ledger.spent.loss == 1
        assert len(answers) == 4
        assert answers[1].cost == tc.PureDP(epsilon=0.25)
        about: Any = answers[0].receipt["declared_plan"]
        assert (about["questions"], about["disjoint"]) == (4, [[1, 2, 3, 4]])
        assert about["promise"] == {"epsilon": 1.0, "delta": 0.0}
        assert about["queries"][1].endswith("WHERE x = 1")
        assert [json.loads(event)["epsilon"] for event in about["charged"]] == ["1"]
        assert "WHERE x &gt; 1" in plan._repr_html_()
        assert str(plan) == (
            "4 queries as one declared plan cost ε = 1, δ = 0; one by one ε = 1.875, δ = 0. That saves 47% of ε. "
            "All are asked together, or none. No row is in two of the queries 1, 2, 3 and 4; if their rows could "
            "overlap, the plan would cost ε = 1.875, δ = 0."
        )


def test_a_plan_that_saves_nothing_says_why() -> None:
    with opened() as db:
        assert str(declared(db, {"x <= 1": 1, "x >= 1": 1})).endswith("of two queries: they may overlap.")
        whole = [db.plan("SELECT count(*) AS n FROM data", epsilon=1), *declared(db, {"x = 0": 1}).questions]
        assert "Query 1 is about all rows" in str(tc.declare(whole, delta=0))
        assert "saves 0%" in str(declared(db, {"x = 0": 1}))
    with opened(neighbours="change one") as db:
        assert "A changed row can move from one query's rows" in str(declared(db, {"x = 0": 1, "x = 1": 1}))
    with opened(unit="g") as db:
        assert "The rows of one g can be in several of the queries" in str(declared(db, {"x = 0": 1, "x = 1": 1}))


def test_under_change_one_a_row_can_leave_one_part_and_enter_another() -> None:
    with opened(neighbours="change one") as db:
        counts = declared(db, {"x = 0": 0.5, "x = 1": 0.25, "x > 1": 1.0})
        assert counts.together.loss == Fraction(3, 2)  # the two dearest: a count moves by 1 in each
        text = "SELECT g, count(*) AS n FROM data WHERE x = {} GROUP BY g"
        by_group = [db.plan(text.format(x), epsilon=epsilon) for x, epsilon in ((0, 0.5), (1, 0.25), (2, 1))]
        assert tc.declare(by_group, delta=0).together.loss == 1  # a row that changes its group moves two counts by 1
        two = declared(db, {"x = 0": 1, "x = 1": 1})
        assert not two.disjoint  # it saves nothing, so the plan does not mention it
        assert two.together.loss == 2


def test_overlapping_questions_cost_their_sum_without_a_word_on_disjoint_rows() -> None:
    with opened() as db:
        plan = declared(db, {"x >= 1": 0.5, "x <= 1": 0.25})
        assert not plan.disjoint
        assert plan.together == plan.apart
        assert "No row" not in str(plan)
        assert "disjoint" not in plan.ask()[0].receipt["declared_plan"]  # type: ignore[operator]
        assert db.ledger.spent.loss == Fraction(3, 4)


def test_the_dearest_questions_are_put_together_first() -> None:
    """The first two questions overlap. The third is disjoint from both, and joins the dearer one."""
    with opened() as db:
        plan = declared(db, {"x = 1": 0.25, "x >= 1": 1, "x = 0": 0.5})
        assert (plan.disjoint, plan.together.loss) == (((1, 2),), Fraction(5, 4))
        several = declared(db, {"x = 0": 1, "x = 1": 1, "g = 'a'": 0.5, "g = 'b'": 0.5, "v > 0": 0.25})
        assert (several.disjoint, several.together.loss) == (((0, 1), (2, 3)), Fraction(7, 4))
        assert "queries 1 and 2; 3 and 4;" in str(several)


def test_units_of_several_rows_are_in_every_part() -> None:
    with opened(unit="v") as db:
        plan = declared(db, {"x = 0": 0.5, "x = 1": 0.5})
        assert not plan.disjoint
        assert plan.together.loss == 1


def test_a_question_without_a_condition_is_never_a_part() -> None:
    """Under "change one" it may use the public size, which a row that enters another part would change."""
    with opened(neighbours="change one") as db:
        plans = [
            db.plan("SELECT sum(v) AS n FROM data", epsilon=1),
            db.plan("SELECT sum(v) AS n FROM data WHERE 1 = 1", epsilon=1),
            db.plan("SELECT sum(v) AS n FROM data WHERE x > 1 AND x < 1", epsilon=1),
        ]
        assert tc.declare(plans, delta=0).together.loss == 3


def test_questions_about_different_tables_or_joins_are_not_compared() -> None:
    regions = pd.DataFrame({"g": ["a", "b"], "size": [1, 2]})
    frame = pd.DataFrame({"x": [0, 1], "g": ["a", "b"]})
    public = {"regions": regions}
    with tc.open(frame, unit=tc.ROW, public=public, budget=PURE) as db:
        joined = "SELECT count(*) AS n FROM data JOIN regions USING (g) WHERE regions.size = {}"
        same = [db.plan(joined.format(size), epsilon=1) for size in (1, 2)]
        assert tc.declare(same, delta=0).together.loss == 1
        other = db.plan("SELECT count(*) AS n FROM data LEFT JOIN regions USING (g) WHERE regions.size = 3", epsilon=1)
        assert tc.declare([same[0], other], delta=0).together.loss == 2
        alone = db.plan("SELECT count(*) AS n FROM data WHERE x = 0", epsilon=1)
        assert tc.declare([alone, same[0]], delta=0).together.loss == 2


def test_every_kind_of_budget_has_the_least_price() -> None:
    with opened(budget=tc.ZCDP(rho=5)) as db:
        text = "SELECT count(*) AS n FROM data WHERE x = {}"
        plan = tc.declare([db.plan(text.format(x), rho=0.5 / (x + 1)) for x in VALUES])
        assert (plan.together.loss, plan.cost) == (Fraction(1, 2), tc.ZCDP(rho=0.5))
        assert "cost ρ = 0.5; one by one ρ = 0.916666666667. That saves 45% of ρ." in str(plan)
        assert plan.ask()[0].receipt["declared_plan"]["promise"] == {"rho": 0.5}  # type: ignore[index]
    with opened(budget=tc.ZCDP(rho=5), neighbours="change one") as db:
        assert tc.declare([db.plan(text.format(x), rho=0.5) for x in VALUES]).together.loss == 1
    with opened(budget=tc.ApproxZCDP(rho=5, delta=1e-3)) as db:
        plan = tc.declare([db.plan(text.format(x), epsilon=1 + x, delta=1e-6) for x in VALUES])
        assert plan.together.loss == 3  # pure noise was better: ρ = min(ε²/2, ε)
        assert plan.together.delta == 0
        plan.ask()
        assert db.ledger.spent.loss == 3


@pytest.mark.parametrize(
    ("relation", "delta"), [("add/remove", Fraction(3, 10**6)), ("change one", Fraction(5, 10**6))]
)
def test_groups_that_are_found_in_disjoint_rows_cost_the_largest_delta(relation: Neighbours, delta: Fraction) -> None:
    towns = pd.DataFrame({"x": VALUES * 100, "t": ["north", "south", "west"] * 100, "g": "a", "v": 1})
    for budget in (tc.ApproxDP(epsilon=5, delta=1e-3), tc.ApproxZCDP(rho=5, delta=1e-3)):
        with opened(towns, relation, budget) as db:
            text = "SELECT t, count(*) AS n FROM data WHERE x = {} GROUP BY t"
            plans = [db.plan(text.format(x), epsilon=0.5, delta=Fraction(1 + x, 10**6)) for x in VALUES]
            plan = tc.declare(plans, delta=0)
            assert plan.disjoint == ((0, 1, 2),)
            assert plan.together.delta == delta
            plan.ask()
            assert db.ledger.spent.delta == delta


def test_a_plan_that_was_changed_after_pricing_is_not_charged() -> None:
    with opened() as db:
        plan = declared(db, {"x = 0": 0.5, "x = 1": 0.5})
        overlapping = [db.plan("SELECT count(*) AS n FROM data WHERE x >= 0", epsilon=0.5)] * 2
        forged = replace(plan)
        object.__setattr__(forged, "questions", tuple(overlapping))
        with pytest.raises(RefusedError, match="changed after it was priced"):
            forged.ask()
        swapped = [replace(other, plan=mine.plan) for other, mine in zip(overlapping, plan.questions, strict=True)]
        with pytest.raises(RefusedError, match="changed after it was priced"):
            tc.declare(swapped, delta=0).ask()  # priced as disjoint, but their texts are not
        assert not db.ledger.entries()


def test_a_plan_of_disjoint_questions_that_costs_too_much_is_refused() -> None:
    with opened(budget=tc.PureDP(epsilon=0.5)) as db:
        with pytest.raises(BudgetError, match=r"^These 2 queries cost ε = 1 but only 0\.5 is left"):
            declared(db, {"x = 0": 1, "x = 1": 0.25}).ask()
        assert not db.ledger.entries()


def test_bounds_that_are_chosen_read_rows_of_their_own_question_alone() -> None:
    with opened(pd.DataFrame({"x": [0, 1] * 500, "v": [5] * 1000, "g": ["a"] * 1000})) as db:
        text = "SELECT sum(v) AS n FROM data WHERE x = {}"
        plans = [db.plan(text.format(x), epsilon=1, bounds={"v": "auto"}) for x in (0, 1)]
        plan = tc.declare(plans, delta=0)
        assert plan.disjoint == ((0, 1),)
        assert plan.together.loss == 1
        for quote in plan.questions:
            (choice,) = quote.bounds_choices  # type: ignore[attr-defined]
            assert quote.plan.where in choice.plan.where.arguments


# --- brute force over all small tables ------------------------------------------------------------------------------

ROWS = [{"x": x, "g": g, "v": v} for x, (g, v) in product([0, 1, None], [("a", 4), ("b", -1)])]
LISTS: dict[str, list[str]] = {
    "counts": [
        "SELECT count(*) AS n FROM data WHERE x = 0",
        "SELECT count(*) AS n FROM data WHERE x = 1",
        "SELECT count(*) AS n FROM data WHERE x IS NULL",
    ],
    "groups": [
        "SELECT g, count(*) AS n FROM data WHERE x = 0 GROUP BY g",
        "SELECT g, count(*) AS n FROM data WHERE NOT x = 0 GROUP BY g",
    ],
    "sums": [
        "SELECT sum(v) AS n FROM data WHERE g = 'a' AND x = 0",
        "SELECT sum(v) AS n FROM data WHERE g = 'a' AND x <> 0",
        "SELECT sum(v) AS n, count(*) AS m FROM data WHERE g > 'a'",
    ],
    "two families": [
        "SELECT count(*) AS n FROM data WHERE x = 0",
        "SELECT count(*) AS n FROM data WHERE x = 1",
        "SELECT count(*) AS n FROM data WHERE g = 'a'",
        "SELECT sum(v) AS n FROM data WHERE g = 'b'",
        "SELECT count(*) AS n FROM data WHERE v > -2",
    ],
    "values": [
        "SELECT count(DISTINCT v) AS n FROM data WHERE x = 0",
        "SELECT median(v) AS n FROM data WHERE x IS NULL",
        "SELECT avg(v) AS n FROM data WHERE x > 0",
    ],
}
EPSILONS = [Fraction(1), Fraction(1, 2), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)]
COLUMNS = {"x": "Int64", "g": "string", "v": "Int64"}
Table = tuple[int, ...]
"""A table as the indices of its rows in ROWS, sorted."""


@cache
def measured(table: Table, text: str) -> list[list[int]]:
    """Return the exact integers of a query on a table. They do not depend on its noise, nor on the relation."""
    db = small_database(table)
    plan = db.plan(text, epsilon=1).plan
    return [list(measure) for measure in db._tables["data"][1].measure(plan)]


@cache
def small_database(table: Table) -> Database:
    frame = pd.DataFrame([ROWS[index] for index in table], columns=list(COLUMNS))
    return opened(frame.astype(COLUMNS))


def neighbours_of(relation: Neighbours, most: int) -> Iterator[tuple[Table, Table]]:
    """Yield all pairs of neighbouring tables of up to so many rows."""
    for size in range(most):
        for rest in combinations_with_replacement(range(len(ROWS)), size):
            for row in range(len(ROWS)):
                if relation == "add/remove":
                    yield rest, tuple(sorted((*rest, row)))
                else:
                    for other in range(row):
                        yield tuple(sorted((*rest, row))), tuple(sorted((*rest, other)))


def largest_loss(plan: Declared, relation: Neighbours, most: int = 2) -> Fraction:
    """Return the largest privacy loss of Laplace noise: the sum of |change|/scale over all released integers."""
    scales = [
        (quote.plan.sql, [law.amount for law, bundle in _laws(quote) for _ in bundle.measures])
        for quote in plan.questions
    ]
    return max(
        sum(
            (
                Fraction(sum(abs(a - b) for a, b in zip(first, second, strict=True))) / scale
                for text, amounts in scales
                for first, second, scale in zip(measured(one, text), measured(other, text), amounts, strict=True)
            ),
            Fraction(0),
        )
        for one, other in neighbours_of(relation, most)
    )


def _laws(quote: Quote) -> list[tuple[NoiseLaw, Bundle]]:
    return list(zip(quote.price.noise, quote.plan.bundles, strict=True))


TIGHT = {("counts", "add/remove"), ("counts", "change one"), ("groups", "add/remove"), ("groups", "change one")}


@pytest.mark.parametrize("relation", ["add/remove", "change one"])
@pytest.mark.parametrize("name", LISTS)
def test_no_row_reveals_more_than_the_price_in_all_small_tables(name: str, relation: Neighbours) -> None:
    with opened(pd.DataFrame(ROWS).astype(COLUMNS), relation) as db:
        plans = [db.plan(text, epsilon=epsilon) for text, epsilon in zip(LISTS[name], EPSILONS, strict=False)]
        plan = tc.declare(plans, delta=0)
    loss = largest_loss(plan, relation)
    assert plan.disjoint
    assert loss <= plan.together.loss < plan.apart.loss
    if (name, relation) in TIGHT:
        assert loss == plan.together.loss


def test_brute_force_finds_a_price_that_is_too_low() -> None:
    """Overlapping questions reveal more than the dearest of them."""
    with opened(pd.DataFrame(ROWS).astype(COLUMNS)) as db:
        plan = declared(db, {"x >= 0": 1, "x <= 0": 1})
        assert plan.together.loss == 2 == largest_loss(plan, "add/remove") > max(EPSILONS)


def test_a_file_that_is_replaced_between_two_disjoint_queries_fails_and_stays_charged(tmp_path: Path) -> None:
    """One row would otherwise be in both parts, at the price of one."""
    here, other = tmp_path / "t.parquet", tmp_path / "other.parquet"
    pd.DataFrame({"x": [0]}).to_parquet(here)
    pd.DataFrame({"x": [1]}).to_parquet(other)
    with tc.open(here, name="t", unit=tc.ROW, budget=tc.PureDP(epsilon=100)) as db:
        plans = [db.plan(f"SELECT count(*) AS n FROM t WHERE x = {value}", epsilon=50) for value in (0, 1)]  # noqa: S608 - numbers
        declared = tc.declare(plans, delta=0)
        assert declared.disjoint == ((0, 1),)
        engine = db._tables["t"][1]
        measure = engine.measure

        def measure_and_replace(plan: Plan, absorb: Absorb | None = None) -> MeasuredIntegers:
            result = measure(plan, absorb)
            if other.exists():
                other.replace(here)
            return result

        engine.measure = measure_and_replace  # type: ignore[method-assign]
        with pytest.raises(tc.SourceError):
            declared.ask()
        assert db.spent == tc.PureDP(epsilon=50)
        assert [answer.rows() for answer in tc.declare(plans, delta=0).ask()] == [[(0,)], [(1,)]]


def test_an_engine_without_one_state_has_no_disjoint_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    with tc.open(pd.DataFrame({"x": [0, 1]}), name="t", unit=tc.ROW, budget=tc.PureDP(epsilon=9)) as db:
        plans = [db.plan(f"SELECT count(*) AS n FROM t WHERE x = {value}", epsilon=1) for value in (0, 1)]  # noqa: S608 - numbers
        assert tc.declare(plans, delta=0).disjoint == ((0, 1),)
        monkeypatch.setattr(DuckDBEngine, "keeps_state", False)
        declared = tc.declare(plans, delta=0)
        assert declared.disjoint == ()
        assert declared.cost == tc.ApproxDP(epsilon=2, delta=0)
    assert not SparkEngine.keeps_state.fget(None)  # type: ignore[attr-defined]  # Spark has no transactions
