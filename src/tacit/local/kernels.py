"""Compiled loops for which NumPy has no function. numba caches them on disk; functions import them when needed.

* `coin_words`     64 coins at a time, from the binary digits of their probability
* `respond`        randomised response in one pass
* `count_ones`     how many rows have each bit set
* `count_support`  how many hashed reports support each value
* `fill_subsets`   uniform subsets, row by row
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from tacit.arrays import Bytes, Ints, Words

Residues = npt.NDArray[np.uint32]

_PRIME = np.uint32(2**31 - 1)
_BLOCK = 2048


@njit(cache=True)  # type: ignore[misc,unused-ignore]  # numba ships no types
def coin_words(out: Words, pool: Words, chance: np.uint64) -> int:
    """Fill words with coins of probability chance/2^64 while the pool lasts; return how many words are filled.

    Each of 64 lanes compares its own U with A digit by digit, from the highest: word i of the pool holds digit i of
    all lanes. A lane is decided where its digit differs from A's: heads where A has the 1. Lanes that are still equal
    after A's last 1 are not below A. Words of the pool are used once each.
    """
    at, last = 0, pool.size - 64
    for i in range(out.size):
        if at > last:
            return i
        equal, heads, digits = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0), chance
        while equal != np.uint64(0) and digits != np.uint64(0):
            word = pool[at]
            at += 1
            if digits >> np.uint64(63):
                heads |= equal & ~word
                equal &= word
            else:
                equal &= ~word
            digits <<= np.uint64(1)
        out[i] = heads
    return out.size


@njit(cache=True)  # type: ignore[misc,unused-ignore]  # as above
def respond(
    index: Ints,
    first: npt.NDArray[np.uint16],
    second: npt.NDArray[np.uint16 | np.uint32],
    numbers: tuple[int, int, int, int],
    out: Ints,
    unclear: Ints,
) -> int:
    """Write each index or another number, as `grr.respond` does; return the number of positions that need more bits.

    The product stays below 2^32·2^24.
    """
    lead, bound, reject, width = numbers
    mask, found = (1 << width) - 1, 0
    for i in range(index.size):
        own, coin, product = index[i], np.int64(first[i]), np.int64(second[i]) * bound
        other = product >> width
        other += other >= own
        out[i] = own if coin < lead else other
        if coin == lead or (product & mask) < reject:
            unclear[found] = i
            found += 1
    return found


@njit(cache=True)  # type: ignore[misc,unused-ignore]  # as above
def count_ones(rows: Words | Bytes, lanes: int, counts: Ints) -> None:
    """Add to counts[j] the number of rows whose bit j is set; rows are of 8-bit or 64-bit words, lowest bit first.

    Eight planes hold a binary counter for each bit; seven carry-save adders put eight rows at a time into them.
    """
    n, width = rows.shape
    plane = np.zeros((8, width), dtype=rows.dtype)
    filled, at = 0, 0
    while at < n:
        if at + 8 <= n:
            _add_eight(rows[at : at + 8], plane)
            at, filled = at + 8, filled + 8
        else:
            _add_one(rows[at], plane, 0)
            at, filled = at + 1, filled + 1
        if filled > 240 or at == n:  # noqa: PLR2004 - eight planes count to 255
            _flush(plane, lanes, counts)
            filled = 0


@njit(cache=True)  # type: ignore[misc,unused-ignore]  # as above
def _add_eight(rows: Words | Bytes, plane: Words | Bytes) -> None:
    for j in range(rows.shape[1]):
        ones, twos, fours = plane[0, j], plane[1, j], plane[2, j]
        half = ones ^ rows[0, j]
        two_a = (ones & rows[0, j]) | (half & rows[1, j])
        ones = half ^ rows[1, j]
        half = ones ^ rows[2, j]
        two_b = (ones & rows[2, j]) | (half & rows[3, j])
        ones = half ^ rows[3, j]
        half = twos ^ two_a
        four_a = (twos & two_a) | (half & two_b)
        twos = half ^ two_b
        half = ones ^ rows[4, j]
        two_a = (ones & rows[4, j]) | (half & rows[5, j])
        ones = half ^ rows[5, j]
        half = ones ^ rows[6, j]
        two_b = (ones & rows[6, j]) | (half & rows[7, j])
        ones = half ^ rows[7, j]
        half = twos ^ two_a
        four_b = (twos & two_a) | (half & two_b)
        twos = half ^ two_b
        half = fours ^ four_a
        carry = (fours & four_a) | (half & four_b)
        plane[0, j], plane[1, j], plane[2, j] = ones, twos, half ^ four_b
        for level in range(3, 8):
            kept = plane[level, j]
            plane[level, j] = kept ^ carry
            carry = kept & carry


@njit(cache=True)  # type: ignore[misc,unused-ignore]  # as above
def _add_one(row: Words | Bytes, plane: Words | Bytes, first: int) -> None:
    for j in range(row.size):
        carry = row[j]
        for level in range(first, 8):
            kept = plane[level, j]
            plane[level, j] = kept ^ carry
            carry = kept & carry


@njit(cache=True)  # type: ignore[misc,unused-ignore]  # as above
def _flush(plane: Words | Bytes, lanes: int, counts: Ints) -> None:
    for j in range(plane.shape[1]):
        for lane in range(lanes):
            total = 0
            for level in range(8):
                total += ((plane[level, j] >> lane) & 1) << level
            counts[j * lanes + lane] += total
    plane[:] = 0


@njit(cache=True)  # type: ignore[misc,unused-ignore]  # as above
def count_support(a: Residues, b: Residues, low: Residues, width: Residues, counts: Ints) -> None:
    """Add to counts[v] the number of reports with (a·v + b mod 2^31-1) in [low, low + width).

    Blocks of reports go through all values together: a·v + b grows by a from one value to the next. All numbers stay
    below 2^32: the sum of two residues is below 2^32 - 2, and where it is less than the prime, the difference wraps
    around to more than the sum, so that the lesser of both is the residue. A block counts to 2048 at most.
    """
    u = np.empty(_BLOCK, dtype=np.uint32)
    for start in range(0, a.size, _BLOCK):
        m = min(_BLOCK, a.size - start)
        step, lo, size = a[start : start + m], low[start : start + m], width[start : start + m]
        for i in range(m):
            u[i] = b[start + i]
        for v in range(counts.size):
            found = np.uint32(0)
            for i in range(m):
                found += np.uint32(np.uint32(u[i] - lo[i]) < size[i])
                total = np.uint32(u[i] + step[i])
                u[i] = min(total, np.uint32(total - _PRIME))
            counts[v] += found


@njit(cache=True)  # type: ignore[misc,unused-ignore]  # as above
def fill_subsets(rows: Bytes, skip: Ints, sizes: Ints, most: int, others: int, pool: Residues) -> int:
    """Set in each row a uniform subset of so many of the `others` bits, all but bit `skip`; return the rows filled.

    Floyd's algorithm (CACM 30(9), 1987, p. 754): for j = m - s, …, m - 1 draw t uniformly from {0, …, j}; take t, or j
    where t is taken already. A draw is Lemire's. Every row draws for `most` members and leaves the first draws out
    where it has fewer: neither its size nor what it holds changes how many words it takes. A row for which the pool
    does not last is cleared and not counted.
    """
    at = 0
    for i in range(skip.size):
        for j in range(others - most, others):
            bound = np.uint64(j + 1)
            while True:
                if at == pool.size:
                    rows[i] = 0
                    return i
                product = np.uint64(pool[at]) * bound
                at += 1
                rest = product & np.uint64(0xFFFFFFFF)
                if rest >= bound or rest >= np.uint64(0x100000000) % bound:
                    break
            place = np.int64(product >> np.uint64(32))
            place += place >= skip[i]
            if rows[i, place >> 3] >> (place & 7) & 1:
                place = j + (j >= skip[i])
            taken = np.uint8(j >= others - sizes[i])
            rows[i, place >> 3] |= np.uint8(taken << (place & 7))
    return skip.size
