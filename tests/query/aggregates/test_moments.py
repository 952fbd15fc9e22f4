"""Variances, covariances and correlations: exact without noise, and how often their intervals hold what they promise.

The ordinary suite simulates 4,000 releases a case and asks of each whether the truth is rejected. A coverage of 95 % or
more is called too low with probability at most `FALSE_ALARM` a case (the exact binomial law), and one of 97 % or less
too high. The long suite simulates 20,000 whole intervals and asks for 94 % and 97 % themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, isfinite, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from bounded import REAL, WHOLE, Row, ask_for, bounds, contribution, measured, plan_of, policy
from evidence import FALSE_ALARM
from tacit.engines.sql import measures as statement_measures
from tacit.query.aggregates import STATISTICS, bundles_of
from tacit.query.aggregates.covariance import Correlation, Covariance, _correlated
from tacit.query.aggregates.grid import value_steps
from tacit.query.aggregates.moment_intervals import Contrast, NoisySums, _laplace, noisy_sums
from tacit.query.aggregates.statistic import Released
from tacit.query.aggregates.variance import Variance
from tacit.query.expressions import Call, Expression, walk
from tacit.query.expressions.ranges import prove_range
from tacit.query.noise_law import Law, NoiseLaw
from tacit.query.plan import Ask, Bounds
from tacit.query.policy import TablePolicy
from tacit.query.pricing.price import Cost, price

ROW = policy(unit=None)
SILENT = NoiseLaw(law="laplace", amount=Fraction(1, 1000), sensitivity=1, moving=1)  # 0, but with probability e^-1000
SPREADS = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")
PAIRS = ("covar_pop", "covar_samp", "corr")


def pair(function: str, x: Bounds, n: Bounds) -> Ask:
    return Ask(function=function, values=(REAL, WHOLE), bounds=(x, n))


def ask_of(function: str, low: float = 0, high: float = 10) -> Ask:
    if function in PAIRS:
        return pair(function, bounds(low, high), bounds(0, 10))
    return ask_for(function, REAL, bounds(low, high))


# --- bundles --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["var_pop", "covar_pop", "corr"])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 4), (2, 2 + 2**-9)])
def test_no_row_adds_more_than_its_reach_and_all_rows_add_as_much_to_what_makes_up_their_number(
    function: str, low: float, high: float
) -> None:
    (bundle,) = bundles_of(ask_of(function, low, high), ROW)
    whole = {"var_pop": 3, "covar_pop": 4, "corr": 4}[function]
    sums, most = set(), 0
    for share in (0, 1 / 7, 1 / 2, 0.501, 0.9, 1):
        for n in (0, 3, 5, 10):
            row: Row = {"x": low + (high - low) * share, "n": n}
            integers = [contribution(measure, [row], 1) for measure in bundle.measures]
            assert min(integers) >= 0
            sums.add(sum(integers[:whole]))
            most = max(most, sum(integers))
    assert len(sums) == 1
    assert most <= bundle.contribution
    if function != "corr":
        assert sums == {bundle.contribution}
    else:
        assert bundle.contribution <= 3 / 2 * sums.pop()


@given(
    st.sampled_from(["var_pop", "covar_pop", "corr"]),
    st.lists(st.tuples(st.floats(allow_nan=True, allow_infinity=True), st.integers(-20, 20) | st.none()), max_size=12),
    st.integers(1, 5),
)
def test_no_units_integers_exceed_the_reach(function: str, values: list[tuple[float, int | None]], most: int) -> None:
    (bundle,) = bundles_of(ask_of(function), policy(rows=most))
    rows: list[Row] = [{"x": x, "n": n} for x, n in values]
    integers = [contribution(measure, rows, most) for measure in bundle.measures]
    assert min(integers) >= 0
    assert sum(integers) <= bundle.contribution


@given(
    st.sampled_from([*SPREADS, *PAIRS]),
    st.fractions(-(10**9), 10**9, max_denominator=1000),
    st.sampled_from([Fraction(1, 10**6), Fraction(1), Fraction(100), Fraction(10**7), Fraction(10**30)]),
    st.sampled_from([1, 5, 1000, 10**6, 10**9]),
)
def test_integers_fit_whatever_the_bounds_and_the_rows(
    function: str, low: Fraction, width: Fraction, most: int
) -> None:
    """Every part of every measure is proved to stay within 2^62, and so is what a unit reaches."""
    ask = pair(function, (low, low + width), bounds(0, 10**6))
    if function in SPREADS:
        ask = Ask(function=function, values=(REAL,), bounds=((low, low + width),))
    (bundle,) = bundles_of(ask, policy(rows=most))
    assert bundle.contribution <= 2**63
    for measure in bundle.measures:
        statement_measures.check(measure, most)
        assert measure.value is not None
        found = prove_range(measure.value, {"x": (low, low + width), "n": bounds(0, 10**6)})
        assert found is not None
        assert 0 <= measure.low <= measure.high <= 2**62
        assert max(map(abs, found)) <= 2**62


@given(st.fractions(-(10**6), 10**6), st.fractions(Fraction(1, 10**6), 10**6), st.sampled_from([REAL, WHOLE]))
def test_steps_are_fine_and_hold_the_bounds(low: Fraction, width: Fraction, value: Expression) -> None:
    for most, bits in ((1, 18), (2, 17), (64, 15), (10**9, 15)):
        found = value_steps(value, (low, low + width), policy(rows=most))
        assert found.width <= 2**bits + 1
        assert found.size >= width
        assert found.width > 2 ** (bits - 1) or (found.step == 1 and value is WHOLE)
        assert isinstance(found.d, Call)


# --- without noise --------------------------------------------------------------------------------------------------


def silent(ask: Ask, table: TablePolicy, rows: Sequence[Row]) -> float:
    plan = plan_of(table, ask)
    integers = tuple(column[0] for column in measured(plan, rows))
    found = STATISTICS[ask.function].estimate(ask, [Released(plan.bundles[0], integers, SILENT)])
    assert found is not None
    return float(found)


def weighted(drawn: Sequence[tuple[int, float, int]], most: int) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Each row's values, clamped, with its weight: a unit's rows weigh as at most max_rows."""
    sizes = {unit: sum(1 for one, _, _ in drawn if one == unit) for unit, _, _ in drawn}
    return [
        (Fraction(min(max(x, 0.0), 10.0)), Fraction(min(max(n, 0), 10)), Fraction(min(most, sizes[unit]), sizes[unit]))
        for unit, x, n in drawn
    ]


