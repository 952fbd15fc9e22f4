"""Local hashing (BLH, OLH): a public random line over a prime field, and randomised response on its buckets.

**Hash.** P = 2^31 - 1 is prime. A report draws a and b uniformly from {0, …, P-1}; value number x falls on the point
u = (a·x + b) mod P, and into bucket ⌊u·g/P⌋ of g. The bucket is then kept with probability p, or else one of the g - 1
others is reported. The record is a, b and the bucket y. In 32-bit or floating-point arithmetic (a browser's) write
x = 65536·h + l: u = ((a·h mod P)·65536 + a·l + b) mod P, where no number exceeds 2^49.

**Privacy.** a and b do not depend on the value, and given them y is `GRR` on g buckets: p/q ≤ e^ε by
`response_law.inside`.  ∎

**Pairwise independence, exactly.** For x ≠ v below P, (a, b) ↦ (a·x + b, a·v + b) is a bijection of pairs modulo P, so
the two points are independent and uniform. P = m·g + r, so r buckets hold m + 1 points and g - r hold m; two values
fall into one bucket with probability exactly κ = (r(m+1)² + (g-r)m²)/P², the same for every pair (1/g but for about
g/4P²). A report (a, b, y) supports v if v falls into bucket y. So p' = p, and for v ≠ x, q' = κ·p + (1-κ)·(1-p)/(g-1)
exactly: the estimate is unbiased and its variance is that of `response_law.Pure`, without any assumption on the hash.
No claim is made about three values at once, and none is needed: intervals for all values are Bonferroni's.

**BLH** has g = 2 buckets (Bassily and Smith, STOC 2015). **OLH** has g = round(e^ε) + 1, which minimises the variance
(Wang, Blocki, Li and Jha, USENIX Security 2017, section 4.4); at most 65,536, beyond which direct encoding is better
for any domain that hashing could shrink.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bytes, Ints
from tacit.guarantees.exact import Number
from tacit.keyword_only import keyword_only
from tacit.local.base import PureProtocol, read_arguments
from tacit.local.domain import Domain
from tacit.local.draws import PRIME, residues
from tacit.local.grr import respond
from tacit.local.reports import width_of
from tacit.local.response_law import ONE, Pure, inside
from tacit.noise.bits import BitSource

_TABLE = 1 << 16


class Hashed(PureProtocol):
    """The base of BLH and OLH, which differ in the number of buckets."""

    def _start(self, domain: Domain, epsilon: Fraction, buckets: int) -> None:
        super().__init__(domain, epsilon)
        self.buckets = buckets
        self._keep = inside(epsilon, 1, buckets)
        keep = Fraction(self._keep, ONE)
        kappa = collision(buckets)
        self._law = Pure(keep, kappa * keep + (1 - kappa) * (1 - keep) / (buckets - 1))
        y = "u1" if width_of(buckets) == 1 else "<u2"
        self._record = np.dtype([("a", "<u4"), ("b", "<u4"), ("y", y)])

    def _constants(self) -> dict[str, object]:
        return {"buckets": self.buckets, "keep": str(self._keep), "prime": PRIME}

    def _draw(self, index: Ints, bits: BitSource) -> Bytes:
        record = np.empty(index.size, dtype=self._record)
        seed = residues(2 * index.size, bits)
        record["a"], record["b"] = seed[: index.size], seed[index.size :]
        bucket = hash_of(record["a"], record["b"], index, self.buckets)
        record["y"] = respond(bucket, self.buckets, self._keep, bits)
        return record.view(np.uint8).reshape(index.size, -1)

    def _chance(self, record: bytes, index: int) -> Fraction:
        a, b, y = (int(part) for part in np.frombuffer(record, dtype=self._record)[0])
        same = (a * index + b) % PRIME * self.buckets // PRIME == y
        return (self._law.p if same else (1 - self._law.p) / (self.buckets - 1)) / PRIME**2

    def _tally(self, records: Bytes) -> tuple[Ints, int]:
        fields = np.ascontiguousarray(records).view(self._record).reshape(-1)
        good = fields[(fields["a"] < PRIME) & (fields["b"] < PRIME) & (fields["y"] < self.buckets)]
        edge = edges(self.buckets)
        low, width = edge[:-1][good["y"]], np.diff(edge)[good["y"]]
        a, b = good["a"].astype(np.uint32), good["b"].astype(np.uint32)
        counts = np.zeros(self._domain.size, dtype=np.int64)
        if good.size * counts.size < _TABLE:  # not worth loading the compiler for
            point = (a[:, None].astype(np.uint64) * np.arange(counts.size, dtype=np.uint64) + b[:, None]) % PRIME
            return np.count_nonzero((point >= low[:, None]) & (point < (low + width)[:, None]), axis=0), good.size
        from tacit.local import kernels  # noqa: PLC0415 - numba is slow to import

        kernels.count_support(a, b, low, width, counts)
        return counts, good.size


def collision(g: int) -> Fraction:
    """Return the exact probability that two given values fall into one of g buckets.

    >>> float(collision(4))
    0.25
    """
    m, r = divmod(PRIME, g)
    return Fraction(r * (m + 1) ** 2 + (g - r) * m**2, PRIME**2)


def hash_of(a: npt.NDArray[np.uint32], b: npt.NDArray[np.uint32], index: Ints, g: int) -> Ints:
    """Return the bucket of each value: ⌊((a·x + b) mod P)·g/P⌋."""
    point = (a.astype(np.int64) * index + b) % PRIME  # below 2^31·2^24 + 2^31
    return np.asarray(point * g // PRIME)


def edges(g: int) -> npt.NDArray[np.uint32]:
    """Return where the buckets begin, and P: bucket y holds the points from ⌈y·P/g⌉ to ⌈(y+1)·P/g⌉ - 1."""
    return np.array([-(-y * PRIME // g) for y in range(g + 1)], dtype=np.uint32)


@keyword_only
class BLH(Hashed):
    """Hash the value to one of two buckets and report that by randomised response.

    >>> oracle = BLH(domain=128, epsilon=1)
    >>> round(oracle.variance(n=1), 2), oracle.report_bytes
    (4.68, 9)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report.
    """

    code = 5

    def __init__(self, *, domain: object, epsilon: Number) -> None:
        """Fix the law and the guarantee."""
        values, target = read_arguments(domain, epsilon)
        self._start(values, target, 2)
        self._finish(self._record.itemsize, values.size, domain=values.summary(), epsilon=epsilon)


_MOST = 1 << 16


@keyword_only
class OLH(Hashed):
    """Hash the value to round(e^ε) + 1 buckets and report that by randomised response.

    >>> oracle = OLH(domain=128, epsilon=1)
    >>> oracle.buckets, round(oracle.variance(n=1), 2), oracle.report_bytes
    (4, 3.69, 9)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report.
    """

    code = 6

    def __init__(self, *, domain: object, epsilon: Number) -> None:
        """Fix the law and the guarantee."""
        values, target = read_arguments(domain, epsilon)
        self._start(values, target, min(round(exp(target)) + 1, _MOST))
        self._finish(self._record.itemsize, values.size, domain=values.summary(), epsilon=epsilon)
