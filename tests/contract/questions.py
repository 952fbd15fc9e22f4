"""Random queries as text, random tables, and their neighbours, from short lists of words.

A word may contain others in braces: `{number}` stands for any word of WORDS["number"], and so on. To add an aggregate,
add a line to SPELLINGS; for a new FROM clause, to SOURCES; for a new group key, to GROUPINGS.
"""
# ruff: noqa: S608 - queries are text

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from math import inf, isnan, nan
from typing import Literal

from hypothesis import strategies as st

from contract.tables import Row
from policies import table_policy
from tacit.guarantees.events import Neighbours
from tacit.query.expressions import Kind, Value
from tacit.query.policy import ROW, TablePolicy

UnitKind = Literal["integer", "text", "real", "row"]
"""The kind of the unit column `u`, or "row" if each row is a unit."""

KINDS: dict[str, Kind] = {
    "g": "text",
    "note": "text",
    "b": "boolean",
    "n": "integer",
    "p": "integer",
    "m": "integer",
    "w": "integer",
    "x": "real",
    "far": "real",
    "z": "real",
    "d": "date",
}
BOUNDS: dict[str, tuple[float, float]] = {
    "n": (-4, 4),
    "p": (0, 5),
    "m": (-6, -1),
    "w": (-(2**40), 2**40),
    "x": (-2.5, 10),
    "far": (999_999.5, 1_000_000),
}
KEYS: dict[str, list[Value]] = {"g": ["a", "b", "c"]}
_ODD: list[Value] = [None, nan, inf, -inf, 0.0, -0.0, 5e-324, 1e308, -1e308]
VALUES: dict[str, list[Value]] = {
    "g": [*"abc" * 3, None, "A", "a ", "unlisted"],
    "note": ["a", "ab", "é", "e\u0301", "", None, "12"],
    "b": [True, False, True, False, None],
    "n": [-4, 4, -3, 3, 0, 1, -100, 100, None, 2**63 - 1, -(2**63)],
    "p": [0, 5, 9, -9, 3, 1, None],
    "m": [-6, -1, -3, 5, -99, None],
    "w": [2**40, -(2**40), 2**62, 1, -(2**63), None],
    "x": [-2.5, 10.0, 3.3, -100.0, 4.999999999999999, *_ODD],
    "far": [999_999.5, 1_000_000.0, 999_999.75, *_ODD],
    "z": [-1.0, 3.0, 0.1, *_ODD],
    "d": [date(2024, 2, 29), date(2023, 12, 31), date(1, 1, 1), date(9999, 12, 31), None],
}
UNITS: dict[UnitKind, list[Value]] = {
    "integer": [1, 2, 3, 2**63 - 1, -(2**63), 0, None],
    "text": ["a", "A", "a ", "é", "e\u0301", "", None],
    "real": [1.0, 2.0, 0.0, -0.0, inf, 5e-324, nan, None],
    "row": [1, 2, None],
}