def moments(data: Sequence[tuple[Fraction, Fraction, Fraction]], least: int = 0) -> dict[str, float]:
    """The statistics of weighted rows; the correlation only if there is more than some spread."""
    rows = sum((w for *_, w in data), Fraction(0))
    m, k = (sum((row[i] * row[2] for row in data), Fraction(0)) / rows for i in (0, 1))
    xx, nn, xn = (
        sum(((row[i] - (m, k)[i]) * (row[j] - (m, k)[j]) * row[2] for row in data), Fraction(0))
        for i, j in ((0, 0), (1, 1), (0, 1))
    )
    found = {"var_pop": xx / rows, "covar_pop": xn / rows}
    if rows > 1:
        found |= {"var_samp": xx / (rows - 1), "covar_samp": xn / (rows - 1)}
    shown = {name: float(value) for name, value in found.items()}
    shown |= {name.replace("var", "stddev"): sqrt(value) for name, value in shown.items() if name.startswith("var")}
    return shown | ({"corr": float(xn) / sqrt(xx * nn)} if min(xx, nn) > least else {})


@given(
    st.lists(st.tuples(st.integers(1, 5), st.floats(-3, 13), st.integers(-2, 12)), min_size=1, max_size=20),
    st.integers(1, 4),
)
def test_estimates_without_noise_are_the_bounded_statistics(drawn: list[tuple[int, float, int]], most: int) -> None:
    rows: list[Row] = [{"id": unit, "x": x, "n": n} for unit, x, n in drawn]
    for function, truth in moments(weighted(drawn, most), least=1).items():
        found = silent(ask_of(function), policy(rows=most), rows)
        slack = 0.05 if function.startswith("stddev") else 0.002
        assert found == pytest.approx(truth, abs=slack)


def test_whole_numbers_have_their_exact_variance() -> None:
    rows: list[Row] = [{"id": i, "n": n} for i, n in enumerate([1, 2, 2, 9, 40])]
    ask = ask_for("var_pop", WHOLE, bounds(0, 9))
    kept = [1, 2, 2, 9, 9]
    assert silent(ask, policy(), rows) == pytest.approx(np.var(kept), abs=1e-5)
    assert silent(ask_for("stddev_samp", WHOLE, bounds(0, 9)), policy(), rows) == pytest.approx(np.std(kept, ddof=1))


