"""Prices that would be refunds: no argument lowers what is spent, and what is refused costs nothing.

A ledger that adds any number has its budget raised by a question of ε = -1, and its comparison passed by NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from known_bad import JsonLedger
from tacit.database import Database
from tacit.guarantees.events import PureRelease

AMOUNTS: list[Any] = [
    *(-1, 0, -0.0, nan, inf, -inf, True, False, 1j, [1], b"1", "-1", "0.1", 10**400, -(10**400)),
    *(Fraction(-1, 2), Fraction(1, 10**5000), Decimal(-1), Decimal("NaN"), Decimal("-0"), Decimal("Infinity")),
    *(np.float64(-1), np.float64("nan"), np.int64(-1), 5e-324, -5e-324, 1e-320),
]
COUNT = "SELECT count(*) AS n FROM t"
ROWS = pd.DataFrame({"id": range(200), "x": [0, 1] * 100, "g": ["a", "b"] * 100, "y": ["u", "v"] * 100})

WAYS: dict[str, Callable[[Database, Any], object]] = {
    "epsilon": lambda db, amount: db.sql(COUNT, epsilon=amount),
    "delta": lambda db, amount: db.sql(COUNT, epsilon=1e-3, delta=amount),
    "error": lambda db, amount: db.sql(COUNT, error=amount),
    "rho": lambda db, amount: db.sql(COUNT, rho=amount),
    "confidence": lambda db, amount: db.sql(COUNT, epsilon=1e-6, confidence=amount),
    "share": lambda db, amount: db.sql(COUNT, epsilon=1e-3, delta=1e-9, reach="auto", share=amount),
    "reach": lambda db, amount: db.sql(COUNT, epsilon=1e-6, reach=amount),
    "max_rows": lambda db, amount: db.sql(COUNT, epsilon=1e-6, max_rows=amount),
    "marginals": lambda db, amount: db.marginals([("g", "y")], epsilon=amount),
    "weights": lambda db, amount: db.marginals([("g", "y"), ("g",)], epsilon=1e-3, weights={("g", "y"): amount}),
    "synthetic rows": lambda db, amount: db.synthesize(5, columns=["g", "y"], epsilon=amount, delta=1e-9),
    "classifier": lambda db, amount: db.classify("y", ["g"], epsilon=amount, delta=1e-9),
    "item sets": lambda db, amount: db.itemsets(columns=["g", "y"], k=1, epsilon=amount, delta=1e-9),
    "choice": lambda db, amount: db.choose("g", epsilon=amount),
    "limits": lambda db, amount: db.limits(COUNT, epsilon=amount),
    "bounds": lambda db, amount: db.bounds("x", epsilon=amount),
    "a charge of ε": lambda db, amount: db.charge(tc.PureDP(epsilon=amount), note="x"),
    "a charge of δ": lambda db, amount: db.charge(tc.ApproxDP(epsilon=1e-9, delta=amount), note="x"),
    "a charge of noise": lambda db, amount: db.charge(tc.Laplace(sensitivity=1, scale=amount), note="x"),
    "a charge of a sensitivity": lambda db, amount: db.charge(tc.Laplace(sensitivity=amount, scale=1e9), note="x"),
    "an event": lambda db, amount: db.charge(PureRelease(epsilon=amount, neighbours="add/remove"), note="x"),
    "a declared plan": lambda db, amount: tc.declare([db.plan(COUNT, epsilon=1e-6)] * 2, delta=amount).ask(),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", WAYS)
def test_no_amount_is_a_refund_and_a_refusal_costs_nothing(name: str) -> None:
    budget = tc.ApproxDP(epsilon=1, delta=1e-6)
    keys = {"g": ["a", "b"], "y": ["u", "v"]}
    with tc.open(
        ROWS, name="t", unit="id", max_groups=1, max_rows=1, bounds={"x": (0, 1)}, keys=keys, budget=budget
    ) as db:
        for amount in AMOUNTS:
            before = db.ledger.spent
            try:
                WAYS[name](db, amount)
            except tc.TacitError:
                assert db.ledger.spent == before
            else:
                assert db.ledger.spent.loss > before.loss
                assert db.ledger.spent.delta >= before.delta
                assert db.ledger.spent.loss <= 1


def test_a_ledger_that_adds_any_number_refunds(tmp_path: Path) -> None:
    ledger = JsonLedger(tmp_path / "l.json", 1)
    assert ledger.ask(1)
    assert not ledger.ask(1)
    assert ledger.ask(-1)
    assert ledger.ask(1)
    assert ledger.ask(-1)
    assert JsonLedger(tmp_path / "n.json", 1).ask(inf) is False
