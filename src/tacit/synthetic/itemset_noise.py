"""The purse of an itemset release: every draw takes its part of (ε, δ), and no part is spent twice.

**Statement.** Let pure draws have Σε ≤ E, and let concentrated draws have Σρ ≤ ρ(ε - E, δ_g), whatever earlier draws
gave. Here ρ(e, d) is a ρ with `delta_of_zcdp(ρ, e)` ≤ d. Together they are (ε, δ_g)-DP.
**Proof.** The parts of later draws are fixed by ε, δ, k, m and earlier outputs, and every branch stays within the same
sums. Given the pure draws before them, the concentrated draws compose to ρ-zCDP (Bun and Steinke,
arXiv:1605.02065v1, lemma 2.3), hence to (ε - E, δ_g)-DP. Adaptive basic composition with the pure draws adds E.  ∎

A choice with e^(ε₀u/Δ) and monotone u, or with e^(ε₀u/2Δ), has its loss in an interval of length ε₀ (see `exponential`)
and is ε₀²/8-zCDP, as `guarantees.prices` charges it. Discrete Gaussian noise of variance σ² is Δ₂²/2σ²-zCDP (Canonne et
al., arXiv:2004.00010v5, theorem 14). Discrete Laplace noise of scale Δ₁/ε is ε-DP.

On real bits: parameters are rationals, supports are 64-bit integers of at most the number of baskets, and the samplers
are exact. ρ is a float below the true bound, taken as the rational that it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

import numpy as np

from tacit.arrays import Ints
from tacit.errors import InternalError
from tacit.guarantees.conversions import delta_of_zcdp
from tacit.mechanisms.exponential import Exponential
from tacit.noise.gaussian import discrete_gaussian
from tacit.noise.laplace import discrete_laplace

_HALVINGS = 60
_DIGITS = 2**40


def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a ρ that implies (ε, δ)-DP and is close to the largest; 0 if δ is 0.

    >>> round(float(rho_of(Fraction(1), Fraction(1, 10**9))), 4)
    0.015
    """
    if delta <= 0:
        return Fraction(0)
    low, high = 0.0, float(epsilon) + 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = delta_of_zcdp(middle, float(epsilon) * (1 - 2.0**-50)) <= float(delta) * (1 - 2.0**-50)
        low, high = (middle, high) if inside else (low, middle)
    return Fraction(low)  # the safe end


@dataclass(frozen=True, slots=True)
class Noisy:
    """Integers with noise, and the variance of each and the scale of its Laplace noise (None: Gaussian noise)."""

    values: Ints
    variance: float
    scale: float | None


@dataclass(slots=True)
class Purse:
    """The rest of ε for pure draws and of ρ for concentrated draws."""

    epsilon: Fraction
    rho: Fraction = Fraction(0)
    draws: list[str] = field(default_factory=list)

    def exchange(self, epsilon: Fraction, delta: Fraction) -> None:
        """Turn a part of ε, with δ, into ρ; once."""
        if self.rho or epsilon > self.epsilon:
            raise InternalError("a part of epsilon is turned into rho once.")
        self.epsilon -= epsilon
        self.rho = rho_of(epsilon, delta)

    def laplace(self, values: Ints, l1: int, epsilon: Fraction, what: str) -> Noisy:
        """Add discrete Laplace noise of scale l1/ε."""
        self._take(epsilon, Fraction(0), what)
        scale = _short(l1 / epsilon)
        noise = discrete_laplace(scale, values.size).astype(np.int64)
        return Noisy(values + noise, 2 * float(scale) ** 2, float(scale))

    def gaussian(self, values: Ints, l2_squared: int, rho: Fraction, what: str) -> Noisy:
        """Add discrete Gaussian noise of variance l2²/2ρ."""
        self._take(Fraction(0), rho, what)
        variance = _short(l2_squared / (2 * rho))
        noise = discrete_gaussian(variance, values.size).astype(np.int64)
        return Noisy(values + noise, float(variance), None)

    def choose(self, scores: Ints, sensitivity: int, epsilon: Fraction, what: str, *, monotone: bool = False) -> int:
        """Return the index of one score, drawn by the exponential mechanism, for a part of ε."""
        self._take(epsilon, Fraction(0), what)
        return _drawn(scores, sensitivity, epsilon, monotone=monotone)

    def choose_by_rho(self, scores: Ints, sensitivity: int, each: Fraction, what: str, *, monotone: bool) -> int:
        """Return the index of one score, drawn at ε₀ = `each`, for ε₀²/8 of ρ."""
        self._take(Fraction(0), each * each / 8, what)
        return _drawn(scores, sensitivity, each, monotone=monotone)

    def _take(self, epsilon: Fraction, rho: Fraction, what: str) -> None:
        if epsilon > self.epsilon or rho > self.rho or (epsilon <= 0 and rho <= 0):
            raise InternalError("an itemset release would spend more than it was charged for.")
        self.epsilon -= epsilon
        self.rho -= rho
        self.draws.append(what)


def _drawn(scores: Ints, sensitivity: int, epsilon: Fraction, *, monotone: bool) -> int:
    mechanism = Exponential(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    index = mechanism.choose(scores)
    if not isinstance(index, int):
        raise InternalError("a choice among positions is a position.")
    return index


def _short(value: Fraction) -> Fraction:
    """Return a rational of few digits that is at least `value`."""
    return Fraction(-floor(-value * _DIGITS), _DIGITS)
