"""Cells as columns: the same cells, values, intervals and order as one by one."""

from __future__ import annotations

from dataclasses import replace
from functools import cmp_to_key
from random import Random

import pytest

import tacit as tc
from bounded import REAL, WHOLE, ask_for, bounds, key, plan_of, policy
from tacit.query.evaluate import evaluate_output
from tacit.query.expressions import Value
from tacit.query.plan import Computed, Constantly, Noisy, Order, Output
from tacit.query.pricing.price import Cost, price
from tacit.query.results.cells import Cell, CellColumns, chosen_cells
from tacit.query.results.intervals import interval, output_intervals
from tacit.query.results.release import Release, release

COUNT, TOTAL, MEAN = ask_for("count"), ask_for("sum", WHOLE, bounds(0, 9)), ask_for("avg", REAL, bounds(-3, 9))
KEYS = [key("k", "a", None, "b", "c", "d"), key("m", 3, 1, None, 2)]
N, S = Noisy(0, "integer"), Noisy(1, "real")
RATIO = Computed("divide", (S, N), "real")
OVER = Computed("greater", (RATIO, Constantly(1, "integer")), "boolean")
SIZE = 20


def answered() -> Release:
    """An answer of twenty groups, some with a count near 0."""
    plan = plan_of(policy(unit=None), COUNT, TOTAL, MEAN, keys=KEYS, more={"ratio": RATIO})
    counts = [index % 5 for index in range(SIZE)]
    measures = [measure for bundle in plan.bundles for measure in bundle.measures]
    exact = [[7**place * count for count in counts] for place in range(len(measures))]
    return release(plan, price(plan, Cost(epsilon=1)), exact, {})


def one_by_one(answer: Release) -> Release:
    return replace(answer, cells=tuple(answer.cells))


def test_columns_have_the_cells_values_and_intervals_that_cells_have() -> None:
    answer = answered()
    assert isinstance(answer.cells, CellColumns)
    cells = one_by_one(answer)
    assert all(isinstance(cell, Cell) for cell in cells.cells)
    assert (answer.cells, answer.table, len(answer)) == (cells.cells, cells.table, SIZE)
    assert answer.intervals(0.9).rows() == cells.intervals(0.9).rows()
    for _, output in answer.plan.outputs:
        ends = [interval(answer.plan, output, cell.released, cell.keys, 0.9) for cell in answer.cells]
        assert list(output_intervals(answer.plan, output, answer.cells, 0.9)) == ends


def test_cells_are_taken_sliced_and_joined() -> None:
    cells = answered().cells
    assert isinstance(cells, CellColumns)
    every = list(cells)
    assert list(cells[3:9]) == every[3:9]
    assert (cells[-1], cells[0].keys) == (every[-1], ("a", 3))
    assert list(cells.take([5, 0, 5])) == [every[5], every[0], every[5]]
    assert list(CellColumns.join([cells[:7], cells[7:7], cells[7:]], cells.keys)) == every
    assert cells != cells[1:]
    with pytest.raises(IndexError):
        cells[SIZE]


def compared(order: Order, first: Value, second: Value) -> int:
    """The order of two values by its definition."""
    if first is None or second is None:
        return 0 if first is second else (-1 if (first is None) == order.nulls_first else 1)
    larger = (first > second) - (first < second)  # type: ignore[operator]  # of one kind
    return -larger if order.descending else larger


@pytest.mark.parametrize("nulls_first", [False, True])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("by", [N, RATIO, None], ids=["count", "ratio", "key"])
def test_groups_are_ordered_as_by_comparing_each_two(by: Output | None, *, descending: bool, nulls_first: bool) -> None:
    answer = answered()
    output = answer.plan.outputs[0][1] if by is None else by
    order = Order(by=output, descending=descending, nulls_first=nulls_first)
    plan = replace(answer.plan, order=(order,), having=OVER, offset=1, limit=Random(0).randint(5, 9))  # noqa: S311 - a test
    kept = [cell for cell in answer.cells if evaluate_output(OVER, cell.estimates, cell.keys) is True]

    def compare(first: Cell, second: Cell) -> int:
        values = [evaluate_output(output, cell.estimates, cell.keys) for cell in (first, second)]
        return compared(order, values[0], values[1])

    expected = sorted(kept, key=cmp_to_key(compare))[plan.offset : plan.offset + (plan.limit or 0)]
    assert list(chosen_cells(plan, answer.cells)) == expected
    assert list(chosen_cells(plan, tuple(answer.cells))) == expected


def test_text_shows_only_the_first_rows_but_says_how_many_there_are() -> None:
    with tc.open({"k": list(range(200))}, unit=tc.ROW, keys={"k": range(200)}, budget=tc.PureDP(epsilon=1)) as db:
        answer = db.count(by="k", epsilon=1)
    assert "… and 150 more rows" in str(answer)
    assert str(answer) == str(one_by_one(answer))
    assert "… and 150 more rows" in answer._repr_html_()
