"""JOIN: two scopes become one, by the rules of `query.joins`; all other joins are refused.

The private side comes first in the plan, in either order of the SQL text: `public JOIN private` and `private JOIN
public` give the same rows. In the plan, the columns of the other side are qualified with its name (`regions.name`), so
that no two names are equal. An equality in ON between the two sides becomes a pair. The equality of the units is stored
separately. In an INNER join every other condition applies to the joined rows, like WHERE. A LEFT join also takes
conditions on the joined table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlglot import exp

from tacit.errors import show_name
from tacit.query.expressions import Call, Column, Expression, columns
from tacit.query.joins import Join, rename_columns
from tacit.query.policy import ColumnPolicy, PublicRows, TablePolicy
from tacit.query.refusals import refused
from tacit.query.sql.join_checks import (
    USE_ON,
    check_names,
    check_one_row_per_unit,
    check_sides,
    folded_names,
    read_side,
)
from tacit.query.sql.names import resolve
from tacit.query.sql.scope import Scope, VisibleColumn, conjuncts
from tacit.query.sql.typed_expressions import TypedExpression, call, case, condition, conjunction, typed_column


def join_scopes(left: Scope, right: Scope, node: exp.Join) -> Scope:
    """Return the scope of a join, or raise RefusedError or InvalidError."""
    side = read_side(node)
    check_names(left, right)
    swapped = left.table.public if left.table.public != right.table.public else side == "RIGHT"
    first, other = (right, left) if swapped else (left, right)
    side = {"LEFT": "RIGHT", "RIGHT": "LEFT"}.get(side, side) if swapped else side
    check_sides(first, other, side)
    builder = _JoinBuilder(first, other, "left" if side == "LEFT" else "inner")
    merged = builder.read(node, swapped=swapped)
    scope = builder.scope(merged, swapped=swapped)
    check_one_row_per_unit(scope)
    return scope


@dataclass(slots=True)
class _JoinBuilder:
    """A join while it is read: the first side, the other side, and the conditions read so far."""

    first: Scope
    other: Scope
    kind: Literal["inner", "left"]
    pairs: list[tuple[Expression, Expression]] = field(default_factory=list)
    unit: tuple[str, str] | None = None
    conditions: list[TypedExpression] = field(default_factory=list)
    names: dict[str, str] = field(init=False)
    tables: list[Join] = field(init=False)
    table: TablePolicy = field(init=False)

    def __post_init__(self) -> None:
        """Give the columns of the other side their names in the plan."""
        self.names, self.tables = _rename_side(self.other, self.kind, set(self.first.table.columns))
        first, other = self.first.table, self.other.table
        more = {self.names[name]: self._policy(policy) for name, policy in other.columns.items()}
        self.table = replace(first, columns={**first.columns, **more})
        if not other.public:
            self.table = replace(
                self.table,
                key_tuples=(*first.key_tuples, *(self._tuples(each) for each in other.key_tuples)),
                max_groups=_smaller(first.max_groups, other.max_groups),
                max_rows=_smaller(first.max_rows, other.max_rows),
                reach=_smaller(first.reach, other.reach),
            )

    def _tuples(self, tuples: PublicRows) -> PublicRows:
        """Return listed tuples of the other side, with the names of the plan."""
        return replace(tuples, columns=tuple(self.names[name] for name in tuples.columns))

    def _policy(self, policy: ColumnPolicy) -> ColumnPolicy:
        """Return a column's policy; after a LEFT join NULL is one of the keys of a public table."""
        if self.kind == "inner" or policy.keys is None or None in policy.keys or not self.other.table.public:
            return policy
        return replace(policy, keys=(*policy.keys, None))

    def _rename(self, column: VisibleColumn) -> VisibleColumn:
        """Return a column of the other side, with the names of the plan."""
        return VisibleColumn(_rename_term(column.raw, self.names), _rename_term(column.bounded, self.names))

    @property
    def _unit_column(self) -> Column | None:
        """The other table's unit."""
        table = self.other.table
        return None if table.unit is None else table.columns[table.unit].named(self.names[table.unit])

    def read(self, node: exp.Join, *, swapped: bool) -> dict[str, VisibleColumn]:
        """Read the conditions; return the columns of USING. Each of these stands for a column of both sides."""
        view = _map_columns(self.other, self._rename)
        left, right = (view, self.first) if swapped else (self.first, view)
        if node.args.get("using"):
            return dict(self._read_using(name, left, right, swapped=swapped) for name in node.args["using"])
        scope = _combine(left, right, self.table)
        for part in conjuncts(node.args["on"]):
            if isinstance(part, exp.EQ):
                self._add_equality(scope.raw(part.this), scope.raw(part.expression))
            else:
                self._add_condition(condition(scope.raw(part), "ON"))
        return {}

    def _read_using(
        self, name: exp.Identifier, left: Scope, right: Scope, *, swapped: bool
    ) -> tuple[str, VisibleColumn]:
        if not isinstance(name, exp.Identifier):
            raise refused("USING takes names of columns that both sides have", USE_ON)
        a, b = (side.find(exp.Column(this=name.copy())) for side in (left, right))
        self._add_equality(a.raw, b.raw)
        ours, theirs = (b, a) if swapped else (a, b)
        return resolve(name, left.columns) or name.name, theirs if self._prefers_public(ours, theirs) else ours

    def _prefers_public(self, ours: VisibleColumn, theirs: VisibleColumn) -> bool:
        """Return whether to use the public one of two equal columns: if the private one has neither keys nor bounds.

        Never if the private one is the unit. The unit column stays the private one.
        """
        column = ours.raw.expression
        if self.kind == "left" or not self.other.table.public or not isinstance(column, Column):
            return False
        policy = self.table.columns[column.name]
        bare = policy.keys is None and policy.bounds is None and column.name != self.table.unit
        return bare and theirs.raw.kind == column.kind

    def _add_equality(self, left: TypedExpression, right: TypedExpression) -> None:
        """Add an equality: of the units, of one side with the other, or any other."""
        if self._add_unit(left, right) or self._add_unit(right, left):
            return
        both = call("equal", left, right)
        a, b = both.expression.arguments if isinstance(both.expression, Call) else (both.expression,) * 2
        ours, theirs = set(self.first.table.columns), {name for name, _ in self.tables[0].columns}
        if _reads_only(a, ours) and _reads_only(b, theirs):
            self.pairs.append((a, b))
        elif _reads_only(b, ours) and _reads_only(a, theirs):
            self.pairs.append((b, a))
        else:
            self._add_condition(both)

    def _add_unit(self, left: TypedExpression, right: TypedExpression) -> bool:
        """Store the equality of the units if this is one: `right` is the other table's unit, `left` the first's."""
        ours, theirs, table = left.expression, right.expression, self.first.table
        units = {table.unit, *(join.unit[1] for join in self.first.joins if join.unit is not None)}
        if self.other.table.public or not isinstance(ours, Column) or ours.name not in units:
            return False
        if not isinstance(theirs, Column) or theirs != self._unit_column:
            return False
        if ours.kind != theirs.kind:
            raise refused(
                f"The unit columns of {show_name(table.name)} and {show_name(self.other.table.name)} have different "
                f"kinds, {ours.kind} and {theirs.kind}",
                "Ask the data's steward to declare one type for both.",
            )
        self.unit = self.unit or (ours.name, theirs.name)
        return True

    def _add_condition(self, term: TypedExpression) -> None:
        """Add a condition that is not an equality of both sides."""
        if self.kind == "left" and not columns(term.expression) <= {name for name, _ in self.tables[0].columns}:
            raise refused(
                "In a LEFT JOIN, ON takes equalities of both sides and conditions on the joined table",
                "Put a condition on the kept rows into WHERE or into a CASE.",
            )
        self.conditions.append(term)

    def scope(self, merged: Mapping[str, VisibleColumn], *, swapped: bool) -> Scope:
        """Return the scope of the joined rows, with all joins and conditions."""
        self._check_conditions()
        view = _map_columns(self.other, lambda column: self._after_join(self._rename(column)))
        scope = _combine(*((view, self.first) if swapped else (self.first, view)), self.table, merged)
        scope = replace(scope, units=self.first.units, bounds=self.first.bounds)
        met = [*(_rename_term(term, self.names) for term in self.other.where), *self.conditions]
        table = self.other.table
        base = replace(self.tables[0], pairs=tuple(self.pairs), unit=self.unit, copies=self._copies())
        base = replace(base, size=table.size, content=table.content)
        if self.kind == "left":
            base, met = replace(base, where=conjunction(met)), []
        return replace(scope, where=(*self.first.where, *met), joins=(*self.first.joins, base, *self.tables[1:]))

    def _copies(self) -> int | None:
        """Return the largest number of rows of a public table that match one row; None for a private table."""
        if not self.other.table.public:
            return None
        keys = [self.table.columns[key.name].copies for _, key in self.pairs if isinstance(key, Column)]
        return min(known for known in (self.other.table.size, *keys) if known is not None)

    def _check_conditions(self) -> None:
        first, other = self.first.table, self.other.table
        if not other.public and self.unit is None:
            raise refused(
                f"A join of the private tables {show_name(first.name)} and {show_name(other.name)} must equate their "
                "units; otherwise rows of one unit would contain data of another",
                f"Put {first.name}.{first.unit} = {other.name}.{other.unit} into ON.",
            )
        if self.pairs or self.unit is not None:
            return
        if self.kind == "left" or self.other.joins:
            raise refused("A join must equate a column of one side with a column of the other side's own table", USE_ON)
        new = set(self.names.values())
        if not any(columns(term.expression) & new and columns(term.expression) - new for term in self.conditions):
            raise refused("Joins without a condition on both sides are not supported", USE_ON)

    def _after_join(self, column: VisibleColumn) -> VisibleColumn:
        """Return a column of the other side after the join.

        After an INNER join the other unit is the first unit. After a LEFT join a computed column is NULL if there is no
        match.
        """
        raw = column.raw.expression
        if self.kind == "left":
            if isinstance(raw, Column):
                return column
            return VisibleColumn(self._null_without_match(column.raw), self._null_without_match(column.bounded))
        if self.unit is not None and raw == self._unit_column:
            unit = typed_column(replace(raw, name=self.unit[0]))
            return VisibleColumn(unit, unit)
        return column

    def _null_without_match(self, term: TypedExpression) -> TypedExpression:
        """Return an expression of a LEFT-joined row; a row matches exactly if an equated column of it is not NULL."""
        keys = [key for _, key in self.pairs if isinstance(key, Column)]
        key = self._unit_column if self.unit is not None else next(iter(keys), None)
        if key is None:
            raise refused(
                "A LEFT-joined subquery that computes columns must be joined on one of its table's own columns",
                "Compute them in the outer SELECT.",
            )
        return case([(call("not", call("is_null", typed_column(key))), term)], None)


