from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from evidence import FALSE_ALARM, Sample, count_miss, fits, miss, p_value, tail_p_value, window, would_miss
from laws import Gaussian
from scripted import THIRD, TOP, TWO_THIRDS, Scripted, endless, seeded, uniform, words16, words64
from tacit.noise import discrete_gaussian
from tacit.noise.gaussian import _Blocks, _blocks, _steps, _tails, _uniform
from tacit.noise.laplace import SMALL

SIZE = 1 << 20
MUTANT = Fraction(98, 100) ** 2  # of the variance: σ × 0.98
POINT = 704
COARSE, FINE = 8, 64
MOST = Fraction(2**112)
VARIANCES = [Fraction(v) for v in ("1/4", "7/3", "64", "65", "2500", "4096", "4097", "1000000/3", "1e18", "1e30", MOST)]

COINS = [variance for variance in VARIANCES if variance > FINE**2]  # more than one integer a block at both resolutions

Draw = Callable[[Fraction, int], Sample]


def by_small_calls(variance: Fraction, size: int) -> Sample:
    """Draw in calls that compare in full, over coarse blocks."""
    parts = [discrete_gaussian(variance, min(SMALL - 1, size - at)) for at in range(0, size, SMALL - 1)]
    return np.concatenate(parts).astype(np.int64)


def by_one_call(variance: Fraction, size: int) -> Sample:
    """Draw in one call that uses the guide and the squeeze, over fine blocks."""
    return discrete_gaussian(variance, size).astype(np.int64)


both_ways = pytest.mark.parametrize("draw", [by_small_calls, by_one_call])


@pytest.mark.sampled(3)
@both_ways
@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_draws_have_the_stated_law_and_a_mutant_does_not(draw: Draw, variance: Fraction) -> None:
    sample, law, other = draw(variance, SIZE), Gaussian(variance), Gaussian(variance / MUTANT)
    assert fits(sample, law)
    assert would_miss(other, law, SIZE) < FALSE_ALARM
    assert not fits(sample, other)
    for multiple in (3, 4, 5):
        assert tail_p_value(sample, law, multiple) > FALSE_ALARM
    for low in range(0, int(law.sigma).bit_length() - 2, 4):
        assert p_value(window(sample, low, 5), law.window(low, 5)) > FALSE_ALARM


@both_ways
@pytest.mark.parametrize("variance", [Fraction(4097), MOST], ids=str)
def test_a_lean_in_any_digit_is_seen(draw: Draw, variance: Fraction) -> None:
    sample, law = draw(variance, 2 * SIZE), Gaussian(variance)
    lean = np.random.default_rng(4).random(2 * SIZE) < 0.02
    for low in range(0, int(law.sigma).bit_length() - 2, 8):
        even = law.window(low, 5)
        odd = [p + 0.02 * even[j + 1] if j % 2 == 0 else 0.98 * p for j, p in enumerate(even)]
        assert miss(even, odd, 2 * SIZE) < FALSE_ALARM
        mutant = np.where(lean, sample & ~np.int64(1 << low), sample)
        assert p_value(window(mutant, low, 5), even) < FALSE_ALARM


def test_the_tail_beyond_three_sigma_tells_a_mutant() -> None:
    variance, size = Fraction(10**6), 1 << 22
    sample, law, other = by_one_call(variance, size), Gaussian(variance), Gaussian(variance / MUTANT)
    beyond, claimed = other.tail(3)
    drawn = law.chances([-beyond, beyond + 1])
    assert count_miss(size, claimed, drawn[0] + drawn[2]) < FALSE_ALARM
    assert tail_p_value(sample, law, 3) > FALSE_ALARM
    assert tail_p_value(sample, other, 3) < FALSE_ALARM


