"""The split of the ρ of a quality release, by public numbers and by the noisy number of rows.

The precision of a release is s = N·√(2ρ): a table that had all of ρ would have the number of rows N over the standard
deviation of a count at s. N is itself noisy, from the tables of single columns that are measured first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isqrt, prod
from typing import TypeAlias

Columns: TypeAlias = tuple[int, ...]

FIRST = Fraction(1, 20)
"""The part of ρ for the first measurement of single columns."""
CHOICES = Fraction(1, 10)
"""The part of the pairs' or the triples' ρ that choosing them takes, if there are more than are measured."""
MOST_PAIR, MOST_TRIPLE = 2**16, 2**12
"""The largest numbers of cells of a measured pair and triple."""
MOST_CELLS = 2**20
"""The largest number of cells of all candidates together; those with the fewest cells are candidates."""
MOST_CANDIDATES = 300
"""The largest number of candidates."""
_LEAST_RHO = Fraction(1, 2**60)


@dataclass(frozen=True, slots=True)
class Shares:
    """The parts of ρ after the first measurement; they add up to 1 - FIRST."""

    columns: Fraction
    target: Fraction
    pairs: Fraction
    triples: Fraction


def shares_of(precision: float, columns: int, *, target: bool) -> Shares:
    """Return the split for a precision s and a number of columns with at least two codes."""
    rest = 1 - FIRST
    if columns == 1:
        return Shares(rest, Fraction(0), Fraction(0), Fraction(0))
    again = rest * _between(10.0 * columns / max(precision, 1.0), 0.0, 0.2)
    rest -= again
    for_target = rest * _between(100.0 * columns / max(precision, 1.0), 0.1, 0.6) if target else Fraction(0)
    rest -= for_target
    triples = Fraction(0)
    if columns > 2:  # noqa: PLR2004 - a triple
        triples = rest * _between((precision / columns - 600) / 4_000, 0.0, 0.6)
    return Shares(again, for_target, rest - triples, triples)


def _between(value: float, low: float, high: float) -> Fraction:
    """Return a value within limits, as a fraction of few digits."""
    return Fraction(round(min(max(value, low), high) * 1000), 1000)


def parts_by_size(tables: Sequence[Columns], sizes: Sequence[int], rho: Fraction) -> list[Fraction]:
    """Return the parts of ρ of some tables: proportional to the root of the number of cells.

    >>> parts_by_size([(0, 1), (1, 2)], [2, 2, 8], Fraction(3))
    [Fraction(1, 1), Fraction(2, 1)]
    """
    roots = [isqrt(prod(sizes[column] for column in table) << 16) for table in tables]
    return [rho * Fraction(root, sum(roots)) for root in roots]


def pairs_of(sizes: Sequence[int], target: int | None = None) -> list[Columns]:
    """Return the pairs of columns with at least two codes that may be measured."""
    return _tables(sizes, 2, MOST_PAIR, target)


def triples_of(sizes: Sequence[int], target: int | None = None) -> list[Columns]:
    """Return the triples of columns with at least two codes that may be measured."""
    return _tables(sizes, 3, MOST_TRIPLE, target)


def _tables(sizes: Sequence[int], number: int, most: int, target: int | None) -> list[Columns]:
    """Return sets of columns within the limits: those with the target first, then those with the fewest cells."""
    varied = [column for column, size in enumerate(sizes) if size > 1]
    cells = {table: prod(sizes[column] for column in table) for table in combinations(varied, number)}
    found, used = list[Columns](), 0
    for table in sorted(cells, key=lambda each: (target not in each, cells[each], each)):
        if cells[table] <= most and used + cells[table] <= MOST_CELLS and len(found) < MOST_CANDIDATES:
            found.append(table)
            used += cells[table]
    return sorted(found)


def number_of_pairs(candidates: int, columns: int) -> int:
    """Return how many pairs are measured: all, or the strongest four per column."""
    return min(candidates, 4 * columns)


def number_of_triples(candidates: int, columns: int) -> int:
    """Return how many triples are measured."""
    return min(candidates, 8 * columns)


def may_choose(rho: Fraction) -> bool:
    """Return whether a part of ρ is large enough for a choice by the exponential mechanism."""
    return rho > _LEAST_RHO


def alpha_of(sigma: float) -> float:
    """Return the weight of independence in the fit, for the standard deviation of the counts of pairs, in rows."""
    return float(min(0.3 * max(sigma, 1e-3) ** -0.7, 0.3))
