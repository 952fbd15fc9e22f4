"""The problem that a call of `anonymize` states: its arguments checked, and whether any answer is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from tacit.anonymity.classes import failing, group, spread
from tacit.anonymity.drafts import draft_column
from tacit.anonymity.hierarchies import Hierarchy, rule
from tacit.anonymity.models import KAnonymity, LDiversity, Model, NTCloseness, models_of, say
from tacit.anonymity.outcome import Roles
from tacit.anonymity.problem import MEANS, OBJECTIVES, Mean, Objective, Problem, chosen
from tacit.anonymity.recoding import raw_codes
from tacit.anonymity.report import roles as check_roles
from tacit.anonymity.tables import Table
from tacit.errors import InvalidError, show


def pose(
    rows: Table, roles: Roles, quasi: object, require: Sequence[Model] | Model, objective: str, mean: str
) -> Problem:
    """Return the problem that a call states.

    Raises:
        InvalidError: an argument is wrong.
    """
    check_roles(rows, roles.quasi, roles.sensitive, roles.unit)
    for name in roles.keep:
        if name not in rows.names or name in {*roles.quasi, *roles.sensitive, roles.unit}:
            raise InvalidError("keep", repr(name), "other columns of the table")
    models = models_of(require)
    for model in models:
        named = None if isinstance(model, KAnonymity) else model.column
        if not isinstance(model, KAnonymity) and (not roles.sensitive or named not in {None, *roles.sensitive}):
            raise InvalidError(
                "require", f"{say(model)} without that column in sensitive", "one of the sensitive columns"
            )
    trees = tuple(_tree(rows, name, quasi) for name in roles.quasi)
    codes = tuple(raw_codes(tree, rows, name) for tree, name in zip(trees, roles.quasi, strict=True))
    return Problem(
        roles.quasi,
        trees,
        codes,
        rows.rows,
        models,
        tuple(rows.column(name) for name in roles.sensitive),
        None if roles.unit is None else rows.column(roles.unit),
        cast("Objective", chosen(objective, OBJECTIVES, "objective")),
        cast("Mean", chosen(mean, MEANS, "mean")),
    )


def _tree(rows: Table, name: str, quasi: object) -> Hierarchy:
    column = rows.column(name)
    if not isinstance(quasi, Mapping):
        return draft_column(column).over(column.texts, name)
    given = quasi[name]
    if not (hasattr(given, "over") or isinstance(given, (str, Path, Sequence))):
        raise InvalidError(
            f"the hierarchy of {name}", show(given), "a rule such as mask(5), rows of labels, or a file of them"
        )
    return rule(given).over(column.texts, name)


def require_possible(problem: Problem, limit: int) -> None:
    """Check that the whole table as one class meets the requirements, for then "*" everywhere does.

    Every requirement holds of a union of classes that meet it, so where the whole fails, not all rows can be published.
    Leaving some out can mend entropy and recursive diversity, but neither k nor distinct values nor n of supersets:
    then no row at all could be published.
    """
    if problem.rows == 0:
        raise InvalidError("the table", "no row", "at least one row")
    for model in broken_whole(problem):
        if not limit or not isinstance(model, LDiversity) or model.kind == "distinct":
            raise InvalidError(
                "require", f"{say(model)}, which the whole table as one class fails", _needs(model, problem)
            )


def broken_whole(problem: Problem) -> list[Model]:
    """Return the requirements that the whole table as one class fails."""
    whole = group([], problem.rows)
    unit = None if problem.unit is None else spread(whole, problem.unit).different
    return [
        model
        for model in problem.require
        if failing(model, whole, [spread(whole, column) for column in problem.speaks_of(model)], unit).any()
    ]


def _needs(model: Model, problem: Problem) -> str:
    if isinstance(model, KAnonymity):
        many = problem.rows if problem.unit is None else len(problem.unit.texts)
        return f"at most {many}-anonymity, for the table has so many {'rows' if problem.unit is None else 'persons'}"
    if isinstance(model, NTCloseness):
        return f"one with n at most {problem.rows}, for the table has so many rows"
    least = min((len(column.texts) for column in problem.speaks_of(model)), default=0)
    return f"one that the table itself meets: its sensitive column has {least} different values"
