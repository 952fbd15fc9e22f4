"""The exact supports that private choices of itemsets are scored by; nothing here is released."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from tacit.synthetic.baskets import Baskets, Bitmaps, Itemset


def best_itemsets(bitmaps: Bitmaps, count: int) -> Iterator[tuple[int, Itemset]]:
    """Yield the `count` itemsets of the largest supports, the largest first, as supports and sets of places.

    The items must come in falling order of support. A set has no larger support than its subsets, so a search that
    always extends the best set that is left finds the sets in order. Each set is extended by later items only, so it
    is found once. Sets that cannot be among the first `count` are dropped.
    """
    places = len(bitmaps.rows)
    every = np.full(bitmaps.words.shape[1], np.uint64(2**64 - 1), dtype=np.uint64)
    supports = bitmaps.supports_with(every, 0, places)
    queue: list[tuple[int, Itemset]] = [(-int(support), (place,)) for place, support in enumerate(supports)]
    heapq.heapify(queue)
    best = heapq.nlargest(count, (int(support) for support in supports))
    heapq.heapify(best)
    for _ in range(count):
        if not queue:
            return
        negative, itemset = heapq.heappop(queue)
        yield -negative, itemset
        _extend(bitmaps, itemset, queue, best, count)


def _extend(bitmaps: Bitmaps, itemset: Itemset, queue: list[tuple[int, Itemset]], best: list[int], count: int) -> None:
    """Add the sets with one more, later item to the queue; `best` has the `count` largest supports seen."""
    first = itemset[-1] + 1
    supports = bitmaps.supports_with(bitmaps.common(itemset), first, len(bitmaps.rows))
    least = best[0] if len(best) == count else 0
    for offset in np.flatnonzero(supports >= least):
        support = int(supports[offset])
        if len(best) == count and support < best[0]:
            continue
        heapq.heappush(queue, (-support, (*itemset, first + int(offset))))
        if len(best) == count:
            heapq.heapreplace(best, support)
        else:
            heapq.heappush(best, support)


def kth_support(baskets: Baskets, k: int) -> int:
    """Return the k-th largest support of all itemsets; 0 if there are fewer.

    The k items of the largest supports suffice. The k-th support is at least that of the k-th item. If it is larger,
    all sets that reach it consist of items that do, and these are among the k. So do the items whose support is above
    the k-th support of fewer items: a set with another item has no larger support than that item.
    """
    singles = baskets.singles()
    order = np.argsort(-singles, kind="stable")[:k]
    used = min(_AT_FIRST, len(order))
    while True:
        supports = [support for support, _ in best_itemsets(baskets.bitmaps(order[:used].tolist()), k)]
        least = supports[-1] if len(supports) == k else 0
        if used == len(order) or singles[order[used]] <= least:
            return least
        used = min(4 * used, len(order))


_AT_FIRST = 64
