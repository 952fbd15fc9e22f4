"""The items of a SELECT list: their names, and the items that GROUP BY refers to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from sqlglot import exp

from tacit.errors import InvalidError, show_name
from tacit.query.refusals import refused
from tacit.query.sql.names import default_name, resolve
from tacit.query.sql.scope import Scope


def item_name(item: exp.Expr, scope: Scope) -> str:
    """Return the name of an item of a SELECT list: its alias, the name of its column, or its text."""
    if isinstance(item, exp.Alias):
        return str(item.alias)
    name = resolve(item.this, scope.columns) if isinstance(item, exp.Column) else None
    return default_name(item) if name is None else name


def unaliased(item: exp.Expr) -> exp.Expr:
    """Return an item without its alias and without parentheses around it."""
    inner = item.this if isinstance(item, exp.Alias) else item
    return inner.unnest()


def position(item: exp.Expr, select: exp.Select) -> int:
    """Return the index of the item that a number in GROUP BY or ORDER BY refers to."""
    text = str(item.this)
    count = len(select.expressions)
    if not text.isdecimal() or not 1 <= float(text) <= count:
        message = f"The select list has no position {show_name(text)}."
        raise InvalidError(message, argument="sql", hint=f"Use a position from 1 to {count}.")
    return int(text) - 1


def grouped_node(item: exp.Expr, select: exp.Select, scope: Scope) -> exp.Expr:
    """Return the node that a GROUP BY item refers to: by position in the select list, a column, an alias, or itself."""
    item = item.unnest()
    if isinstance(item, exp.Literal) and not item.is_string:
        return unaliased(select.expressions[position(item, select)])
    if isinstance(item, exp.Column) and not item.args.get("table") and resolve(item.this, scope.columns) is None:
        aliases = {other.alias: other.this for other in select.expressions if isinstance(other, exp.Alias)}
        alias = resolve(item.this, aliases)
        return item if alias is None else unaliased(aliases[alias])
    return item


def check_aliases(select: exp.Select, columns: Collection[str]) -> None:
    """Raise RefusedError if a name refers to an alias that two items have; versions of DuckDB differ in which it is.

    Args:
        select: the SELECT.
        columns: the names of the columns of its FROM, in lower case; they come before aliases, except in ORDER BY.
    """
    counts = Counter(item.alias.casefold() for item in select.expressions if isinstance(item, exp.Alias))
    twice = {name for name, count in counts.items() if count > 1}
    clauses = [
        select.args[name] for name in ("group", "having", "qualify", "order", "distinct") if select.args.get(name)
    ]
    order = select.args.get("order")
    sorted_by = [] if order is None else [item.this.unnest() for item in order.expressions]
    for part in [*select.expressions, *clauses, *(select.args.get("windows") or ())] if twice else ():
        for column in part.find_all(exp.Column):
            first = column.name.casefold() not in columns or any(column is each for each in sorted_by)
            if first and not column.table and column.name.casefold() in twice:
                raise refused(f"Two items have the alias {show_name(column.name)}", "Give them different aliases.")


def check_distinct(names: Sequence[str], old: Collection[str]) -> None:
    """Check that no two columns have one name, ignoring case; a table's own columns may differ in case alone."""
    seen: dict[str, str] = {}
    for name in names:
        before = seen.get(name.casefold())
        if before is not None and (before == name or before not in old or name not in old):
            hint = "Give one of them another name; SELECT * REPLACE (… AS x) replaces the column x."
            raise refused(f"A subquery names the column {show_name(name)} twice", hint)
        seen[name.casefold()] = name
