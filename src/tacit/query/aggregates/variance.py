"""`var_pop`, `var_samp`, `stddev_pop`, `stddev_samp`: from three sums that add up to the number of rows.

Let d = 0 … W be the position of a value between its bounds (`grid`), and t = d/W. The three measures (W-d)², 2d(W-d)
and d² are ≥ 0 and add up to exactly W² for every row. So a unit moves P = Σ(1-t)², Q = Σ2t(1-t) and R = Σt² by at most
max_rows in L1 together, and all three have one noise scale. Integers of a unit are truncated toward zero, so the same
holds for them: max_rows·W²·2^fraction_bits. From the three sums follow

    n = P + Q + R,    Σt = R + Q/2,    Σt² = R,    population variance (PR - Q²/4)/n²,

in units of (b-a)². Noise on n, Σt and Σt² alone, with ε split three ways, would have a standard deviation of three
scales each; here it is √3, √1.25 and 1 scales.

The contrast is Σ(t-m)² - θ·n = (m²-θ)P - (m(1-m)+θ)Q + ((1-m)²-θ)R; for the sample variance it has n - 1 in place of n.
With the estimated mean it is off by (m·noise)²/n, in second order (see `moment_intervals`). The variance of bounded
values is at most a quarter of (b-a)², and the sample variance of two or more rows is at most half of (b-a)².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from tacit.arrays import Floats
from tacit.query.aggregates.grid import factors, fraction_bits, times, unit_bundle, value_steps, whole, whole_measure
from tacit.query.aggregates.moment_intervals import (
    SIMULATED,
    Bracket,
    Contrast,
    NoisySums,
    bracket,
    hull,
    mean_range,
    noisy_sums,
    outward,
)
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle
from tacit.query.policy import TablePolicy

_MOST = {False: 1 / 4, True: 1 / 2}


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of clipped values, of a `sample` or not, or its root; a unit's rows count as at most max_rows."""

    sample: bool
    root: bool

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return three measures, (W-d)², 2d(W-d) and d², bounded together."""
        steps = value_steps(ask.values[0], ask.bounds[0], table)
        square = steps.width**2
        bits = fraction_bits(square)
        below, above = times(steps.rest, steps.rest), times(steps.d, steps.d)
        between = times(whole(2), times(steps.d, steps.rest))
        measures = (
            whole_measure(below, square, bits),
            whole_measure(between, square // 2, bits),
            whole_measure(above, square, bits),
        )
        return (unit_bundle(measures, square << bits, table, nonnegative=True),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a variance."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return the estimate, clipped to the possible range; half the largest value if there is no test."""
        del ask
        test, most = self._contrast(released[0]), _MOST[self.sample]
        if test is None:
            return self._scaled(most, released[0].bundle) / 2
        return self._scaled(test.estimate(0.0, most), released[0].bundle)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the ends of all variances that the test does not reject; the possible range if there is no test."""
        del ask
        test, most = self._contrast(released[0]), _MOST[self.sample]
        beta, bundle = float(miss_rate(confidence)), released[0].bundle
        low, high = (0.0, most) if test is None else test.interval(0.0, most, beta)
        if test is not None and beta < SIMULATED:
            low, high = hull((low, high), self._bracket(test.noise, beta / 2).interval(0.0, most, beta / 2))
        return self._scaled(low, bundle), self._scaled(high, bundle)

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the quantile at the worst mean, which is a bound, divided by the assumed rows.

        The error of a root is largest where the variance is 0: it is the root of that quantile.
        """
        del ask
        most = self._scaled(_MOST[self.sample], bundles[0])
        rows = 0 if assume is None else assume - int(self.sample)
        unit = _row(bundles[0])
        if rows <= 0 or not unit:
            return most
        worst = noise[0].quantile(miss_rate(confidence)) / (unit * rows)
        return min(most, self._scaled(worst, bundles[0]))

    def _contrast(self, sums: Released) -> Contrast | None:
        unit = _row(sums.bundle)
        if not unit:
            return None
        z = noisy_sums(sums, (unit,) * 3)
        p, q, r = z.sums.tolist()
        rows = p + q + r
        if not z.shows(rows - self.sample):
            return None
        raw = (r + q / 2) / rows
        m = min(max(raw, 0.0), 1.0)
        of_mean = np.array([-m, 1 / 2 - m, 1 - m])
        bias, spread = z.quadratic([(-1 / rows, of_mean, of_mean)])
        left = float(_weights(m) @ z.sums) - (bias if m == raw else 0.0)
        weights = _weights(outward(m, z.deviation(of_mean) / rows)), np.full(3, -1.0)
        return Contrast(z, left, rows - self.sample, weights, (spread, 0.0, 0.0))

    def _bracket(self, z: NoisySums, beta: float) -> Bracket:
        """Return the contrast over all means that are possible at level β."""
        ones, of_mean = np.ones(3), np.array([0.0, 1 / 2, 1.0])
        rows, total = float(z.sums.sum()), float(of_mean @ z.sums)
        low, high = mean_range(z, of_mean, ones, beta)
        inner = (min(max(m, low), high) for m in (total / rows, 1 / 2))  # Σ(t-m)² is least, m(1-m) largest
        return bracket(z, [_weights(m) for m in (low, high, *inner)], rows - self.sample, ones)

    def _scaled(self, theta: float, bundle: Bundle) -> float:
        """Return a variance of t in the value's unit of measurement."""
        size = float(factors(bundle.measures[2].value)[0].size)
        return size * sqrt(theta) if self.root else size * size * theta


def _weights(m: float) -> Floats:
    """Return the weights of P, Q and R in Σ(t-m)²."""
    return np.array([m * m, -m * (1 - m), (1 - m) ** 2])


def _row(bundle: Bundle) -> int:
    """Return the amount that one row adds to the three integers together: W²·2^fraction_bits."""
    return bundle.measures[2].high << bundle.measures[2].fraction_bits
