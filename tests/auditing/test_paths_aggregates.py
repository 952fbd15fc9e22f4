"""Audits of every SQL aggregate, under both neighbour relations, on every engine.

The outputs have the noisy integers of an answer beside its values, because the record of an answer has them too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any, get_args

import pytest

from auditing.audits import EPSILONS, LONG, SHORT, Path, Record, check
from auditing.copies import Home, run_copies
from auditing.pairs import PAIRS
from postgres_server import database as postgres_database
from tacit.guarantees.events import Neighbours
from tacit.query.aggregates import STATISTICS

ENGINES = ("duckdb", "postgres", "spark")
LIMITS: dict[str, dict[str, Any]] = {"max_rows": {"max_groups": 1, "max_rows": 2}, "reach": {"reach": 2}}

AGGREGATES: dict[str, str] = {
    "arg_max": "arg_max(c, sum(x))",
    "arg_min": "arg_min(c, count(*))",
    "avg": "avg(x)",
    "bool_and": "bool_and(x > 0)",
    "bool_or": "bool_or(x < 0)",
    "corr": "corr(x, y)",
    "count": "count(x)",
    "count_distinct": "count(DISTINCT s)",
    "count_units": "count(DISTINCT u)",
    "covar_pop": "covar_pop(x, y)",
    "covar_samp": "covar_samp(x, y)",
    "drawn_max": "max(x)",
    "drawn_min": "min(x)",
    "drawn_quantile": "quantile_cont(y, 0.3)",
    "drawn_quantile_disc": "quantile_disc(y, 0.7)",
    "max": "max(y)",
    "min": "min(y)",
    "mode": "mode(c)",
    "quantile": "quantile_cont(y, [0.1, 0.3, 0.5, 0.7, 0.9])",
    "quantile_disc": "quantile_disc(y, [0.1, 0.3, 0.5, 0.7, 0.9])",
    "regr_intercept": "regr_intercept(x, y)",
    "regr_r2": "regr_r2(x, y)",
    "regr_slope": "regr_slope(x, y)",
    "skewness": "skewness(x)",
    "stddev_pop": "stddev_pop(x)",
    "stddev_samp": "stddev_samp(x)",
    "sum": "sum(x)",
    "var_pop": "var_pop(y)",
    "var_samp": "var_samp(x)",
}
"""Every aggregate over groups, in SQL, under the name that a plan gives it."""

ALONE = {name for name in STATISTICS if name.startswith(("sized_", "table_"))} | {"bounds"}
"""Aggregates of whole tables, in test_paths_tables."""

ON_OTHERS = ("count", "count_distinct", "sum", "var_samp", "mode", "max")
"""One aggregate for each form of statement: rows, different values, sums, products, categories and trees."""

ON_SPARK = ("sum", "max")
RELATIONS: dict[Neighbours, str] = {"add/remove": "max_rows", "change one": "reach"}
"""The relations, each with the limits under which it is audited."""


def cases() -> Iterator[Any]:
    """Yield every aggregate under each relation on each engine as long tests, and some as short ones."""
    relations = cycle(RELATIONS)
    short = {
        "duckdb": {(name, next(relations)) for name in AGGREGATES},
        "postgres": {(name, next(relations)) for name in ON_OTHERS},
        "spark": {(name, next(relations)) for name in ON_SPARK},
    }
    for engine in ENGINES:
        for relation in get_args(Neighbours):
            for name in AGGREGATES:
                what = (engine, relation, name)
                if (name, relation) in short[engine]:
                    yield pytest.param(*what, SHORT, id=f"short-{engine}-{relation}-{name}")
                yield pytest.param(*what, LONG, id=f"long-{engine}-{relation}-{name}", marks=pytest.mark.long)


@pytest.fixture(scope="module")
def homes() -> Iterator[dict[str, Home]]:
    """A home of each engine; PostgreSQL is started when it is needed."""
    found: dict[str, Home] = {}
    yield found
    for home in found.values():
        home.leave()


def home_of(homes: dict[str, Home], engine: str) -> Home:
    """Return the home of an engine."""
    if engine not in homes:
        homes[engine] = home = Home(engine)
        if engine == "postgres":
            home.postgres = home.place.enter_context(postgres_database())
    return homes[engine]


@pytest.mark.parametrize(("engine", "relation", "name", "runs"), list(cases()))
def test_no_aggregate_exceeds_its_claim(
    homes: dict[str, Home], engine: str, relation: Neighbours, name: str, runs: int, record_property: Record
) -> None:
    policy = {**LIMITS[RELATIONS[relation]], "neighbours": relation}
    query, epsilon = f"SELECT k, {AGGREGATES[name]} AS v FROM t GROUP BY k", EPSILONS[runs]  # noqa: S608 - from a table above
    home, pairs = home_of(homes, engine), PAIRS[relation] if runs == LONG else PAIRS[relation][2:4]
    draw = run_copies(home, query, pairs, policy, epsilon=epsilon)
    check(Path(name=f"{name} on {engine}, {relation}", draw=draw, epsilon=epsilon, runs=runs), record_property)
    (database,) = home.found.values()
    assert {each.ask.function for each in database.plan(query, epsilon=epsilon).plan.aggregates} == {name}


def test_every_aggregate_has_an_audit() -> None:
    assert AGGREGATES.keys() | ALONE == STATISTICS.keys()
    assert not AGGREGATES.keys() & ALONE