SPELLINGS: dict[str, list[str]] = {
    "arg_max": ["arg_max(n, count(*))", "max_by(p, count({any}))", "arg_max(p, sum({number}))"],
    "arg_min": [
        "arg_min(quarter(d), sum({number}))",
        "arg_min(p, count(*))",
        "CAST(min_by(b, sum({number})) AS INTEGER)",
    ],
    "avg": ["avg({number})", "mean({number})", "regr_avgx({number}, {number})"],
    "bool_and": ["CAST(bool_and({condition}) AS INTEGER)"],
    "bool_or": ["CAST(bool_or({condition}) AS INTEGER)"],
    "count": ["count(*)", "count({any})", "count(CASE WHEN {condition} THEN 1 END)", "count(1)", "regr_count(x, n)"],
    "count_units": ["count(DISTINCT u)"],
    "corr": ["corr({number} + n, p)", "corr(x, {number} / 7 + n)"],
    "count_distinct": [
        "count(DISTINCT {any})",
        "approx_count_distinct({any})",
        "count(DISTINCT CASE WHEN {condition} THEN note END)",
    ],
    "covar_pop": ["covar_pop({number}, {number})"],
    "covar_samp": ["covar_samp({number}, {number})"],
    "stddev_pop": ["stddev_pop({number})"],
    "stddev_samp": ["stddev({number})", "stddev_samp({number})"],
    "var_pop": ["var_pop({number})"],
    "var_samp": ["variance({number})", "var_samp({number})"],
    "max": ["max({number})", "quantile_cont({number}, 1)"],
    "min": ["min({number})", "quantile({number}, 0)"],
    "mode": [
        "mode(n)",
        "mode(p)",
        "mode(floor(x / 5) * 5)",
        "mode() WITHIN GROUP (ORDER BY w % 3)",
        "mode(quarter(d))",
    ],
    "quantile": [
        *("median({number})", "quantile_cont({number}, 0.1)", "quantile_cont({number}, 1 / 4)"),
        "percentile_cont(0.9) WITHIN GROUP (ORDER BY {number} DESC)",
    ],
    "quantile_disc": [
        *("quantile_disc({number}, 0.5)", "quantile({number}, 0.99)"),
        "percentile_disc(0.3) WITHIN GROUP (ORDER BY {number})",
    ],
    "regr_intercept": ["regr_intercept({number} + n, p)"],
    "regr_r2": ["regr_r2(x, {number} / 7 + n)"],
    "regr_slope": ["regr_slope(x, {number} + n)"],
    "skewness": ["skewness({number} + n)", "skewness(x)"],
    "sum": ["sum({number})", "sum(CASE WHEN {condition} THEN {number} ELSE 0 END)"],
}
"""Every aggregate, with its spellings in SQL."""

NO_ROW = frozenset({"count_units"})
"""Aggregates that are not supported if each row is a unit."""

WORDS: dict[str, list[str]] = {
    "number": [
        *("n", "p", "m", "w", "x", "far", "clamp(z, -1, 3)", "clamp(z, 0, 1)", "3", "-1.5"),
        *("CAST(b AS INTEGER)", "clamp(length(note), 0, 2)", "clamp(CAST(note AS INTEGER), 0, 9)", "quarter(d)"),
        *("-({number})", "abs({number})", "floor({number})", "({number}) + ({number})", "({number}) * ({number})"),
        *("coalesce({number}, 2)", "nullif(p, 0)", "nullif(x, 10)", "least({number}, {number})", "({number}) / 4"),
        *("CASE WHEN {condition} THEN {number} END", "CASE WHEN {condition} THEN {number} ELSE {number} END"),
    ],
    "condition": [
        *("b", "x > 0", "n IS NULL", "g IN ('a', 'b')", "note LIKE 'a%'", "p BETWEEN 1 AND 4", "d > '2024-01-01'"),
        *("NOT ({condition})", "({condition}) OR ({condition})", "({condition}) AND ({condition})"),
        *("coalesce({condition}, true)", "({number}) > 1", "({number}) >= ({number})"),
    ],
    "any": ["g", "note", "b", "d", "z", "{number}", "lower(note)", "CASE WHEN {condition} THEN note END"],
}
UNIT_CONDITIONS: dict[UnitKind, str] = {"integer": "u <> 2", "text": "u <> 'a'", "real": "u < 2", "row": "u IS NULL"}
"""Conditions of WHERE on the unit column, besides all other conditions."""


@dataclass(frozen=True)
class Source:
    """The text before SELECT and after FROM, and whether the source has an additional number `y`."""

    origin: str
    before: str = ""
    has_y: bool = False


SOURCES: list[Source] = [
    *[Source("t")] * 6,
    Source("t AS s"),
    Source("(SELECT * FROM t WHERE {where}) AS s"),
    Source("(SELECT *, {number} AS y FROM t) AS s", has_y=True),
    Source("(SELECT * REPLACE (p + 1 AS p, -x AS x) FROM t WHERE {condition}) AS s"),
    Source("(SELECT * REPLACE (CASE WHEN {condition} THEN g ELSE 'c' END AS g) FROM (FROM t)) AS s"),
    Source("c", before="WITH c AS (SELECT * FROM t WHERE {where}) "),
    Source("e", before="WITH c AS (SELECT *, {number} AS y FROM t), e AS (FROM c WHERE {where}) ", has_y=True),
]


