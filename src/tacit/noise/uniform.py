"""Uniform integers without bias.

With L = bits(n) + 64 random bits u, the value ⌊u·n/2^L⌋ is uniform on {0,…,n-1} once the 2^L mod n lowest
remainders u·n mod 2^L are rejected (Lemire, ACM TOMACS 29(1), 2019, section 4): every value then has exactly
⌊2^L/n⌋ words. A rejection has probability below 2^-64 and does not depend on the value.
"""

from __future__ import annotations

from tacit.noise.bits import SYSTEM, BitSource


def below_integer(n: int, bits: BitSource = SYSTEM) -> int:
    """Draw an integer uniformly from {0, …, n-1}, for n ≥ 1 of any size."""
    width = (n.bit_length() + 64 + 7) // 8
    size = 1 << 8 * width
    reject = size % n
    while True:
        value, rest = divmod(int.from_bytes(bits.take(width), "big") * n, size)
        if rest >= reject:
            return value
