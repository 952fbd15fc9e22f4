"""reach="auto" as users meet it: its cost, its order, its records, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nan
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.charging import SOURCE_FAILED
from tacit.database import Database
from tacit.errors import BudgetError, InvalidError, RefusedError, SourceError
from tacit.guarantees.events import ApproxRelease, BoundedRange, PureRelease, ZCDPRelease
from tacit.guarantees.filters import Budget
from tacit.ledger import Request, Ticket
from tacit.ledger.memory import MemoryLedger
from tacit.query.plan import Plan
from tacit.query.pricing.price import Cost, price
from tacit.query.pricing.reach_choice import ReachChoice
from tacit.query.results.release import Release
from tacit.quotes import ChoosingQuote

MONTHS = list(range(1, 13))
PEOPLE = 400
YEAR = pd.DataFrame(
    {
        "person": [p for p in range(PEOPLE) for _ in MONTHS],
        "month": MONTHS * PEOPLE,
        "name": [f"month {m}" for m in MONTHS] * PEOPLE,
        "cost": [float(m) for m in MONTHS] * PEOPLE,
        "when": [10**18 + m for m in MONTHS] * PEOPLE,
    }
)
"""Twelve rows of each person."""

BY_MONTH = "SELECT month, count(*) AS n FROM year GROUP BY month"
BY_NAME = "SELECT name, count(*) AS n FROM year GROUP BY name"
COUNT = "SELECT count(*) AS n FROM year"
AMPLE = 10**5
"""An ε at which noise is far below one row."""


@pytest.fixture
def likely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the most likely reach in place of a random one."""

    def choose(choice: ReachChoice, sizes: Sequence[int]) -> int:
        exponents = choice.exponents(sizes)
        return choice.candidates[exponents.index(max(exponents))]

    monkeypatch.setattr(ReachChoice, "choose", choose)


def year(budget: Budget | None = None, **more: Any) -> Database:  # noqa: ANN401 - options of `open`
    terms: dict[str, Any] = {
        "name": "year",
        "unit": "person",
        "keys": {"month": MONTHS},
        "bounds": {"cost": (0, 12), "when": (10**18, 10**18 + 12)},
        "budget": budget or tc.ApproxDP(epsilon=10**9, delta=0.5),
    }
    return tc.open(YEAR, **(terms | more))


def chosen(answer: Release) -> int:
    """Return the reach of an answer, which its receipt records twice."""
    receipt: Any = answer.receipt
    assert receipt["privacy"]["reach"] == receipt["limits_chosen"]["reach"] == answer.plan.table.reach
    return int(receipt["limits_chosen"]["reach"])


def choosing(db: Database, query: str, **options: Any) -> ChoosingQuote:  # noqa: ANN401 - options of `plan`
    planned = db.plan(query, reach="auto", **options)
    assert isinstance(planned, ChoosingQuote)
    return planned


# --- what is chosen -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("likely")
def test_a_query_that_counts_units_chooses_by_their_groups() -> None:
    few = pd.DataFrame({"person": [p for p in range(5000) for _ in range(40)], "month": [3, 4] * 100_000})
    query = "SELECT month, count(DISTINCT person) AS n FROM year GROUP BY month"
    with tc.open(few, name="year", unit="person", keys={"month": MONTHS}, budget=tc.PureDP(epsilon=100)) as db:
        quote = choosing(db, query, epsilon=1)
        assert quote.choice is not None
        assert (quote.choice.by_rows, quote.choice.candidates) == (False, (1, 2, 3, 4, 5, 6, 7, 8, 10, 12))
        assert "The reach is the number of groups in which each unit (column 'person') counts at most." in str(quote)
        answer = db.sql(query, epsilon=1, reach="auto")
        assert chosen(answer) == 2
        assert [n for month, n in answer.rows() if month in (3, 4)] == pytest.approx([5000] * 2, abs=100)
        receipt: Any = answer.receipt
        assert receipt["limits_chosen"]["law"] == "exponential mechanism on the number of units in more groups"
        assert chosen(db.sql(query.replace("count", "count(*) AS rows, count"), epsilon=1, reach="auto")) > 12