def test_rows_count_where_both_values_are_there() -> None:
    pairs: list[tuple[float | None, int | None]] = [(1.0, 2), (3.0, 8), (2.0, 1), (None, 9), (9.0, None), (nan, 0)]
    rows: list[Row] = [{"x": x, "n": n} for x, n in pairs]
    x, n = [1.0, 3.0, 2.0], [2, 8, 1]
    assert silent(ask_of("covar_pop"), ROW, rows) == pytest.approx(np.cov(x, n, ddof=0)[0, 1], abs=1e-3)
    assert silent(ask_of("covar_samp"), ROW, rows) == pytest.approx(np.cov(x, n)[0, 1], abs=1e-3)
    assert silent(ask_of("corr"), ROW, rows) == pytest.approx(np.corrcoef(x, n)[0, 1], abs=1e-3)


def test_infinities_are_at_the_bounds() -> None:
    rows: list[Row] = [{"x": x, "n": n} for x, n in ((inf, 99), (-inf, -99))]
    assert silent(ask_of("var_pop"), ROW, rows) == pytest.approx(25)
    assert silent(ask_of("stddev_samp"), ROW, rows) == pytest.approx(10 / sqrt(2))
    assert silent(ask_of("corr"), ROW, rows) == pytest.approx(1, abs=1e-6)


