"""Inputs with structure: SQL from a grammar, policies from their keys, and changed inputs of the corpora."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fuzz.targets import corpus

Texts = SearchStrategy[str]
Inputs = SearchStrategy[bytes]

_HOSTILE = (
    "",
    "'",
    "\x00",
    "\ud800",
    "\u202e",
    "e\u0301",
    "%",
    "\\",
    "${CLINIC}",
    "1e999999999",
    "9" * 60,
    "NaN",
    "../x",
)
_NUMBERS = (*"0 -0.0 1 -1 2.5 1e308 1e-308 1e999999999 9223372036854775808 0x10".split(), "9" * 60)  # noqa: SIM905 - words


# --- SQL --------------------------------------------------------------------------------------------------------------

_COLUMNS = 'person_id region income age urban note day seen name zone rank "age" x.age nope'.split()  # noqa: SIM905 - words
_LITERALS = (
    *_NUMBERS,
    *("'north'", "''", "'%_'", "NULL", "TRUE", "$x", "[1, 2]", "*", "DATE '2024-02-29'", "DATE '2024-02-30'"),
    *("TIMESTAMP '2020-01-01 00:00:00'", "INTERVAL 1 MONTH", "INTERVAL 99999999 YEAR"),
)
_OPERATORS = "+ - * / // % ** || = <> < >= AND OR LIKE IS IN ~ ::".split()  # noqa: SIM905 - words
_ONE = (
    *"abs floor round sqrt ln exp sign length lower trim year dayofweek NOT - isnan count sum avg min max".split(),  # noqa: SIM905 - words
    *("median", "stddev", "skewness", "mode", "bool_or", "any_value", "histogram", "count(DISTINCT", "nosuch"),
)
_TWO = (
    *("least", "greatest", "coalesce", "nullif", "round", "log", "power", "left", "date_trunc", "quantile", "corr"),
    *("regr_slope", "arg_max", "concat", "starts_with", "date_add"),
)
_TYPES = ("INTEGER", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL(9, 2)", "UUID", "INTEGER[]")


def _closed(call: str) -> str:
    """Return a call whose parentheses match."""
    return call + ")" * (call.count("(") - call.count(")"))


_EXPRESSIONS: Texts = st.recursive(
    st.sampled_from([*_COLUMNS, *_LITERALS]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(_OPERATORS), inner),
        st.builds("{}({})".format, st.sampled_from(_ONE), inner).map(_closed),
        st.builds("{}({}, {})".format, st.sampled_from(_TWO), inner, inner),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner),
        st.builds("{}({} AS {})".format, st.sampled_from(["CAST", "TRY_CAST"]), inner, st.sampled_from(_TYPES)),
        st.builds("{} BETWEEN {} AND {}".format, inner, inner, inner),
        st.builds("{} IN ({}, {})".format, inner, inner, inner),
        st.builds("sum({}) FILTER (WHERE {})".format, inner, inner),
        st.builds("sum({}) OVER (ORDER BY {})".format, inner, inner),
        st.builds("clamp({}, {}, {})".format, inner, inner, inner),
    ),
    max_leaves=8,
)


_SOURCES = (
    *("survey", "survey AS x", "survey JOIN regions ON region = name", "regions", "survey, regions", "nope"),
    *("survey LEFT JOIN regions ON region = regions.name", "survey NATURAL JOIN survey"),
    "(SELECT person_id, count(*) AS age FROM survey GROUP BY person_id) AS survey",
    "(SELECT region, count(*) AS age FROM survey GROUP BY region) AS p",
)
_CLAUSES = (
    *("", " GROUP BY ALL", " GROUP BY 1", " GROUP BY {0}", " GROUP BY ROLLUP (region, urban)", " WHERE {0}"),
    *(" WHERE {0} GROUP BY {1}", " GROUP BY region HAVING {0}", " LIMIT {0}", " QUALIFY {0}", " ORDER BY 1 OFFSET {0}"),
    *(" GROUP BY region ORDER BY {0} DESC NULLS FIRST LIMIT 2", " UNION ALL SELECT {0}"),
)
_ALIASES = ("", " AS a", ' AS "b c"')


_REALS: Texts = st.recursive(
    st.sampled_from(["age", "income", "0", "1", "2.5", "-3", "1e300", "NULL", "length(note)", "year(day)"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), inner),
        st.builds("{}({})".format, st.sampled_from(["abs", "-", "floor", "round", "sqrt", "ln", "exp", "sign"]), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["least", "greatest", "coalesce", "nullif"]), inner, inner),
        st.builds("CAST(CAST({} AS {}) AS DOUBLE)".format, inner, st.sampled_from(["INTEGER", "VARCHAR", "BOOLEAN"])),
        st.builds("CASE WHEN {} > {} THEN {} END".format, inner, inner, inner),
    ),
    max_leaves=4,
)
_TESTS: Texts = st.one_of(
    st.builds("{} {} {}".format, _REALS, st.sampled_from(["<", ">=", "=", "<>"]), _REALS),
    st.builds("{} BETWEEN {} AND {}".format, _REALS, _REALS, _REALS),
    st.sampled_from(["urban", "NOT urban", "note LIKE '%_a'", "region IN ('north', NULL)", "day > DATE '2020-01-01'"]),
    st.sampled_from(["note IS NULL", "lower(note) = 'x'", "seen < TIMESTAMP '2024-01-01 00:00:00'", "region = note"]),
)
_SUMS: Texts = st.one_of(
    st.just("count(*)"),
    st.builds("{}(clamp({}, 0, 9))".format, st.sampled_from(["sum", "avg", "median", "min", "max", "stddev"]), _REALS),
    st.builds("count_if({})".format, _TESTS),
    st.builds("sum(age) FILTER (WHERE {})".format, _TESTS),
    st.sampled_from(
        ["count(DISTINCT person_id)", "corr(age, income)", "mode(region)", "bool_or(urban)", "sum(income)"]
    ),
)
_KEYS = ("", "region", "urban", "region, urban", "age // 30", "note", "day", "ROLLUP (region, urban)", "zone")


@st.composite
def plannable(draw: st.DrawFn) -> str:
    """Draw a query that tacit often plans."""
    key = draw(st.sampled_from(_KEYS))
    sums = draw(st.lists(_SUMS, min_size=1, max_size=3))
    source = "survey JOIN regions ON region = name" if key == "zone" else "survey"
    text = f"SELECT {', '.join(sums)} FROM {source} WHERE {draw(_TESTS)}"  # noqa: S608 - a test
    return f"{text} GROUP BY {key} HAVING {draw(_SUMS)} > 0 LIMIT 3" if key else text


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Draw a query of any expressions, which tacit rarely plans."""
    items = draw(st.lists(st.builds("{}{}".format, _EXPRESSIONS, st.sampled_from(_ALIASES)), min_size=1, max_size=3))
    aggregate = draw(st.sampled_from(["count(*)", "count(*) AS n", "sum(age)", "avg(income)", items[0]]))
    clause = draw(st.sampled_from(_CLAUSES)).format(draw(_EXPRESSIONS), draw(_EXPRESSIONS))
    return f"SELECT {', '.join([aggregate, *items[1:]])} FROM {draw(st.sampled_from(_SOURCES))}{clause}"  # noqa: S608 - a test


