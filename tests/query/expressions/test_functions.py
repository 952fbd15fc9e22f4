from __future__ import annotations

import calendar
import math
import re
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.query.expressions import Kind, Value
from tacit.query.expressions.casts import CASTS, HIGHEST, LOWEST, cast
from tacit.query.expressions.functions import ALIKE, FUNCTIONS, Takes, apply, of_kind
from tacit.query.expressions.time import DAYS_AND_LONGER, UNITS

TRUTHS: list[bool | None] = [False, None, True]
INTEGERS = st.integers(LOWEST, HIGHEST)
REALS = st.floats(allow_nan=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DATES = st.dates()
TIMESTAMPS = st.datetimes()

VALUES: dict[Kind, st.SearchStrategy[Value]] = {
    "integer": INTEGERS,
    "real": REALS,
    "text": TEXTS,
    "boolean": st.booleans(),
    "date": DATES,
    "timestamp": TIMESTAMPS,
}
PYTHON: dict[Kind, type | tuple[type, ...]] = {
    "integer": int,
    "real": float,
    "text": str,
    "boolean": bool,
    "date": date,
    "timestamp": datetime,
}
POSSIBLE: dict[Takes, list[Kind]] = {
    "number": ["integer", "real"],
    "real": ["real"],
    "integer": ["integer"],
    "text": ["text"],
    "boolean": ["boolean"],
    "moment": ["date", "timestamp"],
    "timestamp": ["timestamp"],
    "quantity": ["integer", "real", "date", "timestamp"],
    "any": list(VALUES),
}
CONSTANTS: dict[str, list[Value]] = {
    "round": [0, 2, -2, 15, -15],
    "substring": [1, 2, 7],
    "left": [0, 1, 20],
    "right": [0, 1, 20],
    "date_trunc": list(DAYS_AND_LONGER),
    "steps": [0, 3, -2],
    "ordinal": list(DAYS_AND_LONGER[:3]),
    "quotient": [1, 7],
}


def at(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type] # noqa: DTZ001 - timestamps have no time zone


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, list[Value], Kind]:
    """Draw a function, arguments of kinds that it takes, as the parser would pass them, and the kind of its result."""
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    function = FUNCTIONS[name]
    common = draw(st.sampled_from(_shared(name)))
    count = (
        len(function.takes)
        - draw(st.integers(0, function.optional))
        + (draw(st.integers(0, 2)) if function.many else 0)
    )
    values: list[Value] = []
    for index in range(count):
        takes = function.takes_at(index)
        kind = common if takes in ALIKE else POSSIBLE[takes][0]
        if index in function.constants and name in CONSTANTS:
            values.append(draw(st.sampled_from(CONSTANTS[name])))
        else:
            values.append(draw(st.none() | VALUES[kind]))
    gives = common if function.gives == "same" else function.gives
    return name, values, gives


def _shared(name: str) -> list[Kind]:
    sharing: list[Takes] = [takes for takes in FUNCTIONS[name].takes if takes in ALIKE]
    return POSSIBLE[sharing[0]] if sharing else ["integer"]


@given(calls())
def test_every_function_has_a_value_of_its_kind_or_null_for_all_arguments(drawn: tuple[str, list[Value], Kind]) -> None:
    name, values, kind = drawn
    result = apply(name, values, kind)
    assert result is None or (
        isinstance(result, PYTHON[kind]) and not (isinstance(result, float) and math.isnan(result))
    )
    if kind == "integer" and result is not None:
        assert type(result) is int
        assert LOWEST <= result <= HIGHEST


@given(calls())
def test_null_or_nan_in_is_null_out_unless_a_function_sees_null(drawn: tuple[str, list[Value], Kind]) -> None:
    name, values, kind = drawn
    assume(not FUNCTIONS[name].sees_null)
    missing = any(value is None or (isinstance(value, float) and math.isnan(value)) for value in values)
    assume(missing)
    assert apply(name, values, kind) is None


def test_and_or_and_not_are_kleenes_min_max_and_complement() -> None:
    rank: dict[Value, float] = {False: 0, None: 0.5, True: 1}
    back = {0: False, 0.5: None, 1: True}
    for a, b, c in product(TRUTHS, repeat=3):
        assert apply("and", [a, b, c], "boolean") is back[min(rank[a], rank[b], rank[c])]
        assert apply("or", [a, b, c], "boolean") is back[max(rank[a], rank[b], rank[c])]
        assert apply("not", [a], "boolean") is back[1 - rank[a]]


