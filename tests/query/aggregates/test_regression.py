"""Lines of least squares and skewness: exact without noise, and how often their intervals hold what they promise.

A case simulates 1,500 releases. A coverage of 94 % or more is called too low with probability at most `FALSE_ALARM`
(the exact binomial law), and one of 97 % or less too high. The long suite simulates 20,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import inf, isfinite, nan

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from bounded import REAL, WHOLE, Row, ask_for, bounds, contribution, measured, plan_of, policy
from evidence import FALSE_ALARM
from tacit.query.aggregates import STATISTICS, bundles_of
from tacit.query.aggregates.measure_sharing import arrange
from tacit.query.aggregates.statistic import Released
from tacit.query.noise_law import Law, NoiseLaw, sensitivity
from tacit.query.plan import Ask
from tacit.query.pricing.price import Cost, price

ROW = policy(unit=None)
SILENT = NoiseLaw(law="laplace", amount=Fraction(1, 1000), sensitivity=1, moving=1)  # 0, but with probability e^-1000
LINES = ("regr_slope", "regr_intercept", "regr_r2")
Pairs = Sequence[tuple[float, int]]


def ask_of(function: str, low: float = 0, high: float = 10) -> Ask:
    if function == "skewness":
        return ask_for(function, REAL, bounds(low, high))
    return Ask(function=function, values=(REAL, WHOLE), bounds=(bounds(low, high), bounds(2, 10)))


def truth_of(function: str, pairs: Pairs) -> float | None:
    """Ask DuckDB, about the clipped values."""
    rows = [(min(max(y, 0.0), 10.0), min(max(x, 2), 10)) for y, x in pairs]
    argument = "y" if function == "skewness" else "y, x"
    values = ", ".join(f"({y!r}::DOUBLE, {x}::DOUBLE)" for y, x in rows)
    sql = f"SELECT {function}({argument}) FROM (VALUES {values}) AS t(y, x)"  # noqa: S608 - numbers
    ((found,),) = duckdb.connect().execute(sql).fetchall()
    return None if found is None or not isfinite(found) else float(found)


def exact(ask: Ask, pairs: Pairs) -> Released:
    plan = plan_of(ROW, ask)
    rows: list[Row] = [{"x": y, "n": x} for y, x in pairs]
    return Released(plan.bundles[0], tuple(column[0] for column in measured(plan, rows)), SILENT)


# --- sensitivity ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "most"), [("regr_slope", 5 / 4), ("regr_r2", 3 / 2), ("skewness", 1)])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 4), (2, 2 + 2**-9)])
def test_no_row_adds_more_than_it_may(function: str, most: float, low: float, high: float) -> None:
    (bundle,) = bundles_of(ask_of(function, low, high), ROW)
    sums, largest = set(), 0
    for share in (0, 1 / 7, 1 / 3, 1 / 2, 0.501, 0.9, 1):
        for n in (-5, 2, 3, 6, 10, 99):
            row: Row = {"x": low + (high - low) * share, "n": n}
            integers = [contribution(measure, [row], 1) for measure in bundle.measures]
            assert min(integers) >= 0
            assert all(
                x <= measure.high << measure.fraction_bits for x, measure in zip(integers, bundle.measures, strict=True)
            )
            sums.add(sum(integers[:4]))
            largest = max(largest, sum(integers))
    (whole,) = sums  # every row adds the same number of rows
    assert largest <= bundle.contribution <= most * whole


@pytest.mark.parametrize("function", ["regr_slope", "regr_r2", "skewness"])
@pytest.mark.parametrize("relation", ["add/remove", "change one"])
def test_all_small_tables_move_by_no_more_than_the_sensitivity(function: str, relation: str) -> None:
    """Units with up to 3 rows, max_rows = 2; every unit comes and goes, and changes into every other."""
    table = policy(rows=2, neighbours=relation)  # type: ignore[arg-type]
    ask = ask_of(function)
    plan = plan_of(table, ask)
    values: list[Row] = [{"x": y, "n": n} for y, n in ((-1.0, 2), (0.0, 10), (10.0, 10), (10.0, 1), (5.0, 6), (nan, 3))]
    units = [rows for size in (1, 2, 3) for rows in combinations_with_replacement(values, size)]
    vectors = [[contribution(measure, rows, 2) for measure in plan.bundles[0].measures] for rows in units]
    others = vectors if relation == "change one" else [[0] * len(plan.bundles[0].measures)]
    for law in ("laplace", "gaussian"):
        power = 1 if law == "laplace" else 2
        moved = max(
            sum(abs(a - b) ** power for a, b in zip(one, two, strict=True)) for one in vectors for two in others
        )
        assert moved <= sensitivity(plan, plan.bundles[0], law)
        if law == "laplace" and relation == "add/remove":
            assert moved >= 0.8 * sensitivity(plan, plan.bundles[0], law)  # the bound is not loose


@given(
    st.sampled_from(["regr_slope", "regr_r2", "skewness"]),
    st.lists(st.tuples(st.floats(allow_nan=True, allow_infinity=True), st.integers(-20, 20) | st.none()), max_size=12),
    st.integers(1, 5),
)
def test_no_units_integers_exceed_its_contribution(
    function: str, values: list[tuple[float, int | None]], most: int
) -> None:
    (bundle,) = bundles_of(ask_of(function), policy(rows=most))
    integers = [contribution(measure, [{"x": x, "n": n} for x, n in values], most) for measure in bundle.measures]
    assert min(integers) >= 0
    assert sum(integers) <= bundle.contribution


def test_a_line_uses_the_sums_of_a_correlation_of_the_same_pair() -> None:
    asks = [ask_of(name) for name in ("regr_slope", "regr_intercept", "regr_r2", "corr")]
    bundles, indices = arrange(asks, ROW)
    assert len(bundles) == 1
    assert set(indices) == {(0,)}
    assert len(bundles[0].measures) == 6
    alone, _ = arrange(asks[:2], ROW)
    assert [len(bundle.measures) for bundle in alone] == [5]
    pairs = [(1.0, 2), (3.0, 8), (2.5, 5), (9.0, 9)]
    six = Released(bundles[0], exact(asks[2], pairs).integers, SILENT)
    for ask in asks[:2]:
        statistic = STATISTICS[ask.function]
        assert statistic.estimate(ask, [six]) == pytest.approx(truth_of(ask.function, pairs), abs=1e-3)


# --- without noise --------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.sampled_from([-3.0, 0.0, 1.5, 4.25, 7.0, 12.0]), st.integers(0, 12)), min_size=4, max_size=14)
)
@settings(max_examples=40, deadline=None)
def test_estimates_without_noise_are_those_of_duckdb(pairs: list[tuple[float, int]]) -> None:
    for function in (*LINES, "skewness"):
        truth, ask = truth_of(function, pairs), ask_of(function)
        x = np.clip([n for _, n in pairs], 2, 10)
        y = np.clip([y for y, _ in pairs], 0, 10)
        if truth is None or y.var() < 0.5 or (function != "skewness" and x.var() < 0.5):
            continue
        found = STATISTICS[function].estimate(ask, [exact(ask, pairs)])
        low, high = STATISTICS[function].interval(ask, [exact(ask, pairs)], 0.95)
        assert found == pytest.approx(truth, abs=0.01)
        assert low - 0.01 <= truth <= high + 0.01


def test_an_intercept_is_where_x_is_zero_also_beyond_the_bounds() -> None:
    pairs = [(2 + 0.5 * x, x) for x in range(2, 11)]  # bounds of x from 2: zero is outside
    assert STATISTICS["regr_intercept"].estimate(
        ask_of("regr_intercept"), [exact(ask_of("regr_intercept"), pairs)]
    ) == pytest.approx(2, abs=1e-3)


def test_values_that_do_not_vary_have_no_slope_and_no_skewness() -> None:
    for function in ("regr_slope", "regr_intercept", "skewness"):
        ask = ask_of(function)
        for pairs in ([(4.0, 5)] * 50, []):
            one = [exact(ask, pairs)]
            assert STATISTICS[function].interval(ask, one, 0.95) == (-inf, inf)
            assert isfinite(STATISTICS[function].estimate(ask, one) or 0.0)


# --- intervals ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Pairs (y, x), noise for ε or ρ, and whether the interval is expected to be about as narrow as it can be."""

    function: str
    law: Law
    spend: float
    pairs: Pairs
    sharp: bool = False


