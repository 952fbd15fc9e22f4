"""F1 of private itemsets on generated baskets; run as `python bench/high_dimensional_itemsets.py`.

`zipf_baskets`: item i is in a basket with probability 0.25/i^0.8, independently; then 30 groups of 2 to 5 of the 200
most frequent items are planted. A group comes to a basket with a rate from 1 % to 6 %, and each member then with
probability 0.95. `skewed_rows`: 14 columns of 2 to 16 values; the first value has a probability from 0.35 to 0.95,
which one hidden class of four moves by up to 0.15. The size of the largest basis was chosen on the second
generator, and the lengths of baskets that count on the first; the shares of ε were set by judgement.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.synthetic.baskets import Baskets, Itemset
from tacit.synthetic.itemset_mining import best_itemsets
from tacit.synthetic.itemset_release import ItemsetQuestion, release_itemsets

Integers = npt.NDArray[np.int64]
MOST = 64


def zipf_baskets(seed: int, count: int = 100_000, items: int = 1_000) -> Baskets:
    """Return baskets of items with falling supports and planted groups."""
    random = np.random.default_rng(seed)
    has = [np.flatnonzero(random.random(count) < 0.25 / (item + 1) ** 0.8) for item in range(items)]
    parts = [(owners, item) for item, owners in enumerate(has)]
    for _ in range(30):
        members = random.choice(200, random.integers(2, 6), replace=False)
        owners = np.flatnonzero(random.random(count) < random.uniform(0.01, 0.06))
        parts += [(owners[random.random(len(owners)) < 0.95], int(item)) for item in members]
    return gathered(parts, count, items, random)


def skewed_rows(seed: int, count: int = 40_000, columns: int = 14) -> Baskets:
    """Return rows of skewed columns as baskets of one item a column."""
    random = np.random.default_rng(seed)
    hidden, parts, first = random.integers(0, 4, count), list[tuple[Integers, int]](), 0
    for _ in range(columns):
        size = int(random.integers(2, 17))
        often = np.clip(random.uniform(0.35, 0.95) + random.uniform(-0.15, 0.15, 4), 0.05, 0.98)
        others = 1 + random.choice(size - 1, count, p=random.dirichlet(np.full(size - 1, 0.5)))
        values = np.where(random.random(count) < often[hidden], 0, others)
        parts += [(np.flatnonzero(values == value), first + value) for value in range(size)]
        first += size
    return gathered(parts, count, first, random)


def gathered(
    parts: list[tuple[Integers, int]], count: int, items: int, random: np.random.Generator, most: int = MOST
) -> Baskets:
    """Return baskets from the owners of each item; repeated items count once, and their order is random."""
    keys = np.unique(np.concatenate([owners * items + item for owners, item in parts]))
    keys = keys[random.permutation(len(keys))]
    keys = keys[np.argsort(keys // items, kind="stable")]
    lengths = np.bincount(keys // items, minlength=count)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    whole = Baskets(starts=starts, codes=(keys % items).astype(np.int32), items=items, most=int(lengths.max()))
    return whole.kept(range(items), most)


def true_sets(baskets: Baskets, k: int) -> set[Itemset]:
    """Return the k itemsets of the largest supports."""
    order = [int(item) for item in np.argsort(-baskets.singles(), kind="stable")[:k]]
    found = best_itemsets(baskets.bitmaps(order), k)
    return {tuple(sorted(order[place] for place in one)) for _, one in found}


def f1(true: set[Itemset], released: set[Itemset], least: int) -> float:
    """Return F1 of released sets among sets of at least `least` items."""
    true, released = ({one for one in sets if len(one) >= least} for sets in (true, released))
    return 2 * len(true & released) / max(1, len(true) + len(released))


def lines(k: int = 100, seeds: int = 3) -> Iterator[str]:
    """Yield one line for each generator and ε: mean F1 and the slowest run."""
    for name, make, least in (("zipf baskets", zipf_baskets, 2), ("skewed rows", skewed_rows, 1)):
        tables = [make(1_000 + seed) for seed in range(seeds)]
        truths = [true_sets(table, k) for table in tables]
        for epsilon in ("0.1", "0.5", "1"):
            question = ItemsetQuestion(k=k, epsilon=Fraction(epsilon), delta=Fraction(1, 10**9))
            scores, slowest = [], 0.0
            for table, true in zip(tables, truths, strict=True):
                start = time.perf_counter()
                answer = release_itemsets(table, question)
                slowest = max(slowest, time.perf_counter() - start)
                scores.append(f1(true, {one.itemset for one in answer.sets}, least))
            score = f"F1 {np.mean(scores):.3f} (sets of {least}+ items)"
            yield f"{name}, epsilon {epsilon}: {score}, slowest {slowest:.2f} s"


if __name__ == "__main__":
    for line in lines():
        print(line)
