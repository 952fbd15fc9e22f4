"""Measure privately how far synthetic rows are from the table: mean distances of tables of one to three columns.

**Statement.** Let x_j be the counts of K tables in integer steps, and let T_j be integers that were fixed before. Then
S = Σ_j Σ_cells |x_j - T_j| is an integer that moves by at most K·L if a unit is added or removed, and by at most 2K·L
if a unit is changed, where L = R·scale bounds the steps of one unit (`coded_rows`).
**Proof.** A unit adds a vector u_j ≥ 0 with Σu_j ≤ L to each table. By the triangle inequality S moves by at most
Σ_j ‖u_j‖₁ ≤ K·L. If it changes to one that adds v_j, S moves by at most Σ_j ‖u_j - v_j‖₁ ≤ 2K·L.  ∎

T_j are the counts of rows that were drawn from the released model, scaled to the estimated number of rows and rounded.
They depend on the data through the release only, so the measurement composes with it adaptively. Noise is discrete
Gaussian of variance at least Δ²/2ρ, or discrete Laplace of scale at least Δ/ε, on each of the sums.

S/(2K·t), with t the estimated number of steps, estimates the mean of ½Σ|p - p̂|. It contains the error of t, which is
the same for all tables and is small beside the noise of their cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import log, sqrt
from statistics import NormalDist

import numpy as np

from tacit.arrays import Ints
from tacit.guarantees.events import Neighbours
from tacit.synthetic.coded_rows import CodedRows
from tacit.synthetic.joint_counts import joint_counts
from tacit.synthetic.pair_tables import Columns, Law, TableNoise, cells_of, table_noise

WAYS = (1, 2, 3)
MOST_TABLES, MOST_CELLS = 200, 2**22


@dataclass(frozen=True, slots=True)
class Distance:
    """The mean total variation distance of some tables, from 0 to 1, with its interval."""

    ways: int
    tables: int
    value: float
    low: float
    high: float


def tables_of(sizes: Sequence[int], ways: int) -> list[Columns]:
    """Return the tables of so many columns that are measured; if they are many, some at even steps of the list."""
    every = list(combinations(range(len(sizes)), ways))
    some = every[:: -(-len(every) // MOST_TABLES)] if every else []
    return some if cells_of(some, sizes) <= MOST_CELLS else []


def sum_noise(law: Law, amount: Fraction, tables: int, *, steps: int, neighbours: Neighbours) -> TableNoise:
    """Return the noise of one sum of distances of so many tables, for ρ or ε.

    The sum is one number, so a changed unit moves it by 2K·L in L2 as in L1: √2·L is for counts, which are not signed.
    """
    units = 2 if neighbours == "change one" else 1
    return table_noise(law, amount, 1, steps=units * tables * steps, neighbours="add/remove")


def sum_of_distances(rows: CodedRows, targets: Mapping[Columns, Ints]) -> int:
    """Return S: the sum of all absolute differences between the counts of tables and fixed integers."""
    return sum(int(np.abs(counts - targets[table]).sum()) for table, counts in joint_counts(rows, list(targets)))


def measured(
    rows: CodedRows, drawn: CodedRows, steps: float, *, law: Law, amount: Fraction, neighbours: Neighbours
) -> dict[str, object]:
    """Return noisy sums of distances as JSON, for ρ or ε of `amount`.

    Args:
        rows: the private rows.
        drawn: rows that were drawn from the released model.
        steps: t, the estimated number of steps.
        law: the law of the noise.
        amount: the cost of all sums together.
        neighbours: the neighbour relation.
    """
    chosen = {ways: some for ways in WAYS if (some := tables_of(rows.sizes, ways))}
    scale = max(steps, 1.0) / max(float(drawn.counts(()).sum()), 1.0)
    found = {}
    for ways, some in chosen.items():
        targets = {table: np.rint(counts * scale).astype(np.int64) for table, counts in joint_counts(drawn, some)}
        noise = sum_noise(law, amount / len(chosen), len(some), steps=rows.reach * rows.scale, neighbours=neighbours)
        total = sum_of_distances(rows, targets) + int(noise.draw(1)[0])
        found[str(ways)] = {"sum": total, "tables": len(some), "parameter": float(noise.parameter)}
    return {"law": law, "steps": max(steps, 1.0), "sums": found}


def distances(content: Mapping[str, object], confidence: float) -> tuple[Distance, ...]:
    """Return the measured distances with their intervals at a confidence."""
    sums, steps = content["sums"], content["steps"]
    found = []
    for ways, each in sums.items():  # type: ignore[attr-defined]  # JSON of `measured`
        unit = 2 * each["tables"] * steps
        width = _width(str(content["law"]), each["parameter"], confidence) / unit
        value = each["sum"] / unit
        ends = [min(1.0, max(0.0, end)) for end in (value, value - width, value + width)]
        found.append(Distance(int(ways), each["tables"], ends[0], ends[1], ends[2]))
    return tuple(found)


def _width(law: str, parameter: float, confidence: float) -> float:
    """Return how far the noise stays from 0 with a probability; a step more covers the integers."""
    if law == "laplace":
        return parameter * log(1 / (1 - confidence)) + 1
    return sqrt(parameter) * NormalDist().inv_cdf((1 + confidence) / 2) + 1
