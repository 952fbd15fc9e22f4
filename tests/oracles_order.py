"""Order statistics by enumeration: every data set of n rows with values 0, …, top, and the effect of one change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import numpy.typing as npt
from mpmath import MPContext

MP = MPContext()
MP.dps = 40

Rows = npt.NDArray[np.int64]
Set = tuple[int, ...]


def padded(data: Sequence[int], top: int) -> Rows:
    """Return sorted rows with the two ends of the range around them."""
    return np.array([0, *sorted(data), top], dtype=np.int64)


def neighbours(data: Set, values: Iterable[int]) -> Iterator[Set]:
    """Yield every sorted data set with one row changed."""
    for i, value in product(range(len(data)), values):
        yield tuple(sorted((*data[:i], value, *data[i + 1 :])))


@dataclass(frozen=True)
class World:
    """Return all sorted data sets of n rows with values 0, …, top."""

    n: int
    top: int

    @property
    def sets(self) -> list[Set]:
        return list(combinations_with_replacement(range(self.top + 1), self.n))

    @property
    def pairs(self) -> list[tuple[Set, Set]]:
        return [(x, y) for x in self.sets for y in _next(self, x)]

    def local(self, data: Set, rank: int) -> int:
        """Return the largest move of the rank-th smallest row when one row changes."""
        return max(abs(data[rank - 1] - other[rank - 1]) for other in _next(self, data))

    def at_distance(self, data: Set, rank: int) -> list[int]:
        """Return the largest local sensitivity within k changes, for k = 0, …, n."""
        seen, result = {data}, []
        for _ in range(self.n + 1):
            result.append(max(_local(self, x, rank) for x in seen))
            seen |= {y for x in seen for y in _next(self, x)}
        return result

    def distance(self, data: Set, rank: int, bound: int) -> int:
        """Return the number of changes that lead to a local sensitivity above the bound; n + 1 if none does."""
        found = [k for k, size in enumerate(self.at_distance(data, rank)) if size > bound]
        return found[0] if found else self.n + 1


@cache
def _next(world: World, data: Set) -> frozenset[Set]:
    return frozenset(neighbours(data, range(world.top + 1)))


@cache
def _local(world: World, data: Set, rank: int) -> int:
    return world.local(data, rank)


def smooth(rows: Rows, rank: int, decay: float) -> float:
    """Return the largest (y_j - y_i)·e^(-decay·(j-i-1)) over i ≤ rank ≤ j, and at least 1, by trying all."""
    found = MP.mpf(1)
    for gap, k in widest(rows, rank):
        found = max(found, gap * MP.exp(-MP.mpf(decay) * k))
    return float(found)


def widest(rows: Rows, rank: int) -> list[tuple[int, int]]:
    """Return for each k the largest y_j - y_i with j - i = k + 1 and i ≤ rank ≤ j."""
    best: dict[int, int] = {}
    for i in range(rank + 1):
        for j in range(max(rank, i + 1), rows.size):
            best[j - i - 1] = max(best.get(j - i - 1, 0), int(rows[j] - rows[i]))
    return [(gap, k) for k, gap in best.items()]
