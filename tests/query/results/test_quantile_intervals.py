"""Coverage of the intervals of quantiles.

The ordinary suite simulates 200 releases a case. With probability at most `FALSE_ALARM` a case (the exact binomial law)
a coverage of 95 % or more is rejected as too low, or a coverage of 97 % or less as too high. The long suite simulates
20,000 releases and requires 94 % and 97 % themselves. A coverage of 95 % misses that with probability 2e-10, a coverage
of 96 % or less with 1e-13.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from bounded import REAL, WHOLE, plan_of, policy
from evidence import FALSE_ALARM
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.quantile import Quantile, _ranks, bins_of
from tacit.query.aggregates.statistic import Released
from tacit.query.expressions import Column
from tacit.query.noise_law import Law
from tacit.query.plan import Ask, Bounds, Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.price import Cost, Price, price

Floats = npt.NDArray[np.float64]

ROW, UNITS = policy(unit=None), policy(groups=1, rows=5)
WIDE: Bounds = (Fraction(-3), Fraction(1000))
YEARS: Bounds = (Fraction(0), Fraction(120))


def even(count: int) -> Floats:
    return np.linspace(0, 1, count, endpoint=False)


def skewed(count: int) -> Floats:
    return even(count) ** 4


def apart(count: int) -> Floats:
    """Two heaps with nothing between them."""
    half = even(count // 2)
    return np.concatenate((half / 10, 0.8 + half / 10))


def heap(count: int) -> Floats:
    """A fifth of the rows, then all others close together."""
    few = count // 5
    return np.concatenate((even(few) / 2, 0.5 + even(count - few) / 10))


@dataclass(frozen=True)
class Case:
    """A quantile of `rows` rows that lie so between the bounds; `sharp` if its interval must not be too wide either."""

    function: str
    rows: Floats
    spend: float
    q: float = 0.5
    law: Law = "laplace"
    value: Column = REAL
    bounds: Bounds = WIDE
    table: TablePolicy = ROW
    sharp: bool = False

    @property
    def ask(self) -> Ask:
        share = None if self.function in ("min", "max") else Fraction(repr(self.q))
        return Ask(function=self.function, values=(self.value,), bounds=(self.bounds,), parameter=share)

    @property
    def plan(self) -> Plan:
        return plan_of(self.table, self.ask)

    def priced(self) -> Price:
        return (
            price(self.plan, Cost(epsilon=self.spend))
            if self.law == "laplace"
            else price(self.plan, Cost(rho=self.spend))
        )

    def counts(self) -> npt.NDArray[np.int64]:
        """The true integers of every bin."""
        bins, measure = bins_of(self.value.kind, self.bounds), self.plan.bundles[0].measures[0]
        low, high = map(float, self.bounds)
        values = low + (high - low) * self.rows
        values = np.floor(values) if self.value.kind == "integer" else values
        numbers = np.clip(np.floor(values / 2.0**bins.exponent + 0.5), bins.low, bins.high) - bins.low
        return np.bincount(numbers.astype(np.int64), minlength=measure.bins) << measure.fraction_bits


def truth(case: Case, counts: npt.NDArray[np.int64], rank: float) -> tuple[float, float]:
    """The least and the largest value at a rank of the bins, their rows spread evenly, in plain Python."""
    first, last = (ends.tolist() for ends in bins_of(case.value.kind, case.bounds).ends(len(counts)))
    found, before = [], 0.0
    for one, count in enumerate(counts.tolist()):
        if count and before <= rank <= before + count:
            share = (rank - before) / count
            found.append(first[one] + share * (last[one] - first[one]))
        before += count
    return min(found), max(found)


CASES = {
    "median, evenly spread": Case("quantile", even(200_000), 1.0, sharp=True),
    "median of few": Case("quantile", even(30), 1.0),
    "median of none": Case("quantile", even(1), 0.2),
    "a tenth, skewed": Case("quantile", skewed(200_000), 1.0, q=0.1, sharp=True),
    "nine tenths, skewed": Case("quantile", skewed(4_000_000), 1.0, q=0.9, sharp=True),
    "nine tenths, thin": Case("quantile", skewed(5_000), 1.0, q=0.9),
    "ninety-nine hundredths": Case("quantile", even(500_000), 1.0, q=0.99, sharp=True),
    "median in a gap": Case("quantile", apart(2_000), 1.0),
    "at the edge of a heap": Case("quantile", heap(20_000), 1.0, q=0.2),
    "median of years": Case("quantile", skewed(3_000), 0.5, value=WHOLE, bounds=YEARS),
    "disc of years": Case("quantile_disc", even(3_000), 0.5, q=0.25, value=WHOLE, bounds=YEARS),
    "Gaussian, evenly spread": Case("quantile", even(1_000_000), 0.05, law="gaussian", sharp=True),
    "Gaussian, skewed": Case("quantile", skewed(4_000_000), 0.1, q=0.75, law="gaussian", sharp=True),
    "units with several rows": Case("quantile", even(1_000_000), 1.0, q=0.3, table=UNITS, sharp=True),
    "little noise": Case("quantile", even(100), 30.0),
    "little noise, many rows": Case("quantile", even(1_000_000), 8.0),
    "least noise": Case("quantile", skewed(101), 200.0, q=0.3),
    "min": Case("min", even(500_000), 1.0, sharp=True),
    "max, thin": Case("max", skewed(20_000), 1.0),
    "max, Gaussian": Case("max", even(1_000_000), 0.1, law="gaussian", sharp=True),
    "min of few": Case("min", even(100), 1.0),
}


def hits(case: Case, runs: int, claimed: float = 1.0) -> int:
    """Count the simulated releases whose 95 % interval holds the statistic; the estimate is always inside.

    All of a gap's values are the statistic, so that either of its ends is enough. The noise may be claimed to be less.
    """
    statistic, plan, priced, counts = STATISTICS[case.ask.function], case.plan, case.priced(), case.counts()
    assert isinstance(statistic, Quantile)
    levels = [counts.reshape(-1, bundle.block).sum(axis=1) for bundle in plan.bundles]
    laws = [replace(law, amount=law.amount * Fraction(claimed)) for law in priced.noise]
    found, known = 0, dict[tuple[float, float], tuple[float, float]]()
    for _ in range(runs):
        released = [
            Released(bundle, tuple(a + b for a, b in zip(level.tolist(), law.draw(len(level)), strict=True)), said)
            for bundle, law, said, level in zip(plan.bundles, priced.noise, laws, levels, strict=True)
        ]
        low, high = statistic.interval(case.ask, released, 0.95)
        estimate = statistic.estimate(case.ask, released)
        assert low - 1e-9 <= estimate <= high + 1e-9
        q, rank = statistic._rank(case.ask, _ranks(tuple(released)), plan.bundles[0])  # that of `min` may be the median
        if (q, rank) not in known:
            known[q, rank] = truth(case, counts, q * float(counts.sum()) + rank)
        found += any(low <= end <= high for end in known[q, rank])
    return found


def ends_of(runs: int) -> tuple[int, int]:
    """Return the numbers of hits that are too few for 95 %, and too many for 97 %."""
    return int(binom.ppf(FALSE_ALARM, runs, 0.95)) - 1, int(binom.isf(FALSE_ALARM, runs, 0.97)) + 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_an_interval_holds_its_quantile_as_often_as_it_says(name: str) -> None:
    runs = 200
    found = hits(CASES[name], runs)
    low, high = ends_of(runs)
    assert low <= found
    assert not CASES[name].sharp or found <= high


def test_an_interval_for_less_noise_than_there_is_is_found_out() -> None:
    runs = 200
    assert hits(CASES["median, evenly spread"], runs, claimed=0.5) < ends_of(runs)[0]


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_so_it_does_in_a_long_run(name: str) -> None:
    runs = 20_000
    found = hits(CASES[name], runs)
    assert found >= 0.94 * runs
    assert not CASES[name].sharp or found <= 0.97 * runs
