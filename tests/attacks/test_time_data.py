"""The duration of a release against the value that goes in: a tiny value must take as long as zero.

A float becomes a grid index in exact arithmetic. As a rational, 1e-300 has 1,000 bits more than 0, so its duration
tells which of the two it was. tacit computes with integers of one size. Instructions and sizes of integers are counted,
so no load of the machine can fail a test; the audit with a clock is in the long run.

The duration of a query depends on the number of rows and more: see the known weaknesses.
`tests/query/sql/test_row_work.py` bounds the work of one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import chain

import numpy as np
import pytest

import tacit as tc
from attacks.bytecodes import alike, counted, never_refill
from tacit.mechanisms import grid
from tacit.mechanisms.grid import ValueGrid

SURE = 1 - 1e-12
VALUES = [0.0, -0.0, 0.3, -0.5, 1.0, 5e-324, -5e-324, 2.0**-1022, 1e-300, 1e-17, 2.0**-21, 1e9 + 1 / 3, -(2.0**36)]
SCORES = [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0], [1e-300, 1 / 3, 5.0], [5e-324, -5e-324, 1e6]]

VECTOR = tc.Laplace(sensitivity=1.0, epsilon=0.1, outputs=20)
RELEASES: dict[str, Callable[[float], object]] = {
    "Laplace": tc.Laplace(sensitivity=1.0, epsilon=0.1).release,
    "Laplace vector": lambda x: VECTOR.release([x] * 20),
    "AboveThreshold": lambda x: tc.AboveThreshold(sensitivity=1.0, epsilon=0.1, threshold=10**6).query(x),
}
CHOICES: dict[str, Callable[[list[float]], object]] = {
    "Exponential": tc.Exponential(sensitivity=1.0, epsilon=0.1).choose,
    "PermuteAndFlip": tc.PermuteAndFlip(sensitivity=1.0, epsilon=0.1).choose,
    "NoisyMax": tc.NoisyMax(sensitivity=1.0, epsilon=0.1).choose,
}


def durations(release: Callable[[], object]) -> list[int]:
    """Return the numbers of instructions of several releases."""
    for _ in range(3):
        release()
    return [counted(release)[0] for _ in range(10)]


@pytest.mark.parametrize("name", RELEASES)
def test_every_value_takes_the_same_instructions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    never_refill(monkeypatch)
    steps = [durations(partial(RELEASES[name], value)) for value in VALUES]
    assert alike(chain(*steps))


@pytest.mark.parametrize("name", ["Laplace", "Laplace vector"])
def test_every_integer_takes_the_same_instructions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    never_refill(monkeypatch)
    steps = [durations(partial(RELEASES[name], value)) for value in (0, 1, -7, 2**30, -(2**36))]
    assert alike(chain(*steps))


@pytest.mark.parametrize("name", CHOICES)
def test_all_scores_take_the_same_instructions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    never_refill(monkeypatch)
    steps = [durations(partial(CHOICES[name], scores)) for scores in SCORES]
    assert alike(chain(*steps))


TABLES = [[0.0] * 59, [100.0] * 59, [float(row) for row in range(59)], [5e-324] * 59, [50.0] * 30 + [1e9] * 29]


def test_all_rows_of_a_median_take_the_same_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows is public, because neighbours change one."""
    never_refill(monkeypatch)
    m = tc.SmoothMedian(bounds=(0, 100), epsilon=1, delta=1e-6)
    assert alike(chain(*(durations(partial(m.release, rows)) for rows in TABLES)))


def clamped_median(value: float) -> float:
    """Return what a textbook returns that skips the work for values outside."""
    return value if 0 <= value <= 1 else min(max(math.fsum([value]), 0.0), 1.0)


def test_a_branch_on_the_value_is_seen() -> None:
    steps = [durations(partial(clamped_median, value)) for value in (0.5, 1.5)]
    assert not alike(chain(*steps))


@pytest.mark.parametrize("step", [Fraction(1, 2**20), Fraction(7, 10 * 2**20), Fraction(10**9), Fraction(1, 10**200)])
def test_every_float_is_rounded_in_integers_of_one_size(step: Fraction) -> None:
    """The rationals of these floats differ by 1,000 bits."""
    most = float(step * 2**61)
    floats = [0.0, 5e-324, 1e-300, float(step / 2), float(step), most, -most, math.nextafter(float(step / 2), 0)]
    lowest = grid._exponent(step) - 55
    assert {grid.multiple(each, lowest).bit_length() for each in floats} <= {119, 120}
    sizes = {Fraction(each).denominator.bit_length() for each in floats}
    assert max(sizes) > 900


@pytest.mark.parametrize("step", [Fraction(1, 2**20), Fraction(7, 10 * 2**20), Fraction(3), Fraction(1, 10**200)])
def test_that_rounding_is_exact(step: Fraction) -> None:
    """Ties, their neighbours, and both ends of the range, against rationals."""
    ties = [float((2 * k + 1) * step / 2) for k in (-(2**61), -(2**40), -3, -1, 0, 1, 2, 2**40, 2**52, 2**60)]
    near = [math.nextafter(tie, end) for tie in ties for end in (-math.inf, math.inf)]
    made = ValueGrid(step, integral=False, outputs=1)
    for value in [*ties, *near, 0.0, 5e-324, -5e-324, float(step) * 2.0**61]:
        assert made.round(np.array([value])).tolist() == [math.floor(Fraction(value) / step + Fraction(1, 2))]


def rational_release(values: list[float]) -> list[int]:
    """Round values to a grid as rationals, as a textbook would."""
    return [math.floor(Fraction(value) / Fraction(1, 2**20) + Fraction(1, 2)) for value in values]


@pytest.mark.long
def test_an_audit_with_a_clock_tells_rationals_and_not_tacit() -> None:
    """The durations are outputs, so the claim is about a caller with a clock; both values have the index 0."""
    m = tc.Laplace(sensitivity=1.0, epsilon=0.1, outputs=60)
    pair = [0.0] * 60, [1e-300] * 60
    fair = tc.audit(lambda x: m.release(x)[0], *pair, epsilon=1, time=True, samples=20_000, confidence=SURE, seed=1)  # type: ignore[index]
    bad = tc.audit(rational_release, *pair, epsilon=1, time=True, samples=20_000, confidence=SURE, seed=1)
    assert (fair.verdict, bad.verdict) == ("no violation found", "violates")
