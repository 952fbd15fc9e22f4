"""The sensitivity of statistics: the largest move between neighbours, in one table for both relations.

"add/remove": D' is D with one unit more or less. "change one": one unit has other values; n is public. Values must be
clipped to [a, b] before; a unit has one row unless contribution bounds allow more. M = max(|a|, |b|).

| statistic | add/remove | change one |
|---|---|---|
| `count` | 1 | 1 |
| `counts(m)`: m counting queries | L1 m, L2 √m | the same |
| `histogram`: disjoint cells | L1 1, L2 1 | L1 2, L2 √2 |
| `total` | M | b-a if every unit always has exactly one value; else max(M, b-a) |
| `contributions(g, r)`: sums over cells | L1 grM, L2 √g·rM, L∞ rM | L1 2grM, L2 rM√2g or r(b⁺-a⁻)√g, L∞ r(b⁺-a⁻) |
| `mean` | none: divide a noisy sum by a noisy count | (b-a)/n for the whole table |
| `variance` (population, `var_pop`) | none: from noisy moments | (b-a)²(n-1)/n² for the whole table |
| `sample_variance` (`var_samp`), n ≥ 2 | none: from noisy moments | (b-a)²/n for the whole table |
| `median` (midpoint convention) | (b-a)/2 | b-a for odd n, (b-a)/2 for even n |

a⁻ = min(a, 0) and b⁺ = max(b, 0): a cell's sum may also be empty. `contributions` with a change of one unit: two
vectors with at most g cells each, every cell in [ra⁻, rb⁺]; cells that coincide differ by at most r(b⁺-a⁻), others
by rM, and since b⁺-a⁻ ≤ 2M, L1 is largest when none coincide, L2 at one of the two ends.

**Variances.** Let x change while the other n-1 values, with mean m and population variance v, stay. The population
variance of all n values is v·(n-1)/n + (x-m)²·(n-1)/n², because the two groups have weights (n-1)/n and 1/n and means
x-m apart. So it moves by (n-1)/n²·|(x-m)² - (x'-m)²|. All three numbers are in [a, b], so both squares are in
[0, (b-a)²], and the difference is (b-a)² for m = x' = a, x = b. The sample variance is n/(n-1) times as large.

`of` finds the sensitivity of any other function by brute force over small tables.
All values are exact rationals (L2 as its square); the tests enumerate every small dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar, get_args

from tacit.errors import RefusedError, bad_value
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Exact, Number, round_up, to_fraction, whole
from tacit.mechanisms.grid import ceil_root
from tacit.mechanisms.order import read_bounds
from tacit.mechanisms.validation import count_of, flag
from tacit.notebook import ShownAsFields

if TYPE_CHECKING:
    from tacit.mechanisms.function_sensitivity import FunctionSensitivity

ValueBounds = tuple[Number, Number]
Row = TypeVar("Row")

__all__ = [
    "Sensitivity",
    "contributions",
    "count",
    "counts",
    "histogram",
    "mean",
    "median",
    "of",
    "sample_variance",
    "total",
    "variance",
]


@dataclass(frozen=True, slots=True)
class Sensitivity(ShownAsFields):
    """The largest distance of neighbours' answers, in three norms.

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
    """Return integers for statistics of integers, so that mechanisms built with them release integers."""
    sizes = (l1, l2_squared, linf)
    return Sensitivity(*(int(size) for size in sizes)) if integral else Sensitivity(*map(Exact, sizes))


def _same(size: Fraction, *, integral: bool = False) -> Sensitivity:
    """Return the sensitivity of one number, for which all norms agree."""
    return _sizes(size, size**2, size, integral=integral)


def _integral(bounds: ValueBounds) -> bool:
    return all(whole(end) is not None for end in bounds)


def _changes(neighbours: object) -> bool:
    """Return whether the relation is "change one"; raise InvalidError if it is unknown."""
    if neighbours not in get_args(Neighbours):
        raise bad_value("neighbours", neighbours, "'add/remove' or 'change one'")
    return neighbours == "change one"


def _ends(bounds: ValueBounds) -> tuple[Fraction, Fraction]:
    """Return a ≤ b as rationals; a point is allowed here."""
    return read_bounds(bounds, point=True)


def count(*, neighbours: Neighbours) -> Sensitivity:
    """Count the rows that satisfy a condition.

    Args:
        neighbours: "add/remove" or "change one".
    """
    _changes(neighbours)
    return _same(Fraction(1), integral=True)


def counts(m: int, *, neighbours: Neighbours) -> Sensitivity:
    """Count the rows for each of m conditions; a row may satisfy all of them.

    Args:
        m: the number of conditions.
        neighbours: "add/remove" or "change one".
    """
    _changes(neighbours)
    size = count_of(m, "m")
    return Sensitivity(size, size, 1)


def histogram(*, neighbours: Neighbours) -> Sensitivity:
    """Count the rows of each of any number of disjoint cells.

    Args:
        neighbours: "add/remove" or "change one".
    """
    cells = 2 if _changes(neighbours) else 1
    return Sensitivity(cells, cells, 1)