@pytest.mark.long
@both_ways
@pytest.mark.parametrize("variance", [Fraction(65), Fraction(4097), Fraction(10**30)], ids=str)
def test_a_sigma_off_by_five_in_a_thousand_is_seen(draw: Draw, variance: Fraction) -> None:
    sample, law, other = draw(variance, 1 << 24), Gaussian(variance), Gaussian(variance * Fraction(1005, 1000) ** 2)
    assert fits(sample, law)
    assert would_miss(other, law, sample.size) < FALSE_ALARM
    assert not fits(sample, other)


@pytest.mark.parametrize("sigma", [Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 12)], ids=str)
def test_tiny_sigmas_give_zero(sigma: Fraction) -> None:
    """Anything else has probability below 2^18·e^-72 < 2e-26."""
    assert not discrete_gaussian(sigma**2, SMALL - 1).any()
    assert not discrete_gaussian(sigma**2, 1 << 16).any()


@given(variance=st.fractions(Fraction(1, 10**9), MOST), resolution=st.sampled_from([COARSE, FINE]))
def test_a_block_is_the_narrowest_that_the_resolution_allows(variance: Fraction, resolution: int) -> None:
    shift = _blocks(variance, resolution).shift
    assert variance <= (resolution << shift) ** 2
    assert shift == 0 or variance > (resolution << shift - 1) ** 2


@pytest.mark.parametrize("variance", [Fraction(v) for v in ("1e-12", "1/3", "65/4", "64", "4096")], ids=str)
@pytest.mark.parametrize("n", [64, 128])
def test_tails_are_enclosed_with_all_that_is_left_out(variance: Fraction, n: int) -> None:
    """Return T_i = Σ_{i' ≥ i} e^(-i'²/2σ²), times the factor 2^m that follows from T_0 - T_1 = 1."""
    tails = _tails(variance, n)
    m = (tails[0][0] - tails[1][0]).bit_length() - 1
    weights = oracles.gaussian_weights(variance, m + 64)
    truths = list(accumulate(reversed(weights)))[::-1]
    for (lo, hi), truth in zip(tails, truths + [0] * len(tails), strict=False):
        assert lo << 128 <= truth <= hi << 128


def chance(blocks: _Blocks, index: int, offset: int, point: int) -> int:
    """Return the chance to accept offset v in block i: e^(-((iW+v)² - (iW)²)/2σ²), by the oracle."""
    start = index << blocks.shift
    return oracles.exp_neg(((start + offset) ** 2 - start**2) / (2 * blocks.variance), point)


def drawn_from(blocks: _Blocks, block: int, offset: int) -> list[int]:
    """Return the result of a round for a signed block and an offset, with a coin that accepts."""
    at = block - blocks.table.first
    inside = (int(blocks.table.low[at - 1]) + int(blocks.table.low[at])) // 2
    full = words16(offset << 16 - blocks.shift)
    source = Scripted(words64(inside) + full + words64(0), seeded(2))
    return [int(value) for value in blocks._round(1, source, fully=True)]


