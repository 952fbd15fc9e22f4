"""The choice between a tree and draws, and the price of plans with draws."""
# ruff: noqa: S608 - queries are text

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from bounded import policy
from tacit.guarantees.events import ApproxRelease, BoundedRange, DiscreteLaplaceNoise, PureRelease, ZCDPRelease
from tacit.guarantees.prices import basic, zcdp
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates.cut import with_cut
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.pricing.quantile_method import DrawOptions, choose_method, quantile_columns, with_draws
from tacit.query.pricing.solve import solve
from tacit.query.rank_law import RankLaw
from tacit.query.sql.parse import parse

ROW = policy(unit=None)
OPTIONS = DrawOptions(confidence=0.95, intervals=True, rho=False, flips=True)
IN_RHO = replace(OPTIONS, rho=True, flips=False)


def quantiles(count: int) -> str:
    return ", ".join(f"quantile_cont(x, {(i + 0.5) / count}) AS q{i}" for i in range(count))


def chosen(
    select: str,
    options: DrawOptions = OPTIONS,
    table: TablePolicy = ROW,
    *,
    epsilon: float | None = 1,
    delta: float | None = None,
    rho: float | None = None,
    assume: int | None = None,
) -> Plan:
    plan = parse(f"SELECT {select} FROM t", {"t": table})
    cost = Cost(rho=rho) if rho is not None else Cost(epsilon=epsilon, delta=delta)
    return choose_method(plan, cost, options, assume)


def functions(plan: Plan) -> list[str]:
    return [aggregate.ask.function for aggregate in plan.aggregates]


# --- the choice -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "select",
    [
        "median(x) AS a",
        "quantile_disc(n, 0.9) AS a",
        "min(x) AS a",
        "max(n) AS a",
        quantiles(2),
        quantiles(4),
        "median(x) AS a, count(*) AS n, sum(x) AS s",
    ],
)
def test_a_few_quantiles_are_drawn(select: str) -> None:
    plan = chosen(select)
    assert plan.bundles[0].rank is not None
    assert all(function.startswith("drawn_") for function in functions(plan) if function not in ("count", "sum"))


@pytest.mark.parametrize("count", [8, 20])
def test_many_quantiles_are_read_from_a_tree(count: int) -> None:
    plan = chosen(quantiles(count))
    assert all(bundle.rank is None for bundle in plan.bundles)
    assert functions(plan) == ["quantile"] * count


def test_without_intervals_and_in_rho_more_quantiles_are_drawn() -> None:
    assert functions(chosen(quantiles(6)))[0] == "quantile"
    assert functions(chosen(quantiles(6), replace(OPTIONS, intervals=False)))[0] == "drawn_quantile"
    assert functions(chosen(quantiles(10), IN_RHO, rho=0.1))[0] == "drawn_quantile"
    assert functions(chosen(quantiles(30), IN_RHO, rho=0.1))[0] == "quantile"


def test_columns_are_chosen_one_by_one() -> None:
    plan = chosen(f"median(n) AS a, {quantiles(9)}")
    assert functions(plan) == ["drawn_quantile", *["quantile"] * 9]
    assert sum(bundle.weight for bundle in plan.bundles if bundle.rank is not None) == 1
    assert sum(bundle.weight for bundle in plan.bundles) == 2


def test_draws_share_the_cost_of_their_column_and_equal_ranks_are_drawn_once() -> None:
    plan = chosen("median(x) AS a, quantile_disc(x, 0.5) AS b, quantile_cont(x, 0.9) AS c")
    assert [bundle.weight for bundle in plan.bundles] == [Fraction(1, 2)] * 2
    assert [aggregate.bundles for aggregate in plan.aggregates] == [(0,), (0,), (1,)]


def test_an_assumed_size_may_make_the_tree_better() -> None:
    """Bins of many rows: a tree reads values within a bin, and a draw is accurate to half a cell."""
    assert functions(chosen("median(x) AS a", assume=1000)) == ["drawn_quantile"]
    assert functions(chosen("median(x) AS a", assume=10**9)) == ["quantile"]


