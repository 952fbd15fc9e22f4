"""A subquery or CTE that groups by the unit becomes a unit table (`query.unit_tables` has the proof).

The items of its SELECT list and its HAVING are rewritten over a table of groups: the unit is the column `u`, the other
GROUP BY items are `key0`, …, and the aggregates `aggregate0`, …. They are then read like any row expressions. Values
are aggregated clamped to their bounds, and keys and conditions are raw, as everywhere (`scope`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from sqlglot import exp

from tacit.errors import InvalidError, TacitError, show_name
from tacit.query.expressions import Column, Expression, columns
from tacit.query.formatting import listed
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.refusals import refused
from tacit.query.sql.key_values import own_column
from tacit.query.sql.names import resolve
from tacit.query.sql.row_expressions import is_aggregate
from tacit.query.sql.scope import Scope, VisibleColumn
from tacit.query.sql.select_items import check_distinct, grouped_node, item_name, unaliased
from tacit.query.sql.table_scope import table_scope
from tacit.query.sql.typed_expressions import TypedExpression, condition, conjunction
from tacit.query.sql.unit_aggregates import ADVICE, read_unit_aggregate
from tacit.query.sql.unit_columns import check_text, computed_policy, key_policy, with_query_bounds
from tacit.query.unit_tables import UNIT, UnitAggregate, UnitTable

_MOST_LEVELS = 2
_LONGEST_NAME = 60
_OUTERMOST = "Or aggregate in the outermost SELECT alone."


def read_unit_table(select: exp.Select, scope: Scope) -> Scope:
    """Return the scope of a subquery that groups the rows of a scope by their unit, or raise RefusedError."""
    unit = _checked_unit(scope)
    reader = _UnitReader(select, scope, unit)
    reader.read_keys()
    items = [(_checked_name(item, scope), reader.over_groups(unaliased(item))) for item in _checked_items(select)]
    check_distinct([name for name, _ in items], ())
    having = select.args.get("having")
    tested = None if having is None else reader.over_groups(having.this)
    groups = reader.groups()
    unit_names = [name for name, node in items if _is_unit(node)]
    others = [(name, node) for name, node in items if not _is_unit(node)]
    made = {name: _read_item(name, node, groups, unit, scope) for name, node in others}
    unit_name = unit_names[0] if unit_names else _free_name(unit.name, made)
    units = UnitTable(
        rows=scope.table,
        unit=unit.name,
        unit_name=unit_name,
        columns=tuple((name, expression) for name, (expression, _) in made.items()),
        aggregates=tuple(reader.aggregates),
        keys=tuple(reader.keys),
        where=conjunction(scope.where),
        having=None if tested is None else condition(groups.raw(tested), "HAVING").expression,
        joins=scope.joins,
        below=scope.units,
    )
    table = _table(units, scope, {name: policy for name, (_, policy) in made.items()})
    visible = _visible([name for name, _ in items], unit_names, table_scope(table), unit_name)
    return Scope(table=table, name=None, columns=visible, units=units, bounds=scope.bounds)


def _checked_unit(scope: Scope) -> Column:
    """Return the unit's column of a scope whose rows can be grouped by it, or raise RefusedError."""
    if scope.table.public:
        raise refused(
            f"GROUP BY inside a subquery over the public table {show_name(scope.table.name)} is not supported",
            "Join the public table itself.",
        )
    if scope.unit is None:
        raise refused(
            f"Each row of {show_name(scope.table.name)} is a unit, so a subquery cannot group rows of one unit",
            "Aggregate in the outermost SELECT.",
        )
    if scope.units is not None and len(list(scope.units.levels)) >= _MOST_LEVELS:
        raise refused(
            f"Subqueries that group by the unit are nested more than {_MOST_LEVELS} deep",
            "Compute the innermost two in one: aggregates may have FILTER and compute with each other.",
        )
    return scope.unit


def _checked_items(select: exp.Select) -> list[exp.Expr]:
    for item in select.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            raise refused("* in a subquery with GROUP BY is not supported", "Name the columns.")
    return list(select.expressions)


