"""How much a basket counts by its number of items, so that long baskets do not set the noise for all.

    limit m, pure draws           W(s) = ⌊scale · min(1, q(m)/q(s))⌋
    limit m, concentrated draws   W(s) = ⌊scale · min(1, √(q(m)/q(s)))⌋

q(s) is the number of sets of interest in a basket with s items: s single items, or s(s-1)/2 pairs. A basket of at most m
items counts in full. For a longer one q(s)·W(s) (or q(s)·W(s)²) is at most q(m)·scale (or q(m)·scale²), the same as for
m items. So the noise is that of baskets of m items, and a long basket still counts in part; if it lost items instead, it
would lose more of its pairs. `moved` computes the exact bounds from W itself, whatever W is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt, log, sqrt

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bools, Floats, Ints
from tacit.synthetic.baskets import Baskets, Itemset, Neighbours
from tacit.synthetic.itemset_noise import Noisy

Block = npt.NDArray[np.float32]
SCALE = 2**10
_ROWS = 2**13
"""Baskets of a block: sums of their weights stay within 2^23, so that 32-bit floats hold them exactly."""
_TRIED = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BasketWeights:
    """The steps that a basket with 0, 1, 2, … items counts; one basket in full is `scale` steps."""

    steps: tuple[int, ...]
    scale: int
    limit: int

    def moved(self, included: Sequence[int], reach: int, neighbours: Neighbours) -> tuple[int, int]:
        """Return how far supports move, in L1 and L2 squared, if a basket with s items includes `included[s]` sets."""
        units = 2 if neighbours == "change one" else 1
        l1 = max(q * w for q, w in zip(included, self.steps, strict=True))
        l2_squared = max(q * w * w for q, w in zip(included, self.steps, strict=True))
        return units * reach * max(1, l1), units * reach**2 * max(1, l2_squared)


def weights_of(limit: int, sets: Sequence[int], *, pure: bool) -> BasketWeights:
    """Return the weights for a limit, where a basket with s items has `sets[s]` sets of interest.

    >>> weights_of(2, [0, 1, 2, 3, 4], pure=True).steps
    (1024, 1024, 1024, 682, 512)
    """
    scale = 1 if limit >= len(sets) - 1 else SCALE
    full = sets[min(limit, len(sets) - 1)]
    steps = [scale if q <= full else _part(scale, full, q, pure=pure) for q in sets]
    return BasketWeights(steps=tuple(steps), scale=scale, limit=limit)


def _part(scale: int, full: int, q: int, *, pure: bool) -> int:
    return scale * full // q if pure else isqrt(scale * scale * full // q)


def best_limit(lengths: Noisy, sets: Sequence[int], level: float, variance_of_one: float, *, pure: bool) -> int:
    """Return the limit for which noise and loss together are least, from noisy lengths; a function of noisy numbers.

    With a limit m the variance of the noise is that for one set, times q(m) (or q(m)² if draws are pure). The part of
    the sets that is lost shrinks a support at the level. The sum of the variance, of what counts, and of a quarter of
    the squared loss is least.
    """
    q = np.asarray(sets, dtype=np.float64)
    present = np.asarray(_without_noise(lengths)) * q
    total = float(present.sum())
    first, last = 1 + int(sets[1] == 0), len(sets) - 1
    limits = np.unique(np.concatenate([np.arange(first, min(last, _TRIED) + 1), np.geomspace(first, last, _TRIED)]))
    if total <= 0 or last < first:
        return min(_GUESS, max(first, last))
    best, least = last, float("inf")
    for limit in limits.astype(np.int64).tolist():
        part = np.minimum(1.0, q[limit] / np.maximum(q, 1.0))
        kept = float(np.sum(present * (part if pure else np.sqrt(part)))) / total
        variance = variance_of_one * (q[limit] ** 2 if pure else q[limit])
        loss = variance / max(kept, 1e-9) ** 2 + (level * (1 - kept)) ** 2 / 4
        best, least = (limit, loss) if loss < least else (best, least)
    return best


_GUESS = 8
"""The limit if noise hides all lengths; chosen by judgement."""


def _without_noise(lengths: Noisy) -> Floats:
    """Return noisy numbers of baskets, with 0 for those that noise alone would give; a function of noisy numbers.

    Long baskets have many pairs, so noise on lengths that no basket has would look like many lost pairs.
    """
    size = lengths.values.size
    deviation = lengths.law.deviation
    likely = deviation / sqrt(2) * log(2 * size) if lengths.law.pure else deviation * sqrt(2 * log(2 * size))
    return np.where(lengths.values > likely, lengths.values, 0).astype(np.float64)


def weighted_singles(baskets: Baskets, weights: BasketWeights) -> Ints:
    """Return the weighted support of each item."""
    steps = np.asarray(weights.steps, dtype=np.int64)[baskets.lengths]
    if weights.scale == 1:
        return baskets.singles()
    return np.bincount(baskets.codes, np.repeat(steps, baskets.lengths), baskets.items).astype(np.int64)


def weighted_count(baskets: Baskets, weights: BasketWeights) -> int:
    """Return the weighted number of baskets: the support of the empty set."""
    return int(np.asarray(weights.steps, dtype=np.int64)[baskets.lengths].sum())


def weighted_pairs(baskets: Baskets, weights: BasketWeights) -> Ints:
    """Return the weighted supports of all pairs as a square matrix, with those of single items on its diagonal.

    Short baskets are counted pair by pair, long ones as products of matrices of 0 and 1.
    """
    size, lengths = baskets.items, baskets.lengths
    total = np.zeros(size * size, dtype=np.int64)
    for length in range(1, min(_SHORT, baskets.most) + 1):
        starts = baskets.starts[:-1][lengths == length]
        for first in range(length if starts.size else 0):
            row = baskets.codes[starts + first].astype(np.int64) * size
            for second in range(length):
                places = row + baskets.codes[starts + second]
                total += np.bincount(places, minlength=size * size) * weights.steps[length]
    total = total.reshape(size, size)
    for has, steps in _blocks(baskets, weights, lengths > _SHORT):
        total += ((has * steps) @ has.T).astype(np.int64)
    return total


_SHORT = 8


def weighted_supports(baskets: Baskets, weights: BasketWeights, itemsets: Sequence[Itemset]) -> Ints:
    """Return the weighted supports of some itemsets."""
    total = np.zeros(len(itemsets), dtype=np.int64)
    for has, steps in _blocks(baskets, weights, baskets.lengths > 0):
        for place, itemset in enumerate(itemsets):
            total[place] += int(np.multiply.reduce(has[list(itemset)], axis=0) @ steps)
    return total


def _blocks(baskets: Baskets, weights: BasketWeights, wanted: Bools) -> Iterator[tuple[Block, Block]]:
    """Yield some of the wanted baskets at a time: which has each item, as 0 and 1, and their steps."""
    steps = np.asarray(weights.steps, dtype=np.float32)[baskets.lengths]
    chosen = np.flatnonzero(wanted)
    for start in range(0, chosen.size, _ROWS):
        some = chosen[start : start + _ROWS]
        lengths = baskets.lengths[some]
        owners = np.repeat(np.arange(some.size), lengths)
        ends = np.cumsum(lengths)
        places = (
            np.arange(int(ends[-1])) - np.repeat(ends - lengths, lengths) + np.repeat(baskets.starts[some], lengths)
        )
        has = np.zeros((baskets.items, some.size), dtype=np.float32)
        has[baskets.codes[places], owners] = 1
        yield has, steps[some]
