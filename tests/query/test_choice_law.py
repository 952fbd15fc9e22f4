"""The law of a choice: its exact probabilities on all small tables, both relations, and its accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import log

import mpmath
import numpy as np
import pytest

from evidence import FALSE_ALARM, miss, p_value
from oracles_selection import exponential, permute_and_flip, real_weights
from tacit.errors import InternalError
from tacit.guarantees.events import Neighbours, PureRelease, ZCDPRelease
from tacit.query.choice_law import ChoiceLaw, choice_law
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

VALUES, GROUPS = ("a", "b", "c"), ("f", "m")
Unit = tuple[tuple[int, int], ...]
"""The rows of one unit: pairs of a group and a value."""


def plan(
    relation: Neighbours, *, unit: bool = True, by: bool = True, groups: int | None = None, reach: int | None = None
) -> Plan:
    columns = {
        "u": ColumnPolicy(kind="integer"),
        "v": ColumnPolicy(kind="text", keys=VALUES),
        "g": ColumnPolicy(kind="text", keys=GROUPS),
    }
    rows = None if reach is not None or not unit else 2
    table = TablePolicy(
        name="t",
        unit="u" if unit else None,
        max_groups=groups,
        max_rows=rows,
        reach=reach,
        neighbours=relation,
        columns=columns,
    )
    return parse("SELECT mode(v) AS m FROM t GROUP BY g" if by else "SELECT mode(v) AS m FROM t", {"t": table})


def law_of(made: Plan, epsilon: Fraction | None = None, rho: Fraction | None = None) -> ChoiceLaw:
    return choice_law(made, made.bundles[0], epsilon=epsilon, rho=rho)


# --- the price ------------------------------------------------------------------------------------------------------


def scores(units: Sequence[Unit], made: Plan) -> list[list[Fraction]]:
    """Return the counts of each group by value, as the engine bounds them: scaled down to the limits of a unit."""
    counts = [[Fraction(0)] * len(VALUES) for _ in GROUPS]
    for rows in units:
        for group in range(len(GROUPS)):
            inside = [value for where, value in rows if where == group]
            weight = Fraction(1)
            if made.table.max_rows is not None and len(inside) > made.table.max_rows:
                weight = Fraction(made.table.max_rows, len(inside))
            if made.table.reach is not None and len(rows) > made.table.reach:
                weight = min(weight, Fraction(made.table.reach, len(rows)))
            for value in inside:
                counts[group][value] += weight
    return counts


ROWS = list(product(range(len(GROUPS)), range(len(VALUES))))


def units(most: int) -> list[Unit]:
    """Return all units with 1 to so many rows."""
    return [rows for size in range(1, most + 1) for rows in combinations_with_replacement(ROWS, size)]


def neighbours_of(relation: Neighbours, others: Sequence[Unit], most: int) -> Iterator[tuple[list[Unit], list[Unit]]]:
    """Yield pairs of neighbouring tables around some other units."""
    for unit in units(most):
        if relation == "add/remove":
            yield list(others), [*others, unit]
        else:
            for other in units(most):
                yield [*others, other], [*others, unit]


OTHERS: list[list[Unit]] = [[], [((0, 0),)], [((0, 0),), ((0, 1), (1, 1))], [((0, 0), (0, 0)), ((1, 2),), ((1, 2),)]]


def largest_losses(made: Plan, law: ChoiceLaw, most: int) -> tuple[float, float]:
    """Return the largest loss of the choices in all groups together, and the largest KL divergence."""
    scale = law.amount / law.unit
    draw = exponential if law.in_rho else permute_and_flip
    known: dict[tuple[Fraction, ...], tuple[Fraction, ...]] = {}

    def chances(counts: Sequence[Fraction]) -> tuple[Fraction, ...]:
        key = tuple(counts)
        if key not in known:
            known[key] = draw(real_weights(key, 1 / scale))
        return known[key]

    worst = divergence = 0.0
    for others in OTHERS:
        for one, other in neighbours_of(made.table.neighbours, others, most):
            loss = kl = 0.0
            for first, second in zip(scores(one, made), scores(other, made), strict=True):
                ratios = [log(p / q) for p, q in zip(chances(first), chances(second), strict=True)]
                loss += max(map(abs, ratios))
                kl += sum(float(p) * ratio for p, ratio in zip(chances(first), ratios, strict=True))
            worst, divergence = max(worst, loss), max(divergence, kl)
    return worst, divergence


LIMITS = [{"groups": 2}, {"reach": 1}, {"reach": 2}, {"unit": False}]


@pytest.mark.parametrize("relation", ["add/remove", "change one"])
@pytest.mark.parametrize("limits", LIMITS)
def test_no_unit_reveals_more_than_epsilon_in_all_small_tables(limits: dict[str, int], relation: Neighbours) -> None:
    made = plan(relation, **limits)  # type: ignore[arg-type]
    law = law_of(made, Fraction(1))
    worst, _ = largest_losses(made, law, 1 if "unit" in limits else 2)
    assert worst <= 1 + 1e-12
    assert law.event == PureRelease(epsilon=Fraction(1))


@pytest.mark.parametrize("limits", [{"reach": 1}, {"unit": False}])
def test_the_scale_is_no_larger_than_needed(limits: dict[str, int]) -> None:
    """With many rows of one value, a unit that takes another value reveals nearly ε, under both relations."""
    many: list[Unit] = [((0, 0),)] * 40
    tables: dict[Neighbours, list[list[Unit]]] = {
        "add/remove": [many, [*many, ((0, 1),)]],
        "change one": [[*many, ((0, 0),)], [*many, ((0, 1),)]],
    }
    for relation, pair in tables.items():
        made = plan(relation, **limits)  # type: ignore[arg-type]
        law = law_of(made, Fraction(1))
        rate = law.unit / law.amount
        one, other = (permute_and_flip(real_weights(scores(table, made)[0], rate)) for table in pair)
        assert max(abs(log(p / q)) for p, q in zip(one, other, strict=True)) > 0.99


def test_monotone_counts_under_change_one_would_cost_twice_as_much() -> None:
    """Brute force finds the planted error: the scale of "add/remove" under "change one"."""
    made = plan("change one", reach=1)
    law = law_of(made, Fraction(1))
    wrong = replace(law, amount=law.amount / 2)
    assert largest_losses(made, wrong, 1)[0] > 1.2


@pytest.mark.parametrize("relation", ["add/remove", "change one"])
@pytest.mark.parametrize("limits", [{"groups": 2}, {"reach": 2}, {"unit": False}])
def test_in_rho_the_divergence_stays_within_rho(limits: dict[str, int], relation: Neighbours) -> None:
    """KL is the Rényi divergence at order 1, at most ρ; the ranges of all groups, squared over 8, are at most ρ."""
    rho = Fraction(1, 2)
    made = plan(relation, **limits)  # type: ignore[arg-type]
    law = law_of(made, rho=rho)
    worst, divergence = largest_losses(made, law, 1 if "unit" in limits else 2)
    assert 0 < divergence <= rho
    assert law.event == ZCDPRelease(rho=rho)
    assert worst > 0


@pytest.mark.parametrize(
    ("relation", "limits", "scale", "squared"),
    [
        ("add/remove", {"unit": False}, 1, Fraction(1, 4)),
        ("change one", {"unit": False}, 2, Fraction(1)),
        ("add/remove", {"groups": 2}, 4, Fraction(8, 4)),
        ("change one", {"groups": 2}, 8, Fraction(8)),
        ("add/remove", {"groups": 1}, 2, Fraction(4, 4)),
        ("add/remove", {"reach": 3}, 3, Fraction(9, 4)),
        ("change one", {"reach": 3}, 6, Fraction(9)),
    ],
)
def test_scales_by_hand(relation: Neighbours, limits: dict[str, int], scale: int, squared: Fraction) -> None:
    """For ε = 1 the scale is T or 2T rows; for ρ = 1/2 its square is K·T/4 or K·T."""
    made = plan(relation, **limits)  # type: ignore[arg-type]
    law = law_of(made, Fraction(1))
    assert law.amount / law.unit == scale
    in_rho = law_of(made, rho=Fraction(1, 2))
    assert in_rho.amount**2 >= squared * in_rho.unit**2
    assert float(in_rho.amount / in_rho.unit) ** 2 == pytest.approx(float(squared))


@pytest.mark.parametrize("in_rho", [False, True])
def test_a_unit_that_comes_or_goes_costs_a_part_of_a_change(*, in_rho: bool) -> None:
    cost: dict[str, Fraction] = {"rho" if in_rho else "epsilon": Fraction(1)}
    changed, single = plan("change one", groups=2), plan("add/remove", groups=2)
    law = law_of(changed, **cost)
    entering = law.entering(changed, changed.bundles[0])
    assert entering.cost == Fraction(1, 4 if in_rho else 2)
    same = law_of(single, **cost)
    assert same.entering(single, single.bundles[0]) == same


# --- the draw -------------------------------------------------------------------------------------------------------

DRAWS = 20_000


@pytest.mark.parametrize("in_rho", [False, True])
def test_draws_fit_the_exact_law(*, in_rho: bool) -> None:
    """A scale that is off by a third is missed with a chance below 1e-9."""
    made = plan("add/remove", unit=False, by=False)
    law = law_of(made, rho=Fraction(1, 8)) if in_rho else law_of(made, Fraction(1))
    counts = [7, 9, 8]
    oracle = exponential if in_rho else permute_and_flip
    exact = [float(p) for p in oracle(real_weights([Fraction(c) for c in counts], 1 / law.amount))]
    drawn = np.bincount(law.choose_all(counts * DRAWS), minlength=3).tolist()
    assert p_value(drawn, exact) > FALSE_ALARM
    mutant = [float(p) for p in oracle(real_weights([Fraction(c) for c in counts], Fraction(3, 4) / law.amount))]
    assert miss(exact, mutant, DRAWS) < 1e-9


def test_only_the_values_are_drawn_and_counts_of_any_size_are_exact() -> None:
    made = plan("add/remove", unit=False, by=False)
    law = replace(law_of(made, Fraction(1)), values=2, bins=3)
    assert set(law.choose_all([0, 0, 10**9] * 200)) == {0, 1}
    assert law.choose([2**70, 2**70 - 10**6, 0]) == 0
    assert law.choose(np.array([5, 10**6, 0])) == 1
    with pytest.raises(InternalError):
        law.draw(1)


def test_ties_and_groups_without_rows_are_drawn_evenly() -> None:
    law = law_of(plan("add/remove", unit=False, by=False), Fraction(1))
    drawn = np.bincount(law.choose_all([0, 0, 0] * 9000), minlength=3).tolist()
    assert p_value(drawn, [1 / 3] * 3) > FALSE_ALARM


# --- the error ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_rho", [False, True])
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)])
def test_the_choice_is_short_of_the_best_by_no_more_than_stated(beta: Fraction, *, in_rho: bool) -> None:
    """The exact probability of a larger shortfall, over all counts of a grid."""
    law = law_of(plan("add/remove", unit=False, by=False), **{"rho" if in_rho else "epsilon": Fraction(1, 2)})
    most = law.shortfall(beta)
    oracle = exponential if in_rho else permute_and_flip
    worst = 0.0
    for gaps in product(range(14), repeat=2):
        chances = oracle(real_weights([Fraction(0), *(Fraction(-gap) for gap in gaps)], 1 / law.amount))
        worst = max(worst, float(sum(p for p, gap in zip(chances[1:], gaps, strict=True) if gap > most)))
    assert worst <= beta


def test_the_stated_shortfall_is_the_theorem() -> None:
    law = law_of(plan("add/remove", reach=2), Fraction(1))
    assert law.shortfall(Fraction(1, 20)) == pytest.approx(2 * float(mpmath.log(2 * 20)))
    assert (
        law_of(plan("add/remove", unit=False), Fraction(1)).shortfall(Fraction(1, 20)) == 3
    )  # ⌊ln 40⌋, rows are whole
    in_rho = law_of(plan("add/remove", reach=2), rho=Fraction(1, 2))
    assert in_rho.shortfall(Fraction(1, 20)) == pytest.approx(float(in_rho.amount / in_rho.unit) * log(3 * 20))
