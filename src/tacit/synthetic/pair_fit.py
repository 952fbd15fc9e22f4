"""A distribution of rows from noisy counts of columns, pairs and triples. Post-processing: it reads no private data.

    columns   the precision-weighted mean of each column over its tables, projected onto counts ≥ 0
    pairs     a·bᵀ + D: the product of the columns and their interaction D, shrunk by its known noise
    triples   the table that three pairs imply (iterative proportional fitting), and its shrunk three-way interaction
    tree      the spanning tree of greatest mutual information (Chow and Liu, IEEE Trans. Inf. Theory 14(3), 1968)

D is the noisy table minus the product, without its row and column means. Noise of variance v per cell leaves it with
(n₁ - 1)(n₂ - 1) free entries of that variance, which `singular_values` removes. Values whose share is below 4√v have a
product only: no interaction of theirs could be seen. The number 4 was chosen on generated tables (random networks
and hidden classes of 7 to 11 columns, ε from 0.1 to 10). If noise hides every interaction, the columns are independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi, prod, sqrt

import numpy as np

from tacit.arrays import Floats
from tacit.synthetic.pair_tables import Columns, Tables
from tacit.synthetic.singular_values import shrunk

_MARGIN_STEPS, _LEAST, _SEEN = 20, 1e-12, 4.0
_TRIPLE_STEPS = 10


@dataclass(frozen=True, slots=True)
class PairFit:
    """The shares of columns, pairs and triples of columns, and the estimated number of steps (rows times the scale)."""

    total: float
    columns: tuple[Floats, ...]
    pairs: Mapping[Columns, Floats]
    triples: Mapping[Columns, Floats]
    """Those whose three-way interaction exceeds the noise."""
    errors: Mapping[Columns, float]
    """The total variation distance from the truth that the noise makes one expect, by column and pair."""
    dependent: frozenset[Columns]
    """The pairs whose interaction exceeds the noise."""


def fit(tables: Tables, sizes: tuple[int, ...], variances: Mapping[int, float], total: float | None = None) -> PairFit:
    """Fit noisy counts; `variances` has the variance of a cell of the tables of one, two and three columns.

    Args:
        tables: counts of columns, of pairs and perhaps of triples, with noise.
        sizes: the number of codes of each column.
        variances: the variance of a cell, by the number of columns of its table.
        total: the number of steps, if it is public.
    """
    total = max(total_of(tables, variances) if total is None else total, 1.0)
    shares = {table: counts / total for table, counts in tables.items()}
    noise = {number: variance / total**2 for number, variance in variances.items()}
    found = [_column(shares, sizes, column, noise) for column in range(len(sizes))]
    columns, column_errors = tuple(each for each, _ in found), [error for _, error in found]
    errors: dict[Columns, float] = {
        (place,): _distance(column_errors[place], sizes[place]) for place in range(len(sizes))
    }
    pairs: dict[Columns, Floats] = {}
    dependent = set()
    for table in (each for each in tables if len(each) == 2):  # noqa: PLR2004 - a pair
        first, second = columns[table[0]], columns[table[1]]
        interaction, unexplained = _interaction(shares[table], first, second, noise[2])
        if interaction.any():
            dependent.add(table)
        pairs[table] = with_margins(np.outer(first, second) + interaction, first, second)
        margins = sum(column_errors[table[place]] * float((columns[table[1 - place]] ** 2).sum()) for place in (0, 1))
        errors[table] = _distance(unexplained + margins, first.size * second.size)
    triples = _triples(shares, pairs, noise)
    return PairFit(total, columns, pairs, triples, errors, frozenset(dependent))


def total_of(tables: Tables, variances: Mapping[int, float]) -> float:
    """Return the precision-weighted mean of the totals of tables."""
    weights = {table: 1 / (counts.size * (variances[len(table)] or 1.0)) for table, counts in tables.items()}
    return sum(weights[table] * float(counts.sum()) for table, counts in tables.items()) / sum(weights.values())


def _distance(squares: float, cells: int) -> float:
    """Return the expected total variation of normal errors with a known sum of squares, at most 1."""
    return min(1.0, sqrt(squares * cells * 2 / pi) / 2)


def _column(
    shares: Mapping[Columns, Floats], sizes: tuple[int, ...], column: int, noise: Mapping[int, float]
) -> tuple[Floats, float]:
    """Return the shares of one column and their expected squared error.

    A sum over n cells has n times the noise of a cell, so its precision is 1/(n·variance).
    """
    mean, weight = np.zeros(sizes[column]), 0.0
    for table, values in shares.items():
        if column in table:
            rows = np.moveaxis(values, table.index(column), 0).reshape(sizes[column], -1)
            precision = 1 / (rows.shape[1] * (noise[len(table)] or 1.0))
            mean += rows.sum(axis=1) * precision
            weight += precision
    exact = not any(noise.values())
    return on_simplex(mean / weight), 0.0 if exact else sizes[column] / weight


def on_simplex(values: Floats) -> Floats:
    """Return the nearest vector ≥ 0 that adds up to 1, in L2.

    >>> on_simplex(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, values.size + 1)
    used = int(np.flatnonzero(falling > excess)[-1])
    return np.asarray(np.maximum(values - excess[used], 0.0), dtype=np.float64)


