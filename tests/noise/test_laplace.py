from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from evidence import FALSE_ALARM, Sample, count_miss, fits, miss, p_value, tail_p_value, window, would_miss
from laws import Laplace
from scripted import THIRD, TWO_THIRDS, Scripted, endless, seeded, uniform, words16, words64
from tacit.noise import MAX_SCALE, discrete_laplace, discrete_laplace_of_private_scale
from tacit.noise.geometric import digits, geometric, geometric_of_private_scale
from tacit.noise.laplace import (
    SMALL,
    _difference_steps,
    _group_table,
    _grouped,
    _grouping,
    _laplace_steps,
    _tail_table,
    powers,
)

SIZE = 3 << 19
MUTANT = Fraction(98, 100)
POINT = 704
SCALES = [Fraction(s) for s in ("1/4", "3", "64", "65", "1000/3", "10000019/3", "1e9", "1e15", MAX_SCALE)]

Draw = Callable[[Fraction, int], Sample]


def by_digits(scale: Fraction, size: int) -> Sample:
    """Draw in small calls, which use the digits one by one."""
    parts = [discrete_laplace(scale, min(SMALL - 1, size - at)) for at in range(0, size, SMALL - 1)]
    return np.concatenate(parts).astype(np.int64)


def by_groups(scale: Fraction, size: int) -> Sample:
    """Draw in one large call, which uses the digits in groups."""
    return discrete_laplace(scale, size).astype(np.int64)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("draw", "scale"), [(by_groups, scale) for scale in SCALES] + [(by_digits, scale) for scale in SCALES[::2]]
)
def test_draws_have_the_stated_law_and_a_mutant_does_not(draw: Draw, scale: Fraction) -> None:
    sample, law, other = draw(scale, SIZE), Laplace(scale), Laplace(scale / MUTANT)
    assert fits(sample, law)
    assert would_miss(other, law, SIZE) < FALSE_ALARM
    assert not fits(sample, other)
    for multiple in (5, 8, 12):
        assert tail_p_value(sample, law, multiple) > FALSE_ALARM
    for low in range(0, int(scale).bit_length() + 1, 4):
        assert p_value(window(sample, low, 6), law.window(low, 6)) > FALSE_ALARM


def test_the_tail_beyond_five_scales_tells_a_mutant() -> None:
    scale, size = Fraction(1000), 4 * SIZE
    sample, law, other = by_groups(scale, size), Laplace(scale), Laplace(scale / MUTANT)
    beyond, claimed = other.tail(5)
    drawn = law.chances([-beyond, beyond + 1])
    assert count_miss(size, claimed, drawn[0] + drawn[2]) < FALSE_ALARM
    assert tail_p_value(sample, law, 5) > FALSE_ALARM
    assert tail_p_value(sample, other, 5) < FALSE_ALARM


@pytest.mark.parametrize("draw", [by_digits, by_groups])
@pytest.mark.parametrize("scale", [Fraction(1000), MAX_SCALE], ids=str)
def test_a_lean_in_any_digit_is_seen(draw: Draw, scale: Fraction) -> None:
    sample, law = draw(scale, SIZE), Laplace(scale)
    lean = np.random.default_rng(4).random(SIZE) < 0.02
    for low in range(0, int(scale).bit_length() - 2, 8):
        even = law.window(low, 6)
        odd = [p + 0.02 * even[j + 1] if j % 2 == 0 else 0.98 * p for j, p in enumerate(even)]
        assert miss(even, odd, SIZE) < FALSE_ALARM
        mutant = np.where(lean, sample & ~np.int64(1 << low), sample)
        assert p_value(window(mutant, low, 6), even) < FALSE_ALARM


def one_by_one(scale: Fraction, size: int) -> Sample:
    return np.array([discrete_laplace_of_private_scale(float(scale), digits(scale)) for _ in range(size)])


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1000 / 3), Fraction(10**15)], ids=str)
def test_a_private_scale_gives_the_stated_law_and_a_mutant_does_not(scale: Fraction) -> None:
    size = 1 << 13
    sample, law, other = one_by_one(scale, size), Laplace(scale), Laplace(scale * Fraction(3, 4))
    assert fits(sample, law)
    assert would_miss(other, law, size) < FALSE_ALARM
    assert not fits(sample, other)


