"""The intervals of derived columns, from draws that are given."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.query.results.derived_intervals import arranged, joint_intervals, row_keys, separate_intervals


def test_the_ends_are_order_statistics_with_the_level_that_they_need() -> None:
    """With B draws and the truth exchangeable, an end of rank k misses with probability k/(B + 1)."""
    values = np.arange(1.0, 1000.0)[None, :]
    assert separate_intervals(values, 0.95) == [(25.0, 975.0)]
    assert separate_intervals(values, 0.99) == [(5.0, 995.0)]
    assert separate_intervals(values, 0.9999) == [None]


def test_draws_that_are_not_known_count_on_both_sides() -> None:
    values = np.arange(1.0, 1000.0)[None, :]
    values[0, 500:510] = np.nan
    assert separate_intervals(values, 0.95) == [(15.0, 985.0)]
    values[0, 500:530] = np.nan
    assert separate_intervals(values, 0.95) == [None]


def test_joint_intervals_of_one_row_are_a_little_wider_than_separate_ones() -> None:
    values = np.random.default_rng(1).permutation(np.arange(1.0, 1000.0))[None, :]
    assert joint_intervals(values, 0.95) == [(24.0, 976.0)]


def test_joint_intervals_hold_95_percent_of_the_draws_in_all_rows() -> None:
    values = np.random.default_rng(2).normal(size=(10, 3999))
    ends = joint_intervals(values, 0.95)
    inside = np.ones(values.shape[1], dtype=bool)
    for row, pair in zip(values, ends, strict=True):
        assert pair is not None
        inside &= (pair[0] <= row) & (row <= pair[1])
    assert 0.95 <= inside.mean() < 0.97
    values[3, :400] = np.nan
    assert joint_intervals(values, 0.95)[0] is None


def test_rows_are_matched_by_their_exact_columns() -> None:
    rows = [("a", 1.0), ("b", 2.0)]
    keys = row_keys(rows, [0])
    assert keys == {("a",): 0, ("b",): 1}
    assert row_keys([("a", 1.0), ("a", 2.0)], [0]) is None
    assert row_keys([("a", 1.0)], []) == {(): 0}
    found = arranged([rows, [("b", 4.0), ("a", 3.0)]], keys, [0], 1)
    assert found is not None
    assert found.tolist() == [[1.0, 3.0], [2.0, 4.0]]


@pytest.mark.parametrize("rows", [[("a", 1.0)], [("a", 1.0), ("c", 2.0)], [("a", 1.0), ("b", 2.0), ("c", 3.0)]])
def test_draws_with_other_rows_give_no_interval(rows: list[tuple[str, float]]) -> None:
    assert arranged([rows], {("a",): 0, ("b",): 1}, [0], 1) is None
