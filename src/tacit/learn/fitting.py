"""Fit a classifier on noisy sums: naive Bayes, or logistic regression by noisy gradients.

The first release is the table of class by feature for each feature. It gives the number of rows, the share of each
class, the frequencies, and naive Bayes. Then the noisy number of rows decides: if n·√(2ρ) is below `_LEAST`·√d for
each cell, the rest of the budget measures the same tables again. Otherwise it buys `STEPS` full gradients, from
weights that are part of naive Bayes's.

Everything below works on released numbers alone, except the calls of `private_sums`. The constants follow a trial of
some forty variants on ten generated tables of 3,000 to 60,000 rows and 4 to 13 columns, with classes of 10 to 50 %. No
further tables confirmed them, and `_LEAST` is an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import Literal, TypeAlias

import numpy as np

from tacit.guarantees.events import Neighbours
from tacit.learn import private_sums
from tacit.learn.private_sums import GRID, Floats, Layout
from tacit.synthetic.coded_rows import CodedRows

Method: TypeAlias = Literal["naive Bayes", "logistic regression"]

STEPS = 8
"""The number of noisy gradients."""
_FIRST = Fraction(3, 10)
"""The share of ρ for the counts by class."""
_LEAST = 2.0
_START, _CAUTION, _PRIOR = 0.7, 4.0, 0.25
_RARE = 0.02


@dataclass(frozen=True, slots=True)
class Fit:
    """Weights of all cells, the intercept, and how they were fitted."""

    weights: Floats
    intercept: float
    method: Method
    rows: float


@dataclass(frozen=True, slots=True)
class _Tables:
    """Noisy counts by class that agree on the size of each class, with the noise's standard deviation."""

    counts: Floats
    classes: Floats
    noise: float

    @property
    def cells(self) -> Floats:
        return np.asarray(np.maximum(self.counts.sum(axis=0), 0))

    @property
    def share(self) -> float:
        return float(self.classes[1] / self.classes.sum())


def fit(
    rows: CodedRows,
    features: Sequence[int],
    target: int,
    *,
    rho: Fraction,
    neighbours: Neighbours,
    method: Method | None = None,
) -> Fit:
    """Fit a classifier of codes 0 and 1 of the target; the whole costs ρ.

    Args:
        rows: the coded rows.
        features: the columns to use.
        target: the column to predict.
        rho: the cost of all releases together, in zCDP.
        neighbours: the neighbour relation.
        method: the method, or None to choose by the noisy number of rows.
    """
    layout = private_sums.layout_of(rows, features, target)
    squared = private_sums.l2_squared(rows, len(features), neighbours, gradient=False)
    exact = private_sums.class_counts(rows, layout)
    counts, noise = private_sums.noisy(exact, squared, rho * _FIRST)
    tables = _agree(counts / rows.scale, noise / rows.scale, layout)
    size = float(tables.classes.sum())
    if method is None:
        signal = size * sqrt(2 * rho) / (sqrt(len(features)) * int(layout.starts[-1]))
        method = "naive Bayes" if signal < _LEAST else "logistic regression"
    if method == "naive Bayes":
        again, other = private_sums.noisy(exact, squared, rho * (1 - _FIRST))
        first = float(_FIRST)
        mean = (first * counts + (1 - first) * again) / rows.scale
        tables = _agree(mean, sqrt((first * noise) ** 2 + ((1 - first) * other) ** 2) / rows.scale, layout)
        return Fit(naive_bayes(tables, layout), _logit(tables.share), method, float(tables.classes.sum()))
    weights, intercept = _descend(rows, layout, tables, rho * (1 - _FIRST) / STEPS, neighbours)
    return Fit(weights, intercept, method, size)


def _agree(counts: Floats, noise: float, layout: Layout) -> _Tables:
    """Make the columns agree on the size of each class: the least change in squares."""
    counts, total = _level(counts, layout)
    return _Tables(counts, np.maximum(total, 1.0), noise)


def _level(values: Floats, layout: Layout) -> tuple[Floats, Floats]:
    """Move the cells of each column to one total, the mean of the totals weighted by 1/size (their precision)."""
    totals = np.add.reduceat(values, layout.starts[:-1], axis=-1)
    sizes = np.array(layout.sizes, dtype=np.float64)
    total = (totals / sizes).sum(axis=-1) / (1 / sizes).sum()
    shift = (total[..., None] - totals) / sizes
    return values + np.repeat(shift, layout.sizes, axis=-1), np.asarray(total)


def naive_bayes(tables: _Tables, layout: Layout) -> Floats:
    """Return the log-odds of each cell beyond the whole table's, from rates shrunk by their known noise.

    In a cell of n rows the rate of class 1 differs from the share p by e = (c₁ - p·n)/n, with the variance
    v = (s²·((1-p)² + p²) + n·p(1-p))/n² of noise and sampling. Empirical Bayes keeps τ²/(τ² + v) of e, where τ² is the
    mean of e² - v over the cells of the column, weighted by n.
    """
    p, cells = tables.share, tables.cells
    size = np.maximum(cells, tables.noise / 2)
    excess = (tables.counts[1] - p * cells) / size
    variance = (tables.noise**2 * ((1 - p) ** 2 + p**2) + size * p * (1 - p)) / size**2
    starts = layout.starts[:-1]
    part = np.add.reduceat(size * (excess**2 - variance), starts) / np.add.reduceat(size, starts)
    spread = np.repeat(np.maximum(part, 1e-6), layout.sizes)
    rate = np.clip(p + excess * spread / (spread + variance), _RARE * p, 1 - _RARE * (1 - p))
    return np.asarray(np.log(rate / (1 - rate)) - _logit(p))


def _descend(
    rows: CodedRows, layout: Layout, tables: _Tables, rho: Fraction, neighbours: Neighbours
) -> tuple[Floats, float]:
    """Climb the likelihood by noisy gradients, each cell's step shrunk by the noise in it.

    A cell with curvature h = n·p(1-p) and gradient noise s moves by g·h/(h² + c·s²/(STEPS·τ²)): a Newton step where the
    noise is small, and nothing where it is large.
    """
    squared = private_sums.l2_squared(rows, len(layout.sizes), neighbours, gradient=True)
    noise = sqrt(squared / (2 * rho)) / (rows.scale * GRID)
    p, size = tables.share, float(tables.classes.sum())
    curvature = tables.cells * p * (1 - p)
    gain = curvature / (curvature**2 + _CAUTION * noise**2 / (_PRIOR * STEPS) + 1) / sqrt(len(layout.sizes))
    weights, intercept = _START * naive_bayes(tables, layout), _logit(p)
    for step in range(STEPS):
        exact = private_sums.gradient(rows, layout, weights, intercept)
        released, total = _level(private_sums.noisy(exact, squared, rho)[0] / (rows.scale * GRID), layout)
        rate = 1 / sqrt(1 + step)
        weights = weights + rate * gain * (released - total * tables.cells / size)
        intercept += rate * float(np.clip(total / (size * p * (1 - p)), -1, 1))
        weights, moved = _centred(weights, tables.cells, layout)
        intercept += moved
    return weights, intercept


def _centred(weights: Floats, cells: Floats, layout: Layout) -> tuple[Floats, float]:
    """Give each column the mean weight 0 over the noisy frequencies, and return what moves to the intercept."""
    starts = layout.starts[:-1]
    sizes = cells + 1e-9
    mean = np.add.reduceat(weights * sizes, starts) / np.add.reduceat(sizes, starts)
    return weights - np.repeat(mean, layout.sizes), float(mean.sum())


def _logit(p: float) -> float:
    return log(p / (1 - p))
