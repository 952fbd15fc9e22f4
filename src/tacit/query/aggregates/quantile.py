"""`median`, `quantile_cont`, `quantile_disc`, `min` and `max`: ranks among noisy bins.

The range between the bounds is divided into at most 4,096 bins, and the rows of each bin are counted. The counts are
released at several resolutions, as a tree (`quantile_trees`). One tree serves every rank, so ten quantiles cost the
same as one. All bundles of a tree together have weight 1.

**Bins.** Bin j has the values with ⌊value/2^e + ½⌋ = low + j. These are the values from (low + j - ½)·2^e to just below
(low + j + ½)·2^e, within the bounds. e is the least exponent for which 4,096 bins are enough. A bin of whole numbers
has 2^e of them; it has one each if there are at most 4,096.

**The statistic** is the quantile of the counts, bounded like all measures. The rows of a bin are spread evenly over its
values; a bin of one number stands for that number. If empty bins are at the rank, the statistic is any value in them.
`quantile_disc` of whole numbers is rounded to a whole number; for reals it equals `quantile_cont`.

**`min` and `max`** are the values at a rank of three times the largest standard deviation of the noise, from below or
from above. The true minimum and maximum belong to a single row, which must stay private. If the noisy number of rows is
below twice that rank, they are the median.

**When a tree is used.** One tree serves every quantile of a column; a draw (`drawn_quantile`) serves one. Errors in
rows, for 95 % confidence, each row a unit, dense rows over 4,096 bins, ε = 1 for all quantiles together; of a tree at
the worst place, and the mean over the quantiles:

| quantiles, evenly over 0 to 1 | 1 | 2 | 5 | 10 |
|---|---|---|---|---|
| tree | 26 | 29 | 29 | 29 |
| draws with intervals | 4 | 11 | 27 | 55 |
| draws without intervals | 3 | 9 | 22 | 45 |

`pricing.quantile_method` computes both and uses the smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Literal

import numpy as np

from tacit.arrays import Bools, Floats
from tacit.query.aggregates.grid import unit_bundle
from tacit.query.aggregates.quantile_trees import Shape, Tree, shape
from tacit.query.aggregates.ranks import Position, Ranks, TreeNoise
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.aggregates.tree_summary import SummarizedTree
from tacit.query.expressions import Call, Constant, Expression, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bounds, Bundle, Measure
from tacit.query.policy import TablePolicy

_MOST_BINS = 4096
_FINE, _MOST_BITS, _EXACT = 20, 62, 2**51
_HALF = Fraction(1, 2)
_RANK = 3.0
_FEW = 4

Which = Literal["cont", "disc", "min", "max"]

RankTest = tuple[Bools, float, float, Fraction]
"""Some groups, q and r of their rank q·N + r, and the miss rate of its interval."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of width 2^exponent around its whole multiples from low to high, within the bounds."""

    exponent: int
    low: int
    high: int
    bounds: Bounds
    whole: bool

    @property
    def count(self) -> int:
        """The number of bins."""
        return self.high - self.low + 1

    def ends(self, count: int) -> tuple[Floats, Floats]:
        """Return the least and the largest value of each bin; bins beyond the bounds have the upper bound."""
        middles = self.low + np.arange(count, dtype=np.float64)
        first, last = (np.ldexp(middles + side, self.exponent) for side in (-0.5, 0.5))
        if self.whole:
            first, last = np.ceil(first), np.ceil(last) - 1
        low, high = (float(end) for end in self.bounds)
        return np.clip(first, low, high), np.clip(last, low, high)


@lru_cache(maxsize=256)
def bins_of(kind: Kind, bounds: Bounds) -> Bins:
    """Choose the bins of a value.

    >>> bins_of("integer", (Fraction(0), Fraction(120))).count, bins_of("real", (Fraction(0), Fraction(200_000))).count
    (121, 3126)
    """
    whole = kind != "real"
    low, high = (Fraction(floor(bounds[0])), Fraction(ceil(bounds[1]))) if whole else bounds
    width = (high - low) / _MOST_BINS
    exponent = width.numerator.bit_length() - width.denominator.bit_length() - 2 if width else -1074
    exponent = max(exponent, 0 if whole else -1074)
    while True:
        first, last = (floor(end / Fraction(2) ** exponent + _HALF) for end in (low, high))
        if last - first < _MOST_BINS and max(abs(first), abs(last)) <= _EXACT:
            return Bins(exponent, first, last, (low, high), whole)
        exponent += 1


