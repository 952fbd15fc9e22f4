"""Prices of events and upper bounds of δ, for the check of a receipt. Every rounding is upwards.

A privacy-loss law has masses, in units of 2^-192, at the losses (start + i)·h, and one of infinite loss. An atom in
between is split between them such that its mass under the second table, p·e^(-loss), stays what it is. The pair
dominates the atom (Doroshenko et al., arXiv:2207.04380v1), and larger losses only raise δ(ε) = Σ p·(1 - e^(ε - loss))₊.
Composition is convolution: of integers, as digits of two large numbers that are multiplied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt, log
from typing import NamedTuple

from tacit.auditing.receipt_bounds import cut, exp, gaussian_delta, root
from tacit.auditing.receipt_fields import MismatchError
from tacit.guarantees import events as run

Cost = tuple[Fraction, Fraction]
_ONE, _BYTES, _POINTS, _BLOCKS, _NONE = 1 << 192, 52, 4096, 8192, Fraction(0)


class UnpricedError(Exception):
    """A cost for which this check has no rule."""


def cost_of(event: run.Event, *, in_rho: bool) -> Cost:
    """Return (ε, δ) or (ρ, δ): S/2σ² for Gaussian noise, ε²/8 for a bounded range, else min(ε²/2, ε).

    The rules for ρ are those of arXiv:1605.02065v1 and, for a bounded range, of Cesar and Rogers (ALT 2021).
    """
    match event:
        case run.ZCDPRelease() if in_rho:
            return event.rho, _NONE
        case run.DiscreteGaussianNoise() if in_rho:
            return event.l2_squared / (2 * event.variance), _NONE
        case run.GaussianNoise() if in_rho:
            return (event.l2 / event.sigma) ** 2 / 2, _NONE
        case run.DiscreteLaplaceNoise() | run.LaplaceNoise():
            epsilon, delta = event.l1 / event.scale, _NONE
        case run.BoundedRange() | run.PureRelease() | run.RandomizedBit():
            epsilon, delta = event.epsilon, _NONE
        case run.ApproxRelease():
            epsilon, delta = event.epsilon, event.delta
        case run.PoissonSampled():
            raise UnpricedError(f"the price of PoissonSampled in {'ρ' if in_rho else 'ε'}")
        case _:
            raise MismatchError(f"{type(event).__name__} has no price in {'ρ' if in_rho else 'ε'}")
    share = 8 if isinstance(event, run.BoundedRange) else 2
    return (min(epsilon**2 / share, epsilon) if in_rho else epsilon), delta


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return e^((α-1)(αρ-ε))/(α-1)·(1-1/α)^α at a good α > 1 (Canonne et al., arXiv:2004.00010v5, cor. 13)."""

    def size(alpha: float) -> float:
        return (alpha - 1) * (alpha * float(rho) - float(epsilon)) - log(alpha - 1) + alpha * log(1 - 1 / alpha)

    low, high = 1 + 1e-6, min(2 + (float(epsilon) + 1) / float(rho), 1e9)
    for _ in range(100):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, right) if size(left) <= size(right) else (left, high)
    alpha = Fraction((low + high) / 2).limit_denominator(10**12)
    near = Fraction(log(1 - 1 / float(alpha))) + Fraction(1, 10**12)
    logarithm = near if exp(near)[0] >= 1 - 1 / alpha else _NONE  # above ln(1 - 1/α)
    power = cut((alpha - 1) * (alpha * rho - epsilon) + alpha * logarithm, up=True)
    return Fraction(1) if power > 1 else min(Fraction(1), exp(power)[1] / (alpha - 1))


class Vector(NamedTuple):
    """Discrete Gaussian noise: its variance, the largest squared L2 distance, and how many integers can move."""

    variance: Fraction
    square: int
    integers: int


@lru_cache(maxsize=512)
def noise_delta(vectors: tuple[Vector, ...], epsilon: Fraction, enough: Fraction) -> Fraction:
    """Return a number above δ(ε) of several vectors of discrete Gaussian noise: the first one up to `enough`."""
    least = zcdp_delta(sum((each.square / each.variance for each in vectors), _NONE) / 2, epsilon)
    if least > enough and all(each.variance >= 1 for each in vectors):
        least = min(least, _by_comparison(vectors, epsilon, enough))
    if least > enough and all(each.integers == 1 and each.variance < _BLOCKS**2 for each in vectors):
        noise = [run.DiscreteGaussianNoise(variance=v, l2_squared=s, coordinates=1) for v, s, _ in vectors]
        least = min(least, composed_delta(tuple(noise), epsilon))
    return least


