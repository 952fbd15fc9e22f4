"""Local hashing (BLH, OLH): a public random line over a prime field, and randomised response on its buckets.

**Hash.** P = 2^31 - 1 is prime. A report draws a and b uniformly from {0, …, P-1}; value number x falls on the point
u = (a·x + b) mod P, and into bucket ⌊u·g/P⌋ of g. The bucket is then kept with probability p, or else one of the g - 1
others is reported. The record is a, b and the bucket y. In 32-bit or floating-point arithmetic (a browser's) write
x = 65536·h + l: u = ((a·h mod P)·65536 + a·l + b) mod P, where no number exceeds 2^49.

**Privacy.** a and b do not depend on the value, and given them y is `GRR` on g buckets: p/q ≤ e^ε by
`response_law.kept`.  ∎

**Pairwise independence, exactly.** For x ≠ v below P, (a, b) ↦ (a·x + b, a·v + b) is a bijection of pairs modulo P, so
the two points are independent and uniform. P = m·g + r, so r buckets hold m + 1 points and g - r hold m; two values
fall into one bucket with probability exactly κ = (r(m+1)² + (g-r)m²)/P², the same for every pair (1/g but for about
g/4P²). A report (a, b, y) supports v if v falls into bucket y. So p' = p, and for v ≠ x, q' = κ·p + (1-κ)·(1-p)/(g-1)
exactly: the estimate is unbiased and its variance is that of `response_law.Pure`, without any assumption on the hash.
No claim is made about three values at once, and none is needed: intervals for all values are Bonferroni's.

**BLH** has g = 2 buckets (Bassily and Smith, STOC 2015). **OLH** has g = round(e^ε) + 1, which minimises the variance
(Wang, Blocki, Li and Jha, USENIX Security 2017, section 4.4); at most 65,536, beyond which direct encoding is better
for any domain that hashing could shrink. A survey may choose another g, or its own p.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bytes, Ints
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import Number, whole
from tacit.keyword_only import keyword_only
from tacit.local.base import PureProtocol, own_chances, read_domain
from tacit.local.domain import Domain
from tacit.local.draws import PRIME, residues
from tacit.local.grr import respond
from tacit.local.reports import width_of
from tacit.local.response_law import ONE, Pure, kept, read_epsilon
from tacit.mechanisms.validation import one_of
from tacit.noise.bits import BitSource

_TABLE = 1 << 16


class Hashed(PureProtocol):
    """The base of BLH and OLH, which differ in the number of buckets."""

    def _start(self, domain: Domain, epsilon: Number | None, p: Number | None, buckets: int) -> None:
        target, self._keep = kept(epsilon, p, 1, buckets)
        super().__init__(domain, target)
        self.buckets, self._own = buckets, own_chances(p=p)
        keep = Fraction(self._keep, ONE)
        kappa = collision(buckets)
        self._law = Pure(keep, kappa * keep + (1 - kappa) * (1 - keep) / (buckets - 1))
        y = "u1" if width_of(buckets) == 1 else "<u2"
        self._record = np.dtype([("a", "<u4"), ("b", "<u4"), ("y", y)])

    def _constants(self) -> dict[str, object]:
        return {"buckets": self.buckets, "keep": str(self._keep), "prime": PRIME, **self._own}

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
        epsilon: the guarantee of each report; or
        p: the probability of the own bucket, above 1/2; ε follows from it.
    """

    code = 5

    def __init__(self, *, domain: object, epsilon: Number | None = None, p: Number | None = None) -> None:
        """Fix the law and the guarantee from one of the two numbers."""
        values = read_domain(domain)
        self._start(values, epsilon, p, 2)
        self._finish(self._record.itemsize, values.size, domain=values.summary(), epsilon=epsilon, p=p)


_MOST = 1 << 16


@keyword_only
class OLH(Hashed):
    """Hash the value to round(e^ε) + 1 buckets and report that by randomised response.

    >>> oracle = OLH(domain=128, epsilon=1)
    >>> oracle.buckets, round(oracle.variance(n=1), 2), oracle.report_bytes
    (4, 3.69, 9)
    >>> round(OLH(domain=128, epsilon=1, buckets=16).variance(n=1), 2)
    7.09

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report; or
        p: the probability of the own bucket, above 1/g; needs `buckets`, and ε follows from both.
        buckets: g, the number of buckets, instead of round(e^ε) + 1.
    """

    code = 6

    def __init__(
        self, *, domain: object, epsilon: Number | None = None, buckets: int | None = None, p: Number | None = None
    ) -> None:
        """Fix the law and the guarantee from ε or p."""
        values = read_domain(domain)
        self._start(values, epsilon, p, _buckets(buckets, epsilon, p))
        shown = None if buckets is None else self.buckets
        self._finish(self._record.itemsize, values.size, domain=values.summary(), epsilon=epsilon, buckets=shown, p=p)


def _buckets(buckets: object, epsilon: object, p: object) -> int:
    """Return the number of buckets that was given, or the best one for ε."""
    if buckets is None:
        if one_of(epsilon=epsilon, p=p) == "p":
            raise InvalidError("OLH needs buckets= with p=.", argument="buckets", hint="Pass their number, such as 4.")
        return min(round(exp(read_epsilon(epsilon))) + 1, _MOST)
    number = whole(buckets)
    if number is None or not 2 <= number <= _MOST:  # noqa: PLR2004 - one bucket tells nothing
        raise bad_value("buckets", buckets, f"a whole number from 2 to {_MOST:,}")
    return number
