"""`mode(x)`: its values, the number of a row's value, and what is refused."""

from __future__ import annotations

from datetime import date
from math import inf, nan

import pytest

from tacit.errors import InvalidError, RefusedError
from tacit.query.aggregates.mode import MOST_VALUES, value_number
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Column, Constant, Kind, Value, walk
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

COLUMNS = {
    "u": ColumnPolicy(kind="integer"),
    "town": ColumnPolicy(kind="text", keys=("north", "south", None)),
    "other": ColumnPolicy(kind="text"),
    "age": ColumnPolicy(kind="integer", bounds=(0, 120)),  # type: ignore[arg-type]  # whole numbers are fractions
    "urban": ColumnPolicy(kind="boolean"),
    "none": ColumnPolicy(kind="text", keys=(None,)),
}
T = TablePolicy(name="t", unit="u", max_groups=2, max_rows=2, neighbours="add/remove", columns=COLUMNS)


def read(sql: str, keys: dict[str, list[Value]] | None = None) -> Plan:
    return parse(f"SELECT {sql} FROM t", {"t": T}, keys=keys)  # noqa: S608 - a test's own text


def values(plan: Plan) -> list[Value]:
    (aggregate,) = plan.aggregates
    return [each.value for each in aggregate.ask.values[1:] if isinstance(each, Constant)]


CASES: list[tuple[Kind, list[Value], list[Value]]] = [
    ("text", ["b", "", "A", "a", "é", "zz", "日本", "b "], [None, "B", "c"]),
    ("integer", [5, -3, 2**63 - 1, -(2**63), 0, 7, 11], [None, 6, 1]),
    ("real", [0.5, -2.5, 0.0, 1e308, -1e308, 5e-324], [None, nan, inf, 0.25]),
    ("boolean", [True, False], [None]),
    ("date", [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(2000, 1, 1)], [None]),
]


@pytest.mark.parametrize(("kind", "listed", "others"), CASES)
def test_the_number_of_a_value_is_its_place_in_the_list(kind: Kind, listed: list[Value], others: list[Value]) -> None:
    number = value_number(Column("x", kind), listed)
    assert [evaluate(number, {"x": value}) for value in listed] == list(range(len(listed)))
    assert [evaluate(number, {"x": value}) for value in others] == [None] * len(others)


def test_a_row_is_compared_with_few_of_many_values() -> None:
    number = value_number(Column("x", "integer"), list(range(MOST_VALUES)))
    assert [evaluate(number, {"x": value}) for value in (0, 1, 500, 999, 1000)] == [0, 1, 500, 999, None]
    assert sum(1 for _ in walk(number)) < 9 * MOST_VALUES


def test_the_values_are_public_and_without_null() -> None:
    assert values(read("mode(town) AS m")) == ["north", "south"]
    assert values(read("mode(urban) AS m")) == [False, True]
    assert values(read("mode() WITHIN GROUP (ORDER BY floor(age / 40)) AS m")) == [0.0, 1.0, 2.0, 3.0]
    assert values(read("mode(CASE WHEN age > 65 THEN 'old' ELSE 'young' END) AS m")) == ["old", "young"]
    assert values(read("mode(other) AS m", {"other": ["x", "y"]})) == ["x", "y"]
    assert values(read("mode(lower(other)) AS m", {"lower(other)": ["x"]})) == ["x"]
    assert values(read("mode(town) AS m", {"town": ["south"]})) == ["south"]


def test_values_are_compared_raw() -> None:
    """A value beyond its bounds is not one of the values: it is not clamped into the last one."""
    plan = read("mode(age) AS m")
    number = plan.bundles[0].measures[0].value
    assert number is not None
    assert [evaluate(number, {"age": age}) for age in (0, 120, 121, -1)] == [0, 120, None, None]


def test_a_mode_is_one_choice_with_the_limits_of_a_unit() -> None:
    plan = parse("SELECT urban, mode(town) AS a, count(*) AS n, mode(town) AS b FROM t GROUP BY urban", {"t": T})
    choices = [bundle for bundle in plan.bundles if bundle.values is not None]
    assert len(choices) == 1  # asked twice, drawn once
    assert choices[0].contribution == 2 << choices[0].measures[0].fraction_bits
    assert choices[0].nonnegative


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("mode(other) AS m", "not public"),
        ("mode(none) AS m", "no value to choose but NULL"),
        ("mode(u) AS m", "unit column"),
        ("mode(DISTINCT town) AS m", "without DISTINCT"),
        ("mode(town ORDER BY town) AS m", "without DISTINCT and ORDER BY"),
        ("mode() AS m", "takes one value"),
        ("mode(town) WITHIN GROUP (ORDER BY town) AS m", "takes one value"),
        ("mode() WITHIN GROUP (ORDER BY town, urban) AS m", "takes one value"),
        ("mode(mode(town)) AS m", "inside an aggregate"),
    ],
)
def test_other_modes_are_refused(sql: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        read(sql)


def test_too_many_values_are_refused() -> None:
    many: list[Value] = [f"{number}" for number in range(MOST_VALUES + 1)]
    assert len(values(read("mode(other) AS m", {"other": many[1:]}))) == MOST_VALUES
    with pytest.raises(RefusedError, match="1,001 values; the limit is 1,000"):
        read("mode(other) AS m", {"other": many})


def test_lists_are_for_groups_and_modes_alone() -> None:
    with pytest.raises(InvalidError, match="'town'"):
        read("count(*) AS n", {"town": ["north"]})
    with pytest.raises(InvalidError, match="'other'"):
        read("mode(town) AS n", {"other": ["north"]})
