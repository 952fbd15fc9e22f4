"""Exact integers at the resolution of a bundle, which may add up bins and keys before noise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from tacit.errors import SizeChangedError
from tacit.query.aggregates.sized_moments import combine
from tacit.query.histograms import Counts, in_blocks
from tacit.query.plan import Bundle, Measure, Plan

MeasureIntegers: TypeAlias = Sequence[int] | Counts
"""The integers of one measure, one a cell, or one a bin of a cell."""


def noise_inputs(plan: Plan, exact: Sequence[MeasureIntegers]) -> list[list[MeasureIntegers]]:
    """Return the exact integers to which noise is added: for each bundle those of its measures, or a combined one.

    If one of several totals is drawn, they become one vector: those of each cell together.

    If the measured cells add up to the public size, check that they do.

    Raises:
        SizeChangedError: the table does not have the public number of rows.
    """
    remaining = iter(exact)
    vectors: list[list[MeasureIntegers]] = []
    for bundle in plan.bundles:
        measured = [(measure, next(remaining)) for measure in bundle.measures]
        if bundle.combined is not None:
            vectors.append([[combine(bundle, [int(integers[0]) for _, integers in measured])]])
            continue
        if plan.adds_up and any(sum(integers) != plan.size for _, integers in measured):
            raise SizeChangedError
        if bundle.values is not None and len(measured) > 1:
            vectors.append([[int(x) for cell in zip(*(totals for _, totals in measured), strict=True) for x in cell]])
            continue
        vectors.append([coarse(plan, bundle, measure, integers) for measure, integers in measured])
    return vectors


def coarse(plan: Plan, bundle: Bundle, measure: Measure, integers: MeasureIntegers) -> MeasureIntegers:
    """Return exact integers at the resolution of a bundle: added up over blocks of bins, and over its other keys."""
    if isinstance(integers, np.ndarray):
        return in_blocks(integers, measure.bins, bundle.block)
    if bundle.over is not None:
        integers = _margin(plan, bundle.over, measure.bins, integers)
    if bundle.block == 1:
        return integers
    rows = range(0, len(integers), measure.bins)
    starts = range(0, measure.bins, bundle.block)
    return [sum(integers[row + i : row + min(i + bundle.block, measure.bins)]) for row in rows for i in starts]


def _margin(plan: Plan, over: tuple[int, ...], bins: int, integers: Sequence[int]) -> list[int]:
    """Return the integers added up over all factors except `over`; the bins of a cell stay together."""
    sizes = [factor.size for factor in plan.factors]
    sums: dict[tuple[int, ...], list[int]] = {cell: [0] * bins for cell in product(*(range(sizes[i]) for i in over))}
    for number, cell in enumerate(product(*map(range, sizes))):
        total = sums[tuple(cell[i] for i in over)]
        for bin_ in range(bins):
            total[bin_] += integers[number * bins + bin_]
    return [x for total in sums.values() for x in total]
