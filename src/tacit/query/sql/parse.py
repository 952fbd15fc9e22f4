"""SQL text becomes a plan, by allow-list. Nothing is read from the data and nothing is charged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from sqlglot import exp

from tacit.errors import InvalidError, RefusedError, UnusedKeyError, show_name
from tacit.query.expressions import Expression, Kind, Value, columns
from tacit.query.key_tuples import KeyTuples
from tacit.query.plan import Key, Order, Plan
from tacit.query.policy import TablePolicy
from tacit.query.policy.limits import NO_BOUNDS, QueryBounds
from tacit.query.refusals import refused
from tacit.query.sql.from_clause import read_from
from tacit.query.sql.grammar import nested_too_deep, read_select
from tacit.query.sql.key_values import domain, own_column
from tacit.query.sql.mode_calls import mode_names
from tacit.query.sql.mode_calls import squeezed as _squeeze
from tacit.query.sql.names import default_name, to_sql, unique_names
from tacit.query.sql.public_relations import with_tuples
from tacit.query.sql.row_expressions import check_call_name, is_aggregate
from tacit.query.sql.row_work import check_row_work
from tacit.query.sql.scope import Scope
from tacit.query.sql.select_items import check_aliases, grouped_node, item_name, position, unaliased
from tacit.query.sql.select_list import OutputBuilder
from tacit.query.sql.table_scope import table_scope
from tacit.query.sql.typed_expressions import TypedExpression, condition, conjunction

_MOST_CELLS = 1_000_000
_MOST_ROWS = 2**62

KeyLists = Mapping[str, Sequence[Value]]
"""Public keys that the caller lists, by the name or the text of a GROUP BY item."""


def parse(
    sql: str,
    tables: Mapping[str, TablePolicy],
    *,
    keys: KeyLists | None = None,
    bounds: QueryBounds = NO_BOUNDS,
) -> Plan:
    """Return the plan of one SELECT over one private table, or raise RefusedError or InvalidError.

    Args:
        sql: the query, in DuckDB's SQL.
        tables: the policies of the tables that the query may name.
        keys: the values to group by if the policy does not list them, by the alias or the text of a GROUP BY item.
        bounds: the bounds of columns of subqueries that group by the unit, by the columns' names.

    >>> from tacit.query.policy import ColumnPolicy
    >>> columns = {"urban": ColumnPolicy(kind="boolean")}
    >>> t = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns=columns)
    >>> plan = parse("SELECT urban, count(*) AS n FROM t GROUP BY urban", {"t": t})
    >>> plan.keys[0].values, [name for name, _ in plan.outputs]
    ((False, True), ['urban', 'n'])
    """
    try:
        scopes = {name: table_scope(table, bounds) for name, table in tables.items()}
        return _plan(read_select(sql), scopes, dict(keys or {}))
    except RecursionError as error:
        raise nested_too_deep() from error


def subquery_kinds(sql: str, tables: Mapping[str, TablePolicy], bounds: QueryBounds = NO_BOUNDS) -> dict[str, Kind]:
    """Return the kinds of the columns of a query's subqueries that group by the unit, by the columns' names.

    Args:
        sql: the query.
        tables: the policies of the tables that it may name.
        bounds: the bounds of these columns that are known.
    """
    try:
        scope = read_from(read_select(sql), {name: table_scope(table, bounds) for name, table in tables.items()})
    except RecursionError as error:
        raise nested_too_deep() from error
    levels = [] if scope.units is None else list(scope.units.levels)
    return {name: expression.kind for level in reversed(levels) for name, expression in level.columns}


def _plan(select: exp.Select, tables: Mapping[str, Scope], key_lists: KeyLists) -> Plan:
    scope = read_from(select, tables)
    if scope.table.public:
        reason = f"The table {show_name(scope.table.name)} is public, so its answers need no noise"
        raise refused(reason, "Read it directly, or join a private table with it.")
    _check_not_rows(select)
    check_aliases(select, [name.casefold() for name in scope.columns])
    keys, tuples = _keys(select, scope, key_lists)
    builder = OutputBuilder(scope, keys, key_lists)
    terms = _items(select, builder)
    names = unique_names(_check_printable(item_name(item, scope)) for item in select.expressions)
    having, order = _having(select, builder, terms), _order(select, builder, terms)
    if not builder.asks and all(key.values is not None for key in builder.keys):
        raise refused("The query reads nothing from the data, because its groups are public", "Add count(*).")
    bundles, aggregates = builder.measures()
    plan = Plan(
        sql=to_sql(select),
        table=scope.table,
        where=conjunction(scope.where),
        keys=tuple(builder.keys),
        bundles=bundles,
        aggregates=aggregates,
        outputs=tuple((name, builder.output(term)) for name, term in zip(names, terms, strict=True)),
        having=None if having is None else builder.output(having),
        order=order,
        limit=_row_count(select, "limit"),
        offset=_row_count(select, "offset") or 0,
        joins=scope.joins,
        tuples=tuples,
        units=scope.units,
    )
    _check_cells(plan)
    check_row_work(plan)
    return plan


def _check_printable(name: str) -> str:
    """Return a column's name if it has no control characters, which could control the reader's terminal."""
    if not name.isprintable():
        message = "The name of a column contains control characters."
        raise InvalidError(message, argument="sql", hint="Give it an alias that can be printed.")
    return name


def _check_not_rows(select: exp.Select) -> None:
    """Check that the query has groups or aggregates, and does not select all columns."""
    stars = [item for item in select.expressions if isinstance(item, exp.Star) or isinstance(item.this, exp.Star)]
    items = [*select.expressions, *(select.args[name] for name in ("having", "order") if select.args.get(name))]
    aggregates = any(is_aggregate(part) for item in items for part in item.walk())
    if any(not is_aggregate(star) for star in stars) or not (aggregates or select.args.get("group")):
        for part in select.walk():
            check_call_name(part)  # an aggregate with an unknown name is a call, not a row
        hint = "Select aggregates: count(*), sum(x), avg(x), with or without GROUP BY."
        raise refused("The query selects rows, which are never released", hint)


def _keys(select: exp.Select, scope: Scope, key_lists: KeyLists) -> tuple[list[Key], tuple[KeyTuples, ...]]:
    """Return the keys of GROUP BY, and the tuples of keys that are listed together."""
    group = select.args.get("group")
    items: dict[Expression, tuple[str, Sequence[Value] | None]] = {}
    used: set[str] = set()
    for item in [] if group is None else group.expressions:
        node = grouped_node(item, select, scope)
        expression = _key_expression(node, scope)
        names = [_key_name(node, select, scope), default_name(node), to_sql(node), *_column_name(expression, scope)]
        name = next((name for name in key_lists if _squeeze(name) in map(_squeeze, names)), None)
        used |= set() if name is None else {name}
        items.setdefault(expression, (names[0], None if name is None else key_lists[name]))
    modes = set(map(_squeeze, mode_names(select)))
    for name in key_lists:
        if name not in used and _squeeze(name) not in modes:
            raise UnusedKeyError(name)
    keys = [
        Key(name=name, expression=expression, values=_key_values(expression, name, scope, listed))
        for expression, (name, listed) in items.items()
    ]
    keys, tuples = with_tuples(keys, [listed is not None for _, listed in items.values()], scope)
    _check_not_shadowed(keys, select, scope)
    return keys, tuples


def _key_values(
    expression: Expression, name: str, scope: Scope, listed: Sequence[Value] | None
) -> tuple[Value, ...] | None:
    """Return the public values of a key; None if they are not public, so that partition selection must find them."""
    try:
        return domain(expression, name, scope.table, listed)
    except RefusedError:
        return None  # `price` raises this error again if the query has no δ


def _check_not_shadowed(keys: Sequence[Key], select: exp.Select, scope: Scope) -> None:
    """Check that no discovered key is a column whose name is the alias of a different item."""
    aliases = {item.alias.casefold(): item for item in select.expressions if isinstance(item, exp.Alias)}
    for key in keys:
        is_column, alias = bool(_column_name(key.expression, scope)), aliases.get(key.name.casefold())
        if key.values is not None or not is_column or alias is None:
            continue
        if scope.raw(alias.this).expression != key.expression:
            hint = f"Write GROUP BY {select.expressions.index(alias) + 1}, or give the item another alias."
            reason = f"GROUP BY {key.name} refers to the column of that name, not to the item {show_name(alias.alias)}"
            raise refused(reason, hint)


def _check_cells(plan: Plan) -> None:
    cells = prod(factor.size for factor in plan.factors)
    if cells > _MOST_CELLS:
        hint = "Group by fewer columns or in larger bins."
        raise refused(f"The groups have {cells:,} combinations; the limit is {_MOST_CELLS:,}", hint)


def _key_expression(node: exp.Expr, scope: Scope) -> Expression:
    term = scope.raw(node)
    names = columns(term.expression)
    unit = scope.unit
    if unit is not None and unit.name in names:
        raise refused(
            f"GROUP BY the unit column {unit.name!r} is not supported, because it would show single units",
            f"Group by another column. Or group by {unit.name} in a subquery, and aggregate its rows in the outermost "
            "SELECT.",
        )
    if not names:
        raise refused("GROUP BY a constant is not supported", "Name columns or expressions of columns.")
    return term.expression


def _key_name(node: exp.Expr, select: exp.Select, scope: Scope) -> str:
    """Return a key's name in the answer: the name of the first item that is equal to it, or its default name."""
    item = next((item for item in select.expressions if unaliased(item) == node), node)
    return item_name(item, scope)