@pytest.mark.parametrize("variance", [Fraction(65), Fraction(300), Fraction(1000, 3)], ids=str)
def test_the_blocks_add_up_to_the_law(variance: Fraction) -> None:
    """Enumerate the weight of every (block, offset) times its acceptance, by the resulting integer."""
    blocks = _Blocks(variance, COARSE)
    first, steps = _steps(variance / (1 << 2 * blocks.shift), twice_zero=True)(192)
    weights: dict[int, int] = {}
    for block in range(-12, 12):
        mass = steps[block - first][0] - steps[block - first - 1][0]
        for offset in range(1 << blocks.shift):
            for value in drawn_from(blocks, block, offset):
                index = block if block >= 0 else -1 - block
                weights[value] = weights.get(value, 0) + mass * chance(blocks, index, offset, 192)
    reach = 12 << blocks.shift
    assert sorted(weights) == list(range(1 - reach, reach))
    for k, weight in weights.items():
        assert abs((weight << 192) // weights[0] - oracles.exp_neg(k * k / (2 * variance), 192)) < 1 << 16


@pytest.mark.parametrize("variance", COINS, ids=str)
@pytest.mark.parametrize("resolution", [COARSE, FINE])
def test_the_squeeze_is_just_below_the_least_acceptance(variance: Fraction, resolution: int) -> None:
    blocks = _Blocks(variance, resolution)
    for index in range(blocks.table.last + 1):
        end = index + 1 << blocks.shift
        least = oracles.exp_neg((end**2 - (index << blocks.shift) ** 2) / (2 * variance), 64)
        assert int(blocks.squeeze[index]) << 48 <= least <= int(blocks.squeeze[index]) + 2 << 48
    assert blocks.squeeze[-1] == 0
    assert blocks.squeeze.size == blocks.table.last + 2


def offsets(blocks: _Blocks) -> list[int]:
    """Return the least, the greatest and some other offsets of a block."""
    width = 1 << blocks.shift
    return sorted({0, 1, width // 3, width // 2, width - 1})


@pytest.mark.parametrize("byte", [THIRD, TWO_THIRDS])
@pytest.mark.parametrize("resolution", [COARSE, FINE])
@pytest.mark.parametrize("variance", COINS, ids=str)
def test_every_word_near_the_acceptance_falls_on_its_true_side(variance: Fraction, resolution: int, byte: int) -> None:
    blocks = _blocks(variance, resolution)
    places = [(i, v) for i in (0, 1, 7, blocks.table.last, blocks.table.last + 40) for v in offsets(blocks)]
    cases, expected = [], []
    for index, offset in places:
        truth = chance(blocks, index, offset, 256)
        near = {(truth >> 192) + sign * reach for reach in (0, 1, 2, 1 << 12, 1 << 14, 1 << 24) for sign in (-1, 1)}
        for word in sorted(w for w in near | {0, TOP} if 0 <= w <= TOP):
            cases.append((index, offset, word))
            expected.append(uniform(word, byte, 256) < truth)
    accepted = {fully: [accept(blocks, *case, byte, fully=fully) for case in cases] for fully in (True, False)}
    assert accepted[True] == expected
    assert accepted[False] == expected


def accept(blocks: _Blocks, index: int, offset: int, word: int, byte: int, *, fully: bool) -> bool:
    """Toss one acceptance coin with a known word, in full or after the squeeze."""
    squeezed = word >> 48 < blocks.squeeze[min(index, blocks.squeeze.size - 1)]
    halves = words16(word >> 48) + (b"" if squeezed else words64((word << 16) & TOP))
    source = Scripted(words64(word) if fully else halves, endless(byte))
    kept = blocks._accept(np.array([index]), np.array([offset]), source, fully=fully)
    assert source.left == b""
    return bool(kept[0])


@cache
def blocks_oracle(variance: Fraction, resolution: int) -> oracles.Inverse:
    blocks = _blocks(variance, resolution)
    law = oracles.gaussian_twice_zero if blocks.shift else oracles.gaussian
    return law(variance / (1 << 2 * blocks.shift), POINT)


@pytest.mark.parametrize("zeros", [104, 256, 504])
@pytest.mark.parametrize("resolution", [COARSE, FINE])
@pytest.mark.parametrize("variance", [Fraction(7, 3), Fraction(5000), Fraction(10**18), MOST], ids=str)
def test_the_far_tail_is_reached_exactly(variance: Fraction, resolution: int, zeros: int) -> None:
    """U = 2^-zeros/3 for the block, a third of its width for the offset, and a coin of zeros, which accepts."""
    blocks, fully = _blocks(variance, resolution), resolution == COARSE
    block = blocks_oracle(variance, resolution).outcome((1 << POINT - zeros) // 3)
    zero = words64(0) if fully else words16(0) + words64(0)
    offset = bytes([THIRD]) * (0 if blocks.shift == 0 else 2 if blocks.shift <= 16 else 8)
    script = zero + far_bytes(blocks, zeros) + offset + (zero if blocks.shift else b"")
    drawn = blocks.draw(1, Scripted(script), fully=fully)
    magnitude = (-1 - block << blocks.shift) + (1 << blocks.shift) // 3
    assert drawn.tolist() == [-magnitude if blocks.shift else block]
    assert (drawn.dtype == object) == (blocks.shift > 0)


def far_bytes(blocks: _Blocks, zeros: int) -> bytes:
    """Return the bytes that `invert` reads after 64 zeros until U = 2^-zeros/3 is decided."""
    source = Scripted(bytes(zeros // 8 - 8), endless(THIRD))
    blocks.table.invert(0, 64, source)
    return bytes(zeros // 8 - 8) + bytes([THIRD]) * (source.taken - zeros // 8 + 8)


@pytest.mark.parametrize("width", [1, 7, 15, 16, 17, 31, 32, 33, 53, 62])
def test_offsets_are_the_leading_bits_of_their_words(width: int) -> None:
    full, script = (16, words16) if width <= 16 else (64, words64)
    for value in (0, 1, (1 << width) - 1, (1 << width) // 3):
        word = value << full - width | (1 << full - width) - 1
        assert _uniform(width, 1, Scripted(script(word))).tolist() == [value]


@pytest.mark.parametrize("fully", [False, True])
def test_a_rejected_proposal_is_followed_by_a_fresh_one(fully: bool) -> None:  # noqa: FBT001
    """The second block's greatest offset with a coin of all ones is rejected; then all zeros give 0 or less."""
    blocks = _blocks(Fraction(5000), COARSE)
    middle = 0xC000 << 48
    block = words64(middle) if fully else words16(0xC000)
    refused = block + words16(0xFFFF) + (words64(TOP) if fully else words16(0xFFFF) + words64(TOP))
    drawn = blocks.draw(1, Scripted(refused, seeded(9)), fully=fully)
    assert drawn.tolist() == blocks.draw(1, Scripted(rest=seeded(9)), fully=fully).tolist()


def test_minus_zero_is_never_kept() -> None:
    blocks = _blocks(Fraction(5000), COARSE)
    below_half = words64((1 << 63) - (1 << 57)) + words16(0) + words64(0)  # block -1, offset 0, accepted
    assert blocks._round(1, Scripted(below_half), fully=True).tolist() == []
    above_half = words64((1 << 63) + (1 << 57)) + words16(0) + words64(0)  # block 0
    assert blocks._round(1, Scripted(above_half, endless(THIRD)), fully=True).tolist() == [0]


@pytest.mark.parametrize(("resolution", "least"), [(COARSE, 0.9), (FINE, 0.98)])
@pytest.mark.parametrize("times", [Fraction(100001, 100000), Fraction(3, 2), Fraction(2)])
def test_nearly_every_proposal_is_accepted(resolution: int, least: float, times: Fraction) -> None:
    """Check the accepted share of all proposals, σ from R·W/2 up to R·W."""
    variance = (resolution * times * (1 << 10)) ** 2
    blocks = _Blocks(variance, resolution)
    weights = oracles.gaussian_weights(variance / (1 << 2 * blocks.shift), 64)
    proposed = 2 * Fraction(sum(weights), 1 << 128) * (1 << blocks.shift)
    accepted = ceil(Gaussian(variance).sigma * 2.5066)
    assert least <= accepted / proposed <= 1


@pytest.mark.parametrize("size", [0, 1, 63, 64, SMALL - 1, SMALL, SMALL + 1, 1 << 15, (1 << 15) + 1, 70_000])
@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(10**6), MOST], ids=str)
def test_as_many_draws_come_as_were_asked_for(variance: Fraction, size: int) -> None:
    drawn = discrete_gaussian(variance, size)
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64


def test_the_callers_error_state_changes_nothing() -> None:
    with np.errstate(all="raise"):
        assert _Blocks(Fraction(1, 10**12), COARSE).draw(3, Scripted(rest=seeded(1)), fully=True).tolist() == [0] * 3
