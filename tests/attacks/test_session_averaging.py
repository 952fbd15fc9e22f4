"""Averaging and differencing: a question asked again in other words, by others, elsewhere, or all but one person.

Every number with fresh noise must be paid. ε = 1e-14 makes the noise about 1e14, so two draws are equal with a
probability below 1e-14, and the number of different values is the number of draws: it must be the number of charges.

The game: an attacker guesses from the answers of a whole budget of ε whether one person is in the data. A guess is
right with probability at most e^ε/(1 + e^ε), whatever was asked, so the number of right guesses in independent games
is at most binomial. A false alarm has probability at most 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from math import exp
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import tacit as tc
from children import ended, forked
from known_bad import BudgetPerQuestion, StickyNoise
from tacit.database import Database

TINY = Fraction(1, 10**14)
PEOPLE = pd.DataFrame({"id": range(40), "x": [0, 1] * 20, "g": ["a", "a", "b", "b"] * 10})

SPELLINGS = [
    "SELECT count(*) AS n FROM t WHERE x = 1 AND g = 'a'",
    "select COUNT( * )  as n\n from T where x=1 and g='a'",
    "SELECT count(*) AS n -- again\n FROM t WHERE x = 1 AND g = 'a';",
    "SELECT count(*) AS n FROM t WHERE g = 'a' AND x = 1",
    "SELECT count(*) AS other FROM t WHERE x = 1 AND g = 'a'",
    "SELECT count(1) AS n FROM t WHERE x = 1 AND g = 'a'",
    "SELECT count(*) AS n FROM t AS s WHERE s.x = 1 AND s.g = 'a'",
    "SELECT count(*) AS n FROM t WHERE 1 = x AND 'a' = g",
    "SELECT count(*) AS n FROM t WHERE x = 1.0 AND g = 'a'",
    "SELECT count(*) AS n FROM t WHERE x IN (1) AND g IN ('a', 'a')",
    "SELECT count(*) AS n FROM t WHERE NOT (x <> 1 OR g <> 'a')",
    "SELECT count(*) AS n FROM t WHERE x BETWEEN 1 AND 1 AND g = 'a'",
    "SELECT count(*) AS n FROM t WHERE x > 0 AND x < 2 AND g LIKE 'a'",
    "SELECT count(*) AS n FROM t WHERE x = 1 AND x = 1 AND g = 'a'",
    "SELECT count(*) FILTER (WHERE x = 1 AND g = 'a') AS n FROM t",
    "SELECT count(CASE WHEN x = 1 AND g = 'a' THEN 7 END) AS n FROM t",
    "SELECT count(DISTINCT id) AS n FROM t WHERE x = 1 AND g = 'a'",
    "SELECT count(*) AS n FROM t WHERE x = 1 AND g = 'a' ORDER BY n",
    "SELECT count(*) AS n FROM t WHERE x = 1 AND g = 'a' LIMIT 1",
    "SELECT n FROM (SELECT count(*) AS n FROM t WHERE x = 1 AND g = 'a') AS q",
    "WITH q AS (SELECT * FROM t) SELECT count(*) AS n FROM q WHERE x = 1 AND g = 'a'",
]


def opened(ledger: Path | None, analyst: str = "", *, version: str | None = "v1") -> Database:
    return tc.open(
        PEOPLE,
        name="t",
        unit="id",
        max_groups=1,
        max_rows=1,
        bounds={"x": (0, 1)},
        keys={"g": ["a", "b"]},
        budget=tc.PureDP(epsilon=1),
        ledger=ledger,
        analyst=analyst or None,
        data_version=version,
    )


def charges(db: Database) -> Fraction:
    """Return how many questions of ε = 1e-14 the budget has paid."""
    return db.ledger.spent.loss / TINY


# --- every draw is paid --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1", None])
def test_another_spelling_is_the_same_answer_or_is_charged(tmp_path: Path, version: str | None) -> None:
    """Without a declared version nothing is repeated for free; with one, only what is equal."""
    with opened(tmp_path / "l", version=version) as db:
        answers = [db.sql(text, epsilon=TINY) for text in SPELLINGS * (2 if version else 1)]
        draws = len({answer.value for answer in answers})
        assert draws == charges(db)
        assert draws == (sum(not answer.repeated for answer in answers) if version else len(answers))
        if version:
            assert len(SPELLINGS) >= draws > 10  # the second round is free
    sticky = StickyNoise(range(10), float(TINY), salt=1)
    assert len({sticky.count(text) for text in SPELLINGS}) == len(SPELLINGS)
    assert sticky.spent == 0


def in_a_child(ledger: Path, text: str) -> float:
    """Ask in another process and return the value."""
    path = ledger.with_name("value")
    child = forked(lambda: path.write_text(str(float(opened(ledger).sql(text, epsilon=TINY)))) and None)
    assert ended(child) == 0
    return float(path.read_text())


def by_threads(ledger: Path, text: str) -> list[float]:
    """Ask a question that has no answer yet in four threads at once; none may see an answer that is not charged."""
    with opened(ledger) as db, ThreadPoolExecutor(4) as threads:
        return list(threads.map(lambda _: float(db.sql(text, epsilon=TINY)), range(4)))


def ways() -> dict[str, Callable[[Database, Path, str], Sequence[float]]]:
    """Return ways to ask one question again; each returns the values that an attacker gets."""
    return {
        "once more": lambda db, _, text: [float(db.sql(text, epsilon=TINY))],
        "another confidence": lambda db, _, text: [float(db.sql(text, epsilon=TINY, confidence=0.5))],
        "another ε": lambda db, _, text: [float(db.sql(text, epsilon=2 * TINY))],
        "an error": lambda db, _, text: [float(db.sql(text, error=1e14))],
        "a named request": lambda db, _, text: [float(db.sql(text, epsilon=TINY, request="r1"))],
        "the same name again": lambda db, _, text: [float(db.sql(text, epsilon=TINY, request="r1"))],
        "another name": lambda db, _, text: [float(db.sql(text, epsilon=TINY, request="r2"))],
        "another analyst": lambda db, _, text: [float(db.as_analyst("eve").sql(text, epsilon=TINY))],
        "an analyst of a like name": lambda db, _, text: [float(db.as_analyst("еve").sql(text, epsilon=TINY))],
        "another database object": lambda _, ledger, text: [float(opened(ledger).sql(text, epsilon=TINY))],
        "another process": lambda _, ledger, text: [in_a_child(ledger, text)],
        "four threads": lambda _, ledger, __: by_threads(ledger, SPELLINGS[3]),
        "a declared plan": lambda db, _, text: [float(a) for a in tc.declare([db.plan(text, epsilon=TINY)] * 2).ask()],
        "a declared plan again": lambda db, _, text: [float(tc.declare([db.plan(text, epsilon=TINY)]).ask()[0])],
        "a computation of it": lambda db, _, text: [
            float(db.sql(f"SELECT 2 * n AS n FROM ({text}) AS q", epsilon=TINY)) / 2  # noqa: S608 - in its own subset
        ],
        "no intervals": lambda db, _, text: [float(db.sql(text, epsilon=TINY, intervals=False))],
    }


FREE = {
    "another confidence",
    "a named request",
    "the same name again",
    "another name",
    "another database object",
    "another process",
    "no intervals",
}
"""The ways that return the recorded answer."""


def test_every_way_to_ask_again_is_paid_or_returns_the_recorded_answer(tmp_path: Path) -> None:
    """Each value that the attacker did not have has cost at least 1e-14, whoever asked, where, and how."""
    text, ledger = SPELLINGS[0], tmp_path / "l"
    with opened(ledger) as db:
        known: set[float] = set()
        free: set[str] = set()
        for name, way in ways().items():
            before = db.ledger.spent.loss
            new = set(way(db, ledger, text)) - known
            spent = db.ledger.spent.loss - before
            assert len(new) * TINY <= spent, name
            known |= new
            free |= set() if spent else {name}
        assert free == FREE
        assert float(db.sql(text, epsilon=TINY)) in known
        assert db.ledger.spent.loss >= len(known) * TINY


# --- the game ------------------------------------------------------------------------------------------------------

EPSILON = 0.4
GAMES = 60
TARGET = 7


def most_right(epsilon: float, games: int) -> int:
    """Return the number of right guesses that (ε, 0)-DP exceeds with probability at most 1e-12."""
    chance = exp(epsilon) / (1 + exp(epsilon))
    return int(binom.isf(1e-12, games, chance))


def presence_is_guessed(ask: Callable[[bool], float]) -> int:
    """Return how often the statistic of an attacker tells whether the person is in; each game has a fair coin."""
    coins = np.random.default_rng().random(GAMES) < 0.5
    return sum((ask(bool(coin)) > 0) == coin for coin in coins)


@cache
def without_target(texts: int) -> list[str]:
    """Return spellings of the count of all but the target."""
    return [f"SELECT count(*) AS n FROM t WHERE id <> {TARGET} AND id >= -{i}" for i in range(texts)]  # noqa: S608 - as above


@cache
def everybody(texts: int) -> list[str]:
    """Return spellings of the count of everybody."""
    return [f"SELECT count(*) AS n FROM t WHERE id >= -{i}" for i in range(texts)]  # noqa: S608 - as above


def difference(db: Database, spellings: int) -> float:
    """Spend the whole budget on counts with and without the target; return the mean difference, less a half."""
    share = Fraction(repr(EPSILON)) / (2 * spellings)
    whole = [float(db.sql(text, epsilon=share)) for text in everybody(spellings)]
    rest = [float(db.sql(text, epsilon=share)) for text in without_target(spellings)]
    with pytest.raises(tc.BudgetError):
        db.sql("SELECT count(*) AS n FROM t", epsilon=share)
    return float(np.mean(whole) - np.mean(rest)) - 0.5


@pytest.mark.parametrize("spellings", [1, pytest.param(8, marks=pytest.mark.long)])
def test_differencing_everybody_and_all_but_one_person(spellings: int) -> None:
    """The textbook's attack: two counts that differ by one person, averaged over spellings."""

    def on_tacit(present: bool) -> float:  # noqa: FBT001 - a coin
        people = [person for person in range(20) if present or person != TARGET]
        frame = pd.DataFrame({"id": people})
        budget = tc.PureDP(epsilon=EPSILON)
        with tc.open(frame, name="t", unit="id", max_groups=1, max_rows=1, budget=budget) as db:
            return difference(db, spellings)

    def on_sticky(present: bool) -> float:  # noqa: FBT001 - a coin
        people = [person for person in range(20) if present or person != TARGET]
        system = StickyNoise(people, EPSILON, salt=int(np.random.default_rng().integers(2**62)))
        whole = np.mean([system.count(text) for text in everybody(3000)])
        return float(whole - np.mean([system.count(text, [TARGET]) for text in without_target(3000)])) - 0.5

    assert presence_is_guessed(on_tacit) <= most_right(EPSILON, GAMES) < GAMES
    assert presence_is_guessed(on_sticky) > most_right(EPSILON, GAMES)


def test_a_budget_for_each_question_and_none_for_all_is_averaged_away() -> None:
    """The same question 3,000 times at ε = 0.4 each is a guarantee of ε = 1,200, and the attacker has the count."""

    def on_reference(present: bool) -> float:  # noqa: FBT001 - a coin
        system = BudgetPerQuestion(range(19 + present), EPSILON)
        return float(np.mean([system.count("q") for _ in range(3000)])) - 19.5

    assert presence_is_guessed(on_reference) > most_right(EPSILON, GAMES)
    with tc.open(PEOPLE, name="t", unit=tc.ROW, budget=tc.PureDP(epsilon=EPSILON)) as db:
        for _ in range(4):
            db.sql("SELECT count(*) AS n FROM t", epsilon=EPSILON / 4)
        for cost in (EPSILON / 4, TINY):
            with pytest.raises(tc.BudgetError):
                db.sql("SELECT count(*) AS n FROM t", epsilon=cost)
