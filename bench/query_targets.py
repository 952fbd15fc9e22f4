"""Check queries with an error in place of ε: how often the error is met, and the cost compared with the minimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import exp
from typing import Literal

import numpy as np
import pyarrow as pa
from report import Part, Verdict, table

import tacit as tc

RUNS, CONFIDENCE = 20_000, 0.95
LOWEST, HIGHEST, DEAREST = 0.94, 0.97, 1.05
REGIONS = list(range(50))

TEXT = """\
### An error in place of ε

A query with `error=` at 95 % confidence, and {runs:,} draws of noise from the law in its plan: the share of draws
within the error. The minimum ε (or ρ) is that of the same law on integers with the same sensitivity, computed from the
tails in closed form (for the Gaussian, by summation).

{findings}"""


@dataclass(frozen=True, slots=True)
class Case:
    """A query, its error, its sensitivity, and the maximum number of rows per unit and group."""

    name: str
    sql: str
    error: float
    sensitivity: int
    rows: int | None = None
    currency: Literal["epsilon", "rho"] = "epsilon"


CASES = [
    Case("count, each row a unit", "SELECT count(*) AS n FROM t", 50, 1),
    Case("count, a unit has 5 rows", "SELECT count(*) AS n FROM t", 50, 5, rows=5),
    Case("count by 50 groups, 3 × 5 rows", "SELECT region, count(*) AS n FROM t GROUP BY region", 50, 15, rows=5),
    Case("count, each row a unit, in ρ", "SELECT count(*) AS n FROM t", 50, 1, currency="rho"),
]


def measure() -> Part:
    """Plan every case, draw its noise, and return the verdicts."""
    lines, verdicts = [], []
    for case in CASES:
        print(f"error={case.error:g}: {case.name} …", flush=True)
        within, price, minimum = _solve(case)
        symbol = "ε" if case.currency == "epsilon" else "ρ"
        lines.append(
            [case.name, f"{100 * within:.2f} %", f"{symbol} = {price:.4g}", f"{minimum:.4g}", f"{price / minimum:.4f}"]
        )
        title = f"error={case.error:g}, {case.name}"
        met = LOWEST <= within <= HIGHEST
        verdicts.append(Verdict(f"{title}: draws within the error", "94 to 97 %", f"{100 * within:.2f} %", met))
        ratio = price / minimum
        verdicts.append(Verdict(f"{title}: {symbol} ÷ the minimum", f"≤ {DEAREST:g}", f"{ratio:.4f}", ratio <= DEAREST))
    header = ["query", "within the error", "cost", "minimum", "÷ minimum"]
    return Part(TEXT.format(runs=RUNS, findings=table(header, lines)), verdicts)


def _solve(case: Case) -> tuple[float, float, float]:
    """Return the share of draws within the error, the cost of the plan, and the minimum cost."""
    data = pa.table({"unit": [1], "region": [0]})
    budget = tc.PureDP(epsilon=10) if case.currency == "epsilon" else tc.ZCDP(rho=10)
    bounds = {"unit": tc.ROW} if case.rows is None else {"unit": "unit", "max_groups": 3, "max_rows": case.rows}
    db = tc.open(data, name="t", keys={"region": REGIONS}, budget=budget, **bounds)
    planned = db.plan(case.sql, error=case.error, confidence=CONFIDENCE)
    (law,) = planned.price.noise
    (bundle_measure,) = planned.plan.bundles[0].measures
    step = float(bundle_measure.step) / 2**bundle_measure.fraction_bits
    noise = np.array(law.draw(RUNS), dtype=float) * step
    within = float(np.mean(np.abs(noise) <= case.error))
    cost = planned.cost
    price = float(cost.rho) if isinstance(cost, tc.ZCDP) else float(cost.epsilon)
    return within, price, _minimum_cost(case)


def _minimum_cost(case: Case) -> float:
    """Return the minimum ε or ρ whose noise on integers is within the error with the given confidence."""
    beyond = partial(
        _laplace_beyond if case.currency == "epsilon" else _gaussian_beyond, case.sensitivity, int(case.error)
    )
    return _first(lambda amount: beyond(amount) <= 1 - CONFIDENCE)


def _laplace_beyond(sensitivity: int, reach: int, epsilon: float) -> float:
    """Return Pr[|X| > t] of the discrete Laplace law: 2·e^(-(t+1)/s)/(1 + e^(-1/s))."""
    rate = epsilon / sensitivity
    return 2 * exp(-rate * (reach + 1)) / (1 + exp(-rate))


def _gaussian_beyond(sensitivity: int, reach: int, rho: float) -> float:
    """Return Pr[|X| > t] of the discrete Gaussian law of variance sensitivity²/2ρ, by summation."""
    x = np.arange(-40 * reach, 40 * reach + 1, dtype=float)
    weights = np.exp(-(x**2) * rho / sensitivity**2)
    return float(weights[np.abs(x) > reach].sum() / weights.sum())


def _first(enough: Callable[[float], bool]) -> float:
    """Return the smallest number for which `enough` is true, to twelve digits."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
