"""Sums whose rounding, order or overflow would move them by more than their sensitivity.

Casacuberta, Shoemate, Vadhan and Wagaman (CCS 2022) break sums of floats and of integers that wrap: a neighbour moves
them further than the bound of a value. tacit clamps each value, moves it onto a grid, and adds integers that cannot
overflow, so a neighbour moves the exact integers by what the noise is made for. `tests/contract/test_questions.py`
shows this for random queries and tables; here are the tables of the attacks.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from attacks.references import single_precision_sum, wrapping_sum
from contract.test_questions import SECRET, oversteps
from tacit.engines.duckdb.engine import DuckDBEngine, open_duckdb
from tacit.engines.sql.statement import SOURCE
from tacit.query.expressions import Kind
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

Bounds = tuple[float, float]


def plan_of(sql: str, bounds: Bounds, kind: Kind = "real") -> Plan:
    """Return the plan of a query over rows that are units, with one column x."""
    ends = (Fraction(bounds[0]), Fraction(bounds[1]))
    columns = {"x": ColumnPolicy(kind=kind, bounds=ends)}
    table = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns=columns)
    return parse(sql, {"t": table})


@cache
def engine_of(kind: pa.DataType) -> DuckDBEngine:
    """Return an engine for tables of one column; opening one for each table would take longer than measuring it."""
    return open_duckdb(pa.table({"x": pa.array([], kind)}), threads=2)


def measured(plan: Plan, values: pa.Array) -> list[list[int]]:
    """Return the exact integers that a query gets from DuckDB."""
    engine = engine_of(values.type)
    engine._connection.register(SOURCE, pa.table({"x": values}))
    return [list(map(int, each)) for each in engine.measure_with(plan, SECRET)]


def sum_of(plan: Plan, values: pa.Array) -> Fraction:
    """Return the exact sum that a query `SELECT sum(x)` gets, in the units of x."""
    measure = plan.bundles[0].measures[0]
    return sum(measured(plan, values)[0]) * measure.step


MOST = 2.0**24
ONES = np.full(2**22, 1 + 2.0**-23, dtype=np.float32)
FIRST = np.concatenate([np.array([MOST], dtype=np.float32), ONES])


def test_repeated_rounding_moves_no_sum_beyond_its_bound() -> None:
    """After 2^24, each addition of a little more than 1 is rounded up to 2: the row of 2^24 moves 1.25 times as far."""
    moved = single_precision_sum(FIRST) - single_precision_sum(ONES)
    assert moved > 1.24 * MOST
    plan = plan_of("SELECT sum(x) AS s FROM t", (0, MOST))
    sums = [measured(plan, pa.array(each)) for each in (FIRST, ONES)]
    assert oversteps(plan, *sums) == []
    assert (sums[0][0][0] - sums[1][0][0]) * plan.bundles[0].measures[0].step == MOST


def test_an_audit_finds_the_rounding_of_floats_and_nothing_else() -> None:
    """The textbook adds noise of the scale 2^24/ε to its sum, for a claimed ε of 1; the sum moves by 1.25·2^24."""
    draw = np.random.default_rng(1)
    sums = {len(each): single_precision_sum(each) for each in (FIRST, ONES)}
    bad = tc.audit(
        lambda size, runs: sums[size] + draw.laplace(0, MOST, runs),
        *(len(FIRST), len(ONES)),
        epsilon=1,
        batched=True,
        samples=80_000,
        confidence=1 - 1e-12,
        seed=1,
    )
    plan = plan_of("SELECT sum(x) AS s FROM t", (0, MOST))
    exact = {len(each): int(sum_of(plan, pa.array(each))) for each in (FIRST, ONES)}
    noise = tc.Laplace(sensitivity=int(MOST), epsilon=1)
    fair = tc.audit(
        lambda size, runs: noise.release(np.full(runs, exact[size])),
        *(len(FIRST), len(ONES)),
        epsilon=1,
        batched=True,
        samples=80_000,
        confidence=1 - 1e-12,
        seed=1,
    )
    assert (bad.verdict, fair.verdict) == ("violates", "no violation found")


CANCELLING = [1e16, 1.0, -1e16, 1.0, 2.0**-30]


def test_the_order_of_rows_changes_nothing() -> None:
    """In floats, orders of five numbers have many sums; equal tables would have different answers."""
    orders = list(permutations(CANCELLING))
    assert len({float(np.add.accumulate(np.array(order))[-1]) for order in orders}) > 3
    plan = plan_of("SELECT sum(x) AS s, avg(x) AS a FROM t", (-1e16, 1e16))
    first, *others = [measured(plan, pa.array(order)) for order in orders[::12]]
    assert all(other == first for other in others)


def test_a_large_table_has_one_sum_in_all_orders_and_with_all_threads() -> None:
    draw = np.random.default_rng(2)
    values = draw.choice([1e16, -1e16, 1 / 3, 5e-324, 1e-3], 300_000)
    plan = plan_of("SELECT sum(x) AS s FROM t", (-1e16, 1e16))
    orders = [values, values[::-1].copy(), np.sort(values), draw.permutation(values)]
    assert len({float(np.add.accumulate(order)[-1]) for order in orders}) > 1
    assert len({sum_of(plan, pa.array(order)) for order in orders}) == 1


MAGNITUDES: list[tuple[Bounds, list[float]]] = [
    ((-1e300, 1e300), [1e300, -1e300, 1e308, -1e308, 5e-324, 1.0]),
    ((0, 1e-300), [1e-300, 5e-324, 1.0, -1.0]),
    ((0.1, 0.1 + 2**-40), [0.1, 0.1 + 2**-41, 1.0, -1.0]),
    ((2.0**40, 2.0**40 + 4096), [2.0**40, 2.0**40 + 4096, 1e300, 0.0]),
    ((-(2.0**-1000), 2.0**-1000), [2.0**-1000, -(2.0**-1000), 2.0**-1074, 1.0]),
]
AGGREGATES = ["sum(x)", "avg(x)", "var_pop(x)", "stddev(x)", "median(x)", "min(x)", "count(x)", "count(DISTINCT x)"]


@pytest.mark.parametrize(("bounds", "values"), MAGNITUDES, ids=lambda each: str(each[0]))
def test_huge_and_tiny_values_move_no_answer_beyond_its_noise(bounds: Bounds, values: list[float]) -> None:
    for aggregate in AGGREGATES:
        plan = plan_of(f"SELECT {aggregate} AS a FROM t", bounds)  # noqa: S608 - built here
        table = pa.array(values * 3)
        before = measured(plan, table)
        for place in range(len(values)):
            rest = pa.array([value for other, value in enumerate(values * 3) if other != place])
            assert oversteps(plan, before, measured(plan, rest)) == []


@pytest.mark.parametrize("values", [[2**62] * 4, [2**63 - 1] * 3, [-(2**63)] * 3, [2**62, 2**62, -(2**62)]])
def test_integers_do_not_wrap(values: list[int]) -> None:
    """A sum of 64 bits wraps: one row more moves it by 2^64 less than its value."""
    most = 2**62
    clipped = np.clip(np.array(values), -most, most)
    with np.errstate(all="ignore"):
        moved = [wrapping_sum(clipped[:place]) for place in range(len(values) + 1)]
    plan = plan_of("SELECT sum(x) AS s FROM t", (-most, most), "integer")
    assert sum_of(plan, pa.array(values)) == sum(map(int, clipped))
    assert oversteps(plan, measured(plan, pa.array(values)), measured(plan, pa.array(values[1:]))) == []
    assert max(abs(one - other) for one, other in pairwise(moved)) > most or len(set(values)) > 1


WIDE = [Decimal("1e37"), Decimal("-1e37"), Decimal(2**64), Decimal(0), Decimal("1e37")]


def test_numbers_beyond_64_bits_are_clamped_and_added() -> None:
    plan = plan_of("SELECT sum(x) AS s FROM t", (-1000, 1000))
    assert sum_of(plan, pa.array(WIDE, pa.decimal128(38, 0))) == 2000
    assert sum_of(plan, pa.array([2**64 - 1, 2**63, 5], pa.uint64())) == 2005


POISON: list[float | None] = [math.nan, math.inf, -math.inf, None, -0.0, 5e-324, 1e308]


@pytest.mark.parametrize("poison", POISON, ids=repr)
def test_one_poisonous_row_moves_no_answer_beyond_its_noise(poison: float | None) -> None:
    """NaN makes every sum of the textbook NaN, so its answer tells that the row is there."""
    clean = [0.25, 0.5, 0.75] * 10
    for aggregate in (*AGGREGATES, "skewness(x)", "corr(x, x * x)", "regr_slope(x, 1 - x)", "max(x)"):
        plan = plan_of(f"SELECT {aggregate} AS a FROM t", (0, 1))  # noqa: S608 - built here
        assert oversteps(plan, measured(plan, pa.array(clean)), measured(plan, pa.array([*clean, poison]))) == []


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, None], ids=repr)
def test_an_answer_is_a_finite_number_with_poison_and_without(poison: float | None) -> None:
    items = ", ".join(f"{aggregate} AS a{place}" for place, aggregate in enumerate(AGGREGATES))
    shapes = []
    for values in ([0.5] * 30, [*[0.5] * 30, poison], [poison] * 30):
        with tc.open(
            pa.table({"x": pa.array(values, pa.float64())}),
            name="t",
            unit=tc.ROW,
            bounds={"x": (0, 1)},
            budget=tc.PureDP(epsilon=10**6),
        ) as db:
            row = db.sql(f"SELECT {items} FROM t", epsilon=1000).rows()[0]  # noqa: S608 - built here
        assert all(isinstance(each, (int, float)) and math.isfinite(each) for each in row if each is not None)
        shapes.append([type(each) for each in row])
    assert shapes[0] == shapes[1]


def test_nan_tells_the_textbook_that_a_row_is_there() -> None:
    draw = np.random.default_rng(3)
    report = tc.audit(
        lambda values: float(np.mean(values) + draw.laplace(0, 1)),
        *([0.5] * 10, [0.5] * 10 + [math.nan]),
        epsilon=1,
        samples=2000,
        confidence=1 - 1e-12,
        seed=1,
    )
    assert report.verdict == "violates"