def test_no_reach_is_chosen_if_it_changes_nothing() -> None:
    with year() as db:
        answer = db.sql("SELECT count(DISTINCT person) AS n FROM year", epsilon=AMPLE, reach="auto")
        assert answer.rows() == [(PEOPLE,)]
        assert "limits_chosen" not in answer.receipt
        found = db.sql(
            "SELECT name, count(DISTINCT person) AS n FROM year GROUP BY name",
            epsilon=AMPLE,
            delta=1e-6,
            max_groups=12,
            reach="auto",
        )
        assert {n for _, n in found.rows()} == {PEOPLE}


# --- the cost -------------------------------------------------------------------------------------------------------

SHARES = [Fraction(1, 10), Fraction(1, 3), 0.25]


@pytest.mark.parametrize("share", SHARES)
def test_the_whole_costs_exactly_epsilon(share: Any) -> None:  # noqa: ANN401 - a number
    with year(tc.PureDP(epsilon=2)) as db:
        quote = choosing(db, BY_MONTH, epsilon=0.7, share=share)
        part, whole = Fraction(share), Fraction(7, 10)
        assert quote.cost == tc.PureDP(epsilon=0.7)
        assert quote.price.events == (BoundedRange(epsilon=whole * part), PureRelease(epsilon=whole * (1 - part)))
        answer = db.sql(BY_MONTH, epsilon=0.7, reach="auto", share=share)
        assert answer.cost == tc.PureDP(epsilon=0.7)
        assert db.ledger.spent.loss == whole
        (noise,) = answer.price.noise
        assert noise.amount == noise.sensitivity / (whole * (1 - part))
        receipt: Any = answer.receipt
        assert receipt["privacy"]["promise"] == {"epsilon": 0.7}


def test_the_whole_costs_exactly_epsilon_and_delta() -> None:
    with year(tc.ApproxDP(epsilon=2, delta=1e-5), max_rows=1) as db:
        quote = choosing(db, BY_MONTH, epsilon=0.5, delta=1e-6)
        assert quote.cost == tc.ApproxDP(epsilon=0.5, delta=1e-6)
        assert quote.price.events[1:] == (ApproxRelease(epsilon=Fraction(9, 20), delta=Fraction(1, 10**6)),)
        answer = db.sql(BY_MONTH, epsilon=0.5, delta=1e-6, reach="auto")
        assert answer.cost == quote.cost
        assert (db.ledger.spent.loss, db.ledger.spent.delta) == (Fraction(1, 2), Fraction(1, 10**6))
        same = price(answer.plan, Cost(epsilon=Fraction(9, 20), delta=Fraction(1, 10**6)))
        assert answer.price.noise == same.noise


def test_the_whole_costs_rho_and_not_more() -> None:
    with year(tc.ZCDP(rho=1)) as db:
        quote = choosing(db, BY_MONTH, rho=0.3)
        assert quote.cost == tc.ZCDP(rho=0.3)
        choice, answer = quote.price.events
        assert isinstance(choice, BoundedRange)
        assert choice.epsilon**2 / 8 <= Fraction(3, 100)
        assert answer == ZCDPRelease(rho=Fraction(27, 100))
        released = db.sql(BY_MONTH, rho=0.3, reach="auto")
        assert released.cost == tc.ZCDP(rho=0.3)
        spent = db.ledger.spent.loss
        assert spent <= Fraction(3, 10) < spent + Fraction(1, 2**60)
        (noise,) = released.price.noise
        assert Fraction(noise.sensitivity) / (2 * noise.amount) == Fraction(27, 100)


