"""Guarantees split over several releases, and guarantees of releases about disjoint parts of the data.

Both are exact: the parts of a split guarantee compose back to it, in rationals. The two roundings that remain, a root
and a power of e, err to the safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, isqrt
from typing import Protocol, get_args

from tacit.errors import InvalidError, bad_value, show
from tacit.guarantees import prices
from tacit.guarantees.conversions import as_decimal, exactly, float_above, working
from tacit.guarantees.events import Event, Neighbours, PureRelease
from tacit.guarantees.exact import Exact, Number, positive, round_up, whole
from tacit.guarantees.values import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP

_MOST = 10**6


def split(guarantee: Guarantee, parts: int | Sequence[Number]) -> list[Guarantee]:
    """Return guarantees that compose to the given one: n equal ones, or one for each weight.

    ε, δ, ρ and a Rényi ε add up, so each part has its share w of them, exactly. Gaussian μ add up in squares
    (Dong, Roth and Su, arXiv:1905.02383v3, corollary 3.3), so each part has μ·√w, rounded down unless rational.

    >>> split(ApproxDP(epsilon=1, delta=1e-6), 10)[0]
    ApproxDP(epsilon=0.1, delta=1e-07)
    >>> split(PureDP(epsilon=1), [3, 1])
    [PureDP(epsilon=0.75), PureDP(epsilon=0.25)]

    Args:
        guarantee: the guarantee to divide.
        parts: the number of equal parts, or a weight for each part.
    """
    if not isinstance(guarantee, get_args(Guarantee)):
        raise bad_value("guarantee", guarantee, "a guarantee such as PureDP or ZCDP")
    count = whole(parts)
    if count is not None and 1 <= count <= _MOST:
        return [_share_of(guarantee, Fraction(1, count))] * count
    if not isinstance(parts, (list, tuple)) or not parts:
        raise bad_value("parts", parts, f"a whole number from 1 to {_MOST} or a list of weights > 0")
    weights = [positive(weight, "weight") for weight in parts]
    total = sum(weights)
    return [_share_of(guarantee, weight / total) for weight in weights]


def _share_of(guarantee: Guarantee, share: Fraction) -> Guarantee:
    """Return the guarantee that costs a share of the given one."""
    match guarantee:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=Exact(exactly(epsilon) * share))
        case ApproxDP(epsilon=epsilon, delta=delta):
            return ApproxDP(epsilon=Exact(exactly(epsilon) * share), delta=Exact(exactly(delta) * share))
        case ZCDP(rho=rho):
            return ZCDP(rho=Exact(exactly(rho) * share))
        case RenyiDP(alpha=alpha, epsilon=epsilon):
            return RenyiDP(alpha=alpha, epsilon=Exact(exactly(epsilon) * share))
        case GaussianDP(mu=mu):
            return GaussianDP(mu=Exact(_root_below(exactly(mu) ** 2 * share)))


def _root_below(square: Fraction) -> Fraction:
    """Return √x if it is rational, else the greatest float that prints below it."""
    product = square.numerator * square.denominator  # √(a/b) = √(ab)/b
    root = isqrt(product)
    if root * root == product:
        return Fraction(root, square.denominator)
    finer = Fraction(isqrt(product << 160), square.denominator << 80)
    return Fraction(repr(-round_up(-finer)))


class HasGuarantee(Protocol):
    """A mechanism: what was run, and its guarantee."""

    @property
    def event(self) -> Event:
        """The event of one release."""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one release."""


