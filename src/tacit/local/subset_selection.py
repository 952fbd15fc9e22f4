"""Subset selection: report k values, the person's own among them with probability p, all else uniform.

**Statement.** With p ≤ k·e^ε/(k·e^ε + d - k) a report is ε-DP.
**Proof.** A set S of k values has probability p/C(d-1, k-1) for a person in S and (1-p)/C(d-1, k) for one who is not;
the ratio is p(d-k)/((1-p)k), at most e^ε by `response_law.inside` with s = k, K = d, and above 1.  ∎
**Estimate.** Pure with p' = p and q' = (p(k-1) + (1-p)k)/(d-1): of the d - 1 others the set holds k - 1 or k, every one
alike. No protocol has a smaller variance over small frequencies with the best k, near d/(e^ε + 1) (Ye and Barg, IEEE
Trans. Inf. Theory 64(8), 2018; Wang et al., arXiv:1607.08025v1).

A record is a bit a value, as in `unary_encoding`, with exactly k ones. The other members are drawn by Floyd's algorithm
(`kernels.fill_subsets` states it), for k others, whether or not one's own value is among the k: the number of draws
tells nothing.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp

import numpy as np

from tacit.arrays import Bytes, Ints
from tacit.errors import bad_value
from tacit.guarantees.exact import Number, whole
from tacit.keyword_only import keyword_only
from tacit.local.base import PureProtocol, read_arguments, total
from tacit.local.draws import below_each, coins
from tacit.local.response_law import ONE, Pure, inside
from tacit.local.unary_encoding import count_bits, last_mask, row_bytes
from tacit.noise.bits import BitSource, words

_SMALL = 1 << 14


@keyword_only
class SubsetSelection(PureProtocol):
    """Report k values of the domain, one's own among them with probability k·e^ε/(k·e^ε + d - k).

    >>> oracle = SubsetSelection(domain=128, epsilon=1)
    >>> oracle.size, oracle.report_bytes
    (34, 16)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report.
        size: k, the number of values in a report, instead of the best one.
    """

    code = 8

    def __init__(self, *, domain: object, epsilon: Number, size: int | None = None) -> None:
        """Fix the law and the guarantee."""
        super().__init__(*read_arguments(domain, epsilon))
        d = self._domain.size
        self.size = _best(self._epsilon, d) if size is None else _read_size(size, d)
        self._keep, self._law = _law(self._epsilon, self.size, d)
        shown = None if size is None else self.size
        self._finish(row_bytes(d), d, domain=self._domain.summary(), epsilon=epsilon, size=shown)

    def _constants(self) -> dict[str, object]:
        return {"keep": str(self._keep), "size": self.size}

    def _draw(self, index: Ints, bits: BitSource) -> Bytes:
        own = coins(self._keep, index.size, bits)
        sizes = self.size - own.astype(np.int64)
        rows = others(index, sizes, self.size, self._domain.size, bits)
        rows[np.arange(index.size), index >> 3] |= own.astype(np.uint8) << (index & 7).astype(np.uint8)
        return rows

    def _chance(self, record: bytes, index: int) -> Fraction:
        d, k, p = self._domain.size, self.size, self._law.p
        return p / comb(d - 1, k - 1) if record[index >> 3] >> (index & 7) & 1 else (1 - p) / comb(d - 1, k)

    def _tally(self, records: Bytes) -> tuple[Ints, int]:
        right = np.bitwise_count(records).sum(axis=1, dtype=np.int64) == self.size
        right &= (records[:, -1] & ~last_mask(self._domain.size)) == 0
        good = records if right.all() else records[right]
        return count_bits(good, self._domain.size), len(good)

    def _possible(self, cells: Ints, n: int) -> bool:
        return super()._possible(cells, n) and total(cells) == n * self.size


def _best(epsilon: Fraction, d: int) -> int:
    """Return the k with the least variance, which is next to d/(e^ε + 1)."""
    near = d / (exp(epsilon) + 1)
    sizes = {min(max(int(near) + more, 1), d - 1) for more in (0, 1)}
    return min(sizes, key=lambda k: (_law(epsilon, k, d)[1].base, k))


def _read_size(size: object, d: int) -> int:
    number = whole(size)
    if number is None or not 0 < number < d:
        raise bad_value("size", size, f"a whole number from 1 to {d - 1:,}")
    return number


def _law(epsilon: Fraction, k: int, d: int) -> tuple[int, Pure]:
    keep = inside(epsilon, k, d)
    p = Fraction(keep, ONE)
    return keep, Pure(p, (p * (k - 1) + (1 - p) * k) / (d - 1))


def others(index: Ints, sizes: Ints, most: int, d: int, bits: BitSource) -> Bytes:
    """Return rows of d bits, each a uniform set of so many values, `most` at most, other than the person's own.

    The words that are drawn do not depend on the sizes, which tell whether a person's own value is in.
    """
    rows = np.zeros((index.size, row_bytes(d)), dtype=np.uint8)
    if rows.size < _SMALL and index.size * d < 8 * _SMALL:
        return _one_by_one(index, sizes, most, d, bits)
    from tacit.local import kernels  # noqa: PLC0415 - numba is slow to import

    done = 0
    while done < index.size:
        need = most * (index.size - done)
        pool = words(bits, np.uint32, need + need // 64 + 64 + d)
        done += kernels.fill_subsets(rows[done:], index[done:], sizes[done:], most, d - 1, pool)
    return rows


def _one_by_one(index: Ints, sizes: Ints, most: int, d: int, bits: BitSource) -> Bytes:
    """Do the same without the compiler; first all words of a row are drawn, then those that were rejected again."""
    draws = below_each(np.tile(np.arange(d - most, d), index.size), bits).reshape(index.size, most)
    taken = np.zeros((index.size, d), dtype=np.uint8)
    for row, (own, size) in enumerate(zip(index.tolist(), sizes.tolist(), strict=True)):
        members = bytearray(d)
        for last, value in enumerate(draws[row].tolist(), start=d - 1 - most):
            place = last if members[value] else value
            members[place] = last >= d - 1 - size
        taken[row] = np.insert(np.frombuffer(members, dtype=np.uint8)[: d - 1], own, 0)
    return np.packbits(taken, axis=1, bitorder="little")
