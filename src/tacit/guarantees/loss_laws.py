"""The exact law of the privacy loss of one event: its cumulants, its tail and its δ(ε), in long decimals.

L = ln P/Q under P, for the pair (P, Q) by which `pld.laws` prices the event. For each event

    tail(x) = Pr[L > x],     hinge(x) = E[(1 - e^(x-L))₊] = P[L > x] - e^x·Q[L > x] = δ(x)     for x ≥ 0.

All pairs here are symmetric: -L under Q has the law of L under P, so Q[L > x] = P[L < -x].

| event | law of L under P |
|---|---|
| randomized response, any ε-DP release | ±ε with masses 1/(1+e^(-ε)) and 1/(1+e^ε) |
| any (ε,δ)-DP release | ∞ with mass δ, else as above |
| discrete Laplace, shift N, r = e^(-1/s) | (N-2j)/s; mass 1/(1+r) at 0, (1-r)/(1+r)·r^j between, r^N/(1+r) at N |
| Laplace, ε = Δ/s | ½ at ε, ½e^(-ε) at -ε, density ¼e^(-(ε-x)/2) between |
| Gaussian, μ = Δ/σ | N(μ²/2, μ²) |
| discrete Gaussian, τ = σ², shift d | (2Kd + d²)/2τ with K the noise |
| selection of bounded range ε | density e^(x/2)/(4·sinh(ε/2)) on [-ε, ε], which dominates all pairs: see `pld.laws` |

**Cumulants.** Losses of independent releases add, and so do their cumulants κ. Those of a law with raw moments m are
κ_n = m_n - Σ_{0<k<n} C(n-1,k-1)·κ_k·m_{n-k}. The sums S_n = Σ_{0≤j<N} jⁿrʲ satisfy
(1-r)·S_n = [n = 0] - Nⁿr^N + r·Σ_{k<n} C(n,k)·S_k, and I_n = ∫xⁿe^(x/2) is 2xⁿe^(x/2) - 2n·I_{n-1}.

**Discrete Gaussian noise.** If a vector moves by v, κ_n = (Σvᵢⁿ)·κ_n(K)/τⁿ for n ≥ 2, and κ₁ = ‖v‖²/2τ since
E[K] = 0. Odd κ_n(K) vanish. So the first three cumulants depend on ‖v‖² alone. For τ ≥ 16, Poisson summation gives
E[e^(tK)] = e^(τt²/2)·θ(t)/θ(0) with θ(t) = 1 + 2Σ_{m≥1} e^(-2π²τm²)·cos(2πmτt): the cumulants are those of N(0, τ) up
to 2e^(-2π²τ)·(2πτ)ⁿ, which is below 1e-56 for n ≤ 40.

The formulas cancel digits, so callers compute with more and more digits until the result no longer changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from math import ceil, comb, floor, isqrt
from typing import Protocol

from tacit.guarantees.conversions import as_decimal
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    PureRelease,
    RandomizedBit,
    Unsampled,
)

Cumulants = list[Decimal]
"""κ₁, κ₂, …"""

_SMOOTH = 16
_TERMWISE = 4096**2
_SAME_FOR_ALL_SHAPES = 3


class LossLaw(Protocol):
    """The law of one privacy loss."""

    @property
    def infinite(self) -> Fraction:
        """The probability of an infinite loss."""

    @property
    def orders(self) -> int | None:
        """The number of cumulants that are known; None for all of them."""

    def cumulants(self, order: int) -> Cumulants:
        """Return the first cumulants of the finite losses, to about the current precision."""

    def tails(self, x: Fraction) -> tuple[Decimal, Decimal] | None:
        """Return P[L > x] and Q[L > x]; None if there is no closed form."""


def from_moments(moments: list[Decimal]) -> Cumulants:
    """Return the cumulants of a law from its raw moments, both from the first one on.

    >>> from_moments([Decimal(1), Decimal(3)])
    [Decimal('1'), Decimal('2')]
    """
    found: Cumulants = []
    for n, moment in enumerate(moments, 1):
        known = sum((comb(n - 1, k - 1) * found[k - 1] * moments[n - k - 1] for k in range(1, n)), Decimal(0))
        found.append(moment - known)
    return found


def to_moment(cumulants: Cumulants, order: int) -> Decimal:
    """Return the raw moment of an order: m_n = Σ_{1≤k≤n} C(n-1,k-1)·κ_k·m_{n-k}.

    >>> to_moment([Decimal(1), Decimal(2)], 2)
    Decimal('3')
    """
    moments = [Decimal(1)]
    for n in range(1, order + 1):
        terms = (comb(n - 1, k - 1) * cumulants[k - 1] * moments[n - k] for k in range(1, n + 1))
        moments.append(sum(terms, Decimal(0)))
    return moments[order]


@dataclass(frozen=True, slots=True)
class ResponseLaw:
    """Randomized response, which also prices any (ε,δ)-DP release: ±ε, and ∞ with probability δ."""

    epsilon: Fraction
    infinite: Fraction = Fraction(0)
    orders: int | None = None

    def cumulants(self, order: int) -> Cumulants:
        """Return the cumulants from the two masses."""
        e = as_decimal(self.epsilon)
        kept = 1 / (1 + (-e).exp())
        return from_moments([e**n * (kept + (-1) ** n * (1 - kept)) for n in range(1, order + 1)])

    def tails(self, x: Fraction) -> tuple[Decimal, Decimal]:
        """Return P[L > x] and Q[L > x]."""
        e, left = as_decimal(self.epsilon), as_decimal(1 - self.infinite)
        kept, seen = 1 / (1 + (-e).exp()), as_decimal(self.infinite)
        if x >= self.epsilon:
            return seen, Decimal(0)
        if x >= -self.epsilon:
            return seen + left * kept, left * kept * (-e).exp()
        return Decimal(1), left


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLaw:
    """Discrete Laplace noise of scale s on an integer that moves by N."""

    scale: Fraction
    shift: int
    infinite: Fraction = Fraction(0)
    orders: int | None = None

    def cumulants(self, order: int) -> Cumulants:
        """Return those of (N-2J)/s from the moments of J."""
        s, n_steps = as_decimal(self.scale), Decimal(self.shift)
        r, last = (-1 / s).exp(), (-n_steps / s).exp()
        sums: list[Decimal] = []
        for n in range(order + 1):
            known = sum((comb(n, k) * sums[k] for k in range(n)), Decimal(0))
            sums.append((int(n == 0) - (n_steps**n if n else 1) * last + r * known) / (1 - r))
        inner = [(1 - r) / (1 + r) * total for total in sums]
        found = from_moments([inner[n] + n_steps**n * last / (1 + r) for n in range(1, order + 1)])
        scaled = [(-2 / s) ** n * each for n, each in enumerate(found, 1)]
        return [scaled[0] + n_steps / s, *scaled[1:]]

    def tails(self, x: Fraction) -> tuple[Decimal, Decimal]:
        """Return 1 - r^m/(1+r) and r^(N-m+1)/(1+r), m the number of j with (N-2j)/s > x."""
        number = min(max(ceil((self.shift - x * self.scale) / 2), 0), self.shift + 1)
        if number == 0:
            return Decimal(0), Decimal(0)
        if number == self.shift + 1:
            return Decimal(1), Decimal(1)
        s = as_decimal(self.scale)
        norm = 1 + (-1 / s).exp()
        return 1 - (-number / s).exp() / norm, ((number - self.shift - 1) / s).exp() / norm


@dataclass(frozen=True, slots=True)
class LaplaceLaw:
    """Continuous Laplace noise, ε = Δ/s."""

    epsilon: Fraction
    infinite: Fraction = Fraction(0)
    orders: int | None = None

    def cumulants(self, order: int) -> Cumulants:
        """Return the cumulants from the two atoms and the density between them."""
        e = as_decimal(self.epsilon)
        least, inner = (-e).exp(), _exponential_moments(e, order)
        weight = (-e / 2).exp() / 4
        ends = [(e**n + (-e) ** n * least) / 2 for n in range(1, order + 1)]
        return from_moments([end + weight * inner[n] for n, end in enumerate(ends, 1)])

    def tails(self, x: Fraction) -> tuple[Decimal, Decimal]:
        """Return 1 - ½e^(-(ε-x)/2) and ½e^(-(ε+x)/2)."""
        if x >= self.epsilon or x < -self.epsilon:
            return (Decimal(0), Decimal(0)) if x > 0 else (Decimal(1), Decimal(1))
        e, at = as_decimal(self.epsilon), as_decimal(x)
        return 1 - ((at - e) / 2).exp() / 2, (-(e + at) / 2).exp() / 2


@dataclass(frozen=True, slots=True)
class BoundedRangeLaw:
    """A selection of bounded range ε: density e^(x/2)/(4·sinh(ε/2)) on [-ε, ε]."""

    epsilon: Fraction
    infinite: Fraction = Fraction(0)
    orders: int | None = None

    def _weight(self) -> Decimal:
        e = as_decimal(self.epsilon)
        return 1 / (2 * ((e / 2).exp() - (-e / 2).exp()))

    def cumulants(self, order: int) -> Cumulants:
        """Return the cumulants from the density."""
        inner, weight = _exponential_moments(as_decimal(self.epsilon), order), self._weight()
        return from_moments([weight * each for each in inner[1:]])

    def tails(self, x: Fraction) -> tuple[Decimal, Decimal]:
        """Return the integrals of e^(y/2) and of e^(-y/2) from x to ε."""
        e, at = as_decimal(self.epsilon), as_decimal(min(max(x, -self.epsilon), self.epsilon))
        above, below = ((sign * e / 2).exp() - (sign * at / 2).exp() for sign in (1, -1))
        return 2 * self._weight() * above, -2 * self._weight() * below


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """Continuous Gaussian noise: L is N(μ²/2, μ²)."""

    mu_squared: Fraction
    infinite: Fraction = Fraction(0)
    orders: int | None = None

    def cumulants(self, order: int) -> Cumulants:
        """Return μ²/2 and μ²; all others are 0."""
        square = as_decimal(self.mu_squared)
        return [square / 2, square, *[Decimal(0)] * order][:order]

    def tails(self, _: Fraction) -> None:
        """Return None: callers take the normal tail in floats."""


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLaw:
    """Discrete Gaussian noise on integers that move by √S in L2, in up to `coordinates` of them."""

    variance: Fraction
    squared: int
    coordinates: int
    infinite: Fraction = Fraction(0)

    @property
    def _moved(self) -> int:
        """The largest squared move: that of one integer is a square."""
        return isqrt(self.squared) ** 2 if self.coordinates == 1 else self.squared

    @property
    def orders(self) -> int | None:
        """All orders for one integer and for σ ≥ 4, else the three that are the same for all shapes of the move."""
        return None if self.coordinates == 1 or self.variance >= _SMOOTH else _SAME_FOR_ALL_SHAPES

    def cumulants(self, order: int) -> Cumulants:
        """Return S/2τ, then κ_n(K)·dⁿ/τⁿ."""
        tau, moved = as_decimal(self.variance), Decimal(self._moved)
        noise = self._noise_cumulants(order)
        shift = moved.sqrt() / tau
        rest = [noise[n - 1] * (moved / tau**2 if n == 2 else shift**n) for n in range(2, order + 1)]  # noqa: PLR2004 - exact for the variance
        return [moved / (2 * tau), *rest]

    def _noise_cumulants(self, order: int) -> Cumulants:
        tau = as_decimal(self.variance)
        if self.variance >= _SMOOTH:
            return [Decimal(0), tau, *[Decimal(0)] * order][:order]
        reach = isqrt(ceil(2 * self.variance * (3 * getcontext().prec + 50))) + 2
        weights = [(Decimal(-k * k) / (2 * tau)).exp() for k in range(1, reach)]
        norm = 1 + 2 * sum(weights, Decimal(0))
        even = {
            n: 2 * sum((Decimal(k) ** n * w for k, w in enumerate(weights, 1)), Decimal(0)) / norm
            for n in range(2, order + 1, 2)
        }
        return from_moments([even.get(n, Decimal(0)) for n in range(1, order + 1)])

    def tails(self, x: Fraction) -> tuple[Decimal, Decimal] | None:
        """Return Pr[K ≥ t] and Pr[K ≥ t+d], t the least k with (2kd+d²)/2τ > x; None for vectors and σ > 4096."""
        if self.coordinates > 1 or self.variance > _TERMWISE:
            return None
        shift = isqrt(self.squared)
        start = floor(x * self.variance / shift - Fraction(shift, 2)) + 1
        norm = 1 + 2 * self._sum_from(1)
        return self._beyond(start, norm), self._beyond(start + shift, norm)

    def _beyond(self, start: int, norm: Decimal) -> Decimal:
        """Return Pr[K ≥ t]."""
        return self._sum_from(start) / norm if start > 0 else 1 - self._sum_from(1 - start) / norm

    def _sum_from(self, start: int) -> Decimal:
        """Return Σ_{k≥t} e^(-k²/2τ) for t ≥ 1.

        The term at t + j is at most e^(-j²/2τ) times the first one, so those left out add less than 1e-45 of the sum.
        """
        tau = as_decimal(self.variance)
        term, factor = (Decimal(-start * start) / (2 * tau)).exp(), (Decimal(-2 * start - 1) / (2 * tau)).exp()
        decay, total = (-1 / tau).exp(), Decimal(0)
        for _ in range(15 * isqrt(ceil(self.variance)) + 30):
            total += term
            term, factor = term * factor, factor * decay
        return total


def _exponential_moments(end: Decimal, order: int) -> list[Decimal]:
    """Return ∫xⁿe^(x/2) dx over [-ε, ε] for n = 0, 1, …, by parts."""
    up, down = (end / 2).exp(), (-end / 2).exp()
    found: list[Decimal] = []
    for n in range(order + 1):
        top = (end**n if n else 1) * up - ((-end) ** n if n else 1) * down
        found.append(2 * top - (2 * n * found[n - 1] if n else 0))
    return found


def loss_law(event: Unsampled) -> LossLaw:  # noqa: PLR0911 - one for each event
    """Return the law by which an event is priced."""
    match event:
        case PureRelease(epsilon=e) | RandomizedBit(epsilon=e):
            return ResponseLaw(e)
        case ApproxRelease(epsilon=e, delta=d):
            return ResponseLaw(e, d)
        case BoundedRange(epsilon=e):
            return BoundedRangeLaw(e)
        case DiscreteLaplaceNoise(scale=s, l1=d):
            return DiscreteLaplaceLaw(s, ceil(d))
        case LaplaceNoise(scale=s, l1=d):
            return LaplaceLaw(d / s)
        case GaussianNoise(sigma=s, l2=d):
            return GaussianLaw((d / s) ** 2)
        case DiscreteGaussianNoise(variance=v, l2_squared=s, coordinates=m):
            return DiscreteGaussianLaw(v, s, m)
