"""Verbs that plan, and the verbs std, top and describe."""

from __future__ import annotations

from collections.abc import Callable
from statistics import pstdev, stdev
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import tacit as tc
from tacit.database import Database
from tacit.errors import ColumnNotFoundError, InvalidError, RefusedError, UnusedOptionError
from tacit.query.results.description import Description
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release, release
from tacit.quotes import SessionQuote

LARGE = 10_000  # so that noise is 0 but with probability below e^-1000
TOWNS = list("abcdefgh")
AGES = [20 + n % 60 for n in range(400)]
INCOMES = [None if n % 4 == 0 else 100.0 * n for n in range(400)]
ROWS = pd.DataFrame(
    {"age": AGES, "income": INCOMES, "town": [TOWNS[n * n % 8] for n in range(400)], "name": ["x"] * 400}
)


@pytest.fixture
def db() -> Database:
    return tc.open(
        ROWS,
        unit=tc.ROW,
        bounds={"age": (0, 120), "income": (0, 40_000)},
        keys={"town": TOWNS},
        budget=tc.ApproxDP(epsilon=10**7, delta=0.1),
    )


VERBS: list[Callable[..., object]] = [
    lambda db, **more: db.count(**more),
    lambda db, **more: db.sum("age", by="town", **more),
    lambda db, **more: db.mean("age", where="income > 5", **more),
    lambda db, **more: db.variance("age", **more),
    lambda db, **more: db.std("age", sample=False, **more),
    lambda db, **more: db.median("age", **more),
    lambda db, **more: db.quantile("age", [0.1, 0.9], **more),
    lambda db, **more: db.choose("town", **more),
    lambda db, **more: db.histogram("age", 4, **more),
    lambda db, **more: db.crosstab("town", **more),
    lambda db, **more: db.top("town", 3, **more),
    lambda db, **more: db.describe("age", "name", **more),
]


@pytest.mark.parametrize("verb", VERBS)
def test_a_planned_verb_costs_what_the_verb_costs_and_spends_nothing(db: Database, verb: Callable[..., object]) -> None:
    quote = verb(db, epsilon=0.5, plan=True)
    assert isinstance(quote, SessionQuote)
    assert not db.ledger.entries()
    answer = verb(db, epsilon=0.5, plan=False)
    assert isinstance(answer, (Release, Description))
    assert quote.cost == answer.cost
    assert quote.plan.sql == db.ledger.entries()[0].question
    assert quote.plan == (answer.answer if isinstance(answer, Description) else answer).plan


def test_planned_verbs_can_be_declared(db: Database) -> None:
    plans = [db.count(epsilon=1, plan=True), db.mean("age", epsilon=1, plan=True)]
    count, mean = tc.declare(plans).ask()
    assert len(db.ledger.entries()) == 1
    assert (len(count), len(mean)) == (1, 1)


def test_bounds_and_limits_are_planned_too(db: Database) -> None:
    assert isinstance(db.bounds("age", epsilon=0.5, plan=True), Quote)
    people = tc.open(ROWS.assign(person=range(400)), unit="person", reach=5, budget=tc.PureDP(epsilon=1))
    assert isinstance(people.limits(epsilon=0.5, plan=True), SessionQuote)
    assert not db.ledger.entries()
    assert not people.ledger.entries()
    with pytest.raises(InvalidError, match="plan must be"):
        people.limits(epsilon=0.5, plan="yes")  # type: ignore[call-overload]


@pytest.mark.parametrize("verb", VERBS)
def test_wrong_options_are_refused_before_the_charge(db: Database, verb: Callable[..., object]) -> None:
    for wrong, fact in (
        ({"epsilon": 1, "plan": 1}, "plan must be True or False"),
        ({"epsilon": 1, "plan": None}, "plan must be"),
        ({"epsilom": 1}, "Did you mean 'epsilon'"),
        ({"epsilon": 1, "sed": 3}, "There is no option 'sed'"),
        ({"plan": True}, "no cost"),
    ):
        with pytest.raises(InvalidError, match=fact) as caught:
            verb(db, **wrong)
        assert caught.value.unspent
    with pytest.raises(UnusedOptionError, match="request"):
        verb(db, epsilon=1, plan=True, request="r1")
    assert not db.ledger.entries()


def test_a_request_repeats_any_verb(db: Database) -> None:
    first, again = (db.histogram("age", 4, epsilon=0.1, request="ages") for _ in range(2))
    assert first.rows() == again.rows()
    assert again.repeated
    assert len(db.ledger.entries()) == 1


def test_std_is_that_of_the_sample_or_the_population(db: Database) -> None:
    assert float(db.std("age", epsilon=LARGE)) == pytest.approx(stdev(AGES), rel=1e-4)  # they differ by 1.25e-3
    assert float(db.std("age", sample=False, epsilon=LARGE)) == pytest.approx(pstdev(AGES), rel=1e-4)


# --- top --------------------------------------------------------------------------------------------------------------


def test_top_returns_the_most_frequent_values_in_order(db: Database) -> None:
    counts = ROWS["town"].value_counts()
    for n in (1, 2, 3, 50):
        answer = db.top("town", n, epsilon=LARGE)
        assert len(answer) == min(n, len(TOWNS))
        assert answer["count"] == sorted(counts.tolist() + [0] * (8 - len(counts)), reverse=True)[:n]
    assert db.top("town", 1, where="town = 'e'", epsilon=LARGE).rows() == [("e", counts["e"])]
    assert db.top("upper(town)", 1, keys={"upper(town)": ["B", "E"]}, epsilon=LARGE)["count"] == [
        max(counts["b"], counts["e"])
    ]


