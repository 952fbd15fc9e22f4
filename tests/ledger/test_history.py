"""Reports on a ledger: spending by analyst, the rest of the budget, the cost as one plan."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ledgers import ONE, Site, ask
from tacit.errors import InvalidError, LedgerError
from tacit.guarantees import filters
from tacit.guarantees.events import ApproxRelease, DiscreteGaussianNoise
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.ledger import Ledger, Request, history
from tacit.ledger.memory import MemoryLedger


@pytest.fixture(params=["memory", "durable"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    if request.param == "memory":
        return MemoryLedger(ONE, "add/remove")
    site: Site = request.getfixturevalue("sites")("sqlite")
    return site.open()


def test_by_analyst_the_largest_first(ledger: Ledger) -> None:
    assert history.by_analyst(ledger) == []
    for name, price in (("ann", "0.1"), ("bob", "0.3"), ("ann", "0.1"), ("", "0.1")):
        ledger.charge(ask(price, analyst=name))
    found = [(one.analyst, one.questions, one.spent.loss) for one in history.by_analyst(ledger)]
    assert found == [("bob", 1, Fraction(3, 10)), ("ann", 2, Fraction(2, 10)), ("", 1, Fraction(1, 10))]


def test_as_one_plan_it_would_have_cost_less(ledger: Ledger) -> None:
    with pytest.raises(InvalidError, match="no charges"):
        history.as_plan(ledger, 1e-6)
    for _ in range(40):
        ledger.charge(ask("0.02"))
    found = history.as_plan(ledger, 1e-6)
    assert 0 < found.lower <= found.upper < float(ledger.spent.loss) == 0.8
    assert history.as_plan(ledger, 0).upper == pytest.approx(0.8)


def test_what_remains(ledger: Ledger) -> None:
    ledger.charge(ask("0.3"))
    assert history.remaining(ledger, 1e-6) == 0.7
    assert history.left(ledger) == PureDP(epsilon=0.7)
    ledger.charge(ask("0.7"))
    assert history.remaining(ledger, 1e-6) == 0
    assert history.left(ledger) == PureDP(epsilon=0)


def test_what_remains_is_rounded_down() -> None:
    ledger = MemoryLedger(ONE, "add/remove")
    ledger.charge(ask("1/3"))
    assert Fraction(history.remaining(ledger, 1e-6)) <= Fraction(2, 3)


def test_what_remains_of_a_budget_in_rho() -> None:
    half = DiscreteGaussianNoise(variance=Fraction(1), l2_squared=1, coordinates=1)
    ledger = MemoryLedger(ZCDP(rho=1), "add/remove")
    before = history.remaining(ledger, 1e-6)
    ledger.charge(Request(question="q", events=(half,)))
    assert 0 < history.remaining(ledger, 1e-6) < before
    assert history.remaining(ledger, 1e-6) == pytest.approx(5.2215, abs=1e-3)
    ledger.charge(Request(question="q", events=(half,)))
    assert history.remaining(ledger, 1e-6) == 0
    approximate = MemoryLedger(ApproxZCDP(rho=1, delta=1e-7), "add/remove")
    assert history.remaining(approximate, 1e-6) > before  # a part of δ is reserved for the budget's δ


def test_left_has_the_kind_of_the_budget() -> None:
    for budget in (ApproxDP(epsilon=1, delta=1e-6), ZCDP(rho=1), ApproxZCDP(rho=1, delta=1e-6)):
        assert history.left(MemoryLedger(budget, "add/remove")) == budget


def test_the_chart_burns_down(ledger: Ledger) -> None:
    pytest.importorskip("altair")
    for price, name in (("0.5", "ann"), ("0.25", "bob")):
        ledger.charge(ask(price, analyst=name))
    drawn = history.burn_down(ledger).to_dict()
    rows = next(iter(drawn["datasets"].values())) if "datasets" in drawn else drawn["data"]["values"]
    assert [row["left"] for row in rows] == [1, 0.5, 0.25]
    assert [row["analyst"] for row in rows] == ["–", "ann", "bob"]


def test_a_budget_that_began_afresh_has_a_history_of_its_own(site: Site) -> None:
    old = site.open(version="2025")
    old.charge(ask("0.9", analyst="ann"))
    old.set_version("2026", disjoint=True)
    new = site.open(version="2026")
    assert history.by_analyst(new) == []
    new.charge(ask("0.2", analyst="ann"))
    assert [(one.analyst, one.spent.loss) for one in history.by_analyst(new)] == [("ann", Fraction(1, 5))]
    assert history.as_plan(new, 0).upper == pytest.approx(0.2)
    assert history.remaining(new, 0) == 0.8
    assert len(new.entries()) == 2


def costs(ledger: Ledger) -> list[tuple[Fraction, Fraction]]:
    return [(one.cost.loss, one.cost.delta) for one in history.charges(ledger.entries())]


def test_each_charge_has_the_price_of_the_filter_and_all_that_was_spent_then(ledger: Ledger) -> None:
    assert history.charges(ledger.entries()) == []
    for parts in (("0.1",), ("1/3", "0.2"), ("1/7",)):
        ledger.charge(ask(*parts))
    zero = Fraction(0)
    assert costs(ledger) == [(Fraction(1, 10), zero), (Fraction(8, 15), zero), (Fraction(1, 7), zero)]
    totals = [one.total.loss for one in history.charges(ledger.entries())]
    assert totals == [Fraction(1, 10), Fraction(19, 30), ledger.spent.loss]


def test_the_price_is_in_the_currency_of_the_budget() -> None:
    noise = DiscreteGaussianNoise(variance=Fraction(50), l2_squared=1, coordinates=1)
    part = ApproxRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 10**7))
    budget = ApproxZCDP(rho=1, delta=1e-6)
    ledger = MemoryLedger(budget, "add/remove")
    for event in (noise, part):
        ledger.charge(Request(question="q", events=(event,)))
    assert costs(ledger) == [(cost.loss, cost.delta) for cost in (filters.price(budget, one) for one in (noise, part))]
    assert costs(ledger) == [(Fraction(1, 100), Fraction(0)), (Fraction(1, 200), Fraction(1, 10**7))]
    assert {one.cost.currency for one in history.charges(ledger.entries())} == {"zcdp"}


def test_costs_add_up_to_what_is_spent_also_where_the_filter_rounds_its_total_up(ledger: Ledger) -> None:
    prices = [Fraction(1, 1000 * 2**2500 + 1), Fraction(1, 3**2000 + 2), Fraction(1, 7**1500 + 4)]
    for one in prices:
        ledger.charge(ask(str(one)))
    found = [loss for loss, _ in costs(ledger)]
    assert sum(found) == ledger.spent.loss > sum(prices)
    assert all(cost >= one for cost, one in zip(found, prices, strict=True))


def test_costs_begin_anew_with_a_budget_for_other_units(site: Site) -> None:
    old = site.open(version="2025")
    old.charge(ask("0.3"))
    old.charge(ask("0.4"))
    old.set_version("2026", disjoint=True)
    new = site.open(version="2026")
    new.charge(ask("0.2"))
    new.charge(ask("0.1"))
    assert [float(loss) for loss, _ in costs(new)] == [0.3, 0.4, 0.2, 0.1]
    totals = [float(one.total.loss) for one in history.charges(new.entries())]
    assert totals == [0.3, 0.7, 0.2, 0.3]


def test_a_total_that_fell_is_told(ledger: Ledger) -> None:
    for part in ("0.2", "0.3"):
        ledger.charge(ask(part))
    with pytest.raises(LedgerError, match="the total spent falls at record"):
        history.charges(ledger.entries()[::-1])
