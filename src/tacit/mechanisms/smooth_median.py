"""The median (or another order statistic) with noise scaled to its smooth sensitivity.

Global sensitivity is useless for the median: one row may move it by half the range. Nissim, Raskhodnikova and Smith
(STOC 2007) scale the noise to a smooth bound S(x) on its moves near the data at hand.

**Setting.** Neighbours change one row; n is public. Rows become integers on a fixed grid (`order`), f(x) is
the median in half steps, and S(x) ≥ |f(x) - f(x')| with |ln S(x) - ln S(x')| ≤ β for neighbours.

**Algorithm.** Release f(x) + K, K discrete Laplace of scale s = 2·S(x)/ε, with β = ln(1 + ε/(2·ln(2/δ))); then
clip to the bounds.

**Statement.** For 0 < δ ≤ 1/2 this is (ε,δ)-DP.
**Proof.** Write P_(f,s) for the law of f + K. For neighbours with (f,s) and (f',s'):

1. *Dilation:* P_(f,s)(T) ≤ e^(ε/2)·P_(f,s')(T) + δ. The ratio of the two mass functions at f + k is
   [tanh(1/2s)/tanh(1/2s')]·e^(|k|(1/s' - 1/s)).
   If s ≥ s', the first factor is at most 1 and |k|(1/s' - 1/s) = (|k|/s)(s/s' - 1) ≤ (|k|/s)(e^β - 1) =
   (|k|/s)·ε/(2·ln(2/δ)), which is at most ε/2 unless |k| > s·ln(2/δ); and Pr[|K| > s·ln(2/δ)] ≤
   2e^(-ln(2/δ))/(1+e^(-1/s)) ≤ δ by the discrete tail. If s < s', the second factor is at most 1, and as
   tanh(x)/x falls, tanh(1/2s)/tanh(1/2s') ≤ s'/s ≤ e^β ≤ e^(ε/2), the last because ln(2/δ) ≥ 1.
2. *Sliding:* P_(f,s')(T) ≤ e^(ε/2)·P_(f',s')(T), since |f - f'| ≤ S(x') = s'ε/2.

Together P_(f,s)(T) ≤ e^ε·P_(f',s')(T) + δ.  ∎ (Clipping is post-processing.) This is a proof for the discrete
law; the constants of the continuous law (NRS 2007, section 2.2) are not used.

**On real bits.** S is computed in floats within a relative 2^-42 with a β that is smaller by 2^-20 of itself
and 2^-36, and then raised by 2^-40 of itself: so it is at least the true bound, and its logarithm moves by at
most β. The scale is that float, exactly. S(x) is private. So the sampler computes its coins for each draw, with a
number of digits that follows from the bounds; it caches nothing and does the same operations for every scale. The grid
follows from the bounds. `error` states the error for an S that the caller assumes in public. Sorting and the search
for S use arrays whose sizes depend on n, ε and δ alone.

**When it is better.** A quantile that is drawn among fixed candidates (`db.median`, see `query.rank_law`) has a rank
error of about 6/ε rows where this one has about 12·ln(2/δ)/(e·ε²). So draws err less for ε below 10 or so. They need
no δ and fewer rows. This mechanism is better if the values are so close together that few candidates are between them:
its grid has 2^24 steps between the bounds.
"""

from __future__ import annotations

from fractions import Fraction
from math import log, log1p

import numpy.typing as npt

from tacit.errors import TooMuchNoiseError, bad_value, show
from tacit.guarantees.events import ApproxRelease
from tacit.guarantees.exact import Exact, Number, fraction_between, positive
from tacit.guarantees.laplace_law import two_sided_quantile
from tacit.guarantees.values import ApproxDP
from tacit.keyword_only import keyword_only
from tacit.mechanisms.frozen import Frozen
from tacit.mechanisms.grid import check_scale
from tacit.mechanisms.inverse import confidence_search, read_error
from tacit.mechanisms.order import STEPS, quantile_ranks, read_bounds, smooth_sensitivity, sorted_rows
from tacit.mechanisms.scale_search import least, ratio
from tacit.mechanisms.validation import failure, probability
from tacit.noise import discrete_laplace_of_private_scale
from tacit.noise.geometric import digits


