"""The largest deviation of the number of "yes" answers under randomized response, from its exact tails.

Of n bits m are set. Each bit is flipped with probability q < 1/2. With A flips among the m and B among the others, the
number of "yes" answers deviates from its mean by D = B - A - s·q, s = n - 2m, where A and B are binomial and
independent. m is private, so a bound must hold for every m: `deviation` returns a t with Pr[|D| > t] ≤ β for all m.

**The law.** X, a centered flip, has the characteristic function φ(ω) = e^(-iqω)·(p + q·e^(iω)) = |φ|·e^(iθ), with
|φ|² = 1 - 4pq·sin²(ω/2). D is the sum of n - m copies of X and m copies of -X, so it has |φ|^n·e^(isθ). The values of
D are 1 apart. For K of them in a row, with the center c,

    S_K(s, c) = Pr[D is one of them] = (1/π)·∫₀^π |φ(ω)|^n·cos(s·θ(ω) - c·ω)·sin(Kω/2)/sin(ω/2) dω.

**All m one by one**, if the bits or the flips are few. For each m the law of B - A comes from a Fourier transform over
more points than B - A has values, except with probability 1e-13. t is the largest, over all m, of the least |D| for
which the probability beyond it is at most β.

**No flip.** If some bit is flipped with probability 1 - (1-q)^n ≤ β, then |D| = |s|·q ≤ n·q otherwise, and t = n·q.

**All m together.** S_K is bounded from below for all real s from -n to n and all centers c, which includes every m.
Since S_K(-s, -c) = S_K(s, c), s ≥ 0 is enough. S_K is evaluated on a grid of s and c with steps g and h. Between the
nodes it is at least their least value minus (g²/8)·M + (h²/8)·N, where M and N bound |∂²S_K/∂s²| and |∂²S_K/∂c²|:
bilinear interpolation errs by no more than that, and its value is between those of the nodes. M and N are the integrals
with θ² or ω² in place of the cosine, and the absolute value of the last factor. The grid is finer if β is small.

Let t = K/2 - r for a whole K and 0 ≤ r ≤ 1/2. The interval from -t to t holds K or K - 1 values of D: it holds K - 1 if
and only if their center c satisfies |c| < r, and otherwise K with |c| ≤ 1/2 - r. (K - 1 values in a row span K - 2. The
ones before and after are outside, so |c| + t < K/2. K values span K - 1 ≤ 2t, so |c| ≤ t - (K-1)/2.) So t is a bound if
S_{K-1}(s, c) ≥ 1 - β for all |c| ≤ r, and S_K(s, c) ≥ 1 - β for all |c| ≤ 1/2.  ∎

**On floats.** The integrand is analytic, and |φ|^n is below e^-41 beyond the cutoff. It has at most 40 oscillations, so
Gauss-Legendre quadrature with 256 nodes is exact up to rounding. A probability of `_SLACK` covers rounding, the cutoff
and the error of p and q, which is a few units in the last place. For β below `_LEAST` there is no bound here.
"""

from __future__ import annotations

from functools import lru_cache
from math import asin, ceil, exp, expm1, inf, log, log1p, pi, sqrt

import numpy as np

from tacit.arrays import Floats

_MOST_CHANCES = 2**18
_LEAST = 1e-9
_SLACK, _UNSEEN = 1e-11, 1e-13
_COARSE, _FINE = 16, 96
_CUTOFF = 82.0
_NODES = 256
_PART = 0.02
"""The part of β that interpolation may use, if the grid is fine enough."""
_UP = 1 + 2.0**-40


