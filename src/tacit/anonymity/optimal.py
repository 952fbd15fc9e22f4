"""The best full-domain generalisation with a suppression limit, and a certificate of what was proved about it.

`search` walks the lattice of levels. `search_supersets` does so with (n, t)-closeness, which depends on more than one
class:

* t-closeness to the whole table implies (n, t)-closeness if n rows are kept. That search gives a first node to score.
* The loss of a node without (n, t)-closeness is a lower bound of its loss, because (n, t)-closeness only suppresses
  more rows. So the compiled walk lists all nodes whose bound is below the loss of the first node. They are scored by
  rising bound until no other node can be better, or the time is over.
* A node is scored by suppressing all classes that fail, together, and repeating. Suppressing only some of them may make
  others pass. So if a class is suppressed for (n, t)-closeness, the proved bound of the node is its bound, not its
  score. The certificate claims no more: its `lower` is then below the loss, unless nothing may be suppressed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, prod
from typing import TypeAlias

import numpy as np

from tacit.anonymity.classes import count_values, failing, group
from tacit.anonymity.kernels import COMPILED, is_plain, running
from tacit.anonymity.lattice_kernels import walk
from tacit.anonymity.loss import average
from tacit.anonymity.privacy_models import KAnonymity, Model, NTCloseness, TCloseness
from tacit.anonymity.problem import Problem
from tacit.anonymity.search_arrays import (
    PLAIN_ROWS,
    WalkTerms,
    encode_requirements,
    lattice_of,
    new_answers,
    new_progress,
    new_space,
    rests_of,
)

_STEPS = 2_000
_PLAIN_STEPS, _PLAIN_WORK = 10_000, 300_000  # raw rows of nodes: of one advance in Python, and of all of them
_LISTED = 200_000
_PATIENCE = 60.0
Node: TypeAlias = tuple[float, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Certificate:
    """The proof of a search: no node of the lattice has a loss below `lower`.

    Attributes:
        loss: of the answer.
        lower: a proved lower bound on the loss of every node that meets the requirements, whichever of its classes are
            suppressed.
        lattice: the number of nodes.
        bounded: nodes of the walk for which a bound was computed; the bound of a full node is its loss.
        full: full nodes that were scored and not worse than the best at that time.
        cut: nodes that were cut off, with all nodes below them.
        ties: full nodes with the same loss, up to 1e-10.
        tied: the levels of at most 16 of them.
        undecided: classes so near a tie of entropies that they were counted as failing.
        seconds: the duration of the search.
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
        """True if the answer is proved to be the best."""
        return self.lower >= self.loss - 1e-9 and not self.undecided

    @property
    def gap(self) -> float:
        """The most by which another answer could be better."""
        return max(0.0, self.loss - self.lower)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The levels, the rows suppressed, and the certificate; levels is None if no node meets the requirements."""

    levels: tuple[int, ...] | None
    suppressed: int
    certificate: Certificate


def search(
    problem: Problem,
    limit: int,
    *,
    seconds: float = inf,
    progress: Callable[[float], None] | None = None,
) -> SearchResult:
    """Return the node of least loss that meets the requirements with at most `limit` rows suppressed.

    Args:
        problem: the table, its hierarchies and the requirements.
        limit: how many rows may be suppressed.
        seconds: when to stop. The certificate then has a gap.
        progress: called from time to time with the part of the lattice that is done.
    """
    start = time.perf_counter()
    walk = Walk(problem, _walk_order(problem), limit)
    while not walk.advance():
        if progress:
            progress(walk.done())
        if time.perf_counter() - start > seconds:
            break
    return walk.result(time.perf_counter() - start)


def list_nodes(problem: Problem, limit: int, ceiling: float, until: float) -> tuple[list[Node], float]:
    """Return all nodes that meet the requirements with a loss of at most the ceiling, the least loss first.

    Also return a lower bound on the loss of every node that is not in the list; infinity if the list is complete.
    """
    order = _walk_order(problem)
    lattice = prod(tree.height for tree in problem.trees)
    walk = Walk(problem, order, limit, room=min(lattice, _LISTED), ceiling=ceiling)
    done = walk.advance()
    while not done and time.perf_counter() < until:
        done = walk.advance()
    back, many = np.argsort(order), int(walk.progress["listed"][0])
    nodes = [
        (float(loss), tuple(int(level) for level in levels[back]))
        for loss, levels in zip(walk.answers.listed_losses[:many], walk.answers.listed[:many], strict=True)
    ]
    if many > len(nodes):
        return sorted(nodes), 0.0
    return sorted(nodes), inf if done else walk.lower()


def _walk_order(problem: Problem) -> list[int]:
    """Return the columns, those with the most different values first."""
    different = [int(np.count_nonzero(np.bincount(codes))) for codes in problem.codes]
    return sorted(range(len(problem.trees)), key=lambda j: -different[j])


class Walk:
    """A walk through the lattice that can be interrupted and continued.

    The first part of the walk through a small table runs in Python, the rest compiled.
    """

    def __init__(self, problem: Problem, order: list[int], limit: int, *, room: int = 0, ceiling: float = inf) -> None:
        """Allocate all arrays of the compiled loops; with room, the walk lists every node up to the ceiling."""
        encoded = encode_requirements(problem)
        self.problem, self.order, self.limit = problem, order, limit
        self.lattice = lattice_of(problem, order)
        self.rests, counts = rests_of(problem, order, encoded.columns)
        self.terms = WalkTerms(problem.rows, float(limit), problem.k, problem.mean == "geometric")
        self.progress, self.answers = new_progress(problem.rows, ceiling), new_answers(len(order), room)
        self.space = new_space(len(order), int(self.lattice.heights.max()), counts)
        widest = max(len(tree.rows) for tree in problem.trees)
        self._raw_rows, self._plain = len(counts), is_plain(walk, problem.rows, widest, PLAIN_ROWS)
        self.requirements, self.scratch = encoded.compiled, encoded.scratch()

    def advance(self, steps: int | None = None) -> bool:
        """Walk for a number of steps, by default for a fraction of a second; return whether the walk has ended."""
        work = int(self.progress["bounded"][0]) * self._raw_rows
        plain = self._plain and work < _PLAIN_WORK and walk not in COMPILED
        if steps is None:
            steps = min(_STEPS, max(1, _PLAIN_STEPS // self._raw_rows)) if plain else _STEPS
        with running(walk, plain=plain) as loop:
            ended = loop(
                steps, self.progress, self.terms, self.lattice, self.rests, self.requirements, self.scratch,
                self.space, self.answers,
            )  # fmt: skip
        return bool(ended)

    def done(self) -> float:
        """Return about which part of the walk is done."""
        candidates = self.space.candidates
        part, width = 0.0, 1.0
        for depth in range(min(4, int(self.progress["depth"][0]) + 1)):
            width /= max(1, int(candidates.many[depth]))
            part += width * max(0, int(candidates.next[depth]) - 1)
        return min(1.0, part)

    def result(self, seconds: float) -> SearchResult:
        """Return the best answer so far with its certificate."""
        progress, back = self.progress[0], np.argsort(self.order)
        loss, ties = float(progress["loss"]), int(progress["ties"])
        certificate = Certificate(
            loss=loss,
            lower=min(loss, self.lower()),
            lattice=prod(tree.height for tree in self.problem.trees),
            bounded=int(progress["bounded"]),
            full=int(progress["full"]),
            cut=int(progress["cut"]),
            ties=ties,
            tied=tuple(tuple(int(level) for level in levels[back]) for levels in self.answers.tied[:ties]),
            undecided=int(self.scratch.doubts[0]),
            seconds=seconds,
        )
        levels = None if loss == inf else tuple(int(level) for level in self.answers.best[back])
        return SearchResult(levels, int(progress["suppressed"]) if levels else 0, certificate)

    def lower(self) -> float:
        """Return a lower bound on the loss of every node that the walk has not reached; infinity at its end."""
        depths = range(int(self.progress["depth"][0]) + 1)
        return min((bound for depth in depths for bound in self._open(depth)), default=inf)

    def _open(self, depth: int) -> list[float]:
        """Return the bounds of the nodes that are open at a depth.

        If the walk has descended to a depth but not scored its levels, return the bound of the node above.
        """
        candidates = self.space.candidates
        if candidates.scored[depth]:
            return [float(bound) for bound in candidates.bounds[depth, candidates.next[depth] : candidates.many[depth]]]
        return [float(candidates.bounds[depth - 1, candidates.next[depth - 1] - 1])] if depth else [0.0]


class _BestNode:
    """The best node that was scored so far."""

    def __init__(self, loss: float, levels: tuple[int, ...] | None, suppressed: int) -> None:
        self.loss, self.levels, self.suppressed = loss, levels, suppressed


def search_supersets(problem: Problem, limit: int, *, seconds: float = inf) -> SearchResult:
    """Return the best node that was found within the time (by default a minute), with its certificate."""
    start = time.perf_counter()
    until = start + (_PATIENCE if seconds == inf else seconds)
    strict: list[Model] = []
    loose: list[Model] = []
    for model in problem.require:
        if isinstance(model, NTCloseness):
            if model.n <= problem.rows:
                strict.append(TCloseness(model.t, model.distance, model.hierarchy, model.column))
        else:
            loose.append(model)
            strict.append(model)
    relaxed_problem = replace(problem, require=tuple(loose) or (KAnonymity(1),))
    relaxed = search(relaxed_problem, limit, seconds=until - time.perf_counter())
    if relaxed.certificate.lower == inf:  # the other requirements cannot be met
        return relaxed
    first = search(replace(problem, require=tuple(strict)), limit, seconds=until - time.perf_counter())
    best = _BestNode(inf, None, 0)
    if first.levels is not None:
        _score(problem, limit, first.levels, best)
    lower, scored = _improve(problem, relaxed_problem, limit, best, until)
    lower = max(lower, relaxed.certificate.lower)
    certificate = replace(
        first.certificate, loss=best.loss, lower=min(lower, best.loss), bounded=relaxed.certificate.bounded + scored,
        full=scored, ties=1, tied=() if best.levels is None else (best.levels,), seconds=time.perf_counter() - start,
    )  # fmt: skip
    return SearchResult(best.levels, best.suppressed, certificate)


def _improve(problem: Problem, relaxed: Problem, limit: int, best: _BestNode, until: float) -> tuple[float, int]:
    """Score nodes by rising bound; return the bound that is proved, and how many were scored."""
    nodes, rest = list_nodes(relaxed, limit, best.loss, until)
    for scored, (bound, levels) in enumerate(nodes):
        if bound >= best.loss:
            return min(best.loss, rest), scored
        if time.perf_counter() > until:
            return min(bound, rest), scored
        if not _score(problem, limit, levels, best):  # its loss may be its bound
            rest = min(rest, bound)
    return min(best.loss, rest), len(nodes)


def _score(problem: Problem, limit: int, levels: tuple[int, ...], best: _BestNode) -> bool:
    """Suppress failing classes, repeatedly because supersets shrink, and keep the node if it is better.

    Return whether the loss is proved to be the least of the node: if no class was suppressed for (n, t)-closeness.
    """
    codes = [tree.groups(level)[raw] for tree, level, raw in zip(problem.trees, levels, problem.codes, strict=True)]
    kept, proved = np.ones(problem.rows, dtype=bool), True
    while kept.any():
        at = np.flatnonzero(kept)
        if problem.rows - len(at) > limit:
            return proved
        classes = group([column[at] for column in codes], len(at))
        persons = None
        if problem.unit is not None:
            persons = count_values(classes, replace(problem.unit, codes=problem.unit.codes[at])).different
        wrong = np.zeros(len(classes), dtype=bool)
        for model in sorted(problem.require, key=lambda model: isinstance(model, NTCloseness)):
            if int(classes.sizes[wrong].sum()) + problem.rows - len(at) > limit:
                return proved
            counts = [
                count_values(classes, replace(column, codes=column.codes[at]), column)
                for column in problem.columns_of(model)
            ]
            fails = failing(model, classes, counts, persons) & ~wrong
            if fails.any() and limit and isinstance(model, NTCloseness):
                proved = False
            wrong |= fails
        if not wrong.any():
            break
        kept[at[wrong[classes.ids]]] = False
    suppressed = int((~kept).sum())
    if suppressed > limit:
        return proved
    losses = [
        (float(problem.costs(j, level)[column[kept]].sum()) + suppressed) / problem.rows
        for j, (level, column) in enumerate(zip(levels, codes, strict=True))
    ]
    loss = average(losses, problem.mean)
    if loss < best.loss:
        best.loss, best.levels, best.suppressed = loss, levels, suppressed
    return proved
