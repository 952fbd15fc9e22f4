"""Where chance comes from: the operating system's random bytes, stretched by AES-256 in counter mode.

Statement. `SystemBits.take(n)` returns n bytes that no feasible computation tells from uniform ones, if
AES-256 is a pseudorandom permutation and `os.urandom` is ideal: every block of at most 256 KiB has a key of
its own, so a block holds at most 2^14 cipher blocks and counter mode is at most 2^28/2^129 from ideal by the
switching lemma (Bellare and Rogaway, EUROCRYPT 2006, lemma 1).

On real bits: there is no seed and no state that outlives a block, so a copy of the process cannot repeat a
block it has not drawn; what is left of the current block is dropped in a forked child. A draw takes the block
out of its place and puts the rest back, so a signal handler or finaliser that draws in between starts a block
of its own. A snapshot of a whole machine that is resumed twice does repeat the rest of the current block (at
most 8 KiB for small draws).
"""

from __future__ import annotations

import os
import threading
from typing import Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

Word = TypeVar("Word", np.uint8, np.uint16, np.uint32, np.uint64)

_SMALL = 8 * 1024
_LARGE = 256 * 1024


class BitSource(Protocol):
    """Anything that gives uniform bytes; the tests hand in scripted ones, below the public surface."""

    def take(self, count: int) -> bytes:
        """Return `count` fresh uniform bytes."""


class SystemBits:
    """The operating system's randomness, stretched; safe across threads and forks, never seedable."""

    def __init__(self) -> None:
        """Start with an empty block for every thread."""
        self._thread = threading.local()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._thread = threading.local()

    def take(self, count: int) -> bytes:
        """Return `count` fresh bytes; none is ever returned twice."""
        if count >= _SMALL:
            return b"".join(_stretch(min(_LARGE, count - at)) for at in range(0, count, _LARGE))
        own = self._thread.__dict__
        block, at = cast(
            "tuple[bytes, int]", own.pop("block", (b"", 0))
        )  # out of reach of a signal handler that draws meanwhile
        if at + count > len(block):
            block, at = _stretch(_SMALL), 0
        own["block"] = (block, at + count)
        return block[at : at + count]


def _stretch(count: int) -> bytes:
    """Encrypt zeros under a key that is used for this block alone."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415 - heavy

    key = os.urandom(32)
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(count))


SYSTEM = SystemBits()


def words(bits: BitSource, dtype: type[Word], count: int) -> npt.NDArray[Word]:
    """Draw `count` uniform unsigned integers of one width."""
    return np.frombuffer(bits.take(count * np.dtype(dtype).itemsize), dtype=dtype)


def extend(bits: BitSource, prefix: int, count: int) -> int:
    """Append `count` (a multiple of 8) fresh bits to an integer that holds the first bits of a uniform real."""
    return prefix << count | int.from_bytes(bits.take(count // 8), "big")
