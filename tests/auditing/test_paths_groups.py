"""Audits of queries whose groups are found in the data, whose units are in many groups, and whose tables are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

import pyarrow.parquet as pq
import pytest

import tacit as tc
from auditing.audits import EPSILONS, LONG, SHORT, Path, Record, Sides, check, in_both_forms
from auditing.copies import CELLS, VALUES, Home, Pair, run_copies, sides, table
from auditing.pairs import LOW, OTHERS, PAIRS, rows
from tacit.query.results.release import Release

DELTA, MANY_GROUPS = 0.05, 25_000
"""The δ of found groups, and the runs that distinguish it from twice as much."""

ONE, BOTH = rows(1, 0, "high", 1), [*rows(1, 0, "high", 1), *rows(1, 1, "high", 1)]
FOUND: list[Pair] = [([], ONE), ([], BOTH), ([], PAIRS["add/remove"][2][1]), (OTHERS, [*OTHERS, *LOW])]
"""Pairs for found groups: a group appears with a unit, two appear with one, and one grows."""

WORST = PAIRS["add/remove"]
TWO: dict[str, Any] = {"max_groups": 2, "max_rows": 2}
REGIONS = {"c": list(VALUES), "weight": [0.0, 3.0, 1.0, 2.0], "region": ["n", "s", "n", "s"]}


def found(query: str, policy: Mapping[str, Any], pairs: Sequence[Pair] = FOUND) -> Callable[[int], list[Sides]]:
    """Release groups that are found: how many of the cells of a copy are shown, and what of each."""

    def draw(runs: int) -> list[Sides]:
        home = Home("duckdb")
        declared = {"budget": tc.ApproxDP(epsilon=100, delta=0.9), "keys": {"c": list(VALUES)}, **policy}
        release = home.open(pairs, runs, **declared).sql(query, epsilon=1, delta=DELTA)
        shown = _by_copy(release, 2 * len(pairs) * runs)
        home.leave()
        inputs = [shown[start : start + runs] for start in range(0, len(shown), runs)]
        return [(inputs[2 * pair], inputs[2 * pair + 1]) for pair in range(len(pairs))]

    return draw


def _by_copy(release: Release, copies: int) -> list[tuple[object, ...]]:
    values = {cell.keys[0]: cell.estimates for cell in release.cells}
    width = len(next(iter(values.values())))
    outputs: list[tuple[object, ...]] = []
    for copy in range(copies):
        cells = [values.get(copy * CELLS + cell) for cell in range(CELLS)]
        parts = [value for each in cells for value in ((0.0,) * (width + 1) if each is None else (1.0, *each))]
        outputs.append((float(sum(each is not None for each in cells)), *parts))
    return outputs


GROUPS = (
    Path(
        name="found groups of one",
        draw=found("SELECT k, count(*) AS v FROM t GROUP BY k", {"max_groups": 1, "max_rows": 2}),
    ),
    Path(name="found groups of two", draw=found("SELECT k, count(*) AS v FROM t GROUP BY k", TWO)),
    Path(
        name="found groups with a reach",
        draw=found("SELECT k, sum(x) AS v FROM t GROUP BY k", {"reach": 2, "max_groups": 2}),
    ),
    Path(name="found groups of people", draw=found("SELECT k, count(DISTINCT u) AS v FROM t GROUP BY k", TWO)),
    Path(name="found groups with a condition", draw=found("SELECT k, bool_or(x < 0) AS v FROM t GROUP BY k", TWO)),
)
EDGES: dict[str, list[Pair]] = {
    "one row more than a reach": [([], rows(1, 0, "low", 2))],
    "a tree, and twice as many rows": [([], rows(1, 0, "high", 2)), ([], rows(1, 0, "low", 4))],
}
"""Pairs of single queries, next to their limits."""

QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "one row more than a reach": ("SELECT k, count(*) AS n FROM t GROUP BY k", {"reach": 1}),
    "a tree, and twice as many rows": ("SELECT k, max(y) AS v FROM t GROUP BY k", {"max_groups": 1, "max_rows": 2}),
    "quantiles drawn in two groups": ("SELECT k, quantile_cont(y, 0.3) AS v FROM t GROUP BY k", TWO),
    "a unit in two groups": ("SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k", TWO),
    "a unit in two groups, with a reach": (
        "SELECT k, count(*) AS n, avg(x) AS m FROM t GROUP BY k",
        {"max_groups": 2, "max_rows": 3, "reach": 4},
    ),
    "conditions and FILTER": (
        "SELECT k, count_if(x > 0) AS n, sum(y) FILTER (WHERE c = 0) AS s FROM t WHERE s <> 'x' GROUP BY k",
        {"max_groups": 1, "max_rows": 2},
    ),
    "products of bounded values": ("SELECT k, sum(x * y - y) AS s FROM t GROUP BY k", {"max_groups": 1, "max_rows": 2}),
    "a public table is joined": (
        "SELECT k, sum(x * weight) AS s FROM t JOIN regions USING (c) GROUP BY k",
        {"max_groups": 1, "max_rows": 2, "public": {"regions": REGIONS}},
    ),
    "one row for each unit and group": (
        "SELECT k, sum(v) AS s FROM (SELECT u, k, count(*) AS v FROM t GROUP BY u, k) GROUP BY k",
        {"max_groups": 2, "max_rows": 1, "bounds": {"v": (0, 5)}},
    ),
    "counts in bins": ("SELECT k, c, count(*) AS n FROM t GROUP BY k, c", {"max_groups": 1, "max_rows": 2}),
}


def cases() -> Iterator[Any]:
    for name in QUERIES:
        yield pytest.param(name, SHORT, id=f"short-{name}")
        yield pytest.param(name, LONG, id=f"long-{name}", marks=pytest.mark.long)


@in_both_forms(*(Path(name=each.name, draw=each.draw, epsilon=1.0, delta=DELTA) for each in GROUPS), long=MANY_GROUPS)
def test_no_groups_that_are_found_exceed_their_claim(path: Path, record_property: Record) -> None:
    check(path, record_property)


@pytest.mark.parametrize(("name", "runs"), list(cases()))
def test_no_query_over_groups_exceeds_its_claim(name: str, runs: int, record_property: Record) -> None:
    query, policy = QUERIES[name]
    home, epsilon = Home("duckdb"), EPSILONS[runs]
    bounds = policy.get("bounds", {})
    declared = {key: value for key, value in policy.items() if key != "bounds"}
    cost: dict[str, Any] = {"epsilon": epsilon, **({"bounds": bounds} if bounds else {})}
    draw = run_copies(home, query, EDGES.get(name, WORST), declared, **cost)
    check(Path(name=name, draw=draw, epsilon=epsilon, runs=runs), record_property)
    home.leave()


JOINED = """
budget = {{ epsilon = 1000 }}
neighbours = "add/remove"