def parallel(parts: Sequence[HasGuarantee | Event | Guarantee], neighbours: Neighbours) -> Guarantee:
    """Return the guarantee of several releases about parts of the data, if each unit is in one part only.

    A part is a mechanism, a guarantee or an event. Each release has its guarantee under add/remove, and the releases
    draw independently. So the sensitivity of a mechanism must be that of adding or removing one unit. A release whose
    guarantee holds under "change one" alone is not a part: it does not cover a unit that enters it.

    **Add/remove**: only one part changes, so the largest of each parameter (McSherry, SIGMOD 2009, theorem 4).

    **Change one**: the unit leaves one part and enters another, or stays in its part with another value, which
    is a removal and an addition there. The second case costs more:

    - ε: 2·max ε covers εᵢ + εⱼ. δ: the largest of δᵢ(1+e^εᵢ), from P ≤ e^ε·R + δ and R ≤ e^ε·Q + δ, and of
      δᵢ + δⱼ (Dwork and Roth 2014, theorem 2.2, for pure).
    - ρ: 4·max ρ covers ρᵢ + ρⱼ (Bun and Steinke, arXiv:1605.02065v1, proposition 1.9, groups of two).
    - μ: 2·max μ covers √(μᵢ² + μⱼ²) (Dong, Roth and Su, arXiv:1905.02383v3, theorem 2.14).
    - Rényi: D_{α/2}(P‖Q) ≤ (α-1)/(α-2)·D_α(P‖R) + D_{α-1}(R‖Q) (Mironov, arXiv:1702.07476v3, proposition 11 with
      p = q = 2), so at the order α/2, for α > 2, (2α-3)/(α-2)·max ε, which covers εᵢ + εⱼ.

    Pure and approximate parts together have an (ε,δ) guarantee. If others are in ρ, pure parts are in ρ too, by the
    price of their event (`prices.zcdp`).

    >>> parallel([PureDP(epsilon=0.1), PureDP(epsilon=0.3)], "add/remove")
    PureDP(epsilon=0.3)
    >>> parallel([PureDP(epsilon=0.1), PureDP(epsilon=0.3)], "change one")
    PureDP(epsilon=0.6)

    Args:
        neighbours: "add/remove" or "change one", the relation for which to state the guarantee.
        parts: the releases, one for each part of the data.
    """
    if neighbours not in get_args(Neighbours):
        raise bad_value("neighbours", neighbours, "'add/remove' or 'change one'")
    alike = _alike(parts)
    return _largest(alike) if neighbours == "add/remove" else _changed(alike)


def _alike(parts: Sequence[HasGuarantee | Event | Guarantee]) -> list[Guarantee]:
    """Return the guarantees of several parts in one kind. If some are pure and some approximate, read ε as (ε,0)."""
    if not isinstance(parts, (list, tuple)) or not parts:
        raise bad_value("parts", parts, "a list of at least one mechanism, guarantee or event")
    found = [_guarantee(number, part) for number, part in enumerate(parts, 1)]
    kinds = {type(guarantee).__name__ for guarantee in found}
    if kinds == {"PureDP", "ApproxDP"}:
        return [ApproxDP(epsilon=g.epsilon, delta=0) if isinstance(g, PureDP) else g for g in found]
    if kinds == {"PureDP", "ZCDP"}:
        return [_in_rho(part, guarantee) for part, guarantee in zip(parts, found, strict=True)]
    if len(kinds) > 1:
        names = ", ".join(sorted(kinds))
        hint = "PureDP can be mixed with ApproxDP or with ZCDP, and no others."
        raise InvalidError(f"parts must have guarantees of one kind, not {names}.", argument="parts", hint=hint)
    if len({exactly(g.alpha) for g in found if isinstance(g, RenyiDP)}) > 1:
        raise InvalidError("parts with guarantees of type RenyiDP must have one order alpha.", argument="parts")
    return found


def _guarantee(number: int, part: object) -> Guarantee:
    """Return the guarantee of a part, or raise InvalidError."""
    if isinstance(part, get_args(Guarantee)):
        return part  # type: ignore[no-any-return]  # one of these classes
    event = getattr(part, "event", part)
    if not isinstance(event, get_args(Event)):
        message = f"Item {number} of parts must be a mechanism, a guarantee or an event, not {show(part)}."
        hint = f"Write tc.{part.__name__}(…)." if isinstance(part, type) else None
        raise InvalidError(message, argument="parts", hint=hint)
    if getattr(event, "neighbours", None) == "change one":
        raise InvalidError(
            f"Item {number} of parts holds under neighbours = 'change one' alone, so it does not cover a unit that "
            "enters the part.",
            argument="parts",
            hint="Use releases whose guarantees hold under 'add/remove'.",
        )
    own = getattr(part, "guarantee", None)
    return own if isinstance(own, get_args(Guarantee)) else _of_event(event)


