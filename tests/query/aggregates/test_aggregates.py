from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import inf, isfinite, nan, trunc

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bounded import REAL, WHOLE, Bounds, Row, ask_for, bounds, contribution, measured, plan_of, policy
from tacit.query.aggregates import STATISTICS, bundles_of
from tacit.query.aggregates.grid import value_grid
from tacit.query.aggregates.statistic import Released
from tacit.query.expressions import Column, Expression, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Bundle, Measure, Plan

SILENT = NoiseLaw(law="laplace", amount=Fraction(1, 1000), sensitivity=1, moving=1)  # 0, but with probability e^-1000

ends = st.one_of(
    st.fractions(min_value=-(10**12), max_value=10**12, max_denominator=10**9),
    st.integers(-(2**70), 2**70).map(Fraction),
    st.floats(-1e300, 1e300, allow_nan=False).map(lambda x: Fraction(repr(x))),
)


@st.composite
def some_bounds(draw: st.DrawFn) -> Bounds:
    low, high = sorted((draw(ends), draw(ends)))
    assume(low < high)
    return low, high


# --- the grid -----------------------------------------------------------------------------------------------


@given(ends=some_bounds(), value=st.sampled_from([REAL, WHOLE]), capped=st.booleans())
def test_a_grid_has_a_step_that_is_a_power_of_two_and_bounds_that_widen_outward(
    *, ends: Bounds, value: Expression, capped: bool
) -> None:
    low, high = ends
    found = value_grid(value, ends, policy(unit="id" if capped else None))
    assert found.low * found.step <= low < (found.low + 1) * found.step
    assert (found.high - 1) * found.step < high <= found.high * found.step
    assert is_power_of_two(found.step)
    exact = value.kind == "integer" and low.denominator == high.denominator == 1 and high - low < 2**31
    if exact:
        assert (found.step, found.low, found.high) == (Fraction(1), int(low), int(high))
    else:
        assert 2**23 - 1 <= found.high - found.low <= 2**24 + 2
    assert found.fraction_bits == 0 if not capped else 2 <= found.fraction_bits <= 20


def is_power_of_two(step: Fraction) -> bool:
    parts = (step.numerator, step.denominator)
    return step > 0 and all(part & (part - 1) == 0 for part in parts)


def test_whole_numbers_are_counted_as_they_are_up_to_two_to_the_31() -> None:
    most = value_grid(WHOLE, (Fraction(0), Fraction(2**31 - 1)), policy())
    assert (most.step, most.low, most.high) == (Fraction(1), 0, 2**31 - 1)
    beyond = value_grid(WHOLE, (Fraction(0), Fraction(2**31)), policy())
    assert beyond.step == 2**7
    halves = value_grid(WHOLE, (Fraction(1, 2), Fraction(3, 2)), policy())
    assert (halves.step, halves.high - halves.low) == (Fraction(1, 2**24), 2**24)


def test_a_single_point_has_a_grid_too() -> None:
    found = value_grid(WHOLE, (Fraction(3), Fraction(3)), policy())
    assert (found.step, found.low, found.high) == (Fraction(1), 3, 3)


def test_a_unit_of_one_row_needs_no_finer_grid() -> None:
    assert value_grid(REAL, bounds(0, 1), policy(unit=None)).fraction_bits == 0


# --- bundles --------------------------------------------------------------------------------------------------


@given(some_bounds(), st.integers(1, 1000))
def test_reach_is_the_most_that_a_units_rows_add_up_to(ends: Bounds, rows: int) -> None:
    table = policy(rows=rows)
    for function in ("sum", "avg"):
        (bundle,) = bundles_of(ask_for(function, REAL, ends), table)
        corners = [
            sum(abs(m.sign * x + m.offset) * rows * 2**m.fraction_bits for m in bundle.measures)
            for x in (bundle.measures[0].low, bundle.measures[0].high)
        ]
        assert bundle.contribution == max(1, *corners)


@given(some_bounds())
def test_a_bundle_is_called_nonnegative_only_if_its_integers_are_of_one_sign(ends: Bounds) -> None:
    for function in ("sum", "avg"):
        (bundle,) = bundles_of(ask_for(function, REAL, ends), policy())
        extremes = [end for measure in bundle.measures for end in measure.extremes]
        assert bundle.nonnegative == (min(extremes) >= 0 or max(extremes) <= 0)


def test_counts_have_one_measure_that_is_never_negative() -> None:
    for value in (None, REAL, Column("k", "text")):
        (bundle,) = bundles_of(ask_for("count", value, None), policy(rows=7))
        assert (bundle.contribution, bundle.nonnegative, len(bundle.measures)) == (7, True, 1)
    (bundle,) = bundles_of(ask_for("count_units", None, None), policy(rows=7))
    assert (bundle.contribution, bundle.nonnegative, bundle.measures[0].per) == (1, True, "unit")