def line(rows: int, slope: float, spread: float, middle: float = 6.0) -> Pairs:
    """Return rows around a line, the same ones at every call."""
    rng = np.random.default_rng(7)
    x = np.clip(np.round(middle + spread * rng.normal(size=rows)), 2, 10).astype(int)
    y = np.clip(np.round(5 + slope * (x - 6) + rng.normal(size=rows), 1), 0, 10)
    return [(float(a), int(b)) for a, b in zip(y, x, strict=True)]


CASES = {
    "slope, few rows": Case("regr_slope", "laplace", 0.3, line(100, 0.5, 3)),
    "slope": Case("regr_slope", "laplace", 0.5, line(1000, 0.5, 3), sharp=True),
    "slope 0": Case("regr_slope", "laplace", 0.5, line(1000, 0.0, 3), sharp=True),
    "slope of a narrow x": Case("regr_slope", "laplace", 1.0, line(3000, 1.0, 1), sharp=True),
    "slope of an x at a bound": Case("regr_slope", "laplace", 1.0, line(2000, 0.3, 2, 2.5)),
    "slope, Gaussian": Case("regr_slope", "gaussian", 0.05, line(2000, -0.8, 2), sharp=True),
    "slope, ends alone": Case("regr_slope", "laplace", 1.0, [(0.0, 2)] * 40 + [(10.0, 10)] * 40),
    "slope of one row apart": Case("regr_slope", "laplace", 0.5, [(5.0, 5)] * 400 + [(6.0, 6)]),
    "intercept": Case("regr_intercept", "laplace", 0.5, line(1000, 0.5, 3), sharp=True),
    "intercept, few rows": Case("regr_intercept", "laplace", 0.3, line(100, 0.5, 3)),
    "intercept, Gaussian": Case("regr_intercept", "gaussian", 0.05, line(2000, -0.8, 2), sharp=True),
    "r squared": Case("regr_r2", "laplace", 0.5, line(2000, 0.6, 2)),
    "skewness": Case("skewness", "laplace", 1.0, line(3000, 0.8, 3), sharp=True),
    "skewness, few rows": Case("skewness", "laplace", 0.3, line(100, 0.5, 3)),
    "skewness, Gaussian": Case("skewness", "gaussian", 0.05, line(3000, 0.5, 3), sharp=True),
    "skewness of few at a bound": Case("skewness", "laplace", 1.0, [(0.0, 2)] * 500 + [(10.0, 2)] * 20),
}