_UNIT_COLUMNS = (
    "max(g) AS g, min(note) AS note, bool_or(b) AS b, clamp(sum(n), -4, 4) AS n, max(p) AS p, min(m) AS m, "
    "max(w) AS w, avg(x) AS x, max(far) AS far, max(z) AS z, max(d) AS d"
)
_OTHER_COLUMNS = (
    "min(g) AS g, max(note) AS note, max(CAST(b AS INTEGER)) > 0 AS b, min(n) AS n, clamp(count(*), 0, 5) AS p, "
    "clamp(-count(DISTINCT note), -6, -1) AS m, clamp(sum(x), -2.5, 10) AS x, "
    "CAST(clamp(sum(w) / 4096 + sum(n), -(2 ** 40), 2 ** 40) AS BIGINT) AS w, "
    "avg(far) AS far, min(z) FILTER (WHERE {condition}) AS z, min(d) FILTER (WHERE b) AS d"
)
_REST = "min(n) AS n, max(p) AS p, min(m) AS m, max(w) AS w, max(x) AS x, min(far) AS far, max(z) AS z"
UNIT_SOURCES: list[Source] = [
    Source(f"(SELECT u, {_UNIT_COLUMNS} FROM t GROUP BY u) AS s"),
    Source(f"(SELECT u, {_UNIT_COLUMNS} FROM t WHERE {{where}} GROUP BY u HAVING max(n) > 0 OR count(*) > 1) AS s"),
    Source("(SELECT u, g, " + _UNIT_COLUMNS.removeprefix("max(g) AS g, ") + " FROM t GROUP BY u, g) AS s"),
    Source(f"(SELECT u, g, note, b, d, {_REST} FROM t GROUP BY u, g, note, b, d) AS s"),
    Source(f"(SELECT u, {_OTHER_COLUMNS} FROM t GROUP BY u) AS s"),
    Source("c", before=f"WITH c AS (SELECT {_UNIT_COLUMNS}, u FROM t GROUP BY u) "),
    Source(
        f"(SELECT u, max(g) AS g, max(note) AS note, bool_and(b) AS b, min(d) AS d, {_REST} FROM "
        f"(SELECT u, g, note, b, d, {_REST} FROM t WHERE {{where}} GROUP BY u, g, note, b, d) GROUP BY u) AS s"
    ),
]
"""Subqueries that group by the unit, with the columns of the table."""


@dataclass(frozen=True)
class Grouping:
    """An expression to group by, and the keys that the caller lists if the policy does not."""

    sql: str
    listed: Sequence[Value] | None = None


GROUPINGS: list[Grouping] = [
    *[Grouping("g")] * 5,
    *[Grouping("b")] * 4,
    Grouping("n"),
    Grouping("p"),
    Grouping("note", ["a", None, "ab", "no such"]),
    Grouping("x", [10.0, 0.0, -2.5]),
    Grouping("d", [date(2024, 2, 29), None]),
    Grouping("upper(g)"),
    Grouping("coalesce(g, 'none')"),
    Grouping("g || note", ["aa", "bab"]),
    Grouping("floor(x / 5) * 5"),
    Grouping("floor(n / 2)"),
    Grouping("w % 3"),
    Grouping("quarter(d)"),
    Grouping("b OR ({condition})"),
    Grouping("CASE WHEN {condition} THEN 'yes' WHEN b THEN 'no' END"),
]
FOUND: list[Grouping] = [
    *[Grouping("note")] * 4,
    Grouping("w"),
    Grouping("x"),
    Grouping("z"),
    Grouping("d"),
    Grouping("lower(note)"),
    Grouping("g || note"),
    Grouping("round(z, 1)"),
    Grouping("date_trunc('month', d)"),
]
"""Group keys whose values are not public: the groups are discovered in the data."""

ITEMS: list[str] = ["{0}", "{0}", "2 * {0} + 1", "{0} / {1}", "CASE WHEN {0} > 3 THEN {1} END", "coalesce({0}, 0)"]
"""Items of the select list: post-processing of one or two aggregates."""

HAVINGS: list[str] = ["", "", " HAVING {0} > 1", " HAVING {0} + {1} <> 0 OR {2} > 2"]
ORDERS: list[str] = ["", "", " ORDER BY a0 DESC", " ORDER BY {0}, 1"]
LIMITS: list[str] = ["", "", " LIMIT 2", " LIMIT 3 OFFSET 1"]


