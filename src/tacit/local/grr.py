"""Generalised randomised response (direct encoding): report the value with probability p, else one of the others.

**Statement.** With p ≤ e^ε/(e^ε + d - 1) and q = (1 - p)/(d - 1) < p, a report is ε-DP in the person's value.
**Proof.** A report y has probability p if y is the value and q if not; p/q ≤ e^ε by `response_law.kept` with s = 1,
K = d, and q/p < 1.  ∎
**Estimate.** Pure with p' = p, q' = q (Kairouz, Bonawitz and Ramage, ICML 2016; Wang et al. 2017, section 4.1). Best
for small domains, d < 3e^ε + 2 or so.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tacit.arrays import Bytes, Ints
from tacit.guarantees.exact import Number
from tacit.keyword_only import keyword_only
from tacit.local.base import PureProtocol, own_chances, read_domain, total
from tacit.local.draws import below, coins
from tacit.local.reports import count, to_records, width_of
from tacit.local.response_law import ONE, Pure, kept
from tacit.noise.bits import BitSource, words

_MANY, _NARROW = 1 << 15, 1 << 12


@keyword_only
class GRR(PureProtocol):
    """Report the value with probability e^ε/(e^ε + d - 1), else any other value.

    >>> oracle = GRR(domain=["tea", "coffee", "water"], epsilon=2)
    >>> round(oracle.p, 4), round(oracle.q, 4), oracle.report_bytes
    (0.787, 0.1065, 1)
    >>> oracle.estimate(oracle.randomize(["tea"] * 1000)).counts.shape
    (3,)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report; or
        p: the probability of the own value, above 1/d; ε follows from it.
    """

    code = 2

    def __init__(self, *, domain: object, epsilon: Number | None = None, p: Number | None = None) -> None:
        """Fix the law and the guarantee from one of the two numbers."""
        values = read_domain(domain)
        d = values.size
        target, self._keep = kept(epsilon, p, 1, d)
        super().__init__(values, target)
        self._own = own_chances(p=p)
        self._law = Pure(Fraction(self._keep, ONE), Fraction(ONE - self._keep, ONE * (d - 1)))
        self._finish(width_of(d), d, domain=values.summary(), epsilon=epsilon, p=p)

    def _constants(self) -> dict[str, object]:
        return {"keep": str(self._keep), **self._own}

    def _draw(self, index: Ints, bits: BitSource) -> Bytes:
        return to_records(respond(index, self._domain.size, self._keep, bits), self._domain.size)

    def _chance(self, record: bytes, index: int) -> Fraction:
        return self._law.p if int.from_bytes(record, "little") == index else self._law.q

    def _tally(self, records: Bytes) -> tuple[Ints, int]:
        return count(records, self._domain.size)

    def _possible(self, cells: Ints, n: int) -> bool:
        return super()._possible(cells, n) and total(cells) == n


def respond(index: Ints, d: int, keep: int, bits: BitSource) -> Ints:
    """Keep each number below d with probability keep/2^64; else draw one of the d - 1 others."""
    if index.size >= _MANY:
        return _respond_many(index, d, keep, bits)
    other = below(d - 1, index.size, bits)
    other += other >= index
    return np.where(coins(keep, index.size, bits), index, other)


def _respond_many(index: Ints, d: int, keep: int, bits: BitSource) -> Ints:
    """Do the same in one pass: a word for the coin's first digits, a word for the other value.

    If the coin's first 16 digits equal those of `keep`, its other 48 digits decide. If Lemire's rule rejects the other
    value, it is drawn again. Both are as in `draws`, so the law is the same.
    """
    from tacit.local import kernels  # noqa: PLC0415 - numba is slow to import

    width, first = 16 if d <= _NARROW else 32, words(bits, np.uint16, index.size)
    second = words(bits, np.uint16, index.size) if d <= _NARROW else words(bits, np.uint32, index.size)
    result, unclear = np.empty_like(index), np.empty_like(index)
    lead, bound, reject = keep >> 48, d - 1, (1 << width) % (d - 1)
    count_ = kernels.respond(index, first, second, (lead, bound, reject, width), result, unclear)
    rest = unclear[:count_]
    kept = first[rest] < lead
    tied = first[rest] == lead
    kept[tied] = words(bits, np.uint64, int(tied.sum())) >> np.uint64(16) < np.uint64(keep & ((1 << 48) - 1))
    product = second[rest].astype(np.int64) * bound
    other, again = product >> width, (product & ((1 << width) - 1)) < reject
    other[again] = below(bound, int(again.sum()), bits)
    other += other >= index[rest]
    result[rest] = np.where(kept, index[rest], other)
    return result
