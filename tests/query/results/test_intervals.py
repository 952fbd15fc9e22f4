"""Coverage of intervals.

The ordinary suite simulates 4,000 releases a case. With probability at most `FALSE_ALARM` a case (the exact binomial
law) a coverage of 95 % or more is rejected as too low, or a coverage of 97 % or less as too high. The long suite
simulates 20,000 releases and requires 94 % and 97 % themselves. A coverage of 95 % misses that with probability 2e-10,
a coverage of 96 % or less with 1e-13. For counts and sums coverage is also computed exactly, and for averages that of
the test that they invert.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, isfinite, isnan, nextafter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from bounded import REAL, WHOLE, ask_for, bounds, key, plan_of, policy
from evidence import FALSE_ALARM
from tacit.errors import InvalidError
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.statistic import Interval, Released
from tacit.query.evaluate import evaluate_output
from tacit.query.expressions import Value
from tacit.query.noise_law import Law, NoiseLaw
from tacit.query.plan import Ask, Computed, Constantly, Grouped, Noisy, Output, Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.results.intervals import _range, interval, read_confidence

Floats = npt.NDArray[np.float64]

COUNT, TOTAL, MEAN = ask_for("count"), ask_for("sum", WHOLE, bounds(-40, 60)), ask_for("avg", WHOLE, bounds(-40, 60))
FINE, FINE_MEAN = ask_for("sum", REAL, bounds(0, 2.5)), ask_for("avg", REAL, bounds(0, 2.5))
ROW, UNITS = policy(unit=None), policy(groups=2, rows=5)


@dataclass(frozen=True)
class Case:
    """An aggregate of `rows` rows whose mean is at `share` of the bounds.

    It is `sharp` if the noise spans ten grid steps and the group is ten times its noise. The noise is
    Laplace noise for ε = `spend`, or Gaussian noise for ρ = `spend`.
    """

    ask: Ask
    law: Law
    spend: float
    rows: int
    share: float = 0.5
    table: TablePolicy = ROW
    sharp: bool = False

    @property
    def plan(self) -> Plan:
        return plan_of(self.table, self.ask, keys=[key("k", "a", "b", "c")])

    @property
    def noise(self) -> NoiseLaw:
        found = (
            price(self.plan, Cost(epsilon=self.spend))
            if self.law == "laplace"
            else price(self.plan, Cost(rho=self.spend))
        )
        return found.noise[0]

    def exact(self) -> tuple[tuple[int, ...], float]:
        """The true integers, and the statistic."""
        measures = self.plan.bundles[0].measures
        low, high, fine = measures[0].low, measures[0].high, 2 ** measures[0].fraction_bits
        if self.ask.function == "count":
            return (self.rows,), self.rows
        if self.ask.function == "sum":
            value = round(self.rows * (low + (high - low) * self.share))
            return (value * fine,), float(value * measures[0].step)
        above = round(self.rows * (high - low) * self.share) * fine
        whole = self.rows * (high - low) * fine
        return (above, whole - above), float((low + (high - low) * Fraction(above, whole)) * measures[0].step)


CASES = {
    "count, none there": Case(COUNT, "laplace", 1.0, 0),
    "count, little noise": Case(COUNT, "laplace", 4.0, 50),
    "count, small group": Case(COUNT, "laplace", 0.1, 3),
    "count, large group": Case(COUNT, "laplace", 0.1, 10**6, sharp=True),
    "count of units' rows": Case(COUNT, "laplace", 0.5, 5000, table=UNITS, sharp=True),
    "count, Gaussian": Case(COUNT, "gaussian", 0.005, 10**6, sharp=True),
    "count, little Gaussian": Case(COUNT, "gaussian", 2.0, 2),
    "sum near zero": Case(TOTAL, "laplace", 0.5, 1000, share=0.4, sharp=True),
    "sum far from zero": Case(TOTAL, "laplace", 0.5, 10**6, share=1.0, table=UNITS, sharp=True),
    "sum of reals": Case(FINE, "gaussian", 0.01, 10**4, share=0.3, table=UNITS, sharp=True),
    "sum, small group": Case(TOTAL, "gaussian", 0.01, 1, share=0.9),
    "avg, little noise": Case(ask_for("avg", WHOLE, bounds(0, 1)), "laplace", 3.0, 40, share=0.25),
    "avg, one row": Case(MEAN, "laplace", 0.1, 1, share=0.7),
    "avg, few rows": Case(MEAN, "laplace", 0.5, 5, share=0.1),
    "avg, ten times the noise": Case(MEAN, "laplace", 0.5, 20, share=0.3, sharp=True),
    "avg, large group": Case(MEAN, "laplace", 1.0, 10**6, share=0.3, sharp=True),
    "avg at a bound": Case(MEAN, "laplace", 0.5, 1000, share=1.0),  # 97.5 %: beyond the bound it is the bound
    "avg near a bound": Case(FINE_MEAN, "laplace", 0.2, 300, share=0.01, table=UNITS, sharp=True),
    "avg, Gaussian, small group": Case(MEAN, "gaussian", 0.005, 8, share=0.5),
    "avg, Gaussian, large group": Case(FINE_MEAN, "gaussian", 0.02, 10**5, share=0.37, table=UNITS, sharp=True),
    "avg, Gaussian, at a bound": Case(MEAN, "gaussian", 0.02, 500, share=0.0),
}


def hits(case: Case, runs: int) -> int:
    """Count the simulated releases whose 95 % interval holds the statistic; the estimate is always inside."""
    (bundle,), noise, statistic = case.plan.bundles, case.noise, STATISTICS[case.ask.function]
    integers, truth = case.exact()
    found = 0
    for drawn in zip(*(noise.draw(runs) for _ in integers), strict=True):
        released = [Released(bundle, tuple(x + k for x, k in zip(integers, drawn, strict=True)), noise)]
        low, high = statistic.interval(case.ask, released, 0.95)
        estimate = statistic.estimate(case.ask, released)
        assert estimate is not None
        assert low - 1e-9 * abs(low) <= estimate <= high + 1e-9 * abs(high)
        found += low <= truth <= high
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_as_often_as_they_say(name: str) -> None:
    case, runs = CASES[name], 4000
    found = hits(case, runs)
    assert binom.cdf(found, runs, 0.95) > FALSE_ALARM
    if case.sharp:
        assert binom.sf(found - 1, runs, 0.97) > FALSE_ALARM


def test_intervals_a_quarter_too_narrow_would_be_found() -> None:
    least = next(hits for hits in range(4000) if binom.cdf(hits, 4000, 0.95) > FALSE_ALARM)
    laplace, gaussian = 1 - 0.05**0.75, 0.858  # 1.96·0.75 = 1.47 standard deviations
    assert binom.sf(least - 1, 4000, laplace) < 1e-6
    assert binom.sf(least - 1, 4000, gaussian) < 1e-6


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_94_percent_and_at_most_97_where_they_can(name: str) -> None:
    case, runs = CASES[name], 20_000
    found = hits(case, runs)
    assert found >= 0.94 * runs
    assert not case.sharp or found <= 0.97 * runs


# --- exactly ------------------------------------------------------------------------------------------------------


def law_of(noise: NoiseLaw) -> tuple[Floats, Floats]:
    """The integers that noise takes but with probability 1e-17 or so, and their probabilities."""
    reach = ceil(noise.scale * (45 if noise.law == "laplace" else 9)) + 3
    k = np.arange(-reach, reach + 1.0)
    p = np.exp(-np.abs(k) / noise.scale) if noise.law == "laplace" else np.exp(-k * k / (2 * noise.scale**2))
    return k, p / p.sum()


def one(law: Law, scale: float) -> NoiseLaw:
    amount = Fraction(scale) if law == "laplace" else Fraction(scale) ** 2
    return NoiseLaw(law=law, amount=amount, sensitivity=1, moving=1)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.1, 0.5, 1.0, 3.0, 10.0, 40.0, 300.0])
@pytest.mark.parametrize("ask", [COUNT, TOTAL])
def test_counts_and_sums_are_covered_exactly_as_often_as_they_say(law: Law, scale: float, ask: Ask) -> None:
    noise, plan = one(law, scale), plan_of(ROW, ask)
    k, p = law_of(noise)
    for confidence in (0.5, 0.9, 0.95, 0.999):
        low, high = STATISTICS[ask.function].interval(ask, [Released(plan.bundles[0], (1000,), noise)], confidence)
        covered = float(p[np.abs(k) <= high - 1000].sum())  # the truth is 1000 - k
        assert low == 2000 - high
        assert covered >= confidence - 1e-9
        if scale >= 10:
            assert covered - float(p[np.abs(k) == high - 1000].sum()) < confidence  # one step less would not do


@pytest.mark.sampled(2)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 12.0])
def test_the_test_that_averages_invert_rejects_the_truth_no_more_often_than_it_says(law: Law, scale: float) -> None:
    noise = one(law, scale)
    k, p = law_of(noise)
    chances, tail = np.outer(p, p), noise.mixture()
    for share in (0.0, 0.02, 1 / 7, 1 / 3, 0.49, 0.5, 0.8, 1.0):
        sizes = np.abs((1 - share) * k[:, None] - share * k[None, :])
        order = np.argsort(sizes, axis=None)
        by_size, above = sizes.ravel()[order], 1 - np.cumsum(chances.ravel()[order])
        for beta in (0.5, 0.1, 0.05, 0.01):
            kept = [t for t in np.linspace(0, by_size[-1] / 3, 4000).tolist() if tail(1 - share, share, t) > beta]
            inside = np.searchsorted(by_size, kept[-1], side="right") - 1
            assert above[inside] <= beta + 1e-9


@pytest.mark.parametrize("beta", [0.9, 0.5, 0.05, 0.01, 1e-6])
def test_the_quantile_of_two_laplace_draws_is_convex_in_their_weights(beta: float) -> None:
    """So that an average's interval is one interval, and bisection finds its ends."""
    tail = one("laplace", 1000.0).mixture()
    quantiles = [least(lambda t, w=w: tail(1 - w, w, t) <= beta) for w in np.linspace(0, 1, 101).tolist()]  # type: ignore[misc]
    assert np.diff(quantiles, 2).min() > -1e-6


