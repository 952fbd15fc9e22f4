"""The law of drawn quantiles: its privacy over all small tables, and its exact draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import numpy.typing as npt
import pytest

import oracles_selection
from bounded import UNIT, WHOLE, Row, key, measured, plan_of, policy
from evidence import FALSE_ALARM, miss, p_value
from tacit.guarantees.events import BoundedRange, Neighbours, PureRelease, ZCDPRelease
from tacit.query.plan import Ask, Plan
from tacit.query.policy import TablePolicy
from tacit.query.rank_law import RankLaw, rank_law, rank_sensitivity
from tacit.query.rank_scores import rank_scores
from tacit.query.rank_target import Draw

Floats = npt.NDArray[np.float64]

HALF, MOST = Fraction(1, 2), Fraction(9, 10)
NUMBERS = [0, 4, 10, None]
INTERVAL, ALONE = Draw(weight=Fraction(1), miss=Fraction(1, 20)), Draw(weight=Fraction(1), miss=None)
FLIPS = replace(ALONE, flips=True)
RELATIONS: list[Neighbours] = ["add/remove", "change one"]
ASKS = {
    "median": ("drawn_quantile", HALF),
    "nine tenths": ("drawn_quantile", MOST),
    "a third": ("drawn_quantile_disc", Fraction(1, 3)),
    "min": ("drawn_min", None),
    "max": ("drawn_max", None),
}


def drawn_plan(table: TablePolicy, name: str, draw: Draw, *, grouped: bool = True) -> Plan:
    function, q = ASKS[name]
    ends = (Fraction(0), Fraction(10))
    ask = Ask(function=function, values=(WHOLE,), bounds=(ends,), parameter=q, draw=draw)
    return plan_of(table, ask, keys=[key("k", "a", "b")] if grouped else [])


def tables(unit: int, rows: int, groups: str) -> Iterator[list[Row]]:
    """Yield all small tables of one unit's rows, in some groups."""
    yield []
    for count in range(1, rows + 1):
        for chosen in product(product(groups, NUMBERS), repeat=count):
            if list(map(repr, chosen)) == sorted(map(repr, chosen)):
                yield [{UNIT: unit, "k": k, "n": n} for k, n in chosen]


REST: list[Row] = [{UNIT: 8, "k": "a", "n": 4}, {UNIT: 9, "k": "b", "n": 10}]


def penalties(law: RankLaw, counts: Sequence[int]) -> Floats:
    rank = law.rank(sum(counts))
    return rank_scores(counts, law.target.parts, rank, law.amount, law.margin).penalties()


def by_group(plan: Plan, law: RankLaw, rows: Sequence[Row]) -> Floats:
    """Return the penalties of all candidates, a row for each group."""
    (counts,) = measured(plan, rows)
    return np.array([penalties(law, counts[first : first + law.bins]) for first in range(0, len(counts), law.bins)])