class Quantile:
    """The value at a rank; a unit's rows count as at most the limits allow."""

    def __init__(self, which: Which) -> None:
        """Store which quantile it is: at a share of all rows, or an end."""
        self.which = which

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return the counts of the nodes on each level; a unit adds at most the rows as which it counts to a level."""
        bins = bins_of(ask.values[0].kind, ask.bounds[0])
        form = shape(bins.count)
        fine = row_bits(table)
        measure = Measure(value=bin_number(ask.values[0], bins), bins=form.bins, fraction_bits=fine)
        return tuple(
            unit_bundle((measure,), 1 << fine, table, nonnegative=True, weight=Fraction(1, form.levels), block=block)
            for block in form.blocks
        )

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of the value; interpolated quantiles are real."""
        return "integer" if self.which != "cont" and ask.values[0].kind == "integer" else "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float | int:
        """Return the value at the rank; the middle of the bounds if the noisy number of rows is not above 0."""
        if isinstance(released[0], SummarizedTree):
            value = released[0].value(ask)
            return int(value) if self.kind(ask) == "integer" else value
        return self.value(ask, _ranks(tuple(released)), released[0].bundle)

    def value(self, ask: Ask, ranks: Ranks, bundle: Bundle) -> float | int:
        """Return the value at the rank of one group."""
        bins = bins_of(ask.values[0].kind, ask.bounds[0])
        low, high = (float(end) for end in bins.bounds)
        if ranks.rows <= 0:
            middle = (low + high) / 2
            return floor(middle) if self.kind(ask) == "integer" else middle
        positions = ranks.find(*self._rank(ask, ranks, bundle))
        first, last = (_value(bins, position, len(ranks.before) - 1) for position in positions)
        value = min(max((first + last) / 2, low), high)
        return round(value) if self.kind(ask) == "integer" else value

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the range of values at the rank; the bounds if the noisy number of rows is not above 0."""
        bins = bins_of(ask.values[0].kind, ask.bounds[0])
        low, high = (float(end) for end in bins.bounds)
        if isinstance(released[0], SummarizedTree):
            return released[0].interval(ask, confidence, (low, high))
        ranks = _ranks(tuple(released))
        if ranks.rows <= 0:
            return low, high
        q, rank = self._rank(ask, ranks, released[0].bundle)
        few = self.which in ("min", "max") and ranks.rows < _FEW * abs(self._offset(ranks.noise, released[0].bundle))
        positions = ranks.ends(q, rank, float(miss_rate(confidence)) / (2 if few else 1))
        first, last = (_value(bins, position, len(ranks.before) - 1) for position in positions)
        if first > last:
            return low, high
        return (float(floor(first)), float(ceil(last))) if self.kind(ask) == "integer" else (first, last)

    def rank_tests(self, ask: Ask, rows: Floats, noise: TreeNoise, bundle: Bundle, miss: Fraction) -> list[RankTest]:
        """Return the ranks whose intervals `interval` computes, for groups of these noisy numbers of rows.

        A group with a number that is not above 0 is in no test.
        """
        some = rows > 0
        if self.which not in ("min", "max"):
            return [(some, self._share(ask), 0.0, miss)]
        offset = self._offset(noise, bundle)
        at_end, few = some & (rows >= 2 * abs(offset)), rows < _FEW * abs(offset)
        end = self._share(ask), float(offset)
        return [(at_end & ~few, *end, miss), (at_end & few, *end, miss / 2), (some & ~at_end, 0.5, 0.0, miss / 2)]

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the error in values, which follows from the known error in ranks and the density of the values.

        The assumed number of rows is taken as spread evenly over the bounds. Without an assumption the error is the
        width of the bounds.
        """
        low, high = bins_of(ask.values[0].kind, ask.bounds[0]).bounds
        if not assume:
            return float(high - low)
        ranks = tree_noise(bundles, noise).worst(self._share(ask), float(miss_rate(confidence)))
        return float(high - low) * min(1.0, ranks / (assume << bundles[0].measures[0].fraction_bits))

    def rows(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel
    ) -> float:
        """Return the largest error in rows; for `min` and `max` it is their rank."""
        if self.which in ("min", "max"):
            return abs(self._offset(tree_noise(bundles, noise), bundles[0])) / (
                1 << bundles[0].measures[0].fraction_bits
            )
        return self.rank_rows(ask, bundles, noise, confidence)

    def rank_rows(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel
    ) -> float:
        """Return the largest distance from the rank in rows, also for `min` and `max`."""
        tree, unit = tree_noise(bundles, noise), 1 << bundles[0].measures[0].fraction_bits
        return tree.worst(self._share(ask), float(miss_rate(confidence))) / unit

    def note(self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw]) -> str | None:
        """Return a note on `min` and `max`, which are not the true minimum and maximum."""
        del ask
        rows = abs(self._offset(tree_noise(bundles, noise), bundles[0])) / (1 << bundles[0].measures[0].fraction_bits)
        return end_note(self.which, rows)

    def _share(self, ask: Ask) -> float:
        return {"min": 0.0, "max": 1.0}.get(self.which, float(_HALF if ask.parameter is None else ask.parameter))

    def _offset(self, noise: TreeNoise, bundle: Bundle) -> int:
        """Return the rank of `min` or `max`, in whole rows, in the measure's integers; it is negative for `max`."""
        unit = 1 << bundle.measures[0].fraction_bits
        q = 0.0 if self.which == "min" else 1.0
        rows = ceil(_RANK * float(noise.deviations(q).max()) / unit)
        return rows * unit * (1 if self.which == "min" else -1)

    def _rank(self, ask: Ask, ranks: Ranks, bundle: Bundle) -> tuple[float, float]:
        """Return q and r of the rank q·N + r."""
        if self.which not in ("min", "max"):
            return self._share(ask), 0.0
        offset = self._offset(ranks.noise, bundle)
        return (self._share(ask), float(offset)) if ranks.rows >= 2 * abs(offset) else (0.5, 0.0)


