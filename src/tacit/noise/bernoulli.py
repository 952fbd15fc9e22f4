"""Exact coins: Bernoulli(p) for any refinable p, and Bernoulli(e^-γ) for arrays of γ.

Both compare a uniform word of 64 bits with the leading digits of p. They draw more bits only on a tie, which has
probability below 2^-50; so every coin costs the same for both outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tacit.arrays import Bools, Floats, Words
from tacit.noise.bits import SYSTEM, BitSource, words
from tacit.noise.reals import Real, below, exp_neg

TOP = (1 << 64) - 1


def threshold(real: Real) -> int:
    """Return the lower end of p·2^64 as a word; p·2^64 is at most 2 above it."""
    return min(real(64)[0], TOP)


def bernoulli(real: Real, size: int, bits: BitSource = SYSTEM) -> Bools:
    """Draw `size` coins that show True with probability exactly p.

    Args:
        real: the probability, as a refinable enclosure.
        size: the number of coins.
        bits: the source of uniform bytes.
    """
    return settle(words(bits, np.uint64, size), np.uint64(threshold(real)), lambda _: real, bits)


def settle(uniform: Words, low: Words | np.uint64, real: Callable[[int], Real], bits: BitSource) -> Bools:
    """Compare words with thresholds. Decide the ties (u - low < 2, modulo 2^64) exactly, one by one.

    `real(i)` returns the probability at flat position i.
    """
    result = np.asarray(uniform < low)
    tied = (uniform - low) < np.uint64(2)
    if tied.any():
        for i in np.flatnonzero(tied):
            result.flat[i] = below(real(int(i)), bits, int(uniform.flat[i]), 64)
    return result


def settle_float(scaled: Floats, uniform: Words, real: Callable[[int], Real], bits: BitSource) -> Bools:
    """Compare words with probabilities known as floats: `scaled` is p·2^64 up to a relative 2^-42, or < 2.

    The word as a float is off by at most 2^-53 of itself. So |u - p·2^64| > p·2^64·2^-41 + 2^13 decides with
    room to spare. Exact arithmetic decides everything else (probability below 2^-39).
    """
    gap = scaled - uniform.astype(np.float64)
    result = np.asarray(gap > 0)
    unclear = np.abs(gap) <= scaled * 2.0**-41 + 2.0**13
    if unclear.any():
        for i in np.flatnonzero(unclear):
            result.flat[i] = below(real(int(i)), bits, int(uniform.flat[i]), 64)
    return result


def exp_floats(gamma: Floats) -> Floats:
    """Return e^(-γ) as floats; γ is cut at 150: there e^(-γ)·2^128 is far below 2, and nothing underflows."""
    exponents = np.minimum(gamma, 150.0)
    np.negative(exponents, out=exponents)
    return np.asarray(np.exp(exponents, out=exponents))


def bernoulli_exp(gamma: Floats, exact: Callable[[int], Fraction], bits: BitSource = SYSTEM) -> Bools:
    """Draw coins that show True with probability exactly e^(-γ_i).

    `gamma` holds floats within a relative 2^-49 of the rationals `exact(i)` ≥ 0; they only decide the
    clear cases faster. With np.exp within 4 units in the last place, exp(-gamma) is within a relative
    γ·2^-49 + 2^-50 ≤ 2^-42 of e^(-γ) for γ ≤ 64, and both are below 2^-63 beyond.

    Args:
        gamma: the exponents, as floats.
        exact: the exponent at a flat position, as a rational.
        bits: the source of uniform bytes.
    """
    uniform = words(bits, np.uint64, gamma.size).reshape(gamma.shape)
    return settle_float(exp_floats(gamma) * 2.0**64, uniform, lambda i: exp_neg(exact(i)), bits)