def _interaction(shares: Floats, first: Floats, second: Floats, variance: float) -> tuple[Floats, float]:
    """Return the shrunk interaction of a pair, and the expected squared error of the pair besides its margins."""
    result = np.zeros_like(shares)
    least = _SEEN * sqrt(variance)
    some, others = np.flatnonzero(first > least), np.flatnonzero(second > least)
    if some.size < 2 or others.size < 2:  # noqa: PLR2004 - an interaction needs two values
        return result, 0.0
    places = np.ix_(some, others)
    gap = (shares - np.outer(first, second))[places]
    gap = gap - gap.mean(axis=1, keepdims=True)
    gap = gap - gap.mean(axis=0, keepdims=True)
    result[places], error = shrunk(gap, variance, some.size - 1, others.size - 1)
    return result, error


def with_margins(table: Floats, first: Floats, second: Floats) -> Floats:
    """Return a table ≥ 0 with the given margins; a thousandth of their product lets every margin be met."""
    product = np.outer(first, second)
    table = 0.999 * np.maximum(table, 0.0) + 0.001 * product
    for _ in range(_MARGIN_STEPS):
        table *= (first / np.maximum(table.sum(axis=1), _LEAST))[:, None]
        table *= (second / np.maximum(table.sum(axis=0), _LEAST))[None, :]
    return np.asarray(table / max(float(table.sum()), _LEAST), dtype=np.float64)


def _triples(
    shares: Mapping[Columns, Floats], pairs: Mapping[Columns, Floats], noise: Mapping[int, float]
) -> dict[Columns, Floats]:
    """Return the fitted triples whose three-way interaction exceeds the noise."""
    fitted: dict[Columns, Floats] = {}
    for table in (each for each in shares if len(each) == 3):  # noqa: PLR2004 - a triple
        values = shares[table]
        a, b, c = table
        margins = (pairs[a, b], pairs[a, c], pairs[b, c])
        implied = _with_pairs(np.ones_like(values), margins)
        gap = values - implied
        for axis in range(3):
            gap = gap - gap.mean(axis=axis, keepdims=True)
        rows = prod(size - 1 for size in values.shape[:2])
        kept, _ = shrunk(gap.reshape(-1, values.shape[2]), noise[3], rows, values.shape[2] - 1)
        if kept.any():
            mixed = 0.999 * np.maximum(implied + kept.reshape(values.shape), 0.0) + 0.001 * implied
            fitted[table] = _with_pairs(mixed, margins)
    return fitted


def _with_pairs(table: Floats, margins: tuple[Floats, Floats, Floats]) -> Floats:
    """Fit a table of three columns to its three pairs (Deming and Stephan, Ann. Math. Stat. 11(4), 1940)."""
    for _ in range(_TRIPLE_STEPS):
        for axis, margin in zip((2, 1, 0), margins, strict=True):
            table = table * np.expand_dims(margin / np.maximum(table.sum(axis=axis), _LEAST), axis)
    return np.asarray(table / max(float(table.sum()), _LEAST), dtype=np.float64)


def information(pair: Floats) -> float:
    """Return the mutual information of a table of shares, in nats."""
    product = np.outer(pair.sum(axis=1), pair.sum(axis=0))
    seen = (pair > 0) & (product > 0)
    return float((pair[seen] * np.log(pair[seen] / product[seen])).sum())


def tree(model: PairFit, root: int) -> list[tuple[int, int]]:
    """Return the edges (parent, child) of the tree of greatest mutual information, parents first."""
    worth = {pair: information(table) for pair, table in model.pairs.items()}
    best = {child: (worth[min(root, child), max(root, child)], root) for child in range(len(model.columns))
            if child != root}  # fmt: skip
    edges = []
    while best:
        child = max(best, key=lambda each: best[each][0])
        edges.append((best.pop(child)[1], child))
        for other, (value, _) in best.items():
            found = worth[min(child, other), max(child, other)]
            if found > value:
                best[other] = (found, child)
    return edges
