"""The parts of a composition, and what they cost together in each currency.

A part is what an accountant prices: an event, or a guarantee that is no event's own. Parts stand in pairs with how
often they are used.

| function | what it gives |
|---|---|
| `as_part` | the part that an item is |
| `largest_loss` | bounds on the largest privacy loss of all of them |
| `events` | their laws, continuous Gaussians merged into one |
| `pairs` | an (ε, δ) for each |
| `rho` | Σρ and Σδ |
| `renyi_cost` | the sum of their Rényi divergences at one order |
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, inf, isqrt
from typing import TypeAlias, get_args

from tacit.errors import InvalidError, show
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedBit,
)
from tacit.guarantees.exact import Exact, round_up, to_fraction
from tacit.guarantees.filters import ApproxZCDP, price
from tacit.guarantees.pld import Bounds, Lawful
from tacit.guarantees.profile import PrivacyProfile
from tacit.guarantees.values import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP

Part: TypeAlias = Event | ZCDP | RenyiDP | PrivacyProfile
Parts: TypeAlias = tuple[tuple[Part, int], ...]


def as_part(item: object) -> Part | None:
    """Return what an accountant prices: the event of a mechanism or of a guarantee; None for what costs nothing."""
    match getattr(item, "event", item):
        case (
            PureDP(epsilon=0.0)
            | ApproxDP(epsilon=0.0, delta=0.0)
            | ZCDP(rho=0.0)
            | RenyiDP(epsilon=0.0)
            | GaussianDP(mu=0.0)
        ):
            return None
        case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon, delta=0.0):
            return PureRelease(epsilon=to_fraction(epsilon, "epsilon"))
        case ApproxDP(epsilon=epsilon, delta=delta):
            return ApproxRelease(epsilon=to_fraction(epsilon, "epsilon"), delta=to_fraction(delta, "delta"))
        case GaussianDP(mu=mu):
            return GaussianNoise(sigma=Fraction(1), l2=to_fraction(mu, "mu"))
        case ZCDP() | RenyiDP() | PrivacyProfile() as value:
            return value
        case event if isinstance(event, get_args(Event)):
            return event  # type: ignore[no-any-return]  # one of the Event classes
    raise InvalidError("items", show(item), "mechanisms, guarantees or events, or pairs of one and a count")


def largest_loss(parts: Parts) -> Bounds:
    """At δ = 0 the least ε is the largest loss, if there is one."""
    ends = [(count, *_loss_of(part)) for part, count in parts]
    lower, upper = (sum((n * end[side] for n, *end in ends), Fraction(0)) for side in (0, 1))
    return Bounds(*(inf if end == inf else round_up(to_fraction(end, "epsilon")) for end in (lower, upper)))


def _loss_of(part: Part) -> tuple[Fraction | float, Fraction | float]:
    """Bound the largest privacy loss that a part can have; infinite for what has none."""
    match part:
        case PureRelease(epsilon=e) | RandomizedBit(epsilon=e) | BoundedRange(epsilon=e):
            return e, e
        case LaplaceNoise(scale=s, l1=d):
            return d / s, d / s
        case DiscreteLaplaceNoise(scale=s, l1=d):
            return floor(d) / s, d / s
        case PrivacyProfile(points=points):
            return Fraction(0), to_fraction(points[-1][0], "epsilon") if points[-1][1] == 0 else inf
        case PoissonSampled() if (cost := _pure_price(part)) is not None:
            return Fraction(0), cost
    return inf, inf


def _pure_price(part: Event) -> Fraction | None:
    try:
        return price(PureDP(epsilon=1), part).loss if price(PureDP(epsilon=1), part).delta == 0 else None
    except InvalidError:
        return None


def events(parts: Parts) -> list[tuple[Lawful, int]]:
    """Return the parts as events, continuous Gaussians merged; refuse what has no privacy-loss law."""
    merged = Fraction(0)
    rest: list[tuple[Lawful, int]] = []
    for part, count in parts:
        if isinstance(part, (ZCDP, RenyiDP)):
            want = f"a rule that knows {type(part).__name__}: 'zcdp' or 'renyi' ('zcdp' for ZCDP only)"
            raise InvalidError("rule", "'tight'", want)
        if isinstance(part, GaussianNoise):
            merged += count * (part.l2 / part.sigma) ** 2
        else:
            rest.append((part, count))
    if merged:
        rest.append((GaussianNoise(sigma=Fraction(1), l2=_root_above(merged)), 1))
    return rest


def _root_above(square: Fraction) -> Fraction:
    """Return √square, rounded up by less than 2^-100 of itself."""
    scaled = square.numerator * square.denominator << 256
    return Fraction(isqrt(scaled) + 1, square.denominator << 128)


def pairs(parts: Parts) -> list[tuple[PureDP | ApproxDP, int]]:
    """Return the parts as (ε, δ) guarantees; refuse what has none."""
    return [(_as_approx(part), count) for part, count in parts]


def _as_approx(part: Part) -> ApproxDP:
    try:
        cost = price(ApproxDP(epsilon=1, delta=0.5), part)  # type: ignore[arg-type]  # refused below if it has no price
    except InvalidError:
        want = (
            "one that knows all parts: 'tight', 'zcdp' or 'renyi' here ('basic', 'advanced' and 'optimal' need an "
            "(ε, δ) for each: compose the mechanism's .guarantee instead of the mechanism)"
        )
        raise InvalidError("rule", f"a {type(part).__name__} among the parts", want) from None
    return ApproxDP(epsilon=Exact(cost.loss), delta=Exact(cost.delta))


def rho(parts: Parts) -> tuple[Fraction, Fraction]:
    """Return Σρ and Σδ."""
    costs = [(_zcdp_price(part), count) for part, count in parts]
    loss = sum((count * each for (each, _), count in costs), Fraction(0))
    return loss, sum((count * delta for (_, delta), count in costs), Fraction(0))


def _zcdp_price(part: Part) -> tuple[Fraction, Fraction]:
    if isinstance(part, ZCDP):
        return to_fraction(part.rho, "rho"), Fraction(0)
    if isinstance(part, RenyiDP):
        raise InvalidError("rule", "a RenyiDP among the parts", "'renyi', which knows one order of it")
    if isinstance(part, PrivacyProfile):
        raise InvalidError("rule", "a PrivacyProfile among the parts", "'tight' or 'pld', which use all of it")
    cost = price(ApproxZCDP(rho=1, delta=0.5), part)
    return cost.loss, cost.delta


def renyi_cost(parts: Parts, alpha: Fraction) -> Fraction | float:
    """Return the sum of all parts' Rényi divergences at one order, or infinity."""
    cost = Fraction(0)
    for part, count in parts:
        match part:
            case RenyiDP(alpha=known, epsilon=epsilon):
                if alpha > to_fraction(known, "alpha"):
                    return inf  # the divergence rises with the order: nothing is known beyond
                cost += count * to_fraction(epsilon, "epsilon")
            case ZCDP(rho=rho):
                cost += count * alpha * to_fraction(rho, "rho")
            case PrivacyProfile():
                raise InvalidError("rule", "'renyi'", "'tight' or 'pld', which use all of a PrivacyProfile")
            case _:
                cost += count * price(RenyiDP(alpha=Exact(alpha), epsilon=1), part).loss
    return cost