@dataclass(frozen=True)
class Question:
    """A query, and the keys that the caller lists."""

    sql: str
    keys: Mapping[str, Sequence[Value]] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """A query, a table, and some neighbours of the table."""

    unit: UnitKind
    table: TablePolicy
    question: Question
    rows: Sequence[Row]
    neighbours: Sequence[Sequence[Row]]


def kinds_of(unit: UnitKind) -> dict[str, Kind]:
    return {"u": "integer" if unit == "row" else unit, **KINDS}


def policy(
    unit: UnitKind, neighbours: Neighbours, groups: int | None, rows: int | None, reach: int | None = None
) -> TablePolicy:
    """Return the policy of the table `t`, as `tacit.open` builds it."""
    return table_policy(
        "t",
        kinds_of(unit),
        unit=ROW if unit == "row" else "u",
        max_groups=groups,
        max_rows=rows,
        reach=reach,
        bounds=BOUNDS,
        keys=KEYS,
        neighbours=neighbours,
    )


_HOLE = re.compile(r"\{([a-z]+)\}")
_LEAVES = {name: [word for word in words if not _HOLE.search(word)] for name, words in WORDS.items()}


def filled(draw: st.DrawFn, word: str, more: Mapping[str, Sequence[str]], depth: int = 2) -> str:
    """Return a word with all its holes filled."""
    words = WORDS if depth else _LEAVES

    def fill(hole: re.Match[str]) -> str:
        name = hole[1]
        inner = draw(st.sampled_from([*words.get(name, ()), *more.get(name, ())]))
        return filled(draw, inner, more, max(depth - 1, 0))

    return _HOLE.sub(fill, word)


@st.composite
def _groupings(draw: st.DrawFn, *, found: bool) -> list[Grouping]:
    count = draw(st.sampled_from([0, 1, 1, 1, 2, 3]))
    chosen = [draw(st.sampled_from(FOUND))] if found else []
    chosen += [draw(st.sampled_from(GROUPINGS)) for _ in range(count // 2 if found else count)]
    return list({grouping.sql: grouping for grouping in chosen}.values())


@st.composite
def questions(
    draw: st.DrawFn,
    unit: UnitKind,
    of: Collection[str],
    *,
    found: bool = False,
    sources: Sequence[Source] = SOURCES,
) -> Question:
    """Draw a query with some aggregates, up to three keys, and some of all other clauses.

    If `found`, groups are discovered in the data, and at least one key has no public values.
    """
    source = draw(st.sampled_from(sources))
    more = {"where": ["{condition}", UNIT_CONDITIONS[unit]]}
    fill_row = partial(filled, draw, more=more)
    before, origin = fill_row(source.before), fill_row(source.origin)
    fill = partial(filled, draw, more={**more, "number": ["y"]}) if source.has_y else fill_row
    functions = [name for name in SPELLINGS if name in of and (unit != "row" or name not in NO_ROW)]

    def aggregate() -> str:
        return fill(draw(st.sampled_from(SPELLINGS[draw(st.sampled_from(functions))])))

    def with_aggregates(word: str) -> str:
        return word.format(*(aggregate() for _ in range(word.count("{"))))

    groupings = draw(_groupings(found=found))
    by = [(fill(grouping.sql), grouping.listed) for grouping in groupings]
    items = [with_aggregates(draw(st.sampled_from(ITEMS))) for _ in range(draw(st.integers(1, 2)))]
    selected = [f"{sql} AS k{i}" for i, (sql, _) in enumerate(by)] + [f"{sql} AS a{i}" for i, sql in enumerate(items)]
    where = fill(draw(st.sampled_from(["", "", "", " WHERE {where}"])))
    grouped = " GROUP BY " + ", ".join(sql for sql, _ in by) if by else ""
    rest = "".join(with_aggregates(draw(st.sampled_from(clause))) for clause in (HAVINGS, ORDERS, LIMITS))
    sql = f"{before}SELECT {', '.join(selected)} FROM {origin}{where}{grouped}{rest}"
    return Question(sql, {f"k{i}": listed for i, (_, listed) in enumerate(by) if listed is not None})


_ROW = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in VALUES.items()})
_GROUPED = st.fixed_dictionaries({name: st.sampled_from(VALUES[name]) for name in ("g", "note", "b", "d")})


