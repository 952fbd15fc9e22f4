"""The guarantee of discrete Gaussian noise, computed from the discrete law and rounded to the safe side.

Notation: τ = σ², f(x) = e^(-x²/2τ), Z = Σ_{k∈ℤ} f(k), K has Pr[k] = f(k)/Z, and everything is in grid steps.

**One moving coordinate.** For an integer shift d > 0 the privacy loss of K against K-d at k is
(2kd + d²)/2τ, increasing in k. So the best test is a tail, and with t the least integer of loss > ε

    δ_d(ε) = Σ_{k ≥ t} [ Pr[K = k] - e^ε·Pr[K = k + d] ]     (Canonne et al., arXiv:2004.00010v5, thm 7).

*The worst shift d ≤ Δ is Δ:* for any t, Pr[K ≥ t] - e^ε·Pr[K ≥ t+d] ≤ Pr[K ≥ t] - e^ε·Pr[K ≥ t+Δ] ≤ δ_Δ(ε),
since the tail falls in t and δ_Δ is a maximum over all tests. Negative shifts are mirror images.

Up to σ = 4096 the sum is taken term by term: no cancellation (see `_termwise`), relative error below 1e-11.
Beyond, sums become integrals: on a cell, ∫f - f(k) = ∫ f''(y)·½(½-|y-k|)² dy, and the kernel is at most 1/8, so
|Σ_{k≥t} f(k) - ∫_{t-½}^∞ f| ≤ V/8 with V the variation of f' on the half-line: |f'(x)| for x ≥ σ, and at most
4·e^(-½)/σ anywhere. By Poisson summation σ√(2π) ≤ Z.

**Several coordinates.** For an integer shift vector with ‖d‖₂² ≤ S and at most m nonzero coordinates, two bounds
hold, and the smaller is used:

1. ρ = S/2τ zero-concentrated DP (ibid., thm 14), converted (`conversions.delta_of_zcdp`).
2. Comparison with rounded continuous noise. Let R(k) = ∫_{k-½}^{k+½} f/(σ√2π), the law of a rounded normal
   variable, which by post-processing has the continuous curve δ_c for ‖d‖ ≤ √S. With
   J(k) = ∫_{-½}^{½} cosh(kv/τ)·f(v) dv we have Pr[K=k]/R(k) = (σ√2π/Z)/J(k), and
   1 - 1/24τ ≤ J(k) ≤ e^(k²/24τ²), 1 ≤ Z/σ√2π ≤ 1 + 3e^(-2π²τ) for τ ≥ 1. So with e^b = 1/(1 - 1/24τ), and
   e^a = e^(L/24τ²)·(1+3e^(-2π²τ))^m on the set where ‖k‖² ≤ L,

       Pr[K ∈ T] ≤ e^(mb)·R(T) ≤ e^(mb)·(e^ε·R_d(T) + δ_c(ε)) ≤ e^(ε+mb+a)·Pr[K-d ∈ T] + e^(mb)·(δ_c(ε) + e^ε·q),

   q = R(‖k‖² > L). A rounded normal vector has ‖k‖ ≤ ‖x‖ + √m/2, and Pr[‖x‖² ≥ τ(m + 2√(mλ) + 2λ)] ≤ e^(-λ)
   (Laurent and Massart, Ann. Statist. 28(5), 2000, lemma 1). Any λ gives a bound; we try a few above ε + ln(1/δ_c).

**Several vectors at once**, each with its τᵢ, Sᵢ and mᵢ: the same two bounds, for product laws. 1: ρ = Σ Sᵢ/2τᵢ. 2: the
densities multiply, so Σ mᵢbᵢ and Σ aᵢ replace mb and a on the set where ‖kᵢ‖² ≤ Lᵢ for all i; the mass outside this set
is at most Σ qᵢ. Rounded normal vectors together have the continuous curve for μ² = Σ Sᵢ/τᵢ.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, erfc, exp, floor, isqrt, log, log1p, pi, sqrt

import numpy as np

from tacit.guarantees.conversions import delta_of_zcdp, gaussian_delta

_TERMWISE = 4096
_TOO_STEEP = 600
_UP = 1 + 1e-9
"""Covers the rounding of every float computation here; its relative error is below 1e-11."""


def delta(variance: Fraction, l2_squared: int, coordinates: int, epsilon: Fraction) -> float:
    """Return an upper bound of δ(ε) for discrete Gaussian noise; exact for one coordinate and σ ≤ 4096.

    Args:
        variance: τ in squared steps.
        l2_squared: S, the largest squared L2 distance of neighbouring integer vectors.
        coordinates: m, the number of coordinates that may differ.
        epsilon: ε ≥ 0.
    """
    if coordinates == 1:
        by_zcdp = delta_of_zcdp(float(l2_squared / (2 * variance)), float(epsilon))
        return min(by_zcdp, scalar_delta(variance, isqrt(l2_squared), epsilon))
    return joint_delta([(variance, l2_squared, coordinates)], epsilon)


def scalar_delta(variance: Fraction, shift: int, epsilon: Fraction) -> float:
    """Return δ(ε) for one integer that moves by at most `shift`, rounded up."""
    start = floor(epsilon * variance / shift - Fraction(shift, 2)) + 1
    if variance <= _TERMWISE**2:
        return min(1.0, _termwise(variance, shift, epsilon, start) * _UP + 1e-300)
    return min(1.0, _by_integrals(variance, shift, epsilon, start))


def _termwise(variance: Fraction, shift: int, epsilon: Fraction, start: int) -> float:
    """Return Σ_{k ≥ t} f(k)·(1 - e^(ε - loss(k)))/Z.

    The first exponent ε - loss(t) is formed as a rational, since ε and the loss may agree in all digits of a
    float; from there on the loss grows by d/τ a term. The terms beyond 14σ above max(t, 0) add less than e^(-98) of
    the sum, and all below -14σ less than e^(-98).
    """
    tau = float(variance)
    reach = ceil(14 * sqrt(tau)) + 2
    first = max(start, -reach)
    excess = float(min((2 * first + shift) * shift / (2 * variance) - epsilon, Fraction(10**6)))
    j = np.arange(max(first, 0) - first + reach, dtype=np.float64)
    k = j + first
    around = np.arange(-reach, reach + 1, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):  # to infinity, whose exponential is 0
        gain = -np.expm1(-(excess + j * float(shift / variance)))
        total = float(np.sum(np.exp(-k * k / (2 * tau)) * gain))
        return total / float(np.sum(np.exp(-around * around / (2 * tau))))


def _by_integrals(variance: Fraction, shift: int, epsilon: Fraction, start: int) -> float:
    """Bound the first tail from above and the second from below by integrals; valid for any start.

    The exponents -(t-½)²/2τ and ε - (t+d-½)²/2τ are formed as rationals, for the same reason.
    """
    from scipy.special import erfcx  # noqa: PLC0415 - heavy

    sigma, root = sqrt(variance), sqrt(2)
    low, high = (start - 0.5) / sigma, (start + shift - 0.5) / sigma  # high > 0, for its loss is above ε ≥ 0
    falls = [Fraction((2 * t - 1) ** 2) / (8 * variance) for t in (start, start + shift)]
    exponents = (-falls[0], epsilon - falls[1])
    if exponents[1] > _TOO_STEEP:
        return 1.0  # the loss changes too fast from cell to cell for integrals to bound it
    density, weight = (exp(float(max(exponent, Fraction(-10_000)))) for exponent in exponents)
    first = density * float(erfcx(low / root)) / 2 if low > 0 else erfc(low / root) / 2
    second = weight * float(erfcx(high / root)) / 2
    slack = (_variation(low, density) + _variation(high, weight)) / (8 * float(variance) * sqrt(2 * pi))
    return (first - second) + slack * _UP + (first + second) * 1e-12 + 1e-300


def _variation(x: float, weight: float) -> float:
    """Bound σ·c times the variation of f' on [xσ, ∞), where weight = c·f(xσ) and c ≥ 1 for x < 1, c = 1 for x < 0."""
    if x >= 1:
        return x * weight
    return 4 * exp(-0.5) * (weight * exp(x * x / 2) if x > 0 else 1.0)


