"""`avg(x)`: from the distances of values to their lower and upper bounds.

For values in [a, b] let A = Σ(x - a) and B = Σ(b - x), on the grid. Both are ≥ 0, and a row adds exactly b - a to A +
B. So a unit moves (A, B) by at most max_rows·(b - a) in L1 in each cell, and both sums have one noise scale. The
centred sum (A - B)/2 and the count (A + B)/(b - a) then each have half the variance that an even split of ε between a
centred sum and a count would give. From bounds alone no split is better: the error of the ratio at a mean m is that of
w·A - (1-w)·B with w = (b-m)/(b-a), divided by the count. Unequal noise only moves error from one end of [a, b] to the
other.

The interval inverts a test (Fieller): it holds all m with |w·A - (1-w)·B| ≤ q(w), where q is the quantile of
w·noise₁ - (1-w)·noise₂. At the true mean of the bounded data the left side is noise alone, so the interval
holds that mean with exactly this confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tacit.query.aggregates.grid import unit_bundle, value_grid
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.expressions import Expression, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bounds, Bundle, Measure
from tacit.query.policy import TablePolicy

_HALVINGS = 48


class Average:
    """The mean of clipped values; a unit's rows count as at most the limits allow."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return two measures, x - a and b - x, bounded together."""
        return (balanced(ask.values[0], ask.bounds[0], table),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a mean."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return a + (b - a)·A/(A + B), clipped to the bounds; their middle if the noisy count is not above 0."""
        del ask
        sums = released[0]
        low, high = _bounds(sums.bundle)
        above, below = sums.integers[:2]
        if above + below <= 0:
            return float((low + high) / 2)
        return float(min(max(low + (high - low) * Fraction(above, above + below), low), high))

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the ends of all means that the test does not reject; the bounds if the noisy count is not above 0."""
        del ask
        sums = released[0]
        low, high = (float(end) for end in _bounds(sums.bundle))
        if sum(sums.integers[:2]) <= 0:
            return low, high
        first, last = (_edge(sums, end, confidence) for end in (0.0, 1.0))
        return low + (high - low) * first, low + (high - low) * last

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the quantile at the worst mean, which is a bound, divided by the assumed number of rows."""
        del ask
        low, high = _bounds(bundles[0])
        if not assume:
            return float(high - low)
        measure = bundles[0].measures[0]
        rows = assume * (measure.high - measure.low) << measure.fraction_bits
        worst = noise[0].quantile(miss_rate(confidence))
        return float(high - low) * (min(1.0, worst / rows) if rows else 1.0)


def balanced(value: Expression, bounds: Bounds, table: TablePolicy, *, absent: bool = False) -> Bundle:
    """Return the two sums x - a and b - x, bounded together; with `absent` a third, b - a for each row without x."""
    g = value_grid(value, bounds, table)
    missing = 0 if absent else None
    plain = Measure(value=value, step=g.step, low=g.low, high=g.high, fraction_bits=g.fraction_bits, absent=missing)
    sums = [replace(plain, offset=-g.low), replace(plain, sign=-1, offset=g.high)]
    if absent:
        sums.append(replace(plain, sign=0, absent=g.high - g.low))
    return unit_bundle(tuple(sums), (g.high - g.low) << g.fraction_bits, table, nonnegative=True)


def _edge(sums: Released, end: float, confidence: ConfidenceLevel) -> float:
    """Return where the test begins to reject between the estimate and an end, by bisection; as a share of the bounds.

    The estimate itself is never rejected. The quantile is convex in the mean, and the other side of the comparison is
    linear on this side of the estimate. So if the end is rejected, the two cross once.
    """
    above, below = (float(x) for x in sums.integers[:2])
    tail, beta = sums.noise.mixture(), float(miss_rate(confidence))
    inner, outer = min(max(above / (above + below), 0.0), 1.0), end
    if tail(1 - end, end, abs((1 - end) * above - end * below)) > beta:
        return end
    for _ in range(_HALVINGS):
        share = (inner + outer) / 2
        kept = tail(1 - share, share, abs((1 - share) * above - share * below)) > beta
        inner, outer = (share, outer) if kept else (inner, share)
    return outer  # the safe end


def _bounds(bundle: Bundle) -> tuple[Fraction, Fraction]:
    measure = bundle.measures[0]
    return measure.low * measure.step, measure.high * measure.step