def _of_event(event: Event) -> Guarantee:
    """Return the guarantee of an event: in ε and δ if they are known, else in ρ."""
    price = prices.basic(event)
    if price is not None and price[1] == 0:
        return PureDP(epsilon=Exact(price[0]))
    if price is not None:
        return ApproxDP(epsilon=Exact(price[0]), delta=Exact(price[1]))
    loss, _ = prices.zcdp(event) or (Fraction(0), Fraction(0))  # every event has a price in one of the two
    return ZCDP(rho=Exact(loss))


def _in_rho(part: object, guarantee: Guarantee) -> Guarantee:
    """Return a pure guarantee in ρ, by the price of its event; one in ρ as it is."""
    if not isinstance(guarantee, PureDP):
        return guarantee
    if guarantee.epsilon == 0:
        return ZCDP(rho=0)
    event = getattr(part, "event", part)
    known = event if isinstance(event, get_args(Event)) else PureRelease(epsilon=exactly(guarantee.epsilon))
    loss, _ = prices.zcdp(known) or (exactly(guarantee.epsilon), Fraction(0))
    return ZCDP(rho=Exact(loss))


def _largest(alike: list[Guarantee]) -> Guarantee:
    """Return the largest of each parameter."""
    match alike[0]:
        case PureDP():
            return PureDP(epsilon=_most(alike, "epsilon"))
        case ApproxDP():
            return ApproxDP(epsilon=_most(alike, "epsilon"), delta=_most(alike, "delta"))
        case ZCDP():
            return ZCDP(rho=_most(alike, "rho"))
        case RenyiDP(alpha=alpha):
            return RenyiDP(alpha=alpha, epsilon=_most(alike, "epsilon"))
        case GaussianDP():
            return GaussianDP(mu=_most(alike, "mu"))


def _changed(alike: list[Guarantee]) -> Guarantee:
    """Return a guarantee that covers a removal and an addition, in one part or in two."""
    match _largest(alike):
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=Exact(2 * exactly(epsilon)))
        case ApproxDP(epsilon=epsilon):
            return ApproxDP(epsilon=Exact(2 * exactly(epsilon)), delta=Exact(_changed_delta(alike)))
        case ZCDP(rho=rho):
            return ZCDP(rho=Exact(4 * exactly(rho)))
        case GaussianDP(mu=mu):
            return GaussianDP(mu=Exact(2 * exactly(mu)))
        case RenyiDP(alpha=alpha, epsilon=epsilon):
            return _changed_renyi(exactly(alpha), exactly(epsilon))


def _changed_delta(alike: list[Guarantee]) -> Fraction:
    pairs = [(exactly(g.epsilon), exactly(g.delta)) for g in alike if isinstance(g, ApproxDP)]
    move = sum(sorted((delta for _, delta in pairs), reverse=True)[:2], Fraction(0))
    return min(Fraction(1), max(move, *(_twice(epsilon, delta) for epsilon, delta in pairs)))


def _twice(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return δ(1+e^ε), rounded up; exact for δ = 0 and for ε = 0."""
    if epsilon == 0 or delta == 0:
        return 2 * delta
    with working():
        above = float_above(as_decimal(delta) * (1 + as_decimal(epsilon).exp()) * (1 + Decimal("1e-50")))
    return Fraction(repr(above)) if above < inf else Fraction(1)


def _changed_renyi(alpha: Fraction, epsilon: Fraction) -> RenyiDP:
    if alpha <= 2:  # noqa: PLR2004 - half of it must be an order
        message = f"Under 'change one', RenyiDP must have an order > 2, not {round_up(alpha)}."
        raise InvalidError(message, argument="parts")
    return RenyiDP(alpha=Exact(alpha / 2), epsilon=Exact(epsilon * (2 * alpha - 3) / (alpha - 2)))


def _most(alike: list[Guarantee], name: str) -> Exact:
    """Return the largest of a parameter, compared as rationals."""
    return Exact(max(exactly(getattr(guarantee, name)) for guarantee in alike))
