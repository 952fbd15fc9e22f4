"""Laws merged before any transform: against exact convolution in rationals, and cumulants at 50 digits."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.guarantees.pld.cells import Cells
from tacit.guarantees.pld.merge import CountedCells, Short, Stack, merged

Real = Any
"""A number of mpmath, which has no type annotations."""
Floats = npt.NDArray[np.float64]
Law = dict[int, Fraction]

STEP = 0.125
_U = 2.0**-53


def convolved(one: Law, two: Law) -> Law:
    total: Law = {}
    for i, p in one.items():
        for j, q in two.items():
            total[i + j] = total.get(i + j, Fraction(0)) + p * q
    return total


def tilted(cells: Cells, tilt: float) -> Law:
    """Mass·e^(λx)/M, to 60 digits, as rationals."""
    with mpmath.workdps(60):
        places = np.flatnonzero(cells.mass)
        weights = [mpmath.mpf(float(cells.mass[i])) * mpmath.exp(tilt * cells.losses[i]) for i in places]
        shares = [weight / mpmath.fsum(weights) for weight in weights]
        return {int(i) + cells.start: _rational(share) for i, share in zip(places, shares, strict=True)}


def _rational(x: Real) -> Fraction:
    mantissa, exponent = x.man_exp
    return Fraction(mantissa) * Fraction(2) ** int(exponent)


def truth(parts: CountedCells, tilt: float) -> Law:
    total: Law = {0: Fraction(1)}
    for cells, count in parts:
        for _ in range(count):
            total = convolved(total, tilted(cells, tilt))
    return total


def as_law(short: Short) -> Law:
    return {short.start + i: Fraction(float(mass)) for i, mass in enumerate(short.mass) if mass}


def found(shorts: list[Short]) -> tuple[Law, float, float]:
    """Return the exact convolution of the merged laws, and the total slack and error that they state."""
    total: Law = {0: Fraction(1)}
    for short in shorts:
        for _ in range(short.count):
            total = convolved(total, as_law(short))
    return total, sum(s.slack * s.count for s in shorts), sum(s.error * s.count for s in shorts)


def apart(one: Law, two: Law, slack: float) -> float:
    """Return the total difference of two laws, beyond a relative slack of the first."""
    allowed = Fraction(slack)
    gaps = (abs(one.get(i, Fraction(0)) - two.get(i, Fraction(0))) - allowed * one.get(i, 0) for i in {*one, *two})
    return float(sum((max(gap, Fraction(0)) for gap in gaps), Fraction(0)))


def law(rng: np.random.Generator, size: int, *, sparse: bool = False) -> Cells:
    mass = rng.uniform(0.01, 1, size)
    if sparse:
        mass[1:-1] = 0.0
    return Cells(STEP, int(rng.integers(-20, 5)), mass / mass.sum())


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 3)), min_size=1, max_size=4),
    st.floats(0, 6),
    st.integers(0, 2**32),
)
def test_merged_laws_are_the_exact_convolution_within_what_they_state(
    shapes: list[tuple[int, int]], tilt: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    parts = [(law(rng, size), count) for size, count in shapes]
    shorts = merged(parts, tilt)
    total, slack, error = found(shorts)
    rounding = Stack.of(parts).rounding(tilt)
    assert apart(truth(parts, tilt), total, slack + rounding) <= error
    assert sum(short.count == 1 for short in shorts) <= 1


@pytest.mark.parametrize("sparse", [False, True])
def test_long_laws_are_merged_by_transforms_within_what_they_state(*, sparse: bool) -> None:
    """Two laws of 200 points and two of 140: too long to be convolved term by term."""
    rng = np.random.default_rng(1)
    parts = [(law(rng, size, sparse=sparse), 1) for size in (200, 200, 140, 140)]
    shorts = merged(parts, 0.0)
    assert len(shorts) == 1
    dense = np.ones(1)
    for cells, _ in parts:
        dense = np.convolve(dense, cells.mass)  # direct: no error beyond (terms + 1)·2^-53, relative
    start = sum(cells.start for cells, _ in parts)
    placed = np.zeros(dense.size)
    placed[shorts[0].start - start : shorts[0].start - start + shorts[0].mass.size] = shorts[0].mass
    allowed = shorts[0].slack + 1000 * _U
    assert np.maximum(np.abs(placed - dense) - allowed * dense, 0).sum() <= shorts[0].error
    assert shorts[0].error < 1e-9


@pytest.mark.parametrize("count", [2, 7, 100, 1000])
def test_a_short_law_to_a_power_is_a_binomial_law(count: int) -> None:
    cells = Cells(STEP, -1, np.array([0.25, 0.0, 0.75]))
    total, slack, error = found(merged([(cells, count)], 0.0))
    binomial = {2 * j - count: Fraction(comb(count, j) * 3**j, 4**count) for j in range(count + 1)}
    assert apart(binomial, total, slack + Stack.of([(cells, count)]).rounding(0.0)) <= error
    assert error < 1e-20


def test_one_part_in_a_million_moved_would_be_seen() -> None:
    rng = np.random.default_rng(2)
    parts = [(law(rng, 6), 1), (law(rng, 8), 2)]
    total, slack, error = found(merged(parts, 1.5))
    place = next(iter(total))
    planted = {**total, place: total[place] * (1 + Fraction(1, 10**6))}
    exact, allowed = truth(parts, 1.5), slack + Stack.of(parts).rounding(1.5)
    assert apart(exact, total, allowed) <= error < apart(exact, planted, allowed)


def test_tiny_masses_at_the_ends_are_cut_and_counted() -> None:
    cells = Cells(STEP, 0, np.array([1e-40, 0.5, 0.5 - 2e-40, 1e-40]))
    (short,) = merged([(cells, 1)], 0.0)
    assert short.mass.size == 2
    assert short.start == 1
    assert short.error >= 2e-40


def cumulants(parts: CountedCells, tilt: float) -> tuple[Real, Real, Real]:
    """K, K' and K'' at 50 digits, from the definition."""
    value = mean = variance = mpmath.mpf(0)
    for cells, count in parts:
        x = [mpmath.mpf(float(loss)) for loss in cells.losses]
        w = [mpmath.mpf(float(mass)) * mpmath.exp(tilt * loss) for mass, loss in zip(cells.mass, x, strict=True)]
        total = mpmath.fsum(w)
        centre = mpmath.fsum(a * b for a, b in zip(w, x, strict=True)) / total
        value += count * mpmath.log(total)
        mean += count * centre
        variance += count * mpmath.fsum(a * (b - centre) ** 2 for a, b in zip(w, x, strict=True)) / total
    return value, mean, variance


