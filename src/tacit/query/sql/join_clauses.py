"""JOIN: two sources become one, by the rules of `joins`.

The private side comes first in the plan, whichever is written first: `public JOIN private` and `private JOIN public`
are the same rows. The columns of the other side get its name before theirs in the plan (`regions.name`), so that no two
are alike. Of ON, what equates one side with the other becomes a pair; the units' equality is kept apart; and of an
INNER join everything else is a condition on joined rows, like WHERE. A LEFT join takes conditions on the joined table
besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlglot import exp

from tacit.query.expressions import Call, Column, Expression, columns
from tacit.query.joins import Join, renamed
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.refusals import quoted, refused
from tacit.query.sql.join_checks import PLAINLY, check_each_row, check_names, check_sides, side_of
from tacit.query.sql.names import match
from tacit.query.sql.scope import Entry, Scope
from tacit.query.sql.terms import Term, call, case, condition, leaf

Names = tuple[tuple[str, str], ...]
"""A table's columns: the name in the plan and the name in the table."""


def joined(left: Scope, right: Scope, node: exp.Join) -> Scope:
    """Return what two sources give when they are joined, or raise RefusedError or InvalidError."""
    side = side_of(node)
    check_names(left, right)
    swapped = left.table.public if left.table.public != right.table.public else side == "RIGHT"
    first, other = (right, left) if swapped else (left, right)
    side = {"LEFT": "RIGHT", "RIGHT": "LEFT"}.get(side, side) if swapped else side
    check_sides(first, other, side)
    joining = _Joining(first, other, "left" if side == "LEFT" else "inner")
    merged = joining.read(node, swapped=swapped)
    scope = joining.scope(merged, swapped=swapped)
    check_each_row(scope)
    return scope


