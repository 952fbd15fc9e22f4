"""The cases to price: the events as a ledger stores them, δ and, if it is known, ε."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from tacit.guarantees.events import (
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    RandomizedBit,
    to_json,
)

ONE = Fraction(1)
PER_KIND = 1000


@dataclass(frozen=True, slots=True)
class Case:
    """A composition. `known` is its ε to within half a unit of the last digit, if it is known."""

    name: str
    events: Sequence[tuple[Event, int]]
    delta: float = 1e-6
    known: str = ""

    def request(self) -> dict[str, object]:
        """Return the request for a worker."""
        return {"parts": parts(self.events), "delta": self.delta}


def parts(events: Sequence[tuple[Event, int]]) -> list[tuple[str, int]]:
    """Return events as JSON lines."""
    return [(to_json(event), count) for event, count in events]


def _root(k: int) -> Fraction:
    return Fraction(repr(sqrt(k)))


def laplace(k: int) -> Event:
    """Return continuous Laplace noise of ε = 1/√k."""
    return LaplaceNoise(scale=_root(k), l1=ONE)


def unit_grid(k: int) -> Event:
    """Return discrete Laplace noise of ε = 1/√k on the unit grid, which is randomized response."""
    return DiscreteLaplaceNoise(scale=_root(k), l1=ONE, coordinates=1)


def gaussian(k: int) -> Event:
    """Return continuous Gaussian noise of μ = 1/√k."""
    return GaussianNoise(sigma=_root(k), l2=ONE)


MILLION = Case("10⁶ × Laplace", [(laplace(10**6), 10**6)])


def _spread(count: int) -> Iterator[Fraction]:
    """Yield sizes evenly from ½ to 1½."""
    return (Fraction(2 * i + 1, 2 * count) + Fraction(1, 2) for i in range(count))


def _distinct() -> list[tuple[Event, int]]:
    sizes = [Fraction(f"{size / sqrt(3 * PER_KIND):.9f}") for size in _spread(PER_KIND)]
    return [
        *((LaplaceNoise(scale=1 / size, l1=ONE), 1) for size in sizes),
        *((GaussianNoise(sigma=1 / size, l2=ONE), 1) for size in sizes),
        *((RandomizedBit(epsilon=size), 1) for size in sizes),
    ]


DISTINCT = Case(f"{3 * PER_KIND:,} distinct", _distinct())

GOLDEN = [
    *(
        Case(f"Laplace × {k:,}", [(laplace(k), k)], known=known)
        for k, known in ((10, "3.161256"), (100, "4.692667"), (10**4, "4.876258"))
    ),
    *(
        Case(f"unit grid × {k:,}", [(unit_grid(k), k)], known=known)
        for k, known in ((10, "3.162039"), (100, "4.774568"), (10**4, "4.885516"))
    ),
    *(Case(f"Gaussian × {k:,}", [(gaussian(k), k)], known="4.886554") for k in (1, 100, 10**4)),
    *(Case(f"Gaussian × {k:,}, δ = 1e-12", [(gaussian(k), k)], 1e-12, "7.238494") for k in (1, 10**5)),
    Case(
        "Poisson-sampled Gaussian × 10,000",
        [(PoissonSampled(rate=Fraction(1, 100), of=GaussianNoise(sigma=ONE, l2=ONE)), 10**4)],
        known="6.907384",
    ),
]

# The ledger for one more charge has events of 2 · KINDS kinds: half of them Laplace, half Gaussian.
KINDS = 50
NEW = LaplaceNoise(scale=Fraction(1234), l1=ONE)


def ledger(count: int) -> list[tuple[Event, int]]:
    """Return `count` events with ε and μ of about 1/100."""
    scales = [Fraction(round(100 / size)) for size in _spread(KINDS)]
    times = count // (2 * KINDS)
    return [
        *((LaplaceNoise(scale=scale, l1=ONE), times) for scale in scales),
        *((GaussianNoise(sigma=scale, l2=ONE), times) for scale in scales),
    ]
