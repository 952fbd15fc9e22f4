"""A distribution of rows from noisy counts of pairs. Everything here is post-processing: it reads no private data.

    columns   the precision-weighted mean of each column over its tables, projected onto counts ≥ 0
    pairs     a·bᵀ/N + s·D: the product of the columns and their interaction D, shrunk by its known noise
    tree      the spanning tree of greatest mutual information (Chow and Liu, IEEE Trans. Inf. Theory 14(3), 1968)
    rows      drawn along the tree, weighted so that they agree with all pairs, and drawn again by their weights

D is the table minus the product, without its row and column means. Noise of variance σ² gives it an energy of
(n₁ - 1)(n₂ - 1)·σ² on average, so s = max(0, 1 - (n₁ - 1)(n₂ - 1)·σ²/‖D‖²) is the positive-part James-Stein factor. If
the noise exceeds the signal of every pair, all s are 0 and the columns are independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.synthetic.pair_tables import Columns, Tables

_MARGIN_STEPS, _MOST_RATIO, _LEAST = 20, 8.0, 1e-12


@dataclass(frozen=True, slots=True)
class PairFit:
    """The shares of each column and of each pair, and the estimated number of rows."""

    total: float
    columns: tuple[Floats, ...]
    pairs: Mapping[Columns, Floats]
    factors: Mapping[Columns, float]
    """How much of each interaction is used, from 0 (only noise) to 1."""

    @property
    def independent(self) -> bool:
        """True if the noise hid every dependence."""
        return not any(self.factors.values())


def fit(tables: Tables, sizes: tuple[int, ...], variance: float) -> PairFit:
    """Fit columns and pairs to noisy counts whose noise has a known variance."""
    weights = {table: 1 / counts.size for table, counts in tables.items()}
    total = sum(weights[table] * float(counts.sum()) for table, counts in tables.items()) / sum(weights.values())
    total = max(total, 1.0)
    columns = tuple(_column(tables, sizes, column, total) for column in range(len(sizes)))
    pairs: dict[Columns, Floats] = {}
    factors: dict[Columns, float] = {}
    for table, counts in tables.items():
        if len(table) == 2:  # noqa: PLR2004 - a pair
            first, second = columns[table[0]], columns[table[1]]
            pairs[table], factors[table] = _pair(counts / total, first, second, variance / total**2)
    return PairFit(total, columns, pairs, factors)


def _column(tables: Tables, sizes: tuple[int, ...], column: int, total: float) -> Floats:
    """Return the shares of one column: a sum over n cells has n times the noise, so its weight is 1/n."""
    mean, weight = np.zeros(sizes[column]), 0.0
    for table, counts in tables.items():
        if column in table:
            others = counts.size // sizes[column]
            mean += np.moveaxis(counts, table.index(column), 0).reshape(sizes[column], -1).sum(axis=1) / others
            weight += 1 / others
    return on_simplex(mean / weight / total)


def on_simplex(values: Floats) -> Floats:
    """Return the nearest vector ≥ 0 that adds up to 1, in L2.

    >>> on_simplex(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, values.size + 1)
    used = int(np.flatnonzero(falling > excess)[-1])
    return np.asarray(np.maximum(values - excess[used], 0.0), dtype=np.float64)


def _pair(shares: Floats, first: Floats, second: Floats, variance: float) -> tuple[Floats, float]:
    product = np.outer(first, second)
    gap = shares - product
    gap -= gap.mean(axis=1, keepdims=True)
    gap -= gap.mean(axis=0, keepdims=True)
    energy, noise = float((gap**2).sum()), (first.size - 1) * (second.size - 1) * variance
    factor = max(0.0, 1 - noise / energy) if energy > 0 else 0.0
    return _with_margins(np.maximum(product + factor * gap, 0.0), product, first, second), factor


