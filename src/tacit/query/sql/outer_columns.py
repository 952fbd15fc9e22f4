"""The columns of an outer query, each with its derivation, and whether noisy values chose the rows.

The analysis follows the tree: FROM, joins, WHERE, GROUP BY, windows, set operations. It never decides what the query
returns; DuckDB does. It decides only which columns may have an interval, and errs on the side of none:

* a node of a class that it does not know depends on all noisy values and has no property, so it is never exact;
* a relation that it does not know has such columns, and its rows are chosen by noisy values;
* a name that it does not find is such a column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.query.sql.derivations import (
    EXACT,
    NOISY_DENOMINATOR,
    CopiedColumn,
    Derivation,
    Form,
    Input,
    aggregate,
    inputs_of,
    is_outer_aggregate,
    is_without_order,
    joint,
    other,
    scalar,
)
from tacit.query.sql.names import to_sql
from tacit.query.sql.outer_grammar import OPERATORS, SCALARS
from tacit.query.sql.outer_scopes import Columns, OuterScope, Relation, make_equal, renamed, unknown_relation

_QUERIES = (exp.Subquery, exp.Select, exp.SetOperation, exp.Pivot)
_SCALAR_NAMES = frozenset(("weekday", "isoyear", "date_part"))
_PARTS = frozenset(
    (
        *(*OPERATORS, *SCALARS, exp.Literal, exp.Null, exp.Boolean, exp.Var, exp.DataType, exp.DataTypeParam),
        *(exp.Identifier, exp.Interval, exp.Paren, exp.Alias, exp.Tuple, exp.Array, exp.Case, exp.If, exp.Between),
        *(exp.In, exp.Exists, exp.Any, exp.All, exp.Distinct, exp.Order, exp.Ordered, exp.Where, exp.WindowSpec),
        *(exp.Limit, exp.Offset, exp.PivotAlias),
    )
)
"""The node classes that depend on their arguments alone; a class that is not listed is not known."""
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple, exp.Paren)
_PIVOT = frozenset(
    (
        *("this", "alias", "expressions", "fields", "using", "columns", "with_"),
        *("identify_pivot_strings", "prefixed_pivot_columns", "pivot_column_naming"),
    )
)
_STAR = frozenset(("except_", "replace", "rename"))
_ENDS = ("order", "limit", "offset")
_IRREGULAR = frozenset(("ASOF", "POSITIONAL", "NATURAL", "SEMI", "ANTI"))


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
        if self.others is None:
            return self.columns[place][1] if len(self.columns) == count else None
        found = [derivation for column, derivation in self.columns if column == name]
        return found[0] if len(found) == 1 else other(self.others, *found) if found else self.others


def outer_columns(
    tree: exp.Expr,
    tables: Mapping[str, Mapping[str, bool]],
    chosen: Collection[str] = (),
    bent: Collection[Input] = (),
) -> OuterColumns:
    """Return the columns of an outer query with their derivations.

    Args:
        tree: the outer query.
        tables: the columns of the released and the public tables, and whether each is noisy.
        chosen: the released tables whose rows noisy values chose already, by HAVING or LIMIT.
        bent: the noisy columns that are not linear in their noise, such as averages.
    """
    by_name = {name.casefold(): (name, columns) for name, columns in tables.items()}
    analysis = _Analysis(by_name, frozenset(chosen), frozenset(bent))
    relation = analysis.query(tree, {}, None)
    relaxed = bare = None
    if relation.choice:
        bare = _without_end(tree)
        again = None if bare is None else analysis.query(bare, {}, None)
        relaxed = None if bare is None or again is None or again.choice else to_sql(bare)
    drawn = to_sql(_with_positive_denominators(tree if bare is None else bare))
    return OuterColumns(tuple(relation.columns), relation.choice, dict(analysis.uses), relation.others, relaxed, drawn)


def _with_positive_denominators(tree: exp.Expr) -> exp.Expr:
    """Return a query in which x / y is NULL unless y is positive, for each y that is noisy."""
    guarded = tree.copy()
    for node in list(guarded.find_all(exp.Div)):
        below = node.expression
        if node.meta.get(NOISY_DENOMINATOR):
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
    return isinstance(node, exp.Window) or is_outer_aggregate(node) or any(map(_computes, node.iter_expressions()))


_Known = Mapping[str, Relation]


@dataclass(slots=True)
class _Analysis:
    tables: Mapping[str, tuple[str, Mapping[str, bool]]]
    chosen: frozenset[str] = frozenset()
    bent: frozenset[Input] = frozenset()
    uses: dict[int, str] = field(default_factory=dict)

    @property
    def anything(self) -> Derivation:
        """The derivation of what is not known: it may depend on all noisy values."""
        every = ((table, name) for table, columns in self.tables.values() for name, noisy in columns.items() if noisy)
        return other(Derivation(frozenset(every)))

    def query(self, node: exp.Expr, known: _Known, outer: OuterScope | None) -> Relation:
        """Return the columns of a query."""
        if isinstance(node, exp.Subquery):
            return self._parenthesized(node, known, outer)
        known = self._with(node, known, outer)
        if isinstance(node, exp.Select):
            return self._select(node, known, outer)
        if isinstance(node, exp.SetOperation):
            return self._combined(node, known, outer)
        if isinstance(node, exp.Pivot) and isinstance(node.this, exp.Expr):
            return self._pivoted(self._source(node.this, known, outer), [node], known)
        return unknown_relation([self.anything])

    def _parenthesized(self, node: exp.Subquery, known: _Known, outer: OuterScope | None) -> Relation:
        """Return a query in parentheses, which may have separate clauses."""
        given = {name for name, value in node.args.items() if value not in (None, False, [])}
        if given - {"this", "alias", "pivots", "with_", *_ENDS}:
            return unknown_relation([self.anything])
        known = self._with(node, known, outer)
        relation = self._ended(node, self.query(node.this, known, outer), None, known)
        return self._pivoted(relation, node.args.get("pivots") or (), known)

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
            return self._pivoted(relation, node.args.get("pivots") or (), known)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            return self.query(node.this, known, outer)
        if isinstance(node, _QUERIES):
            return self.query(node, known, outer)
        return self._made(node, outer)

    def _made(self, node: exp.Expr, outer: OuterScope | None) -> Relation:
        """Return rows that a table function or VALUES makes: exact ones if they are made of exact values."""
        scope = OuterScope({}, {}, outer)
        found = [scope.column(column) or self.anything for column in node.find_all(exp.Column)]
        if inputs_of(found) or any(node.find(each) is not None for each in (*_QUERIES, exp.Window)):
            return unknown_relation([self.anything])
        if not isinstance(node, (exp.Table, exp.Values, exp.Unnest)) or node.args.get("pivots"):
            return unknown_relation([self.anything])
        alias = node.args.get("alias")
        names = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
        complete = bool(names) and not isinstance(node, exp.Values) and not node.args.get("offset")
        return Relation([(name, EXACT) for name in names], others=None if complete else EXACT)

    def _table(self, name: str) -> Relation:
        """Return a table with a new number, so that two uses of it have different numbers."""
        if name not in self.tables:
            return unknown_relation([self.anything])
        table, columns = self.tables[name]
        number = len(self.uses)
        self.uses[number] = table
        return Relation(
            [(column, self._released(table, column, number, noisy=noisy)) for column, noisy in columns.items()],
            frozenset((table, column) for column, noisy in columns.items() if noisy and table in self.chosen),
        )

    def _released(self, table: str, column: str, number: int, *, noisy: bool) -> Derivation:
        """Return the derivation of a column of a table that is read."""
        form = Form.OTHER if (table, column) in self.bent else Form.LINEAR
        inputs = frozenset({(table, column)}) if noisy else frozenset[Input]()
        return Derivation(inputs, form, copies=frozenset({(number, column)}))

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
        return Relation(columns, relation.choice, relation.others, relation.order)

    def _pivoted(self, relation: Relation, pivots: Sequence[exp.Expr], known: _Known) -> Relation:
        """Return PIVOT: sums and averages of linear columns by exact ones are smooth; others are not followed."""
        for pivot in pivots:
            value = self._pivot_value(relation, pivot, known)
            if value is None:
                relation = unknown_relation([self.anything])
                continue
            consumed = {node.name.casefold() for node in _pivot_columns(pivot)}
            kept = [(name, each) for name, each in relation.columns if name.casefold() not in consumed]
            relation = Relation(kept, relation.choice, value, relation.order)
        return relation

    def _pivot_value(self, relation: Relation, pivot: exp.Expr, known: _Known) -> Derivation | None:
        """Return the derivation of the new columns of PIVOT; None if noisy values could decide its rows or columns."""
        given = {name for name, value in pivot.args.items() if value not in (None, False, [])}
        if given - _PIVOT or relation.choice or relation.order or relation.others is not None:
            return None
        scope = OuterScope({"": relation}, {}, None)
        functions = [each.unalias() for each in pivot.args.get("using") or pivot.expressions]
        if not functions or not all(isinstance(each, (exp.Sum, exp.Avg, exp.First)) for each in functions):
            return None
        values = [node for each in functions for node in each.find_all(exp.Column)]
        used = [node for node in _pivot_columns(pivot) if not any(node is each for each in values)]
        keys = [scope.column(node) or self.anything for node in used]
        consumed = {node.name.casefold() for node in _pivot_columns(pivot)}
        keys += [each for name, each in relation.columns if name.casefold() not in consumed]
        if inputs_of(keys) or any(
            pivot.args.get(name) and _has_query(pivot, name) for name in ("expressions", "fields")
        ):
            return None
        return joint(self._derive(each, scope, frozenset(), known) for each in functions)

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
                choice |= self.anything.inputs
                scope.irregular = True
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
        words = {str(join.args.get(name) or "").upper() for name in ("method", "kind", "side")}
        if words & _IRREGULAR:
            scope.irregular = True
        if words & {"ASOF", "POSITIONAL", "NATURAL"}:
            compared += [*scope.everything, Derivation(scope.order)]
        return inputs_of(compared)

    # --- SELECT -----------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select, known: _Known, outer: OuterScope | None) -> Relation:
        scope, choice = self._scope(node, known, outer)
        where = node.args.get("where")
        if where is not None:
            choice |= self._derive(where.this, scope, choice, known).inputs
        choice |= self._groups(node, scope, choice, known)
        columns: Columns = []
        for item in node.expressions:
            found = self._items(item, scope, choice, known)
            scope.aliases |= {name.casefold(): each for name, each in found if isinstance(item, exp.Alias)}
            columns += found
        others = self._others(node, scope)
        relation = Relation([] if others == self.anything else columns, choice, others, scope.order)
        if any(item.find(exp.Columns, exp.Explode, exp.Unnest) is not None for item in node.expressions):
            relation = unknown_relation([self.anything])
        for name in ("having", "qualify"):
            if node.args.get(name) is not None:
                relation.choice |= self._derive(node.args[name].this, scope, choice, known).inputs
        having = node.args.get("having")  # windows are computed from the groups that it chooses
        if having is not None and relation.choice and node.find(exp.Window) is not None:
            return unknown_relation([self.anything])
        return self._ended(node, relation, scope, known)

    def _ended(self, node: exp.Expr, relation: Relation, scope: OuterScope | None, known: _Known) -> Relation:
        """Apply DISTINCT, ORDER BY and LIMIT, which may choose rows by noisy values."""
        every = inputs_of([*(each for _, each in relation.columns), *filter(None, [relation.others])])
        scope = OuterScope({}, {}, None) if scope is None else scope
        order = node.args.get("order")
        by = order.expressions if order is not None else []
        relation.order |= inputs_of(self._ordered(item.this, relation, scope, known) for item in by)
        distinct = node.args.get("distinct") if isinstance(node, exp.Select) else None
        if distinct is not None:
            parts = self._derive(distinct, scope, relation.choice, known)
            chosen = Derivation(every | relation.order | parts.inputs)
            relation.choice |= chosen.inputs
            if distinct.args.get("on") is not None and not chosen.exact:  # its rows are put together by noisy values
                relation.columns = [(name, other(chosen, each)) for name, each in relation.columns]
        limits = [node.args[name] for name in ("limit", "offset") if node.args.get(name) is not None]
        if limits:
            sizes = inputs_of(self._derive(each, scope, relation.choice, known) for each in limits)
            relation.choice |= sizes | relation.order | (frozenset() if by else every)
        return relation

    def _ordered(self, item: exp.Expr, relation: Relation, scope: OuterScope | None, known: _Known) -> Derivation:
        if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal():
            place = int(item.name) - 1
            known_place = place < len(relation.columns) and relation.others is None
            return relation.columns[place][1] if known_place else self.anything
        if isinstance(item, (exp.Var, exp.Star)):
            return self.anything
        own = OuterScope({"": relation}, {}, scope)
        return self._derive(item, own, relation.choice, known)

    def _groups(self, node: exp.Select, scope: OuterScope, choice: frozenset[Input], known: _Known) -> frozenset[Input]:
        """Return the noisy values that GROUP BY compares."""
        group = node.args.get("group")
        if group is None:
            return frozenset()
        given = {name for name, value in group.args.items() if value not in (None, False, [])}
        if given - {"all", "expressions", "rollup", "cube", "grouping_sets"}:
            return self.anything.inputs
        items = [each.unalias() for each in node.expressions if not _computes(each)] if "all" in given else []
        if any(each.find(exp.Star, exp.Columns) is not None for each in items):
            return self.anything.inputs
        waiting, found = [*items, *group.iter_expressions()], set[Input]()
        while waiting:
            item = waiting.pop()
            if isinstance(item, _SETS):
                waiting += item.iter_expressions()
            else:
                found |= self._grouped(item, node, scope, choice, known).inputs
        return frozenset(found)

    def _others(self, node: exp.Select, scope: OuterScope) -> Derivation | None:
        """Return the derivation of columns of a star that are not known; None if all are known."""
        stars = [item for item in node.expressions if _star(item) is not None]
        given = {name for item in stars for name, value in _star(item).args.items() if value}  # type: ignore[union-attr]  # filtered
        tables = {item.unalias().table.casefold() for item in stars if isinstance(item.unalias(), exp.Column)}
        regular = not scope.irregular and given <= _STAR and tables - {""} <= set(scope.relations)
        shown = (
            scope.relations
            if "" in tables or len(tables) < len(stars)
            else {each: scope.relations[each] for each in tables & set(scope.relations)}
        )
        unknown = [relation.others for relation in shown.values() if relation.others is not None]
        if not stars or (regular and not unknown):
            return None
        return (
            joint(unknown)
            if regular and len(scope.relations) == len(stars) == len(node.expressions) == 1
            else self.anything
        )

    def _grouped(
        self, item: exp.Expr, node: exp.Select, scope: OuterScope, choice: frozenset[Input], known: _Known
    ) -> Derivation:
        if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal():
            place = int(item.name) - 1
            if place >= len(node.expressions) or any(_star(each) is not None for each in node.expressions):
                return self.anything
            item = node.expressions[place].unalias()
        aliases = {each.alias.casefold(): each.this for each in node.expressions if isinstance(each, exp.Alias)}
        found = self._derive(item, scope, choice, known)
        if not isinstance(item, exp.Column) or item.table or item.name.casefold() not in aliases:
            return found
        if OuterScope(scope.relations, scope.merged, None).column(item) is not None:
            return found
        return self._derive(aliases[item.name.casefold()], scope, choice, known)

    def _items(self, item: exp.Expr, scope: OuterScope, choice: frozenset[Input], known: _Known) -> Columns:
        """Return the columns of one item of a select list, which may be a star."""
        inner = item.unalias()
        star = _star(item)
        if star is None:
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
        given = {name for name, value in node.args.items() if value not in (None, False, [])}
        known_parts = not given - {"with_", "this", "expression", "distinct", *_ENDS}
        if len(left.columns) != len(right.columns) or left.others or right.others or not known_parts:
            return unknown_relation([self.anything])
        pairs = zip(left.columns, right.columns, strict=True)
        columns = [(name, joint((first, second))) for (name, first), (_, second) in pairs]
        compared = not isinstance(node, exp.Union) or node.args.get("distinct") is not False
        relation = Relation(columns, choice | (every if compared else frozenset()), None, left.order | right.order)
        return self._ended(node, relation, None, known)

    # --- expressions --------------------------------------------------------------------------------------------------

    def _derive(self, node: exp.Expr, scope: OuterScope, choice: frozenset[Input], known: _Known) -> Derivation:
        def derive(part: exp.Expr) -> Derivation:
            return self._derive(part, scope, choice, known)

        if isinstance(node, exp.Column):
            found = scope.column(node)
            return found or (EXACT if _is_constant(node) else self.anything)
        if isinstance(node, _QUERIES):
            return self._inner_query(node, scope, known)
        if isinstance(node, exp.Window):
            return self._window(node, scope, choice, known)
        wraps = isinstance(node, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls))
        if is_outer_aggregate(node) or wraps:
            return aggregate(node, derive, choice, scope.order)
        if isinstance(node, exp.Star) and isinstance(node.parent, exp.Count):
            return EXACT
        named = isinstance(node, exp.Anonymous) and node.name.casefold() in _SCALAR_NAMES
        return scalar(node, derive) if named or type(node) in _PARTS else self.anything

    def _inner_query(self, node: exp.Expr, scope: OuterScope, known: _Known) -> Derivation:
        """Return the derivation of a subquery in an expression."""
        inner = self.query(node, known, scope)
        parts = [*(each for _, each in inner.columns), *filter(None, [inner.others])]
        if inner.choice or inner.order or len(parts) != 1:
            return other(Derivation(inner.choice | inner.order), *parts)
        return joint(parts)

    def _window(self, node: exp.Window, scope: OuterScope, choice: frozenset[Input], known: _Known) -> Derivation:
        """Return the derivation of a window function; one over an order of noisy values is not smooth."""
        named = _named_window(node)
        by: list[Derivation] = [self.anything] if node.args.get("alias") is not None and len(named) != 1 else []
        for each in [node, *named]:
            parts = [part for part in each.iter_expressions() if part is not each.this]
            by += [self._derive(part, scope, choice, known) for part in parts]
        value = aggregate(node.this, lambda part: self._derive(part, scope, choice, known), choice, scope.order)
        whole = not named and node.args.get("order") is None and node.args.get("spec") is None
        if scope.order and not (whole and is_without_order(node.this)):
            by.append(Derivation(scope.order))
        return value if not inputs_of(by) else other(value, *by)


def _star(item: exp.Expr) -> exp.Star | None:
    """Return the star of an item of a select list, if it is one."""
    inner = item.unalias()
    star = inner.this if isinstance(inner, exp.Column) else inner
    return star if isinstance(star, exp.Star) else None


def _pivot_columns(pivot: exp.Expr) -> list[exp.Column]:
    """Return the columns that PIVOT names."""
    clauses = [each for name in ("expressions", "using", "fields") for each in pivot.args.get(name) or ()]
    return [node for each in clauses for node in each.find_all(exp.Column)]


def _has_query(pivot: exp.Expr, name: str) -> bool:
    return any(each.find(*_QUERIES, exp.PivotAny) is not None for each in pivot.args[name])


def _named_window(node: exp.Window) -> list[exp.Expr]:
    """Return the definition of the window that a function names, if it names one."""
    select, name = node.find_ancestor(exp.Select), node.args.get("alias")
    defined = [] if select is None else select.args.get("windows") or []
    return [each for each in defined if name is not None and each.name.casefold() == name.name.casefold()]


def _is_constant(node: exp.Column) -> bool:
    """Return whether a name is a word of the grammar, such as the unit of date_trunc, and not a column."""
    return isinstance(node.parent, (exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff, exp.Extract))
