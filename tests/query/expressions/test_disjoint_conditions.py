"""Disjoint conditions: every row on which a condition is true is in one of its cases; none is in two disjoint ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, datetime
from itertools import combinations
from math import inf, nan

import pytest
from hypothesis import given, settings

from engines.expressions import expressions
from row_conditions import GROUPS, VALUES, all_rows, condition, where
from row_values import random_rows
from tacit.errors import TacitError
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Call, Expression, Value
from tacit.query.expressions.disjoint_conditions import Cases, are_disjoint, cases
from tacit.query.expressions.value_sets import ValueSet, after, before


def disjoint(first: str, second: str) -> bool:
    found = are_disjoint(cases(where(first)), cases(where(second)))
    assert found == are_disjoint(cases(where(second)), cases(where(first)))
    return found


def holds(value: Value, values: ValueSet) -> bool:
    """Return whether a value is in a set; NaN is NULL."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return values.null
    return any(low <= before(value) and after(value, values.kind) <= high for low, high in values.spans)


def value_of(part: Expression, row: dict[str, Value]) -> Value:
    """Return the value of a part, or the order of two values."""
    if not isinstance(part, Call) or part.function != "order":
        return evaluate(part, row)
    left, right = (evaluate(argument, row) for argument in part.arguments)
    if left is None or right is None:
        return None
    return (left > right) - (left < right)  # type: ignore[operator]  # of one kind


def is_covered(row: dict[str, Value], found: Cases) -> bool:
    return any(all(holds(value_of(part, row), values) for part, values in facts.items()) for facts in found)


def drawn(columns: Sequence[str], count: int, seed: int) -> list[tuple[str, Expression]]:
    """Return random conditions that tacit accepts."""
    chance, found = random.Random(f"{seed} {columns}"), list[tuple[str, Expression]]()  # noqa: S311 - test data
    while len(found) < count:
        text = condition(chance, columns)
        try:
            found.append((text, where(text)))
        except TacitError:  # such as two kinds of results in one CASE
            continue
    return found


def survey(columns: Sequence[str], count: int, seed: int = 0) -> tuple[int, int]:
    """Check random conditions on all rows, and all pairs of them; return the disjoint pairs, and those recognised."""
    rows, truths, found = all_rows(columns), list[int](), list[Cases]()
    for text, expression in drawn(columns, count, seed):
        found.append(cases(expression))
        true = [place for place, row in enumerate(rows) if evaluate(expression, row) is True]
        uncovered = [rows[place] for place in true if not is_covered(rows[place], found[-1])]
        assert not uncovered, (text, uncovered[:3])
        truths.append(sum(1 << place for place in true))
    apart = recognised = 0
    for one, other in combinations(range(count), 2):
        proved = are_disjoint(found[one], found[other])
        assert not proved or not truths[one] & truths[other]
        if truths[one] and truths[other] and not truths[one] & truths[other]:
            apart, recognised = apart + 1, recognised + proved
    return apart, recognised


@pytest.mark.parametrize("columns", GROUPS)
def test_rows_on_which_a_condition_is_true_are_in_a_case_and_in_no_disjoint_one(columns: Sequence[str]) -> None:
    apart, recognised = survey(columns, 60)
    assert apart > 30
    assert recognised > 0.6 * apart


def test_rows_are_covered_for_any_condition_of_listed_functions() -> None:
    """Conditions that nobody writes, from every listed function and cast, on rows with odd values."""
    rows = random_rows(nul=True)[:30]

    @settings(deadline=None, max_examples=40)
    @given(expressions("boolean", 3))
    def check(expression: Expression) -> None:
        found = cases(expression)
        for row in rows:
            assert evaluate(expression, row) is not True or is_covered(row, found)

    check()


