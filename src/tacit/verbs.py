"""The SELECT statements of the verbs: `count`, `sum`, `mean` and so on, by groups and with conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isfinite

import sqlglot
from sqlglot import exp

from tacit.errors import InvalidError, bad_value, show, show_name
from tacit.guarantees.exact import whole
from tacit.query.expressions import Value
from tacit.query.policy import TablePolicy
from tacit.query.sql.grammar import nested_too_deep

ColumnNames = str | Sequence[str]

_COUNT = ("count", "COUNT(*)")
_TEXTS = "A histogram counts numbers. For texts use db.crosstab (tacit crosstab), or count by the column."


@dataclass(frozen=True, slots=True)
class VerbTarget:
    """The rows and groups of a verb: the columns to group by, a condition in SQL, and one of several tables."""

    tables: Mapping[str, TablePolicy]
    by: ColumnNames
    where: str | None
    table: str | None

    @property
    def table_name(self) -> str:
        """The private table: the named one, or the only one."""
        names = [name for name, policy in self.tables.items() if not policy.public]
        if self.table is None and len(names) == 1:
            return names[0]
        if self.table in names:
            return str(self.table)
        hint = f"Name one of {', '.join(names)}: table={names[0]!r}."
        if self.table is None:
            raise InvalidError("There are several tables, and none is named.", argument="table", hint=hint)
        raise InvalidError(f"{show(self.table)} is not a private table.", argument="table", hint=hint)

    def column(self, text: str, fallback: str) -> tuple[str, str]:
        """Return the name and the SQL of a column of the answer, from a column's name or an expression in SQL."""
        given: object = text
        if isinstance(given, str) and text in self.tables[self.table_name].columns:
            return text, _quoted(text)
        node = _expression(text, "column")
        return (node.name if isinstance(node, exp.Column) else fallback), _text(node)

    def select(self, aggregates: Sequence[tuple[str, str]], last_key: tuple[str, str] | None = None) -> str:
        """Return a SELECT of groups and aggregates, each with its name and its SQL."""
        groups = [self.column(name, name) for name in ([self.by] if isinstance(self.by, str) else self.by)]
        groups += [] if last_key is None else [last_key]
        taken = {name.casefold() for name, _ in groups}
        named = [(f"{name}_" if name.casefold() in taken else name, value) for name, value in aggregates]
        outputs = ", ".join(f"{value} AS {_quoted(name)}" for name, value in [*groups, *named])
        query = f"SELECT {outputs} FROM {_quoted(self.table_name)}"  # noqa: S608 - parsed by the allow-list
        if self.where is not None:
            query += f" WHERE {_text(_expression(self.where, 'where'))}"
        return query + (f" GROUP BY {', '.join(str(index + 1) for index in range(len(groups)))}" if groups else "")


def count(target: VerbTarget) -> str:
    """Return the SELECT that counts rows."""
    return target.select([_COUNT])


def aggregate(function: str, column: str, verb: str, target: VerbTarget) -> str:
    """Return the SELECT of one aggregate function of a column."""
    name, value = target.column(column, verb)
    return target.select([(name, f"{function}({value})")])


def bounds(column: str, target: VerbTarget) -> tuple[str, str]:
    """Return a SELECT that reads the raw values of a column, and the text under which its bounds are recorded."""
    name, value = target.column(column, "bounds")
    return target.select([(name, f"COUNT(DISTINCT {value})")]), target.select([(name, f"BOUNDS({value})")])


def quantiles(column: str, q: float | Sequence[float], target: VerbTarget) -> str:
    """Return the SELECT of one quantile or several."""
    ranks = [q] if isinstance(q, (int, float)) else list(q)
    for rank in ranks:
        if isinstance(rank, bool) or not 0 <= rank <= 1:
            raise bad_value("q", rank, "a number from 0 to 1, or several")
    if not ranks:
        raise InvalidError("q is empty.", argument="q", hint="Give a number from 0 to 1, or several.")
    name, value = target.column(column, "quantile")
    single = len(ranks) == 1
    outputs = [(name if single else f"{name}_{rank:g}", f"QUANTILE_CONT({value}, {rank!r})") for rank in ranks]
    return target.select(outputs)


def top(column: str, n: object, target: VerbTarget) -> str:
    """Return the SELECT of the most frequent values of a column, by which the target groups."""
    number = whole(n)
    if number is None or number < 1:
        raise bad_value("n", n, "a whole number ≥ 1")
    name, _ = target.column(column, column)
    count_name = "count_" if name.casefold() == "count" else "count"
    return f"{target.select([_COUNT])} ORDER BY {_quoted(count_name)} DESC LIMIT {number}"


