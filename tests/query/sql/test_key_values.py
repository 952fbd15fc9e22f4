from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidError, RefusedError
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Kind, Value
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.key_values import domain
from tacit.query.sql.parse import parse

COLUMNS = {
    "region": ColumnPolicy(kind="text", keys=("north", "south", "east")),
    "level": ColumnPolicy(kind="text", keys=("low", None)),
    "urban": ColumnPolicy(kind="boolean"),
    "grade": ColumnPolicy(kind="integer", keys=(3, 1, 2)),
    "age": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(25))),
    "income": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(45_000))),
    "wide": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(10**6))),
    "free": ColumnPolicy(kind="real"),
    "note": ColumnPolicy(kind="text"),
    "day": ColumnPolicy(kind="date"),
    "month": ColumnPolicy(kind="date", keys=(date(2024, 1, 1), date(2024, 2, 1), date(2025, 1, 1))),
    "at": ColumnPolicy(kind="timestamp"),
    "code": ColumnPolicy(kind="integer", keys=tuple(range(1000))),
}
TABLE = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns=COLUMNS)


def column(name: str) -> Column:
    return Column(name, COLUMNS[name].kind)


def real(value: float) -> Constant:
    return Constant(value, "real")


def text(value: str | None) -> Constant:
    return Constant(value, "text")


def call(name: str, *arguments: Expression, kind: Kind = "real") -> Call:
    return Call(name, arguments, kind)


def equal(a: Expression, b: Expression) -> Call:
    return call("equal", a, b, kind="boolean")


def bins(name: str, width: float) -> Call:
    value: Expression = column(name) if COLUMNS[name].kind == "real" else Cast(column(name), "real")
    return call("multiply", call("floor", call("divide", value, real(width))), real(width))


def values_of(expression: Expression, listed: Sequence[Value] | None = None) -> tuple[Value, ...]:
    return domain(expression, "key", TABLE, listed)


RICH = call("greater", column("income"), real(1000.0), kind="boolean")
NORTH = equal(column("region"), text("north"))


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        (column("region"), ("north", "south", "east")),
        (column("grade"), (3, 1, 2)),
        (column("level"), ("low", None)),
        (column("urban"), (False, True)),
        (RICH, (False, True)),
        (column("age"), tuple(range(26))),
        (call("upper", column("region"), kind="text"), ("EAST", "NORTH", "SOUTH")),
        (call("left", column("region"), Constant(1, "integer"), kind="text"), ("e", "n", "s")),
        (call("concat", column("region"), text("!"), kind="text"), ("east!", "north!", "south!")),
        (bins("age", 10.0), (0.0, 10.0, 20.0)),
        (bins("income", 10_000.0), (0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0)),
        (bins("wide", 250_000.0), (0.0, 250_000.0, 500_000.0, 750_000.0, 1_000_000.0)),
        (call("round", call("divide", column("income"), real(20_000.0))), (0.0, 1.0, 2.0)),
        (call("ceil", call("negate", call("divide", column("income"), real(30_000.0)))), (-1.0, 0.0)),
        (call("month", column("day"), kind="integer"), tuple(range(1, 13))),
        (call("hour", column("at"), kind="integer"), tuple(range(24))),
        (call("year", column("month"), kind="integer"), (2024, 2025)),
        (
            call("date_trunc", text("year"), column("month"), kind="date"),
            (date(2024, 1, 1), date(2025, 1, 1)),
        ),
        (call("add", column("grade"), Constant(10, "integer"), kind="integer"), (11, 12, 13)),
        (Cast(call("floor", call("divide", column("income"), real(20_000.0))), "integer"), (0, 1, 2)),
        (call("sign", column("free"), kind="integer"), (-1, 0, 1)),
    ],
)
def test_public_values_come_from_keys_bounds_and_the_expression(
    expression: Expression, values: tuple[Value, ...]
) -> None:
    assert values_of(expression) == values
    assert [type(value) for value in values_of(expression)] == [type(value) for value in values]


def test_a_case_takes_its_results() -> None:
    labels = Case(((RICH, text("rich")), (column("urban"), text("city"))), text("other"), "text")
    assert values_of(labels) == ("city", "other", "rich")
    twenty = Case(tuple((equal(column("note"), text(str(i))), text(f"r{i:02}")) for i in range(20)), None, "text")
    assert values_of(twenty) == tuple(f"r{i:02}" for i in range(20))


