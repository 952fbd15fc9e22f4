"""Functions of dates in SQL have DuckDB's values, and their proved ranges hold.

DuckDB computes the SQL as written, on its own; tacit's expression is evaluated in Python. `contract/test_rows` compares
the listed functions on the engines.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import cache
from itertools import product

import duckdb
import pytest

from tacit.errors import RefusedError, TacitError
from tacit.query.evaluate import evaluate, evaluator
from tacit.query.expressions import Column, Expression, Value, columns, walk
from tacit.query.expressions.ranges import prove_range
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.grammar import read_select
from tacit.query.sql.table_scope import table_scope

FIRST, LAST = datetime(1, 1, 1), datetime.max  # noqa: DTZ001, DTZ901 - kinds have no time zone
KINDS = {"a": "date", "b": "date", "s": "timestamp", "t": "timestamp", "n": "integer"}
DAYS = [
    *(date(1, 1, 1), date(1, 2, 28), date(9999, 12, 31), date(9998, 12, 31), date(2024, 2, 29), date(2023, 2, 28)),
    *(date(2023, 1, 31), date(2024, 12, 31), date(2025, 1, 1), date(1970, 1, 1), date(1969, 12, 31), date(2021, 1, 3)),
    *(date(1900, 2, 28), date(2000, 2, 29), date(2024, 3, 30), date(2024, 3, 31)),
]


def table(**more: object) -> TablePolicy:
    """Return the policy of a table with these columns; `more` has their first and last days."""
    made = {name: ColumnPolicy(kind=kind, days=more.get(name)) for name, kind in KINDS.items()}  # type: ignore[arg-type]
    return TablePolicy(name="v", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns=made)


def translated(sql: str, policy: TablePolicy, *, bounded: bool = False) -> Expression:
    """Return the expression of one SQL term."""
    (item,) = read_select(f"SELECT {sql} FROM v").expressions  # noqa: S608 - the terms of this file
    scope = table_scope(policy)
    return (scope.bounded(item) if bounded else scope.raw(item)).expression


def values_of(expression: Expression, several: Iterable[Mapping[str, Value]]) -> list[Value]:
    """Return the values of an expression on some rows."""
    leaves = list({part for part in walk(expression) if isinstance(part, Column)})
    run = evaluator(expression, leaves)
    return [run([row[leaf.name] for leaf in leaves]) for row in several]


@cache
def rows() -> tuple[dict[str, Value], ...]:
    """Return rows with random and extreme dates, and NULLs."""
    chance = random.Random(20261118)  # noqa: S311 - test data

    def day() -> date:
        if chance.random() < 0.4:
            return chance.choice(DAYS)
        return date.fromordinal(chance.choice([chance.randrange(1, 3_652_060), chance.randrange(738_000, 740_000)]))

    def moment() -> datetime:
        at = datetime.combine(day(), datetime.min.time())
        spans = [0, 1, 86_399_999_999, 43_200_000_000, chance.randrange(86_400_000_000)]
        return at + timedelta(microseconds=chance.choice(spans))

    found: list[dict[str, Value]] = []
    for _ in range(400):
        a, s = day(), moment()
        b = min(date.max, a + timedelta(days=chance.randrange(800))) if a < date(9997, 1, 1) else day()
        row: dict[str, Value] = {"a": a, "b": chance.choice([b, day()]), "s": s, "t": moment()}
        row["n"] = chance.choice([0, 1, -1, 30, 400, -25, 12, 90_000])
        row |= {name: None for name in row if chance.random() < 0.02}
        found.append(row)
    return tuple(found)


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """Return a DuckDB with these rows as a table."""
    made = duckdb.connect()
    made.execute("CREATE TABLE v (place INT, a DATE, b DATE, s TIMESTAMP, t TIMESTAMP, n BIGINT)")
    made.executemany(
        "INSERT INTO v VALUES (?, ?, ?, ?, ?, ?)", [[place, *row.values()] for place, row in enumerate(rows())]
    )
    return made


DIFFERENCES = ["a - b", "b - a", "DATE '2024-02-29' - a", "a - '2024-02-29'::DATE"]
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
TERMS = [
    *DIFFERENCES,
    *(f"{name}('{unit}', {x}, {y})" for name in ("date_diff", "date_sub") for unit in UNITS for x, y in ("ab", "st")),
    *(f"date_diff('{unit}', a, t)" for unit in ("decade", "century", "millennium", "isoyear", "days", "microsecond")),
    *(f"datesub('{unit}', s, t)" for unit in ("decade", "century", "millisecond", "microsecond")),
    *("datediff('month', a, b)", "date_diff('millisecond', s, t)"),
    *(f"extract({part} FROM age({x}, {y}))" for part in ("year", "month") for x, y in ("ab", "st")),
    *(f"extract({part} FROM a)" for part in ("year", "quarter", "month", "week", "isoyear", "day", "doy", "dow")),
    *(f"extract({part} FROM a)" for part in ("isodow", "epoch", "decade", "century", "millennium")),
    *(f"extract({part} FROM t)" for part in ("week", "isoyear", "doy", "hour", "minute", "second", "epoch")),
    *(f"extract({part} FROM t)" for part in ("millisecond", "microsecond", "decade")),
    *("year(a)", "month(t)", "dayofweek(a)", "isodow(t)", "dayofyear(t)", "week(a)", "weekofyear(t)", "second(t)"),
    *("epoch(t)", "yearweek(t)", "decade(a)", "century(t)", "date_part('week', a)", "datepart('doy', t)"),
    *("last_day(a)", "last_day(t)", "monthname(a)", "dayname(t)"),
    "strftime(t, '%Y-%m-%d %H:%M:%S.%f %j %-j %y %-y %-m %-d %-H %-M %-S %I %-I %p')",
    "strftime(a, '%B|%b|%A|%a|%u|%w|%V|%G|%U|%W|%x|%X|%c|100%%')",
    *("year(a) || '-Q' || quarter(a)", "strftime(t, '%Y')"),
]


@pytest.mark.parametrize("term", TERMS)
def test_a_term_has_the_value_that_duckdb_gives(term: str) -> None:
    expression = translated(term, table())
    truth = [value for (value,) in connection().execute(f"SELECT {term} FROM v ORDER BY place").fetchall()]  # noqa: S608
    wrong = [
        (row, value, expected)
        for row, value, expected in zip(rows(), values_of(expression, rows()), truth, strict=True)
        if value != expected
    ]
    assert not wrong, wrong[:2]


INTERVALS = [
    *(f"{x} {sign} INTERVAL {n} {unit}" for x in "at" for sign, n in (("+", 1), ("-", 1), ("+", 25)) for unit in UNITS),
    *("a + INTERVAL '1 month'", "INTERVAL '3 days' + t", "date_add(a, INTERVAL 30 DAY)", "t - INTERVAL '-2' YEARS"),
    *("a + INTERVAL (n) DAY", "t - INTERVAL (n) MONTH", "s + INTERVAL (n) HOUR", "a + n::INTEGER"),
    *("a + 3", "3 + a", "a - 30", "a - n::INTEGER"),
]


@pytest.mark.parametrize("term", INTERVALS)
def test_an_interval_is_added_as_duckdb_does_and_is_null_outside_the_years_1_to_9999(term: str) -> None:
    expression = translated(term, table())
    known = connection().execute(f"SELECT CAST(TRY({term}) AS VARCHAR) FROM v ORDER BY place").fetchall()  # noqa: S608
    for row, value, (text,) in zip(rows(), values_of(expression, rows()), known, strict=True):
        in_range = text is not None and "BC" not in text and len(text.split("-")[0]) == 4
        expected = (datetime if expression.kind == "timestamp" else date).fromisoformat(text) if in_range else None
        assert value == expected, (row, text)


def test_numbers_of_units_that_no_calendar_has_are_null() -> None:
    for term, n in product(
        ["a + n", "a - n", "t + INTERVAL (n) SECOND", "t - INTERVAL (n) YEAR"], [2**63 - 1, -(2**63)]
    ):
        row: dict[str, Value] = {"a": date(2024, 2, 29), "t": datetime(2024, 2, 29), "n": n}  # noqa: DTZ001
        assert evaluate(translated(term, table()), row) is None


def test_to_char_writes_what_postgresql_documents() -> None:
    moment = {"t": datetime(2026, 3, 5, 15, 4, 9, 120)}  # noqa: DTZ001
    for form, text in (
        ("YYYY-MM-DD HH24:MI:SS", "2026-03-05 15:04:09"),
        ("FMMonth FMDD, YYYY", "March 5, 2026"),
        ("Month|Day|MON|dy", "March    |Thursday |MAR|thu"),
        ('"Q"Q YY IYYY-IW DDD ID HH12 PM WW US', "Q1 26 2026-10 064 4 03 PM 10 000120"),
    ):
        assert evaluate(translated(f"to_char(t, '{form}')", table()), moment) == text


NARROW = {
    "a": (date(2024, 1, 29), date(2024, 3, 2)),
    "b": (date(2024, 2, 27), date(2024, 4, 1)),
    "s": (date(2024, 1, 30), date(2024, 1, 31)),
    "t": (date(2024, 2, 27), date(2024, 3, 1)),
}
RANGED = [
    *(
        f"{name}('{unit}', {x}, {y})"
        for name in ("date_diff", "date_sub")
        for unit in UNITS
        for x, y in ("ab", "ba", "st")
    ),
    *(f"extract({part} FROM age({x}, {y}))" for part in ("year", "month") for x, y in ("ab", "ba", "ts")),
    *("b - a", "year(a)", "isoyear(a)", "extract(epoch FROM t)", "date_diff('day', a + INTERVAL 1 MONTH, b)"),
    *("date_diff('day', date_trunc('month', a), a)", "a - (b - 45)"),
]
MOVED = "date_diff('hour', s + INTERVAL 1 MONTH, t)"


def test_the_proved_range_of_a_moved_timestamp_reaches_the_end_of_its_day() -> None:
    check_range(MOVED)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("term", RANGED)
def test_proved_ranges_hold_for_all_dates_within_and_beyond_the_bounds(term: str) -> None:
    check_range(term)


def check_range(term: str) -> None:
    """Compare the proved range of a term with its values on all dates within and beyond the bounds."""
    expression = translated(term, table(**NARROW), bounded=True)
    ends = prove_range(expression, {}, any_moment=False)
    assert ends is not None
    values = {name: moments(name) for name in sorted(columns(expression))}
    found = values_of(expression, (dict(zip(values, row, strict=True)) for row in product(*values.values())))
    numbers = [value for value in found if isinstance(value, (int, float))]
    assert float(ends[0]) <= min(numbers)  # reals are rounded, see `ranges`
    assert max(numbers) <= float(ends[1])
    if "s" not in values and not term.startswith("date_diff('day', date_trunc"):  # see `moment_ranges`
        assert tuple(map(float, ends)) == (min(numbers), max(numbers)) or term.startswith(("extract(month", "a - (b"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("term", [*RANGED, MOVED])
def test_within_the_bounds_no_value_is_clipped(term: str) -> None:
    raw, bounded = (translated(term, table(**NARROW), bounded=bounded) for bounded in (False, True))
    values = {name: moments(name, beyond=0) for name in sorted(columns(raw))}
    several = [dict(zip(values, row, strict=True)) for row in product(*values.values())]
    assert values_of(bounded, several) == values_of(raw, several)


def moments(name: str, beyond: int = 3) -> list[Value]:
    """Return every day within the bounds of a column and some beyond; of a timestamp with several times."""
    first, last = NARROW[name]
    days = [first + timedelta(days=index) for index in range(-beyond, (last - first).days + 1 + beyond)]
    if KINDS[name] == "date":
        return [None, *([date(1, 1, 1), date(9999, 12, 31)] if beyond else []), *days]
    starts = [datetime.combine(day, datetime.min.time()) for day in days]
    timed = [at + timedelta(hours=hour, microseconds=1) for at in starts for hour in (0, 1, 12, 23)]
    return [None, *([FIRST, LAST] if beyond else []), *timed]


@pytest.mark.parametrize(
    "term",
    [
        *(
            "t - s",
            "a - t",
            "age(a, b)",
            "a + INTERVAL '1 year 2 months'",
            "a + INTERVAL '1.5' DAY",
            "n + INTERVAL 1 DAY",
        ),
        *("strftime(a, n)", "strftime(a, '%q')", "strftime(n, '%Y')", "strftime(a, 'year')", "to_char(a, 'YYYYx')"),
        *(
            "date_diff('fortnight', a, b)",
            "date_sub('era', a, b)",
            "extract(era FROM a)",
            "extract(day FROM age(a, b))",
        ),
        *("date_sub(a, INTERVAL 3 DAY)", "date_add('day', 3, a)", "current_date", "INTERVAL 3 DAY", "age(a)"),
        *("a + b", "a * 2", "date_diff('day', n, a)", "a - 1.5", "date_trunc('hour', a)", "a + INTERVAL 3 EPOCHS"),
    ],
)
def test_what_is_not_supported_is_refused(term: str) -> None:
    with pytest.raises(TacitError):
        translated(term, table())


def test_the_difference_of_timestamps_is_refused_with_advice_that_works() -> None:
    with pytest.raises(RefusedError, match="date_diff") as caught:
        translated("t - s", table())
    assert caught.value.hint == "Write date_diff('hour', b, a), or epoch(a) - epoch(b) for seconds."
    assert translated("date_diff('hour', s, t)", table()).kind == "integer"
    assert translated("epoch(t) - epoch(s)", table()).kind == "real"
