"""Aggregates of one value share their sums: the same statistics, no more sensitivity, and less noise."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import erfc, sqrt
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from bounded import REAL, WHOLE, Row, ask_for, bounds, contribution, policy
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.measure_sharing import arrange
from tacit.query.aggregates.statistic import Released
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle

ENDS = bounds(-40, 60)
ALL = [ask_for("count"), ask_for("count", WHOLE), ask_for("sum", WHOLE, ENDS), ask_for("avg", WHOLE, ENDS)]
SILENT = NoiseLaw(law="laplace", amount=Fraction(1, 1000), sensitivity=1, moving=1)
FALSE_ALARM = 1e-12

numbers = st.none() | st.integers(-100, 100)
units = st.lists(st.lists(numbers, min_size=1, max_size=6), max_size=5)


def integers(bundle: Bundle, units: Sequence[Sequence[int | None]], max_rows: int) -> tuple[int, ...]:
    """The exact integers of a bundle over units, each with the values of its rows."""
    rows: list[list[Row]] = [[{"n": value} for value in values] for values in units]
    return tuple(sum(contribution(measure, own, max_rows) for own in rows) for measure in bundle.measures)


def test_all_that_can_share_does_and_nothing_else() -> None:
    table, other = policy(), ask_for("avg", REAL, bounds(0, 1))
    assert arrange(ALL, table)[1] == ((0,),) * 4
    assert arrange([*ALL, other], table)[1] == ((0,), (0,), (0,), (0,), (1,))
    assert arrange([ask_for("count_units"), *ALL[2:]], table)[1] == ((0,), (1,), (1,))
    assert arrange([other, ALL[2]], table)[1] == ((0,), (1,))
    wider = ask_for("avg", WHOLE, bounds(-40, 61))
    assert arrange([ALL[2], wider], table)[1] == ((0,), (1,))
    for ask in ALL:
        assert len(arrange([ask], table)[0][0].measures) == (2 if ask.function == "avg" else 1)
    point = [ask_for("count"), ask_for("sum", WHOLE, bounds(3, 3))]
    assert arrange(point, table)[1] == ((0,), (1,))  # bounds of no width count no rows


@given(units, st.integers(1, 4))
def test_a_units_integers_stay_within_the_contribution_of_the_average_alone(
    units: list[list[int | None]], max_rows: int
) -> None:
    table = policy(rows=max_rows)
    (shared,), _ = arrange(ALL, table)
    (alone,), _ = arrange([ALL[3]], table)
    assert shared.contribution == alone.contribution
    for own in units:
        assert sum(map(abs, integers(shared, [own], max_rows))) <= shared.contribution


@given(units)
def test_without_noise_and_capping_the_statistics_are_those_of_the_rows(units: list[list[int | None]]) -> None:
    table = policy(rows=6)
    (bundle,), _ = arrange(ALL, table)
    released = [Released(bundle, integers(bundle, units, 6), SILENT)]
    found = [STATISTICS[ask.function].estimate(ask, released) for ask in ALL]
    every = [value for own in units for value in own]
    there = [min(max(value, -40), 60) for value in every if value is not None]
    assert found[:3] == [len(every), len(there), sum(there)]
    assert found[3] == pytest.approx(sum(there) / len(there) if there else 10.0)


def hits(ask: Ask, law: Literal["laplace", "gaussian"], runs: int, factor: float = 1.0) -> int:
    """Count the 95 % intervals of a shared aggregate that hold its value, with the noise made larger by a factor."""
    table = policy(rows=2)
    (bundle,), _ = arrange([ask_for("count"), ask_for("count", WHOLE), *ALL[2:]], table)
    exact = integers(bundle, [[5, None], [60, 60, 2], [-7]] * 100, 2)
    truth = STATISTICS[ask.function].interval(ask, [Released(bundle, exact, SILENT)], 0.5)
    middle = sum(truth) / 2
    size = Fraction(bundle.contribution) * 3
    noise = NoiseLaw(law=law, amount=size if law == "laplace" else size**2, sensitivity=1, moving=3)
    grown = Fraction(factor) if law == "laplace" else Fraction(factor) ** 2
    drawn = NoiseLaw(law=law, amount=noise.amount * grown, sensitivity=1, moving=3).draw(3 * runs)
    found = 0
    for place in range(runs):
        noisy = tuple(x + k for x, k in zip(exact, drawn[3 * place : 3 * place + 3], strict=True))
        low, high = STATISTICS[ask.function].interval(ask, [Released(bundle, noisy, noise)], 0.95)
        found += low <= middle <= high
    return found


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_intervals_of_shared_aggregates_cover_as_often_as_they_say(
    place: int, law: Literal["laplace", "gaussian"]
) -> None:
    runs = 4000
    found = hits(ALL[place], law, runs)
    assert binom.cdf(found, runs, 0.95) > FALSE_ALARM
    assert binom.sf(found - 1, runs, 0.965) > FALSE_ALARM


def test_noise_a_third_larger_would_be_found() -> None:
    assert binom.cdf(hits(ALL[0], "laplace", 4000, factor=4 / 3), 4000, 0.95) < FALSE_ALARM


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 1.0), (0.6, 0.4), (3.0, 0.0), (1.0, 1.0, 1.0)])
def test_the_spread_is_the_quantile_of_the_continuous_law_and_a_step_more_at_most(weights: tuple[float, ...]) -> None:
    scale = 5000
    laplace = NoiseLaw(law="laplace", amount=Fraction(scale), sensitivity=1, moving=1)
    gaussian = NoiseLaw(law="gaussian", amount=Fraction(scale) ** 2, sensitivity=1, moving=1)
    for beta in (0.1, 0.01):
        found = gaussian.spread(weights, beta)
        size = scale * sqrt(sum(w * w for w in weights))
        assert erfc(found / size / sqrt(2)) == pytest.approx(beta, rel=2e-3)
        assert tail(weights, laplace.spread(weights, beta) / scale) == pytest.approx(beta, rel=3e-3)


def tail(weights: tuple[float, ...], t: float) -> float:
    """Pr[|Σ wᵢXᵢ| > t] for Laplace variables of scale 1, by inversion of the characteristic function."""
    u = (np.arange(400_000) + 0.5) * 1e-3
    charm = np.prod([1 / (1 + (w * u) ** 2) for w in weights], axis=0)
    return float(1 - 2 / np.pi * np.sum(np.sin(t * u) / u * charm) * 1e-3)
