"""SQL text into a plan, by allow-list; nothing is read and nothing is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from sqlglot import exp

from tacit.errors import InvalidError, RefusedError, show
from tacit.query.expressions import Call, Expression, Value, columns
from tacit.query.plan import Key, Order, Plan
from tacit.query.policy import TablePolicy
from tacit.query.refusals import quoted, refused
from tacit.query.sql.from_clause import base, item_name, source
from tacit.query.sql.grammar import read, too_deep
from tacit.query.sql.key_values import domain
from tacit.query.sql.names import distinct, match, plain, title
from tacit.query.sql.outputs import Asked
from tacit.query.sql.row_expressions import is_aggregate
from tacit.query.sql.row_work import check_row_work
from tacit.query.sql.scope import Scope
from tacit.query.sql.special_forms import check_name
from tacit.query.sql.terms import Term, condition

_MOST_CELLS = 1_000_000
_MOST_ROWS = 2**62

Listed = Mapping[str, Sequence[Value]]
"""Public keys that the caller lists, by the name or the text of what is grouped by."""


def parse(sql: str, tables: Mapping[str, TablePolicy], *, keys: Listed | None = None) -> Plan:
    """Return the plan of one SELECT over one private table, or raise RefusedError or InvalidError.

    Args:
        sql: the question, in DuckDB's SQL.
        tables: the policies of the tables that may be named.
        keys: the values to group by where the policy lists none, by the alias or the text of a GROUP BY item.

    >>> from tacit.query.policy import ColumnPolicy
    >>> columns = {"urban": ColumnPolicy(kind="boolean")}
    >>> t = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns=columns)
    >>> plan = parse("SELECT urban, count(*) AS n FROM t GROUP BY urban", {"t": t})
    >>> plan.keys[0].values, [name for name, _ in plan.outputs]
    ((False, True), ['urban', 'n'])
    """
    try:
        return _plan(read(sql), {name: base(table) for name, table in tables.items()}, dict(keys or {}))
    except RecursionError as error:
        raise too_deep() from error


def _plan(select: exp.Select, tables: Mapping[str, Scope], listed: Listed) -> Plan:
    scope = source(select, tables)
    if scope.table.public:
        raise refused(
            f"The table {quoted(scope.table.name)} is public, so nothing of it is answered with noise",
            "Read it as it is; or join a private table with it.",
        )
    _check_not_rows(select)
    asked = Asked(scope, _keys(select, scope, listed))
    terms = _items(select, asked)
    names = distinct(_printable(item_name(item, scope)) for item in select.expressions)
    having, order = _having(select, asked, terms), _order(select, asked, terms)
    if not asked.asks and all(key.values is not None for key in asked.keys):
        raise refused("The question asks nothing of the data: the groups are public", "Add an aggregate: count(*).")
    bundles, aggregates = asked.measured()
    plan = Plan(
        sql=plain(select),
        table=scope.table,
        where=_where(scope),
        keys=tuple(asked.keys),
        bundles=bundles,
        aggregates=aggregates,
        outputs=tuple((name, asked.output(term)) for name, term in zip(names, terms, strict=True)),
        having=None if having is None else asked.output(having),
        order=order,
        limit=_number(select, "limit"),
        offset=_number(select, "offset") or 0,
        joins=scope.joins,
    )
    check_row_work(plan)
    return plan


def _printable(name: str) -> str:
    """Return a column's name, or raise: one with control characters could write to the terminal of whoever reads it."""
    if not name.isprintable():
        raise InvalidError("sql", "a name with control characters", "a question with names that can be printed")
    return name


def _check_not_rows(select: exp.Select) -> None:
    """Raise if the question asks for rows: neither groups nor aggregates, or all columns."""
    stars = [item for item in select.expressions if isinstance(item, exp.Star) or isinstance(item.this, exp.Star)]
    asks = [*select.expressions, *(select.args[name] for name in ("having", "order") if select.args.get(name))]
    aggregates = any(is_aggregate(part) for ask in asks for part in ask.walk())
    if any(not is_aggregate(star) for star in stars) or not (aggregates or select.args.get("group")):
        for part in select.walk():
            check_name(part)  # an aggregate that is not known by name is no row
        how = "Ask for aggregates: count(*), sum(x), avg(x), by groups if you like."
        raise refused("The question asks for rows themselves, which are never shown", how)


def _where(scope: Scope) -> Expression | None:
    """Return the condition that rows must meet, those of CTEs and subqueries included."""
    met = [term.expression for term in scope.where]
    return met[0] if len(met) == 1 else Call("and", tuple(met), "boolean") if met else None


def _keys(select: exp.Select, scope: Scope, listed: Listed) -> list[Key]:
    group = select.args.get("group")
    found: dict[Expression, tuple[str, Sequence[Value] | None]] = {}
    used: set[str] = set()
    for item in [] if group is None else group.expressions:
        node = _grouped(item, select, scope)
        expression = _key_expression(node, scope)
        names = [_called(node, select, scope), title(node), plain(node), *_own_name(expression)]
        given = next((key for key in listed if _bare(key) in map(_bare, names)), None)
        used |= set() if given is None else {given}
        found.setdefault(expression, (names[0], None if given is None else listed[given]))
    for name in listed:
        if name not in used:
            raise InvalidError("keys", f"keys for {show(name)}", "keys of what the question groups by")
    keys = [Key(name=name, expression=e, values=_values(e, name, scope, own)) for e, (name, own) in found.items()]
    _check_shadowed(keys, select, scope)
    _check_cells(keys)
    return keys