@pytest.mark.parametrize(
    ("function", "value", "kind"),
    [
        ("count", None, "integer"),
        ("count", REAL, "integer"),
        ("count_units", None, "integer"),
        ("sum", WHOLE, "integer"),
        ("sum", REAL, "real"),
        ("avg", WHOLE, "real"),
        ("avg", REAL, "real"),
    ],
)
def test_kinds(function: str, value: Expression | None, kind: Kind) -> None:
    statistic, ask = STATISTICS[function], ask_for(function, value, bounds(0, 3))
    assert statistic.kind(ask) == kind
    (bundle,) = statistic.bundles(ask, policy())
    estimate = statistic.estimate(ask, [Released(bundle, (5,) * len(bundle.measures), SILENT)])
    assert isinstance(estimate, int if kind == "integer" else float)


# --- truncation -----------------------------------------------------------------------------------------------


def rows_of(*values: float | None) -> list[Row]:
    return [{"x": value, "n": None if value is None else int(value)} for value in values]


def test_scaled_contributions_are_truncated_toward_zero() -> None:
    measure = Measure(value=WHOLE, low=-10, high=10)
    assert contribution(measure, rows_of(1, 1, 0), 2) == 1  # 2·2/3 = 1.33
    assert contribution(measure, rows_of(5, 2, 1), 2) == 5  # 8·2/3 = 5.33
    assert contribution(measure, rows_of(-5, -2, -1), 2) == -5  # not -6, as rounding down would have it
    assert contribution(measure, rows_of(-5, -3, -3), 1) == -3  # -3.67 is not rounded to -4


@given(
    some_bounds(),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=12),
    st.integers(1, 5),
    st.sampled_from(["sum", "avg"]),
)
def test_no_units_integers_exceed_the_reach(ends: Bounds, values: list[float], rows: int, function: str) -> None:
    (bundle,) = bundles_of(ask_for(function, REAL, ends), policy(rows=rows))
    integers = [contribution(m, [{"x": x} for x in values], rows) for m in bundle.measures]
    assert sum(map(abs, integers)) <= bundle.contribution


# --- estimates without noise are the bounded statistic ----------------------------------------------------------


def silent(plan: Plan, rows: list[Row]) -> dict[str, float]:
    """Every aggregate of a plan without groups, from its exact integers."""
    integers = [column[0] for column in measured(plan, rows)]
    released: list[Released] = []
    for bundle in plan.bundles:
        own = [integers.pop(0) for _ in bundle.measures]
        released.append(Released(bundle, tuple(own), SILENT))
    found = {}
    for one in plan.aggregates:
        estimate = STATISTICS[one.ask.function].estimate(one.ask, [released[i] for i in one.bundles])
        assert estimate is not None
        found[one.ask.function] = float(estimate)
    return found


def clamped(x: float | None, low: float, high: float) -> float | None:
    return None if x is None or x != x else min(max(x, low), high)  # noqa: PLR0124 - NaN


def expected(rows: list[Row], most: int, low: float, high: float) -> dict[str, Fraction]:
    """Return the aggregates over the rows of all units, where each of a unit's n rows has weight max_rows/n."""
    units: dict[object, list[Fraction | None]] = defaultdict(list)
    for row in rows:
        if row["id"] is not None:
            x = row["x"]
            assert x is None or isinstance(x, float)
            kept = clamped(x, low, high)
            units[row["id"]].append(None if kept is None else Fraction(kept))
    total, weight = Fraction(0), Fraction(0)
    for values in units.values():
        there = [value for value in values if value is not None]
        share = min(Fraction(1), Fraction(most, len(there))) if there else Fraction(0)
        total += share * sum(there, Fraction(0))
        weight += share * len(there)
    count = sum(min(len(values), most) for values in units.values())
    mean = total / weight if weight else Fraction(0)
    return {"count": Fraction(count), "count_units": Fraction(len(units)), "sum": total, "avg": mean}


