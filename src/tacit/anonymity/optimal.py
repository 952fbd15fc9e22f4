"""The best full-domain generalisation with a suppression limit, and a certificate that it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, prod
from typing import TypeAlias

import numpy as np

from tacit.anonymity.problem import Coded, Problem, coded_requirements
from tacit.anonymity.tables import Longs
from tacit.arrays import Codes, Floats

_STEPS = 2_000
_TIES = 16
_LISTED = 200_000
Node: TypeAlias = tuple[float, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was proved about an answer: nothing in the lattice has a loss below `lower`.

    Attributes:
        loss: of the answer.
        lower: a proved lower bound on the loss of every node that meets the requirements, whichever of its classes are
            suppressed.
        lattice: the number of nodes.
        bounded: nodes of the walk for which a bound was computed; a full node's bound is its loss.
        full: full nodes that were scored and not worse than the best at that time.
        cut: nodes that were cut off with all that lies under them.
        ties: full nodes with the same loss, up to 1e-10.
        tied: the levels of at most 16 of them.
        undecided: classes so near a tie of entropies that they were counted as failing.
        seconds: of the search.
    """

    loss: float
    lower: float
    lattice: int
    bounded: int
    full: int
    cut: int
    ties: int
    tied: tuple[tuple[int, ...], ...]
    undecided: int
    seconds: float

    @property
    def optimal(self) -> bool:
        """Whether the answer is proved to be the best."""
        return self.lower >= self.loss - 1e-9 and not self.undecided

    @property
    def gap(self) -> float:
        """How much better an answer might be at most."""
        return max(0.0, self.loss - self.lower)


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a search: levels, rows suppressed, certificate; no levels where nothing meets the requirements."""

    levels: tuple[int, ...] | None
    suppressed: int
    certificate: Certificate


@dataclass(frozen=True, slots=True, eq=False)
class _Lattice:
    """Levels, groups and costs of all columns as flat arrays, in the order of the walk."""

    heights: Longs
    starts: Longs
    maps: Codes
    widths: Longs
    costs: Floats
    base: Floats


def _lattice(problem: Problem, order: list[int]) -> _Lattice:
    tallest = max(problem.trees[j].height for j in order)
    starts, widths = np.zeros((len(order), tallest), np.int64), np.ones((len(order), tallest), np.int64)
    base, maps, costs, at = np.zeros((len(order), tallest)), [], [], 0
    for place, j in enumerate(order):
        tree, many = problem.trees[j], np.bincount(problem.codes[j], minlength=len(problem.trees[j].rows))
        for level in range(tree.height):
            groups, cost = tree.groups(level), problem.costs(j, level)
            starts[place, level], widths[place, level] = at, len(cost)
            base[place, level] = float(many @ cost[groups]) / problem.rows
            maps.append(groups)
            costs.append(np.append(cost, np.zeros(len(groups) - len(cost))))
            at += len(groups)
    heights = np.array([problem.trees[j].height for j in order], dtype=np.int64)
    return _Lattice(heights, starts, np.concatenate(maps), widths, np.concatenate(costs), base)


@dataclass(frozen=True, slots=True, eq=False)
class _Rests:
    """Raw rows as chains: rest r of column j is (head[j, r], rest tail[j, r] of column j + 1)."""

    head: Codes
    tail: Codes
    many: Longs
    sensitive: Codes
    counts: Codes


def _rests(problem: Problem, order: list[int], coded: Coded) -> _Rests:
    from tacit.anonymity.kernels import number_pairs  # noqa: PLC0415 - compiled on first use

    rows, q = problem.rows, len(order)
    keys, values = _hash_space(rows)
    columns = [column.codes for column in coded.columns]
    ids, found = np.zeros(rows, dtype=np.int32), 1
    many, firsts, chains = np.ones(q + 1, dtype=np.int64), [], []
    for codes in [*columns, *(problem.codes[j] for j in reversed(order))]:
        out = np.empty(rows, dtype=np.int32)
        wide = int(codes.max(initial=0)) + 1
        found = number_pairs(ids, codes, wide, rows, keys, values, out)
        first = np.empty(found, dtype=np.int64)
        first[out[::-1]] = np.arange(rows - 1, -1, -1)
        chains.append((codes[first], ids[first]))
        firsts.append(first)
        ids = out
    spare = len(columns)
    head, tail = np.zeros((q, found), np.int32), np.zeros((q, found), np.int32)
    sensitive = np.zeros((q, max(1, spare), found), dtype=np.int32)
    for place in range(q):
        at = spare + q - 1 - place
        many[place] = len(firsts[at])
        head[place, : many[place]], tail[place, : many[place]] = chains[at]
        for s, codes in enumerate(columns):
            sensitive[place, s, : many[place]] = codes[firsts[at]]
    many[q] = len(firsts[spare - 1]) if spare else 1
    return _Rests(head, tail, many, sensitive, np.bincount(ids, minlength=found).astype(np.int32))


def _hash_space(rows: int) -> tuple[Longs, Codes]:
    size = 1 << (max(16, 4 * rows) - 1).bit_length()
    return np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int32)


def search(
    problem: Problem,
    limit: int,
    *,
    seconds: float = inf,
    progress: Callable[[float], None] | None = None,
) -> Found:
    """Return the node of least loss that meets the requirements with at most `limit` rows suppressed.

    Args:
        problem: the table, its hierarchies and the requirements.
        limit: how many rows may be suppressed.
        seconds: when to stop; then the certificate says how much better an answer might be.
        progress: called now and then with the part of the lattice that is done.
    """
    from tacit.anonymity import kernels, lattice  # noqa: PLC0415 - numba is slow to import

    began = time.perf_counter()
    order = sorted(range(len(problem.trees)), key=lambda j: -_spread(problem, j))
    walk = Walk(problem, order, limit)
    with kernels.announced(lattice.walk):
        while not walk.go(_STEPS):
            if progress:
                progress(walk.done())
            if time.perf_counter() - began > seconds:
                break
    return walk.found(time.perf_counter() - began)


def listing(problem: Problem, limit: int, ceiling: float, until: float) -> tuple[list[Node], float]:
    """Return all nodes that meet the requirements and lose at most the ceiling, the least loss first.

    Also a bound: no node that is not in the list loses less. It is infinite where the list is complete.
    """
    order = sorted(range(len(problem.trees)), key=lambda j: -_spread(problem, j))
    lattice = prod(tree.height for tree in problem.trees)
    walk = Walk(problem, order, limit, room=min(lattice, _LISTED), ceiling=ceiling)
    done = walk.go(_STEPS)
    while not done and time.perf_counter() < until:
        done = walk.go(_STEPS)
    back, many = np.argsort(order), int(walk.state[6])
    nodes = [
        (float(score), tuple(int(level) for level in row[back]))
        for score, row in zip(walk.listed_scores[:many], walk.listed[:many], strict=True)
    ]
    if many > len(nodes):
        return sorted(nodes), 0.0
    return sorted(nodes), inf if done else walk.lower()


def _spread(problem: Problem, j: int) -> float:
    return float(np.count_nonzero(np.bincount(problem.codes[j])))


class Walk:
    """A walk through the lattice that can be stopped and gone on with."""

    def __init__(self, problem: Problem, order: list[int], limit: int, *, room: int = 0, ceiling: float = inf) -> None:
        """Lay out all arrays that the compiled loops work in; with room, every node up to the ceiling is listed."""
        coded = coded_requirements(problem)
        self.problem, self.order, self.limit = problem, order, limit
        self.lattice, rests = _lattice(problem, order), _rests(problem, order, coded)
        q, rows = len(order), len(rests.counts)
        self.state = np.array([0, 0, 0, 0, 0, problem.rows + 1, 0], dtype=np.int64)
        self.listed, self.listed_scores = np.zeros((room, q), dtype=np.int64), np.zeros(room)
        self.scores, self.best = np.array([ceiling]), np.zeros(q, dtype=np.int64)
        self.tied, self.levels = np.zeros((_TIES, q), dtype=np.int64), np.zeros(q, dtype=np.int64)
        tallest = int(self.lattice.heights.max())
        self.candidates = (*(np.zeros(q + 1, np.int64) for _ in range(3)), np.zeros((q + 1, tallest), np.int64))
        self.bounds = np.full((q + 1, tallest), inf)
        self.doubts = np.zeros(1, dtype=np.int64)
        wide = int(max(coded.wholes.shape[1], 1)) + 1
        work = (np.empty(rows + 2, np.int64), np.empty(rows, np.int32), np.zeros(wide, np.int64),
                np.empty(wide, np.int64), np.empty(coded.room, np.int64), self.doubts)  # fmt: skip
        self._rest = (rests.head, rests.tail, rests.many, rests.sensitive, coded.arrays(), *_space(q, rests), work)

    def go(self, steps: int) -> bool:
        """Go on for so many steps; return whether all is done."""
        from tacit.anonymity.lattice import walk  # noqa: PLC0415 - compiled on first use

        head, tail, many, sensitive, coded, table, classes, up, buffers, work = self._rest
        lattice = self.lattice
        return bool(
            walk(steps, self.state, self.scores, self.best, self.tied, self.levels, lattice.heights, lattice.starts,
                 lattice.maps, lattice.widths, lattice.costs, lattice.base, self.problem.rows, float(self.limit),
                 self.problem.mean == "geometric", self.problem.k, head, tail, many, sensitive, coded, table,
                 classes, up, self.candidates, self.bounds, buffers, work, self.listed,
                 self.listed_scores)
        )  # fmt: skip

    def done(self) -> float:
        """Return about which part of the walk is behind."""
        place, many, _, _ = self.candidates
        part, width = 0.0, 1.0
        for depth in range(min(4, int(self.state[0]) + 1)):
            width /= max(1, int(many[depth]))
            part += width * max(0, int(place[depth]) - 1)
        return min(1.0, part)

    def found(self, seconds: float) -> Found:
        """Return the best answer so far with its certificate."""
        loss, back = float(self.scores[0]), np.argsort(self.order)
        lower = min(loss, self.lower())
        ties = int(self.state[4])
        certificate = Certificate(
            loss,
            lower,
            prod(tree.height for tree in self.problem.trees),
            int(self.state[1]),
            int(self.state[3]),
            int(self.state[2]),
            ties,
            tuple(tuple(int(level) for level in row[back]) for row in self.tied[: min(ties, _TIES)]),
            int(self.doubts[0]),
            seconds,
        )
        levels = None if loss == inf else tuple(int(level) for level in self.best[back])
        return Found(levels, int(self.state[5]) if levels else 0, certificate)

    def lower(self) -> float:
        """Return a bound below the loss of every node that the walk has not come to, infinity at its end."""
        return min((bound for depth in range(int(self.state[0]) + 1) for bound in self._open(depth)), default=inf)

    def _open(self, depth: int) -> list[float]:
        """Return the bounds of what is still open at a depth.

        Where the walk has come down to a depth but not looked there yet, that is the bound of the node it came from.
        """
        place, many, opened, _ = self.candidates
        if opened[depth]:
            return [float(bound) for bound in self.bounds[depth, place[depth] : many[depth]]]
        return [float(self.bounds[depth - 1, place[depth - 1] - 1])] if depth else [0.0]


def _space(q: int, rests: _Rests) -> tuple[tuple[object, ...], ...]:
    """Return the working arrays: tables and classes of every depth, and buffers; pages are touched only when used."""
    rows = len(rests.counts)

    def ints(*shape: int) -> Codes:
        return np.empty(shape, dtype=np.int32)

    table = (ints(q + 1, rows), ints(q + 1, rows), ints(q + 1, rows), np.zeros(q + 1, dtype=np.int64))
    table[0][0], table[1][0], table[2][0], table[3][0] = 0, np.arange(rows), rests.counts, rows
    classes = (*(ints(q + 1, rows) for _ in range(4)), np.zeros(q + 1, dtype=np.int64))
    up = (np.zeros((q + 1, rows), np.int32), np.zeros((q + 1, rows), np.int32), np.ones(q + 1, dtype=np.int64))
    keys, values = _hash_space(rows)
    buffers = (
        keys,
        values,
        ints(rows),
        ints(rows),
        ints(3, rows),
        np.empty(rows),
        np.empty((2, rows)),
        np.empty(q),
        ints(rows),
    )
    return table, classes, up, buffers
