"""Write vectors.json: public parameters, random bits, and the reports that every client must make of them.

Run it from the repository's root after a change of the layouts or draws, which is a new version of the format:

    .venv/bin/python tests/local_vectors.py

Beside seeded bits there are scripted ones that take the rare paths: words that `below` and `residues` reject, and coins
that agree with the chance in all of the first 32 bits, or in all 64.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from scripted import Rest, Scripted, seeded
from tacit.local import BLH, GRR, OLH, OUE, SUE, Hadamard, ProjectiveGeometry, Protocol, SubsetSelection, Warner

FILE = Path(__file__).with_name("local") / "vectors.json"
WORDS = ["tea", "coffee", "ünïcode ☕", 'a "quote", \\ and "digest":"', 7, 2.5, True]
ORACLES = (
    Warner(p=Fraction(3, 4)),
    Warner(p=Fraction(2, 3)),
    Warner(epsilon=1),
    GRR(domain=WORDS, epsilon=1),
    GRR(domain=2, epsilon=50),
    GRR(domain=4, epsilon=Fraction(1, 2)),
    GRR(domain=257, epsilon=2),
    GRR(domain=1 << 24, epsilon=3),
    OUE(domain=WORDS, epsilon=1),
    OUE(domain=2, epsilon=Fraction(1, 100)),
    OUE(domain=8, epsilon=4),
    OUE(domain=100, epsilon=1),
    OLH(domain=WORDS, epsilon=1),
    OLH(domain=3, epsilon=Fraction(1, 10)),
    OLH(domain=1 << 24, epsilon=1),
    OLH(domain=100_000, epsilon=6),
    OLH(domain=1000, epsilon=12),
    Warner(p=Fraction(3, 4), words=("yes", "no")),
    Warner(epsilon=2, words=["oui ☕", "non"]),
    SUE(domain=WORDS, epsilon=1),
    SUE(domain=100, epsilon=3),
    BLH(domain=WORDS, epsilon=1),
    BLH(domain=1 << 24, epsilon=5),
    Hadamard(domain=WORDS, epsilon=1),
    Hadamard(domain=2, epsilon=1),
    Hadamard(domain=1000, epsilon=1),
    Hadamard(domain=1000, epsilon=4),
    Hadamard(domain=1 << 24, epsilon=9),
    SubsetSelection(domain=WORDS, epsilon=Fraction(1, 2)),
    SubsetSelection(domain=2, epsilon=1),
    SubsetSelection(domain=200, epsilon=1),
    SubsetSelection(domain=1000, epsilon=5),
    ProjectiveGeometry(domain=WORDS, epsilon=1),
    ProjectiveGeometry(domain=2, epsilon=1),
    ProjectiveGeometry(domain=1000, epsilon=1),
    ProjectiveGeometry(domain=1000, epsilon=4),
    ProjectiveGeometry(domain=100_000, epsilon=9),
    ProjectiveGeometry(domain=1 << 24, epsilon=1),
)


class Recorded:
    """A source of bits that remembers what it gave."""

    def __init__(self, source: Scripted) -> None:
        self._source = source
        self.given = b""

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        some = self._source.take(count)
        self.given += some
        return some


def main() -> None:
    """Write the file."""
    FILE.write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the file's text, a line for each report, so that a difference can be read."""
    cases = [
        f'{{"parameters": {json.dumps(oracle.parameters())}, "reports": [\n  ' + ",\n  ".join(reports(oracle)) + "\n]}"
        for oracle in ORACLES
    ]
    return '{"format": "tacit.local.vectors", "version": 1, "cases": [\n' + ",\n".join(cases) + "\n]}\n"


def reports(oracle: Protocol) -> Iterator[str]:
    """Give one report a line: the value, its bits in the order they are taken, the record in its two forms."""
    d = oracle.domain_size
    for number, (place, script) in enumerate(scripts(oracle)):
        bits = Recorded(Scripted(script, seeded(1000 * d + number)))
        drawn = oracle._randomize(np.array([place]), bits)
        yield json.dumps(
            {
                "value": oracle.domain[place],
                "bits": bits.given.hex(),
                "message": drawn.to_bytes().hex(),
                "line": drawn.to_json_lines(),
            }
        )


def scripts(oracle: Protocol) -> Iterator[tuple[int, bytes]]:
    """Give places of the domain, each with the bits that come before the seeded ones."""
    d = oracle.domain_size
    for number in range(6):
        yield (number * (d - 1) // 5, b"")
    for coin in near(oracle):
        yield (d - 1, before(oracle) + coin.to_bytes(8, "little") + after(oracle))


def near(oracle: Protocol) -> list[int]:
    """Return words around the chance: equal to it, one less, and equal in the upper half."""
    keep = int(json.loads(oracle.parameters())["keep"])
    keep = (1 << 64) - keep if isinstance(oracle, Warner) else keep  # it draws a lie
    upper, lower = keep >> 32 << 32, keep & 0xFFFFFFFF
    return [keep, keep - 1, upper, upper | min(lower + 1, 0xFFFFFFFF), max(upper - 1, 0)]


def before(oracle: Protocol) -> bytes:
    """Return the bits up to the last coin, with every kind of word that is rejected; nothing if the coin is first."""
    if isinstance(oracle, (SUE, OUE)):
        return steady(oracle)(64 * oracle.report_bytes)
    if not isinstance(oracle, (GRR, BLH, OLH)):
        return b""
    hashing = isinstance(oracle, (BLH, OLH))
    bound = oracle.buckets - 1 if isinstance(oracle, (BLH, OLH)) else oracle.domain_size - 1
    other = ([0, 0] if (1 << 32) % bound else []) + [0x9ABCDEF0]  # a word of 0 is rejected unless n divides 2^32
    hashes = [0xFFFFFFFF, 0xFFFFFFFE, 5, 0xFFFFFFFE, 0xFFFFFFFD] if hashing else []
    return np.array([*hashes, *other], dtype="<u4").tobytes()


def after(oracle: Protocol) -> bytes:
    """Return words that are rejected in the draws behind a first coin, then some that are not."""
    if not isinstance(oracle, (Hadamard, SubsetSelection, ProjectiveGeometry)):
        return b""
    return np.array([0, 0, 0x9ABCDEF0, 0, 0x12345678], dtype="<u4").tobytes()


def steady(oracle: SUE | OUE) -> Rest:
    """Return bits whose coins of `raise` are near it too, and equal to it at times."""
    chance = int(json.loads(oracle.parameters())["raise"])
    around = b"".join((chance + shift).to_bytes(8, "little") for shift in (-1, 0, 1, -(1 << 32), 1 << 32))
    return lambda count: (around * count)[:count]


if __name__ == "__main__":
    main()
