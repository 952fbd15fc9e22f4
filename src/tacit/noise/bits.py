"""Random bits: the operating system's random bytes, stretched by AES-256 in counter mode.

Statement. If AES-256 is a pseudorandom permutation and `os.urandom` is ideal, no feasible computation can distinguish
the n bytes of `SystemBits.take(n)` from uniform ones. Every block of at most 256 KiB has a separate key, so it holds
at most 2^14 cipher blocks, and counter mode is at most 2^28/2^129 from ideal by the switching lemma (Bellare and
Rogaway, EUROCRYPT 2006, lemma 1).

On real bits: there is no seed and no state that outlives a block, so a copy of the process cannot repeat a block that
it has not drawn. A forked child drops the rest of the current block: a hook of `os.fork` drops it, and each draw
compares the number of the process, because a fork in C (by `mclapply` in R, say) runs no hook of Python. A draw removes
the block from the thread's storage and puts the rest back afterwards, so a signal handler or finaliser that draws in
between starts a new block.
A snapshot of a whole machine that is resumed twice does repeat the rest of the current block (at most 8 KiB for small
draws).
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
    """Anything that gives uniform bytes. Tests pass scripted bytes, below the public surface."""

    def take(self, count: int) -> bytes:
        """Return `count` fresh uniform bytes."""


class SystemBits:
    """The operating system's randomness, stretched. It is safe across threads and forks and takes no seed."""

    def __init__(self) -> None:
        """Start with an empty block for every thread."""
        self._thread = threading.local()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._thread = threading.local()

    def take(self, count: int) -> bytes:
        """Return `count` fresh bytes; no byte is returned twice."""
        if count >= _SMALL:
            return b"".join(_stretch(min(_LARGE, count - at)) for at in range(0, count, _LARGE))
        storage = self._thread.__dict__
        block, at = cast(
            "tuple[bytes, int]", storage.pop("block", (b"", 0))
        )  # removed, so that a signal handler that draws meanwhile cannot use it
        process = os.getpid()
        if at + count > len(block) or storage.get("process") != process:
            block, at = _stretch(_SMALL), 0
            storage["process"] = process
        storage["block"] = (block, at + count)
        return block[at : at + count]


def _stretch(count: int) -> bytes:
    """Encrypt zeros with a key that is used for this block only."""
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


def below_integer(n: int, bits: BitSource = SYSTEM) -> int:
    """Draw an integer uniformly from {0, …, n-1}, for n ≥ 1 of any size.

    With L = bits(n) + 64 random bits u, the value ⌊u·n/2^L⌋ is uniform on {0,…,n-1} once the 2^L mod n lowest
    remainders u·n mod 2^L are rejected (Lemire, ACM TOMACS 29(1), 2019, section 4): every value then has exactly
    ⌊2^L/n⌋ words. A rejection has probability below 2^-64 and does not depend on the value.
    """
    width = (n.bit_length() + 64 + 7) // 8
    size = 1 << 8 * width
    reject = size % n
    while True:
        value, rest = divmod(int.from_bytes(bits.take(width), "big") * n, size)
        if rest >= reject:
            return value