def test_two_answers_can_spend_the_whole_budget() -> None:
    with year(tc.PureDP(epsilon=1)) as db:
        for _ in range(2):
            db.sql(BY_MONTH, epsilon=0.5, reach="auto")
        assert db.left == tc.PureDP(epsilon=0)
        with pytest.raises(BudgetError) as caught:
            db.sql(BY_MONTH, epsilon=0.5, reach="auto")
        assert caught.value.unspent
        assert len(db.ledger.entries()) == 2


def test_a_plan_reads_nothing_and_names_the_part_of_the_choice() -> None:
    with year(tc.PureDP(epsilon=1)) as db:
        watch = watched(db)
        text = str(db.plan(BY_MONTH, epsilon=1, reach="auto", share=0.2))
        assert "is chosen privately for ε = 0.2. The rest answers." in text
        assert "costs ε = 1." in text
        assert "times the reach with 95% confidence" in text
        assert "Up to about 53 units may have more rows than the chosen reach without being noticed." in text
        assert watch.seen == []
        assert db.left == tc.PureDP(epsilon=1)
    with year(tc.ZCDP(rho=1)) as db:
        assert "is chosen privately for ρ = 0.02. The rest answers." in str(db.plan(COUNT, rho=0.2, reach="auto"))
    with year() as db:
        text = str(db.plan(COUNT, error=50, reach="auto"))
        assert "to choose the reach; then the answer costs what its reach needs, for example 2.9 at reach 48." in text
        assert "n: off by at most 50 by noise; the cut of the reach comes on top" in text


# --- the order ------------------------------------------------------------------------------------------------------


@dataclass
class Watch:
    """An engine that records what is read, and fails at a given reading."""

    engine: Any
    seen: list[str]
    fails: int | None = None

    def check(self, plan: Plan) -> None:
        self.engine.check(plan)

    def ready(self) -> None:
        self.seen.append("ready")

    def measure(self, plan: Plan) -> Sequence[Sequence[int]]:
        self.seen.append("sizes" if plan.bundles[0].measures[0].per == "size" else "answer")
        if self.fails is not None and len(self.seen) > self.fails:
            raise ValueError("person 17 has 12 rows")
        return self.engine.measure(plan)  # type: ignore[no-any-return]

    def close(self) -> None:
        self.engine.close()


def watched(db: Database, fails: int | None = None, seen: list[str] | None = None) -> Watch:
    policy, engine = db._tables["year"]
    watch = Watch(engine, [] if seen is None else seen, fails)
    db._tables["year"] = policy, watch  # type: ignore[assignment]  # a fake
    return watch


class Recording(MemoryLedger):
    """A ledger that writes its charges to a list."""

    seen: list[str]

    def charge(self, request: Request) -> Ticket:
        ticket = super().charge(request)
        self.seen.append("charge")
        return ticket


def recording() -> Recording:
    ledger = Recording(tc.ApproxDP(epsilon=10**9, delta=0.5), "add/remove")
    ledger.seen = []
    return ledger


def test_the_charge_comes_before_the_first_row_is_read() -> None:
    ledger = recording()
    with year(ledger=ledger) as db:
        watch = watched(db, seen=ledger.seen)
        db.sql(BY_MONTH, epsilon=1, reach="auto")
        assert watch.seen == ["ready", "charge", "sizes", "answer"]


def test_with_an_error_the_choice_is_charged_first_and_then_the_answer() -> None:
    ledger = recording()
    with year(ledger=ledger) as db:
        watch = watched(db, seen=ledger.seen)
        db.sql(BY_MONTH, error=50, reach="auto")
        assert watch.seen == ["ready", "charge", "sizes", "ready", "charge", "answer"]


