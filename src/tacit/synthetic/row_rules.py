"""Conditions that synthetic rows must satisfy, in SQL; they are evaluated on the released rows only.

A row satisfies a condition if it is true; NULL is not enough. Rows that do not satisfy all conditions are dropped and
others are drawn, for a bounded number of draws. If no combination of public values satisfies the conditions, and all
can be listed, the conditions are refused before the charge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np

from tacit.arrays import Bools
from tacit.errors import InvalidError, bad_value, show, show_name
from tacit.query.evaluate import evaluator
from tacit.query.expressions import Column, Expression, Value, walk
from tacit.safe_text import hidden, visible
from tacit.session import Session
from tacit.synthetic.row_filter import rows_of
from tacit.synthetic.row_values import ColumnValues

_MOST_VALUES, _MOST_ROWS = 20_000, 200_000
Test: TypeAlias = Callable[[Sequence[Value]], Value]


@dataclass(frozen=True, slots=True)
class RowRules:
    """Conditions on some columns of synthetic rows."""

    texts: tuple[str, ...]
    places: tuple[int, ...]
    """The columns that the conditions read."""
    tests: tuple[tuple[Test, tuple[int, ...]], ...]
    """Each condition, with the places of its values in `places`."""

    def satisfied(self, columns: Sequence[Sequence[Value]]) -> Bools:
        """Return which rows satisfy all conditions; equal combinations of values are tested once."""
        known: dict[tuple[Value, ...], bool] = {}
        result = []
        for row in zip(*(columns[place] for place in self.places), strict=True):
            if row not in known:
                known[row] = self._is_satisfied(row)
            result.append(known[row])
        return np.array(result, dtype=np.bool_)

    def _is_satisfied(self, row: Sequence[Value]) -> bool:
        return all(test([row[place] for place in places]) is True for test, places in self.tests)

    def is_impossible(self, values: Sequence[ColumnValues], given: Mapping[int, Value]) -> bool:
        """Return whether no row can satisfy all conditions; False if the combinations are too many to list."""
        lists: list[Sequence[Value]] = []
        for place in self.places:
            some = [given[place]] if place in given else values[place].possible(_MOST_VALUES)
            if some is None:
                return False
            lists.append(some)
        if prod(map(len, lists)) > _MOST_ROWS:
            return False
        return not any(self._is_satisfied(row) for row in product(*lists))


def read_rules(
    session: Session, constraints: str | Sequence[str] | None, table: str | None, values: Sequence[ColumnValues]
) -> RowRules | None:
    """Return the conditions, or raise InvalidError; they are checked as a WHERE is."""
    if constraints is None:
        return None
    if not isinstance(constraints, (str, list, tuple)):
        raise InvalidError("constraints must be conditions in SQL.", argument="constraints")
    texts = [constraints] if isinstance(constraints, str) else list(constraints)
    if not texts:
        return None
    names = [each.column.name for each in values]
    expressions = [_condition(session, text, table) for text in texts]
    leaves = [_leaves(expression) for expression in expressions]
    for leaf in (leaf for some in leaves for leaf in some):
        if leaf.name not in names:
            fact = f"A constraint reads the column {show_name(leaf.name)}, which the synthetic rows do not have."
            raise InvalidError(fact, argument="constraints", hint="Add it to columns=, or change the constraint.")
    places = tuple(sorted({names.index(leaf.name) for some in leaves for leaf in some}))
    tests = [
        (evaluator(expression, some), tuple(places.index(names.index(leaf.name)) for leaf in some))
        for expression, some in zip(expressions, leaves, strict=True)
    ]
    return RowRules(tuple(texts), places, tuple(tests))


def check_rules(rules: RowRules | None, values: Sequence[ColumnValues], given: Mapping[int, Value]) -> None:
    """Raise InvalidError if no row with the given values can satisfy the conditions."""
    if rules is not None and rules.is_impossible(values, given):
        shown = " AND ".join(f"({text})" for text in rules.texts)
        fact = f"No row of public values satisfies the constraints {visible(hidden(shown))}."
        raise InvalidError(fact, argument="constraints", hint="Change the constraints, or the values that are given.")


def _condition(session: Session, text: object, table: str | None) -> Expression:
    if not isinstance(text, str):
        raise InvalidError("constraints must be conditions in SQL.", argument="constraints")
    try:
        _, expression = rows_of(session, text, table)
    except InvalidError as error:
        if not str(error).startswith("where must be"):
            raise
        raise bad_value("constraints", text, "one condition in SQL, or a list of conditions") from None
    if expression is None or not _leaves(expression):
        raise InvalidError(f"The constraint {show(text)} reads no column.", argument="constraints")
    return expression


def _leaves(expression: Expression) -> list[Column]:
    """Return the columns that an expression reads, each once."""
    return list(dict.fromkeys(part for part in walk(expression) if isinstance(part, Column)))
