"""Counts of different values: exact where nothing is chosen, and else within what units may bring."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan

import pytest
from hypothesis import strategies as st

from bounded import different
from contract.examples import examples
from contract.plans import KEYS, NAME, PRESENT, SEVENTHS, WHERES, A, X, cells, key, plan, table
from contract.tables import KINDS, VALUES, Opener, Row, rows
from tacit.query.expressions import Constant, Expression, Value
from tacit.query.plan import Measure, Plan

ROW: dict[str, Value] = {name: values[0] for name, values in VALUES.items()} | {"u": 1}


def values(of: Expression) -> Measure:
    return Measure(value=of, per="value")


def answer(engine: Opener, asked: Plan, data: Sequence[Row]) -> list[list[int]]:
    with engine(KINDS, data) as opened:
        return [list(integers) for integers in opened.measure(asked)]


@st.composite
def plans(draw: st.DrawFn, unit: str | None, groups: int, most: int) -> Plan:
    keys = [draw(one) for one in draw(st.lists(st.sampled_from(KEYS), max_size=2))]
    asked = [values(one) for one in draw(st.lists(st.sampled_from(PRESENT), min_size=1, max_size=3))]
    where = draw(st.sampled_from(WHERES))
    return plan(table(unit=unit, groups=groups, rows=most), *asked, Measure(value=None), keys=keys, where=where)


def counted(asked: Plan, data: Sequence[Row]) -> list[list[set[Value]]]:
    """For each measure and cell, the different values of all units."""
    found = cells(asked, data)
    every = [measure for bundle in asked.bundles for measure in bundle.measures if measure.per == "value"]
    return [
        [set().union(*(different(one, own.get(cell, ())) for own in found.values())) for cell in range(asked.listed)]
        for one in every
    ]


@examples(50, plans("u", 10**9, 10**6), rows(40))
def test_all_values_are_counted_once_where_a_unit_may_bring_all(engine: Opener, asked: Plan, data: list[Row]) -> None:
    assert answer(engine, asked, data)[:-1] == [[len(one) for one in own] for own in counted(asked, data)]


@examples(40, plans(None, 1, 1), rows(40))
def test_so_they_are_where_every_row_is_its_own_unit(engine: Opener, asked: Plan, data: list[Row]) -> None:
    assert answer(engine, asked, data)[:-1] == [[len(one) for one in own] for own in counted(asked, data)]


@examples(50, st.integers(1, 3).flatmap(lambda most: plans("u", 10**9, most)), rows(40))
def test_a_unit_brings_as_many_values_as_it_may_and_no_more(engine: Opener, asked: Plan, data: list[Row]) -> None:
    found = cells(asked, data)
    most = asked.table.rows
    for own, measure in zip(answer(engine, asked, data), asked.bundles[0].measures[:-1], strict=False):
        for cell, count in enumerate(own):
            brought = [min(most, len(different(measure, one.get(cell, ())))) for one in found.values()]
            assert max(brought, default=0) <= count <= sum(brought)


@examples(40, st.integers(1, 3).flatmap(lambda groups: plans("u", groups, 2)), rows(40))
def test_one_unit_alone_brings_exactly_what_it_may_in_the_cells_that_it_keeps(
    engine: Opener, asked: Plan, data: list[Row]
) -> None:
    alone = [{**row, "u": 3} for row in data]
    found = cells(asked, alone).get(3, {})
    *own, kept = answer(engine, asked, alone)
    assert sum(map(bool, kept)) == min(len(found), asked.groups)
    for counts, measure in zip(own, asked.bundles[0].measures, strict=False):
        expected = [min(2, len(different(measure, found[cell]))) if there else 0 for cell, there in enumerate(kept)]
        assert counts == expected


def test_null_and_nan_are_no_values_and_zeros_are_one(engine: Opener) -> None:
    data = [{**ROW, "u": u, "x": x} for u, x in enumerate([None, nan, 0.0, -0.0, inf, -inf, 5e-324, inf])]
    assert answer(engine, plan(table(rows=9), values(X)), data) == [[4]]
    assert answer(engine, plan(table(unit=None), values(X)), data) == [[4]]
    with engine(KINDS, [{**row, "u": 1} for row in data]) as opened:
        for most in (1, 2, 3, 4, 5):  # two zeros do not take two of a unit's places
            assert [list(own) for own in opened.measure(plan(table(rows=most), values(X)))] == [[min(most, 4)]]


def test_texts_are_told_apart_by_every_character(engine: Opener) -> None:
    names: list[Value] = ["a", "A", "a ", "é", "e\u0301", "", None, "a"]
    data = [{**ROW, "name": name} for name in names]
    assert answer(engine, plan(table(rows=100), values(NAME)), data) == [[6]]


def test_a_constant_is_one_value_where_there_is_a_row(engine: Opener) -> None:
    asked = plan(table(rows=3), values(Constant("x", "text")), keys=[key(NAME, "a", "b")])
    assert answer(engine, asked, [{**ROW, "name": "a"}] * 3) == [[1, 0]]
    assert answer(engine, asked, []) == [[0, 0]]


@pytest.mark.parametrize("groups", [3, 60])
def test_more_cells_than_a_word_has_bits(engine: Opener, groups: int) -> None:
    data = [{**ROW, "u": u, "a": a, "x": float(u * 7 + x)} for u in range(20) for a in range(70) for x in range(4)]
    asked = plan(table(groups=groups, rows=3), values(X), Measure(value=None), keys=[key(A, *range(70))])
    found, rows_ = answer(engine, asked, data)
    assert sum(found) == 20 * groups * 3
    assert found == rows_  # both keep the same cells, and each unit three of its four values or rows in them


def test_a_count_of_values_stands_beside_other_measures_in_their_order(engine: Opener) -> None:
    data = [{**ROW, "u": u, "a": a} for u, a in enumerate([1, 1, 2, None])]
    total, count = Measure(value=A, low=0, high=9), Measure(value=None)
    asked = plan(table(), values(A), total, values(SEVENTHS), count, values(A))
    assert answer(engine, asked, data) == [[2], [4], [2], [4], [2]]