@pytest.mark.parametrize("value", [None, 1, 2])
@pytest.mark.parametrize("options", [[1], [1, None], [3], [3, None]])
def test_in_is_a_chain_of_or_over_equals(value: int | None, options: list[int | None]) -> None:
    equals = [apply("equal", [value, option], "boolean") for option in options]
    assert apply("in", [value, *options], "boolean") is apply("or", equals, "boolean")


def test_comparisons_with_null_are_null_and_is_null_is_not() -> None:
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        assert apply(name, [None, 1], "boolean") is None
        assert apply(name, [1, None], "boolean") is None
    assert apply("is_null", [None], "boolean") is True
    assert apply("is_null", [math.nan], "boolean") is True
    assert apply("is_null", [0], "boolean") is False


@given(INTEGERS, INTEGERS)
def test_the_six_comparisons_agree_with_each_other(a: int, b: int) -> None:
    less, equal = apply("less", [a, b], "boolean"), apply("equal", [a, b], "boolean")
    assert less is (b - a > 0)
    assert equal is (b - a == 0)
    assert apply("less_equal", [a, b], "boolean") is (less or equal)
    assert apply("greater", [a, b], "boolean") is (not less and not equal)
    assert apply("greater_equal", [a, b], "boolean") is (not less)
    assert apply("not_equal", [a, b], "boolean") is (not equal)


def test_text_is_compared_by_code_point() -> None:
    assert apply("less", ["Z", "a"], "boolean") is True
    assert apply("less", ["z", "ä"], "boolean") is True
    assert apply("equal", ["a", "A"], "boolean") is False


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("divide", [1.0, 0.0], "real"),
        ("divide", [math.inf, math.inf], "real"),
        ("modulo", [5, 0], "integer"),
        ("modulo", [math.inf, 2.0], "real"),
        ("ln", [0.0], "real"),
        ("ln", [-1.0], "real"),
        ("sqrt", [-1e-300], "real"),
        ("power", [10.0, 309.0], "real"),
        ("power", [-8.0, 1 / 3], "real"),
        ("power", [0.0, -1.0], "real"),
        ("subtract", [math.inf, math.inf], "real"),
        ("multiply", [0.0, math.inf], "real"),
        ("add", [HIGHEST, 1], "integer"),
        ("multiply", [2**32, 2**31], "integer"),
        ("negate", [LOWEST], "integer"),
        ("abs", [LOWEST], "integer"),
    ],
)
def test_a_function_without_a_value_is_null(name: str, values: list[Value], kind: Kind) -> None:
    assert apply(name, values, kind) is None


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("add", [math.inf, 1.0], math.inf),
        ("multiply", [1e308, 10.0], math.inf),
        ("exp", [1000.0], math.inf),
        ("floor", [-math.inf], -math.inf),
        ("ceil", [math.inf], math.inf),
        ("round", [math.inf, 2], math.inf),
        ("sqrt", [math.inf], math.inf),
        ("ln", [math.inf], math.inf),
        ("clamp", [-math.inf, 0.0, 5.0], 0.0),
        ("divide", [1.0, math.inf], 0.0),
    ],
)
def test_infinity_is_a_number_like_others(name: str, values: list[Value], result: float) -> None:
    assert apply(name, values, "real") == result


@given(st.integers(-1000, 1000), st.integers(-30, 30).filter(bool))
def test_modulo_takes_away_the_quotient_truncated_toward_zero(a: int, b: int) -> None:
    left = a - math.trunc(Fraction(a, b)) * b
    assert apply("modulo", [a, b], "integer") == left
    assert apply("modulo", [float(a), float(b)], "real") == left


@given(st.integers(-(2**40), 2**40), st.integers(0, 8))
def test_round_is_the_floor_of_x_plus_a_half(numerator: int, bits: int) -> None:
    x = Fraction(numerator, 2**bits)  # exact in doubles, as is x + 1/2
    assert apply("round", [float(x)], "real") == math.floor(x + Fraction(1, 2))
    assert apply("floor", [float(x)], "real") == math.floor(x)
    assert apply("ceil", [float(x)], "real") == math.ceil(x)


