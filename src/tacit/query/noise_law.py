"""The noise of one bundle: which law, how much, its event, its draw, its quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import erfc, exp, sqrt
from typing import Literal

from tacit.arrays import WideInts
from tacit.guarantees import gaussian_law, laplace_law
from tacit.guarantees.events import ApproxRelease, DiscreteGaussianNoise, DiscreteLaplaceNoise
from tacit.noise.bits import SYSTEM, BitSource
from tacit.noise.gaussian import discrete_gaussian
from tacit.noise.laplace import discrete_laplace

Law = Literal["laplace", "gaussian"]
_HALVINGS = 60
Mixture = Callable[[float, float, float], float]
"""Bounds Pr[|v·noise₁ + w·noise₂| > t] for v, w ≥ 0, from the continuous law.

Two Laplace variables of scales b ≠ c: (b²e^(-t/b) - c²e^(-t/c))/(b² - c²); equal ones: e^(-t/b)(1 + t/2b). One grid
step is taken off t for the difference between the integers' law and the continuous one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseLaw:
    """Independent integer noise on every integer of a bundle.

    `amount` is the scale of discrete Laplace noise or the variance of discrete Gaussian noise; `sensitivity`
    is L1, or L2 squared; `moving` is how many integers one unit can move.
    """

    law: Law
    amount: Fraction
    sensitivity: int
    moving: int

    @property
    def event(self) -> DiscreteLaplaceNoise | DiscreteGaussianNoise | ApproxRelease:
        """What is run."""
        if self.law == "laplace":
            return DiscreteLaplaceNoise(scale=self.amount, l1=Fraction(self.sensitivity), coordinates=self.moving)
        return DiscreteGaussianNoise(variance=self.amount, l2_squared=self.sensitivity, coordinates=self.moving)

    @property
    def scale(self) -> float:
        """The scale of Laplace noise, or σ."""
        return float(self.amount) if self.law == "laplace" else sqrt(self.amount)

    def draw(self, size: int, bits: BitSource = SYSTEM) -> list[int]:
        """Draw fresh noise."""
        return [int(x) for x in self.drawn(size, bits)]

    def drawn(self, size: int, bits: BitSource = SYSTEM) -> WideInts:
        """Draw fresh noise, as an array."""
        sampler = discrete_laplace if self.law == "laplace" else discrete_gaussian
        return sampler(self.amount, size, bits)

    def quantile(self, beta: Fraction) -> int:
        """Return the least t with Pr[|noise| > t] ≤ β."""
        return _quantile(self.law, self.amount, beta)

    def around(self, found: int, beta: Fraction) -> tuple[int, int]:
        """Return ends that hold an integer with probability ≥ 1-β, given what was found with noise on it."""
        reach = self.quantile(beta)
        return found - reach, found + reach

    def spread(self, weights: Sequence[float], beta: float) -> float:
        """Return t such that Pr[|Σ wᵢ·noiseᵢ| > t] ≤ β, from the continuous law and to the safe side.

        Args:
            weights: one, two that may differ, or three that are alike; none below 0.
            beta: how often it may be further off.
        """
        return _spread(self, tuple(weights), beta)

    def tail(self, weights: Sequence[float]) -> Callable[[float], float]:
        """Return Pr[|Σ wᵢ·noiseᵢ| > t] as a function of t, bounded from above."""
        if len(weights) <= 2:  # noqa: PLR2004 - a mixture is of two
            mixture = self.mixture()
            return lambda t: mixture(weights[0], weights[1] if len(weights) > 1 else 0.0, t)
        scale, one = self.scale * weights[0], weights[0]
        if len(set(weights)) > 1 or len(weights) > 3:  # noqa: PLR2004 - sums of more have no law here
            raise ValueError("three weights must be alike")
        beyond = _three_laplace if self.law == "laplace" else _three_gaussian
        return lambda t: beyond(max(t - 1.5 * one, 0.0) / scale)

    def mixture(self) -> Mixture:
        """Return the tail of v·noise₁ + w·noise₂ for two independent draws, as a function of v, w and t."""
        scale, beyond = self.scale, _beyond_laplace if self.law == "laplace" else _beyond_gaussian
        return lambda v, w, t: beyond(scale * max(v, w), scale * min(v, w), t - max(v, w))


@lru_cache(maxsize=1024)
def _quantile(law: Law, amount: Fraction, beta: Fraction) -> int:
    """One law serves all cells of an answer, so that its quantile is found once."""
    if law == "laplace":
        return laplace_law.two_sided_quantile(amount, beta)
    return gaussian_law.two_sided_quantile(amount, float(beta))


@lru_cache(maxsize=1024)
def _spread(noise: NoiseLaw, weights: tuple[float, ...], beta: float) -> float:
    """See `NoiseLaw.spread`; one serves all cells of an answer."""
    low, high = 0.0, noise.scale * max(weights)
    tail = noise.tail(weights)
    while tail(high) > beta:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > beta else (low, middle)
    return high


def _three_laplace(x: float) -> float:
    """Return Pr[|X + Y + Z| > x] for Laplace variables of scale 1: their sum has the density (3+3x+x²)e^(-x)/16."""
    return exp(-x) * (8 + 5 * x + x * x) / 8


def _three_gaussian(x: float) -> float:
    return erfc(x / sqrt(6))


def _beyond_laplace(b: float, c: float, t: float) -> float:
    """Return Pr[|X + Y| > t] for Laplace variables of scales b ≥ c ≥ 0."""
    if t <= 0 or b <= 0:
        return 1.0 if t <= 0 else 0.0
    if c <= 0:
        return exp(-t / b)
    if b - c < 1e-6 * b:
        return exp(-t / b) * (1 + t / (2 * b))
    return (b * b * exp(-t / b) - c * c * exp(-t / c)) / (b * b - c * c)


def _beyond_gaussian(b: float, c: float, t: float) -> float:
    """Return Pr[|X + Y| > t] for Gaussian variables of standard deviations b ≥ c ≥ 0."""
    if t <= 0 or b <= 0:
        return 1.0 if t <= 0 else 0.0
    return erfc(t / sqrt(2 * (b * b + c * c)))
