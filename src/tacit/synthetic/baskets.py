"""Baskets of items as arrays, and how much one unit can move what is counted in them.

A basket is a pair of a unit and a basket's name. A unit has at most R baskets (the reach), and a basket has at most m
different items (`most`). Both cuts were made before, by hashes under a key that is drawn for each release and does not
depend on the data. So given that key, adding or removing a unit adds or removes at most R baskets, and leaves all
others as they were.

**Weights.** A basket with s items counts W(s) steps in every support: a public function of s alone (`BasketWeights`).
So all supports are of one weighted collection of baskets, and a set has no larger support than its subsets.

**Sensitivities.** Let F be a list of different itemsets, and let a basket with s items include at most q(s) of them.
One basket adds a vector with q(s) coordinates of W(s) at most. Let N₁ = max_s q(s)·W(s) and N₂² = max_s q(s)·W(s)². Then

| | add/remove | change one |
|---|---|---|
| L1 | R·N₁ | 2R·N₁ |
| L2 squared | R²·N₂² | 2R²·N₂² |
| each support | R·max W | R·max W |

*L2.* A unit adds at most R such vectors, and the norm of a sum is at most the sum of the norms. All R baskets of a unit
can have the same items, so R²·N₂² is reached. Under "change one" the vectors x and y of two units are non-negative, so
‖x-y‖² ≤ ‖x‖² + ‖y‖², and ‖x-y‖₁ ≤ ‖x‖₁ + ‖y‖₁. Each coordinate of x-y is within ±R·max W.  ∎

q(s) is s for single items and s(s-1)/2 for pairs. For a list of chosen sets `most_included` has a bound: the least of
the numbers of sets of each size that s items have, and this. Give item i the share w(i) = Σ 1/|X| over the listed
sets X with i in X. A basket B includes Σ_{X⊆B} Σ_{i∈X} 1/|X| ≤ Σ_{i∈B} w(i) sets, which is at most the sum of the s
largest shares.

**Bins of a basis, and lengths.** Let b items be a basis. A basket falls into exactly one of 2^b bins, by which of the b
items it has; and it has exactly one length. So q = 1 and W = 1, whatever m is.

**Order statistics.** The k-th largest of some supports without weights moves by at most R under both relations: if every
support moves by at most R, so does each order statistic of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, floor
from typing import Literal

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bools, Bytes, Codes, Ints

Neighbours = Literal["add/remove", "change one"]
Itemset = tuple[int, ...]
_AT_ONCE = 1 << 22
_LARGEST_BASIS = 24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Baskets:
    """Baskets in memory; only a release that was charged may hold them.

    The items of basket i are `codes[starts[i]:starts[i + 1]]`: different codes below `items`, at most `most` of them,
    in an order that is independent of the data.
    """

    starts: Ints
    codes: Codes
    items: int
    most: int
    reach: int = 1

    @property
    def count(self) -> int:
        """The number of baskets, with the empty ones."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        """The number of items of each basket."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Ints:
        """The basket of each item."""
        return np.repeat(np.arange(self.count, dtype=np.int64), self.lengths)

    def singles(self) -> Ints:
        """Return the number of baskets with each item."""
        return np.bincount(self.codes, minlength=self.items).astype(np.int64)

    def kept(self, chosen: Sequence[int], most: int) -> Baskets:
        """Return the same baskets with the chosen items alone, coded by their place, at most `most` a basket.

        The first ones of each basket are kept. Their order does not depend on other baskets.
        """
        place = np.full(self.items, -1, dtype=np.int32)
        place[np.asarray(chosen, dtype=np.int64)] = np.arange(len(chosen), dtype=np.int32)
        codes = place[self.codes]
        inside = codes >= 0
        return _first(self.owners[inside], codes[inside], self.count, len(chosen), most, self.reach)

    def within(self, chosen: Sequence[int]) -> Baskets:
        """Return the same baskets with the chosen items alone, coded by their place among these."""
        return self.kept(chosen, self.most)

    def of_length(self) -> Ints:
        """Return how many baskets have 0, 1, 2, … up to `most` items."""
        return np.bincount(self.lengths, minlength=self.most + 1).astype(np.int64)

    def bitmaps(self, chosen: Sequence[int]) -> Bitmaps:
        """Return which baskets have each of the chosen items."""
        order = np.argsort(self.codes, kind="stable")
        owners, ends = self.owners[order], np.cumsum(self.singles())
        rows = np.zeros((len(chosen), -(-self.count // 64) * 8), dtype=np.uint8)
        for row, item in enumerate(chosen):
            has = np.zeros(self.count, dtype=np.bool_)
            has[owners[ends[item - 1] if item else 0 : ends[item]]] = True
            rows[row, : -(-self.count // 8)] = np.packbits(has)
        return Bitmaps(rows, self.count)

    def bins(self, basis: Sequence[int]) -> Ints:
        """Return how many baskets have exactly each subset of a basis; bit i of a bin is for item i of it."""
        if len(basis) > _LARGEST_BASIS:
            raise ValueError("a basis has at most 24 items")
        bit = np.zeros(self.items, dtype=np.int64)
        bit[np.asarray(basis, dtype=np.int64)] = 1 << np.arange(len(basis), dtype=np.int64)
        places = np.zeros(self.count, dtype=np.int64)
        np.add.at(places, self.owners, bit[self.codes])
        return np.bincount(places, minlength=1 << len(basis)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Bitmaps:
    """For each of some items one bit a basket, in bytes; supports of itemsets are numbers of common bits."""

    rows: Bytes
    count: int

    @property
    def words(self) -> npt.NDArray[np.uint64]:
        """The same bits in words of 64."""
        return self.rows.view(np.uint64)

    def support(self, itemset: Itemset) -> int:
        """Return the number of baskets that include a set of places."""
        return int(np.bitwise_count(self.common(itemset)).sum())

    def common(self, itemset: Itemset) -> npt.NDArray[np.uint64]:
        """Return the bits of the baskets that include a set of places."""
        shared = np.bitwise_and.reduce(self.words[list(itemset)], axis=0)
        return np.asarray(shared, dtype=np.uint64)

    def supports_with(self, shared: npt.NDArray[np.uint64], first: int, stop: int) -> Ints:
        """Return the number of `shared` bits that each item from place `first` to `stop` has, some items at a time."""
        step = max(1, _AT_ONCE // max(1, shared.size))
        parts = [
            np.bitwise_count(self.words[start : min(stop, start + step)] & shared).sum(axis=1, dtype=np.int64)
            for start in range(first, stop, step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _first(owners: Ints, codes: Codes, count: int, items: int, most: int, reach: int) -> Baskets:
    """Return baskets with the first `most` items of each; the items of a basket follow each other."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))]).astype(np.int64)
    early: Bools = np.arange(len(codes)) - starts[owners] < most
    lengths = np.minimum(np.diff(starts), most)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Baskets(starts=ends, codes=codes[early], items=items, most=most, reach=reach)


def most_included(itemsets: Sequence[Itemset], most: int) -> list[int]:
    """Return bounds of how many of some different itemsets a basket of 0, 1, … up to `most` items includes.

    >>> most_included([(0, 1), (1, 2), (0, 2), (3, 4)], 3)
    [0, 1, 2, 3]
    """
    shares: dict[int, Fraction] = {}
    for itemset in itemsets:
        for item in itemset:
            shares[item] = shares.get(item, Fraction(0)) + Fraction(1, len(itemset))
    falling = sorted(shares.values(), reverse=True)
    sizes = Counter(len(itemset) for itemset in itemsets)
    bounds, by_items = [], Fraction(0)
    for length in range(most + 1):
        by_size = sum(min(count, comb(length, size)) for size, count in sizes.items())
        bounds.append(min(floor(by_items), by_size))
        by_items += falling[length] if length < len(falling) else 0
    return bounds


def moves(included: int, reach: int, neighbours: Neighbours) -> tuple[int, int]:
    """Return how far supports without weights move, in L1 and in L2 squared, if a basket includes `included` sets."""
    units = 2 if neighbours == "change one" else 1
    return units * reach * included, units * reach**2 * included
