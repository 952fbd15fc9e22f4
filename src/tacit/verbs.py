"""Questions without SQL: `count`, `sum`, `mean` and so on, by groups and with conditions.

Each verb writes the SELECT that it stands for and asks that, so that a verb and its SQL have one plan, one price and
one receipt.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite
from typing import TypedDict, Unpack

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tacit.errors import InvalidError, show
from tacit.guarantees.exact import Number
from tacit.query.expressions import Value
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.results.release import Release

Names = str | Sequence[str]


class Costs(TypedDict, total=False):
    """What every verb takes beside its own arguments; see `Database.sql`."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    error: Number | Mapping[str, Number] | None
    keys: Mapping[str, Sequence[Value]] | None
    confidence: float
    assume: int | None


class Verbs(ABC):
    """Questions by name. `by` names what to group by, `where` is a condition in SQL, `table` one of several tables.

    Columns may be expressions in SQL too. What a question costs is said as for `sql`: `epsilon=`, `delta=`, `rho=` or
    `error=`.
    """

    @property
    @abstractmethod
    def tables(self) -> Mapping[str, TablePolicy]:
        """What is public about each table."""

    @abstractmethod
    def sql(self, query: str, **costs: Unpack[Costs]) -> Release:
        """Ask a question in SQL."""

    @abstractmethod
    def _tabulated(self, query: str, costs: Costs, *, margins: bool) -> Release:
        """Ask for a table of counts that adds up."""

    def count(
        self, *, by: Names = (), where: str | None = None, table: str | None = None, **costs: Unpack[Costs]
    ) -> Release:
        """Count rows."""
        return self.sql(self._question([("count", "COUNT(*)")], by, where, table), **costs)

    def sum(
        self, column: str, *, by: Names = (), where: str | None = None, table: str | None = None, **costs: Unpack[Costs]
    ) -> Release:
        """Add up a column."""
        return self._of("SUM({})", column, "sum", by, where, table, costs)

    def mean(
        self, column: str, *, by: Names = (), where: str | None = None, table: str | None = None, **costs: Unpack[Costs]
    ) -> Release:
        """Average a column."""
        return self._of("AVG({})", column, "mean", by, where, table, costs)

    def variance(
        self,
        column: str,
        *,
        sample: bool = True,
        by: Names = (),
        where: str | None = None,
        table: str | None = None,
        **costs: Unpack[Costs],
    ) -> Release:
        """Return the variance of a column; of a sample (divided by n - 1) unless it is said not to be one."""
        return self._of("VAR_SAMP({})" if sample else "VAR_POP({})", column, "variance", by, where, table, costs)

    def median(
        self, column: str, *, by: Names = (), where: str | None = None, table: str | None = None, **costs: Unpack[Costs]
    ) -> Release:
        """Return the median of a column."""
        return self._of("MEDIAN({})", column, "median", by, where, table, costs)

    def quantile(
        self,
        column: str,
        q: float | Sequence[float],
        *,
        by: Names = (),
        where: str | None = None,
        table: str | None = None,
        **costs: Unpack[Costs],
    ) -> Release:
        """Return one quantile of a column, or several, which together cost what one does."""
        ranks = [q] if isinstance(q, (int, float)) else list(q)
        for rank in ranks:
            if isinstance(rank, bool) or not 0 <= rank <= 1:
                raise InvalidError("q", show(rank), "a number from 0 to 1, or several")
        if not ranks:
            raise InvalidError("q", "none", "a number from 0 to 1, or several")
        name, value = self._value(column, "quantile", table)
        single = len(ranks) == 1
        asked = [(name if single else f"{name}_{rank:g}", f"QUANTILE_CONT({value}, {rank!r})") for rank in ranks]
        return self.sql(self._question(asked, by, where, table), **costs)

    def histogram(
        self,
        column: str,
        bins: int | Sequence[float],
        *,
        by: Names = (),
        where: str | None = None,
        table: str | None = None,
        **costs: Unpack[Costs],
    ) -> Release:
        """Count a column's values in bins: whole numbers, never negative.

        Args:
            column: a column of numbers.
            bins: their edges, increasing; a bin holds its lower edge, and the last one its upper edge too. Or how many
                bins of equal width to make between the column's public bounds.
            by: what to group by as well.
            where: a condition in SQL.
            table: which of several tables.
            costs: what it may cost; see `sql`.
        """
        name, value = self._value(column, "bin", table)
        edges = self._edges(column, bins, table)
        labels = _labels(edges)
        ends = [("<", edge) for edge in edges[1:-1]] + [("<=", edges[-1])]
        branches = "".join(
            f" WHEN {value} >= {low!r} AND {value} {sign} {high!r} THEN '{label}'"
            for low, (sign, high), label in zip(edges, ends, labels, strict=False)
        )
        listed = {name: labels, **(costs.get("keys") or {})}
        query = self._question([("count", "COUNT(*)")], by, where, table, last=(name, f"CASE{branches} END"))
        return self._tabulated(query, {**costs, "keys": listed}, margins=False)

    def crosstab(
        self,
        *columns: str,
        where: str | None = None,
        table: str | None = None,
        **costs: Unpack[Costs],
    ) -> Release:
        """Count the combinations of several columns: whole numbers, never negative, consistent with all margins.

        The answer's `margin(...)` adds up to the margins, each with its own interval. How the budget is split over the
        table and its margins is chosen for the least total error.
        """
        if not columns:
            raise InvalidError("columns", "none", "names of columns to cross")
        return self._tabulated(self._question([("count", "COUNT(*)")], columns, where, table), costs, margins=True)

    def _of(
        self, call: str, column: str, verb: str, by: Names, where: str | None, table: str | None, costs: Costs
    ) -> Release:
        name, value = self._value(column, verb, table)
        return self.sql(self._question([(name, call.format(value))], by, where, table), **costs)

    def _table(self, given: str | None) -> str:
        names = [name for name, policy in self.tables.items() if not policy.public]
        if given is None and len(names) == 1:
            return names[0]
        if given in names:
            return str(given)
        got = "none" if given is None else show(given)
        raise InvalidError("table", got, f"one of {', '.join(names)}: table={names[0]!r}")

    def _value(self, text: str, verb: str, table: str | None) -> tuple[str, str]:
        """Return what an answer's column is called, and the SQL of what it is of: a column by its name, or SQL."""
        columns = self.tables[self._table(table)].columns
        if text in columns:
            return text, _quoted(text)
        node = _expression(text, "column")
        return (node.name if isinstance(node, exp.Column) else verb), node.sql("duckdb", comments=False)

    def _question(
        self,
        asked: Sequence[tuple[str, str]],
        by: Names,
        where: str | None,
        table: str | None,
        *,
        last: tuple[str, str] | None = None,
    ) -> str:
        """Return a SELECT of groups and aggregates."""
        groups = [self._value(one, one, table) for one in ([by] if isinstance(by, str) else by)]
        groups += [] if last is None else [last]
        taken = {name.casefold() for name, _ in groups}
        named = [(f"{name}_" if name.casefold() in taken else name, value) for name, value in asked]
        listed = ", ".join(f"{value} AS {_quoted(name)}" for name, value in [*groups, *named])
        query = f"SELECT {listed} FROM {_quoted(self._table(table))}"  # noqa: S608 - parsed by the allow-list below
        if where is not None:
            query += f" WHERE {_expression(where, 'where').sql('duckdb', comments=False)}"
        return query + (f" GROUP BY {', '.join(str(place + 1) for place in range(len(groups)))}" if groups else "")

    def _edges(self, column: str, bins: object, table: str | None) -> list[float]:
        """Return the edges of a histogram, or raise InvalidError."""
        if isinstance(bins, int) and not isinstance(bins, bool):
            policy = self.tables[self._table(table)].columns.get(column)
            ends = None if policy is None else policy.bounds
            if ends is None:
                raise InvalidError("bins", f"{bins} for {show(column)}, which has no bounds", "edges for such a column")
            if bins < 1:
                raise InvalidError("bins", show(bins), "edges, or a number ≥ 1 of bins")
            width = (ends[1] - ends[0]) / bins
            return [float(ends[0] + place * width) for place in range(bins + 1)]
        edges = list(bins) if isinstance(bins, Sequence) and not isinstance(bins, str) else []
        plain = all(isinstance(edge, (int, float)) and not isinstance(edge, bool) and isfinite(edge) for edge in edges)
        if len(edges) < 2 or not plain or any(a >= b for a, b in pairwise(edges)):  # noqa: PLR2004 - a bin has two
            got = f"[{', '.join(map(show, edges[:12]))}]" if edges else show(bins)
            raise InvalidError("bins", got, "at least two finite edges, each larger than the one before")
        return edges


