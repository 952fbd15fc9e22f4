"""Intervals are within what is possible, and coverage does not fall: checked for every noise and every small truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, exp, inf

import pytest

from bounded import REAL, WHOLE, ask_for, bounds, contributions, key, plan_of, policy
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.measure_sharing import arrange
from tacit.query.aggregates.possible_values import clipped, cut_values, possible_values
from tacit.query.aggregates.statistic import Interval, Released
from tacit.query.expressions import Value
from tacit.query.noise_law import Law, NoiseLaw
from tacit.query.plan import Ask, Computed, Constantly, Key, Noisy, Order, Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.results import intervals
from tacit.query.results.intervals import interval
from tacit.query.results.release import Release, release

ROW = policy(unit=None)
COUNT, UNITS, PRESENT = ask_for("count"), ask_for("count_units"), ask_for("count", WHOLE)
MEAN = ask_for("avg", WHOLE, bounds(-4, 6))
FOUND = (Key(name="k", expression=key("k").expression, values=None),)
CONFIDENCES = (0.5, 0.95, 0.99)


def total(low: float, high: float) -> Ask:
    return ask_for("sum", WHOLE, bounds(low, high))


def law_of(law: Law, scale: float) -> tuple[NoiseLaw, dict[int, float]]:
    """Noise, and the probability of every integer that it takes but with probability 1e-15 or so."""
    amount = Fraction(scale) if law == "laplace" else Fraction(scale) ** 2
    reach = ceil(scale * (36 if law == "laplace" else 8)) + 3
    weights = {
        k: exp(-abs(k) / scale if law == "laplace" else -k * k / (2 * scale**2)) for k in range(-reach, reach + 1)
    }
    whole = sum(weights.values())
    return NoiseLaw(law=law, amount=amount, sensitivity=1, moving=1), {k: w / whole for k, w in weights.items()}


def ends_of(plan: Plan, integers: tuple[int, ...], noise: NoiseLaw, confidence: float) -> tuple[Interval, Interval]:
    """The interval of the first aggregate as its statistic has it, and as it is released."""
    released = [Released(plan.bundles[0], integers, noise)]
    found = interval(plan, Noisy(0, "real"), released, (), confidence)
    assert found is not None
    return STATISTICS[plan.aggregates[0].ask.function].interval(plan.aggregates[0].ask, released, confidence), found


Covers = tuple[float, float]


def coverage(plan: Plan, truth: int, law: Law, scale: float, confidence: float) -> Covers:
    """The probability that the interval holds a truth, before and after it is clipped."""
    noise, chances = law_of(law, scale)
    before = after = 0.0
    for drawn, chance in chances.items():
        first, last = ends_of(plan, (truth + drawn,), noise, confidence)
        before += chance * (first[0] <= truth <= first[1])
        after += chance * (last[0] <= truth <= last[1])
        assert last[0] <= last[1]
    return before, after


CASES = [
    (plan_of(ROW, COUNT), range(5)),
    (plan_of(ROW, PRESENT), range(3)),
    (plan_of(ROW, total(0, 9)), range(4)),
    (plan_of(ROW, total(2, 9)), [0, 2, 7]),  # 0 rows have a sum of 0
    (plan_of(ROW, total(-9, 0)), [0, -1, -5]),
    (plan_of(ROW, total(-9, 9)), [0, 4, -4]),
    (plan_of(ROW, COUNT, keys=FOUND), range(1, 4)),
    (plan_of(policy(rows=3), UNITS, keys=FOUND), range(1, 4)),
]


@pytest.mark.parametrize(("law", "scale"), [("laplace", 0.4), ("laplace", 2.0), ("gaussian", 1.5)])
@pytest.mark.parametrize("case", CASES)
def test_coverage_does_not_fall_and_rises_at_an_end_of_the_possible_values_only(
    case: tuple[Plan, list[int]], law: Law, scale: float
) -> None:
    plan, truths = case
    for truth, confidence in product(truths, CONFIDENCES):
        before, after = coverage(plan, truth, law, scale, confidence)
        assert after >= before >= confidence - 1e-9
        if truth not in possible_values(plan, plan.aggregates[0]):
            assert after == before


def test_a_bound_that_is_not_certain_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    listed, found = plan_of(ROW, COUNT), plan_of(policy(rows=3, reach=2), COUNT, keys=FOUND)
    monkeypatch.setattr(intervals, "possible_values", lambda _plan, _aggregate: (1.0, inf))
    for plan in (listed, found):
        before, after = coverage(plan, 0, "laplace", 2.0, 0.95)
        assert before >= 0.95 > after


def test_an_interval_outside_becomes_the_nearest_possible_point() -> None:
    noise, _ = law_of("laplace", 2.0)
    assert ends_of(plan_of(ROW, COUNT), (-50,), noise, 0.95) == ((-56, -44), (0, 0))
    assert ends_of(plan_of(ROW, total(-9, 0)), (50,), noise, 0.95)[1] == (0, 0)
    low, high = ends_of(plan_of(ROW, MEAN), (90, -30), noise, 0.95)[1]
    assert -4 <= low <= high <= 6


# --- what is possible ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "ask", "found", "expected"),
    [
        (ROW, COUNT, 0, (0, inf)),
        (ROW, COUNT, 1, (1, inf)),
        (policy(rows=3), COUNT, 1, (1, inf)),
        (policy(rows=3, reach=2), COUNT, 1, (0, inf)),
        (policy(rows=3, reach=2), UNITS, 1, (1, inf)),
        (policy(rows=3), PRESENT, 1, (0, inf)),
        (policy(rows=3), ask_for("count_distinct", WHOLE), 1, (0, inf)),
        (policy(rows=3), total(0, 5), 1, (0, inf)),
        (ROW, total(-5, 5), 0, (-inf, inf)),
        (ROW, MEAN, 0, (-4, 6)),
        (ROW, ask_for("avg", REAL, bounds(0, 2.5)), 0, (0, 2.5)),
    ],
)
def test_the_possible_values_of_each_aggregate(table: TablePolicy, ask: Ask, found: int, expected: Interval) -> None:
    plan = plan_of(table, ask, keys=FOUND if found else ())
    assert possible_values(plan, plan.aggregates[0]) == expected
    if ask.function != "avg":  # an average has no cut
        assert cut_values(plan, plan.aggregates[0]) == (expected if ask.function == "sum" else (0, inf))


def small_units() -> Iterator[list[dict[str, Value]]]:
    """All rows of one unit: up to four, each with or without a value."""
    for size in range(1, 5):
        for values in product([None, 0, 3, 10], repeat=size):
            yield [{"id": 1, "k": "a", "x": None, "n": value} for value in values]


@pytest.mark.parametrize("limit", [2, 3])
def test_the_count_of_a_found_group_with_one_unit_is_at_least_one_without_a_reach(limit: int) -> None:
    """By brute force over the rows of a unit, for a count alone and for one that shares the sums of an average."""
    for ask in (COUNT, MEAN):
        table = replace(policy(rows=limit), max_rows=limit)
        shared = arrange([ask, COUNT], table, found=True)[0][0]
        plan = replace(plan_of(table, COUNT, keys=FOUND), bundles=(shared,))
        for rows in small_units():
            integers = [contributions(measure, rows, limit)[0] for measure in shared.measures]
            row = 1 << shared.measures[0].fraction_bits
            if len(integers) > 1:
                row *= shared.measures[0].high - shared.measures[0].low
            assert sum(integers) >= row
            assert possible_values(plan, plan.aggregates[0])[0] <= sum(integers) / row


# --- answers -------------------------------------------------------------------------------------------------------


def answer_of(plan: Plan, exact: list[list[int]], epsilon: float = 0.2) -> Release:
    return release(plan, price(plan, Cost(epsilon=epsilon)), exact, {})


def test_intervals_after_a_choice_of_groups_and_their_charts_are_within_too() -> None:
    """Release 40 empty groups, whose noisy counts are all at least 0 with probability below 1e-10."""
    cells = [str(number) for number in range(40)]
    down = (Order(by=Noisy(0, "integer"), descending=False, nulls_first=False),)
    plan = plan_of(ROW, COUNT, keys=[key("k", *cells)], order=down, limit=20)
    answer = answer_of(plan, [[0] * 40])
    table = answer.intervals().dicts()
    assert any(row["a0"] < 0 for row in table)  # type: ignore[operator]
    assert all(row["a0_low"] == 0 <= row["a0_high"] for row in table)  # type: ignore[operator]
    bars = next(iter(answer.plot().to_dict()["datasets"].values()))
    assert [(bar["low"], bar["high"]) for bar in bars] == [(row["a0_low"], row["a0_high"]) for row in table]


def test_ratios_use_that_a_count_is_not_negative() -> None:
    share = Computed("divide", (Noisy(0, "integer"), Noisy(1, "integer")), "real")
    plan = plan_of(ROW, PRESENT, COUNT, more={"share": share})
    noise, _ = law_of("laplace", 2.0)
    released = [Released(bundle, (3,), noise) for bundle in plan.bundles]
    low, high = interval(plan, share, released, (), 0.95)  # type: ignore[misc]
    assert (low, high) == (0, inf)
    assert intervals._range(
        Computed("divide", (Constantly(6.0, "real"), Noisy(0, "real")), "real"), {0: (0, 3)}, ()
    ) == (2, inf)
    assert intervals._range(
        Computed("divide", (Constantly(6.0, "real"), Noisy(0, "real")), "real"), {0: (-3, 0)}, ()
    ) == (-inf, -2)


def test_clipping_keeps_ends_that_are_possible() -> None:
    assert clipped((1.0, 2.0), (0.0, inf)) == (1.0, 2.0)
    assert clipped((-inf, inf), (0.0, 5.0)) == (0.0, 5.0)
