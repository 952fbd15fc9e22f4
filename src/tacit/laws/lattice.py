"""The two laws of noise on the integers, in grid steps.

Both are symmetric, so Pr[K ≥ k] for k ≥ 1, the *upper tail*, fixes the rest: Pr[K > k] = upper(k+1) for k ≥ 0 and
1 - upper(-k) for k < 0, and Pr[K ≤ k] = Pr[K > -k-1]. No difference of close numbers occurs, as upper(1) < 1/2.

**Discrete Laplace**, a = 1/s, r = e^(-a): Pr[k] = tanh(a/2)·r^|k|, upper(k) = r^k/(1+r), variance 2r/(1-r)².

**Discrete Gaussian**, τ = σ², f(x) = e^(-x²/2τ): Pr[k] = f(k)/Z. By Poisson summation Z = Σ f(k) =
σ√2π·Σ e^(-2π²τj²); the first sum is used for τ < 1, the second for τ ≥ 1. For σ ≤ 256 the upper tails are sums of f
from the far end. For larger σ they are integrals with three terms of the Euler-Maclaurin formula for midpoints,
x = k - 1/2:

    Σ_{j≥k} f(j) = ∫_x^∞ f + f'(x)/24 - 7f'''(x)/5760 + 31f⁽⁵⁾(x)/967680 - …

In the tail f⁽ⁱ⁾ is about (x/τ)ⁱ·f, and x/τ is at most 39/σ where f is above the smallest float, so the next term is
below 1e-12 of the sum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, expm1, pi, sqrt, tanh

import numpy as np

from tacit.arrays import Bools, Floats

_TERMS = 256.0
_FAR = 40.0
_TURNS = 64


class LatticeLaw(ABC):
    """A symmetric law on the integers, as functions of arrays of floats that hold integers or infinities."""

    variance: float

    @property
    @abstractmethod
    def std(self) -> float:
        """The standard deviation; not from the variance, which may be too small for a float."""

    @abstractmethod
    def exponent(self, k: Floats) -> Floats:
        """Return ln(Pr[K = k]/Pr[K = 0])."""

    @property
    @abstractmethod
    def _peak(self) -> float:
        """Pr[K = 0]."""

    def mass(self, k: Floats) -> Floats:
        """Return Pr[K = k]."""
        return np.asarray(self._peak * np.exp(self.exponent(k)))

    @abstractmethod
    def upper(self, k: Floats) -> Floats:
        """Return Pr[K ≥ k] for k ≥ 1."""

    @abstractmethod
    def _lower_guess(self, p: Floats) -> Floats:
        """Return an integer near the p-quantile for 0 < p ≤ 1/2."""

    def sf(self, k: Floats) -> Floats:
        """Return Pr[K > k]."""
        return np.where(k >= 0, self.upper(np.maximum(k, 0) + 1), 1 - self.upper(np.maximum(-k, 1)))

    def cdf(self, k: Floats) -> Floats:
        """Return Pr[K ≤ k]."""
        return self.sf(-k - 1)

    def quantile(self, p: Floats) -> Floats:
        """Return the least k with Pr[K ≤ k] ≥ p; minus infinity for 0, infinity for 1.

        The comparison uses `cdf`, so quantile(cdf(k)) = k wherever the floats of the cdf differ.
        """
        inside = np.clip(p, 1e-320, 1 - 2.0**-53)
        low = np.minimum(inside, 1 - inside)
        k = np.where(inside <= 0.5, self._lower_guess(low), -self._lower_guess(low))  # noqa: PLR2004 - the middle
        k = _moved(k, 1.0, lambda at: self.cdf(at) < inside)
        k = _moved(k, -1.0, lambda at: self.cdf(at - 1) >= inside)
        k = np.where(inside >= 0.5, np.maximum(k, 0.0), np.minimum(k, 0.0))  # noqa: PLR2004 - cdf(-1) < 1/2 < cdf(0)
        return np.where(p <= 0, -np.inf, np.where(p >= 1, np.inf, k + 0.0))


def _moved(k: Floats, step: float, wrong: Callable[[Floats], Bools]) -> Floats:
    """Move the integers that are wrong by one step at a time, until none is; they are a few steps off at most."""
    for _ in range(_TURNS):
        off = wrong(k)
        if not off.any():
            break
        k = k + step * off
    return k


@dataclass(frozen=True)
class DiscreteLaplace(LatticeLaw):
    """Pr[k] = tanh(1/2s)·e^(-|k|/s).

    >>> law = DiscreteLaplace(Fraction(10))
    >>> round(float(law.mass(np.array(0.0))), 6), round(law.variance, 3)
    (0.049958, 199.833)
    """

    scale: Fraction

    @cached_property
    def _decay(self) -> float:
        return float(1 / self.scale)

    @cached_property
    def variance(self) -> float:  # type: ignore[override]  # computed once
        """2r/(1-r)²."""
        return 2 * exp(-self._decay) / expm1(-self._decay) ** 2

    @property
    def std(self) -> float:
        """√(2r)/(1-r)."""
        return sqrt(2) * exp(-self._decay / 2) / -expm1(-self._decay)

    @property
    def _peak(self) -> float:
        return tanh(self._decay / 2)

    def exponent(self, k: Floats) -> Floats:
        """Return -|k|/s."""
        return np.asarray(-self._decay * np.abs(k))

    def upper(self, k: Floats) -> Floats:
        """Return Pr[K ≥ k] for k ≥ 1."""
        return np.asarray(np.exp(-self._decay * k) / (1 + exp(-self._decay)))

    def _lower_guess(self, p: Floats) -> Floats:
        return np.minimum(np.ceil(np.log(p * (1 + exp(-self._decay))) / self._decay), 0.0)


@dataclass(frozen=True)
class DiscreteGaussian(LatticeLaw):
    """Pr[k] = e^(-k²/2τ)/Z.

    >>> law = DiscreteGaussian(Fraction(100))
    >>> round(float(law.mass(np.array(0.0))), 6), round(law.variance, 6)
    (0.039894, 100.0)
    """

    parameter: Fraction
    """τ, which is the variance up to e^(-2π²τ)."""

    @cached_property
    def _tau(self) -> float:
        return float(self.parameter)

    @cached_property
    def _sigma(self) -> float:
        return sqrt(self._tau)

    @cached_property
    def _total(self) -> float:
        """Z."""
        j = np.arange(1.0, 41.0)
        if self._tau < 1:
            return float(1 + 2 * np.exp(-j * j / (2 * self._tau)).sum())
        return float(sqrt(2 * pi) * self._sigma * (1 + 2 * np.exp(-2 * pi * pi * self._tau * j * j).sum()))

    @cached_property
    def variance(self) -> float:  # type: ignore[override]  # computed once
        """Σk²·f(k)/Z."""
        if self._tau >= 16:  # noqa: PLR2004 - from here on it is τ, to all digits
            return self._tau
        k = np.arange(1.0, 200.0)
        return float(2 * (k * k * self.mass(k)).sum())

    @cached_property
    def std(self) -> float:
        """√(Σk²·f(k)/Z); with e^(-1/4τ), the root of f(1), as a factor."""
        if self._tau >= 16:  # noqa: PLR2004 - as for the variance
            return self._sigma
        k = np.arange(1.0, 200.0)
        with np.errstate(under="ignore"):
            squares = k * k * np.exp((1 - k * k) / (2 * self._tau))
        return sqrt(2 * float(squares.sum()) / self._total) * exp(-1 / (4 * self._tau))

    @property
    def _peak(self) -> float:
        return 1 / self._total

    def exponent(self, k: Floats) -> Floats:
        """Return -k²/2τ."""
        return np.asarray(-k * k / (2 * self._tau))

    @cached_property
    def _tails(self) -> Floats:
        """Σ_{j≥k} f(j) for k = 0, 1, …, until it is 0."""
        j = np.arange(np.ceil(_FAR * self._sigma) + 2)
        return np.append(np.cumsum(np.exp(-j * j / (2 * self._tau))[::-1])[::-1], 0.0)

    def upper(self, k: Floats) -> Floats:
        """Return Pr[K ≥ k] for k ≥ 1."""
        if self._sigma <= _TERMS:
            index = np.minimum(k, self._tails.size - 1).astype(np.int64)
            return np.asarray(self._tails[index] / self._total)
        return self._by_integral(np.minimum(k - 0.5, _FAR * self._sigma)) / self._total

    def _by_integral(self, x: Floats) -> Floats:
        """Return the sum of f over all integers beyond x, for x half-way between two integers."""
        from scipy.special import erfcx  # noqa: PLC0415 - heavy

        tau, y = self._tau, x / self._tau
        area = sqrt(pi / 2) * self._sigma * erfcx(x / (sqrt(2) * self._sigma))
        first, third = -y, 3 * y / tau - y**3
        fifth = -(y**5) + 10 * y**3 / tau - 15 * y / tau**2
        factor = area + first / 24 - 7 * third / 5760 + 31 * fifth / 967_680
        return np.asarray(np.exp(-x * x / (2 * tau)) * factor)

    def _lower_guess(self, p: Floats) -> Floats:
        from scipy.special import ndtri  # noqa: PLC0415 - heavy

        return np.minimum(np.ceil(self._sigma * ndtri(p) - 0.5), 0.0)


def sum_tail(first: DiscreteLaplace, second: DiscreteLaplace, k: Floats) -> Floats:
    """Return Pr[K₁ + K₂ ≥ k] for independent discrete Laplace variables.

    With the variance V = 2r/(1-r)², the characteristic function of K is 1/(1 + V·(1 - cos ω)). So by partial fractions
    the law of the sum is (V₁·law₁ - V₂·law₂)/(V₁ - V₂) if the variances differ. If they are equal, Pr[K₁ + K₂ = k] =
    tanh²(1/2s)·r^|k|·(|k| + (1+r²)/(1-r²)), and Σ_{j≥k} j·r^j = r^k·(k/(1-r) + r/(1-r)²). Scales that differ by little
    would lose digits; those of a mechanism are equal, or differ by a quarter or more.

    >>> law = DiscreteLaplace(Fraction(1))
    >>> round(float(sum_tail(law, law, np.array(1.0))), 4)
    0.3598
    """
    wide, narrow = (first, second) if first.scale >= second.scale else (second, first)
    above = np.maximum(k, 1 - k)  # Pr[S ≥ k] = 1 - Pr[S ≥ 1-k]
    if first.scale == second.scale:
        r, a = exp(-float(1 / first.scale)), float(1 / first.scale)
        less, more = -expm1(-a), -expm1(-2 * a)
        weight = (above / less + r / less**2) + (1 + r * r) / (more * less)
        tail = tanh(a / 2) ** 2 * np.exp(-a * above) * weight
    else:
        ratio = narrow.variance / wide.variance if wide.variance else 0.0
        tail = (wide.upper(above) - ratio * narrow.upper(above)) / (1 - ratio)
    return np.asarray(np.where(k >= 1, tail, 1 - tail))