@pytest.mark.long
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1000 / 3)], ids=str)
def test_a_private_scale_off_by_two_in_a_hundred_is_seen(scale: Fraction) -> None:
    sample, law, other = one_by_one(scale, SIZE), Laplace(scale), Laplace(scale / MUTANT)
    assert fits(sample, law)
    assert would_miss(other, law, SIZE) < FALSE_ALARM
    assert not fits(sample, other)


@pytest.mark.long
@pytest.mark.parametrize("draw", [by_digits, by_groups])
@pytest.mark.parametrize("scale", [Fraction(1000, 3), Fraction(10**15)], ids=str)
def test_a_scale_off_by_seven_in_a_thousand_is_seen(draw: Draw, scale: Fraction) -> None:
    sample, law, other = draw(scale, 8 * SIZE), Laplace(scale), Laplace(scale * Fraction(1007, 1000))
    assert fits(sample, law)
    assert would_miss(other, law, sample.size) < FALSE_ALARM
    assert not fits(sample, other)


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 50)], ids=str)
def test_tiny_scales_give_zero(scale: Fraction) -> None:
    """Anything else has probability below 2^18·e^-50 < 6e-17."""
    assert not discrete_laplace(scale, SMALL - 1).any()
    assert not discrete_laplace(scale, 1 << 16).any()
    assert discrete_laplace_of_private_scale(float(scale), 5) == 0


def pmf(steps: list[int]) -> list[int]:
    return [b - a for a, b in zip([0, *steps], [*steps, 1 << 192], strict=True)]


@pytest.mark.parametrize("scale", [Fraction(65), Fraction(1000, 3), Fraction(1000)], ids=str)
def test_the_groups_convolve_to_the_law(scale: Fraction) -> None:
    """Enumerate K = D + B·K' over the code's tables, at 192 bits, one group."""
    groups, width = _grouping(scale)
    assert groups == 1
    first_d, low = _difference_steps(scale, 1 << width)(192)
    first_k, high = _laplace_steps(scale / (1 << width))(192)
    inner, outer = pmf([lo for lo, _ in low]), pmf([lo for lo, _ in high])
    one, ratio = 1 << 192, oracles.exp_neg(1 / scale, 192)
    for k in [0, 1, -1, 2, 7, -8, 100, -333, 2000, 5000]:
        pairs = ((d, (k - d) >> width) for d in range(1 - (1 << width), 1 << width) if (k - d) % (1 << width) == 0)
        mixed = sum(inner[d - first_d] * outer[q - first_k] for d, q in pairs) >> 192
        truth = (one - ratio) * oracles.exp_neg(abs(k) / scale, 192) // (one + ratio)
        assert abs(mixed - truth) <= 64


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(1, 3), Fraction(64), MAX_SCALE], ids=str)
@pytest.mark.parametrize("precision", [64, 100, 400])
def test_powers_are_enclosed_and_drift_by_two_units_a_side(scale: Fraction, precision: int) -> None:
    for k, (lo, hi) in enumerate(powers(scale, 500, precision)):
        truth = oracles.exp_neg(k / scale, precision + 64)
        assert lo << 64 <= truth + oracles.SLACK
        assert truth - oracles.SLACK <= hi << 64
        assert hi - lo <= 4 * k


@given(scale=st.fractions(Fraction(1, 10**6), MAX_SCALE))
def test_groups_of_at_most_eight_digits_leave_a_scale_of_at_most_64(scale: Fraction) -> None:
    groups, width = _grouping(scale)
    assert scale / (1 << groups * width) <= 64
    assert 0 <= width <= 8
    assert groups == 0 or scale > 64


@given(scale=st.fractions(Fraction(1, 10), MAX_SCALE), seed=st.integers(0, 10**6), size=st.integers(1, 20))
def test_small_arrays_are_differences_of_two_geometric_ones(scale: Fraction, seed: int, size: int) -> None:
    pair = geometric(scale, 2 * size, Scripted(rest=seeded(seed)))
    drawn = discrete_laplace(scale, size, Scripted(rest=seeded(seed)))
    assert drawn.tolist() == [a - b for a, b in zip(pair[:size].tolist(), pair[size:].tolist(), strict=True)]
    plus, minus = geometric_of_private_scale(float(scale), 62, 2, Scripted(rest=seeded(seed)))
    assert discrete_laplace_of_private_scale(float(scale), 62, Scripted(rest=seeded(seed))) == plus - minus


