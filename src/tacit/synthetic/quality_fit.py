"""The fit of a quality release: how many classes, how many steps, and how much independence."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from tacit.arrays import Floats
from tacit.synthetic.latent_fit import Fit, NoisyTable
from tacit.synthetic.latent_model import LatentModel
from tacit.synthetic.pair_fit import on_simplex
from tacit.synthetic.quality_plan import alpha_of

_PRODUCTS = 2.0e9
"""Multiplications in a second that a limit of time assumes."""
_STEPS, _TRIAL_STEPS, _LEAST_STEPS = 800, 200, 30
_CLASSES, _TRIAL_CLASSES, _MOST_ENTRIES = 400, 100, 2**22


def total_of(tables: Sequence[NoisyTable]) -> float:
    """Return the number of rows: the mean of the sums of all tables, weighted by their precision."""
    weights = [1 / (each.values.size * each.variance) for each in tables]
    sums = [float(each.values.sum()) for each in tables]
    return sum(a * b for a, b in zip(weights, sums, strict=True)) / sum(weights) if tables else 0.0


def merged(tables: Sequence[NoisyTable]) -> list[NoisyTable]:
    """Return one table for each set of columns: the mean of its measurements, weighted by their precision."""
    groups: dict[tuple[int, ...], list[NoisyTable]] = {}
    for each in tables:
        groups.setdefault(each.columns, []).append(each)
    found = []
    for columns, group in groups.items():
        variance = 1 / sum(1 / each.variance for each in group)
        mean = sum((each.values * (variance / each.variance) for each in group), np.zeros(group[0].values.size))
        found.append(NoisyTable(columns, mean, variance))
    return found


def column_shares(tables: Sequence[NoisyTable], sizes: Sequence[int], total: float) -> list[Floats]:
    """Return the shares of each column by all tables that have it, with a little of the uniform law."""
    shares = []
    for column, size in enumerate(sizes):
        sums, precision = np.zeros(size), 0.0
        for each in tables:
            if column in each.columns:
                shape, axis = [sizes[c] for c in each.columns], each.columns.index(column)
                weight = size / (each.values.size * each.variance)
                sums += weight * np.moveaxis(each.values.reshape(shape), axis, 0).reshape(size, -1).sum(axis=1)
                precision += weight
        mean = on_simplex(sums / precision / total) if precision else np.full(size, 1 / size)
        noise = min(0.5, 0.1 * size / sqrt(precision) / total) if precision else 0.0
        shares.append((1 - noise) * mean + noise / size)
    return shares


def fitted(
    tables: Sequence[NoisyTable], sizes: tuple[int, ...], seconds: float | None, *, final: bool = False
) -> LatentModel:
    """Return the model that fits noisy tables."""
    total, tables = max(total_of(tables), 1.0), merged(tables)
    shares = column_shares(tables, sizes, total)
    pairs = [each.variance for each in tables if len(each.columns) > 1]
    if not pairs:
        return LatentModel(np.ones(1), tuple(share[None, :] for share in shares))
    alpha = alpha_of(sqrt(float(np.median(pairs))))
    speed = _Speed(tables, sizes, seconds)
    classes = speed.classes(_CLASSES if final else _TRIAL_CLASSES)
    fit = Fit(sizes, tables, total, classes, alpha, shares)
    fit.run(speed.steps(_STEPS if final else _TRIAL_STEPS, classes))
    return fit.model()


class _Speed:
    """The classes and steps that public numbers admit."""

    def __init__(self, tables: Sequence[NoisyTable], sizes: Sequence[int], seconds: float | None) -> None:
        """Compute the work of one step for one class."""
        codes = sum(sizes)
        self._codes, self._seconds = codes, seconds
        triples = sum(each.values.size for each in tables if len(each.columns) > 2)  # noqa: PLR2004 - a triple
        self._work = 3 * codes * codes + 4 * triples + 100 * codes

    def classes(self, wanted: int) -> int:
        return max(4, min(wanted, _MOST_ENTRIES // self._codes))

    def steps(self, wanted: int, classes: int) -> int:
        if self._seconds is None:
            return wanted
        return max(_LEAST_STEPS, min(wanted, int(self._seconds / 8 * _PRODUCTS / (self._work * classes))))
