"""The analysis of an outer query: the derivation of each column, and the noisy values that choose its rows.

The analysis follows the tree: FROM, joins, WHERE, GROUP BY, windows, set operations. It never decides what the query
returns; DuckDB does. It decides only which columns may have an interval, and errs on the side of none:

* a node of a class that it does not know depends on all noisy values and has no property, so it is never exact;
* a relation that it does not know has such columns, and its rows are chosen by noisy values;
* a name that it does not find is such a column.

**Time.** Each part of an expression is derived once in each scope. A query in ORDER BY, HAVING or QUALIFY is derived in
two scopes, and a star of a join has the columns of both sides, so nested ones could still need time that doubles with
each level. `_count` refuses such queries, before anything is charged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.query.refusals import refused
from tacit.query.sql.derivations import (
    EXACT,
    CopiedColumn,
    Derivation,
    Derive,
    Form,
    Input,
    aggregate,
    computes,
    inputs_of,
    is_outer_aggregate,
    is_without_order,
    joint,
    other,
    scalar,
)
from tacit.query.sql.outer_grammar import OPERATORS, SCALARS
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
_GROUPINGS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_SETS = (*_GROUPINGS, exp.Tuple, exp.Paren)
_ENDS = ("order", "limit", "offset")
_IRREGULAR = frozenset(("ASOF", "POSITIONAL", "NATURAL", "SEMI", "ANTI"))
_MOST_STEPS = 100_000
_STEPS_OF_SELECT = 10
_Known = Mapping[str, Relation]


@dataclass(slots=True)
class OuterAnalysis:
    """The state of the analysis of one outer query.

    `tables` are the released and the public tables by their case-folded names, with the columns of each and whether
    they are noisy. `chosen`, `bent` and `uses` are those of `outer_columns`. `steps` are the parts of expressions and
    the columns that were derived.
    """

    tables: Mapping[str, tuple[str, Mapping[str, bool]]]
    chosen: frozenset[str] = frozenset()
    bent: frozenset[Input] = frozenset()
    uses: dict[int, str] = field(default_factory=dict)
    steps: int = 0

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

    def _pivoted(self, relation: Relation, pivots: Sequence[exp.Expr], known: _Known) -> Relation:
        def derive(node: exp.Expr, scope: OuterScope) -> Derivation:
            return self._derive(node, scope, frozenset(), known)

        return pivoted(relation, pivots, derive, self.anything)

    def _scope(self, node: exp.Select, known: _Known, outer: OuterScope | None) -> tuple[OuterScope, frozenset[Input]]:
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
            parts = [scope.merged[name]] if name in scope.merged else before
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
        self._count(_STEPS_OF_SELECT)
        scope, choice = self._scope(node, known, outer)
        where = node.args.get("where")
        if where is not None:
            choice |= self._derive(where.this, scope, choice, known).inputs
        choice |= self._groups(node, scope, choice, known)
        columns: Columns = []
        for item in node.expressions:
            found = self._items(item, scope, choice, known)
            self._count(len(found))
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
        if isinstance(item.unnest(), exp.Column) or scope is None or not scope.relations:
            return self._derive(item, items_first(relation, scope), relation.choice, known)
        return self._either(item, relation, scope, known)

    def _either(self, clause: exp.Expr, relation: Relation, scope: OuterScope, known: _Known) -> Derivation:
        """Return the derivation of a clause whose names are columns of FROM or aliases of the select list.

        In ORDER BY, HAVING and QUALIFY DuckDB prefers one in some places and the other in others. Both are counted.
        """
        return other(
            self._derive(clause, scope, relation.choice, known),
            self._derive(clause, items_first(relation, scope), relation.choice, known),
        )

    def _groups(self, node: exp.Select, scope: OuterScope, choice: frozenset[Input], known: _Known) -> frozenset[Input]:
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
        self, item: exp.Expr, node: exp.Select, scope: OuterScope, choice: frozenset[Input], known: _Known
    ) -> Derivation:
        if isinstance(item, exp.Literal) and not item.is_string and item.name.isdecimal():
            place = int(item.name) - 1
            if place >= len(node.expressions) or any(star_of(each) is not None for each in node.expressions):
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
        star = star_of(item)
        if star is None:
            name = item.alias_or_name if isinstance(item, (exp.Alias, exp.Column)) else ""  # DuckDB makes up a name
            return [(name, self._derive(item.unalias(), scope, choice, known))]
        return star_columns(item, star, scope, lambda node: self._derive(node, scope, choice, known))

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
        """Return the derivation of an expression; each of its parts is derived once."""
        found: dict[int, Derivation] = {}

        def derive(part: exp.Expr) -> Derivation:
            if id(part) not in found:
                self._count(1)
                found[id(part)] = self._new(part, derive, scope, choice, known)
            return found[id(part)]

        return derive(node)

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > _MOST_STEPS:
            raise refused(
                "The computation with the private aggregates has too many columns, or queries that are nested too deep",
                "Write steps as CTEs, and name the columns that each step needs.",
            )

    def _new(
        self, node: exp.Expr, derive: Derive, scope: OuterScope, choice: frozenset[Input], known: _Known
    ) -> Derivation:
        if isinstance(node, exp.Column):
            found = scope.column(node)
            return found or (EXACT if _is_constant(node) else self.anything)
        if isinstance(node, QUERIES):
            return self._inner_query(node, scope, known)
        if isinstance(node, exp.Window):
            return self._window(node, derive, scope, choice)
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

    def _window(self, node: exp.Window, derive: Derive, scope: OuterScope, choice: frozenset[Input]) -> Derivation:
        """Return the derivation of a window function; one over an order of noisy values is not smooth."""
        named = _named_windows(node)
        by: list[Derivation] = [self.anything] if named is None else []
        for each in [node, *(named or ())]:
            parts = [part for part in each.iter_expressions() if part is not each.this]
            by += [derive(part) for part in parts]
        scope.sorting |= inputs_of(by)
        value = aggregate(node.this, derive, choice, scope.order)
        whole = node.args.get("alias") is None and node.args.get("order") is None and node.args.get("spec") is None
        if scope.order and not (whole and is_without_order(node.this)):
            by.append(Derivation(scope.order))
        return value if not inputs_of(by) else other(value, *by)


def _named_windows(node: exp.Window) -> list[exp.Expr] | None:
    """Return the window that a function names, and those that this one names in turn; None if one is not known."""
    select, name = node.find_ancestor(exp.Select), node.args.get("alias")
    defined = [] if select is None else select.args.get("windows") or []
    found: list[exp.Expr] = []
    while name is not None:
        named = [each for each in defined if each.name.casefold() == name.name.casefold()]
        if len(named) != 1 or len(found) > len(defined):
            return None
        found += named
        name = named[0].args.get("alias")
    return found


def _is_constant(node: exp.Column) -> bool:
    """Return whether a name is a word of the grammar, such as the unit of date_trunc, and not a column."""
    units = isinstance(node.parent, (exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff)) and node.arg_key == "unit"
    return units or (isinstance(node.parent, exp.Extract) and node.arg_key == "this")