@keyword_only
class SmoothMedian(Frozen):
    """Release the median of bounded values; neighbours change one value, and n is public.

    >>> m = SmoothMedian(bounds=(0, 200_000), epsilon=1, delta=1e-6)
    >>> m.guarantee
    ApproxDP(epsilon=1.0, delta=1e-06)
    >>> 0 <= m.release(range(0, 200_000, 10)) <= 200_000
    True

    Args:
        bounds: public (a, b); values outside are clipped.
        epsilon: with `delta`, the guarantee.
        delta: at most 1/2.
        quantile: another order statistic than the median.
    """

    def __init__(
        self, *, bounds: tuple[Number, Number], epsilon: Number, delta: Number, quantile: Number = 0.5
    ) -> None:
        """Fix the law, the grid and the guarantee."""
        self._quantile = fraction_between(quantile, "quantile", 0, 1)
        self._low, self._high = read_bounds(bounds)
        target, slack = positive(epsilon, "epsilon"), probability(delta, "delta")
        if slack > Fraction(1, 2):
            raise bad_value("delta", delta, "at most 1/2")
        beta = log1p(min(float(Exact(target)), 2.0**900) / (2 * log(2 / slack)))
        self._decay = beta * (1 - 2.0**-20) - 2.0**-36
        if self._decay < 2.0**-36:
            raise TooMuchNoiseError(
                f"epsilon = {show(epsilon)} is too small for smooth sensitivity.",
                argument="epsilon",
                hint="Use an epsilon above 1e-8.",
            )
        self._rate = float(target / 2) * (1 - 2.0**-50)  # rounded down, so scales are rounded up
        self._step = (self._high - self._low) / (2 * STEPS)
        largest = 2 * STEPS * (1 + Fraction(1, 2**30)) / (target / 2)
        check_scale(largest, "epsilon", epsilon)
        self._digits = digits(largest)
        self.guarantee = ApproxDP(epsilon=Exact(target), delta=Exact(slack))
        self.event = ApproxRelease(epsilon=target, delta=slack, neighbours="change one")
        self.granularity = float(self._step)
        self._freeze(
            bounds=bounds, epsilon=epsilon, delta=delta, quantile=None if self._quantile == Fraction(1, 2) else quantile
        )

    def release(self, values: npt.ArrayLike) -> float:
        """Return the noisy median (or quantile), within the bounds and on the grid of `granularity`.

        Args:
            values: the private values, one for each unit.
        """
        rows = sorted_rows(values, self._low, self._high)
        low, high = quantile_ranks(rows.size - 2, self._quantile)
        smooth = smooth_sensitivity(rows, low, self._decay) + smooth_sensitivity(rows, high, self._decay)
        noise = discrete_laplace_of_private_scale(smooth * (1 + 2.0**-40) / self._rate, self._digits)
        index = max(0, min(2 * STEPS, int(rows[low] + rows[high]) + noise))
        return min(float(self._low) + index * self.granularity, float(self._high))

    def error(self, *, confidence: float = 0.95, smooth: Number | None = None) -> float:
        """Return the bound that the error keeps with this confidence if the smooth sensitivity were `smooth`.

        The true smooth sensitivity is private, so the caller must assume one. Without it, only the width of the bounds
        is certain.

        >>> round(SmoothMedian(bounds=(0, 200_000), epsilon=1, delta=1e-6).error(confidence=0.95, smooth=10), 1)
        59.9
        """
        beta, width = failure(confidence), self._high - self._low
        if smooth is None:
            return float(width)
        assumed = max(positive(smooth, "smooth") / self._step, Fraction(2)) * (1 + Fraction(1, 2**30))
        steps = two_sided_quantile(assumed / self.event.epsilon * 2, beta)
        return float(min(width, (steps + 2) * self._step))

    def confidence(self, *, error: Number, smooth: Number) -> float:
        """Return a confidence with which the error is at most this, if the smooth sensitivity were `smooth`."""
        bound = read_error(error)
        return confidence_search(lambda chance: self.error(confidence=chance, smooth=smooth) <= bound)

    @classmethod
    def for_error(
        cls,
        error: Number,
        *,
        confidence: float = 0.95,
        bounds: tuple[Number, Number],
        delta: Number,
        smooth: Number,
        quantile: Number = 0.5,
    ) -> SmoothMedian:
        """Return the most private mechanism that is within `error` if the smooth sensitivity were `smooth`.

        Args:
            error: the largest error.
            confidence: the probability with which it holds.
            smooth: the smooth sensitivity, which is not public.
            bounds: the smallest and the largest value.
            delta: δ of the guarantee.
            quantile: the quantile; 1/2 is the median.
        """
        target = positive(error, "error")
        positive(smooth, "smooth")
        low, high = read_bounds(bounds)
        if target >= high - low:
            raise bad_value("error", error, "below the width of the bounds, since every answer is within them")

        def make(epsilon: float) -> SmoothMedian:
            return cls(bounds=bounds, epsilon=epsilon, delta=delta, quantile=quantile)

        def accurate(epsilon: float) -> bool:
            return make(epsilon).error(confidence=confidence, smooth=smooth) <= target

        return make(least(accurate, ratio(positive(smooth, "smooth"), target)))
