"""The named arrays that the compiled searches work in, and how they are built from a problem.

numba takes named tuples of arrays and records, so the loops of `class_kernels`, `lattice_kernels` and `split_kernels`
name what they read and write. Every class below says what one index means. This module does not import numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, assert_never

import numpy as np

from tacit.anonymity.distances import GroundDistance, ground_distance
from tacit.anonymity.kernels import is_plain, running
from tacit.anonymity.privacy_models import KAnonymity, LDiversity, NTCloseness, TCloseness
from tacit.anonymity.tables import CodedColumn
from tacit.arrays import Codes, Floats, Ints
from tacit.errors import InvalidError

if TYPE_CHECKING:
    from tacit.anonymity.problem import Problem

DISTINCT, ENTROPY, RECURSIVE, CLOSENESS = 1, 2, 3, 4
_MOST = 2**62
_TIES = 16

PLAIN_ROWS = 5_000
"""Up to so many rows, a walk begins in Python."""


class Requirements(NamedTuple):
    """Requirements on sensitive values: requirement i is on column columns[i] of the sensitive columns.

    kinds[i] is DISTINCT, ENTROPY, RECURSIVE or CLOSENESS; numbers[i] is (l, p, q), where p/q is the bound. Column c has
    sizes[c] different values; value v occurs wholes[c, v] times in the whole table. For closeness, families[i]
    and parts[i] are the sets of the ground distance; divisors[i] is its divisor, negative for the ordered distance.
    """

    sizes: Ints
    kinds: Ints
    columns: Ints
    numbers: Ints
    wholes: Ints
    families: Codes
    parts: Ints
    divisors: Ints


class ClassRows(NamedTuple):
    """The rows of classes: order[at] is a row, which stands for counts[row] rows.

    Its value of sensitive column s is sensitive[s, rests[row]].
    """

    order: Codes
    rests: Codes
    counts: Codes
    sensitive: Codes


class ClassScratch(NamedTuple):
    """Scratch space to judge one class: counts by value (all 0 between two calls), the values in it, and sums.

    doubts[0] counts the classes that are too near a tie of entropies to be decided.
    """

    counts: Ints
    touched: Ints
    sums: Ints
    doubts: Ints


_Item: TypeAlias = tuple[int, CodedColumn, tuple[int, int, int], GroundDistance | None]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRequirements:
    """The sensitive columns that requirements use, and the requirements as arrays."""

    columns: tuple[CodedColumn, ...]
    arrays: Requirements

    @property
    def compiled(self) -> Requirements | None:
        """The requirements for compiled loops, or None if k alone is required: then less code is compiled."""
        return self.arrays if len(self.arrays.kinds) else None

    def scratch(self) -> ClassScratch:
        """Return scratch space for all values, and for all parts of every distance."""
        arrays = self.arrays
        wide = int(arrays.wholes.shape[1]) + 1
        sums = int(max(wide - 1, arrays.families.max(initial=0) + 1, arrays.parts.max(initial=0), 1)) + 1
        return ClassScratch(
            np.zeros(wide, np.int64), np.empty(wide, np.int64), np.empty(sums, np.int64), np.zeros(1, np.int64)
        )


def encode_requirements(problem: Problem) -> EncodedRequirements:
    """Return all requirements but k on rows and (n, t)-closeness, which depends on more than one class."""
    items: list[_Item] = []
    for model in problem.require:
        match model:
            case KAnonymity(k=k) if problem.unit is not None:
                items.append((DISTINCT, problem.unit, (k, 0, 1), None))
            case LDiversity() | TCloseness():
                items += [_item(model, column) for column in problem.columns_of(model)]
            case KAnonymity() | NTCloseness():
                pass
            case _:
                assert_never(model)
    columns = tuple({column.name: column for _, column, _, _ in items}.values())
    for _, column, (_, p, q), distance in items:
        divisor = distance.divisor if distance else 1
        if max(max(p, q) * divisor, problem.rows * problem.rows * divisor) >= _MOST:
            raise InvalidError(
                f"A requirement on the column {column.name!r} needs integers of more than 62 bits.",
                argument=f"a requirement on {column.name}",
                hint="Use a bound with fewer digits, or fewer rows.",
            )
    return EncodedRequirements(columns, _requirements(items, columns))


def _item(model: LDiversity | TCloseness, column: CodedColumn) -> _Item:
    if isinstance(model, TCloseness):
        distance = ground_distance(model.distance, column.texts, model.hierarchy, column.name)
        return CLOSENESS, column, (0, model.bound.numerator, model.bound.denominator), distance
    kind = {"distinct": DISTINCT, "entropy": ENTROPY, "recursive": RECURSIVE}[model.kind]
    exact = model.level if model.kind == "entropy" else model.share
    return kind, column, (int(model.l), exact.numerator, exact.denominator), None


def _requirements(items: Sequence[_Item], columns: tuple[CodedColumn, ...]) -> Requirements:
    index = {column.name: at for at, column in enumerate(columns)}
    most = max((len(column.texts) for column in columns), default=1)
    deep = max((len(distance.families) for *_, distance in items if distance), default=1)
    wholes = np.zeros((max(1, len(columns)), most), dtype=np.int64)
    for at, column in enumerate(columns):
        wholes[at, : len(column.texts)] = np.bincount(column.codes, minlength=len(column.texts))
    families, parts = np.zeros((len(items), deep, most), dtype=np.int32), np.zeros((len(items), deep), dtype=np.int64)
    divisors = np.ones(len(items), dtype=np.int64)
    for at, (*_, distance) in enumerate(items):
        if distance:
            divisors[at] = -distance.divisor if distance.ordered else distance.divisor
            for depth, family in enumerate(distance.families):
                families[at, depth, : len(family)], parts[at, depth] = family, family.max() + 1
    return Requirements(
        sizes=np.array([len(column.texts) for column in columns], dtype=np.int64),
        kinds=np.array([kind for kind, *_ in items], dtype=np.int64),
        columns=np.array([index[column.name] for _, column, _, _ in items], dtype=np.int64),
        numbers=np.array([numbers for *_, numbers, _ in items], dtype=np.int64).reshape(len(items), 3),
        wholes=wholes,
        families=families,
        parts=parts,
        divisors=divisors,
    )


class LevelLattice(NamedTuple):
    """Levels, groups and costs of all columns, in the order of the walk.

    Column j has heights[j] levels. At level l it has widths[j, l] groups, and its mean cost without suppression is
    base[j, l]. From a = starts[j, l] on, maps[a + v] is the group of raw value v, and costs[a + g] the cost of group g.
    """

    heights: Ints
    starts: Ints
    maps: Codes
    widths: Ints
    costs: Floats
    base: Floats


def lattice_of(problem: Problem, order: Sequence[int]) -> LevelLattice:
    """Return the levels of the columns, in an order."""
    tallest = max(problem.trees[j].height for j in order)
    starts, widths = np.zeros((len(order), tallest), np.int64), np.ones((len(order), tallest), np.int64)
    base, maps, costs, at = np.zeros((len(order), tallest)), [], [], 0
    for index, j in enumerate(order):
        tree, counts = problem.trees[j], np.bincount(problem.codes[j], minlength=len(problem.trees[j].rows))
        for level in range(tree.height):
            groups, cost = tree.groups(level), problem.costs(j, level)
            starts[index, level], widths[index, level] = at, len(cost)
            base[index, level] = float(counts @ cost[groups]) / problem.rows
            maps.append(groups)
            costs.append(np.append(cost, np.zeros(len(groups) - len(cost))))
            at += len(groups)
    heights = np.array([problem.trees[j].height for j in order], dtype=np.int64)
    return LevelLattice(heights, starts, np.concatenate(maps), widths, np.concatenate(costs), base)


class Rests(NamedTuple):
    """Raw rows as chains: rest r of column j is (raw value head[j, r], rest tail[j, r] of column j + 1).

    Column j has many[j] rests. sensitive[j, s, r] is the value of sensitive column s.
    """

    head: Codes
    tail: Codes
    many: Ints
    sensitive: Codes


def rests_of(problem: Problem, order: Sequence[int], columns: Sequence[CodedColumn]) -> tuple[Rests, Codes]:
    """Return the different raw rows as chains, and how many rows each of them stands for."""
    from tacit.anonymity.class_kernels import number_pairs  # noqa: PLC0415 - imports this module

    rows, q = problem.rows, len(order)
    keys, values = _hash_table(rows)
    sensitive_codes = [column.codes for column in columns]
    ids, total = np.zeros(rows, dtype=np.int32), 1
    many, firsts, chains = np.ones(q + 1, dtype=np.int64), [], []
    for codes in [*sensitive_codes, *(problem.codes[j] for j in reversed(order))]:
        numbers, width = np.empty(rows, dtype=np.int32), int(codes.max(initial=0)) + 1
        with running(number_pairs, plain=is_plain(number_pairs, rows, width, PLAIN_ROWS)) as number:
            total = number(ids, codes, width, rows, keys, values, numbers)
        first = np.empty(total, dtype=np.int64)
        first[numbers[::-1]] = np.arange(rows - 1, -1, -1)
        chains.append((codes[first], ids[first]))
        firsts.append(first)
        ids = numbers
    spare = len(sensitive_codes)
    head, tail = np.zeros((q, total), np.int32), np.zeros((q, total), np.int32)
    sensitive = np.zeros((q, max(1, spare), total), dtype=np.int32)
    for j in range(q):
        at = spare + q - 1 - j
        many[j] = len(firsts[at])
        head[j, : many[j]], tail[j, : many[j]] = chains[at]
        for s, codes in enumerate(sensitive_codes):
            sensitive[j, s, : many[j]] = codes[firsts[at]]
    many[q] = len(firsts[spare - 1]) if spare else 1
    return Rests(head, tail, many, sensitive), np.bincount(ids, minlength=total).astype(np.int32)


def _hash_table(rows: int) -> tuple[Ints, Codes]:
    size = 1 << (max(16, 4 * rows) - 1).bit_length()
    return np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int32)


class WalkTerms(NamedTuple):
    """The numbers of a search: rows of the table, rows that may be suppressed, k, and how columns are averaged."""

    rows: int
    limit: float
    k: int
    geometric: bool


class DepthRows(NamedTuple):
    """The rows of depth j: size[j] pairs of group[j, i] and rest[j, i], which stand for counts[j, i] rows each."""

    group: Codes
    rest: Codes
    counts: Codes
    size: Ints


class DepthClasses(NamedTuple):
    """The classes of depth j with column j at its raw level: row i is in row_class[j, i].

    Class c came from class parent[j, c] of the depth above. It has the raw value code[j, c] of column j, and
    counts[j, c] rows.
    """

    row_class: Codes
    parent: Codes
    code: Codes
    counts: Codes
    size: Ints


class WalkPath(NamedTuple):
    """The counts[j] classes along the walk: class c of depth j came from parent[j, c] by group code[j, c]."""

    parent: Codes
    code: Codes
    counts: Ints


class Candidates(NamedTuple):
    """The levels that are left to try at depth j: choice[j, next[j]:many[j]], by rising bounds[j].

    scored[j] is 1 once the levels of depth j have their bounds.
    """

    next: Ints
    many: Ints
    scored: Ints
    choice: Ints
    bounds: Floats


class Buffers(NamedTuple):
    """Scratch space of one step: a hash table, numbers by row and by class, and weights and losses.

    joined holds parents, groups and sizes of classes at a level; ids[c] is the joined class of raw class c.
    """

    keys: Ints
    values: Codes
    right: Codes
    ids: Codes
    joined: Codes
    weights: Floats
    gather: Floats
    losses: Floats
    row_joined: Codes
    first: Ints
    order: Codes


class WalkSpace(NamedTuple):
    """The arrays that a walk changes, beside its progress and its answers."""

    rows: DepthRows
    classes: DepthClasses
    path: WalkPath
    candidates: Candidates
    buffers: Buffers


class Answers(NamedTuple):
    """The levels of the current node, of the best one and of those that tie with it, and the nodes that are listed."""

    levels: Ints
    best: Ints
    tied: Ints
    listed: Ints
    listed_losses: Floats


PROGRESS = np.dtype(
    [(name, np.int64) for name in ("depth", "bounded", "cut", "full", "ties", "suppressed", "listed")]
    + [("loss", np.float64)]
)
"""Depth of the walk; nodes bounded, cut and scored in full; ties; rows suppressed by the best; nodes listed; loss."""


def new_progress(rows: int, ceiling: float) -> np.recarray[Any, Any]:
    """Return the progress of a walk that has not started, as an array of one record."""
    progress = np.zeros(1, dtype=PROGRESS).view(np.recarray)
    progress["suppressed"], progress["loss"] = rows + 1, ceiling
    return progress


def new_answers(q: int, room: int) -> Answers:
    """Return space for the answers of a walk over q columns that lists up to `room` nodes."""
    return Answers(
        levels=np.zeros(q, dtype=np.int64),
        best=np.zeros(q, dtype=np.int64),
        tied=np.zeros((_TIES, q), dtype=np.int64),
        listed=np.zeros((room, q), dtype=np.int64),
        listed_losses=np.zeros(room),
    )


def new_space(q: int, tallest: int, counts: Codes) -> WalkSpace:
    """Return the working arrays of a walk; pages of memory are touched only when they are used."""
    rows = len(counts)

    def codes(*shape: int) -> Codes:
        return np.empty(shape, dtype=np.int32)

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, dtype=np.int64)

    table = DepthRows(codes(q + 1, rows), codes(q + 1, rows), codes(q + 1, rows), ints(q + 1))
    table.group[0], table.rest[0], table.counts[0], table.size[0] = 0, np.arange(rows), counts, rows
    classes = DepthClasses(codes(q + 1, rows), codes(q + 1, rows), codes(q + 1, rows), codes(q + 1, rows), ints(q + 1))
    path = WalkPath(
        np.zeros((q + 1, rows), np.int32), np.zeros((q + 1, rows), np.int32), np.ones(q + 1, dtype=np.int64)
    )
    bounds = np.full((q + 1, tallest), inf)
    candidates = Candidates(ints(q + 1), ints(q + 1), ints(q + 1), ints(q + 1, tallest), bounds)
    keys, values = _hash_table(rows)
    buffers = Buffers(
        keys, values, right=codes(rows), ids=codes(rows), joined=codes(3, rows), weights=np.empty(rows),
        gather=np.empty((2, rows)), losses=np.empty(q), row_joined=codes(rows),
        first=np.empty(rows + 2, np.int64), order=codes(rows),
    )  # fmt: skip
    return WalkSpace(table, classes, path, candidates, buffers)
