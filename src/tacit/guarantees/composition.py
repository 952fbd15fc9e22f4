"""What many releases cost together.

`compose` takes mechanisms, guarantees and events, singly or as (item, count), and prices the laws that are
drawn. The order does not matter, and the releases may be chosen in any way *before* any answer is seen; for a
budget that is spent as answers come, see `filters`.

| rule | what it uses | bound |
|---|---|---|
| "tight" | "pld"; from above also "basic", "zcdp" and "gdp", where one is less | both sides, certified |
| "pld" | the privacy-loss law of each event; continuous Gaussians merge into one | both sides, certified |
| "basic" | Σε and Σδ | above |
| "advanced" | Dwork, Rothblum and Vadhan 2010 | above |
| "optimal" | Kairouz, Oh and Viswanath 2015, for one ε | exact for (ε, δ) guarantees, above for laws |
| "zcdp" | Σρ and Σδ, converted | above |
| "renyi" | the best of many orders, converted | above |
| "gdp" | √(Σμ²), for continuous Gaussian noise and μ-GDP | exact |

A bound from above alone has the lower end 0, which is true of any ε.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor, inf, isqrt, nextafter
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args

from tacit.errors import InvalidError, show
from tacit.guarantees import rules
from tacit.guarantees.conversions import (
    delta_of_zcdp,
    epsilon_of_renyi,
    epsilon_of_zcdp,
    gaussian_delta,
    gaussian_delta_below,
    gaussian_epsilon,
    nonnegative,
    probability,
)
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
from tacit.guarantees.exact import Exact, Number, positive, round_up, to_fraction, whole
from tacit.guarantees.filters import ApproxZCDP, price
from tacit.guarantees.pld import Bounds, Lawful, delta_bounds, delta_curve, epsilon_bounds
from tacit.guarantees.profile import PrivacyProfile
from tacit.guarantees.values import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP

if TYPE_CHECKING:
    import altair as alt

    from tacit.guarantees.pictures import Kind

Rule: TypeAlias = Literal["tight", "pld", "basic", "advanced", "optimal", "zcdp", "renyi", "gdp"]

_ORDERS = [Fraction(n, 8) for n in range(9, 81)] + [Fraction(n) for n in (*range(11, 65), 80, 96, 128, 256, 512, 1024)]
_MOST = 10**9
_LARGEST = 600.0
_FEW = 64
_NARROWEST = Fraction(1, 10**6)


class HasEvent(Protocol):
    """A mechanism, as far as an accountant sees it."""

    @property
    def event(self) -> Event:
        """What is run."""


Item: TypeAlias = HasEvent | Event | Guarantee | PrivacyProfile
Part: TypeAlias = Event | ZCDP | RenyiDP | PrivacyProfile


@dataclass(frozen=True, slots=True)
class Composition:
    """Releases priced together; see `compose`."""

    parts: tuple[tuple[Part, int], ...]

    def epsilon(self, *, delta: Number, rule: Rule = "tight", width: Number = 1e-3) -> Bounds:
        """Bracket the least ε such that all parts together are (ε,δ)-DP.

        Args:
            delta: δ; 0 with the rules "basic" and "optimal", and where every part is pure.
            rule: how to add up; the table of the module says what each uses.
            width: how narrow the bracket should be, relative to ε; at least 1e-6. It is wider if that cannot
            be reached.
        """
        slack, narrow = probability(delta, "delta"), _read_width(width)
        if not self.parts:
            return Bounds(0.0, 0.0)
        if slack == 0 and rule in ("tight", "pld"):
            return self._pure_limit()
        return _EPSILONS[_read_rule(rule, _EPSILONS)](self, slack, narrow)

    def delta(self, *, epsilon: Number, rule: Rule = "tight", width: Number = 1e-3) -> Bounds:
        """Bracket the least δ such that all parts are (ε,δ)-DP; rules "tight", "pld", "optimal", "zcdp", "gdp"."""
        size, narrow = nonnegative(epsilon, "epsilon"), _read_width(width)
        if not self.parts:
            return Bounds(0.0, 0.0)
        return _DELTAS[_read_rule(rule, _DELTAS)](self, size, narrow)

    def _pure_limit(self) -> Bounds:
        """At δ = 0 the least ε is the largest loss, if there is one."""
        ends = [(count, *_largest_loss(part)) for part, count in self.parts]
        lower, upper = (sum((n * end[side] for n, *end in ends), Fraction(0)) for side in (0, 1))
        return Bounds(*(inf if end == inf else round_up(to_fraction(end, "epsilon")) for end in (lower, upper)))

    def profile(self, points: int = 256) -> PrivacyProfile:
        """Return δ as a function of ε: the tight upper bound at so many ε, and what it promises between them."""
        found = [(x, bounds.upper) for x, bounds in self.curve(points)]
        return PrivacyProfile(found or [(0.0, 0.0)])

    def curve(self, points: int = 64) -> list[tuple[float, Bounds]]:
        """Return bounds on δ at so many ε, from 0 to where δ is about 1e-12."""
        if not self.parts:
            return []
        if (number := whole(points)) is None or number < 2:  # noqa: PLR2004 - a curve has two ends
            raise InvalidError("points", show(points), "a whole number ≥ 2")
        last = self.epsilon(delta=1e-12, width=1e-2).upper
        last = min(last if last < inf else self._widest(), _LARGEST)
        epsilons = [last * i / (points - 1) for i in range(points)]
        return list(zip(epsilons, delta_curve(self.events(), epsilons), strict=True))

    def log_moments(self, orders: Iterable[Number]) -> list[float]:
        """Bound ln m(α) = ln E[e^(αL)] from above, L the total privacy loss: α times the Rényi divergence at α + 1.

        >>> from tacit.guarantees.values import GaussianDP
        >>> compose([GaussianDP(mu=1)]).log_moments([1, 2])
        [1.0, 3.0]
        """
        if not isinstance(orders, Iterable):
            raise InvalidError("orders", show(orders), "a list of numbers > 0")
        exact = [positive(order, "orders") for order in orders]
        costs = [(order, _renyi_cost(self, order + 1)) for order in exact]
        return [round_up(order * cost) if isinstance(cost, Fraction) else inf for order, cost in costs]

    def plot(self, kind: Kind = "delta", *, delta: float = 1e-6) -> alt.LayerChart:
        """Draw a chart; it needs the extra `tacit[plot]`.

        Args:
            kind: "delta" for δ(ε) with its bounds; "rules" for ε against how often all of it is done, by every rule;
                "loss" for the law of the privacy loss; "moments" for ln E[e^(αL)].
            delta: δ, for the kinds "rules" and "loss".
        """
        from tacit.guarantees.pictures import draw  # noqa: PLC0415 - it uses this class

        return draw(self, kind, delta)

    def _widest(self) -> float:
        """Return an ε beyond which δ falls no further: where every part but its give-away is used up, or nearly."""
        return self.epsilon(delta=min(0.5, 2 * self.delta(epsilon=50.0).upper), width=1e-2).upper

    def events(self) -> list[tuple[Lawful, int]]:
        """Return the parts as events, continuous Gaussians merged; refuse what has no privacy-loss law."""
        merged = Fraction(0)
        rest: list[tuple[Lawful, int]] = []
        for part, count in self.parts:
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

    def _approx(self) -> list[tuple[ApproxDP, int]]:
        return [(_as_approx(part), count) for part, count in self.parts]

    def pairs(self) -> list[tuple[PureDP | ApproxDP, int]]:
        """Return the parts as (ε, δ) guarantees; refuse what has none."""
        return list(self._approx())

    def rho(self) -> tuple[Fraction, Fraction]:
        """Return Σρ and Σδ."""
        costs = [(_zcdp_price(part), count) for part, count in self.parts]
        return sum((count * rho for (rho, _), count in costs), Fraction(0)), sum(
            (count * delta for (_, delta), count in costs), Fraction(0)
        )


def compose(items: Iterable[Item | tuple[Item, int]]) -> Composition:
    """Price several releases together.

    >>> from tacit.guarantees.values import PureDP
    >>> total = compose([(PureDP(epsilon=0.1), 10)])
    >>> total.epsilon(delta=1e-6, rule="basic").upper
    1.0
    >>> found = total.epsilon(delta=1e-6)
    >>> found.lower <= found.upper < 1
    True

    Args:
        items: mechanisms, guarantees or events; or pairs of one and how often it is used.
    """
    counts: Counter[Part] = Counter()
    given: object = items
    if not isinstance(given, Iterable) or isinstance(given, (str, Mapping)):
        raise InvalidError("items", show(given), "a list of mechanisms, guarantees or events, or of pairs with a count")
    for item in items:
        one, count = _counted(item)
        part = _as_part(one)
        if count and part is not None:
            counts[part] += count
    relations = {getattr(part, "neighbours", None) for part in counts} - {None}
    if len(relations) > 1:
        raise InvalidError("items", "parts under both neighbour relations", "parts under one neighbour relation")
    return Composition(tuple(counts.items()))


def _counted(item: object) -> tuple[object, int]:
    """Return an item and how often it is used."""
    if not isinstance(item, tuple):
        return item, 1
    if len(item) != 2:  # noqa: PLR2004 - a pair
        raise InvalidError("items", f"a tuple of {len(item)}", "(item, count) pairs or single items")
    count = whole(item[1])
    if count is None or not 0 <= count <= _MOST:
        raise InvalidError("items", f"the count {show(item[1])}", "(item, count) with a whole number from 0 to 10^9")
    return item[0], count


def _as_part(item: object) -> Part | None:
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


def _largest_loss(part: Part) -> tuple[Fraction | float, Fraction | float]:
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


def _zcdp_price(part: Part) -> tuple[Fraction, Fraction]:
    if isinstance(part, ZCDP):
        return to_fraction(part.rho, "rho"), Fraction(0)
    if isinstance(part, RenyiDP):
        raise InvalidError("rule", "a RenyiDP among the parts", "'renyi', which knows one order of it")
    if isinstance(part, PrivacyProfile):
        raise InvalidError("rule", "a PrivacyProfile among the parts", "'tight' or 'pld', which use all of it")
    cost = price(ApproxZCDP(rho=1, delta=0.5), part)
    return cost.loss, cost.delta


def _root_above(square: Fraction) -> Fraction:
    """Return √square, rounded up by less than 2^-100 of itself."""
    scaled = square.numerator * square.denominator << 256
    return Fraction(isqrt(scaled) + 1, square.denominator << 128)


def _pld(total: Composition, delta: Fraction, width: float) -> Bounds:
    return epsilon_bounds(total.events(), float(delta), width)


def _tight(total: Composition, delta: Fraction, width: float) -> Bounds:
    """The privacy-loss laws; from above also the closed rules, where one of them gives less.

    All hold for what is fixed in advance, so the least does. Laws that dominate a family without being one of it
    (bounded range, vectors), and parameters far out of range, are where the closed rules win. Continuous Gaussian
    noise alone has a closed form.
    """
    parts = total.events()
    if len(parts) == 1 and isinstance(parts[0][0], GaussianNoise):
        return _gaussian(_mu(total), delta)
    found = epsilon_bounds(parts, float(delta), width)
    if len(parts) > _FEW and found.upper - found.lower <= width * found.upper:
        return found  # as narrow as asked: adding up thousands of rationals could not tell more
    upper = min(found.upper, *(_closed(rule, total, delta) for rule in (_basic, _zcdp)))
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


def _closed(rule: Callable[[Composition, Fraction, float], Bounds], total: Composition, delta: Fraction) -> float:
    try:
        return rule(total, delta, 1.0).upper
    except InvalidError:  # a part that this rule does not know
        return inf


def _tight_delta(total: Composition, epsilon: Fraction, width: float) -> Bounds:
    found = delta_bounds(total.events(), float(epsilon), width)
    try:
        found = Bounds(found.lower, min(found.upper, _zcdp_delta(total, epsilon).upper))
        cost = rules.basic(total.pairs())
    except InvalidError:
        return found
    enough = to_fraction(cost.epsilon, "epsilon") <= epsilon
    upper = min(found.upper, round_up(to_fraction(cost.delta, "delta"))) if enough else found.upper
    return Bounds(min(found.lower, upper), upper)


def _upper(epsilon: float) -> Bounds:
    return Bounds(0.0, epsilon)


def _basic(total: Composition, delta: Fraction, _: float) -> Bounds:
    cost = rules.basic(total.pairs())
    return _upper(float(cost.epsilon) if to_fraction(cost.delta, "delta") <= delta else inf)


def _zcdp(total: Composition, delta: Fraction, _: float) -> Bounds:
    rho, spent = total.rho()
    return _upper(epsilon_of_zcdp(rho, delta - spent) if spent < delta else inf)


def _renyi(total: Composition, delta: Fraction, _: float) -> Bounds:
    fixed = [to_fraction(part.alpha, "alpha") for part, _ in total.parts if isinstance(part, RenyiDP)]
    orders = [*(order for order in _ORDERS if order < min(fixed)), min(fixed)] if fixed else _ORDERS
    costs = [(alpha, _renyi_cost(total, alpha)) for alpha in orders]
    known = [(alpha, cost) for alpha, cost in costs if isinstance(cost, Fraction)]
    return _upper(min((epsilon_of_renyi(alpha, cost, delta) for alpha, cost in known), default=inf))


def _renyi_cost(total: Composition, alpha: Fraction) -> Fraction | float:
    """Return the sum of all parts' Rényi divergences at one order, or infinity."""
    cost = Fraction(0)
    for part, count in total.parts:
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


