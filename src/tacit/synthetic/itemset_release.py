"""Private itemsets of the largest supports: few items by one basis, many items by noisy counts of pairs and more.

    1  n, the number of baskets, and c, the support to reach (the k-th largest), with noise
    2  λ, the number of items with a support of at least c: drawn with the score -max(c - c(j), c(j+1) - c + 1), c(j)
       the j-th support. It is at least 0 at λ and at most -1 elsewhere, also where several supports are c
    3  few items: draw λ of them, one after another, by their supports. One basis of all of them (Li, Qardaji, Su and
       Cao: PrivBasis, VLDB 2012); noise on its 2^λ bins. The support of a set is the sum of 2^(λ-s) bins.
       many items: noise on the supports of all items, which gives a list of λ; then on the supports of the list and of
       all its pairs (`itemset_pairs`); then on those of larger sets whose pairs look frequent

**Sensitivities** are those of `baskets`. In step 1, n and c move by at most R. In step 2, under add/remove c(j) and c
move in one direction, each by at most R, so their difference moves by at most R; under "change one" by at most
2R. If the support to reach is public by then (a minimum support times the noisy n), only c(j) moves: by at most R.
A maximum moves by no more than its terms.
In step 3 the drawn supports are monotone under add/remove and move by at most R. How many items there are may be
private, so no parameter depends on it unless the items are public. Everything else is a function of noisy numbers.
`itemset_noise` adds the parts up.

**Items that are not public** (`found_items`) get concentrated noise of variance σ² on their supports in steps, and
items above a threshold t are released. Let A be that step on the items that two neighbours share, with all steps after
it. A and steps 1 and 2 are (ε, δ_g)-DP. An item that only one of the two has is in the baskets of one unit: its support
is at most R·max W steps, and there are at most R·m of them. With t = R·max W + σ√(2·ln(R·m/δ_t)) one of them is
released with probability at most δ_t, as Pr[K ≥ x] ≤ e^(-x²/2σ²) for discrete Gaussian noise K (its moment generating
function is at most e^(σ²u²/2)). Otherwise the release is that of A, and its noise is independent of those items. So
P(S) ≤ δ_t + e^ε·P'(A in S) + δ_g and P'(A in S) ≤ P'(S) + δ_t: the release is (ε, δ_g + (1 + e^ε)·δ_t)-DP. δ_g is δ/2,
and (1 + e^ε)·δ_t = δ/2. Items are named by their places in the sorted list of those that exist; a place is not
released, but the item is. Ties are broken by these places, whose order is that of the items themselves.

The shares of ε, how many more items than λ are used, the largest basis and the limits of baskets were chosen on
generated tables (`bench/high_dimensional_itemsets.py` has their generators).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, exp, log, log1p, sqrt

import numpy as np

from tacit.arrays import Ints
from tacit.synthetic.basket_weights import best_limit, weighted_singles, weights_of
from tacit.synthetic.baskets import Baskets, Itemset, moves
from tacit.synthetic.itemset_mining import kth_support
from tacit.synthetic.itemset_noise import Noisy, Purse
from tacit.synthetic.itemset_pairs import measured_pairs
from tacit.synthetic.itemset_question import ItemsetAnswer, ItemsetQuestion, MeasuredSet

__all__ = ["FEW", "MANY", "ItemsetAnswer", "ItemsetQuestion", "MeasuredSet", "release_itemsets"]

SIZE_SHARE, LEVEL_SHARE, NUMBER_SHARE = Fraction(1, 50), Fraction(1, 40), Fraction(1, 25)
BASIS_ITEMS = Fraction(13, 100)
LENGTHS_SHARE, ITEMS_SHARE = Fraction(1, 50), Fraction(1, 5)
FEW, FEW_OF_SPARSE = 14, 10
"""The largest number of items for which one basis is used: 16,384 bins, or 1,024 if baskets have few of the items."""
DENSE = 0.15
"""The part of the baskets that the support to reach must be, for the larger basis."""
MANY = 192
"""The largest number of items whose pairs are counted: 18,336 pairs."""


def release_itemsets(baskets: Baskets, question: ItemsetQuestion) -> ItemsetAnswer:
    """Return the itemsets of the largest supports, privately; see the module."""
    purse, reach = question.purse(), baskets.reach
    share = SIZE_SHARE + (LEVEL_SHARE if question.k is None else 0)
    size = purse.noise(np.array([baskets.count]), moves(1, reach, "add/remove"), share, "size")
    whole = MeasuredSet(itemset=(), steps=int(size.values[0]), law=size.law)
    if question.k is None:
        level = float(max(1, ceil((question.min_support or 1) * max(0, whole.steps))))
        target, sensitivity = int(level), reach
    else:
        target, sensitivity = kth_support(baskets, question.k), reach * question.units
        level = float(
            max(1, purse.noise(np.array([target]), moves(1, reach, "add/remove"), LEVEL_SHARE, "level").values[0])
        )
    number = 1 + purse.choose(_number_scores(_ordered(baskets, question), target), sensitivity, NUMBER_SHARE, "number")
    known = baskets.items if question.public_items else MANY  # how many items exist may be private
    few = min(known, number + 1)
    if few <= (FEW if level >= DENSE * whole.steps else FEW_OF_SPARSE):
        answer = _by_basis(baskets, question, purse, few, whole, level)
    else:
        answer = _by_pairs(baskets, question, purse, min(known, MANY, few + number // 4), whole, level)
    return replace(answer, sets=_best(answer.measured, question, level))


def _number_scores(ordered: Ints, target: int) -> Ints:
    """Return the scores of the numbers 1, 2, … of items; the largest is that of the items with at least `target`.

    >>> _number_scores(np.array([9, 5, 5, 2]), 5).tolist()
    [-1, -1, 0, -3]
    """
    following = np.append(ordered[1:], 0)
    return np.asarray(-np.maximum(target - ordered, following - target + 1), dtype=np.int64)


def _ordered(baskets: Baskets, question: ItemsetQuestion) -> Ints:
    """Return the largest supports of items, in falling order, filled up with 0 to a public number."""
    ordered = np.zeros(min(MANY, question.k or MANY), dtype=np.int64)
    largest = np.sort(baskets.singles())[::-1][: ordered.size]
    ordered[: largest.size] = largest
    return ordered


def _best(measured: tuple[MeasuredSet, ...], question: ItemsetQuestion, level: float) -> tuple[MeasuredSet, ...]:
    """Return the sets that were asked for, by noisy support."""
    ordered = sorted(measured, key=lambda one: (-one.count, len(one.itemset), one.itemset))
    if question.k is not None:
        return tuple(ordered[: question.k])
    return tuple(one for one in ordered if one.count >= level)


# --- the items --------------------------------------------------------------------------------------------------------


def _drawn_items(baskets: Baskets, question: ItemsetQuestion, purse: Purse, wanted: int) -> list[int]:
    """Return different public items, each drawn by its support among those that are left."""
    supports, left = baskets.singles(), list(range(baskets.items))
    chosen: list[int] = []
    while len(chosen) < wanted:
        share, monotone = BASIS_ITEMS / wanted, question.neighbours == "add/remove"
        chosen.append(left.pop(purse.choose(supports[left], baskets.reach, share, "items", monotone=monotone)))
    return chosen


def _largest_items(
    baskets: Baskets,
    question: ItemsetQuestion,
    purse: Purse,
    wanted: int,
    level: float,
    shares: tuple[Fraction, Fraction],
) -> list[int]:
    """Return the items of the largest noisy supports; those that are not public must exceed the threshold."""
    by_length = moves(1, baskets.reach, question.neighbours)
    lengths = purse.noise(baskets.of_length(), by_length, shares[0], "lengths")
    sets, pure = range(baskets.most + 1), purse.is_pure
    part = float(shares[1] * purse.total)
    unit = question.units * baskets.reach**2
    variance_of_one = 2 * question.units * unit / part**2 if pure else unit / (2 * part)
    weights = weights_of(best_limit(lengths, sets, level, variance_of_one, pure=pure), sets, pure=pure)
    supports = weighted_singles(baskets, weights)
    present = np.arange(baskets.items) if question.public_items else np.flatnonzero(supports)
    moved = weights.moved(sets, baskets.reach, question.neighbours)
    noisy = purse.noise(supports[present], moved, shares[1], "items", step=weights.scale)
    if not question.public_items:
        above = noisy.values > found_threshold(question, noisy, baskets.reach, baskets.most)
        present, noisy = present[above], replace(noisy, values=noisy.values[above])
    order = np.argsort(-noisy.values, kind="stable")[:wanted]
    return [int(item) for item in present[order]]


def found_threshold(question: ItemsetQuestion, noisy: Noisy, reach: int, most: int) -> int:
    """Return t: an item of one unit alone exceeds it with probability at most δ_t over all its items."""
    epsilon = float(question.epsilon or 0) * (1 + 1e-9)
    slack = log(2 / float(question.delta)) + epsilon + log1p(exp(-epsilon))  # ln(1/δ_t), δ_t = (δ/2)/(1 + e^ε)
    spread = sqrt(2 * float(noisy.law.amount) * (log(reach * most) + slack))
    return reach * noisy.law.step + ceil(spread * (1 + 1e-9)) + 1


# --- few items --------------------------------------------------------------------------------------------------------


def _by_basis(
    baskets: Baskets, question: ItemsetQuestion, purse: Purse, wanted: int, whole: MeasuredSet, level: float
) -> ItemsetAnswer:
    """Return all sets of the items of one basis."""
    if question.public_items:
        purse.concentrate(Fraction(1), Fraction(0))
        items = _drawn_items(baskets, question, purse, wanted)
        share = 1 - BASIS_ITEMS
    else:
        purse.concentrate(BASIS_ITEMS, question.concentrated_delta)
        items = _largest_items(baskets, question, purse, wanted, level, (Fraction(1, 10), Fraction(9, 10)))
        purse.resume()
        share = Fraction(1)
    bins = purse.noise(baskets.bins(items), moves(1, baskets.reach, question.neighbours), share, "bins")
    supports = superset_sums(bins.values)
    measured = tuple(
        MeasuredSet(
            itemset=_members(items, place),
            steps=int(supports[place]),
            law=replace(bins.law, terms=1 << (len(items) - place.bit_count())),
        )
        for place in range(1, len(supports))
    )
    named = tuple(sorted(items))
    return ItemsetAnswer(
        baskets=whole,
        total=whole,
        sets=(),
        measured=measured,
        level=level,
        items=named,
        method="basis",
        most=baskets.most,
    )


def superset_sums(bins: Ints) -> Ints:
    """Return for each subset of a basis the number of baskets that include it, from its bins.

    >>> superset_sums(np.array([1, 2, 3, 4])).tolist()
    [10, 6, 7, 4]
    """
    sums, size = bins.copy(), len(bins)
    step = 1
    while step < size:
        view = sums.reshape(-1, 2, step)
        view[:, 0] += view[:, 1]
        step *= 2
    return sums


def _members(items: list[int], place: int) -> Itemset:
    return tuple(sorted(item for bit, item in enumerate(items) if place >> bit & 1))


# --- many items -------------------------------------------------------------------------------------------------------


def _by_pairs(
    baskets: Baskets, question: ItemsetQuestion, purse: Purse, wanted: int, whole: MeasuredSet, level: float
) -> ItemsetAnswer:
    """Return the single items, the pairs and some larger sets of an item list."""
    purse.concentrate(Fraction(1), question.concentrated_delta)
    items = _largest_items(baskets, question, purse, wanted, level, (LENGTHS_SHARE, ITEMS_SHARE))
    items.sort()
    measured, limit = measured_pairs(baskets.within(items), question, purse, level)
    total, *named = (replace(one, itemset=tuple(items[place] for place in one.itemset)) for one in measured)
    return ItemsetAnswer(
        baskets=whole,
        total=total,
        sets=(),
        measured=tuple(named),
        level=level,
        items=tuple(items),
        method="pairs",
        most=limit,
    )
