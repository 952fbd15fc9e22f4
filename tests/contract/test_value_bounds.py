"""The histogram of private bounds: equal integers on every engine, and no unit moves it by more than is claimed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from math import inf, isnan, nan
from sys import float_info
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.homes import on_duckdb
from contract.plans import A, D, M, X, plan, table
from contract.tables import KINDS, VALUES, Opener, Row
from tacit.guarantees.events import Neighbours
from tacit.query.aggregates.value_bins import value_bins
from tacit.query.expressions import Call, Column, Value
from tacit.query.noise_law import sensitivity
from tacit.query.plan import Measure, Plan
from tacit.query.sql.bounds_plan import bounds_plan

BITS = 20
ROW: dict[str, Value] = {name: values[0] for name, values in VALUES.items()}
HOSTILE: dict[str, list[Value]] = {
    "a": [*VALUES["a"], -(2**63) + 1, 2**63 - 2, 3, 4, -3],
    "x": [*VALUES["x"], -nan, float_info.max, -float_info.max, float_info.min, 2.0**-64, -(2.0**-64), 1e-300, 1.25],
    "d": [*VALUES["d"], date(1989, 12, 31), date(1990, 1, 1), date(2039, 12, 31), date(2040, 1, 1)],
    "m": [*VALUES["m"], datetime(1990, 1, 1), datetime(1989, 12, 31, 23, 59, 59, 999999), datetime(1, 1, 1)],  # noqa: DTZ001 - no zone
}


def asked(
    value: Column, *, unit: str | None = "u", neighbours: Neighbours = "add/remove", where: Call | None = None
) -> Plan:
    """The plan of a column's bounds, from a plan of the same rows with other limits."""
    policy = replace(table(unit=unit, groups=2, rows=3), neighbours=neighbours)
    return bounds_plan(plan(policy, Measure(value=None), where=where), value)


def counted(value: Column, rows: Sequence[Row], *, unit: str | None = "u") -> list[int]:
    """The integers by brute force: each unit's rows with a value weigh 1 together, rounded down row by row."""
    bins, totals = value_bins(value.kind), [0] * value_bins(value.kind).count
    own: dict[Value, list[Any]] = defaultdict(list)
    for place, row in enumerate(rows):
        found = row[value.name]
        missing = found is None or (isinstance(found, float) and isnan(found))
        if not missing and (unit is None or row[unit] is not None):
            own[place if unit is None else row[unit]].append(found)
    for values in own.values():
        for one in values:
            totals[bins.find(one)] += 1 if unit is None else (1 << BITS) // len(values)
    return totals


def measured(opened: object, one: Plan) -> list[int]:
    (found,) = opened.measure(one)  # type: ignore[attr-defined]  # an engine
    return list(found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("value", [A, X, D, M], ids=lambda value: value.kind)
def test_every_engine_counts_hostile_values_alike(engine: Opener, value: Column) -> None:
    rows = [{**ROW, "u": place % 7 or None, value.name: one} for place, one in enumerate(HOSTILE[value.name])]
    rows += [{**ROW, "u": 1, value.name: HOSTILE[value.name][place % 5]} for place in range(40)]
    with engine(KINDS, rows) as opened:
        assert measured(opened, asked(value)) == counted(value, rows)
        if engine.name != "spark":  # a long statement takes Spark seconds to compile
            assert measured(opened, asked(value, unit=None)) == counted(value, rows, unit=None)


def test_rows_that_the_query_leaves_out_do_not_count(engine: Opener) -> None:
    where = Call("is_null", (X,), "boolean")
    rows = [{**ROW, "u": 1, "a": 5, "x": 1.0}, {**ROW, "u": 1, "a": 9, "x": None}, {**ROW, "u": 1, "a": None}]
    with engine(KINDS, rows) as opened:
        found = measured(opened, asked(A, where=where))
    assert found == counted(A, rows[1:])
    assert found[value_bins("integer").find(9)] == 1 << BITS


def moved(first: Sequence[int], second: Sequence[int]) -> tuple[int, int]:
    """The L1 and the squared L2 distance of two histograms."""
    steps = [abs(a - b) for a, b in zip(first, second, strict=True)]
    return sum(steps), sum(step * step for step in steps)


def histogram(one: Plan, rows: Sequence[Row]) -> list[int]:
    with on_duckdb(KINDS, rows) as opened:
        return measured(opened, one)


UNITS = st.sampled_from([1, 2, 3])
VALUES_OF_A = st.lists(st.sampled_from([None, *range(-8, 20), 2**63 - 1, -(2**63)]), max_size=50)
BRIEF = settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.too_slow])


def rows_of(unit: int, values: Sequence[Value]) -> list[Row]:
    return [{**ROW, "u": unit, "a": one} for one in values]


@pytest.mark.parametrize("neighbours", ["add/remove", "change one"])
def test_a_unit_moves_the_histogram_by_no_more_than_the_plan_says(neighbours: Neighbours) -> None:
    one = asked(A, neighbours=neighbours)
    most = tuple(sensitivity(one, one.bundles[0], law) for law in ("laplace", "gaussian"))
    factor = 2 if neighbours == "change one" else 1
    assert most == (factor << BITS, factor << (2 * BITS))

    @BRIEF
    @given(VALUES_OF_A, VALUES_OF_A, VALUES_OF_A)
    def check(others: list[Value], before: list[Value], after: list[Value]) -> None:
        rest = rows_of(1, others)
        changed = rest if neighbours == "add/remove" else [*rest, *rows_of(2, after)]
        l1, l2 = moved(histogram(one, [*rest, *rows_of(2, before)]), histogram(one, changed))
        assert l1 <= most[0]
        assert l2 <= most[1]

    check()


@pytest.mark.parametrize("unit", ["u", None])
def test_the_claimed_bound_is_reached(unit: str | None) -> None:
    one = asked(A, unit=unit, neighbours="change one")
    low, high = rows_of(1, [5] * (1 if unit is None else 64)), rows_of(1, [900] * (1 if unit is None else 64))
    l1, l2 = moved(histogram(one, low), histogram(one, high))
    assert l1 == sensitivity(one, one.bundles[0], "laplace")
    assert l2 == sensitivity(one, one.bundles[0], "gaussian")


def test_rows_that_do_not_share_a_weight_are_found() -> None:
    one = asked(A)
    wrong = replace(one, table=replace(one.table, reach=10**6))
    many = rows_of(2, list(range(-8, 20)))
    assert sum(histogram(one, many)) <= sensitivity(one, one.bundles[0], "laplace")
    assert sum(histogram(wrong, many)) > sensitivity(one, one.bundles[0], "laplace")


def test_infinite_values_are_counted_in_the_outermost_bins() -> None:
    found = histogram(asked(X), [{**ROW, "u": 1, "x": inf}, {**ROW, "u": 2, "x": -inf}, {**ROW, "u": 3, "x": nan}])
    assert (found[0], found[-1], sum(found)) == (1 << BITS, 1 << BITS, 2 << BITS)