NoisyVector = tuple[Fraction, int, int]
"""A vector: its variance, the largest squared L2 distance of neighbours, and how many coordinates may differ."""


def joint_delta(vectors: Sequence[NoisyVector], epsilon: Fraction) -> float:
    """Return an upper bound of δ(ε) for several independent vectors of discrete Gaussian noise together.

    >>> vector = (Fraction(10**10), 5 * 10**7, 2)
    >>> joint_delta([vector, vector], Fraction(1, 4)) < 1.001 * gaussian_delta(0.1, 0.25)
    True
    """
    return adaptive_delta([vectors], epsilon)


def adaptive_delta(schedules: Sequence[Sequence[NoisyVector]], epsilon: Fraction) -> float:
    """Return an upper bound of δ(ε) for draws whose schedule, one of several, earlier outputs choose.

    Different outputs may come from different schedules. So the largest Σ Sᵢ/τᵢ, Σ mᵢbᵢ, Σ aᵢ and number of vectors of
    any schedule are used together.
    """
    moved = max(sum((square / variance for variance, square, _ in vectors), Fraction(0)) for vectors in schedules)
    by_zcdp = delta_of_zcdp(float(moved / 2) * _UP, float(epsilon))
    if any(variance < 1 for vectors in schedules for variance, _, _ in vectors):
        return by_zcdp
    return min(by_zcdp, _by_comparison(schedules, float(epsilon)))


