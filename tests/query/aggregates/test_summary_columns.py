"""Columns of trees whose counts were dropped: parts of an answer are joined, and rows are taken in any order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tacit.query.aggregates.summary_columns import SummaryColumn
from tacit.query.aggregates.tree_summary import QuantileColumn, SummaryTable

MEDIAN = ("quantile", Fraction(1, 2))


def column(values: list[float]) -> SummaryColumn:
    """A tree whose medians are these values, with intervals of one to each side."""
    whole: Any = None  # the bundle and the noise are only passed on
    found = np.array(values)
    table = SummaryTable((Fraction(1, 20),), {MEDIAN: QuantileColumn(found, found[None] - 1, found[None] + 1)})
    return SummaryColumn.of(whole, whole, table, len(values))


def numbers(found: SummaryColumn) -> list[list[float]]:
    return [each for index in range(len(found)) for each in found.cell(index).numbers()]


def test_joined_parts_keep_the_rows_of_each() -> None:
    first, second, third = column([1.0, 2.0, 3.0]).take([2, 0]), column([4.0]), column([5.0, 6.0]).take(slice(1, 2))
    joined = first.followed_by([second, third])
    assert numbers(joined) == [[3.0, 2.0, 4.0], [1.0, 0.0, 2.0], [4.0, 3.0, 5.0], [6.0, 5.0, 7.0]]
    assert numbers(joined.take([3, 1])) == [[6.0, 5.0, 7.0], [1.0, 0.0, 2.0]]
