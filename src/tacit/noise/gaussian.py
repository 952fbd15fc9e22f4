"""The discrete Gaussian law: Pr[k] ∝ e^(-k²/2σ²) on all integers, for any rational σ².

Canonne, Kamath and Steinke (arXiv:2004.00010v5, algorithm 3) propose from a simple exact law and accept with an exact
coin. Here the proposal is a table over blocks instead of a discrete Laplace law, so nearly every proposal is accepted.

Algorithm. Take a block width W = 2^b with σ/W ≤ R. Draw a signed block j with probability ∝ w_i =
e^(-(iW)²/2σ²), where j ≥ 0 means the magnitudes iW…iW+W-1, i = j, with a plus, and j < 0 those of i = -1-j
with a minus. Draw v uniformly from {0,…,W-1}; the magnitude is a = iW + v. Accept with probability
e^(-v(2iW+v)/2σ²), but never a = 0 with a minus. (With W = 1 the table holds the law itself.)
Proof. A proposal (sign, a) has probability ∝ w_i/W and is accepted with probability e^(-(a²-(iW)²)/2σ²). So the
result (sign, a) has probability ∝ e^(-a²/2σ²), and 0 is returned for one sign only.  ∎

Rejections do not depend on the value that is accepted in the end: rounds are independent, and the accepted value has
the same law in each round. At R = 8 (small arrays) at least 0.9 of proposals are accepted, at R = 64 (large arrays)
0.98 or more.

On real bits: the block comes from a `CdfTable`, v from b uniform bits, and the coin from the exact exponent as in
`bernoulli_exp`, so the law is exact. Large arrays first compare 16 bits of the coin's uniform with a lower bound of
e^(-(2i+1)W²/2σ²), the least acceptance in the block. Only the few that fail use the full coin.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil, log, sqrt
from typing import cast

import numpy as np

from tacit.arrays import Bools, Ints, WideInts, Words
from tacit.noise.bernoulli import exp_floats, settle_float
from tacit.noise.bits import SYSTEM, BitSource, words
from tacit.noise.geometric import in_chunks
from tacit.noise.inverse_cdf import CdfSteps, CdfTable, Enclosure
from tacit.noise.laplace import SMALL
from tacit.noise.reals import Real, ceil_div, exp_neg

_CHUNK = 1 << 15
_COARSE, _FINE = 8, 64


def discrete_gaussian(variance: Fraction, size: int, bits: BitSource = SYSTEM) -> WideInts:
    """Draw `size` integers from the discrete Gaussian law, exactly.

    Args:
        variance: the parameter σ² > 0, at most 2^112 (the law's variance is a little below it).
        size: the number of draws.
        bits: the source of uniform bytes.
    """
    blocks = _blocks(variance, _COARSE if size < SMALL else _FINE)
    return in_chunks(size, _CHUNK, lambda some: blocks.draw(some, bits, fully=size < SMALL))


@lru_cache(maxsize=64)
def _blocks(variance: Fraction, resolution: int) -> _Blocks:
    return _Blocks(variance, resolution)


class _Blocks:
    """The proposal table of one variance at one resolution. With W = 1 it is the law itself."""

    def __init__(self, variance: Fraction, resolution: int) -> None:
        self.variance = variance
        self.shift = (max(0, ceil(variance / resolution**2) - 1).bit_length() + 1) // 2  # least with σ ≤ R·2^shift
        self.table = CdfTable(_steps(variance / (1 << 2 * self.shift), twice_zero=self.shift > 0))
        # A lower bound of the least acceptance in each block, in units of 2^-16; 0 beyond the table.
        blocks = np.arange(self.table.last + 1 if self.shift else 0)
        exponent = (2 * blocks + 1) * (float((1 << 2 * self.shift) / (2 * variance)) if self.shift else 0.0)
        least = np.floor(np.exp(-np.minimum(exponent, 700.0)) * (1 - 2.0**-30) * 65536)
        self.squeeze = np.append(least, 0).astype(np.uint16)

    def draw(self, size: int, bits: BitSource, *, fully: bool) -> WideInts:
        """Draw in rounds until `size` proposals are accepted."""
        accepted = self._round(size, bits, fully=fully)
        while accepted.size < size:
            more = self._round(size - accepted.size, bits, fully=fully)
            accepted = cast("WideInts", np.concatenate((accepted, more)))
        return accepted[:size]

    def _round(self, size: int, bits: BitSource, *, fully: bool) -> WideInts:
        """Propose a few more than `size` and return those accepted, in the order drawn."""
        size += size // 64 if self.shift else 0
        block = self.table.draw_fully(size, bits) if fully else self.table.draw_guided(size, bits)
        if not self.shift:
            return block
        sign = block >> 63  # 0 or -1
        index = block ^ sign  # j ≥ 0 or -1-j: the block of magnitudes
        offset = _uniform(self.shift, size, bits)
        keep = self._accept(index, offset, bits, fully=fully)
        if index.max() > self.table.last:  # beyond the table: use Python's integers
            index = index.astype(object)
        magnitude = (index << self.shift) + offset
        keep &= (magnitude != 0) | (sign == 0)
        return ((magnitude ^ sign) - sign)[keep]

    def _accept(self, index: Ints, offset: Ints, bits: BitSource, *, fully: bool) -> Bools:
        """Accept each proposal with probability exactly e^(-v(2iW+v)/2σ²)."""
        if fully:
            return self._coin(index, offset, words(bits, np.uint64, index.size), bits)
        head = words(bits, np.uint16, index.size)
        keep = head < self.squeeze.take(index, mode="clip")
        rest = np.flatnonzero(~keep)
        uniform = words(bits, np.uint64, rest.size) >> np.uint64(16)
        uniform |= head[rest].astype(np.uint64) << np.uint64(48)
        keep[rest] = self._coin(index[rest], offset[rest], uniform, bits)
        return keep

    def _coin(self, index: Ints, offset: Ints, uniform: Words, bits: BitSource) -> Bools:
        # Every factor is within 2^-53 of itself as a float, so the exponent is within 2^-50.
        wide = index.astype(np.float64) * 2.0 ** (self.shift + 1) + offset
        gamma = offset * wide / (2 * float(self.variance))

        def real(i: int) -> Real:
            v, twice = int(offset[i]), int(index[i]) << self.shift + 1
            return exp_neg(v * (twice + v) / (2 * self.variance))

        return settle_float(exp_floats(gamma) * 2.0**64, uniform, real, bits)


def _uniform(width: int, size: int, bits: BitSource) -> Ints:
    """Draw `size` integers of `width` ≤ 62 uniform bits."""
    if width <= 16:  # noqa: PLR2004 - bits
        return (words(bits, np.uint16, size) >> np.uint16(16 - width)).astype(np.int64)
    return (words(bits, np.uint64, size) >> np.uint64(64 - width)).astype(np.int64)


def _steps(variance: Fraction, *, twice_zero: bool) -> CdfSteps:
    """Return the steps of the law on signed indices with weights e^(-i²/2τ), τ = `variance`.

    With tails T_i = Σ_{i' ≥ i} w_i', F(k) = T_|k|/Z for k < 0 and 1 - T_(k+1)/Z for k ≥ 0, where
    Z = w_0 + 2·T_1. With zero twice (index -1-i means -i), F(j) = T_(-1-j)/Z for j < 0, Z = 2·T_0.
    """

    def steps(n: int) -> tuple[int, list[Enclosure]]:
        tails = _tails(variance, n)
        lows, highs = tails[0]
        (low, high) = tails[1]
        total = (2 * lows, 2 * highs) if twice_zero else (lows + low, highs + high)
        used = tails if twice_zero else tails[1:]
        left = [((lo << n) // total[1], ceil_div(hi << n, total[0])) for lo, hi in reversed(used)]
        right = [((1 << n) - hi, (1 << n) - lo) for lo, hi in reversed(left)]
        return -len(left), left + (right[1:] if twice_zero else right)

    return steps


def _tails(variance: Fraction, n: int) -> list[Enclosure]:
    """Enclose T_0, T_1, …, T_K times a common factor, to n bits of T_0 and a few more.

    With m > n bits and K ≥ σ·√(2m·ln 2), w_K < 2^-m, and beyond K the weights fall at least by the factor
    e^(-K/τ) each, so the rest is below 2^-m/(1 - e^(-K/τ)) ≤ 2^-m·(1 + τ/K) ≤ 2^-m·(2 + σ).
    """
    sigma = sqrt(float(variance))
    m = n + 16 + ceil(sigma + 1).bit_length() * 2
    reach = ceil(sigma * sqrt(2 * m * log(2)) * (1 + 2.0**-40)) + 2
    (low, high), (low2, high2) = exp_neg(1 / (2 * variance))(m), exp_neg(1 / variance)(m)
    weights = [(1 << m, 1 << m)]
    for _ in range(reach):  # w_(i+1) = w_i·q^(2i+1), q = e^(-1/2τ)
        lo, hi = weights[-1]
        weights.append((lo * low >> m, (hi * high >> m) + 1))
        low, high = low * low2 >> m, (high * high2 >> m) + 1
    lows = list(accumulate((lo for lo, _ in reversed(weights))))
    highs = list(accumulate((hi for _, hi in reversed(weights)), initial=ceil(sigma) + 2))[1:]
    return list(zip(reversed(lows), reversed(highs), strict=True))
