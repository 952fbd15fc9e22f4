"""IN (SELECT …) and EXISTS (SELECT …) over a public table: a condition on one row, with constants from public rows.

The rows of the public table are those that it had when it was opened. The condition becomes an expression over the
private row alone, so a row stays one row, and nobody's data but its own decides about it. `row_work` counts its
constants like those of any IN.

    x IN (SELECT c FROM p WHERE …)              x IN (constants), with NULL if a value of c is NULL
    EXISTS (SELECT … FROM p WHERE p.k = t.k)    coalesce(t.k IN (constants), FALSE)
    … WHERE p.k = t.k AND p.m = t.m             for each constant of m: t.m = constant AND t.k IN (constants)

Conditions on p alone choose its rows here. Conditions on the private row alone stay conditions. A condition on both
must be an equality; a join supports others.

**NULL.** EXISTS is true or false, never NULL. `x IN (…)` is true if x equals a value. Otherwise it is NULL if there is
a row and x is NULL, or if a value is NULL; otherwise it is false. Without a row it is false, even if x is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import isinf
from typing import TypeAlias

from sqlglot import exp

from tacit.errors import show_name
from tacit.query.expressions import Value, columns
from tacit.query.joins import rename_columns
from tacit.query.policy import TablePolicy
from tacit.query.refusals import refused
from tacit.query.sql.names import resolve
from tacit.query.sql.public_relations import Relation
from tacit.query.sql.row_expressions import MOST_OPTIONS, translate_expression
from tacit.query.sql.scope import Scope, conjuncts
from tacit.query.sql.typed_expressions import TypedExpression, call, case, coerce, common_kind, condition, constant

ReadSource: TypeAlias = Callable[[exp.Select], Scope]
"""Reads the FROM clause of a subquery, without its WHERE."""

_INNER = "\0public."
_FALSE, _TRUE = constant(value=False, kind="boolean"), constant(value=True, kind="boolean")
_CLAUSES = {
    "with_": "WITH",
    "group": "GROUP BY",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
}


def public_condition(node: exp.Expr, outer: Scope, read_source: ReadSource) -> TypedExpression:
    """Return IN (SELECT …) or EXISTS (SELECT …) as a condition on one row, or raise RefusedError.

    Args:
        node: the IN or the EXISTS.
        outer: the source of the query around it.
        read_source: reads the FROM clause of the subquery.
    """
    select = node.this if isinstance(node, exp.Exists) else node.args["query"]
    while isinstance(select, exp.Subquery):
        select = select.this
    name = "EXISTS" if isinstance(node, exp.Exists) else "IN"
    if not isinstance(select, exp.Select):
        raise refused(f"{name} (SELECT …) takes one SELECT over a public table")
    for argument, clause in _CLAUSES.items():
        if select.args.get(argument) is not None:
            raise refused(f"{clause} inside {name} (SELECT …) is not supported", "Leave it out.")
    inner = read_source(select)
    _check_public(inner, outer, name)
    subquery = _Subquery(name, inner, outer)
    subquery.read_conditions(select)
    if isinstance(node, exp.Exists):
        subquery.check_items(select)
        return subquery.exists()
    return subquery.contains(outer.raw(node.this), select)


def _check_public(inner: Scope, outer: Scope, name: str) -> None:
    """Raise RefusedError if a subquery reads a private table or several tables."""
    private = [inner.table.name] if not inner.table.public else []
    private += [join.table for join in inner.joins if join.private]
    if private:
        raise refused(
            f"{name} (SELECT …) over the private table {show_name(private[0])} is not supported, because a row could "
            "then depend on rows of other units",
            _join_hint(inner.table, outer.table),
        )
    if inner.joins:
        raise refused(f"A join inside {name} (SELECT …) is not supported", "Name one public table there.")


def _join_hint(inner: TablePolicy, outer: TablePolicy) -> str:
    """Return how to write the query without the subquery."""
    if inner.name == outer.name and inner.unit is not None:
        units = f"(SELECT {inner.unit}, bool_or(x > 1) AS met FROM {inner.name} GROUP BY {inner.unit})"  # noqa: S608 - a hint
        return (
            "Only public tables are supported there. List the values: IN ('a', 'b'). Or keep the units with at least "
            f"one row that meets a condition: FROM {units} WHERE met."
        )
    if inner.public or inner.unit is None or outer.unit is None or inner.name == outer.name:
        return "Only public tables are supported there. List the values: IN ('a', 'b')."
    join = f"FROM {outer.name} JOIN {inner.name} ON {outer.name}.{outer.unit} = {inner.name}.{inner.unit}"
    return f"Only public tables are supported there. Join private tables on their units: {join}."


@dataclass(slots=True)
class _Subquery:
    """A subquery while it is read: the pairs of its equalities, and the conditions on either side."""

    name: str
    inner: Scope
    outer: Scope
    theirs: list[TypedExpression] = field(default_factory=list)
    """Conditions on the public rows."""
    ours: list[TypedExpression] = field(default_factory=list)
    """Conditions on the private row."""
    pairs: list[tuple[TypedExpression, TypedExpression]] = field(default_factory=list)
    """Equalities: the side of the private row, and the side of the public rows."""

    def read_conditions(self, select: exp.Select) -> None:
        """Read WHERE."""
        self.theirs += map(_inner, self.inner.where)
        where = select.args.get("where")
        for part in () if where is None else conjuncts(where.this):
            sides = [self._term(part.this), self._term(part.expression)] if isinstance(part, exp.EQ) else []
            if len(sides) > 1 and _reads_inner(sides[0]) != _reads_inner(sides[1]) and not any(map(_mixes, sides)):
                self._add_equality(*sorted(sides, key=_reads_inner))
                continue
            term = condition(self._term(part), "WHERE")
            if _mixes(term):
                raise refused(
                    f"A condition on both tables inside {self.name} (SELECT …) must be an equality of one side with "
                    "the other",
                    "Join the public table instead.",
                )
            (self.theirs if _reads_inner(term) or not columns(term.expression) else self.ours).append(term)

    def _add_equality(self, ours: TypedExpression, theirs: TypedExpression) -> None:
        """Add an equality of a private value, or a constant, with a public one."""
        if not columns(ours.expression):
            self.theirs.append(call("equal", ours, theirs))
            return
        kind = common_kind([ours, theirs], "equal")
        self.pairs.append((coerce(ours, kind), coerce(theirs, kind)))

    def check_items(self, select: exp.Select) -> None:
        """Check that the select list of EXISTS reads columns that exist; its values do not matter."""
        for item in select.expressions:
            if not isinstance(item, exp.Star):
                self._term(item.this if isinstance(item, exp.Alias) else item)

    def exists(self) -> TypedExpression:
        """Return whether a public row meets all conditions."""
        return self._if_ours(self._member(self.pairs, self._rows([theirs for _, theirs in self.pairs])))

    def contains(self, value: TypedExpression, select: exp.Select) -> TypedExpression:
        """Return whether a value is among the public values."""
        items = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
        if len(items) != 1 or isinstance(items[0], exp.Star):
            raise refused("IN (SELECT …) takes one column", "Name one column of the public table.")
        item = self._term(items[0])
        if columns(item.expression) and (not _reads_inner(item) or _mixes(item)):
            raise refused("IN (SELECT …) takes a column of the public table", "Name one of its columns.")
        kind = common_kind([value, item], "IN")
        value, item = coerce(value, kind), coerce(item, kind)
        rows = self._rows([item, *(theirs for _, theirs in self.pairs)])
        if not self.pairs:
            return self._if_ours(self._in(value, [row[0] for row in rows]))
        matching = [row[1:] for row in rows]
        unknown = [
            call("and", call("is_null", value), self._member(self.pairs, matching)),
            self._member(self.pairs, [row[1:] for row in rows if row[0] is None]),
        ]
        found = self._member([(value, item), *self.pairs], rows)
        return self._if_ours(case([(found, _TRUE), (call("or", *unknown), constant(None, "boolean"))], _FALSE))

    def _term(self, node: exp.Expr) -> TypedExpression:
        """Return an expression; names of the subquery hide those of the query around it."""
        return translate_expression(node, self._leaf)

    def _leaf(self, node: exp.Expr) -> TypedExpression | None:
        if isinstance(node, exp.Exists) or node.args.get("query") is not None:
            raise refused(f"A subquery inside {self.name} (SELECT …) is not supported", "Join the public tables.")
        if not isinstance(node, exp.Column):
            return None
        return _inner(self.inner.find(node).raw) if self._is_inner(node) else self.outer.find(node).raw

    def _is_inner(self, node: exp.Column) -> bool:
        qualifier = node.args.get("table")
        if qualifier is not None:
            return self.inner.name is not None and resolve(qualifier, [self.inner.name]) is not None
        if not isinstance(node.this, exp.Identifier) or resolve(node.this, self.inner.columns) is not None:
            return True
        folded = node.name.casefold()
        known = {name.casefold() for part in self.outer.parts for name in (*part.columns, *part.hidden, *part.unusable)}
        return folded not in known

    def _rows(self, terms: Sequence[TypedExpression]) -> list[tuple[Value, ...]]:
        """Return the values of some terms on the public rows that meet the conditions, each combination once."""
        content, table = self.inner.table.content, self.inner.table
        names = {} if content is None else {f"{_INNER}{name}": place for place, name in enumerate(content.columns)}
        used = {name for term in (*terms, *self.theirs) for name in columns(term.expression)}
        if content is None or not used <= names.keys():
            raise self._too_many(table)
        relation = Relation(names, content.rows)
        kept = Relation(names, tuple(row for row, met in zip(content.rows, self._met(relation), strict=True) if met))
        rows = (
            [()] * len(kept.rows) if not terms else zip(*(kept.values(term.expression) for term in terms), strict=True)
        )
        distinct: list[tuple[Value, ...]] = list(dict.fromkeys(rows))
        if len(distinct) * len(terms) > MOST_OPTIONS:
            raise self._too_many(table)
        if any(isinstance(value, float) and isinf(value) for row in distinct for value in row):
            raise refused(f"{self.name} (SELECT …) over infinite values is not supported", "Leave them out: WHERE.")
        return distinct

    def _met(self, relation: Relation) -> Iterator[bool]:
        """Yield whether each public row meets the conditions on it."""
        truths = [relation.values(term.expression) for term in self.theirs]
        for row in range(len(relation.rows)):
            yield all(each[row] is True for each in truths)

    def _too_many(self, table: TablePolicy) -> Exception:
        return refused(
            f"{self.name} (SELECT …) over {show_name(table.name)} has too many values; the limit is {MOST_OPTIONS:,}",
            "Join the public table instead. For NOT, use LEFT JOIN, and in WHERE that a column of it IS NULL.",
        )

    def _in(self, value: TypedExpression, options: Sequence[Value]) -> TypedExpression:
        """Return value IN (options), also without options."""
        return call("in", value, *(constant(each, value.kind) for each in options)) if options else _FALSE

    def _member(
        self, pairs: Sequence[tuple[TypedExpression, TypedExpression]], rows: Sequence[tuple[Value, ...]]
    ) -> TypedExpression:
        """Return whether the private sides of some pairs equal a row, TRUE or FALSE and never NULL."""
        present = [row for row in rows if None not in row]  # NULL equals nothing
        if not present or not pairs:
            return _TRUE if present else _FALSE
        return call("coalesce", self._equals([ours for ours, _ in pairs], present), _FALSE)

    def _equals(self, values: Sequence[TypedExpression], rows: Sequence[tuple[Value, ...]]) -> TypedExpression:
        """Return whether some values equal a row; NULL or FALSE if not."""
        *first, last = values
        if not first:
            return self._in(last, list(dict.fromkeys(row[0] for row in rows)))
        by_last: dict[Value, list[tuple[Value, ...]]] = {}
        for row in rows:
            by_last.setdefault(row[-1], []).append(row[:-1])
        parts = [
            call("and", call("equal", last, constant(value, last.kind)), self._equals(first, some))
            for value, some in by_last.items()
        ]
        return parts[0] if len(parts) == 1 else call("or", *parts)

    def _if_ours(self, term: TypedExpression) -> TypedExpression:
        """Return a condition that is false unless the private row meets its own conditions of the subquery."""
        return call("and", *(call("coalesce", each, _FALSE) for each in self.ours), term) if self.ours else term


def _inner(term: TypedExpression) -> TypedExpression:
    """Return an expression of the public table with names that no other table has."""
    names = {name: f"{_INNER}{name}" for name in columns(term.expression)}
    return replace(term, expression=rename_columns(term.expression, names))


def _reads_inner(term: TypedExpression) -> bool:
    return any(name.startswith(_INNER) for name in columns(term.expression))


def _mixes(term: TypedExpression) -> bool:
    """Return whether an expression reads both tables."""
    return len({name.startswith(_INNER) for name in columns(term.expression)}) > 1
