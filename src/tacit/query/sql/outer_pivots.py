"""PIVOT in an outer query: which of its columns may have an interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.query.sql.derivations import Derivation, inputs_of, joint
from tacit.query.sql.outer_scopes import QUERIES, OuterScope, Relation, unknown_relation

_PIVOT = frozenset(
    (
        *("this", "alias", "expressions", "fields", "using", "columns", "with_"),
        *("identify_pivot_strings", "prefixed_pivot_columns", "pivot_column_naming"),
    )
)
ScopedDerive = Callable[[exp.Expr, OuterScope], Derivation]


def pivoted(relation: Relation, pivots: Sequence[exp.Expr], derive: ScopedDerive, anything: Derivation) -> Relation:
    """Return PIVOT: sums and averages of linear columns by exact ones are smooth; others are not followed.

    `derive` returns the derivation of an expression in a scope, and `anything` is that of what is not known.
    """
    for pivot in pivots:
        value = _pivot_value(relation, pivot, derive, anything)
        if value is None:
            relation = unknown_relation([anything])
            continue
        consumed = {node.name.casefold() for node in _pivot_columns(pivot)}
        kept = [(name, each) for name, each in relation.columns if name.casefold() not in consumed]
        relation = Relation(kept, relation.choice, value, relation.order)
    return relation


def _pivot_value(relation: Relation, pivot: exp.Expr, derive: ScopedDerive, anything: Derivation) -> Derivation | None:
    """Return the derivation of the new columns of PIVOT; None if noisy values could decide its rows or columns."""
    given = {name for name, value in pivot.args.items() if value not in (None, False, [])}
    if given - _PIVOT or relation.choice or relation.order or relation.others is not None:
        return None
    scope = OuterScope({"": relation}, {}, None)
    functions = [each.unalias() for each in pivot.args.get("using") or pivot.expressions]
    if not functions or not all(isinstance(each, (exp.Sum, exp.Avg, exp.First)) for each in functions):
        return None
    values = [node for each in functions for node in each.find_all(exp.Column)]
    used = [node for node in _pivot_columns(pivot) if not any(node is each for each in values)]
    keys = [scope.column(node) or anything for node in used]
    consumed = {node.name.casefold() for node in _pivot_columns(pivot)}
    keys += [each for name, each in relation.columns if name.casefold() not in consumed]
    if inputs_of(keys) or any(pivot.args.get(name) and _has_query(pivot, name) for name in ("expressions", "fields")):
        return None
    return joint(derive(each, scope) for each in functions)


def _pivot_columns(pivot: exp.Expr) -> list[exp.Column]:
    """Return the columns that PIVOT names."""
    clauses = [each for name in ("expressions", "using", "fields") for each in pivot.args.get(name) or ()]
    return [node for each in clauses for node in each.find_all(exp.Column)]


def _has_query(pivot: exp.Expr, name: str) -> bool:
    return any(each.find(*QUERIES, exp.PivotAny) is not None for each in pivot.args[name])