@pytest.mark.long
@pytest.mark.parametrize("columns", GROUPS)
def test_the_same_of_many_more_conditions(columns: Sequence[str]) -> None:
    for seed in range(1, 20):
        survey(columns, 150, seed)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("i < 2", "i >= 2"),
        ("i > 1 AND i < 3", "i IN (0, 1, 3)"),
        ("i > 1", "i < 2"),
        ("i > 1 AND i < 2", "i IS NULL OR i IS NOT NULL"),
        ("i < 1.5", "i = 2"),
        ("i BETWEEN 1 AND 2", "NOT (i BETWEEN 1 AND 2)"),
        ("NOT (i = 1 OR i = 2)", "i = 2"),
        ("i IS NULL", "i + 1 > 0"),
        ("i IS NULL", "i NOT IN (1, 2)"),
        ("x > 1", "x <= 1"),
        ("x > 1", "NOT x > 1"),
        ("x IS NULL", "x > 1 OR x <= 1"),
        ("x < i", "i <= x"),
        ("x = i", "i <> x"),
        ("x > i", "x IS NULL"),
        ("s = 'a'", "s = 'A'"),
        ("s IN ('a', 'b')", "s IN ('c', 'd')"),
        ("s LIKE 'a%'", "s = 'b'"),
        ("s LIKE 'a%'", "s LIKE 'b%'"),
        ("s LIKE 'ab'", "s NOT LIKE 'a%'"),
        ("s LIKE '%a'", "NOT s LIKE '%a'"),
        ("lower(s) = 'a'", "lower(s) = 'b'"),
        ("s ILIKE 'A%'", "s ILIKE 'b%'"),
        ("lower(s) = 'a'", "s IS NULL"),
        ("b", "NOT b"),
        ("b = true", "b IS NULL"),
        ("b IS TRUE", "b IS NOT TRUE"),
        ("b", "b <> true"),
        ("d < '2024-01-01'", "d >= '2024-01-01'"),
        ("d > '2024-01-01' AND d < '2024-01-02'", "d IS NOT NULL"),
        ("year(d) = 2023", "d >= '2024-01-01'"),
        ("year(m) = 2023", "m >= '2024-01-01 00:00:00'"),
        ("date_trunc('month', d) = '2024-02-01'", "d >= '2024-03-01'"),
        ("date_trunc('month', m) = '2024-02-01'", "CAST(m AS DATE) > '2024-02-29'"),
        ("CAST(d AS TIMESTAMP) < '2024-01-01 12:00:00'", "d > '2024-01-01'"),
        ("CAST(m AS DATE) = '2024-01-01'", "m < '2024-01-01'"),
        ("CASE WHEN i < 1 THEN 'low' ELSE 'high' END = 'low'", "CASE WHEN i < 1 THEN 'low' ELSE 'high' END = 'high'"),
        ("clamp(i, 0, 2) = 1", "i = 2"),
        ("floor(x / 10) = 1", "floor(x / 10) = 2"),
        ("(s = 'a' AND i = 1) OR (s = 'b' AND i = 2)", "(s = 'a' AND i = 2) OR (s = 'b' AND i = 1)"),
        ("i = NULL", "i = 1"),
        (" OR ".join(f"i = {n}" for n in range(0, 600, 2)), " OR ".join(f"i = {n}" for n in range(1, 600, 2))),
    ],
)
def test_conditions_that_no_row_satisfies_together_are_recognised(first: str, second: str) -> None:
    assert disjoint(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("i <= 2", "i >= 2"),
        ("x > 1", "x < 2"),
        ("x > 1 AND x < 2", "x = 1.5"),
        ("i > 1", "s = 'a'"),
        ("i IS NULL", "s IS NULL"),
        ("i IS NULL", "coalesce(i, 0) = 0"),
        ("i IN (1, NULL)", "i = 1"),
        ("i IS NOT DISTINCT FROM NULL", "i IS NULL"),
        ("x < i", "i >= x"),
        ("s LIKE 'a%'", "s LIKE 'ab%'"),
        ("s LIKE 'a%'", "s LIKE '%b'"),
        ("s = 'A'", "lower(s) = 'a'"),
        ("s < 'b'", "s LIKE 'a%'"),
        ("b", "b IS NOT NULL"),
        ("b IS NOT TRUE", "b IS NULL"),
        ("d < '2024-01-02'", "year(d) = 2024"),
        ("date_trunc('month', d) = '2024-02-01'", "d = '2024-02-29'"),
        ("CAST(m AS DATE) = '2024-01-01'", "m > '2024-01-01 12:00:00'"),
        ("clamp(i, 0, 2) = 2", "i = 7"),
        ("i < 9007199254740993", "CAST(i AS DOUBLE) >= 9007199254740992"),
        ("exp(x) < 1", "exp(x) >= 1"),
        ("i = 1 OR s = 'a'", "i = 2 OR s = 'b'"),
        ("true", "i = 1"),
    ],
)
def test_conditions_that_a_row_may_satisfy_together_are_not_disjoint(first: str, second: str) -> None:
    assert not disjoint(first, second)


def test_bounds_of_a_policy_say_nothing_about_conditions_which_read_raw_rows() -> None:
    """With bounds 0 to 10 a row can still have 50, so a condition above the bounds is not empty."""
    assert not disjoint("i > 10", "i > 10")
    assert disjoint("i > 10 AND i < 5", "i > 10 AND i < 5")


def test_nan_infinities_and_zeros_are_where_functions_put_them() -> None:
    everything = where("x > 0 OR x <= 0")
    assert [evaluate(everything, {"x": value}) for value in (nan, inf, -inf, -0.0)] == [None, True, True, True]
    assert disjoint("x >= 0", "x < 0")
    assert not disjoint("x = 0", "x = -0.0")
    assert not disjoint("x <= 0", "x >= 0")
    assert not disjoint("NOT x > 1", "x < 0")


def test_long_conditions_are_cut_short_and_cover_more_rows() -> None:
    many = " AND ".join(f"(i = {n} OR s = '{n}')" for n in range(12))
    assert len(cases(where(many))) <= 64
    wide = " OR ".join(f"(i = {n} AND s = '{n}')" for n in range(200))
    (merged,) = cases(where(wide))
    assert merged
    assert disjoint(wide, "s IS NULL")
    assert not disjoint(wide, "i = 1 AND s = '2'")  # lost when the cases were merged


def test_sets_of_many_points_become_the_span_around_them() -> None:
    options = ", ".join(map(str, range(0, 4000, 2)))
    assert disjoint(f"i IN ({options})", "i = 4000")
    assert not disjoint(f"i IN ({options})", "i = 1")


@pytest.mark.parametrize("value", VALUES["m"])
def test_a_day_is_where_its_moments_are(value: Value) -> None:
    """The images of dates and timestamps, at every value and around it."""
    if not isinstance(value, datetime):
        return
    day = value.date()
    assert disjoint(f"CAST(m AS DATE) = '{day}'", f"m < '{day} 00:00:00'")
    assert not disjoint(f"CAST(m AS DATE) = '{day}'", f"m >= '{day} 23:59:59.999999'")
    assert disjoint(f"year(m) = {day.year}", f"m >= '{date(day.year + 1, 1, 1)}'")
    assert not disjoint(f"year(m) = {day.year}", f"m >= '{date(day.year, 12, 31)}'")