def _with_margins(table: Floats, product: Floats, first: Floats, second: Floats) -> Floats:
    """Scale rows and columns to their shares; a thousandth of the product lets every margin be met."""
    table = 0.999 * table + 0.001 * product
    for _ in range(_MARGIN_STEPS):
        table *= (first / np.maximum(table.sum(axis=1), _LEAST))[:, None]
        table *= (second / np.maximum(table.sum(axis=0), _LEAST))[None, :]
    return np.asarray(table / max(float(table.sum()), _LEAST), dtype=np.float64)


def information(pair: Floats) -> float:
    """Return the mutual information of a table of shares, in nats."""
    product = np.outer(pair.sum(axis=1), pair.sum(axis=0))
    seen = (pair > 0) & (product > 0)
    return float((pair[seen] * np.log(pair[seen] / product[seen])).sum())


def tree(model: PairFit, root: int) -> list[tuple[int, int]]:
    """Return the edges (parent, child) of the tree of greatest mutual information, parents first."""
    worth = {pair: information(table) for pair, table in model.pairs.items()}
    inside, edges = [root], []
    while len(inside) < len(model.columns):
        parent, child = max(
            ((a, b) for a in inside for b in range(len(model.columns)) if b not in inside),
            key=lambda edge: worth[min(edge), max(edge)],
        )
        edges.append((parent, child))
        inside.append(child)
    return edges


def draw_rows(
    model: PairFit, n: int, *, root: int, candidates: int, passes: int, generator: np.random.Generator
) -> Ints:
    """Draw n rows of codes: candidates along the tree, weighted to agree with all pairs and drawn by weight."""
    if n == 0:
        return np.zeros((0, len(model.columns)), dtype=np.int64)
    rows = _along_tree(model, max(n, candidates), root, generator)
    weights = weights_of(model, rows, passes)
    places = (np.arange(n) + generator.random()) / n * weights.sum()
    picked = np.searchsorted(np.cumsum(weights), places, side="right").clip(max=len(rows) - 1)
    return np.asarray(rows[generator.permutation(picked)])


def _along_tree(model: PairFit, count: int, root: int, generator: np.random.Generator) -> Ints:
    rows = np.zeros((count, len(model.columns)), dtype=np.int64)
    rows[:, root] = _inverse(np.cumsum(model.columns[root])[None, :], np.zeros(count, dtype=np.int64), generator)
    for parent, child in tree(model, root):
        table = model.pairs[min(parent, child), max(parent, child)]
        table = table if parent < child else table.T
        sums = table.sum(axis=1, keepdims=True)
        chances = np.where(sums > 0, table / np.maximum(sums, _LEAST), model.columns[child][None, :])
        rows[:, child] = _inverse(np.cumsum(chances, axis=1), rows[:, parent], generator)
    return rows


def _inverse(steps: Floats, given: Ints, generator: np.random.Generator) -> Ints:
    """Draw codes by inversion: row r of `steps` is the distribution function for the code r that is given."""
    steps = steps / steps[:, -1:]
    flat = (steps + np.arange(len(steps))[:, None]).ravel()
    places = np.searchsorted(flat, generator.random(given.size) + given, side="right") - given * steps.shape[1]
    return np.asarray(places.clip(0, steps.shape[1] - 1), dtype=np.int64)


def weights_of(model: PairFit, rows: Ints, passes: int) -> Floats:
    """Return weights with which rows agree with pairs: iterative proportional fitting (Deming and Stephan 1940)."""
    weights = np.ones(len(rows))
    places = {pair: rows[:, pair[0]] * table.shape[1] + rows[:, pair[1]] for pair, table in model.pairs.items()}
    for _ in range(passes):
        for pair, table in model.pairs.items():
            current = np.bincount(places[pair], weights, minlength=table.size) / weights.sum()
            ratio = table.ravel() / np.maximum(current, _LEAST)
            weights *= ratio.clip(1 / _MOST_RATIO, _MOST_RATIO)[places[pair]]
    return weights
