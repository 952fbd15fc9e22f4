"""How far a statistic moves between neighbours: one small table for both relations.

"add/remove": D' is D with one unit more or less. "change one": one unit has other values; n is public.
Values must have been clamped to [a, b] before; a unit has one row unless contribution bounds say otherwise. M
= max(|a|, |b|).

| statistic | add/remove | change one |
|---|---|---|
| `count` | 1 | 1 |
| `counts(m)`: m counting queries | L1 m, L2 √m | the same |
| `histogram`: disjoint cells | L1 1, L2 1 | L1 2, L2 √2 |
| `total` | M | b-a if every unit always has exactly one value; else max(M, b-a) |
| `contributions(g, r)`: sums over cells | L1 grM, L2 √g·rM, L∞ rM | L1 2grM, L2 rM√2g or r(b⁺-a⁻)√g, L∞ r(b⁺-a⁻) |
| `mean` | none: divide a noisy sum by a noisy count | (b-a)/n for the whole table |
| `variance` (population) | none: from noisy moments | (b-a)²(n-1)/n² for the whole table |
| `median` (midpoint convention) | (b-a)/2 | b-a for odd n, (b-a)/2 for even n |

a⁻ = min(a, 0) and b⁺ = max(b, 0): a cell's sum may also be empty. `contributions` with a change of one unit: two
vectors with at most g cells each, every cell in [ra⁻, rb⁺]; cells that coincide differ by at most r(b⁺-a⁻), others
by rM, and since b⁺-a⁻ ≤ 2M, L1 is largest when none coincide, L2 at one of the two ends.
All values are exact rationals (L2 as its square); the tests enumerate every small dataset.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

from tacit.errors import InvalidError, RefusedError, show
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Exact, Number, round_up, to_fraction, whole
from tacit.mechanisms.grid import ceil_root
from tacit.mechanisms.order import read_bounds
from tacit.mechanisms.validation import count_of, flag

Bounds = tuple[Number, Number]

__all__ = [
    "Sensitivity",
    "contributions",
    "count",
    "counts",
    "histogram",
    "mean",
    "median",
    "total",
    "variance",
]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far neighbours' answers are apart at most, in three norms.

    >>> histogram(neighbours="change one")
    Sensitivity(l1=2, l2_squared=2, linf=1)
    """

    l1: int | Exact
    l2_squared: int | Exact
    linf: int | Exact

    @property
    def l2(self) -> float:
        """The L2 norm, rounded up."""
        square = to_fraction(self.l2_squared, "l2_squared")
        root = Fraction(ceil_root(square.numerator * square.denominator << 256), square.denominator << 128)
        return round_up(root)


def _sizes(l1: Fraction, l2_squared: Fraction, linf: Fraction, *, integral: bool) -> Sensitivity:
    """Integers for statistics of integers, so that the mechanisms made from them take and give integers."""
    sizes = (l1, l2_squared, linf)
    return Sensitivity(*(int(size) for size in sizes)) if integral else Sensitivity(*map(Exact, sizes))


def _same(size: Fraction, *, integral: bool = False) -> Sensitivity:
    """One number: all norms agree."""
    return _sizes(size, size**2, size, integral=integral)


def _integral(bounds: Bounds) -> bool:
    return all(whole(end) is not None for end in bounds)


def _changes(neighbours: object) -> bool:
    """Return whether the relation is "change one"; refuse any other word."""
    if neighbours not in get_args(Neighbours):
        raise InvalidError("neighbours", show(neighbours), "'add/remove' or 'change one'")
    return neighbours == "change one"


def _ends(bounds: Bounds) -> tuple[Fraction, Fraction]:
    """Return a ≤ b as rationals; a point is allowed here."""
    return read_bounds(bounds, point=True)


def count(*, neighbours: Neighbours) -> Sensitivity:
    """How many rows satisfy a condition."""
    _changes(neighbours)
    return _same(Fraction(1), integral=True)


def counts(m: int, *, neighbours: Neighbours) -> Sensitivity:
    """Count for m conditions together, of which a row may satisfy all."""
    _changes(neighbours)
    size = count_of(m, "m")
    return Sensitivity(size, size, 1)


def histogram(*, neighbours: Neighbours) -> Sensitivity:
    """Count the rows of each of any number of disjoint cells."""
    cells = 2 if _changes(neighbours) else 1
    return Sensitivity(cells, cells, 1)


def total(bounds: Bounds, *, neighbours: Neighbours, complete: bool = False) -> Sensitivity:
    """Sum one clamped value a row.

    `complete` says that every unit has exactly one value and no filter can drop it; only then is a change at most b-a.
    """
    low, high = _ends(bounds)
    largest = max(abs(low), abs(high))
    if not _changes(neighbours):
        return _same(largest, integral=_integral(bounds))
    move = high - low if flag(complete, "complete") else max(largest, high - low)
    return _same(move, integral=_integral(bounds))


def contributions(bounds: Bounds, *, groups: int, rows: int, neighbours: Neighbours) -> Sensitivity:
    """Sum clamped values over cells: a unit reaches `groups` cells with `rows` rows each; a count has bounds (1, 1)."""
    low, high = _ends(bounds)
    g, r = count_of(groups, "groups"), count_of(rows, "rows")
    largest, spread = r * max(abs(low), abs(high)), r * (max(high, Fraction(0)) - min(low, Fraction(0)))
    if not _changes(neighbours):
        return _sizes(g * largest, g * largest**2, largest, integral=_integral(bounds))
    squared = g * max(2 * largest**2, spread**2)
    return _sizes(2 * g * largest, squared, spread, integral=_integral(bounds))


def mean(bounds: Bounds, n: int, *, neighbours: Neighbours) -> Sensitivity:
    """Average n clamped values, one a unit, n public."""
    low, high = _ends(bounds)
    if not _changes(neighbours):
        raise RefusedError(
            "A mean has no sensitivity under add/remove, where n is private; nothing was drawn or released. "
            "Release a noisy sum and a noisy count, and divide."
        )
    return _same((high - low) / count_of(n, "n"))


def variance(bounds: Bounds, n: int, *, neighbours: Neighbours) -> Sensitivity:
    """Population variance of n clamped values, one a unit, n public."""
    low, high = _ends(bounds)
    if not _changes(neighbours):
        raise RefusedError(
            "A variance has no sensitivity under add/remove, where n is private; nothing was drawn or released. "
            "Release noisy moments (count, sum, sum of squares), and combine them."
        )
    size = count_of(n, "n")
    return _same((high - low) ** 2 * (size - 1) / Fraction(size**2))


def median(bounds: Bounds, n: int | None = None, *, neighbours: Neighbours) -> Sensitivity:
    """Median of clamped values, one a unit: the midpoint of the middle two, and of the bounds for an empty table.

    Under "change one" the parity of n matters; without n the larger value is returned.
    """
    low, high = _ends(bounds)
    if _changes(neighbours) and (n is None or count_of(n, "n") % 2):
        return _same(high - low)
    return _same((high - low) / 2)
