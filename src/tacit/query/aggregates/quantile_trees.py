"""Noisy counts of bins at several resolutions, combined by least squares.

A tree has `levels` levels: `top` nodes, each with `branching` children, and so on down to the bins. A node counts the
rows in its bins. Each level has independent noise of one variance v on every node. All sums here are linear in the
noisy counts, so their noise is a known combination of independent noises.

**Least squares.** Upward, z is the best estimate of a node from its subtree: for a bin it is the noisy count y, above
it is z = α·y + (1-α)·Σz(children). Its variance s satisfies 1/s = 1/v + 1/(k·s'), with α = s/v and s' the variance of
the children. Downward, the parent's correction is divided among its children: x = z + (x(parent) - Σz(siblings))/k; at
the top x = z. That is the generalised least squares solution, and Σz(children) is uncorrelated with the differences
between the children.

**Prefix sums.** Let C(i, f) count the rows in the bins before bin i and a share f of the rows in bin i. N counts all
rows. Let ρ = f at the bin and ρ(parent) = (d + ρ)/k, where d is the index of the node among its siblings. The estimate
of C is ρ·x(node) below each node on the path to the bin, plus terms that are uncorrelated with it. So for D = C - q·N

    Var D = Σ over levels of s·Σ over siblings of (w - w̄)².

w is 1 before the path, ρ on it and 0 behind it. w̄ is ρ of the parent, and q at the top. The noise of D is a sum over
nodes with few different weights (`Tree.terms`): only siblings of the path differ, and all nodes below such a sibling
have equal weights.

**The shape.** The table has the mean of Var D at q = ½ over all positions, for 4,096 bins, in units of the variance of
a count that has the whole budget. Each level has an equal share of it (v ∝ levels² for Laplace noise, v ∝ levels for
Gaussian noise):

| branching | 4 | 8 | 16 | 32 | 64 | none |
|---|---|---|---|---|---|---|
| levels | 6 | 4 | 3 | 3 | 2 | 1 |
| Laplace | 93 | 76 | 75 | 98 | 104 | 1024 |
| Gaussian | 16 | 19 | 25 | 33 | 52 | 1024 |

The law is chosen later, so `shape` uses the number of levels and the branching with the least product of the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.arrays import Floats, Ints

_WIDEST = {2: 64, 3: 32, 4: 16, 5: 8, 6: 6}
_SAMPLES = 512
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class Shape:
    """The number of nodes at the top, of children of each node, and of levels, with the top level."""

    top: int
    branching: int
    levels: int

    @property
    def bins(self) -> int:
        """The number of bins."""
        return self.top * self.blocks[0]

    @property
    def blocks(self) -> tuple[int, ...]:
        """The number of bins of a node on each level, from the top down."""
        return tuple(int(self.branching**below) for below in reversed(range(self.levels)))


@dataclass(frozen=True, slots=True)
class Tree:
    """A shape and the variance of the noise on each level, from the top down."""

    shape: Shape
    variances: tuple[float, ...]

    @property
    def spreads(self) -> tuple[float, ...]:
        """The variance s of a node's estimate from its subtree, on each level."""
        spreads = [self.variances[-1]]
        for variance in reversed(self.variances[:-1]):
            spreads.append(1 / (1 / variance + 1 / (self.shape.branching * spreads[-1])))
        return tuple(reversed(spreads))

    @property
    def count_weights(self) -> tuple[float, ...]:
        """The weight α of a node's noisy count in that estimate, on each level."""
        return tuple(s / v for s, v in zip(self.spreads, self.variances, strict=True))

    def fit(self, counts: Sequence[Floats]) -> Floats:
        """Return the least-squares estimate of every bin from the noisy counts of each level, the top level first."""
        k, alpha = self.shape.branching, self.count_weights
        best = [counts[-1]]
        for level in reversed(range(self.shape.levels - 1)):
            below = best[-1].reshape(-1, k).sum(axis=1)
            best.append(alpha[level] * counts[level] + (1 - alpha[level]) * below)
        best.reverse()
        fitted = best[0]
        for below in best[1:]:
            missing = fitted - below.reshape(-1, k).sum(axis=1)
            fitted = below + np.repeat(missing / k, k)
        return fitted

    def variance(self, bins: Ints, shares: Floats, q: float) -> Floats:
        """Return Var D for prefix sums that end at these shares of these bins."""
        total = np.zeros(len(bins))
        for row in self._path(bins, shares, q):
            spread = (1 - row.mean) ** 2 * row.before + (row.on - row.mean) ** 2 + row.mean**2 * row.behind
            total += self.spreads[row.level] * spread
        return total

    def terms(self, bin_: int, share: float, q: float) -> NoiseTerms:
        """Return the noise of D as a sum of terms: the weight, the number of nodes and the level of each."""
        every = self.all_terms(np.array([bin_]), np.array([share]), q)
        kept = every.counts[:, 0] > 0
        return NoiseTerms(every.weights[kept, 0], every.counts[kept, 0], every.levels[kept])

    def all_terms(self, bins: Ints, shares: Floats, q: float) -> NoiseTerms:
        """Return the terms for many positions: weights and counts have one column for each; a count may be 0."""
        k, alpha, zeros = self.shape.branching, self.count_weights, np.zeros(len(bins))
        terms, carried = list[tuple[Floats, Floats, int]](), zeros
        for row in self._path(bins, shares, q):
            last = row.level == self.shape.levels - 1
            weights = (1 - row.mean + carried, row.on - row.mean + carried, -row.mean + carried)
            counts = (row.before.astype(np.float64), zeros + 1, row.behind.astype(np.float64))
            for side, (weight, count) in enumerate(zip(weights, counts, strict=True)):
                for level in range(row.level, row.level + 1 if side == 1 else self.shape.levels):
                    terms.append((weight * alpha[level], count, level))
                    weight, count = weight * (1 - alpha[level]), count * k  # noqa: PLW2901 - of the children
            carried = zeros if last else (1 - alpha[row.level]) * weights[1]
        every, many, levels = zip(*terms, strict=True)
        return NoiseTerms(np.array(every), np.array(many), np.array(levels))

    def _path(self, bins: Ints, shares: Floats, q: float) -> list[_Siblings]:
        """Return the siblings on the path down to some bins, from the top level on."""
        rows: list[_Siblings] = []
        k, nodes, on = self.shape.branching, bins, shares
        for level in reversed(range(self.shape.levels)):
            size = k if level else self.shape.top
            before = nodes % size
            mean = (before + on) / k if level else np.full(len(bins), q)
            rows.append(_Siblings(level, before, on, size - before - 1, mean))
            nodes, on = nodes // size, mean
        rows.reverse()
        return rows


