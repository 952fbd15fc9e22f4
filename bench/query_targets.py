"""An error in place of ε: is it kept as often as it says, and at no more than the least ε that would do?"""

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

`error=` at 95 %, and the noise of {runs:,} releases, drawn from the law that the plan has: how often it is within the
error. The least ε (or ρ) that would do is that of the same law on integers with the same sensitivity, by its tails in
closed form (summed up for the Gaussian).

{findings}"""


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the error it may have, how far one unit can move it, and how many rows of one group a unit has."""

    name: str
    sql: str
    error: float
    moved: int
    rows: int | None = None
    currency: Literal["epsilon", "rho"] = "epsilon"


CASES = [
    Case("count, each row a unit", "SELECT count(*) AS n FROM t", 50, 1),
    Case("count, a unit has 5 rows", "SELECT count(*) AS n FROM t", 50, 5, rows=5),
    Case("count by 50 groups, 3 × 5 rows", "SELECT region, count(*) AS n FROM t GROUP BY region", 50, 15, rows=5),
    Case("count, each row a unit, in ρ", "SELECT count(*) AS n FROM t", 50, 1, currency="rho"),
]


def measure() -> Part:
    """Solve, draw, and judge every case."""
    lines, verdicts = [], []
    for case in CASES:
        print(f"error={case.error:g}: {case.name} …", flush=True)
        within, price, least = _found(case)
        symbol = "ε" if case.currency == "epsilon" else "ρ"
        lines.append(
            [case.name, f"{100 * within:.2f} %", f"{symbol} = {price:.4g}", f"{least:.4g}", f"{price / least:.4f}"]
        )
        what = f"error={case.error:g}, {case.name}"
        kept = LOWEST <= within <= HIGHEST
        verdicts.append(Verdict(f"{what}: kept in", "94 to 97 %", f"{100 * within:.2f} %", kept))
        ratio = price / least
        verdicts.append(Verdict(f"{what}: {symbol} ÷ the least", f"≤ {DEAREST:g}", f"{ratio:.4f}", ratio <= DEAREST))
    header = ["question", "within the error", "cost", "least", "÷ least"]
    return Part(TEXT.format(runs=RUNS, findings=table(header, lines)), verdicts)


def _found(case: Case) -> tuple[float, float, float]:
    """Return how often the error is kept, what the plan costs, and the least that would do."""
    data = pa.table({"unit": [1], "region": [0]})
    budget = tc.PureDP(epsilon=10) if case.currency == "epsilon" else tc.ZCDP(rho=10)
    bounds = {"unit": tc.ROW} if case.rows is None else {"unit": "unit", "max_groups": 3, "max_rows": case.rows}
    db = tc.open(data, name="t", keys={"region": REGIONS}, budget=budget, **bounds)
    planned = db.plan(case.sql, error=case.error, confidence=CONFIDENCE)
    (law,) = planned.price.noise
    (measured,) = planned.plan.bundles[0].measures
    step = float(measured.step) / 2**measured.fraction_bits
    noise = np.array(law.draw(RUNS), dtype=float) * step
    within = float(np.mean(np.abs(noise) <= case.error))
    cost = planned.cost
    price = float(cost.rho) if isinstance(cost, tc.ZCDP) else float(cost.epsilon)
    return within, price, _least(case)


def _least(case: Case) -> float:
    """Return the least ε or ρ whose noise on integers is within the error often enough."""
    beyond = partial(_laplace_beyond if case.currency == "epsilon" else _gaussian_beyond, case.moved, int(case.error))
    return _first(lambda amount: beyond(amount) <= 1 - CONFIDENCE)


def _laplace_beyond(moved: int, reach: int, epsilon: float) -> float:
    """Return Pr[|X| > t] of the discrete Laplace law: 2·e^(-(t+1)/s)/(1 + e^(-1/s))."""
    rate = epsilon / moved
    return 2 * exp(-rate * (reach + 1)) / (1 + exp(-rate))


def _gaussian_beyond(moved: int, reach: int, rho: float) -> float:
    """Return Pr[|X| > t] of the discrete Gaussian law of variance moved²/2ρ, summed up."""
    x = np.arange(-40 * reach, 40 * reach + 1, dtype=float)
    weights = np.exp(-(x**2) * rho / moved**2)
    return float(weights[np.abs(x) > reach].sum() / weights.sum())


def _first(enough: Callable[[float], bool]) -> float:
    """Return the least number that is enough, to twelve digits."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
