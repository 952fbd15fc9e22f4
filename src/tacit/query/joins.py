"""Tables that are joined to a private one: values that say which, how, and on what. Immutable, like the plan.

The rows of a joined plan are those of its first table, which is private, with the rows that match of one table after
another. A joined table is public, or private and matched on the unit.

**Every joined row belongs to one unit, and no other unit's data move it.** Let D be all private tables together and u a
unit: all rows, in all of them, whose unit column has the value u. A joined row consists of one row of the first table,
of the unit u say, and for each joined table of one of its rows, or of NULLs:

* a public row, which is nobody's: neighbours have the same public tables;
* a row of a private table whose unit column *equals* that of the first table, or that of a private table before it,
  which equals it in turn. So it is of the unit u as well. NULL equals nothing, and the first table's rows without a
  unit are left out, so a row without a unit is in no joined row that counts. Equality is that of the very values by
  which the engine tells units apart, never of values that were rounded or cut on the way (`duckdb_joins`).

Whether rows match, and whether a LEFT JOIN finds none, is decided by rows of u and public rows alone. So the joined
rows of u are a function of the rows of u, and those of all other units stay as they are when the rows of u change or
go. The joined rows are a table with a unit column like any other; what bounds a unit's reach, max_groups and max_rows,
is applied to *them*, after all joins. A join that multiplies a unit's rows multiplies what is scaled down, not the
reach.

Where each row is a unit (no unit column) a row must stay one row: such a table is joined with public tables alone, on a
column of theirs in which no value stands twice. Public tables are read once, when they are opened, so that this, and
the keys and bounds that are taken from them, cannot change behind a plan's back. PostgreSQL, where nothing may be
written, has no place to keep them: there it is looked again, in each question's own state of the data, that no value
stands twice; values that are new are no keys, and are clamped to the bounds.

Of two private tables the smaller max_groups and max_rows hold, whichever comes first: both limits are kept, and the
order of a join does not change its price.

Not answered: joins that keep public rows without a match (whether a public row has one says who is in the data, and the
answer would have to show it unbounded), joins of private tables on anything but the unit (a row of one unit would be
in the rows of another), and a private table joined with itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tacit.query.expressions import Call, Case, Cast, Column, Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """One more table, joined to all that came before it.

    `columns` are its columns: the name in the plan, and the name in the table. A row matches if every pair of `pairs`
    is equal, the first over what came before, the second over this table; if the two columns of `unit`, in the same
    order, are the same unit; and if `where`, over this table alone, is true. A LEFT join keeps rows without a match.
    At most `copies` of the `size` rows of a public table match one row; of a private table both are private, and None.
    """

    table: str
    kind: Literal["inner", "left"]
    private: bool
    columns: tuple[tuple[str, str], ...]
    pairs: tuple[tuple[Expression, Expression], ...] = ()
    unit: tuple[str, str] | None = None
    where: Expression | None = None
    copies: int | None = field(default=None, repr=False)
    size: int | None = field(default=None, repr=False)


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Return an expression with other names for some columns.

    >>> renamed(Cast(Column("x", "text"), "integer"), {"x": "r.x"})
    Cast(operand=Column(name='r.x', kind='text'), kind='integer')
    """
    return _renamed(expression, names, {})


def _renamed(part: Expression, names: Mapping[str, str], made: dict[int, Expression]) -> Expression:
    """Return a part renamed, once for each object: terms share their parts."""
    if id(part) not in made:
        match part:
            case Column(name=name, kind=kind):
                made[id(part)] = Column(names.get(name, name), kind)
            case Cast(operand=operand, kind=kind):
                made[id(part)] = Cast(_renamed(operand, names, made), kind)
            case Call(function=function, arguments=arguments, kind=kind):
                inner = tuple(_renamed(argument, names, made) for argument in arguments)
                made[id(part)] = Call(function, inner, kind)
            case Case(branches=branches, otherwise=otherwise, kind=kind):
                pairs = tuple((_renamed(a, names, made), _renamed(b, names, made)) for a, b in branches)
                last = None if otherwise is None else _renamed(otherwise, names, made)
                made[id(part)] = Case(pairs, last, kind)
            case _:
                made[id(part)] = part
    return made[id(part)]
