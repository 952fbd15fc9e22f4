"""The columns of an outer query, each with its derivation, and whether noisy values chose the rows.

The analysis follows the tree: FROM, joins, WHERE, GROUP BY, windows, set operations. It never decides what the query
returns; DuckDB does. It decides only which columns may have an interval, and errs on the side of none: a column that
it cannot follow has a derivation without any property.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.query.sql.derivations import (
    EXACT,
    CopiedColumn,
    Derivation,
    Input,
    aggregate,
    inputs_of,
    joint,
    other,
    scalar,
)
from tacit.query.sql.names import to_sql
from tacit.query.sql.outer_scopes import Columns, OuterScope, Relation, make_equal, renamed, unknown_relation
from tacit.query.sql.row_expressions import is_aggregate


@dataclass(frozen=True, slots=True)
class OuterColumns:
    """The columns of the result of an outer query, as far as they are known.

    `columns` are its columns in order; `others` is the derivation of columns that it does not name, such as those of
    PIVOT. `choice` are the noisy values that chose its rows. `relaxed` is the same query without the clauses at its end
    that chose them, if no other clause did. `uses` are the tables of the uses that copies name. `drawn` is the query to
    run on draws: it is NULL where a denominator is not positive.
    """

    columns: tuple[tuple[str, Derivation], ...]
    choice: frozenset[Input]
    uses: Mapping[int, str]
    others: Derivation | None = None
    relaxed: str | None = None
    drawn: str = ""

    def derivation(self, place: int, name: str, count: int) -> Derivation | None:
        """Return the derivation of a column of a result with so many columns; None if it is not known."""
        if len(self.columns) == count and self.others is None:
            return self.columns[place][1]
        return dict(self.columns).get(name, self.others)


def outer_columns(
    tree: exp.Expr, tables: Mapping[str, Mapping[str, bool]], chosen: Collection[str] = ()
) -> OuterColumns:
    """Return the columns of an outer query with their derivations.

    Args:
        tree: the outer query.
        tables: the columns of the released and the public tables, and whether each is noisy.
        chosen: the released tables whose rows noisy values chose already, by HAVING or LIMIT.
    """
    analysis = _Analysis({name.casefold(): (name, columns) for name, columns in tables.items()}, frozenset(chosen))
    relation = analysis.query(tree, {}, None)
    relaxed = bare = None
    if relation.choice:
        bare = _without_end(tree)
        again = None if bare is None else analysis.query(bare, {}, None)
        relaxed = None if bare is None or again is None or again.choice else to_sql(bare)
    drawn = to_sql(_with_positive_denominators(tree if bare is None else bare))
    return OuterColumns(tuple(relation.columns), relation.choice, dict(analysis.uses), relation.others, relaxed, drawn)


def _with_positive_denominators(tree: exp.Expr) -> exp.Expr:
    """Return a query in which x / y is NULL unless y is positive."""
    guarded = tree.copy()
    for node in list(guarded.find_all(exp.Div)):
        below = node.expression
        if not isinstance(below, exp.Literal):
            positive = exp.GT(this=below.copy(), expression=exp.Literal.number(0))
            node.set("expression", exp.Case(ifs=[exp.If(this=positive, true=below.copy())]))
    return guarded


def _without_end(tree: exp.Expr) -> exp.Expr | None:
    """Return a query without its last choices: ORDER BY, LIMIT, QUALIFY, and WHERE if nothing is computed after it."""
    if not isinstance(tree, (exp.Select, exp.SetOperation)) or tree.args.get("distinct") not in (None, False):
        return None
    bare = tree.copy()
    for name in ("order", "limit", "offset", "qualify"):
        bare.set(name, None)
    computed = any(map(_computes, bare.expressions))
    if isinstance(bare, exp.Select) and not computed and bare.args.get("group") is None:
        bare.set("where", None)
    return bare


def _computes(node: exp.Expr) -> bool:
    """Return whether an item of a select list computes with several rows."""
    if isinstance(node, (exp.Select, exp.SetOperation)):
        return False
    return isinstance(node, exp.Window) or is_aggregate(node) or any(map(_computes, node.iter_expressions()))


_Known = Mapping[str, Relation]


@dataclass(slots=True)
class _Analysis:
    tables: Mapping[str, tuple[str, Mapping[str, bool]]]
    chosen: frozenset[str] = frozenset()
    uses: dict[int, str] = field(default_factory=dict)

    def query(self, node: exp.Expr, known: _Known, outer: OuterScope | None) -> Relation:
        """Return the columns of a query."""
        while isinstance(node, exp.Subquery) and not node.args.get("pivots"):
            node = node.this
        if isinstance(node, exp.Subquery):
            return self._pivoted(self.query(node.this, known, outer), node.args["pivots"])
        known = self._with(node, known, outer)
        if isinstance(node, exp.Select):
            return self._select(node, known, outer)
        if isinstance(node, exp.SetOperation):
            return self._combined(node, known, outer)
        if isinstance(node, exp.Pivot) and isinstance(node.this, exp.Expr):
            return self._pivoted(self._source(node.this, known, outer), [node])
        return unknown_relation([])

    def _with(self, node: exp.Expr, known: _Known, outer: OuterScope | None) -> _Known:
        clause = node.args.get("with_")
        names = dict(known)
        for cte in clause.expressions if clause is not None else ():
            names[cte.alias.casefold()] = renamed(self.query(cte.this, names, outer), cte.args.get("alias"))
        return names

    # --- FROM -----------------------------------------------------------------------------------------------------

    def _source(self, node: exp.Expr, known: _Known, outer: OuterScope | None) -> Relation:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            name = node.name.casefold()
            relation = self._again(known[name]) if name in known else self._table(name)
            pivots = node.args.get("pivots")
            return self._pivoted(relation, pivots) if pivots else relation
        if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation, exp.Pivot)):
            return self.query(node, known, outer)
        names = [column.name for column in node.args["alias"].columns] if node.args.get("alias") is not None else []
        return Relation([(name, EXACT) for name in names], others=EXACT)

    def _table(self, name: str) -> Relation:
        """Return a table with a new number, so that two uses of it have different numbers."""
        if name not in self.tables:
            return unknown_relation([])
        table, columns = self.tables[name]
        number = len(self.uses)
        self.uses[number] = table
        return Relation(
            [
                (
                    column,
                    Derivation(
                        frozenset({(table, column)}) if noisy else frozenset(), copies=frozenset({(number, column)})
                    ),
                )
                for column, noisy in columns.items()
            ],
            frozenset((table, column) for column, noisy in columns.items() if noisy and table in self.chosen),
        )

    def _again(self, relation: Relation) -> Relation:
        """Return a CTE with new numbers for the tables that it copies, because it may be used twice."""
        numbers: dict[int, int] = {}

        def renumbered(copies: frozenset[CopiedColumn]) -> frozenset[CopiedColumn]:
            for number, _ in sorted(copies):
                if number not in numbers:
                    numbers[number] = len(self.uses)
                    self.uses[numbers[number]] = self.uses[number]
            return frozenset((numbers[number], column) for number, column in copies)

        columns = [(name, replace(each, copies=renumbered(each.copies))) for name, each in relation.columns]
        return Relation(columns, relation.choice, relation.others)

    def _pivoted(self, relation: Relation, pivots: Sequence[exp.Expr]) -> Relation:
        """Return PIVOT: sums and averages of smooth columns by exact ones are smooth; UNPIVOT is not followed."""
        for pivot in pivots:
            clauses = [each for name in ("expressions", "using", "fields") for each in pivot.args.get(name) or ()]
            used = [node for each in clauses for node in each.find_all(exp.Column)]
            functions = pivot.args.get("using") or pivot.expressions
            simple = not pivot.args.get("unpivot") and all(
                isinstance(each.unalias(), (exp.Sum, exp.Avg, exp.First)) for each in functions or [exp.Null()]
            )
            scope = OuterScope({"": relation}, {}, None)
            values = [part for each in functions or () for part in each.find_all(exp.Column)]
            keys = [node for node in used if node not in values]
            derived = [scope.column(node) for node in keys]
            plain = simple and not relation.choice and all(each is not None and each.exact for each in derived)
            parts = [scope.column(node) or other(*scope.everything) for node in values]
            consumed = {node.name.casefold() for node in used}
            kept = [(name, each) for name, each in relation.columns if name.casefold() not in consumed]
            plain = plain and all(each.exact for _, each in kept)  # other noisy columns would make groups
            value = joint(parts) if plain else other(*scope.everything)
            kept = [(name, each if plain else other(*scope.everything)) for name, each in kept]
            relation = Relation(kept, relation.choice, value)
        return relation

    def _scope(self, node: exp.Select, known: _Known, outer: OuterScope | None) -> tuple[OuterScope, frozenset[Input]]:
        """Return the scope of FROM, and the noisy values that choose its rows by a join."""
        scope = OuterScope({}, {}, outer)
        start = node.args.get("from_")
        choice: frozenset[Input] = frozenset()
        items: list[tuple[exp.Expr, exp.Expr | None]] = [(start.this, None)] if start is not None else []
        items += [(join.this, join) for join in node.args.get("joins") or ()]
        for source, join in items:
            relation = renamed(self._source(source, known, scope), source.args.get("alias"))
            choice |= relation.choice
            left = dict(scope.relations)
            scope.relations[(source.alias_or_name or f"#{len(left)}").casefold()] = relation
            if join is not None:
                choice |= self._joined(join, scope, left, relation, known)
            if node.args.get("laterals") or source.args.get("joins"):
                choice |= inputs_of(scope.everything)
        return scope, choice

    def _joined(
        self, join: exp.Expr, scope: OuterScope, left: Mapping[str, Relation], right: Relation, known: _Known
    ) -> frozenset[Input]:
        """Note which columns a join makes equal, and return the noisy values that it compares."""
        side, compared = str(join.args.get("side") or "").upper(), list[Derivation]()
        for identifier in join.args.get("using") or ():
            name = identifier.name.casefold()
            before = [
                each for relation in left.values() for column, each in relation.columns if column.casefold() == name
            ]
            after = [each for column, each in right.columns if column.casefold() == name]
            compared += [*before, *after]
            parts = [scope.merged.get(name, before[0])] if len(before) == 1 or name in scope.merged else before
            copies = frozenset[CopiedColumn]().union(*(each.copies for each in (*parts, *after)))
            scope.merged[name] = replace(joint([*parts, *after]), copies=copies)
        condition = join.args.get("on")
        if condition is not None:
            compared.append(self._derive(condition, scope, frozenset(), known))
            make_equal(condition, scope, side)
        if str(join.args.get("method") or "").upper() in ("ASOF", "POSITIONAL", "NATURAL"):
            compared += scope.everything
        return inputs_of(compared)

    # --- SELECT -----------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select, known: _Known, outer: OuterScope | None) -> Relation:
        scope, choice = self._scope(node, known, outer)
        where = node.args.get("where")
        if where is not None:
            choice |= self._derive(where.this, scope, choice, known).inputs
        group = node.args.get("group")
        for item in group.expressions if group is not None else ():
            by = item.this if isinstance(item, exp.Paren) else item
            choice |= self._grouped(by, node, scope, choice, known).inputs
        columns: Columns = []
        for item in node.expressions:
            found = self._items(item, scope, choice, known)
            scope.aliases |= {name.casefold(): each for name, each in found if isinstance(item, exp.Alias)}
            columns += found
        relation = Relation(columns, choice)
        if any(isinstance(item.unalias(), (exp.Columns,)) for item in node.expressions):
            relation = unknown_relation(scope.everything)
        for name in ("having", "qualify"):
            if node.args.get(name) is not None:
                relation.choice |= self._derive(node.args[name].this, scope, choice, known).inputs
        return self._ended(node, relation, scope, known)

    def _ended(self, node: exp.Expr, relation: Relation, scope: OuterScope | None, known: _Known) -> Relation:
        """Apply DISTINCT, ORDER BY and LIMIT, which may choose rows by noisy values."""
        every = inputs_of(each for _, each in relation.columns)
        distinct = node.args.get("distinct")
        if isinstance(node, exp.Select) and distinct is not None:
            relation.choice |= every
        order = node.args.get("order")
        if node.args.get("limit") is not None or node.args.get("offset") is not None:
            by = [item.this for item in order.expressions] if order is not None else []
            parts = [self._ordered(item, relation, scope, known) for item in by]
            relation.choice |= inputs_of(parts) if parts else every
        return relation

    def _ordered(self, item: exp.Expr, relation: Relation, scope: OuterScope | None, known: _Known) -> Derivation:
        if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal():
            place = int(item.name) - 1
            return relation.columns[place][1] if place < len(relation.columns) else EXACT
        own = OuterScope({"": relation}, {}, scope)
        return self._derive(item, own, relation.choice, known)

    def _grouped(
        self, item: exp.Expr, node: exp.Select, scope: OuterScope, choice: frozenset[Input], known: _Known
    ) -> Derivation:
        if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal():
            place = int(item.name) - 1
            item = node.expressions[place].unalias() if place < len(node.expressions) else item
        aliases = {each.alias.casefold(): each.this for each in node.expressions if isinstance(each, exp.Alias)}
        if isinstance(item, exp.Column) and scope.column(item) is None:
            item = aliases.get(item.name.casefold(), item)
        return self._derive(item, scope, choice, known)

    def _items(self, item: exp.Expr, scope: OuterScope, choice: frozenset[Input], known: _Known) -> Columns:
        """Return the columns of one item of a select list, which may be a star."""
        inner = item.unalias()
        star = inner if isinstance(inner, exp.Star) else inner.this if isinstance(inner, exp.Column) else None
        if not isinstance(star, exp.Star):
            return [(item.alias_or_name or to_sql(item), self._derive(inner, scope, choice, known))]
        table = inner.table.casefold() if isinstance(inner, exp.Column) else ""
        dropped = {part.name.casefold() for part in star.args.get("except_") or ()}
        replaced = {part.alias.casefold(): part.this for part in star.args.get("replace") or ()}
        columns: Columns = []
        seen: set[str] = set()
        for alias, relation in scope.relations.items():
            if table and alias != table:
                continue
            for name, derivation in relation.columns:
                folded = name.casefold()
                if folded in dropped or (folded in scope.merged and folded in seen and not table):
                    continue
                seen.add(folded)
                shown = scope.merged.get(folded, derivation) if not table else derivation
                new = replaced.get(folded)
                columns.append((name, shown if new is None else self._derive(new, scope, choice, known)))
        return columns

    def _combined(self, node: exp.SetOperation, known: _Known, outer: OuterScope | None) -> Relation:
        """Return a set operation; UNION ALL puts rows together, all others compare them."""
        left, right = (self.query(part, known, outer) for part in (node.this, node.expression))
        every = inputs_of(each for _, each in (*left.columns, *right.columns))
        choice = left.choice | right.choice
        if len(left.columns) != len(right.columns) or left.others or right.others or node.args.get("by_name"):
            return unknown_relation([Derivation(every | choice)])
        pairs = zip(left.columns, right.columns, strict=True)
        columns = [(name, joint((first, second))) for (name, first), (_, second) in pairs]
        compared = not isinstance(node, exp.Union) or node.args.get("distinct") is not False
        relation = Relation(columns, choice | (every if compared else frozenset()))
        return self._ended(node, relation, None, known)

    # --- expressions --------------------------------------------------------------------------------------------------

    def _derive(self, node: exp.Expr, scope: OuterScope, choice: frozenset[Input], known: _Known) -> Derivation:
        def derive(part: exp.Expr) -> Derivation:
            return self._derive(part, scope, choice, known)

        if isinstance(node, exp.Column):
            found = scope.column(node)
            return other(*scope.everything) if found is None and not _is_constant(node) else found or EXACT
        if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation)):
            inner = self.query(node, known, scope)
            parts = [each for _, each in inner.columns]
            return joint(parts) if not inner.choice and len(parts) == 1 else other(Derivation(inner.choice), *parts)
        if isinstance(node, exp.Window):
            return self._window(node, scope, choice, known)
        if is_aggregate(node) or isinstance(node, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
            return aggregate(node, derive, choice)
        if isinstance(node, (exp.Exists, exp.In, exp.Any, exp.All)):
            inner_queries = [self.query(each, known, scope) for each in node.find_all(exp.Select)]
            chosen = [Derivation(each.choice) for each in inner_queries]
            parts = [each for relation in inner_queries for _, each in relation.columns]
            return other(*chosen, *parts, *(derive(each) for each in node.find_all(exp.Column) if not inner_queries))
        return scalar(node, derive)

    def _window(self, node: exp.Window, scope: OuterScope, choice: frozenset[Input], known: _Known) -> Derivation:
        """Return the derivation of a window function; one over an order of noisy values is not smooth."""
        by: list[Derivation] = []
        for each in [node, *_named_window(node)]:
            parts = [*(each.args.get("partition_by") or ()), *_order_items(each)]
            by += [self._derive(part, scope, choice, known) for part in parts]
        value = aggregate(node.this, lambda part: self._derive(part, scope, choice, known), choice)
        return value if not inputs_of(by) else other(value, *by)


def _named_window(node: exp.Window) -> list[exp.Expr]:
    """Return the definition of the window that a function names, if it names one."""
    select, name = node.find_ancestor(exp.Select), node.args.get("alias")
    defined = [] if select is None else select.args.get("windows") or []
    return [each for each in defined if name is not None and each.name.casefold() == name.name.casefold()]


def _order_items(node: exp.Expr) -> list[exp.Expr]:
    order = node.args.get("order")
    return [] if order is None else [item.this for item in order.expressions]


def _is_constant(node: exp.Column) -> bool:
    """Return whether a name is a word of the grammar, such as the unit of date_trunc, and not a column."""
    return isinstance(node.parent, (exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff, exp.Extract))
