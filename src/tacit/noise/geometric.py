"""Geometric variables by independent binary digits.

Statement. For G with Pr[G = k] = (1-r)·r^k, r = e^(-1/s), the binary digits of G are independent and digit i
is Bernoulli(1/(1+e^(2^i/s))).
Proof. Write k = Σ b_i·2^i. Then r^k = Π r^(b_i·2^i), so the mass function is a product over the digits, and
digit i is 1 with odds r^(2^i) = e^(-2^i/s).  ∎

Digits i < I are drawn one by one, where I is least with e^(-2^I/s) < 2^-64. All digits from I on are zero except with
probability Pr[G ≥ 2^I] = e^(-2^I/s). That one coin is drawn too. If it shows, the rest ⌊G/2^I⌋ is 1 plus a geometric
variable of ratio e^(-2^I/s), drawn coin by coin. So the law is exact on all of ℕ, every draw compares I + 1 words of
64 bits, and any further work has probability below I·2^-62.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.arrays import Bools, WideInts, Words
from tacit.errors import InternalError
from tacit.noise.bernoulli import TOP, exp_floats, settle, settle_float
from tacit.noise.bits import SYSTEM, BitSource, words
from tacit.noise.reals import Real, below, ceil_div, exp_neg, logistic

MAX_SCALE = Fraction(2**56)
"""Up to this scale 64·ln 2·s < 2^62, so the sum of a draw and a value up to 2^62 fits into 64 bits.

A draw leaves ±2^62 with probability below 2^-64; it is then an array of Python's integers.
"""

_CHUNK = 1 << 12


def in_chunks(size: int, chunk: int, draw: Callable[[int], WideInts]) -> WideInts:
    """Draw `size` variables, `chunk` at a time, into one array. It holds Python's integers if any chunk needs them."""
    if 0 < size <= chunk:
        return draw(size)
    result: WideInts = np.empty(size, dtype=np.int64)
    for at in range(0, size, chunk):
        drawn = draw(min(chunk, size - at))
        if drawn.dtype == object:
            result = result.astype(object)
        result[at : at + drawn.size] = drawn
    return result


def digits(scale: Fraction) -> int:
    """Return the least I with 2^I/s > 45 > 64·ln 2."""
    return int(45 * scale).bit_length()


def _coin(scale: Fraction, count: int, digit: int) -> Real:
    """Return the coin for a digit below `count`, or the coin for all digits from `count` on."""
    return logistic((1 << digit) / scale) if digit < count else exp_neg((1 << count) / scale)


@lru_cache(maxsize=256)
def _thresholds(scale: Fraction) -> Words:
    """Enclose every coin's probability at 64 bits and return the lower ends.

    q_i = e^(-2^i/s) by squaring: an error of e units in the last place becomes at most 2e + 1, so after I squarings
    I + 8 more bits than 64 leave it below 2^-5 of a unit of 2^-64, and lower and upper ends within 2 of each other.
    """
    count = digits(scale)
    m = 64 + count + 8
    lo, hi = exp_neg(1 / scale)(m)
    one, ends = 1 << m, []
    for _ in range(count):
        ends.append(((lo << 64) // (one + lo), ceil_div(hi << 64, one + hi)))
        lo, hi = lo * lo >> m, min((hi * hi >> m) + 1, one)
    ends.append((lo >> m - 64, ceil_div(hi, 1 << m - 64)))
    if any(high - low > 2 for low, high in ends):  # noqa: PLR2004 - the width that `settle` needs
        raise InternalError("A coin of this law is not enclosed tightly enough to draw from it.")
    return np.array([min(low, TOP) for low, _ in ends], dtype=np.uint64)


def geometric(scale: Fraction, size: int, bits: BitSource = SYSTEM) -> WideInts:
    """Draw `size` integers k ≥ 0 with probability (1-r)·r^k, r = e^(-1/scale), at equal cost each.

    Args:
        scale: s > 0, at most 2^56.
        size: the number of draws.
        bits: the source of uniform bytes.
    """
    low = _thresholds(scale)
    count = low.size - 1

    def draw(some: int) -> WideInts:
        uniform = words(bits, np.uint64, some * low.size).reshape(some, low.size)
        coins = settle(uniform, low, lambda i: _coin(scale, count, i % (count + 1)), bits)
        return _assemble(coins, scale, bits)

    return in_chunks(size, _CHUNK, draw)


def geometric_of_private_scale(scale: float, count: int, size: int, bits: BitSource = SYSTEM) -> WideInts:
    """Draw as `geometric` does, but for a private scale: nothing is cached, and no work depends on the scale.

    The caller fixes `count`, the number of digits, from public bounds; the scale is the float's exact value. The coins
    are computed as floats, by the same operations for every scale, and by exact arithmetic in the undecided band
    (below 2^-33 a call). With x = 2^i/s as a float within 2^-52 of itself, exp(-x) and exp(-x)/(1+exp(-x)) are
    within a relative x·2^-52 + 2^-49 ≤ 2^-45 of the truth for x ≤ 64; beyond, x is cut at 150, and both stay
    below 2^-64.
    """
    with np.errstate(over="ignore"):
        odds = exp_floats(np.exp2(np.arange(count + 1)) / scale)
    scaled = np.append(odds[:-1] / (1 + odds[:-1]), odds[-1]) * 2.0**64
    uniform = words(bits, np.uint64, size * (count + 1)).reshape(size, count + 1)
    every = np.broadcast_to(scaled, uniform.shape)
    coins = settle_float(every, uniform, lambda i: _coin(Fraction(scale), count, i % (count + 1)), bits)
    return _assemble(coins, scale, bits)


def _assemble(coins: Bools, scale: Fraction | float, bits: BitSource) -> WideInts:
    """Combine the digits; draw ⌊G/2^I⌋ where the last coin shows."""
    count = coins.shape[1] - 1
    low = coins[:, :-1] @ (np.int64(1) << np.arange(count, dtype=np.int64))
    above = coins[:, -1]
    if not above.any():
        return low
    exact, rest = low.astype(object), _coin(Fraction(scale), count, count)
    for i in np.flatnonzero(above):
        high = 1
        while below(rest, bits):
            high += 1
        exact[i] += high << count
    return exact
