"""The compiled loops give the same results as Python's integers, including ties and large numbers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import njit

from tacit.anonymity import class_kernels
from tacit.anonymity.class_kernels import (
    SOURCES,
    announce_compilation,
    entropy_holds,
    number_pairs,
    product_at_most,
    recursive_fails,
    sort_falling,
)
from tacit.anonymity.classes import entropy_at_least, recursive_holds
from tacit.anonymity.lattice_kernels import walk

large = st.integers(0, 2**63 - 1) | st.integers(0, 100)
counts = st.lists(st.integers(1, 9) | st.integers(1, 10**6), min_size=1, max_size=8)


@settings(max_examples=300, deadline=None)
@given(large, large, large, large)
def test_products_are_compared_in_full(a: int, b: int, c: int, d: int) -> None:
    assert product_at_most(np.int64(a), np.int64(b), np.int64(c), np.int64(d)) == (a * b <= c * d)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 2**31), st.integers(1, 2**31), st.integers(-1, 1))
def test_products_that_differ_by_little_are_told_apart(a: int, b: int, more: int) -> None:
    assert product_at_most(np.int64(a), np.int64(b), np.int64(a * b + more), np.int64(1)) == (more >= 0)


@settings(max_examples=200, deadline=None)
@given(counts, st.fractions(1, 6, max_denominator=4))
@example([4, 1, 1, 1, 1], Fraction(4))
@example([4_000_000, 10**6, 10**6, 10**6, 10**6], Fraction(4))
@example([5, 5, 5], Fraction(3))
@example([2, 1, 1], Fraction(3))
def test_entropy_is_decided_as_by_integers(held: list[int], level: Fraction) -> None:
    doubts = np.zeros(1, dtype=np.int64)
    array = np.array(held, dtype=np.int64)
    p, q = np.int64(level.numerator), np.int64(level.denominator)
    _, holds = entropy_holds(array, np.int64(len(held)), np.int64(sum(held)), p, q, doubts)
    assert bool(holds) == entropy_at_least(held, level) or (doubts[0] == 1 and not holds)
    if max(held) < 10:
        assert doubts[0] == 0


@settings(max_examples=200, deadline=None)
@given(counts, st.integers(1, 5), st.fractions(Fraction(1, 4), 6, max_denominator=10**9))
def test_recursive_diversity_is_decided_as_by_fractions(held: list[int], l: int, c: Fraction) -> None:  # noqa: E741 - the literature's letter
    array = np.array(held, dtype=np.int64)
    fails = recursive_fails(array, np.int64(len(held)), np.int64(l), np.int64(c.numerator), np.int64(c.denominator))
    assert bool(fails) == (not recursive_holds(held, c, l))


@pytest.mark.parametrize("width", [3, 2**30])
def test_equal_pairs_get_equal_numbers_by_table_and_by_hash(width: int) -> None:
    rng = np.random.default_rng(3)
    left = rng.integers(0, 50, 5000).astype(np.int32)
    right = (rng.integers(0, 3, 5000) * (width // 3)).astype(np.int32)
    keys, values = np.empty(2**15, dtype=np.int64), np.empty(2**15, dtype=np.int32)
    ids = np.empty(5000, dtype=np.int32)
    found = number_pairs(left, right, width, 5000, keys, values, ids)
    seen: dict[tuple[int, int], int] = {}
    want = [seen.setdefault(pair, len(seen)) for pair in zip(left.tolist(), right.tolist(), strict=True)]
    assert (found, ids.tolist()) == (len(seen), want)


def test_a_compilation_is_announced_and_a_second_call_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_kernels._Notice, "written", False)
    fresh = njit(lambda x: x + 1)
    with announce_compilation(fresh):
        assert fresh(1) == 2
    assert "once" in capsys.readouterr().err
    with announce_compilation(fresh):
        assert fresh(2) == 3
        assert njit(lambda x: x + 2)(1) == 3  # the compilation of another function is not reported
    assert not capsys.readouterr().err


def test_a_process_announces_one_compilation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_kernels._Notice, "written", False)
    for fresh in (njit(lambda x: x + 3), njit(lambda x: x + 4)):
        with announce_compilation(fresh):
            fresh(1)
    assert capsys.readouterr().err.count("compiling") == 1


def test_the_cache_depends_on_every_file_of_compiled_code_and_of_its_state() -> None:
    """numba checks only the file of a function, and fails on a cached named tuple that has another name."""
    folder = Path(class_kernels.__file__).parent
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert {name for name, text in texts.items() if "(NamedTuple)" in text or "jit_inner" in text} == {*SOURCES}
    assert walk.py_func.__qualname__ not in {"walk", "walk_unknown"}  # type: ignore[attr-defined]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 9) | st.integers(0, 10**9), max_size=60))
def test_counts_are_sorted_from_the_largest(held: list[int]) -> None:
    array = np.array([*held, 7], dtype=np.int64)
    sort_falling.py_func(array, len(held))  # type: ignore[attr-defined]
    assert array.tolist() == [*sorted(held, reverse=True), 7]
