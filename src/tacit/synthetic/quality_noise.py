"""Noisy tables and private choices of tables for a quality release, within one ρ.

Let one unit add at most L = R·scale steps to each table in L1 (`coded_rows`).

**Tables.** A unit that is added or removed moves the counts of a table by a vector u ≥ 0 with Σu ≤ L, so by at most L
in L2. If the unit changes, u becomes v ≥ 0 and ‖u - v‖² = ‖u‖² + ‖v‖² - 2⟨u, v⟩ ≤ 2L². Discrete Gaussian noise of
variance σ² is L²/2σ²-zCDP, or 2L²/2σ²-zCDP (Canonne, Kamath and Steinke, arXiv:2004.00010v5, theorem 14).

**Choices.** The score of a table c is s_c = Σ|x_c - q_c| - t_c: its counts x_c against whole numbers q_c, less a whole
number t_c, both computed from released numbers. By the triangle inequality s_c moves by at most ‖u‖₁ ≤ L if a unit is
added or removed, and by at most ‖u - v‖₁ ≤ 2L if a unit changes. Both are attained: if a unit of L steps leaves a cell
with x_c ≤ q_c, or leaves it for a cell with x_c ≥ q_c. The scores are not monotone. A choice by the exponential
mechanism at ε₀ has its loss in an interval of length ε₀, so it is ε₀²/8-zCDP (`guarantees.prices`).

**Composition.** The variance of each table, ε₀ of each choice, the candidates, q_c and t_c depend on public numbers and
on earlier outputs only. So the costs add (Bun and Steinke, arXiv:1605.02065v1, lemma 2.3), and `Purse` refuses a draw
that would exceed ρ.

On real bits: counts, q_c, t_c and noise are integers, variances and ε₀ are rationals and the samplers are exact. A fit
in floats that reads released numbers only gives q_c and t_c, which are rounded once, before they meet counts. If a
processor rounds floats differently in two runs, this chance does not depend on the rows: q_c is then a randomised
function of earlier outputs, which the lemma admits. The q_c of a table are at most 2^40 rows together, so that scores
are 64-bit integers. No draw is left out or stopped by a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, isqrt
from typing import TypeAlias

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.errors import InternalError
from tacit.guarantees.events import Neighbours
from tacit.mechanisms.exponential import Exponential
from tacit.noise import SYSTEM, BitSource, discrete_gaussian
from tacit.synthetic.coded_rows import CodedRows

Columns: TypeAlias = tuple[int, ...]

_DIGITS = 2**40
_MOST_ROWS = 2.0**40
MOST_VARIANCE = 2**100
"""A table whose noise would have a larger variance is not measured; its part of ρ is not used."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A table with its noisy counts, in steps, and the variance of their noise."""

    columns: Columns
    values: tuple[int, ...]
    variance: Fraction


@dataclass(slots=True)
class Purse:
    """Draws from rows, and the part of ρ that is left for them."""

    rows: CodedRows
    neighbours: Neighbours
    rho: Fraction
    bits: BitSource = SYSTEM
    spent: list[Fraction] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)

    @property
    def left(self) -> Fraction:
        """The part of ρ that no draw has taken."""
        return self.rho - sum(self.spent, Fraction(0))

    def measure(self, columns: Columns, rho: Fraction) -> None:
        """Measure a table for at most a part of ρ; if that is 0 or too small to add noise for, do not measure it."""
        if rho <= 0:
            return
        variance = _rounded_up(l2_squared(self.rows, self.neighbours) / (2 * rho))
        if variance > MOST_VARIANCE:
            return
        self._take(l2_squared(self.rows, self.neighbours) / (2 * variance))
        counts = self.rows.counts(columns).ravel()
        noise = discrete_gaussian(variance, counts.size, self.bits)
        values = tuple(int(count) + int(draw) for count, draw in zip(counts.tolist(), noise.tolist(), strict=True))
        self.measured.append(Measured(columns, values, variance))

    def choose(self, scores: Sequence[int], rho: Fraction) -> int:
        """Return the place of one score, drawn by the exponential mechanism for at most a part of ρ."""
        epsilon = bounded_range(rho)
        self._take(epsilon**2 / 8)
        mechanism = Exponential(sensitivity=l1(self.rows, self.neighbours), epsilon=epsilon)
        place = mechanism.choose(np.array(scores, dtype=np.int64))
        if not isinstance(place, int):
            raise InternalError("a choice among positions is a position.")
        return place

    def _take(self, rho: Fraction) -> None:
        if rho > self.left:
            raise InternalError("a quality release would spend more than it was charged for.")
        self.spent.append(rho)


def l1(rows: CodedRows, neighbours: Neighbours) -> int:
    """Return the largest move of a table by one unit in L1, which is also that of its score."""
    return rows.reach * rows.scale * (2 if neighbours == "change one" else 1)


def l2_squared(rows: CodedRows, neighbours: Neighbours) -> int:
    """Return the largest squared move of a table by one unit in L2."""
    return (rows.reach * rows.scale) ** 2 * (2 if neighbours == "change one" else 1)


def score(counts: Ints, predicted: Ints, penalty: int) -> int:
    """Return Σ|counts - predicted| - penalty.

    >>> score(np.array([3, 0]), np.array([1, 1]), 2)
    1
    """
    return int(np.abs(counts.ravel() - predicted.ravel()).sum()) - penalty


def whole_counts(shares: Floats, total: float, scale: int) -> Ints:
    """Return the predicted counts of a table in whole steps, from shares and a number of rows."""
    rows = min(max(total, 0.0), _MOST_ROWS)
    return np.floor(np.asarray(shares).ravel() * rows * scale + 0.5).astype(np.int64)


def usual_distance(predicted: Ints, scale: int) -> int:
    """Return about the distance, in steps, of a table of independent rows to the counts that its law predicts.

    A count with the mean μ is off by √(2μ/π) on average, and by at most 2μ.
    """
    means = predicted / scale
    return int(scale * float(np.minimum(2 * means, np.sqrt(2 * means / np.pi)).sum()))


def bounded_range(rho: Fraction) -> Fraction:
    """Return a rational ε₀ with ε₀²/8 ≤ ρ, close to the largest.

    >>> bounded_range(Fraction(1, 2))
    Fraction(2, 1)
    """
    digits = 2**60
    return Fraction(isqrt(floor(8 * rho * digits**2)), digits)


def _rounded_up(value: Fraction) -> Fraction:
    """Return a rational of few digits that is at least `value`."""
    return Fraction(-floor(-value * _DIGITS), _DIGITS)
