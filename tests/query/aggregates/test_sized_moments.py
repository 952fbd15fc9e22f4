"""Sums, averages and spreads with a public number of rows: brute force for sensitivities, estimates, intervals."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import inf, nan, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounded import REAL, WHOLE, Row, ask_for, bounds, measured, plan_of, policy
from tacit.errors import InternalError, SizeChangedError
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.sized_moments import combine, sized
from tacit.query.aggregates.statistic import Released
from tacit.query.noise_law import NoiseLaw, changed_integers, sensitivity
from tacit.query.plan import Ask, Bundle, Combination, Measure, Plan
from tacit.query.pricing.price import Cost, price

BOUNDS = bounds(-5, 3)
PAIR = Ask(function="covar_pop", values=(WHOLE, REAL), bounds=(BOUNDS, bounds(0, 2)))
ASKS = {
    "sum": ask_for("sum", WHOLE, BOUNDS),
    "avg": ask_for("avg", WHOLE, BOUNDS),
    "avg of reals": ask_for("avg", REAL, bounds(0.1, 0.4)),
    "var_pop": ask_for("var_pop", WHOLE, BOUNDS),
    "var_samp": ask_for("var_samp", WHOLE, BOUNDS),
    "stddev_samp": ask_for("stddev_samp", WHOLE, BOUNDS),
    "covar_pop": PAIR,
    "covar_samp": replace(PAIR, function="covar_samp"),
}
WIDTHS = {"avg": 8, "var_pop": 64, "covar_pop": 16}
"""The width of the bounds, or the product of the widths."""


def plan_for(ask: Ask, size: int) -> Plan:
    plan = plan_of(policy(unit=None, neighbours="change one"), sized(ask, size))
    return replace(plan, size=size)


def integer(plan: Plan, rows: Sequence[Row]) -> int:
    """The integer that gets noise."""
    return combine(plan.bundles[0], [cells[0] for cells in measured(plan, rows)])


KINDS: list[Row] = [
    {"n": n, "x": x, "k": "a"} for n, x in product((None, -9, -5, 0, 3, 50), (None, nan, -inf, 0.0, 1.25, inf))
]
FEW: list[Row] = [
    {"n": n, "x": x, "k": "a"}
    for n, x in ((None, 0.4), (-9, nan), (-9, 0.2), (0, -inf), (3, 0.4), (50, inf), (50, -1.0))
]


def moves(ask: Ask, size: int, kinds: Sequence[Row]) -> int:
    """The largest change of the integer by one changed row, over all tables."""
    plan = plan_for(ask, size)
    farthest = 0
    for rest in combinations_with_replacement(kinds, size - 1):
        found = [integer(plan, [*rest, row]) for row in kinds]
        farthest = max(farthest, max(found) - min(found))
    return farthest


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("name", ["sum", "avg of reals", "var_pop", "covar_pop"])
def test_no_changed_row_moves_the_integer_further_than_its_sensitivity(name: str, size: int) -> None:
    plan = plan_for(ASKS[name], size)
    moved = moves(ASKS[name], size, FEW if size > 2 else KINDS[:: 3 - size])
    assert moved <= sensitivity(plan, plan.bundles[0], "laplace") == plan.bundles[0].contribution
    assert sensitivity(plan, plan.bundles[0], "gaussian") == plan.bundles[0].contribution ** 2
    assert changed_integers(plan, plan.bundles[0]) == 1


def test_statistics_of_one_value_share_the_integer() -> None:
    for names in (["sum", "avg"], ["var_pop", "var_samp", "stddev_samp"], ["covar_pop", "covar_samp"]):
        assert len({plan_for(ASKS[name], 3).bundles for name in names}) == 1


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("name", ["sum", "avg of reals", "var_pop", "covar_pop"])
def test_the_sensitivity_is_attained_so_that_a_planted_smaller_one_is_found(name: str, size: int) -> None:
    ends: list[Row] = [{"n": n, "x": x, "k": "a"} for n, x in ((-50, -50.0), (50, 50.0), (-50, 50.0))]
    plan = plan_for(ASKS[name], size)
    assert moves(ASKS[name], size, ends) == sensitivity(plan, plan.bundles[0], "laplace")


@pytest.mark.parametrize(("function", "width"), WIDTHS.items())
@pytest.mark.parametrize("size", [2, 7, 5133])
def test_the_sensitivities_are_those_of_the_notes(function: str, width: int, size: int) -> None:
    plan = plan_for(ASKS[function], size)
    bundle = plan.bundles[0]
    moved = Fraction(sensitivity(plan, bundle, "laplace"))
    if function == "avg":
        assert moved * bundle.measures[1].step / size == Fraction(width, size)
        return
    assert bundle.combined is not None
    steps = Fraction(1) if function == "var_pop" else Fraction(1, 2**23)  # of the two grids together
    assert moved * bundle.combined.step * steps / size**2 == Fraction(width * (size - 1), size**2)


def test_without_missing_values_null_counts_like_the_lower_bound() -> None:
    plan = plan_for(ASKS["var_pop"], 3)
    rows: list[Row] = [{"n": 1, "x": 0.0, "k": "a"}, {"n": 3, "x": 0.0, "k": "a"}]
    missing, low = ({"n": n, "x": 0.0, "k": "a"} for n in (None, -5))
    assert integer(plan, [*rows, missing]) == integer(plan, [*rows, low])


# --- the other relation ----------------------------------------------------------------------------------------------


def test_the_size_is_not_public_if_rows_are_added_or_removed() -> None:
    plan = plan_for(ASKS["avg"], 2)
    other = replace(plan, table=policy(unit=None, neighbours="add/remove"))
    with pytest.raises(InternalError, match="public only if neighbours change one unit"):
        price(other, Cost(epsilon=1))


def test_an_added_row_would_move_a_spread_further_than_a_changed_one() -> None:
    """Power: under add/remove this sensitivity would be wrong, and the difference of two counts shows the row."""
    rows: list[Row] = [{"n": -50, "x": 0.0, "k": "a"}] * 3
    smaller, larger = plan_for(ASKS["var_pop"], 3), plan_for(ASKS["var_pop"], 4)
    added = integer(larger, [*rows, {"n": 50, "x": 0.0, "k": "a"}]) - integer(smaller, rows)
    assert added > sensitivity(smaller, smaller.bundles[0], "laplace")


# --- the integer -----------------------------------------------------------------------------------------------------


@given(st.integers(-(10**30), 10**30), st.integers(0, 10**20), st.integers(0, 40))
def test_a_rounded_integer_moves_by_no_more_than_the_rounded_up_sensitivity(low: int, moved: int, bits: int) -> None:
    step = 1 << bits

    def rounded(number: int) -> int:
        combined = Combination(form="spread", size=1, step=step)
        measures = (Measure(value=None),) * 4
        bundle = Bundle(measures=measures, contribution=1, nonnegative=True, combined=combined)
        return combine(bundle, [1, 0, 0, number])

    assert 0 <= rounded(low + moved) - rounded(low) <= -(-moved // step)
    assert abs(rounded(low) * step - low) * 2 <= step


@pytest.mark.parametrize("name", ["avg", "var_pop"])
@pytest.mark.parametrize("rows", [0, 2, 4])
def test_a_table_of_another_size_is_refused(name: str, rows: int) -> None:
    plan = plan_for(ASKS[name], 3)
    with pytest.raises(SizeChangedError, match="Rows were added or removed after the query was charged"):
        integer(plan, KINDS[:rows])


def test_a_large_table_has_noise_that_fits_64_bits() -> None:
    plan = plan_for(ask_for("var_pop", REAL, bounds(0, 1)), 10**12)
    bundle = plan.bundles[0]
    assert bundle.combined is not None
    assert 2**35 <= sensitivity(plan, bundle, "laplace") <= 2**36
    assert price(plan, Cost(epsilon=0.001)).noise[0].amount <= 2**56
    exact = Fraction(10**12 - 1) * bundle.measures[3].high
    assert exact <= bundle.contribution * bundle.combined.step < exact + bundle.combined.step


# --- estimates, intervals and errors ---------------------------------------------------------------------------------

values = st.lists(st.integers(-9, 9), min_size=2, max_size=12)
QUIET = NoiseLaw(law="laplace", amount=Fraction(1, 50), sensitivity=1, moving=1)
"""Noise that is 0, but for a probability of e^-50."""


def released(plan: Plan, rows: Sequence[Row], law: NoiseLaw = QUIET, noise: int = 0) -> list[Released]:
    return [Released(plan.bundles[0], [integer(plan, rows) + noise], law)]


@given(values, st.sampled_from(sorted(ASKS)))
def test_without_noise_the_estimate_is_the_statistic_of_clipped_values(numbers: list[int], name: str) -> None:
    rows: list[Row] = [{"n": n, "x": (n % 5) / 2, "k": "a"} for n in numbers]
    ask = ASKS[name]
    whole = [min(max(n, -5), 3) for n in numbers]
    low, high = (float(end) for end in ask.bounds[-1])
    real = [min(max((n % 5) / 2, low), high) for n in numbers]
    if ask.function.startswith("covar"):
        total = sum(
            (x - statistics.fmean(whole)) * (y - statistics.fmean(real)) for x, y in zip(whole, real, strict=True)
        )
        truth = total / (len(numbers) - ask.function.endswith("samp"))
    else:
        of: dict[str, Callable[[list[Fraction]], Fraction | float]] = {
            "sum": sum,
            "avg": statistics.fmean,
            "var_pop": statistics.pvariance,
            "var_samp": statistics.variance,
            "stddev_samp": statistics.stdev,
        }
        truth = float(of[ask.function]([Fraction(x) for x in (real if ask.values == (REAL,) else whole)]))
    plan = plan_for(ask, len(numbers))
    statistic, given_ = STATISTICS[plan.aggregates[0].ask.function], released(plan, rows)
    found = statistic.estimate(plan.aggregates[0].ask, given_)
    assert found is not None
    assert found == pytest.approx(truth, rel=1e-6, abs=1e-6)
    first, last = statistic.interval(plan.aggregates[0].ask, given_, 0.95)
    assert first <= found <= last


@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_interval_holds_for_all_noise_within_its_quantile_and_the_error_bounds_it(
    name: str, confidence: float
) -> None:
    rows: list[Row] = [{"n": n, "x": n / 9, "k": "a"} for n in (-9, -3, 0, 0, 1, 2, 7)]
    plan = plan_for(ASKS[name], len(rows))
    ask, statistic = plan.aggregates[0].ask, STATISTICS[plan.aggregates[0].ask.function]
    law = price(plan, Cost(epsilon=2)).noise[0]
    quantile = law.quantile(1 - Fraction(repr(confidence)))
    truth = statistic.estimate(ask, released(plan, rows))
    assert truth is not None
    worst = statistic.error(ask, plan.bundles, [law], confidence, None)
    for noise in (-quantile, -quantile // 2, 0, quantile):
        given_ = released(plan, rows, law, noise)
        first, last = statistic.interval(ask, given_, confidence)
        assert first <= truth <= last
        found = statistic.estimate(ask, given_)
        assert found is not None
        assert abs(found - truth) <= worst * (1 + 1e-9)


@given(st.integers(-(10**6), 10**6), st.sampled_from(sorted(ASKS)))
def test_estimates_and_intervals_stay_within_what_the_bounds_allow(noise: int, name: str) -> None:
    rows: list[Row] = [{"n": n, "x": 0.3, "k": "a"} for n in (-9, 2, 7)]
    plan = plan_for(ASKS[name], 3)
    ask, statistic = plan.aggregates[0].ask, STATISTICS[plan.aggregates[0].ask.function]
    given_ = released(plan, rows, replace(QUIET, amount=Fraction(1000)), noise)
    low, high = {
        "sum": (-15.0, 9.0),
        "avg": (-5.0, 3.0) if name == "avg" else (0.0999, 0.4001),
        "var_pop": (0.0, 16.0),
        "var_samp": (0.0, 24.0),
        "stddev_samp": (0.0, sqrt(24)),
        "covar_pop": (-4.0, 4.0),
        "covar_samp": (-6.0, 6.0),
    }[ASKS[name].function]
    found = statistic.estimate(ask, given_)
    assert found is not None
    assert low - 1e-9 <= found <= high + 1e-9
    first, last = statistic.interval(ask, given_, 0.95)
    assert low - 1e-9 <= first <= last <= high + 1e-9


def test_a_count_is_exact_and_measures_nothing() -> None:
    ask = sized(ask_for("count"), 5133)
    statistic = STATISTICS["sized_count"]
    assert statistic.bundles(ask, policy(unit=None, neighbours="change one")) == ()
    assert (statistic.estimate(ask, []), statistic.kind(ask)) == (5133, "integer")
    assert statistic.interval(ask, [], 0.95) == (5133.0, 5133.0)
    assert statistic.error(ask, [], [], 0.95, None) == 0


# --- units whose rows count as one -----------------------------------------------------------------------------------


def test_no_changed_unit_of_several_rows_moves_a_sum_further_than_its_sensitivity() -> None:
    plan = replace(plan_of(policy(rows=1, neighbours="change one"), sized(ASKS["avg"], 2)), size=2)
    kinds: list[Row] = [{"n": n, "x": 0.0, "k": "a"} for n in (None, -9, -5, 0, 3, 50)]
    sets = [list(rows) for most in (1, 2, 3) for rows in combinations_with_replacement(kinds, most)]
    other: list[Row] = [{**kinds[3], "id": 1}, {**kinds[2], "id": 1}]
    found = [integer(plan, [*other, *({**row, "id": 2} for row in rows)]) for rows in sets]
    assert max(found) - min(found) == sensitivity(plan, plan.bundles[0], "laplace") == plan.bundles[0].contribution
