"""The accountants: ε at a δ and δ at an ε by each rule of `compose`; `composition` has the table of the rules."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf, nextafter
from typing import Literal, TypeAlias

from tacit.errors import InvalidError
from tacit.guarantees import rules
from tacit.guarantees.conversions import (
    delta_of_zcdp,
    epsilon_of_renyi,
    epsilon_of_zcdp,
    gaussian_delta,
    gaussian_delta_below,
    gaussian_epsilon,
)
from tacit.guarantees.events import GaussianNoise
from tacit.guarantees.exact import round_up, to_fraction
from tacit.guarantees.parts import Parts, events, pairs, renyi_cost, rho
from tacit.guarantees.pld import Bounds, delta_bounds, epsilon_bounds
from tacit.guarantees.values import RenyiDP

Rule: TypeAlias = Literal["tight", "pld", "basic", "advanced", "optimal", "zcdp", "renyi", "gdp"]
Accountant: TypeAlias = Callable[[Parts, Fraction, float], Bounds]

_ORDERS = [Fraction(n, 8) for n in range(9, 81)] + [Fraction(n) for n in (*range(11, 65), 80, 96, 128, 256, 512, 1024)]
_FEW = 64


def _pld(parts: Parts, delta: Fraction, width: float) -> Bounds:
    return epsilon_bounds(events(parts), float(delta), width)


def _tight(parts: Parts, delta: Fraction, width: float) -> Bounds:
    """The privacy-loss laws; from above also the closed rules, where one of them gives less.

    All hold for what is fixed in advance, so the least does. Laws that dominate a family without being one of it
    (bounded range, vectors), and parameters far out of range, are where the closed rules win. Continuous Gaussian
    noise alone has a closed form.
    """
    laws = events(parts)
    if len(laws) == 1 and isinstance(laws[0][0], GaussianNoise):
        return _gaussian(_mu(parts), delta)
    found = epsilon_bounds(laws, float(delta), width)
    if len(laws) > _FEW and found.upper - found.lower <= width * found.upper:
        return found  # as narrow as asked: adding up thousands of rationals could not tell more
    upper = min(found.upper, *(_closed(rule, parts, delta) for rule in (_basic, _zcdp)))
    return Bounds(min(found.lower, upper), upper)


def _gaussian(mu: float, delta: Fraction) -> Bounds:
    """ε(δ) of Gaussian noise from both sides: δ(ε) rounded up and rounded down, each solved for ε by bisection.

    From below, μ is taken lower by more than it was rounded up.
    """
    upper, less = gaussian_epsilon(mu, delta), mu * (1 - 2.0**-50)
    if gaussian_delta_below(less, 0.0) <= delta:
        return Bounds(0.0, upper)
    low, high = 0.0, upper
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if gaussian_delta_below(less, middle) > delta else (low, middle)
    return Bounds(low, upper)


def _closed(rule: Accountant, parts: Parts, delta: Fraction) -> float:
    try:
        return rule(parts, delta, 1.0).upper
    except InvalidError:  # a part that this rule does not know
        return inf


def _tight_delta(parts: Parts, epsilon: Fraction, width: float) -> Bounds:
    found = delta_bounds(events(parts), float(epsilon), width)
    try:
        found = Bounds(found.lower, min(found.upper, _zcdp_delta(parts, epsilon).upper))
        cost = rules.basic(pairs(parts))
    except InvalidError:
        return found
    enough = to_fraction(cost.epsilon, "epsilon") <= epsilon
    upper = min(found.upper, round_up(to_fraction(cost.delta, "delta"))) if enough else found.upper
    return Bounds(min(found.lower, upper), upper)


def _upper(epsilon: float) -> Bounds:
    return Bounds(0.0, epsilon)


def _basic(parts: Parts, delta: Fraction, _: float) -> Bounds:
    cost = rules.basic(pairs(parts))
    return _upper(float(cost.epsilon) if to_fraction(cost.delta, "delta") <= delta else inf)


def _zcdp(parts: Parts, delta: Fraction, _: float) -> Bounds:
    loss, spent = rho(parts)
    return _upper(epsilon_of_zcdp(loss, delta - spent) if spent < delta else inf)


def _zcdp_delta(parts: Parts, epsilon: Fraction) -> Bounds:
    loss, spent = rho(parts)
    if loss == 0:
        return _upper(min(1.0, round_up(spent)))
    return _upper(min(1.0, nextafter(delta_of_zcdp(round_up(loss), float(epsilon)) + round_up(spent), inf)))


def _renyi(parts: Parts, delta: Fraction, _: float) -> Bounds:
    fixed = [to_fraction(part.alpha, "alpha") for part, _ in parts if isinstance(part, RenyiDP)]
    orders = [*(order for order in _ORDERS if order < min(fixed)), min(fixed)] if fixed else _ORDERS
    costs = [(alpha, renyi_cost(parts, alpha)) for alpha in orders]
    known = [(alpha, cost) for alpha, cost in costs if isinstance(cost, Fraction)]
    return _upper(min((epsilon_of_renyi(alpha, cost, delta) for alpha, cost in known), default=inf))


def _mu(parts: Parts) -> float:
    laws = events(parts)
    if len(laws) != 1 or not isinstance(laws[0][0], GaussianNoise):
        raise InvalidError(
            "rule",
            "'gdp'",
            "'tight', 'zcdp' or 'renyi' here: 'gdp' knows only GaussianDP and continuous Gaussian noise, and the noise "
            "that is drawn is discrete",
        )
    return round_up(laws[0][0].l2)


def _gdp(parts: Parts, delta: Fraction, _: float) -> Bounds:
    return _upper(gaussian_epsilon(_mu(parts), delta))


EPSILONS: dict[str, Accountant] = {
    "tight": _tight,
    "pld": _pld,
    "basic": _basic,
    "advanced": lambda parts, delta, _: _upper(rules.advanced(pairs(parts), delta)),
    "optimal": lambda parts, delta, _: _upper(rules.optimal(pairs(parts), delta)),
    "zcdp": _zcdp,
    "renyi": _renyi,
    "gdp": _gdp,
}

DELTAS: dict[str, Accountant] = {
    "tight": _tight_delta,
    "pld": lambda parts, epsilon, width: delta_bounds(events(parts), float(epsilon), width),
    "optimal": lambda parts, epsilon, _: _upper(rules.optimal_delta(pairs(parts), epsilon)),
    "zcdp": lambda parts, epsilon, _: _zcdp_delta(parts, epsilon),
    "gdp": lambda parts, epsilon, _: _upper(gaussian_delta(_mu(parts), float(epsilon))),
}
