"""Drawn quantiles: their values, their intervals, and their expected errors."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import log

import numpy as np
import pytest

from bounded import REAL, WHOLE, plan_of, policy
from tacit.arrays import Floats
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.drawn_quantile import DrawnQuantile, without_interval
from tacit.query.aggregates.rank_errors import rank_error
from tacit.query.aggregates.statistic import Released
from tacit.query.expressions import Column
from tacit.query.plan import Ask, Bounds
from tacit.query.pricing.price import Cost, price
from tacit.query.rank_law import RankLaw
from tacit.query.rank_scores import margin, rank_scores, widths
from tacit.query.rank_target import Draw

ROW = policy(unit=None)
TWENTIETH = Fraction(1, 20)
DRAW, ALONE = Draw(weight=Fraction(1), miss=TWENTIETH), Draw(weight=Fraction(1), miss=None)


def bounds(low: float, high: float) -> Bounds:
    return Fraction(repr(low)), Fraction(repr(high))


def asked(
    function: str = "drawn_quantile",
    value: Column = REAL,
    ends: tuple[float, float] = (0, 100),
    draw: Draw = DRAW,
) -> Ask:
    share = None if function in ("drawn_min", "drawn_max") else Fraction(1, 2)
    return Ask(function=function, values=(value,), bounds=(bounds(*ends),), parameter=share, draw=draw)


def released(ask: Ask, *integers: int) -> list[Released]:
    plan = plan_of(ROW, ask)
    (law,) = price(plan, Cost(epsilon=1)).noise
    return [Released(plan.bundles[0], integers, law)]


def law_of(ask: Ask) -> RankLaw:
    law = released(ask)[0].noise
    assert isinstance(law, RankLaw)
    return law


def estimate(ask: Ask, *integers: int) -> float | int | None:
    return STATISTICS[ask.function].estimate(ask, released(ask, *integers))


def interval(ask: Ask, *integers: int, confidence: float = 0.95) -> tuple[float, float]:
    return STATISTICS[ask.function].interval(ask, released(ask, *integers), confidence)


# --- values -----------------------------------------------------------------------------------------------------------


def test_a_real_value_is_the_middle_of_a_quarter_of_a_bin() -> None:
    ask = asked()
    law = law_of(ask)
    assert (law.bins, law.target.parts, law.cells) == (3201, 4, 4 * 3201)
    values = [estimate(ask, cell, 0) for cell in range(law.cells)]
    steps = np.diff(np.array(values, dtype=float))
    assert values[0] == pytest.approx(2.0**-5 / 2 / 8)  # the first bin is cut off at the bound
    assert steps[4:-5] == pytest.approx(2.0**-7)
    assert all(0 <= value <= 100 for value in values if value is not None)


def test_few_whole_numbers_are_cells_of_their_own() -> None:
    ask = asked("drawn_quantile_disc", WHOLE, (0, 120))
    assert law_of(ask).target.parts == 1
    assert [estimate(ask, cell, 0) for cell in (0, 7, 120)] == [0, 7, 120]
    assert isinstance(estimate(ask, 7, 0), int)
    assert STATISTICS["drawn_quantile"].kind(asked(value=WHOLE)) == "real"


def test_many_whole_numbers_have_cells_within_their_bins() -> None:
    ask = asked("drawn_quantile_disc", WHOLE, (0, 10_000))
    law = law_of(ask)
    assert law.target.parts == 4
    values = [estimate(ask, cell, 0) for cell in range(law.cells)]
    assert values == sorted(values, key=lambda value: value or 0)
    assert all(isinstance(value, int) for value in values)


def test_min_and_max_have_whole_bins() -> None:
    assert law_of(asked("drawn_min")).target.parts == 1


def test_bounds_of_no_width_give_the_bound() -> None:
    ask = asked(ends=(0.5, 0.5))
    assert estimate(ask, 0, 0) == 0.5
    assert interval(ask, 0, 0) == (0.5, 0.5)


# --- intervals --------------------------------------------------------------------------------------------------------


def test_an_interval_has_whole_bins_and_holds_its_value() -> None:
    ask = asked()
    law = law_of(ask)
    for cell, k in ((0, 0), (5000, 0), (5000, 3), (5001, 5), (law.cells - 1, 2), (6000, len(widths(law.cells)) - 1)):
        low, high = interval(ask, cell, k)
        value = estimate(ask, cell, k)
        assert value is not None
        assert 0 <= low <= value <= high <= 100
        for end in (low, high):
            assert end in (0, 100) or (end * 2**5 - 0.5).is_integer()
    assert interval(ask, 6000, len(widths(law.cells)) - 1) == (0, 100)
    widened = [interval(ask, 6000, k) for k in range(len(widths(law.cells)))]
    assert all(one[0] >= other[0] and one[1] <= other[1] for one, other in pairwise(widened))


def test_an_end_at_the_first_or_last_cell_is_the_bound() -> None:
    ask = asked("drawn_quantile_disc", WHOLE, (0, 120))
    assert interval(ask, 3, 2) == (0, 6)
    assert interval(ask, 118, 2) == (115, 120)
    assert interval(ask, 60, 2) == (57, 63)


def test_a_higher_confidence_needs_a_wider_interval_and_a_lower_one_none() -> None:
    ask = asked("drawn_quantile_disc", WHOLE, (0, 120))
    assert interval(ask, 60, 1, confidence=0.5) == interval(ask, 60, 1) == (59, 61)
    assert interval(ask, 60, 1, confidence=0.96) == (57, 63)
    assert interval(ask, 60, 1, confidence=0.99) == (0, 120)


def test_a_draw_without_an_interval_has_none() -> None:
    ask = asked(draw=ALONE)
    assert without_interval(ask)
    assert not without_interval(asked())
    with pytest.raises(TypeError, match="no interval"):
        interval(ask, 3)


# --- expected errors --------------------------------------------------------------------------------------------------


def quantile_of(distances: Floats, chances: Floats, beta: float) -> float:
    order = np.argsort(distances)
    return float(distances[order][np.searchsorted(np.cumsum(chances[order]), 1 - beta)])


@pytest.mark.parametrize("miss", [None, TWENTIETH, Fraction(1, 1000)])
@pytest.mark.parametrize("beta", [0.5, 0.05, 0.01])
def test_the_error_of_dense_rows_is_close_to_that_of_the_exact_law(miss: Fraction | None, beta: float) -> None:
    """Rows in a thousand places, at four scales, which put the widths at different positions."""
    errors = []
    for scale in (13, 17, 22, 28):
        rows = [1] * 2001
        scores = rank_scores(rows, 1, Fraction(2001, 2), Fraction(scale), None if miss is None else margin(miss))
        powers = np.exp(-scores.penalties()).reshape(-1, 2001).sum(axis=0)
        errors.append(quantile_of(np.abs(np.arange(2001) - 1000.0) / scale, powers / powers.sum(), beta))
    claimed = rank_error(miss, beta)
    assert max(errors) <= claimed * 1.03 + 0.05
    assert claimed <= max(errors) * 1.15 + 0.05


def test_the_error_falls_with_the_assumed_number_of_rows_to_half_a_cell() -> None:
    ask = asked()
    plan = plan_of(ROW, ask)
    noise = price(plan, Cost(epsilon=1)).noise
    errors = [STATISTICS[ask.function].error(ask, plan.bundles, noise, 0.95, n) for n in (None, 1, 1000, 10**6, 10**12)]
    assert errors[:2] == [100, 100]
    assert 100 > errors[2] > errors[3] > errors[4]
    assert errors[4] == pytest.approx(2.0**-8)
    assert errors[2] == pytest.approx(100 * rank_error(TWENTIETH, 0.05) / 1000, rel=0.02)


def test_a_draw_without_an_interval_errs_less() -> None:
    assert rank_error(None, 0.05) == pytest.approx(log(20))
    assert 1.1 < rank_error(TWENTIETH, 0.05) / rank_error(None, 0.05) < 1.3


def test_the_rank_of_min_is_its_error_in_rows_and_in_its_note() -> None:
    ask = asked("drawn_min")
    plan = plan_of(ROW, ask)
    noise = price(plan, Cost(epsilon=1)).noise
    statistic = STATISTICS[ask.function]
    assert isinstance(statistic, DrawnQuantile)
    rank = law_of(ask).end_rank
    assert statistic.rows(ask, plan.bundles, noise, 0.95) == rank
    assert f"at rank about {rank} from below" in str(statistic.note(ask, plan.bundles, noise))
    assert statistic.error(ask, plan.bundles, noise, 0.95, 10**6) < 1


def test_a_tree_is_not_a_draw() -> None:
    tree = plan_of(ROW, replace(asked(), function="quantile", draw=None))
    (law, *_) = price(tree, Cost(epsilon=1)).noise
    with pytest.raises(TypeError, match="not drawn"):
        STATISTICS["drawn_quantile"].estimate(asked(), [Released(tree.bundles[0], (0,), law)])
    with pytest.raises(TypeError, match="not drawn"):
        STATISTICS["drawn_quantile"].bundles(replace(asked(), draw=None), ROW)