def test_all_results_that_a_case_names_are_listed_whatever_the_bounds_and_keys_are() -> None:
    mars = equal(column("region"), text("mars"))
    assert values_of(Case(((mars, text("red")), (NORTH, text("cold"))), text("mild"), "text")) == (
        "cold",
        "mild",
        "red",
    )
    old = call(
        "greater", column("age"), Constant(25, "integer"), kind="boolean"
    )  # beyond the bounds, so true of raw rows
    assert values_of(Case(((old, text("hi")),), text("lo"), "text")) == ("hi", "lo")
    assert values_of(old) == (False, True)
    assert values_of(Cast(old, "integer")) == (0, 1)
    assert values_of(call("upper", Case(((old, text("hi")),), text("lo"), "text"), kind="text")) == ("HI", "LO")
    capped = Case(((old, Constant(-1, "integer")),), column("age"), "integer")
    assert values_of(capped) == tuple(range(-1, 26))
    few = Case(
        ((call("less", column("age"), Constant(3, "integer"), kind="boolean"), column("age")),),
        Constant(9, "integer"),
        "integer",
    )
    assert values_of(few) == (0, 1, 2, 9)


FIRST, LAST = date(2023, 12, 30), date(2024, 2, 1)
DATED = TablePolicy(
    name="t",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="add/remove",
    columns={
        "day": ColumnPolicy(kind="date", days=(FIRST, LAST)),
        "at": ColumnPolicy(kind="timestamp", days=(FIRST, LAST)),
        "long": ColumnPolicy(kind="date", days=(date(1900, 1, 1), date(2099, 12, 31))),
    },
)


def dated(name: str, kind: Kind, function: str, *units: str) -> Call:
    gives: Kind = kind if function == "date_trunc" else "integer"
    return call(function, *(text(unit) for unit in units), Column(name, kind), kind=gives)


def test_bounds_of_dates_say_which_days_weeks_months_and_years_there_are() -> None:
    days = domain(Column("day", "date"), "day", DATED)
    assert (len(days), days[0], days[-1]) == (34, FIRST, LAST)
    months = (date(2023, 12, 1), date(2024, 1, 1), date(2024, 2, 1))
    assert domain(dated("day", "date", "date_trunc", "month"), "m", DATED) == months
    assert domain(dated("day", "date", "year"), "y", DATED) == (2023, 2024)
    assert domain(dated("long", "date", "year"), "y", DATED) == tuple(range(1900, 2100))
    with pytest.raises(RefusedError, match="73,049 values; the limit is 10,000"):
        domain(Column("long", "date"), "long", DATED)


def test_of_a_timestamp_between_days_the_day_is_known_and_the_time_is_not() -> None:
    midnights = tuple(datetime(year, month, 1) for year, month in ((2023, 12), (2024, 1), (2024, 2)))  # noqa: DTZ001
    assert domain(dated("at", "timestamp", "date_trunc", "month"), "m", DATED) == midnights
    assert domain(dated("at", "timestamp", "year"), "y", DATED) == (2023, 2024)
    assert domain(dated("at", "timestamp", "hour"), "h", DATED) == tuple(range(24))
    assert len(domain(Cast(Column("at", "timestamp"), "date"), "d", DATED)) == 34
    assert len(domain(dated("at", "timestamp", "date_trunc", "hour"), "at", DATED)) == 34 * 24
    assert len(domain(dated("at", "timestamp", "date_trunc", "minute"), "at", DATED)) == 34 * 24 * 60
    for unknown in (Column("at", "timestamp"), dated("at", "timestamp", "date_trunc", "second")):
        with pytest.raises(RefusedError, match="at has no public keys"):
            domain(unknown, "at", DATED)


def test_a_case_may_give_a_listed_column_or_a_bin() -> None:
    assert values_of(Case(((RICH, column("region")),), text("poor"), "text")) == ("east", "north", "poor", "south")
    assert values_of(Case(((RICH, bins("income", 30_000.0)),), real(-1.0), "real")) == (-1.0, 0.0, 30_000.0)


def test_null_is_a_value_only_if_it_is_listed() -> None:
    assert values_of(call("upper", column("level"), kind="text")) == ("LOW", None)
    assert values_of(Case(((NORTH, text("n")),), None, "text")) == ("n",)
    assert values_of(Case(((NORTH, text("n")),), text(None), "text")) == ("n",)
    assert values_of(Case(((RICH, text("n")),), text(None), "text")) == ("n",)


def test_a_column_may_be_null_inside_an_expression_that_says_what_to_do_then() -> None:
    assert values_of(call("coalesce", column("region"), text("unknown"), kind="text")) == (
        "east",
        "north",
        "south",
        "unknown",
    )
    assert values_of(call("is_null", column("region"), kind="boolean")) == (False, True)