def one_count(plan: Plan) -> None:
    """Raise unless a plan is one count by listed keys."""
    found = [key.name for key in plan.keys if key.values is None]
    if found or len(plan.aggregates) != 1 or not plan.keys:
        got = f"{', '.join(found)}, whose values are not public" if found else "nothing to count by"
        raise InvalidError("columns", got, "columns with public keys: list them with keys=; δ does not help a table")


def _labels(edges: Sequence[float]) -> list[str]:
    """Return the names of bins.

    >>> _labels([0, 18, 30.5])
    ['[0, 18)', '[18, 30.5]']
    """
    shown = [f"{edge:g}" if float(f"{edge:g}") == edge else repr(edge) for edge in edges]
    pairs = list(pairwise(shown))
    return [f"[{low}, {high})" for low, high in pairs[:-1]] + [f"[{pairs[-1][0]}, {pairs[-1][1]}]"]


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("duckdb")


def _expression(text: object, argument: str) -> exp.Expr:
    """Return one expression that is written in SQL, or raise InvalidError."""
    want = "a column's name or one expression in SQL" if argument == "column" else "one condition in SQL"
    if not isinstance(text, str) or not text.strip():
        raise InvalidError(argument, show(text), want)
    try:
        found = sqlglot.parse(f"SELECT {text}", dialect="duckdb")
    except (SqlglotError, RecursionError):
        raise InvalidError(argument, show(text), want) from None
    select = found[0] if len(found) == 1 else None
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise InvalidError(argument, show(text), want)
    if any(select.args.get(name) for name in ("from_", "where", "group", "having", "order", "limit", "joins", "with_")):
        raise InvalidError(argument, show(text), want)
    node: exp.Expr = select.expressions[0]
    if isinstance(node, (exp.Alias, exp.Star)):
        raise InvalidError(argument, show(text), want)
    return node
