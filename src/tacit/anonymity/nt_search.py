"""The optimal search with (n, t)-closeness, which looks beyond a class.

t-closeness to the whole table implies (n, t)-closeness where n rows are kept: that search gives a first node to score.
What a node loses without (n, t)-closeness is a lower bound of its loss, for with it only more rows are suppressed. So
all nodes whose bound is below the first one's loss are listed, by the compiled walk, and scored by rising bound until
none can be better or the time is over.

A node is scored by leaving out all classes that fail, together, again and again. To leave out some of them alone may
mend others, so where a class goes for (n, t)-closeness, what the node loses at least is its bound and not its score.
The certificate says no more than that: its `lower` is then below the loss, unless nothing may be suppressed.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf

import numpy as np

from tacit.anonymity.classes import failing, group, spread
from tacit.anonymity.loss import averaged
from tacit.anonymity.models import KAnonymity, Model, NTCloseness, TCloseness
from tacit.anonymity.optimal import Found, listing
from tacit.anonymity.optimal import search as search_lattice
from tacit.anonymity.problem import Problem

_PATIENCE = 60.0


def search_supersets(problem: Problem, limit: int, *, seconds: float = inf) -> Found:
    """Return the best node that was found within the time (a minute where none is given), with its certificate."""
    began = time.perf_counter()
    until = began + (_PATIENCE if seconds == inf else seconds)
    close: list[Model] = []
    loose: list[Model] = []
    for model in problem.require:
        if isinstance(model, NTCloseness):
            if model.n <= problem.rows:
                close.append(TCloseness(model.t, model.distance, model.hierarchy, model.column))
        else:
            loose.append(model)
            close.append(model)
    eased = replace(problem, require=tuple(loose) or (KAnonymity(1),))
    easy = search_lattice(eased, limit, seconds=until - time.perf_counter())
    if easy.certificate.lower == inf:  # not even without supersets
        return easy
    first = search_lattice(replace(problem, require=tuple(close)), limit, seconds=until - time.perf_counter())
    best = _Best(inf, None, 0)
    if first.levels is not None:
        _score(problem, limit, first.levels, best)
    lower, scored = _improve(problem, eased, limit, best, until)
    lower = max(lower, easy.certificate.lower)
    certificate = replace(
        first.certificate, loss=best.loss, lower=min(lower, best.loss), bounded=easy.certificate.bounded + scored,
        full=scored, ties=1, tied=() if best.levels is None else (best.levels,), seconds=time.perf_counter() - began,
    )  # fmt: skip
    return Found(best.levels, best.suppressed, certificate)


class _Best:
    def __init__(self, loss: float, levels: tuple[int, ...] | None, suppressed: int) -> None:
        self.loss, self.levels, self.suppressed = loss, levels, suppressed


def _improve(problem: Problem, eased: Problem, limit: int, best: _Best, until: float) -> tuple[float, int]:
    """Score nodes by rising bound; return the bound that is proved, and how many were scored."""
    nodes, rest = listing(eased, limit, best.loss, until)
    for scored, (bound, levels) in enumerate(nodes):
        if bound >= best.loss:
            return min(best.loss, rest), scored
        if time.perf_counter() > until:
            return min(bound, rest), scored
        if not _score(problem, limit, levels, best):  # it may be as good as its bound
            rest = min(rest, bound)
    return min(best.loss, rest), len(nodes)


def _score(problem: Problem, limit: int, levels: tuple[int, ...], best: _Best) -> bool:
    """Suppress what fails, again and again since supersets shrink, and keep the node if it is better.

    Return whether that is proved to be the least that the node loses: where nothing went for (n, t)-closeness.
    """
    codes = [tree.groups(level)[raw] for tree, level, raw in zip(problem.trees, levels, problem.codes, strict=True)]
    kept, proved = np.ones(problem.rows, dtype=bool), True
    while kept.any():
        at = np.flatnonzero(kept)
        if problem.rows - len(at) > limit:
            return proved
        classes = group([one[at] for one in codes], len(at))
        unit = None
        if problem.unit is not None:
            unit = spread(classes, replace(problem.unit, codes=problem.unit.codes[at])).different
        wrong = np.zeros(len(classes), dtype=bool)
        for model in sorted(problem.require, key=lambda one: isinstance(one, NTCloseness)):
            if int(classes.sizes[wrong].sum()) + problem.rows - len(at) > limit:
                return proved
            told = [
                spread(classes, replace(column, codes=column.codes[at]), column) for column in problem.speaks_of(model)
            ]
            fails = failing(model, classes, told, unit) & ~wrong
            if fails.any() and limit and isinstance(model, NTCloseness):
                proved = False
            wrong |= fails
        if not wrong.any():
            break
        kept[at[wrong[classes.ids]]] = False
    gone = int((~kept).sum())
    if gone > limit:
        return proved
    values = [
        (float(problem.costs(j, level)[one[kept]].sum()) + gone) / problem.rows
        for j, (level, one) in enumerate(zip(levels, codes, strict=True))
    ]
    loss = averaged(values, problem.mean)
    if loss < best.loss:
        best.loss, best.levels, best.suppressed = loss, levels, gone
    return proved
