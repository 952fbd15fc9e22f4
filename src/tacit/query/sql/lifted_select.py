"""A SELECT that computes with its own aggregates, split into the aggregates and the computation.

    SELECT region, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS place FROM visits GROUP BY region
    inner    SELECT region, count(*) AS n FROM visits GROUP BY region
    outer    SELECT region, n, rank() OVER (ORDER BY n DESC) AS place FROM …

That is so for window functions, QUALIFY and DISTINCT over groups, and for ROLLUP, CUBE and GROUPING SETS. Of the last
three the inner SELECT has the finest groups, and the outer one adds them up:

    SELECT region, urban, count(*) FROM visits GROUP BY CUBE (region, urban)
    inner    SELECT region, urban, count(*) AS value_1 FROM visits GROUP BY region, urban
    outer    SELECT region, urban, sum(value_1) FROM … GROUP BY CUBE (region, urban)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.query.refusals import refused
from tacit.query.sql.names import default_name
from tacit.query.sql.row_expressions import is_aggregate

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
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


def grouped_node(item: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return the expression of a GROUP BY item, which may be a position or an alias of the select list."""
    item = item.unnest()
    if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal():
        place = int(item.name) - 1
        return select.expressions[place].unalias() if 0 <= place < len(select.expressions) else item
    aliases = {each.alias.casefold(): each.this for each in select.expressions if isinstance(each, exp.Alias)}
    return aliases.get(item.name.casefold(), item) if isinstance(item, exp.Column) and not item.table else item


def lift(select: exp.Select) -> tuple[exp.Select, exp.Select, bool]:
    """Return the inner SELECT, the outer one without its FROM, and whether the inner groups are added up."""
    tabulated = _has_sets(select)
    inner, outer = exp.Select(), select.copy()
    for name in _INNER:
        if select.args.get(name) is not None:
            part = select.args[name]
            inner.set(name, part.copy() if isinstance(part, exp.Expr) else [each.copy() for each in part])
            outer.set(name, None)
    columns = _Columns(outer)
    if not tabulated:
        outer.set("group", None)
        if select.args.get("having") is not None:
            inner.set("having", select.args["having"].copy())
            outer.set("having", None)
    items = _key_items(select)
    keys = [columns.key(item, select) for item in items]
    _name_outputs(outer)
    _replace(outer, columns, tabulated=tabulated)
    inner.set("expressions", columns.items())
    if keys:
        inner.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return inner, outer, tabulated


def _key_items(select: exp.Select) -> list[exp.Expr]:
    """Return the GROUP BY items, also those inside ROLLUP, CUBE and GROUPING SETS, each once."""
    group = select.args.get("group")
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
    """The columns of the inner SELECT: expressions by their names."""

    outer: exp.Select
    found: dict[str, exp.Expr] = field(default_factory=dict)
    _keys: list[tuple[exp.Expr, str]] = field(default_factory=list)

    def key(self, item: exp.Expr, select: exp.Select) -> exp.Expr:
        """Add a key, and return its expression."""
        node = grouped_node(item, select)
        name = self._name(node)
        self.found.setdefault(name, node.copy())
        self._keys += [(node, name), (item.unnest(), name)]
        return node

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
        aliases = [each.alias for each in self.outer.expressions if isinstance(each, exp.Alias) and each.this == node]
        taken = {name.casefold() for name in self.found}
        wanted = aliases[0] if aliases else node.name if isinstance(node, exp.Column) else ""
        used = {each.name.casefold() for each in self.outer.find_all(exp.Identifier)}
        if wanted and wanted.casefold() not in taken:
            return wanted
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
    """Yield the nodes of the select list, QUALIFY and ORDER BY that are keys or aggregates, and not inside another."""
    parts: list[exp.Expr] = [*outer.expressions]
    parts += [
        outer.args[name] for name in ("qualify", "order", "having", "distinct") if outer.args.get(name) is not None
    ]
    parts += list(outer.args.get("windows") or ())
    waiting = parts
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, (exp.Select, exp.SetOperation)):
            raise refused("A subquery in a SELECT that aggregates private rows is not supported", "Use a CTE.")
        aggregate = is_aggregate(part) and not is_window_function(part) and not isinstance(part, exp.Grouping)
        if columns.key_name(part) is not None or aggregate:
            yield part
        else:
            waiting = [*part.iter_expressions(), *waiting]


def _added_up(node: exp.Expr, columns: _Columns) -> exp.Expr:
    """Return the aggregate of all finest groups: counts and sums add up, and an average is their ratio."""
    if isinstance(node, (exp.Count, exp.Sum)) and not isinstance(node.this, exp.Distinct):
        return _sum_of(node, columns)
    if isinstance(node, exp.Avg) and not isinstance(node.this, exp.Distinct):
        total, count = exp.Sum(this=node.this.copy()), exp.Count(this=node.this.copy(), big_int=True)
        return exp.Paren(this=exp.Div(this=_sum_of(total, columns), expression=_sum_of(count, columns)))
    raise refused(
        "ROLLUP, CUBE and GROUPING SETS are supported for count, sum and avg only",
        "Run one query for each grouping.",
    )


def _sum_of(node: exp.Expr, columns: _Columns) -> exp.Expr:
    return exp.Sum(this=exp.column(exp.to_identifier(columns.aggregate(node), quoted=True)))


def _group_by_names(group: exp.Group, columns: _Columns) -> None:
    """Replace the items of ROLLUP, CUBE and GROUPING SETS by the names of their columns."""
    for node in list(group.walk()):
        if isinstance(node, (exp.Group, *_SETS, exp.Tuple, exp.Identifier)):
            continue
        name = columns.key_name(node)
        if name is not None:
            node.replace(exp.column(exp.to_identifier(name, quoted=True)))
