"""Exact integers with fresh noise, and as the released columns of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from tacit.arrays import Bools, WideInts, concatenated
from tacit.errors import InternalError
from tacit.query.aggregates.released_columns import ReleasedColumn, largest, wide_integers
from tacit.query.aggregates.summary_columns import SummaryColumn
from tacit.query.aggregates.tree_summary import SummaryTable
from tacit.query.choice_law import ChoiceLaw
from tacit.query.histograms import with_noise
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Bundle, Plan
from tacit.query.pricing.partition_selection import TruncatedLaplace
from tacit.query.pricing.price import Price
from tacit.query.rank_law import RankLaw
from tacit.query.results.binned_noise import ReleasedIntegers, kept_integers
from tacit.query.results.resolution import MeasureIntegers, noise_inputs

_NONE: Mapping[int, ReleasedIntegers] = MappingProxyType({})
_FITS = 2**61


def noisy_integers(
    plan: Plan,
    price: Price,
    exact: Sequence[MeasureIntegers],
    cells: int,
    released: Mapping[int, ReleasedIntegers] = _NONE,
) -> list[list[ReleasedIntegers]]:
    """Return the noisy integers of each measure of each bundle; `released` are bundles that already have noise."""
    sizes = [
        {measure.bins * cells, *([0] if index in released else [])}
        for index, bundle in enumerate(plan.bundles)
        for measure in bundle.measures
    ]
    if len(exact) != len(sizes) or any(len(some) not in size for some, size in zip(exact, sizes, strict=True)):
        raise InternalError("the engine's answer does not have the shape of the plan.")
    vectors = noise_inputs(plan, exact)
    return [
        [
            released[index] if index in released else _with_noise(plan, bundle, integers, law)
            for integers in vectors[index]
        ]
        for index, (bundle, law) in enumerate(zip(plan.bundles, price.noise, strict=True))
    ]


def _with_noise(plan: Plan, bundle: Bundle, integers: MeasureIntegers, law: NoiseLaw) -> MeasureIntegers:
    """Return integers with noise; for a drawn bundle or a choice, what is drawn in each group.

    If two integers add up to the public size, the first with noise determines both.

    `with_noise` adds in 64 bits if the noise is within ±2^61. It gets integers of 64 bits only if they are within ±2^61
    too, so no sum wraps; otherwise it gets Python's integers.
    """
    if isinstance(law, (RankLaw, ChoiceLaw)):
        return law.choose_all(integers)
    if plan.halves and plan.size is not None and bundle.over is None:
        first = int(integers[0]) + law.draw(1)[0]
        return [first, plan.size - first]
    whole = wide_integers(integers)
    return with_noise(whole if largest(whole) <= _FITS else whole.astype(object), law)


def released_columns(
    plan: Plan,
    noise: Sequence[NoiseLaw],
    noisy: Sequence[Sequence[ReleasedIntegers]],
    cells: int,
    selection: tuple[TruncatedLaplace, Bools] | None = None,
) -> list[ReleasedColumn]:
    """Return the noisy integers of each bundle in the first `cells` cells.

    Args:
        plan: the plan.
        noise: the noise of each bundle.
        noisy: the noisy integers of each measure of each bundle.
        cells: the number of cells to release.
        selection: the law of partition selection, and which of the cells had its lower limit.
    """
    columns: list[ReleasedColumn] = []
    for bundle, law, measures in zip(plan.bundles, noise, noisy, strict=True):
        if isinstance(measures[0], SummaryTable):
            columns.append(SummaryColumn.of(bundle, law, measures[0], cells))
            continue
        integers = _by_cell(bundle, list(map(kept_integers, measures)), cells)
        if selection is not None and law is selection[0]:
            columns.append(ReleasedColumn(bundle, integers, law, selection[0].lower, selection[1]))
        else:
            columns.append(ReleasedColumn(bundle, integers, law))
    return columns


def _by_cell(bundle: Bundle, measures: Sequence[MeasureIntegers], cells: int) -> WideInts:
    """Return the integers of a bundle with a row for each cell.

    If a bundle is added up over keys, the rows are empty.
    """
    if bundle.over is not None:
        return np.empty((cells, 0), dtype=np.int64)
    if bundle.combined is not None or bundle.values is not None:
        widths = [1]
    elif bundle.rank is not None:
        widths = [bundle.width]
    else:
        widths = [-(-measure.bins // bundle.block) for measure in bundle.measures]
    parts = [
        wide_integers(integers[: cells * width]).reshape(cells, width)
        for width, integers in zip(widths, measures, strict=True)
    ]
    return parts[0] if len(parts) == 1 else concatenated(parts, axis=1)