def test_keys_of_the_caller_come_first_and_are_checked() -> None:
    assert values_of(column("note"), ["b", "a"]) == ("b", "a")
    assert values_of(column("region"), ["north"]) == ("north",)
    assert values_of(column("free"), [1, 2.5]) == (1.0, 2.5)
    assert values_of(column("at"), [datetime(2024, 1, 1, 12)]) == (datetime(2024, 1, 1, 12),)  # noqa: DTZ001 - no time zone
    with pytest.raises(InvalidError, match="'key'") as mistake:
        values_of(column("age"), ["ten"])
    assert mistake.value.argument == "keys of 'key'"
    with pytest.raises(InvalidError, match="'key'"):
        values_of(column("note"), ["a", "a"])


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (column("note"), "note has no public keys"),
        (column("free"), "such as floor"),
        (column("income"), "income has no public keys"),
        (column("wide"), "1,000,001 values; the limit is 10,000"),
        (column("day"), "day has no public keys"),
        (call("year", column("day"), kind="integer"), r"keys=\{'key'"),
        (call("floor", column("free")), "free has no public keys"),
        (call("floor", column("income")), "45,001 values; the limit is 10,000"),
        (call("length", column("note"), kind="integer"), "note"),
        (call("concat", column("region"), column("note"), kind="text"), "note"),
        (Case(((RICH, column("note")),), None, "text"), "note"),
    ],
)
def test_values_that_are_not_public_are_refused(expression: Expression, why: str) -> None:
    with pytest.raises(RefusedError, match=why) as refusal:
        values_of(expression)
    assert refusal.value.hint is not None


def test_too_many_combinations_are_refused() -> None:
    texts: list[Expression] = [
        Cast(column("code"), "text"),
        Cast(column("age"), "text"),
        Cast(column("grade"), "text"),
        column("region"),
    ]
    with pytest.raises(RefusedError, match="100,000 combinations"):
        values_of(call("concat", *texts, kind="text"))


def test_infinite_values_are_left_out_and_zero_has_one_sign() -> None:
    huge = call("exp", call("multiply", Cast(column("grade"), "real"), real(400.0)))
    assert len(values_of(huge)) == 1
    zero = call("multiply", Cast(column("grade"), "real"), real(-0.0))
    assert [str(value) for value in values_of(zero)] == ["0.0"]


ROWS = st.fixed_dictionaries(
    {
        "region": st.sampled_from(["north", "south", "east", None]),
        "level": st.sampled_from(["low", None]),
        "urban": st.booleans() | st.none(),
        "grade": st.sampled_from([1, 2, 3, None]),
        "age": st.integers(0, 25) | st.none(),
        "income": st.floats(0, 45_000) | st.none(),
        "day": st.dates() | st.none(),
    }
)
NUMBERS = st.sampled_from([bins("age", 5.0), bins("income", 9000.0), Cast(column("age"), "real"), real(2.0)])
TRUTHS = st.sampled_from([RICH, NORTH, column("urban"), call("is_null", column("level"), kind="boolean")])


def expressions() -> st.SearchStrategy[Expression]:
    combined = st.builds(call, st.sampled_from(["add", "subtract", "least", "coalesce", "nullif"]), NUMBERS, NUMBERS)
    chosen = st.builds(lambda test, a, b: Case(((test, a),), b, "real"), TRUTHS, NUMBERS, NUMBERS)
    return st.one_of(
        combined, chosen, TRUTHS, st.builds(lambda a, b: call("and", a, b, kind="boolean"), TRUTHS, TRUTHS)
    )


@given(expressions(), ROWS)
def test_a_row_within_its_bounds_has_a_listed_key_or_null(expression: Expression, row: dict[str, Value]) -> None:
    value = evaluate(expression, row)
    assert value is None or value in values_of(expression)


@pytest.mark.parametrize(
    ("label", "first", "last"),
    [
        ("dayname(d)", "Monday", "Sunday"),
        ("monthname(d)", "January", "December"),
        ("strftime(d, '%A')", "Monday", "Sunday"),
        ("strftime(d, '%a')", "Mon", "Sun"),
        ("strftime(d, '%B')", "January", "December"),
        ("strftime(d, '%b')", "Jan", "Dec"),
        ("to_char(d, 'DAY')", "MONDAY   ", "SUNDAY   "),
        ("CASE dayname(d) WHEN 'Monday' THEN 'first' ELSE 'other' END", "first", "other"),
        ("CASE WHEN dayname(d) > 'M' THEN dayname(d) END", "Monday", "Sunday"),
        ("CASE WHEN dayname(d) = 'Friday' THEN 'weekend' ELSE dayname(d) END", "Friday", "weekend"),
    ],
)
def test_names_of_weekdays_and_months_have_the_order_of_the_calendar(label: str, first: str, last: str) -> None:
    table = TablePolicy(
        name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns={"d": ColumnPolicy(kind="date")}
    )
    query = f"SELECT {label}, count(*) FROM t GROUP BY 1"  # noqa: S608 - a query of a test
    (key,) = parse(query, {"t": table}).keys
    values = [value for value in key.values or () if value is not None]
    assert (values[0], values[-1]) == (first, last)
