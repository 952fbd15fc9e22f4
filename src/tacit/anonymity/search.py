"""`anonymize`: search for a recoding that meets the requirements with little loss, apply it, and check the result.

| method | recoding | suppression |
|---|---|---|
| "optimal" | one level for each column, proved to have the least loss | up to the given share of the rows |
| "local" | levels differ from class to class | no rows |
| "mondrian" | splits at medians; levels differ from class to class | no rows |
| "best" | the least loss of those above that apply, see `best` | up to the given share of the rows |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Literal, TypeAlias

from tacit.anonymity.best import SECONDS, find_best
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
from tacit.anonymity.drafts import Drafts, draft_columns
from tacit.anonymity.hierarchies import HierarchySource
from tacit.anonymity.loss import Mean, Objective, measure
from tacit.anonymity.outcome import Anonymized, Solution, publish
from tacit.anonymity.privacy_models import Model, share_of
from tacit.anonymity.problem import Problem, require_possible, state_problem
from tacit.anonymity.roles import Roles, check_choice, column_names
from tacit.anonymity.tables import CodedTable, read
from tacit.errors import InvalidError, UnusedOptionError, bad_value

Method: TypeAlias = Literal["best", "optimal", "mondrian", "local"]
METHODS: tuple[SearchMethod, ...] = ("optimal", "mondrian", "local")


def anonymize(  # noqa: PLR0913 - each has its own meaning
    table: object,
    *,
    quasi: Mapping[str, HierarchySource] | Sequence[str],
    require: Sequence[Model] | Model,
    sensitive: str | Sequence[str] | None = None,
    method: Method | None = None,
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
        sensitive: the columns that nobody may learn about a person; None if there are no such columns.
        method: "optimal", "local" or "mondrian"; only "optimal" suppresses rows and proves its loss. "best" runs all
            that apply and returns the table of least loss; `out.method` names its search. "best" is the default for
            names alone, "optimal" for hierarchies.
        suppression: for "optimal" and "best": the share of the rows that may be suppressed.
        objective: "loss", "ncp" or "precision".
        mean: how columns are averaged: "geometric" or "arithmetic".
        unit: the column of persons with several rows; k then counts persons. It is not published.
        keep: other columns to publish unchanged.
        strict: for "mondrian" and "best": whether equal values stay together.
        seconds: when to stop the search, with a gap if it stopped: by default after 60 s for "best" and for
            `NTCloseness`, and never otherwise.
        sep: the separator of the cells of a CSV file.

    Raises:
        InvalidError: an argument is wrong, or the requirements cannot be met.
        UnusedOptionError: an argument has no effect with the method.
    """
    if method is None:
        method = "optimal" if isinstance(quasi, Mapping) else "best"
    check_choice(method, ("best", *METHODS), "method")
    _require_effect(method, suppression, seconds, strict=strict)
    rows = read(table, sep=sep)
    roles = Roles(_quasi_names(quasi), column_names(sensitive, "sensitive"), unit, column_names(keep, "keep"))
    rules = quasi if isinstance(quasi, Mapping) else draft_columns(map(rows.column, roles.quasi))
    problem = state_problem(rows, roles, rules, require, objective, mean)
    candidate, trials = _solve(rows, roles, problem, method, suppression, _time_limit(seconds), strict=strict)
    solution = Solution(
        recoded=candidate.recoded, recoding=candidate.recoding, loss=candidate.loss, levels=candidate.levels,
        certificate=candidate.certificate, measures=measure(candidate.recoded, problem.codes),
        method=candidate.method, trials=trials,
        drafted=rules.notes if isinstance(rules, Drafts) and rules is not quasi else {},
    )  # fmt: skip
    return publish(rows, roles, problem.require, solution)


def _require_effect(method: Method, suppression: float, seconds: float | None, *, strict: bool) -> None:
    """Check that every argument that is given has an effect with the method.

    Raises:
        UnusedOptionError: an argument has no effect.
    """
    unused = {
        "suppression": method in {"local", "mondrian"} and share_of(suppression, "suppression") > 0,
        "seconds": method == "mondrian" and seconds is not None,
        "strict": method in {"optimal", "local"} and strict is not True,
    }
    for argument in (name for name, has_no_effect in unused.items() if has_no_effect):
        raise UnusedOptionError(argument, f'with method="{method}"', hint='Remove it, or use method="best".')


def _solve(
    rows: CodedTable, roles: Roles, problem: Problem, method: Method, suppression: float, seconds: float | None, *,
    strict: bool,
) -> tuple[Candidate, tuple[Trial, ...]]:  # fmt: skip
    share = share_of(suppression, "suppression")
    limit = int(share * rows.rows)
    require_possible(problem, limit if method in {"best", "optimal"} else 0)
    if method == "best":
        time_limit = SECONDS if seconds is None else seconds
        return find_best(rows, roles, problem, limit, float(share), time_limit, strict=strict)
    until = inf if seconds is None else seconds
    if method == "optimal":
        candidate = _optimal(rows, roles, problem, limit, until)
    elif method == "local":
        candidate = _local(rows, roles, problem, until)
    else:
        candidate = _mondrian(problem, strict=strict)
    return candidate, ()


def _time_limit(seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise bad_value("seconds", seconds, "a number ≥ 0, or None to search to the end")
    return float(seconds)


def _quasi_names(quasi: object) -> tuple[str, ...]:
    if isinstance(quasi, str) or not isinstance(quasi, (Mapping, Sequence)) or not quasi:
        hint = "Name the columns by which others may know a person."
        raise bad_value("quasi", quasi, "a hierarchy for each quasi-identifier, or their names", hint=hint)
    return tuple(quasi)


def _optimal(rows: CodedTable, roles: Roles, problem: Problem, limit: int, seconds: float) -> Candidate:
    result = search_levels(problem, limit, seconds)
    if result.levels is None:
        result = top_levels(problem, result, limit, seconds)
    return level_candidate(rows, roles, problem, result)


def _mondrian(problem: Problem, *, strict: bool) -> Candidate:
    if has_supersets(problem):
        raise InvalidError(
            "(n, t)-closeness is not supported with mondrian, which checks one class at a time.",
            argument="require",
            hint='Use method="optimal".',
        )
    return mondrian_candidate(problem, strict=strict)


def _local(rows: CodedTable, roles: Roles, problem: Problem, seconds: float) -> Candidate:
    """Return the local recoding; with (n, t)-closeness the optimal levels without suppression."""
    result = search_levels(problem, 0, seconds)
    if not has_supersets(problem):
        return local_candidate(problem, result.levels)
    if result.levels is None:
        result = top_levels(problem, result, 0, seconds)
    return level_candidate(rows, roles, problem, result, "local")
