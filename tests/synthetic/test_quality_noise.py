"""Sensitivities of tables and scores by brute force, and the ρ of a quality release."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from tacit.arrays import Ints
from tacit.errors import InternalError
from tacit.guarantees.events import BoundedRange, DiscreteGaussianNoise, Neighbours
from tacit.guarantees.prices import zcdp
from tacit.synthetic.coded_rows import ArrayRows
from tacit.synthetic.quality_noise import (
    MOST_VARIANCE,
    Purse,
    bounded_range,
    l1,
    l2_squared,
    score,
    usual_distance,
    whole_counts,
)

SIZES = (2, 3)
RELATIONS: tuple[Neighbours, ...] = ("add/remove", "change one")


def unit_tables(reach: int, scale: int) -> list[Ints]:
    """Return what each unit of at most three rows adds to the table of both columns."""
    cells = list(product(*(range(size) for size in SIZES)))
    units = [unit for rows in range(4) for unit in combinations_with_replacement(cells, rows)]
    found = set()
    for unit in units:
        weight = min(scale, scale * reach // len(unit)) if unit else 0
        codes = np.array(unit, dtype=np.uint16).reshape(len(unit), 2)
        rows = ArrayRows(codes, np.full(len(unit), weight), SIZES, scale=scale, reach=reach)
        found.add(tuple(rows.counts([0, 1]).ravel().tolist()))
    return [np.array(each) for each in sorted(found)]


def neighbouring(relation: Neighbours, reach: int, scale: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield the tables of one unit in two neighbouring tables; the other rows are the same in both."""
    units = unit_tables(reach, scale)
    others = [np.zeros(6, dtype=np.int64)] if relation == "add/remove" else units
    for one in units:
        for other in others:
            yield one, other


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("reach", "scale"), [(1, 1), (2, 3), (1, 4)])
def test_the_moves_of_tables_and_scores_are_the_largest_of_all_neighbours(
    relation: Neighbours, reach: int, scale: int
) -> None:
    rows = ArrayRows(np.zeros((0, 2), dtype=np.uint16), np.zeros(0, dtype=np.int64), SIZES, scale=scale, reach=reach)
    rest = np.array([5, 0, 9, 2, 7, 1]) * scale
    predictions = [np.zeros(6, dtype=np.int64), rest, np.array([30, 0, 0, 30, 0, 0]) * scale, rest[::-1].copy()]
    squares, moves = 0, 0
    for one, other in neighbouring(relation, reach, scale):
        squares = max(squares, int(((one - other) ** 2).sum()))
        for predicted in predictions:
            moves = max(moves, abs(score(rest + one, predicted, 3) - score(rest + other, predicted, 3)))
    assert squares == l2_squared(rows, relation)
    assert moves == l1(rows, relation)


def test_the_prediction_of_shares_is_whole_and_bounded() -> None:
    assert whole_counts(np.array([[0.25, 0.75]]), 10.0, 4).tolist() == [10, 30]
    assert whole_counts(np.array([0.5, 0.5]), -3.0, 4).tolist() == [0, 0]
    assert whole_counts(np.array([1.0]), 1e300, 2**16).tolist() == [2**56]


def test_the_usual_distance_is_that_of_random_counts() -> None:
    """5,000 draws: the mean distance has a standard error of 0.3 %; the formula is within 8 %."""
    means = np.array([0.05, 0.2, 30.0, 200.0])
    mean = float(np.abs(np.random.default_rng(3).poisson(means, (5_000, 4)) - means).sum(axis=1).mean())
    found = usual_distance((means * 100).astype(np.int64), 100) / 100
    assert abs(found / mean - 1) < 0.08
    assert usual_distance(np.zeros(4, dtype=np.int64), 1) == 0


def purse(rho: Fraction, relation: Neighbours = "add/remove", scale: int = 1, reach: int = 1) -> Purse:
    codes = np.array([[0, 0], [1, 2], [1, 2]], dtype=np.uint16)
    return Purse(ArrayRows(codes, np.full(3, scale), SIZES, scale=scale, reach=reach), relation, rho)


