"""The grid on which reals of a unit are summed: fine enough, and without overflow or underflow."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from sys import float_info

from hypothesis import given
from hypothesis import strategies as st

from tacit.query.unit_tables import unit_grid

ENDS = st.floats(-(2.0**999), 2.0**999).map(Fraction)


@given(ENDS, ENDS)
def test_a_step_is_a_power_of_two_and_a_small_part_of_the_larger_end(one: Fraction, other: Fraction) -> None:
    low, high = sorted((one, other))
    grid, largest = unit_grid(low, high), max(abs(low), abs(high))
    step = grid.step
    assert step.numerator & (step.numerator - 1) == 0 == step.denominator & (step.denominator - 1)
    assert step <= largest / 2**34 or step == Fraction(1, 2**1000)
    assert -(2**36) <= grid.low <= grid.high <= 2**36
    assert abs(grid.low * step - low) <= step / 2
    assert abs(grid.high * step - high) <= step / 2


@given(ENDS, ENDS)
def test_no_sum_overflows_or_underflows_a_double(one: Fraction, other: Fraction) -> None:
    grid = unit_grid(*sorted((one, other)))
    assert grid.most * grid.step <= Fraction(float_info.max)
    assert grid.most >= 2**50
    assert isfinite(float(grid.most) * float(grid.step))
    assert float(grid.step) / 2.0**63 > 0  # the least part of a step that an average of 2^63 rows can have
