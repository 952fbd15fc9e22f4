"""The analysis of an outer query: the derivation of each column, and the noisy values that choose its rows.

The analysis follows the tree: FROM, joins, WHERE, GROUP BY, windows, set operations. It never decides what the query
returns; DuckDB does. It decides only which columns may have an interval, and errs on the side of none:

* a node of a class that it does not know depends on all noisy values and has no property, so it is never exact;
* a relation that it does not know has such columns, and its rows are chosen by noisy values;
* a name that it does not find is such a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tacit.query.sql.derivations import (
    EXACT,
    CopiedColumn,
    Derivation,
    Form,
    Input,
    computes,
    inputs_of,
    joint,
    other,
)
from tacit.query.sql.outer_expressions import ExpressionAnalysis, Known
from tacit.query.sql.outer_pivots import pivoted
from tacit.query.sql.outer_scopes import (
    QUERIES,
    Columns,
    OuterScope,
    Relation,
    items_first,
    make_equal,
    renamed,
    unknown_relation,
)
from tacit.query.sql.outer_stars import other_columns, star_columns, star_of

_GROUPINGS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_SETS = (*_GROUPINGS, exp.Tuple, exp.Paren)
_ENDS = ("order", "limit", "offset")
_IRREGULAR = frozenset(("ASOF", "POSITIONAL", "NATURAL", "SEMI", "ANTI"))
_STEPS_OF_SELECT = 10


@dataclass(slots=True)
class OuterAnalysis(ExpressionAnalysis):
    """The analysis of the relations of an outer query; `ExpressionAnalysis` has its state."""

    def query(self, node: exp.Expr, known: Known, outer: OuterScope | None) -> Relation:
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

    def _parenthesized(self, node: exp.Subquery, known: Known, outer: OuterScope | None) -> Relation:
        """Return a query in parentheses, which may have separate clauses."""
        given = {name for name, value in node.args.items() if value not in (None, False, [])}
        if given - {"this", "alias", "pivots", "with_", *_ENDS}:
            return unknown_relation([self.anything])
        known = self._with(node, known, outer)
        relation = self._ended(node, self.query(node.this, known, outer), None, known)
        return self._pivoted(relation, node.args.get("pivots") or (), known)

    def _with(self, node: exp.Expr, known: Known, outer: OuterScope | None) -> Known:
        clause = node.args.get("with_")
        names = dict(known)
        for cte in clause.expressions if clause is not None else ():
            names[cte.alias.casefold()] = renamed(self.query(cte.this, names, outer), cte.args.get("alias"))
        return names

    # --- FROM -----------------------------------------------------------------------------------------------------

    def _source(self, node: exp.Expr, known: Known, outer: OuterScope | None) -> Relation:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            name = node.name.casefold()
            relation = self._again(known[name]) if name in known else self._table(name)
            return self._pivoted(relation, node.args.get("pivots") or (), known)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            return self.query(node.this, known, outer)
        if isinstance(node, QUERIES):
            return self.query(node, known, outer)
        return self._made(node, outer)

    def _made(self, node: exp.Expr, outer: OuterScope | None) -> Relation:
        """Return rows that a table function or VALUES makes: exact ones if they are made of exact values."""
        scope = OuterScope({}, {}, outer)
        found = [scope.column(column) or self.anything for column in node.find_all(exp.Column)]
        if inputs_of(found) or any(node.find(each) is not None for each in (*QUERIES, exp.Window)):
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

    def _pivoted(self, relation: Relation, pivots: Sequence[exp.Expr], known: Known) -> Relation:
        def derive(node: exp.Expr, scope: OuterScope) -> Derivation:
            return self.derive(node, scope, frozenset(), known)

        return pivoted(relation, pivots, derive, self.anything)

    def _scope(self, node: exp.Select, known: Known, outer: OuterScope | None) -> tuple[OuterScope, frozenset[Input]]:
        """Return the scope of FROM, and the noisy values that choose its rows by a join."""
        items = frozenset(item.alias.casefold() for item in node.expressions if isinstance(item, exp.Alias))
        scope = OuterScope({}, {}, outer, items)
        start = node.args.get("from_")
        choice: frozenset[Input] = frozenset()
        sources: list[tuple[exp.Expr, exp.Expr | None]] = [(start.this, None)] if start is not None else []
        sources += [(join.this, join) for join in node.args.get("joins") or ()]
        for source, join in sources:
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
        self, join: exp.Expr, scope: OuterScope, left: Mapping[str, Relation], right: Relation, known: Known
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
            parts = [scope.merged[name]] if name in scope.merged else before
            copies = frozenset[CopiedColumn]().union(*(each.copies for each in (*parts, *after)))
            scope.merged[name] = replace(joint([*parts, *after]), copies=copies)
        condition = join.args.get("on")
        if condition is not None:
            compared.append(self.derive(condition, scope, frozenset(), known))
            make_equal(condition, scope, side)
        words = {str(join.args.get(name) or "").upper() for name in ("method", "kind", "side")}
        if words & _IRREGULAR:
            scope.irregular = True
        if words & {"ASOF", "POSITIONAL", "NATURAL"}:
            compared += [*scope.everything, Derivation(scope.order)]
        return inputs_of(compared)

    # --- SELECT -----------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select, known: Known, outer: OuterScope | None) -> Relation:
        self.count(_STEPS_OF_SELECT)
        scope, choice = self._scope(node, known, outer)
        where = node.args.get("where")
        if where is not None:
            choice |= self.derive(where.this, scope, choice, known).inputs
        choice |= self._groups(node, scope, choice, known)
        columns: Columns = []
        for item in node.expressions:
            found = self._items(item, scope, choice, known)
            self.count(len(found))
            scope.aliases |= {name.casefold(): each for name, each in found if isinstance(item, exp.Alias)}
            columns += found
        others = other_columns(node, scope, self.anything)
        if node.find(*_GROUPINGS) is not None:  # a key may be NULL in a row that is not about the group of NULL
            columns = [(name, replace(each, copies=frozenset())) for name, each in columns]
        relation = Relation([] if others == self.anything else columns, choice, others, scope.order)
        if any(item.find(exp.Columns, exp.Explode, exp.Unnest) is not None for item in node.expressions):
            relation = unknown_relation([self.anything])
        for name in ("having", "qualify"):
            if node.args.get(name) is not None:
                relation.choice |= self._either(node.args[name].this, relation, scope, known).inputs
        having = node.args.get("having")  # windows are computed from the groups that it chooses
        if having is not None and relation.choice and node.find(exp.Window) is not None:
            return unknown_relation([self.anything])
        relation.order |= scope.sorting
        return self._ended(node, relation, scope, known)

    def _ended(self, node: exp.Expr, relation: Relation, scope: OuterScope | None, known: Known) -> Relation:
        """Apply DISTINCT, ORDER BY and LIMIT, which may choose rows by noisy values."""
        every = inputs_of([*(each for _, each in relation.columns), *filter(None, [relation.others])])
        scope = OuterScope({}, {}, None) if scope is None else scope
        order = node.args.get("order")
        by = order.expressions if order is not None else []
        relation.order |= inputs_of(self._ordered(item.this, relation, scope, known) for item in by)
        distinct = node.args.get("distinct") if isinstance(node, exp.Select) else None
        if distinct is not None:
            parts = self.derive(distinct, scope, relation.choice, known)
            chosen = Derivation(every | relation.order | parts.inputs)
            relation.choice |= chosen.inputs
            if distinct.args.get("on") is not None and not chosen.exact:  # its rows are put together by noisy values
                relation.columns = [(name, other(chosen, each)) for name, each in relation.columns]
        limits = [node.args[name] for name in ("limit", "offset") if node.args.get(name) is not None]
        if limits:
            sizes = inputs_of(self.derive(each, scope, relation.choice, known) for each in limits)
            relation.choice |= sizes | relation.order | (frozenset() if by else every)
        return relation

    def _ordered(self, item: exp.Expr, relation: Relation, scope: OuterScope | None, known: Known) -> Derivation:
        if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal():
            place = int(item.name) - 1
            known_place = place < len(relation.columns) and relation.others is None
            return relation.columns[place][1] if known_place else self.anything
        if isinstance(item, (exp.Var, exp.Star)):
            return self.anything
        if isinstance(item.unnest(), exp.Column) or scope is None or not scope.relations:
            return self.derive(item, items_first(relation, scope), relation.choice, known)
        return self._either(item, relation, scope, known)

    def _either(self, clause: exp.Expr, relation: Relation, scope: OuterScope, known: Known) -> Derivation:
        """Return the derivation of a clause whose names are columns of FROM or aliases of the select list.

        In ORDER BY, HAVING and QUALIFY DuckDB prefers one in some places and the other in others. Both are counted.
        """
        return other(
            self.derive(clause, scope, relation.choice, known),
            self.derive(clause, items_first(relation, scope), relation.choice, known),
        )

    def _groups(self, node: exp.Select, scope: OuterScope, choice: frozenset[Input], known: Known) -> frozenset[Input]:
        """Return the noisy values that GROUP BY compares."""
        group = node.args.get("group")
        if group is None:
            return frozenset()
        given = {name for name, value in group.args.items() if value not in (None, False, [])}
        if given - {"all", "expressions", "rollup", "cube", "grouping_sets"}:
            return self.anything.inputs
        items = [each.unalias() for each in node.expressions if not computes(each)] if "all" in given else []
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

    def _grouped(
        self, item: exp.Expr, node: exp.Select, scope: OuterScope, choice: frozenset[Input], known: Known
    ) -> Derivation:
        if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal():
            place = int(item.name) - 1
            if place >= len(node.expressions) or any(star_of(each) is not None for each in node.expressions):
                return self.anything
            item = node.expressions[place].unalias()
        aliases = {each.alias.casefold(): each.this for each in node.expressions if isinstance(each, exp.Alias)}
        found = self.derive(item, scope, choice, known)
        if not isinstance(item, exp.Column) or item.table or item.name.casefold() not in aliases:
            return found
        if OuterScope(scope.relations, scope.merged, None).column(item) is not None:
            return found
        return self.derive(aliases[item.name.casefold()], scope, choice, known)

    def _items(self, item: exp.Expr, scope: OuterScope, choice: frozenset[Input], known: Known) -> Columns:
        """Return the columns of one item of a select list, which may be a star."""
        star = star_of(item)
        if star is None:
            name = item.alias_or_name if isinstance(item, (exp.Alias, exp.Column)) else ""  # DuckDB makes up a name
            return [(name, self.derive(item.unalias(), scope, choice, known))]
        return star_columns(item, star, scope, lambda node: self.derive(node, scope, choice, known))

    def _combined(self, node: exp.SetOperation, known: Known, outer: OuterScope | None) -> Relation:
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
