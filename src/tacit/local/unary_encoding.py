"""Unary encoding (SUE, OUE): a report has one bit for each value.

A record has ⌈d/8⌉ bytes; bit v is at byte v>>3, position v&7 from the lowest. The one-hot string of a value has a 1 at
its position. Each bit is drawn again, independently: a 1 stays with probability p, a 0 becomes 1 with probability q.

**Statement.** A report is ε-DP if p(1-q)/(q(1-p)) ≤ e^ε.
**Proof.** The one-hot strings of two values differ at two positions. All other factors cancel in the ratio of
a report's probabilities; those two leave p/q or (1-p)/(1-q) at the first and its inverse kind at the second: at most
p/q · (1-q)/(1-p) for p > q.  ∎
**Estimate.** Pure with p' = p, q' = q: each bit is the support of its value (Wang et al. 2017, section 4.3).

**SUE** (Erlingsson, Pihur and Korolova, CCS 2014, basic RAPPOR) has q ≥ 1/(e^(ε/2) + 1), rounded up, and p = 1 - q:
p(1-q)/(q(1-p)) = ((1-q)/q)² ≤ (e^(ε/2))².  ∎
**OUE** (Wang, Blocki, Li and Jha, USENIX Security 2017) has p = 1/2 and q ≥ 1/(e^ε + 1), rounded up:
p(1-q)/(q(1-p)) = (1-q)/q ≤ e^ε.  ∎
A survey may choose its own p and q, rounded down and up to 64 binary digits: ε is ln(p(1-q)/(q(1-p))) rounded up. Or
its own p with ε: q is the least with that ratio at most e^ε, q ≥ x/(1+x) with x = p/(1-p)·e^-ε, rounded up.

On real bits: all d bits are drawn with probability q, then a separate coin overwrites the bit of the person's value.
The unused bits of the last byte are 0. The work does not depend on the value, except for one memory address.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tacit.arrays import Bytes, Ints
from tacit.errors import InvalidError
from tacit.guarantees.exact import Number
from tacit.keyword_only import keyword_only
from tacit.local.base import PureProtocol, own_chances, read_domain
from tacit.local.domain import Domain
from tacit.local.draws import coin_bits, coins
from tacit.local.response_law import (
    ONE,
    Pure,
    raised,
    read_chance,
    read_epsilon,
    rounded_down,
    rounded_up,
    stated,
    too_small,
)
from tacit.mechanisms.validation import one_of
from tacit.noise.bits import BitSource
from tacit.noise.reals import exp_neg

_GUARD = 192


class UnaryLaw(NamedTuple):
    """The ε of a report, and the two probabilities times 2^64."""

    epsilon: Fraction
    keep: int
    raise_: int


class Unary(PureProtocol):
    """The base of SUE and OUE, which differ in the two probabilities."""

    _keep: int
    _raise: int

    def _start(self, domain: Domain, law: UnaryLaw, own: dict[str, object]) -> None:
        super().__init__(domain, law.epsilon)
        self._keep, self._raise, self._own = law.keep, law.raise_, own
        keep, raise_ = law.keep, law.raise_
        self._law = Pure(Fraction(keep, ONE), Fraction(raise_, ONE))

    def _constants(self) -> dict[str, object]:
        return {"keep": str(self._keep), "raise": str(self._raise), **self._own}

    def _draw(self, index: Ints, bits: BitSource) -> Bytes:
        d, width = self._domain.size, row_bytes(self._domain.size)
        rows = coin_bits(self._raise, index.size * width, bits).reshape(-1, width)
        rows[:, -1] &= last_mask(d)
        each, byte, place = np.arange(index.size), index >> 3, (index & 7).astype(np.uint8)
        own = coins(self._keep, index.size, bits).astype(np.uint8)
        rows[each, byte] = rows[each, byte] & ~(np.uint8(1) << place) | own << place
        return rows

    def _chance(self, record: bytes, index: int) -> Fraction:
        chance = Fraction(1)
        for v in range(self._domain.size):
            one = self._law.p if v == index else self._law.q
            chance *= one if record[v >> 3] >> (v & 7) & 1 else 1 - one
        return chance

    def _tally(self, records: Bytes) -> tuple[Ints, int]:
        bad = (records[:, -1] & ~last_mask(self._domain.size)) != 0
        good = records[~bad] if bad.any() else records
        return count_bits(good, self._domain.size), len(good)


def row_bytes(d: int) -> int:
    """Return how many bytes hold d bits."""
    return -(-d // 8)


def last_mask(d: int) -> np.uint8:
    """Return the bits of the last byte that are in use."""
    return np.uint8(0xFF >> -d % 8)


def count_bits(rows: Bytes, d: int) -> Ints:
    """Return how many rows have each of d bits set."""
    rows = np.ascontiguousarray(rows)
    if rows.size < 1 << 16:  # not worth loading the compiler for
        return np.asarray(np.unpackbits(rows, axis=1, count=d, bitorder="little").sum(axis=0, dtype=np.int64))
    from tacit.local import kernels  # noqa: PLC0415 - numba is slow to import

    counts = np.zeros(8 * rows.shape[1], dtype=np.int64)
    wide = rows.shape[1] % 8 == 0
    kernels.count_ones(rows.view(np.uint64) if wide else rows, 64 if wide else 8, counts)
    return counts[:d]


@keyword_only
class SUE(Unary):
    """One bit a value, each flipped with probability 1/(e^(ε/2) + 1): basic RAPPOR.

    >>> oracle = SUE(domain=128, epsilon=1)
    >>> round(oracle.variance(n=1), 2), oracle.report_bytes
    (3.92, 16)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report; or
        p: the probability that a bit is not flipped, above 1/2; ε follows from it.
    """

    code = 3

    def __init__(self, *, domain: object, epsilon: Number | None = None, p: Number | None = None) -> None:
        """Fix the law and the guarantee from one of the two numbers."""
        values = read_domain(domain)
        self._start(values, _symmetric_law(epsilon, p), own_chances(p=p))
        self._finish(row_bytes(values.size), values.size, domain=values.summary(), epsilon=epsilon, p=p)


def _symmetric_law(epsilon: object, p: object) -> UnaryLaw:
    if one_of(epsilon=epsilon, p=p) == "epsilon":
        target = read_epsilon(epsilon)
        flip = raised(target / 2, target)
        return UnaryLaw(target, ONE - flip, flip)
    keep = rounded_down(read_chance(p, "p"))
    return UnaryLaw(stated(Fraction(keep, ONE - keep) ** 2, "p", p, "above 1/2"), keep, ONE - keep)


@keyword_only
class OUE(Unary):
    """One bit a value: the person's own is 1 with probability 1/2, any other with 1/(e^ε + 1).

    >>> oracle = OUE(domain=128, epsilon=1)
    >>> round(oracle.variance(n=1), 2), oracle.report_bytes
    (3.68, 16)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report.
        p: the probability that the own bit is 1, instead of 1/2.
        q: the probability that any other bit is 1, below p; needs `p` and not ε, which follows from both.
    """

    code = 4

    def __init__(
        self, *, domain: object, epsilon: Number | None = None, p: Number | None = None, q: Number | None = None
    ) -> None:
        """Fix the law and the guarantee from ε, from ε and p, or from p and q."""
        values = read_domain(domain)
        self._start(values, _free_law(epsilon, p, q), own_chances(p=p, q=q))
        self._finish(row_bytes(values.size), values.size, domain=values.summary(), epsilon=epsilon, p=p, q=q)


def _free_law(epsilon: object, p: object, q: object) -> UnaryLaw:
    given = {name for name, value in (("epsilon", epsilon), ("p", p), ("q", q)) if value is not None}
    if given not in ({"epsilon"}, {"epsilon", "p"}, {"p", "q"}):
        message = "OUE needs epsilon, or epsilon and p, or p and q."
        raise InvalidError(message, argument="epsilon", hint="Two of the three numbers determine the third.")
    if given == {"epsilon"}:
        target = read_epsilon(epsilon)
        return UnaryLaw(target, ONE // 2, raised(target, target))
    keep = rounded_down(read_chance(p, "p"))
    if "q" in given:
        raise_ = rounded_up(read_chance(q, "q"))
        ratio = Fraction(keep * (ONE - raise_), raise_ * (ONE - keep))
        return UnaryLaw(stated(ratio, "q", q, "below p"), keep, raise_)
    target = read_epsilon(epsilon)
    raise_ = raised_beside(keep, target)
    if raise_ >= keep:
        raise too_small(target)
    return UnaryLaw(target, keep, raise_)


def raised_beside(keep: int, epsilon: Fraction) -> int:
    """Return the least certified q·2^64 with p(1-q)/(q(1-p)) ≤ e^ε, for p·2^64 = keep.

    x/(1+x) rises with x, so an upper bound of e^-ε gives an upper bound of q.

    >>> raised_beside(ONE // 2, Fraction(1)) / ONE         # 1/(e+1)
    0.2689414213699951
    """
    _, high = exp_neg(epsilon)(_GUARD)
    return -(-(ONE * keep * high) // (keep * high + ((ONE - keep) << _GUARD)))
