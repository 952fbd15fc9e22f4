from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction
from math import inf, nan

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidError
from tacit.query.expressions import Kind
from tacit.query.policy.column_values import KINDS, MOST_KEYS, read_bounds, read_keys, settle_kind

DAY, MOMENT = date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - without a zone, as the kind says
VALUES: dict[Kind, st.SearchStrategy[object]] = {
    "integer": st.integers(-(2**63), 2**63 - 1),
    "real": st.floats(allow_nan=False, allow_infinity=False),
    "text": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    "boolean": st.booleans(),
    "date": st.dates(),
    "timestamp": st.datetimes(),
}


@settings(deadline=None)
@given(st.data(), st.sampled_from(KINDS))
def test_keys_of_the_columns_kind_are_kept_in_order(data: st.DataObject, kind: Kind) -> None:
    keys = data.draw(st.lists(VALUES[kind] | st.none(), min_size=1, max_size=8, unique=True))
    assert list(read_keys(keys, kind)) == keys
    assert read_keys(tuple(keys), kind) == read_keys(keys, kind)


@settings(deadline=None)
@given(st.data(), st.sampled_from(KINDS))
def test_text_takes_the_kind_of_its_keys(data: st.DataObject, kind: Kind) -> None:
    keys = data.draw(st.lists(VALUES[kind], min_size=1, max_size=5))
    assert settle_kind("text", bounds=None, keys=keys) == kind
    assert settle_kind("text", bounds=None, keys=[None, *keys]) == kind


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ([1, 2.5], "real"),
        ([DAY, MOMENT], "timestamp"),
        ([None], "text"),
        ([], "text"),
        ([True, 1], "text"),
        (["a", 1], "text"),
        ("ab", "text"),
        (7, "text"),
        (None, "text"),
        ([np.int64(1)], "integer"),
    ],
)
def test_mixed_keys_take_the_narrowest_kind_that_fits_all(keys: object, kind: Kind) -> None:
    assert settle_kind("text", bounds=None, keys=keys) == kind


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "text"])
def test_a_schema_that_has_types_is_believed(kind: Kind) -> None:
    assert settle_kind(kind, bounds=(0, 1), keys=["a"]) == kind


def test_text_with_bounds_is_real_whatever_its_keys() -> None:
    assert settle_kind("text", bounds=(0, 10), keys=[1, 2]) == "real"
    assert read_keys([1, 2], "real") == (1.0, 2.0)


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (True, "integer"),
        (1, "boolean"),
        (1.0, "integer"),
        (True, "real"),
        ("1", "integer"),
        (1, "text"),
        (2**63, "integer"),
        (-(2**63) - 1, "integer"),
        (2**53 + 1, "real"),
        (10**400, "real"),
        (nan, "real"),
        (inf, "real"),
        ("a\0b", "text"),
        ("\ud800", "text"),
        (b"a", "text"),
        (MOMENT, "date"),
        ("2026-01-02", "date"),
        (datetime(2026, 1, 2, tzinfo=UTC), "timestamp"),
        (pd.NaT, "timestamp"),
        (pd.NaT, "date"),
        ([1], "integer"),
        ({}, "text"),
        (MOMENT.time(), "timestamp"),
    ],
)
def test_a_key_of_another_kind_is_refused_by_its_place_and_not_shown(key: object, kind: Kind) -> None:
    with pytest.raises(InvalidError) as caught:
        read_keys([None, key, key], kind)
    assert caught.value.argument == "keys"
    assert caught.value.message.endswith("at place 2 and 1 more.")
    assert repr(key) not in str(caught.value) or isinstance(key, (bool, int, float))
    assert f"kind {kind}" in caught.value.message


def test_numpy_and_pandas_scalars_become_plain_values() -> None:
    assert [type(key) for key in read_keys([np.int8(1), np.int64(2)], "integer")] == [int, int]
    assert [type(key) for key in read_keys([np.float32(0.5), np.int64(2)], "real")] == [float, float]
    assert read_keys([np.True_, np.False_], "boolean") == (True, False)
    assert [type(key) for key in read_keys([np.str_("a")], "text")] == [str]
    (moment,) = read_keys([pd.Timestamp(MOMENT)], "timestamp")
    assert type(moment) is datetime
    assert moment == MOMENT


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        (["a", "b", "a"], "text"),
        ([1, 1.0], "real"),
        ([0.0, -0.0], "real"),
        ([None, None], "text"),
        ([DAY, datetime(2026, 1, 2)], "timestamp"),  # noqa: DTZ001
        ([True, True], "boolean"),
    ],
)
def test_equal_keys_are_refused_with_both_places(keys: list[object], kind: Kind) -> None:
    with pytest.raises(InvalidError, match=r"distinct values, .*same value at places \d and \d"):
        read_keys(keys, kind)


def test_minus_zero_is_zero() -> None:
    assert repr(read_keys([-0.0], "real")) == "(0.0,)"


def test_text_is_compared_by_code_point() -> None:
    assert len(read_keys(["\u00e9", "e\u0301", "\u00c9", "\u00e9 "], "text")) == 4


@pytest.mark.parametrize(
    "keys", [None, "abc", b"abc", 5, {"a"}, {"a": 1}, pd.Series(["a"]), pl.Series(["a"]), np.array(["a"]), iter("ab")]
)
def test_keys_are_a_list_and_no_column_of_data(keys: object) -> None:
    with pytest.raises(InvalidError, match="a list of public values"):
        read_keys(keys, "text")


def test_there_are_some_keys_and_not_too_many() -> None:
    with pytest.raises(InvalidError, match="1 to 100,000"):
        read_keys([], "text")
    assert len(read_keys(list(range(MOST_KEYS)), "integer")) == MOST_KEYS
    with pytest.raises(InvalidError, match="1 to 100,000"):
        read_keys(list(range(MOST_KEYS + 1)), "integer")


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_bound_means_the_decimal_it_prints(first: float, second: float) -> None:
    low, high = sorted((first, second))
    if low == high:
        with pytest.raises(InvalidError, match="not equal"):
            read_bounds((low, high), "real")
    else:
        assert read_bounds([low, high], "real") == (Fraction(repr(low)), Fraction(repr(high)))


RISING = "two finite numbers, the lower one first"
NOT_PAIRS = [None, 5, "ab", (1,), (1, 2, 3), {0, 1}, {"low": 0, "high": 1}, np.array([0, 1])]
NOT_RISING = [(2, 1), (1, 1), (0, nan), (-inf, 0), (0, None), ("0", "1"), (False, True), (0, 10**400), (DAY, DAY)]


@pytest.mark.parametrize("bounds", [*NOT_PAIRS, *NOT_RISING])
def test_bounds_are_two_numbers_that_rise(bounds: object) -> None:
    with pytest.raises(InvalidError, match=RISING):
        read_bounds(bounds, "real")


def test_bounds_of_whole_numbers_need_not_be_whole() -> None:
    assert read_bounds((np.int64(-1), 0.5), "integer") == (Fraction(-1), Fraction(1, 2))


@pytest.mark.parametrize("kind", ["text", "boolean", "date", "timestamp"])
def test_only_numbers_have_bounds(kind: Kind) -> None:
    with pytest.raises(InvalidError, match=f"the column is of kind {kind}"):
        read_bounds((0, 1), kind)
