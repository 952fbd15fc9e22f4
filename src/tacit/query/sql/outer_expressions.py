"""The derivation of each expression of an outer query; `outer_analysis` derives its relations.

**Time.** Each part of an expression is derived once in each scope. A query in ORDER BY, HAVING or QUALIFY is derived in
two scopes, and a star of a join has the columns of both sides, so nested ones could still need time that doubles with
each level. `count` refuses such queries, before anything is charged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.query.refusals import refused
from tacit.query.sql.derivations import (
    EXACT,
    Derivation,
    Derive,
    Input,
    aggregate,
    inputs_of,
    is_outer_aggregate,
    is_without_order,
    joint,
    other,
    scalar,
)
from tacit.query.sql.outer_grammar import OPERATORS, SCALARS
from tacit.query.sql.outer_scopes import (
    QUERIES,
    OuterScope,
    Relation,
)

_SCALAR_NAMES = frozenset(("weekday", "isoyear", "date_part"))
_PARTS = frozenset(
    (
        *(*OPERATORS, *SCALARS, exp.Literal, exp.Null, exp.Boolean, exp.Var, exp.DataType, exp.DataTypeParam),
        *(exp.Identifier, exp.Interval, exp.Paren, exp.Alias, exp.Tuple, exp.Array, exp.Case, exp.If, exp.Between),
        *(exp.In, exp.Exists, exp.Any, exp.All, exp.Distinct, exp.Order, exp.Ordered, exp.Where, exp.WindowSpec),
        *(exp.Limit, exp.Offset, exp.PivotAlias),
    )
)
"""The node classes that depend on their arguments alone; a class that is not listed is not known."""
_MOST_STEPS = 100_000
Known = Mapping[str, Relation]
"""The columns of the CTEs that a query sees."""


@dataclass(slots=True)
class ExpressionAnalysis(ABC):
    """The state of the analysis of one outer query.

    `tables` are the released and the public tables by their case-folded names, with the columns of each and whether
    they are noisy. `chosen`, `bent` and `uses` are those of `outer_columns`. `steps` are the parts of expressions and
    the columns that were derived.
    """

    tables: Mapping[str, tuple[str, Mapping[str, bool]]]
    chosen: frozenset[str] = frozenset()
    bent: frozenset[Input] = frozenset()
    uses: dict[int, str] = field(default_factory=dict)
    steps: int = 0

    @property
    def anything(self) -> Derivation:
        """The derivation of what is not known: it may depend on all noisy values."""
        every = ((table, name) for table, columns in self.tables.values() for name, noisy in columns.items() if noisy)
        return other(Derivation(frozenset(every)))

    @abstractmethod
    def query(self, node: exp.Expr, known: Known, outer: OuterScope | None) -> Relation:
        """Return the columns of a query."""

    def derive(self, node: exp.Expr, scope: OuterScope, choice: frozenset[Input], known: Known) -> Derivation:
        """Return the derivation of an expression; each of its parts is derived once."""
        found: dict[int, Derivation] = {}

        def derive(part: exp.Expr) -> Derivation:
            if id(part) not in found:
                self.count(1)
                found[id(part)] = self._new(part, derive, scope, choice, known)
            return found[id(part)]

        return derive(node)

    def count(self, steps: int) -> None:
        """Add steps of the analysis, or raise RefusedError if there are too many."""
        self.steps += steps
        if self.steps > _MOST_STEPS:
            raise refused(
                "The computation with the private aggregates has too many columns, or queries that are nested too deep",
                "Write steps as CTEs, and name the columns that each step needs.",
            )

    def _new(
        self, node: exp.Expr, derive: Derive, scope: OuterScope, choice: frozenset[Input], known: Known
    ) -> Derivation:
        if isinstance(node, exp.Column):
            found = scope.column(node)
            return found or (EXACT if _is_constant(node) else self.anything)
        if isinstance(node, QUERIES):
            return self._inner_query(node, scope, known)
        if isinstance(node, exp.Window):
            return self._window(node, derive, scope, choice)
        wraps = isinstance(node, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls))
        if is_outer_aggregate(node) or wraps:
            return aggregate(node, derive, choice, scope.order)
        if isinstance(node, exp.Star) and isinstance(node.parent, exp.Count):
            return EXACT
        named = isinstance(node, exp.Anonymous) and node.name.casefold() in _SCALAR_NAMES
        return scalar(node, derive) if named or type(node) in _PARTS else self.anything

    def _inner_query(self, node: exp.Expr, scope: OuterScope, known: Known) -> Derivation:
        """Return the derivation of a subquery in an expression."""
        inner = self.query(node, known, scope)
        parts = [*(each for _, each in inner.columns), *filter(None, [inner.others])]
        if inner.choice or inner.order or len(parts) != 1:
            return other(Derivation(inner.choice | inner.order), *parts)
        return joint(parts)

    def _window(self, node: exp.Window, derive: Derive, scope: OuterScope, choice: frozenset[Input]) -> Derivation:
        """Return the derivation of a window function; one over an order of noisy values is not smooth."""
        named = _named_windows(node)
        by: list[Derivation] = [self.anything] if named is None else []
        for each in [node, *(named or ())]:
            parts = [part for part in each.iter_expressions() if part is not each.this]
            by += [derive(part) for part in parts]
        scope.sorting |= inputs_of(by)
        value = aggregate(node.this, derive, choice, scope.order)
        whole = node.args.get("alias") is None and node.args.get("order") is None and node.args.get("spec") is None
        if scope.order and not (whole and is_without_order(node.this)):
            by.append(Derivation(scope.order))
        return value if not inputs_of(by) else other(value, *by)


def _named_windows(node: exp.Window) -> list[exp.Expr] | None:
    """Return the window that a function names, and those that this one names in turn; None if one is not known."""
    select, name = node.find_ancestor(exp.Select), node.args.get("alias")
    defined = [] if select is None else select.args.get("windows") or []
    found: list[exp.Expr] = []
    while name is not None:
        named = [each for each in defined if each.name.casefold() == name.name.casefold()]
        if len(named) != 1 or len(found) > len(defined):
            return None
        found += named
        name = named[0].args.get("alias")
    return found


def _is_constant(node: exp.Column) -> bool:
    """Return whether a name is a word of the grammar, such as the unit of date_trunc, and not a column."""
    units = isinstance(node.parent, (exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff)) and node.arg_key == "unit"
    return units or (isinstance(node.parent, exp.Extract) and node.arg_key == "this")
