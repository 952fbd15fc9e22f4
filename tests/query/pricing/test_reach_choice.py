"""The private choice of a reach: its privacy by brute force over small tables, its law by draws, and its limits."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounded import WHOLE, ask_for, bounds, key, plan_of, policy
from evidence import FALSE_ALARM, miss, p_value
from policies import table_policy
from tacit.errors import InvalidError, RefusedError
from tacit.guarantees.events import BoundedRange, Neighbours, ZCDPRelease
from tacit.guarantees.filters import price as event_price
from tacit.guarantees.values import ZCDP
from tacit.query.noise_law import sensitivity
from tacit.query.pricing.price import Cost, price
from tacit.query.pricing.reach_choice import (
    CANDIDATES,
    GUESSED_GROUPS,
    ReachChoice,
    answerable,
    epsilon_of_rho,
    noise_a_row,
    reach_choice,
)
from tacit.query.sql.parse import parse
from tacit.query.unit_sizes import BINS, EDGES, SHARE_BITS, shown_plan, size_plan

Unit = tuple[int, Fraction]
"""The number of a unit's rows, and its share of the largest sum that they could have; 1 if rows are counted."""

Units = tuple[Unit, ...]
Exponents = Callable[[ReachChoice, Sequence[int]], list[Fraction]]

RELATIONS: tuple[Neighbours, ...] = ("add/remove", "change one")
KEYS = [key("k", "a", "b", "c")]
ONE = Fraction(1)
COUNTED: list[Unit] = [(size, ONE) for size in (1, 2, 3, 5, 9)]
SHARED: list[Unit] = [(size, Fraction(part, 4)) for size in (1, 3, 9) for part in (0, 1, 4)]
SUM = ask_for("sum", WHOLE, bounds(0, 4))


def choice_for(
    epsilon: Fraction = Fraction(1, 3),
    *,
    fixed: bool = False,
    shares: bool = False,
    neighbours: Neighbours = "add/remove",
    spend: Fraction = Fraction(2),
    largest: int = 16,
    groups: int = 3,
) -> ReachChoice:
    """Return the choice for a count, or for a sum, in some groups."""
    plan = plan_of(
        policy(groups=None, rows=None, reach=1, neighbours=neighbours),
        SUM if shares else ask_for("count"),
        keys=[key("k", *map(str, range(groups)))],
    )
    return reach_choice(plan, price(plan, Cost(epsilon=spend)).noise, epsilon, upto(largest), fixed=fixed)


def upto(largest: int) -> tuple[int, ...]:
    """Return the candidates up to a reach."""
    return tuple(candidate for candidate in CANDIDATES if candidate <= largest)


def histogram(units: Units, fraction_bits: int) -> list[int]:
    """Return the integers of the histogram, by their definition."""
    sizes = [0] * BINS
    for rows, share in units:
        sizes[bisect_left(EDGES, rows)] += int(share * 2**fraction_bits)
    return sizes


def tables(kinds: list[Unit], most: int) -> Iterator[Units]:
    for number in range(most + 1):
        yield from combinations_with_replacement(kinds, number)


def neighbours_of(units: Units, kinds: list[Unit], relation: Neighbours) -> Iterator[Units]:
    """Yield every table with a unit more, or with other rows of one unit; a removal is the reverse of an addition."""
    if relation == "add/remove":
        yield from (tuple(sorted((*units, unit))) for unit in kinds)
        return
    for place, unit in product(range(len(units)), kinds):
        yield tuple(sorted((*units[:place], unit, *units[place + 1 :])))


def longest_range(choice: ReachChoice, kinds: list[Unit], most: int, relation: Neighbours, law: Exponents) -> Fraction:
    """Return the longest interval of exponents' differences over all pairs of neighbours.

    The privacy loss of candidate j is such a difference plus a number that does not depend on j. So its interval is as
    long as that of the differences.
    """
    bits = choice.plan.bundles[0].measures[0].fraction_bits

    @cache
    def exponents(units: Units) -> list[Fraction]:
        return law(choice, histogram(units, bits))

    longest = Fraction(0)
    for units in tables(kinds, most):
        for others in neighbours_of(units, kinds, relation):
            moved = [a - b for a, b in zip(exponents(units), exponents(others), strict=True)]
            longest = max(longest, max(moved) - min(moved))
    return longest


