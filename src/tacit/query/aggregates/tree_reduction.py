"""The quantiles of trees and their intervals for many groups at once, see `tree_summary`.

The values are those of `quantile`, group by group. The ends of intervals are those of `ranks.edge_ends`: for the miss
rate of the query from z at every edge, and for the further ones from Chernoff's bound of z.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacit.arrays import Floats
from tacit.query.aggregates.quantile import Bins, Quantile, bin_ends, bins_of, tree_noise
from tacit.query.aggregates.ranks import Positions, Ranks, TreeNoise, edge_ends
from tacit.query.aggregates.tree_summary import QuantileColumn, SummaryTable, quantile_name
from tacit.query.histograms import Counts
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle


def reduced_tree(
    quantiles: Sequence[tuple[Ask, Quantile]],
    bundles: Sequence[Bundle],
    noise: Sequence[NoiseLaw],
    levels: Sequence[Counts],
    misses: tuple[Fraction, ...],
) -> SummaryTable:
    """Return the quantiles of a tree in some groups.

    Args:
        quantiles: the quantiles of the tree.
        bundles: its levels, from the top down.
        noise: the noise of each level.
        levels: the noisy counts of each level, group by group.
        misses: the miss rates of the intervals, in falling order.
    """
    tree = tree_noise(bundles, noise)
    fitted = tree.tree.fit([np.asarray(level, dtype=np.float64) for level in levels])
    bins = tree.tree.shape.bins
    before = np.zeros((fitted.size // bins, bins + 1))
    np.cumsum(fitted.reshape(-1, bins), axis=1, out=before[:, 1:])
    columns = {
        quantile_name(ask): _column(ask, statistic, before, tree, bundles[0], misses) for ask, statistic in quantiles
    }
    return SummaryTable(misses, columns)


def _column(
    ask: Ask, statistic: Quantile, before: Floats, tree: TreeNoise, bundle: Bundle, misses: tuple[Fraction, ...]
) -> QuantileColumn:
    bins = bins_of(ask.values[0].kind, ask.bounds[0])
    values = np.array([statistic.value(ask, Ranks(row, tree), bundle) for row in before], dtype=np.float64)
    low, high = (np.full((len(misses), len(before)), float(end)) for end in bins.bounds)
    whole = statistic.kind(ask) == "integer"
    for place, miss in enumerate(misses):
        for chosen, q, rank, beta in statistic.rank_tests(ask, before[:, -1], tree, bundle, miss):
            if not chosen.any():
                continue
            excess = before[chosen] - q * before[chosen, -1:] - rank
            reach = tree.reaches if place == 0 else tree.bounds
            first, last = (
                _values(bins, each, before.shape[1] - 1) for each in edge_ends(excess, reach(q, float(beta)))
            )
            ends = (np.floor(first), np.ceil(last)) if whole else (first, last)
            crossed = first > last
            low[place, chosen] = np.where(crossed, low[place, chosen], ends[0])
            high[place, chosen] = np.where(crossed, high[place, chosen], ends[1])
    return QuantileColumn(values, low, high)


def _values(bins: Bins, positions: Positions, count: int) -> Floats:
    """Return the values at positions."""
    numbers, shares = positions
    first, last = bin_ends(bins, count)
    return np.asarray(first[numbers] + shares * (last[numbers] - first[numbers]))
