"""Coverage of the intervals of drawn quantiles, computed from their exact law: no draw is simulated.

The truth is the quantile that SQL computes of the rows themselves, not of rows that are spread over bins.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from bounded import REAL, WHOLE, plan_of, policy
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.quantile import bin_ends, bins_of
from tacit.query.aggregates.statistic import Released
from tacit.query.expressions import Column
from tacit.query.plan import Ask, Bounds
from tacit.query.rank_law import RankLaw, rank_law
from tacit.query.rank_scores import rank_scores, widths
from tacit.query.rank_target import Draw

Floats = npt.NDArray[np.float64]

YEARS: Bounds = (Fraction(0), Fraction(120))
WIDE: Bounds = (Fraction(0), Fraction(100))
RANDOM = np.random.default_rng(4)
VALUES: dict[str, Floats] = {
    "ties": np.round(RANDOM.gamma(2.0, 20.0, 400).clip(0, 120) / 10) * 10,
    "dense": np.round(RANDOM.gamma(2.0, 20.0, 4000).clip(0, 120)),
    "few": np.array([3.0, 7, 7, 21, 35, 50, 51, 80, 99]),
    "two": np.array([20.0, 80]),
    "none": np.array([]),
    "one": np.array([64.0]),
    "all equal": np.full(300, 33.0),
    "few, all equal": np.full(15, 33.0),
    "at the upper bound": np.concatenate((np.full(250, 120.0), np.arange(0, 100))),
    "at the lower bound": np.zeros(40),
    "two heaps": np.concatenate((np.full(100, 5.0), np.full(100, 90.0))),
    "two heaps, close to the median": np.concatenate((np.full(100, 5.0), np.full(103, 90.0))),
}


def law_of(ask: Ask, epsilon: Fraction) -> RankLaw:
    plan = plan_of(policy(unit=None), ask)
    return rank_law(plan, plan.bundles[0], epsilon=epsilon)


def asked(value: Column, ends: Bounds, q: Fraction, miss: Fraction = Fraction(1, 20)) -> Ask:
    draw = Draw(weight=Fraction(1), miss=miss)
    return Ask(function="drawn_quantile", values=(value,), bounds=(ends,), parameter=q, draw=draw)


def chances(law: RankLaw, counts: npt.NDArray[np.int64]) -> Floats:
    """Return the chance of every (z, k), a row for each k."""
    scores = rank_scores(counts, law.target.parts, law.rank(int(counts.sum())), law.amount, law.margin)
    penalties = scores.penalties()
    powers = np.exp(penalties.min() - penalties)
    return np.asarray(powers / powers.sum()).reshape(-1, scores.cells)


def held(ask: Ask, law: RankLaw, counts: npt.NDArray[np.int64], true: float, confidence: float = 0.95) -> float:
    """Return the probability that the interval holds a value."""
    statistic, plan = STATISTICS[ask.function], plan_of(policy(unit=None), ask)
    total = 0.0
    for (k, z), chance in np.ndenumerate(chances(law, counts)):
        if chance > 1e-15:
            low, high = statistic.interval(ask, [Released(plan.bundles[0], (z, k), law)], confidence)
            total += chance * (low <= true <= high)
    return total


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10)])
def test_the_interval_of_years_holds_the_quantile_in_awkward_cases_too(
    name: str, q: Fraction, epsilon: Fraction
) -> None:
    ask, values = asked(WHOLE, YEARS, q), VALUES[name]
    counts = np.bincount(values.astype(np.int64), minlength=121)
    true = float(np.quantile(values, float(q))) if values.size else 60.0
    assert held(ask, law_of(ask, epsilon), counts, true) >= 0.95


@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_a_widened_interval_holds_as_often_as_it_says(confidence: float) -> None:
    ask = asked(WHOLE, YEARS, Fraction(1, 2), Fraction(1, 10))
    for name in ("few", "two heaps", "few, all equal"):
        values = VALUES[name]
        counts = np.bincount(values.astype(np.int64), minlength=121)
        assert held(ask, law_of(ask, Fraction(1, 4)), counts, float(np.median(values)), confidence) >= confidence


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 4)])
@pytest.mark.parametrize("rows", [2400, 10_000])
def test_the_interval_of_dense_reals_is_not_too_wide(q: Fraction, rows: int) -> None:
    """Noise of 15 rows a unit at ε = 1; bins hold far fewer rows."""
    ask = asked(REAL, WIDE, q)
    bins, law = bins_of("real", WIDE), law_of(ask, Fraction(1, 15))
    values = np.random.default_rng(rows).gamma(2.0, 20.0, rows).clip(0, 100)
    numbers = np.floor(values / 2.0**bins.exponent + 0.5).astype(np.int64) - bins.low
    table, true = chances(law, np.bincount(numbers, minlength=bins.count)), float(np.quantile(values, float(q)))
    first, last = bin_ends(bins, bins.count)
    cells, holding = np.arange(law.cells), 0.0
    for row, width in zip(table, widths(law.cells), strict=True):
        low = np.where(cells <= width, 0.0, first[np.maximum(cells - width, 0) // law.target.parts])
        high = np.where(
            cells + width >= law.cells - 1, 100.0, last[np.minimum(cells + width, law.cells - 1) // law.target.parts]
        )
        holding += float(row[(low <= true) & (true <= high)].sum())
    assert 0.95 <= holding <= 0.98
