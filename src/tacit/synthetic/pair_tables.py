"""Noisy counts of all pairs of columns, measured once; `pair_fit` makes synthetic rows from them.

**Statement.** Let P be the number of tables, and let one unit add at most L = R·scale to each table in L1
(`coded_rows`). Then the counts of all tables together move by at most √P·L in L2 if a unit is added or removed, and by
at most √(2P)·L if a unit is changed. Discrete Gaussian noise of variance l2²/2ρ on each cell is ρ-zCDP (Canonne, Kamath
and Steinke, arXiv:2004.00010v5, theorem 14).
**Proof.** A unit adds to one table a vector u ≥ 0 with Σu ≤ L, so ‖u‖₂² ≤ (Σu)² ≤ L². If the unit changes to one that
adds v ≥ 0, then ‖u - v‖₂² = ‖u‖² + ‖v‖² - 2⟨u, v⟩ ≤ 2L², since ⟨u, v⟩ ≥ 0. Squares of P tables add.  ∎

On real bits: counts are exact 64-bit integers, the variance is a rational, and the noise is drawn exactly. Floats
appear only in `pair_fit`, after the noise. The number and the sizes of the tables are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

import numpy as np

from tacit.guarantees.events import DiscreteGaussianNoise, Neighbours
from tacit.noise import SYSTEM, BitSource, discrete_gaussian
from tacit.synthetic.coded_rows import CodedRows, Counts

Columns: TypeAlias = tuple[int, ...]
Tables: TypeAlias = Mapping[Columns, Counts]


def tables_of(columns: int) -> list[Columns]:
    """Return the tables to measure: all pairs of columns, or the only column.

    >>> tables_of(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return [(0,)] if columns == 1 else list(combinations(range(columns), 2))


def noise_of(
    sizes: Sequence[int], *, rho: Fraction, scale: int, reach: int, neighbours: Neighbours
) -> DiscreteGaussianNoise:
    """Return the noise that makes the counts of all tables ρ-zCDP; it depends on public numbers only.

    >>> noise_of([2, 3], rho=Fraction(1, 2), scale=1, reach=1, neighbours="add/remove").variance
    Fraction(1, 1)
    """
    tables = tables_of(len(sizes))
    l2_squared = len(tables) * (reach * scale) ** 2 * (2 if neighbours == "change one" else 1)
    cells = sum(int(np.prod([sizes[column] for column in table])) for table in tables)
    return DiscreteGaussianNoise(variance=l2_squared / (2 * rho), l2_squared=l2_squared, coordinates=cells)


def noisy_tables(rows: CodedRows, noise: DiscreteGaussianNoise, bits: BitSource = SYSTEM) -> dict[Columns, Counts]:
    """Return the counts of all tables with noise; the caller has charged `noise`."""
    released = {}
    for table in tables_of(len(rows.sizes)):
        counts = rows.counts(table)
        released[table] = counts + discrete_gaussian(noise.variance, counts.size, bits).reshape(counts.shape)
    return released
