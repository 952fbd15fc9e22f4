"""Projective geometry response: values and outputs are points of a projective space, a value's set is its hyperplane.

**Outputs.** For a prime q and t ≥ 2, the K = (q^t - 1)/(q - 1) lines through 0 in F_q^t, each by its vector whose first
nonzero coordinate is 1. In base q, highest first, such a vector reads 0…01 followed by m digits; its number is
(q^m - 1)/(q - 1) plus the number that those digits are. Value x is point number x. Its set is {u : ⟨x, u⟩ = 0}, of
s = (q^(t-1) - 1)/(q - 1) points; the sets of two values meet in c = (q^(t-2) - 1)/(q - 1). A report is uniform on the
set with probability `keep`, else uniform on the K - s = q^(t-1) others.

**Privacy.** `response_law.inside` with this s and K.  ∎
(Feldman, Nelson, Nguyen and Talwar, ICML 2022, arXiv:2203.00194v1.)

**Drawing.** Let the first nonzero coordinate of x be its pivot. For any other t - 1 coordinates of u there is one
pivot coordinate with ⟨x, u⟩ = 0, and one with ⟨x, u⟩ = 1. So a uniform choice of the others, not all 0, gives a uniform
nonzero vector of the hyperplane, hence after scaling a uniform point of it (q - 1 vectors each); and a uniform choice
of all others with ⟨x, u⟩ = 1 gives each point outside once, since one of its multiples has product 1.  ∎

**Estimate.** Pure with p' = keep and q' = keep·c/s + (1 - keep)·(s - c)/(K - s).
**Decoding.** Let G(w) be the number of reports of the line through w, for w ≠ 0 in F_q^t, and G(0) = 0. The Fourier
transform over F_q^t at x is Σ_u count(u)·Σ_{λ≠0} ω^(λ⟨x,u⟩) = Σ_u count(u)·(q·[⟨x,u⟩ = 0] - 1) = q·I_x - n. So one real
FFT over t axes of length q gives the supports I_x of all values at once. They are integers; the transform errs by about
n·log₂(q^t)·2^-52, so rounding makes them exact for n up to 2^44; more are refused, and the code checks that no value is
far from an integer.

q is the prime with the least variance, near e^ε + 1, among those whose grid q^t has at most 2^26 cells.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bytes, Ints
from tacit.errors import InvalidError
from tacit.guarantees.exact import Number
from tacit.keyword_only import keyword_only
from tacit.local.base import PureProtocol, read_arguments, total
from tacit.local.draws import below, coins
from tacit.local.reports import count, to_records, width_of
from tacit.local.response_law import ONE, Pure, inside
from tacit.noise.bits import BitSource

_GRID = 1 << 26
_PRIMES = 8209
_FAR = 0.25
_EXACT = 1 << 44


@keyword_only
class ProjectiveGeometry(PureProtocol):
    """Report a point of the person's hyperplane, or another point; decoded by one Fourier transform.

    >>> oracle = ProjectiveGeometry(domain=1000, epsilon=1)
    >>> oracle.field, oracle.dimension, oracle.report_bytes
    (3, 7, 2)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report.
    """

    code = 9

    def __init__(self, *, domain: object, epsilon: Number) -> None:
        """Fix the law and the guarantee."""
        super().__init__(*read_arguments(domain, epsilon))
        self.field, self.dimension = _best(self._domain.size, self._epsilon)
        self._outputs = points(self.field, self.dimension)
        self._keep, self._law = _law(self._epsilon, self.field, self.dimension)
        self._finish(width_of(self._outputs), self._outputs, domain=self._domain.summary(), epsilon=epsilon)

    def _constants(self) -> dict[str, object]:
        return {"dimension": self.dimension, "field": self.field, "keep": str(self._keep)}

    def _draw(self, index: Ints, bits: BitSource) -> Bytes:
        q, t, vectors = self.field, self.dimension, self.field ** (self.dimension - 1)
        keep = coins(self._keep, index.size, bits)
        free = np.where(keep, 1 + below(vectors - 1, index.size, bits), below(vectors, index.size, bits))
        own, pivot = vectors_of(index, q, t)
        digits = np.empty((t, index.size), dtype=np.int64)
        product = np.zeros(index.size, dtype=np.int64)
        for place in range(t):  # the digits of `free` go to all places but the pivot's
            rest = free // q
            digits[place] = np.where(place == pivot, 0, free - q * rest)
            free = np.where(place == pivot, free, rest)
            product += own[place] * digits[place]
        digits[pivot, np.arange(index.size)] = (np.where(keep, 0, 1) - product) % q
        return to_records(numbers_of(digits, q), self._outputs)

    def _chance(self, record: bytes, index: int) -> Fraction:
        q, t = self.field, self.dimension
        pair, _ = vectors_of(np.array([int.from_bytes(record, "little"), index]), q, t)
        s = points(q, t - 1)
        inside_ = int((pair[:, 0] * pair[:, 1]).sum()) % q == 0
        return self._law.p / s if inside_ else (1 - self._law.p) / (self._outputs - s)

    def _tally(self, records: Bytes) -> tuple[Ints, int]:
        return count(records, self._outputs)

    def _possible(self, cells: Ints, n: int) -> bool:
        return super()._possible(cells, n) and total(cells) == n

    def _support(self, cells: Ints) -> Ints:
        return hyperplane_sums(cells, self.field, self.dimension, self._domain.size)


def points(q: int, t: int) -> int:
    """Return how many points the projective space of F_q^t has.

    >>> points(3, 3)
    13
    """
    return int((q**t - 1) // (q - 1))


def vectors_of(index: Ints, q: int, t: int) -> tuple[Ints, Ints]:
    """Return the digits of points by their numbers, a row for each place from the lowest, and where the first 1 is."""
    code, pivot = _codes(index, q, t)
    digits = np.empty((t, index.size), dtype=np.int64)
    for place in range(t):
        rest = code // q
        digits[place] = code - q * rest
        code = rest
    return digits, pivot


def _codes(index: Ints, q: int, t: int) -> tuple[Ints, Ints]:
    """Return points by their numbers as numbers in base q, and the place of the first 1."""
    starts = np.array([points(q, m) for m in range(t)], dtype=np.int64)
    pivot = np.searchsorted(starts, index, side="right") - 1
    return index - starts[pivot] + q**pivot, pivot


def numbers_of(digits: Ints, q: int) -> Ints:
    """Return the numbers of the points through nonzero vectors, whose digits are in rows, the lowest first."""
    lead, start = np.zeros(digits.shape[1], dtype=np.int64), np.zeros(digits.shape[1], dtype=np.int64)
    for place, row in enumerate(digits):
        lead = np.where(row != 0, row, lead)
        start = np.where(row != 0, points(q, place) - q**place, start)
    scale = _inverses(q)[lead]
    code = np.zeros(digits.shape[1], dtype=np.int64)
    for row in digits[::-1]:
        code = code * q + row * scale % q
    return code + start


def hyperplane_sums(cells: Ints, q: int, t: int, d: int) -> Ints:
    """Return for each of the first d points x the number of reports u with ⟨x, u⟩ = 0, from the reports of each u."""
    from scipy.fft import rfftn  # noqa: PLC0415 - slow to import

    waves = rfftn(_spread(cells, q, t).reshape((q,) * t)).real.reshape(-1)
    values = (waves[_positions(q, t, d)] + total(cells)) / q
    sums = np.rint(values)
    if total(cells) > _EXACT or np.abs(values - sums).max() > _FAR:
        message = "There are too many reports for an exact transform."
        raise InvalidError(message, argument="reports", hint="Estimate parts of them and add the counts.")
    return sums.astype(np.int64)


def _spread(cells: Ints, q: int, t: int) -> npt.NDArray[np.float64]:
    """Return G: each point's count at all its multiples."""
    grid, inverse, digit = np.zeros(q**t), _inverses(q), np.arange(q)
    counts = cells.astype(np.float64)
    for factor in range(1, q):
        back, size = np.zeros(1, dtype=np.int64), 1  # the number of low digits divided by the factor
        undo = digit * inverse[factor] % q
        for m in range(t):
            grid[factor * size : (factor + 1) * size] = counts[points(q, m) + back]
            if m + 1 < t:
                back = np.add.outer(undo * size, back).reshape(-1)
            size *= q
    return grid


