"""Reconstruction of a column of zeros and ones from sums over random subsets (Dinur and Nissim, PODS 2003).

The attacker asks for the sum of a secret bit over many random sets of people, and finds by linear programming the
column whose sums are nearest. With exact sums, or noise that is small beside the root of the number of people, almost
every bit is right. The known-bad references are exact answers and fresh noise of ε = 1 for each question, without a
total.

**False alarms.** Under (ε, δ)-DP in each bit, of n bits that fair coins have drawn, at least v are guessed right with
probability at most Pr[Bin(n, q) ≥ v] + n·δ/(1 + e^ε) with q = e^ε/(1 + e^ε), whatever was asked and however the guess
is made (Steinke, Nasr and Jagielski, arXiv:2305.08846v1; a proof is in `tacit.auditing.one_run`). A bit that changes is
one person whose row changes, so the claim is that of "change one"; under "add/remove" it is twice the budget's ε.
The limit is exceeded with probability at most 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import exp

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

import tacit as tc
from known_bad import Bits
from tacit.arrays import Floats
from tacit.database import Database
from tacit.guarantees.filters import Budget

PEOPLE, QUESTIONS = 96, 128
PURE, TIGHT = tc.PureDP(epsilon=0.5), tc.ApproxDP(epsilon=0.5, delta=1e-15)


def most_right(epsilon: float, delta: float = 0.0) -> int:
    """Return the number of right bits that is exceeded with probability at most 1e-12."""
    alarm = 1e-12 - PEOPLE * delta / (1 + exp(epsilon))
    assert alarm > 0
    return int(binom.isf(alarm, PEOPLE, exp(epsilon) / (1 + exp(epsilon))))


def drawn(questions: int = QUESTIONS) -> tuple[Bits, Bits]:
    """Return a secret column and the sets that are asked for, one a row."""
    draw = np.random.default_rng()
    return draw.random(PEOPLE) < 0.5, draw.random((questions, PEOPLE)) < 0.5


def by_linear_program(sets: Bits, sums: Floats) -> Bits:
    """Return the bits x that minimize Σ|sum of x over a set - its answer|, with 0 ≤ x ≤ 1, rounded."""
    eye = np.eye(len(sets))
    upper = np.block([[sets, -eye], [-sets.astype(float), -eye]])
    cost = np.concatenate([np.zeros(PEOPLE), np.ones(len(sets))])
    bounds = [(0, 1)] * PEOPLE + [(0, None)] * len(sets)
    found = linprog(cost, A_ub=upper, b_ub=np.concatenate([sums, -sums]), bounds=bounds, method="highs")
    bits: Bits = np.asarray(found.x, dtype=float)[:PEOPLE] > 0.5
    return bits


def by_least_squares(sets: Bits, sums: Floats) -> Bits:
    """Return the bits that are nearest in squares, rounded."""
    rows = sets.astype(float)
    solved: Floats = np.linalg.lstsq(rows.T @ rows, rows.T @ sums, rcond=None)[0]
    return solved > 0.5


Attack = Callable[[Bits, Floats], Bits]
ATTACKS: Sequence[Attack] = (by_linear_program, by_least_squares)


def opened(secret: Bits, budget: Budget) -> Database:
    rows = pd.DataFrame({"id": range(PEOPLE), "bit": secret.astype(int)})
    return tc.open(
        rows,
        name="t",
        unit="id",
        max_groups=1,
        max_rows=1,
        bounds={"bit": (0, 1)},
        neighbours="change one",
        budget=budget,
    )


def question(members: Bits) -> str:
    return f"SELECT sum(bit) AS s FROM t WHERE id IN ({', '.join(map(str, np.flatnonzero(members)))})"  # noqa: S608 - numbers


def one_by_one(db: Database, sets: Bits, total: float) -> Floats:
    """Ask one question after the other until the budget is spent, and one more."""
    share = Fraction(repr(total)) / len(sets)
    sums = np.array([float(db.sql(question(row), epsilon=share)) for row in sets])
    with pytest.raises(tc.BudgetError):
        db.sql(question(sets[0]), epsilon=share)
    return sums


def declared(db: Database, sets: Bits, each: float) -> Floats:
    """Ask all questions as one declared plan, which costs less than their sum."""
    plan = tc.declare([db.plan(question(row), epsilon=each) for row in sets])
    assert plan.apart.loss > Fraction(3, 2) * plan.together.loss
    return np.array([float(answer) for answer in plan.ask()])


@pytest.mark.parametrize(
    ("attack", "questions", "epsilon"), [(by_linear_program, 600, 1), (by_least_squares, 4000, 0.5)]
)
def test_exact_sums_and_a_budget_for_each_question_give_the_column_away(
    attack: Attack, questions: int, epsilon: float
) -> None:
    """The power of the attacks, on the references."""
    secret, sets = drawn(questions)
    exact = (sets & secret).sum(axis=1).astype(float)
    assert (attack(sets[:200], exact[:200]) == secret).all()
    noisy = exact + np.random.default_rng().laplace(scale=1 / epsilon, size=questions)
    assert (attack(sets, noisy) == secret).sum() > most_right(0.5)


def test_a_budget_hides_the_column_from_questions_one_by_one() -> None:
    secret, sets = drawn()
    with opened(secret, PURE) as db:
        sums = one_by_one(db, sets, 0.5)
    for attack in ATTACKS:
        assert (attack(sets, sums) == secret).sum() <= most_right(0.5) < PEOPLE


@pytest.mark.long
def test_a_declared_plan_hides_the_column() -> None:
    """With a δ, the questions may have 1.5 times the ε that one by one would allow, and show no more."""
    secret, sets = drawn()
    with opened(secret, TIGHT) as db:
        sums = declared(db, sets, 0.006)
        assert float(db.ledger.spent.loss) <= 0.5
    for attack in ATTACKS:
        assert (attack(sets, sums) == secret).sum() <= most_right(0.5, 1e-15)


def test_a_few_accurate_questions_show_no_more() -> None:
    """The best use of the budget: as many bits as there are questions, each in a separate answer."""
    secret, _ = drawn()
    alone = np.eye(PEOPLE, dtype=bool)[:8]
    with opened(secret, PURE) as db:
        sums = one_by_one(db, alone, 0.5)
    guess = np.concatenate([sums > 0.5, np.random.default_rng().random(PEOPLE - 8) < 0.5])
    assert (guess == secret).sum() <= most_right(0.5)


def test_groups_by_the_unit_show_no_more() -> None:
    """All bits in one answer: a table with one row for each person, and its noise for each."""
    secret, _ = drawn()
    rows = pd.DataFrame({"id": range(PEOPLE), "bit": secret.astype(int)})
    keys = {"id": list(range(PEOPLE))}
    with tc.open(
        rows, name="t", unit=tc.ROW, bounds={"bit": (0, 1)}, keys=keys, neighbours="change one", budget=PURE
    ) as db:
        table = db.sql("SELECT id, sum(bit) AS s FROM t GROUP BY id", epsilon=0.5).to_pandas()
    guess = table.sort_values("id")["s"].to_numpy() > 0.5
    assert (guess == secret).sum() <= most_right(0.5)
    exact = pd.Series(secret.astype(float))
    assert ((exact > 0.5).to_numpy() == secret).sum() > most_right(0.5)
