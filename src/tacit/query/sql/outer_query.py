"""A query that computes with private aggregates, split into these SELECTs and an outer query over them.

    WITH t AS (SELECT region, count(*) AS n FROM visits GROUP BY region)     inner: a plan like any other
    SELECT region, n / sum(n) OVER () AS share FROM t                        outer: reads `t` and public tables alone

Every SELECT of a query is one of four kinds:

* **rows**: it reads private rows and returns one row for each, or one row for each unit;
* **release**: it reads private rows and aggregates them;
* **released**: it reads releases, and perhaps public tables, but no private row;
* **public**: it reads public tables or nothing.

A query whose outermost SELECT is a release is not split: it is planned as a whole. If the outermost one is released,
each release in it becomes a table, `released_1` and so on, and two releases with the same SQL are one table. The
outer query is regenerated from the parsed tree. A SELECT that reads private rows and releases together is refused.

**Privacy.** The outer query names only tables that are released or public: `split` checks each name in FROM, and what
it does not know is refused. So the outer query is post-processing of one composed mechanism, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlglot import exp

from tacit.errors import show_name
from tacit.query.policy import TablePolicy
from tacit.query.refusals import refused, unknown_table
from tacit.query.sql.cte_scopes import RowsCTE, references, with_definitions
from tacit.query.sql.from_clause import read_from
from tacit.query.sql.grammar import nested_too_deep, parse_text, read_select
from tacit.query.sql.item_expansions import expand_items
from tacit.query.sql.lifted_select import grouped_node, is_lifted, lift
from tacit.query.sql.names import check_case, to_sql
from tacit.query.sql.outer_grammar import check_outer
from tacit.query.sql.outer_nodes import aggregates, from_items, inner_queries, is_of_rows, with_bounds
from tacit.query.sql.table_scope import table_scope

QueryKind = Literal["rows", "release", "released", "public"]
_QUERIES = (exp.Select, exp.SetOperation, exp.Pivot)
_MOST_RELEASES = 16
_CATALOGUES = ("pg_", "duckdb_", "sqlite_", "information_schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerQuery:
    """A private aggregate inside a query: the name of its table in the outer query, its SQL, and its name there.

    If it is `tabulated`, its counts and sums are released as tables that add up with their margins.
    """

    table: str
    sql: str
    label: str
    tabulated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterQuery:
    """A split query: its SQL, its private aggregates, the public tables that it reads, and the outer query."""

    sql: str
    inner: tuple[InnerQuery, ...]
    public: tuple[str, ...]
    tree: exp.Expr

    @property
    def text(self) -> str:
        """The SQL of the outer query."""
        return to_sql(self.tree)


@dataclass(frozen=True, slots=True)
class _Source:
    """A table, a CTE or a subquery in FROM; `units` are the columns that identify units, if it has rows."""

    kind: QueryKind
    units: frozenset[str] = frozenset()
    definition: RowsCTE | None = None


_Names = Mapping[str, _Source]


def split(sql: str, tables: Mapping[str, TablePolicy]) -> OuterQuery | None:
    """Return the parts of a query over private aggregates; None if it is to be planned as a whole.

    >>> from tacit.query.policy import ColumnPolicy
    >>> t = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns={})
    >>> query = split("SELECT n + 1 AS m FROM (SELECT count(*) AS n FROM t)", {"t": t})
    >>> query.text, query.inner[0].sql
    ('SELECT n + 1 AS m FROM (SELECT * FROM released_1)', 'SELECT COUNT(*) AS n FROM t')
    >>> split("SELECT count(*) AS n FROM t", {"t": t}) is None
    True
    """
    try:
        tree = parse_text(sql)
        whole = to_sql(tree)
        names = [*(node.name for node in tree.find_all(exp.Identifier)), *tables]
        splitter = _Splitter(tables, _prefix(names))
        if splitter.kind(tree, splitter.tables_known()) != "released":
            return None
        check_case(names)
        return splitter.result(splitter.root(tree), whole)
    except RecursionError as error:
        raise nested_too_deep() from error


def _prefix(names: Iterable[str]) -> str:
    """Return the first part of the names of released tables, which none of these names has."""
    used = {name.casefold() for name in names}
    prefix = "released_"
    while any(name.startswith(prefix) for name in used):
        prefix = f"_{prefix}"
    return prefix


@dataclass(slots=True)
class _Splitter:
    """The state of one split: the private aggregates that were found, by their SQL."""

    tables: Mapping[str, TablePolicy]
    prefix: str
    inner: dict[tuple[str, bool], InnerQuery] = field(default_factory=dict)
    public: set[str] = field(default_factory=set)
    _roots: dict[int, exp.Expr] = field(default_factory=dict)
    _kinds: dict[int, tuple[exp.Expr, QueryKind]] = field(default_factory=dict)

    def tables_known(self) -> _Names:
        """Return the tables of the policy by their names."""
        return {
            name.casefold(): _Source(
                "public" if table.public else "rows", frozenset({table.unit.casefold()} if table.unit else ())
            )
            for name, table in self.tables.items()
        }

    def root(self, tree: exp.Expr) -> exp.Expr:
        """Return the outermost query after the split."""
        return self._roots.get(id(tree), tree)

    def result(self, tree: exp.Expr, sql: str) -> OuterQuery:
        """Return the split query, whose outer part is checked against the list of supported SQL."""
        if len(self.inner) > _MOST_RELEASES:
            reason = f"The query has {len(self.inner)} private aggregates; the limit is {_MOST_RELEASES}"
            raise refused(reason, "Ask for several aggregates in one SELECT, or run several queries.")
        self._check_tables(tree)
        for node in list(tree.find_all(exp.With)):
            kept = [cte for cte in node.expressions if not cte.meta.get("rows")]
            node.set("expressions", kept) if kept else node.pop()
        check_outer(tree)
        return OuterQuery(sql=sql, inner=tuple(self.inner.values()), public=tuple(sorted(self.public)), tree=tree)

    def _check_tables(self, tree: exp.Expr) -> None:
        """Check that the outer query names released tables, public ones and its own CTEs, and nothing else.

        A name is a CTE only where that CTE is visible. CTEs of rows are left out of the outer query, so neither they
        nor what they read is checked; a name that refers to one of them is refused.
        """
        released = {each.table for each in self.inner.values()}
        public = {name.casefold(): name for name, table in self.tables.items() if table.public}
        for cte in tree.find_all(exp.CTE):
            if cte.alias.casefold().startswith(_CATALOGUES):
                reason = f"A CTE cannot have the name {show_name(cte.alias)}, because DuckDB has such tables"
                raise refused(reason, "Give it another name.")
        for node, own in references(tree):
            name = node.name.casefold()
            if is_of_rows(node) or node.name in released or (own is not None and not own.meta.get("rows")):
                continue
            if own is None and name in public:
                self.public.add(public[name])
                continue
            if own is not None or name in {each.casefold() for each in self.tables}:
                reason = f"The query combines rows of {node.name} with private aggregates"
                raise refused(reason, "Aggregate the rows in another SELECT, and join the results.")
            raise unknown_table(node.name, self.tables)

    # --- kinds --------------------------------------------------------------------------------------------------------

    def kind(self, node: exp.Expr, known: _Names) -> QueryKind:
        """Return the kind of a query, and replace the releases that it reads by tables if it is released."""
        while isinstance(node, exp.Subquery):
            node = node.this
        if id(node) not in self._kinds:
            self._kinds[id(node)] = (node, self._new_kind(node, known))  # the node stays alive, so its id stays its own
        return self._kinds[id(node)][1]

    def _new_kind(self, node: exp.Expr, known: _Names) -> QueryKind:
        if isinstance(node, exp.Select):
            return self._select(node, known)
        if isinstance(node, exp.SetOperation):
            return self._combined([node.this, node.expression], self._with(node, known))
        if isinstance(node, exp.Pivot) and isinstance(node.this, exp.Expr):
            return self._combined([node.this], self._with(node, known))
        if isinstance(node, exp.Table):
            return self._source(node, known).kind
        return "public"

    def _combined(self, parts: list[exp.Expr], known: _Names) -> QueryKind:
        kinds = [self.kind(part, known) for part in parts]
        if "rows" in kinds:
            return "rows"
        if set(kinds) == {"public"}:
            return "public"
        self._embed_all(zip(parts, kinds, strict=True), known)
        return "released"

    def _with(self, node: exp.Expr, known: _Names) -> _Names:
        """Return the names that a query can use, with its own CTEs."""
        clause = node.args.get("with_")
        if clause is None:
            return known
        names = dict(known)
        for cte in clause.expressions:
            kind = "rows" if clause.args.get("recursive") else self.kind(cte.this, names)
            units = self._units(cte.this, names) if kind == "rows" else frozenset[str]()
            if kind == "release":
                self._embed(cte.this, names, cte.alias)
                kind = "released"
            if kind == "rows":
                cte.meta["rows"] = True
            definition = RowsCTE(cte, _definitions(names)) if kind == "rows" else None
            names[cte.alias.casefold()] = _Source(kind, units, definition)
        return names

    def _select(self, node: exp.Select, known: _Names) -> QueryKind:
        outside, known = known, self._with(node, known)
        sources = [(part, self._source(part, known)) for part in from_items(node)]
        kinds = {source.kind for _, source in sources}
        if "rows" in kinds:
            if kinds & {"release", "released"}:
                raise refused(
                    "A SELECT reads private rows and a private aggregate together",
                    "Aggregate the rows in another SELECT, and join the results.",
                )
            expand_items(node)
            if not aggregates(node) or self._is_by_unit(node, sources):
                return "rows"
            return self._lifted(node, outside) if is_lifted(node) else "release"
        inside = [(part, self.kind(part, known)) for part in inner_queries(node)]
        kinds |= {kind for _, kind in inside}
        if "rows" in kinds:
            return "rows"
        if kinds <= {"public"}:
            return "public"
        self._embed_all([*((part, source.kind) for part, source in sources), *inside], known)
        return "released"

    def _lifted(self, node: exp.Select, known: _Names) -> QueryKind:
        """Split a SELECT that computes with its own aggregates; `known` are the names around it, without its CTEs."""
        inner, outer, tabulated = lift(node, self._columns(node, known))
        name = self._release(inner, known, "", tabulated=tabulated)
        outer.set("from_", exp.From(this=exp.to_table(name)))
        self._put(node, outer)
        return "released"

    def _columns(self, node: exp.Select, known: _Names) -> frozenset[str]:
        """Return the names of the columns that the FROM of a SELECT has, in lower case."""
        rows = exp.Select(expressions=[exp.Count(this=exp.Star(), big_int=True)])
        for name in ("with_", "from_", "joins"):
            part = node.args.get(name)
            if part is not None:
                rows.set(name, part.copy() if isinstance(part, exp.Expr) else [each.copy() for each in part])
        scopes = {name: table_scope(with_bounds(table)) for name, table in self.tables.items()}
        scope = read_from(read_select(to_sql(with_definitions(rows, _definitions(known)))), scopes)
        return frozenset(map(str.casefold, scope.columns))

    def _source(self, node: exp.Expr, known: _Names) -> _Source:
        """Return what one item of FROM stands for."""
        if isinstance(node, exp.Table):
            found = known.get(node.name.casefold()) if isinstance(node.this, exp.Identifier) else None
            return found or _Source("public")
        if isinstance(node, (exp.Subquery, *_QUERIES)):
            kind = self.kind(node, known)
            return _Source(kind, self._units(node, known) if kind == "rows" else frozenset())
        return _Source("public")

    def _units(self, node: exp.Expr, known: _Names) -> frozenset[str]:
        """Return the columns of a query of rows that identify units."""
        while isinstance(node, exp.Subquery):
            node = node.this
        if not isinstance(node, exp.Select):
            return frozenset()
        units = frozenset[str]().union(*(self._source(part, known).units for part in from_items(node)))
        found: set[str] = set()
        for item in node.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            if isinstance(inner, exp.Star) or isinstance(inner.this, exp.Star):
                found |= units
            elif isinstance(inner, exp.Column) and inner.name.casefold() in units:
                found.add(item.alias_or_name.casefold())
        return frozenset(found)

    def _is_by_unit(self, node: exp.Select, sources: list[tuple[exp.Expr, _Source]]) -> bool:
        """Return whether a SELECT groups by the unit, so that it returns a row for each unit."""
        units = frozenset[str]().union(*(source.units for _, source in sources))
        group = node.args.get("group")
        items = [] if group is None else [grouped_node(item, node) for item in group.expressions]
        return any(isinstance(item, exp.Column) and item.name.casefold() in units for item in items)

    # --- replacement --------------------------------------------------------------------------------------------------

    def _embed_all(self, parts: Iterable[tuple[exp.Expr, QueryKind]], known: _Names) -> None:
        for part, kind in parts:
            if kind == "release":
                self._embed(part, known, part.alias_or_name)

    def _embed(self, node: exp.Expr, known: _Names, label: str) -> None:
        """Replace a release by a SELECT of its table."""
        while isinstance(node, exp.Subquery):
            node = node.this
        name = self._release(node, known, label, tabulated=False)
        self._put(node, exp.select("*").from_(exp.to_table(name)))

    def _put(self, node: exp.Expr, outer: exp.Expr) -> None:
        """Replace a query by one that is released."""
        self._kinds[id(outer)] = (outer, "released")
        if node.parent is None:
            self._roots[id(node)] = outer
        else:
            node.replace(outer)

    def _release(self, node: exp.Expr, known: _Names, label: str, *, tabulated: bool) -> str:
        """Return the name of the table of a release."""
        sql = to_sql(with_definitions(node, _definitions(known)))
        found = self.inner.get((sql, tabulated))
        if found is None:
            name = f"{self.prefix}{len(self.inner) + 1}"
            label = label or f"aggregate {len(self.inner) + 1}"
            found = InnerQuery(table=name, sql=sql, label=label, tabulated=tabulated)
            self.inner[sql, tabulated] = found
        elif label and found.label.startswith("aggregate "):
            self.inner[sql, tabulated] = replace(found, label=label)
        return found.table


def _definitions(known: _Names) -> dict[str, RowsCTE]:
    """Return the CTEs of rows among the visible names."""
    return {name: source.definition for name, source in known.items() if source.definition is not None}
