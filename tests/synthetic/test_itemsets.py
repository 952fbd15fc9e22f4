"""Itemsets against brute force: supports, sensitivities under both relations, and the answer at a huge ε."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import exp

import numpy as np
import pytest

from itemsets import ITEMS, baskets_of, random_baskets, support
from tacit.errors import InternalError, InvalidError, RefusedError
from tacit.guarantees.gaussian_law import outside
from tacit.synthetic.basket_weights import (
    BasketWeights,
    best_limit,
    weighted_count,
    weighted_pairs,
    weighted_singles,
    weighted_supports,
    weights_of,
)
from tacit.synthetic.baskets import Baskets, Itemset, Neighbours, most_included, moves
from tacit.synthetic.cost import rho_of
from tacit.synthetic.itemset_mining import kth_support
from tacit.synthetic.itemset_noise import Noise, Noisy, Purse
from tacit.synthetic.itemset_release import FEW, ItemsetQuestion, _number_scores, found_threshold, release_itemsets

SUBSETS = [one for size in range(ITEMS + 1) for one in combinations(range(ITEMS), size)]
RELATIONS: list[Neighbours] = ["add/remove", "change one"]


def all_supports(sets: list[Itemset], items: int) -> dict[Itemset, int]:
    names = (one for size in range(1, items + 1) for one in combinations(range(items), size))
    return {one: support(sets, one) for one in names}


def neighbours_of(relation: Neighbours, reach: int, most: int) -> list[tuple[list[Itemset], list[Itemset]]]:
    """Return the baskets of one unit before and after, for all units of at most `reach` baskets of `most` items."""
    allowed = [one for one in SUBSETS if len(one) <= most]
    units = [list(one) for size in range(1, reach + 1) for one in product(allowed, repeat=size)]
    return [([], unit) for unit in units] if relation == "add/remove" else list(product(units, units))


WEIGHTS = [
    weights_of(3, [0, 1, 2, 3], pure=False),
    weights_of(1, [0, 1, 2, 3], pure=False),
    weights_of(2, [0, 0, 1, 3], pure=False),
    weights_of(2, [0, 0, 1, 3], pure=True),
    BasketWeights(steps=(5, 7, 3, 2), scale=7, limit=1),
]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("reach", [1, 2])
@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda weights: str(weights.steps))
def test_weighted_supports_move_as_far_as_stated(relation: Neighbours, reach: int, weights: BasketWeights) -> None:
    """All units of up to two baskets of three items, exactly; under add/remove both bounds are reached."""
    names = list(combinations(range(ITEMS), 2))
    larger: list[Itemset] = [(0, 1), (0, 1, 2)]
    parts: dict[str, tuple[Sequence[int], Callable[[Baskets], object]]] = {
        "singles and all": (
            range(1, ITEMS + 2),
            lambda each: [*weighted_singles(each, weights), weighted_count(each, weights)],
        ),
        "pairs": ([0, 0, 1, 3], lambda each: weighted_pairs(each, weights)[np.triu_indices(ITEMS, 1)]),
        "chosen sets": (most_included(larger, ITEMS), lambda each: weighted_supports(each, weights, larger)),
    }
    for what, (included, measure) in parts.items():
        l1, l2_squared = weights.moved(included, reach, relation)
        worst = [0, 0]
        for before, after in neighbours_of(relation, reach, ITEMS):
            one, other = (np.asarray(measure(baskets_of(sets)), dtype=np.int64) for sets in (before, after))
            worst = [max(worst[0], int(np.abs(one - other).sum())), max(worst[1], int(((one - other) ** 2).sum()))]
        assert worst[0] <= l1
        assert worst[1] <= l2_squared
        if relation == "add/remove" and what != "chosen sets":
            assert worst == [l1, l2_squared], names  # so a smaller claim would be found


def test_weighted_counts_are_those_of_brute_force() -> None:
    """Baskets on both sides of the length from which pairs are counted by matrices."""
    random = np.random.default_rng(3)
    sets: list[Itemset] = [
        tuple(sorted(random.choice(14, random.integers(0, 14), replace=False).tolist())) for _ in range(300)
    ]
    baskets = baskets_of(sets, 14, 14)
    weights = weights_of(4, [s * (s - 1) // 2 for s in range(15)], pure=False)

    def expected(itemset: Itemset) -> int:
        return sum(weights.steps[len(one)] for one in sets if set(itemset) <= set(one))

    matrix = weighted_pairs(baskets, weights)
    assert all(matrix[i, j] == matrix[j, i] == expected((i, j)) for i, j in combinations(range(14), 2))
    assert (
        np.diagonal(matrix).tolist()
        == weighted_singles(baskets, weights).tolist()
        == [expected((i,)) for i in range(14)]
    )
    larger: list[Itemset] = [(0, 1, 2), (3, 4, 5, 6), (7,)]
    assert weighted_supports(baskets, weights, larger).tolist() == [expected(one) for one in larger]
    assert weighted_count(baskets, weights) == expected(())


def test_a_limit_without_known_lengths_is_a_small_guess() -> None:
    noise = Noise(pure=True, amount=Fraction(100))
    lengths = Noisy(np.zeros(65, dtype=np.int64), noise)
    assert best_limit(lengths, range(65), 100.0, 1.0, pure=True) == 8
    assert best_limit(Noisy(np.zeros(2, dtype=np.int64), noise), [0, 0], 1.0, 1.0, pure=True) >= 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_bins_and_order_statistics_move_as_far_as_stated(relation: Neighbours) -> None:
    reach, rest = 2, [(0,), (0, 1), (1, 2), (0, 1, 2), ()]
    units = 2 if relation == "change one" else 1
    l1, l2_squared = moves(1, reach, relation)
    moved_bins, moved_squares, moved_level, moved_score = 0, 0, 0, 0
    for before, after in neighbours_of(relation, reach, ITEMS):
        one, other = baskets_of(rest + before), baskets_of(rest + after)
        gap = one.bins([0, 1, 2]) - other.bins([0, 1, 2])
        moved_bins = max(moved_bins, int(np.abs(gap).sum()))
        moved_squares = max(moved_squares, int((gap**2).sum()))
        for k in (1, 3, 5):
            levels = kth_support(one, k), kth_support(other, k)
            moved_level = max(moved_level, abs(levels[0] - levels[1]))
            scores = [
                _number_scores(np.sort(each.singles())[::-1], level)
                for each, level in zip((one, other), levels, strict=True)
            ]
            moved_score = max(moved_score, int(np.abs(scores[0] - scores[1]).max()))
    assert (moved_bins, moved_squares) == (l1, l2_squared)
    assert moved_level == reach
    assert reach <= moved_score <= units * reach


def test_the_bound_of_included_sets_holds_for_every_basket() -> None:
    random = np.random.default_rng(7)
    for _ in range(40):
        names = [one for size in (2, 3, 4) for one in combinations(range(6), size) if random.random() < 0.3]
        for most in (2, 3, 4, 6):
            worst = max(sum(set(one) <= set(basket) for one in names) for basket in combinations(range(6), most))
            assert worst <= most_included(names, most)[most]


def test_the_kth_support_is_that_of_brute_force() -> None:
    sets, baskets = random_baskets(6, 40, seed=1)
    supports = sorted(all_supports(sets, 6).values(), reverse=True)
    for k in (1, 2, 5, 20, 40, 63):
        assert kth_support(baskets, k) == supports[k - 1]
    assert kth_support(baskets, 64) == 0


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
@pytest.mark.parametrize("items", [6, FEW + 4])
def test_supports_at_a_huge_epsilon_are_those_of_brute_force(items: int, delta: Fraction) -> None:
    sets, baskets = random_baskets(items, 60, seed=items)
    question = ItemsetQuestion(k=25, epsilon=Fraction(10**7), delta=delta)
    answer = release_itemsets(baskets, question)
    assert answer.baskets.count == len(sets)
    assert len(answer.sets) == 25
    assert all(one.count == support(sets, one.itemset) for one in answer.sets)
    small = all_supports(sets, 6) if items == 6 else None
    if small is not None:
        assert [one.count for one in answer.sets] == sorted(small.values(), reverse=True)[:25]


def test_more_sets_than_there_are_and_an_empty_table_give_an_answer() -> None:
    question = ItemsetQuestion(k=100, epsilon=Fraction(10**6))
    assert len(release_itemsets(baskets_of([(0, 1), (2,)]), question).sets) <= 7
    assert release_itemsets(baskets_of([]), question).baskets.count == 0


def test_items_of_one_unit_are_not_found_and_those_of_many_are() -> None:
    question = ItemsetQuestion(k=5, epsilon=Fraction(2), delta=Fraction(1, 10**9), public_items=False)
    many = release_itemsets(baskets_of([(0, 1)] * 2_000 + [(2,)]), question)
    assert set(many.items) == {0, 1}  # Pr[item 2] ≤ 1e-10; items 0 and 1 are dozens of deviations above the threshold


ZEROS = np.zeros(1, dtype=np.int64)


def test_a_purse_is_not_overspent() -> None:
    purse = Purse(Fraction(1), is_pure=True)
    purse.noise(ZEROS, (1, 1), Fraction(3, 4), "size")
    with pytest.raises(InternalError):
        purse.noise(ZEROS, (1, 1), Fraction(1, 2), "bins")
    with pytest.raises(InternalError):
        purse.noise(ZEROS, (1, 1), Fraction(0), "bins")
    with pytest.raises(InternalError):
        purse.resume()


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_the_blocks_of_a_purse_add_up_to_its_cost(delta: Fraction) -> None:
    purse = Purse(Fraction(1), is_pure=True)
    purse.noise(ZEROS, (1, 1), Fraction(1, 10), "size")
    purse.concentrate(Fraction(1, 3), delta)
    expected = Fraction(3, 10) if not delta else rho_of(Fraction(3, 10), delta)
    assert (purse.left, purse.is_pure) == (expected, not delta)
    purse.noise(ZEROS, (1, 1), Fraction(1), "items")
    with pytest.raises(InternalError):
        purse.concentrate(Fraction(1), delta)
    purse.resume()
    assert (purse.left, purse.is_pure) == (Fraction(6, 10), True)
    with pytest.raises(InternalError):
        purse.resume()


def test_noise_has_the_scale_of_its_part() -> None:
    pure, concentrated = Purse(Fraction(1), is_pure=True), Purse(Fraction(1), is_pure=False)
    assert pure.noise(ZEROS, (6, 12), Fraction(1, 2), "pairs").law.amount == 12  # L1 over ε
    assert concentrated.noise(ZEROS, (6, 12), Fraction(1, 2), "pairs").law.amount == 12  # L2² over 2ρ


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("items", [5, 40])
def test_every_draw_of_a_release_fits_its_purse(items: int, *, public: bool) -> None:
    """A release that would overspend raises InternalError, for any noise."""
    _, baskets = random_baskets(items, 200, seed=items)
    for epsilon, delta in (("0.001", "1e-9"), ("1", "1e-6"), ("1", "0"), ("800", "1e-9")):
        if public or delta != "0":
            question = ItemsetQuestion(k=10, epsilon=Fraction(epsilon), delta=Fraction(delta), public_items=public)
            for _ in range(3):
                assert len(release_itemsets(baskets, question).sets) <= 10
    assert not public or len(release_itemsets(baskets, ItemsetQuestion(k=10, rho=Fraction(1, 10))).sets) == 10


@pytest.mark.parametrize(("reach", "most"), [(3, 5), (300, 500)])
def test_the_threshold_of_found_items_is_that_of_the_proof(reach: int, most: int) -> None:
    """Its failure probability by the exact law, times the most items of one unit, is at most δ_t."""
    question = ItemsetQuestion(k=1, epsilon=Fraction(1), delta=Fraction(1, 10**6), public_items=False)
    noisy = Noisy(ZEROS, Noise(pure=False, amount=Fraction(10_000), step=4))
    threshold = found_threshold(question, noisy, reach, most)
    beyond = outside(10_000.0, threshold - reach * 4) / 2  # Pr[K > t - R·steps], one side
    allowed = float(question.delta) / 2 / (1 + exp(1))
    assert beyond * reach * most <= allowed
    assert beyond * reach * most > allowed / 1_000  # Chernoff's bound is not far off


def test_bad_questions_are_refused() -> None:
    for bad in (Fraction(0), Fraction(3, 2), Fraction(50)):
        with pytest.raises(InvalidError, match="min_support"):
            ItemsetQuestion(min_support=bad, epsilon=Fraction(1))
    with pytest.raises(InvalidError):
        ItemsetQuestion(epsilon=Fraction(1))
    with pytest.raises(InvalidError):
        ItemsetQuestion(k=0, epsilon=Fraction(1))
    with pytest.raises(RefusedError, match="not public"):
        ItemsetQuestion(k=1, epsilon=Fraction(1), public_items=False)