def sql() -> Inputs:
    """Return queries with their choice of a database."""
    texts = plannable() | queries() | st.builds("WITH p AS ({}) SELECT * FROM p".format, plannable())
    return st.builds(
        lambda choice, text: bytes([choice]) + text.encode("utf-8", "surrogatepass"), st.integers(0x40, 0x7F), texts
    )


# --- policies ---------------------------------------------------------------------------------------------------------

_TOML_TEXTS = (*_HOSTILE, "integer", "text", "date", "add/remove", "change one", "each row", "visits.csv", "ward")
_TOML_WORDS = "nan inf -inf true 2020-01-01 2020-01-01T00:00:00 2020-01-01T00:00:00Z 12:00:00".split()  # noqa: SIM905 - words
_TOML_KEYS = ("epsilon", "delta", "rho", "columns", "values", "bounds", "keys")
_TOML_VALUES: Texts = st.recursive(
    st.sampled_from([*_NUMBERS, *_TOML_WORDS, *map(json.dumps, _TOML_TEXTS)]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.dictionaries(st.sampled_from(_TOML_KEYS), inner, max_size=3).map(
            lambda parts: f"{{ {', '.join(f'{key} = {value}' for key, value in parts.items())} }}"
        ),
    ),
    max_leaves=5,
)
_TOP: Mapping[str, str] = {
    "budget": "{ epsilon = 3.0, delta = 1e-6 }",
    "ledger": '"clinic.ledger"',
    "neighbours": '"add/remove"',
    "data_version": '"v1"',
    "timezone": '"Europe/Zurich"',
    "engine": '{ timeout = 60, memory = "1GB" }',
    "analysts": "{ ann = { epsilon = 1 } }",
    "public": '{ wards = { source = "wards.csv" } }',
}
_TABLE: Mapping[str, str] = {
    "source": '"visits.csv"',
    "table": '"visits"',
    "unit": '"patient_id"',
    "max_groups": "3",
    "max_rows": "5",
    "reach": "4",
    "keys": '[{ columns = ["ward", "urgent"], values = [["A", true]] }]',
}
_COLUMN: Mapping[str, str] = {
    "cost": "{ bounds = [0, 20_000] }",
    "visits": '{ type = "real", bounds = [-1.5, 9] }',
    "ward": '{ keys = ["A", "B"] }',
    "urgent": "{ required = true }",
    "name": "{ hidden = true }",
    "day": "{ bounds = [2020-01-01, 2024-12-31] }",
    "seen": "{ bounds = [2020-01-01T00:00:00, 2024-12-31T00:00:00] }",
    "no such": "{ hidden = true }",
}


