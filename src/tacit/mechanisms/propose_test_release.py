"""Propose-test-release: propose a bound on the local sensitivity, test it privately, then release a value or None.

**Algorithm** (Dwork and Lei, STOC 2009, section 4; Dwork and Roth 2014, section 7.2). Let b bound the local
sensitivity that the analyst proposes, and d(x) be a number of rows such that d is 1-Lipschitz and |f(x) -
f(y)| ≤ b for all neighbours y whenever d(x) > 0 (the distance to the nearest database of larger local
sensitivity is one). Return None unless d(x) + K > t, where K is discrete Laplace of scale 2/ε and t
the least integer with Pr[K > t] ≤ δ; else release f(x) with Laplace noise for sensitivity b at ε/2.

**Statement.** (ε,δ)-DP.
**Proof.** Let x, x' be neighbours. If |f(x) - f(x')| ≤ b, the pair (test, noisy value) is ε/2 + ε/2 private by
composition, and the output is a function of it. Otherwise d(x) = d(x') = 0, so either releases a value with
probability at most δ, and both tests have one law; hence Pr[M(x) ∈ T] ≤ Pr[M(x) = None ∈ T] + δ = Pr[M(x') =
None ∈ T] + δ.  ∎

The relation is the one for which b and d hold; the event names it. `release_median` computes d for neighbours that
change one value, so it needs "change one".

On real bits: d and K are integers, t comes from the exact discrete tail, the value is released as by
`Laplace`. The noise for the value is drawn whether or not it is used, so time does not tell the test's outcome
before the answer does.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import numpy.typing as npt

from tacit.errors import bad_value
from tacit.guarantees.events import ApproxRelease, Neighbours
from tacit.guarantees.exact import Exact, Number, positive, round_up, whole
from tacit.guarantees.laplace_law import one_sided_quantile
from tacit.guarantees.values import ApproxDP
from tacit.keyword_only import keyword_only
from tacit.laws.lattice import DiscreteLaplace
from tacit.mechanisms.frozen import Frozen
from tacit.mechanisms.grid import make_grid
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.order import STEPS, distance_to_sensitive, quantile_ranks, read_bounds, sorted_rows
from tacit.mechanisms.validation import failure, probability, wrong_kind
from tacit.noise import discrete_laplace


@keyword_only
class ProposeTestRelease(Frozen):
    """Release a value whose local sensitivity is probably at most `bound`, or None.

    >>> m = ProposeTestRelease(bound=1, epsilon=1, delta=1e-6)
    >>> m.release(337, distance=0) is None or m.threshold < 0
    True
    >>> isinstance(m.release(337, distance=10_000), int)
    True

    Args:
        bound: the proposed local sensitivity; an int for integers, a float for reals.
        epsilon: with `delta`, the guarantee.
        delta: the probability of releasing although the bound is wrong.
        outputs: the number of reals in one release (`bound` is then in L1).
        granularity: the grid's step for reals; by default that of `Laplace`.
        neighbours: the relation for which `bound` and the distances hold: "change one" (the default) or "add/remove".
    """

    def __init__(
        self,
        *,
        bound: Number,
        epsilon: Number,
        delta: Number,
        outputs: int = 1,
        granularity: Number | None = None,
        neighbours: Neighbours = "change one",
    ) -> None:
        """Fix the laws, the grid and the guarantee."""
        size = positive(bound, "bound")
        target, slack = positive(epsilon, "epsilon"), probability(delta, "delta")
        make_grid(bound, size, outputs, granularity, 2 / target, argument="bound")  # check it under its own name
        self._noise = Laplace(sensitivity=bound, epsilon=target / 2, outputs=outputs, granularity=granularity)
        self._bound, self._half = size, target / 2
        self.threshold = one_sided_quantile(1 / self._half, slack)
        self.guarantee = ApproxDP(epsilon=Exact(target), delta=Exact(slack))
        if neighbours is None:  # an event without a relation would be admitted under both
            raise bad_value("neighbours", None, "'change one' or 'add/remove'")
        self.event = ApproxRelease(epsilon=target, delta=slack, neighbours=neighbours)
        self._freeze(
            bound=bound,
            epsilon=epsilon,
            delta=delta,
            outputs=None if outputs == 1 else outputs,
            granularity=granularity,
            neighbours=None if neighbours == "change one" else neighbours,
        )

    def release(self, value: npt.ArrayLike, *, distance: int) -> int | float | npt.NDArray[np.generic] | None:
        """Return the noisy value if the data are far enough from any of larger sensitivity, else None.

        Args:
            value: f(x).
            distance: d(x) ≥ 0, the number of units that must change before one more can move f by more than the bound.
        """
        far = _read_distance(distance)
        noisy = self._noise.release(value)
        return noisy if self._passes(far) else None

    def release_median(self, values: npt.ArrayLike, *, bounds: tuple[Number, Number]) -> float | None:
        """Return the noisy median of bounded values, or None; neighbours change one value, and n is public.

        The distance is the least number of changes after which one of the median's ranks can move by more than the
        bound (`order.distance_to_sensitive`), on the grid of 2^24 steps across the bounds.
        """
        if self.event.neighbours != "change one":
            raise bad_value("neighbours", self.event.neighbours, "'change one' for release_median")
        low, high = read_bounds(bounds)
        step, noise = self._median_noise(low, high)
        rows = sorted_rows(values, low, high)
        ranks = quantile_ranks(rows.size - 2, Fraction(1, 2))
        noisy = int(noise.release(int(sum(rows[rank] for rank in ranks))))
        steps = int(noise.event.l1) // 2
        if not self._passes(min(distance_to_sensitive(rows, rank, steps) for rank in ranks)):
            return None
        return min(float(low) + max(0, min(2 * STEPS, noisy)) * float(step / 2), float(high))

    def _passes(self, distance: int) -> bool:
        return distance + int(discrete_laplace(1 / self._half, 1)[0]) > self.threshold

    def error(
        self, *, confidence: float = 0.95, outputs: int | None = None, bounds: tuple[Number, Number] | None = None
    ) -> int | float:
        """Return the bound that a released value's error keeps with this confidence.

        With `bounds` it is that of `release_median`, whose rows are rounded to the grid across the bounds.
        """
        if bounds is None:
            return self._noise.error(confidence=confidence, outputs=outputs)
        step, noise = self._median_noise(*read_bounds(bounds))
        return float((noise.error(confidence=confidence) + 1) * step / 2)

    def _median_noise(self, low: Fraction, high: Fraction) -> tuple[Fraction, Laplace]:
        """Return the grid's step across the bounds, and the noise for a median in half steps."""
        step = (high - low) / STEPS
        steps = floor(self._bound / step)
        if not 1 <= steps <= STEPS:
            ends = f"between {float(step):.3g} (one grid step) and {float(high - low):.3g} (the width of the bounds)"
            raise bad_value("bound", float(self._bound), ends)
        return step, Laplace(sensitivity=2 * steps, epsilon=self._half)

    def needed_distance(self, *, confidence: float = 0.95) -> int:
        """Return the least distance at which a value is released with at least this probability.

        Args:
            confidence: the probability of a release.
        """
        return self.threshold + 1 + one_sided_quantile(1 / self._half, failure(confidence))

    def probability(self, *, distance: int) -> float:
        """Return the probability that a value is released at a distance that is assumed in public.

        >>> round(ProposeTestRelease(bound=1, epsilon=1, delta=1e-6).probability(distance=30), 3)
        0.916
        """
        with np.errstate(under="ignore"):
            law = DiscreteLaplace(1 / self._half)
            return float(law.sf(np.array(float(self.threshold - _read_distance(distance)))))

    @property
    def noise(self) -> Laplace:
        """The noise of a value that passes the test, with its law."""
        return self._noise

    def confidence(self, *, error: Number, outputs: int | None = None) -> float:
        """Return the probability with which a released value is within an error: the inverse of `error`."""
        return self._noise.confidence(error=error, outputs=outputs)

    @classmethod
    def for_error(
        cls,
        error: Number,
        *,
        confidence: float = 0.95,
        bound: Number,
        delta: Number,
        outputs: int = 1,
        neighbours: Neighbours = "change one",
    ) -> ProposeTestRelease:
        """Return the most private mechanism whose released values are within `error`."""
        positive(bound, "bound")
        noise = Laplace.for_error(error, confidence=confidence, sensitivity=bound, outputs=outputs)
        epsilon = round_up(2 * noise.event.l1 / noise.event.scale)
        return cls(bound=bound, epsilon=epsilon, delta=delta, outputs=outputs, neighbours=neighbours)


def _read_distance(distance: object) -> int:
    """Return a whole number ≥ 0. The distance is private, so the message does not repeat it."""
    number = whole(distance)
    if number is None or number < 0:
        kind = "a negative number" if number is not None else f"a {type(distance).__name__}"
        raise wrong_kind("distance", kind, "a whole number ≥ 0")
    return number
