"""Compare a three-way table with all its margins: released together, or each margin with a share of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from report import Part, Verdict, table
from rounds import short

import tacit as tc
from tacit.database import Database
from tacit.query_options import Options

SIZES = {"region": 8, "sex": 2, "age": 5}
ROWS, SEED, RELEASES = 50_000, 5, 20
MARGINS = [names for size in range(len(SIZES) + 1) for names in combinations(SIZES, size)]
AMOUNT = {"epsilon": 1.0, "rho": 0.05}
WAYS = {"together": "one crosstab", "best": "each alone, best shares", "even": "each alone, even shares"}

Counts = npt.NDArray[np.float64]
Currency = Literal["epsilon", "rho"]

TEXT = """\
### A table with all its margins

Counts of {rows:,} rows by three keys of {sizes} values. Each row is a unit. The result has {margins} margins, including
the table itself and its total. `crosstab` chooses the margins to measure and fits one table to them. In the other rows,
each margin is a separate count with a share of the budget, and the margins do not add up. The best shares minimise the
total squared error. All errors are errors of tacit, summed over the {cells} cells of all margins, in the mean of
{releases} releases. The ratio is to the crosstab.

{findings}"""


def measure() -> Part:
    """Release the table in each way, for ε and for ρ, and return the verdicts."""
    data = _data()
    true_counts = {names: _added(data, names) for names in MARGINS}
    lines, verdicts = [], []
    for currency in ("epsilon", "rho"):
        results = {way: _total(data, true_counts, currency, way) for way in WAYS}
        budget = f"{'ε' if currency == 'epsilon' else 'ρ'} = {AMOUNT[currency]:g}"
        for way, (absolute, square) in results.items():
            ratios = [short(value / ours) for value, ours in zip((absolute, square), results["together"], strict=True)]
            lines.append([f"{WAYS[way]}, {budget}", short(absolute), ratios[0], short(square), ratios[1]])
        ratio = results["together"][0] / results["best"][0]
        title = f"three-way table, {budget}: total error ÷ each margin alone, best shares"
        verdicts.append(Verdict(title, "below 1", short(ratio), ratio < 1))
    text = TEXT.format(
        rows=ROWS,
        sizes=", ".join(map(str, SIZES.values())),
        margins=len(MARGINS),
        cells=sum(value.size for value in true_counts.values()),
        releases=RELEASES,
        findings=table(["release", "total error", "÷ crosstab", "total squared error", "÷ crosstab"], lines),
    )
    return Part(text, verdicts)


def _data() -> pa.Table:
    generator = np.random.default_rng(SEED)
    weights = [generator.dirichlet(np.full(size, 3.0)) for size in SIZES.values()]
    columns = [generator.choice(size, size=ROWS, p=w) for size, w in zip(SIZES.values(), weights, strict=True)]
    return pa.table(dict(zip(SIZES, columns, strict=True)))


def _added(data: pa.Table, names: tuple[str, ...]) -> Counts:
    """Return the true counts of a margin, in the order of its keys."""
    index = np.zeros(data.num_rows, dtype=np.int64)
    for name in names:
        index = index * SIZES[name] + data[name].to_numpy()
    return np.bincount(index, minlength=_cells(names)).astype(np.float64)


def _cells(names: tuple[str, ...]) -> int:
    return int(np.prod([SIZES[name] for name in names]))


def _total(
    data: pa.Table, true_counts: dict[tuple[str, ...], Counts], currency: Currency, way: str
) -> tuple[float, float]:
    """Return the total error and the total squared error of all margins, as means over the releases."""
    print(f"a table with its margins, {currency}, {WAYS[way]} …", flush=True)
    most = 2 * AMOUNT[currency] * RELEASES
    budget = tc.PureDP(epsilon=most) if currency == "epsilon" else tc.ZCDP(rho=most)
    keys = {name: list(range(size)) for name, size in SIZES.items()}
    db = tc.open(data, name="t", unit=tc.ROW, keys=keys, budget=budget)
    total = np.zeros(2)
    for _ in range(RELEASES):
        for names, results in _released(db, currency, way).items():
            error = np.abs(results - true_counts[names])
            total += error.sum(), (error**2).sum()
    absolute, square = total / RELEASES
    return float(absolute), float(square)


def _released(db: Database, currency: Currency, way: str) -> dict[tuple[str, ...], Counts]:
    """Return one release of all margins."""
    amount = AMOUNT[currency]
    if way == "together":
        answer = db.crosstab(*SIZES, **_cost(currency, amount))
        return {names: _counts(answer.margin(*names).rows(), names) for names in MARGINS}
    shares = _shares(currency, even=way == "even")
    return {
        names: _counts(db.count(by=names, **_cost(currency, amount * share)).rows(), names)
        for names, share in zip(MARGINS, shares, strict=True)
    }


def _cost(currency: Currency, amount: float) -> Options:
    return {"epsilon": amount} if currency == "epsilon" else {"rho": amount}


def _shares(currency: Currency, *, even: bool) -> list[float]:
    """Return the shares, rounded down. The error of c cells is c/ε² or c/ρ, least for ε ∝ c^⅓ or ρ ∝ c^½."""
    power = 0.0 if even else 1 / 3 if currency == "epsilon" else 1 / 2
    weights = [_cells(names) ** power for names in MARGINS]
    return [round(0.999999 * weight / sum(weights), 6) for weight in weights]


def _counts(rows: Sequence[tuple[object, ...]], names: tuple[str, ...]) -> Counts:
    """Return the counts of a margin in the order of its keys."""
    results = {tuple(row[: len(names)]): row[len(names)] for row in rows}
    return np.array([float(results[key]) for key in product(*(range(SIZES[name]) for name in names))])  # type: ignore[arg-type]