def coverage(case: Case, runs: int, confidence: float = 0.95) -> int:
    """Count the simulated releases whose interval has the truth; each has the estimate."""
    ask = ask_of(case.function)
    plan, one = plan_of(ROW, ask), exact(ask, case.pairs)
    cost = Cost(epsilon=case.spend) if case.law == "laplace" else Cost(rho=case.spend)
    noise, statistic = price(plan, cost).noise[0], STATISTICS[case.function]
    truth = truth_of(case.function, case.pairs)
    assert truth is not None
    found = 0
    for drawn in zip(*(noise.draw(runs) for _ in one.integers), strict=True):
        noisy = [Released(one.bundle, tuple(x + k for x, k in zip(one.integers, drawn, strict=True)), noise)]
        low, high = statistic.interval(ask, noisy, confidence)
        estimate = statistic.estimate(ask, noisy)
        assert estimate is not None
        assert low - 1e-6 * (1 + abs(estimate)) <= estimate <= high + 1e-6 * (1 + abs(estimate))
        found += low - 1e-3 <= truth <= high + 1e-3
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_as_often_as_they_say(name: str) -> None:
    case, runs = CASES[name], 1500
    found = coverage(case, runs)
    assert binom.cdf(found, runs, 0.94) > FALSE_ALARM
    if case.sharp:
        assert binom.sf(found - 1, runs, 0.97) > FALSE_ALARM


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_94_percent_in_a_long_run(name: str) -> None:
    assert binom.cdf(coverage(CASES[name], 20_000), 20_000, 0.94) > FALSE_ALARM


@pytest.mark.parametrize("name", ["slope, few rows", "intercept", "skewness", "skewness of few at a bound"])
def test_high_confidence_is_kept(name: str) -> None:
    """A miss has a probability of at most 1/10,000; three in 300 releases would come by chance less than 1e-5 often."""
    assert coverage(CASES[name], 300, 0.9999) >= 298


# --- before anything is read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["regr_slope", "regr_intercept", "skewness"])
def test_the_expected_error_is_that_of_uniform_values(function: str) -> None:
    """9 of 10 errors of 400 releases are within the planned 95 % error, and 1 of 100 is not within a third of it."""
    ask = ask_of(function)
    uniform = [(y / 2, x) for y in range(21) for x in range(2, 11)] * 4
    plan, one = plan_of(ROW, ask), exact(ask, uniform)
    noise, statistic = price(plan, Cost(epsilon=1)).noise[0], STATISTICS[function]
    truth = truth_of(function, uniform)
    assert truth is not None
    error = statistic.error(ask, plan.bundles, [noise], 0.95, len(uniform))
    assert statistic.error(ask, plan.bundles, [noise], 0.95, None) == inf
    drawn = zip(*(noise.draw(400) for _ in one.integers), strict=True)
    off = [
        abs(
            (
                statistic.estimate(
                    ask, [Released(one.bundle, tuple(x + k for x, k in zip(one.integers, own, strict=True)), noise)]
                )
                or 0.0
            )
            - truth
        )
        for own in drawn
    ]
    assert np.mean(np.array(off) <= 1.1 * error) > 0.85
    assert np.mean(np.array(off) <= error / 3) < 0.9
