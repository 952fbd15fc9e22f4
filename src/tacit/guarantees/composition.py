"""The cost of many releases together.

`compose` takes mechanisms, guarantees and events, singly or as (item, count), and prices the laws that are drawn. The
order does not matter, and the releases may be chosen in any way *before* any answer is seen. If a budget is spent as
answers come, use `filters`.

| rule | uses | bound |
|---|---|---|
| "tight" | "pld"; from above also "basic", "zcdp" and "gdp", if one is less | both sides, certified |
| | with a ZCDP or RenyiDP, which have no law: the least of "basic", "zcdp" and "renyi" | above |
| "pld" | the privacy-loss law of each event; continuous Gaussians merge into one | both sides, certified |
| "basic" | Σε and Σδ | above |
| "advanced" | Dwork, Rothblum and Vadhan 2010 | above |
| "optimal" | Kairouz, Oh and Viswanath 2015, for one ε | exact for (ε, δ) guarantees, above for laws |
| "zcdp" | Σρ and Σδ, converted | above |
| "renyi" | the best of many orders, converted | above |
| "gdp" | √(Σμ²), for continuous Gaussian noise and μ-GDP | exact |

A bound from above only has the lower end 0, which holds for any ε.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Protocol, TypeAlias

from tacit.errors import InvalidError, bad_value, show
from tacit.guarantees.accountants import (
    DELTAS,
    EPSILONS,
    Component,
    Components,
    CompositionRule,
    accountant,
    as_component,
    lacks_law,
    largest_loss,
    loss_events,
    renyi_divergence,
)
from tacit.guarantees.conversions import nonnegative, probability
from tacit.guarantees.events import Event
from tacit.guarantees.exact import Number, positive, round_up, whole
from tacit.guarantees.pld import Bounds, delta_curve
from tacit.guarantees.privacy_loss import PrivacyLoss
from tacit.guarantees.profile import PrivacyProfile
from tacit.guarantees.values import Guarantee
from tacit.notebook import rows_html

if TYPE_CHECKING:
    import altair as alt

    from tacit.guarantees.composition_plots import PlotKind

_MOST = 10**9
_LARGEST = 600.0
_NARROWEST = Fraction(1, 10**6)


class HasEvent(Protocol):
    """A mechanism, as an accountant uses it."""

    @property
    def event(self) -> Event:
        """The event to price."""


Item: TypeAlias = HasEvent | Event | Guarantee | PrivacyProfile


@dataclass(frozen=True, slots=True)
class Composition:
    """Releases priced together; see `compose`.

    Attributes:
        parts: what was composed: guarantees, events and profiles, each with its number.
    """

    parts: Components

    def epsilon(self, *, delta: Number, rule: CompositionRule = "tight", width: Number = 1e-3) -> Bounds:
        """Bracket the least ε such that all parts together are (ε,δ)-DP.

        Args:
            delta: δ; 0 with the rules "basic" and "optimal", and where every part is pure.
            rule: one of the rules in the table of the module.
            width: the width of the bracket relative to ε, at least 1e-6. The bracket is wider if this width cannot
                be reached.
        """
        slack, narrow = probability(delta, "delta"), _read_width(width)
        if not self.parts:
            return Bounds(0.0, 0.0)
        if slack == 0 and rule in ("tight", "pld"):
            return largest_loss(self.parts)
        return accountant(rule, EPSILONS)(self.parts, slack, narrow)

    def delta(self, *, epsilon: Number, rule: CompositionRule = "tight", width: Number = 1e-3) -> Bounds:
        """Bracket the least δ such that all parts are (ε,δ)-DP, by any rule but "basic" and "advanced".

        Args:
            epsilon: ε of the (ε, δ) guarantee.
            rule: one of the rules in the table of the module.
            width: the width of the bracket relative to δ.
        """
        size, narrow = nonnegative(epsilon, "epsilon"), _read_width(width)
        if not self.parts:
            return Bounds(0.0, 0.0)
        return accountant(rule, DELTAS)(self.parts, size, narrow)

    def profile(self, points: int = 256) -> PrivacyProfile:
        """Return δ as a function of ε: the tight upper bound at `points` values of ε, and what follows between them."""
        upper = [(x, bounds.upper) for x, bounds in self.curve(points)]
        return PrivacyProfile(upper or [(0.0, 0.0)])

    def curve(self, points: int = 64) -> list[tuple[float, Bounds]]:
        """Return bounds on δ at `points` values of ε, from 0 to where δ is about 1e-12."""
        if not self.parts:
            return []
        if (number := whole(points)) is None or number < 2:  # noqa: PLR2004 - a curve has two ends
            raise bad_value("points", points, "a whole number ≥ 2")
        last = self.epsilon(delta=1e-12, width=1e-2).upper
        last = min(last if last < inf else self._widest(), _LARGEST)
        epsilons = [last * i / (points - 1) for i in range(points)]
        if lacks_law(self.parts):
            return [(epsilon, self.delta(epsilon=epsilon)) for epsilon in epsilons]
        return list(zip(epsilons, delta_curve(loss_events(self.parts), epsilons), strict=True))

    def log_moments(self, orders: Iterable[Number]) -> list[float]:
        """Bound ln m(α) = ln E[e^(αL)] from above, L the total privacy loss: α times the Rényi divergence at α + 1.

        >>> from tacit.guarantees.values import GaussianDP
        >>> compose([GaussianDP(mu=1)]).log_moments([1, 2])
        [1.0, 3.0]

        Args:
            orders: the numbers α > 0 at which to bound the moment.
        """
        if not isinstance(orders, Iterable):
            raise bad_value("orders", orders, "a list of numbers > 0")
        exact = [positive(order, "orders") for order in orders]
        costs = [(order, renyi_divergence(self.parts, order + 1)) for order in exact]
        return [round_up(order * cost) if isinstance(cost, Fraction) else inf for order, cost in costs]

    @property
    def loss(self) -> PrivacyLoss:
        """The total privacy loss as a random variable: its moments, Pr[L > ε] and δ(ε)."""
        return PrivacyLoss(self.parts)

    def plot(self, kind: PlotKind = "delta", *, delta: float = 1e-6) -> alt.LayerChart:
        """Draw a chart, with the extra `tacit[plot]`.

        Args:
            kind: "delta" for δ(ε) with its bounds; "rules" for ε against the number of repetitions, by every rule;
                "loss" for the law of the privacy loss; "moments" for ln E[e^(αL)].
            delta: δ, for the kinds "rules" and "loss".
        """
        from tacit.guarantees.composition_plots import draw  # noqa: PLC0415 - it uses this class

        return draw(self, kind, delta)

    def _repr_html_(self) -> str:
        """Return the parts and the number of their uses as HTML, for notebooks."""
        return rows_html(("part", "uses"), ((part, f"{count:,}") for part, count in self.parts))

    def _widest(self) -> float:
        """Return an ε beyond which δ hardly falls: only the mass of infinite loss is left."""
        return self.epsilon(delta=min(0.5, 2 * self.delta(epsilon=50.0).upper), width=1e-2).upper


def compose(items: Iterable[Item | tuple[Item, int]]) -> Composition:
    """Price several releases together.

    >>> from tacit.guarantees.values import PureDP
    >>> total = compose([(PureDP(epsilon=0.1), 10)])
    >>> total.epsilon(delta=1e-6, rule="basic").upper
    1.0
    >>> bounds = total.epsilon(delta=1e-6)
    >>> bounds.lower <= bounds.upper < 1
    True

    Args:
        items: mechanisms, guarantees or events; or pairs of one of these and the number of its uses.
    """
    counts: Counter[Component] = Counter()
    iterable: object = items
    if not isinstance(iterable, Iterable) or isinstance(iterable, (str, Mapping)):
        hint = "Items may be pairs with a count."
        raise bad_value("items", iterable, "a list of mechanisms, guarantees or events", hint=hint)
    for entry in items:
        item, count = _counted(entry)
        component = as_component(item)
        if count and component is not None:
            counts[component] += count
    relations = {getattr(component, "neighbours", None) for component in counts} - {None}
    if len(relations) > 1:
        raise InvalidError(
            "Cannot compose releases under both neighbour relations, 'add/remove' and 'change one'.",
            argument="items",
            hint="Use one neighbour relation for all items.",
        )
    return Composition(tuple(counts.items()))


def _counted(entry: object) -> tuple[object, int]:
    """Return an item and the number of its uses."""
    if not isinstance(entry, tuple):
        return entry, 1
    if len(entry) != 2:  # noqa: PLR2004 - a pair
        message = f"Each item must be a single item or a pair (item, count), not a tuple of {len(entry)}."
        raise InvalidError(message, argument="items")
    count = whole(entry[1])
    if count is None or not 0 <= count <= _MOST:
        message = f"The count of an item must be a whole number from 0 to 10^9, not {show(entry[1])}."
        raise InvalidError(message, argument="items")
    return entry[0], count


def _read_width(width: object) -> float:
    narrow = positive(width, "width")
    if not _NARROWEST <= narrow <= 1:
        raise bad_value("width", width, "a number from 1e-6 to 1")
    return float(narrow)
