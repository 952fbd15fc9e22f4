"""Exact draws in bulk from cryptographic bits: coins of 64 binary digits, integers below a bound.

Statement. `coins` shows True with probability exactly A/2^64, `coin_bits` the same for every bit of a string,
`below` and `below_each` are uniform on {0, …, n-1}, `residues` uniform on {0, …, 2^31-2}; all draws are independent, if
the bits are.

Proof. A coin compares a uniform word U of 64 bits with A: #{U < A} = A. If the first 16 digits of U differ from those
of A, the other 48 do not matter and are not drawn. `below` is Lemire's rejection (ACM TOMACS 29(1), 2019, section 4):
of the 2^32 words, ⌊2^32/n⌋ are kept for each value. `residues` keeps each of 2^31 - 1 of 2^31 values, which a word
without its last bit has equally often.  ∎

On real bits: fewer than 4,096 coins draw and compare all 64 digits, so that the time does not depend on them; a second
round of `below` or `residues` has probability under n/2^32 a value and does not depend on the value that is kept.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import Bools, Bytes, Ints, Words32
from tacit.noise.bits import BitSource, words

PRIME = (1 << 31) - 1
SMALL = 4096
_BLOCK = 4096
_WORDS = 8 * _BLOCK


def coins(chance: int, size: int, bits: BitSource) -> Bools:
    """Draw coins that show True with probability `chance`/2^64, for 0 ≤ chance < 2^64."""
    if size < SMALL:
        return np.asarray(words(bits, np.uint64, size) < np.uint64(chance))
    first = words(bits, np.uint16, size)
    lead = np.uint16(chance >> 48)
    result = np.asarray(first < lead)
    tied = np.flatnonzero(first == lead)
    result[tied] = words(bits, np.uint64, tied.size) >> np.uint64(16) < np.uint64(chance & ((1 << 48) - 1))
    return result


def below(bound: int, size: int, bits: BitSource) -> Ints:
    """Draw integers uniformly from {0, …, bound-1}, for 1 ≤ bound ≤ 2^32."""
    reject = np.uint32((1 << 32) % bound)
    product = words(bits, np.uint32, size) * np.uint64(bound)
    again = np.flatnonzero(product.astype(np.uint32) < reject) if reject else np.empty(0, dtype=np.intp)
    while again.size:
        product[again] = words(bits, np.uint32, again.size) * np.uint64(bound)
        again = again[product[again].astype(np.uint32) < reject]
    product >>= np.uint64(32)
    return product.view(np.int64)


def below_each(bounds: Ints, bits: BitSource) -> Ints:
    """Draw an integer uniformly from {0, …, bound-1} for each bound from 1 to 2^31."""
    bound = bounds.astype(np.uint64)
    reject = np.uint64(1 << 32) % bound
    product = words(bits, np.uint32, bounds.size) * bound
    again = np.flatnonzero((product & np.uint64(0xFFFFFFFF)) < reject)
    while again.size:
        product[again] = words(bits, np.uint32, again.size) * bound[again]
        again = again[(product[again] & np.uint64(0xFFFFFFFF)) < reject[again]]
    return (product >> np.uint64(32)).view(np.int64)


def residues(size: int, bits: BitSource) -> Words32:
    """Draw integers uniformly below the prime 2^31 - 1."""
    result = words(bits, np.uint32, size) >> np.uint32(1)
    again = np.flatnonzero(result == PRIME)
    while again.size:
        result[again] = words(bits, np.uint32, again.size) >> np.uint32(1)
        again = again[result[again] == PRIME]
    return result


def coin_bits(chance: int, count: int, bits: BitSource) -> Bytes:
    """Draw `count` bytes whose bits are each 1 with probability `chance`/2^64, independently."""
    if 8 * count < SMALL:
        return np.packbits(coins(chance, 8 * count, bits), bitorder="little")
    from tacit.local import kernels  # noqa: PLC0415 - numba is slow to import

    result = np.zeros(-(-count // 8), dtype=np.uint64)
    done = 0
    while done < result.size:
        block = result[done : done + _BLOCK]
        done += kernels.coin_words(block, words(bits, np.uint64, min(_WORDS, 8 * block.size + 64)), np.uint64(chance))
    return result.view(np.uint8)[:count]
