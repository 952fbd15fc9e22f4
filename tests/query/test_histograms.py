"""Counts of many bins: sparse ones made dense, added up, with noise, and packed; exact in 64 bits and beyond."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.arrays import WideInts
from tacit.errors import InternalError
from tacit.query.histograms import WORD, BinRows, Histograms, Packed, dense_blocks, in_blocks, pack, with_noise
from tacit.query.noise_law import NoiseLaw

LAW = NoiseLaw(law="laplace", amount=Fraction(1000), sensitivity=1, moving=1)
SIZES = st.integers(1, 9) | st.sampled_from([2**40, 2**60, 2**61, 2**62 - 1, 2**62, 2**63, 2**70, 2**124])


@st.composite
def sparse(draw: st.DrawFn) -> tuple[Histograms, dict[tuple[int, int], int]]:
    groups, bins = draw(st.integers(0, 6)), draw(st.integers(2, 9))
    places = st.tuples(st.integers(0, max(groups - 1, 0)), st.integers(0, bins - 1))
    found = draw(st.dictionaries(places, SIZES, max_size=20)) if groups else {}
    cells = sorted(found)
    columns = [[group for group, _ in cells], [number for _, number in cells]]
    columns += [[found[cell] % 2**WORD for cell in cells], [found[cell] >> WORD for cell in cells]]
    return Histograms(groups, bins, *(np.array(one, dtype=np.int64) for one in columns)), found


@given(sparse(), st.data())
def test_dense_counts_are_what_was_named_and_zeros(one: tuple[Histograms, dict[tuple[int, int], int]], data: st.DataObject) -> None:  # fmt: skip # noqa: E501
    histograms, found = one
    first = data.draw(st.integers(0, histograms.groups))
    last = data.draw(st.integers(first, histograms.groups))
    cells = [(group, number) for group in range(first, last) for number in range(histograms.bins)]
    assert histograms.of(first, last).tolist() == [found.get(cell, 0) for cell in cells]
    assert len(histograms) == histograms.groups * histograms.bins


@given(sparse(), st.integers(1, 10))
def test_blocks_add_up_exactly_and_the_last_may_be_shorter(
    one: tuple[Histograms, dict[tuple[int, int], int]], block: int
) -> None:
    histograms, _ = one
    counts, bins = histograms.of(0, histograms.groups), histograms.bins
    if counts.size:
        rows = [counts[i : i + bins].tolist() for i in range(0, counts.size, bins)]
        expected = [sum(row[i : i + block]) for row in rows for i in range(0, bins, block)]
        assert in_blocks(counts, bins, block).tolist() == expected


@given(sparse(), st.integers(1, 30), st.integers(1, 7), st.sampled_from([1, 2**20]))
def test_blocks_of_batches_are_all_counts(
    one: tuple[Histograms, dict[tuple[int, int], int]], most: int, batch: int, factor: int
) -> None:
    histograms, found = one
    rows = [(group, number, found[group, number]) for group, number in sorted(found)]
    batches = [rows[i : i + batch] for i in range(0, len(rows), batch)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.query.histograms.AT_ONCE", most)
        blocks = list(dense_blocks(batches, histograms.groups, histograms.bins, factor))
    cells = [(group, number) for group in range(histograms.groups) for number in range(histograms.bins)]
    assert [int(count) for block in blocks for count in block] == [found.get(cell, 0) * factor for cell in cells]
    assert all(block.size <= max(most, histograms.bins) and block.size % histograms.bins == 0 for block in blocks)
    assert all(block.dtype == object or float(block.sum(dtype=float)) < 2.0**61 for block in blocks)


def test_large_counts_of_a_block_add_up_exactly() -> None:
    """Each count fits 64 bits, and their sum does not."""
    (block,) = dense_blocks([[(0, number, 2**60) for number in range(9)]], 1, 9)
    assert in_blocks(block, 9, 9).tolist() == [9 * 2**60]


@pytest.mark.parametrize("rows", [[(3, 0, 1), (0, 0, 1)], [(4, 0, 1)], [(0, 0, 1), (-1, 0, 1)]])
def test_rows_out_of_order_and_unknown_groups_are_no_counts(rows: BinRows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.query.histograms.AT_ONCE", 2)
    with pytest.raises(InternalError):
        list(dense_blocks([[row] for row in rows], 4, 2))


class Scripted(NoiseLaw):
    """Noise that is known."""

    def draw_array(self, size: int, bits: object = None) -> WideInts:
        del bits
        return np.array(self.script[:size], dtype=self.kind)

    script: list[int]
    kind: type


@pytest.mark.parametrize("noise", [0, 5, -5, 2**61 - 1, -(2**61), 2**63 - 1, -(2**63), 2**63, -(2**70)])
@pytest.mark.parametrize("count", [0, 1, 2**60, 2**63 - 1, 2**63, 2**80])
def test_noise_is_added_without_a_bit_lost(noise: int, count: int) -> None:
    fits = -(2**63) <= noise < 2**63
    law = type("Known", (Scripted,), {"script": [noise], "kind": np.int64 if fits else object})(
        law="laplace", amount=Fraction(1), sensitivity=1, moving=1
    )
    counts = np.array([count], dtype=np.int64 if count <= 2**60 else object)
    assert with_noise(counts, law).tolist() == [count + noise]


def test_noise_is_fresh_for_each_count_and_each_time() -> None:
    """With scale 1,000, two thousand draws have fewer than ten different values with probability below 1e-1000."""
    counts = np.zeros(2000, dtype=np.int64)
    one, two = with_noise(counts, LAW), with_noise(counts, LAW)
    assert len(set(one.tolist())) > 10
    assert one.tolist() != two.tolist()
    assert not counts.any()


@given(st.lists(st.integers(-(2**64), 2**64), max_size=80))
def test_packed_integers_are_the_same_integers(some: list[int]) -> None:
    packed = pack(some)
    assert list(packed) == some
    assert len(packed) == len(some)
    assert [packed[i] for i in range(len(some))] == some
    assert list(packed[1:3]) == some[1:3]
    assert all(type(x) is int for x in packed)
    assert np.array(packed, dtype=np.float64).tolist() == [float(x) for x in some]


def test_packed_integers_have_values_like_tuples() -> None:
    one, same, other = pack(range(100)), pack(np.arange(100)), pack(range(1, 101))
    assert isinstance(one, Packed)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert "99" not in repr(one)


def test_a_part_of_a_large_array_does_not_keep_it() -> None:
    whole = np.arange(1000)
    part = pack(whole[:100])
    whole[:] = -1
    assert list(part) == list(range(100))