@pytest.mark.parametrize("relation", RELATIONS)
def test_each_draw_takes_the_price_of_its_event_and_no_more_than_its_part(relation: Neighbours) -> None:
    part = Fraction(1, 7)
    drawn = purse(Fraction(1, 2), relation, scale=4, reach=2)
    drawn.measure((0, 1), part)
    variance = drawn.measured[0].variance
    most = 64 * (2 if relation == "change one" else 1)  # the square of two rows in four steps each, twice if one leaves
    noise = zcdp(DiscreteGaussianNoise(variance=variance, l2_squared=most, coordinates=6))
    assert noise == (drawn.spent[0], Fraction(0))
    drawn.choose([3, 9, 4], part)
    choice = zcdp(BoundedRange(epsilon=bounded_range(part)))
    assert choice == (drawn.spent[1], Fraction(0))
    for spent in drawn.spent:
        assert part * (1 - Fraction(1, 2**30)) < spent <= part
    assert drawn.left == Fraction(1, 2) - sum(drawn.spent)


def test_a_draw_beyond_rho_is_refused_and_a_hopeless_one_takes_nothing() -> None:
    drawn = purse(Fraction(1, 10))
    drawn.measure((0,), Fraction(0))
    drawn.measure((0,), Fraction(1, 2 * MOST_VARIANCE) / 2)
    assert not drawn.measured
    assert drawn.left == Fraction(1, 10)
    with pytest.raises(InternalError):
        drawn.measure((0,), Fraction(1, 9))
    with pytest.raises(InternalError):
        drawn.choose([1, 2], Fraction(1, 9))
    assert not drawn.measured


def test_draws_that_are_together_beyond_rho_are_refused() -> None:
    drawn = purse(Fraction(1, 10))
    drawn.measure((0,), Fraction(6, 100))
    with pytest.raises(InternalError):
        drawn.measure((0,), Fraction(6, 100))
    with pytest.raises(InternalError):
        drawn.choose([1, 2], Fraction(6, 100))
    assert len(drawn.measured) == len(drawn.spent) == 1


def test_the_range_is_the_largest_of_few_digits() -> None:
    for rho in (Fraction(1, 2), Fraction(1, 3), Fraction(7, 10**9), Fraction(0)):
        epsilon = bounded_range(rho)
        assert epsilon**2 / 8 <= rho < (epsilon + Fraction(2, 2**60)) ** 2 / 8


def test_choices_have_the_chances_of_their_scores() -> None:
    """3,000 choices: the number of one leaves ±200 (7.3 standard errors of 27.4) with probability 3e-13."""
    chance = 1 / (1 + np.exp(-0.5))  # scores one sensitivity apart at ε₀ = 1
    for relation, gap in (("add/remove", 2), ("change one", 4)):
        drawn = purse(Fraction(3_000, 8), relation, reach=2)  # type: ignore[arg-type]
        ones = sum(drawn.choose([0, gap], Fraction(1, 8)) for _ in range(3_000))
        assert abs(ones - 3_000 * chance) < 200
        assert abs(ones - 3_000 / (1 + np.exp(-1.0))) > 200  # as for half of the sensitivity


def test_the_noise_has_its_variance() -> None:
    """2,400 draws: the mean square leaves ±0.2 (6.9 standard errors of 0.029) with probability 1e-11."""
    drawn = purse(Fraction(400))
    for _ in range(400):
        drawn.measure((0, 1), Fraction(1, 50))
    truth = np.array([1, 0, 0, 0, 0, 2])
    noise = np.array([each.values for each in drawn.measured]) - truth
    ratio = float((noise.astype(float) ** 2).mean() / 25)
    assert 0.8 < ratio < 1.2
    assert not 0.8 < ratio * 1.5 < 1.2
