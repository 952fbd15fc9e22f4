from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement
from math import ceil, erfc, exp, inf, log, nan, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bounded import REAL, WHOLE, Bounds, Row, ask_for, bounds, key, measured, plan_of, policy, with_contribution
from tacit.errors import InvalidError, TooMuchNoiseError
from tacit.guarantees import filters
from tacit.guarantees.composition import compose
from tacit.guarantees.events import DiscreteGaussianNoise, Neighbours
from tacit.guarantees.exact import Exact, Number
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.expressions import Expression
from tacit.query.noise_law import Law, sensitivity
from tacit.query.plan import Ask, Bundle, Key, Plan
from tacit.query.pricing.price import Cost, price


def pair_of(function: str, *values: tuple[Expression, Bounds]) -> Ask:
    return Ask(function=function, values=tuple(one for one, _ in values), bounds=tuple(ends for _, ends in values))


COUNT, UNITS = ask_for("count"), ask_for("count_units")
ASKS = {
    "count(*)": COUNT,
    "count(x)": ask_for("count", REAL),
    "count(distinct unit)": UNITS,
    "sum of whole numbers": ask_for("sum", WHOLE, bounds(0, 7)),
    "sum below zero": ask_for("sum", WHOLE, bounds(-7, -2)),
    "sum of both signs": ask_for("sum", WHOLE, bounds(-5, 3)),
    "sum of reals": ask_for("sum", REAL, bounds(-0.3, 0.7)),
    "avg": ask_for("avg", WHOLE, bounds(-5, 3)),
    "avg of reals": ask_for("avg", REAL, bounds(0.1, 0.4)),
    "variance": ask_for("var_pop", WHOLE, bounds(-5, 3)),
    "variance of reals": ask_for("stddev_samp", REAL, bounds(0.1, 0.4)),
    "covariance": pair_of("covar_pop", (REAL, bounds(-0.3, 0.7)), (WHOLE, bounds(-5, 3))),
    "correlation": pair_of("corr", (REAL, bounds(-0.3, 0.7)), (WHOLE, bounds(-5, 3))),
    "count(distinct n)": ask_for("count_distinct", WHOLE),
    "count(distinct x)": ask_for("count_distinct", REAL),
}
KEYS: tuple[tuple[Key, ...], ...] = (
    (),
    (key("k", "a", "b"),),
    (key("k", "a", "b", None),),
    (key("k", "a"), key("m", "p", "q", "r")),
)
MANY = (key("k", *(f"k{i}" for i in range(30))),)
RELATIONS: tuple[Neighbours, ...] = ("add/remove", "change one")


# --- sensitivity, against all neighbours of small tables -----------------------------------------------------


def neighbouring(plan: Plan, others: Sequence[Row], kinds: Sequence[Row], most: int) -> list[list[list[int]]]:
    """Measure the table with a unit 0 that has each multiset of up to `most` rows; the first is empty."""
    sets = chain.from_iterable(combinations_with_replacement(kinds, size) for size in range(most + 1))
    return [measured(plan, [*others, *({**row, "id": 0} for row in rows)]) for rows in sets]


def farthest(plan: Plan, tables: list[list[list[int]]], place: int) -> tuple[int, int]:
    """Return how far a bundle moves at most between neighbours: in L1, and in L2 squared."""
    first = sum(len(bundle.measures) for bundle in plan.bundles[:place])
    own = range(first, first + len(plan.bundles[place].measures))
    vectors = list({tuple(chain.from_iterable(table[i] for i in own)): None for table in tables})
    pairs = (
        ((vectors[0], one) for one in vectors[1:])
        if plan.table.neighbours == "add/remove"
        else combinations(vectors, 2)
    )
    moves = [[abs(x - y) for x, y in zip(*pair, strict=True)] for pair in pairs]
    return max(map(sum, moves), default=0), max((sum(m * m for m in move) for move in moves), default=0)


VALUES = st.sampled_from([None, nan, inf, -inf, -9.0, -5.0, -0.3, 0.0, 0.1, 0.25, 0.4, 0.7, 2.0, 3.0, 7.0, 50.0])


