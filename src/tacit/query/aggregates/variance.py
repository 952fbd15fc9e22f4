"""`var_pop`, `var_samp`, `stddev_pop`, `stddev_samp`: from three sums that add up to the number of rows.

With d = 0 … W the place of a value between its bounds (`steps`) and t = d/W, the three measures (W-d)², 2d(W-d) and d²
are ≥ 0 and add up to exactly W² for every row. So a unit moves P = Σ(1-t)², Q = Σ2t(1-t) and R = Σt² by at most
max_rows in L1 together, and one noise scale serves all three. Since integers of a unit are truncated toward zero, this
holds of them too: max_rows·W²·2^fraction_bits. From them follow

    n = P + Q + R,    Σt = R + Q/2,    Σt² = R,    population variance (PR - Q²/4)/n²,

in units of (b-a)². Noise on n, Σt and Σt² alone, with ε split three ways, would have a standard deviation of three
scales each; here it is √3, √1.25 and 1 scales.

The contrast is Σ(t-m)² - θ·n = (m²-θ)P - (m(1-m)+θ)Q + ((1-m)²-θ)R, for the sample variance with n - 1 for n; with the
estimated mean it is off by (m·noise)²/n, in second order (see `contrast`). Bounded values vary by at most a quarter of
(b-a)², and from two rows on the sample variance is at most half of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from tacit.query.aggregates.bracket import SIMULATED, Bracket, bracket, hull, mean_range
from tacit.query.aggregates.contrast import Contrast, Noisy, Vector, noisy, outward
from tacit.query.aggregates.statistic import Confidence, Interval, Released, miss_rate
from tacit.query.aggregates.steps import factors, fraction_bits, rows_of, steps, summed, times, whole
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle
from tacit.query.policy import TablePolicy

_MOST = {False: 1 / 4, True: 1 / 2}


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of clamped values, of a `sample` or not, or its root; a unit's rows weigh as at most max_rows."""

    sample: bool
    root: bool

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Three measures, (W-d)², 2d(W-d) and d², bounded together."""
        own = steps(ask.values[0], ask.bounds[0], table)
        square = own.width**2
        bits = fraction_bits(square)
        below, above = times(own.rest, own.rest), times(own.d, own.d)
        between = times(whole(2), times(own.d, own.rest))
        measures = (summed(below, square, bits), summed(between, square // 2, bits), summed(above, square, bits))
        reach = max(1, rows_of(table) * square << bits)
        return (Bundle(measures=measures, reach=reach, nonnegative=True),)

    def kind(self, ask: Ask) -> Kind:
        """A variance is a real number."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return the estimate, kept within what is possible; the middle of that where no row can be told from noise."""
        del ask
        test, most = self._contrast(released[0]), _MOST[self.sample]
        if test is None:
            return self._shown(most, released[0].bundle) / 2
        return self._shown(test.estimate(0.0, most), released[0].bundle)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: Confidence) -> Interval:
        """Return the ends of all variances that the test does not reject; all that are possible if it tells nothing."""
        del ask
        test, most = self._contrast(released[0]), _MOST[self.sample]
        beta, bundle = float(miss_rate(confidence)), released[0].bundle
        low, high = (0.0, most) if test is None else test.interval(0.0, most, beta)
        if test is not None and beta < SIMULATED:
            low, high = hull((low, high), self._bracket(test.noise, beta / 2).interval(0.0, most, beta / 2))
        return self._shown(low, bundle), self._shown(high, bundle)

    def error(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: Confidence, assume: int | None
    ) -> float:
        """The quantile at the worst mean, an end of the bounds, over the assumed rows.

        A root is off by most where the variance is 0: by the root of that.
        """
        del ask
        most = self._shown(_MOST[self.sample], bundles[0])
        rows = 0 if assume is None else assume - int(self.sample)
        unit = _row(bundles[0])
        if rows <= 0 or not unit:
            return most
        worst = noise[0].quantile(miss_rate(confidence)) / (unit * rows)
        return min(most, self._shown(worst, bundles[0]))

    def _contrast(self, one: Released) -> Contrast | None:
        unit = _row(one.bundle)
        if not unit:
            return None
        z = noisy(one, (unit,) * 3)
        p, q, r = z.sums.tolist()
        rows = p + q + r
        if not z.tells(rows - self.sample):
            return None
        raw = (r + q / 2) / rows
        m = min(max(raw, 0.0), 1.0)
        of_mean = np.array([-m, 1 / 2 - m, 1 - m])
        bias, spread = z.quadratic([(-1 / rows, of_mean, of_mean)])
        left = float(_weights(m) @ z.sums) - (bias if m == raw else 0.0)
        weights = _weights(outward(m, z.deviation(of_mean) / rows)), np.full(3, -1.0)
        return Contrast(z, left, rows - self.sample, weights, (spread, 0.0, 0.0))

    def _bracket(self, z: Noisy, beta: float) -> Bracket:
        """Return the contrast over all means that noise allows at level β."""
        ones, of_mean = np.ones(3), np.array([0.0, 1 / 2, 1.0])
        rows, total = float(z.sums.sum()), float(of_mean @ z.sums)
        low, high = mean_range(z, of_mean, ones, beta)
        inner = (min(max(m, low), high) for m in (total / rows, 1 / 2))  # Σ(t-m)² is least, m(1-m) largest
        return bracket(z, [_weights(m) for m in (low, high, *inner)], rows - self.sample, ones)

    def _shown(self, theta: float, bundle: Bundle) -> float:
        """Return a variance of t in the value's own measure."""
        size = float(factors(bundle.measures[2].value)[0].size)
        return size * sqrt(theta) if self.root else size * size * theta


def _weights(m: float) -> Vector:
    """Return the weights of P, Q and R in Σ(t-m)²."""
    return np.array([m * m, -m * (1 - m), (1 - m) ** 2])


def _row(bundle: Bundle) -> int:
    """Return what one row adds to the three integers together: W²·2^fraction_bits."""
    return bundle.measures[2].high << bundle.measures[2].fraction_bits