def test_the_choice_does_not_depend_on_the_cost_if_noise_spans_many_rows() -> None:
    for epsilon in (1e-6, 1e-3, 1):
        assert functions(chosen(quantiles(4), epsilon=epsilon))[0] == "drawn_quantile"
        assert functions(chosen(quantiles(8), epsilon=epsilon))[0] == "quantile"


def test_a_cost_that_is_not_valid_is_left_to_pricing() -> None:
    plan = parse("SELECT median(x) AS a FROM t", {"t": ROW})
    for cost in (Cost(), Cost(epsilon=-1), Cost(epsilon=1, delta=2), Cost(error=1)):
        assert functions(choose_method(plan, cost, OPTIONS)) in (["quantile"], ["drawn_quantile"])
    assert choose_method(plan, Cost(error=1), OPTIONS) == plan


def test_plans_without_quantiles_stay_as_they_are() -> None:
    plan = parse("SELECT avg(x) AS a FROM t", {"t": ROW})
    assert choose_method(plan, Cost(epsilon=1), OPTIONS) is plan
    assert quantile_columns(plan) == []


# --- confidence -------------------------------------------------------------------------------------------------------

GROUPED = policy(groups=1, rows=1)


@pytest.mark.parametrize(
    ("query", "miss"),
    [
        ("SELECT median(x) AS a FROM t", Fraction(1, 20)),
        ("SELECT median(x) - avg(x) AS a FROM t", Fraction(1, 40)),
        ("SELECT median(x) AS a, median(x) - avg(x) AS b FROM t", Fraction(1, 40)),
        ("SELECT k, median(x) AS a FROM t GROUP BY k", Fraction(1, 20)),
        ("SELECT k, median(x) AS a FROM t GROUP BY k HAVING median(x) > 0", Fraction(1, 40)),
        ("SELECT k FROM t GROUP BY k HAVING median(x) > 0", Fraction(1, 40)),
        ("SELECT id, median(x) AS a FROM t GROUP BY id ORDER BY a LIMIT 3", Fraction(1, 1000)),
    ],
)
def test_the_interval_is_drawn_for_the_confidence_that_its_outputs_need(query: str, miss: Fraction) -> None:
    plan = parse(query, {"t": replace(GROUPED, unit=None) if "id," in query else GROUPED})
    drawn = with_draws(plan, quantile_columns(plan), OPTIONS)
    targets = [bundle.rank for bundle in drawn.bundles if bundle.rank is not None]
    assert [target.miss for target in targets] == [miss]


@pytest.mark.parametrize(("confidence", "miss"), [(0.1, Fraction(2, 5)), (0.999, Fraction(1, 1000))])
def test_other_confidences(confidence: float, miss: Fraction) -> None:
    plan = chosen("median(x) AS a", replace(OPTIONS, confidence=confidence))
    assert plan.bundles[0].rank is not None
    assert plan.bundles[0].rank.miss == miss


# --- prices -----------------------------------------------------------------------------------------------------------


def test_a_draw_is_charged_as_a_bounded_range_or_without_an_interval_as_pure() -> None:
    assert price(chosen("median(x) AS a"), Cost(epsilon=0.5)).events == (BoundedRange(epsilon=Fraction(1, 2)),)
    alone = price(chosen("median(x) AS a", replace(OPTIONS, intervals=False)), Cost(epsilon=0.5))
    assert alone.events == (PureRelease(epsilon=Fraction(1, 2)),)
    assert "permute-and-flip, without intervals" in alone.why
    in_zcdp = replace(OPTIONS, intervals=False, flips=False)
    assert price(chosen("median(x) AS a", in_zcdp), Cost(epsilon=0.5)).events == (BoundedRange(epsilon=Fraction(1, 2)),)