@st.composite
def row_kinds(draw: st.DrawFn) -> Row:
    x = draw(VALUES)
    whole = None if x is None or x != x or abs(x) == inf else int(x)  # noqa: PLR0124 - NaN
    return {"k": draw(st.sampled_from(["a", "b", None, "?"])), "m": draw(st.sampled_from("pqr?")), "x": x, "n": whole}


@given(
    st.sampled_from(sorted(ASKS)),
    st.sampled_from(RELATIONS),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(KEYS),
    st.lists(row_kinds(), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(1, 3) | st.none(), row_kinds()), max_size=4),
)
@settings(max_examples=300, deadline=None)
def test_no_neighbour_moves_a_bundle_further_than_its_sensitivity(
    ask: str,
    neighbours: Neighbours,
    groups: int,
    rows: int,
    keys: tuple[Key, ...],
    kinds: list[Row],
    others: list[tuple[int | None, Row]],
) -> None:
    plan = plan_of(policy(groups=groups, rows=rows, neighbours=neighbours), ASKS[ask], COUNT, keys=keys)
    tables = neighbouring(plan, [{**row, "id": unit} for unit, row in others], kinds, 4)
    for place, bundle in enumerate(plan.bundles):
        l1, l2_squared = farthest(plan, tables, place)
        assert l1 <= sensitivity(plan, bundle, "laplace")
        assert l2_squared <= sensitivity(plan, bundle, "gaussian")


ENDS: list[Row] = [{"k": k, "m": "p", "x": x, "n": int(x)} for k in "ab" for x in (-9.0, 9.0)]
ATTAINED = [
    ("count(*)", "add/remove", 1, 2),
    ("count(x)", "add/remove", 2, 2),
    ("count(*)", "change one", 1, 2),
    ("count(distinct unit)", "change one", 1, 3),
    ("sum of whole numbers", "add/remove", 2, 1),
    ("sum of whole numbers", "change one", 2, 2),
    ("sum below zero", "change one", 1, 2),
    ("sum of both signs", "add/remove", 1, 3),
    ("avg", "add/remove", 2, 2),
    ("avg", "change one", 1, 2),
    ("avg of reals", "change one", 2, 1),
    ("variance", "add/remove", 2, 2),
    ("variance of reals", "change one", 1, 2),
    ("covariance", "add/remove", 1, 2),
    ("covariance", "change one", 2, 2),
    ("count(distinct n)", "add/remove", 2, 2),
    ("count(distinct x)", "change one", 1, 2),
]


@pytest.mark.parametrize(("ask", "neighbours", "groups", "rows"), ATTAINED)
def test_the_sensitivity_is_attained_so_that_a_planted_smaller_reach_is_found(
    ask: str, neighbours: Neighbours, groups: int, rows: int
) -> None:
    plan = plan_of(policy(groups=groups, rows=rows, neighbours=neighbours), ASKS[ask], keys=KEYS[1])
    (bundle,) = plan.bundles
    l1, l2_squared = farthest(plan, neighbouring(plan, [], ENDS, 4), 0)
    assert l1 == sensitivity(plan, bundle, "laplace")
    planted = with_contribution(bundle, bundle.contribution - 1)
    assert l1 > sensitivity(plan, planted, "laplace")
    assert l2_squared == sensitivity(plan, bundle, "gaussian") > sensitivity(plan, planted, "gaussian")