def _rename_side(other: Scope, kind: Literal["inner", "left"], taken: set[str]) -> tuple[dict[str, str], list[Join]]:
    """Return new names for the columns of a side and of the tables joined in it, and these tables as joins."""
    below = {name for join in other.joins for name, _ in join.columns}
    own_columns = tuple((name, name) for name in other.table.columns if name not in below)
    first = Join(table=other.table.name, kind=kind, private=not other.table.public, columns=own_columns)
    names: dict[str, str] = {}
    tables: list[Join] = []
    for join in (first, *other.joins):
        qualifier = join.table if tables else other.name or join.table
        new = _qualify([raw for _, raw in join.columns], qualifier, taken | set(names.values()))
        names |= {old: new[raw] for old, raw in join.columns}
        tables.append(replace(join, columns=tuple((new[raw], raw) for _, raw in join.columns)))
    return names, [_rename_join(join, names) for join in tables]


def _rename_join(join: Join, names: Mapping[str, str]) -> Join:
    return replace(
        join,
        pairs=tuple((rename_columns(left, names), rename_columns(right, names)) for left, right in join.pairs),
        unit=None if join.unit is None else (names[join.unit[0]], names[join.unit[1]]),
        where=None if join.where is None else rename_columns(join.where, names),
    )


def _qualify(raw: Sequence[str], qualifier: str, taken: set[str]) -> dict[str, str]:
    """Return the plan's names of a table's columns: `table.column`, with a number if a name is taken."""
    number, used = 0, {name.casefold() for name in taken}  # engines ignore the case of names
    while True:
        names = {name: f"{qualifier}_{number}.{name}" if number else f"{qualifier}.{name}" for name in raw}
        if used.isdisjoint(name.casefold() for name in names.values()):
            return names
        number += 1