def test_top_finds_values_in_the_data_with_a_delta() -> None:
    rows = pd.DataFrame({"word": ["often"] * 300 + ["some"] * 200 + ["rare"] * 100, "count": range(600)})
    db = tc.open(rows, unit=tc.ROW, budget=tc.ApproxDP(epsilon=10**6, delta=0.1))
    answer = db.top("word", 2, epsilon=LARGE, delta=1e-6)
    assert answer["word"] == ["often", "some"]
    assert "all 3 groups that were found" in str(answer)
    with pytest.raises((RefusedError, InvalidError), match=r"delta|δ|keys"):
        db.top("word", 2, epsilon=1)


def test_top_of_a_column_called_count() -> None:
    rows = pd.DataFrame({"count": ["a", "b", "b"]})
    db = tc.open(rows, unit=tc.ROW, keys={"count": ["a", "b"]}, budget=tc.PureDP(epsilon=10**6))
    assert db.top("count", 1, epsilon=LARGE).rows() == [("b", 2)]


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", None, True])
def test_the_number_of_top_values_is_whole(db: Database, n: object) -> None:
    with pytest.raises(InvalidError, match="n must be a whole number ≥ 1"):
        db.top("town", n, epsilon=1)  # type: ignore[call-overload]


@pytest.mark.parametrize("n", [1, 8])
def test_the_interval_of_the_first_value_covers_its_count(db: Database, n: int) -> None:
    """Each of 800 answers misses with probability at most 0.05; a binomial tail of 1e-10 is the false-alarm rate.

    The interval of one count without a choice is the planted error: it misses the first of 8 equal counts too often.
    """
    quote = db.top("town", n, epsilon=0.3, plan=True)
    chosen = db.count(by="town", epsilon=0.3, plan=True)
    answers = [release(quote.plan, quote.price, [[50] * 8], {}) for _ in range(800)]
    first: list[Any] = [answer.intervals()[0] for answer in answers]
    misses = sum(not low <= 50 <= high for _, _, low, high in first)
    most = binom.isf(1e-10, 800, 0.05)
    assert misses <= most
    half = next(iter(chosen.error.values()))
    assert sum(abs(count - 50) > half for _, count, *_ in first) > most


# --- describe ---------------------------------------------------------------------------------------------------------


def test_a_description_has_the_statistics_of_every_column(db: Database) -> None:
    description = db.describe("age", "income", "name", epsilon=LARGE)
    table: dict[str, Any] = description.to_dict()
    ends: dict[str, Any] = description.intervals(1 - 1e-12).to_dict()
    known = np.array([income for income in INCOMES if income is not None])
    assert table["column"] == ["age", "income", "name"]
    assert table["count"] == [400, 300, 400]
    assert table["missing"] == pytest.approx([0, 0.25, 0], abs=1e-12)
    assert 0 <= table["min"][1] <= 500  # a rank near the end, on a grid
    for index, data in enumerate((np.array(AGES), known)):
        truths = {"mean": data.mean(), "std": data.std(ddof=1), "min": data.min(), "max": data.max()}
        truths |= {f"{rank}%": np.quantile(data, rank / 100) for rank in (25, 50, 75)}
        for name, truth in truths.items():
            gap = (1, 200)[index]  # a drawn quantile is anywhere between two values of the data
            assert table[name][index] == pytest.approx(truth, abs=2 * gap) or name in ("min", "max")
            if name in ("mean", "std"):
                assert ends[f"{name}_low"][index] <= truth <= ends[f"{name}_high"][index]
    assert [table[name][2] for name in ("mean", "std", "min", "25%", "50%", "75%", "max")] == [None] * 7


def test_a_description_has_intervals_and_one_charge(db: Database) -> None:
    description = db.describe(epsilon=1)
    assert (description.cost, len(db.ledger.entries())) == (tc.PureDP(epsilon=1), 1)
    assert description["column"] == ["age", "income"]
    ends: dict[str, Any] = description.to_dict(intervals=True)
    for low, high in zip(ends["missing_low"], ends["missing_high"], strict=True):
        assert 0 <= low <= high <= 1
    for name in ("count", "mean", "std", "25%", "max"):
        assert all(low <= high for low, high in zip(ends[f"{name}_low"], ends[f"{name}_high"], strict=True))
    assert description.intervals(0.5).rows() != description.intervals(0.99).rows()
    assert len(str(description).splitlines()) >= 19
    assert description.receipt == description.answer.receipt


def test_bounds_of_the_query_make_a_column_a_number(db: Database) -> None:
    free = tc.open(ROWS[["age", "name"]], unit=tc.ROW, budget=tc.PureDP(epsilon=10**6))
    with pytest.raises(InvalidError, match="No column has bounds"):
        free.describe(epsilon=1)
    assert free.describe("age", epsilon=LARGE)["count"] == [400]
    choices: list[Any] = [{"age": (0, 120)}, {"age": "auto"}]
    for bounds in choices:
        described = free.describe(epsilon=LARGE, bounds=bounds)
        assert described["mean"] == pytest.approx([np.mean(AGES)], rel=0.01)
    assert db.describe("age / 2", epsilon=LARGE)["mean"] == pytest.approx([np.mean(AGES) / 2], rel=1e-3)


def test_bad_columns_are_refused_before_the_charge(db: Database) -> None:
    with pytest.raises(ColumnNotFoundError, match="Did you mean 'income'"):
        db.describe("incme", epsilon=1)
    for wrong in ("", "age; drop", "*", 3):
        with pytest.raises((InvalidError, RefusedError)):
            db.describe(wrong, epsilon=1)  # type: ignore[arg-type]
    assert not db.ledger.entries()
    assert db.describe("age", "age", epsilon=LARGE)["column"] == ["age"]