def test_a_mixed_sum_attains_twice_its_reach_up_to_its_narrower_side() -> None:
    even = ask_for("sum", WHOLE, bounds(-4, 4))
    plan = plan_of(policy(groups=2, rows=2, neighbours="change one"), even, keys=KEYS[1])
    l1, l2_squared = farthest(plan, neighbouring(plan, [], ENDS, 4), 0)
    assert l1 == sensitivity(plan, plan.bundles[0], "laplace") == 2 * 2 * plan.bundles[0].contribution
    assert l2_squared == sensitivity(plan, plan.bundles[0], "gaussian") == 2 * 4 * plan.bundles[0].contribution ** 2


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_count_of_a_whole_table_moves_by_one_if_one_row_changes(law: Law) -> None:
    plan = plan_of(policy(neighbours="change one", unit=None), COUNT)
    assert sensitivity(plan, plan.bundles[0], law) == 1
    assert price(plan, Cost(epsilon=1)).noise[0].moving == 1
    grouped = plan_of(policy(neighbours="change one", unit=None), COUNT, keys=KEYS[1])
    assert sensitivity(grouped, grouped.bundles[0], law) == 2
    assert price(grouped, Cost(epsilon=1)).noise[0].moving == 2


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("keys", KEYS)
def test_no_neighbour_moves_more_integers_than_the_event_says(
    neighbours: Neighbours, groups: int, keys: tuple[Key, ...]
) -> None:
    plan = plan_of(policy(groups=groups, rows=2, neighbours=neighbours), ASKS["avg"], keys=keys)
    kinds: list[Row] = [{"k": k, "m": m, "x": 0.0, "n": n} for k in ("a", "b", None) for m in "pq" for n in (-9, 1)]
    vectors = [tuple(chain.from_iterable(table)) for table in neighbouring(plan, [], kinds, 2)]
    pairs = combinations(vectors, 2) if neighbours == "change one" else ((vectors[0], v) for v in vectors)
    moved = max(sum(x != y for x, y in zip(*pair, strict=True)) for pair in pairs)
    assert moved <= price(plan, Cost(epsilon=1)).noise[0].moving


# --- prices ---------------------------------------------------------------------------------------------------

amounts = st.fractions(min_value=Fraction(1, 100), max_value=20, max_denominator=10**6)
weights = st.lists(st.fractions(min_value=Fraction(1, 5), max_value=5, max_denominator=100), min_size=1, max_size=5)


def weighted(weights: Sequence[Fraction], neighbours: Neighbours = "add/remove") -> Plan:
    asks = [ASKS[name] for name in sorted(ASKS)][: len(weights)]
    plan = plan_of(policy(groups=2, rows=3, neighbours=neighbours), *asks, keys=KEYS[2])
    bundles = [replace(bundle, weight=w) for bundle, w in zip(plan.bundles, weights, strict=True)]
    return replace(plan, bundles=tuple(bundles))


@given(weights, amounts, st.sampled_from(RELATIONS))
def test_laplace_noise_costs_exactly_epsilon_in_shares_that_sum_to_one(
    weights: list[Fraction], epsilon: Fraction, neighbours: Neighbours
) -> None:
    plan = weighted(weights, neighbours)
    found = price(plan, Cost(epsilon=epsilon))
    assert sum(found.shares) == 1
    assert [share * sum(weights) for share in found.shares] == weights
    costs = [filters.price(PureDP(epsilon=1), event) for event in found.events]
    assert [cost.loss for cost in costs] == [epsilon * share for share in found.shares]
    assert all(cost.delta == 0 for cost in costs)
    assert found.guarantee == PureDP(epsilon=Exact(epsilon))
    assert found.events == tuple(law.event for law in found.noise)
    for bundle, law in zip(plan.bundles, found.noise, strict=True):
        assert (law.law, law.sensitivity) == ("laplace", sensitivity(plan, bundle, "laplace"))


@given(weights, amounts, st.sampled_from(RELATIONS))
def test_rho_is_spent_exactly(weights: list[Fraction], rho: Fraction, neighbours: Neighbours) -> None:
    plan = weighted(weights, neighbours)
    found = price(plan, Cost(rho=rho))
    assert sum(found.shares) == 1
    losses = [filters.price(ZCDP(rho=1), event).loss for event in found.events]
    assert losses == [rho * share for share in found.shares]
    assert sum(losses) == rho
    assert found.guarantee == ZCDP(rho=Exact(rho))
    assert {law.law for law in found.noise} == {"gaussian"}
    for bundle, law in zip(plan.bundles, found.noise, strict=True):
        assert law.sensitivity == sensitivity(plan, bundle, "gaussian")


