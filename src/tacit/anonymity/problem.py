"""The problem that a search solves: coded rows, hierarchies and requirements, checked before a search starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from tacit.anonymity.classes import count_values, failing, group
from tacit.anonymity.hierarchies import Hierarchy, HierarchySource, to_rule
from tacit.anonymity.loss import MEANS, OBJECTIVES, Mean, Objective, loss_costs, ncp_costs
from tacit.anonymity.privacy_models import (
    KAnonymity,
    LDiversity,
    Model,
    NTCloseness,
    column_of,
    describe,
    models_of,
)
from tacit.anonymity.recoding import raw_codes
from tacit.anonymity.roles import Roles, check_choice, check_roles
from tacit.anonymity.tables import CodedColumn, CodedTable
from tacit.arrays import Codes, Floats
from tacit.errors import InvalidError, bad_value


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A table to be recoded: row i has the raw value codes[j][i] of the hierarchy trees[j]."""

    names: tuple[str, ...]
    trees: tuple[Hierarchy, ...]
    codes: tuple[Codes, ...]
    rows: int
    require: tuple[Model, ...]
    sensitive: tuple[CodedColumn, ...]
    unit: CodedColumn | None
    objective: Objective
    mean: Mean

    def costs(self, j: int, level: int) -> Floats:
        """Return the cost of each group of a level of column j, from 0 (one raw value) to 1 (all values)."""
        tree = self.trees[j]
        if self.objective == "precision":
            return np.full(len(tree.labels(level)), level / max(1, tree.height - 1))
        if self.objective == "ncp":
            return ncp_costs(tree, level)
        return loss_costs(tree.shares(level), len(tree.rows))

    @property
    def k(self) -> int:
        """The largest k required of rows; 1 if persons are counted instead."""
        return 1 if self.unit else max((model.k for model in self.require if isinstance(model, KAnonymity)), default=1)

    def columns_of(self, model: Model) -> tuple[CodedColumn, ...]:
        """Return the sensitive columns of a requirement."""
        return tuple(column for column in self.sensitive if column_of(model) in {None, column.name})


def state_problem(
    rows: CodedTable,
    roles: Roles,
    quasi: Mapping[str, HierarchySource],
    require: Sequence[Model] | Model,
    objective: str,
    mean: str,
) -> Problem:
    """Return the problem that a call of `anonymize` states.

    Raises:
        InvalidError: an argument is wrong.
    """
    check_roles(rows, roles.quasi, roles.sensitive, roles.unit)
    for name in roles.keep:
        if name not in rows.names or name in {*roles.quasi, *roles.sensitive, roles.unit}:
            raise InvalidError(
                f"keep names {name!r}, which is not another column of the table.",
                argument="keep",
                hint="Name columns without another role.",
            )
    models = models_of(require)
    for model in models:
        named = column_of(model)
        if not isinstance(model, KAnonymity) and (not roles.sensitive or named not in {None, *roles.sensitive}):
            problem = "needs a sensitive column" if named is None else f"is about {named!r}, which is not sensitive"
            raise InvalidError(
                f"{describe(model)} {problem}.", argument="require", hint="Name the column in sensitive=."
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
        cast("Objective", check_choice(objective, OBJECTIVES, "objective")),
        cast("Mean", check_choice(mean, MEANS, "mean")),
    )


def _tree(rows: CodedTable, name: str, quasi: Mapping[str, object]) -> Hierarchy:
    column = rows.column(name)
    source = quasi[name]
    if not (hasattr(source, "over") or isinstance(source, (str, Path, Sequence))):
        raise bad_value(f"the hierarchy of {name}", source, "a rule such as mask(5), rows of labels, or a file of them")
    return to_rule(source).over(column.texts, name)


def require_possible(problem: Problem, limit: int) -> None:
    """Check that the whole table as one class meets the requirements, because then "*" everywhere meets them.

    Every requirement holds for a union of classes that meet it. So if the whole table fails, not all rows can be
    published. Suppressing rows can repair entropy and recursive diversity, but not k, distinct values or the n of
    supersets: then no row could be published.

    Raises:
        InvalidError: the table is empty, or no recoding meets a requirement.
    """
    if problem.rows == 0:
        raise InvalidError("The table has no rows.", argument="the table")
    for model in failed_by_whole(problem):
        if not limit or not isinstance(model, LDiversity) or model.kind == "distinct":
            raise InvalidError(
                f"The whole table as one class fails {describe(model)}, so no recoding can meet it.",
                argument="require",
                hint=_possible(model, problem),
            )


def failed_by_whole(problem: Problem) -> list[Model]:
    """Return the requirements that the whole table as one class fails."""
    whole = group([], problem.rows)
    persons = None if problem.unit is None else count_values(whole, problem.unit).different
    return [
        model
        for model in problem.require
        if failing(model, whole, [count_values(whole, column) for column in problem.columns_of(model)], persons).any()
    ]


def _possible(model: Model, problem: Problem) -> str:
    """Return a hint with the strongest requirement that the table could meet."""
    if isinstance(model, KAnonymity):
        if problem.unit is None:
            return f"The table has {problem.rows:,} rows; require at most {problem.rows}-anonymity."
        many = len(problem.unit.texts)
        return f"The table has {many:,} persons; require at most {many}-anonymity."
    if isinstance(model, NTCloseness):
        return f"The table has {problem.rows:,} rows; require n of at most {problem.rows}."
    least = min((len(column.texts) for column in problem.columns_of(model)), default=0)
    return f"The sensitive column has {least} different values; require less."