def _column_name(expression: Expression, scope: Scope) -> list[str]:
    """Return the name of an expression that is a column, as a list; an empty list for any other."""
    column = own_column(expression, scope.table)
    return [] if column is None else [column.name]


def _items(select: exp.Select, builder: OutputBuilder) -> list[TypedExpression]:
    """Return the terms of the select list; an item may use the aliases of earlier items."""
    terms: list[TypedExpression] = []
    for item in select.expressions:
        terms.append(builder.term(unaliased(item), _aliases(select, terms)))
    return terms


def _aliases(select: exp.Select, terms: Sequence[TypedExpression]) -> dict[str, TypedExpression]:
    """Return the items read so far by their aliases; no name refers to an alias that two items have."""
    pairs = zip(select.expressions, terms, strict=False)
    return {item.alias: term for item, term in pairs if isinstance(item, exp.Alias)}


def _having(select: exp.Select, builder: OutputBuilder, terms: Sequence[TypedExpression]) -> TypedExpression | None:
    having = select.args.get("having")
    return None if having is None else condition(builder.term(having.this, _aliases(select, terms)), "HAVING")


def _order(select: exp.Select, builder: OutputBuilder, terms: Sequence[TypedExpression]) -> tuple[Order, ...]:
    order = select.args.get("order")
    return tuple(_order_item(item, select, builder, terms) for item in ([] if order is None else order.expressions))


def _order_item(item: exp.Expr, select: exp.Select, builder: OutputBuilder, terms: Sequence[TypedExpression]) -> Order:
    by = item.this
    if isinstance(by, exp.Var):
        raise refused("ORDER BY ALL is not supported", "Name the columns to order by.")
    if isinstance(by, exp.Literal) and not by.is_string:
        term = terms[position(by, select)]
    else:
        term = builder.term(by, _aliases(select, terms), alias_first=isinstance(by.unnest(), exp.Column))
    descending, nulls_first = bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
    return Order(by=builder.output(term), descending=descending, nulls_first=nulls_first)


def _row_count(select: exp.Select, clause: str) -> int | None:
    """Return the number of LIMIT or OFFSET."""
    node = select.args.get(clause)
    if node is None:
        return None
    text = str(node.expression.this) if isinstance(node.expression, exp.Literal) else ""
    if not text.isdecimal() or node.expression.is_string or float(text) > _MOST_ROWS:
        raise refused(f"{clause.upper()} takes a whole number")
    return int(text)
