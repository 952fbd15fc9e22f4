"""Intervals of the columns of an outer query: copied, simulated, or propagated from simultaneous intervals.

* An exact column (keys, constants, public tables) needs no interval.
* A copy of a released column whose keys are in the row has the interval of the released value. If noisy values chose
  the rows, that interval holds for all groups together.
* A smooth function of released values has quantiles of draws (`noise_draws`).
* If ORDER BY … LIMIT, QUALIFY or a last WHERE chose the rows of a smooth function, the quantiles hold for all rows
  before the choice together.
* A rising function, such as a maximum, has its values at the low and at the high ends of intervals that hold together.
* Any other column, such as a rank, has no interval, and the answer says so.

**All rows together.** Let B draws of m rows be given. The depth of a draw in a row is its rank from the nearer end.
The box [kth smallest, kth largest] of each row holds a draw in all rows exactly if its least depth is at least k. The
truth is exchangeable with the draws (`noise_draws`), so the box at k holds it with the probability that the least
depth of one of B + 1 exchangeable points is at least k. Leaving one point out lowers a depth by at most 1. So k is the
largest number such that a part ≥ 1 - β of the draws have depth k + 1 or more.

**Ratios.** The interval of a ratio holds if its denominator keeps its sign. So a draw where a denominator is not
positive is NULL (`outer_columns`), and counts as one below and as one above the truth.

**Rising functions.** Let I_j be intervals of all N inputs, each at 1 - β/N. They hold together with probability
1 - β (Boole). If they do, f(low ends) ≤ f(x) ≤ f(high ends), because f does not fall if an input rises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Floats
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, miss_rate
from tacit.query.expressions import Value
from tacit.query.plan import Grouped
from tacit.query.pricing.noisy_filters import candidates, choosing_clauses, confidence_each, confidence_in_group
from tacit.query.results.cells import Cell
from tacit.query.results.intervals import interval
from tacit.query.results.release import Release
from tacit.query.results.table import Table
from tacit.query.sql.derivations import CopiedColumn, Derivation
from tacit.query.sql.outer_columns import OuterColumns

Row = tuple[Value, ...]
Ends = Sequence[Interval | None]


@dataclass(frozen=True, slots=True)
class CopiedValues:
    """One use of a released table in a result: the places of its keys among the result's columns."""

    release: Release
    places: tuple[int, ...]

    def cells(self, result: Table) -> list[Cell | None]:
        """Return the cell of each row of a result."""
        cells = {cell.keys: cell for cell in self.release.cells}
        return [cells.get(tuple(row[place] for place in self.places)) for row in result.rows()]


def copied_values(
    use: int, outline: OuterColumns, releases: Mapping[str, Release], derivations: Sequence[Derivation | None]
) -> CopiedValues | None:
    """Return the keys of one use of a released table in a result; None if the result does not have all of them."""
    release = releases.get(outline.uses[use])
    if release is None:
        return None
    names = {output.place: name for name, output in release.plan.outputs if isinstance(output, Grouped)}
    places: list[int] = []
    for index in range(len(release.plan.keys)):
        copied: CopiedColumn = (use, names.get(index, ""))
        found = [place for place, each in enumerate(derivations) if each is not None and copied in each.copies]
        if not found:
            return None
        places.append(found[0])
    return CopiedValues(release, tuple(places))


def copied_interval(
    release: Release, name: str, cell: Cell, confidence: ConfidenceLevel, *, together: bool
) -> Interval | None:
    """Return the interval of a released value; with `together`, one that holds for all groups together."""
    plan, groups = release.plan, candidates(release.plan, release.found_groups)
    if choosing_clauses(plan):
        each = None if groups is None else confidence_in_group(plan, float(confidence), release.found_groups)
    else:
        each = confidence if not together else None if groups is None else confidence_each(confidence, groups)
    return None if each is None else interval(plan, dict(plan.outputs)[name], cell.released, cell.keys, each)


def box(release: Release, names: Sequence[str], confidence: ConfidenceLevel) -> list[list[Interval | None]]:
    """Return the intervals of all cells of some columns at one confidence, by column."""
    outputs = dict(release.plan.outputs)
    return [
        [interval(release.plan, outputs[name], cell.released, cell.keys, confidence) for cell in release.cells]
        for name in names
    ]


def row_keys(rows: Sequence[Row], places: Sequence[int]) -> dict[Row, int] | None:
    """Return the number of each row by its exact columns; None if two rows have the same."""
    keys = {tuple(row[place] for place in places): number for number, row in enumerate(rows)}
    return keys if len(keys) == len(rows) else None


def arranged(
    draws: Sequence[Sequence[Row]], keys: Mapping[Row, int], places: Sequence[int], place: int
) -> Floats | None:
    """Return the draws of one column as an array of rows by draws; None if the rows of a draw are others."""
    values = np.full((len(keys), len(draws)), np.nan)
    for number, rows in enumerate(draws):
        if len(rows) != len(keys):
            return None
        for row in rows:
            found = keys.get(tuple(row[each] for each in places))
            if found is None:
                return None
            value = row[place]
            values[found, number] = float(value) if isinstance(value, (int, float)) else np.nan
    return values


def separate_intervals(values: Floats, confidence: float) -> Ends:
    """Return the interval of each row, from its draws.

    A draw that is NaN counts as one below and as one above, because the function is not known there.

    >>> separate_intervals(np.arange(1.0, 40.0).reshape(1, -1), 0.95)
    [(1.0, 39.0)]
    """
    rank = int((values.shape[1] + 1) * miss_rate(confidence) / 2)
    return [_between(row, rank - int(np.isnan(row).sum())) for row in values]


def joint_intervals(values: Floats, confidence: float) -> Ends:
    """Return an interval of each row such that all hold together; None if there are too few draws for that."""
    missing, count = np.isnan(values), values.shape[1]
    order = np.argsort(np.argsort(values, axis=1, kind="stable"), axis=1) + 1  # NaN last
    known = (~missing).sum(axis=1, keepdims=True)
    depth = np.where(missing, 0, np.minimum(order, known + 1 - order)).min(axis=0)
    needed = (1 - miss_rate(confidence)) * (count + 1)
    ranks = [rank for rank in range(1, count // 2) if int((depth >= rank + 1).sum()) >= needed]
    return [_between(row, max(ranks, default=0)) for row in values]


def _between(values: Floats, rank: int) -> Interval | None:
    """Return the draws of this rank from below and from above."""
    known = np.sort(values[~np.isnan(values)])
    return (float(known[rank - 1]), float(known[len(known) - rank])) if 1 <= rank <= len(known) else None
