"""The band of an empirical distribution function, by mpmath and by exact enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import mpmath
import numpy as np
import pytest

from tacit.auditing.bands import band, best_threshold


@pytest.mark.parametrize("error", [Fraction(1, 2), Fraction(1, 1000), Fraction(1, 10**12)])
@pytest.mark.parametrize("runs", [1, 50, 10**6])
def test_the_width_is_rounded_up(runs: int, error: Fraction) -> None:
    with mpmath.workdps(60):
        exact = mpmath.sqrt(mpmath.log(mpmath.mpf(8) * error.denominator / error.numerator) / (2 * runs))
        found = band(runs, error)
        assert exact <= mpmath.mpf(found.numerator) / found.denominator <= exact * (1 + mpmath.mpf(10) ** -30)


@pytest.mark.parametrize("law", [(0.2, 0.3, 0.5), (0.45, 0.1, 0.45), (0.02, 0.9, 0.08)])
def test_an_empirical_function_leaves_the_band_as_rarely_as_stated(law: tuple[float, float, float]) -> None:
    n, error = 40, Fraction(4, 5)  # each of the four functions may leave with probability 1/5
    width = float(band(n, error))
    outside = sum(
        comb(n, a) * comb(n - a, b) * law[0] ** a * law[1] ** b * law[2] ** (n - a - b)
        for a, b in product(range(n + 1), repeat=2)
        if a + b <= n and max(abs(a / n - law[0]), abs((a + b) / n - law[0] - law[1])) > width
    )
    assert outside <= error / 4


def test_absent_values_are_in_no_event() -> None:
    values = np.full(10_000, np.nan)
    other = np.zeros(10_000)
    best = best_threshold(values, other, delta=Fraction(0), error=Fraction(1, 100))
    assert (best.on_first, best.at) == (False, 0.0)
    assert 3 < best.bound < 5


def test_equal_values_prove_nothing() -> None:
    values = np.arange(1000.0)
    assert best_threshold(values, values, delta=Fraction(0), error=Fraction(1, 100)).bound == 0
