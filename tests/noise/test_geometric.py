from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from evidence import FALSE_ALARM, Sample, count_miss, fits, miss, p_value, tail_p_value, window, would_miss
from laws import Geometric
from scripted import THIRD, TOP, TWO_THIRDS, Scripted, endless, seeded, uniform, words64
from tacit.arrays import WideInts
from tacit.noise import MAX_SCALE, geometric
from tacit.noise.geometric import _coin, _thresholds, digits, geometric_of_private_scale, in_chunks

SIZE = 3 << 19
MUTANT = Fraction(98, 100)
POINT = 320
SCALES = [Fraction(s) for s in (0.5, 5.0, 10_000 / 7, 1e9 / 3, 1e15, 2.0**56)]  # floats, as private scales are

Draw = Callable[[Fraction], Sample]
Read = Callable[[Fraction, int, Scripted], WideInts]


def openly(scale: Fraction) -> Sample:
    return geometric(scale, SIZE).astype(np.int64)


def privately(scale: Fraction) -> Sample:
    parts = [geometric_of_private_scale(float(scale), digits(scale) + 1, 1 << 15) for _ in range(SIZE >> 15)]
    return np.concatenate(parts).astype(np.int64)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("draw", "scale"), [(openly, scale) for scale in SCALES] + [(privately, scale) for scale in SCALES[::2]]
)
def test_draws_have_the_stated_law_and_a_mutant_does_not(draw: Draw, scale: Fraction) -> None:
    sample, law, other = draw(scale), Geometric(scale), Geometric(scale / MUTANT)
    assert fits(sample, law)
    assert would_miss(other, law, SIZE) < FALSE_ALARM
    assert not fits(sample, other)
    for multiple in (5, 8, 12):
        assert tail_p_value(sample, law, multiple) > FALSE_ALARM
    for low in range(0, int(scale).bit_length() + 1, 4):
        assert p_value(window(sample, low, 6), law.window(low, 6)) > FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(1000), MAX_SCALE], ids=str)
def test_a_lean_in_any_digit_is_seen(scale: Fraction) -> None:
    sample, law = openly(scale), Geometric(scale)
    lean = np.random.default_rng(4).random(SIZE) < 0.02
    for low in range(0, int(scale).bit_length() - 2, 8):
        even = law.window(low, 6)
        odd = [p + 0.02 * even[j + 1] if j % 2 == 0 else 0.98 * p for j, p in enumerate(even)]
        assert miss(even, odd, SIZE) < FALSE_ALARM
        mutant = np.where(lean, sample & ~np.int64(1 << low), sample)
        assert p_value(window(mutant, low, 6), even) < FALSE_ALARM


def test_the_tail_beyond_five_scales_tells_a_mutant() -> None:
    scale, size = Fraction(1000), 4 * SIZE
    sample, other = geometric(scale, size).astype(np.int64), Geometric(scale / MUTANT)
    beyond, claimed = other.tail(5)
    assert count_miss(size, claimed, float(np.exp(-(beyond + 1) / 1000))) < FALSE_ALARM
    assert tail_p_value(sample, Geometric(scale), 5) > FALSE_ALARM
    assert tail_p_value(sample, other, 5) < FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 50)], ids=str)
def test_tiny_scales_give_zero(scale: Fraction) -> None:
    """Anything else has probability below 2^17·e^-50 < 3e-17."""
    assert not geometric(scale, 1 << 17).any()
    assert not geometric_of_private_scale(float(scale), 3, 1 << 17).any()


def pmf(coins: list[int], count: int, k: int) -> Fraction:
    """Multiply the chances of the digits of k, given the coins of `count` digits and of the rest."""
    chance, one = Fraction(1), 1 << POINT
    for i in range(count):
        chance *= Fraction(coins[i] if k >> i & 1 else one - coins[i], one)
    rest = Fraction(coins[count], one)
    return chance * rest ** (k >> count) * (1 - rest)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(40)], ids=str)
