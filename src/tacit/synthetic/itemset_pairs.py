"""Noisy supports of the items of a list, of all their pairs, and of larger sets whose pairs look frequent.

All supports are of the same baskets with the same weights (`basket_weights`): a basket with s items of the list counts
W(s). The weights follow from noisy lengths and public numbers. The larger sets follow from noisy supports, so how many
of them one basket includes is known before they are measured (`most_included`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.synthetic.basket_weights import best_limit, weighted_count, weighted_pairs, weighted_supports, weights_of
from tacit.synthetic.baskets import Baskets, Itemset, most_included, moves
from tacit.synthetic.itemset_noise import Noisy, Purse
from tacit.synthetic.itemset_question import ItemsetQuestion, MeasuredSet

LENGTHS, SINGLES, PAIRS, LARGER = Fraction(1, 50), Fraction(2, 25), Fraction(23, 50), Fraction(11, 50)
"""Shares of the block, of which `itemset_release` spends 11/50 on finding the items."""
_LARGEST_SET = 6
_USUAL = 192
_MOST_LARGER = 1_000


def measured_pairs(
    inside: Baskets, question: ItemsetQuestion, purse: Purse, level: float
) -> tuple[list[MeasuredSet], int]:
    """Return the noisy supports of sets of places, and the limit of the weights.

    The sets are the empty one, whose support is the weighted number of baskets, single items, pairs and larger ones. So
    a basket with s items includes s + 1 of the first two.
    """
    reach, neighbours, pure = inside.reach, question.neighbours, purse.is_pure
    lengths = purse.noise(inside.of_length(), moves(1, reach, neighbours), LENGTHS, "lengths")
    in_basket = [s * (s - 1) // 2 for s in range(inside.most + 1)]
    part, unit = float(PAIRS * purse.total), question.units * reach**2
    variance_of_one = 2 * question.units * unit / part**2 if pure else unit / (2 * part)
    limit = best_limit(lengths, in_basket, level, variance_of_one, pure=pure)
    weights = weights_of(limit, in_basket, pure=pure)
    exact, names = weighted_pairs(inside, weights), list(combinations(range(inside.items), 2))
    whole_and_singles = np.append(np.diagonal(exact), weighted_count(inside, weights))
    moved = weights.moved(range(1, inside.most + 2), reach, neighbours)
    noisy = purse.noise(whole_and_singles, moved, SINGLES, "singles", step=weights.scale)
    singles = replace(noisy, values=noisy.values[:-1])
    measured = [_named((), int(noisy.values[-1]), noisy)]
    measured += [_named((place,), int(steps), singles) for place, steps in enumerate(singles.values)]
    if not names:
        return measured, limit
    upper = exact[np.triu_indices(inside.items, 1)]
    pairs = purse.noise(upper, weights.moved(in_basket, reach, neighbours), PAIRS, "pairs", step=weights.scale)
    measured += [_named(name, int(steps), pairs) for name, steps in zip(names, pairs.values, strict=True)]
    larger = candidates(singles, pairs, names, level, min(question.k or _USUAL, _MOST_LARGER))
    if larger:
        moved = weights.moved(most_included(larger, inside.most), reach, neighbours)
        noisy = purse.noise(weighted_supports(inside, weights, larger), moved, LARGER, "larger", step=weights.scale)
        measured += [_named(name, int(steps), noisy) for name, steps in zip(larger, noisy.values, strict=True)]
    return measured, limit


def _named(itemset: Itemset, steps: int, noisy: Noisy) -> MeasuredSet:
    return MeasuredSet(itemset=itemset, steps=steps, law=noisy.law)


def candidates(singles: Noisy, pairs: Noisy, names: Sequence[Itemset], level: float, limit: int) -> list[Itemset]:
    """Return larger sets whose pairs all look frequent, the most promising first; a function of noisy numbers.

    The support of a set is predicted from its pairs: the mean over its items i of the product of the noisy shares of
    the other items given i, which is exact for items that are independent given i, and at most its smallest pair.
    """
    slack = level - pairs.law.deviation
    single = np.maximum(singles.values / singles.law.step, 1.0)
    values = np.maximum(pairs.values / pairs.law.step, 1.0)
    best = np.argsort(-values, kind="stable")[: 4 * limit]
    front: list[Itemset] = [names[place] for place in best.tolist() if values[place] >= slack]
    count = _matrix(names, values, len(single))
    near: dict[int, set[int]] = {}
    for i, j in front:
        near.setdefault(i, set()).add(j)
    found: dict[Itemset, float] = {}
    for _ in range(3, _LARGEST_SET + 1):
        grown = _grown(front, near)
        scored = {one: _predicted(one, count, single) for one in grown}
        front = sorted((one for one in grown if scored[one] >= slack / 2), key=lambda one: (-scored[one], one))
        front = front[: 4 * limit]
        found |= {one: scored[one] for one in front}
    return sorted(found, key=lambda one: (-found[one], one))[:limit]


def _matrix(names: Sequence[Itemset], values: Floats, items: int) -> Floats:
    count = np.zeros((items, items))
    for (i, j), value in zip(names, values.tolist(), strict=True):
        count[i, j] = count[j, i] = value
    return count


_MOST_GROWN = 20_000


def _grown(front: Sequence[Itemset], near: dict[int, set[int]]) -> list[Itemset]:
    """Return the sets with one more, later item that is near all others; the first ones if they are very many."""
    grown: list[Itemset] = []
    for one in front:
        common = set.intersection(*(near.get(item, set()) for item in one))
        grown += [(*one, later) for later in sorted(common)]
        if len(grown) >= _MOST_GROWN:
            break
    return grown[:_MOST_GROWN]


def _predicted(one: Itemset, count: Floats, single: Ints | Floats) -> float:
    block = count[np.ix_(one, one)]
    smallest = float(min(block[a, b] for a, b in combinations(range(len(one)), 2)))
    shares = np.minimum(1.0, block / single[list(one), None])
    np.fill_diagonal(shares, 1.0)
    products = single[list(one)] * np.prod(shares, axis=1)
    return min(smallest, float(products.mean()))
