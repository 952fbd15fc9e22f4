"""Subset selection: report k values, the person's own among them with probability p, all else uniform.

**Statement.** With p ≤ k·e^ε/(k·e^ε + d - k) a report is ε-DP.
**Proof.** A set S of k values has probability p/C(d-1, k-1) for a person in S and (1-p)/C(d-1, k) for one who is not;
the ratio is p(d-k)/((1-p)k), at most e^ε by `response_law.inside` with s = k, K = d, and above 1.  ∎
**Estimate.** Pure with p' = p and q' = (p(k-1) + (1-p)k)/(d-1): of the d - 1 others the set holds k - 1 or k, every one
alike. No protocol has a smaller variance over small frequencies with the best k, near d/(e^ε + 1) (Ye and Barg, IEEE
Trans. Inf. Theory 64(8), 2018; Wang et al., arXiv:1607.08025v1).

A record is a bit a value, as in `unary_encoding`, with exactly k ones. Small batches draw the other members by the
order of 64-bit keys, drawn again where two are equal: then every order is equally likely. Large ones use Floyd's
algorithm. Both draw for k others, whether or not one's own value is among the k: the number of draws tells nothing.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bytes, Ints
from tacit.guarantees.exact import Number
from tacit.keyword_only import keyword_only
from tacit.local.base import PureProtocol, read_arguments, total
from tacit.local.draws import coins
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
    """

    code = 8

    def __init__(self, *, domain: object, epsilon: Number) -> None:
        """Fix the law and the guarantee."""
        super().__init__(*read_arguments(domain, epsilon))
        d = self._domain.size
        near = d / (exp(self._epsilon) + 1)
        sizes = {min(max(int(near) + more, 1), d - 1) for more in (0, 1)}
        self.size = min(sizes, key=lambda k: (_law(self._epsilon, k, d)[1].base, k))
        self._keep, self._law = _law(self._epsilon, self.size, d)
        self._finish(row_bytes(d), d, domain=self._domain.summary(), epsilon=epsilon)

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
        return _by_order(index, sizes, d, bits)
    from tacit.local import kernels  # noqa: PLC0415 - numba is slow to import

    done = 0
    while done < index.size:
        need = most * (index.size - done)
        pool = words(bits, np.uint32, need + need // 64 + 64 + d)
        done += kernels.fill_subsets(rows[done:], index[done:], sizes[done:], most, d - 1, pool)
    return rows


def _by_order(index: Ints, sizes: Ints, d: int, bits: BitSource) -> Bytes:
    key = words(bits, np.uint64, index.size * (d - 1)).reshape(index.size, d - 1).copy()
    again = _tied(key)
    while again.size:
        key[again] = words(bits, np.uint64, again.size * (d - 1)).reshape(again.size, d - 1)
        again = again[_tied(key[again])]
    rank = key.argsort(axis=1).argsort(axis=1)
    taken = np.zeros((index.size, d), dtype=np.bool_)
    place = np.arange(d - 1) + (np.arange(d - 1) >= index[:, None])
    np.put_along_axis(taken, place, rank < sizes[:, None], axis=1)
    return np.packbits(taken, axis=1, bitorder="little")


def _tied(key: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    """Return the rows in which two keys are equal."""
    order = np.sort(key, axis=1)
    return np.flatnonzero((order[:, 1:] == order[:, :-1]).any(axis=1))
