"""The recodings that the searches find, and their losses: by optimal levels, by local recoding and by Mondrian."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Literal, TypeAlias

import numpy as np

from tacit.anonymity.loss import average, column_losses
from tacit.anonymity.optimal import Certificate, SearchResult, search, search_supersets
from tacit.anonymity.outcome import suppress_failing
from tacit.anonymity.privacy_models import NTCloseness, describe
from tacit.anonymity.problem import Problem, failed_by_whole
from tacit.anonymity.progress import Advance, progress_bar
from tacit.anonymity.recoding import RecodedTable, Recoding, level_recoding
from tacit.anonymity.roles import Roles
from tacit.anonymity.tables import CodedTable
from tacit.errors import InvalidError

SearchMethod: TypeAlias = Literal["optimal", "mondrian", "local"]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A recoded table that meets the requirements, its recoding and its loss; levels and certificate if it has them."""

    method: SearchMethod
    recoded: RecodedTable
    recoding: Recoding
    loss: float
    levels: dict[str, int] | None = None
    certificate: Certificate | None = None

    @property
    def suppressed(self) -> int:
        """The number of suppressed rows."""
        return int((~self.recoded.kept).sum())


def solution_loss(problem: Problem, recoded: RecodedTable) -> float:
    """Return the loss of a recoded table, by the objective and the mean of a problem."""
    return average(column_losses(recoded, problem.objective), problem.mean)


def has_supersets(problem: Problem) -> bool:
    """Return whether a requirement depends on more than one class, so that only "optimal" applies."""
    return any(isinstance(model, NTCloseness) for model in problem.require)


def find_levels(problem: Problem, limit: int, *, seconds: float = inf, progress: Advance | None = None) -> SearchResult:
    """Return the best levels, by the search that the requirements need."""
    if has_supersets(problem):
        return search_supersets(problem, limit, seconds=seconds)
    return search(problem, limit, seconds=seconds, progress=progress)


def search_levels(problem: Problem, limit: int, seconds: float) -> SearchResult:
    """Return the best levels, and show a progress bar."""
    with progress_bar("Searching the lattice", measured=not has_supersets(problem)) as progress:
        return find_levels(problem, limit, seconds=seconds, progress=progress)


def top_levels(problem: Problem, result: SearchResult, limit: int, seconds: float) -> SearchResult:
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
    if failed and has_supersets(problem) and seconds == inf:
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


def level_candidate(
    rows: CodedTable, roles: Roles, problem: Problem, result: SearchResult, method: SearchMethod = "optimal"
) -> Candidate:
    """Return the recoding by the levels of a search, without the classes that fail.

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
    return Candidate(method, recoded, recoding, loss, names, certificate)


def local_candidate(problem: Problem, levels: tuple[int, ...] | None) -> Candidate:
    """Return the better of the splits along hierarchies and the tightened classes of these levels.

    The levels must meet the requirements without suppression. `has_supersets` must be false: a split changes the
    supersets of other classes too.
    """
    from tacit.anonymity.partitions import local, tighten  # noqa: PLC0415 - numba is slow to import

    with progress_bar("Recoding by local", measured=False):
        tables = [local(problem)] if levels is None else [tighten(problem, levels), local(problem)]
    recoded, boxes = min(tables, key=lambda table: solution_loss(problem, table[0]))
    return Candidate("local", recoded, Recoding(recoded.covers, None, boxes), solution_loss(problem, recoded))


def mondrian_candidate(problem: Problem, *, strict: bool) -> Candidate:
    """Return the recoding by splits at medians."""
    from tacit.anonymity.partitions import mondrian  # noqa: PLC0415 - numba is slow to import

    with progress_bar("Recoding by mondrian", measured=False):
        recoded, boxes = mondrian(problem, strict=strict)
    return Candidate("mondrian", recoded, Recoding(recoded.covers, None, boxes), solution_loss(problem, recoded))
