"""How fine the grid of a composition is.

The error law of the upper bound, about Σk·h²(1+λ)/12 in ε, suggests a step h; it is made commensurate with the
event that weighs most, so that one law composed with itself often has no discretisation error at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, expm1, floor, inf, isqrt, log, log1p, sqrt
from typing import TypeAlias

from tacit.guarantees.events import (
    ApproxRelease,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    Unsampled,
)
from tacit.guarantees.pld.laws import ATOMS, DEEP
from tacit.guarantees.profile import PrivacyProfile

Lawful: TypeAlias = Event | PrivacyProfile
Counted: TypeAlias = Sequence[tuple[Lawful, int]]

LONGEST = 1 << 21
_LEAST_SPREAD, _LARGEST_SIZE = 1e-9, 1e4
_FEW = 8


@dataclass(frozen=True, slots=True)
class Steps:
    """What the choice of a step needs to know of a composition."""

    main: Lawful
    main_size: float
    spread: float
    furthest: float
    uses: int
    uneven: bool

    @classmethod
    def of(cls, parts: Counted) -> Steps:
        """Look at all events once."""
        try:
            sizes = [size(event) for event, _ in parts]
            weights = [count * x * x for (_, count), x in zip(parts, sizes, strict=True)]
        except OverflowError:
            return cls(parts[0][0], inf, inf, inf, 1, uneven=False)
        at = max(range(len(parts)), key=weights.__getitem__)
        far = max(furthest(event, x) for (event, _), x in zip(parts, sizes, strict=True))
        uses = sum(count for _, count in parts)
        return cls(parts[at][0], sizes[at], sqrt(sum(weights)), far, uses, len(set(sizes)) > _FEW)

    @property
    def in_range(self) -> bool:
        """Whether the losses are of sizes that floats on a grid can hold."""
        return self.furthest == 0 or (self.spread >= _LEAST_SPREAD and self.furthest <= _LARGEST_SIZE)

    def step(self, delta: float, width: float, finer: float) -> float:
        """Return the step that the error law suggests for a relative width at δ, divided by `finer`."""
        spread = max(self.spread, _LEAST_SPREAD)
        epsilon = spread * spread / 2 + spread * sqrt(2 * log(1 / delta) + 1)
        wanted = sqrt(3 * width * epsilon / (self.uses * (1 + epsilon / spread**2))) / finer
        wanted = min(wanted, max(self.main_size, spread / 16) / 4 / max(finer, 1.0), spread / 64 / max(finer, 1.0))
        least = max(20 * spread, self.furthest) / LONGEST
        return commensurate(self.main, max(wanted, least), least)


def size(event: Lawful) -> float:
    """Return about how large the event's privacy loss is: its ε, or μ for Gaussian noise."""
    match event:
        case GaussianNoise(sigma=s, l2=d):
            return float(d / s)
        case DiscreteGaussianNoise(variance=v, l2_squared=d):
            return sqrt(d / float(v))
        case DiscreteLaplaceNoise(scale=s, l1=d) | LaplaceNoise(scale=s, l1=d):
            return float(d / s)
        case PoissonSampled(rate=rate, of=of):
            return _sampled_size(float(rate), of)
        case PrivacyProfile(points=points):
            return points[-1][0] / 4
        case _:
            return float(event.epsilon)


def _sampled_size(rate: float, event: Unsampled) -> float:
    """Return about ln(1+γ(e^ε-1)), or for Gaussian noise the standard deviation γ√(e^(μ²)-1); at most the whole."""
    whole = size(event)
    gaussian = isinstance(event, (GaussianNoise, DiscreteGaussianNoise))
    growth = sqrt(expm1(min(whole * whole, 600.0))) if gaussian else expm1(min(whole, 600.0))
    return min(whole, log1p(rate * growth))


def furthest(event: Lawful, its_size: float) -> float:
    """Return about the largest loss for which an array has a place."""
    if isinstance(event, PoissonSampled):
        one_sided = -log1p(-float(event.rate)) if isinstance(event.of, ApproxRelease) and float(event.rate) < 1 else 0.0
        return max(furthest(event.of, size(event.of)), one_sided)
    if isinstance(event, PrivacyProfile):
        return event.points[-1][0]
    wide = isinstance(event, (GaussianNoise, DiscreteGaussianNoise))
    return its_size * (DEEP + its_size if wide else 1.0)


def commensurate(event: Lawful, wanted: float, least: float) -> float:
    """Return a step of about the wanted size, and not below the least, on which the event's losses lie, or nearly."""
    match event:
        case DiscreteGaussianNoise(variance=v, l2_squared=d) if v <= ATOMS:
            unit = isqrt(d) / (2 * float(v))
            if unit > wanted and unit / ceil(unit / wanted) < least:
                return wanted
        case DiscreteLaplaceNoise(scale=s) if float(1 / s) < wanted:
            return max(1, floor(float(s) * wanted)) / float(s)
        case DiscreteLaplaceNoise(scale=s):
            unit = float(1 / s)
        case GaussianNoise() | DiscreteGaussianNoise() | PoissonSampled() | PrivacyProfile():
            return wanted
        case _:
            unit = size(event)
    if unit > wanted:
        return unit / ceil(unit / wanted)
    return unit * floor(wanted / unit) if unit > _LEAST_SPREAD * wanted else wanted