@cache
def grouped_oracles(scale: Fraction) -> list[tuple[oracles.Inverse, int]]:
    """Return the law of the tail and of the groups from the top down, each with the number of bits below it."""
    groups, width = _grouping(scale)
    tail = oracles.laplace(scale / (1 << groups * width), POINT)
    parts = [oracles.difference(scale / (1 << g * width), 1 << width, POINT) for g in range(groups)]
    return [(tail, groups * width), *((part, g * width) for g, part in reversed(list(enumerate(parts))))]


@pytest.mark.parametrize("byte", [THIRD, TWO_THIRDS])
@pytest.mark.parametrize("cell", [1, 1000, 20_000, 32_767, 32_768, 50_001, 65_534])
@pytest.mark.parametrize(
    "scale", [Fraction(5, 3), Fraction(65), Fraction(10**6, 3), Fraction(10**15), MAX_SCALE], ids=str
)
def test_known_words_give_the_sum_of_their_groups(scale: Fraction, cell: int, byte: int) -> None:
    """Use one cell for all tables; if it does not decide, 48 more bits of one pattern."""
    u = uniform(cell << 48 | int.from_bytes(bytes([byte]) * 6, "big"), byte, POINT)
    expected = sum(law.outcome(u) << above for law, above in grouped_oracles(scale))
    script = b"".join(group_words(scale, cell, byte))
    source = Scripted(script, endless(byte))
    assert _grouped(scale, 1, source).tolist() == [expected]
    assert source.left == b""


def group_words(scale: Fraction, cell: int, byte: int) -> list[bytes]:
    """Return the bytes that each table reads: a cell, and eight more if the cell does not decide."""
    groups, width = _grouping(scale)
    tables = [_tail_table(scale / (1 << groups * width))]
    tables += [_group_table(scale / (1 << g * width), width) for g in reversed(range(groups))]
    more = [table.guide[cell] == np.iinfo(np.int16).min for table in tables]
    return [words16(cell) + bytes([byte]) * 8 * bool(asks) for asks in more]


@pytest.mark.parametrize("zeros", [104, 256, 504])
@pytest.mark.parametrize(
    "scale", [Fraction(5, 3), Fraction(64), Fraction(10**6, 3), Fraction(10**15), MAX_SCALE], ids=str
)
def test_large_arrays_reach_the_far_tail_exactly(scale: Fraction, zeros: int) -> None:
    """U = 2^-zeros/3 for the tail, and 1/3 for every group."""
    source = Scripted(words16(0) + bytes(zeros // 8), endless(THIRD))
    drawn = _grouped(scale, 1, source)
    (tail, above), *groups = grouped_oracles(scale)
    low = sum(law.outcome((1 << POINT) // 3) << at for law, at in groups)
    assert drawn.dtype == object
    assert drawn.tolist() == [(tail.outcome((1 << POINT - zeros) // 3) << above) + low]


@pytest.mark.parametrize("size", [0, 1, SMALL - 1, SMALL, SMALL + 1, 1 << 15, (1 << 15) + 1, 70_000])
@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(10), MAX_SCALE], ids=str)
def test_as_many_draws_come_as_were_asked_for(scale: Fraction, size: int) -> None:
    drawn = discrete_laplace(scale, size)
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64


def test_chunks_are_not_copies() -> None:
    chunks = discrete_laplace(MAX_SCALE, 4 << 15).reshape(4, -1)
    assert len({chunk.tobytes() for chunk in chunks}) == 4


def test_far_draws_of_either_way_add_as_whole_numbers() -> None:
    """A plus far out and a minus of zero: more than fits into 64 bits."""
    count = digits(MAX_SCALE)
    far, zero = [0] * (count + 1), [(1 << 64) - 1] * (count + 1)
    source = Scripted(words64(*far, *zero) + bytes(8) + b"\xff" * 8)
    assert discrete_laplace(MAX_SCALE, 1, source).tolist() == [(1 << count) - 1 + (1 << count)]
    source = Scripted(words64(*zero, *far) + bytes(8) + b"\xff" * 8)
    assert discrete_laplace_of_private_scale(float(MAX_SCALE), count, source) == 1 - (2 << count)
