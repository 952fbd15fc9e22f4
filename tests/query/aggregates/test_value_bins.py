"""The fixed bins cover every value of a kind, each exactly once."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import cache
from itertools import pairwise
from math import inf, nan
from sys import float_info
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.tables import DATES, INTEGERS, REALS, TIMES
from tacit.errors import InternalError
from tacit.query.aggregates.value_bins import EdgeValue, value_bins
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Case, Column, Expression, Kind, Value

KINDS: tuple[Kind, ...] = ("integer", "real", "date", "timestamp")
ENDS: dict[Kind, tuple[EdgeValue, EdgeValue]] = {
    "integer": (-(2**63), 2**63 - 1),
    "real": (-float_info.max, float_info.max),
    "date": (date.min, date.max),
    "timestamp": (datetime.min, datetime.max),  # noqa: DTZ901 - the kind has no time zone
}
EACH: dict[Kind, st.SearchStrategy[Value]] = {
    "integer": st.integers(-(2**63), 2**63 - 1) | st.integers(-100, 100) | st.sampled_from(INTEGERS),
    "real": st.floats(allow_nan=False) | st.floats(-100, 100) | st.sampled_from(REALS),
    "date": st.dates() | st.sampled_from(DATES),
    "timestamp": st.datetimes() | st.sampled_from(TIMES),
}


@cache
def search(kind: Kind) -> Expression:
    return value_bins(kind).number(Column("v", kind))


def number(kind: Kind, value: Value) -> Any:  # noqa: ANN401 - compared with numbers and None
    """Return the number of a value's bin; only the branches that are taken are evaluated."""
    part: Expression | None = search(kind)
    while isinstance(part, Case):
        ((test, result),) = part.branches
        part = result if evaluate(test, {"v": value}) is True else part.otherwise
    return None if part is None else evaluate(part, {})


@pytest.mark.parametrize("kind", KINDS)
def test_the_bins_cover_the_whole_range_of_the_type(kind: Kind) -> None:
    bins, (low, high) = value_bins(kind), ENDS[kind]
    assert (bins.low(0), bins.high(bins.count - 1)) == (low, high)
    assert (number(kind, low), number(kind, high)) == (0, bins.count - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_each_bin_starts_where_the_one_before_ends(kind: Kind) -> None:
    bins = value_bins(kind)
    assert all(first < second for first, second in pairwise(bins.firsts))  # type: ignore[operator]  # of one kind
    step = {"integer": 1, "real": 0.0, "date": timedelta(days=1), "timestamp": timedelta(microseconds=1)}[kind]
    for index in range(bins.count - 1):
        assert bins.high(index) + step == bins.low(index + 1)  # type: ignore[operator]  # of one kind
        assert number(kind, bins.low(index + 1)) == index + 1
        if kind != "real":
            assert number(kind, bins.high(index)) == index


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_a_bin_counts_the_edges_up_to_a_value(kind: Kind) -> None:
    bins = value_bins(kind)

    @given(EACH[kind])
    def check(value: Value) -> None:
        found = number(kind, value)
        if value is None or value != value:  # noqa: PLR0124 - NaN
            assert found is None
            return
        assert found == sum(edge <= value for edge in bins.firsts[1:])  # type: ignore[operator]  # of one kind
        assert found == bins.find(value)  # type: ignore[arg-type]  # neither text nor boolean

    check()


def test_infinite_values_are_in_the_outermost_bins_and_nan_in_no_bin() -> None:
    last = value_bins("real").count - 1
    assert [number("real", x) for x in (-inf, -float_info.max, float_info.max, inf)] == [0, 0, last, last]
    assert number("real", nan) is number("real", None) is None
    assert number("real", -0.0) == number("real", 0.0) == number("real", 5e-324)
    assert number("real", -5e-324) == number("real", 0.0) - 1


def test_there_are_four_bins_to_a_power_of_two_and_small_whole_numbers_have_their_own() -> None:
    real, whole = value_bins("real"), value_bins("integer")
    assert [real.low(real.find(8.0) + place) for place in range(5)] == [8, 10, 12, 14, 16]
    assert [(whole.low(whole.find(x)), whole.high(whole.find(x))) for x in (-7, 0, 7, 9)] == [
        (-7, -7),
        (0, 0),
        (7, 7),
        (8, 9),
    ]


def test_recent_dates_are_in_months_and_distant_ones_in_longer_periods() -> None:
    bins = value_bins("date")

    def period(day: date) -> tuple[EdgeValue, EdgeValue]:
        return bins.low(bins.find(day)), bins.high(bins.find(day))

    assert period(date(2024, 2, 29)) == (date(2024, 2, 1), date(2024, 2, 29))
    assert period(date(1950, 6, 1)) == (date(1950, 1, 1), date(1950, 12, 31))
    assert period(date(1793, 1, 21)) == (date(1790, 1, 1), date(1799, 12, 31))
    assert period(date(50, 1, 1)) == (date(1, 1, 1), date(99, 12, 31))
    assert period(date(9999, 12, 31)) == (date(9900, 1, 1), date(9999, 12, 31))


@pytest.mark.parametrize("kind", KINDS)
def test_the_expression_as_a_whole_has_the_same_value(kind: Kind) -> None:
    for value in (None, *ENDS[kind]):
        assert evaluate(search(kind), {"v": value}) == number(kind, value)


def test_text_has_no_bins() -> None:
    with pytest.raises(InternalError):
        value_bins("text")
