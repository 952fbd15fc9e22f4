"""The judges are judged: the laws against plain sums, the error rates against enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import exp, factorial, inf, prod

import numpy as np
import pytest
from scipy import stats

import oracles
from evidence import FALSE_ALARM, count_miss, count_p_value, critical, miss, p_value, tail_bound
from laws import Gaussian, Geometric, Laplace, Law

SMALL_LAWS: list[Law] = [Geometric(Fraction(11, 2)), Laplace(Fraction(11, 2)), Gaussian(Fraction(61, 2))]
WEIGHTS: dict[type, Callable[[int], float]] = {
    Geometric: lambda k: exp(-2 * k / 11) * (k >= 0),
    Laplace: lambda k: exp(-2 * abs(k) / 11),
    Gaussian: lambda k: exp(-k * k / 61),
}


def plain(law: Law) -> dict[int, float]:
    weight = WEIGHTS[type(law)]
    total = sum(weight(k) for k in range(-400, 401))
    return {k: weight(k) / total for k in range(-400, 401)}


@pytest.mark.parametrize("law", SMALL_LAWS)
@pytest.mark.parametrize(("low", "width"), [(0, 1), (0, 4), (1, 3), (3, 2), (4, 2), (2, 0)])
def test_windows_of_digits_are_what_a_plain_sum_gives(law: Law, low: int, width: int) -> None:
    expected = np.zeros(1 << width)
    for k, chance in plain(law).items():
        expected[(k >> low) % (1 << width)] += chance
    assert law.window(low, width) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("law", SMALL_LAWS)
def test_bins_are_what_a_plain_sum_gives(law: Law) -> None:
    edges = law.edges()
    expected = np.zeros(len(edges) + 1)
    for k, chance in plain(law).items():
        expected[sum(edge <= k for edge in edges)] += chance
    assert law.chances(edges) == pytest.approx(expected, rel=1e-10, abs=1e-20)


def test_the_midpoint_rule_takes_over_without_a_seam() -> None:
    law, edges = Gaussian(Fraction(1000**2)), Gaussian(Fraction(1000**2)).edges()
    assert law.chances(edges) == pytest.approx(
        Gaussian(Fraction(1000**2) + Fraction(1, 10**9)).chances(edges), rel=1e-5
    )


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(40)])
def test_scipy_knows_the_same_laplace_law(scale: Fraction) -> None:
    law = oracles.laplace(scale, 128)
    ours = [step / 2**128 for step in law.steps]
    ks = np.arange(law.first, law.first + len(ours))
    assert ours == pytest.approx(stats.dlaplace(float(1 / scale)).cdf(ks), abs=1e-14)


def outcomes(size: int, bins: int) -> Iterator[tuple[int, ...]]:
    if bins == 1:
        yield (size,)
        return
    for first in range(size + 1):
        yield from ((first, *rest) for rest in outcomes(size - first, bins - 1))


def probability(counts: tuple[int, ...], chances: list[float]) -> float:
    ways = factorial(sum(counts)) // prod(map(factorial, counts))
    return float(ways * prod(p**c for p, c in zip(chances, counts, strict=True)))


@pytest.mark.parametrize("chances", [[0.5, 0.5], [0.02, 0.98], [0.2, 0.3, 0.5], [0.01, 0.01, 0.98], [0.25] * 4])
def test_a_p_value_is_small_no_oftener_than_it_says(chances: list[float]) -> None:
    drawn = [(p_value(counts, chances), probability(counts, chances)) for counts in outcomes(18, len(chances))]
    for level in (0.5, 0.1, 1e-2, 1e-4, 1e-6):
        assert sum(chance for p, chance in drawn if p <= level) <= level


def test_a_miss_is_no_likelier_than_its_bound() -> None:
    claimed, drawn, size = [0.1, 0.2, 0.7], [0.5, 0.35, 0.15], 60
    passing = (c for c in outcomes(size, 3) if p_value(c, claimed) > FALSE_ALARM)
    truth = sum(probability(counts, drawn) for counts in passing)
    assert 0 < truth <= miss(claimed, drawn, size) < 0.9


def test_one_law_passes_for_itself() -> None:
    assert miss([0.1, 0.9], [0.1, 0.9], 1000) == 1
    assert p_value([100, 900], [0.1, 0.9]) == 1


def test_what_cannot_happen_is_rejected() -> None:
    assert p_value([1, 999_999], [0.0, 1.0]) == 0
    assert tail_bound(inf, 2) == 0


def test_the_critical_value_has_the_stated_rate() -> None:
    assert tail_bound(critical(30), 30) == pytest.approx(FALSE_ALARM)


def test_counts_are_judged_on_both_sides() -> None:
    assert count_p_value(5_000, 10_000, 0.5) == 1
    assert count_p_value(4_500, 10_000, 0.5) < FALSE_ALARM
    assert count_p_value(5_500, 10_000, 0.5) < FALSE_ALARM
    assert count_miss(10_000, 0.5, 0.4) < 1e-10
    assert count_miss(10_000, 0.5, 0.5) > 0.99
