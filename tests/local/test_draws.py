from __future__ import annotations

from collections import Counter
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence import FALSE_ALARM, miss, p_value
from scripted import Scripted, seeded, words16, words64
from tacit.local import kernels
from tacit.local.draws import PRIME, SMALL, below, below_each, coin_bits, coins, residues
from tacit.local.grr import respond
from tacit.local.subset_selection import SubsetSelection, others
from tacit.local.unary_encoding import count_bits
from tacit.noise import SYSTEM

ONE = 1 << 64


@given(st.integers(0, ONE - 1), st.lists(st.integers(0, ONE - 1), min_size=1, max_size=20))
def test_a_few_coins_compare_all_digits(chance: int, drawn: list[int]) -> None:
    found = coins(chance, len(drawn), Scripted(words64(*drawn)))
    assert found.tolist() == [word < chance for word in drawn]


@pytest.mark.parametrize("below_", [0, 1, (1 << 48) - 1])
def test_many_coins_settle_ties_by_the_other_48_digits(below_: int) -> None:
    chance = 0x1234 << 48 | 77
    first = np.full(SMALL, 0x9999, dtype=np.uint16)
    first[:3] = 0x1233, 0x1234, 0x1235
    found = coins(chance, SMALL, Scripted(words16(*first.tolist()) + words64(below_ << 16)))
    assert found[:4].tolist() == [True, below_ < 77, False, False]


def test_integers_below_a_bound_are_lemires_and_reject_what_would_bias() -> None:
    bound = 3 << 29  # 2^32 = 2·bound + 2^30, so remainders below 2^30 are rejected
    script = np.array([0, (1 << 32) - 1, 1 << 31, (1 << 31) + 1], dtype=np.uint32).tobytes()  # remainders 0 twice
    assert below(bound, 2, Scripted(script)).tolist() == [bound // 2, bound - 1]
    for tiny in (1, 2, 3, 7, 256, (1 << 32) - 5):
        assert 0 <= below(tiny, 100, SYSTEM).min() <= below(tiny, 100, SYSTEM).max() < tiny


def test_lemire_keeps_equally_many_words_for_each_value() -> None:
    """Enumerate the rule of `below` on words of 8 bits instead of 32."""
    for bound in range(1, 257):
        kept = [word * bound >> 8 for word in range(256) if (word * bound & 255) >= 256 % bound]
        assert np.bincount(kept, minlength=bound).tolist() == [256 // bound] * bound


def test_responses_in_one_pass_settle_ties_and_draw_rejected_values_again() -> None:
    size, keep, d = 1 << 15, 0x8000 << 48 | 7, 4  # 2^16 = 3·21845 + 1: the word 0 alone is rejected
    first, second = np.full(size, 0xFFFF, dtype=np.uint16), np.full(size, 1, dtype=np.uint16)
    first[:6] = 0x7FFF, 0x8000, 0x8000, 0x8001, 0x8000, 0xFFFF
    second[:6] = 0, 0xFFFF, 0xFFFF, 0xFFFF, 0, 0x8000
    ties = words64(6 << 16, 7 << 16, 8 << 16)
    again = np.array([0xFFFFFFFF, 0x80000000], dtype=np.uint32).tobytes()  # for places 0 and 4: 2 and 1
    index = np.full(size, 1)
    found = respond(index, d, keep, Scripted(first.tobytes() + second.tobytes() + ties + again))
    assert found[:6].tolist() == [1, 1, 3, 3, 2, 2]
    assert (found[6:] == 0).all()


def test_residues_leave_the_prime_out() -> None:
    script = np.array([0xFFFFFFFF, 0xFFFFFFFD, 0, 0xFFFFFFFE, 8], dtype=np.uint32).tobytes()
    assert residues(3, Scripted(script)).tolist() == [4, PRIME - 1, 0]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, ONE - 1), st.integers(0, 1000))
def test_64_coins_at_a_time_are_64_comparisons(chance: int, seed: int) -> None:
    pool = np.random.default_rng(seed).integers(0, ONE - 1, 400, dtype=np.uint64, endpoint=True)
    out = np.zeros(20, dtype=np.uint64)
    done = kernels.coin_words(out, pool, np.uint64(chance))
    at = 0
    for word in out[:done]:
        digits = [
            [int(pool[at + i]) >> lane & 1 for i in range(64 if at + 64 <= 400 else 400 - at)] for lane in range(64)
        ]
        rounds = 0
        for lane, bits in enumerate(digits):
            value = int("".join(map(str, bits)).ljust(64, "0"), 2)
            assert (int(word) >> lane & 1) == (value < chance)
            agree = next((i for i, bit in enumerate(bits) if bit != chance >> 63 - i & 1), 64)
            rounds = max(rounds, agree + 1)
        last = 64 - ((chance & -chance).bit_length() - 1) if chance else 0
        at += min(rounds, last)


def test_a_pool_that_ends_is_filled_again() -> None:
    bits = Scripted(rest=seeded(3))
    rows = coin_bits(1 << 62, 100_000, bits)
    assert rows.size == 100_000
    assert np.unpackbits(rows).mean() == pytest.approx(0.25, abs=0.01)


