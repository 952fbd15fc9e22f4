"""The fit of a quality release: how many classes, how many steps, and how much independence."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from tacit.arrays import Floats
from tacit.synthetic.latent_fit import WIDE, Fit, NoisyTable
from tacit.synthetic.latent_model import LatentModel
from tacit.synthetic.pair_fit import on_simplex
from tacit.synthetic.quality_plan import alpha_of

_PRODUCTS = 4.0e9
"""Multiplications in a second that a limit of time assumes: a slow processor."""
_SECONDS, _FINAL_PART, _TRIAL_PART = 120.0, 0.6, 0.1
"""The limit of time if none is given, and the parts for the last fit and for each fit that choices need."""
_STEPS, _TRIAL_STEPS, _LEAST_STEPS = 800, 200, 30
_CLASSES, _TRIAL_CLASSES, _LEAST_CLASSES = 400, 100, 20
_MOST_ENTRIES = 2**22


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
    classes, steps = work_of(tables, sizes, seconds, final=final)
    fit = Fit(sizes, tables, total, classes, alpha, shares)
    fit.run(steps)
    return fit.model()


def work_of(
    tables: Sequence[NoisyTable], sizes: tuple[int, ...], seconds: float | None, *, final: bool
) -> tuple[int, int]:
    """Return how many classes and steps a fit has, by public numbers: first classes give way to the limit of time."""
    codes = sum(sizes)
    cells = sum(each.values.size for each in tables if len(each.columns) > (2 if codes <= WIDE else 1))
    each_step = 100 * codes + 6 * cells + (3 * codes * codes if codes <= WIDE else 0)
    limit = (_FINAL_PART if final else _TRIAL_PART) * (_SECONDS if seconds is None else seconds) * _PRODUCTS / each_step
    wanted = _STEPS if final else _TRIAL_STEPS
    most = min(_CLASSES if final else _TRIAL_CLASSES, max(_MOST_ENTRIES // codes, _LEAST_CLASSES))
    classes = max(_LEAST_CLASSES, min(most, int(limit / wanted)))
    return classes, max(_LEAST_STEPS, min(wanted, int(limit / classes)))
