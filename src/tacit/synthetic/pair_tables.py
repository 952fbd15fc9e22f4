"""Noisy counts of sets of columns, for a part of the cost of a release; `pair_fit` makes a distribution from them.

**Statement.** Let P be the number of tables, and let one unit add at most L = R·scale to each table in L1
(`coded_rows`). Then the counts of all tables together move by at most √P·L in L2 and P·L in L1 if a unit is added or
removed, and by at most √(2P)·L and 2P·L if a unit is changed. Discrete Gaussian noise of variance at least Δ₂²/2ρ on
each cell is ρ-zCDP (Canonne, Kamath and Steinke, arXiv:2004.00010v5, theorem 14). Discrete Laplace noise of scale at
least Δ₁/ε is ε-DP (Ghosh, Roughgarden and Sundararajan, SIAM J. Comput. 41(6), 2012).
**Proof.** A unit adds to one table a vector u ≥ 0 with Σu ≤ L, so ‖u‖₁ ≤ L and ‖u‖₂² ≤ (Σu)² ≤ L². If the unit changes
to one that adds v ≥ 0, then ‖u - v‖₁ ≤ 2L and ‖u - v‖₂² = ‖u‖² + ‖v‖² - 2⟨u, v⟩ ≤ 2L², since ⟨u, v⟩ ≥ 0. Squares of P
tables add, and so do their L1 norms.  ∎

Several calls compose: their ρ add, or their ε, also if a later call depends on the noisy counts of an earlier one (Bun
and Steinke, arXiv:1605.02065v1, lemma 2.3).

On real bits: counts are exact 64-bit integers, σ² and the scale are rationals that are rounded up, and the noise is
drawn exactly. Floats appear only after the noise. The number and the sizes of the tables are public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, prod
from typing import Literal, TypeAlias

import numpy as np

from tacit.errors import InternalError
from tacit.guarantees.events import Neighbours
from tacit.noise import SYSTEM, BitSource, discrete_gaussian, discrete_laplace
from tacit.synthetic.coded_rows import CodedRows, Counts
from tacit.synthetic.joint_counts import joint_counts

Columns: TypeAlias = tuple[int, ...]
Tables: TypeAlias = Mapping[Columns, Counts]
Law = Literal["gaussian", "laplace"]

_DIGITS = 2**30


@dataclass(frozen=True, slots=True)
class TableNoise:
    """The noise of every cell of some tables: σ² of a discrete Gaussian law, or the scale of a discrete Laplace law."""

    law: Law
    parameter: Fraction
    sensitivity: int
    """Δ₂² for Gaussian noise, Δ₁ for Laplace noise, in steps."""

    @property
    def variance(self) -> float:
        """A bound of the variance of a cell, in squared steps."""
        return float(self.parameter) if self.law == "gaussian" else 2 * float(self.parameter) ** 2

    @property
    def cost(self) -> Fraction:
        """The cost: ρ for Gaussian noise, ε for Laplace noise."""
        loss = self.sensitivity / self.parameter
        return loss / 2 if self.law == "gaussian" else loss

    def draw(self, size: int, bits: BitSource = SYSTEM) -> Counts:
        """Return independent draws."""
        sampler = discrete_gaussian if self.law == "gaussian" else discrete_laplace
        return np.asarray(sampler(self.parameter, size, bits), dtype=np.int64)


def pairs_of(columns: int) -> list[Columns]:
    """Return all pairs of columns.

    >>> pairs_of(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return list(combinations(range(columns), 2))


def singles_of(columns: int) -> list[Columns]:
    """Return the columns as tables of one column."""
    return [(column,) for column in range(columns)]


def triples_of(columns: int, target: int) -> list[Columns]:
    """Return all sets of three columns that have the target.

    >>> triples_of(4, 3)
    [(0, 1, 3), (0, 2, 3), (1, 2, 3)]
    """
    others = [column for column in range(columns) if column != target]
    return [(*sorted((first, second, target)),) for first, second in combinations(others, 2)]


def cells_of(tables: Iterable[Columns], sizes: Sequence[int]) -> int:
    """Return the number of cells of some tables."""
    return sum(prod(sizes[column] for column in table) for table in tables)


def table_noise(law: Law, amount: Fraction, tables: int, *, steps: int, neighbours: Neighbours) -> TableNoise:
    """Return the noise of some tables that costs at most ρ = `amount` if Gaussian, or ε = `amount` if Laplace.

    >>> table_noise("gaussian", Fraction(1, 2), 3, steps=1, neighbours="add/remove")
    TableNoise(law='gaussian', parameter=Fraction(3, 1), sensitivity=3)
    >>> table_noise("laplace", Fraction(1, 2), 3, steps=1, neighbours="change one")
    TableNoise(law='laplace', parameter=Fraction(12, 1), sensitivity=6)

    Args:
        law: the law of the noise.
        amount: the cost of all tables together.
        tables: the number of tables.
        steps: L, the steps of one unit in one table.
        neighbours: the neighbour relation.
    """
    if amount <= 0 or tables < 1 or steps < 1:
        raise InternalError("noise needs a cost and tables.")
    twice = 2 if neighbours == "change one" else 1
    sensitivity = tables * twice * (steps**2 if law == "gaussian" else steps)
    exact = sensitivity / (2 * amount) if law == "gaussian" else sensitivity / amount
    return TableNoise(law, Fraction(ceil(exact * _DIGITS), _DIGITS), sensitivity)


def noisy_tables(
    rows: CodedRows, tables: Sequence[Columns], noise: TableNoise, bits: BitSource = SYSTEM
) -> dict[Columns, Counts]:
    """Return the counts of tables with noise; the caller has charged `noise.cost` and made it for these tables."""
    counted = dict(joint_counts(rows, tables))
    return {
        table: counted[table] + noise.draw(counted[table].size, bits).reshape(counted[table].shape) for table in tables
    }