@dataclass(slots=True)
class _Joining:
    """A join as it is being read: the first side, the other, and the conditions found so far."""

    first: Scope
    other: Scope
    kind: Literal["inner", "left"]
    pairs: list[tuple[Expression, Expression]] = field(default_factory=list)
    unit: tuple[str, str] | None = None
    beside: list[Term] = field(default_factory=list)
    names: dict[str, str] = field(init=False)
    tables: list[Join] = field(init=False)
    table: TablePolicy = field(init=False)

    def __post_init__(self) -> None:
        """Give the other side's columns their names in the plan."""
        self.names, self.tables = _moved(self.other, self.kind, set(self.first.table.columns))
        first, other = self.first.table, self.other.table
        more = {self.names[name]: self._policy(policy) for name, policy in other.columns.items()}
        self.table = replace(first, columns={**first.columns, **more})
        if not other.public:
            self.table = replace(
                self.table,
                max_groups=_smaller(first.max_groups, other.max_groups),
                max_rows=_smaller(first.max_rows, other.max_rows),
            )

    def _policy(self, policy: ColumnPolicy) -> ColumnPolicy:
        """Return a column's policy; after a LEFT join NULL is among a public table's keys."""
        if self.kind == "inner" or policy.keys is None or None in policy.keys or not self.other.table.public:
            return policy
        return replace(policy, keys=(*policy.keys, None))

    def _named(self, entry: Entry) -> Entry:
        """Return a column of the other side under the plan's names."""
        return Entry(_with_names(entry.raw, self.names), _with_names(entry.bounded, self.names))

    @property
    def _unit_column(self) -> Column | None:
        """The other table's unit."""
        table = self.other.table
        return None if table.unit is None else Column(self.names[table.unit], table.columns[table.unit].kind)

    def read(self, node: exp.Join, *, swapped: bool) -> dict[str, Entry]:
        """Read the conditions; return the columns of USING, each of which stands for both sides' ones."""
        view = _changed(self.other, self._named)
        left, right = (view, self.first) if swapped else (self.first, view)
        if node.args.get("using"):
            return dict(self._using(name, left, right, swapped=swapped) for name in node.args["using"])
        scope = _together(left, right, self.table)
        for part in _conjuncts(node.args["on"]):
            if isinstance(part, exp.EQ):
                self._equal(scope.raw(part.this), scope.raw(part.expression))
            else:
                self._beside(condition(scope.raw(part), "ON"))
        return {}

    def _using(self, name: exp.Identifier, left: Scope, right: Scope, *, swapped: bool) -> tuple[str, Entry]:
        if not isinstance(name, exp.Identifier):
            raise refused("USING takes names of columns that both sides have", PLAINLY)
        one, two = (side.find(exp.Column(this=name.copy())) for side in (left, right))
        self._equal(one.raw, two.raw)
        own, others = (two, one) if swapped else (one, two)
        return match(name, left.columns) or name.name, others if self._says_more(own, others) else own

    def _says_more(self, own: Entry, others: Entry) -> bool:
        """Whether of two equal columns the public one is better to have: the private one has neither keys nor bounds.

        Never where the private one is the unit: that stays the unit's column, whatever the public table has.
        """
        mine = own.raw.expression
        if self.kind == "left" or not self.other.table.public or not isinstance(mine, Column):
            return False
        policy = self.table.columns[mine.name]
        bare = policy.keys is None and policy.bounds is None and mine.name != self.table.unit
        return bare and others.raw.kind == mine.kind

    def _equal(self, one: Term, two: Term) -> None:
        """Take an equality: of the units, of one side with the other, or any."""
        if self._is_unit(one, two) or self._is_unit(two, one):
            return
        both = call("equal", one, two)
        a, b = both.expression.arguments if isinstance(both.expression, Call) else (both.expression,) * 2
        mine, others = set(self.first.table.columns), {name for name, _ in self.tables[0].columns}
        if _is_of(a, mine) and _is_of(b, others):
            self.pairs.append((a, b))
        elif _is_of(b, mine) and _is_of(a, others):
            self.pairs.append((b, a))
        else:
            self._beside(both)

    def _is_unit(self, one: Term, two: Term) -> bool:
        """Take the equality of the other table's unit with one that is the first's."""
        mine, others, table = one.expression, two.expression, self.first.table
        units = {table.unit, *(join.unit[1] for join in self.first.joins if join.unit is not None)}
        if self.other.table.public or not isinstance(mine, Column) or mine.name not in units:
            return False
        if not isinstance(others, Column) or others != self._unit_column:
            return False
        if mine.kind != others.kind:
            raise refused(
                f"The unit columns of {quoted(table.name)} and {quoted(self.other.table.name)} are of different kinds, "
                f"{mine.kind} and {others.kind}",
                "Have the data's steward declare one type for both.",
            )
        self.unit = self.unit or (mine.name, others.name)
        return True

    def _beside(self, term: Term) -> None:
        """Take a condition that is no equality of both sides."""
        if self.kind == "left" and not columns(term.expression) <= {name for name, _ in self.tables[0].columns}:
            raise refused(
                "In a LEFT JOIN, ON takes equalities of both sides and conditions on the joined table",
                "Put a condition on the kept rows into WHERE or into a CASE.",
            )
        self.beside.append(term)

    def scope(self, merged: Mapping[str, Entry], *, swapped: bool) -> Scope:
        """Return the scope of the joined rows, with all joins and conditions."""
        self._check_conditions()
        view = _changed(self.other, lambda entry: self._after(self._named(entry)))
        scope = _together(*((view, self.first) if swapped else (self.first, view)), self.table, merged)
        met = [*(_with_names(term, self.names) for term in self.other.where), *self.beside]
        size = self.other.table.size
        base = replace(self.tables[0], pairs=tuple(self.pairs), unit=self.unit, copies=self._copies(), size=size)
        if self.kind == "left":
            base, met = replace(base, where=_all(met)), []
        return replace(scope, where=(*self.first.where, *met), joins=(*self.first.joins, base, *self.tables[1:]))

    def _copies(self) -> int | None:
        """Return how many rows of a public table match one row at most; None for a private table."""
        if not self.other.table.public:
            return None
        keys = [self.table.columns[key.name].copies for _, key in self.pairs if isinstance(key, Column)]
        return min(known for known in (self.other.table.size, *keys) if known is not None)

    def _check_conditions(self) -> None:
        first, other = self.first.table, self.other.table
        if not other.public and self.unit is None:
            raise refused(
                f"Private tables are joined on the unit alone, and {quoted(first.name)} and {quoted(other.name)} are "
                "not, so that rows of one unit would come into those of another",
                f"Put {first.name}.{first.unit} = {other.name}.{other.unit} into ON.",
            )
        if self.pairs or self.unit is not None:
            return
        if self.kind == "left" or self.other.joins:
            raise refused("A join must equate a column of one side with one of the other's own table", PLAINLY)
        new = set(self.names.values())
        if not any(columns(term.expression) & new and columns(term.expression) - new for term in self.beside):
            raise refused("Joins without a condition on both sides are not answered", PLAINLY)

    def _after(self, entry: Entry) -> Entry:
        """Return a column of the other side after the join: units are one; what is computed is NULL without a match."""
        raw = entry.raw.expression
        if self.kind == "left":
            if isinstance(raw, Column):
                return entry
            return Entry(self._if_matched(entry.raw), self._if_matched(entry.bounded))
        if self.unit is not None and raw == self._unit_column:
            unit = leaf(Column(self.unit[0], raw.kind))
            return Entry(unit, unit)
        return entry

    def _if_matched(self, term: Term) -> Term:
        """Return what is computed from a LEFT-joined row; a column that was equal to something is there just then."""
        keys = [two for _, two in self.pairs if isinstance(two, Column)]
        key = self._unit_column if self.unit is not None else next(iter(keys), None)
        if key is None:
            raise refused(
                "A LEFT-joined subquery that computes columns must be joined on one of its table's own columns",
                "Compute them in the outer SELECT.",
            )
        return case([(call("not", call("is_null", leaf(key))), term)], None)


