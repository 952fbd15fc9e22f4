"""Recodings whose levels differ from class to class: Mondrian, and splits along hierarchies."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.anonymity.classes import group
from tacit.anonymity.kernels import announced
from tacit.anonymity.loss import averaged, column_losses
from tacit.anonymity.optimal import _lattice
from tacit.anonymity.problem import Coded, Problem, coded_requirements
from tacit.anonymity.recoded import Published, has_ranges, number_places, places, runs_cover
from tacit.anonymity.splits import hierarchy_split, median_split
from tacit.anonymity.tables import Longs
from tacit.arrays import Codes

_POWERS = (1.0, 0.7, 0.4)


def mondrian(problem: Problem, *, strict: bool) -> tuple[Published, Codes]:
    """Split at medians (LeFevre, DeWitt and Ramakrishnan 2006); return the recoded table and its boxes."""
    coded, rows, q = coded_requirements(problem), problem.rows, len(problem.trees)
    widths = np.array([len(tree.rows) for tree in problem.trees], dtype=np.int64)
    small = np.int16 if widths.max() < np.iinfo(np.int16).max else np.int32
    table = np.empty((q, rows), dtype=small)
    ranges = tuple(has_ranges(tree) for tree in problem.trees)
    for j, (tree, codes) in enumerate(zip(problem.trees, problem.codes, strict=True)):
        table[j] = (number_places(tree) if ranges[j] else places(tree)).astype(small)[codes]
    order, ends, most = np.arange(rows, dtype=np.int32), np.empty(rows, dtype=np.int64), max(1, rows // problem.k)
    lows, highs = np.empty((q, most), dtype=np.int32), np.empty((q, most), dtype=np.int32)
    with announced(median_split):
        found = median_split(table, order, problem.k, strict, widths, coded.arrays(), _sensitive(coded, rows),
                             _work(coded, rows), ends, lows, highs)  # fmt: skip
    return _published(problem, lows[:, :found], highs[:, :found], order, ends[:found], ranges)


def local(problem: Problem) -> tuple[Published, Codes]:
    """Split along hierarchies, weighing splits in a few ways; return the recoded table of least loss, and its boxes."""
    with announced(hierarchy_split):
        tries = [_split(problem, power) for power in _POWERS]
    return min(tries, key=lambda one: averaged(column_losses(one[0], problem.objective), problem.mean))


def _split(problem: Problem, power: float) -> tuple[Published, Codes]:
    coded = coded_requirements(problem)
    shape = _lattice(problem, list(range(len(problem.trees))))
    table = np.ascontiguousarray(np.array(problem.codes, dtype=np.int32).T)
    order, ends = np.arange(problem.rows, dtype=np.int32), np.empty(problem.rows, dtype=np.int64)
    scale = np.ones(len(problem.trees))
    found = hierarchy_split(table, order, np.empty_like(table), np.empty_like(order), problem.k, shape.heights,
                            shape.starts, shape.maps, shape.widths, shape.costs, coded.arrays(),
                            _sensitive(coded, problem.rows), _work(coded, problem.rows), ends, scale,
                            power)  # fmt: skip
    lookups = [places(tree) for tree in problem.trees]
    starts = np.append(0, ends[: found - 1])
    placed = [lookup[table[:, j]] for j, lookup in enumerate(lookups)]
    lows, highs = (np.array([edge.reduceat(column, starts) for column in placed]) for edge in (np.minimum, np.maximum))
    return _published(problem, lows, highs, order, ends[:found], (False,) * len(problem.trees))


def _sensitive(coded: Coded, rows: int) -> Codes:
    if not coded.columns:
        return np.zeros((1, 1), dtype=np.int32)
    return np.array([column.codes for column in coded.columns], dtype=np.int32).reshape(len(coded.columns), rows)


def _work(coded: Coded, rows: int) -> tuple[Any, ...]:
    wide = int(coded.wholes.shape[1]) + 1
    many = rows if coded.columns else 1
    return (np.arange(many, dtype=np.int32), np.ones(many, dtype=np.int32), np.zeros(wide, np.int64),
            np.empty(wide, np.int64), np.empty(coded.room, np.int64), np.zeros(1, dtype=np.int64))  # fmt: skip


def _published(
    problem: Problem, lows: Codes, highs: Codes, order: Longs | Codes, ends: Longs, ranges: tuple[bool, ...]
) -> tuple[Published, Codes]:
    """Publish every part by the runs of its values; return that and the different boxes.

    Parts whose published values agree become one class, which meets what both meet: k and the number of values only
    grow, entropy is concave, a distance convex, and recursive diversity holds of a union of classes that have it.
    """
    covers, labels = [], []
    for j, (name, tree) in enumerate(zip(problem.names, problem.trees, strict=True)):
        cover, which = runs_cover(name, tree, lows[j], highs[j], ranges=ranges[j])
        covers.append(cover)
        labels.append(which)
    part = np.empty(problem.rows, dtype=np.int32)
    part[order] = np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0))
    boxes = group(labels, len(ends)).shared.astype(np.int32)
    return Published(tuple(covers), tuple(which[part] for which in labels), np.ones(problem.rows, dtype=bool)), boxes
