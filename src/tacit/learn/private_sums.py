"""The sums that a classifier releases, with their sensitivity.

Let each of d feature columns have a code per row. A row of weight w adds w times an integer vector to a sum; the rows
of one unit have Σw ≤ W = R·scale (`synthetic.coded_rows`). Column j has a public whole multiplier k_j.

| sum | what a row adds | L1 | squared L2 |
|---|---|---|---|
| counts by class | k_j at (its class, its code in j), for each j | W·Σk_j | W²·Σk_j² |
| residuals | k_j·clip(r, ±C) at its code in j; k₀·r at one more cell | W·(C·Σk_j + G·k₀) | W²·(C²·Σk_j² + G²·k₀²) |
| predictions | k₀ at "right" or at "wrong" | W·k₀ | W²·k₀² |

r = trunc(G·(y - p)) for y in {0, 1} and p in [0, 1], with G = GRID, so |r| ≤ G. The table is for add/remove: the vector
of a unit is at most W times the longest vector of a row, by the triangle inequality.

**Change one.** L1 doubles, by the triangle inequality. Counts and predictions a, b ≥ 0 have ‖a - b‖² ≤ ‖a‖² + ‖b‖², so
their squares double. A unit's residuals are W times a convex combination of 0 and the vectors of its rows, so two units
differ by at most W times the largest distance of two such points. If two rows have the same codes, p is the same, so
their r differ by at most G, and by at most D = min(2C, G) once clipped: squared distance D²·Σk_j² + G²·k₀². Otherwise a
column has different cells, which adds at most 2·k_j²·C²; every other column adds at most k_j²·(2C)², and the last cell
k₀²·(2G)²: (4·Σk_j² - 2·min k_j²)·C² + 4·G²·k₀². `residual_change` returns the larger. The distance to 0 is less.

**On real bits.** r must depend on its row and on public numbers alone: if a float of one row depended on the place of
the row in an array, as vectorised exponentials may, adding a unit could move the residuals of all others. So weights
are rounded to integer steps, a row adds integers, and r is looked up in a table that is computed once for all scores.
Its entries are within [-G, G], and those of the two classes differ by at most G. Predictions compare the same integers.
NaN and infinite weights become steps too. Sums are 64-bit integers. If one wraps, it equals the exact sum modulo 2^64;
the noise is added modulo 2^64 too, which post-processes the exact noisy sum. Blocks whose sums are below 2^53 are added
as doubles, which is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats, Ints
from tacit.guarantees.events import Neighbours
from tacit.synthetic.coded_rows import CodedRows, Codes, Counts

GRID = 1024
"""Steps of a residual of 1."""
UNIT = 64
"""The multiplier of a column that gets no more and no less than its share."""
LEAST = 20
"""The smallest multiplier that a fit uses."""
OFFSET = 8
"""The multiplier k₀ of the residual without a column."""
_EXACT = 1 << 53
_FAR, _STEPS, _PLACES = 32, 2**16, 2**8
"""The largest score of the table of residuals; the steps of a weight of 1; the places of the table for a score of 1."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The feature columns, the cells that their codes have in one long vector, and the class of each target code.

    `classes` has the number of the class for each code of the target, and -1 for codes whose rows do not count.
    """

    features: tuple[int, ...]
    target: int
    sizes: tuple[int, ...]
    classes: tuple[int, ...]

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """The first cell of each column, and the number of cells."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @property
    def cells(self) -> int:
        """The number of cells of all columns."""
        return sum(self.sizes)

    @property
    def number(self) -> int:
        """The number of classes."""
        return max(self.classes) + 1


def layout_of(sizes: Sequence[int], features: Sequence[int], target: int, classes: Sequence[int]) -> Layout:
    """Return the layout of the feature columns of rows whose columns have these sizes."""
    return Layout(tuple(features), target, tuple(sizes[column] for column in features), tuple(classes))


@dataclass(frozen=True, slots=True)
class Moved:
    """The largest change of a sum by one unit, in L1 and in squared L2, and in how many coordinates."""

    l1: int
    l2_squared: int
    coordinates: int


def counts_moved(multipliers: Sequence[int], weight: int, neighbours: Neighbours, coordinates: int) -> Moved:
    """Return how far one unit of weight W moves the counts by class."""
    units = 2 if neighbours == "change one" else 1
    squared = sum(k * k for k in multipliers) * weight**2
    return Moved(units * sum(multipliers) * weight, units * squared, coordinates)


def residuals_moved(
    multipliers: Sequence[int], clip: int, weight: int, neighbours: Neighbours, coordinates: int
) -> Moved:
    """Return how far one unit of weight W moves the residuals that are clipped to ±`clip`."""
    total = sum(k * k for k in multipliers)
    l1, squared = clip * sum(multipliers) + GRID * OFFSET, clip**2 * total + (GRID * OFFSET) ** 2
    if neighbours == "change one":
        l1, squared = 2 * l1, residual_change(multipliers, clip)
    return Moved(l1 * weight, squared * weight**2, coordinates)