@pytest.mark.parametrize("fails", [1, 2])
def test_if_the_source_fails_the_charge_stands_and_the_text_is_constant(fails: int) -> None:
    with year(tc.PureDP(epsilon=1)) as db:
        watched(db, fails=fails)
        with pytest.raises(SourceError) as caught:
            db.sql(BY_MONTH, epsilon=0.25, reach="auto")
        assert caught.value.message == SOURCE_FAILED
        assert "person" not in str(caught.value)
        assert not caught.value.unspent
        assert caught.value.__context__ is None
        assert db.spent == tc.PureDP(epsilon=0.25)
        assert [entry.outcome for entry in db.ledger.entries()] == ["failed"]


def test_if_the_source_fails_while_the_reach_is_chosen_for_an_error_nothing_else_is_charged() -> None:
    with year(tc.PureDP(epsilon=1)) as db:
        watched(db, fails=1)
        with pytest.raises(SourceError) as caught:
            db.sql(COUNT, error=50, reach="auto")
        assert (caught.value.message, caught.value.unspent) == (SOURCE_FAILED, False)
        assert [entry.outcome for entry in db.ledger.entries()] == ["failed"]
        assert db.spent == choosing(db, COUNT, error=50).cost


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0, 1, -0.1, 1.5, nan, inf, "0.1", [0.1]])
def test_another_share_is_refused_before_the_charge(wrong: Any) -> None:  # noqa: ANN401 - wrong on purpose
    with year(tc.PureDP(epsilon=1)) as db:
        with pytest.raises(InvalidError, match="share must be") as caught:
            db.sql(BY_MONTH, epsilon=0.5, reach="auto", share=wrong)
        assert caught.value.argument == "share"
        assert str(caught.value).endswith("Nothing was spent.")
        assert not db.ledger.entries()


@pytest.mark.parametrize("wrong", ["lots", "AUTO", "", "1"])
def test_another_text_is_refused_as_a_reach(wrong: Any) -> None:  # noqa: ANN401 - wrong on purpose
    message = 'reach must be a whole number from 1 to 1,000,000,000, or "auto"'
    with year() as db, pytest.raises(InvalidError, match=message) as caught:
        db.sql(BY_MONTH, epsilon=1, reach=wrong)
    assert str(caught.value).endswith("Nothing was spent.")


@pytest.mark.parametrize("cost", [{"epsilon": 1e-7}, {"error": 10**9}])
def test_an_epsilon_too_small_to_choose_is_refused_before_the_charge(cost: dict[str, Any]) -> None:
    with year() as db:
        for ask in (db.plan, db.sql):
            with pytest.raises(
                InvalidError, match="The part of the cost that chooses the reach is too small"
            ) as caught:
                ask(BY_MONTH, reach="auto", **cost)
            assert caught.value.argument == "reach"
            assert str(caught.value).endswith("Nothing was spent.")
        assert not db.ledger.entries()


def test_found_groups_still_need_max_groups_and_a_delta() -> None:
    with year() as db:
        with pytest.raises(InvalidError, match="needs max_groups"):
            db.sql(BY_NAME, epsilon=1, delta=1e-6, reach="auto")
        with pytest.raises(RefusedError, match="are not public"):
            db.sql(BY_NAME, epsilon=1, reach="auto", max_groups=12)
        assert not db.ledger.entries()


def test_a_rho_with_a_delta_or_no_cost_is_refused() -> None:
    with year(tc.ZCDP(rho=1)) as db:
        for cost in ({}, {"rho": 0.1, "delta": 1e-6}, {"rho": 0}, {"rho": nan}):
            with pytest.raises(InvalidError) as caught:
                db.sql(BY_MONTH, reach="auto", **cost)
            assert caught.value.unspent
        assert not db.ledger.entries()


def test_rows_that_are_units_ignore_it() -> None:
    with year(unit=tc.ROW) as db:
        answer = db.sql(BY_MONTH, epsilon=10**5, reach="auto")
        assert [n for _, n in answer.rows()] == [PEOPLE] * 12
        assert "limits_chosen" not in answer.receipt
        assert not isinstance(db.plan(BY_MONTH, epsilon=1, reach="auto"), ChoosingQuote)
        assert len(db.ledger.entries()) == 1


