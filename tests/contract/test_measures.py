"""One suite for every engine: the exact integers of a plan are those of brute force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from math import inf, nan
from typing import Literal

import pytest
from hypothesis import strategies as st

from contract.examples import examples
from contract.plans import (
    NAME,
    SEVENTHS,
    A,
    Cells,
    U,
    X,
    added_up,
    call,
    cells,
    is_unit,
    key,
    plan,
    plans,
    present,
    table,
)
from contract.tables import KINDS, UNITS, VALUES, Opener, Row, rows
from tacit.errors import InvalidError
from tacit.query.expressions import Column, Constant, Expression, Kind, Value
from tacit.query.plan import Bundle, Measure, Plan

COUNT, UNITS_HERE = Measure(value=None), Measure(value=None, per="unit")
WHOLE = Measure(value=A, low=-100, high=100)
ONE_REAL = Constant(1.0, "real")
SIGNS: tuple[tuple[Literal[1, -1], int], ...] = ((1, -1), (-1, 3))
ROW: dict[str, Value] = {name: values[0] for name, values in VALUES.items()} | {"u": 1}


def row(**values: Value) -> Row:
    return ROW | values


def answer(engine: Opener, asked: Plan, data: Sequence[Row]) -> list[list[int]]:
    with engine(KINDS, data) as opened:
        found = [list(integers) for integers in opened.measure(asked)]
    assert all(type(integer) is int for integers in found for integer in integers)
    return found


@examples(60, plans(groups=10**9), rows())
def test_the_integers_are_those_of_brute_force(engine: Opener, asked: Plan, data: list[Row]) -> None:
    assert answer(engine, asked, data) == added_up(asked, cells(asked, data))


@examples(40, plans(unit=None), rows())
def test_rows_that_are_their_own_units_add_up(engine: Opener, asked: Plan, data: list[Row]) -> None:
    assert answer(engine, asked, data) == added_up(asked, cells(asked, data))


@examples(60, plans(), rows(40))
def test_each_unit_keeps_max_groups_cells_and_what_it_keeps_adds_up(
    engine: Opener, asked: Plan, data: list[Row]
) -> None:
    units = [unit for unit in UNITS if unit is not None]
    marks = Bundle(measures=tuple(map(is_unit, units)), contribution=len(units), nonnegative=True)
    with_marks = Plan(
        sql="",
        table=asked.table,
        where=asked.where,
        keys=asked.keys,
        bundles=(*asked.bundles, marks),
        aggregates=(),
        outputs=(),
    )
    found = answer(engine, with_marks, data)
    all_cells = cells(asked, data)
    kept: Cells = {
        unit: {place: all_cells[unit][place] for place, mark in enumerate(marked) if mark}
        for unit, marked in zip(units, found[-len(units) :], strict=True)
        if unit in all_cells
    }
    assert {unit: len(places) for unit, places in kept.items()} == {
        unit: min(asked.groups, len(places)) for unit, places in all_cells.items()
    }
    assert found[: -len(units)] == added_up(asked, kept)


@examples(60, plans(groups=3), rows(), st.lists(st.sampled_from([2, 3, -1]), min_size=1, max_size=3, unique=True))
def test_a_unit_moves_the_integers_by_no_more_than_its_reach(
    engine: Opener, asked: Plan, data: list[Row], others: list[int]
) -> None:
    rest = [one for one in data if one["u"] not in (0, 1)]
    one_cell = {unit: found for unit, found in cells(asked, rest).items() if len(found) <= asked.groups}
    rest = [one for one in rest if one["u"] in one_cell and one["u"] in others]
    with_it = rest + [{**one, "u": 1} for one in data]
    changed = rest + [{**one, "u": 1} for one in data[::-2]]
    bound = asked.bundles[0].contribution * asked.groups
    without, whole, other = (answer(engine, asked, some) for some in (rest, with_it, changed))
    assert _distance(without, whole) <= bound
    assert _distance(without, other) <= bound
    assert _distance(whole, other) <= 2 * bound


def _distance(one: list[list[int]], other: list[list[int]]) -> int:
    return sum(abs(a - b) for left, right in zip(one, other, strict=True) for a, b in zip(left, right, strict=True))


def test_an_empty_table_has_a_zero_for_every_cell(engine: Opener) -> None:
    asked = plan(table(), COUNT, WHOLE, keys=[key(NAME, "a", "b"), key(SEVENTHS, 0, 1, 2)])
    assert answer(engine, asked, []) == [[0] * 6, [0] * 6]
    assert answer(engine, plan(table(unit=None), COUNT, WHOLE), []) == [[0], [0]]


def test_rows_alone_are_counted_without_any_column(engine: Opener) -> None:
    data = [row(), row(), row(u=None)]
    assert answer(engine, plan(table(unit=None), COUNT), data) == [[3]]
    assert answer(engine, plan(table(unit=None), UNITS_HERE), data) == [[3]]


def test_cells_are_in_the_order_of_the_keys_the_first_one_slowest(engine: Opener) -> None:
    data = [row(name="a", a=2), row(name="b", a=0), row(name="b", a=0), row(name="c", a=0), row(name="a", a=5)]
    asked = plan(table(groups=6, rows=9), COUNT, keys=[key(NAME, "b", "a"), key(SEVENTHS, 0, 1, 2)])
    assert answer(engine, asked, data) == [[2, 0, 0, 0, 0, 1]]


def test_null_is_a_key_only_where_it_is_listed(engine: Opener) -> None:
    data = [row(name=None), row(name=None), row(name="a")]
    many = table(groups=9, rows=9)
    assert answer(engine, plan(many, COUNT, keys=[key(NAME, "a", None)]), data) == [[1, 2]]
    assert answer(engine, plan(many, COUNT, keys=[key(NAME, "a", "null")]), data) == [[1, 0]]
    assert answer(engine, plan(table(unit=None), COUNT, keys=[key(NAME, None, "a")]), data) == [[2, 1]]


def test_nan_is_a_null_key(engine: Opener) -> None:
    data = [row(x=nan), row(x=None), row(x=0.5), row(x=inf)]
    assert answer(engine, plan(table(groups=9, rows=9), COUNT, keys=[key(X, 0.5, None)]), data) == [[1, 2]]


def test_rows_without_a_unit_are_dropped(engine: Opener) -> None:
    assert answer(engine, plan(table(), COUNT), [row(u=None), row(u=1), row(u=None)]) == [[1]]


def test_text_units_are_told_apart_by_every_character(engine: Opener) -> None:
    names: list[Value] = ["a", "A", "a ", "á", "a\u0301", "", "0", "00"]
    data = [row(name=name) for name in names]
    assert answer(engine, plan(table(unit="name"), UNITS_HERE), data) == [[len(names)]]


def test_a_units_rows_beyond_max_rows_are_scaled_down_and_truncated_toward_zero(engine: Opener) -> None:
    data = [row(a=a) for a in (5, 5, 6)] + [row(u=2, a=-5), row(u=2, a=-5), row(u=2, a=-6)]
    up, down = Measure(value=A, low=0, high=9), Measure(value=A, low=-9, high=0)
    # 16·2/3 = 10.67; clamped to the side of 0, the other unit has 0
    assert answer(engine, plan(table(rows=2), up, down), data) == [[10], [-10]]
    fine = Measure(value=A, low=0, high=9, fraction_bits=4)
    assert answer(engine, plan(table(rows=2), fine), data) == [[16 * 2 * 16 // 3]]


def test_a_units_rows_beyond_max_rows_are_scaled_down_in_every_bin(engine: Opener) -> None:
    data = [row(a=a) for a in (1, 1, 2)] + [row(u=2, a=a) for a in (4, 5)]
    asked = plan(table(rows=2), Measure(value=SEVENTHS, fraction_bits=4, bins=7))
    # 2·2/3 and 1·2/3 of 16; the other unit has as many rows as it may
    assert answer(engine, asked, data) == [[0, 21, 10, 0, 16, 16, 0]]


def test_nulls_and_nans_count_for_nothing_and_infinities_are_clamped(engine: Opener) -> None:
    data = [row(u=u, x=x) for u, x in enumerate([None, nan, inf, -inf, 1e308, 0.5])]
    halves = Measure(value=X, step=Fraction(1, 2), low=-4, high=8)
    asked = plan(table(), COUNT, Measure(value=present(X)), halves)
    assert answer(engine, asked, data) == [[6], [4], [8 - 4 + 8 + 1]]


CLAMPED_REALS = [None, nan, inf, -inf, -1e308, 0.0, 0.24999, 0.25, 0.75, 9.7499, 9.75, 10.0, 10.26, 10.5, -0.2501, 3.1]
CLAMPED_WHOLE = [None, -(2**63), -3, -2, -1, 0, 1, 8, 9, 10, 11, 2**63 - 1]


@pytest.mark.parametrize(
    ("low", "more"), [(0, 0), (1, -1), (-3, 0), (0, 3)], ids=["equal ends", "narrow grid", "wide below", "wide above"]
)
def test_a_column_clamped_to_its_bounds_has_the_steps_of_the_clamped_values(
    engine: Opener, low: int, more: int
) -> None:
    """The statement leaves out the clamp if the grid has the same ends; it must not if the grid is wider at one end."""
    halves = call("clamp", "real", X, Constant(0.0, "real"), Constant(10.0, "real"))
    whole = call("clamp", "integer", A, Constant(0, "integer"), Constant(9, "integer"))
    asked = [
        Measure(value=halves, step=Fraction(1, 2), low=low, high=20 + more),
        Measure(value=whole, low=low, high=9 + more),
    ]
    data = [row(u=u, x=x, a=None) for u, x in enumerate(CLAMPED_REALS)]
    data += [row(u=100 + u, x=None, a=a) for u, a in enumerate(CLAMPED_WHOLE)]
    each = plan(table(), *asked, keys=[key(U, *(each["u"] for each in data))])
    assert answer(engine, each, data) == added_up(each, cells(each, data))
    assert answer(engine, replace(each, table=table(rows=None, reach=1)), data) == added_up(each, cells(each, data))


def test_halves_round_up_in_exact_arithmetic(engine: Opener) -> None:
    values = [0.5, -0.5, 1.5, -1.5, 0.49999999999999994, -0.49999999999999994, 2.0**52 + 1, 2.0**53 - 1]
    whole = Measure(value=X, low=-(2**60), high=2**60)
    expected = [1, 0, 2, -1, 0, 0, 2**52 + 1, 2**53 - 1]
    data = [row(u=place, x=value) for place, value in enumerate(values)]
    assert answer(engine, plan(table(), whole, keys=[key(U, *range(len(values)))]), data) == [expected]


def test_sums_past_63_bits_are_exact(engine: Opener) -> None:
    data = [row(u=unit, a=2**63 - 1 - unit) for unit in range(64)]
    far = Measure(value=A, low=0, high=2**62)
    fine = Measure(value=A, step=Fraction(2) ** 40, low=0, high=2**23, fraction_bits=39)
    assert answer(engine, plan(table(), far, fine), data) == [[64 * 2**62], [64 * 2**62]]
    assert answer(engine, plan(table(unit=None), far, fine), data) == [[64 * 2**62], [64 * 2**62]]


def test_many_rows_of_one_unit_do_not_overflow(engine: Opener) -> None:
    data = [row(a=2**62 - place) for place in range(1000)]
    most = Measure(value=A, low=-(2**62), high=2**62)
    exact = sum(2**62 - place for place in range(1000))
    assert answer(engine, plan(table(rows=1), most), data) == [[exact // 1000]]


def test_a_hundred_thousand_units(engine: Opener) -> None:
    data = [row(u=unit, name="ab"[place], a=1) for unit in range(100_000) for place in range(2)]
    with engine(KINDS, data) as opened:
        for groups in (1, 2):
            asked = plan(table(groups=groups), COUNT, UNITS_HERE, WHOLE, keys=[key(NAME, "a", "b")])
            found = [list(integers) for integers in opened.measure(asked)]
            assert [sum(integers) for integers in found] == [100_000 * groups] * 3
            assert found[0] == found[1] == found[2]


def test_more_cells_than_a_word_has_bits(engine: Opener) -> None:
    data = [row(u=unit, a=a) for unit in range(50) for a in range(100)]
    hundredths = call("modulo", "integer", A, Constant(100, "integer"))
    asked = plan(table(groups=7), UNITS_HERE, keys=[key(hundredths, *range(100))])
    found = answer(engine, asked, data)[0]
    assert sum(found) == 350
    assert max(found) < 50


def test_names_and_keys_with_quotes_spaces_and_unicode(engine: Opener) -> None:
    name, unit, amount = 'na"me; --', "weird ' unit", "größe\n$1"
    kinds: dict[str, Kind] = {unit: "text", name: "text", amount: "real"}
    listed = ["it's", 'a"b', "", " ", "日本", "$k0", "\\", "?", "%s", "100 %", ":k0", "`", "\\'", "😀"]
    listed += [] if engine.name == "postgres" else ["a\u0000b"]  # which no text can hold there
    data: list[Row] = [{unit: f"'{place}", name: value, amount: 1.0} for place, value in enumerate(listed)]
    whole = Measure(value=Column(amount, "real"), low=0, high=2)
    policy = table(unit=unit, kinds=kinds)
    asked = plan(policy, whole, keys=[key(Column(name, "text"), *listed)])
    with engine(kinds, data) as opened:
        assert [list(integers) for integers in opened.measure(asked)] == [[1] * len(listed)]


def test_no_measure_and_no_cell_need_no_reading(engine: Opener) -> None:
    assert answer(engine, plan(table(), COUNT, keys=[key(NAME)]), [row()]) == [[]]
    assert answer(engine, plan(table()), [row()]) == []


def test_measures_that_share_their_parts_are_all_answered_in_order(engine: Opener) -> None:
    data = [row(u=u, x=x) for u, x in enumerate([1.0, 2.0, None])]
    low = Measure(value=X, low=0, high=4)
    above, below = (Measure(value=X, low=1, high=3, sign=s, offset=o) for s, o in SIGNS)
    asked = plan(table(), low, COUNT, above, below, Measure(value=present(X)), low, Measure(value=X, per="unit"))
    assert answer(engine, asked, data) == [[3], [3], [1], [3], [2], [3], [2]]


def test_a_schema_has_the_kinds_of_all_columns(engine: Opener) -> None:
    with engine(KINDS, []) as opened:
        assert dict(opened.schema()) == KINDS


def test_limits_that_no_measure_needs_may_be_left_out(engine: Opener) -> None:
    asked = plan(table(groups=None, rows=None), UNITS_HERE)
    assert answer(engine, asked, [row(), row(u=2), row(u=2)]) == [[2]]


def test_a_condition_keeps_the_rows_for_which_it_is_true(engine: Opener) -> None:
    day = Column("d", "date")
    late = call("greater", "boolean", day, Constant(date(2000, 1, 1), "date"))
    data = [row(u=u, d=d) for u, d in enumerate([None, date(2024, 2, 29), date(1999, 12, 31), date(9999, 12, 31)])]
    for where, expected in ((late, 2), (call("not", "boolean", late), 1), (call("is_null", "boolean", late), 1)):
        assert answer(engine, plan(table(), COUNT, where=where), data) == [[expected]]


def nested(depth: int) -> Expression:
    """Return an expression whose operands all need guards, so that unlayered SQL would double at each step."""
    inner: Expression = X
    for _ in range(depth):
        inverse = call("divide", "real", ONE_REAL, call("subtract", "real", inner, ONE_REAL))
        inner = call("nullif", "real", call("coalesce", "real", inverse, ONE_REAL), Constant(7.0, "real"))
    return inner


def test_deep_and_wide_expressions_are_answered(engine: Opener) -> None:
    depth, first = (8, 2700) if engine.name == "spark" else (25, 0)
    options = (call("equal", "boolean", A, Constant(a, "integer")) for a in range(first, 3000))
    value = Measure(value=nested(depth), step=Fraction(1, 64), low=-500, high=500)
    asked = plan(table(), value, COUNT, where=call("or", "boolean", *options))
    data = [row(a=2999, x=3.0), row(u=2, a=3000, x=3.0), row(u=3, a=2701, x=1.0)]
    assert answer(engine, asked, data) == added_up(asked, cells(asked, data))


def test_what_is_too_deep_for_an_engine_is_refused_before_anything_is_read(engine: Opener) -> None:
    asked = plan(table(), Measure(value=nested(40), low=0, high=5))
    with engine(KINDS, []) as opened:
        if opened.dialect.deepest is None:
            opened.check(asked)
        else:
            with pytest.raises(InvalidError, match="Spark supports at most 48"):
                opened.check(asked)
