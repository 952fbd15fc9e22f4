"""The candidates of a drawn quantile, and their penalties.

**Cells.** Each bin is divided into `parts` equal cells, over which its rows are spread evenly; a bin of one number is
one cell. L(z) is the number of rows before the cell z, and U(z) the number up to its end. τ is the rank. The quantile
is in z if L(z) ≤ τ ≤ U(z). Counts are multiplied by `parts`, so that all are whole.

**The penalty of a value.** a(z) = max(0, L(z) - τ, τ - U(z)): the number of rows between z and the quantile. A draw
without an interval has the candidates z and the penalties a(z).

**The penalty of an interval.** A draw with an interval has the candidates (z, k): the value z, and the cells from z -
w_k to z + w_k. The half widths w_k are 0, 1, 3, 7, 16, …, the powers of 2.5, up to all cells. Ends outside the bounds
are moved to the bounds. Let

    G_k(z) = min(U(z + w_k) - τ, τ - L(z - w_k)), where an end at a bound counts as infinitely far,
    H_k(z) = min(L(z + w_k) - τ, τ - U(z - w_k)).

G_k ≥ 0 if the quantile is inside; it is then the number of rows between the quantile and the nearer end. H_k is the
same without the cells at the ends. With a margin of t rows, the penalty of (z, k) is

    u(z, k) = max(a(z), t - G_k(z), H_{k-1}(z) - t).

The second term is for intervals that are too narrow, the third for intervals that are wider than needed. The candidate
is drawn with probability proportional to e^(λk - u/s) with λ = 2/5; `rank_law` chooses s.

**Theorem.** Let t > 0 and C = 1/(e^λ - 1), which is below 2.034, and let the quantile be in the cell m. For any table,
the interval misses m with probability at most C/(C + e^(t/s)). With t = s·ln(C·(1/β - 1)) that is β.

*Proof.* Let (z, k) miss m with its right end, z' = z + w_k < m; the left end is the mirror image. Let δ = τ - U(z'),
which is ≥ 0 because U(z') ≤ L(m) ≤ τ. Then a(z') = δ, and G_k(z) ≤ -δ, because z' is not the last cell. With A_k = a(z'
- w_k) the weight of (z, k) is at most e^(λk)·e^(-max(A_k, t + δ)/s). Compare it with intervals around z' that hold m.
Let κ be the least j with G_j(z') ≥ t; there is one, because the last G is infinite. For j ≥ κ the right end of (z', j)
has U ≥ τ + t > L(m), and likewise the left, so (z', j) holds m. H_{κ-1} ≤ G_{κ-1} < t, and H_j(z') ≤ τ - U(z' - w_j) ≤
A_j. So

    u(z', κ) = δ,   and   u(z', j + 1) ≤ max(δ, A_j - t)  for j ≥ κ.

A_k grows with k. So the k with k < κ or A_k ≤ t + δ are the first ones, up to some k'. Their weights are at most
e^(λk)·e^(-(t + δ)/s), and add up to less than C·e^(λ(k'+1))·e^(-(t + δ)/s). With h = max(k' + 1, κ) that is at most
C·e^(-t/s) times the weight of (z', h), since u(z', h) = δ. Each other k has A_k > t + δ and k ≥ κ. Its weight is at
most e^(λk)·e^(-A_k/s), which is at most e^(-λ)·e^(-t/s) times the weight of (z', k + 1). Here e^(-λ) < C, and k + 1 >
h. So the intervals that end at z' and miss m have together at most C·e^(-t/s) times the weight of the intervals around
z' that hold m. Add up over all z'.  ∎

*Wider intervals.* For the interval of w_{k+j} in place of w_k the same proof holds with z' = z + w_{k+j} and with
e^(λk) = e^(-λj)·e^(λ(k+j)). So it misses with probability at most e^(-λj)·C·e^(-t/s) = e^(-λj)·β/(1 - β).

**The constants** 2.5 and λ were chosen on dense rows. A larger λ needs a smaller t, but makes wide intervals around
values far from all rows likelier. With dense rows a 95 % interval holds the quantile in 97.5 to 97.8 % of all draws.
Its half width is 9·s rows on average, and the error of the value is 1.2 times that of a draw without an interval.

**On real bits.** Ranks are whole numbers over one denominator. The penalties are floats from them: a number of rows is
within a relative 2^-51, and t is below 45·s, so penalties up to 64·s are within 2^-44·s. `noise.choice` decides close
cases with `exact`. The numbers of cells and of candidates are public, and so is the work for them. Ranks are whole
numbers over a public denominator, that of q. Whether they are NumPy's integers of 64 bits or Python's, which take
longer, is decided by that denominator alone: they are Python's unless a group of 2^35 rows would fit 64 bits. Only a
group with more rows than that changes the decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, expm1, log
from typing import Final

import numpy as np

from tacit.arrays import Floats, WideInts

RATIO: Final = Fraction(5, 2)
"""The ratio of one half width of intervals to the next smaller one."""

GROWTH: Final = Fraction(2, 5)
"""λ: the logarithm of the ratio of their weights."""

_FITS, _SHARP, _MOST_ROWS = 2**62, 2**32, 2**35
_ORDINARY = Fraction(1, 2**900), Fraction(2**900)


@lru_cache(maxsize=64)
def widths(cells: int) -> tuple[int, ...]:
    """Return the half widths of intervals, in cells.

    >>> widths(100)
    (0, 1, 3, 7, 16, 40, 98, 99)
    """
    found, power = [0], Fraction(1)
    while found[-1] < cells - 1:
        found.append(min(ceil(power), cells - 1))
        power *= RATIO
    return tuple(found)


def margin(miss: Fraction) -> Fraction:
    """Return t/s = ln(C·(1/β - 1)), rounded up.

    >>> round(float(margin(Fraction(1, 20))), 4)
    3.6541
    """
    return Fraction(ceil(log(float(1 / miss - 1) / expm1(GROWTH)) * _SHARP) + 1, _SHARP)


@dataclass(frozen=True, slots=True)
class RankScores:
    """The penalties of all candidates of one group, in units of s, each with λ·(K - k) for its width.

    K is the largest k, so all are ≥ 0.

    `ranks` are the rows before each edge of the cells, less τ, in units for which `rate` converts. `margin` is t/s;
    None if no interval is drawn.
    """

    ranks: WideInts
    rate: Fraction
    margin: Fraction | None

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.ranks) - 1

    def penalties(self) -> Floats:
        """Return the penalty of each candidate, as floats; with intervals k changes slowest."""
        ranks = self.ranks.astype(np.float64) * float(min(max(self.rate, _ORDINARY[0]), _ORDINARY[1]))
        low, high = ranks[:-1], ranks[1:]
        distance = np.maximum(np.maximum(low, -high), 0.0)
        if self.margin is None:
            return distance
        margin, sizes = float(self.margin), widths(self.cells)
        found = np.empty((len(sizes), self.cells))
        narrow, wide = (margin - high, margin + low), (low - margin, -high - margin)
        worst = distance
        for k, width in enumerate(sizes):
            found[k] = worst
            _raise_narrow(found[k], *narrow, width)
            found[k] += float(GROWTH) * (len(sizes) - 1 - k)
            worst = _wide(*wide, width)
            np.maximum(worst, distance, out=worst)
        return found.ravel()

    def exact(self, index: int) -> Fraction:
        """Return the penalty of one candidate."""
        k, z = divmod(index, self.cells)
        worst = max(0, self._edge(z), -self._edge(z + 1)) * self.rate
        if self.margin is None:
            return Fraction(worst)
        last, sizes = self.cells - 1, widths(self.cells)
        width = sizes[k]
        ends = [self._edge(z + width + 1)] if z + width < last else []
        ends += [-self._edge(z - width)] if z - width > 0 else []
        if ends:
            worst = max(worst, self.margin - min(ends) * self.rate)
        if k:
            width = sizes[k - 1]
            inside = min(self._edge(min(z + width, last)), -self._edge(max(z - width, 0) + 1))
            worst = max(worst, inside * self.rate - self.margin)
        return worst + GROWTH * (len(sizes) - 1 - k)

    def _edge(self, index: int) -> int:
        return int(self.ranks[index])


def _raise_narrow(penalties: Floats, right: Floats, left: Floats, width: int) -> None:
    """Raise the penalty of every cell to t - G for a half width, where `right` is t - U and `left` is t + L."""
    cells = len(penalties)
    if width < cells - 1:
        np.maximum(penalties[: cells - 1 - width], right[width : cells - 1], out=penalties[: cells - 1 - width])
        np.maximum(penalties[width + 1 :], left[1 : cells - width], out=penalties[width + 1 :])


def _wide(right: Floats, left: Floats, width: int) -> Floats:
    """Return H - t of every cell for a half width, where `right` is L - t and `left` is -U - t."""
    cells = len(right)
    found = np.empty(cells)
    found[: cells - width] = right[width:]
    found[cells - width :] = right[-1]
    np.minimum(found[width:], left[: cells - width], out=found[width:])
    np.minimum(found[:width], left[0], out=found[:width])
    return found


def exact_sum(counts: Sequence[int] | WideInts) -> int:
    """Return the sum of counts ≥ 0, exactly; 64 bits are used where it fits them with room to spare."""
    if isinstance(counts, np.ndarray) and counts.dtype == np.int64 and float(counts.sum(dtype=np.float64)) < _FITS:
        return int(counts.sum())
    return sum(int(count) for count in counts)


def rank_scores(
    counts: Sequence[int] | WideInts,
    parts: int,
    rank: Fraction,
    scale: Fraction,
    margin: Fraction | None,
    *,
    denominator: int | None = None,
    unit: int = 1,
) -> RankScores:
    """Return the penalties of a group's candidates.

    Args:
        counts: the rows of each bin.
        parts: the number of cells of a bin.
        rank: τ, in the unit of the counts.
        scale: s, likewise.
        margin: t/s; None if no interval is drawn.
        denominator: a public multiple of the denominators of all ranks that the query can have; by default, for
            study, that of this rank.
        unit: the count of one row.
    """
    most, whole = _MOST_ROWS * unit, rank.denominator if denominator is None else denominator
    is_large = exact_sum(counts) > most
    fits = (most + 1) * parts * whole < _FITS and not is_large  # edges and τ are from 0 to most·parts·whole
    each = np.repeat(np.array(counts, dtype=np.int64 if fits else object), parts)
    edges = np.concatenate((np.zeros(1, dtype=each.dtype), np.cumsum(each)))
    ranks = edges * whole - (rank * parts * whole).numerator
    return RankScores(ranks, 1 / (scale * parts * whole), margin)