@pytest.mark.parametrize(
    ("x", "digits", "result"),
    [(2.5, 0, 3.0), (-2.5, 0, -2.0), (0.125, 2, 0.13), (-0.125, 2, -0.12), (149.0, -2, 100.0)],
)
def test_round_takes_digits_on_both_sides_of_the_point(x: float, digits: int, result: float) -> None:
    assert apply("round", [x, digits], "real") == result


def test_whole_numbers_beside_reals_count_as_reals_and_a_real_result_is_a_float() -> None:
    result = apply("divide", [7, 2.0], "real")
    assert (result, type(result)) == (3.5, float)
    assert apply("equal", [2**53 + 1, 2.0**53], "boolean") is True
    assert type(of_kind(3, "real")) is float


@pytest.mark.parametrize(("name", "result"), [("least", 1), ("greatest", 3)])
def test_least_and_greatest_skip_null_and_nan(name: str, result: int) -> None:
    assert apply(name, [None, 3, 1], "integer") == result
    assert apply(name, [math.nan, 3.0, 1.0], "real") == result
    assert apply(name, [None, None], "integer") is None


def test_coalesce_and_nullif() -> None:
    assert apply("coalesce", [None, math.nan, 2.0, 3.0], "real") == 2.0
    assert apply("coalesce", [None], "text") is None
    assert apply("nullif", [1, 1], "integer") is None
    assert apply("nullif", [1, 2], "integer") == 1
    assert apply("nullif", [1, None], "integer") == 1
    assert apply("nullif", [None, 1], "integer") is None


@given(st.text("ab%_", max_size=6), st.text("ab\n", max_size=8))
def test_like_is_the_regular_expression_it_stands_for(pattern: str, text: str) -> None:
    regular = "".join({"%": ".*", "_": "."}.get(mark, re.escape(mark)) for mark in pattern)
    assert apply("like", [text, pattern], "boolean") is (re.fullmatch(regular, text, re.DOTALL) is not None)


def test_like_is_not_slow_on_many_wildcards() -> None:
    assert apply("like", ["a" * 2000, "%a" * 50 + "b"], "boolean") is False


@given(TEXTS)
def test_case_mapping_keeps_the_length_and_lowering_is_final(text: str) -> None:
    lowered, raised = apply("lower", [text], "text"), apply("upper", [text], "text")
    assert isinstance(lowered, str)
    assert isinstance(raised, str)
    assert len(lowered) == len(raised) == len(text)
    assert apply("lower", [lowered], "text") == lowered


def test_text_functions_count_characters_not_bytes() -> None:
    assert apply("length", ["Köln"], "integer") == 4
    assert apply("substring", ["Köln", 2, 2], "text") == "öl"
    assert apply("left", ["Köln", 2], "text") == "Kö"
    assert apply("right", ["Köln", 2], "text") == "ln"
    assert apply("right", ["Köln", 0], "text") == ""
    assert apply("right", ["Köln", 9], "text") == "Köln"
    assert apply("upper", ["äöß"], "text") == "ÄÖẞ"


def test_trim_replace_concat_and_starts_with() -> None:
    assert apply("trim", ["  a b\t "], "text") == "a b\t"
    assert apply("replace", ["banana", "an", "o"], "text") == "booa"
    assert apply("replace", ["banana", "", "x"], "text") == "banana"
    assert apply("concat", ["a", "b", "c"], "text") == "abc"
    assert apply("concat", ["a", None], "text") is None
    assert apply("starts_with", ["abc", "ab"], "boolean") is True
    assert apply("starts_with", ["abc", "b"], "boolean") is False


@given(DATES)
def test_parts_of_a_date_agree_with_the_calendar(day: date) -> None:
    fields = day.timetuple()
    assert apply("year", [day], "integer") == fields.tm_year
    assert apply("month", [day], "integer") == fields.tm_mon
    assert apply("day", [day], "integer") == fields.tm_mday
    assert apply("quarter", [day], "integer") == math.ceil(fields.tm_mon / 3)
    assert apply("weekday", [day], "integer") == (calendar.weekday(day.year, day.month, day.day) + 1) % 7


