"""Private itemsets of the largest supports: few items by one basis, many items by noisy counts of pairs and more.

    1  n, the number of baskets, and c, the support to reach (the k-th largest), with Laplace noise
    2  λ, the number of items with a support of at least c: drawn with the score -|c(j) - c|, c(j) the j-th support
    3  the items: drawn one after another by their supports, or found in the data with δ
    4  few items: one basis of all of them (Li, Qardaji, Su and Cao: PrivBasis, VLDB 2012); noise on its 2^λ bins.
       The support of a set is the sum of 2^(λ-s) bins, and so is its variance 2^(λ-s) times that of a bin.
       many items: noise on all singles and pairs of the items, then on larger sets whose pairs look frequent

**Sensitivities** are those of `baskets`. In step 1, n and c move by at most R. In step 2, under add/remove c(j) and c
move in one direction, each by at most R, so their difference moves by at most R; under "change one" by at most
2R. If the support to reach is public by then (a minimum support times the noisy n), only c(j) moves: by at most R.
In step 3 the supports are monotone under add/remove and move by at most R. Everything else is a function of noisy
numbers. `itemset_noise` adds the parts up.

**Items that are not public** get Gaussian noise of variance σ² on their supports, and items above a threshold t are
released. Let A be that step on the items that two neighbours share, with all steps after it. A and steps 1 and 2 are
(ε, δ_g)-DP. An item that only one of the two has is in the baskets of one unit: its support is at most R, and there
are at most R·m of them. With t = R + σ√(2·ln(R·m/δ_t)) one of them is released with probability at most δ_t, as
Pr[K ≥ x] ≤ e^(-x²/2σ²) for discrete Gaussian noise K. Otherwise the release is that of A, and its noise is independent
of those items. So P(S) ≤ δ_t + e^ε·P'(A in S) + δ_g and P'(A in S) ≤ P'(S) + δ_t: the release is
(ε, δ_g + (1 + e^ε)·δ_t)-DP.

The shares of ε were set by judgement, and the largest basis on generated rows of skewed columns
(`bench/high_dimensional_itemsets.py` has their generator).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, exp, log, sqrt

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.errors import InvalidError, RefusedError, bad_value
from tacit.synthetic.baskets import Baskets, Itemset, Neighbours, most_included, moves
from tacit.synthetic.itemset_mining import kth_support
from tacit.synthetic.itemset_noise import Noisy, Purse

SIZE_SHARE, LEVEL_SHARE, NUMBER_SHARE = Fraction(1, 40), Fraction(1, 40), Fraction(1, 20)
ITEM_SHARE = Fraction(1, 5)
LENGTH_SHARE = Fraction(1, 50)
SINGLES, PAIRS, LARGER = Fraction(1, 10), Fraction(11, 20), Fraction(7, 20)
FEW = 14
"""The largest number of items for which one basis is used: 16,384 bins."""
MANY = 192
"""The largest number of items whose pairs are counted: 18,336 pairs."""
_LARGEST_SET = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsetQuestion:
    """A question: the k largest supports, or all supports of at least a part of the baskets."""

    k: int | None = None
    min_support: Fraction | None = None
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbours: Neighbours = "add/remove"
    public_items: bool = True

    def __post_init__(self) -> None:
        """Check what can be checked before any data are read."""
        if (self.k is None) == (self.min_support is None):
            raise InvalidError("Give either k or min_support.", argument="k", hint="For example k=100.")
        if self.k is not None and self.k < 1:
            raise bad_value("k", self.k, "a whole number of at least 1")
        if self.min_support is not None and not 0 < self.min_support <= 1:
            raise bad_value(
                "min_support",
                float(self.min_support),
                "a part of the baskets, above 0 and at most 1",
                hint="Divide a count by the number of baskets.",
            )
        if self.epsilon <= 0:
            raise bad_value("epsilon", float(self.epsilon), "a number above 0")
        if not self.public_items and self.delta <= 0:
            raise RefusedError(
                "The items are not public, and finding them in the data needs a delta.",
                hint="List the items with keys=, or give delta.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSet:
    """An itemset with its noisy support and the law of that noise: `terms` noises of one scale or variance."""

    itemset: Itemset
    count: int
    variance: float
    scale: float | None
    terms: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsetAnswer:
    """Released itemsets, the largest support first, with the noisy number of baskets and how they were found."""

    baskets: MeasuredSet
    sets: tuple[MeasuredSet, ...]
    level: int
    """The noisy support to reach."""
    items: Itemset
    method: str
    most: int


def release_itemsets(baskets: Baskets, question: ItemsetQuestion) -> ItemsetAnswer:
    """Return the itemsets of the largest supports, privately; see the module."""
    purse, epsilon = Purse(question.epsilon), question.epsilon
    reach, units = baskets.reach, 2 if question.neighbours == "change one" else 1
    size = purse.laplace(np.array([baskets.count]), reach, SIZE_SHARE * epsilon, "size")
    whole = _measured((), int(size.values[0]), size)
    if question.k is None:
        least = question.min_support or Fraction(1)
        target = level = max(1, ceil(least * max(0, whole.count)))
        sensitivity = reach
    else:
        target = kth_support(baskets, question.k)
        noisy = purse.laplace(np.array([target]), reach, LEVEL_SHARE * epsilon, "level")
        level, sensitivity = max(1, int(noisy.values[0])), reach * units
    supports = baskets.singles()
    ordered = np.zeros(min(MANY, question.k or MANY) if question.public_items else MANY, dtype=np.int64)
    largest = np.sort(supports)[::-1][: ordered.size]
    ordered[: largest.size] = largest
    number = 1 + purse.choose(-np.abs(ordered - target), sensitivity, NUMBER_SHARE * epsilon, "number")
    padded = number + 1 + number // 10
    wanted = min(baskets.items, padded) if question.public_items else padded  # how many items exist may be private
    if wanted <= FEW:
        answer = _by_basis(baskets, question, purse, wanted, whole, level)
    else:
        answer = _by_pairs(baskets, question, purse, wanted, whole, level)
    return replace(answer, sets=_best(answer.sets, question, level))


def _best(sets: tuple[MeasuredSet, ...], question: ItemsetQuestion, level: int) -> tuple[MeasuredSet, ...]:
    """Return the sets that were asked for, by noisy support."""
    ordered = sorted(sets, key=lambda one: (-one.count, len(one.itemset), one.itemset))
    if question.k is not None:
        return tuple(ordered[: question.k])
    return tuple(one for one in ordered if one.count >= level)


def _measured(itemset: Itemset, count: int, noisy: Noisy, terms: int = 1) -> MeasuredSet:
    return MeasuredSet(itemset=itemset, count=count, variance=noisy.variance * terms, scale=noisy.scale, terms=terms)


# --- the items --------------------------------------------------------------------------------------------------------


def _peeled(baskets: Baskets, wanted: int, draw: Callable[[Ints], int]) -> list[int]:
    """Return different items, each drawn by its support among those that are left."""
    supports, left = baskets.singles(), list(range(baskets.items))
    chosen: list[int] = []
    while len(chosen) < wanted:
        chosen.append(left.pop(draw(supports[left])))
    return chosen


def _found(baskets: Baskets, question: ItemsetQuestion, purse: Purse, wanted: int, rho: Fraction) -> list[int]:
    """Return at most `wanted` items above the threshold of items that are not public."""
    present = np.flatnonzero(baskets.singles())
    _, l2_squared = moves(baskets.most, baskets.reach, question.neighbours)
    noisy = purse.gaussian(baskets.singles()[present], l2_squared, rho, "items")
    slack = float(threshold_delta(question)) / (baskets.reach * max(1, baskets.most))
    threshold = baskets.reach + ceil(sqrt(2 * noisy.variance * -log(slack)) * (1 + 1e-12))
    above = np.flatnonzero(noisy.values > threshold)
    order = above[np.argsort(-noisy.values[above], kind="stable")][:wanted]
    return [int(item) for item in present[order]]


def threshold_delta(question: ItemsetQuestion) -> Fraction:
    """Return δ_t, such that (1 + e^ε)·δ_t is at most half of δ."""
    return question.delta / 2 / (1 + Fraction(exp(float(question.epsilon)) * (1 + 1e-9)))


def _concentrated_delta(question: ItemsetQuestion) -> Fraction:
    return question.delta if question.public_items else question.delta / 2


# --- few items --------------------------------------------------------------------------------------------------------


def _by_basis(
    baskets: Baskets, question: ItemsetQuestion, purse: Purse, wanted: int, whole: MeasuredSet, level: int
) -> ItemsetAnswer:
    """Return all sets of the items of one basis."""
    share, monotone = ITEM_SHARE * question.epsilon, question.neighbours == "add/remove"
    if question.public_items:
        each = share / max(1, wanted)
        items = _peeled(
            baskets, wanted, lambda scores: purse.choose(scores, baskets.reach, each, "items", monotone=monotone)
        )
    else:
        purse.exchange(share, _concentrated_delta(question))
        items = _found(baskets, question, purse, wanted, purse.rho)
    l1, _ = moves(1, baskets.reach, question.neighbours)
    bins = purse.laplace(baskets.bins(items), l1, purse.epsilon, "bins")
    supports = superset_sums(bins.values)
    sets = tuple(
        _measured(_members(items, place), int(supports[place]), bins, 1 << (len(items) - place.bit_count()))
        for place in range(1, len(supports))
    )
    return ItemsetAnswer(baskets=whole, sets=sets, level=level, items=tuple(items), method="basis", most=baskets.most)


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
    baskets: Baskets, question: ItemsetQuestion, purse: Purse, wanted: int, whole: MeasuredSet, level: int
) -> ItemsetAnswer:
    """Return the single items, the pairs and some larger sets of an item list."""
    lengths_part = LENGTH_SHARE * question.epsilon
    if question.delta:
        purse.exchange(purse.epsilon - lengths_part, _concentrated_delta(question))
    items = _listed(baskets, question, purse, wanted, lengths_part)
    l1, _ = moves(1, baskets.reach, question.neighbours)
    lengths = purse.laplace(baskets.lengths_within(items), l1, lengths_part, "lengths")
    budget = purse.rho if question.delta else purse.epsilon
    add = _adder(question, purse, baskets.reach)
    most = _kept_items(_without_noise(lengths), level, budget, question, baskets.reach)
    inside = baskets.kept(items, most)
    bitmaps = inside.bitmaps(range(len(items)))
    singles = add(inside.singles(), most, SINGLES * budget, "singles")
    names = list(combinations(range(len(items)), 2))
    pairs = add(bitmaps.pairs(), min(len(names), comb(most, 2)), PAIRS * budget, "pairs")
    measured = [_measured((place,), int(count), singles) for place, count in enumerate(singles.values)]
    measured += [_measured(name, int(count), pairs) for name, count in zip(names, pairs.values, strict=True)]
    larger = candidates(singles, pairs, names, level, question.k or MANY)
    if larger and most > 2:  # noqa: PLR2004 - a larger set has more than two items
        exact = np.array([bitmaps.support(name) for name in larger], dtype=np.int64)
        noisy = add(exact, most_included(larger, most), LARGER * budget, "larger sets")
        measured += [_measured(name, int(count), noisy) for name, count in zip(larger, noisy.values, strict=True)]
    sets = tuple(replace(one, itemset=tuple(sorted(items[place] for place in one.itemset))) for one in measured)
    return ItemsetAnswer(baskets=whole, sets=sets, level=level, items=tuple(items), method="pairs", most=most)


def _listed(baskets: Baskets, question: ItemsetQuestion, purse: Purse, wanted: int, kept: Fraction) -> list[int]:
    """Return the items of the list; `kept` of ε is left for what follows."""
    monotone = question.neighbours == "add/remove"
    if not question.public_items:
        return _found(baskets, question, purse, wanted, ITEM_SHARE * purse.rho)
    if question.delta:
        each = Fraction(sqrt(8 * ITEM_SHARE * purse.rho / wanted) * (1 - 1e-12))
        return _peeled(
            baskets,
            wanted,
            lambda scores: purse.choose_by_rho(scores, baskets.reach, each, "items", monotone=monotone),
        )
    part = ITEM_SHARE * (purse.epsilon - kept) / wanted
    return _peeled(
        baskets, wanted, lambda scores: purse.choose(scores, baskets.reach, part, "items", monotone=monotone)
    )


Add = Callable[[Ints, int, Fraction, str], Noisy]


def _adder(question: ItemsetQuestion, purse: Purse, reach: int) -> Add:
    """Return the function that adds noise to supports; its second argument bounds the sets that one basket includes."""

    def add(values: Ints, included: int, part: Fraction, what: str) -> Noisy:
        l1, l2_squared = moves(max(1, included), reach, question.neighbours)
        if question.delta:
            return purse.gaussian(values, l2_squared, part, what)
        return purse.laplace(values, l1, part, what)

    return add


def _without_noise(lengths: Noisy) -> Floats:
    """Return noisy numbers of baskets, with 0 for those that noise alone would give; a function of noisy numbers.

    Long baskets have many pairs, so noise on lengths that no basket has would look like many lost pairs.
    """
    likely = sqrt(lengths.variance / 2) * log(2 * lengths.values.size)  # the largest of so many Laplace noises
    return np.where(lengths.values > likely, lengths.values, 0).astype(np.float64)


def _kept_items(lengths: Floats, level: int, budget: Fraction, question: ItemsetQuestion, reach: int) -> int:
    """Return how many items of a basket to keep: as few as lose little, by the noisy lengths of baskets.

    With m items kept, the noise of a pair is proportional to √(m(m-1)/2) (or to m(m-1)/2), and the part of pairs that
    is kept shrinks the supports. The sum of the squared noise and of half the squared loss at the level is least.
    """
    size = np.arange(len(lengths))
    all_pairs = float(np.sum(lengths * size * (size - 1) / 2))
    best, least = 2, float("inf")
    for most in range(2, len(lengths)):
        short = np.minimum(size, most)
        part = float(np.sum(lengths * short * (short - 1) / 2)) / all_pairs if all_pairs else 1.0
        l1, l2_squared = moves(comb(most, 2), reach, question.neighbours)
        share = float(PAIRS * budget)
        variance = l2_squared / (2 * share) if question.delta else 2 * (l1 / share) ** 2
        loss = variance / max(part, 1e-9) ** 2 + (level * (1 - part)) ** 2 / 4
        best, least = (most, loss) if loss < least else (best, least)
    return best


def candidates(singles: Noisy, pairs: Noisy, names: Sequence[Itemset], level: int, limit: int) -> list[Itemset]:
    """Return larger sets whose pairs all look frequent, the most promising first; a function of noisy numbers.

    The support of a set is predicted from its pairs: the mean over its items i of the product of the noisy shares of
    the other items given i, which is exact for items that are independent given i, and at most its smallest pair.
    """
    slack = level - sqrt(pairs.variance)
    count = {name: max(1.0, float(value)) for name, value in zip(names, pairs.values, strict=True)}
    near: dict[int, set[int]] = {}
    for (i, j), value in count.items():
        if value >= slack:
            near.setdefault(i, set()).add(j)
    single = np.maximum(singles.values.astype(np.float64), 1.0)
    found: dict[Itemset, float] = {}
    front: list[Itemset] = [(i, j) for i, js in near.items() for j in sorted(js)]
    for _ in range(3, _LARGEST_SET + 1):
        grown = [(*one, j) for one in front for j in sorted(set.intersection(*(near.get(i, set()) for i in one)))]
        scored = {one: _predicted(one, count, single) for one in grown}
        front = sorted((one for one in grown if scored[one] >= slack / 2), key=lambda one: -scored[one])[: 4 * limit]
        found |= {one: scored[one] for one in front}
    return sorted(found, key=lambda one: (-found[one], one))[:limit]


def _predicted(one: Itemset, count: dict[Itemset, float], single: Floats) -> float:
    smallest = min(count[pair] for pair in combinations(one, 2))
    total = 0.0
    for i in one:
        product = single[i]
        for j in one:
            if j != i:
                product *= min(1.0, count[min(i, j), max(i, j)] / single[i])
        total += product
    return min(smallest, float(total) / len(one))