def _moved(other: Scope, kind: Literal["inner", "left"], taken: set[str]) -> tuple[dict[str, str], list[Join]]:
    """Return new names for the columns of a side and of the tables that are joined in it, and those tables as joins."""
    below = {name for join in other.joins for name, _ in join.columns}
    own = tuple((name, name) for name in other.table.columns if name not in below)
    first = Join(table=other.table.name, kind=kind, private=not other.table.public, columns=own)
    names: dict[str, str] = {}
    tables: list[Join] = []
    for join in (first, *other.joins):
        called = join.table if tables else other.name or join.table
        new = _free([raw for _, raw in join.columns], called, taken | set(names.values()))
        names |= {old: new[raw] for old, raw in join.columns}
        tables.append(replace(join, columns=tuple((new[raw], raw) for _, raw in join.columns)))
    return names, [_with_new_names(join, names) for join in tables]


def _with_new_names(join: Join, names: Mapping[str, str]) -> Join:
    return replace(
        join,
        pairs=tuple((renamed(one, names), renamed(two, names)) for one, two in join.pairs),
        unit=None if join.unit is None else (names[join.unit[0]], names[join.unit[1]]),
        where=None if join.where is None else renamed(join.where, names),
    )


def _free(raw: Sequence[str], called: str, taken: set[str]) -> dict[str, str]:
    """Return the plan's names of a table's columns: the table's name before theirs, with a number if that is taken."""
    number, used = 0, {name.casefold() for name in taken}  # engines tell names apart without regard to case
    while True:
        found = {name: f"{called}_{number}.{name}" if number else f"{called}.{name}" for name in raw}
        if used.isdisjoint(name.casefold() for name in found.values()):
            return found
        number += 1


def _with_names(term: Term, names: Mapping[str, str]) -> Term:
    return replace(term, expression=renamed(term.expression, names))


def _changed(scope: Scope, change: Callable[[Entry], Entry]) -> Scope:
    """Return a scope with every column in sight changed."""
    return replace(
        scope,
        columns={name: change(entry) for name, entry in scope.columns.items()},
        sides=tuple(_changed(side, change) for side in scope.sides),
    )


def _together(left: Scope, right: Scope, table: TablePolicy, merged: Mapping[str, Entry] | None = None) -> Scope:
    """Return the scope of two sides; no qualifier is needed by columns of one side alone, and by those of USING."""
    once = {name.casefold(): name for name in merged or ()}
    found: dict[str, Entry] = {}
    for scope, others in ((left, _all_names(right)), (right, _all_names(left))):
        for name, entry in scope.columns.items():
            own = once.get(name.casefold())
            if merged is not None and own is not None:
                found.setdefault(own, merged[own])
            elif name.casefold() not in others:
                found[name] = entry
    twice = (left.twice | right.twice | (_all_names(left) & _all_names(right))) - set(once)
    return Scope(table, None, found, sides=(*left.parts, *right.parts), twice=twice)


def _all_names(scope: Scope) -> frozenset[str]:
    return frozenset(name.casefold() for part in scope.parts for name in (*part.columns, *part.hidden))


def _is_of(expression: Expression, names: set[str]) -> bool:
    found = columns(expression)
    return bool(found) and found <= names


def _smaller(one: int | None, two: int | None) -> int | None:
    """Return the smaller of two limits; one that is not given is none."""
    return min((limit for limit in (one, two) if limit is not None), default=None)


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts of a chain of AND, in order."""
    waiting = [node]
    while waiting:
        part = waiting.pop().unnest()
        if isinstance(part, exp.And):
            waiting.extend((part.expression, part.this))
        else:
            yield part


def _all(terms: Iterable[Term]) -> Expression | None:
    met = [term.expression for term in terms]
    return met[0] if len(met) == 1 else Call("and", tuple(met), "boolean") if met else None