def _rename_term(term: TypedExpression, names: Mapping[str, str]) -> TypedExpression:
    return replace(term, expression=rename_columns(term.expression, names))


def _map_columns(scope: Scope, change: Callable[[VisibleColumn], VisibleColumn]) -> Scope:
    """Return a scope with every visible column changed."""
    return replace(
        scope,
        columns={name: change(column) for name, column in scope.columns.items()},
        sides=tuple(_map_columns(side, change) for side in scope.sides),
    )


def _combine(left: Scope, right: Scope, table: TablePolicy, merged: Mapping[str, VisibleColumn] | None = None) -> Scope:
    """Return the scope of two sides. Columns of one side alone and columns of USING need no qualifier."""
    using = {name.casefold(): name for name in merged or ()}
    visible: dict[str, VisibleColumn] = {}
    for scope, others in ((left, folded_names(right)), (right, folded_names(left))):
        for name, column in scope.columns.items():
            shared = using.get(name.casefold())
            if merged is not None and shared is not None:
                visible.setdefault(shared, merged[shared])
            elif name.casefold() not in others:
                visible[name] = column
    twice = (left.twice | right.twice | (folded_names(left) & folded_names(right))) - set(using)
    return Scope(table, None, visible, sides=(*left.parts, *right.parts), twice=twice)


def _reads_only(expression: Expression, names: set[str]) -> bool:
    """Return whether an expression reads columns, all of them from these names."""
    used = columns(expression)
    return bool(used) and used <= names


def _smaller(a: int | None, b: int | None) -> int | None:
    """Return the smaller of two limits; None stands for no limit."""
    return min((limit for limit in (a, b) if limit is not None), default=None)