def _checked_name(item: exp.Expr, scope: Scope) -> str:
    """Return an item's name; engines cut off long names, and some have no empty ones."""
    name = item_name(item, scope)
    if not 1 <= len(name.encode()) <= _LONGEST_NAME:
        raise InvalidError(
            f"The name of a column of a subquery must have 1 to {_LONGEST_NAME} bytes.",
            argument="sql",
            hint="Give the item a short alias: AS x.",
        )
    return name


def _is_unit(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name == UNIT


def _free_name(name: str, taken: Iterable[str]) -> str:
    """Return a name for the unit's column, which the subquery does not select."""
    folded = {other.casefold() for other in taken}
    while name.casefold() in folded:
        name += "_"
    return name


def _read_item(name: str, node: exp.Expr, groups: Scope, unit: Column, scope: Scope) -> tuple[Expression, ColumnPolicy]:
    """Return an item as an expression over the groups, and what is public about it."""
    raw = groups.raw(node)
    if UNIT in columns(raw.expression):
        raise refused(
            f"The subquery computes with the unit column {show_name(unit.name)}",
            f"Select {unit.name} itself; WHERE and HAVING may compare it.",
        )
    check_text(raw, name)
    column = own_column(raw.expression, groups.table)
    if column is not None:
        policy = groups.table.columns[column.name]
    else:
        policy = computed_policy(raw, groups.bounded(node), groups.table)
    return column or raw.expression, with_query_bounds(policy, name, scope.bounds)


def _table(units: UnitTable, scope: Scope, policies: dict[str, ColumnPolicy]) -> TablePolicy:
    """Return the policy of a unit table: each row is a unit, or the limits of the private table apply to its rows."""
    lowest = list(units.levels)[-1].rows
    every = {units.unit_name: scope.table.columns[units.unit], **policies}
    if units.is_one_row:
        table = replace(lowest, unit=None, max_groups=None, max_rows=None, reach=None, columns=every)
    else:
        table = replace(lowest, unit=units.unit_name, columns=every)
    return replace(table, unusable=frozenset(), key_tuples=())  # tuples are of columns of the private table


def _visible(names: Sequence[str], unit_names: Sequence[str], whole: Scope, unit_name: str) -> dict[str, VisibleColumn]:
    """Return the columns of the subquery, in its order; several names may stand for the unit."""
    return {name: whole.columns[unit_name if name in unit_names else name] for name in names}


_MOST_PARTS = 4_000
"""The largest number of nodes of a subquery's items, with the items that aliases stand for."""


@dataclass(slots=True)
class _UnitReader:
    """A subquery while it is read: the keys and the aggregates found so far, with what is public about them.

    `expanding` are the aliases whose items are being read, each inside the one before it.
    """

    select: exp.Select
    scope: Scope
    unit: Column
    keys: list[tuple[str, Expression]] = field(default_factory=list)
    aggregates: list[UnitAggregate] = field(default_factory=list)
    policies: dict[str, ColumnPolicy] = field(default_factory=dict)
    parts: int = 0
    expanding: list[str] = field(default_factory=list)

    def read_keys(self) -> None:
        """Read GROUP BY, which must name the unit."""
        group = self.select.args.get("group")
        nodes = [grouped_node(item, self.select, self.scope) for item in ([] if group is None else group.expressions)]
        terms = [self.scope.raw(node) for node in nodes]
        if self.unit not in [term.expression for term in terms]:
            self._without_unit()
        for node, term in zip(nodes, terms, strict=True):
            known = [expression for _, expression in self.keys]
            if term.expression != self.unit and term.expression not in known:
                self._add_key(node, term)

    def _without_unit(self) -> NoReturn:
        name = self.unit.name
        raise refused(
            f"A subquery or a CTE that aggregates must group by the unit column {show_name(name)}; otherwise its rows "
            "would mix data of different units",
            f"Add GROUP BY {name} to the subquery. {_OUTERMOST}",
        )

    def _add_key(self, node: exp.Expr, term: TypedExpression) -> None:
        names = columns(term.expression)
        if self.unit.name in names:
            raise refused(f"GROUP BY an expression of the unit column {show_name(self.unit.name)} is not supported")
        if not names:
            raise refused("GROUP BY a constant is not supported", "Name columns or expressions of columns.")
        name = f"key{len(self.keys)}"
        check_text(term, "a GROUP BY item")
        self.keys.append((name, term.expression))
        self.policies[name] = key_policy(term, self.scope.bounded(node), self.scope.table)

    def over_groups(self, node: exp.Expr) -> exp.Expr:
        """Return a node with the unit, keys and aggregates replaced by columns of the table of groups."""
        return exp.Paren(this=node.copy()).transform(self._replaced, copy=False).unnest()

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        self.parts += 1
        if self.parts > _MOST_PARTS:  # aliases that name aliases twice grow exponentially
            raise refused(
                f"The subquery has more than {_MOST_PARTS:,} parts, aliases in full",
                "Use fewer aliases of aliases, or compute in the outer SELECT.",
            )
        if is_aggregate(node):
            return self._aggregate(node)
        key = self._key(node)
        if key is not None:
            return _group_column(key)
        if isinstance(node, exp.Column):
            return self._alias(node)
        return node

    def _key(self, node: exp.Expr) -> str | None:
        """Return the name of the unit or the key that a node is equal to; None if there is no such key."""
        parts = list(node.walk())
        if not any(isinstance(part, exp.Column) for part in parts) or any(is_aggregate(part) for part in parts):
            return None
        try:
            expression = self.scope.raw(node).expression
        except TacitError:
            return None  # the parts are replaced one by one, and the wrong one raises
        known = [(UNIT, self.unit), *self.keys]
        return next((name for name, key in known if key == expression), None)

    def _alias(self, node: exp.Column) -> exp.Expr:
        """Return the item that a column refers to by its alias, or raise RefusedError."""
        aliases = {item.alias: item.this for item in self.select.expressions if isinstance(item, exp.Alias)}
        is_name = isinstance(node.this, exp.Identifier) and not node.args.get("table")
        own = resolve(node.this, self.scope.columns) if is_name else None
        alias = resolve(node.this, aliases) if is_name and own is None else None
        if alias is not None and not any(part == node for part in aliases[alias].walk()):
            return exp.Paren(this=self._expanded(alias, aliases[alias]))
        self.scope.find(node)
        raise refused(
            f"The column {show_name(node.name)} of the subquery is neither in GROUP BY nor in an aggregate",
            f"Write min({node.name}) or max({node.name}), or add it to GROUP BY.",
        )

    def _expanded(self, alias: str, node: exp.Expr) -> exp.Expr:
        """Return the item of an alias over the groups, or raise RefusedError if aliases refer to each other."""
        if alias in self.expanding:
            circle = listed([show_name(name) for name in self.expanding[self.expanding.index(alias) :]])
            raise refused(
                f"The aliases {circle} of the subquery refer to each other",
                f"Write one of them with columns and aggregates alone, such as count(*) AS {alias}.",
            )
        self.expanding.append(alias)
        expanded = self.over_groups(node)
        self.expanding.pop()
        return expanded

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        """Return the column of an aggregate, which is computed once even if the subquery repeats it."""
        if any(is_aggregate(part) for part in node.walk() if part is not node):
            raise refused("An aggregate inside an aggregate is not supported", ADVICE)
        found, policy = read_unit_aggregate(node, self.scope, self.unit)
        for known in self.aggregates:
            if replace(found, name=known.name) == known:
                return _group_column(known.name)
        name = f"aggregate{len(self.aggregates)}"
        self.aggregates.append(replace(found, name=name))
        self.policies[name] = policy
        return _group_column(name)

    def groups(self) -> Scope:
        """Return the scope of the table of groups."""
        every = {UNIT: self.scope.table.columns[self.unit.name], **self.policies}
        return table_scope(
            replace(
                self.scope.table, unit=None, max_groups=None, max_rows=None, reach=None, columns=every, key_tuples=()
            )
        )


def _group_column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)
