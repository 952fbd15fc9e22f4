"""The Laplace mechanism, on integers.

**Statement.** Let q map databases to ℤ^m with ‖q(D) - q(D')‖₁ ≤ Δ for neighbours. Then q(D) + K with independent
discrete Laplace Kᵢ of scale s is Δ/s-differentially private.
**Proof** (Ghosh, Roughgarden and Sundararajan, STOC 2009, for counts; the ratio is that of Dwork et al., TCC
2006, prop. 1). Pr[q(D)+K = z]/Pr[q(D')+K = z] = Π e^((|zᵢ-q(D')ᵢ| - |zᵢ-q(D)ᵢ|)/s) ≤ e^(‖q(D)-q(D')‖₁/s).  ∎

On real bits: values are integers, or become integers by exact rounding, whose cost `grid` proves. The noise is drawn
exactly from the stated law, and the sum is an exact integer that saturates as a function of itself. A float appears
only in the product with the fixed step. s and ε = Δ/s are rationals.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from tacit.arrays import WideInts
from tacit.guarantees.events import DiscreteLaplaceNoise
from tacit.guarantees.exact import Exact, Number, positive
from tacit.guarantees.laplace_law import least_beyond
from tacit.guarantees.values import PureDP
from tacit.keyword_only import keyword_only
from tacit.laws.continuous import LaplaceLaw
from tacit.laws.lattice import DiscreteLaplace
from tacit.mechanisms.additive import Additive
from tacit.mechanisms.grid import check_ratio, check_scale, make_grid
from tacit.mechanisms.scale_search import least, ratio
from tacit.mechanisms.validation import one_of
from tacit.noise import discrete_laplace


@keyword_only
class Laplace(Additive):
    """Add discrete Laplace noise of scale Δ/ε: ε-differential privacy.

    With an int sensitivity, values and results are integers of any shape. With a float sensitivity, `outputs` reals are
    rounded to a fine grid that is fixed at construction.

    >>> m = Laplace(sensitivity=1, epsilon=0.1)
    >>> m.scale, m.guarantee
    (10.0, PureDP(epsilon=0.1))
    >>> m.error(confidence=0.95)
    30
    >>> isinstance(m.release(337), int)
    True
    >>> round(m.pmf(0), 4), m.pdf(0), round(m.std, 2), round(m.confidence(error=30), 4)
    (0.05, 0.05, 14.14, 0.9527)

    Args:
        sensitivity: Δ, the largest L1 distance of neighbours' values; an int for integers, a float for reals.
        epsilon: the guarantee to reach; or
        scale: the noise to add. Pass exactly one of the two.
        outputs: the number of reals in one release.
        granularity: the grid's step for reals; by default a fine one.

    Attributes:
        scale: the noise scale s, in the units of the values.
        guarantee: the guarantee of one release, as `PureDP`.
        granularity: the grid's step; 1 for integers.
        event: the event of one release, in grid steps and exact rationals, for an accountant to price.
        loss: the privacy loss as a random variable.
    """

    event: DiscreteLaplaceNoise

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        scale: Number | None = None,
        outputs: int = 1,
        granularity: Number | None = None,
    ) -> None:
        """Fix the law, the grid and the guarantee."""
        which = one_of(epsilon=epsilon, scale=scale)
        amount = positive(epsilon if scale is None else scale, which)
        size = positive(sensitivity, "sensitivity")
        unit_noise = 1 / amount if which == "epsilon" else amount / size
        grid = make_grid(sensitivity, size, outputs, granularity, unit_noise)
        l1 = grid.l1_steps(size)
        steps = l1 / amount if which == "epsilon" else amount / grid.step
        check_scale(steps, which, epsilon if scale is None else scale)
        check_ratio(l1 / steps, which, epsilon if scale is None else scale)
        moving = l1 if grid.integral else min(l1, grid.outputs)
        self.event = DiscreteLaplaceNoise(scale=steps, l1=Fraction(l1), coordinates=moving)
        self.guarantee = PureDP(epsilon=Exact(l1 / steps))
        self.scale = float(steps * grid.step)
        self._set_grid(size, grid)
        self._freeze(
            sensitivity=sensitivity,
            epsilon=epsilon,
            scale=scale,
            outputs=outputs if outputs != 1 else None,
            granularity=granularity,
        )

    def _draw(self, size: int) -> WideInts:
        return discrete_laplace(self.event.scale, size)

    def _quantile(self, beta: Decimal) -> int:
        return least_beyond(self.event.scale, beta)

    def _log_ratio(self, one: int, other: int) -> Fraction:
        return (abs(other) - abs(one)) / self.event.scale

    def _close(self, gaps: list[int]) -> bool:
        return sum(map(abs, gaps)) <= self.event.l1

    @cached_property
    def _law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.event.scale)

    @property
    def continuous(self) -> LaplaceLaw:
        """The Laplace law e^(-|x|/s)/2s of the textbooks. The noise that is drawn has the discrete law of `pmf`."""
        return LaplaceLaw(scale=self.scale)

    @classmethod
    def for_error(
        cls,
        error: Number,
        *,
        confidence: float = 0.95,
        sensitivity: Number,
        outputs: int = 1,
        granularity: Number | None = None,
    ) -> Laplace:
        """Return the most private mechanism whose `outputs` outputs all stay within `error`.

        >>> m = Laplace.for_error(10, confidence=0.95, sensitivity=1)
        >>> m.error(confidence=0.95), round(m.guarantee.epsilon, 4)
        (10, 0.2843)
        """
        target = positive(error, "error")

        def make(epsilon: float) -> Laplace:
            return cls(sensitivity=sensitivity, epsilon=epsilon, outputs=outputs, granularity=granularity)

        def accurate(epsilon: float) -> bool:
            return make(epsilon).error(confidence=confidence, outputs=outputs) <= target

        return make(least(accurate, ratio(positive(sensitivity, "sensitivity"), target)))
