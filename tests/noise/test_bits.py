from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from children import result_of_child
from evidence import FALSE_ALARM, miss, p_value
from scripted import Scripted
from tacit.noise import bits
from tacit.noise.bits import SystemBits, extend, words

EVEN = [1 / 256] * 256
SIZES = [0, 1, 15, 16, 8191, 8192, 8193, 262143, 262144, 262145, 524287, 524288, 524289, 1_000_003]


class Stale(SystemBits):
    """A mutant that keeps its block across a fork."""

    def _forget(self) -> None:
        pass


class Rewound(SystemBits):
    """A mutant that returns the start of its block again and again."""

    def take(self, count: int) -> bytes:
        taken = super().take(count)
        self._thread.block = (self._thread.block[0], 0)
        return taken


def taken_in_a_child(source: SystemBits, count: int) -> bytes:
    """Fork, let the child draw, and read its bytes."""
    return result_of_child(lambda: source.take(count))


@pytest.fixture(params=[False, True], ids=["its own number", "the number of its parent"])
def number_of_child(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a child have another number than its parent, or the same one."""
    if request.param:
        monkeypatch.setattr(os, "getpid", lambda: 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.usefixtures("number_of_child")
@pytest.mark.parametrize("before", [0, 1, 8191])
def test_a_forked_child_takes_other_bytes_than_its_parent(before: int) -> None:
    source = SystemBits()
    source.take(before)
    children = [taken_in_a_child(source, 32) for _ in range(3)]
    assert len({source.take(32), *children}) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_source_that_did_not_forget_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    source = Stale()
    source.take(1)
    assert taken_in_a_child(source, 32) == source.take(32)


def test_threads_take_other_bytes() -> None:
    source = SystemBits()
    taken: list[bytes] = []
    gate = threading.Barrier(8)

    def take() -> None:
        gate.wait()
        taken.extend(source.take(16) for _ in range(2000))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(taken)) == 8 * 2000


def test_a_thread_leaves_the_block_of_another_alone() -> None:
    source = SystemBits()
    source.take(1)
    block = source._thread.block
    thread = threading.Thread(target=source.take, args=(100,))
    thread.start()
    thread.join()
    assert source._thread.block is block


class Interrupting(int):
    """A count whose addition draws in between, as a signal handler would."""

    source: SystemBits
    drawn: list[bytes]

    def __radd__(self, other: int) -> int:
        self.drawn.append(self.source.take(16))
        return other + int(self)


def test_a_draw_amid_a_draw_takes_other_bytes() -> None:
    source = SystemBits()
    drawn: list[bytes] = []
    for before in (0, 100, 8192 - 40):
        count = Interrupting(16)
        count.source, count.drawn = source, drawn
        source.take(before)
        drawn.append(source.take(count))
    assert len(drawn) > 6
    assert len(set(drawn)) == len(drawn)


def repeats(source: SystemBits) -> int:
    """Count runs of 16 bytes that occur twice; by chance, once in 2^94 runs of this test."""
    taken = [source.take(n) for n in [1, 17, 100, 8191, 3, 8192, 40, 8000, 150, 20_000, 16, 300, 8193, 64]]
    runs = [part[at : at + 16] for part in taken for at in range(len(part) - 15)]
    return len(runs) - len(set(runs))


def test_no_byte_is_given_twice() -> None:
    assert repeats(SystemBits()) == 0


def test_a_source_that_gave_bytes_twice_would_be_caught() -> None:
    assert repeats(Rewound()) > 0


@pytest.mark.parametrize("size", SIZES)
def test_as_many_bytes_come_as_were_asked_for(size: int) -> None:
    source = SystemBits()
    for _ in range(3):
        assert len(source.take(size)) == size


def test_small_takes_walk_through_one_block_and_drop_its_end() -> None:
    source = SystemBits()
    first = source.take(5000)
    block = source._thread.block[0]
    second = source.take(3192)
    assert first + second == block
    source.take(0)
    assert source._thread.block == (block, 8192)
    assert source.take(1) == source._thread.block[0][:1]
    assert source._thread.block[0] != block


@pytest.mark.parametrize(("size", "blocks"), [(1, 1), (8192, 1), (262144, 1), (262145, 2), (600_000, 3)])
def test_every_block_has_a_separate_key(monkeypatch: pytest.MonkeyPatch, size: int, blocks: int) -> None:
    keys = []
    system = os.urandom

    def urandom(count: int) -> bytes:
        keys.append(system(count))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    SystemBits().take(size)
    assert [len(key) for key in keys] == [32] * blocks
    assert len(set(keys)) == blocks


def test_the_stretch_is_aes_256_in_counter_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known answers: the zero block under the zero key, and under key 80 00 … (NIST AESAVS, appendix E)."""
    monkeypatch.setattr(os, "urandom", bytes)
    assert bits._stretch(16).hex() == "dc95c078a2408989ad48a21492842087"
    monkeypatch.setattr(os, "urandom", lambda count: b"\x80" + bytes(count - 1))
    assert bits._stretch(16).hex() == "e35a6dcb19b201a01ebcfa8aa22b5759"


def test_bytes_are_even_and_a_small_lean_is_seen() -> None:
    taken = np.frombuffer(SystemBits().take(1 << 22), dtype=np.uint8)
    counts = np.bincount(taken, minlength=256)
    assert p_value(counts, EVEN) > FALSE_ALARM
    leaning = np.where(np.random.default_rng(1).random(taken.size) < 0.02, taken & 0xFE, taken)
    lean = [1.02 / 256, 0.98 / 256] * 128
    assert miss(EVEN, lean, taken.size) < FALSE_ALARM
    assert p_value(np.bincount(leaning, minlength=256), EVEN) < FALSE_ALARM


def test_bytes_taken_one_by_one_are_even_too() -> None:
    source = SystemBits()
    counts = np.bincount([source.take(1)[0] for _ in range(1 << 17)], minlength=256)
    assert p_value(counts, EVEN) > FALSE_ALARM


def test_words_take_what_their_width_needs() -> None:
    script = bytes(range(40))
    assert words(Scripted(script), np.uint8, 40).tobytes() == script
    assert words(Scripted(script), np.uint16, 20).tobytes() == script
    assert words(Scripted(script), np.uint32, 10).tobytes() == script
    assert words(Scripted(script), np.uint64, 5).tobytes() == script


def test_extend_appends_the_bits_in_the_order_drawn() -> None:
    assert extend(Scripted(b"\x01\x02\x03"), 0b101, 24) == 0b101 << 24 | 0x010203
    assert extend(Scripted(), 7, 0) == 7
