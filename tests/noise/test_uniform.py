from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence import FALSE_ALARM, miss, p_value
from scripted import Scripted, seeded
from tacit.noise import below_integer

SIZES = [2, 3, 7, 255, 256, 257, 1000, 10**9 + 7, 2**64 - 1, 2**64, 2**64 + 1, 3 * 2**80, 10**40]


def width(n: int) -> int:
    """Return the number of bytes of one try: at least 64 bits more than n has."""
    return (n.bit_length() + 71) // 8


def script(n: int, *tries: int) -> Scripted:
    return Scripted(b"".join(u.to_bytes(width(n), "big") for u in tries))


def first_word(n: int, value: int) -> int:
    """Return the least u that is accepted and gives the value: u·n ≥ value·2^L + (2^L mod n)."""
    size = 1 << 8 * width(n)
    return -(-(value * size + size % n) // n)


@pytest.mark.parametrize("n", SIZES)
def test_every_value_has_equally_many_words(n: int) -> None:
    """The words of a value are exactly ⌊2^L/n⌋ in a row."""
    share = (1 << 8 * width(n)) // n
    for value in {0, 1, n // 3, n // 2, n - 2, n - 1}:
        first, other = first_word(n, value), (value + 1) % n
        assert below_integer(n, script(n, first)) == value
        assert below_integer(n, script(n, first + share - 1)) == value
        for outside in {max(first - 1, 0), first + share} - {first, 1 << 8 * width(n)}:
            assert below_integer(n, script(n, outside, first_word(n, other))) != value


@pytest.mark.parametrize("n", [3, 10, 10**9 + 7, 10**40])
def test_a_rejected_word_is_followed_by_another(n: int) -> None:
    source = script(n, 0, 0, first_word(n, 2))  # u = 0 leaves the remainder 0 < 2^L mod n
    assert below_integer(n, source) == 2
    assert source.left == b""


def test_one_candidate_needs_no_luck() -> None:
    assert {below_integer(1, Scripted(rest=seeded(3))) for _ in range(100)} == {0}


@given(n=st.integers(1, 10**50), seed=st.integers(0, 10**6))
def test_a_value_is_at_least_zero_and_below_n(n: int, seed: int) -> None:
    assert 0 <= below_integer(n, Scripted(rest=seeded(seed))) < n


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("n", "size"), [(2, 1 << 20), (3, 1 << 20), (10, 1 << 17), (100, 1 << 17), (10**9 + 7, 1 << 17), (10**40, 1 << 17)]
)
def test_values_are_even_and_a_small_lean_is_seen(n: int, size: int) -> None:
    bins = min(n, 50)
    even = [-(-(b + 1) * n // bins) / n - -(-b * n // bins) / n for b in range(bins)]
    counts = np.bincount([below_integer(n) * bins // n for _ in range(size)], minlength=bins)
    assert p_value(counts, even) > FALSE_ALARM
    lean = [even[0] + 0.02 * (1 - even[0]), *(0.98 * p for p in even[1:])]
    assert miss(lean, even, size) < FALSE_ALARM
    assert p_value(counts, lean) < FALSE_ALARM