def pairs(plan: Plan, law: RankLaw, rows: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield the penalties of neighbouring tables."""
    groups = "ab" if plan.keys else "a"
    found = [by_group(plan, law, REST + own) for own in tables(1, rows, groups)]
    if plan.table.neighbours == "change one":
        yield from product(found, found)
    else:
        yield from ((found[0], one) for one in found)


# --- privacy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize(("groups", "most", "keys"), [(1, 1, "ab"), (2, 1, "ab"), (2, 2, "ab"), (1, 2, "")])
def test_no_neighbour_changes_penalties_further_than_claimed(
    neighbours: Neighbours, name: str, groups: int, most: int, keys: str
) -> None:
    """Brute force: a unit has up to two or three rows, so that limits cut."""
    plan = drawn_plan(policy(groups=groups, rows=most, neighbours=neighbours), name, INTERVAL, grouped=bool(keys))
    law = rank_law(plan, plan.bundles[0], epsilon=Fraction(1))
    unit = float(law.amount)
    joint = squares = 0.0
    for one, other in pairs(plan, law, 3 if neighbours == "add/remove" else 2):
        moves = np.abs(one - other).max(axis=1) * unit
        joint, squares = max(joint, float(moves.sum())), max(squares, float((moves**2).sum()))
    assert joint <= float(rank_sensitivity(plan, plan.bundles[0], "laplace")) * (1 + 1e-9)
    assert squares <= float(rank_sensitivity(plan, plan.bundles[0], "gaussian")) * (1 + 1e-9)
    if name in ("median", "nine tenths") and neighbours == "add/remove" and groups * most < 4:
        assert joint == pytest.approx(float(law.change), rel=1e-9)  # and no less would do


def range_of(one: Floats, other: Floats) -> float:
    """Return the length of the interval that holds the privacy loss of a draw in one group."""
    losses = other - one
    return float(losses.max() - losses.min())


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("draw", [INTERVAL, ALONE], ids=["interval", "alone"])
def test_the_privacy_loss_is_in_an_interval_of_length_epsilon(neighbours: Neighbours, name: str, draw: Draw) -> None:
    plan = drawn_plan(policy(groups=2, rows=1, neighbours=neighbours), name, draw)
    law = rank_law(plan, plan.bundles[0], epsilon=HALF)
    assert law.event == BoundedRange(epsilon=HALF)
    worst = max(sum(range_of(a, b) for a, b in zip(one, other, strict=True)) for one, other in pairs(plan, law, 2))
    assert worst <= 0.5 * (1 + 1e-9)
    assert (name, neighbours) != ("median", "add/remove") or worst > 0.49


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_draw_in_rho_costs_no_more_than_rho(neighbours: Neighbours) -> None:
    """A range of length r costs r²/8; the sum over groups stays below ρ, and a tenth less noise would not do."""
    plan = drawn_plan(policy(groups=2, rows=1, neighbours=neighbours), "median", INTERVAL)
    law = rank_law(plan, plan.bundles[0], rho=Fraction(1, 10))
    assert law.event == ZCDPRelease(rho=Fraction(1, 10))
    cost = max(
        sum(range_of(a, b) ** 2 / 8 for a, b in zip(one, other, strict=True)) for one, other in pairs(plan, law, 2)
    )
    assert 0.1 / 1.1**2 < cost <= 0.1 * (1 + 1e-9)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_exact_chances_change_by_no_more_than_a_factor_of_e_to_epsilon(neighbours: Neighbours) -> None:
    """With e^(-1/s) = r rational and whole penalties, the chances of both groups together are rationals."""
    r = Fraction(1, 2)
    plan = drawn_plan(policy(groups=1, rows=1, neighbours=neighbours), "median", ALONE)
    change = rank_sensitivity(plan, plan.bundles[0], "laplace")
    laws: list[list[tuple[Fraction, ...]]] = []
    for own in tables(1, 1, "ab"):
        (counts,) = measured(plan, REST + own)
        width, each = plan.bundles[0].measures[0].bins, []
        for first in range(0, len(counts), width):
            own_counts = counts[first : first + width]
            exact = rank_scores(own_counts, 1, Fraction(sum(own_counts), 2), Fraction(1), None)
            halves = [
                2 * exact.exact(index) / (1 << plan.bundles[0].measures[0].fraction_bits) for index in range(width)
            ]
            powers = [r ** int(half) for half in halves]
            each.append(tuple(power / sum(powers) for power in powers))
        laws.append(each)
    most = r ** -int(4 * change / (1 << plan.bundles[0].measures[0].fraction_bits))
    others = laws if neighbours == "change one" else laws[:1]
    worst = max(
        max(
            p * q / (v * w)
            for p, v in zip(one[0], other[0], strict=True)
            for q, w in zip(one[1], other[1], strict=True)
        )
        for first, second in product(laws, others)
        for one, other in ((first, second), (second, first))
    )
    assert 1 < worst <= most


def test_permute_and_flip_changes_by_no_more_than_a_factor_of_e_to_epsilon() -> None:
    """The exact law by all orders of the coins, for all tables of four bins with a row more."""
    r, q = Fraction(1, 2), HALF
    laws: dict[tuple[int, ...], tuple[Fraction, ...]] = {}
    for counts in product(range(3), repeat=4):
        scores = rank_scores(counts, 1, q * sum(counts), Fraction(1), None)
        laws[counts] = oracles_selection.permute_and_flip([r ** int(2 * scores.exact(z)) for z in range(4)])
    worst = Fraction(1)
    for counts, law in laws.items():
        for z in range(4):
            more = tuple(count + (place == z) for place, count in enumerate(counts))
            if more in laws:
                ratios = [a / b for a, b in zip(law, laws[more], strict=True)]
                worst = max(worst, *ratios, *(1 / ratio for ratio in ratios))
    assert 1 < worst <= r**-2  # 2Δ = 1 row, and a row is two powers of r


# --- the draws --------------------------------------------------------------------------------------------------------


def law_for(draw: Draw, name: str = "median", epsilon: Fraction = Fraction(1)) -> RankLaw:
    plan = drawn_plan(policy(unit=None), name, draw, grouped=False)
    return rank_law(plan, plan.bundles[0], epsilon=epsilon)


COUNTS = [1, 0, 0, 3, 1, 0, 2, 0, 0, 0, 1]


def chances(law: RankLaw, off: float = 1.0) -> list[float]:
    found = np.exp(-off * penalties(law, COUNTS))
    return [float(x) for x in found / found.sum()]


def test_a_draw_with_an_interval_has_the_stated_law() -> None:
    law, size = law_for(INTERVAL), 4000
    drawn = [law.choose(COUNTS) for _ in range(size)]
    counts = np.bincount([k * law.cells + z for z, k in drawn], minlength=len(chances(law)))
    assert p_value(counts, chances(law)) > FALSE_ALARM
    assert miss(chances(law, 1.5), chances(law), size) < FALSE_ALARM
    assert p_value(counts, chances(law, 1.5)) < FALSE_ALARM


def test_a_draw_alone_has_the_stated_law() -> None:
    law, size = law_for(ALONE), 4000
    counts = np.bincount([law.choose(COUNTS)[0] for _ in range(size)], minlength=law.cells)
    assert p_value(counts, chances(law)) > FALSE_ALARM
    assert p_value(counts, chances(law, 1.4)) < FALSE_ALARM


def test_flips_have_the_law_of_permute_and_flip() -> None:
    law, size = law_for(FLIPS), 6000
    assert law.event == PureRelease(epsilon=Fraction(1))
    few, width = [2, 0, 3, 1, 0, 1], 6
    law = replace(law, bins=width)
    weights = [Fraction(exp(-x)) for x in penalties(law, few)]
    stated = [float(x) for x in oracles_selection.permute_and_flip(weights)]
    exponential = [float(x / sum(weights)) for x in weights]
    counts = np.bincount([law.choose(few)[0] for _ in range(size)], minlength=width)
    assert p_value(counts, stated) > FALSE_ALARM
    assert p_value(counts, exponential) < FALSE_ALARM


def test_all_groups_are_drawn_in_turn() -> None:
    law = replace(law_for(ALONE), amount=Fraction(1, 10**6))
    counts = [0] * 33
    counts[3] = counts[11 + 7] = counts[22] = 50
    assert law.choose_all(counts) == [3, 7, 0]
    with_widths = replace(law_for(INTERVAL), amount=Fraction(1, 10**6)).choose_all(counts)
    assert with_widths[::2] == [3, 7, 0]


def test_counts_beyond_64_bits_are_drawn_exactly() -> None:
    law = replace(law_for(INTERVAL), amount=Fraction(1, 1000))
    counts = [2**70, 1, 2**70, *[0] * 8]
    assert law.choose(counts)[0] == 1


# --- ranks and events -------------------------------------------------------------------------------------------------


def test_min_and_max_are_near_their_ends_and_the_median_of_few_rows() -> None:
    low, high = law_for(INTERVAL, "min"), law_for(INTERVAL, "max")
    rank = low.end_rank
    assert rank == high.end_rank
    assert rank > 2 * (log(11) + 3)
    assert low.rank(10**6) == rank
    assert high.rank(10**6) == 10**6 - rank
    assert low.rank(2 * rank - 1) == high.rank(2 * rank - 1) == Fraction(2 * rank - 1, 2)


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("draw", [INTERVAL, ALONE], ids=["interval", "alone"])
def test_min_and_max_are_seldom_beyond_all_rows(name: str, draw: Draw) -> None:
    """Even if all rows have one value, and all other bins are beyond it."""
    law = law_for(draw, name)
    counts = [0] * 11
    place = 10 if name == "min" else 0
    counts[place] = 10**5
    found = np.exp(-penalties(law, counts)).reshape(-1, 11).sum(axis=0)
    assert 1 - found[place] / found.sum() < exp(-2)


def test_a_draw_in_several_groups_costs_less_in_rho_than_its_joint_range() -> None:
    plan = drawn_plan(policy(groups=2, rows=1), "median", INTERVAL)
    alone = drawn_plan(policy(groups=1, rows=1), "median", INTERVAL)
    scales = [rank_law(each, each.bundles[0], rho=Fraction(1)).amount for each in (alone, plan)]
    assert float(scales[1] / scales[0]) == pytest.approx(2**0.5)
    pure = [rank_law(each, each.bundles[0], epsilon=Fraction(1)).amount for each in (alone, plan)]
    assert pure[1] == 2 * pure[0]


def test_no_noise_can_be_drawn_from_the_law_of_a_draw() -> None:
    with pytest.raises(TypeError, match="no additive noise"):
        law_for(INTERVAL).draw(3)