@pytest.mark.parametrize("tilt", [0.0, 0.7, 30.0, 1e4, -5.0])
def test_the_cumulants_of_a_stack_are_those_of_the_definition(tilt: float) -> None:
    rng = np.random.default_rng(5)
    parts = [(law(rng, 9), 3), (law(rng, 1), 10**6), (law(rng, 40, sparse=True), 17), (law(rng, 25), 1)]
    stack = Stack.of(parts)
    with mpmath.workdps(50):
        value, mean, variance = cumulants(parts, tilt)
    got = stack.cumulant(tilt)
    assert abs(got[0] - float(value)) <= stack.rounding(tilt) + 1e-12 * abs(float(value))
    assert got[1] == pytest.approx(float(mean), rel=1e-10)
    assert got[2] == pytest.approx(float(variance), rel=1e-8, abs=1e-12)


def test_the_stated_rounding_is_not_idle() -> None:
    """It grows with the number of uses and the tilt, and stays far below the width of a bracket."""
    rng = np.random.default_rng(6)
    cells = law(rng, 30)
    few, many = (Stack.of([(cells, count)]).rounding(1.0) for count in (1, 1000))
    assert many == pytest.approx(1000 * few)
    assert 0 < few < Stack.of([(cells, 1)]).rounding(50.0) < 1e-12