CASES = list(product(RELATIONS, (False, True), (False, True), (1, 4, 12)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("relation", "fixed", "shares", "groups"), CASES)
def test_the_privacy_loss_is_in_an_interval_of_length_epsilon(
    relation: Neighbours, groups: int, *, fixed: bool, shares: bool
) -> None:
    choice = choice_for(fixed=fixed, shares=shares, neighbours=relation, groups=groups)
    assert (choice.plan.bundles[0].measures[0].fraction_bits == SHARE_BITS) is shares
    kinds, most = (SHARED, 3) if shares else (COUNTED, 4)
    longest = longest_range(choice, kinds, most, relation, ReachChoice.exponents)
    assert 0 < longest <= choice.epsilon
    assert choice.event == BoundedRange(epsilon=choice.epsilon)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("spend", [Fraction(1, 2), Fraction(20)])
def test_so_it_is_for_other_targets(relation: Neighbours, spend: Fraction) -> None:
    for fixed in (False, True):
        choice = choice_for(fixed=fixed, neighbours=relation, spend=spend)
        assert longest_range(choice, COUNTED, 3, relation, ReachChoice.exponents) <= choice.epsilon


@pytest.mark.sampled(2)
@pytest.mark.parametrize("caution", [Fraction(0), Fraction(1, 3), Fraction(1)])
@pytest.mark.parametrize(("kinds", "most"), [(COUNTED, 4), (SHARED, 3)])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_whole_interval_is_used_and_no_more(
    caution: Fraction, kinds: list[Unit], most: int, relation: Neighbours
) -> None:
    """Some tables pass a target of 2 units: there one exponent rises by α·ε or β·ε while another falls by the rest."""
    choice = targeted(choice_for(shares=kinds is SHARED, neighbours=relation), caution)
    longest = longest_range(choice, kinds, most, relation, ReachChoice.exponents)
    assert longest == choice.epsilon


def targeted(choice: ReachChoice, caution: Fraction) -> ReachChoice:
    """Return a choice with targets that small tables pass."""
    return replace(choice, targets=(Fraction(2),) * len(choice.targets), caution=caution)


# --- planted errors are found ---------------------------------------------------------------------------------------


def whole_score(choice: ReachChoice, sizes: Sequence[int]) -> list[Fraction]:
    """Return exponents of 2·ε in place of ε."""
    return replace(choice, epsilon=2 * choice.epsilon).exponents(sizes)


def two_whole_sides(choice: ReachChoice, sizes: Sequence[int]) -> list[Fraction]:
    """Return exponents in which a unit weighs 1 on both sides: α = β = 1."""
    sides = []
    for caution in (0, 2):  # α = 1 and β = 0, then α = 0 and β = 1
        side = replace(choice, caution=Fraction(caution))
        costs = [side._cost(reach) for reach in side.candidates]
        sides.append([exponent + cost for exponent, cost in zip(side.exponents(sizes), costs, strict=True)])
    return list(map(min, *sides))


def penalty_of_data(choice: ReachChoice, sizes: Sequence[int]) -> list[Fraction]:
    """Return exponents with a penalty that grows with the number of units above a row."""
    many = sum(sizes[1:])
    return [exponent - many * place * choice.epsilon for place, exponent in enumerate(choice.exponents(sizes))]


def rows_for_units(choice: ReachChoice, sizes: Sequence[int]) -> list[Fraction]:
    """Return exponents of a histogram in which a unit adds its rows in place of 1."""
    return choice.exponents([number * ([*EDGES, 2 * EDGES[-1]][place]) for place, number in enumerate(sizes)])


ERRORS: dict[str, Exponents] = {
    "a unit weighs 1 on both sides": two_whole_sides,
    "a score counts twice": whole_score,
    "a penalty depends on the data": penalty_of_data,
    "a unit adds its rows": rows_for_units,
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ERRORS)
def test_a_planted_error_is_found(name: str, relation: Neighbours) -> None:
    choice = targeted(choice_for(neighbours=relation), Fraction(1))
    assert longest_range(choice, COUNTED, 4, relation, ERRORS[name]) > choice.epsilon


# --- the law --------------------------------------------------------------------------------------------------------

SIZES = histogram(tuple([(1, ONE)] * 40 + [(2, ONE)] * 12 + [(3, ONE)] * 9 + [(5, ONE)] * 8 + [(9, ONE)] * 6), 0)


def law_of(exponents: Sequence[Fraction]) -> list[float]:
    weights = [exp(exponent - max(exponents)) for exponent in exponents]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("fixed", [False, True])
def test_draws_have_the_stated_law_and_another_law_would_be_seen(*, fixed: bool) -> None:
    """A true law fails with probability at most 1e-13; draws of it pass as the planted law with less than that."""
    choice, draws = choice_for(fixed=fixed), 1 << 13
    law, planted = law_of(choice.exponents(SIZES)), law_of(whole_score(choice, SIZES))
    counts = Counter(choice.choose(SIZES) for _ in range(draws))
    seen = [counts[candidate] for candidate in choice.candidates]
    assert sum(seen) == draws
    assert p_value(seen, law) > FALSE_ALARM
    assert miss(planted, law, draws) < FALSE_ALARM
    assert p_value(seen, planted) < FALSE_ALARM


@pytest.mark.parametrize(
    ("groups", "alpha", "beta", "added", "start"), [(1, 1.0, 0.0, 0, 3), (12, 0.5, 0.5, 7, 0), (400, 0.5, 0.5, 7, 0)]
)
def test_the_exponents_are_those_of_the_module(groups: int, alpha: float, beta: float, added: int, start: int) -> None:
    choice = choice_for(groups=groups)
    above = [sum(SIZES[j + 1 :]) for j in range(len(choice.candidates))]
    assert above[:9] == [35, 23, 14, 14, 6, 6, 6, 6, 0]
    targets = [groups / 2 + added / float(choice.epsilon)] * len(above)
    for j, exponent in enumerate(choice.exponents(SIZES)):
        early = 0 if j == 0 else beta * (targets[j - 1] - above[j - 1])
        moved = max(0, alpha * (above[j] - targets[j]), early)
        cost = 2.5 * np.log(choice.candidates[j]) + (start if j else 0)
        assert float(exponent) == pytest.approx(-float(choice.epsilon) * moved - cost, abs=1e-3)


def test_between_one_group_and_twelve_the_law_becomes_cautious() -> None:
    assert [choice_for(groups=groups).caution for groups in (1, 2, 6, 11, 12, 13)] == [
        *(Fraction(part, 11) for part in (0, 1, 5, 10)),
        *(1, 1),
    ]
    chances = [law_of(choice_for(groups=groups).exponents(SIZES))[-1] for groups in (1, 4, 12)]
    assert chances == sorted(chances, reverse=True)


def test_with_much_epsilon_the_least_reach_with_few_units_above_is_chosen() -> None:
    choice = replace(choice_for(Fraction(1000)), targets=(Fraction(7),) * len(choice_for().targets))
    assert {choice.choose(SIZES) for _ in range(20)} == {5}
    nobody = replace(choice, targets=(Fraction(1, 2),) * len(choice.targets))
    assert {nobody.choose(SIZES) for _ in range(20)} == {10}
    assert {choice.choose([0] * BINS) for _ in range(20)} == {1}


# --- the plan -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_histogram_moves_by_one_unit(relation: Neighbours) -> None:
    table = policy(groups=4, rows=7, reach=20, neighbours=relation)
    plan = plan_of(table, ask_for("count"), SUM, keys=KEYS)
    for sized in (size_plan(plan), size_plan(plan, plan.bundles[1].measures[0]), shown_plan(plan)):
        for bundle in sized.bundles:
            one = 1 << bundle.measures[0].fraction_bits
            assert sensitivity(sized, bundle, "laplace") == one * (2 if relation == "change one" else 1)
            assert sensitivity(sized, bundle, "gaussian") == one**2 * (2 if relation == "change one" else 1)


def test_listed_groups_are_counted_and_found_groups_are_guessed() -> None:
    schema = {"id": "integer", "k": "text", "g": "text"}
    table = table_policy("t", schema, unit="id", reach=1, max_groups=2, keys={"k": ["a", "b", "c"]})  # type: ignore[arg-type]
    listed = parse("SELECT k, count(*) AS n FROM t GROUP BY k", {"t": table})
    found = parse("SELECT g, count(*) AS n FROM t GROUP BY g", {"t": table})
    both = parse("SELECT k, g, count(*) AS n FROM t GROUP BY k, g", {"t": table})
    for plan, groups, delta in ((listed, 3, None), (found, GUESSED_GROUPS, 1e-6), (both, GUESSED_GROUPS, 1e-6)):
        noise = price(plan, Cost(epsilon=1, delta=delta)).noise
        choice = reach_choice(plan, noise, Fraction(1, 10), upto(8), fixed=False)
        added = 70 * Fraction(min(groups - 1, 11), 11)
        assert set(choice.targets) == {Fraction(groups * noise_a_row(plan, noise)) + added}
        assert choice.candidates == (1, 2, 3, 4, 5, 6, 7, 8)
        assert [one.name for one in choice.plan.within] == [one.name for one in plan.keys if one.values is not None]
        assert choice.plan.keys == ()


def test_the_target_for_a_count_is_groups_over_epsilon() -> None:
    """The mean absolute noise of a count at a reach of 1 is 1/ε: exactly, since Laplace noise has the scale 1/ε."""
    choice = choice_for(spend=Fraction(2), groups=1)
    assert set(map(float, choice.targets)) == {1 / 2}
    changed = choice_for(spend=Fraction(2), neighbours="change one", groups=20)
    assert set(map(float, changed.targets)) == {20 + 7 / changed.epsilon}


@pytest.mark.parametrize("reach", [1, 10])
def test_with_a_given_error_the_target_falls_with_the_reach(reach: int) -> None:
    """The noise is the same for every reach, so b is the mean absolute noise itself: T = G·b/R, from any plan."""
    plan = plan_of(policy(groups=None, rows=None, reach=reach), ask_for("count"), keys=KEYS)
    noise = price(plan, Cost(epsilon=Fraction(reach, 5))).noise
    choice = reach_choice(plan, noise, Fraction(1, 10), upto(16), fixed=True)
    assert list(map(float, choice.targets)) == pytest.approx(
        [3 * 5 / candidate + 70 * 2 / 11 for candidate in choice.candidates]
    )


def test_a_sum_of_one_sign_takes_shares_and_others_count_units() -> None:
    table = policy(groups=None, rows=None, reach=1)

    def fraction_bits(*asks: object) -> int:
        plan = plan_of(table, *asks)  # type: ignore[arg-type]
        sized = reach_choice(plan, price(plan, Cost(epsilon=1)).noise, ONE, upto(16), fixed=False).plan
        return sized.bundles[0].measures[0].fraction_bits

    assert fraction_bits(SUM) == fraction_bits(ask_for("sum", WHOLE, bounds(-4, 0))) == SHARE_BITS
    assert fraction_bits(ask_for("sum", WHOLE, bounds(-4, 4))) == 0
    assert fraction_bits(ask_for("count")) == fraction_bits(SUM, ask_for("count")) == 0
    assert fraction_bits(ask_for("avg", WHOLE, bounds(0, 4))) == 0
    assert fraction_bits(ask_for("quantile", WHOLE, bounds(0, 4))) == 0
    assert fraction_bits(ask_for("count_units")) == 0


# --- limits ---------------------------------------------------------------------------------------------------------


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**6))
def test_the_epsilon_of_rho_never_costs_more_and_hardly_less(rho: Fraction) -> None:
    epsilon = epsilon_of_rho(rho)
    assert epsilon**2 / 8 <= rho
    assert (epsilon + Fraction(1, 2**64)) ** 2 / 8 > rho
    budget = ZCDP(rho=10**7)
    assert event_price(budget, BoundedRange(epsilon=epsilon)).loss <= event_price(budget, ZCDPRelease(rho=rho)).loss


