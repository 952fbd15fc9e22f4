"""`method="best"`: run the searches that apply within a time limit, and compare their losses.

Mondrian runs first. The optimal search gets half of the time that is left. The local recoding is last, because it also
tries the classes of the optimal levels. If no row may be suppressed, one more search states what a little suppression
would save; its answer is never published.

The limit is checked before each search, and inside the optimal one. So it is exceeded by at most one Mondrian or local
recoding, and by the first steps of the optimal search.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tacit.anonymity.candidates import (
    Candidate,
    SearchMethod,
    has_supersets,
    level_candidate,
    local_candidate,
    mondrian_candidate,
    search_levels,
    top_levels,
)
from tacit.anonymity.comparison import Trial
from tacit.anonymity.problem import Problem, failed_by_whole
from tacit.anonymity.roles import Roles
from tacit.anonymity.tables import CodedTable
from tacit.errors import InvalidError

SECONDS = 60.0
_TRIED = 0.04
_SAME = 1e-9
_ORDER: tuple[SearchMethod, ...] = ("local", "mondrian", "optimal")  # at equal loss the finest labels win


class _Race:
    """The searches so far, their answers, and the time that is left."""

    def __init__(self, seconds: float) -> None:
        self.end = time.perf_counter() + seconds
        self.candidates: list[Candidate] = []
        self.trials: list[Trial] = []

    @property
    def left(self) -> float:
        return max(0.0, self.end - time.perf_counter())

    def run(self, method: SearchMethod, action: Callable[[], Candidate | None], suppression: float = 0.0) -> None:
        """Run a search if there is time, and record its answer."""
        if self.candidates and not self.left:
            self.trials.append(Trial(method, None, suppression, note="not tried: the time was over"))
            return
        start = time.perf_counter()
        candidate = action()
        seconds = time.perf_counter() - start
        if candidate is None:
            self.trials.append(Trial(method, None, suppression, seconds=seconds, note="no answer within the time"))
            return
        self.candidates.append(candidate)
        self.trials.append(Trial(method, candidate.loss, suppression, candidate.suppressed, seconds))


def find_best(
    rows: CodedTable, roles: Roles, problem: Problem, limit: int, share: float, seconds: float, *, strict: bool
) -> tuple[Candidate, tuple[Trial, ...]]:
    """Return the candidate of least loss, and all searches.

    Args:
        rows: the table.
        roles: of its columns.
        problem: what the search must solve.
        limit: the number of rows that may be suppressed.
        share: the same as a share of all rows.
        seconds: the time limit.
        strict: for Mondrian.

    Raises:
        InvalidError: no search has an answer.
    """
    race = _Race(seconds)
    by_class = not has_supersets(problem) and not failed_by_whole(problem)
    if by_class:
        race.run("mondrian", lambda: mondrian_candidate(problem, strict=strict))
    race.run("optimal", lambda: _optimal(rows, roles, problem, limit, race), share)
    if by_class:
        race.run("local", lambda: local_candidate(problem, _levels(race)))
    chosen = min(race.candidates, key=lambda one: (round(one.loss / _SAME), _ORDER.index(one.method)))
    hint = None if limit or has_supersets(problem) else _with_suppression(rows, roles, problem, race)
    return chosen, (*race.trials, *(() if hint is None else (hint,)))


def _optimal(rows: CodedTable, roles: Roles, problem: Problem, limit: int, race: _Race) -> Candidate | None:
    """Return the optimal levels; None if there is no answer yet and another search has one."""
    seconds = race.left / 2 if race.candidates else race.left
    result = search_levels(problem, limit, seconds)
    if result.levels is None:
        if race.candidates:
            return None
        result = top_levels(problem, result, limit, seconds)
    return level_candidate(rows, roles, problem, result)


def _levels(race: _Race) -> tuple[int, ...] | None:
    """Return the optimal levels, if they meet the requirements without suppression."""
    levels = next((one.levels for one in race.candidates if one.method == "optimal" and not one.suppressed), None)
    return None if levels is None else tuple(levels.values())


def _with_suppression(rows: CodedTable, roles: Roles, problem: Problem, race: _Race) -> Trial | None:
    """Return what the optimal search loses if it may suppress a little; None if there is no time for it."""
    limit = int(_TRIED * rows.rows)
    if not limit or not race.left:
        return None
    start = time.perf_counter()
    result = search_levels(problem, limit, race.left)
    if result.levels is None:
        return None
    try:
        candidate = level_candidate(rows, roles, problem, result)
    except InvalidError:  # every row would be suppressed
        return None
    seconds = time.perf_counter() - start
    return Trial("optimal", candidate.loss, _TRIED, candidate.suppressed, seconds, "suppression is not allowed")
