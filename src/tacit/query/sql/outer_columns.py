"""The columns of the result of an outer query, each with its derivation, and what is run on draws."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.query.sql.derivations import NOISY_DENOMINATOR, Derivation, Input, computes, other
from tacit.query.sql.grammar import nested_too_deep
from tacit.query.sql.names import to_sql
from tacit.query.sql.outer_analysis import OuterAnalysis


@dataclass(frozen=True, slots=True)
class OuterColumns:
    """The columns of the result of an outer query, as far as they are known.

    `columns` are its columns in order; `others` is the derivation of columns that it does not name, such as those of
    PIVOT. `choice` are the noisy values that chose its rows. `relaxed` is the same query without the clauses at its end
    that chose them, if no other clause did. `uses` are the tables of the uses that copies name. `drawn` is the query to
    run on draws: it is NULL where a denominator is not positive.
    """

    columns: tuple[tuple[str, Derivation], ...]
    choice: frozenset[Input]
    uses: Mapping[int, str]
    others: Derivation | None = None
    relaxed: str | None = None
    drawn: str = ""

    def derivation(self, place: int, name: str, count: int) -> Derivation | None:
        """Return the derivation of a column of a result with so many columns; None if it is not known."""
        if self.others is None:
            return self.columns[place][1] if len(self.columns) == count else None
        found = [derivation for column, derivation in self.columns if column == name]
        return found[0] if len(found) == 1 else other(self.others, *found) if found else self.others


def outer_columns(
    tree: exp.Expr,
    tables: Mapping[str, Mapping[str, bool]],
    chosen: Collection[str] = (),
    bent: Collection[Input] = (),
) -> OuterColumns:
    """Return the columns of an outer query with their derivations.

    Args:
        tree: the outer query.
        tables: the columns of the released and the public tables, and whether each is noisy.
        chosen: the released tables whose rows noisy values chose already, by HAVING or LIMIT.
        bent: the noisy columns that are not linear in their noise, such as averages.

    Raises:
        RefusedError: if the query is nested too deep, or has too many columns.
    """
    try:
        return _outer_columns(tree, tables, chosen, bent)
    except RecursionError as error:
        raise nested_too_deep() from error


def _outer_columns(
    tree: exp.Expr, tables: Mapping[str, Mapping[str, bool]], chosen: Collection[str], bent: Collection[Input]
) -> OuterColumns:
    by_name = {name.casefold(): (name, columns) for name, columns in tables.items()}
    analysis = OuterAnalysis(by_name, frozenset(chosen), frozenset(bent))
    relation = analysis.query(tree, {}, None)
    relaxed = bare = None
    if relation.choice:
        bare = _without_end(tree)
        again = None if bare is None else analysis.query(bare, {}, None)
        relaxed = None if bare is None or again is None or again.choice else to_sql(bare)
    drawn = to_sql(_with_positive_denominators(tree if bare is None else bare))
    return OuterColumns(tuple(relation.columns), relation.choice, dict(analysis.uses), relation.others, relaxed, drawn)


def _with_positive_denominators(tree: exp.Expr) -> exp.Expr:
    """Return a query in which x / y is NULL unless y is positive, for each y that is noisy."""
    guarded = tree.copy()
    for node in list(guarded.find_all(exp.Div)):
        below = node.expression
        if node.meta.get(NOISY_DENOMINATOR):
            positive = exp.GT(this=below.copy(), expression=exp.Literal.number(0))
            node.set("expression", exp.Case(ifs=[exp.If(this=positive, true=below.copy())]))
    return guarded


def _without_end(tree: exp.Expr) -> exp.Expr | None:
    """Return a query without its last choices: ORDER BY, LIMIT, QUALIFY, and WHERE if nothing is computed after it."""
    if not isinstance(tree, (exp.Select, exp.SetOperation)) or tree.args.get("distinct") not in (None, False):
        return None
    bare = tree.copy()
    for name in ("order", "limit", "offset", "qualify"):
        bare.set(name, None)
    computed = any(map(computes, bare.expressions))
    if isinstance(bare, exp.Select) and not computed and bare.args.get("group") is None:
        bare.set("where", None)
    return bare