def _values(expression: Expression, name: str, scope: Scope, own: Sequence[Value] | None) -> tuple[Value, ...] | None:
    """Return the public values of a key; None if there are none, so that its groups must be found privately, with δ."""
    try:
        return domain(expression, name, scope.table, own)
    except RefusedError:
        return None  # `price` says why, where there is no δ


def _check_shadowed(keys: Sequence[Key], select: exp.Select, scope: Scope) -> None:
    """Raise where groups would be found by a column of which the question shows something else under its name."""
    aliases = {one.alias.casefold(): one for one in select.expressions if isinstance(one, exp.Alias)}
    for key in keys:
        own, alias = _own_name(key.expression), aliases.get(key.name.casefold())
        if key.values is None and own and alias is not None and scope.raw(alias.this).expression != key.expression:
            how = f"Write GROUP BY {select.expressions.index(alias) + 1}, or give the item another alias."
            raise refused(f"GROUP BY {key.name} means the column of that name, not the item {quoted(alias.alias)}", how)


def _check_cells(keys: Sequence[Key]) -> None:
    cells = prod(len(key.values) for key in keys if key.values is not None)
    if cells > _MOST_CELLS:
        how = "Group by fewer columns or in larger bins."
        raise refused(f"The groups have {cells:,} combinations, more than {_MOST_CELLS:,}", how)


def _grouped(item: exp.Expr, select: exp.Select, scope: Scope) -> exp.Expr:
    """Return what an item of GROUP BY means: a place in the select list, a column, an alias or an expression."""
    item = item.unnest()
    if isinstance(item, exp.Literal) and not item.is_string:
        return _inside(select.expressions[_place(item, select)])
    if isinstance(item, exp.Column) and not item.args.get("table") and match(item.this, scope.columns) is None:
        aliases = {one.alias: one.this for one in select.expressions if isinstance(one, exp.Alias)}
        alias = match(item.this, aliases)
        return item if alias is None else _inside(aliases[alias])
    return item


def _inside(item: exp.Expr) -> exp.Expr:
    inner = item.this if isinstance(item, exp.Alias) else item
    return inner.unnest()


def _place(item: exp.Expr, select: exp.Select) -> int:
    text = str(item.this)
    count = len(select.expressions)
    if not text.isdecimal() or not 1 <= float(text) <= count:
        raise InvalidError("sql", f"the place {quoted(text)}", f"a question with places from 1 to {count}")
    return int(text) - 1


def _key_expression(node: exp.Expr, scope: Scope) -> Expression:
    term = scope.raw(node)
    named = columns(term.expression)
    unit = scope.table.unit
    if unit is not None and unit in named:
        raise refused(f"Groups by the unit column {unit!r} would show single units", "Group by another column.")
    if not named:
        raise refused("A constant is nothing to group by", "Name columns or expressions of columns.")
    return term.expression


def _called(node: exp.Expr, select: exp.Select, scope: Scope) -> str:
    """Return a key's name in the answer: that of the first item that shows it, else its own."""
    shown = next((item for item in select.expressions if _inside(item) == node), node)
    return item_name(shown, scope)


def _own_name(expression: Expression) -> list[str]:
    return [name for name in columns(expression) if getattr(expression, "name", None) == name]


def _bare(text: str) -> str:
    return "".join(text.split()).casefold()


def _items(select: exp.Select, asked: Asked) -> list[Term]:
    """Return the terms of the select list; an item may use the aliases of those before it."""
    terms: list[Term] = []
    for item in select.expressions:
        terms.append(asked.term(_inside(item), _aliases(select, terms)))
    return terms


def _aliases(select: exp.Select, terms: Sequence[Term]) -> dict[str, Term]:
    """Return the items read so far by their aliases; of two with one alias the first counts."""
    pairs = list(zip(select.expressions, terms, strict=False))
    return {one.alias: term for one, term in reversed(pairs) if isinstance(one, exp.Alias)}


def _having(select: exp.Select, asked: Asked, terms: Sequence[Term]) -> Term | None:
    having = select.args.get("having")
    return None if having is None else condition(asked.term(having.this, _aliases(select, terms)), "HAVING")


def _order(select: exp.Select, asked: Asked, terms: Sequence[Term]) -> tuple[Order, ...]:
    order = select.args.get("order")
    return tuple(_ordered(one, select, asked, terms) for one in ([] if order is None else order.expressions))


def _ordered(one: exp.Expr, select: exp.Select, asked: Asked, terms: Sequence[Term]) -> Order:
    by = one.this
    if isinstance(by, exp.Var):
        raise refused("ORDER BY ALL is not answered", "Name what to order by.")
    if isinstance(by, exp.Literal) and not by.is_string:
        term = terms[_place(by, select)]
    else:
        term = asked.term(by, _aliases(select, terms), alias_first=True)
    flags = one.args
    return Order(by=asked.output(term), descending=bool(flags.get("desc")), nulls_first=bool(flags.get("nulls_first")))


def _number(select: exp.Select, clause: str) -> int | None:
    """Return the number of LIMIT or OFFSET."""
    node = select.args.get(clause)
    if node is None:
        return None
    text = str(node.expression.this) if isinstance(node.expression, exp.Literal) else ""
    if not text.isdecimal() or node.expression.is_string or float(text) > _MOST_ROWS:
        raise refused(f"{clause.upper()} takes a whole number")
    return int(text)
