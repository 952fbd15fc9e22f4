"""A second implementation of a plan with a reach: weights in rational numbers, from the rows of each unit alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import trunc

from bounded import Row, is_null, on_grid, value_of
from tacit.query.expressions import Value
from tacit.query.plan import Measure, Plan
from tacit.query.policy import TablePolicy

Kept = Mapping[Value, Mapping[int, Sequence[Row]]]
"""The rows of each unit in each cell that it keeps, by the cell's number."""


def row_weight(table: TablePolicy, everywhere: int, here: int) -> Fraction:
    """Return min(1, R/N, M/n) over the limits that are given."""
    shares = [Fraction(1)]
    if table.reach is not None:
        shares.append(Fraction(table.reach, max(everywhere, 1)))
    if table.max_rows is not None:
        shares.append(Fraction(table.max_rows, max(here, 1)))
    return min(shares)


def cut_weight(reach: int, cap: int, everywhere: int) -> Fraction:
    """Return (min(N, C) - R)/N for a unit with more rows than its reach, else 0."""
    return Fraction(max(0, min(everywhere, cap) - reach), max(everywhere, 1))


def weighted(asked: Plan, kept: Kept) -> list[list[int]]:
    """Return for each measure the sum over units, in each cell and bin, of the unit's integers."""
    every = [measure for bundle in asked.bundles for measure in bundle.measures]
    totals = [[0] * (asked.listed * measure.bins) for measure in every]
    for own in kept.values():
        for total, measure in zip(totals, every, strict=True):
            for place, integer in of_unit(asked, measure, own).items():
                total[place] += integer
    return totals


def of_unit(asked: Plan, measure: Measure, own: Mapping[int, Sequence[Row]]) -> dict[int, int]:
    """Return one unit's integers of a measure, by cell and bin."""
    table, found = asked.table, dict[int, int]()
    everywhere, one_by_one = sum(map(len, own.values())), table.max_rows is None and not asked.open
    for cell, rows in own.items():
        values = [value_of(measure, row) for row in rows]
        there = [value for value in values if not is_null(value)]
        if measure.per == "unit":
            reach = len(own) if table.reach is None or asked.open else table.reach
            share = min(Fraction(1), Fraction(reach, len(own))) * (1 << measure.fraction_bits)
            found[cell] = trunc(share) if there else 0
            continue
        absent = [] if measure.absent is None else [measure.absent] * (len(values) - len(there))
        share = row_weight(table, everywhere, len(there) + len(absent))
        if measure.beyond is not None:
            assert table.reach is not None
            share = cut_weight(table.reach, measure.beyond, everywhere)
        weight = share * (1 << measure.fraction_bits)
        if measure.bins > 1:
            binned: dict[int, list[int]] = {}
            for value in there:
                binned.setdefault(cell * measure.bins + int(value), []).append(1)  # type: ignore[arg-type]
        else:
            binned = {cell: [measure.sign * on_grid(measure, value) + measure.offset for value in there] + absent}
        for place, numbers in binned.items():
            found[place] = sum(trunc(v * weight) for v in numbers) if one_by_one else trunc(sum(numbers) * weight)
    return found
