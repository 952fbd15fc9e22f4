"""`anonymize`: search for a recoding that meets the requirements with little loss, apply it, and check the result.

| method | recoding | suppression |
|---|---|---|
| "optimal" | one level for each column, proved to have the least loss | up to the given share of the rows |
| "local" | levels differ from class to class | no rows |
| "mondrian" | splits at medians; levels differ from class to class | no rows |
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import Literal, TypeAlias

import numpy as np

from tacit.anonymity.hierarchies import HierarchySource
from tacit.anonymity.loss import Mean, Objective, average, column_losses, measure
from tacit.anonymity.optimal import Certificate, SearchResult, search, search_supersets
from tacit.anonymity.outcome import Anonymized, Solution, publish, suppress_failing
from tacit.anonymity.privacy_models import Model, NTCloseness, describe, share_of
from tacit.anonymity.problem import Problem, failed_by_whole, require_possible, state_problem
from tacit.anonymity.recoding import RecodedTable, Recoding, level_recoding
from tacit.anonymity.roles import Roles, check_choice, column_names
from tacit.anonymity.tables import CodedTable, read
from tacit.arrays import Codes
from tacit.errors import InvalidError, bad_value

SearchMethod: TypeAlias = Literal["optimal", "mondrian", "local"]
METHODS: tuple[SearchMethod, ...] = ("optimal", "mondrian", "local")


def anonymize(  # noqa: PLR0913 - each has its own meaning
    table: object,
    *,
    quasi: Mapping[str, HierarchySource] | Sequence[str],
    require: Sequence[Model] | Model,
    sensitive: str | Sequence[str] = (),
    method: SearchMethod = "optimal",
    suppression: float = 0.0,
    objective: Objective = "loss",
    mean: Mean = "geometric",
    unit: str | None = None,
    keep: Sequence[str] = (),
    strict: bool = True,
    seconds: float | None = None,
    sep: str | None = None,
) -> Anonymized:
    """Return a table that meets every requirement, with as little loss as the method achieves.

    Only quasi-identifiers, sensitive columns and those in `keep` are published, in a random order, without suppressed
    rows. A missing value is a separate value. t is measured against all input rows.

    >>> import tacit as tc
    >>> out = anonymize({"age": [29, 22, 27, 43]}, quasi={"age": tc.anonymity.suppress()}, require=tc.KAnonymity(4))
    >>> out.levels, out.report.k, out.certificate.optimal
    ({'age': 1}, 4, True)

    Args:
        table: a frame, an Arrow table, columns by name, or the path of a CSV or Parquet file.
        quasi: a hierarchy for every quasi-identifier; for names alone, tacit drafts the hierarchies.
        require: the requirements on every class: `KAnonymity`, `LDiversity`, `TCloseness`, `NTCloseness`.
        sensitive: the columns that nobody may learn about a person.
        method: "optimal", "local" or "mondrian"; only "optimal" suppresses rows and proves its loss.
        suppression: for "optimal": the share of the rows that may be suppressed.
        objective: "loss", "ncp" or "precision".
        mean: how columns are averaged: "geometric" or "arithmetic".
        unit: the column of persons with several rows; k then counts persons. It is not published.
        keep: other columns to publish unchanged.
        strict: for "mondrian": whether equal values stay together.
        seconds: when to stop the search (by default never, or after 60 s for `NTCloseness`), with a gap if it stopped.
        sep: the separator of the cells of a CSV file.

    Raises:
        InvalidError: an argument is wrong, or the requirements cannot be met.
    """
    check_choice(method, METHODS, "method")
    rows = read(table, sep=sep)
    roles = Roles(_quasi_names(quasi), column_names(sensitive, "sensitive"), unit, column_names(keep, "keep"))
    problem = state_problem(rows, roles, quasi, require, objective, mean)
    return _solve(rows, roles, problem, method, suppression, _time_limit(seconds), strict=strict)


def _solve(
    rows: CodedTable, roles: Roles, problem: Problem, method: SearchMethod, suppression: float, seconds: float, *,
    strict: bool,
) -> Anonymized:  # fmt: skip
    limit = int(share_of(suppression, "suppression") * rows.rows)
    require_possible(problem, limit if method == "optimal" else 0)
    if method == "optimal":
        return _optimal(rows, roles, problem, limit, seconds)
    if method == "local":
        return _local(rows, roles, problem, seconds)
    return _mondrian(rows, roles, problem, strict=strict)


def _time_limit(seconds: object) -> float:
    if seconds is None:
        return inf
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise bad_value("seconds", seconds, "a number ≥ 0, or None to search to the end")
    return float(seconds)


def _quasi_names(quasi: object) -> tuple[str, ...]:
    if isinstance(quasi, str) or not isinstance(quasi, (Mapping, Sequence)) or not quasi:
        raise bad_value("quasi", quasi, "a hierarchy for each quasi-identifier, or their names")
    return tuple(quasi)


def _optimal(rows: CodedTable, roles: Roles, problem: Problem, limit: int, seconds: float) -> Anonymized:
    with _progress_bar("Searching the lattice") as progress:
        result = find_levels(problem, limit, seconds=seconds, progress=progress)
    if result.levels is None:
        result = _top_levels(problem, result, limit, seconds)
    return _publish_levels(rows, roles, problem, result, "optimal")


def _top_levels(problem: Problem, result: SearchResult, limit: int, seconds: float) -> SearchResult:
    """Return "*" everywhere, for a search that was stopped before it found an answer.

    Raises:
        InvalidError: the search ended without an answer, or "*" everywhere does not meet the requirements.
    """
    required = " and ".join(map(describe, problem.require))
    if result.certificate.lower == inf:
        raise InvalidError(
            f"{required} cannot be met with at most {limit:,} rows suppressed.",
            argument="require",
            hint="Allow more suppression, or require less.",
        )
    failed = failed_by_whole(problem)
    if failed and _has_supersets(problem) and seconds == inf:
        raise InvalidError(
            f"{required} was not met by suppressing all failing classes together.",
            argument="require",
            hint="Allow more suppression, or require less.",
        )
    if failed:
        raise InvalidError(
            f"The search stopped after {seconds:g} seconds, before it found an answer to {required} or excluded one.",
            argument="seconds",
            hint="Allow more time, or None to search to the end.",
        )
    tops = tuple(tree.height - 1 for tree in problem.trees)
    return SearchResult(tops, 0, replace(result.certificate, ties=1, tied=(tops,)))


def find_levels(
    problem: Problem, limit: int, *, seconds: float = inf, progress: Callable[[float], None] | None = None
) -> SearchResult:
    """Return the best levels, by the search that the requirements need."""
    if _has_supersets(problem):
        return search_supersets(problem, limit, seconds=seconds)
    return search(problem, limit, seconds=seconds, progress=progress)


def _has_supersets(problem: Problem) -> bool:
    return any(isinstance(model, NTCloseness) for model in problem.require)


def _publish_levels(
    rows: CodedTable, roles: Roles, problem: Problem, result: SearchResult, method: SearchMethod
) -> Anonymized:
    """Publish the levels of a search.

    Raises:
        InvalidError: the requirements are met only if every row is suppressed.
    """
    levels = result.levels or (0,) * len(problem.trees)
    recoding = level_recoding(problem.names, problem.trees, levels)
    codes = tuple(
        tree.groups(level)[raw] for tree, level, raw in zip(problem.trees, levels, problem.codes, strict=True)
    )
    recoded = RecodedTable(recoding.covers, codes, np.ones(rows.rows, dtype=bool))
    recoded = suppress_failing(rows, roles, recoded, problem.require)
    if not recoded.kept.any():
        raise InvalidError(
            f"{' and '.join(map(describe, problem.require))} is met only by a table without rows.",
            argument="require",
            hint="Require less.",
        )
    certificate, loss = result.certificate, solution_loss(problem, recoded)
    if certificate.loss == inf:
        certificate = replace(certificate, loss=loss, lower=min(certificate.lower, loss))
    names = dict(zip(problem.names, levels, strict=True))
    return _publish(rows, roles, problem, recoded, recoding, method, levels=names, certificate=certificate)


def _publish(
    rows: CodedTable, roles: Roles, problem: Problem, recoded: RecodedTable, recoding: Recoding, method: SearchMethod,
    *, levels: dict[str, int] | None = None, certificate: Certificate | None = None,
) -> Anonymized:  # fmt: skip
    solution = Solution(
        recoded=recoded, recoding=recoding, loss=solution_loss(problem, recoded), levels=levels,
        certificate=certificate, measures=measure(recoded, problem.codes), method=method,
    )  # fmt: skip
    return publish(rows, roles, problem.require, solution)


def solution_loss(problem: Problem, recoded: RecodedTable) -> float:
    """Return the loss of a recoded table, by the objective and the mean of a problem."""
    return average(column_losses(recoded, problem.objective), problem.mean)


def _mondrian(rows: CodedTable, roles: Roles, problem: Problem, *, strict: bool) -> Anonymized:
    if _has_supersets(problem):
        raise InvalidError(
            "(n, t)-closeness is not supported with mondrian, which checks one class at a time.",
            argument="require",
            hint='Use method="optimal".',
        )
    from tacit.anonymity.partitions import mondrian  # noqa: PLC0415 - numba is slow to import

    recoded, boxes = mondrian(problem, strict=strict)
    return _publish(rows, roles, problem, recoded, Recoding(recoded.covers, None, boxes), "mondrian")


def _local(rows: CodedTable, roles: Roles, problem: Problem, seconds: float) -> Anonymized:
    """Return the best of the local recodings and, if they do not apply, the optimal levels without suppression."""
    best = find_levels(problem, 0, seconds=seconds)
    candidate = _local_recoding(problem, best.levels)
    if candidate is not None:
        recoded, boxes = candidate
        return _publish(rows, roles, problem, recoded, Recoding(recoded.covers, None, boxes), "local")
    result = best if best.levels is not None else _top_levels(problem, best, 0, seconds)
    return _publish_levels(rows, roles, problem, result, "local")


def _local_recoding(problem: Problem, levels: tuple[int, ...] | None) -> tuple[RecodedTable, Codes] | None:
    """Return the better of the splits along hierarchies and the tightened classes of these levels.

    None if a requirement depends on more than one class: (n, t)-closeness may fail after a split that helps elsewhere.
    """
    if _has_supersets(problem):
        return None
    from tacit.anonymity.partitions import local, tighten  # noqa: PLC0415 - numba is slow to import

    candidates = [local(problem)] if levels is None else [tighten(problem, levels), local(problem)]
    return min(candidates, key=lambda candidate: solution_loss(problem, candidate[0]))


@contextmanager
def _progress_bar(title: str) -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - heavy
    from rich.progress import Progress  # noqa: PLC0415 - heavy

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda part: progress.update(task, completed=part)