@pytest.mark.parametrize("refusal", [InvalidError("no", argument="reach"), RefusedError("no")])
@pytest.mark.parametrize("most", [1, 2, 5, 1000, CANDIDATES[-1]])
def test_the_largest_reach_is_the_last_that_is_not_refused(most: int, refusal: Exception) -> None:
    attempts: list[int] = []

    def attempt(reach: int) -> None:
        attempts.append(reach)
        if reach > most:
            raise refusal

    assert answerable(attempt) == upto(most)
    assert attempts[0] == 1
    assert len(attempts) <= 8


def test_refused_reaches_below_one_that_is_not_are_candidates() -> None:
    def attempt(reach: int) -> None:
        if reach in (6, 16) or reach > 100:
            raise RefusedError("no")

    assert answerable(attempt) == upto(100)  # `choosing.alternatives` has what is tried if 6 or 16 is drawn


def test_an_error_at_a_reach_of_one_is_raised() -> None:
    def attempt(reach: int) -> None:
        raise InvalidError(f"not {reach}", argument="epsilon")

    with pytest.raises(InvalidError, match="not 1"):
        answerable(attempt)


def test_candidates_are_limits_that_can_be_given() -> None:
    assert CANDIDATES[:13] == (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20)
    assert CANDIDATES[-1] <= 10**9 < EDGES[EDGES.index(CANDIDATES[-1]) + 1]
    assert choice_for(largest=10**9).candidates == CANDIDATES


def test_an_epsilon_that_is_too_small_is_refused() -> None:
    assert [choice_for(Fraction(1, 10), groups=groups).resolution for groups in (1, 3, 12)] == [48, 59, 105]
    with pytest.raises(InvalidError, match="is too small: the choice would be pure chance") as caught:
        choice_for(Fraction(1, 10**8))
    assert caught.value.argument == "reach"
    assert caught.value.hint == "Use a larger cost or a larger share, or give reach as a number."


def test_a_record_has_the_reach_and_the_event() -> None:
    record = choice_for().record(12)
    assert record["reach"] == 12
    assert record["event"] == '{"epsilon":"1/3","event":"BoundedRange","version":1}'