@st.composite
def some_rows(draw: st.DrawFn, units: Sequence[Value], counts: Sequence[int]) -> list[Row]:
    """Draw some rows of these units, many of them several times, so that units exceed max_groups and max_rows.

    Often all rows of a unit have the same numbers: then its contribution is as large as possible in all its groups.
    """
    rows: list[Row] = []
    fixed = {repr(unit): draw(_ROW) for unit in units} if draw(st.booleans()) else None
    for _ in range(draw(st.sampled_from(counts))):
        unit, times = draw(st.sampled_from(units)), draw(st.sampled_from([1, 1, 2, 5]))
        row = draw(_ROW) if fixed is None else fixed[repr(unit)] | draw(_GROUPED)
        rows += [{"u": unit, **row}] * times
    return rows


Limits = tuple[int | None, int | None, int | None]
"""max_groups, max_rows and reach."""

_LIMIT = st.sampled_from([1, 1, 2, 2, 2, 3, 10**6])
_MAYBE = st.none() | _LIMIT
BOX: st.SearchStrategy[Limits] = st.tuples(_LIMIT, _LIMIT, st.none())
REACHED: st.SearchStrategy[Limits] = st.tuples(_MAYBE, _MAYBE, _LIMIT | st.sampled_from([4, 5, 7]))
"""A reach, and any combination of the other two limits."""


@st.composite
def trials(
    draw: st.DrawFn,
    units: Sequence[UnitKind],
    *,
    of: Collection[str] = frozenset(SPELLINGS),
    most: int = 3,
    relations: Sequence[Neighbours] = ("add/remove", "change one"),
    found: bool = False,
    limits: st.SearchStrategy[Limits] = BOX,
    sources: Sequence[Source] = SOURCES,
) -> Trial:
    """Draw a query, a table, and some neighbours of the table under the relation of its policy."""
    unit = draw(st.sampled_from(units))
    relation: Neighbours = draw(st.sampled_from(relations))
    table = policy(unit, relation, *draw(limits))
    values = draw(st.lists(st.sampled_from(UNITS[unit]), min_size=1, max_size=3, unique_by=repr))
    rows = draw(some_rows(values, [8, 12, 4, 1]))
    neighbour = _other_row if unit == "row" else _other_unit
    others = [draw(neighbour(rows, unit, relation)) for _ in range(most)]
    return Trial(unit, table, draw(questions(unit, of, found=found, sources=sources)), rows, _different(rows, others))


def _different(rows: Sequence[Row], others: Sequence[Sequence[Row]]) -> list[Sequence[Row]]:
    """Return the tables that differ from the first, each once; compared as text, because NaN does not equal NaN."""
    by_text = {repr(other): other for other in others}
    return [other for text, other in by_text.items() if text != repr(rows)]


@st.composite
def _other_row(draw: st.DrawFn, rows: Sequence[Row], unit: UnitKind, relation: Neighbours) -> list[Row]:
    """Draw a table with one row less, or with one row replaced."""
    index = draw(st.integers(0, len(rows) - 1))
    new = [] if relation == "add/remove" else [{"u": draw(st.sampled_from(UNITS[unit])), **draw(_ROW)}]
    return [*rows[:index], *new, *rows[index + 1 :]]


@st.composite
def _other_unit(draw: st.DrawFn, rows: Sequence[Row], unit: UnitKind, relation: Neighbours) -> list[Row]:
    """Draw a table without the rows of one unit; under "change one" with other rows, of that unit or of a new one.

    Rows without a unit must not change an answer, so a table without them is a neighbour as well.
    """
    gone = draw(st.sampled_from(rows))["u"]
    rest = [row for row in rows if not same_unit(row["u"], gone)]
    if relation == "add/remove" or is_nobody(gone):
        return rest
    absent = [other for other in UNITS[unit] if not any(same_unit(other, row["u"]) for row in rest)]
    return rest + draw(some_rows([draw(st.sampled_from([gone, *absent]))], [0, 1, 4, 8]))


def is_nobody(unit: Value) -> bool:
    return unit is None or (isinstance(unit, float) and isnan(unit))


def same_unit(unit: Value, other: Value) -> bool:
    return is_nobody(unit) if is_nobody(other) else unit == other
