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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Protocol, TypeAlias

from tacit.errors import InvalidError, show
from tacit.guarantees import parts
from tacit.guarantees.accountants import DELTAS, EPSILONS, Accountant, Rule
from tacit.guarantees.conversions import nonnegative, probability
from tacit.guarantees.events import Event
from tacit.guarantees.exact import Number, positive, round_up, whole
from tacit.guarantees.parts import Part, Parts, as_part
from tacit.guarantees.pld import Bounds, Lawful, delta_curve
from tacit.guarantees.profile import PrivacyProfile
from tacit.guarantees.values import ApproxDP, Guarantee, PureDP

if TYPE_CHECKING:
    import altair as alt

    from tacit.guarantees.composition_plots import Kind

_MOST = 10**9
_LARGEST = 600.0
_NARROWEST = Fraction(1, 10**6)


class HasEvent(Protocol):
    """A mechanism, as far as an accountant sees it."""

    @property
    def event(self) -> Event:
        """What is run."""


Item: TypeAlias = HasEvent | Event | Guarantee | PrivacyProfile


@dataclass(frozen=True, slots=True)
class Composition:
    """Releases priced together; see `compose`."""

    parts: Parts

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
            return parts.largest_loss(self.parts)
        return EPSILONS[_read_rule(rule, EPSILONS)](self.parts, slack, narrow)

    def delta(self, *, epsilon: Number, rule: Rule = "tight", width: Number = 1e-3) -> Bounds:
        """Bracket the least δ such that all parts are (ε,δ)-DP; rules "tight", "pld", "optimal", "zcdp", "gdp"."""
        size, narrow = nonnegative(epsilon, "epsilon"), _read_width(width)
        if not self.parts:
            return Bounds(0.0, 0.0)
        return DELTAS[_read_rule(rule, DELTAS)](self.parts, size, narrow)

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
        costs = [(order, parts.renyi_cost(self.parts, order + 1)) for order in exact]
        return [round_up(order * cost) if isinstance(cost, Fraction) else inf for order, cost in costs]

    def plot(self, kind: Kind = "delta", *, delta: float = 1e-6) -> alt.LayerChart:
        """Draw a chart; it needs the extra `tacit[plot]`.

        Args:
            kind: "delta" for δ(ε) with its bounds; "rules" for ε against how often all of it is done, by every rule;
                "loss" for the law of the privacy loss; "moments" for ln E[e^(αL)].
            delta: δ, for the kinds "rules" and "loss".
        """
        from tacit.guarantees.composition_plots import draw  # noqa: PLC0415 - it uses this class

        return draw(self, kind, delta)

    def _widest(self) -> float:
        """Return an ε beyond which δ falls no further: where every part but its give-away is used up, or nearly."""
        return self.epsilon(delta=min(0.5, 2 * self.delta(epsilon=50.0).upper), width=1e-2).upper

    def events(self) -> list[tuple[Lawful, int]]:
        """Return the parts as events, continuous Gaussians merged; refuse what has no privacy-loss law."""
        return parts.events(self.parts)

    def pairs(self) -> list[tuple[PureDP | ApproxDP, int]]:
        """Return the parts as (ε, δ) guarantees; refuse what has none."""
        return parts.pairs(self.parts)

    def rho(self) -> tuple[Fraction, Fraction]:
        """Return Σρ and Σδ."""
        return parts.rho(self.parts)


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
        part = as_part(one)
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


def _read_rule(rule: object, known: Mapping[str, Accountant]) -> str:
    if isinstance(rule, str) and rule in known:
        return rule
    raise InvalidError("rule", show(rule), f"one of {', '.join(map(repr, known))}")


def _read_width(width: object) -> float:
    narrow = positive(width, "width")
    if not _NARROWEST <= narrow <= 1:
        raise InvalidError("width", show(width), "from 1e-6 to 1")
    return float(narrow)
