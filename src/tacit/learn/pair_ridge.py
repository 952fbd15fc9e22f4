"""A classifier from tables that were released before: ridge regression, or naive Bayes; post-processing, so free.

`m = db.marginals(ways=2, …)` has noisy counts for all pairs of columns. Let x be the one-hot codes of a row, less their
means, and y its class, 0 or 1. The pairs give M = Σ x·xᵀ and c = Σ x·(y - p), so ridge regression needs no row:

    β = (M⁺ + λI)⁻¹·c

M⁺ is M without its negative eigenvalues, which only noise can make, and λ = s·√m for the standard deviation s of the
noise of a pair's cell and m cells: the size of the eigenvalues of the noise. The linear discriminant of the same
moments has log-odds proportional to β (Fisher's discriminant is least squares):

    weights = β/(p(1-p)·(1 - R²)),  R² = cᵀβ/(n·p(1-p)), at most `_MOST_EXPLAINED`,

with the intercept of the discriminant between the means of the classes. Marginals that do not have all pairs of
features, or a target of more than two classes, give naive Bayes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import TypeAlias

import numpy as np

from tacit.arrays import Floats
from tacit.learn.private_sums import Layout
from tacit.learn.rates import Tables, naive_bayes, shrunk, tables_of

Pairs: TypeAlias = Mapping[tuple[int, int], Floats]
_MOST_EXPLAINED = 0.9


@dataclass(frozen=True, slots=True)
class PairFit:
    """The weights and the intercept of the second class, and the noisy number of rows."""

    weights: Floats
    intercepts: Floats
    rows: float


def ridge_from_pairs(
    pairs: Pairs,
    variances: Mapping[tuple[int, int], float],
    sizes: Sequence[int],
    target: int,
    classes: Sequence[int] | None = None,
) -> PairFit:
    """Return ridge regression of a column with two classes on all others.

    Args:
        pairs: the noisy counts of each pair of columns (i, j) with i < j, codes of i by codes of j.
        variances: the variance of the noise of a cell of each pair.
        sizes: the number of codes of each column.
        target: the column to predict.
        classes: the class of each code of the target: 0, 1, or -1 for codes that do not count; by default 0, 1, -1, ….
    """
    chosen = list(classes) if classes is not None else [0, 1, *[-1] * (sizes[target] - 2)]
    features = [column for column in range(len(sizes)) if column != target]
    layout = Layout(tuple(features), target, tuple(sizes[column] for column in features), tuple(chosen))
    tables = class_tables(pairs, variances, layout)
    size, p = tables.size, float(tables.shares[1])
    means = tables.cells / max(size, 1.0)
    moments = _moments(pairs, layout, tables, means)
    noise = sqrt(max(variances.values()))
    values, vectors = np.linalg.eigh(moments)
    penalty = noise * sqrt(layout.cells) + 1.0
    cross = tables.level[1] - p * tables.level.sum(axis=0)
    slopes = vectors @ ((vectors.T @ cross) / (np.maximum(values, 0) + penalty))
    whole = size * p * (1 - p)
    explained = min(max(float(cross @ slopes) / whole, 0.0), _MOST_EXPLAINED)
    weights = slopes / (p * (1 - p) * (1 - explained))
    middle = means + cross * (0.5 - p) / whole  # the mean of the means of the classes
    return PairFit(weights[None], np.array([log(p / (1 - p)) - float(weights @ middle)]), size)


def naive_bayes_from_pairs(pairs: Pairs, variances: Mapping[tuple[int, int], float], layout: Layout) -> PairFit:
    """Return naive Bayes from the tables of the target with each feature."""
    tables = class_tables(pairs, variances, layout)
    weights, intercepts = naive_bayes(shrunk(tables, layout)[0], tables)
    return PairFit(weights, intercepts, tables.size)


def class_tables(pairs: Pairs, variances: Mapping[tuple[int, int], float], layout: Layout) -> Tables:
    """Return the noisy counts by class and cell."""
    parts = [_between(pairs, layout.target, column) for column in layout.features]
    counts = [
        np.concatenate(
            [part[[code for code, c in enumerate(layout.classes) if c == cls]].sum(axis=0) for part in parts]
        )
        for cls in range(layout.number)
    ]
    spread = [variances[_key(layout.target, column)] ** 0.5 for column in layout.features]
    return tables_of(np.stack(counts), np.repeat(np.array(spread), layout.sizes), layout)


def _moments(pairs: Pairs, layout: Layout, tables: Tables, means: Floats) -> Floats:
    """Return Σ x·xᵀ of the centred one-hot codes, over all rows of the classes as far as pairs tell."""
    matrix, starts, size = np.zeros((layout.cells, layout.cells)), layout.starts, tables.size
    for place, one in enumerate(layout.features):
        rows = slice(starts[place], starts[place + 1])
        matrix[rows, rows] = np.diag(tables.cells[rows])
        for other in range(place + 1, len(layout.features)):
            columns = slice(starts[other], starts[other + 1])
            pair = _between(pairs, one, layout.features[other])
            matrix[rows, columns] = pair * (size / max(float(pair.sum()), 1.0))
            matrix[columns, rows] = matrix[rows, columns].T
    return np.asarray(matrix - size * np.outer(means, means))


def _between(pairs: Pairs, one: int, two: int) -> Floats:
    table = pairs[_key(one, two)]
    return table if one < two else table.T


def _key(one: int, two: int) -> tuple[int, int]:
    return (min(one, two), max(one, two))
