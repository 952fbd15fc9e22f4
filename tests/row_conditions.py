"""Random conditions in SQL, and all rows over small sets of values on which they can be true, false or NULL."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from itertools import product
from math import inf, nan

from tacit.query.expressions import Expression, Kind, Value
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

KINDS: dict[str, Kind] = {"i": "integer", "x": "real", "s": "text", "b": "boolean", "d": "date", "m": "timestamp"}
DAYS = [date(2023, 12, 31), date(2024, 1, 1), date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 1), date(2025, 1, 1)]
VALUES: dict[str, list[Value]] = {
    "i": [None, -1, 0, 1, 2, 3, 2**53, 2**53 + 1],
    "x": [None, nan, inf, -inf, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 2.0**53],
    "s": [None, "", "A", "a", "ab", "aé", "b", "B", "ba", "á", "a\U0010ffff"],
    "b": [None, False, True],
    "d": [None, *DAYS],
    "m": [
        None,
        *(datetime(day.year, day.month, day.day) for day in DAYS),  # noqa: DTZ001 - kinds have no time zone
        *(datetime(day.year, day.month, day.day, 23, 59, 59, 999999) for day in DAYS[:3]),  # noqa: DTZ001 - as above
    ],
}
GROUPS = [("i", "x"), ("s", "b"), ("d", "m"), ("i", "s"), ("x", "b")]
"""The columns of one batch of conditions."""

_PATTERNS = ["'a%'", "'A%'", "'ab'", "'%'", "''", "'a_'", "'%b'", "'á%'"]
_UNITS = ["year", "quarter", "month", "week", "day"]
_COMPARED = ["=", "<>", "<", "<=", ">", ">="]
_WRITTEN: dict[str, list[str]] = {
    "i": ["-1", "0", "1", "2", "3", "1.5", "2.5", "9007199254740992", "9007199254740993"],
    "x": ["0", "0.5", "1", "1.5", "2", "3", "-1", "9007199254740992"],
    "s": ["''", "'a'", "'A'", "'ab'", "'b'", "'á'"],
    "b": ["true", "false"],
    "d": [f"'{day}'" for day in DAYS],
    "m": [*(f"'{day}'" for day in DAYS), "'2024-01-01 12:00:00'", "'2023-12-31 23:59:59.999999'"],
}
_FORMS: dict[str, list[Callable[[random.Random, str], str]]] = {
    "i": [
        lambda chance, one: f"clamp(i, 0, 2) {chance.choice(_COMPARED)} {one}",
        lambda chance, one: f"i + 1 {chance.choice(_COMPARED)} {one}",
        lambda chance, one: f"CAST(i AS BOOLEAN) = {chance.choice(['true', 'false'])} OR i = {one}",
    ],
    "x": [
        lambda chance, one: f"floor(x) {chance.choice(_COMPARED)} {one}",
        lambda chance, one: f"CAST(x AS BIGINT) {chance.choice(_COMPARED)} {one}",
        lambda chance, one: f"clamp(x, 0.5, 2) {chance.choice(_COMPARED)} {one}",
    ],
    "s": [
        lambda chance, _: f"s {chance.choice(['', 'NOT '])}LIKE {chance.choice(_PATTERNS)}",
        lambda chance, _: f"s ILIKE {chance.choice(_PATTERNS)}",
        lambda chance, one: f"{chance.choice(['', 'NOT '])}starts_with(s, {one})",
        lambda chance, one: f"{chance.choice(['lower', 'upper'])}(s) {chance.choice(_COMPARED)} {one}",
        lambda chance, _: f"length(s) {chance.choice(_COMPARED)} {chance.choice('0123')}",
    ],
    "b": [lambda _, __: "b", lambda _, __: "NOT b"],
    "d": [
        lambda chance, _: f"year(d) {chance.choice(_COMPARED)} {chance.choice(['2023', '2024', '2025', '10000'])}",
        lambda chance, _: f"month(d) {chance.choice(_COMPARED)} {chance.choice('123')}",
        lambda chance, one: f"date_trunc('{chance.choice(_UNITS)}', d) {chance.choice(_COMPARED)} {one}",
        lambda chance, one: f"CAST(d AS TIMESTAMP) {chance.choice(_COMPARED)} {one}",
        lambda chance, _: f"d {chance.choice(_COMPARED)} m",
    ],
    "m": [
        lambda chance, _: f"year(m) {chance.choice(_COMPARED)} {chance.choice(['2023', '2024', '2025', '0'])}",
        lambda chance, one: f"date_trunc('{chance.choice(_UNITS)}', m) {chance.choice(_COMPARED)} {one}",
        lambda chance, _: f"CAST(m AS DATE) {chance.choice(_COMPARED)} {chance.choice(_WRITTEN['d'])}",
        lambda chance, _: f"m {chance.choice(_COMPARED)} d",
    ],
}


def atom(chance: random.Random, column: str) -> str:
    """Return a condition on one column."""
    one, other = (chance.choice(_WRITTEN[column]) for _ in range(2))
    forms = [
        f"{column} {chance.choice(_COMPARED)} {one}",
        f"{one} {chance.choice(_COMPARED)} {column}",
        f"{column} IS {chance.choice(['', 'NOT '])}NULL",
        f"{column} IS {chance.choice(['', 'NOT '])}DISTINCT FROM {one}",
        f"{column} BETWEEN {one} AND {other}",
        f"{column} {chance.choice(['', 'NOT '])}IN ({one}, {other}{chance.choice(['', '', ', NULL'])})",
        f"{column} = NULL",
    ]
    more = [form(chance, one) for form in _FORMS[column]]
    return chance.choice([*forms[:2], *forms, *more])


def condition(chance: random.Random, columns: Sequence[str], depth: int = 2) -> str:
    """Return a condition on some columns."""
    if depth == 0 or chance.random() < 0.35:
        return atom(chance, chance.choice(columns))
    left, right, test = (f"({condition(chance, columns, depth - 1)})" for _ in range(3))
    return chance.choice(
        [
            f"{left} AND {right}",
            f"{left} AND {right}",
            f"{left} OR {right}",
            f"NOT {left}",
            f"{left} IS {chance.choice(['', 'NOT '])}{chance.choice(['TRUE', 'FALSE', 'NULL'])}",
            f"coalesce({left}, {right})",
            f"CASE WHEN {test} THEN {left} ELSE {right} END",
            f"CASE WHEN {test} THEN {left} END",
        ]
    )


def where(sql: str, kinds: Mapping[str, Kind] = KINDS) -> Expression:
    """Return the WHERE of a query on a table in which each row is a unit, as the plan has it."""
    columns = {name: ColumnPolicy(kind=kind) for name, kind in kinds.items()}
    table = TablePolicy(name="t", unit=None, max_groups=None, max_rows=None, neighbours="add/remove", columns=columns)
    found = parse(f"SELECT count(*) AS n FROM t WHERE {sql}", {"t": table}).where  # noqa: S608 - a test's own text
    if found is None:
        raise ValueError("the query has no condition")
    return found


def all_rows(columns: Sequence[str]) -> list[dict[str, Value]]:
    """Return all combinations of the values of some columns."""
    return [dict(zip(columns, row, strict=True)) for row in product(*(VALUES[name] for name in columns))]