@st.composite
def policies(draw: st.DrawFn) -> bytes:
    """Draw a policy, a few of whose values are replaced."""
    replaced = draw(st.sets(st.sampled_from([*_TOP, *_TABLE, *_COLUMN]), max_size=3))

    def section(values: Mapping[str, str], needed: Sequence[str]) -> str:
        chosen = draw(st.sets(st.sampled_from(list(values)))) | set(needed)
        lines = [
            f"{json.dumps(key)} = {draw(_TOML_VALUES) if key in replaced else values[key]}"
            for key in values
            if key in chosen
        ]
        return "\n".join(lines)

    table = draw(st.sampled_from(["visits", '"vi.sits"', '""', '"\\u202e"']))
    text = "\n".join(
        [
            section(_TOP, ["budget"]),
            f"[tables.{table}]",
            section(_TABLE, ["source", "unit"]),
            f"[tables.{table}.columns]",
            section(_COLUMN, []),
        ]
    )
    return text.encode("utf-8", "surrogatepass")


# --- changed inputs ---------------------------------------------------------------------------------------------------

_JSON: SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(_HOSTILE)
    | st.sampled_from([10**30, -1, 0, 0.5]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "keys", "cells", "date"]), inner, max_size=3)
    ),
    max_leaves=4,
)


@st.composite
def changed(draw: st.DrawFn, target: str) -> bytes:
    """Draw an input of a corpus, changed in a value of its JSON, or in some bytes."""
    inputs = corpus(target)
    data = inputs[draw(st.sampled_from(sorted(inputs)))]
    start = next((place for place in range(len(data)) if data[place : place + 1] in b"{["), None)
    if start is not None and draw(st.booleans()):
        parsed = _parsed(data[start:])
        if parsed is not None:
            return data[:start] + json.dumps(_with_a_change(draw, parsed)).encode()
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 4))
        data = data[:at] + draw(st.binary(max_size=4) | st.just(data[at : at + 8])) + data[at + length :]
    return data


def _parsed(data: bytes) -> object:
    try:
        parsed: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return parsed


def _with_a_change(draw: st.DrawFn, value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return JSON in which one value is replaced or missing."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        if not draw(st.integers(0, 5)):
            return {name: each for name, each in value.items() if name != key}
        return {**value, key: _with_a_change(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        place = draw(st.integers(0, len(value) - 1))
        return [_with_a_change(draw, each) if index == place else each for index, each in enumerate(value)]
    if isinstance(value, str) and value[:1] in ("{", "[") and draw(st.booleans()):
        inner = _parsed(value.encode("utf-8", "replace"))
        return value if inner is None else json.dumps(_with_a_change(draw, inner))
    return draw(_JSON)


STRATEGIES: Mapping[str, Inputs] = {
    "sql": sql() | changed("sql"),
    "policy": policies() | changed("policy"),
    "report": changed("report"),
    "event": changed("event"),
    "web": changed("web"),
}
"""The inputs of each target."""
