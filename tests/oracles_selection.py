"""The exact laws of the selection mechanisms and of above threshold, from their documented algorithms.

Everything about a selection follows from r = e^(-rate) and the weights w_i = r^(best - score_i). With a rational r
(rate = ln 1/r) all numbers are rational, so the tests check e^ε = r^(-2Δ), or r^(-Δ) for a monotone score, without
rounding. For comparison with samples r is e^(-rate) to 2^-160.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import exp, factorial, floor, tanh

import numpy as np
import numpy.typing as npt
from mpmath import MPContext

Law = tuple[Fraction, ...]
Floats = npt.NDArray[np.float64]
Vector = tuple[int, ...]

_MP = MPContext()
_MP.prec = 200


def exp_neg(rate: Fraction) -> Fraction:
    """Return e^(-rate) within 2^-160."""
    power = _MP.exp(-_MP.mpf(rate.numerator) / rate.denominator)
    return Fraction(int(_MP.floor(_MP.ldexp(power, 160))), 1 << 160)


def rational_weights(scores: Sequence[int], r: Fraction) -> Law:
    """Return r^(best - score) exactly."""
    return tuple(r ** (max(scores) - score) for score in scores)


def real_weights(scores: Sequence[Fraction], rate: Fraction) -> Law:
    """Return e^(-rate·(best - score)) within 2^-160."""
    return tuple(exp_neg(rate * (max(scores) - score)) for score in scores)


def exponential(weights: Sequence[Fraction]) -> Law:
    """Normalise the weights."""
    return tuple(weight / sum(weights) for weight in weights)


def permute_and_flip(weights: Sequence[Fraction]) -> Law:
    """Enumerate all orders: the first coin that shows wins."""
    chances = [Fraction(0)] * len(weights)
    for order in permutations(range(len(weights))):
        none = Fraction(1)
        for i in order:
            chances[i] += none * weights[i]
            none *= 1 - weights[i]
    return tuple(chance / factorial(len(weights)) for chance in chances)


def noisy_max(weights: Sequence[Fraction], r: Fraction) -> Law:
    """Add up over the largest noisy score m ≥ best, by powers of t = r^(m - best).

    A noisy score is m with chance (1-r)·w·t and below m with 1 - w·t, and Σ_m t^d = 1/(1-r^d). A candidate
    at m together with k others wins with chance 1/(k+1).
    """
    chances = []
    for i, weight in enumerate(weights):
        rivals = [*weights[:i], *weights[i + 1 :]]
        total = Fraction(0)
        for at_top in product([False, True], repeat=len(rivals)):
            terms = [_at(w, r) if tied else _below(w) for w, tied in zip(rivals, at_top, strict=True)]
            total += _summed(_times([_at(weight, r), *terms]), r) / (1 + sum(at_top))
        chances.append(total)
    return tuple(chances)


def _at(weight: Fraction, r: Fraction) -> list[Fraction]:
    return [Fraction(0), (1 - r) * weight]


def _below(weight: Fraction) -> list[Fraction]:
    return [Fraction(1), -weight]


def _times(polynomials: list[list[Fraction]]) -> list[Fraction]:
    result = [Fraction(1)]
    for a, b in polynomials:
        result = [a * low + b * high for low, high in zip([*result, Fraction(0)], [Fraction(0), *result], strict=True)]
    return result


def _summed(polynomial: list[Fraction], r: Fraction) -> Fraction:
    return sum((c / (1 - r**d) for d, c in enumerate(polynomial) if d), start=Fraction(0))


def moves(width: int, size: int, *, monotone: bool) -> Iterator[Vector]:
    """Yield all ways in which neighbours' vectors may differ: |d_i| ≤ width, of one sign if monotone."""
    yield from product(range(0 if monotone else -width, width + 1), repeat=size)


def worst_factor(law: Callable[[Vector], Law], vectors: Sequence[Vector], steps: Sequence[Vector]) -> Fraction:
    """Return the largest ratio of an outcome's chances between neighbours, in either direction."""
    worst = Fraction(1)
    for vector in vectors:
        here = law(vector)
        for step in steps:
            there = law(tuple(a + b for a, b in zip(vector, step, strict=True)))
            worst = max(worst, *(max(p / q, q / p) for p, q in zip(here, there, strict=True)))
    return worst


def nearest(x: Fraction, step: Fraction) -> int:
    """Return ⌊x/step + ½⌋."""
    return floor(x / step + Fraction(1, 2))


def laplace_mass(k: npt.NDArray[np.int64], scale: float) -> Floats:
    """Return Pr[K = k]."""
    return np.asarray(tanh(0.5 / scale) * np.exp(-np.abs(k) / scale))


def laplace_below(k: npt.NDArray[np.int64], scale: float) -> Floats:
    """Return Pr[K < k], with full relative precision if it is small."""
    r = exp(-1 / scale)
    small = np.exp(-np.abs(np.where(k > 0, k, 1 - k)) / scale) / (1 + r)
    return np.where(k > 0, 1 - small, small)


def laplace_from(k: npt.NDArray[np.int64], scale: float) -> Floats:
    """Return Pr[K ≥ k], with full relative precision if it is small."""
    return laplace_below(1 - k, scale)


def above_threshold(values: Sequence[int], threshold: int, scales: tuple[float, float]) -> Floats:
    """Return the chances of the first "yes" at query 1, 2, …, and of no "yes".

    A sum over the noisy threshold z of positive terms. It stops at 60 scales beyond all values: the rest is below
    e^-60 of a chance of order one, and terms no longer grow.
    """
    reach = int(60 * max(scales)) + 2
    z = np.arange(min(*values, threshold) - reach, max(*values, threshold) + reach + 1)
    still = laplace_mass(z - threshold, scales[0])
    chances = []
    for value in values:
        chances.append(float(still @ laplace_from(z - value, scales[1])))
        still = still * laplace_below(z - value, scales[1])
    return np.array([*chances, float(still.sum())])


def floats(law: Law) -> list[float]:
    """Round a law's chances."""
    return [float(chance) for chance in law]