def _by_comparison(schedules: Sequence[Sequence[NoisyVector]], epsilon: float) -> float:
    """Return bound 2 of the module at the best of a few λ; 1 if the comparison costs more than all of ε."""
    moved = max(sum((square / variance for variance, square, _ in vectors), Fraction(0)) for vectors in schedules)
    mu, number = sqrt(moved) * (1 + 2.0**-50), max(map(len, schedules))
    tail = epsilon - log(max(gaussian_delta(mu, epsilon), 1e-300)) + log(number)
    bounds = []
    for lam in (tail + extra for extra in (2.0, 4.0, 8.0, 16.0, 32.0)):
        factors = [_factors(vectors, lam) for vectors in schedules]
        more, up = (max(each) for each in zip(*factors, strict=True))
        inner = epsilon - (more + up) * _UP
        if inner < 0 or more > 1:  # a comparison that far off is useless
            bounds.append(1.0)
        else:
            bounds.append(exp(more) * (gaussian_delta(mu, inner) + number * exp(inner - lam)) * _UP)
    return min(bounds)


def _factors(vectors: Sequence[NoisyVector], lam: float) -> tuple[float, float]:
    """Return Σ mᵢbᵢ and Σ aᵢ."""
    more = up = 0.0
    for variance, _, m in vectors:
        tau = float(variance)
        length = (sqrt(tau * (m + 2 * sqrt(m * lam) + 2 * lam)) + sqrt(m) / 2) ** 2
        more += -log1p(-1 / (24 * tau)) * m
        up += length / (24 * tau * tau) + m * 3 * exp(-2 * pi * pi * tau)
    return more, up


def two_sided_quantile(variance: Fraction, beta: float) -> int:
    """Return the least t ≥ 0 with Pr[|K| ≤ t] ≥ 1-β (within 1e-9 of β)."""
    tau = float(variance)
    low, high = -1, ceil(sqrt(tau) * sqrt(2 * log(4 / beta))) + 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if outside(tau, middle) <= beta else (middle, high)
    return high


def outside(tau: float, t: int) -> float:
    """Return Pr[|K| > t], rounded up."""
    if tau > _TERMWISE**2:
        x = (t + 0.5) / sqrt(tau)
        return erfc(x / sqrt(2)) + 2 * _variation(x, exp(-x * x / 2)) / (8 * tau * sqrt(2 * pi))
    reach = ceil(14 * sqrt(tau)) + 2
    k = np.arange(t + 1, t + reach, dtype=np.float64)
    around = np.arange(-reach, reach + 1, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        beyond, whole = (float(np.sum(np.exp(-x * x / (2 * tau)))) for x in (k, around))
    return 2 * beyond / whole