@dataclass(frozen=True, slots=True)
class _Siblings:
    """One level, for many positions: the nodes before the path, ρ on it, the nodes behind it, and w̄."""

    level: int
    before: Ints
    on: Floats
    behind: Ints
    mean: Floats


@dataclass(frozen=True, slots=True)
class NoiseTerms:
    """A sum of independent noises: the weight, the number of noises and the level of each term."""

    weights: Floats
    counts: Floats
    levels: Ints


@lru_cache(maxsize=256)
def shape(bins: int) -> Shape:
    """Return the best shape with at least this many bins, and few more.

    >>> shape(4096), shape(5)
    (Shape(top=8, branching=8, levels=4), Shape(top=5, branching=1, levels=1))
    """
    return min(_shapes(bins), key=lambda shape: mean_variance(shape, 2) * mean_variance(shape, 1))


def _shapes(bins: int) -> Iterator[Shape]:
    yield Shape(bins, 1, 1)
    for levels, widest in _WIDEST.items():
        for branching in range(2, widest + 1):
            block = branching ** (levels - 1)
            if block < bins:
                yield Shape(-(-bins // block), branching, levels)


def mean_variance(shape: Shape, exponent: int) -> float:
    """Return the mean of Var D at q = ½ over positions, for levels of variance levels^exponent."""
    tree = Tree(shape, (float(shape.levels**exponent),) * shape.levels)
    bins = (np.arange(_SAMPLES) * _GOLDEN % 1 * shape.bins).astype(np.int64)  # not aligned with any branching
    return float(tree.variance(bins, np.full(_SAMPLES, 0.5), 0.5).mean())
