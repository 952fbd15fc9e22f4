"""`anonymize`: find a recoding that meets the requirements and loses little, apply it, and check what comes out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import Literal, TypeAlias

import numpy as np

from tacit.anonymity.classes import Classes, Spread, failing, group, spread
from tacit.anonymity.exact import fraction
from tacit.anonymity.hierarchies import Quasi
from tacit.anonymity.loss import averaged, column_losses, measure
from tacit.anonymity.models import KAnonymity, Model, NTCloseness, say
from tacit.anonymity.nt_search import search_supersets
from tacit.anonymity.optimal import Found
from tacit.anonymity.optimal import search as search_lattice
from tacit.anonymity.outcome import Anonymized, Roles, finish
from tacit.anonymity.problem import Mean, Objective, Problem, chosen
from tacit.anonymity.problem_checks import broken_whole, pose, require_possible
from tacit.anonymity.recoded import Published
from tacit.anonymity.recoding import Recoding, level_recoding
from tacit.anonymity.report import names_of
from tacit.anonymity.tables import Longs, Table, read
from tacit.errors import InvalidError, show

Method: TypeAlias = Literal["optimal", "mondrian", "local"]
METHODS: tuple[Method, ...] = ("optimal", "mondrian", "local")


def anonymize(  # noqa: PLR0913 - each has its own meaning
    table: object,
    *,
    quasi: Mapping[str, Quasi] | Sequence[str],
    require: Sequence[Model] | Model,
    sensitive: str | Sequence[str] = (),
    method: Method = "optimal",
    suppression: float = 0.0,
    objective: Objective = "loss",
    mean: Mean = "geometric",
    unit: str | None = None,
    keep: Sequence[str] = (),
    strict: bool = True,
    seconds: float | None = None,
    sep: str | None = None,
) -> Anonymized:
    """Return a table that meets every requirement and loses as little as the method can make it.

    Only quasi-identifiers, sensitive columns and those in `keep` are published, in a random order. A row that is
    suppressed is left out. A missing value is a value of its own. t is measured against all rows that came in.

    >>> import tacit as tc
    >>> rows = {"zip": ["47677", "47602", "47678", "47905", "47909", "47906"], "age": [29, 22, 27, 43, 52, 47]}
    >>> hierarchies = {"zip": tc.anonymity.mask(5), "age": tc.anonymity.intervals([10, 20, 40])}
    >>> out = anonymize(rows, quasi=hierarchies, require=tc.KAnonymity(3))
    >>> out.levels, out.report.k, out.certificate.optimal
    ({'zip': 2, 'age': 2}, 3, True)

    Args:
        table: a frame, an Arrow table, columns by name, or the path of a CSV or Parquet file.
        quasi: a hierarchy for every quasi-identifier; where only names are given, hierarchies are drafted.
        require: what every class must be: `KAnonymity`, `LDiversity`, `TCloseness`, `NTCloseness`.
        sensitive: the columns that nobody may learn of a person.
        method: "optimal" (one level a column, proved best), "local" (levels differ from class to class, nothing
            suppressed) or "mondrian" (splits at medians, nothing suppressed).
        suppression: which part of the rows may be left out; "optimal" alone uses it.
        objective: "loss", "ncp" or "precision".
        mean: how columns are averaged: "geometric" or "arithmetic".
        unit: the column that names a person who may have several rows; k then counts persons. It is not published.
        keep: other columns to publish as they are.
        strict: of "mondrian": whether equal values stay together.
        seconds: when to stop the optimal search; the certificate then says how much better an answer might be. With
            (n, t)-closeness a search is stopped after a minute where nothing is given.
        sep: what separates the cells of a CSV file.

    Raises:
        InvalidError: an argument is wrong, or the requirements cannot be met; it says which and what they would need.
    """
    chosen(method, METHODS, "method")
    rows = read(table, sep=sep)
    roles = Roles(_names(quasi), names_of(sensitive, "sensitive"), unit, names_of(keep, "keep"))
    problem = pose(rows, roles, quasi, require, objective, mean)
    share = fraction(suppression, "suppression", "a number from 0 to 1")
    if not 0 <= share <= 1:
        raise InvalidError("suppression", show(suppression), "a number from 0 to 1")
    limit, patience = int(share * rows.rows), _patience(seconds)
    require_possible(problem, limit if method == "optimal" else 0)
    if method == "optimal":
        return _optimal(rows, roles, problem, limit, patience)
    return _partitioned(rows, roles, problem, method, strict=strict, seconds=patience)


def _patience(seconds: object) -> float:
    if seconds is None:
        return inf
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise InvalidError("seconds", show(seconds), "a number ≥ 0, or None to search to the end")
    return float(seconds)


def _names(quasi: object) -> tuple[str, ...]:
    if isinstance(quasi, str) or not isinstance(quasi, (Mapping, Sequence)) or not quasi:
        raise InvalidError("quasi", show(quasi), "a hierarchy for each quasi-identifier, or their names")
    return tuple(quasi)


def suppress_failing(rows: Table, roles: Roles, out: Published, require: tuple[Model, ...]) -> Published:
    """Return a recoded table without the classes that fail a requirement, t measured against all rows.

    Natural supersets shrink when classes go, so this repeats until nothing fails.
    """
    kept = out.kept.copy()
    while True:
        at = np.flatnonzero(kept)
        classes = group([codes[at] for codes in out.codes], len(at))
        wrong = np.zeros(len(classes), dtype=bool)
        unit = None if roles.unit is None else _part(rows, roles.unit, at, classes).different
        spreads = {name: _part(rows, name, at, classes) for name in roles.sensitive}
        for model in require:
            named = None if isinstance(model, KAnonymity) else model.column
            told = [one for name, one in spreads.items() if named in {None, name}]
            wrong |= failing(model, classes, told, unit)
        if not wrong.any():
            return replace(out, kept=kept)
        kept[at[wrong[classes.ids]]] = False
        if not any(isinstance(model, NTCloseness) for model in require):
            return replace(out, kept=kept)


def _part(rows: Table, name: str, at: Longs, classes: Classes) -> Spread:
    column = rows.column(name)
    return spread(classes, replace(column, codes=column.codes[at]), column)


def _optimal(rows: Table, roles: Roles, problem: Problem, limit: int, seconds: float) -> Anonymized:
    with _bar("Searching the lattice") as progress:
        found = find(problem, limit, seconds=seconds, progress=progress)
    if found.levels is None:
        found = _stopped(problem, found, limit, seconds)
    return _at_levels(rows, roles, problem, found, "optimal")


def _stopped(problem: Problem, found: Found, limit: int, seconds: float) -> Found:
    """Return "*" everywhere where a search was stopped before it met any answer.

    Raises:
        InvalidError: the search was not stopped, so there is no answer; or "*" everywhere is none either.
    """
    got = " and ".join(map(say, problem.require))
    if found.certificate.lower == inf:
        want = f"met with at most {limit} rows suppressed; allow more suppression, or ask for less"
        raise InvalidError("require", got, want)
    if broken_whole(problem) and any(isinstance(model, NTCloseness) for model in problem.require) and seconds == inf:
        want = "met where all classes that fail are suppressed together; allow more suppression, or ask for less"
        raise InvalidError("require", got, want)
    if broken_whole(problem):
        over = f"{seconds:g}, which was over before an answer to {got} was found or excluded"
        raise InvalidError("seconds", over, "longer, or None to search to the end")
    tops = tuple(tree.height - 1 for tree in problem.trees)
    return Found(tops, 0, replace(found.certificate, ties=1, tied=(tops,)))


def find(
    problem: Problem, limit: int, *, seconds: float = inf, progress: Callable[[float], None] | None = None
) -> Found:
    """Return the best levels; (n, t)-closeness, which looks beyond a class, is searched for on top of the rest."""
    if any(isinstance(model, NTCloseness) for model in problem.require):
        return search_supersets(problem, limit, seconds=seconds)
    return search_lattice(problem, limit, seconds=seconds, progress=progress)


def _at_levels(rows: Table, roles: Roles, problem: Problem, found: Found, method: str) -> Anonymized:
    """Publish the levels that were found.

    Raises:
        InvalidError: only by leaving out every row would they meet the requirements.
    """
    levels = found.levels or (0,) * len(problem.trees)
    recoding = level_recoding(problem.names, problem.trees, levels)
    codes = tuple(
        tree.groups(level)[raw] for tree, level, raw in zip(problem.trees, levels, problem.codes, strict=True)
    )
    out = suppress_failing(
        rows, roles, Published(recoding.covers, codes, np.ones(rows.rows, dtype=bool)), problem.require
    )
    if not out.kept.any():
        got = f"{' and '.join(map(say, problem.require))}, which only a table without rows meets"
        raise InvalidError("require", got, "one with which some rows can be published; ask for less")
    loss = _loss(problem, out)
    known = found.certificate
    certificate = replace(known, loss=loss, lower=min(known.lower, loss)) if known.loss == inf else known
    return finish(
        rows, roles, out, recoding, problem.require, loss=loss,
        levels=dict(zip(problem.names, levels, strict=True)), certificate=certificate,
        measures=measure(out, problem.codes), method=method,
    )  # fmt: skip


def _loss(problem: Problem, out: Published) -> float:
    return averaged(column_losses(out, problem.objective), problem.mean)


def _partitioned(
    rows: Table, roles: Roles, problem: Problem, method: str, *, strict: bool, seconds: float
) -> Anonymized:
    if any(isinstance(model, NTCloseness) for model in problem.require) and method == "mondrian":
        raise InvalidError(
            "require", "(n, t)-closeness with mondrian", 'one that looks at classes alone; or method="optimal"'
        )
    from tacit.anonymity.partitions import local, mondrian  # noqa: PLC0415 - compiled on first use

    if method == "mondrian":
        out, boxes = mondrian(problem, strict=strict)
    else:
        best = find(problem, 0, seconds=seconds)
        if any(isinstance(model, NTCloseness) for model in problem.require):
            return _local_fallback(rows, roles, problem, best, seconds)
        out, boxes = local(problem)
        if _loss(problem, out) > best.certificate.loss:
            return _local_fallback(rows, roles, problem, best, seconds)
    recoding = Recoding(out.covers, None, boxes)
    return finish(
        rows, roles, out, recoding, problem.require, loss=_loss(problem, out), levels=None, certificate=None,
        measures=measure(out, problem.codes), method=method,
    )  # fmt: skip


def _local_fallback(rows: Table, roles: Roles, problem: Problem, best: Found, seconds: float) -> Anonymized:
    """Return the optimal answer without suppression, where nothing local is better."""
    found = best if best.levels is not None else _stopped(problem, best, 0, seconds)
    return _at_levels(rows, roles, problem, found, "local")


@contextmanager
def _bar(words: str) -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar on a terminal, once the work has taken a moment."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - heavy
    from rich.progress import Progress  # noqa: PLC0415 - heavy

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(words, total=1.0)
        yield lambda part: progress.update(task, completed=part)