def _mu(total: Composition) -> float:
    parts = total.events()
    if len(parts) != 1 or not isinstance(parts[0][0], GaussianNoise):
        raise InvalidError(
            "rule",
            "'gdp'",
            "'tight', 'zcdp' or 'renyi' here: 'gdp' knows only GaussianDP and continuous Gaussian noise, and the noise "
            "that is drawn is discrete",
        )
    return round_up(parts[0][0].l2)


def _gdp(total: Composition, delta: Fraction, _: float) -> Bounds:
    return _upper(gaussian_epsilon(_mu(total), delta))


_EPSILONS: dict[str, Callable[[Composition, Fraction, float], Bounds]] = {
    "tight": _tight,
    "pld": _pld,
    "basic": _basic,
    "advanced": lambda total, delta, _: _upper(rules.advanced(total.pairs(), delta)),
    "optimal": lambda total, delta, _: _upper(rules.optimal(total.pairs(), delta)),
    "zcdp": _zcdp,
    "renyi": _renyi,
    "gdp": _gdp,
}

_DELTAS: dict[str, Callable[[Composition, Fraction, float], Bounds]] = {
    "tight": _tight_delta,
    "pld": lambda total, epsilon, width: delta_bounds(total.events(), float(epsilon), width),
    "optimal": lambda total, epsilon, _: _upper(rules.optimal_delta(total.pairs(), epsilon)),
    "zcdp": lambda total, epsilon, _: _zcdp_delta(total, epsilon),
    "gdp": lambda total, epsilon, _: _upper(gaussian_delta(_mu(total), float(epsilon))),
}


def _zcdp_delta(total: Composition, epsilon: Fraction) -> Bounds:
    rho, spent = total.rho()
    if rho == 0:
        return _upper(min(1.0, round_up(spent)))
    return _upper(min(1.0, nextafter(delta_of_zcdp(round_up(rho), float(epsilon)) + round_up(spent), inf)))


def _read_rule(rule: object, known: dict[str, Callable[[Composition, Fraction, float], Bounds]]) -> str:
    if isinstance(rule, str) and rule in known:
        return rule
    raise InvalidError("rule", show(rule), f"one of {', '.join(map(repr, known))}")


def _read_width(width: object) -> float:
    narrow = positive(width, "width")
    if not _NARROWEST <= narrow <= 1:
        raise InvalidError("width", show(width), "from 1e-6 to 1")
    return float(narrow)