def describe(
    columns: Sequence[str], target: VerbTarget, chosen: Sequence[str]
) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Return the SELECT that describes columns, and the statistics that it has of each.

    The name of an output is the column's name and that of the statistic, with a blank between. No statistic's name has
    a blank, so different outputs have different names.

    Args:
        columns: columns, or expressions in SQL; without names, every column of numbers with bounds.
        target: the rows.
        chosen: the columns whose bounds the query chooses.
    """
    policies = target.tables[target.table_name].columns
    bounded = [name for name, policy in policies.items() if policy.bounds is not None and not policy.hidden]
    names = list(dict.fromkeys(columns)) if columns else [*bounded, *(name for name in chosen if name not in bounded)]
    if not names:
        raise InvalidError(
            "No column has bounds, so nothing can be described by default.",
            argument="columns",
            hint="Name columns, or give bounds=.",
        )
    outputs: list[tuple[str, str]] = []
    described: dict[str, tuple[str, ...]] = {}
    for name in names:
        _, value = target.column(name, name)
        is_number = name not in policies or name in bounded or name in chosen
        described[name] = (*_SHARES, *(_NUMBERS if is_number else ()))
        outputs += [(f"{name} {each}", {**_SHARES, **_NUMBERS}[each].format(value)) for each in described[name]]
    return target.select(outputs), described


_SHARES = {"count": "COUNT({0})", "missing": "1 - COUNT({0}) / COUNT(*)"}
_NUMBERS = {
    "mean": "AVG({0})",
    "std": "STDDEV_SAMP({0})",
    "min": "MIN({0})",
    "25%": "QUANTILE_CONT({0}, 0.25)",
    "50%": "QUANTILE_CONT({0}, 0.5)",
    "75%": "QUANTILE_CONT({0}, 0.75)",
    "max": "MAX({0})",
}
"""The statistics of `describe` in SQL."""


def histogram(column: str, bins: int | Sequence[float], target: VerbTarget) -> tuple[str, dict[str, Sequence[Value]]]:
    """Return the SELECT that counts a column's values in bins, and the labels of the bins as listed keys."""
    name, value = target.column(column, "bin")
    edges = _edges(column, bins, target)
    labels = _labels(edges)
    ends = [("<", edge) for edge in edges[1:-1]] + [("<=", edges[-1])]
    branches = "".join(
        f" WHEN {value} >= {low!r} AND {value} {sign} {high!r} THEN '{label}'"
        for low, (sign, high), label in zip(edges, ends, labels, strict=False)
    )
    return target.select([_COUNT], last_key=(name, f"CASE{branches} END")), {name: labels}


def crosstab(columns: Sequence[str], target: VerbTarget) -> str:
    """Return the SELECT that counts the combinations of several columns, by which the target groups."""
    if not columns:
        raise InvalidError("crosstab needs at least one column.", argument="columns", hint="Name the columns to cross.")
    return target.select([_COUNT])


def _edges(column: str, bins: object, target: VerbTarget) -> list[float]:
    """Return the edges of a histogram, or raise InvalidError."""
    if isinstance(bins, int) and not isinstance(bins, bool):
        policy = target.tables[target.table_name].columns.get(column)
        bounds = None if policy is None else policy.bounds
        if bounds is None:
            raise InvalidError(
                f"The column {show_name(column)} has no bounds, so the number of bins does not define their edges.",
                argument="bins",
                hint=_TEXTS if policy is not None and policy.kind == "text" else "Give the edges of the bins.",
            )
        if bins < 1:
            raise bad_value("bins", bins, "edges, or a number of bins ≥ 1")
        return _even_edges(bounds[0], bounds[1], bins)
    edges = list(bins) if isinstance(bins, Sequence) and not isinstance(bins, str) else []
    finite = all(isinstance(edge, (int, float)) and not isinstance(edge, bool) and isfinite(edge) for edge in edges)
    if len(edges) < 2 or not finite or any(a >= b for a, b in pairwise(edges)):  # noqa: PLR2004 - a bin has two
        value = f"[{', '.join(map(show, edges[:12]))}]" if edges else show(bins)
        raise InvalidError(f"bins must be at least two finite edges in increasing order, not {value}.", argument="bins")
    return edges


def _even_edges(low: Fraction, high: Fraction, bins: int) -> list[float]:
    """Return edges of bins of nearly equal width; those between the bounds have six digits, so that labels are short.

    >>> _even_edges(Fraction(0), Fraction(400_000), 3)
    [0.0, 133333.0, 266667.0, 400000.0]
    """
    width = (high - low) / bins
    exact = [float(low + index * width) for index in range(bins + 1)]
    short = [exact[0], *(float(f"{edge:.6g}") for edge in exact[1:-1]), exact[-1]]
    return short if all(a < b for a, b in pairwise(short)) else exact


def _labels(edges: Sequence[float]) -> list[str]:
    """Return the names of bins.

    >>> _labels([0, 18, 30.5])
    ['[0, 18)', '[18, 30.5]']
    """
    texts = [f"{edge:g}" if float(f"{edge:g}") == edge else repr(edge) for edge in edges]
    pairs = list(pairwise(texts))
    return [f"[{low}, {high})" for low, high in pairs[:-1]] + [f"[{pairs[-1][0]}, {pairs[-1][1]}]"]


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("duckdb")


def _text(node: exp.Expr) -> str:
    """Return an expression as SQL, or raise RefusedError if it is nested too deep."""
    try:
        return node.sql("duckdb", comments=False)
    except RecursionError:
        raise nested_too_deep() from None


def _expression(text: object, argument: str) -> exp.Expr:
    """Return one expression that is written in SQL, or raise InvalidError."""
    requirement = "a column's name or one expression in SQL" if argument == "column" else "one condition in SQL"
    problem = bad_value(argument, text, requirement)
    if not isinstance(text, str) or not text.strip():
        raise problem
    try:
        statements = sqlglot.parse(f"SELECT {text}", dialect="duckdb")
    except Exception:  # noqa: BLE001 - the parser raises errors of many classes for text that is not SQL
        raise problem from None
    select = statements[0] if len(statements) == 1 else None
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise problem
    if any(select.args.get(name) for name in ("from_", "where", "group", "having", "order", "limit", "joins", "with_")):
        raise problem
    node: exp.Expr = select.expressions[0]
    if isinstance(node, (exp.Alias, exp.Star)):
        raise problem
    return node
