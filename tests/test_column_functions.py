"""One-line functions of a column, and mappings and lazy frames as sources."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit as tc
from tacit import InvalidError, SourceError, TacitError
from tacit.database import Database

VALUES = [10.0, 20.0, None, nan, inf, -inf, 70.0, 400.0]
"""In the database NaN is missing, and an infinity is clipped like any number beyond the bounds."""
LARGE = 10**6
COLUMNS: list[object] = [
    VALUES,
    tuple(VALUES),
    np.array([nan if value is None else value for value in VALUES]),
    np.array(VALUES, dtype=object),
    np.ma.MaskedArray([0.0 if value is None else value for value in VALUES], mask=[v is None for v in VALUES]),
    pd.Series(VALUES),
    pd.Series(VALUES, dtype="Float64"),
    pl.Series(VALUES, dtype=pl.Float64),
    pa.array(VALUES),
    pa.chunked_array([VALUES[:3], VALUES[3:]]),
]


def database(**policy: object) -> Database:
    frame = pd.DataFrame({"value": [nan if value is None else value for value in VALUES]})
    return tc.open(frame, unit=tc.ROW, budget=tc.PureDP(epsilon=10**9), **policy)  # type: ignore[arg-type]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: type(column).__name__)
def test_every_kind_of_column_gives_the_answer_of_the_database(column: object) -> None:
    db = database(bounds={"value": (0, 100)})
    assert int(tc.count(column, epsilon=LARGE)) == int(db.count(epsilon=LARGE)) == 8
    for function, verb in ((tc.sum, db.sum), (tc.mean, db.mean)):
        answer = function(column, bounds=(0, 100), epsilon=LARGE)
        assert float(answer) == pytest.approx(float(verb("value", epsilon=LARGE)), rel=1e-3)
    edges = [0, 50, 100]
    histogram = tc.histogram(column, bins=edges, epsilon=LARGE)
    assert histogram.to_dict() == db.histogram("value", edges, epsilon=LARGE).to_dict()


def test_the_price_and_the_plan_are_those_of_the_database() -> None:
    db = tc.open(
        {"value": np.arange(100.0)}, unit=tc.ROW, bounds={"value": (0, 100)}, budget=tc.ApproxDP(epsilon=9, delta=0.1)
    )
    cases = [
        (tc.mean(range(100), bounds=(0, 100), epsilon=1), db.mean("value", epsilon=1, plan=True)),
        (tc.sum(range(100), bounds=(0, 100), epsilon=1, delta=1e-6), db.sum("value", epsilon=1, delta=1e-6, plan=True)),
        (
            tc.quantile(range(100), [0.5, 0.9], bounds=(0, 100), epsilon=1),
            db.quantile("value", [0.5, 0.9], epsilon=1, plan=True),
        ),
    ]
    for answer, quote in cases:
        assert (answer.plan.sql, answer.price, answer.cost) == (quote.plan.sql, quote.price, quote.cost)


def test_the_cost_may_be_in_rho_and_the_neighbours_may_change_one() -> None:
    assert tc.mean(range(100), bounds=(0, 100), rho=0.1).cost == tc.ZCDP(rho=0.1)
    exact = tc.count(range(100), epsilon=1, neighbours="change one")
    assert (int(exact), exact.interval) == (100, (100.0, 100.0))
    assert tc.count(range(100), epsilon=1).plan.table.neighbours == "add/remove"
    assert tc.count(range(100), epsilon=0.1, confidence=0.5).confidence == 0.5


def test_bounds_may_be_chosen_and_keys_may_be_listed() -> None:
    assert float(tc.mean(range(1000), bounds="auto", epsilon=100)) == pytest.approx(499.5, rel=0.05)
    words = tc.histogram(["a", "b", "a", None], keys=["a", "b", "c"], epsilon=LARGE)
    assert words.rows() == [("a", 2), ("b", 1), ("c", 0)]
    numbers = tc.histogram([1, 2, 2], keys=[1, 2], epsilon=LARGE)
    assert numbers["count"] == [1, 2]
    assert len(tc.histogram(range(100), bins=4, bounds=(0, 100), epsilon=1)) == 4


SECRET = "s3cret"  # noqa: S105 - a value that no message may show
BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: tc.mean([1.0], epsilon=1), "need bounds"),
    (lambda: tc.mean([1.0], bounds=(9, 0), epsilon=1), r"^bounds must be two finite numbers, the lower one first"),
    (lambda: tc.mean([1.0], bounds=(0, 1)), "no cost"),
    (lambda: tc.mean([1.0], bounds=(0, 1), epsilon=1, rho=1), "two costs"),
    (lambda: tc.mean([1.0], bounds=(0, 1), rho=1, delta=1e-6), "delta"),
    (lambda: tc.mean([1.0], bounds=(1, 0), epsilon=1), "bounds"),
    (lambda: tc.mean([1.0], bounds=(0, 1), epsilon=-1), "epsilon"),
    (lambda: tc.mean([1.0], bounds=(0, 1), epsilon=nan), "epsilon"),
    (lambda: tc.mean(SECRET, bounds=(0, 1), epsilon=1), "of type str"),
    (lambda: tc.mean({"a": [1]}, bounds=(0, 1), epsilon=1), "of type dict"),
    (lambda: tc.mean(pd.DataFrame({"a": [1]}), bounds=(0, 1), epsilon=1), "of type DataFrame"),
    (lambda: tc.mean(np.zeros((7, 2)), bounds=(0, 1), epsilon=1), "2 dimensions"),
    (lambda: tc.mean(iter([1.0]), bounds=(0, 1), epsilon=1), "list_iterator"),
    (lambda: tc.count(SECRET, epsilon=1), "of type str"),
    (lambda: tc.count(31_415, epsilon=1), "of type int"),
    (lambda: tc.count([1], epsilon=1, neighbours="both"), "neighbours"),  # type: ignore[arg-type]
    (lambda: tc.count([1], epsilon=1, seed=3), "no option 'seed'"),  # type: ignore[call-arg]
    (lambda: tc.quantile([1], 2, bounds=(0, 1), epsilon=1), "q must be"),
    (lambda: tc.histogram([1], epsilon=1), "bins or keys"),
    (lambda: tc.histogram([1], bins=[0, 1], keys=[1], epsilon=1), "bins or keys"),
    (lambda: tc.histogram([1], bins=[0, 1], bounds=(0, 1), epsilon=1), "bounds has no effect"),
    (lambda: tc.histogram([1], bins=3, epsilon=1), "no bounds"),
]


@pytest.mark.parametrize(("call", "fact"), BAD)
def test_bad_calls_are_our_errors_and_show_no_value(call: Callable[[], object], fact: str) -> None:
    with pytest.raises(TacitError, match=fact) as caught:
        call()
    assert SECRET not in str(caught.value)
    assert "31" not in str(caught.value)


# --- mappings of columns as sources -----------------------------------------------------------------------------------


def test_a_mapping_of_columns_opens_with_the_types_of_its_values() -> None:
    columns = {
        "whole": [1, None, 10**30],
        "real": [1, Fraction(5, 2), Decimal("sNaN")],
        "huge": [10**400, 2.0, -(10**400)],
        "text": ["a", None, "b"],
        "flag": [True, None, False],
        "day": [date(2024, 1, 1), None, date(1, 1, 1)],
        "time": [datetime(2024, 1, 1, 5), None, datetime(9999, 1, 1)],  # noqa: DTZ001 - without a zone
        "wide": np.array([1, 2, 2**64 - 1], dtype=np.uint64),
        "unicode": np.array(["x", "y", "é"]),
        "days": np.array(["2024-01-01", "NaT", "2025-01-01"], dtype="datetime64[D]"),
        "nothing": [None, None, None],
        "nullable": pd.Series([1, None, 3], dtype="Int64"),
        "polars": pl.Series([1, None, 3]),
    }
    db = tc.open(columns, unit=tc.ROW, bounds={"huge": (-1, 1)}, budget=tc.PureDP(epsilon=10**9))
    kinds = {name: column.kind for name, column in db.tables["data"].columns.items()}
    assert kinds == {
        **dict.fromkeys(("whole", "wide", "nullable", "polars"), "integer"),
        **dict.fromkeys(("real", "huge"), "real"),
        **dict.fromkeys(("text", "unicode", "nothing"), "text"),
        "flag": "boolean",
        "day": "date",
        "time": "timestamp",
        "days": "date",
    }
    known = {**dict.fromkeys(columns, 2), "huge": 3, "wide": 3, "unicode": 3, "nothing": 0}
    for name, count in known.items():
        assert int(db.sql(f"SELECT count({name}) AS n FROM data", epsilon=LARGE)) == count, name  # noqa: S608 - a name from above
    assert float(db.sum("huge", epsilon=10**7)) == pytest.approx(1, abs=0.01)  # 1 + 1 - 1
    assert db.sql("SELECT count(*) AS n FROM data WHERE day = DATE '2024-01-01'", epsilon=LARGE).value == 1


@pytest.mark.parametrize(
    ("columns", "fact"),
    [
        ({}, "at least one column"),
        ({3: [1]}, "the name of each is a text"),
        ({"": [1]}, "the name of each is a text"),
        ({"a": [1], "b": [1, 2]}, "different lengths"),
        ({"a": SECRET}, "of type str"),
        ({"a": 31_415}, "of type int"),
        ({"a": [SECRET, 1]}, "int, str"),
        ({"a": [[SECRET]]}, "list"),
        ({"a": np.zeros((2, 2))}, "2 dimensions"),
        ({"a": np.array([1j])}, "complex128"),
        ({"a": [datetime(2024, 1, 1, tzinfo=UTC)]}, "time zone"),
        ({"a": [date(2024, 1, 1), datetime(2024, 1, 1)]}, "date, datetime"),  # noqa: DTZ001 - as above
    ],
)
def test_a_mapping_that_is_not_a_table_is_refused(columns: object, fact: str) -> None:
    with pytest.raises(InvalidError, match=fact) as caught:
        tc.open(columns, unit=tc.ROW, budget=tc.PureDP(epsilon=1))
    assert SECRET not in str(caught.value)
    assert "31" not in str(caught.value)


def test_a_mapping_can_be_public_and_joined() -> None:
    db = tc.open(
        {"town": ["a", "b", "a"]},
        unit=tc.ROW,
        public={"towns": {"town": ["a", "b"], "region": ["x", "y"]}},
        budget=tc.PureDP(epsilon=10**9),
    )
    answer = db.sql("SELECT region, count(*) AS n FROM data JOIN towns USING (town) GROUP BY region", epsilon=LARGE)
    assert answer.rows() == [("x", 2), ("y", 1)]


def test_a_lazy_frame_is_collected_and_its_errors_carry_no_value() -> None:
    db = tc.open(pl.LazyFrame({"a": [1, 2, 3]}).filter(pl.col("a") > 1), unit=tc.ROW, budget=tc.PureDP(epsilon=10**9))
    assert int(db.count(epsilon=LARGE)) == 2
    failing = pl.LazyFrame({"a": [SECRET]}).select(pl.col("a").cast(pl.Int64))
    with pytest.raises(SourceError) as caught:
        tc.open(failing, unit=tc.ROW, budget=tc.PureDP(epsilon=1))
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


LISTS: list[list[Any]] = [
    [],
    [5],
    [1, 2],
    [1, 2.5],
    [1, float("nan")],
    [None],
    [1, "x"],
    [True, 2],
    [10**400],
    ["\ud800"],
]
"""Lists that one value can turn into each other."""


@pytest.mark.parametrize("values", LISTS, ids=str)
def test_no_value_of_a_list_decides_the_type_of_the_answer_or_makes_it_fail(values: list[Any]) -> None:
    for column in (values, np.array(values, dtype=object), pd.Series(values, dtype=object)):
        assert type(tc.sum(column, bounds=(0, 10), epsilon=0.01).value) is float
        assert type(tc.mean(column, bounds=(0, 10), epsilon=0.01).value) is float
        assert len(tc.histogram(column, bins=[0, 5, 10], epsilon=0.01)) == 2
        assert len(tc.histogram(column, keys=["a", "b"], epsilon=0.01)) == 2
        assert len(tc.histogram(column, keys=[1, 2], epsilon=0.01)) == 2


def test_values_of_another_kind_are_missing() -> None:
    mixed = [3, 5.0, "x", None, True, float("nan"), Decimal(8), Fraction(4), date(2026, 1, 1)]
    assert float(tc.sum(mixed, bounds=(0, 10), epsilon=1e6)) == pytest.approx(20, abs=0.01)
    assert tc.histogram(["a", 1, "a", None], keys=["a", "b"], epsilon=1e3).to_dict()["count"] == [2, 0]
    assert tc.histogram([1, 2.0, 2.5, "1"], keys=[1, 2], epsilon=1e3).to_dict()["count"] == [1, 1]
    days = [date(2026, 1, 1), datetime(2026, 1, 1), "2026-01-01"]  # noqa: DTZ001 - no zone
    assert tc.histogram(days, keys=[date(2026, 1, 1)], epsilon=1e3).to_dict()["count"] == [1]
    with pytest.raises(InvalidError, match="not of one kind"):
        tc.histogram(["a"], keys=["a", 1], epsilon=1)


def test_texts_that_are_not_unicode_and_times_beyond_the_calendar_are_read() -> None:
    for texts in (["a", "\ud800"], np.array(["a", "\ud800"])):
        with tc.open({"t": texts}, unit=tc.ROW, budget=tc.PureDP(epsilon=1e4)) as db:
            assert db.count(by="t", keys={"t": ["a", "\ufffd"]}, epsilon=1e3).to_dict()["count"] == [1, 1]
    with tc.open({"at": np.array([2**62, 0], "M8[s]")}, unit=tc.ROW, budget=tc.PureDP(epsilon=1e4)) as db:
        assert db.count(where="at >= TIMESTAMP '9000-01-01 00:00:00'", epsilon=1e3).value == 1
