"""Recodings whose levels differ from class to class: Mondrian, and splits along hierarchies."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.anonymity.classes import group
from tacit.anonymity.kernels import Kernel, is_plain, running
from tacit.anonymity.loss import average, column_losses
from tacit.anonymity.problem import Problem
from tacit.anonymity.recoding import RecodedTable, has_ranges, nested_order, number_order, runs_cover, widen_to_top
from tacit.anonymity.search_arrays import ClassRows, EncodedRequirements, encode_requirements, lattice_of
from tacit.anonymity.split_kernels import hierarchy_split, median_split
from tacit.arrays import Bools, Bytes, Codes, Ints

_POWERS = (1.0, 0.7, 0.4)
_MEDIAN_ROWS, _HIERARCHY_ROWS = 5_000, 1_000  # up to so many rows in Python: at most about half a second


class SplitTerms(NamedTuple):
    """The numbers of a split: rows of the table, k, and whether equal values stay together at a median."""

    rows: int
    k: int
    strict: bool


class MedianWork(NamedTuple):
    """Scratch space of `median_split`: rows on their way, the range of each column, and the stack of parts."""

    counts: Ints
    spare: npt.NDArray[Any]
    spare_order: Codes
    target: Codes
    least: Ints
    most: Ints
    tried: Bools
    stack: Ints


class MedianParts(NamedTuple):
    """The parts of `median_split`: part i ends at row ends[i]; column c is from lows[c, i] to highs[c, i]."""

    ends: Ints
    lows: Codes
    highs: Codes


class HierarchyWork(NamedTuple):
    """Scratch space of `hierarchy_split`.

    Group g of a split ends at ends[g], and pooled[g] is 1 if it is pooled; best_ends and best_pooled keep those of the
    best split. members holds the rows of a class that is checked. A part on the stack has a level for every column.
    """

    counts: Ints
    ends: Ints
    best_ends: Ints
    pooled: Bytes
    best_pooled: Bytes
    sorted_rows: Ints
    members: Codes
    spare: Codes
    spare_order: Codes
    stack: Ints
    stack_levels: npt.NDArray[np.int16]
    levels: npt.NDArray[np.int16]


def mondrian(problem: Problem, *, strict: bool) -> tuple[RecodedTable, Codes]:
    """Split at medians (LeFevre, DeWitt and Ramakrishnan 2006); return the recoded table and its boxes."""
    encoded, rows, q = encode_requirements(problem), problem.rows, len(problem.trees)
    widths = np.array([len(tree.rows) for tree in problem.trees], dtype=np.int64)
    small = np.int16 if widths.max() < np.iinfo(np.int16).max else np.int32
    table = np.empty((q, rows), dtype=small)
    ranges = tuple(has_ranges(tree) for tree in problem.trees)
    for j, (tree, codes) in enumerate(zip(problem.trees, problem.codes, strict=True)):
        table[j] = (number_order(tree) if ranges[j] else nested_order(tree)).astype(small)[codes]
    order, most = np.arange(rows, dtype=np.int32), max(1, rows // problem.k)
    parts = MedianParts(np.empty(rows, np.int64), np.empty((q, most), np.int32), np.empty((q, most), np.int32))
    work = MedianWork(
        np.zeros(int(widths.max(initial=1)) + 1, np.int64), np.empty(rows, small), np.empty(rows, np.int32),
        np.empty(rows, np.int32), np.empty(q, np.int64), np.empty(q, np.int64), np.empty(q, np.bool_),
        np.empty((rows + 1, 2), np.int64),
    )  # fmt: skip
    with running(median_split, plain=is_plain(median_split, rows, int(widths.max(initial=1)), _MEDIAN_ROWS)) as split:
        total = split(
            table, order, SplitTerms(rows, problem.k, strict), encoded.compiled, _class_rows(encoded, rows),
            encoded.scratch(), widths, work, parts,
        )  # fmt: skip
    return _recode(problem, parts.lows[:, :total], parts.highs[:, :total], order, parts.ends[:total], ranges)


def local(problem: Problem) -> tuple[RecodedTable, Codes]:
    """Split along hierarchies with a few weights of a split; return the recoded table of least loss, and its boxes."""
    widest = max(len(tree.rows) for tree in problem.trees)
    with running(hierarchy_split, plain=is_plain(hierarchy_split, problem.rows, widest, _HIERARCHY_ROWS)) as split:
        tries = [_split(problem, power, split) for power in _POWERS]
    return min(tries, key=lambda recoded: average(column_losses(recoded[0], problem.objective), problem.mean))


def _split(problem: Problem, power: float, split: Kernel) -> tuple[RecodedTable, Codes]:
    encoded, rows, q = encode_requirements(problem), problem.rows, len(problem.trees)
    lattice = lattice_of(problem, range(q))
    table = np.ascontiguousarray(np.array(problem.codes, dtype=np.int32).T)
    order, ends = np.arange(rows, dtype=np.int32), np.empty(rows, dtype=np.int64)
    total = split(
        table, order, SplitTerms(rows, problem.k, strict=True), encoded.compiled, _class_rows(encoded, rows),
        encoded.scratch(), lattice, power, _hierarchy_work(rows, q, int(lattice.widths[:, 0].max(initial=1))), ends,
    )  # fmt: skip
    return _publish_parts(problem, order, ends[:total])


def tighten(problem: Problem, levels: tuple[int, ...]) -> tuple[RecodedTable, Codes]:
    """Publish the classes of one level for each column by the smallest groups that hold them; return it and its boxes.

    Rows of one class stay in one class, and classes whose labels agree become one (see `_recode`).
    """
    codes = [tree.groups(level)[raw] for tree, level, raw in zip(problem.trees, levels, problem.codes, strict=True)]
    classes = group(codes, problem.rows)
    order = np.argsort(classes.ids, kind="stable").astype(np.int32)
    return _publish_parts(problem, order, np.cumsum(classes.sizes))


def _publish_parts(problem: Problem, order: Codes, ends: Ints) -> tuple[RecodedTable, Codes]:
    """Publish parts by the smallest groups that hold their values, or by fitted ranges; part i ends at row ends[i]."""
    starts = np.append(0, ends[:-1])
    ranges = tuple(tree.meaning == "fitted" and has_ranges(tree) for tree in problem.trees)
    lows, highs = [], []
    for tree, raw, fitted in zip(problem.trees, problem.codes, ranges, strict=True):
        positions = (number_order(tree) if fitted else nested_order(tree))[raw[order]]
        low, high = np.minimum.reduceat(positions, starts), np.maximum.reduceat(positions, starts)
        low, high = widen_to_top(tree, low, high) if fitted else (low, high)
        lows.append(low)
        highs.append(high)
    return _recode(problem, np.array(lows), np.array(highs), order, ends, ranges)


def _hierarchy_work(rows: int, q: int, widest: int) -> HierarchyWork:
    wide = widest + 2
    return HierarchyWork(
        np.zeros(wide, np.int64), np.zeros(wide, np.int64), np.zeros(wide, np.int64), np.zeros(wide, np.uint8),
        np.zeros(wide, np.uint8), np.empty(rows, np.int64), np.empty(rows, np.int32), np.empty((rows, q), np.int32),
        np.empty(rows, np.int32), np.empty((rows + 1, 2), np.int64), np.empty((rows + 1, q), np.int16),
        np.empty(q, np.int16),
    )  # fmt: skip


def _class_rows(encoded: EncodedRequirements, rows: int) -> ClassRows:
    """Return every row as a row of itself, with its sensitive values; dummies if k alone is required."""
    many = rows if encoded.columns else 1
    index, ones = np.arange(many, dtype=np.int32), np.ones(many, dtype=np.int32)
    sensitive = np.zeros((1, 1), dtype=np.int32)
    if encoded.columns:
        sensitive = np.array([column.codes for column in encoded.columns], dtype=np.int32).reshape(-1, rows)
    return ClassRows(index, index, ones, sensitive)


def _recode(
    problem: Problem, lows: Codes, highs: Codes, order: Codes, ends: Ints, ranges: tuple[bool, ...]
) -> tuple[RecodedTable, Codes]:
    """Publish every part by the runs of its values; return the recoded table and its different boxes.

    Parts whose published values agree become one class. It meets every requirement that both parts meet: k and the
    number of values only grow, entropy is concave, a distance is convex, and recursive diversity holds for a union of
    classes that have it.
    """
    covers, labels = [], []
    for j, (name, tree) in enumerate(zip(problem.names, problem.trees, strict=True)):
        cover, label = runs_cover(name, tree, lows[j], highs[j], ranges=ranges[j])
        covers.append(cover)
        labels.append(label)
    part = np.empty(problem.rows, dtype=np.int32)
    part[order] = np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0))
    boxes = group(labels, len(ends)).shared.astype(np.int32)
    recoded = RecodedTable(tuple(covers), tuple(label[part] for label in labels), np.ones(problem.rows, dtype=bool))
    return recoded, boxes
