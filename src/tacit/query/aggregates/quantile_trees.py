"""Noisy counts of bins at several resolutions, put together by least squares.

A tree has `levels` levels: `top` nodes, each with `branching` children, and so on down to the bins. A node counts the
rows in its bins; each level has independent noise of one variance v on every node. All sums here are linear in the
noisy counts, so their noise is a known combination of independent noises.

**Least squares.** From below, z is the best estimate of a node from its own subtree: of the bins their count, above
z = α·y + (1-α)·Σz(children), with variance s, 1/s = 1/v + 1/(k·s'), α = s/v, s' that of the children. From above, what
the parent knows better is shared out: x = z + (x(parent) - Σz(siblings))/k; at the top x = z. That is the generalised
least squares solution, and Σz(children) is uncorrelated with the differences between the children.

**Prefix sums.** Let C(i, f) count the rows in the bins before bin i and a share f of those in bin i; N counts all.
With ρ = f at the bin and ρ(parent) = (d + ρ)/k, d the place of the node among its siblings, the estimate of C is
ρ·x(node) below each node on the way to the bin plus what is uncorrelated with it. So for D = C - q·N

    Var D = Σ over levels of s·Σ over siblings of (w - w̄)²,

w = 1 before the way, ρ on it, 0 behind it; w̄ is ρ of the parent, and q at the top. The noise of D is a sum over
nodes with few different weights (`Tree.parts`): only those beside the way differ, and all that is below one is alike.

**The shape.** The mean of Var D at q = ½ over all positions, in units of the variance of a count that has the whole
price, each level having an equal share of it (v ∝ levels² for Laplace noise, v ∝ levels for Gaussian), 4,096 bins:

| branching | 4 | 8 | 16 | 32 | 64 | none |
|---|---|---|---|---|---|---|
| levels | 6 | 4 | 3 | 3 | 2 | 1 |
| Laplace | 93 | 76 | 75 | 98 | 104 | 1024 |
| Gaussian | 16 | 19 | 25 | 33 | 52 | 1024 |

The law is chosen later, so `shape` takes the number of levels and the branching with the least product of the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats

Places = npt.NDArray[np.int64]

_WIDEST = {2: 64, 3: 32, 4: 16, 5: 8, 6: 6}
_SAMPLES = 512
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class Shape:
    """How many nodes there are at the top, how many children each has, and how many levels, the top one included."""

    top: int
    branching: int
    levels: int

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return self.top * self.blocks[0]

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many bins a node has, from the top down."""
        return tuple(int(self.branching**below) for below in reversed(range(self.levels)))


@dataclass(frozen=True, slots=True)
class Tree:
    """A shape and the variance of the noise on each level, from the top down."""

    shape: Shape
    variances: tuple[float, ...]

    @property
    def spreads(self) -> tuple[float, ...]:
        """The variance s of a node's estimate from its own subtree, on each level."""
        found = [self.variances[-1]]
        for variance in reversed(self.variances[:-1]):
            found.append(1 / (1 / variance + 1 / (self.shape.branching * found[-1])))
        return tuple(reversed(found))

    @property
    def own(self) -> tuple[float, ...]:
        """The weight α of a node's own count in that estimate, on each level."""
        return tuple(s / v for s, v in zip(self.spreads, self.variances, strict=True))

    def fit(self, counts: Sequence[Floats]) -> Floats:
        """Return the least-squares estimate of every bin from the noisy counts of each level, the top one first."""
        k, own = self.shape.branching, self.own
        best = [counts[-1]]
        for level in reversed(range(self.shape.levels - 1)):
            below = best[-1].reshape(-1, k).sum(axis=1)
            best.append(own[level] * counts[level] + (1 - own[level]) * below)
        best.reverse()
        fitted = best[0]
        for below in best[1:]:
            missing = fitted - below.reshape(-1, k).sum(axis=1)
            fitted = below + np.repeat(missing / k, k)
        return fitted

    def variance(self, bins: Places, shares: Floats, q: float) -> Floats:
        """Return Var D for prefix sums that end at these shares of these bins."""
        total = np.zeros(len(bins))
        for one in self._way(bins, shares, q):
            spread = (1 - one.mean) ** 2 * one.before + (one.on - one.mean) ** 2 + one.mean**2 * one.behind
            total += self.spreads[one.level] * spread
        return total

    def parts(self, bin_: int, share: float, q: float) -> Parts:
        """Return the noise of D as a sum of alike terms: weights, how many nodes have each, and on which level."""
        every = self.all_parts(np.array([bin_]), np.array([share]), q)
        kept = every.counts[:, 0] > 0
        return Parts(every.weights[kept, 0], every.counts[kept, 0], every.levels[kept])

    def all_parts(self, bins: Places, shares: Floats, q: float) -> Parts:
        """Return the same for many positions: weights and counts have one column for each; a count may be 0."""
        k, own, none = self.shape.branching, self.own, np.zeros(len(bins))
        found, carried = list[tuple[Floats, Floats, int]](), none
        for one in self._way(bins, shares, q):
            last = one.level == self.shape.levels - 1
            weights = (1 - one.mean + carried, one.on - one.mean + carried, -one.mean + carried)
            counts = (one.before.astype(np.float64), none + 1, one.behind.astype(np.float64))
            for place, (weight, count) in enumerate(zip(weights, counts, strict=True)):
                for level in range(one.level, one.level + 1 if place == 1 else self.shape.levels):
                    found.append((weight * own[level], count, level))
                    weight, count = weight * (1 - own[level]), count * k  # noqa: PLW2901 - of the children
            carried = none if last else (1 - own[one.level]) * weights[1]
        every, many, levels = zip(*found, strict=True)
        return Parts(np.array(every), np.array(many), np.array(levels))

    def _way(self, bins: Places, shares: Floats, q: float) -> list[_Siblings]:
        """Return the siblings on the way down to some bins, one level after the other."""
        found: list[_Siblings] = []
        k, nodes, on = self.shape.branching, bins, shares
        for level in reversed(range(self.shape.levels)):
            size = k if level else self.shape.top
            before = nodes % size
            mean = (before + on) / k if level else np.full(len(bins), q)
            found.append(_Siblings(level, before, on, size - before - 1, mean))
            nodes, on = nodes // size, mean
        found.reverse()
        return found


@dataclass(frozen=True, slots=True)
class _Siblings:
    """On one level, for many positions: nodes before the way, ρ on it, nodes behind it, and w̄."""

    level: int
    before: Places
    on: Floats
    behind: Places
    mean: Floats


@dataclass(frozen=True, slots=True)
class Parts:
    """A sum of independent noises: weights, how many noises have each, and on which level they are."""

    weights: Floats
    counts: Floats
    levels: Places


@lru_cache(maxsize=256)
def shape(bins: int) -> Shape:
    """Return the best shape with at least so many bins, and few more.

    >>> shape(4096), shape(5)
    (Shape(top=8, branching=8, levels=4), Shape(top=5, branching=1, levels=1))
    """
    return min(_shapes(bins), key=lambda one: mean_variance(one, 2) * mean_variance(one, 1))


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
    bins = (np.arange(_SAMPLES) * _GOLDEN % 1 * shape.bins).astype(np.int64)  # in step with no branching
    return float(tree.variance(bins, np.full(_SAMPLES, 0.5), 0.5).mean())
