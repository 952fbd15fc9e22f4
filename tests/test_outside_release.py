"""Charges for releases outside SQL: what is admitted, what is recorded, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from cli_runs import run
from tacit.database import Database
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.errors import BudgetError, InvalidError, RefusedError
from tacit.guarantees.events import (
    ApproxRelease,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    Neighbours,
    PureRelease,
    ZCDPRelease,
)
from tacit.guarantees.filters import Budget

ROWS = pd.DataFrame({"patient": range(20), "cost": range(20)})


def opened(
    budget: Budget, ledger: Path | None = None, *, neighbours: Neighbours = "add/remove", analyst: str | None = None
) -> Database:
    return tc.open(
        ROWS,
        unit="patient",
        max_groups=1,
        max_rows=1,
        budget=budget,
        ledger=ledger,
        neighbours=neighbours,
        analyst=analyst,
    )


@pytest.fixture(autouse=True)
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if rows are read: a charge outside SQL reads nothing."""

    def refuse(*_: object) -> None:
        pytest.fail("rows were read")

    monkeypatch.setattr(DuckDBEngine, "_reading", refuse)


PURE, APPROX, RHO = tc.PureDP(epsilon=3), tc.ApproxDP(epsilon=3, delta=1e-3), tc.ZCDP(rho=3)
HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("budget", "mechanism", "event", "loss", "delta"),
    [
        (PURE, tc.Exponential(sensitivity=1, epsilon=0.5), tc.Exponential(sensitivity=1, epsilon=0.5).event, HALF, 0),
        (PURE, tc.Laplace(sensitivity=1, epsilon=0.5), None, HALF, 0),
        (PURE, tc.PureDP(epsilon=0.5), PureRelease(epsilon=HALF), HALF, 0),
        (PURE, PureRelease(epsilon=HALF, neighbours="add/remove"), None, HALF, 0),
        (PURE, DiscreteLaplaceNoise(scale=Fraction(4), l1=Fraction(2), coordinates=1), None, HALF, 0),
        (PURE, tc.ApproxDP(epsilon=0.5, delta=0), PureRelease(epsilon=HALF), HALF, 0),
        (PURE, tc.PermuteAndFlip(sensitivity=1, epsilon=0.5, monotone=True), None, HALF, 0),
        (APPROX, tc.ApproxDP(epsilon=0.5, delta=1e-6), None, HALF, Fraction(1, 10**6)),
        (
            APPROX,
            tc.Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6),
            ApproxRelease(epsilon=HALF, delta=Fraction(1, 10**6)),
            HALF,
            Fraction(1, 10**6),
        ),
        (RHO, tc.Gaussian(sensitivity=1, rho=0.5), None, HALF, 0),
        (RHO, tc.ZCDP(rho=0.5), ZCDPRelease(rho=HALF), HALF, 0),
        (RHO, tc.GaussianDP(mu=1), GaussianNoise(sigma=Fraction(1), l2=Fraction(1)), HALF, 0),
        (RHO, tc.PureDP(epsilon=1), PureRelease(epsilon=Fraction(1)), HALF, 0),
        (RHO, tc.Exponential(sensitivity=1, epsilon=2), None, HALF, 0),
        (RHO, DiscreteGaussianNoise(variance=Fraction(1), l2_squared=1, coordinates=1), None, HALF, 0),
    ],
)
def test_a_mechanism_a_guarantee_and_an_event_are_charged(
    budget: Budget,
    mechanism: Any,  # noqa: ANN401 - anything that can be charged
    event: Event | None,
    loss: Fraction,
    delta: Fraction,
) -> None:
    with opened(budget) as db:
        charged = db.charge(mechanism, note="choice of a drug")
        spent = db.ledger.spent
        assert (spent.loss, spent.delta) == (loss, delta)
        (entry,) = db.ledger.entries()
        assert (entry.question, entry.outcome) == ("Outside SQL: choice of a drug", "answered")
        assert entry.events == charged.events
        if event is not None:
            assert charged.events == (event,)
        assert db.spent == charged.cost


