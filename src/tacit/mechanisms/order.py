"""Order statistics of bounded rows, and the largest distance that they can move when k rows change.

Rows are clipped to [a, b] and put on a grid of 2^24 steps, row by row; any such map takes neighbours (one row
changed) to neighbours, so it needs no proof. Everything below is about integers y₁ ≤ … ≤ yₙ in {0,…,2^24},
with y_i = 0 for i < 1 and 2^24 for i > n. The statistic is y_r + y_r', in half steps: r = r' for an odd median.

Let A_k(x) = max over i ≤ r ≤ j, j - i = k + 1, of y_j - y_i. (Nissim, Raskhodnikova and Smith, STOC 2007,
section 3.1, show that it is the local sensitivity of y_r at distance k; only the following is used.)

**Lemma.** For x and x' that differ in one row, (i) |y_r - y'_r| ≤ A_0(x), and (ii) A_k(x) ≤ A_(k+1)(x').
**Proof.** Say the row moves up, from x to x' (down is the mirror image). Then y_l ≤ y'_l ≤ y_(l+1) for every l.
(i) 0 ≤ y'_r - y_r ≤ y_(r+1) - y_r ≤ A_0(x). (ii) y_j ≤ y'_j and y_i ≥ y'_(i-1), so y_j - y_i ≤ y'_j -
y'_(i-1), a term of A_(k+1)(x'). If it moves down, y_j ≤ y'_(j+1) and y_i ≥ y'_i.  ∎

For a sum of two ranks, the sums of the two A_k have both properties.

On time: rows are shuffled, and sorted by keys that carry random low bits. So keys differ (those of two equal rows
agree with probability 2^-38), and the order of comparisons is independent of the values.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats, Ints
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import to_fraction
from tacit.mechanisms.validation import Array, read_numbers, wrong_kind
from tacit.noise import SYSTEM
from tacit.noise.bits import words

STEPS = 1 << 24
_ALL = 1 << 22


def read_bounds(bounds: object, *, point: bool = False) -> tuple[Fraction, Fraction]:
    """Return two rationals a < b (or a ≤ b if `point`), or raise InvalidError."""
    requirement = "two numbers within ±1e120, the lower one first"
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:  # noqa: PLR2004 - a pair
        raise bad_value("bounds", bounds, requirement)
    low, high = (to_fraction(end, "bounds", requirement) for end in bounds)
    if point and low == high and abs(low) < 2**400:
        return low, high
    if not low < high or not abs(low) + abs(high) < 2**400 or high - low < Fraction(1, 2**400):
        raise bad_value("bounds", bounds, requirement)
    return low, high


def sorted_rows(values: npt.ArrayLike, low: Fraction, high: Fraction) -> Ints:
    """Return the rows as sorted grid indices, with a leading 0 and a trailing 2^24."""
    flat, shape = read_numbers(values, "values", exact=False)
    if shape is None or len(shape) != 1:
        raise wrong_kind("values", "an array of another dimension than 1", "a list of numbers, one for each unit")
    rows = _floats(flat)
    if np.isnan(rows).any():
        hint = "Drop or replace missing values first."
        raise InvalidError("values holds NaN.", argument="values", hint=hint)
    with np.errstate(all="ignore"):  # neither the caller's settings nor a tiny value may make this raise
        share = (np.clip(rows, float(low), float(high)) - float(low)) / float(high - low)
        index = np.clip(np.floor(share * STEPS + 0.5), 0, STEPS).astype(np.int64)
    return np.concatenate(([0], _sorted(index), [STEPS]))


def _floats(flat: Array) -> Floats:
    """Return rows as floats; integers beyond the floats become very large floats, which are clipped."""
    if flat.dtype != object:
        return flat.astype(np.float64)
    return np.array([x if isinstance(x, float) else float(max(-(2**1000), min(2**1000, x))) for x in flat.tolist()])


def _sorted(index: Ints) -> Ints:
    """Sort indices below 2^25 in time that does not depend on them."""
    order = np.argsort(words(SYSTEM, np.uint64, index.size))
    low_bits = (words(SYSTEM, np.uint64, index.size) >> np.uint64(26)).astype(np.int64)
    keys = index[order] << 38 | low_bits
    keys.sort()
    return keys >> 38


def quantile_ranks(n: int, q: Fraction) -> tuple[int, int]:
    """Return the two ranks whose mean is the q-quantile; they are equal unless n·q is whole.

    This is the inverse of the empirical distribution function with averages at its jumps (Hyndman and Fan 1996,
    type 2), which for q = 1/2 is the usual median.

    >>> quantile_ranks(5, Fraction(1, 2)), quantile_ranks(4, Fraction(1, 2)), quantile_ranks(10, Fraction(1, 4))
    ((3, 3), (2, 3), (3, 3))
    """
    return ceil(n * q), floor(n * q) + 1


def distance_to_sensitive(rows: Ints, rank: int, bound: int) -> int:
    """Return the least k with A_k > bound: the number of rows that must change before y_r can move by more.

    For each i ≤ r the least j ≥ r with y_j > y_i + bound gives k = j - i - 1. If there is no such j, k = n + 1 means
    "never". The distance of neighbours differs by at most 1, since A_k(x) ≤ A_(k+1)(x').
    """
    right = rows[rank:]
    left = np.arange(rank + 1)
    first = np.searchsorted(right, rows[left] + bound, side="right")
    reach = np.where(first < right.size, first + rank - left - 1, rows.size - 1)
    return int(max(reach.min(), 0))


def smooth_sensitivity(rows: Ints, rank: int, decay: float) -> float:
    """Return max over k of e^(-decay·k)·A_k, up to a relative 2^-42, and at least one step.

    That is the largest m_ij = (y_j - y_i)·e^(-decay·(j-i-1)) over i ≤ r ≤ j. Terms with k beyond
    ln(2^24)/decay are below one step and are covered by it: bounding A_k by 2^24 for those k keeps both
    properties of the lemma. Each entry is computed within a relative 2^-48. Up to 2^22 entries are all
    computed; if there are more, `_halving` computes some of them.
    """
    reach = int(np.log(STEPS) / decay) + 2 if decay * rows.size > np.log(STEPS) else rows.size
    first, last = max(rank - reach, 0), min(rank + reach, rows.size - 1)
    with np.errstate(under="ignore"):
        weight = np.exp(-decay * (np.arange(last - first + 1) - 1.0))
    if (rank - first + 1) * (last - rank + 1) > _ALL:
        return _halving(rows, first, rank, last, weight)
    i, j = np.arange(first, rank + 1)[:, None], np.arange(rank, last + 1)
    return max(1.0, float(((rows[j] - rows[i]) * weight[j - i]).max()))


def _halving(rows: Ints, first: int, rank: int, last: int, weight: Floats) -> float:
    """Find the largest m_ij by halving.

    For fixed i let g_i(j) = (y_j - y_i)·e^(-decay·j). For i' < i, g_i' - g_i = (y_i - y_i')·e^(-decay·j) falls
    in j, so the best j does not move right as i moves left. So the best j of every row is found by halving:
    the middle row first, then the middle of each half between the best columns so far, level by level. The rows are
    padded to 2^h - 1, so that a level of q rows computes exactly (columns - 1) + q entries. Each of at most 40
    levels may miss the best by 2^-48 of it.
    """
    size = 1 << (rank - first + 1).bit_length()  # positions 1 … size-1; the last is row i = r
    column = np.empty(size + 1, dtype=np.int64)
    column[0], column[size] = rank, last
    best, stride = 1.0, size // 2
    while stride:
        position = np.arange(stride, size, 2 * stride)
        row = np.maximum(rank - (size - 1 - position), first)
        value, column[position] = _row_maxima(rows, row, column[position - stride], column[position + stride], weight)
        best, stride = max(best, float(value.max())), stride // 2
    return best


def _row_maxima(rows: Ints, row: Ints, start: Ints, stop: Ints, weight: Floats) -> tuple[Floats, Ints]:
    """Return for each row i the largest m_ij over start ≤ j ≤ stop, and its first column."""
    length = stop - start + 1
    segment = np.cumsum(length) - length
    i = np.repeat(row, length)
    j = np.arange(i.size) + np.repeat(start - segment, length)
    entry = (rows[j] - rows[i]) * weight[j - i]
    value = np.maximum.reduceat(entry, segment)
    column = np.minimum.reduceat(np.where(entry == np.repeat(value, length), j, rows.size), segment)
    return value, column
