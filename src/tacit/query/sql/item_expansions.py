"""Select lists written in short, rewritten in full before the query is checked.

    SELECT g, count(*) FROM t GROUP BY ALL              SELECT g, count(*) FROM t GROUP BY 1
    SELECT quantile_cont(x, [0.25, 0.75]) FROM t        SELECT quantile_cont(x, 0.25), quantile_cont(x, 0.75) FROM t
    SELECT quantile_cont(x, [0.25, 0.75]) AS q FROM t   SELECT … AS "q_0.25", … AS "q_0.75" FROM t

As in DuckDB, GROUP BY ALL groups by the items that have no aggregate and no window function. A constant is the same in
all rows, so it is not a group. The result is checked like any query, so nothing that is refused is admitted here.
"""

from __future__ import annotations

from sqlglot import exp

from tacit.query.sql.names import to_sql
from tacit.query.sql.row_expressions import is_aggregate

_QUANTILES = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile)


def expand_items(select: exp.Select) -> None:
    """Rewrite lists of quantiles and GROUP BY ALL of one SELECT.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT g, quantile_cont(x, [0.1, 0.9]) AS q FROM t GROUP BY ALL", dialect="duckdb")
    >>> expand_items(tree)
    >>> to_sql(tree)
    'SELECT g, QUANTILE_CONT(x, 0.1) AS "q_0.1", QUANTILE_CONT(x, 0.9) AS "q_0.9" FROM t GROUP BY 1'
    """
    for item in list(select.expressions):
        _expand_quantiles(select, item)
    _expand_group_all(select)


def move_positions(select: exp.Select, first: int, by: int) -> None:
    """Move the positions in GROUP BY and ORDER BY from the first on, because items were added before them."""
    group, order = select.args.get("group"), select.args.get("order")
    named = [] if group is None else list(group.expressions)
    named += [] if order is None else [each.this for each in order.expressions]
    for node in named:
        if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdecimal():
            position = int(node.this)
            if position >= first:
                node.set("this", str(position + by))


def _expand_quantiles(select: exp.Select, item: exp.Expr) -> None:
    """Replace an item that is a list of quantiles by one item for each."""
    call = item.unalias()
    name = "quantile" if isinstance(call, exp.Quantile) else "expression"
    shares = call.args.get(name) if isinstance(call, _QUANTILES) else None
    if not isinstance(shares, exp.Array) or not shares.expressions:
        return
    place = next(index for index, each in enumerate(select.expressions) if each is item)
    parts: list[exp.Expr] = []
    for share in shares.expressions:
        part = call.copy()
        part.set(name, share.copy())
        parts.append(exp.alias_(part, f"{item.alias}_{to_sql(share)}", quoted=True) if item.alias else part)
    move_positions(select, place + 2, len(parts) - 1)
    select.set("expressions", [*select.expressions[:place], *parts, *select.expressions[place + 1 :]])


def _expand_group_all(select: exp.Select) -> None:
    """Replace GROUP BY ALL by the positions of the items without aggregates, unless a star hides some."""
    group = select.args.get("group")
    if (
        group is None
        or not group.args.get("all")
        or any(each.is_star and not is_aggregate(each.unalias()) for each in select.expressions)
    ):
        return
    places = [index for index, item in enumerate(select.expressions, 1) if _is_key(item.unalias())]
    keys = [exp.Literal.number(place) for place in places]
    select.set("group", exp.Group(expressions=keys) if keys else None)


def _is_key(item: exp.Expr) -> bool:
    """Return whether an item is neither a constant nor computed from several rows, outside of subqueries."""
    parts = list(item.walk(prune=lambda node: isinstance(node, exp.Query)))
    return not isinstance(item, exp.Literal) and not any(
        is_aggregate(part) or isinstance(part, exp.Window) for part in parts
    )
