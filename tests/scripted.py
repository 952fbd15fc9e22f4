"""A source of bits that returns a script, so that tests can force the rarest paths."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

Rest = Callable[[int], bytes]

TOP = (1 << 64) - 1
THIRD, TWO_THIRDS = 0x55, 0xAA  # the binary expansions 0.0101… and 0.1010…


class Scripted:
    """Return the script first, then the bytes of `rest`; count the bytes."""

    def __init__(self, script: bytes = b"", rest: Rest | None = None) -> None:
        self.left = script
        self.taken = 0
        self._rest = rest or nothing

    def take(self, count: int) -> bytes:
        head, self.left = self.left[:count], self.left[count:]
        self.taken += count
        return head if len(head) == count else head + self._rest(count - len(head))


def nothing(count: int) -> bytes:
    """Fail: the script should have been enough."""
    raise AssertionError(f"{count} more bytes were asked for than the script holds")


def endless(byte: int) -> Rest:
    """Repeat one byte for ever, so that the bits after a word w are a known fraction: U = (w + byte/255)/2^64."""
    return lambda count: bytes([byte]) * count


def seeded(seed: int) -> Rest:
    """Return reproducible bytes."""
    return random.Random(seed).randbytes  # noqa: S311 - reproducible on purpose


def words64(*values: int) -> bytes:
    """Write words as the samplers read them."""
    return np.array(values, dtype=np.uint64).tobytes()


def words16(*values: int) -> bytes:
    """Write 16-bit words as the samplers read them."""
    return np.array(values, dtype=np.uint16).tobytes()


def uniform(word: int, byte: int, point: int) -> int:
    """Return the first `point` bits of the U that starts with a word and continues with one byte for ever."""
    return word << point - 64 | int.from_bytes(bytes([byte]) * (point // 8 - 8), "big")
