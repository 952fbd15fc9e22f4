"""Noise on measures with bins, some groups at a time, so that the counts of all groups are never in memory at once.

The engine passes the exact counts of a few groups (a block) to `BinnedNoise.absorb`. They get noise, or a quantile or a
category is drawn from them, and they are dropped. What is kept of a group:

* of a draw its one or two integers;
* of a tree all noisy counts, or only its quantiles if the answer has many groups (`tree_summary`);
* of any other bundle its noisy counts.

Each count gets noise once, from the law of its bundle, as if all groups had been in one block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Protocol, TypeAlias, cast

import numpy as np

from tacit.errors import InternalError
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.margins import FITTED
from tacit.query.aggregates.quantile import Quantile
from tacit.query.aggregates.statistic import miss_rate
from tacit.query.aggregates.tree_reduction import reduced_tree
from tacit.query.aggregates.tree_summary import SummaryTable, drops_trees, kept_misses, trees_of
from tacit.query.choice_law import ChoiceLaw
from tacit.query.histograms import Absorb, Counts, in_blocks, with_noise
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Plan
from tacit.query.pricing.noisy_filters import confidence_each, confidence_in_group
from tacit.query.pricing.price import Price
from tacit.query.pricing.quantile_method import noisy_places
from tacit.query.rank_law import RankLaw
from tacit.query.results.resolution import MeasureIntegers

ReleasedIntegers: TypeAlias = MeasureIntegers | SummaryTable
"""The noisy integers of one measure, or the quantiles that are kept of a tree."""


class MeasurePlan(Protocol):
    """Returns the exact integers of a plan; `absorb` takes those of measures with bins."""

    def __call__(self, plan: Plan, absorb: Absorb | None = None) -> Sequence[Sequence[int]]:
        """Read the rows."""


def can_absorb(plan: Plan) -> bool:
    """Return whether the measures with bins of a plan can get noise some groups at a time.

    Margins are added up over groups, and so are cells that are compared with a public size.
    """
    binned = [bundle for bundle in plan.bundles if any(measure.bins > 1 for measure in bundle.measures)]
    fitted = any(aggregate.ask.function in FITTED for aggregate in plan.aggregates)
    alone = all(len(each.measures) == 1 and each.over is None and each.combined is None for each in binned)
    return bool(binned) and alone and not fitted and not plan.adds_up


class BinnedNoise:
    """The released integers of the bundles with bins of one plan, as far as the engine has passed their counts."""

    def __init__(self, plan: Plan, price: Price, confidence: float) -> None:
        """Start with no group."""
        self._plan, self._price = plan, price
        self._owners = [index for index, bundle in enumerate(plan.bundles) for _ in bundle.measures]
        self._misses = tree_misses(plan, confidence) if drops_trees(plan, plan.listed) else {}
        self.released: dict[int, ReleasedIntegers] = {}

    def absorb(self, indices: tuple[int, ...], blocks: Iterator[Counts]) -> None:
        """Add noise to the counts of some equal measures, block by block."""
        owners = [self._owners[index] for index in indices]
        trees = {tree: misses for tree, misses in self._misses.items() if set(tree) <= set(owners)}
        parts: dict[int, list[Counts]] = {owner: [] for owner in owners}
        tables: dict[tuple[int, ...], list[SummaryTable]] = {tree: [] for tree in trees}
        for counts in blocks:
            noisy = {owner: self._noisy(owner, counts) for owner in owners}
            for tree, misses in trees.items():
                tables[tree].append(summary(self._plan, self._price, tree, [noisy.pop(i) for i in tree], misses))
            for owner, some in noisy.items():
                parts[owner].append(some)
        self.released |= {owner: cast("Counts", np.concatenate(some)) for owner, some in parts.items() if some}
        for tree, tables_of_blocks in tables.items():
            self.released |= dict.fromkeys(tree, SummaryTable.joined(tables_of_blocks))

    def _noisy(self, index: int, counts: Counts) -> Counts:
        """Return what is released of a bundle for the groups of a block."""
        bundle, law = self._plan.bundles[index], self._price.noise[index]
        return noisy_counts(in_blocks(counts, bundle.measures[0].bins, bundle.block), law)


def noisy_counts(counts: Counts, law: NoiseLaw) -> Counts:
    """Return counts with noise; for a drawn bundle or a choice, what is drawn in each group."""
    if isinstance(law, (RankLaw, ChoiceLaw)):
        return np.array(law.choose_all(counts), dtype=np.int64)
    return with_noise(counts, law)


def tree_misses(
    plan: Plan, confidence: float, found_groups: int | None = None
) -> Mapping[tuple[int, ...], tuple[Fraction, ...]]:
    """Return the miss rates for which the intervals of each tree are kept: first the least that an output needs."""
    each = confidence_in_group(plan, confidence, found_groups)
    parts = [noisy_places(output) for _, output in plan.outputs]
    misses = {}
    for tree in trees_of(plan):
        places = {index for index, aggregate in enumerate(plan.aggregates) if aggregate.bundles == tree}
        rates = [
            miss_rate(confidence_each(each, sum(bool(plan.aggregates[index].bundles) for index in part)))
            for part in parts
            if part & places
        ]
        misses[tree] = kept_misses(min(rates, default=miss_rate(each)))
    return misses


def summary(
    plan: Plan, price: Price, tree: tuple[int, ...], levels: Sequence[Counts], misses: tuple[Fraction, ...]
) -> SummaryTable:
    """Return the quantiles of a tree in some groups, from the noisy counts of its levels."""
    quantiles = [(ask, _statistic(ask)) for ask in trees_of(plan)[tree]]
    return reduced_tree(quantiles, [plan.bundles[i] for i in tree], [price.noise[i] for i in tree], levels, misses)


def summarized(
    plan: Plan,
    price: Price,
    noisy: list[list[ReleasedIntegers]],
    misses: Mapping[tuple[int, ...], tuple[Fraction, ...]],
) -> list[list[ReleasedIntegers]]:
    """Return the noisy integers of a block of groups, with the quantiles of these trees in place of their counts."""
    for tree, rates in misses.items():
        levels = [np.array(kept_integers(noisy[index][0])) for index in tree]
        table = summary(plan, price, tree, levels, rates)
        for index in tree:
            noisy[index] = [table]
    return noisy


def kept_integers(released: ReleasedIntegers) -> MeasureIntegers:
    """Return the integers of a measure; an InternalError if they were dropped."""
    if isinstance(released, SummaryTable):
        raise InternalError("the counts of this tree were dropped.")
    return released


def _statistic(ask: Ask) -> Quantile:
    statistic = STATISTICS[ask.function]
    if not isinstance(statistic, Quantile):
        raise TypeError("not a quantile of a tree")
    return statistic
