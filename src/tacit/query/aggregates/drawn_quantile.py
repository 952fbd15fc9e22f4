"""Quantiles, `min` and `max` that are drawn one by one, instead of read from a tree of noisy counts.

A draw costs as much as a tree, and its error is about a seventh: see `rank_law` for the law and `rank_scores` for the
interval that is drawn with the value. But a tree serves any number of quantiles, and each draw has its own cost.
`pricing.quantile_method` chooses by the expected error.

**The value** is the middle of the drawn cell. A bin has 4 cells, over which its rows are spread evenly; a bin of one
number is one cell. The bins are those of `quantile`.

**The interval** has whole bins: it starts where the bin of its first cell starts, and ends where the bin of its last
cell ends. If the quantile of the evenly spread rows is in its cells, the quantile of the rows themselves is in these
bins. An end at the first or the last cell is the bound. `rank_scores` proves that the interval holds a value of the
rank q·N with its confidence. For a higher confidence it is widened by some steps of the widths. Each step halves the
probability of a miss.

**`min` and `max`** are the values at a rank r from below or from above, see `rank_law`. Of fewer than 2r rows they are
the median.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, log

from tacit.query.aggregates.grid import unit_bundle
from tacit.query.aggregates.quantile import Bins, Which, bin_ends, bin_number, bins_of, end_note, row_bits
from tacit.query.aggregates.rank_errors import rank_error
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy
from tacit.query.rank_law import RankLaw
from tacit.query.rank_scores import GROWTH, widths
from tacit.query.rank_target import Draw, RankTarget

_PARTS = 4
_HALF = Fraction(1, 2)


class DrawnQuantile:
    """The value at a rank, drawn by the exponential mechanism or by permute-and-flip."""

    def __init__(self, which: Which) -> None:
        """Store which quantile it is: at a share of all rows, or an end."""
        self.which = which

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return the counts of the bins, among which a rank is drawn."""
        bins, draw, fine = bins_of(ask.values[0].kind, ask.bounds[0]), _draw(ask), row_bits(table)
        measure = Measure(value=bin_number(ask.values[0], bins), bins=bins.count, fraction_bits=fine)
        end = self.which in ("min", "max")
        share = Fraction(self.which == "max") if end else _HALF if ask.parameter is None else ask.parameter
        parts = 1 if end else min(_PARTS, 2**bins.exponent) if bins.whole else _PARTS
        target = RankTarget(share=share, end=end, parts=parts, miss=draw.miss, flips=draw.flips)
        bundle = unit_bundle((measure,), 1 << fine, table, nonnegative=True, weight=draw.weight)
        return (replace(bundle, rank=target),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of the value; interpolated quantiles are real."""
        return "integer" if self.which != "cont" and ask.values[0].kind == "integer" else "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float | int:
        """Return the middle of the drawn cell."""
        bins, law = _bins(ask), _law(released[0].noise)
        number, part = divmod(released[0].integers[0], law.target.parts)
        first, last = bin_ends(bins, bins.count)
        share = (2 * part + 1) / (2 * law.target.parts)
        value = float(first[number] + share * (last[number] - first[number]))
        low, high = (float(end) for end in bins.bounds)
        return round(min(max(value, low), high)) if self.kind(ask) == "integer" else min(max(value, low), high)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the drawn interval, widened if this confidence needs it."""
        law = _law(released[0].noise)
        if law.target.miss is None:
            raise TypeError("no interval was drawn")
        cell, drawn = released[0].integers
        sizes, last, bins = widths(law.cells), law.cells - 1, _bins(ask)
        width = sizes[min(drawn + _steps(law.target.miss, miss_rate(confidence)), len(sizes) - 1)]
        low, high = (float(end) for end in bins.bounds)
        first, final = bin_ends(bins, bins.count)
        left = low if cell - width <= 0 else float(first[(cell - width) // law.target.parts])
        right = high if cell + width >= last else float(final[(cell + width) // law.target.parts])
        return (float(floor(left)), float(ceil(right))) if self.kind(ask) == "integer" else (left, right)

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the error in values, if the assumed number of rows is spread evenly over the bounds.

        Half a cell is added for the grid. Without an assumption the error is the width of the bounds.
        """
        bins, law = _bins(ask), _law(noise[0])
        width = float(bins.bounds[1] - bins.bounds[0])
        if not assume:
            return width
        rows = self.rank_rows(ask, bundles, noise, confidence)
        cell = 0.0 if bins.whole and bins.exponent == 0 else 2.0**bins.exponent / law.target.parts
        return min(width, width * rows / assume + cell / 2)

    def rows(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel
    ) -> float:
        """Return the error in rows, if the rows are dense; for `min` and `max` it is their rank."""
        del ask, bundles
        law = _law(noise[0])
        return float(law.end_rank) if law.target.end else _rows(law, confidence)

    def rank_rows(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel
    ) -> float:
        """Return the distance from the rank in rows, if the rows are dense, also for `min` and `max`."""
        del ask, bundles
        return _rows(_law(noise[0]), confidence)

    def note(self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw]) -> str | None:
        """Return a note on `min` and `max`, which are not the true minimum and maximum."""
        del ask, bundles
        return end_note(self.which, _law(noise[0]).end_rank)


def without_interval(ask: Ask) -> bool:
    """Return whether an aggregate is drawn without an interval."""
    return ask.draw is not None and ask.draw.miss is None


def _rows(law: RankLaw, confidence: ConfidenceLevel) -> float:
    """Return the distance of a draw from its rank, in rows, if the rows are dense."""
    return rank_error(law.target.miss, float(miss_rate(confidence))) * float(law.amount) / law.unit


@lru_cache(maxsize=256)
def _steps(drawn: Fraction, wanted: Fraction) -> int:
    """Return by how many widths an interval that was drawn for one miss rate is widened for a lower one.

    An interval that is wider by j widths misses with probability at most e^(-λj)·β/(1 - β), see `rank_scores`.

    >>> _steps(Fraction(1, 20), Fraction(1, 20)), _steps(Fraction(1, 20), Fraction(1, 100))
    (0, 5)
    """
    return 0 if wanted >= drawn else ceil(log(drawn / (1 - drawn) / wanted) / GROWTH + 1e-9)


def _bins(ask: Ask) -> Bins:
    return bins_of(ask.values[0].kind, ask.bounds[0])


def _draw(ask: Ask) -> Draw:
    if ask.draw is None:
        raise TypeError("this quantile is not drawn")
    return ask.draw


def _law(noise: NoiseLaw) -> RankLaw:
    if not isinstance(noise, RankLaw):
        raise TypeError("this quantile is not drawn")
    return noise