def test_costs_of_all_parts_add_up() -> None:
    plan = chosen("median(x) AS a, count(*) AS n, sum(n) AS s")
    found = price(plan, Cost(epsilon=1))
    assert found.guarantee == PureDP(epsilon=1.0)
    costs = [basic(event) for event in found.events]
    assert sum(cost[0] for cost in costs if cost is not None) == 1
    in_rho = price(chosen("median(x) AS a, sum(n) AS s", IN_RHO, rho=0.1), Cost(rho=0.1))
    assert in_rho.guarantee == ZCDP(rho=0.1)
    assert in_rho.events[0] == ZCDPRelease(rho=Fraction(1, 20))
    parts = [zcdp(event) for event in in_rho.events]
    assert sum(part[0] for part in parts if part is not None) <= Fraction(1, 10)


def test_with_a_delta_draws_keep_their_epsilon_and_the_rest_gets_all_of_delta() -> None:
    table = policy(groups=20, rows=1)
    keys = {"key": [f"{number}" for number in range(40)]}
    plan = parse(
        "SELECT k || 'x' AS key, median(x) AS a, count(*) AS n FROM t GROUP BY k || 'x'", {"t": table}, keys=keys
    )
    cost = Cost(epsilon=1, delta=1e-6)
    drawn = choose_method(plan, cost, OPTIONS)
    found = price(drawn, cost)
    assert found.guarantee == ApproxDP(epsilon=1.0, delta=1e-6)
    assert found.events == (
        BoundedRange(epsilon=Fraction(1, 2)),
        ApproxRelease(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6)),
    )
    assert isinstance(found.noise[0], RankLaw)
    assert found.noise[1].law == "gaussian"
    assert "Gaussian noise" in found.why
    assert "drawn" in found.why


def test_a_delta_that_no_part_needs_is_not_spent() -> None:
    found = price(chosen("median(x) AS a", delta=1e-6), Cost(epsilon=1, delta=1e-6))
    assert found.guarantee == PureDP(epsilon=1.0)
    both = price(chosen("median(x) AS a, count(*) AS n", delta=1e-6), Cost(epsilon=1, delta=1e-6))
    assert [type(event) for event in both.events] == [BoundedRange, DiscreteLaplaceNoise]


# --- errors in place of a cost ----------------------------------------------------------------------------------------


def solved(select: str, error: float, options: DrawOptions = OPTIONS, *, by_rho: bool = False) -> tuple[Plan, float]:
    plan = parse(f"SELECT {select} FROM t", {"t": ROW})
    others = [with_draws(plan, quantile_columns(plan), options)]
    found, terms = solve(plan, Cost(error=error), confidence=0.95, assume=1000, by_rho=by_rho, others=others)
    size = terms.guarantee.rho if isinstance(terms.guarantee, ZCDP) else terms.guarantee.epsilon
    return found, float(size)


def test_an_error_is_solved_with_the_cheaper_method() -> None:
    plan, epsilon = solved("median(x) AS a", 0.05)
    assert functions(plan) == ["drawn_quantile"]
    tree = parse("SELECT median(x) AS a FROM t", {"t": ROW})
    _, alone = solve(tree, Cost(error=0.05), confidence=0.95, assume=1000)
    assert isinstance(alone.guarantee, PureDP)
    assert epsilon < alone.guarantee.epsilon / 4
    many, _ = solved(quantiles(9), 0.05)
    assert functions(many)[0] == "quantile"


def test_an_error_is_solved_in_rho() -> None:
    plan, rho = solved("median(x) AS a", 0.05, IN_RHO, by_rho=True)
    assert functions(plan) == ["drawn_quantile"]
    assert 0 < rho < 0.5


def test_the_cut_is_measured_beside_draws() -> None:
    table = policy(groups=None, rows=None, reach=2)
    plan = parse("SELECT median(x) AS a, count(*) AS n FROM t", {"t": table})
    drawn = with_draws(with_cut(plan, 10, Fraction(1, 10)), quantile_columns(plan), OPTIONS)
    assert functions(drawn) == ["drawn_quantile", "count"]
    assert drawn.cap == 10
    assert [aggregate.cut is None for aggregate in drawn.aggregates] == [True, False]
