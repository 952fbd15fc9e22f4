"""Privacy filters: the check that a budget ledger makes before every charge.

    spent = start(budget)
    spent = admit(spent, budget, event)     # the new total; or BudgetError, and nothing has changed

An analyst may choose each event, its parameters and the moment to stop after seeing all earlier answers. An ordinary
composition theorem does not cover that; a *privacy filter* does (Rogers, Roth, Ullman and Vadhan, NIPS 2016). Stopping
when composed privacy-loss distributions cross a target (ε,δ) is **not** a filter (arXiv:2602.06756v1; reproduced in
the tests, where the true δ is twice the target). Admitting an event that *any* of several filters admits is not a
filter either. So a ledger has one currency, which its budget fixes:

| budget            | currency | sums          | guarantee of each total; the proof         |
|-------------------|----------|---------------|--------------------------------------------|
| PureDP, ApproxDP  | basic    | Σε and Σδ     | (Σε, Σδ)-DP, `prices.basic`                |
| ZCDP, ApproxZCDP  | zcdp     | Σρ and Σδ     | Σδ-approximate Σρ-zCDP, `prices.zcdp`      |
| RenyiDP           | renyi    | Σε at one α   | (α, Σε)-Rényi DP, `prices.renyi`           |
| GaussianDP        | gdp      | Σμ²           | √(Σμ²)-Gaussian DP, `prices.gdp`           |

Totals are rationals, so ten times 0.1 is 1. Only totals are stored, so the cost of one more event does not grow with
history. A total with a denominator of more than 4096 bits is rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TypeAlias, get_args

from tacit.errors import BudgetError, InvalidError, bad_value, show
from tacit.guarantees.events import Event, Neighbours
from tacit.guarantees.exact import round_up, to_fraction
from tacit.guarantees.prices import PRICED_EVENTS, PRICES, Currency
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Guarantee, PureDP, RenyiDP
from tacit.notebook import ShownAsFields

_UNITS: dict[Currency, str] = {"basic": "epsilon", "zcdp": "rho", "renyi": "epsilon", "gdp": "mu²"}
_BITS = 4096


Budget: TypeAlias = Guarantee | ApproxZCDP


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent(ShownAsFields):
    """An exact amount in one currency: a total, a price or a limit.

    `loss` is Σε, Σρ or Σμ²; `order` is Rényi's α; `neighbours` is the relation, if an event has fixed it.

    >>> Spent(currency="basic", loss=Fraction(1, 3), delta=0)
    Spent(currency='basic', loss=Fraction(1, 3), delta=Fraction(0, 1), order=None, neighbours=None)
    """

    currency: Currency
    loss: Fraction
    delta: Fraction
    order: Fraction | None = None
    neighbours: Neighbours | None = None

    def __post_init__(self) -> None:
        """Make the amounts exact; raise InvalidError if one is out of range."""
        if self.currency not in _UNITS:
            raise bad_value("currency", self.currency, f"one of {', '.join(_UNITS)}")
        if self.neighbours is not None and self.neighbours not in get_args(Neighbours):
            raise bad_value("neighbours", self.neighbours, "'add/remove', 'change one' or None")
        if (self.order is None) == (self.currency == "renyi"):
            message = f"order must be set for currency 'renyi' and for no other currency, not {show(self.order)}."
            raise InvalidError(message, argument="order")
        for name, least in (("loss", 0), ("delta", 0), ("order", 1)):
            value = getattr(self, name)
            if value is not None or name != "order":
                object.__setattr__(self, name, _at_least(name, value, least))


def _at_least(name: str, value: object, least: int) -> Fraction:
    """Return an amount as a rational. A Fraction may have any size."""
    requirement = f"a finite number ≥ {least}"
    amount = value if isinstance(value, Fraction) else to_fraction(value, name, requirement)
    if amount < least:
        raise bad_value(name, value, requirement)
    return amount


def limit(budget: Budget) -> Spent:
    """Return the largest total that a budget allows, in the budget's currency.

    >>> limit(GaussianDP(mu=0.3)).loss
    Fraction(9, 100)
    """
    value: object = budget
    match value:
        case PureDP(epsilon=loss):
            return _amount("basic", loss)
        case ApproxDP(epsilon=loss, delta=delta):
            return _amount("basic", loss, delta)
        case ZCDP(rho=loss):
            return _amount("zcdp", loss)
        case ApproxZCDP(rho=loss, delta=delta):
            return _amount("zcdp", loss, delta)
        case RenyiDP(alpha=alpha, epsilon=loss):
            return _amount("renyi", loss, order=to_fraction(alpha, "alpha"))
        case GaussianDP(mu=mu):
            return _amount("gdp", to_fraction(mu, "mu") ** 2)
    raise bad_value("budget", value, "one of PureDP, ApproxDP, ZCDP, ApproxZCDP, RenyiDP, GaussianDP")


def _amount(
    currency: Currency, loss: float | Fraction, delta: float | Fraction = 0, order: Fraction | None = None
) -> Spent:
    exact = [_at_least(name, value, 0) for name, value in (("loss", loss), ("delta", delta))]
    return Spent(currency=currency, loss=exact[0], delta=exact[1], order=order)


def start(budget: Budget, neighbours: Neighbours | None = None) -> Spent:
    """Return the empty total in a budget's currency.

    >>> start(PureDP(epsilon=1)).loss
    Fraction(0, 1)

    Args:
        neighbours: the relation of the budget; None leaves it to the first event that holds for one relation only.
        budget: the budget.
    """
    return replace(limit(budget), loss=Fraction(0), delta=Fraction(0), neighbours=neighbours)


def price(budget: Budget, event: Event | GaussianDP) -> Spent:
    """Return the cost of one event in a budget's currency; raise InvalidError if the currency cannot price it.

    >>> from tacit.guarantees.events import DiscreteGaussianNoise
    >>> noise = DiscreteGaussianNoise(variance=Fraction(50), l2_squared=1, coordinates=1)
    >>> price(ZCDP(rho=1), noise).loss
    Fraction(1, 100)
    """
    most = limit(budget)
    cost = PRICES[most.currency](event, most.order or Fraction(1))
    if cost is None:
        raise InvalidError(
            f"A budget in {_currency_name(most)} cannot price {show(event)}.",
            argument="event",
            hint=f"It prices {PRICED_EVENTS[most.currency]}.",
        )
    loss, delta = cost
    return replace(most, loss=loss, delta=delta, neighbours=getattr(event, "neighbours", None))


def admit(spent: Spent, budget: Budget, event: Event | GaussianDP) -> Spent:
    """Return the total after one more event, or raise BudgetError if that exceeds the budget.

    The rule in every currency: admit if and only if total + price ≤ budget. `prices` proves it for each currency.

    Args:
        spent: the total so far, from `start` or an earlier `admit`, in the budget's currency.
        budget: the limit of the total.
        event: the event to run next; its parameters may depend on every answer so far.

    >>> from tacit.guarantees.events import PureRelease
    >>> budget = PureDP(epsilon=0.1)
    >>> spent = admit(start(budget), budget, PureRelease(epsilon=Fraction("0.08")))
    >>> admit(spent, budget, PureRelease(epsilon=Fraction("0.05")))
    Traceback (most recent call last):
    tacit.errors.BudgetError: This PureRelease costs epsilon = 0.05 but only 0.02 is left. Ask ...
    """
    most, cost = limit(budget), price(budget, event)
    _require_currency(spent, most)
    neighbours = _common_relation(spent, cost)
    loss, delta = spent.loss + cost.loss, spent.delta + cost.delta
    if loss > most.loss or delta > most.delta:
        raise _budget_error(type(event).__name__, cost, spent, most)
    loss, delta = min(_shortened(loss), most.loss), min(_shortened(delta), most.delta)
    return replace(spent, loss=loss, delta=delta, neighbours=neighbours)


def admit_all(spent: Spent, budget: Budget, events: Sequence[Event | GaussianDP], what: str = "query") -> Spent:
    """Return the total after several events that are run together, or raise BudgetError with their total cost.

    >>> from tacit.guarantees.events import PureRelease
    >>> budget = PureDP(epsilon=0.1)
    >>> admit_all(start(budget), budget, [PureRelease(epsilon=Fraction("0.08"))] * 2)
    Traceback (most recent call last):
    tacit.errors.BudgetError: This query costs epsilon = 0.16 but only 0.1 is left. Ask ...

    Args:
        spent: the total before.
        what: what is charged, in the words of the error.
        budget: the budget.
        events: what is run.
    """
    most, total = limit(budget), spent
    costs = [price(budget, event) for event in events]
    loss, delta = (sum((getattr(cost, name) for cost in costs), Fraction(0)) for name in ("loss", "delta"))
    _require_currency(spent, most)
    if spent.loss + loss > most.loss or spent.delta + delta > most.delta:
        raise _budget_error(what, replace(most, loss=loss, delta=delta), spent, most)
    for event in events:
        total = admit(total, budget, event)
    return total


def _shortened(total: Fraction) -> Fraction:
    """Return the total if its denominator has at most 4096 bits, else the next multiple of 2^-4096 above it."""
    if total.denominator.bit_length() <= _BITS:
        return total
    return Fraction(ceil(total * 2**_BITS), 2**_BITS)


def _require_currency(spent: Spent, most: Spent) -> None:
    if not isinstance(spent, Spent):
        raise bad_value("spent", spent, "a total that `start` or `admit` returned")
    if (spent.currency, spent.order) != (most.currency, most.order):
        message = f"The total is in {_currency_name(spent)}, but the budget is in {_currency_name(most)}."
        raise InvalidError(message, argument="spent", hint="Use one currency for both.")


def _currency_name(amount: Spent) -> str:
    return amount.currency if amount.order is None else f"{amount.currency} of order {amount.order}"


def _common_relation(spent: Spent, cost: Spent) -> Neighbours | None:
    """Return the neighbour relation of the sum. Guarantees under two relations do not add up."""
    if spent.neighbours is not None and cost.neighbours not in (None, spent.neighbours):
        raise InvalidError(
            f"The event holds under neighbours = '{cost.neighbours}', but earlier ones under '{spent.neighbours}'.",
            argument="neighbours",
            hint=f"Use '{spent.neighbours}' for all events of a budget.",
        )
    return spent.neighbours or cost.neighbours


def _budget_error(name: str, cost: Spent, spent: Spent, most: Spent) -> BudgetError:
    shortages = " and ".join(_shortages(cost, spent, most))
    hint = "Ask for no more than is left, or have the data's steward raise the limit."
    return BudgetError(f"This {name} costs {shortages}.", hint=hint)


def _shortages(cost: Spent, spent: Spent, most: Spent) -> Iterator[str]:
    """Yield each amount that does not fit: its cost rounded up, and the amount left rounded down."""
    for name, unit in (("loss", _UNITS[cost.currency]), ("delta", "delta")):
        amount: Fraction = getattr(cost, name)
        left: Fraction = getattr(most, name) - getattr(spent, name)
        if amount > left:  # left is below 0 if the budget was lowered afterwards
            yield f"{unit} = {round_up(amount)} but only {0.0 - round_up(-max(left, Fraction(0)))} is left"