def joint_delta(events: tuple[run.Event, ...], epsilon: Fraction, enough: Fraction) -> Fraction:
    """Return a number above δ(ε) of independent events; if all are Gaussian noise, that of `noise_delta`."""
    noise = [each for each in events if isinstance(each, run.DiscreteGaussianNoise)]
    if not noise or len(noise) < len(events):
        return composed_delta(events, epsilon)
    return noise_delta(
        tuple(Vector(each.variance, each.l2_squared, each.coordinates) for each in noise), epsilon, enough
    )


def _by_comparison(vectors: Sequence[Vector], epsilon: Fraction, enough: Fraction) -> Fraction:
    """Return the bound by rounded continuous noise; `guarantees.gaussian_law` has its statement and proof.

    With u = 1/24τ and L ≥ ‖k‖² except with probability e^(-λ): b = -ln(1-u), a = L/24τ² + 3m·e^(-2π²τ), and
    δ ≤ e^(Σmb)·(δ_c(ε-Σmb-Σa) + n·e^(ε-Σmb-Σa-λ)).
    """
    square, least = sum((each.square / each.variance for each in vectors), _NONE), Fraction(1)
    plain = max(gaussian_delta(square, epsilon), Fraction(1, 10**300))
    start = Fraction(float(epsilon) + log(plain.denominator) - log(plain.numerator) + log(len(vectors)))
    for tail in (start + extra for extra in (2, 4, 8, 16, 32)):
        more = up = _NONE
        for tau, _, m in vectors:
            u = 1 / (24 * tau)
            more += m * (u + u * u / 2 + u**3 / (3 * (1 - u)))
            wide = root(tau * (m + 2 * root(m * tail)[1] + 2 * tail))[1] + root(Fraction(m))[1] / 2
            up += wide**2 / (24 * tau**2) + 3 * m * exp(-19 * tau)[1]
        inner = cut(epsilon - more - up, up=False)
        if inner >= 0 and more <= 1 and least > enough:
            rest = len(vectors) * exp(min(inner - tail, _NONE))[1]
            least = min(least, exp(cut(more, up=True))[1] * (gaussian_delta(square, inner) + rest))
    return least


def end_probability(k: int, epsilon: Fraction) -> Fraction:
    """Return a number above r^k·(1-r)/(1+r-2r^(k+1)), r = e^(-ε): that noise cut off at ±k is k; 1 for k = 0.

    It is also 1 if the bounds of r^(k+1) do not show that the denominator is above 0.
    """
    low, end, beyond = exp(-epsilon)[0], exp(-epsilon * k)[1], exp(-epsilon * (k + 1))[1]
    rest = 1 + low - 2 * beyond
    return min(Fraction(1), end * (1 - low) / rest) if k and rest > 0 else Fraction(1)