def residual_change(multipliers: Sequence[int], clip: int) -> int:
    """Return the largest squared distance of the residuals of two rows; see the module.

    >>> residual_change([1, 1], GRID) == 6 * GRID**2 + 4 * (GRID * OFFSET) ** 2
    True
    """
    total, least = sum(k * k for k in multipliers), min(multipliers) ** 2
    same = min(2 * clip, GRID) ** 2 * total + (GRID * OFFSET) ** 2
    return max(same, (4 * total - 2 * least) * clip**2 + 4 * (GRID * OFFSET) ** 2)


def class_counts(rows: CodedRows, layout: Layout, multipliers: Sequence[int]) -> Counts:
    """Return the exact weights by class and cell, times the multiplier of the column."""
    total = np.zeros((layout.number, layout.cells), dtype=np.int64)
    for place, column in enumerate(layout.features):
        table = rows.counts([column, layout.target])
        part = slice(layout.starts[place], layout.starts[place + 1])
        for code, cls in enumerate(layout.classes):
            if cls >= 0:
                total[cls, part] += table[:, code] * multipliers[place]
    return total


def residual_sums(
    rows: CodedRows, layout: Layout, multipliers: Sequence[int], weights: Floats, intercept: float, clip: int
) -> Counts:
    """Return the exact residuals by cell, in steps of 1/GRID and times the multiplier; the last cell is that of all."""
    cells = np.zeros(layout.cells + 1, dtype=np.int64)
    steps = weight_steps(weights[None], np.array([intercept]))
    classes = np.array(layout.classes)
    for codes, amounts in rows.batches():
        some, heavy, label = _with_class(codes, amounts, classes[codes[:, layout.target]])
        exact = residuals(row_scores(some, layout, steps)[0], label)
        cells[-1:] += OFFSET * (exact * heavy).sum(keepdims=True)  # an array wraps without an error
        clipped = np.clip(exact, -clip, clip) * heavy
        for place, column in enumerate(layout.features):
            part = slice(layout.starts[place], layout.starts[place + 1])
            cells[part] += multipliers[place] * _by_code(some[:, column], clipped, layout.sizes[place])
    return cells


def prediction_counts(rows: CodedRows, layout: Layout, weights: Floats, intercepts: Floats) -> Counts:
    """Return the exact weights of the rows whose class is predicted, and of the others, times OFFSET."""
    steps, total, classes = weight_steps(weights, intercepts), np.zeros(2, dtype=np.int64), np.array(layout.classes)
    for codes, amounts in rows.batches():
        some, heavy, label = _with_class(codes, amounts, classes[codes[:, layout.target]])
        scores = row_scores(some, layout, steps)
        guess = (scores[0] > 0).astype(np.int64) if len(scores) == 1 else scores.argmax(axis=0)
        right = guess == label
        total += OFFSET * np.array([int(heavy[right].sum()), int(heavy[~right].sum())])
    return total


def weight_steps(weights: Floats, intercepts: Floats) -> Ints:
    """Return weights and, last, the intercept of each score, as integer steps; no number raises."""
    every = np.concatenate([weights, intercepts[:, None]], axis=1)
    return np.asarray(np.rint(np.clip(np.nan_to_num(every), -_FAR, _FAR) * _STEPS), dtype=np.int64)


def row_scores(codes: Codes, layout: Layout, steps: Ints) -> Ints:
    """Return the scores of each row in integer steps, scores by rows."""
    total = np.repeat(steps[:, -1:], len(codes), axis=1)
    for column, start in zip(layout.features, layout.starts, strict=False):
        cells = codes[:, column].astype(np.int64)
        cells += start
        for score, weights in zip(total, steps, strict=True):
            score += weights.take(cells)  # noqa: PLW2901 - a view of the total
    return total


def _with_class(codes: Codes, amounts: Counts, label: Ints) -> tuple[Codes, Counts, Ints]:
    """Return the rows that have a class, with their weights and classes; each column stays one block of memory."""
    known = label >= 0
    return (codes, amounts, label) if known.all() else (codes.T[:, known].T, amounts[known], label[known])


def residuals(scores: Ints, labels: Ints) -> Ints:
    """Return the residual of each row in steps of 1/GRID, from the table of all scores."""
    place = np.clip(scores // (_STEPS // _PLACES), -_FAR * _PLACES, _FAR * _PLACES - 1) + _FAR * _PLACES
    return np.asarray(_residual_table()[labels, place])


@cache
def _residual_table() -> Ints:
    """Return trunc(GRID·(y - p)) for y = 0 and 1 at the middle of each step of the score from -_FAR to _FAR."""
    p = logistic((np.arange(-_FAR * _PLACES, _FAR * _PLACES) + 0.5) / _PLACES)
    return np.clip(np.trunc(np.stack([-p, 1 - p]) * GRID), -GRID, GRID).astype(np.int64)


def logistic(score: Floats) -> Floats:
    """Return 1/(1 + e^-x) without overflow."""
    return np.asarray(1 / (1 + np.exp(-np.clip(score, -40, 40))))


def _by_code(codes: Codes, amounts: Counts, size: int) -> Counts:
    if len(amounts) and max(int(amounts.max()), -int(amounts.min())) * len(amounts) >= _EXACT:
        cells = np.zeros(size, dtype=np.int64)
        np.add.at(cells, codes, amounts)
        return cells
    return np.bincount(codes, weights=amounts, minlength=size).astype(np.int64)