def deviation(n: int, epsilon: float, beta: float) -> float:
    """Return a t such that for every number of bits that are set |D| > t with probability at most β.

    It is infinite if β is too small for the accuracy of floats.

    >>> round(deviation(100, 1.0, 0.05), 3)
    9.0
    """
    if beta < _LEAST:
        return inf
    flip = exp(-epsilon) / (1 + exp(-epsilon))
    if -expm1(n * log1p(-flip)) <= beta - _SLACK:
        return _UP * n * flip
    most = min(n, ceil(n * flip + n * bernstein(n, flip, _UNSEEN)))  # of |B - A|
    size = 2 << most.bit_length()
    if (n // 2 + 1) * size <= _MOST_CHANCES:
        return _UP * _one_by_one(n, flip, beta - _SLACK, size)
    return _UP * _together(n, flip, beta - _SLACK)


def bernstein(n: int, flip: float, beta: float) -> float:
    """Return λ/3 + √(λ²/9 + 2λpq), λ = ln(2/β)/n, which |D|/n exceeds with probability at most β.

    Each centered flip is within 1 and has variance pq (Boucheron, Lugosi and Massart 2013, corollary 2.11).
    """
    rate = log(2 / beta) / n
    return rate / 3 + sqrt(rate * rate / 9 + 2 * rate * flip * (1 - flip))


def _one_by_one(n: int, flip: float, beta: float, size: int) -> float:
    """Return the largest, over all m, of the least |D| beyond which the probability is at most β."""
    root = (1 - flip) + flip * np.exp(2j * pi * np.arange(size) / size)
    signs = n - 2.0 * np.arange(n // 2 + 1)  # s, and -s has the same |D|
    turns = np.exp(1j * signs[:, None] * np.angle(root)[None, :])
    chances = np.fft.fft(np.abs(root)[None, :] ** n * turns, axis=1).real / size
    values = np.fft.fftfreq(size, 1 / size)  # B - A, from -size/2 on
    distances = np.abs(values[None, :] - signs[:, None] * flip)
    order = np.argsort(distances, axis=1)
    chances, distances = (np.take_along_axis(each, order, axis=1) for each in (chances, distances))
    beyond = np.cumsum(np.maximum(chances, 0.0)[:, ::-1], axis=1)[:, ::-1]  # at least as far
    first = np.argmax(beyond <= beta, axis=1)  # the first that may be outside; the farthest has no chance
    return float(np.take_along_axis(distances, np.maximum(first - 1, 0)[:, None], axis=1).max())


def _together(n: int, flip: float, beta: float) -> float:
    """Return K/2 - r for the least K that is found, and the largest r of the grid; infinity if there is no such K."""
    spans, low, high = _Spans(n, flip, beta), 0, max(2, ceil(4 * sqrt(n * flip * (1 - flip))))
    while not spans.hold(high, 0.5):
        low, high = high, 2 * high
        if high > n:
            return inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if spans.hold(middle, 0.5) else (middle, high)
    inner = [r for r in spans.radii if spans.hold(high - 1, r)]
    return high / 2 - max(inner, default=0.0)


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Floats, Floats]:
    """Return the nodes and the weights on the interval from 0 to 1."""
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    return (points + 1) / 2, weights / 2


class _Spans:
    """Lower bounds of S_K for all numbers of bits that are set, by K and the largest |center|."""

    def __init__(self, n: int, flip: float, beta: float) -> None:
        """Evaluate all factors of the integrand that do not depend on K."""
        variance = flip * (1 - flip)
        part = -expm1(-_CUTOFF / n) / (4 * variance)
        last = pi if part >= 1 else 2 * asin(sqrt(part))
        points, weights = _quadrature()
        omega = self._omega = points * last
        decay = np.exp(n / 2 * np.log1p(-4 * variance * np.sin(omega / 2) ** 2)) * weights * last / pi
        theta = np.arctan2(flip * np.sin(omega), 1 - flip + flip * np.cos(omega)) - flip * omega
        bends = decay * ((n * theta) ** 2 + omega**2) / 8
        largest = float(bends @ (1 / np.sin(omega / 2)))
        grid = min(_FINE, _COARSE * ceil(max(1.0, sqrt(largest / (_PART * beta)) / _COARSE)))
        signs, self._centers = np.linspace(0, n, grid + 1), np.linspace(-0.5, 0.5, grid + 1)
        phases = signs[:, None, None] * theta - self._centers[None, :, None] * omega
        self._values: Floats = np.cos(phases) * decay
        self._bends: Floats = bends / grid**2
        self._beta = beta

    @property
    def radii(self) -> list[float]:
        """The centers of the grid between 0 and 1/2."""
        return [float(center) for center in self._centers if 0 < center < 0.5]  # noqa: PLR2004 - half a step

    def hold(self, count: int, most: float) -> bool:
        """Return whether `count` values in a row have probability ≥ 1 - β, for all centers up to `most`."""
        kernel: Floats = np.sin(count * self._omega / 2) / np.sin(self._omega / 2)
        inside = np.abs(self._centers) <= most * _UP
        least = float((self._values[:, inside, :] @ kernel).min())
        return least - float(self._bends @ np.abs(kernel)) >= 1 - self._beta