def test_bits_in_bulk_have_their_probability_and_a_wrong_one_would_be_seen() -> None:
    """Wrongly rejected with probability at most 1e-13; a chance 2 % too large is missed less than 1e-10 often."""
    size, chance = 4_000_000, int(ONE * 0.2689)
    ones = int(np.unpackbits(coin_bits(chance, size // 8, SYSTEM)).sum())
    law = [chance / ONE, 1 - chance / ONE]
    assert p_value([ones, size - ones], law) > FALSE_ALARM
    assert miss(law, [law[0] * 1.02, 1 - law[0] * 1.02], size) < 1e-10


@pytest.mark.parametrize(("n", "d"), [(1, 5), (7, 64), (1000, 70), (3001, 128), (6000, 9), (70_000, 3)])
def test_ones_are_counted(n: int, d: int) -> None:
    bits = np.random.default_rng(n).random((n, d)) < 0.6
    rows = np.packbits(bits, axis=1, bitorder="little")
    np.testing.assert_array_equal(count_bits(rows, d), bits.sum(axis=0))


def test_supports_are_counted_as_the_definition_says() -> None:
    rng = np.random.default_rng(4)
    a, b, low = rng.integers(0, PRIME, (3, 5000), dtype=np.uint32)
    a[:4], b[:4] = [0, PRIME - 1, PRIME - 1, 1], [0, PRIME - 1, 0, PRIME - 1]
    width = (rng.random(5000) * (PRIME - low)).astype(np.uint32)
    counts = np.zeros(40, dtype=np.int64)
    kernels.count_support(a, b, low, width, counts)
    point = (a.astype(np.int64)[:, None] * np.arange(40) + b[:, None]) % PRIME
    inside = (point >= low[:, None]) & (point < low.astype(np.int64)[:, None] + width[:, None])
    np.testing.assert_array_equal(counts, inside.sum(axis=0))


@pytest.mark.parametrize("n", [200, 30_000])
def test_subsets_are_uniform_in_both_ways_to_draw_them(n: int) -> None:
    """All 20 sets of 3 of 6 others of 7; wrongly rejected with probability at most 1e-13 (n = 200: sizes only)."""
    index, sizes = np.full(n, 4), np.full(n, 3)
    rows = np.unpackbits(others(index, sizes, 3, 7, SYSTEM), axis=1, count=7, bitorder="little")
    assert not rows[:, 4].any()
    assert (rows.sum(axis=1) == 3).all()
    kinds, counts = np.unique(rows @ (1 << np.arange(7)), return_counts=True)
    if n > 1000:
        assert kinds.size == 20
        assert p_value(counts, [1 / 20] * 20) > FALSE_ALARM
        assert miss([1 / 20] * 20, [1.3 / 20] * 10 + [0.7 / 20] * 10, n) < 1e-10


@pytest.mark.parametrize("d", [100, 140_000])
def test_the_number_of_draws_of_a_subset_does_not_tell_whether_ones_own_value_is_in(d: int) -> None:
    """Both ways to draw, one person, from the same words behind the coin: as many with the value as without."""
    oracle = SubsetSelection(domain=d, epsilon=2)
    taken = []
    for coin in (0, ONE - 1):
        bits = Scripted(words64(coin), seeded(7))
        row = oracle._randomize(np.array([5]), bits).records[0]
        assert bool(row[0] >> 5 & 1) == (coin == 0)
        assert int(np.bitwise_count(row).sum()) == oracle.size
        taken.append(bits.taken)
    assert taken[0] == taken[1]


@pytest.mark.parametrize("size", [3, 4])
def test_the_words_of_a_row_do_not_depend_on_its_size(size: int) -> None:
    """A pool of 4 words is enough for 4 members, and for 3; one of 3 words for neither."""
    pool = np.full(4, 0x9ABCDEF0, dtype=np.uint32)
    for words, filled in ((pool, 1), (pool[:3], 0)):
        rows = np.zeros((1, 1), dtype=np.uint8)
        assert kernels.fill_subsets(rows, np.array([0]), np.array([size]), 4, 7, words) == filled
        assert int(np.bitwise_count(rows).sum()) == size * filled


@pytest.mark.parametrize("n", [2, 40_000])
def test_subsets_of_all_sizes(n: int) -> None:
    index, sizes = np.arange(n) % 9, np.arange(n) % 9
    rows = np.unpackbits(others(index, sizes, 8, 9, SYSTEM), axis=1, count=9, bitorder="little")
    np.testing.assert_array_equal(rows.sum(axis=1), sizes)
    assert not rows[np.arange(n), index].any()


@pytest.mark.parametrize(("d", "k"), [(5, 2), (6, 3), (7, 1), (4, 3)])
@pytest.mark.parametrize("without", [0, 1])
def test_a_few_subsets_are_exactly_uniform(d: int, k: int, without: int) -> None:
    """All combinations of draws, equally likely, make every set of k (or one less) others equally often."""
    bounds = range(d - k, d)
    found = Counter(
        bytes(others(np.array([2]), np.array([k - without]), k, d, Scripted(words_for(values, bounds)))[0])
        for values in product(*map(range, bounds))
    )
    assert len(found) == comb(d - 1, k - without)
    assert len(set(found.values())) == 1
    assert all(sum(byte.bit_count() for byte in row) == k - without and not row[0] >> 2 & 1 for row in found)


def words_for(values: tuple[int, ...], bounds: range) -> bytes:
    """Return words from which `below_each` makes these values: the middle one of each value's words."""
    middle = [(2 * value + 1) * 2**31 // bound for value, bound in zip(values, bounds, strict=True)]
    return np.array(middle, dtype=np.uint32).tobytes()


def test_integers_below_several_bounds_reject_what_would_bias() -> None:
    bits = Scripted(np.array([0, 0x80000000, 0, 0, 0xFFFFFFFF], dtype=np.uint32).tobytes())
    np.testing.assert_array_equal(below_each(np.array([3, 4, 1]), bits), [2, 2, 0])  # 0 is rejected below 3, twice