def test_approximate_zcdp_is_charged_in_both_parts() -> None:
    with opened(tc.ApproxZCDP(rho=1, delta=1e-3)) as db:
        charged = db.charge(tc.ApproxZCDP(rho=0.5, delta=1e-6), note="marginals")
        assert charged.cost == tc.ApproxZCDP(rho=0.5, delta=1e-6) == db.spent


class Unknown:
    """A mechanism of somebody else."""

    event = "coin toss"
    guarantee = tc.PureDP(epsilon=1)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        0.5,
        "Laplace",
        tc.Laplace,
        Unknown(),
        [tc.PureDP(epsilon=1)],
        {"epsilon": 1},
        tc.PrivacyProfile([(0, 0.1)]),
    ],
)
def test_anything_else_is_not_charged(wrong: Any) -> None:  # noqa: ANN401 - anything
    with opened(PURE) as db:
        with pytest.raises(InvalidError, match="mechanism must be a mechanism, a guarantee or an event") as caught:
            db.charge(wrong, note="a note")
        assert caught.value.argument == "mechanism"
        assert str(caught.value).endswith("Nothing was spent.")
        assert not db.ledger.entries()


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (tc.Laplace, "not the class Laplace. Write tc.Laplace(sensitivity=…, epsilon=…)."),
        (tc.PureDP, "not the class PureDP. Write tc.PureDP(epsilon=…)."),
        (int, "not the class int. Charge a value of a class of tacit."),
        ([tc.PureDP(epsilon=1)] * 3, "Charge each one separately."),
        (tc.compose([tc.PureDP(epsilon=1)] * 2), "Charge each one separately."),
    ],
)
def test_a_hint_says_what_to_charge_instead(wrong: Any, hint: str) -> None:  # noqa: ANN401 - anything
    with opened(PURE) as db, pytest.raises(InvalidError) as caught:
        db.charge(wrong, note="a note")
    assert hint in str(caught.value)


def test_a_note_of_two_lines_is_refused_as_such() -> None:
    with opened(PURE) as db, pytest.raises(InvalidError, match="one line of up to 200 characters"):
        db.charge(tc.PureDP(epsilon=0.5), note="two\nlines")


@pytest.mark.parametrize(
    ("budget", "mechanism"),
    [
        (PURE, tc.ZCDP(rho=0.5)),
        (PURE, tc.Gaussian(sensitivity=1, rho=0.5)),
        (PURE, tc.GaussianDP(mu=1)),
        (APPROX, tc.RenyiDP(alpha=2, epsilon=1)),
        (RHO, tc.RenyiDP(alpha=2, epsilon=1)),
        (PURE, tc.PureDP(epsilon=0)),
        (APPROX, tc.ApproxDP(epsilon=1, delta=1)),
    ],
)
def test_what_the_budget_cannot_price_is_not_charged(budget: Budget, mechanism: Any) -> None:  # noqa: ANN401 - as above
    with opened(budget) as db:
        with pytest.raises(InvalidError) as caught:
            db.charge(mechanism, note="a note")
        assert caught.value.unspent
        assert not db.ledger.entries()


@pytest.mark.parametrize("neighbours", ["add/remove", "change one"])
def test_a_release_under_the_other_relation_is_not_charged(neighbours: Neighbours) -> None:
    """Randomized response holds under "change one" alone, a monotone choice under "add/remove" alone."""
    flips, picks = tc.RandomizedResponse(epsilon=0.5), tc.Exponential(sensitivity=1, epsilon=0.5, monotone=True)
    right, wrong = (picks, flips) if neighbours == "add/remove" else (flips, picks)
    with opened(PURE, neighbours=neighbours) as db:
        assert db.charge(right, note="right").receipt["neighbours"] == neighbours
        with pytest.raises(InvalidError, match=rf"holds under .* only, but this policy protects {neighbours!r}"):
            db.charge(wrong, note="wrong")
        assert float(db.ledger.spent.loss) == 0.5


@pytest.mark.parametrize("note", ["", " a", "a\n", "a\tb", "\x1b[31mred", "a" * 201, None, 7, "\u202egnirts"])
def test_a_note_is_a_line_that_can_be_printed(note: Any) -> None:  # noqa: ANN401 - anything
    with opened(PURE) as db:
        with pytest.raises(InvalidError, match="note") as caught:
            db.charge(tc.PureDP(epsilon=0.5), note=note)
        assert caught.value.unspent
        assert not db.ledger.entries()


