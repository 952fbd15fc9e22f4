"""A SELECT that computes with its own aggregates, split into the aggregates and the computation.

    SELECT region, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS place FROM visits GROUP BY region
    inner    SELECT region, count(*) AS n FROM visits GROUP BY region
    outer    SELECT region, n, rank() OVER (ORDER BY n DESC) AS place FROM …

That is so for window functions, QUALIFY and DISTINCT over groups, and for ROLLUP, CUBE and GROUPING SETS. Of the last
three the inner SELECT has the finest groups, and the outer one adds them up:

    SELECT region, urban, count(*) FROM visits GROUP BY CUBE (region, urban)
    inner    SELECT region, urban, count(*) AS value_1 FROM visits GROUP BY region, urban
    outer    SELECT region, urban, sum(value_1) FROM … GROUP BY CUBE (region, urban)

**Names.** A name in GROUP BY refers to a column of FROM if there is one, and to an alias otherwise, as in DuckDB. A
column of the inner SELECT has the name of a column of FROM only if it is that column. So a name that stays in the outer
SELECT cannot refer to anything else than before the split.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.errors import show_name
from tacit.query.refusals import refused
from tacit.query.sql.names import default_name
from tacit.query.sql.row_expressions import is_aggregate
from tacit.query.sql.select_items import check_aliases

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_GROUPINGS = (exp.Grouping, exp.GroupingId)
_INNER = ("with_", "from_", "joins", "where", "laterals")


def is_lifted(select: exp.Select) -> bool:
    """Return whether an aggregating SELECT computes with its aggregates in a way that a plan does not."""
    clauses = any(select.args.get(name) for name in ("qualify", "distinct", "windows"))
    items = [*select.expressions, *filter(None, [select.args.get("order")])]
    return clauses or _has_sets(select) or any(item.find(exp.Window) is not None for item in items)


def _has_sets(select: exp.Select) -> bool:
    group = select.args.get("group")
    return group is not None and any(isinstance(item, _SETS) for item in group.expressions)


def is_window_function(node: exp.Expr) -> bool:
    """Return whether an aggregate is the function of a window, perhaps with FILTER."""
    parent = node.parent
    while isinstance(parent, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
        node, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is node


def grouped_node(item: exp.Expr, select: exp.Select, columns: Collection[str] = ()) -> exp.Expr:
    """Return the expression of a GROUP BY item: a position in the select list, one of these columns, or an alias."""
    item = item.unnest()
    if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal():
        place = int(item.name) - 1
        return select.expressions[place].unalias().unnest() if 0 <= place < len(select.expressions) else item
    if not isinstance(item, exp.Column) or item.table or item.name.casefold() in columns:
        return item
    return _aliases(select).get(item.name.casefold(), item).unnest()


def _aliases(select: exp.Select) -> dict[str, exp.Expr]:
    """Return the items of a select list by their aliases; no name refers to an alias that two items have."""
    return {each.alias.casefold(): each.this for each in select.expressions if isinstance(each, exp.Alias)}


def lift(select: exp.Select, columns: Collection[str]) -> tuple[exp.Select, exp.Select, bool]:
    """Return the inner SELECT, the outer one without its FROM, and whether the inner groups are added up.

    Args:
        select: the SELECT.
        columns: the names of the columns of its FROM, in lower case.
    """
    check_aliases(select, columns)
    tabulated = _has_sets(select)
    inner, outer = exp.Select(), select.copy()
    for name in _INNER:
        if select.args.get(name) is not None:
            part = select.args[name]
            inner.set(name, part.copy() if isinstance(part, exp.Expr) else [each.copy() for each in part])
            outer.set(name, None)
    found = _Columns(outer, frozenset(columns))
    items = _key_items(select)
    keys = [found.key(item, select) for item in items]
    if not tabulated:
        outer.set("group", None)
        if select.args.get("having") is not None:
            inner.set("having", _without_aliases(select, found))
            outer.set("having", None)
    _name_outputs(outer)
    _replace(outer, found, tabulated=tabulated)
    inner.set("expressions", found.items())
    if keys:
        inner.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return inner, outer, tabulated


def _without_aliases(select: exp.Select, columns: _Columns) -> exp.Expr:
    """Return HAVING with the expressions that its aliases stand for, because the inner SELECT has other names."""
    having: exp.Expr = select.args["having"].copy()
    aliases = _aliases(select)
    for node in list(having.find_all(exp.Column)):
        value = None if node.table or columns.key_name(node) is not None else aliases.get(node.name.casefold())
        if value is not None and node.find_ancestor(exp.AggFunc) is None:
            node.replace(exp.Paren(this=value.copy()))
    return having


def _key_items(select: exp.Select) -> list[exp.Expr]:
    """Return the GROUP BY items, also those inside ROLLUP, CUBE and GROUPING SETS, each once."""
    group = select.args.get("group")
    if group is not None and group.args.get("all"):
        raise refused("GROUP BY ALL is not supported with *", "Name the columns.")
    waiting = [] if group is None else list(group.expressions)
    found: list[exp.Expr] = []
    while waiting:
        item = waiting.pop(0).unnest()
        if isinstance(item, (*_SETS, exp.Tuple)):
            waiting = [*item.expressions, *waiting]
        elif item not in found:
            found.append(item)
    return found


def _name_outputs(outer: exp.Select) -> None:
    """Give every item of the outer SELECT the name that it has before the split."""
    for item in outer.expressions:
        if not isinstance(item, (exp.Alias, exp.Star, exp.Column)):
            item.replace(exp.alias_(item.copy(), default_name(item), quoted=True))


@dataclass(slots=True)
class _Columns:
    """The columns of the inner SELECT, which are expressions by their names; `source` are the columns of FROM."""

    outer: exp.Select
    source: frozenset[str]
    found: dict[str, exp.Expr] = field(default_factory=dict)
    _keys: list[tuple[exp.Expr, str]] = field(default_factory=list)
    _items: list[tuple[exp.Expr, str]] = field(default_factory=list)

    def key(self, item: exp.Expr, select: exp.Select) -> exp.Expr:
        """Add a key, and return its expression."""
        node = grouped_node(item, select, self.source)
        name = self._name(node)
        self.found.setdefault(name, node.copy())
        self._keys.append((node, name))
        self._items.append((item, name))
        if isinstance(item, exp.Column):  # perhaps an alias; a position is an ordinary number elsewhere
            self._keys.append((item, name))
        return node

    def item_name(self, item: exp.Expr) -> str | None:
        """Return the name of the key that a GROUP BY item is."""
        return next((name for other, name in self._items if other == item), None)

    def key_name(self, node: exp.Expr) -> str | None:
        """Return the name of the key that a node is equal to."""
        for key, name in self._keys:
            same = isinstance(node, exp.Column) and isinstance(key, exp.Column) and not (node.table and key.table)
            if node == key or (same and node.name.casefold() == key.name.casefold()):
                return name
        return None

    def aggregate(self, node: exp.Expr) -> str:
        """Add an aggregate, and return its name."""
        name = self._name(node)
        self.found.setdefault(name, node.copy())
        return name

    def _name(self, node: exp.Expr) -> str:
        """Return the name of an inner column: that of the item that is equal to it, or a new one."""
        known = next((name for name, other in self.found.items() if other == node), None)
        if known is not None:
            return known
        wanted = [each.alias for each in self.outer.expressions if isinstance(each, exp.Alias) and each.this == node]
        if isinstance(node, exp.Column):
            first = node.name.casefold() in _aliases(self.outer)  # ORDER BY may use this name for another item
            wanted = [node.name, *wanted] if first else [*wanted, node.name]
        taken = {name.casefold() for name in self.found}
        for name in wanted:
            own = isinstance(node, exp.Column) and node.name.casefold() == name.casefold()
            if name.casefold() not in taken and (own or name.casefold() not in self.source):
                return str(name)
        used = {each.name.casefold() for each in self.outer.find_all(exp.Identifier)} | self.source
        number = 1
        while f"value_{number}" in taken | used:
            number += 1
        return f"value_{number}"

    def items(self) -> list[exp.Expr]:
        """Return the select list of the inner SELECT."""
        return [exp.alias_(node.copy(), name, quoted=True) for name, node in self.found.items()]


def _replace(outer: exp.Select, columns: _Columns, *, tabulated: bool) -> None:
    """Replace the keys and the aggregates of the outer SELECT by columns of the inner one."""
    group = outer.args.get("group")
    for node in list(_outermost(outer, columns)):
        key = columns.key_name(node)
        if key is None and tabulated:
            node.replace(_added_up(node, columns))
        else:
            node.replace(exp.column(exp.to_identifier(key or columns.aggregate(node), quoted=True)))
    if group is not None:
        _group_by_names(group, columns)


def _outermost(outer: exp.Select, columns: _Columns) -> Iterator[exp.Expr]:
    """Yield the nodes of the outer SELECT that are keys or aggregates, and not inside another.

    ORDER BY refers to an alias before a key, and HAVING to a key before an alias; both refer to an alias before any
    other column. Elsewhere a column comes first. A name inside an expression of ORDER BY refers to a key first. It is
    left to DuckDB, because a key has the name of its column if an alias has that name (`_Columns`).
    """
    clauses = [outer.args[name] for name in ("qualify", "distinct") if outer.args.get(name) is not None]
    yield from _found([*outer.expressions, *clauses, *(outer.args.get("windows") or ())], columns, outer)
    aliases = frozenset(_aliases(outer))
    if outer.args.get("having") is not None:
        others = frozenset(name for name in aliases if columns.key_name(exp.column(name)) is None)
        yield from _found([outer.args["having"]], columns, outer, others)
    if outer.args.get("order") is not None:
        yield from _found([outer.args["order"]], columns, outer, aliases)


def _found(
    waiting: list[exp.Expr], columns: _Columns, outer: exp.Select, aliases: Collection[str] = ()
) -> Iterator[exp.Expr]:
    """Yield the outermost keys and aggregates; a column with one of these aliases is that item of the select list."""
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, exp.Column) and not part.table and part.name.casefold() in aliases:
            continue
        if columns.key_name(part) is not None or _is_measured(part):
            yield part
        else:
            _check_part(part, columns, outer)
            waiting = [*part.iter_expressions(), *waiting]


def _is_measured(part: exp.Expr) -> bool:
    """Return whether a node is an aggregate of rows, perhaps with FILTER."""
    function = part.this if isinstance(part, exp.Filter) else part
    return is_aggregate(function) and not is_window_function(function) and not isinstance(function, _GROUPINGS)


def _check_part(part: exp.Expr, columns: _Columns, outer: exp.Select) -> None:
    """Check a node of the outer SELECT that is neither a key nor an aggregate."""
    if isinstance(part, (exp.Select, exp.SetOperation)):
        raise refused("A subquery in a SELECT that aggregates private rows is not supported", "Use a CTE.")
    if isinstance(part, exp.Column) and (part.table or part.name.casefold() in columns.source):
        raise refused(
            f"The column {show_name(part.name)} is outside an aggregate and not in GROUP BY, which would release rows",
            "Group by it, or put it into count, sum or avg.",
        )
    if isinstance(part, exp.GroupingId):
        raise refused("grouping_id is not supported", "Write grouping(x) for each column x.")
    if isinstance(part, exp.Grouping) and outer.args.get("group") is None:
        raise refused("grouping needs ROLLUP, CUBE or GROUPING SETS", "Leave grouping out.")


def _added_up(node: exp.Expr, columns: _Columns) -> exp.Expr:
    """Return the aggregate of all finest groups: counts and sums add up, and an average is their ratio."""
    function = node.this if isinstance(node, exp.Filter) else node
    if isinstance(function, (exp.Count, exp.Sum)) and not isinstance(function.this, exp.Distinct):
        return _sum_of(node, columns)
    if isinstance(function, exp.Avg) and not isinstance(function.this, exp.Distinct):
        total, count = exp.Sum(this=function.this.copy()), exp.Count(this=function.this.copy(), big_int=True)
        ends = [_sum_of(_filtered(each, node), columns) for each in (total, count)]
        return exp.Paren(this=exp.Div(this=ends[0], expression=ends[1]))
    raise refused(
        "ROLLUP, CUBE and GROUPING SETS are supported for count, sum and avg only",
        "Run one query for each grouping.",
    )


def _filtered(function: exp.Expr, node: exp.Expr) -> exp.Expr:
    """Return a function with the FILTER of a node, if it has one."""
    if not isinstance(node, exp.Filter):
        return function
    return exp.Filter(this=function, expression=node.expression.copy())


def _sum_of(node: exp.Expr, columns: _Columns) -> exp.Expr:
    return exp.Sum(this=exp.column(exp.to_identifier(columns.aggregate(node), quoted=True)))


def _group_by_names(group: exp.Group, columns: _Columns) -> None:
    """Replace the items of ROLLUP, CUBE and GROUPING SETS by the names of their columns."""
    for node in list(group.walk()):
        if isinstance(node, (exp.Group, *_SETS, exp.Tuple, exp.Identifier)):
            continue
        name = columns.item_name(node)
        if name is not None:
            node.replace(exp.column(exp.to_identifier(name, quoted=True)))
