"""Tables that are joined to a private one: which tables, how, and on which columns. Immutable, like the plan.

The rows of a joined plan are the rows of its first table, which is private, combined with the matching rows of one
table after another. A joined table is public, or it is private and matched on the unit.

**Every joined row belongs to one unit, and data of other units do not change it.** Let D be all private tables together
and u a unit: all rows, in all of them, whose unit column has the value u. A joined row consists of one row of the first
table, say of the unit u, and for each joined table of one of its rows, or of NULLs:

* a public row, which belongs to no unit: neighbours have the same public tables;
* a row of a private table whose unit column *equals* that of the first table, or that of an earlier private table,
  which equals the first in turn. So the row belongs to u as well. NULL equals nothing, and rows of the first table
  without a unit are left out, so a row without a unit is in no joined row that counts. The engine compares the same
  values by which it distinguishes units, never values that were rounded or cut (`engines.sql.joined_rows`).

Only rows of u and public rows decide whether rows match, and whether a LEFT JOIN finds no match. So the joined rows of
u are a function of the rows of u, and the joined rows of all other units stay the same if the rows of u change or are
removed. The joined rows are a table with a unit column like any other. The contribution bounds max_groups, max_rows
and reach apply to *them*, after all joins. A join that multiplies a unit's rows multiplies the rows that are scaled
down, not the rows as which they count.

If each row is a unit (no unit column), a row must stay one row: such a table is joined with public tables alone, on a
column of theirs that has no value twice. tacit reads public tables once, when it opens them, so this property, and the
keys and bounds taken from them, cannot change after the plan is made. In PostgreSQL, where tacit writes nothing, they
cannot be stored: each query checks again, in the state of the data that it reads, that no value occurs twice; new
values are not keys, and are clamped to the bounds.

For two private tables the smaller of both limits applies, for max_groups, max_rows and reach, in either order of the
tables: both limits hold, and the order of a join does not change its price.

Not supported: joins that keep public rows without a match (whether a public row has a match reveals who is in the data,
and the answer would have to show it unbounded), joins of private tables on anything but the unit (a row of one unit
would be in the rows of another), and a join of a private table with itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tacit.query.expressions import Call, Case, Cast, Column, Expression
from tacit.query.policy import PublicRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A table that is joined to all tables before it.

    `columns` are its columns: the name in the plan, and the name in the table. A row matches if every pair of `pairs`
    is equal, where the first is over the tables before, and the second over this table; if the two columns of `unit`,
    in the same order, are the same unit; and if `where`, over this table alone, is true. A LEFT join keeps rows without
    a match. At most `copies` of the `size` rows of a public table match one row; for a private table both numbers are
    private, and None. `content` has the rows of a public table as they were when it was opened, under its own names.
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
    content: PublicRows | None = field(default=None, repr=False, compare=False)


def rename_columns(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Return an expression with new names for some columns.

    >>> rename_columns(Cast(Column("x", "text"), "integer"), {"x": "r.x"})
    Cast(operand=Column(name='r.x', kind='text'), kind='integer')
    """
    return _rename(expression, names, {})


def _rename(part: Expression, names: Mapping[str, str], renamed: dict[int, Expression]) -> Expression:
    """Rename the columns of a part, once for each object, because expressions share parts."""
    if id(part) not in renamed:
        match part:
            case Column(name=name, kind=kind, timezone=zone):
                renamed[id(part)] = Column(names.get(name, name), kind, zone)
            case Cast(operand=operand, kind=kind):
                renamed[id(part)] = Cast(_rename(operand, names, renamed), kind)
            case Call(function=function, arguments=arguments, kind=kind):
                inner = tuple(_rename(argument, names, renamed) for argument in arguments)
                renamed[id(part)] = Call(function, inner, kind)
            case Case(branches=branches, otherwise=otherwise, kind=kind):
                pairs = tuple((_rename(a, names, renamed), _rename(b, names, renamed)) for a, b in branches)
                last = None if otherwise is None else _rename(otherwise, names, renamed)
                renamed[id(part)] = Case(pairs, last, kind)
            case _:
                renamed[id(part)] = part
    return renamed[id(part)]