@given(
    st.lists(
        st.tuples(st.integers(1, 4) | st.none(), st.floats(-1e3, 1e3) | st.none() | st.sampled_from([nan, inf, -inf])),
        max_size=20,
    ),
    st.integers(1, 4),
    st.sampled_from([(-1.0, 1.0), (0.0, 100.0), (-512.0, -0.5), (2.5, 3.75)]),
)
def test_estimates_without_noise_are_the_bounded_statistics(
    drawn: list[tuple[int | None, float | None]], most: int, ends: tuple[float, float]
) -> None:
    rows: list[Row] = [{"id": unit, "x": x} for unit, x in drawn]
    low, high = ends
    asks = [
        ask_for("count"),
        ask_for("count_units"),
        ask_for("sum", REAL, bounds(low, high)),
        ask_for("avg", REAL, bounds(low, high)),
    ]
    plan = plan_of(policy(rows=most), *asks)
    found, truth = silent(plan, rows), expected(rows, most, low, high)
    assert found["count"] == truth["count"]
    assert found["count_units"] == truth["count_units"]
    step = float(plan.bundles[2].measures[0].step)
    assert found["sum"] == pytest.approx(float(truth["sum"]), abs=step * (len(rows) + 5))
    if any(unit is not None and x is not None and x == x for unit, x in drawn):  # noqa: PLR0124 - NaN
        assert found["avg"] == pytest.approx(float(truth["avg"]), abs=4 * step + (high - low) * 2**-5 / 2**20)
    else:
        assert found["avg"] == (low + high) / 2


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30))
def test_whole_numbers_without_excess_rows_are_summed_exactly(values: list[int]) -> None:
    rows: list[Row] = [{"id": i, "n": value} for i, value in enumerate(values)]
    plan = plan_of(policy(), ask_for("sum", WHOLE, bounds(-30, 40)), ask_for("avg", WHOLE, bounds(-30, 40)))
    kept = [min(max(value, -30), 40) for value in values]
    found = silent(plan, rows)
    assert found["sum"] == sum(kept)
    assert found["avg"] == pytest.approx(sum(kept) / len(kept), abs=1e-12)


def test_a_bounded_statistic_lies_within_half_a_step_of_the_values() -> None:
    plan = plan_of(policy(unit=None), ask_for("sum", REAL, bounds(0, 1)))
    rows: list[Row] = [{"x": 0.1}, {"x": 0.7}, {"x": 1e300}, {"x": -inf}, {"x": nan}, {"x": None}]
    assert silent(plan, rows)["sum"] == pytest.approx(1.8, abs=2 * 2**-24)


# --- estimates of noisy integers ----------------------------------------------------------------------------


def averaged(above: int, below: int, low: float = 10.0, high: float = 20.0) -> float:
    (bundle,) = bundles_of(ask_for("avg", WHOLE, bounds(low, high)), policy(unit=None))
    estimate = STATISTICS["avg"].estimate(ask_for("avg"), [Released(bundle, (above, below), SILENT)])
    assert estimate is not None
    return float(estimate)


def test_an_average_stays_within_its_bounds_and_is_their_middle_where_nothing_is_known() -> None:
    assert averaged(30, 70) == 13
    assert averaged(-5, 100) == 10
    assert averaged(100, -5) == 20
    assert averaged(0, 0) == averaged(-3, 1) == averaged(-8, -8) == 15


@given(st.integers(-(2**62), 2**62), st.integers(-(2**62), 2**62))
def test_an_average_is_finite_and_bounded_whatever_the_noise(above: int, below: int) -> None:
    assert 10 <= averaged(above, below) <= 20


@given(st.integers(-(2**80), 2**80))
def test_a_sum_of_whole_numbers_is_rounded_to_the_nearest_one(integer: int) -> None:
    (bundle,) = bundles_of(ask_for("sum", WHOLE, bounds(0, 100)), policy(rows=3))
    estimate = STATISTICS["sum"].estimate(ask_for("sum"), [Released(bundle, (integer,), SILENT)])
    assert isinstance(estimate, int)
    assert abs(estimate - Fraction(integer, 2 ** bundle.measures[0].fraction_bits)) <= Fraction(1, 2)


def test_a_count_is_the_noisy_integer_itself() -> None:
    (bundle,) = bundles_of(ask_for("count", None, None), policy())
    assert STATISTICS["count"].estimate(ask_for("count"), [Released(bundle, (-4,), SILENT)]) == -4


# --- errors before anything is read -----------------------------------------------------------------------------


def error(function: str, value: Expression | None, ends: Bounds | None, noise: NoiseLaw, assume: int | None) -> float:
    bundles: tuple[Bundle, ...] = bundles_of(ask_for(function, value, ends), policy(unit=None))
    return STATISTICS[function].error(ask_for(function), bundles, [noise], 0.95, assume)


def test_the_error_is_the_quantile_in_the_values_own_measure() -> None:
    ten = NoiseLaw(law="laplace", amount=Fraction(10), sensitivity=1, moving=1)
    assert error("count", None, None, ten, None) == 30  # ⌈10·ln(2/(0.05·(1+e^-0.1)))⌉ - 1
    assert error("sum", WHOLE, bounds(0, 5), ten, None) == 30
    assert error("sum", REAL, bounds(0, 1), ten, None) == 30 / 2**24
    assert error("avg", WHOLE, bounds(0, 5), ten, None) == 5  # nothing is assumed
    assert error("avg", WHOLE, bounds(0, 5), ten, 600) == 5 * 30 / (600 * 5)
    assert error("avg", WHOLE, bounds(0, 5), ten, 1) == 5  # never more than the bounds' width


def test_errors_are_finite_at_a_single_point() -> None:
    ten = NoiseLaw(law="laplace", amount=Fraction(10), sensitivity=1, moving=1)
    assert isfinite(error("avg", WHOLE, bounds(3, 3), ten, 100))
    assert trunc(averaged(3, 4, 3, 3)) == 3
