"""A reach: the integers of every engine are those of rational weights, and no unit exceeds what the plan states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from bounded import different
from contract.examples import examples
from contract.plans import NAME, SEVENTHS, A, Cells, X, cells, is_unit, key, measures, plan, plans, present, table
from contract.tables import KINDS, UNITS, VALUES, Opener, Row, rows
from contract.test_found_groups import answer as answer_found
from contract.test_found_groups import located, opened
from contract.weighted import of_unit, weighted
from tacit.query.expressions import Constant, Value
from tacit.query.plan import Bundle, Measure, Plan

COUNT, UNITS_HERE = Measure(value=None, fraction_bits=8), Measure(value=None, per="unit", fraction_bits=8)
ROW: dict[str, Value] = {name: values[0] for name, values in VALUES.items()} | {"u": 1, "name": "a", "a": 1, "x": 1.0}


def row(**values: Value) -> dict[str, Value]:
    return ROW | values


def answer(engine: Opener, asked: Plan, data: Sequence[Row]) -> list[list[int]]:
    with engine(KINDS, data) as opened:
        found = [list(integers) for integers in opened.measure(asked)]
    assert all(type(integer) is int for integers in found for integer in integers)
    return found


@examples(100, plans(groups=10**9, reach=True), rows(), st.sampled_from([None, 10**9]))
def test_the_integers_are_those_of_rational_weights(
    engine: Opener, asked: Plan, data: list[Row], groups: int | None
) -> None:
    asked = replace(asked, table=replace(asked.table, max_groups=groups))
    assert answer(engine, asked, data) == weighted(asked, cells(asked, data))


@examples(60, plans(reach=True), rows(40))
def test_each_unit_keeps_max_groups_cells_and_only_rows_there_count(
    engine: Opener, asked: Plan, data: list[Row]
) -> None:
    units = [unit for unit in UNITS if unit is not None]
    marks = tuple(replace(is_unit(unit), fraction_bits=20) for unit in units)
    bundle = Bundle(measures=marks, contribution=len(units) << 20, nonnegative=True)
    found = answer(engine, replace(asked, bundles=(*asked.bundles, bundle)), data)
    all_cells = cells(asked, data)
    kept: Cells = {
        unit: {place: all_cells[unit][place] for place, mark in enumerate(marked) if mark}
        for unit, marked in zip(units, found[-len(units) :], strict=True)
        if unit in all_cells
    }
    assert {unit: len(places) for unit, places in kept.items()} == {
        unit: min(asked.groups, len(places)) for unit, places in all_cells.items()
    }
    assert found[: -len(units)] == weighted(asked, kept)


def test_a_unit_with_twelve_rows_in_twelve_groups_loses_nothing_at_a_reach_of_twelve(engine: Opener) -> None:
    data = [row(name=name) for name in "abcdefghijkl"]
    keys = [key(NAME, *"abcdefghijkl")]
    assert answer(engine, plan(table(groups=None, rows=None, reach=12), COUNT, keys=keys), data) == [[256] * 12]
    assert answer(engine, plan(table(groups=None, rows=None, reach=6), COUNT, keys=keys), data) == [[128] * 12]
    assert sum(answer(engine, plan(table(groups=4, rows=3), COUNT, keys=keys), data)[0]) == 4 * 256


def test_every_row_is_truncated_toward_zero(engine: Opener) -> None:
    data = [row(a=a) for a in (5, 5, 6)] + [row(u=2, a=-5), row(u=2, a=-5), row(u=2, a=-6), row(u=3, a=7)]
    both = Measure(value=A, low=-9, high=9)
    up, down = (Measure(value=A, low=low, high=low + 9) for low in (0, -9))
    alone, box = table(groups=None, rows=None, reach=2), table(rows=9, reach=2)
    # 5·2/3 = 3.33 and 6·2/3 = 4 a row; 16·2/3 = 10.67 a unit
    assert answer(engine, plan(alone, up, down, both), data) == [[3 + 3 + 4 + 7], [-10], [7]]
    assert answer(engine, plan(box, up, down, both), data) == [[10 + 7], [-10], [7]]


def test_rows_without_a_unit_or_a_value_or_a_listed_key(engine: Opener) -> None:
    data = [row(u=None)] * 9 + [row(x=None)] * 2 + [row(x=2.0), row(name="z", x=2.0)] + [row(u=2, x=float("nan"))]
    sums = Measure(value=X, low=0, high=4, fraction_bits=8)
    there = Measure(value=present(X), fraction_bits=8)
    asked = plan(table(groups=None, rows=None, reach=2), COUNT, there, sums, keys=[key(NAME, "a", "b")])
    share = 2 * 256 // 3  # of three rows in listed groups, with and without a value
    assert answer(engine, asked, data) == [[3 * share + 256, 0], [share, 0], [2 * 2 * 256 // 3, 0]]


def test_units_are_counted_by_their_groups(engine: Opener) -> None:
    data = [row(name=name) for name in "aaabc"] + [row(u=2, name="a")]
    keys = [key(NAME, "a", "b", "c")]
    scaled, whole = ([256 + 2 * 256 // 3, *[2 * 256 // 3] * 2], [512, 256, 256])
    for rows_, expected in ((None, scaled), (1, scaled)):
        asked = plan(table(groups=None, rows=rows_, reach=2), UNITS_HERE, keys=keys)
        assert answer(engine, asked, data) == [expected]
    assert answer(engine, plan(table(groups=3, rows=None, reach=3), UNITS_HERE, keys=keys), data) == [whole]


def test_at_most_reach_pairs_of_a_group_and_a_value_count(engine: Opener) -> None:
    data = [row(name=name, a=a) for name in "abc" for a in range(4)]
    values = Measure(value=A, per="value")
    for groups, rows_, reach, expected in (
        (None, None, 5, 5),
        (None, 1, 5, 3),
        (None, 3, 7, 7),
        (2, None, 99, 8),
        (2, 3, 5, 5),
        (1, None, 3, 3),
        (None, None, 99, 12),
    ):
        limits = table(groups=groups, rows=rows_, reach=reach)
        found = answer(engine, plan(limits, values, keys=[key(NAME, "a", "b", "c")]), data)[0]
        assert sum(found) == expected
        assert max(found) <= min(rows_ or 4, reach)


def test_products_past_62_bits_are_exact(engine: Opener) -> None:
    data = [row(a=2**62 - place, name="ab"[place % 2]) for place in range(1000)] + [row(u=2, a=-(2**62))]
    most = Measure(value=A, low=-(2**62), high=2**62)
    values = [2**62 - place for place in range(1000)]
    halves = [sum(value // 1000 for value in values[place::2]) for place in range(2)]
    keys = [key(NAME, "a", "b")]
    asked = plan(table(groups=None, rows=None, reach=1), most, keys=keys)
    assert answer(engine, asked, data) == [[halves[0] - 2**62, halves[1]]]
    exact = [sum(values[place::2]) // 1000 for place in range(2)]
    asked = plan(table(groups=None, rows=1, reach=1), most, keys=keys)
    assert answer(engine, asked, data) == [[exact[0] - 2**62, exact[1]]]


def test_more_cells_than_a_word_has_bits(engine: Opener) -> None:
    data = [row(u=unit, a=a) for unit in range(5) for a in range(100)]
    hundredths = replace(SEVENTHS, arguments=(A, Constant(100, "integer")))
    limits = table(groups=7, rows=None, reach=3)
    found = answer(engine, plan(limits, COUNT, UNITS_HERE, keys=[key(hundredths, *range(100))]), data)
    assert [sum(integers) for integers in found] == [5 * 7 * (3 * 256 // 7)] * 2


# --- groups that are found in the data ------------------------------------------------------------------------------

FOUND = [opened(NAME), opened(SEVENTHS)]


@examples(60, st.none() | st.integers(1, 3), st.integers(1, 6), st.lists(measures(6), min_size=1, max_size=3), rows())
def test_found_groups_have_the_integers_of_rational_weights(
    engine: Opener, most: int | None, reach: int, asked: list[Measure], data: list[Row]
) -> None:
    question = plan(table(groups=10**9, rows=most, reach=reach), *asked, keys=FOUND)
    units, integers = answer_found(engine, question, data)
    kept = located(question, data)
    assert units == {group: sum(group in own for own in kept.values()) for group in integers}
    for group, found in integers.items():
        expected = []
        for measure in asked:
            total = [0] * measure.bins
            for own in kept.values():
                unit = of_unit(question, measure, dict(enumerate(own.values())))
                first = list(own).index(group) * measure.bins if group in own else None
                total = [x + (0 if first is None else unit.get(first + i, 0)) for i, x in enumerate(total)]
            expected += total
        assert found == expected


@examples(40, st.integers(1, 4), st.none() | st.integers(1, 3), st.integers(1, 5), rows(40))
def test_a_unit_brings_at_most_reach_values_to_found_groups(
    engine: Opener, groups: int, most: int | None, reach: int, data: list[Row]
) -> None:
    alone = [{**one, "u": 3} for one in data]
    question = plan(table(groups=groups, rows=most, reach=reach), Measure(value=A, per="value"), keys=FOUND)
    units, integers = answer_found(engine, question, alone)
    own = located(question, alone).get(3, {})
    values = [len(different(Measure(value=A, per="value"), own[group])) for group in units]
    brought = [integers[group][0] for group in units]
    assert sum(brought) == min(reach, sum(min(most or n, n) for n in values))
    assert all(n <= min(most or n, own_values) for n, own_values in zip(brought, values, strict=True))