CERTIFIED = [
    ((COUNT,), "add/remove", 30, 1.0, 1e-6),
    ((COUNT, ASKS["sum of reals"]), "add/remove", 12, 0.5, 1e-5),
    ((COUNT, ASKS["avg"]), "change one", 20, 2.0, 1e-8),
]


@pytest.mark.parametrize(("asks", "neighbours", "groups", "epsilon", "delta"), CERTIFIED)
def test_gaussian_noise_keeps_its_promise_and_two_percent_less_would_not(
    asks: tuple[Ask, ...], neighbours: Neighbours, groups: int, epsilon: float, delta: float
) -> None:
    plan = plan_of(policy(groups=groups, rows=2, neighbours=neighbours), *asks, keys=MANY)
    found = price(plan, Cost(epsilon=epsilon, delta=delta))
    assert {law.law for law in found.noise} == {"gaussian"}
    events = [law.event for law in found.noise]
    assert compose(events).delta(epsilon=epsilon).upper <= delta
    less = [replace(event, variance=event.variance * Fraction(98, 100) ** 2) for event in gaussians(events)]
    assert not certain(less, epsilon, delta)
    assert found.guarantee == ApproxDP(epsilon=epsilon, delta=delta)
    (event,) = found.events
    cost = filters.price(ApproxDP(epsilon=1, delta=0.1), event)
    assert (cost.loss, cost.delta) == (Fraction(repr(epsilon)), Fraction(repr(delta)))


def gaussians(events: Sequence[object]) -> list[DiscreteGaussianNoise]:
    return [event for event in events if isinstance(event, DiscreteGaussianNoise)]


def certain(events: Sequence[DiscreteGaussianNoise], epsilon: float, delta: float) -> bool:
    """Return whether the continuous law is (ε, δ)-DP (Balle and Wang); here the discrete law is not more private."""
    mu = sqrt(sum(event.l2_squared / event.variance for event in events))
    return analytic_delta(mu, epsilon) <= delta


def analytic_delta(mu: float, epsilon: float) -> float:
    above, below = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return (erfc(-above / sqrt(2)) - exp(epsilon) * erfc(-below / sqrt(2))) / 2


def expected_ratio(plan: Plan, epsilon: float, delta: float) -> float:
    """95 % error of Gaussian over that of Laplace noise, averaged over bundles, from the continuous laws."""
    mu = float(brentq(lambda m: analytic_delta(m, epsilon) / delta - 1, 0.01, 5.0))
    share = 1 / len(plan.bundles)
    ratios = []
    for bundle in plan.bundles:
        sigma = sqrt(sensitivity(plan, bundle, "gaussian") / share) / mu
        scale = sensitivity(plan, bundle, "laplace") / (epsilon * share)
        ratios.append(1.959964 * sigma / (scale * log(20)))
    return sum(ratios) / len(ratios)


@pytest.mark.parametrize("groups", [1, 2, 4, 6, 12, 30])
@pytest.mark.parametrize("asks", [(COUNT,), (COUNT, ASKS["avg"], ASKS["sum of whole numbers"])])
def test_the_law_with_the_smaller_error_is_chosen_and_the_reason_said(groups: int, asks: tuple[Ask, ...]) -> None:
    plan = plan_of(policy(groups=groups, rows=20), *asks, keys=MANY)
    expected = expected_ratio(plan, 1.0, 1e-6)
    assert not 0.97 < expected < 1.03  # no ties among these
    found = price(plan, Cost(epsilon=1, delta=1e-6))
    (law,) = {noise.law for noise in found.noise}
    assert law == ("gaussian" if expected < 1 else "laplace")
    assert found.why.startswith(law.capitalize())
    said = float(found.why.split(" times")[0].rsplit(" ", 1)[1])
    assert said == pytest.approx(expected, rel=0.04)
    if law == "laplace":  # δ is not spent
        assert found.guarantee == PureDP(epsilon=1)