def test_the_digits_multiply_to_the_law(scale: Fraction) -> None:
    """Enumerate: the product of the code's coins is (1-r)·r^k, also above the digits drawn one by one."""
    count = digits(scale)
    coins = [sum(_coin(scale, count, digit)(POINT)) // 2 for digit in range(count + 1)]
    ratio = Fraction(oracles.exp_neg(1 / scale, POINT), 1 << POINT)
    for k in [*range(200), (1 << count) - 1, 1 << count, (3 << count) + 5]:
        truth = (1 - ratio) * Fraction(oracles.exp_neg(k / scale, POINT), 1 << POINT)
        assert abs(pmf(coins, count, k) - truth) < Fraction(oracles.SLACK, 1 << POINT)


@given(scale=st.fractions(Fraction(1, 10**9), MAX_SCALE))
def test_the_digits_are_as_few_as_they_may_be(scale: Fraction) -> None:
    count = digits(scale)
    assert (1 << count) > 45 * scale
    assert count == 0 or (1 << count - 1) <= 45 * scale
    assert (1 << count) - 1 < 2**62


def of_open_scale(scale: Fraction, size: int, source: Scripted) -> WideInts:
    return geometric(scale, size, source)


def of_private_scale(scale: Fraction, size: int, source: Scripted) -> WideInts:
    return geometric_of_private_scale(float(scale), digits(scale), size, source)


either_scale = pytest.mark.parametrize("draw", [of_open_scale, of_private_scale])


def chances(scale: Fraction) -> list[int]:
    """Return the chance of each digit and of the rest, by the oracle."""
    count = digits(scale)
    coins = [oracles.logistic((1 << i) / scale, POINT) for i in range(count)]
    return [*coins, oracles.exp_neg((1 << count) / scale, POINT)]


@given(scale=st.one_of(st.fractions(Fraction(1, 10**6), 100), st.fractions(1, MAX_SCALE)))
def test_the_thresholds_are_words_at_most_two_below(scale: Fraction) -> None:
    assert all(
        int(low) << POINT - 64 <= chance <= int(low) + 2 << POINT - 64
        for low, chance in zip(_thresholds(scale), chances(scale), strict=True)
    )


@either_scale
@pytest.mark.parametrize(
    "scale", [Fraction(1, 2), Fraction(22 / 7), Fraction(10**6 / 3), Fraction(10**15), MAX_SCALE], ids=str
)
def test_random_words_give_the_digits_they_say(draw: Read, scale: Fraction) -> None:
    coins = [chance >> POINT - 64 for chance in chances(scale)]
    words = np.frombuffer(seeded(6)(200 * 8 * len(coins)), dtype=np.uint64).reshape(200, -1)
    expected = [sum((int(w) < p) << i for i, (w, p) in enumerate(zip(row, coins, strict=True))) for row in words]
    source = Scripted(words.tobytes())
    drawn = draw(scale, 200, source)
    assert drawn.tolist() == expected
    assert drawn.dtype == np.int64


@either_scale
@pytest.mark.parametrize("byte", [THIRD, TWO_THIRDS])
@pytest.mark.parametrize("step", [-1, 0, 1, 2])
@pytest.mark.parametrize("scale", [Fraction(22 / 7), Fraction(10**15), MAX_SCALE], ids=str)
def test_ties_in_every_digit_at_once_are_decided_truly(draw: Read, scale: Fraction, step: int, byte: int) -> None:
    coins = chances(scale)
    words = [max((chance >> POINT - 64) + step, 0) for chance in coins[:-1]]
    expected = sum((uniform(w, byte, POINT) < p) << i for i, (w, p) in enumerate(zip(words, coins[:-1], strict=True)))
    source = Scripted(words64(*[TOP] * len(coins), *words, TOP), endless(byte))
    drawn = draw(scale, 2, source)
    assert drawn.tolist() == [0, expected]


@either_scale
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(22 / 7), Fraction(10**15), MAX_SCALE], ids=str)
@pytest.mark.parametrize("more", [0, 1, 3])
def test_the_digits_above_are_drawn_when_their_coin_shows(draw: Read, scale: Fraction, more: int) -> None:
    """The last coin of the second draw shows, then `more` coins of the rest show and one does not."""
    count = digits(scale)
    row = [TOP] * (count + 1)
    first = words64(*row, *[0] * (count + 1), *row)
    tie = bytes(8) * (oracles.exp_neg((1 << count) / scale, 64) == 0)  # one word of zeros may not be enough
    source = Scripted(first + tie + (bytes(8) + tie) * more + b"\xff" * 8)
    drawn = draw(scale, 3, source)
    assert drawn.dtype == object
    assert drawn.tolist() == [0, (1 << count) - 1 + (1 + more << count), 0]
    assert source.left == b""


@pytest.mark.parametrize("count", [0, 1, 3, 6, 12])
def test_any_number_of_private_digits_gives_the_law(count: int) -> None:
    """Too few digits leave more to the coin of the rest, and surplus digits are zeros; the law is the same."""
    scale, size = Fraction(3, 2), 1 << 14
    parts = [geometric_of_private_scale(1.5, count, 64) for _ in range(size >> 6)]
    sample, law, other = np.concatenate(parts).astype(np.int64), Geometric(scale), Geometric(scale * Fraction(8, 10))
    assert fits(sample, law)
    assert would_miss(other, law, size) < FALSE_ALARM
    assert not fits(sample, other)


@given(scale=st.floats(0.01, 2.0**56), seed=st.integers(0, 10**6))
def test_a_private_scale_draws_the_same_as_a_public_one(scale: float, seed: int) -> None:
    ours = geometric(Fraction(scale), 5, Scripted(rest=seeded(seed)))
    private = geometric_of_private_scale(scale, digits(Fraction(scale)), 5, Scripted(rest=seeded(seed)))
    assert ours.tolist() == private.tolist()


@given(scale=st.floats(1e-6, 2.0**56))
def test_every_private_scale_takes_the_same_number_of_bytes(scale: float) -> None:
    source = Scripted(rest=seeded(8))
    geometric_of_private_scale(scale, 62, 3, source)
    assert source.taken == 3 * 63 * 8


def test_the_callers_error_state_changes_nothing() -> None:
    with np.errstate(all="raise"):
        assert geometric_of_private_scale(0.01, 20, 3).tolist() == [0, 0, 0]
        assert geometric(Fraction(1, 100), 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize("far", [0, 1, 2])
def test_one_far_draw_turns_all_chunks_into_whole_numbers(far: int) -> None:
    chunks = [np.array([3, -4]), np.array([5, -6]), np.array([7])]
    chunks[far] = chunks[far].astype(object) << 80
    asked: list[int] = []

    def draw(some: int) -> WideInts:
        asked.append(some)
        return chunks[len(asked) - 1]

    joined = in_chunks(5, 2, draw)
    assert asked == [2, 2, 1]
    assert joined.dtype == object
    assert joined.tolist() == [value for chunk in chunks for value in chunk.tolist()]
    assert all(type(value) is int for value in joined)


@pytest.mark.parametrize("size", [0, 1, 2, 4095, 4096, 4097, 10_000])
def test_as_many_draws_come_as_were_asked_for(size: int) -> None:
    drawn = geometric(Fraction(10), size)
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64