@lru_cache(maxsize=4)
def _positions(q: int, t: int, d: int) -> Ints:
    """Return where the real transform has each point; it holds the lower half of the last axis, and -x for x."""
    code, _ = _codes(np.arange(d), q, t)
    flip, place, weight = code % q > q // 2, np.zeros(d, dtype=np.int64), 1
    for axis in range(t):
        rest = code // q
        digit = code - q * rest
        place += np.where(flip & (digit > 0), q - digit, digit) * weight
        code, weight = rest, (q // 2 + 1) * q**axis
    return place


@lru_cache(maxsize=16)
def _inverses(q: int) -> Ints:
    """Return 1/λ modulo q for each λ; 0 for 0."""
    return np.array([0, *(pow(factor, -1, q) for factor in range(1, q))], dtype=np.int64)


def _law(epsilon: Fraction, q: int, t: int) -> tuple[int, Pure]:
    s, c, outputs = points(q, t - 1), points(q, t - 2), points(q, t)
    keep = inside(epsilon, s, outputs)
    p = Fraction(keep, ONE)
    return keep, Pure(p, p * c / s + (1 - p) * (s - c) / (outputs - s))


def _best(d: int, epsilon: Fraction) -> tuple[int, int]:
    """Return q and t with the least variance, the smallest grid among equals."""
    options = []
    for q in _primes():
        t = 2
        while points(q, t) < d:
            t += 1
        if q**t <= _GRID:
            options.append((_law(epsilon, q, t)[1].base, q**t, q, t))
        if q > d:
            break
    return min(options)[2:]


@lru_cache(maxsize=1)
def _primes() -> list[int]:
    sieve = np.ones(_PRIMES + 1, dtype=np.bool_)
    sieve[:2] = False
    for factor in range(2, int(_PRIMES**0.5) + 1):
        sieve[factor * factor :: factor] = False
    return [int(prime) for prime in np.flatnonzero(sieve)]