def total(bounds: ValueBounds, *, neighbours: Neighbours, complete: bool = False) -> Sensitivity:
    """Sum one clipped value for each row.

    `complete` states that every unit has exactly one value, which no filter can drop; only then a change is ≤ b-a.

    Args:
        bounds: the smallest and the largest value.
        neighbours: "add/remove" or "change one".
        complete: whether every unit has exactly one value.
    """
    low, high = _ends(bounds)
    largest = max(abs(low), abs(high))
    if not _changes(neighbours):
        return _same(largest, integral=_integral(bounds))
    move = high - low if flag(complete, "complete") else max(largest, high - low)
    return _same(move, integral=_integral(bounds))


def contributions(bounds: ValueBounds, *, groups: int, rows: int, neighbours: Neighbours) -> Sensitivity:
    """Sum clipped values over cells. A unit has `groups` cells with `rows` rows each; a count has bounds (1, 1).

    Args:
        bounds: the smallest and the largest value.
        groups: the most cells of one unit.
        rows: the most rows of one unit in a cell.
        neighbours: "add/remove" or "change one".
    """
    low, high = _ends(bounds)
    g, r = count_of(groups, "groups"), count_of(rows, "rows")
    largest, spread = r * max(abs(low), abs(high)), r * (max(high, Fraction(0)) - min(low, Fraction(0)))
    if not _changes(neighbours):
        return _sizes(g * largest, g * largest**2, largest, integral=_integral(bounds))
    squared = g * max(2 * largest**2, spread**2)
    return _sizes(2 * g * largest, squared, spread, integral=_integral(bounds))


def mean(bounds: ValueBounds, n: int, *, neighbours: Neighbours) -> Sensitivity:
    """Average n clipped values, one for each unit, n public.

    Args:
        bounds: the smallest and the largest value.
        n: the public number of values.
        neighbours: "change one": under "add/remove" n is not public.
    """
    low, high = _ends(bounds)
    if not _changes(neighbours):
        raise RefusedError(
            "A mean has no sensitivity under add/remove, because n is private.",
            hint="Release a noisy sum and a noisy count, and divide.",
        )
    return _same((high - low) / count_of(n, "n"))


def variance(bounds: ValueBounds, n: int, *, neighbours: Neighbours) -> Sensitivity:
    """Compute the population variance of n clipped values, one for each unit, n public: `var_pop` in SQL.

    Args:
        bounds: the smallest and the largest value.
        n: the public number of values.
        neighbours: "change one": under "add/remove" n is not public.
    """
    spread = _squared_spread(bounds, neighbours)
    size = count_of(n, "n")
    return _same(spread * (size - 1) / Fraction(size**2))


def sample_variance(bounds: ValueBounds, n: int, *, neighbours: Neighbours) -> Sensitivity:
    """Compute the sample variance of n ≥ 2 clipped values, one for each unit, n public: `var_samp`, and `var` in R.

    >>> float(sample_variance((0, 10), 5, neighbours="change one").l1)
    20.0

    Args:
        bounds: the smallest and the largest value.
        n: the public number of values.
        neighbours: "change one": under "add/remove" n is not public.
    """
    spread = _squared_spread(bounds, neighbours)
    size = count_of(n, "n")
    if size < 2:  # noqa: PLR2004 - it divides by n - 1
        raise bad_value("n", n, "at least 2 for a sample variance")
    return _same(spread / size)


def _squared_spread(bounds: ValueBounds, neighbours: Neighbours) -> Fraction:
    """Return (b-a)² under "change one"; raise RefusedError under "add/remove"."""
    low, high = _ends(bounds)
    if not _changes(neighbours):
        raise RefusedError(
            "A variance has no sensitivity under add/remove, because n is private.",
            hint="Release noisy moments (count, sum, sum of squares), and combine them.",
        )
    return (high - low) ** 2


def median(bounds: ValueBounds, n: int | None = None, *, neighbours: Neighbours) -> Sensitivity:
    """Compute the median of clipped values, one for each unit; of an empty table, the midpoint of the bounds.

    The median of an even number of values is the midpoint of the middle two.

    Under "change one" the parity of n matters; without n the larger value is returned.

    Args:
        bounds: the smallest and the largest value.
        n: the public number of values, if it is known.
        neighbours: "add/remove" or "change one".
    """
    low, high = _ends(bounds)
    if _changes(neighbours) and (n is None or count_of(n, "n") % 2):
        return _same(high - low)
    return _same((high - low) / 2)


def of(
    f: Callable[[list[Row]], object],
    *,
    domain: Iterable[Row],
    n: int,
    neighbours: Neighbours | None = None,
    symmetric: bool = False,
    limit: int = 100_000,
) -> FunctionSensitivity:
    """Find the sensitivity of a function by brute force over all small tables of rows from a domain.

    The result is exact for these tables and for no others: see `function_sensitivity`. Without `neighbours` both
    relations are computed.

    >>> size = of(max, domain=[0, 1, 5], n=3, neighbours="change one")
    >>> size.l1, size.local([5, 5, 0]).l1, round(size.smooth([5, 5, 0], beta=0.1), 3)
    (5, 0, 4.524)

    Args:
        f: a function of a list of rows, which returns a number or a list of numbers. It is called twice for each table.
        domain: the values that a row may have.
        n: the number of rows under "change one", their largest number under "add/remove".
        neighbours: the relation; by default both.
        symmetric: whether the order of the rows does not matter; far fewer tables are then needed.
        limit: the largest number of tables.
    """
    from tacit.mechanisms.function_sensitivity import FunctionSensitivity  # noqa: PLC0415 - it imports this module

    return FunctionSensitivity(f, domain, n, neighbours, symmetric, limit)
