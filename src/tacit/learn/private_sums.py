"""The two sums that a classifier releases, with their sensitivity.

Let each of d feature columns have a code per row, and let a row of weight w add an integer r·w to the cell of its code
in each of the d columns. The rows of one unit have Σw ≤ W = R·scale (`synthetic.coded_rows`), so with |r| ≤ G they add
at most G·W to each column in L1, hence in L2, and at most √d·G·W in L2 to all columns.

| sum | r | G | squared L2, add/remove | squared L2, change one |
|---|---|---|---|---|
| counts by class | 1 in the table of the row's class | 1 | d·W² | 2·d·W² |
| gradient | trunc(GRID·(y - p)), y - p in [-1, 1] | GRID | d·(GRID·W)² | (4·d - 2)·(GRID·W)² |

Change one: counts a, b ≥ 0 have ‖a - b‖² ≤ ‖a‖² + ‖b‖². The gradient of a unit is W times a mean of the vectors of
its rows and of 0, so two units differ by at most W times the largest distance of two such vectors v, v'. If v and v'
have the same codes, p is the same, and r and r' differ by at most GRID in d cells. Otherwise a column has different
cells, which adds r² + r'² ≤ 2·GRID², and each other column adds at most (r - r')² ≤ 4·GRID².
There is no cell for the intercept: its gradient is the total of any column, which post-processing averages.

**On real bits.** r must depend on its row and on public numbers alone: if a float of one row depended on the place of
the row in an array, as vectorised exponentials may, adding a unit could move the residuals of all others. So weights
are rounded to integer steps, a row adds integers, and r is looked up in a table that is computed once for all scores.
Its entries are within [-GRID, GRID], and those of the two classes differ by at most GRID. Sums are 64-bit integers. If
one wraps, it equals the exact sum modulo 2^64; the noise is added modulo 2^64 too, which post-processes the exact noisy
sum.

Each release adds discrete Gaussian noise of variance S/2ρ for the squared sensitivity S: ρ-zCDP (Canonne, Kamath and
Steinke, arXiv:2004.00010v5, theorem 14). Releases compose adaptively to Σρ (Bun and Steinke, arXiv:1605.02065v1,
lemma 2.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import sqrt

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError
from tacit.guarantees.conversions import delta_of_zcdp
from tacit.guarantees.events import Neighbours
from tacit.noise import discrete_gaussian
from tacit.synthetic.coded_rows import CodedRows, Codes, Counts

Floats = npt.NDArray[np.float64]

GRID = 1024
"""Steps of a residual of 1."""
_WRAP, _HALF = 1 << 64, 1 << 63
_FAR, _STEPS, _PLACES = 32, 2**16, 2**8
"""The largest score of the table of residuals; the steps of a weight of 1; the places of the table for a score of 1."""


def rho_of(epsilon: float, delta: float) -> Fraction:
    """Return a ρ whose zCDP implies (ε,δ)-DP, from below.

    >>> 0.024 < float(rho_of(1, 1e-6)) < 0.025
    True
    """
    low, high = 0.0, 4.0 * epsilon + 4.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and delta_of_zcdp(middle, epsilon) <= delta else (low, middle)
    if low == 0:
        raise InvalidError("epsilon and delta are too small for a classifier.", argument="epsilon", hint="Raise them.")
    return Fraction(low) * (1 - Fraction(1, 2**40))  # the safe end; ε and δ are floats near their decimals


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of the cells of each feature column in one long vector."""

    features: tuple[int, ...]
    target: int
    sizes: tuple[int, ...]

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """The first cell of each column, and the number of cells."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)


def layout_of(rows: CodedRows, features: Sequence[int], target: int) -> Layout:
    """Return the layout of the feature columns of some rows."""
    return Layout(tuple(features), target, tuple(rows.sizes[column] for column in features))


def l2_squared(rows: CodedRows, columns: int, neighbours: Neighbours, *, gradient: bool) -> int:
    """Return the squared L2 sensitivity of the counts by class, or of a gradient; see the module."""
    most = rows.reach * rows.scale * (GRID if gradient else 1)
    if neighbours == "add/remove":
        return columns * most**2
    return (4 * columns - 2 if gradient else 2 * columns) * most**2


def class_counts(rows: CodedRows, layout: Layout) -> Counts:
    """Return the exact weights by class (0, 1) and cell. Rows whose target has another code add nothing."""
    cells = np.zeros((2, layout.starts[-1]), dtype=np.int64)
    for codes, weights in rows.batches():
        label = codes[:, layout.target]
        for cls in (0, 1):
            _add(cells[cls], codes[label == cls], weights[label == cls], layout)
    return cells


def gradient(rows: CodedRows, layout: Layout, weights: Floats, intercept: float) -> Counts:
    """Return the exact gradient of the log-likelihood by cell, in steps of 1/GRID."""
    cells = np.zeros(layout.starts[-1], dtype=np.int64)
    for codes, amounts in rows.batches():
        known = codes[:, layout.target] <= 1
        _add(cells, codes[known], residuals(codes[known], layout, weights, intercept) * amounts[known], layout)
    return cells


def residuals(codes: Codes, layout: Layout, weights: Floats, intercept: float) -> Counts:
    """Return the residual of each row in steps of 1/GRID, from the table of `_residual_table`."""
    steps = np.rint(np.clip(np.nan_to_num(np.append(weights, intercept)), -_FAR, _FAR) * _STEPS).astype(np.int64)
    total = np.full(len(codes), steps[-1], dtype=np.int64)
    for column, start in zip(layout.features, layout.starts, strict=False):
        total += steps[start + codes[:, column].astype(np.int64)]
    place = np.clip(total // (_STEPS // _PLACES), -_FAR * _PLACES, _FAR * _PLACES - 1) + _FAR * _PLACES
    return np.asarray(_residual_table()[codes[:, layout.target].astype(np.int64), place])


@cache
def _residual_table() -> Counts:
    """Return trunc(GRID·(y - p)) for y = 0 and 1 at the middle of each step of the score from -_FAR to _FAR."""
    p = logistic((np.arange(-_FAR * _PLACES, _FAR * _PLACES) + 0.5) / _PLACES)
    return np.clip(np.trunc(np.stack([-p, 1 - p]) * GRID), -GRID, GRID).astype(np.int64)


def scores(codes: Codes, layout: Layout, weights: Floats) -> Floats:
    """Return the sum of the weights of each row's cells; `codes` has the feature columns only."""
    total = np.zeros(len(codes))
    for place, start in enumerate(layout.starts[:-1]):
        total += weights[start + codes[:, place].astype(np.int64)]
    return total


def logistic(score: Floats) -> Floats:
    """Return 1/(1 + e^-x) without overflow."""
    return np.asarray(1 / (1 + np.exp(-np.clip(score, -40, 40))))


def noisy(exact: Counts, squared: int, rho: Fraction) -> tuple[Floats, float]:
    """Return the sums with discrete Gaussian noise, and the standard deviation of the noise."""
    variance = squared / (2 * rho)
    noise = np.asarray(discrete_gaussian(variance, exact.size), dtype=object).reshape(exact.shape)
    wrapped = (exact.astype(object) + noise + _HALF) % _WRAP - _HALF
    return wrapped.astype(np.float64), sqrt(variance)


def _add(cells: Counts, codes: Codes, amounts: Counts, layout: Layout) -> None:
    for column, start in zip(layout.features, layout.starts, strict=False):
        np.add.at(cells, codes[:, column] + start, amounts)