def row_bits(table: TablePolicy) -> int:
    """Return by how many bits a count of rows in bins is finer than a row, so that few of a unit's rows are cut off."""
    return 0 if table.unit is None else min(_FINE, max(0, _MOST_BITS - table.rows.bit_length()))


def end_note(which: Which, rows: float) -> str | None:
    """Return a note on the rank of `min` or `max`; None for other quantiles."""
    if which not in ("min", "max"):
        return None
    side, end = ("from below", "minimum") if which == "min" else ("from above", "maximum")
    return (
        f"the private quantile at rank about {rows:,.0f} {side}, because the true {end} cannot be released privately; "
        f"if there are fewer than {2 * rows:,.0f} rows, it is the median"
    )


def bin_number(value: Expression, bins: Bins) -> Expression:
    """Return the number of a value's bin."""
    constants = (Constant(part, "integer") for part in (bins.exponent, bins.low, bins.high))
    return Call("steps", (value, *constants), "integer")


def tree_noise(bundles: Sequence[Bundle], noise: Sequence[NoiseLaw]) -> TreeNoise:
    """Return the noise of a tree from its levels."""
    blocks = [bundle.block for bundle in bundles]
    branching = blocks[-2] if len(blocks) > 1 else 1
    form = Shape(bundles[0].measures[0].bins // blocks[0], branching, len(blocks))
    scales = tuple(law.scale for law in noise)
    times = 2 if noise[0].law == "laplace" else 1
    return TreeNoise(Tree(form, tuple(times * scale**2 for scale in scales)), noise[0].law, scales)


@lru_cache(maxsize=64)
def _ranks(released: tuple[Released, ...]) -> Ranks:
    """Return the fitted ranks of one cell; cached for all its quantiles."""
    noise = tree_noise([level.bundle for level in released], [level.noise for level in released])
    fitted = noise.tree.fit([np.array(level.integers, dtype=np.float64) for level in released])
    return Ranks(np.concatenate(([0.0], np.cumsum(fitted))), noise)


def _value(bins: Bins, position: Position, count: int) -> float:
    """Return the value at a position."""
    first, last = bin_ends(bins, count)
    number, share = position
    return float(first[number] + share * (last[number] - first[number]))


@lru_cache(maxsize=64)
def bin_ends(bins: Bins, count: int) -> tuple[Floats, Floats]:
    """Return the least and the largest value of each bin; cached."""
    return bins.ends(count)
