"""The noise of all sums of a classifier together: what each draw may use of the whole cost.

**Gaussian.** A fit draws discrete Gaussian noise on sums i = 1, 2, …, each of variance σᵢ² ≥ Sᵢ/(m·sᵢ), for the squared
sensitivity Sᵢ and shares with Σsᵢ ≤ 1. Each is ρᵢ = Sᵢ/2σᵢ² ≤ m·sᵢ/2 zCDP (Canonne, Kamath and Steinke,
arXiv:2004.00010v5, theorem 14), all together m/2 (Bun and Steinke, arXiv:1605.02065v1, lemma 2.3). For a budget in ρ,
m = 2ρ. For (ε, δ), m is the largest number whose joint δ(ε) is at most δ by `gaussian_law.adaptive_delta`: that of
zCDP, or that of continuous noise with μ² = Σ Sᵢ/σᵢ² ≤ m and a factor for rounding.

*Adaptive draws.* Sums and multipliers of later draws depend on earlier outputs, and so does the schedule: how many
residual sums share the second half of m, and how far they are clipped. Given all earlier outputs, one draw moves by at
most √Sᵢ, so its law is at most e^(mᵢbᵢ) times that of rounded normal noise and, on the set of `gaussian_law`, at least
e^(-aᵢ) times. These factors multiply along every sequence of outputs. For rounded normal noise each draw is μᵢ-Gaussian
DP given the earlier outputs, with μᵢ² = m·sᵢ, a fixed number; draws that share the second half are together
√(m/2)-Gaussian DP whatever the schedule. So the whole is √m-Gaussian DP (Dong, Roth and Su, arXiv:1905.02383v3,
theorem 3.2, which is adaptive). aᵢ and bᵢ fall as σᵢ² grows, so they are taken at the least σᵢ² that a draw can have.
Outputs of one event may come from different schedules, so `adaptive_delta` uses the largest Σaᵢ and Σbᵢ of any of them.

**Laplace.** Without δ, each sum gets discrete Laplace noise of scale L1/(ε·sᵢ), which is sᵢ·ε-DP; adaptive composition
adds to ε.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from typing import Literal

import numpy as np

from tacit.arrays import Floats
from tacit.errors import InvalidError, RefusedError
from tacit.guarantees.gaussian_law import NoisyVector, adaptive_delta
from tacit.learn.private_sums import Moved
from tacit.noise import MAX_SCALE, discrete_gaussian, discrete_laplace
from tacit.synthetic.coded_rows import Counts

_WRAP, _HALF = 1 << 64, 1 << 63
_LARGEST_VARIANCE = 2**112
_HALVINGS, _LEAST = 16, 1e-30
Schedule = Sequence[tuple[Fraction, Moved]]
"""The share of each draw, and how far one unit moves its sum at least."""


@dataclass(frozen=True, slots=True)
class NoiseBudget:
    """The cost of all draws together: m of Gaussian noise, or ε of Laplace noise."""

    law: Literal["gaussian", "laplace"]
    amount: Fraction

    def deviation(self, moved: Moved, share: Fraction) -> float:
        """Return the standard deviation of the noise of a sum, in its steps."""
        parameter = float(self._parameter(moved, share))
        return sqrt(parameter) if self.law == "gaussian" else sqrt(2) * parameter

    def noisy(self, exact: Counts, moved: Moved, share: Fraction) -> tuple[Floats, float]:
        """Return a sum with noise, and the standard deviation of the noise."""
        draw = discrete_gaussian if self.law == "gaussian" else discrete_laplace
        noise = np.asarray(draw(self._parameter(moved, share), exact.size), dtype=object).reshape(exact.shape)
        wrapped = (exact.astype(object) + noise + _HALF) % _WRAP - _HALF
        return wrapped.astype(np.float64), self.deviation(moved, share)

    def _parameter(self, moved: Moved, share: Fraction) -> Fraction:
        if self.law == "gaussian":
            return Fraction(ceil(moved.l2_squared / (self.amount * share)))
        return moved.l1 / (self.amount * share)

    def check(self, most: Moved, share: Fraction) -> None:
        """Raise RefusedError if the samplers cannot draw the noise of a sum."""
        limit = _LARGEST_VARIANCE if self.law == "gaussian" else MAX_SCALE
        if self._parameter(most, share) > limit:
            fact = "The noise of this classifier is larger than tacit can draw."
            raise RefusedError(fact, hint="Use a smaller reach, or a larger epsilon.")


def pure_budget(epsilon: Fraction) -> NoiseBudget:
    """Return the budget of ε-DP."""
    return NoiseBudget("laplace", epsilon)


def concentrated_budget(rho: Fraction) -> NoiseBudget:
    """Return the budget of ρ-zCDP."""
    return NoiseBudget("gaussian", 2 * rho)


def approximate_budget(epsilon: Fraction, delta: Fraction, schedules: Sequence[Schedule]) -> NoiseBudget:
    """Return the budget of (ε, δ)-DP, close to the largest for which all schedules are within δ."""
    less = 1 - Fraction(1, 2**50)  # floats near ε and δ may be above them

    def inside(amount: float) -> bool:
        return _delta(Fraction(amount), epsilon * less, schedules) <= float(delta * less)

    high = 8.0 * (float(epsilon) + 1)
    while high > _LEAST and not inside(high / 2):
        high /= 2
    if high <= _LEAST:
        hint = "Raise them."
        raise InvalidError("epsilon and delta are too small for a classifier.", argument="epsilon", hint=hint)
    low = high / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
    return NoiseBudget("gaussian", Fraction(low))


def _delta(amount: Fraction, epsilon: Fraction, schedules: Sequence[Schedule]) -> float:
    return adaptive_delta([_vectors(amount, schedule) for schedule in schedules], epsilon)


def _vectors(amount: Fraction, schedule: Schedule) -> list[NoisyVector]:
    budget = NoiseBudget("gaussian", amount)
    return [
        (budget._parameter(moved, share), moved.l2_squared, moved.coordinates)  # noqa: SLF001 - the same module
        for share, moved in schedule
    ]