def least(holds: Callable[[float], bool]) -> float:
    low, high = 0.0, 1e5
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def averaged(above: int, below: int, scale: float = 50.0) -> Interval:
    plan = plan_of(ROW, MEAN)
    return STATISTICS["avg"].interval(MEAN, [Released(plan.bundles[0], (above, below), one("laplace", scale))], 0.95)


def test_an_average_of_which_nothing_is_known_may_be_anywhere_within_its_bounds() -> None:
    assert averaged(0, 0) == averaged(-500, 20) == averaged(60, 60) == (-40, 60)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.floats(0.01, 1e6))
def test_an_averages_interval_stays_within_its_bounds(above: int, below: int, scale: float) -> None:
    low, high = averaged(above, below, scale)
    assert -40 <= low <= high <= 60


def test_an_averages_interval_is_as_narrow_as_a_large_group_makes_it() -> None:
    low, high = averaged(30_000_000, 70_000_000)
    assert low < -10 < high
    assert high - low == pytest.approx(2 * 100 * 50 * 0.7 * 3.3358 / 1e8, rel=0.05)  # 0.7·X - 0.3·Y, 95 %: 3.34·0.7


# --- functions of aggregates ------------------------------------------------------------------------------------


def test_a_ratio_of_aggregates_is_covered() -> None:
    """The union bound leaves a ratio at 95 % or more; too low a coverage is claimed with probability `FALSE_ALARM`."""
    ratio = Computed("divide", (Noisy(0, "real"), Noisy(1, "real")), "real")
    share = Computed("multiply", (Constantly(100.0, "real"), ratio), "real")
    plan = plan_of(UNITS, TOTAL, COUNT, more={"share": share})
    for spend, rows in ((0.5, 60), (0.5, 10**5), (0.05, 40)):
        laws = price(plan, Cost(epsilon=spend)).noise
        fine = 2 ** plan.bundles[0].measures[0].fraction_bits
        total, runs = 17 * rows, 4000
        covered = 0
        for x, y in zip(laws[0].draw(runs), laws[1].draw(runs), strict=True):
            released = [
                Released(b, (k,), w) for b, k, w in zip(plan.bundles, (total * fine + x, rows + y), laws, strict=True)
            ]
            ends = interval(plan, share, released, (), 0.95)
            assert ends is not None
            covered += ends[0] <= 1700 <= ends[1]
        assert binom.cdf(covered, runs, 0.95) > FALSE_ALARM


NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 100.0])
LEAVES: st.SearchStrategy[Output] = st.one_of(
    st.sampled_from([Noisy(0, "real"), Noisy(1, "real"), Noisy(2, "real"), Grouped(0, "real")]),
    NUMBERS.map(lambda x: Constantly(x, "real")),
)


def larger(inner: st.SearchStrategy[Output]) -> st.SearchStrategy[Output]:
    single = st.sampled_from(["negate", "abs", "sqrt", "ln", "exp", "floor", "ceil", "round", "cast"])
    double = st.sampled_from(["add", "subtract", "multiply", "divide", "least", "greatest"])
    return st.one_of(
        st.builds(lambda f, a: Computed(f, (a,), "real"), single, inner),
        st.builds(lambda f, a, b: Computed(f, (a, b), "real"), double, inner, inner),
        st.builds(lambda a, d: Computed("round", (a, Constantly(d, "integer")), "real"), inner, st.integers(-2, 3)),
        st.builds(lambda a: Computed("clamp", (a, Constantly(-1.0, "real"), Constantly(5.0, "real")), "real"), inner),
    )


RANGES = st.tuples(st.floats(-50, 50), st.floats(0, 30)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(
    st.recursive(LEAVES, larger, max_leaves=8),
    st.lists(RANGES, min_size=3, max_size=3),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
@settings(max_examples=500)
def test_the_range_of_a_function_holds_its_value_wherever_its_arguments_are(
    output: Output, ranges: list[Interval], shares: list[float]
) -> None:
    points = [min(low + (high - low) * share, high) for (low, high), share in zip(ranges, shares, strict=True)]
    found = _range(output, dict(enumerate(ranges)), [7.0])
    value = evaluate_output(output, list(points), [7.0])
    if found is None or value is None:
        return
    low, high = found
    assert not isnan(low)
    assert not isnan(high)
    assert isinstance(value, (int, float))
    slack = 1e-9 * max([1.0, *(abs(end) for end in (low, high) if isfinite(end))])
    assert low - slack <= value <= high + slack


def ranged(function: str, *ranges: Interval, kind: str = "real") -> Interval | None:
    arguments = tuple(Noisy(place, "real") for place in range(len(ranges)))
    return _range(Computed(function, arguments, kind), dict(enumerate(ranges)), ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "ranges", "expected"),
    [
        ("add", [(1, 2), (-5, 3)], (-4, 5)),
        ("subtract", [(1, 2), (-5, 3)], (-2, 7)),
        ("multiply", [(-2, 3), (-5, 7)], (-15, 21)),
        ("divide", [(1, 2), (4, 8)], (0.125, 0.5)),
        ("divide", [(1, 2), (-1, 8)], (-inf, inf)),
        ("divide", [(1, 2), (-8, -4)], (-0.5, -0.125)),
        ("negate", [(1, 2)], (-2, -1)),
        ("abs", [(-3, 2)], (0, 3)),
        ("sqrt", [(-3, 4)], (0, 2)),
        ("sqrt", [(-3, -1)], None),
        ("ln", [(-1, 0)], None),
        ("ln", [(0, 1)], (-inf, 0)),
        ("exp", [(0, 1000)], (1, inf)),
        ("floor", [(1.5, 2.5)], (1, 2)),
        ("ceil", [(1.5, 2.5)], (2, 3)),
        ("round", [(1.4, 2.5)], (1, 3)),
        ("clamp", [(-3, 9), (0, 0), (5, 5)], (0, 5)),
        ("least", [(1, 5), (2, 3)], (1, 3)),
        ("greatest", [(1, 5), (2, 3)], (2, 5)),
        ("modulo", [(1, 5), (2, 3)], None),
    ],
)
def test_the_range_of_each_function(function: str, ranges: Sequence[Interval], expected: Interval | None) -> None:
    assert ranged(function, *ranges) == expected


def test_a_cast_between_numbers_keeps_the_interval_and_one_to_text_has_none() -> None:
    assert ranged("cast", (1.5, 2.4), kind="integer") == (2, 2)
    assert ranged("cast", (1.5, 2.4), kind="real") == (1.5, 2.4)
    assert ranged("cast", (1.5, 2.4), kind="text") is None


def test_a_quotient_is_rounded_as_the_division_itself() -> None:
    assert 49 * (1 / 49) < 1
    assert ranged("divide", (49, 49), (49, 49)) == (1, 1)
    assert ranged("divide", (1, inf), (2, inf)) == (0, inf)


def test_what_least_passes_over_may_be_null() -> None:
    root = Computed("sqrt", (Noisy(0, "real"),), "real")
    output = Computed("least", (root, Constantly(5.0, "real")), "real")
    assert evaluate_output(output, [-1.0], ()) == 5
    assert _range(output, {0: (-1.0, 4.0)}, ()) == (0, 5)


def test_only_what_has_noise_has_an_interval() -> None:
    plan = plan_of(ROW, COUNT, keys=[key("k", "a")])
    released = [Released(plan.bundles[0], (5,), one("laplace", 1.0))]
    keys: tuple[Value, ...] = ("a",)
    assert interval(plan, Grouped(0, "text"), released, keys, 0.95) is None
    assert interval(plan, Constantly(3, "integer"), released, keys, 0.95) is None
    assert (
        interval(plan, Computed("add", (Noisy(0, "integer"), Grouped(0, "text")), "integer"), released, keys, 0.95)
        is None
    )
    twice = Computed("add", (Noisy(0, "integer"), Noisy(0, "integer")), "integer")
    alone, both = (interval(plan, part, released, keys, 0.95) for part in (Noisy(0, "integer"), twice))
    assert alone is not None
    assert both == (2 * alone[0], 2 * alone[1])  # one aggregate named twice pays once


def test_two_aggregates_share_the_confidence() -> None:
    plan = plan_of(ROW, COUNT, TOTAL)
    laws = price(plan, Cost(epsilon=0.1)).noise
    released = [Released(bundle, (500,), law) for bundle, law in zip(plan.bundles, laws, strict=True)]
    both = interval(plan, Computed("add", (Noisy(0, "real"), Noisy(1, "real")), "real"), released, (), 0.95)
    own = [interval(plan, Noisy(place, "real"), released, (), 0.975) for place in (0, 1)]
    assert None not in own
    assert both == tuple(sum(ends[side] for ends in own if ends) for side in (0, 1))


def test_the_largest_confidence_is_answered() -> None:
    plan = plan_of(ROW, COUNT, TOTAL)
    laws = price(plan, Cost(epsilon=0.1)).noise
    released = [Released(bundle, (500,), law) for bundle, law in zip(plan.bundles, laws, strict=True)]
    ends = interval(plan, Computed("add", (Noisy(0, "real"), Noisy(1, "real")), "real"), released, (), nextafter(1, 0))
    assert ends is not None
    assert isfinite(ends[0])


def test_numpys_floats_are_confidences_and_other_things_are_not() -> None:
    assert repr(read_confidence(np.float64(0.9))) == "0.9"
    for bad in (0.0, 1.0, -0.5, 2.0, 95, nextafter(1, 2), float("nan"), "0.95", None, True):
        with pytest.raises(InvalidError, match="confidence"):
            read_confidence(bad)
