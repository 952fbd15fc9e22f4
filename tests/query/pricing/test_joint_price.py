"""The joint price of a list: families of disjoint queries composed by their privacy-loss laws, and their options."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest

from tacit.guarantees.composition import compose
from tacit.guarantees.events import (
    ApproxRelease,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    Neighbours,
    PureRelease,
)
from tacit.guarantees.values import ApproxDP
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.pricing import joint_price as module
from tacit.query.pricing.disjoint_parts import entering_row
from tacit.query.pricing.joint_price import JointPrice, _dominates, _is_above, joint_price
from tacit.query.pricing.price import Cost, Price, price, whole_event
from tacit.query.sql.parse import parse

BUDGET, DELTA = ApproxDP(epsilon=100, delta=1e-3), Fraction(1, 10**6)
Query = tuple[Plan, Price]


def query(text: str, epsilon: float, relation: Neighbours = "add/remove", delta: float | None = None) -> Query:
    columns = {
        "x": ColumnPolicy(kind="integer"),
        "g": ColumnPolicy(kind="text", keys=("a", "b")),
        "v": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(10))),
    }
    table = TablePolicy(name="t", unit=None, max_groups=None, max_rows=None, neighbours=relation, columns=columns)
    plan = parse(f"SELECT {text}", {"t": table})
    return plan, price(plan, Cost(epsilon=epsilon, delta=delta))


def priced(queries: list[Query], delta: Fraction = DELTA) -> JointPrice:
    return joint_price(queries, BUDGET, delta, Fraction(1))


def least(noise: list[Event]) -> Fraction:
    return Fraction(compose(noise).epsilon(delta=float(DELTA)).upper)


def counts(number: int, relation: Neighbours, epsilon: float = 0.2, count: int = 3) -> list[Query]:
    """Return `number` times `count` disjoint counts."""
    return [
        query(f"count(*) AS n FROM t WHERE x = {x}", epsilon, relation) for _ in range(number) for x in range(count)
    ]


def test_equal_disjoint_queries_are_composed_as_one_of_each_family() -> None:
    queries = counts(20, "add/remove")
    (event,) = queries[0][1].events
    found = priced(queries)
    assert len(found.families) == 20
    assert found.together.loss == least([event] * 20)
    assert found.overlapping is not None
    assert found.overlapping.loss == least([event] * 60)


def test_under_change_one_two_of_each_family_are_composed() -> None:
    queries = counts(20, "change one")
    (event,) = queries[0][1].events
    assert priced(queries).together.loss == least([event] * 40)


@pytest.mark.parametrize("relation", ["add/remove", "change one"])
def test_the_dearest_option_of_a_family_is_the_price(relation: Neighbours) -> None:
    """Three disjoint queries of different noise, and forty queries outside of the family."""
    texts = [
        ("count(*) AS n FROM t WHERE x = 1", 0.25),
        ("g, sum(v) AS s FROM t WHERE x = 2 GROUP BY g", 0.2),
        ("count(*) AS n, count(DISTINCT v) AS s FROM t WHERE x > 2", 0.3),
    ]
    family = [query(text, epsilon, relation) for text, epsilon in texts]
    outside = [query("count(*) AS n FROM t", 0.1, relation)] * 40
    found = priced([*family, *outside])
    assert found.families == ((0, 1, 2),)
    options: list[list[Event]] = [[law.event for law in terms.noise] for _, terms in family]
    if relation == "change one":
        rows = [entering_row(*each) for each in family]
        entering = [list(row.noise) for row in rows if row is not None]
        options += [one + other for one, other in combinations(entering, 2)]
    prices = [least([*option, *(event for _, terms in outside for event in terms.events)]) for option in options]
    assert found.together.loss == max(prices) > min(prices)


def test_too_many_options_are_composed_as_their_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_SELECTIONS", 1)
    family = [
        query("count(*) AS n FROM t WHERE x = 1", 0.2),
        query("g, count(*) AS n, sum(v) AS s FROM t WHERE x = 2 GROUP BY g", 0.2),
    ]
    found = priced(family * 30)
    assert found.together.loss == least([PureRelease(epsilon=Fraction(1, 5), neighbours="add/remove")] * 30)


def test_the_composition_is_used_only_if_it_is_cheaper_than_the_disjoint_sum() -> None:
    found = joint_price(counts(1, "add/remove", 0.5, 10), BUDGET, DELTA, Fraction(9, 10))
    assert (found.together.loss, found.together.delta) == (Fraction(1, 2), Fraction(0))
    assert found.events == (PureRelease(epsilon=Fraction(1, 2), neighbours="add/remove"),)
    many = priced(counts(40, "add/remove", 0.1))
    assert many.together.loss < 4
    assert isinstance(many.events[0], ApproxRelease)


def test_gaussian_noise_has_a_lower_price_for_a_row_that_enters() -> None:
    """Under "change one" a row of another group moves two counts, so L2² is 2; a row that enters moves one."""
    plan, terms = query("g, count(*) AS n FROM t WHERE x = 1 GROUP BY g", 1, "change one")
    law = NoiseLaw(law="gaussian", amount=Fraction(100), sensitivity=2, moving=2)
    promise = ApproxDP(epsilon=0.9, delta=1e-6)
    gaussian = replace(terms, guarantee=promise, noise=(law,), events=(whole_event(promise),))
    row = entering_row(plan, gaussian)
    assert row is not None
    (event,), (noise,) = row.events, row.noise
    assert noise == DiscreteGaussianNoise(variance=Fraction(100), l2_squared=1, coordinates=1)
    assert isinstance(event, ApproxRelease)
    assert event.delta == DELTA
    assert event.epsilon == least([noise]) < Fraction(1, 2)


def test_a_query_that_moves_more_if_a_row_enters_is_in_no_family() -> None:
    """As with a size that is public under "change one": its sensitivity there is below that of a row that enters."""
    plan, terms = query("sum(v) AS n FROM t WHERE x = 1", 1, "change one")
    (law,) = terms.noise
    lower = replace(terms, noise=(replace(law, amount=law.amount / 2, sensitivity=law.sensitivity // 2),))
    assert entering_row(plan, lower) is None
    other = query("sum(v) AS n FROM t WHERE x = 2", 1, "change one")
    third = query("sum(v) AS n FROM t WHERE x = 3", 1, "change one")
    assert priced([(plan, lower), other, third], Fraction(0)).together.loss == 3
    assert priced([(plan, terms), other, third], Fraction(0)).together.loss == 2


LAPLACE = [
    DiscreteLaplaceNoise(scale=Fraction(scale), l1=Fraction(l1), coordinates=moving)
    for scale, l1, moving in ((3, 2, 1), (4, 2, 1), (3, 1, 1), (5, 2, 2), (4, 3, 2), (1, 1, 1), (Fraction(1, 2), 1, 1))
]
EVENTS: list[Event] = [
    *LAPLACE,
    PureRelease(epsilon=Fraction(1)),
    PureRelease(epsilon=Fraction(2)),
    DiscreteGaussianNoise(variance=Fraction(4), l2_squared=1, coordinates=1),
]


@pytest.mark.parametrize("epsilon", [0, 0.1, 0.3, 0.6, 1])
def test_what_is_above_has_a_larger_delta_at_every_epsilon(epsilon: float) -> None:
    deltas = {event: compose([event]).delta(epsilon=epsilon) for event in EVENTS}
    above = [(one, other) for one in EVENTS for other in EVENTS if _is_above(one, other)]
    assert len(above) > 2 * len(EVENTS)
    for one, other in above:
        assert deltas[one].upper >= deltas[other].lower - 1e-12
    for one, other in above:
        assert compose([one] * 3).delta(epsilon=epsilon).upper >= compose([other] * 3).delta(epsilon=epsilon).lower


def test_a_list_is_above_another_only_with_an_event_for_each() -> None:
    strong, weak = LAPLACE[0], LAPLACE[1]
    assert _dominates([strong, weak], [weak, weak])
    assert _dominates([strong, strong], [weak])
    assert not _dominates([strong], [weak, weak])
    assert not _dominates([weak, strong], [strong, strong])