# --- intervals ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Rows by their values in [0, 10], with how many there are of each; noise for ε, or for ρ.

    It is `sharp` if there are ten times as many rows as the standard deviation of their noisy number, and no end of
    what is possible is near.
    """

    function: str
    law: Law
    spend: float
    data: Mapping[tuple[float, int], int]
    sharp: bool = False
    ask: Ask = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ask", ask_of(self.function))

    def released(self) -> Released:
        """The exact integers, with the noise that is to come."""
        plan = plan_of(ROW, self.ask)
        noise = (
            price(plan, Cost(epsilon=self.spend)) if self.law == "laplace" else price(plan, Cost(rho=self.spend))
        ).noise[0]
        integers = tuple(
            sum(contribution(measure, [{"x": x, "n": n}], 1) * count for (x, n), count in self.data.items())
            for measure in plan.bundles[0].measures
        )
        return Released(plan.bundles[0], integers, noise)

    def truth(self) -> float:
        rows = [(Fraction(x), Fraction(n), Fraction(count)) for (x, n), count in self.data.items()]
        return moments(rows)[self.function]


def line(slope: float, spread: float, rows: int) -> dict[tuple[float, int], int]:
    """Rows along a line: correlated fully, less or not at all."""
    points = [
        (5 + 4 * a * spread, 5 + round(4 * spread * (slope * a + (1 - abs(slope)) * b)))
        for a in (-1, 1)
        for b in (-1, 1)
    ]
    return (
        {point: rows // 4 + place for place, point in enumerate(points)}
        if slope < 1
        else {(1.0, 1): rows // 3, (5.0, 5): rows // 3, (9.0, 9): rows // 3}
    )


ENDS = {(0.0, 0): 1, (10.0, 10): 1}
WIDE = {(0.0, 0): 30, (10.0, 10): 30, (5.0, 5): 40}
CASES = {
    "variance of two rows": Case("var_pop", "laplace", 0.5, ENDS),
    "variance of three rows, little noise": Case("var_pop", "laplace", 20.0, {**ENDS, (3.0, 3): 1}),
    "variance, few rows": Case("var_pop", "laplace", 0.3, {(2.0, 2): 5, (7.0, 7): 5}),
    "variance, ten deviations": Case("var_pop", "laplace", 0.3, WIDE, sharp=True),
    "variance, many rows": Case("var_pop", "laplace", 1.0, {(2.0, 2): 5000, (7.0, 7): 9000}, sharp=True),
    "variance of nothing that varies": Case("var_pop", "laplace", 0.5, {(4.0, 4): 60}),
    "variance, all at a bound": Case("var_pop", "laplace", 0.2, {(0.0, 0): 50}),
    "variance, nearly all at a bound": Case("var_pop", "laplace", 0.5, {(10.0, 0): 300, (5.0, 0): 10}, sharp=True),
    "variance, as large as can be": Case("var_pop", "laplace", 0.5, {(0.0, 0): 50, (10.0, 0): 50}),
    "variance, Gaussian, few rows": Case("var_pop", "gaussian", 0.02, {(0.0, 0): 12, (1.0, 0): 12}),
    "variance, Gaussian, at a bound": Case("var_pop", "gaussian", 0.02, {(0.0, 0): 60}),
    "variance, Gaussian": Case("var_pop", "gaussian", 0.1, WIDE, sharp=True),
    "sample variance of two rows": Case("var_samp", "laplace", 10.0, ENDS),
    "sample variance": Case("var_samp", "laplace", 0.3, WIDE, sharp=True),
    "deviation, few rows": Case("stddev_pop", "laplace", 0.5, {(1.0, 0): 8, (2.0, 0): 9}),
    "sample deviation": Case("stddev_samp", "gaussian", 0.1, WIDE, sharp=True),
    "covariance of two rows": Case("covar_pop", "laplace", 1.0, ENDS),
    "covariance, few rows": Case("covar_pop", "laplace", 0.2, line(0.5, 1, 40)),
    "covariance, ten deviations": Case("covar_pop", "laplace", 0.3, line(0.5, 1, 120), sharp=True),
    "covariance of what is not correlated": Case("covar_pop", "laplace", 0.5, line(0.0, 1, 400), sharp=True),
    "covariance in a corner": Case("covar_pop", "laplace", 0.2, {(0.0, 10): 50}),
    "covariance near a corner": Case("covar_pop", "gaussian", 0.05, {(0.0, 0): 90, (1.0, 1): 10}),
    "covariance, below zero": Case("covar_samp", "gaussian", 0.1, line(-0.7, 1, 200), sharp=True),
    "correlation of two rows": Case("corr", "laplace", 1.0, ENDS),
    "correlation, few rows": Case("corr", "laplace", 0.2, line(0.5, 1, 40)),
    "correlation of what hardly varies": Case("corr", "laplace", 0.5, {(5.0, 5): 400, (6.0, 6): 1}),
    "correlation": Case("corr", "laplace", 0.5, line(0.6, 1, 2000), sharp=True),
    "no correlation": Case("corr", "laplace", 0.5, line(0.0, 1, 1000), sharp=True),
    "correlation, of a narrow spread": Case("corr", "laplace", 0.5, line(-0.5, 0.3, 9000), sharp=True),
    "full correlation": Case("corr", "laplace", 0.5, line(1.0, 1, 900)),
    "correlation, Gaussian": Case("corr", "gaussian", 0.05, line(-0.4, 1, 3000), sharp=True),
    "correlation, Gaussian, few rows": Case("corr", "gaussian", 0.05, line(0.9, 1, 30)),
}


def with_noise(one: Released, runs: int) -> list[Released]:
    drawn = zip(*(one.noise.draw(runs) for _ in one.integers), strict=True)
    return [
        Released(one.bundle, tuple(x + k for x, k in zip(one.integers, own, strict=True)), one.noise) for own in drawn
    ]


def contrast(case: Case, one: Released, beta: float) -> Contrast | None:
    statistic = STATISTICS[case.function]
    if isinstance(statistic, Correlation):
        return _correlated(one, beta)
    assert isinstance(statistic, (Variance, Covariance))
    return statistic._contrast(one)


def in_units(case: Case, truth: float) -> float:
    """The statistic of values from 0 to 1, on which the test is made."""
    size = 10 if case.function != "corr" else 1
    return (truth / size) ** 2 if case.function.startswith("stddev") else truth / size ** (1 if size == 1 else 2)


def kept(case: Case, runs: int, beta: float = 0.05) -> int:
    """Count the simulated releases in which the truth is not rejected."""
    theta, exact = in_units(case, case.truth()), case.released()
    tests = (contrast(case, one, beta) for one in with_noise(exact, runs))
    return sum(test is None or test.chance(theta) > beta for test in tests)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_as_often_as_they_say(name: str) -> None:
    case, runs = CASES[name], 4000
    found = kept(case, runs)
    assert binom.cdf(found, runs, 0.948) > FALSE_ALARM
    if case.sharp:
        assert binom.sf(found - 1, runs, 0.97) > FALSE_ALARM


@pytest.mark.parametrize("name", CASES)
def test_an_interval_holds_what_is_not_rejected_and_the_estimate(name: str) -> None:
    case = CASES[name]
    statistic, truth = STATISTICS[case.function], case.truth()
    theta = in_units(case, truth)
    for one in with_noise(case.released(), 60):
        low, high = statistic.interval(case.ask, [one], 0.95)
        estimate, test = statistic.estimate(case.ask, [one]), contrast(case, one, 0.05)
        assert estimate is not None
        assert isfinite(low)
        assert isfinite(high)
        assert low - 1e-9 <= estimate <= high + 1e-9
        holds = low - 1e-9 <= truth <= high + 1e-9
        assert holds if test is None or test.chance(theta) > 0.05 else not low + 1e-4 < truth < high - 1e-4


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_94_percent_and_at_most_97_where_they_can(name: str) -> None:
    case, runs = CASES[name], 20_000
    statistic, truth = STATISTICS[case.function], case.truth()
    ends = (statistic.interval(case.ask, [one], 0.95) for one in with_noise(case.released(), runs))
    found = sum(low - 1e-9 <= truth <= high + 1e-9 for low, high in ends)
    assert found >= 0.94 * runs
    assert not case.sharp or found <= 0.97 * runs


@pytest.mark.parametrize("beta", [0.2, 0.01])
def test_other_confidences_are_kept_too(beta: float) -> None:
    for name in (
        "variance, all at a bound",
        "covariance, few rows",
        "correlation",
        "correlation of what hardly varies",
    ):
        assert binom.cdf(kept(CASES[name], 4000, beta), 4000, 1 - 1.2 * beta) > FALSE_ALARM


def test_intervals_a_quarter_too_narrow_would_be_found() -> None:
    least = next(hits for hits in range(4000) if binom.cdf(hits, 4000, 0.948) > FALSE_ALARM)
    laplace, gaussian = 1 - 0.05**0.75, 0.858
    assert binom.sf(least - 1, 4000, laplace) < 1e-6
    assert binom.sf(least - 1, 4000, gaussian) < 1e-6


POSSIBLE = {"var_pop": (0, 25), "var_samp": (0, 50), "stddev_pop": (0, 5), "stddev_samp": (0, sqrt(50))}
POSSIBLE |= {"covar_pop": (-25, 25), "covar_samp": (-50, 50), "corr": (-1, 1)}


@given(st.sampled_from(sorted(POSSIBLE)), st.data(), st.floats(0.01, 1e14), st.sampled_from([0.5, 0.95, 1 - 1e-12]))
@settings(max_examples=200, deadline=None)
def test_whatever_the_noise_estimates_and_intervals_are_possible(
    function: str, data: st.DataObject, scale: float, confidence: float
) -> None:
    ask = ask_of(function)
    (bundle,) = bundles_of(ask, ROW)
    size = st.integers(-(2**60), 2**60) | st.integers(-(2**40), 2**40)
    integers = tuple(data.draw(st.tuples(*(size for _ in bundle.measures))))
    noise = NoiseLaw(law="laplace", amount=Fraction(scale), sensitivity=1, moving=1)
    statistic, (least, most) = STATISTICS[function], POSSIBLE[function]
    estimate = statistic.estimate(ask, [Released(bundle, integers, noise)])
    low, high = statistic.interval(ask, [Released(bundle, integers, noise)], confidence)
    assert estimate is not None
    assert least - 1e-9 <= low <= high <= most + 1e-9
    assert low - 1e-6 <= estimate <= high + 1e-6


@pytest.mark.parametrize("function", sorted(POSSIBLE))
def test_of_an_empty_group_nothing_is_known(function: str) -> None:
    ask = ask_of(function)
    (bundle,) = bundles_of(ask, ROW)
    least, most = POSSIBLE[function]
    empty = [Released(bundle, (0,) * len(bundle.measures), SILENT)]
    assert STATISTICS[function].interval(ask, empty, 0.95) == pytest.approx((least, most))
    assert STATISTICS[function].estimate(ask, empty) == pytest.approx((least + most) / 2)


@pytest.mark.parametrize("function", [*SPREADS, "covar_pop", "covar_samp"])
def test_bounds_of_no_width_leave_no_doubt(function: str) -> None:
    ask = pair(function, bounds(3, 3), bounds(0, 10)) if function in PAIRS else ask_for(function, WHOLE, bounds(3, 3))
    plan = plan_of(ROW, ask)
    assert price(plan, Cost(epsilon=1)).noise
    zero = [Released(plan.bundles[0], (5, -7, 9, 1)[: len(plan.bundles[0].measures)], SILENT)]
    assert STATISTICS[function].estimate(ask, zero) == 0
    assert STATISTICS[function].interval(ask, zero, 0.95) == (0, 0)
    assert STATISTICS[function].error(ask, plan.bundles, [SILENT], 0.95, 100) == 0


# --- before anything is read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", sorted(POSSIBLE))
def test_without_an_assumed_size_the_error_is_as_wide_as_what_is_possible(function: str) -> None:
    plan = plan_of(ROW, ask_of(function))
    noise = price(plan, Cost(epsilon=1)).noise
    error = STATISTICS[function].error
    most = POSSIBLE[function][1]
    assert error(ask_of(function), plan.bundles, noise, 0.95, None) == pytest.approx(most)
    assert error(ask_of(function), plan.bundles, noise, 0.95, 1) <= most + 1e-9
    sizes = [error(ask_of(function), plan.bundles, noise, 0.95, rows) for rows in (50, 500, 5000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < most / (20 if function.startswith("stddev") else 50)


@pytest.mark.parametrize(
    ("function", "data"),
    [
        ("var_pop", {(0.0, 0): 2000}),
        ("var_pop", {(5.0, 0): 2000}),
        ("stddev_pop", {(0.0, 0): 2000}),
        ("stddev_pop", {(2.0, 0): 1000, (9.0, 0): 1000}),
        ("covar_pop", {(0.0, 0): 2000}),
        ("covar_samp", line(0.5, 1, 2000)),
        ("corr", line(0.0, 1, 2000)),
    ],
)
def test_the_error_that_is_foretold_is_kept(function: str, data: dict[tuple[float, int], int]) -> None:
    case = Case(function, "laplace", 0.5, data)
    exact, truth = case.released(), case.truth()
    rows = sum(data.values())
    foretold = STATISTICS[function].error(case.ask, [exact.bundle], [exact.noise], 0.95, rows)
    runs = 2000
    found = [STATISTICS[function].estimate(case.ask, [one]) for one in with_noise(exact, runs)]
    within = sum(one is not None and abs(one - truth) <= foretold for one in found)
    assert binom.cdf(within, runs, 0.945) > FALSE_ALARM


# --- the machinery --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scales", [[1.0], [1.0, 1.0], [0.0, 0.0, 1.0], [0.3, 0.3, 0.3], [1.0] * 6, [0.1, 0.5, 0.7, 1.0]]
)
def test_the_tail_of_a_sum_of_laplace_variables(scales: list[float]) -> None:
    """Against the law's characteristic function, Π 1/(1 + (b·u)²), inverted by quadrature."""
    u = np.linspace(1e-6, 400, 2_000_001)
    law = np.prod([1 / (1 + (b * u) ** 2) for b in scales], axis=0)
    for t in (0.5, 2.0, 5.0, 9.0):
        inside = 2 / np.pi * np.trapezoid(law * np.sin(u * t) / u, u)
        assert _laplace(sorted(scales), t) == pytest.approx(1 - inside, abs=5e-3)
        assert _laplace(sorted(scales), t) > 1 - inside - 1e-4  # to the safe side


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_moments_of_a_quadratic_function_of_noise(law: Law) -> None:
    noise = NoiseLaw(law=law, amount=Fraction(1), sensitivity=1, moving=1)
    z = NoisySums(np.zeros(3), np.array([1.0, 2.0, 0.5]), np.zeros(3), noise)
    a, b = np.array([1.0, -0.5, 2.0]), np.array([0.3, 0.7, -1.0])
    mean, variance = z.quadratic([(0.5, a, b), (-0.2, a, a)])
    random = np.random.default_rng(5)
    drawn = (random.laplace if law == "laplace" else random.normal)(0, 1, (400_000, 3)) * z.scales
    found = 0.5 * (drawn @ a) * (drawn @ b) - 0.2 * (drawn @ a) ** 2
    assert found.mean() == pytest.approx(mean, abs=0.1)
    assert found.var() == pytest.approx(variance, rel=0.1)


def test_sums_are_counted_in_rows() -> None:
    plan = plan_of(ROW, ask_of("var_pop"))
    (bundle,) = plan.bundles
    unit = bundle.contribution
    z = noisy_sums(Released(bundle, (unit, 3 * unit, 0), SILENT), (unit,) * 3)
    assert z.sums.tolist() == [1, 3, 0]
    assert z.scales[0] == pytest.approx(0.001 / unit)


def test_the_three_sums_of_a_variance_share_the_steps_of_their_value() -> None:
    (bundle,) = bundles_of(ask_of("var_pop"), ROW)
    parts = [part for measure in bundle.measures if measure.value is not None for part in walk(measure.value)]
    assert len({part for part in parts if isinstance(part, Call) and part.function == "steps"}) == 1
