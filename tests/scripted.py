"""A source of bits that says what the test wrote for it, so that the rarest paths are taken on purpose."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

Rest = Callable[[int], bytes]

TOP = (1 << 64) - 1
THIRD, TWO_THIRDS = 0x55, 0xAA  # the binary expansions 0.0101… and 0.1010…


class Scripted:
    """Give the script first, then whatever `rest` makes; count the bytes."""

    def __init__(self, script: bytes = b"", rest: Rest | None = None) -> None:
        self.left = script
        self.taken = 0
        self._rest = rest or nothing

    def take(self, count: int) -> bytes:
        head, self.left = self.left[:count], self.left[count:]
        self.taken += count
        return head if len(head) == count else head + self._rest(count - len(head))


def nothing(count: int) -> bytes:
    """Fail: the script was meant to be enough."""
    raise AssertionError(f"{count} more bytes were asked for than the script holds")


def endless(byte: int) -> Rest:
    """Repeat one byte, so that what follows a word w is a known fraction: U = (w + byte/255)/2^64."""
    return lambda count: bytes([byte]) * count


def seeded(seed: int) -> Rest:
    """Give reproducible bytes."""
    return random.Random(seed).randbytes  # noqa: S311 - reproducible on purpose


def words64(*values: int) -> bytes:
    """Write words as the samplers read them."""
    return np.array(values, dtype=np.uint64).tobytes()


def words16(*values: int) -> bytes:
    """Write 16-bit words as the samplers read them."""
    return np.array(values, dtype=np.uint16).tobytes()


def uniform(word: int, byte: int, point: int) -> int:
    """Return the first `point` bits of the U that starts with a word and goes on with one byte for ever."""
    return word << point - 64 | int.from_bytes(bytes([byte]) * (point // 8 - 8), "big")
