"""The loops give the same results as Python's integers, including ties and large numbers; compiled and in Python."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import njit

from tacit.anonymity import compilation
from tacit.anonymity.class_kernels import (
    entropy_holds,
    number_pairs,
    product_at_most,
    recursive_fails,
    sort_falling,
)
from tacit.anonymity.classes import entropy_at_least, recursive_holds
from tacit.anonymity.compilation import SOURCES, announce_compilation, compiled
from tacit.anonymity.kernels import ENTRIES, Kernel, fits_plain, running
from tacit.anonymity.lattice_kernels import score_levels, walk

large = st.integers(0, 2**63 - 1) | st.integers(0, 100)
counts = st.lists(st.integers(1, 9) | st.integers(1, 10**6), min_size=1, max_size=8)


PLAIN = pytest.mark.parametrize("plain", [True, False], ids=["python", "compiled"])


def call(function: Kernel, *arguments: object, plain: bool) -> Any:  # noqa: ANN401 - as of a kernel
    with running(function, plain=plain) as loop:
        return loop(*arguments)


@PLAIN
@settings(max_examples=300, deadline=None)
@given(a=large, b=large, c=large, d=large)
def test_products_are_compared_in_full(a: int, b: int, c: int, d: int, *, plain: bool) -> None:
    factors = map(np.int64, (a, b, c, d))
    assert call(product_at_most, *factors, plain=plain) == (a * b <= c * d)


@PLAIN
@settings(max_examples=100, deadline=None)
@given(a=st.integers(1, 2**31), b=st.integers(1, 2**31), more=st.integers(-1, 1))
def test_products_that_differ_by_little_are_told_apart(a: int, b: int, more: int, *, plain: bool) -> None:
    factors = map(np.int64, (a, b, a * b + more, 1))
    assert call(product_at_most, *factors, plain=plain) == (more >= 0)


@PLAIN
@settings(max_examples=200, deadline=None)
@given(held=counts, level=st.fractions(1, 6, max_denominator=4))
@example(held=[4, 1, 1, 1, 1], level=Fraction(4))
@example(held=[4_000_000, 10**6, 10**6, 10**6, 10**6], level=Fraction(4))
@example(held=[5, 5, 5], level=Fraction(3))
@example(held=[2, 1, 1], level=Fraction(3))
def test_entropy_is_decided_as_by_integers(held: list[int], level: Fraction, *, plain: bool) -> None:
    doubts = np.zeros(1, dtype=np.int64)
    array = np.array(held, dtype=np.int64)
    p, q = np.int64(level.numerator), np.int64(level.denominator)
    _, holds = call(entropy_holds, array, np.int64(len(held)), np.int64(sum(held)), p, q, doubts, plain=plain)
    assert bool(holds) == entropy_at_least(held, level) or (doubts[0] == 1 and not holds)
    if max(held) < 10:
        assert doubts[0] == 0


@PLAIN
@settings(max_examples=200, deadline=None)
@given(held=counts, l=st.integers(1, 5), c=st.fractions(Fraction(1, 4), 6, max_denominator=10**9))
def test_recursive_diversity_is_decided_as_by_fractions(
    held: list[int],
    l: int,  # noqa: E741 - the literature's letter
    c: Fraction,
    *,
    plain: bool,
) -> None:
    array = np.array(held, dtype=np.int64)
    numbers = map(np.int64, (len(held), l, c.numerator, c.denominator))
    fails = call(recursive_fails, array, *numbers, plain=plain)
    assert bool(fails) == (not recursive_holds(held, c, l))


@pytest.mark.parametrize(
    ("width", "rows", "plain"), [(3, 5000, False), (2**30, 5000, False), (3, 5000, True), (400_000, 5000, True)]
)
def test_equal_pairs_get_equal_numbers_by_table_and_by_hash(width: int, rows: int, *, plain: bool) -> None:
    """Check both ways, and in Python the largest width that is admitted for so many rows, up to 7 %."""
    assert not plain or fits_plain(rows, width)
    rng = np.random.default_rng(3)
    left = rng.integers(rows - 50, rows, rows).astype(np.int32)
    right = (rng.integers(0, 3, rows) * (width // 3)).astype(np.int32)
    keys, values = np.empty(2**15, dtype=np.int64), np.empty(2**15, dtype=np.int32)
    ids = np.empty(rows, dtype=np.int32)
    found = call(number_pairs, left, right, width, rows, keys, values, ids, plain=plain)
    seen: dict[tuple[int, int], int] = {}
    want = [seen.setdefault(pair, len(seen)) for pair in zip(left.tolist(), right.tolist(), strict=True)]
    assert (found, ids.tolist()) == (len(seen), want)


def test_tables_whose_products_pass_31_bits_are_compiled() -> None:
    assert fits_plain(2**15, 2**15)
    assert not fits_plain(2**15, 2**16)
    assert not fits_plain(2**16, 1)


def test_a_compilation_is_announced_and_a_second_call_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation._Notice, "written", False)
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
    monkeypatch.setattr(compilation._Notice, "written", False)
    for fresh in (njit(lambda x: x + 3), njit(lambda x: x + 4)):
        with announce_compilation(fresh):
            fresh(1)
    assert capsys.readouterr().err.count("compiling") == 1


def test_the_cache_depends_on_every_file_of_compiled_code_and_of_its_state() -> None:
    """numba checks only the file of a function, and fails on a cached named tuple that has another name."""
    folder = Path(compilation.__file__).parent
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert {name for name, text in texts.items() if "(NamedTuple)" in text or "\n@inner_kernel" in text} == {*SOURCES}
    assert compiled(walk).py_func.__qualname__ not in {"walk", "walk_unknown"}  # type: ignore[attr-defined]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 9) | st.integers(0, 10**9), max_size=60))
def test_counts_are_sorted_from_the_largest(held: list[int]) -> None:
    array = np.array([*held, 7], dtype=np.int64)
    sort_falling(array, len(held))
    assert array.tolist() == [*sorted(held, reverse=True), 7]


def test_every_kernel_has_its_own_copy_for_the_compiler_that_calls_other_copies() -> None:
    assert len(ENTRIES) > 30
    copy = compiled(walk).py_func  # type: ignore[attr-defined]
    assert copy.__globals__["score_levels"] is compiled(score_levels)
    assert walk.__globals__["score_levels"] is score_levels