@given(TIMESTAMPS, st.sampled_from(UNITS))
def test_date_trunc_gives_the_last_beginning_of_a_unit_that_is_not_later(moment: datetime, unit: str) -> None:
    start = apply("date_trunc", [unit, moment], "timestamp")
    assert isinstance(start, datetime)
    assert start <= moment
    assert apply("date_trunc", [unit, start], "timestamp") == start
    longest = {"year": 366, "quarter": 92, "month": 31, "week": 7, "day": 1, "hour": 1 / 24, "minute": 1 / 1440}
    assert moment - start < timedelta(days=longest.get(unit, 1 / 86400))
    assert _names(start, unit) == _names(moment, unit)


def _names(moment: datetime, unit: str) -> tuple[int, ...]:
    """Return the calendar numbers that identify the unit containing a moment."""
    if unit == "week":
        return moment.isocalendar()[:2]
    if unit == "quarter":
        return (moment.year, (moment.month - 1) // 3)
    return moment.timetuple()[: ("year", "month", "day", "hour", "minute", "second").index(unit) + 1]


def test_date_trunc_of_a_date_is_a_date() -> None:
    result = apply("date_trunc", ["month", date(2024, 2, 29)], "date")
    assert result == date(2024, 2, 1)
    assert type(result) is date


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        ("42", "text", "integer", 42),
        ("-0042", "text", "integer", -42),
        ("+7", "text", "integer", 7),
        ("0", "text", "integer", 0),
        ("0" * 5000 + "9", "text", "integer", 9),
        (str(HIGHEST), "text", "integer", HIGHEST),
        (str(LOWEST), "text", "integer", LOWEST),
        (str(HIGHEST + 1), "text", "integer", None),
        ("9" * 5000, "text", "integer", None),
        ("4.0", "text", "integer", None),
        (" 4\t", "text", "integer", 4),
        ("\u00a04", "text", "integer", None),
        ("4 2", "text", "integer", None),
        ("1_000", "text", "integer", None),
        ("٤", "text", "integer", None),
        ("", "text", "integer", None),
        ("-", "text", "integer", None),
        ("1e3", "text", "real", 1000.0),
        (".5", "text", "real", 0.5),
        ("5.", "text", "real", 5.0),
        ("inf", "text", "real", None),
        ("nan", "text", "real", None),
        ("1e999", "text", "real", None),
        ("0x10", "text", "real", None),
        ("TRUE", "text", "boolean", True),
        ("f", "text", "boolean", False),
        ("maybe", "text", "boolean", None),
        ("2024-02-29", "text", "date", date(2024, 2, 29)),
        ("2023-02-29", "text", "date", None),
        ("2024-2-9", "text", "date", None),
        ("20240229", "text", "date", None),
        ("2024-02-29", "text", "timestamp", at(2024, 2, 29)),
        ("2024-02-29 23:59", "text", "timestamp", at(2024, 2, 29, 23, 59)),
        ("2024-02-29T23:59:01.5", "text", "timestamp", at(2024, 2, 29, 23, 59, 1, 500_000)),
        ("2024-02-29 24:00", "text", "timestamp", None),
        ("2024-02-29 10:00+02", "text", "timestamp", None),
        (2.5, "real", "integer", 3),
        (-2.5, "real", "integer", -2),
        (1e19, "real", "integer", None),
        (math.inf, "real", "integer", None),
        (5, "integer", "real", 5.0),
        (-5, "integer", "text", "-5"),
        (0, "integer", "boolean", False),
        (True, "boolean", "integer", 1),
        (False, "boolean", "real", 0.0),
        (True, "boolean", "text", "true"),
        (date(2024, 2, 29), "date", "text", "2024-02-29"),
        (date(2024, 2, 29), "date", "timestamp", at(2024, 2, 29)),
        (at(2024, 2, 29, 12), "timestamp", "date", date(2024, 2, 29)),
        (None, "text", "integer", None),
    ],
)
def test_casts_give_the_counterpart_or_null(value: Value, source: Kind, target: Kind, result: Value) -> None:
    cast_value = cast(value, source, target)
    assert cast_value == result
    assert type(cast_value) is type(result)


@given(st.sampled_from(sorted(CASTS)), st.data())
def test_no_cast_fails(pair: tuple[Kind, Kind], data: st.DataObject) -> None:
    source, target = pair
    value = data.draw(VALUES[source].filter(lambda value: value == value))  # noqa: PLR0124 - not NaN
    result = cast(value, source, target)
    assert result is None or isinstance(result, PYTHON[target])