def test_a_charge_that_does_not_fit_or_comes_too_late_is_refused(tmp_path: Path) -> None:
    db = opened(PURE, tmp_path / "spent.ledger", analyst="ann")
    db.charge(tc.PureDP(epsilon=2.5), note="first")
    with pytest.raises(BudgetError, match=r"This release costs epsilon = 0\.6 but only 0\.5 is left"):
        db.charge(tc.PureDP(epsilon=0.6), note="second")
    db.close()
    with pytest.raises(RefusedError, match="closed"):
        db.charge(tc.PureDP(epsilon=0.1), note="third")
    assert [entry.analyst for entry in db.ledger.entries()] == ["ann"]
    assert float(db.ledger.spent_by("ann").loss) == 2.5


def test_a_charge_is_durable_and_has_a_receipt_that_verifies(tmp_path: Path) -> None:
    place = tmp_path / "clinic.ledger"
    with opened(APPROX, place) as db:
        charged = db.charge(tc.Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6), note="mean of a scan")
    receipt = json.loads(json.dumps(charged.receipt))
    assert receipt["promise"] == {"epsilon": 0.5, "delta": 1e-6}
    assert receipt["note"] == "mean of a scan"
    assert [json.loads(text)["event"] for text in receipt["events"]] == ["ApproxRelease"]
    assert str(charged) == "mean of a scan: charged ε = 0.5, δ = 1e-06"
    assert repr(charged) == f"<OutsideRelease: {charged}>"
    assert charged._repr_html_() == f"<p>{charged}</p>"
    with opened(APPROX, place) as again:
        assert float(again.ledger.spent.loss) == 0.5
        assert tc.ledger.verify(again.ledger, [receipt]).holds
        (share,) = tc.ledger.history.by_analyst(again.ledger)
        assert share.questions == 1
        (cost,) = tc.ledger.history.charges(again.ledger.entries())
        assert float(cost.cost.loss) == 0.5
        moved = {**receipt, "ledger_link": "0" * 64}
        assert not tc.ledger.verify(again.ledger, [moved]).holds


def test_the_command_line_lists_and_verifies_it(tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "visits.parquet")
    policy = tmp_path / "clinic.toml"
    policy.write_text(
        'budget = { epsilon = 3.0 }\nledger = "clinic.ledger"\n'
        '[tables.visits]\nsource = "visits.parquet"\nunit = "patient"\nmax_groups = 1\nmax_rows = 1\n'
    )
    with tc.open(policy) as db:
        (tmp_path / "receipt.json").write_text(json.dumps(db.charge(tc.PureDP(epsilon=0.5), note="a drug").receipt))
    shown = run(tmp_path, "ledger", str(policy)).stdout
    assert "Outside SQL: a drug" in shown
    assert "charged" in shown
    assert "answered" not in shown
    verified = run(tmp_path, "ledger", str(policy), "verify", "--receipt", str(tmp_path / "receipt.json"))
    assert "records are valid" in verified.stdout


class _ChangeOneOnly:
    """A mechanism whose event a budget in ε cannot price, and which holds under "change one" only."""

    event = ZCDPRelease(rho=Fraction(1, 100), neighbours="change one")
    guarantee = tc.ApproxDP(epsilon=0.5, delta=1e-6)


def test_the_relation_of_a_mechanism_is_kept_if_its_guarantee_is_charged() -> None:
    budget, rows = tc.ApproxDP(epsilon=3, delta=1e-5), pd.DataFrame({"x": [1]})
    with tc.open(rows, unit=tc.ROW, budget=budget) as db, pytest.raises(InvalidError, match="change one"):
        db.charge(_ChangeOneOnly(), note="x")
    with tc.open(rows, unit=tc.ROW, budget=budget, neighbours="change one") as db:
        assert db.charge(_ChangeOneOnly(), note="x").cost == tc.ApproxDP(epsilon=0.5, delta=1e-6)
