"""One set of marginals without negative counts, consistent with each other, near noisy ones: a biased estimate.

Level by level, from the total to the largest sets: the counts of a set A are the fitted counts of its smaller sets
plus the noisy part of A, whose noise has the known variance v_A (`marginal_parts`). `cell_posteriors` moves each count
toward what the smaller sets predict: a uniform column; the product of two columns; for three and more, the product
raked to the fitted marginals. The table then gets its fitted marginals: first each count moves by its own posterior
variance, so counts that are known well hardly move, then the table is raked (iterative proportional fitting).

The fitted parts define all marginals, so they agree with each other. If a count is still negative (three or more
columns can have pairs that no table has), the tables are projected in turn onto those without negative counts and onto
those that agree. What is left, if anything, is removed by a mixture with the uniform table, which keeps them agreeing.

This reads noisy numbers alone, so it costs nothing. It is biased: small counts move toward the prediction and up from
negative values. The intervals of the unbiased marginals do not hold for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from tacit.arrays import Floats
from tacit.synthetic.cell_posteriors import posterior
from tacit.synthetic.joint_counts import Columns, largest_sets
from tacit.synthetic.marginal_parts import Parts, marginal_of, projected, spread
from tacit.synthetic.marginal_release import subsets

_SHIFTS, _RAKES, _REPAIRS = 30, 60, 300
_CLOSE, _DUST = 1e-9, 1e-12


def nonnegative_parts(
    parts: Parts, variances: Mapping[Columns, float], sizes: Sequence[int], sets: Iterable[Columns]
) -> dict[Columns, Floats]:
    """Return the parts of the fitted marginals.

    Args:
        parts: the estimates of the parts, in rows.
        variances: v_A for each part.
        sizes: the number of codes of each column.
        sets: the requested marginals; they and all their subsets will have no negative counts.
    """
    total = max(float(parts[()]), 0.0)
    fitted: dict[Columns, Floats] = {(): np.array(total)}
    largest = largest_sets(tuple(c for c in columns if sizes[c] > 1) for columns in sets)
    every = sorted({subset for columns in largest for subset in subsets(columns, sizes)}, key=len)
    if total == 0:
        return {columns: np.zeros([sizes[c] for c in columns]) for columns in every}
    tables: dict[Columns, Floats] = {(): np.array(total)}
    for columns in every[1:]:
        lower = sum(
            (spread(fitted[each], each, columns, sizes) for each in subsets(columns, sizes) if each != columns),
            np.zeros([sizes[c] for c in columns]),
        )
        predicted = _predicted(tables, columns, sizes)
        guess = posterior(lower + parts[columns], predicted, variances[columns])
        margins = [(place, tables[columns[:place] + columns[place + 1 :]]) for place in range(len(columns))]
        tables[columns] = raked(_shifted(guess.mean, guess.variance, margins), margins)
        fitted[columns] = projected(tables[columns])
    return _without_negatives(fitted, largest, sizes, total)


def _predicted(tables: Mapping[Columns, Floats], columns: Columns, sizes: Sequence[int]) -> Floats:
    """Return the counts of some columns that their smaller sets predict."""
    total = float(tables[()])
    if len(columns) == 1:
        return np.full(sizes[columns[0]], total / sizes[columns[0]])
    product = np.array(total)
    for column in columns:
        product = np.multiply.outer(product, tables[column,] / total)
    if len(columns) == 2:  # noqa: PLR2004 - the product has both margins
        return product
    return raked(product, [(place, tables[columns[:place] + columns[place + 1 :]]) for place in range(len(columns))])


def _shifted(values: Floats, variance: Floats, margins: Sequence[tuple[int, Floats]]) -> Floats:
    """Return counts with some margins nearly, each moved in proportion to its variance; none is negative.

    Args:
        values: the counts.
        variance: the variance of each of them.
        margins: for each axis, the counts that the table has without it.
    """
    for _ in range(_SHIFTS):
        for axis, wanted in margins:
            missing = (wanted - values.sum(axis=axis)) / variance.sum(axis=axis)
            values = np.maximum(values + variance * np.expand_dims(missing, axis), 0.0)
    return values


def raked(values: Floats, margins: Sequence[tuple[int, Floats]]) -> Floats:
    """Return a table with some margins, if there is one, by iterative proportional fitting.

    >>> raked(np.ones((2, 2)), [(1, np.array([3.0, 1.0])), (0, np.array([2.0, 2.0]))]).tolist()
    [[1.5, 1.5], [0.5, 0.5]]
    """
    least = _DUST * max(float(values.sum()), 1.0)
    values = np.maximum(values, least)
    for _ in range(_RAKES):
        moved = 0.0
        for axis, wanted in margins:
            factor = wanted / np.maximum(values.sum(axis=axis), least)
            moved = max(moved, float(np.abs(factor - 1).max()))
            values = values * np.expand_dims(factor, axis)
        if moved < _CLOSE:
            break
    return values


def _without_negatives(
    fitted: dict[Columns, Floats], largest: Sequence[Columns], sizes: Sequence[int], total: float
) -> dict[Columns, Floats]:
    """Return parts whose marginals have no negative counts."""
    for _ in range(_REPAIRS):
        tables = {columns: marginal_of(fitted, sizes, columns) for columns in largest}
        if min(float(table.min()) for table in tables.values()) >= -_CLOSE * total:
            break
        fitted = _agreeing({columns: _onto_simplex(table, total) for columns, table in tables.items()}, sizes)
        fitted[()] = np.array(total)
    tables = {columns: marginal_of(fitted, sizes, columns) for columns in largest}
    share = max(
        float(np.max(-np.minimum(table, 0) / (total / table.size - np.minimum(table, 0)))) for table in tables.values()
    )
    return {columns: part * (1 - share) if columns else part for columns, part in fitted.items()}


def _agreeing(tables: Mapping[Columns, Floats], sizes: Sequence[int]) -> dict[Columns, Floats]:
    """Return the parts of the nearest tables that agree with each other, in the sum of squares over all cells."""
    sums: dict[Columns, Floats] = {}
    weights: dict[Columns, float] = {}
    for columns, table in tables.items():
        for size in range(len(columns) + 1):
            for subset in combinations(columns, size):
                others = tuple(place for place, column in enumerate(columns) if column not in subset)
                weight = 1 / prod(sizes[columns[place]] for place in others)
                sums[subset] = sums.get(subset, np.array(0.0)) + weight * projected(np.asarray(table.sum(axis=others)))
                weights[subset] = weights.get(subset, 0.0) + weight
    return {subset: np.asarray(value / weights[subset]) for subset, value in sums.items()}


def _onto_simplex(values: Floats, total: float) -> Floats:
    """Return the nearest table of a total without negative counts."""
    down = np.sort(values.ravel())[::-1]
    gaps = (np.cumsum(down) - total) / np.arange(1, down.size + 1)
    level = gaps[np.flatnonzero(down > gaps)[-1]]
    return np.asarray(np.maximum(values - level, 0.0))
