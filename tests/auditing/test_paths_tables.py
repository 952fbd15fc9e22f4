"""Audits of queries over whole tables: public sizes, margins, automatic limits, bounds, limits, choices and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import tacit as tc
from auditing.audits import EPSILONS, LONG, SHORT, Path, Record, Sides, check
from auditing.repeats import Ask, Columns, repeat
from auditing.test_paths_aggregates import ALONE
from tacit.database import Database
from tacit.query.aggregates import STATISTICS

BOUNDS = {"x": (-8, 4), "y": (-3, 5)}
PUBLIC: dict[str, Any] = {
    "unit": tc.ROW,
    "neighbours": "change one",
    "bounds": BOUNDS,
    "keys": {"c": [0, 1, 2, 3]},
    "required": ["x", "y", "c"],
}
UNITS: dict[str, Any] = {"unit": "u", "neighbours": "add/remove", "bounds": BOUNDS, "keys": {"c": [0, 1, 2, 3]}}


def rows(*values: tuple[float | None, int | None, int], units: Sequence[int] | None = None) -> Columns:
    """Return a table of x, y and c; without units, each row has its own."""
    x, y, c = zip(*values, strict=True)
    return {"u": list(range(len(values)) if units is None else units), "x": x, "y": y, "c": c}


LOW, HIGH = (-8.0, -3, 0), (4.0, 5, 1)
CHANGED = (
    (rows(LOW, LOW, LOW, LOW), rows(HIGH, LOW, LOW, LOW)),
    (rows(LOW, LOW, HIGH, HIGH), rows(LOW, HIGH, HIGH, HIGH)),
    (rows(LOW, HIGH, LOW), rows((None, None, 2), HIGH, LOW)),
)
"""Tables of equal size that differ in a row: it leaves equal rows, goes from one bound to the other, or is missing."""

OTHERS = ([HIGH, LOW], [8, 9])
HEAVY = (
    (rows(*OTHERS[0], units=OTHERS[1]), rows(*OTHERS[0], *(12 * [LOW]), units=[*OTHERS[1], *(12 * [1])])),
    (rows(*OTHERS[0], units=OTHERS[1]), rows(*OTHERS[0], *(60 * [HIGH]), units=[*OTHERS[1], *(60 * [1])])),
)
"""A unit with many rows at a bound, against none, beside two units with a row each."""


def sql(text: str, **options: Any) -> Ask:  # noqa: ANN401 - of db.plan
    return lambda database: lambda epsilon: database.plan(text, epsilon=epsilon, **options)


def sized(text: str, **policy: Any) -> tuple[Ask, tuple[tuple[Columns, Columns], ...], dict[str, Any]]:  # noqa: ANN401 - of tc.open
    return sql(f"SELECT {text} AS v FROM t"), CHANGED, {**PUBLIC, **policy}  # noqa: S608 - from a table below


def verb(name: str, *arguments: object, **options: Any) -> Ask:  # noqa: ANN401 - of the verb
    return lambda database: lambda epsilon: getattr(database, name)(*arguments, epsilon=epsilon, plan=True, **options)


def tabulated(database: Database) -> Any:  # noqa: ANN401 - a quote by its ε
    """Return the query inside a computed answer: sums that add up to their margins."""
    text = "SELECT c, sum(y) AS s FROM t GROUP BY ROLLUP (c)"
    return lambda epsilon: database.plan(text, epsilon=epsilon).inner[0]  # type: ignore[attr-defined]  # a DerivedQuote


CASES: dict[str, tuple[Ask, tuple[tuple[Columns, Columns], ...], dict[str, Any]]] = {
    "sized_avg": sized("avg(x)"),
    "sized_sum": sized("sum(x)"),
    "sized_sum, of units": sized("sum(x)", unit="u", max_rows=1, max_groups=1),
    "sized_var_pop": sized("var_pop(x)"),
    "sized_var_samp": sized("var_samp(x)"),
    "sized_stddev_pop": sized("stddev_pop(y)"),
    "sized_stddev_samp": sized("stddev_samp(y)"),
    "sized_covar_pop": sized("covar_pop(x, y)"),
    "sized_covar_samp": sized("covar_samp(x, y)"),
    "sized_group_count": (sql("SELECT c, count(*) AS v FROM t GROUP BY c"), CHANGED, PUBLIC),
    "sized_group_count, of two cells": (sql("SELECT x > 0 AS p, count(*) AS v FROM t GROUP BY p"), CHANGED, PUBLIC),
    "table_count": (verb("crosstab", "c"), CHANGED, PUBLIC),
    "table_count, of a histogram": (verb("histogram", "x", [-8, 0, 4]), CHANGED, PUBLIC),
    "table_count, of units": (verb("crosstab", "c"), HEAVY, {**UNITS, "reach": 3}),
    "table_sum": (tabulated, HEAVY, {**UNITS, "reach": 3}),
    "bounds": (verb("bounds", "x"), HEAVY, {**UNITS, "reach": 3}),
    "limits": (lambda database: lambda epsilon: database.limits_plan(epsilon=epsilon), HEAVY, {**UNITS, "reach": 3}),
    "choose": (verb("choose", "c"), HEAVY, {**UNITS, "reach": 3}),
    "describe": (verb("describe", "x"), HEAVY, {**UNITS, "reach": 3}),
    "reach chosen": (sql("SELECT sum(x) AS s FROM t", reach="auto", share=0.5), HEAVY, UNITS),
    "bounds chosen": (sql("SELECT sum(x) AS s FROM t", bounds={"x": "auto"}, share=0.5), HEAVY, {**UNITS, "reach": 3}),
    "reach and bounds chosen": (
        sql("SELECT count(*) AS n, avg(x) AS m FROM t", reach="auto", bounds={"x": "auto"}),
        HEAVY,
        UNITS,
    ),
    "cut measured": (sql("SELECT count(*) AS n, sum(x) AS s FROM t", measure_cut=40), HEAVY, {**UNITS, "reach": 3}),
    "people": (
        sql("SELECT count(*) AS n, sum(v) AS s FROM (SELECT u, count(*) AS v FROM t GROUP BY u)", bounds={"v": (0, 9)}),
        HEAVY,
        {**UNITS, "reach": 1},
    ),
    "mean of a column": (
        sql("SELECT avg(x) AS v FROM t"),
        ((rows(LOW, HIGH), rows(LOW, HIGH, LOW)),),
        {"unit": tc.ROW, "neighbours": "add/remove", "bounds": BOUNDS},
    ),
}
SLOW, FEW = ("reach chosen", "bounds chosen", "reach and bounds chosen", "bounds", "describe"), 1_000
"""Cases that cost milliseconds a release: they are long, and have this number of runs."""


def forms() -> Iterator[Any]:
    for name in CASES:
        if name not in SLOW:
            yield pytest.param(name, SHORT, id=f"short-{name}")
        yield pytest.param(name, FEW if name in SLOW else LONG, id=f"long-{name}", marks=pytest.mark.long)


@pytest.mark.parametrize(("name", "runs"), list(forms()))
def test_no_query_over_a_table_exceeds_its_claim(name: str, runs: int, record_property: Record) -> None:
    ask, pairs, policy = CASES[name]
    epsilon = EPSILONS.get(runs, 2.0)
    draw = repeat(lambda database: ask(database)(epsilon), *pairs, **policy)
    check(Path(name=name, draw=draw, epsilon=epsilon, runs=runs), record_property)


@pytest.mark.parametrize("name", [name for name in CASES if name.partition(",")[0] in STATISTICS])
def test_a_case_is_about_the_aggregate_of_its_name(name: str) -> None:
    ask, pairs, policy = CASES[name]
    with tc.open(pairs[0][0], name="t", budget=tc.PureDP(epsilon=10), **policy) as database:
        plan = ask(database)(1).plan
    assert {each.ask.function for each in plan.aggregates} == {name.partition(",")[0]}


def test_every_aggregate_of_tables_has_an_audit() -> None:
    exact = {"sized_count"}  # it has no noise, because it is public
    assert {name.partition(",")[0] for name in CASES} & STATISTICS.keys() == ALONE - exact
    with tc.open(CHANGED[0][0], name="t", budget=tc.PureDP(epsilon=10), **PUBLIC) as database:
        assert not database.plan("SELECT count(*) AS n FROM t", epsilon=1).plan.bundles


COLUMNS: dict[str, Callable[..., object]] = {
    "count": tc.count,
    "sum": lambda values, **cost: tc.sum(values, bounds=(-8, 4), **cost),
    "mean": lambda values, **cost: tc.mean(values, bounds=(-8, 4), **cost),
    "quantile": lambda values, **cost: tc.quantile(values, 0.5, bounds=(-8, 4), **cost),
    "histogram": lambda values, **cost: tc.histogram(values, bins=[-8, 0, 4], **cost),
}
COLUMN_RUNS = 700


@pytest.mark.long
@pytest.mark.parametrize("name", COLUMNS)
def test_no_function_of_a_column_exceeds_its_claim(name: str, record_property: Record) -> None:
    def draw(runs: int) -> list[Sides]:
        few, more = [4.0, 4.0], [4.0, 4.0, -8.0]
        sides = [[_numbers(COLUMNS[name](values, epsilon=2)) for _ in range(runs)] for values in (few, more)]
        return [(sides[0], sides[1])]

    check(Path(name=f"tc.{name}", draw=draw, runs=COLUMN_RUNS), record_property)


def _numbers(answer: Any) -> tuple[float, ...]:  # noqa: ANN401 - a release
    return tuple(float(row[-1]) for row in answer.rows())


def test_every_function_of_a_column_has_an_audit() -> None:
    homes = {name for name in tc.__all__ if getattr(getattr(tc, name), "__module__", "") == "tacit.column_functions"}
    assert homes == COLUMNS.keys()
