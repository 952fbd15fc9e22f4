"""δ as a function of ε: the privacy profile.

δ(ε) = sup over events T of P(T) - e^ε·Q(T) is, as a function of a = e^ε, a supremum of straight lines: convex, never
rising, and 1 at a = 0. So a few points, each an (ε,δ) guarantee, imply further guarantees:

* between two of them the chord in e^ε, and below the first the chord from (0, 1);
* beyond the last its δ.

With its mirror image for ε < 0, that piecewise straight curve is itself the profile of a pair of laws (Zhu,
Dong and Wang, arXiv:2106.08567v4, proposition 8): its Q-mass at a is the rise of the slope there. So a
profile composes like a mechanism.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from math import exp, expm1, inf, nextafter

from tacit.errors import InvalidError, bad_value
from tacit.guarantees.conversions import (
    delta_of_pure,
    delta_of_renyi,
    delta_of_zcdp,
    gaussian_delta,
    nonnegative,
    probability,
    working,
)
from tacit.guarantees.exact import Number, round_up, to_fraction, whole
from tacit.guarantees.values import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP
from tacit.notebook import rows_html

_LARGEST = 600
_UP = 1 + 2.0**-44


@dataclass(frozen=True, slots=True)
class PrivacyProfile:
    """Points (ε, δ), each an (ε,δ) guarantee, and the guarantees that follow from them.

    >>> known = PrivacyProfile([(0, 0.1), (1, 1e-6)])
    >>> known.delta(0), round(known.delta(0.5), 5), known.delta(2)
    (0.1, 0.06225, 1e-06)
    >>> round(known.epsilon(0.05), 4)
    0.6201

    Attributes:
        points: the pairs (ε, δ), without those that follow from others.
    """

    points: tuple[tuple[float, float], ...]

    def __init__(self, points: Iterable[tuple[Number, Number]]) -> None:
        """Take points in any order.

        Args:
            points: pairs (ε, δ) with 0 ≤ ε ≤ 600 and 0 ≤ δ ≤ 1.
        """
        iterable: object = points
        if not isinstance(iterable, Iterable):
            raise bad_value("points", iterable, "a list of pairs (ε, δ)")
        object.__setattr__(self, "points", _corners([_point(pair) for pair in iterable]))

    @classmethod
    def of(cls, guarantee: Guarantee, points: int = 256) -> PrivacyProfile:
        """Return the profile that a guarantee implies, by its tightest conversion at `points` values of ε.

        >>> PrivacyProfile.of(PureDP(epsilon=1)).delta(1)
        0.0
        """
        if (number := whole(points)) is None or number < 2:  # noqa: PLR2004 - a curve has two ends
            raise bad_value("points", points, "a whole number ≥ 2")
        curve, last = _curve(guarantee)
        scale = [last * (i / (points - 1)) for i in range(points)] if last > 0 else [0.0]
        return cls([(x, min(1.0, curve(x))) for x in scale])

    def _repr_html_(self) -> str:
        """Return the points as HTML, for notebooks."""
        return rows_html(("ε", "δ"), self.points)

    def delta(self, epsilon: Number) -> float:
        """Return the least guaranteed δ at ε, rounded up.

        Args:
            epsilon: ε of the (ε, δ) guarantee.
        """
        x = float(nonnegative(epsilon, "epsilon"))
        return _on_chord(
            self.points, nextafter(x, -inf) if to_fraction(epsilon, "epsilon") < to_fraction(x, "x") else x
        )

    def epsilon(self, delta: Number) -> float:
        """Return the least ε at which δ is guaranteed, rounded up; infinite if there is no such ε.

        Args:
            delta: δ of the (ε, δ) guarantee.
        """
        target = probability(delta, "delta")
        if to_fraction(self.points[-1][1], "delta") > target:
            return inf
        if _on_chord(self.points, 0.0) <= target:
            return 0.0
        low, high = 0.0, self.points[-1][0]
        while low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if _on_chord(self.points, middle) <= target else (middle, high)
        return high  # the safe end

    def atoms(self) -> tuple[list[float], list[float], float]:
        """Return the losses and P-masses of a pair that has this profile, and the mass of infinite loss.

        An (ε,δ) guarantee holds for both orders of the two laws, so H at e^(-ε) is at most 1 - e^(-ε)(1 - δ):
        each point has a mirror image. Slopes are taken in 60 digits, since their differences cancel.
        """
        with working():
            exact = [(Decimal(x), Decimal(y)) for x, y in self.points]
            mirrored = [(-x, 1 - (-x).exp() * (1 - y)) for x, y in reversed(exact) if x > 0]
            curve = [(x, x.exp(), y) for x, y in [*mirrored, *exact]]
            before = [(Decimal(0), Decimal(1)), *((a, y) for _, a, y in curve[:-1])]
            slopes = [(y - b) / (at - a) for (a, b), (_, at, y) in zip(before, curve, strict=True)]
            rises = [after - slope for slope, after in zip(slopes, [*slopes[1:], Decimal(0)], strict=True)]
            masses = [float(max(Decimal(0), a * rise)) for (_, a, _), rise in zip(curve, rises, strict=True)]
            return [float(x) for x, _, _ in curve], masses, self.points[-1][1]


def _point(pair: object) -> tuple[float, float]:
    """Return a point with both numbers rounded up to floats."""
    if not isinstance(pair, tuple) or len(pair) != 2:  # noqa: PLR2004 - a pair
        raise bad_value("points", pair, "pairs (ε, δ)")
    epsilon, delta = nonnegative(pair[0], "epsilon"), probability(pair[1], "delta")
    if epsilon > _LARGEST:
        raise bad_value("epsilon", pair[0], f"at most {_LARGEST}")
    return round_up(epsilon), min(1.0, round_up(delta))


def _corners(points: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the points that shape the curve: the lower convex hull in e^ε, from (0, 1) on."""
    if not points:
        raise InvalidError("points must hold at least one pair (ε, δ).", argument="points")
    hull: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if hull and (y >= hull[-1][1] or x == hull[-1][0]):
            continue
        while hull and _above(hull[-2] if len(hull) > 1 else None, hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    return tuple(hull)


def _above(left: tuple[float, float] | None, middle: tuple[float, float], right: tuple[float, float]) -> bool:
    """Return whether the middle point is on or above the chord of the others. If left is None, e^ε = 0 and δ = 1."""
    share = exp(middle[0] - right[0]) if left is None else expm1(middle[0] - left[0]) / expm1(right[0] - left[0])
    start = 1.0 if left is None else left[1]
    return middle[1] >= start + share * (right[1] - start)


def _on_chord(points: tuple[tuple[float, float], ...], x: float) -> float:
    at = bisect_left(points, (x, -1.0))
    if at == len(points):
        return points[-1][1]
    high = points[at]
    if high[0] == x:
        return high[1]
    share, start = (exp(x - high[0]), 1.0) if at == 0 else _share(points[at - 1], high, x)
    return min(1.0, start + (high[1] - start) * share * (2 - _UP), start)


def _share(low: tuple[float, float], high: tuple[float, float], x: float) -> tuple[float, float]:
    return expm1(x - low[0]) / expm1(high[0] - low[0]), low[1]


def _curve(guarantee: Guarantee) -> tuple[Callable[[float], float], float]:
    """Return δ as a function of ε, and the ε at which it is 0 or below 1e-30."""
    match guarantee:
        case PureDP(epsilon=e):
            return (lambda x: delta_of_pure(e, x)), _reach(round_up(to_fraction(e, "epsilon")))
        case ApproxDP(epsilon=e, delta=d):
            top = round_up(to_fraction(e, "epsilon"))
            return (lambda x: _mixed(round_up(to_fraction(d, "delta")), delta_of_pure(e, x))), _reach(top)
        case ZCDP(rho=r) if r > 0:
            return (lambda x: delta_of_zcdp(round_up(to_fraction(r, "rho")), x)), _reach(r + 12 * r**0.5)
        case GaussianDP(mu=m) if m > 0:
            return (lambda x: gaussian_delta(round_up(to_fraction(m, "mu")), x)), _reach(m * m / 2 + 12 * m)
        case RenyiDP(alpha=a, epsilon=e) if e > 0:
            return (lambda x: delta_of_renyi(a, e, x)), _reach(e + 70 / (a - 1))
        case ZCDP() | GaussianDP() | RenyiDP():
            return (lambda _: 0.0), 0.0
    raise bad_value("guarantee", guarantee, "one of PureDP, ApproxDP, ZCDP, RenyiDP, GaussianDP")


def _mixed(delta: float, pure: float) -> float:
    """Return δ + (1-δ)·δ', rounded up: the δ of an ε-DP mechanism that reveals everything with probability δ."""
    return delta if pure == 0 else (delta + (1 - delta) * pure) * _UP


def _reach(epsilon: float) -> float:
    return min(epsilon, float(_LARGEST))
