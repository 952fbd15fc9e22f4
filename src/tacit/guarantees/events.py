"""What was run: frozen records that accountants price later.

An event says which law was drawn with which parameters, in grid steps and exact rationals, never an ε that
somebody computed from it. `neighbours` is set where the mechanism itself fixes the relation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Neighbours = Literal["add/remove", "change one"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceNoise:
    """Independent discrete Laplace noise on integers that move by at most `l1` in L1."""

    scale: Fraction
    l1: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianNoise:
    """Independent discrete Gaussian noise on integers that move by at most √`l2_squared` in L2.

    `coordinates` bounds how many of them can move at all; with 1 the shift is scalar.
    """

    variance: Fraction
    l2_squared: int
    coordinates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRange:
    """A selection whose privacy loss lies in an interval of length `epsilon` (exponential mechanism)."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class PureRelease:
    """Anything ε-DP of which no more is used: permute-and-flip, noisy max, above threshold."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedBit:
    """One bit kept with probability e^ε/(1+e^ε)."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxRelease:
    """Anything (ε,δ)-DP of which no more is used: smooth sensitivity, propose-test-release."""

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours | None = None


Event = DiscreteLaplaceNoise | DiscreteGaussianNoise | BoundedRange | PureRelease | RandomizedBit | ApproxRelease
