"""Tail bounds of a sum of many independent noises.

X = Σ wⱼ·Xⱼ with Laplace variables Xⱼ of scales bⱼ has the characteristic function φ(u) = Π 1/(1 + (wⱼbⱼu)²), and

    Pr[|X| > t] = 1 - (2/π)·Σ_{j ≥ 0} φ((j + ½)h)·sin((j + ½)h·t)/(j + ½),

except for the mass beyond 2π/h - t (Davies, Biometrika 60(2), 1973). With a standard deviation of 1 and 2π/h = 40 that
mass is below 10^-13 for t ≤ 15. Reason: any such sum has Pr[|X| > t] ≤ 100·e^(-1.4·t), since -ln(1 - x) is
superadditive. So Π 1/(1 - (wⱼbⱼu)²) ≤ 1/(1 - u²/2), which is at most 51 for u = 1.4. The series ends where φ/j is below
10^-10, or after 4,096 terms. One Laplace variable converges slowest; there the rest is below 10^-7. Tails below 10^-6
are bounded by Chernoff instead: Pr[|X| > t] ≤ 2·min_u e^(-ut)·Π 1/(1 - (wⱼbⱼu)²).

The noise that is drawn is a whole number K. A Laplace variable of scale b is K + U - U'. The fractions U, U' in [0, 1)
are independent of K, because an exponential variable's fraction is independent of its whole part. So K is the more
concentrated of the two. Therefore the continuous law is used, and half a step of the largest weight is added for the
grid. For one K that is enough: Pr[|K| ≥ m] = 2r^m/(1 + r) ≤ r^(m-½) = Pr[|X| ≥ m - ½], r = e^(-1/b). It matters only
where the noise hardly spans a step. A discrete Gaussian variable is compared with a normal variable of its parameter σ²
in the same way: E e^(uK) = e^(σ²u²/2)·Σ e^(-(k-σ²u)²/2σ²)/Σ e^(-k²/2σ²), and the quotient is at most 1.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from tacit.arrays import Floats

_PERIOD, _ENOUGH, _SMALL = 40.0, 1e-10, 1e-6
_SIZES = (128, 512, 4096)
_HALVINGS = 40
_FARTHEST = 15.0
_LEFT_OUT = 1e-9  # one Laplace variable, the slowest, is off by less than 6e-10 at tails from 1e-6 on
_PARTS = np.concatenate((np.geomspace(0.02, 0.5, 24), np.linspace(0.53, 0.99, 24), [0.999])).tolist()


def gaussian_reach(variance: float, beta: float) -> float:
    """Return the least t with Pr[|X| > t] ≤ β for a normal variable.

    >>> round(gaussian_reach(1.0, 0.05), 4)
    1.96
    """
    return -NormalDist().inv_cdf(beta / 2) * float(np.sqrt(variance))


def laplace_reach(scales: Floats, counts: Floats, beta: float) -> float:
    """Return t with Pr[|X| > t] ≤ β for a sum of independent Laplace variables, close to the least such t.

    Args:
        scales: the scales of the variables, with their weights; a scale of 0 adds nothing.
        counts: how many variables there are of each scale.
        beta: the probability that the sum is larger.

    >>> one = np.ones(1)
    >>> round(laplace_reach(one, one, 0.05), 4), round(laplace_reach(one, 400 * one, 0.05) / 800**0.5, 3)
    (2.9957, 1.96)
    """
    scales, counts = scales[counts > 0], counts[counts > 0]
    deviation = float(np.sqrt(np.sum(2 * counts * scales**2)))
    if deviation <= 0:
        return 0.0
    shares = (scales / deviation) ** 2
    far = _chernoff(shares, counts, beta)
    if beta < _SMALL or far > _FARTHEST:
        return far * deviation
    return _inverted(shares, counts, beta, far) * deviation


def laplace_bounds(scales: Floats, counts: Floats, beta: float) -> Floats:
    """Return t with Pr[|X| > t] ≤ β for many sums at once, by Chernoff's bound; t is convex in the weights.

    With s = 1/u the bound is the least s·(ln(2/β) + Σ K(w/s)) over s, where K is a convex function. That expression is
    convex in s and w together, so its least value over s is convex in w.

    Args:
        scales: the scales of the variables, with their weights; a column for each sum.
        counts: how many variables there are of each scale, likewise.
        beta: the probability that a sum is larger.

    >>> laplace_bounds(np.ones((1, 1)), np.ones((1, 1)), 1e-6).round(1)
    array([17.7])
    """
    squares = np.where(counts > 0, scales, 0.0) ** 2
    largest = squares.max(axis=0)
    bound = np.where(largest > 0, np.inf, 0.0)
    fastest = 1 / np.sqrt(np.where(largest > 0, largest, 1.0))
    for part in _PARTS:
        u = part * fastest
        cumulant = -np.sum(counts * np.log1p(-squares * u * u), axis=0)
        bound = np.minimum(bound, (np.log(2 / beta) + cumulant) / u)
    return bound


def _inverted(shares: Floats, counts: Floats, beta: float, high: float) -> float:
    """Return the safe end of a bisection of the tail, which the series gives."""
    for size in _SIZES:
        j = np.arange(size) + 0.5
        u = j * (2 * np.pi / _PERIOD)
        transform = np.exp(-np.log1p(np.multiply.outer(u * u, shares)) @ counts)
        if transform[-1] < _ENOUGH * size:
            break
    weights, low = transform / j * (2 / np.pi), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = 1 - float(weights @ np.sin(u * middle))
        low, high = (middle, high) if beyond > beta - _LEFT_OUT else (low, middle)
    return high


def _chernoff(shares: Floats, counts: Floats, beta: float) -> float:
    """Return the least t for which some u proves Pr[|X| > t] ≤ β: min over u of (ln(2/β) - Σ ln(1 - share·u²))/u."""
    u = np.linspace(0.02, 0.999, 200) / np.sqrt(shares.max())
    cumulant = -(np.log1p(-np.multiply.outer(u * u, shares)) @ counts)
    return float(np.min((np.log(2 / beta) + cumulant) / u))