class _Law(NamedTuple):
    start: int
    masses: Sequence[int]
    infinite: int

    def plus(self, other: _Law) -> _Law:
        """Return the composition. Losses above all points are infinite, and those below all points are raised."""
        parts = [b"".join(mass.to_bytes(_BYTES, "little") for mass in law.masses) for law in (self, other)]
        count, start = len(self.masses) + len(other.masses) - 1, self.start + other.start
        text = (int.from_bytes(parts[0], "little") * int.from_bytes(parts[1], "little")).to_bytes(
            _BYTES * (count + 1), "little"
        )
        found = [-(-int.from_bytes(text[_BYTES * i : _BYTES * (i + 1)], "little") // _ONE) for i in range(count)]
        low, high = min(max(0, -_POINTS - start), count - 1), max(1, _POINTS + 64 - start)
        infinite = self.infinite + other.infinite + sum(found[max(high, low + 1) :])
        return _Law(start + low, [sum(found[: low + 1]), *found[low + 1 : high]], infinite)

    def delta(self, epsilon: Fraction, step: Fraction) -> Fraction:
        """Return δ(ε)."""
        first = max(floor(epsilon / step) + 1, self.start)
        factor, less, total = exp(epsilon - first * step)[0], exp(-step)[0], Fraction(self.infinite)
        for mass in self.masses[first - self.start :]:
            total += mass * (1 - factor)
            factor = cut(factor * less, up=False)
        return min(Fraction(1), cut(total / _ONE, up=True))


@lru_cache(maxsize=128)
def composed_delta(events: tuple[run.Event, ...], epsilon: Fraction) -> Fraction:
    """Return a number above δ(ε) of independent events that are fixed in advance; UnpricedError if one has no law."""
    counts = Counter(events)
    widths = [(_width(event), number) for event, number in counts.items()]
    spread = sum(float(width) ** 2 * number for width, number in widths)
    whole = sum((width * number for width, number in widths), _NONE)
    most = max(min(whole, Fraction(9 * spread**0.5 + 2 * spread) + epsilon), epsilon * 5 / 4, Fraction(1, 10**6))
    places = floor(epsilon * _POINTS / most)
    step = epsilon / places if places else most / _POINTS  # if it can, ε is a point
    total = _Law(0, [_ONE], 0)
    for event, number in counts.items():
        law = _law(event, step)
        for bit in range(number.bit_length()):
            law = law.plus(law) if bit else law
            total = total.plus(law) if number >> bit & 1 else total
    return total.delta(epsilon, step)


def _width(event: run.Event) -> Fraction:
    """Return the largest loss; for Gaussian noise 14 standard deviations of the loss beyond its mean."""
    if isinstance(event, run.DiscreteGaussianNoise):
        mu = root(event.l2_squared / event.variance)[1]
        return 14 * mu + mu * mu / 2
    return cost_of(event, in_rho=False)[0]


def _law(event: run.Event, step: Fraction) -> _Law:
    """Return the law of an event on a grid, from its atoms."""
    infinite, masses = _NONE, Counter[int]()
    match event:
        case run.DiscreteLaplaceNoise():
            atoms = _laplace_atoms(event.scale, ceil(event.l1))
        case run.DiscreteGaussianNoise(coordinates=1) if event.variance < _BLOCKS**2:
            atoms, infinite = _gaussian_atoms(event.variance, isqrt(event.l2_squared)), Fraction(1, 2**180)
        case run.PureRelease() | run.RandomizedBit() | run.ApproxRelease():
            epsilon, infinite = cost_of(event, in_rho=False)  # randomized response is the worst of all
            grown = exp(epsilon)
            atoms = iter(
                [(epsilon, (1 - infinite) * grown[1] / (1 + grown[1])), (-epsilon, (1 - infinite) / (1 + grown[0]))]
            )
        case _:
            raise UnpricedError(f"the privacy-loss law of {type(event).__name__}")
    for loss, mass in atoms:
        place, whole = floor(loss / step), ceil(mass * _ONE)
        u = loss - place * step  # (1 - e^(-u))/(1 - e^(-h)) of the mass goes up
        up = min(whole, ceil(whole * (u - u * u / 2 + u**3 / 6) / (step - step * step / 2)))
        masses[place + 1] += up
        masses[place] += whole - up
    return _Law(min(masses), [masses[i] for i in range(min(masses), max(masses) + 1)], ceil(infinite * _ONE))


def _laplace_atoms(scale: Fraction, shift: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield the losses (N - 2j)/s of a scalar shift N, which is the worst (`guarantees.pld.laws`).

    The masses are 1/(1+r) for j = 0, r^N/(1+r) for j = N, and r^j(1-r)/(1+r) between, with r = e^(-1/s). A block of
    neighbouring j has the loss of its first.
    """
    low, end, block = exp(-1 / scale)[0], shift / scale, -(-shift // _BLOCKS)
    yield end, 1 / (1 + low)
    yield -end, exp(-end)[1] / (1 + low)
    factor, mass = exp(-block / scale), exp(-1 / scale)[1]
    for j in range(1, shift, block):
        yield (shift - 2 * j) / scale, mass * (1 - exp(-min(block, shift - j) / scale)[0]) / (1 + low)
        mass = cut(mass * factor[1], up=True)


def _gaussian_atoms(variance: Fraction, shift: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield the losses (2kd + d²)/2τ of a shift d with the masses e^(-k²/2τ)/Z, up to 16σ; the rest is below 2^-180."""
    sides: list[list[int]] = []
    for end in (0, 1):
        ratio, square, sizes = exp(-1 / (2 * variance))[end], exp(-1 / variance)[end], [_ONE]
        for _ in range(ceil(16 * root(variance)[1])):
            sizes.append(floor(sizes[-1] * ratio) + end)
            ratio = cut(ratio * square, up=bool(end))
        sides.append(sizes)
    norm = 2 * sum(sides[0]) - _ONE
    for k in range(1 - len(sides[0]), len(sides[0])):
        yield Fraction((2 * k + shift) * shift) / (2 * variance), Fraction(sides[1][abs(k)], norm)
