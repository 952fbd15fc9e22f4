"""The noise of one bundle: which law, how much, its event, its draw, its quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log, sqrt
from typing import Literal

from tacit.guarantees import gaussian_law, laplace_law
from tacit.guarantees.events import DiscreteGaussianNoise, DiscreteLaplaceNoise
from tacit.noise.bits import SYSTEM, BitSource
from tacit.noise.gaussian import discrete_gaussian
from tacit.noise.laplace import discrete_laplace

Law = Literal["laplace", "gaussian"]


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
    def event(self) -> DiscreteLaplaceNoise | DiscreteGaussianNoise:
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
        sampler = discrete_laplace if self.law == "laplace" else discrete_gaussian
        return [int(x) for x in sampler(self.amount, size, bits)]

    def quantile(self, beta: Fraction) -> int:
        """Return the least t with Pr[|noise| > t] ≤ β."""
        if self.law == "laplace":
            return laplace_law.two_sided_quantile(self.amount, beta)
        return gaussian_law.two_sided_quantile(self.amount, float(beta))

    def mixed_quantile(self, weights: Sequence[float], beta: float) -> float:
        """Return t with Pr[|Σ wᵢ·noiseᵢ| > t] ≤ β for one or two independent draws, from the continuous law.

        Two Laplace draws of scales b ≠ c: Pr[|Z| > t] = (b²e^(-t/b) - c²e^(-t/c))/(b² - c²); equal ones: e^(-t/b)(1 +
        t/2b). One grid step is added for the difference between the integers' law and the continuous one.
        """
        first, second = (
            sorted((abs(w) * self.scale for w in weights), reverse=True)[:2]
            if len(weights) > 1
            else (
                abs(weights[0]) * self.scale,
                0.0,
            )
        )
        if self.law == "gaussian":
            from scipy.special import ndtri  # noqa: PLC0415 - heavy

            return float(-ndtri(beta / 2)) * sqrt(first * first + second * second) + max(map(abs, weights))
        return _laplace_pair(first, second, beta) + max(map(abs, weights))


def _laplace_pair(b: float, c: float, beta: float) -> float:
    """Return the two-sided quantile of the sum of two Laplace variables of scales b ≥ c ≥ 0, by bisection."""
    if b <= 0:
        return 0.0
    low, high = 0.0, (b + c) * log(4 / beta)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(b, c, middle) > beta else (low, middle)
    return high


def _beyond(b: float, c: float, t: float) -> float:
    if c <= 0:
        return exp(-t / b)
    if b - c < 1e-6 * b:
        return exp(-t / b) * (1 + t / (2 * b))
    return (b * b * exp(-t / b) - c * c * exp(-t / c)) / (b * b - c * c)