[tables.t]
source = "{folder}/t.parquet"
unit = "u"
max_groups = 1
max_rows = 2
[tables.t.columns]
x = {{ bounds = [-8, 4] }}
k = {{ keys = {keys} }}

[tables.v]
source = "{folder}/v.parquet"
unit = "u"
max_groups = 3
max_rows = 5
[tables.v.columns]
y = {{ bounds = [-3, 5] }}
"""


@pytest.mark.parametrize("runs", [SHORT, pytest.param(LONG, marks=pytest.mark.long)], ids=["short", "long"])
def test_no_join_of_private_tables_exceeds_its_claim(runs: int, record_property: Record, tmp_path: FilePath) -> None:
    """A unit has many rows in both tables, so its rows multiply."""
    epsilon, pairs = EPSILONS[runs], WORST[:3]

    def draw(runs: int) -> list[Sides]:
        copies = table(pairs, runs)
        pq.write_table(copies.select(["u", "k", "x"]), tmp_path / "t.parquet")
        pq.write_table(copies.select(["u", "y"]), tmp_path / "v.parquet")
        keys = list(range(2 * len(pairs) * runs * CELLS))
        (tmp_path / "policy.toml").write_text(JOINED.format(folder=tmp_path, keys=keys), "utf-8")
        with tc.open(tmp_path / "policy.toml") as database:
            query = "SELECT k, sum(x) AS s, count(*) AS n FROM t JOIN v USING (u) GROUP BY k"
            return sides(database.sql(query, epsilon=epsilon), len(pairs), runs)

    check(Path(name="private tables are joined", draw=draw, epsilon=epsilon, runs=runs), record_property)
