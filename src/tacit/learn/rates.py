"""Rates of the classes in each cell, from noisy counts by class: shrunk by their known noise.

In a cell of n rows the rate of class c differs from its share p of the table by e = (N_c - p·n)/n. The noise s of the
counts and the sampling of rows give e the variance v = (s²·((1-p)² + p²) + n·p(1-p))/n². The differences of a column
have an unknown variance τ². `shrunk` takes each τ of a grid as equally likely before the data, and returns the mean of
e·τ²/(τ² + v) over the grid, weighted by the likelihood Π N(e; 0, τ² + v) of the column's differences: empirical Bayes
without one estimate of τ, which noise would make 0 or far too large.

All of this works on released numbers. Grid, floor and limits are from the trial that `fitting` describes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from tacit.arrays import Floats
from tacit.learn.private_sums import Layout

_SPREADS = np.geomspace(0.005, 0.5, 12)
_RARE = 0.02
_LEAST_SHARE, _LEAST_GIVEN = 0.01, 0.1
_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Tables:
    """Noisy counts by class and cell, the standard deviation of their noise, and what follows for the whole table.

    `counts` are as released, and `level` the same moved so that all columns agree on the size of each class.
    """

    counts: Floats
    noise: Floats
    level: Floats
    classes: Floats
    class_noise: float

    @property
    def size(self) -> float:
        """The noisy number of rows."""
        return float(self.classes.sum())

    @property
    def cells(self) -> Floats:
        """The noisy number of rows of each cell."""
        return np.asarray(np.maximum(self.level.sum(axis=0), 0))

    @property
    def shares(self) -> Floats:
        """The share of each class."""
        share = np.maximum(self.classes / self.size, _LEAST_SHARE)
        return np.asarray(share / share.sum())

    @property
    def floored(self) -> Floats:
        """The number of rows of each cell, at least the noise: a rarer cell is not known to be rarer."""
        return np.asarray(np.maximum(self.cells, self.noise))


def tables_of(counts: Floats, noise: Floats, layout: Layout) -> Tables:
    """Return noisy counts and what follows from them; `noise` is the standard deviation in each cell."""
    level, total, deviation = levelled(counts, noise, layout)
    return Tables(counts, noise, level, np.maximum(total, max(deviation, 1.0) / 4), deviation)


def levelled(values: Floats, noise: Floats, layout: Layout) -> tuple[Floats, Floats, float]:
    """Move the cells of each column to one total: the least change in squares, weighted by the noise.

    Returns the values, the total, and the standard deviation of its noise.
    """
    starts, sizes = layout.starts[:-1], np.array(layout.sizes, dtype=np.float64)
    totals = np.add.reduceat(values, starts, axis=-1)
    precision = 1 / (sizes * noise[starts] ** 2)
    total = np.asarray((totals * precision).sum(axis=-1) / precision.sum())
    shift = (total[..., None] - totals) / sizes
    return values + np.repeat(shift, layout.sizes, axis=-1), total, float(precision.sum() ** -0.5)


def pooled(one: Tables, two: Tables, layout: Layout) -> Tables:
    """Return the mean of two noisy tables of the same counts, weighted by their precision."""
    first, second = one.noise**-2, two.noise**-2
    counts = (one.counts * first + two.counts * second) / (first + second)
    return tables_of(counts, (first + second) ** -0.5, layout)


def shrunk(tables: Tables, layout: Layout) -> tuple[Floats, Floats]:
    """Return the rate of each class in each cell, shrunk by its noise, and the mean of τ² for each column."""
    size, rates, spreads = tables.floored, [], np.zeros(len(layout.sizes))
    for share, counts in zip(tables.shares, tables.level, strict=True):
        excess = (counts - share * tables.level.sum(axis=0)) / size
        sampling = size * share * (1 - share)
        variance = (tables.noise**2 * ((1 - share) ** 2 + share**2) + sampling) / size**2
        kept = np.empty(layout.cells)
        for place, (low, high) in enumerate(zip(layout.starts, layout.starts[1:], strict=False)):
            kept[low:high], spread = _posterior(excess[low:high], variance[low:high])
            spreads[place] += spread / layout.number
        rates.append(np.clip(share + kept, _RARE * share, 1 - _RARE * (1 - share)))
    found = np.stack(rates)
    return found / found.sum(axis=0), spreads


def _posterior(excess: Floats, variance: Floats) -> tuple[Floats, float]:
    squares = _SPREADS[:, None] ** 2
    whole = squares + variance
    likelihood = -0.5 * (np.log(whole) + excess**2 / whole).sum(axis=1)
    weight = np.exp(likelihood - likelihood.max())
    weight /= weight.sum()
    return excess * (weight[:, None] * squares / whole).sum(axis=0), float((weight * _SPREADS**2).sum())


def naive_bayes(rates: Floats, tables: Tables) -> tuple[Floats, Floats]:
    """Return the weights and the intercepts of naive Bayes: one row for two classes, otherwise one for each class."""
    shares = tables.shares
    logs = np.log(rates / shares[:, None])
    if len(shares) == 2:  # noqa: PLR2004 - the log-odds of the second class
        return logs[1:] - logs[:1], np.array([log(shares[1] / shares[0])])
    return logs, np.log(shares)


def centred(weights: Floats, cells: Floats, layout: Layout) -> tuple[Floats, float]:
    """Give each column the mean weight 0 over the noisy frequencies, and return what moves to the intercept."""
    starts, sizes = layout.starts[:-1], cells + 1e-9
    mean = np.add.reduceat(weights * sizes, starts) / np.add.reduceat(sizes, starts)
    return weights - np.repeat(mean, layout.sizes), float(mean.sum())


def column_shares(spreads: Floats, tables: Tables, noise: float, layout: Layout) -> Floats:
    """Return the share of precision that each column should get, with a mean of 1.

    It is near the largest value of Σ n·τ⁴/(τ² + v) over cells, the information that shrinking keeps, where v is the
    variance that noise of variance `noise`²/share gives; a tenth is given to all alike. The choice costs
    nothing: it is made from released numbers.
    """
    given, size, number = np.ones(len(layout.sizes)), tables.floored, len(layout.sizes)
    p = float(tables.shares[1:].sum())
    spread, starts = np.repeat(spreads, layout.sizes), layout.starts[:-1]
    unit = noise**2 * ((1 - p) ** 2 + p**2) / size**2
    for _ in range(_ROUNDS):
        wide = np.repeat(given, layout.sizes)
        variance = unit / wide + p * (1 - p) / size
        slope = np.add.reduceat(size * spread**2 / (spread + variance) ** 2 * unit / wide**2, starts)
        given = given * np.sqrt(np.maximum(slope, 1e-300) * number / max(float((slope * given).sum()), 1e-300))
        given = np.maximum(given, 1e-3)
        given *= number / given.sum()
    return np.asarray(_LEAST_GIVEN + (1 - _LEAST_GIVEN) * given)
