"""Baskets of made-up items, and their supports by brute force."""

from __future__ import annotations

from itertools import chain

import numpy as np

from tacit.synthetic.baskets import Baskets, Itemset

ITEMS = 3


def baskets_of(sets: list[Itemset], items: int = ITEMS, most: int = ITEMS, reach: int = 1) -> Baskets:
    """Return baskets from sets of codes."""
    starts = np.cumsum([0, *(len(one) for one in sets)]).astype(np.int64)
    codes = np.array(list(chain.from_iterable(sets)), dtype=np.int32)
    return Baskets(starts=starts, codes=codes, items=items, most=most, reach=reach)


def random_baskets(items: int, count: int, seed: int) -> tuple[list[Itemset], Baskets]:
    rows = np.random.default_rng(seed).random((count, items)) < np.linspace(0.9, 0.2, items)
    sets = [tuple(int(item) for item in np.flatnonzero(row)) for row in rows]
    return sets, baskets_of(sets, items, items)


def support(sets: list[Itemset], itemset: Itemset) -> int:
    return sum(set(itemset) <= set(one) for one in sets)
