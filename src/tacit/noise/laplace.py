"""The discrete Laplace law: Pr[K = k] = tanh(1/2s)·e^(-|k|/s) on all integers.

Statement. The difference of two independent geometric variables of ratio r = e^(-1/s) has this law.
Proof. For k ≥ 0, Σ_j (1-r)²·r^(2j+k) = r^k·(1-r)²/(1-r²) = r^k·(1-r)/(1+r), and (1-r)/(1+r) = tanh(1/2s);
k < 0 by symmetry.  ∎

Small arrays (below 4,096) draw the two geometric variables digit by digit (see `geometric`).

Large arrays use the same digits in groups. With B = 2^b, digits 0…b-1 of the two variables differ by D, and the rest,
⌊G/B⌋, is geometric of scale s/B and independent of them. So K = D + B·K', where K' is discrete Laplace of scale s/B.
Repeating this J times leaves a scale of at most 64, which one table holds. D, the difference of two geometric
variables cut to {0,…,B-1}, has Pr[D = d] ∝ r^|d|·(1 - r^(2(B-|d|))). Each part is drawn from a `CdfTable`, hence
exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil, log

from tacit.arrays import WideInts
from tacit.noise.bits import SYSTEM, BitSource
from tacit.noise.geometric import geometric, geometric_of_private_scale, in_chunks
from tacit.noise.inverse_cdf import CdfSteps, CdfTable, Enclosure
from tacit.noise.reals import ceil_div, exp_neg

SMALL = 4096
_CHUNK = 1 << 15
_LAST_SCALE = 64
_GROUP = 8


def discrete_laplace(scale: Fraction, size: int, bits: BitSource = SYSTEM) -> WideInts:
    """Draw `size` integers from the discrete Laplace law, exactly.

    Args:
        scale: s > 0, at most 2^56.
        size: the number of draws.
        bits: the source of uniform bytes.
    """
    if size < SMALL:
        pair = geometric(scale, 2 * size, bits)
        return pair[:size] - pair[size:]
    return in_chunks(size, _CHUNK, lambda some: _grouped(scale, some, bits))


def discrete_laplace_of_private_scale(scale: float, digits: int, bits: BitSource = SYSTEM) -> int:
    """Draw one integer with a private scale; only the number of digits is public."""
    plus, minus = geometric_of_private_scale(scale, digits, 2, bits)
    return int(plus) - int(minus)


def _grouped(scale: Fraction, size: int, bits: BitSource) -> WideInts:
    groups, width = _grouping(scale)
    top = _tail_table(scale / (1 << groups * width))
    total = top.draw_guided(size, bits)
    if total.min() < top.first or total.max() > top.last:  # beyond the table: use Python's integers
        total = total.astype(object)
    for group in reversed(range(groups)):
        total <<= width
        total += _group_table(scale / (1 << group * width), width).draw_guided(size, bits)
    return total


def _grouping(scale: Fraction) -> tuple[int, int]:
    """Return the number of groups, and of digits in each, that bring the scale down to at most 64."""
    shift = max(0, ceil(scale / _LAST_SCALE) - 1).bit_length()  # least with scale ≤ 64·2^shift
    groups = ceil_div(shift, _GROUP)
    return groups, ceil_div(shift, groups) if groups else 0


@lru_cache(maxsize=64)
def _tail_table(scale: Fraction) -> CdfTable:
    return CdfTable(_laplace_steps(scale))


@lru_cache(maxsize=64)
def _group_table(scale: Fraction, width: int) -> CdfTable:
    return CdfTable(_difference_steps(scale, 1 << width))


def powers(scale: Fraction, count: int, precision: int) -> Iterator[Enclosure]:
    """Enclose r^0, r^1, …, r^(count-1) times 2^precision, r = e^(-1/scale); each side errs by under 2 units a step."""
    low, high = exp_neg(1 / scale)(precision)
    lo = hi = 1 << precision
    for _ in range(count):
        yield lo, hi
        lo, hi = lo * low >> precision, min((hi * high >> precision) + 1, 1 << precision)


def _laplace_steps(scale: Fraction) -> CdfSteps:
    """Return the steps F(k) = r^(-k)/(1+r) for k < 0 and 1 - r^(k+1)/(1+r) for k ≥ 0."""

    def steps(n: int) -> tuple[int, list[Enclosure]]:
        reach = ceil(float(scale) * n * log(2)) + 2  # r^reach·2^n < 1
        m = n + reach.bit_length() + 8
        power = list(powers(scale, reach + 1, m))
        (r_lo, r_hi), one = power[1], 1 << m
        left = [((lo << n) // (one + r_hi), ceil_div(hi << n, one + r_lo)) for lo, hi in reversed(power[1:])]
        right = [((1 << n) - hi, (1 << n) - lo) for lo, hi in reversed(left)]
        return -reach, left + right

    return steps


def _difference_steps(scale: Fraction, base: int) -> CdfSteps:
    """Return the steps of D on {-(B-1), …, B-1}, from its weights r^|d|·(1 - r^(2(B-|d|)))."""

    def steps(n: int) -> tuple[int, list[Enclosure]]:
        # 1 - r^2 may be as small as 1/s: that many more bits keep the weights' relative error below 2^-n/16.
        m = n + 3 * base.bit_length() + ceil(scale).bit_length() + 16
        power = list(powers(scale, 2 * base + 1, m))
        weights = []
        for d in range(1 - base, base):
            (lo, hi), (cut_lo, cut_hi) = power[abs(d)], power[2 * (base - abs(d))]
            weights.append((lo * ((1 << m) - cut_hi), hi * ((1 << m) - cut_lo)))
        return 1 - base, _normalised(weights, n)

    return steps


def _normalised(weights: list[Enclosure], n: int) -> list[Enclosure]:
    """Enclose the steps of a finite law (all but the last, which is 1) from enclosures of its weights."""
    lows, highs = (list(accumulate(side)) for side in zip(*weights, strict=True))
    return [
        ((lo << n) // (lo + highs[-1] - hi_at), ceil_div(hi_at << n, hi_at + lows[-1] - lo))
        for lo, hi_at in zip(lows[:-1], highs[:-1], strict=True)
    ]
