"""The accountants: ε at a δ and δ at an ε by each rule of `compose`. `composition` has the table of the rules.

A component is one thing that an accountant prices: an event, or a guarantee that is not equivalent to an event.
Components come in pairs with the number of their uses.

| function | result |
|---|---|
| `as_component` | the component that an item of `compose` means |
| `largest_loss` | bounds on the largest privacy loss of all components together |
| `loss_events` | the components that have privacy-loss laws, continuous Gaussians merged into one |
| `epsilon_delta_pairs` | an (ε, δ) guarantee for each component |
| `total_rho` | Σρ and Σδ |
| `renyi_divergence` | the sum of the Rényi divergences at one order |
| `EPSILONS`, `DELTAS` | the accountants by the names of their rules |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from math import floor, inf, isqrt, nextafter
from typing import Literal, TypeAlias, get_args

from tacit.errors import InvalidError, bad_value, show
from tacit.guarantees import composition_rules, prices
from tacit.guarantees.conversions import (
    delta_of_renyi,
    delta_of_zcdp,
    epsilon_of_renyi,
    epsilon_of_zcdp,
    gaussian_delta,
    gaussian_delta_below,
    gaussian_epsilon,
)
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    LossEvent,
    PoissonSampled,
    PureRelease,
    RandomizedBit,
    ZCDPRelease,
)
from tacit.guarantees.exact import Exact, round_up, to_fraction
from tacit.guarantees.pld import Bounds, PldComponent, delta_bounds, epsilon_bounds
from tacit.guarantees.profile import PrivacyProfile
from tacit.guarantees.values import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP

CompositionRule: TypeAlias = Literal["tight", "pld", "basic", "advanced", "optimal", "zcdp", "renyi", "gdp"]
Component: TypeAlias = LossEvent | ZCDP | RenyiDP | PrivacyProfile
Components: TypeAlias = tuple[tuple[Component, int], ...]
Accountant: TypeAlias = Callable[[Components, Fraction, float], Bounds]

_ORDERS = [Fraction(n, 8) for n in range(9, 81)] + [Fraction(n) for n in (*range(11, 65), 80, 96, 128, 256, 512, 1024)]
_FEW = 64


def as_component(item: object) -> Component | None:  # noqa: PLR0911 - one for each kind
    """Return the component that a mechanism, an event or a guarantee means; None if it costs nothing."""
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
        case ZCDPRelease(rho=rho):
            return ZCDP(rho=Exact(rho))
        case ZCDP() | RenyiDP() | PrivacyProfile() as value:
            return value
        case event if isinstance(event, get_args(LossEvent)):
            return event  # type: ignore[no-any-return]  # one of these classes
    raise InvalidError(
        f"Cannot compose {show(item)}.",
        argument="items",
        hint="Pass mechanisms, guarantees or events, or pairs of one of these and a count.",
    )


def _unsupported(rule: str, component: Component) -> InvalidError:
    """Return the error for a rule that cannot price a component, with the rules that can."""
    match component:
        case ZCDP():
            hint = "Use rule 'zcdp' or 'renyi'."
        case RenyiDP():
            hint = "Use rule 'renyi'."
        case PrivacyProfile():
            hint = "Use rule 'tight' or 'pld'."
        case ApproxRelease() | PoissonSampled(of=ApproxRelease()):
            hint = "Use rule 'tight', 'pld', 'basic' or 'zcdp'."
        case _:
            hint = "Use rule 'tight', 'zcdp' or 'renyi', or compose the mechanism's .guarantee if it has an (ε, δ)."
    message = f"Rule {rule!r} cannot price a component of type {type(component).__name__}."
    return InvalidError(message, argument="rule", hint=hint)


def largest_loss(components: Components) -> Bounds:
    """Bound the least ε at δ = 0, which is the largest privacy loss; infinite if there is no largest one."""
    ends = [(count, *_loss_range(component)) for component, count in components]
    lower, upper = (sum((n * end[side] for n, *end in ends), Fraction(0)) for side in (0, 1))
    return Bounds(*(inf if end == inf else round_up(to_fraction(end, "epsilon")) for end in (lower, upper)))


def _loss_range(component: Component) -> tuple[Fraction | float, Fraction | float]:
    """Return bounds on the largest privacy loss of a component; both are infinite if it has no largest one."""
    match component:
        case PureRelease(epsilon=e) | RandomizedBit(epsilon=e) | BoundedRange(epsilon=e):
            return e, e
        case LaplaceNoise(scale=s, l1=d):
            return d / s, d / s
        case DiscreteLaplaceNoise(scale=s, l1=d):
            return floor(d) / s, d / s
        case PrivacyProfile(points=points):
            return Fraction(0), to_fraction(points[-1][0], "epsilon") if points[-1][1] == 0 else inf
        case PoissonSampled() if (epsilon := prices.pure(component)) is not None:
            return Fraction(0), epsilon
    return inf, inf


def loss_events(components: Components, rule: str = "tight") -> list[tuple[PldComponent, int]]:
    """Return the components as events with privacy-loss laws, continuous Gaussians merged into one.

    Raise InvalidError, which names the rule, if a component has no such law.
    """
    merged = Fraction(0)
    rest: list[tuple[PldComponent, int]] = []
    for component, count in components:
        if isinstance(component, (ZCDP, RenyiDP)):
            raise _unsupported(rule, component)
        if isinstance(component, GaussianNoise):
            merged += count * (component.l2 / component.sigma) ** 2
        else:
            rest.append((component, count))
    if merged:
        rest.append((GaussianNoise(sigma=Fraction(1), l2=root_above(merged)), 1))
    return rest


def root_above(square: Fraction) -> Fraction:
    """Return √square, rounded up by less than 2^-100 of itself."""
    scaled = square.numerator * square.denominator << 256
    return Fraction(isqrt(scaled) + 1, square.denominator << 128)


def epsilon_delta_pairs(components: Components, rule: str = "basic") -> list[tuple[PureDP | ApproxDP, int]]:
    """Return an (ε, δ) guarantee for each component; raise InvalidError if a component has no such guarantee."""
    return [(_as_approx(component, rule), count) for component, count in components]


def _as_approx(component: Component, rule: str) -> ApproxDP:
    price = prices.basic(component)
    if price is None:
        raise _unsupported(rule, component)
    epsilon, delta = price
    return ApproxDP(epsilon=Exact(epsilon), delta=Exact(delta))


def total_rho(components: Components) -> tuple[Fraction, Fraction]:
    """Return Σρ and Σδ."""
    costs = [(_zcdp_price(component), count) for component, count in components]
    loss = sum((count * rho for (rho, _), count in costs), Fraction(0))
    return loss, sum((count * delta for (_, delta), count in costs), Fraction(0))


def _zcdp_price(component: Component) -> tuple[Fraction, Fraction]:
    if isinstance(component, ZCDP):
        return to_fraction(component.rho, "rho"), Fraction(0)
    price = None if isinstance(component, (RenyiDP, PrivacyProfile)) else prices.zcdp(component)
    if price is None:
        raise _unsupported("zcdp", component)
    return price


def renyi_divergence(components: Components, alpha: Fraction) -> Fraction | float:
    """Return the sum of the Rényi divergences of all components at one order, or infinity."""
    total = Fraction(0)
    for component, count in components:
        match component:
            case RenyiDP(alpha=known, epsilon=epsilon):
                if alpha > to_fraction(known, "alpha"):
                    return inf  # the divergence rises with the order, and larger orders are unknown
                total += count * to_fraction(epsilon, "epsilon")
            case ZCDP(rho=rho):
                total += count * alpha * to_fraction(rho, "rho")
            case _:
                price = None if isinstance(component, PrivacyProfile) else prices.renyi(component, alpha)
                if price is None:
                    raise _unsupported("renyi", component)
                total += count * price[0]
    return total


def _pld(components: Components, delta: Fraction, width: float) -> Bounds:
    return epsilon_bounds(loss_events(components, "pld"), float(delta), width)


def _tight(components: Components, delta: Fraction, width: float) -> Bounds:
    """Bound ε by the privacy-loss laws; from above also by the closed rules, if one of them gives less.

    All rules hold for releases that are fixed in advance, so the least one does. The closed rules win for laws that
    dominate a family without belonging to it (bounded range, vectors) and for parameters far out of range. Continuous
    Gaussian noise alone has a closed form. Guarantees in zCDP and Rényi DP have no law; then the closed rules decide.
    """
    if lacks_law(components):
        return _closed(components, delta, (_basic, _zcdp, _renyi))
    events = loss_events(components)
    if len(events) == 1 and isinstance(events[0][0], GaussianNoise):
        return _gaussian(_total_mu(components, "tight"), delta)
    bounds = epsilon_bounds(events, float(delta), width)
    if len(events) > _FEW and bounds.upper - bounds.lower <= width * bounds.upper:
        return bounds  # already narrow enough: adding up thousands of rationals would not improve it
    upper = min(bounds.upper, *(_upper_by(rule, components, delta) for rule in (_basic, _zcdp)))
    return Bounds(min(bounds.lower, upper), upper)


def _gaussian(mu: float, delta: Fraction) -> Bounds:
    """Bound ε(δ) of Gaussian noise from both sides: δ(ε) rounded up and rounded down, each solved for ε by bisection.

    From below, μ is taken lower by more than it was rounded up.
    """
    upper, less = gaussian_epsilon(mu, delta), mu * (1 - 2.0**-50)
    if gaussian_delta_below(less, 0.0) <= delta:
        return Bounds(0.0, upper)
    low, high = 0.0, upper
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if gaussian_delta_below(less, middle) > delta else (low, middle)
    return Bounds(low, upper)


def lacks_law(components: Components) -> bool:
    """Return whether a component is a guarantee without a worst law: many laws meet it, and none dominates them all."""
    return any(isinstance(component, (ZCDP, RenyiDP)) for component, _ in components)


def _closed(components: Components, amount: Fraction, rules: Sequence[Accountant]) -> Bounds:
    """Return the least bound from above of the rules that can price all components.

    Each rule holds for releases that are fixed in advance, and no rule depends on the data. So the least bound holds.
    """
    uppers: list[float] = []
    for rule in rules:
        with suppress(InvalidError):  # the rule cannot price a component
            uppers.append(rule(components, amount, 1.0).upper)
    if uppers:
        return _from_above(min(uppers))
    names = sorted({type(component).__name__ for component, _ in components})
    raise InvalidError(
        f"No rule can price all of {', '.join(names)} together.",
        argument="items",
        hint="A ZCDP or RenyiDP composes with noise, pure ε and other guarantees of its kind. Compose the rest apart, "
        "and add up the ε and the δ of both.",
    )


def _upper_by(rule: Accountant, components: Components, delta: Fraction) -> float:
    try:
        return rule(components, delta, 1.0).upper
    except InvalidError:  # the rule cannot price a component
        return inf


def _tight_delta(components: Components, epsilon: Fraction, width: float) -> Bounds:
    if lacks_law(components):
        return _closed(components, epsilon, (DELTAS["zcdp"], _renyi_delta))
    bounds = delta_bounds(loss_events(components), float(epsilon), width)
    try:
        bounds = Bounds(bounds.lower, min(bounds.upper, _zcdp_delta(components, epsilon).upper))
        cost = composition_rules.basic(epsilon_delta_pairs(components))
    except InvalidError:  # a closed rule cannot price a component
        return bounds
    enough = to_fraction(cost.epsilon, "epsilon") <= epsilon
    upper = min(bounds.upper, round_up(to_fraction(cost.delta, "delta"))) if enough else bounds.upper
    return Bounds(min(bounds.lower, upper), upper)


def _from_above(upper: float) -> Bounds:
    return Bounds(0.0, upper)


def _basic(components: Components, delta: Fraction, _: float) -> Bounds:
    cost = composition_rules.basic(epsilon_delta_pairs(components))
    return _from_above(float(cost.epsilon) if to_fraction(cost.delta, "delta") <= delta else inf)


def _advanced(components: Components, delta: Fraction, _: float) -> Bounds:
    return _from_above(composition_rules.advanced(epsilon_delta_pairs(components, "advanced"), delta))


def _optimal(components: Components, delta: Fraction, _: float) -> Bounds:
    return _from_above(composition_rules.optimal(epsilon_delta_pairs(components, "optimal"), delta))


def _optimal_delta(components: Components, epsilon: Fraction, _: float) -> Bounds:
    return _from_above(composition_rules.optimal_delta(epsilon_delta_pairs(components, "optimal"), epsilon))


def _zcdp(components: Components, delta: Fraction, _: float) -> Bounds:
    loss, spent = total_rho(components)
    return _from_above(epsilon_of_zcdp(loss, delta - spent) if spent < delta else inf)


def _zcdp_delta(components: Components, epsilon: Fraction) -> Bounds:
    loss, spent = total_rho(components)
    if loss == 0:
        return _from_above(min(1.0, round_up(spent)))
    return _from_above(min(1.0, nextafter(delta_of_zcdp(round_up(loss), float(epsilon)) + round_up(spent), inf)))


def _renyi_costs(components: Components) -> list[tuple[Fraction, Fraction]]:
    """Return the orders at which the sum of the Rényi divergences is known and finite, each with that sum."""
    fixed = [to_fraction(component.alpha, "alpha") for component, _ in components if isinstance(component, RenyiDP)]
    orders = [*(order for order in _ORDERS if order < min(fixed)), min(fixed)] if fixed else _ORDERS
    costs = [(alpha, renyi_divergence(components, alpha)) for alpha in orders]
    return [(alpha, cost) for alpha, cost in costs if isinstance(cost, Fraction)]


def _renyi(components: Components, delta: Fraction, _: float) -> Bounds:
    costs = _renyi_costs(components)
    return _from_above(min((epsilon_of_renyi(alpha, cost, delta) for alpha, cost in costs), default=inf))


def _renyi_delta(components: Components, epsilon: Fraction, _: float) -> Bounds:
    costs = _renyi_costs(components)
    return _from_above(min((delta_of_renyi(alpha, cost, epsilon) for alpha, cost in costs), default=1.0))


def _total_mu(components: Components, rule: str = "gdp") -> float:
    events = loss_events(components, rule)
    if len(events) != 1 or not isinstance(events[0][0], GaussianNoise):
        raise InvalidError(
            "Rule 'gdp' prices only GaussianDP and continuous Gaussian noise. The noise that tacit draws is discrete.",
            argument="rule",
            hint="Use rule 'tight', 'zcdp' or 'renyi'.",
        )
    return round_up(events[0][0].l2)


def _gdp(components: Components, delta: Fraction, _: float) -> Bounds:
    return _from_above(gaussian_epsilon(_total_mu(components), delta))


EPSILONS: dict[str, Accountant] = {
    "tight": _tight,
    "pld": _pld,
    "basic": _basic,
    "advanced": _advanced,
    "optimal": _optimal,
    "zcdp": _zcdp,
    "renyi": _renyi,
    "gdp": _gdp,
}

DELTAS: dict[str, Accountant] = {
    "tight": _tight_delta,
    "pld": lambda components, epsilon, width: delta_bounds(loss_events(components, "pld"), float(epsilon), width),
    "optimal": _optimal_delta,
    "zcdp": lambda components, epsilon, _: _zcdp_delta(components, epsilon),
    "renyi": _renyi_delta,
    "gdp": lambda components, epsilon, _: _from_above(gaussian_delta(_total_mu(components), float(epsilon))),
}


def accountant(rule: object, accountants: dict[str, Accountant]) -> Accountant:
    """Return the accountant of a rule, or raise InvalidError with the known rules."""
    if isinstance(rule, str) and rule in accountants:
        return accountants[rule]
    raise bad_value("rule", rule, f"one of {', '.join(map(repr, accountants))}")
