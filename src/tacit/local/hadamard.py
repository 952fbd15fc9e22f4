"""Hadamard response: a value stands for the outputs where its row of a Hadamard matrix is +1.

**Outputs.** B blocks of b outputs, powers of two with B(b-1) ≥ d, K = B·b. Value x has block x mod B and row
r = 1 + ⌊x/B⌋ of the Sylvester matrix H[r, j] = (-1)^(number of ones in r & j). Its set is {j : H[r, j] = +1} in its
block, b/2 outputs. A report is uniform on the set with probability `keep`, else uniform on the K - b/2 others.

**Privacy.** `response_law.inside` with s = b/2.  ∎  (Acharya, Sun and Zhang, AISTATS 2019, section 5.)

**Estimate.** Let T = H[r, j] for a report j in the block of v, else 0. Two different rows r, r' ≥ 1 agree in half the
places, so E[T] = 0 for a person with another value, in the block or not, and E[T] = D = keep - (1-keep)·(b/2)/(K-b/2)
for one with v. So ΣT/D is unbiased; all ΣT are one fast Hadamard transform of each block's histogram.
**Variance.** T² = 1 for reports in the block, so Var[ΣT/D] = E[N]/D² - n_v, with N the number of reports in the block
of v. With one block N = n, and the law is pure with p' = keep, q' = 1/2. With several, E[N] depends on who else is in
the block; see `count_laws.Signs` for how errors and intervals stay honest where N is small.

B and b are those with the least variance of a rare value where all others are even.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tacit.arrays import Bytes, Ints
from tacit.guarantees.exact import Number
from tacit.keyword_only import keyword_only
from tacit.local.base import Protocol, read_arguments, total
from tacit.local.count_laws import Decoded, Signs, Supports
from tacit.local.draws import below, coins
from tacit.local.reports import count, to_records, width_of
from tacit.local.response_law import ONE, Pure, inside
from tacit.noise.bits import BitSource


@keyword_only
class Hadamard(Protocol):
    """Report an output of the person's Hadamard row, or another output; decoded by a fast Hadamard transform.

    >>> oracle = Hadamard(domain=1000, epsilon=1)
    >>> oracle.blocks, oracle.order, oracle.report_bytes
    (1, 1024, 2)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report.
    """

    code = 7

    def __init__(self, *, domain: object, epsilon: Number) -> None:
        """Fix the law and the guarantee."""
        super().__init__(*read_arguments(domain, epsilon))
        self.blocks, self.order = _best(self._domain.size, self._epsilon)
        self._outputs = self.blocks * self.order
        self._keep = inside(self._epsilon, self.order // 2, self._outputs)
        self._hit = Fraction(self._keep, ONE)
        self._finish(width_of(self._outputs), self._outputs, domain=self._domain.summary(), epsilon=epsilon)

    def _constants(self) -> dict[str, object]:
        return {"blocks": self.blocks, "keep": str(self._keep), "order": self.order}

    def _draw(self, index: Ints, bits: BitSource) -> Bytes:
        b, half = self.order, self.order // 2
        block, row = index % self.blocks, 1 + index // self.blocks
        keep = coins(self._keep, index.size, bits)
        plus, rest = below(half, index.size, bits), below(self._outputs - half, index.size, bits)
        own = block * b + _with_parity(np.where(keep, plus, rest % half), row, odd=~keep)
        far = rest - half  # a number among the outputs of all other blocks, if it is not negative
        far += b * (far >= block * b)
        return to_records(np.where(keep | (rest < half), own, far), self._outputs)

    def _chance(self, record: bytes, index: int) -> Fraction:
        block, place = divmod(int.from_bytes(record, "little"), self.order)
        row, half = 1 + index // self.blocks, self.order // 2
        if block == index % self.blocks and (row & place).bit_count() % 2 == 0:
            return self._hit / half
        return (1 - self._hit) / (self._outputs - half)

    def _tally(self, records: Bytes) -> tuple[Ints, int]:
        return count(records, self._outputs)

    def _possible(self, cells: Ints, n: int) -> bool:
        return super()._possible(cells, n) and total(cells) == n

    def _decode(self, cells: Ints, n: int) -> Decoded:
        blocks, place = cells.reshape(self.blocks, self.order), np.arange(self._domain.size)
        block = place % self.blocks
        sums = transform(blocks)[block, 1 + place // self.blocks]
        plus = (blocks.sum(axis=1)[block] + sums) // 2
        if self.blocks == 1:
            return Supports(Pure(self._hit, Fraction(1, 2)), plus, n)
        stray = (1 - self._hit) * (self.order // 2) / (self._outputs - self.order // 2)
        return Signs(self._hit, stray, plus, plus - sums, n, shared=self.order > 2)  # noqa: PLR2004 - one row

    def variance(self, *, n: int, frequency: float = 0.0) -> float:
        """Return the exact variance of the estimated count of a value that a share `frequency` of n people has.

        With several blocks it also depends on who else is in the value's block: here all others are spread evenly.

        Args:
            n: how many people report.
            frequency: the share of them that has the value.
        """
        return super().variance(n=n, frequency=frequency)

    def _variance(self, n: int, frequency: float) -> float:
        return n * _each(self._hit, self.blocks, self.order, self._domain.size, frequency)


def transform(blocks: Ints) -> Ints:
    """Return Σ_j H[r, j]·blocks[…, j] for each r, by the fast Hadamard transform.

    >>> transform(np.array([[1, 2, 3, 4]]))
    array([[10, -2, -4,  0]])
    """
    result, b = blocks, blocks.shape[-1]
    half = 1
    while half < b:
        pairs = result.reshape(-1, 2, half)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        half *= 2
    return result.reshape(blocks.shape)


def _with_parity(number: Ints, row: Ints, *, odd: np.typing.NDArray[np.bool_]) -> Ints:
    """Map numbers below b/2 one to one to the places j with an even (or odd) number of ones in row & j.

    The place of the row's lowest 1 is left open and then filled so that the parity is right.
    """
    lowest = row & -row
    low = number & (lowest - 1)
    open_ = ((number - low) << 1) + low
    wrong = (np.bitwise_count(open_ & row) & 1) != odd
    return np.asarray(open_ + lowest * wrong)


def _slope(hit: Fraction, blocks: int, b: int) -> Fraction:
    """Return D, the mean of T for a person with the value."""
    half = Fraction(b, 2)
    return hit - (1 - hit) * half / (blocks * b - half)


def _each(hit: Fraction, blocks: int, b: int, d: int, frequency: float) -> float:
    """Return the variance that each report adds where all others are even."""
    half, outputs = b // 2, blocks * b
    same = frequency + (1 - frequency) * (-(-d // blocks) - 1) / (d - 1)
    near, far = float(hit + (1 - hit) * half / (outputs - half)), float((1 - hit) * b / (outputs - half))
    return (same * near + (1 - same) * far) / float(_slope(hit, blocks, b)) ** 2 - frequency


def _best(d: int, epsilon: Fraction) -> tuple[int, int]:
    """Return the number of blocks and their size with the least variance, the fewest outputs among equals."""
    options = []
    for power in range((d - 1).bit_length() + 1):
        blocks = 1 << power
        b = max(2, 1 << (-(-d // blocks)).bit_length())  # the least power of two above ⌈d/B⌉
        hit = Fraction(inside(epsilon, b // 2, blocks * b), ONE)
        options.append((_each(hit, blocks, b, d, 0.0), blocks * b, blocks, b))
    return min(options)[2:]