# --- answers --------------------------------------------------------------------------------------------------------

VERBS: dict[str, Callable[[Database, dict[str, Any]], Release]] = {
    "count": lambda db, o: db.count(**o),
    "sum": lambda db, o: db.sum("cost", **o),
    "histogram": lambda db, o: db.histogram("cost", [0, 6, 12], **o),
    "crosstab": lambda db, o: db.crosstab("month", **o),
}
EXPECTED: dict[str, list[float]] = {
    "count": [12 * PEOPLE],
    "sum": [78 * PEOPLE],
    "histogram": [5 * PEOPLE, 7 * PEOPLE],
    "crosstab": [PEOPLE] * 12,
}


@pytest.mark.usefixtures("likely")
@pytest.mark.parametrize("verb", VERBS)
def test_verbs_choose_the_reach_of_the_table(verb: str) -> None:
    """The least reach with few units above is 12."""
    with year() as db:
        answer = VERBS[verb](db, {"epsilon": AMPLE, "reach": "auto"})
        assert chosen(answer) == 12
        assert [row[-1] for row in answer.rows()] == pytest.approx(EXPECTED[verb], rel=0.001)
        assert answer.cost == tc.PureDP(epsilon=AMPLE)


@pytest.mark.usefixtures("likely")
def test_found_groups_are_answered_at_a_chosen_reach() -> None:
    with year() as db:
        answer = db.sql(BY_NAME, epsilon=AMPLE, delta=1e-6, reach="auto", max_groups=12)
        assert chosen(answer) == 12
        assert set(answer.rows()) == {(f"month {m}", PEOPLE) for m in MONTHS}
        assert answer.cost == tc.ApproxDP(epsilon=AMPLE, delta=1e-6)
        assert db.spent == tc.ApproxDP(epsilon=AMPLE, delta=1e-6)


def test_a_sum_far_from_zero_is_answered() -> None:
    """Its values are too large for shares, so units are counted."""
    with year() as db:
        answer = db.sql('SELECT sum("when") AS s FROM year', epsilon=AMPLE, reach="auto")
        assert chosen(answer) >= 1
        assert [entry.outcome for entry in db.ledger.entries()] == ["answered"]


@pytest.mark.usefixtures("likely")
def test_the_limits_of_the_policy_stay() -> None:
    with year(max_groups=3, max_rows=1) as db:
        answer = db.sql(BY_MONTH, epsilon=AMPLE, reach="auto")
        assert answer.plan.table.max_groups == 3
        assert sum(answer.to_pandas()["n"]) == 3 * PEOPLE


@pytest.mark.usefixtures("likely")
@pytest.mark.parametrize("rows", [YEAR.head(0), YEAR.assign(month=0), YEAR.assign(person=None)])
def test_tables_without_rows_units_or_listed_groups(rows: pd.DataFrame) -> None:
    rows = rows.astype({"person": "Int64", "month": "Int64"})
    with tc.open(rows, name="year", unit="person", keys={"month": MONTHS}, budget=tc.PureDP(epsilon=10**9)) as db:
        answer = db.sql(BY_MONTH, epsilon=AMPLE, reach="auto")
        assert [n for _, n in answer.rows()] == [0] * 12
        assert chosen(answer) == 1


@pytest.mark.usefixtures("likely")
def test_the_receipt_has_the_event_of_the_choice() -> None:
    with year() as db:
        receipt: Any = db.sql(BY_MONTH, epsilon=AMPLE, reach="auto").receipt
    assert receipt["limits_chosen"] == {
        "reach": 12,
        "law": "exponential mechanism on the number of units with more rows",
        "units_that_it_can_tell": 1,
        "event": '{"epsilon":"10000","event":"BoundedRange","version":1}',
    }
