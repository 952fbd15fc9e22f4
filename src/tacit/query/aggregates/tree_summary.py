"""The part of a tree of noisy counts that an answer of many groups keeps: its quantiles and their intervals.

A tree of 4,096 bins has 37 kB of noisy counts. An answer keeps them if all its trees have at most 64 MB, so that its
quantiles have an interval at any confidence. In a larger answer the quantiles and intervals are computed while noise is
added, some groups at a time, and the counts are dropped. Everything is computed from noisy counts, so it costs nothing.

**Confidence.** Intervals are kept for the confidence of the query, for 1 - 10^-4 and for 1 - 10^-9. An interval at
another confidence is the next wider one of these; above the last it is the range between the bounds. So it holds with
at least the confidence that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from tacit.arrays import Floats
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.plan import Ask, Plan

MOST_BYTES = 64_000_000
"""The size of all trees of an answer above which they are dropped."""

WIDER = (
    "The answer is too large to keep the noisy counts of its quantiles, so their intervals at another confidence than "
    "that of the query are wider than necessary. Ask with confidence=."
)

BYTES_OF_COUNT = 8
"""The size of a number in an array."""

_FURTHER = (Fraction(1, 10**4), Fraction(1, 10**9))
TREE_FUNCTIONS = frozenset({"quantile", "quantile_disc", "min", "max"})

QuantileName: TypeAlias = tuple[str, Fraction | None]
"""The function and the parameter of a quantile."""


def quantile_name(ask: Ask) -> QuantileName:
    """Return what tells the quantiles of one tree apart."""
    return ask.function, ask.parameter


def trees_of(plan: Plan) -> dict[tuple[int, ...], list[Ask]]:
    """Return the trees of a plan by their bundles, each with its quantiles."""
    trees: dict[tuple[int, ...], list[Ask]] = {}
    for aggregate in plan.aggregates:
        if aggregate.ask.function in TREE_FUNCTIONS:
            trees.setdefault(aggregate.bundles, []).append(aggregate.ask)
    return trees


def drops_trees(plan: Plan, groups: int) -> bool:
    """Return whether an answer of so many groups keeps only the quantiles of its trees."""
    nodes = sum(plan.bundles[index].width for bundles in trees_of(plan) for index in bundles)
    return groups * nodes * BYTES_OF_COUNT > MOST_BYTES


def kept_misses(miss: Fraction) -> tuple[Fraction, ...]:
    """Return the miss rates for which intervals are kept: that of the query, and smaller ones."""
    return (miss, *(further for further in _FURTHER if further < miss))


@dataclass(frozen=True, slots=True, eq=False)
class QuantileColumn:
    """One quantile of a tree in many groups: its values, and the ends of its intervals by miss rate and group."""

    values: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SummaryTable:
    """The quantiles of one tree in many groups, and the miss rates of their intervals, in falling order."""

    misses: tuple[Fraction, ...]
    columns: Mapping[QuantileName, QuantileColumn]

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(next(iter(self.columns.values())).values)

    @classmethod
    def joined(cls, parts: Sequence[SummaryTable]) -> SummaryTable:
        """Return the table of the groups of several tables in turn."""
        columns = {
            name: QuantileColumn(
                np.concatenate([part.columns[name].values for part in parts]),
                np.concatenate([part.columns[name].low for part in parts], axis=1),
                np.concatenate([part.columns[name].high for part in parts], axis=1),
            )
            for name in parts[0].columns
        }
        return cls(parts[0].misses, columns)


@dataclass(frozen=True, slots=True, eq=False)
class SummarizedTree(Released):
    """One level of a tree whose counts were dropped; all levels of a group share a row of the table."""

    table: SummaryTable
    row: int

    def value(self, ask: Ask) -> float:
        """Return a quantile of the group."""
        return float(self.table.columns[quantile_name(ask)].values[self.row])

    def interval(self, ask: Ask, confidence: ConfidenceLevel, widest: Interval) -> Interval:
        """Return the narrowest interval with at least this confidence; `widest` if none was kept."""
        miss, column = miss_rate(confidence), self.table.columns[quantile_name(ask)]
        for place, kept in enumerate(self.table.misses):
            if kept <= miss:
                return float(column.low[place, self.row]), float(column.high[place, self.row])
        return widest

    def numbers(self) -> list[list[float]]:
        """Return each quantile of the group with the ends of its intervals, low and high in turn."""
        return [
            [float(column.values[self.row]), *np.stack([column.low, column.high])[:, :, self.row].T.ravel().tolist()]
            for column in self.table.columns.values()
        ]

    def __eq__(self, other: object) -> bool:
        """Return whether the other object has the same quantiles of the same level."""
        return (
            isinstance(other, SummarizedTree)
            and (self.bundle, self.noise, self.table.misses) == (other.bundle, other.noise, other.table.misses)
            and list(self.table.columns) == list(other.table.columns)
            and self.numbers() == other.numbers()
        )

    def __hash__(self) -> int:
        """Return a hash of the quantiles."""
        return hash((self.table.misses, *map(tuple, self.numbers())))