def test_without_delta_the_reason_is_that() -> None:
    assert "without δ" in price(plan_of(policy(), COUNT), Cost(epsilon=1)).why
    assert "zCDP" in price(plan_of(policy(), COUNT), Cost(rho=1)).why
    assert "without δ" not in price(plan_of(policy(), COUNT), Cost(epsilon=1, delta=1e-6)).why


@pytest.mark.parametrize("bad", [0, -1, nan, inf, -inf, True, "1", 1e-320, [1], 1j])
def test_a_bad_epsilon_or_rho_is_refused_by_name(bad: Number) -> None:
    plan = plan_of(policy(), COUNT)
    with pytest.raises(InvalidError, match="epsilon"):
        price(plan, Cost(epsilon=bad))
    with pytest.raises(InvalidError, match="rho"):
        price(plan, Cost(rho=bad))


@pytest.mark.parametrize("bad", [1, 1.5, -1e-9, nan, inf, True, "0", [0]])
def test_a_bad_delta_is_refused_by_name(bad: Number) -> None:
    with pytest.raises(InvalidError, match="delta"):
        price(plan_of(policy(), COUNT), Cost(epsilon=1, delta=bad))


def test_epsilon_and_rho_exclude_each_other_and_delta_goes_with_epsilon() -> None:
    plan = plan_of(policy(), COUNT)
    with pytest.raises(InvalidError, match="Exactly one of epsilon and rho"):
        price(plan, Cost(epsilon=1, rho=1))
    with pytest.raises(InvalidError, match="Exactly one of epsilon and rho"):
        price(plan, Cost())
    with pytest.raises(InvalidError, match="delta cannot be combined with rho"):
        price(plan, Cost(rho=1, delta=1e-6))


@pytest.mark.parametrize("epsilon", [1e-17, 1e-30, 1e-300, 1e-307])
def test_noise_beyond_64_bits_is_refused_by_the_argument_that_asks_for_it(epsilon: float) -> None:
    plan = plan_of(policy(rows=100), ASKS["sum of reals"])
    with pytest.raises(TooMuchNoiseError, match="larger epsilon"):
        price(plan, Cost(epsilon=epsilon))
    with pytest.raises(TooMuchNoiseError, match="larger rho"):
        price(plan, Cost(rho=epsilon * epsilon if epsilon > 1e-150 else epsilon))


def test_laplace_noise_that_fits_is_used_where_gaussian_noise_would_not_fit() -> None:
    plan = plan_of(policy(), COUNT)
    found = price(plan, Cost(epsilon=Fraction(1, 2**55), delta=1e-30))
    assert found.noise[0].law == "laplace"
    wide = plan_of(policy(groups=30), COUNT, keys=MANY)
    found = price(wide, Cost(epsilon=Fraction(30, 2**56), delta=Fraction(1, 1000)))
    assert all(law.scale <= 2**56 for law in found.noise)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_quantile_is_that_of_the_drawn_law(law: Law) -> None:
    plan = plan_of(policy(groups=2, rows=3), COUNT, keys=KEYS[1])
    (noise,) = (price(plan, Cost(epsilon=0.7)) if law == "laplace" else price(plan, Cost(rho=0.01))).noise
    reach = ceil(60 * noise.scale)
    power = 1 if law == "laplace" else 2
    weights = [exp(-((abs(k) / noise.scale) ** power) / power) for k in range(-reach, reach + 1)]
    for beta in (0.5, 0.05, 0.001):
        t = noise.quantile(Fraction(repr(beta)))
        inside = [sum(weights[reach - r : reach + r + 1]) / sum(weights) for r in (t - 1, t)]
        assert inside[0] < 1 - beta <= inside[1]


def test_bundles_that_share_nothing_have_shares_of_their_own() -> None:
    plan = plan_of(policy(), COUNT, UNITS)
    assert price(plan, Cost(epsilon=1)).shares == (Fraction(1, 2), Fraction(1, 2))
    heavier: tuple[Bundle, ...] = (plan.bundles[0], replace(plan.bundles[1], weight=Fraction(3)))
    assert price(replace(plan, bundles=heavier), Cost(epsilon=1)).shares == (Fraction(1, 4), Fraction(3, 4))
