"""May this event still be run? What a budget ledger asks before every charge.

    spent = start(budget)
    spent = admit(spent, budget, event)     # the new total, or BudgetError and nothing has changed

Whoever asks may choose each event after seeing all earlier answers, parameters and the moment to stop
included. An ordinary composition theorem does not cover that; a *privacy filter* does (Rogers, Roth, Ullman and
Vadhan, NIPS 2016). Stopping when composed privacy-loss distributions cross a target (ε,δ) is **not** a filter
(arXiv:2602.06756v1; reproduced in the tests, where the true δ is twice the target), nor is admitting what *any*
of several filters admits. So a ledger has one currency, fixed by its budget:

| budget            | currency | what is added | each total is promised as; the proof       |
|-------------------|----------|---------------|--------------------------------------------|
| PureDP, ApproxDP  | basic    | Σε and Σδ     | (Σε, Σδ)-DP, `prices.basic`                |
| ZCDP, ApproxZCDP  | zcdp     | Σρ and Σδ     | Σδ-approximate Σρ-zCDP, `prices.zcdp`      |
| RenyiDP           | renyi    | Σε at one α   | (α, Σε)-Rényi DP, `prices.renyi`           |
| GaussianDP        | gdp      | Σμ²           | √(Σμ²)-Gaussian DP, `prices.gdp`           |

Totals are rationals, so ten times 0.1 is 1. They are all that is remembered: the cost of one more event does
not grow with history. A denominator of more than 4096 bits is rounded away, upwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TypeAlias, get_args

from tacit.errors import BudgetError, InvalidError, show
from tacit.guarantees.events import Event, Neighbours
from tacit.guarantees.exact import Exact, round_up, to_fraction
from tacit.guarantees.prices import PRICES, WANTS, Currency
from tacit.guarantees.values import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP

_UNITS: dict[Currency, str] = {"basic": "epsilon", "zcdp": "rho", "renyi": "epsilon", "gdp": "mu²"}
_BITS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxZCDP:
    """δ-approximate ρ-zCDP: outside events of probability δ, ρ-zCDP (Bun and Steinke, arXiv:1605.02065v1, def. 8.1).

    >>> ApproxZCDP(rho=0.1, delta=1e-6)
    ApproxZCDP(rho=0.1, delta=1e-06)
    """

    rho: float
    delta: float

    def __post_init__(self) -> None:
        """Check and freeze."""
        for name, want, most in (("rho", "a finite number ≥ 0", None), ("delta", "a number from 0 to 1", 1)):
            given = getattr(self, name)
            fraction = to_fraction(given, name, want)
            if fraction < 0 or (most is not None and fraction > most):
                raise InvalidError(name, show(given), want)
            object.__setattr__(self, name, Exact(fraction))


Budget: TypeAlias = Guarantee | ApproxZCDP


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """An exact amount in one currency: a total, a price or a limit.

    `loss` is Σε, Σρ or Σμ²; `order` is Rényi's α; `neighbours` is the relation, where an event has fixed it.

    >>> Spent(currency="basic", loss=Fraction(1, 3), delta=0)
    Spent(currency='basic', loss=Fraction(1, 3), delta=Fraction(0, 1), order=None, neighbours=None)
    """

    currency: Currency
    loss: Fraction
    delta: Fraction
    order: Fraction | None = None
    neighbours: Neighbours | None = None

    def __post_init__(self) -> None:
        """Make the amounts exact, or refuse them by name."""
        if self.currency not in _UNITS:
            raise InvalidError("currency", show(self.currency), f"one of {', '.join(_UNITS)}")
        if self.neighbours is not None and self.neighbours not in get_args(Neighbours):
            raise InvalidError("neighbours", show(self.neighbours), "'add/remove', 'change one' or left out")
        if (self.order is None) == (self.currency == "renyi"):
            raise InvalidError("order", show(self.order), "given for Rényi, and for no other currency")
        for name, least in (("loss", 0), ("delta", 0), ("order", 1)):
            given = getattr(self, name)
            if given is not None or name != "order":
                object.__setattr__(self, name, _at_least(name, given, least))


def _at_least(name: str, given: object, least: int) -> Fraction:
    """Return an amount as a rational; one that is rational already may be of any size."""
    want = f"a finite number ≥ {least}"
    amount = given if isinstance(given, Fraction) else to_fraction(given, name, want)
    if amount < least:
        raise InvalidError(name, show(given), want)
    return amount


def limit(budget: Budget) -> Spent:
    """Return a budget as the largest total that it allows, in its own currency.

    >>> limit(GaussianDP(mu=0.3)).loss
    Fraction(9, 100)
    """
    given: object = budget
    match given:
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
    raise InvalidError("budget", show(given), "one of PureDP, ApproxDP, ZCDP, ApproxZCDP, RenyiDP, GaussianDP")


def _amount(
    currency: Currency, loss: float | Fraction, delta: float | Fraction = 0, order: Fraction | None = None
) -> Spent:
    exact = [_at_least(name, given, 0) for name, given in (("loss", loss), ("delta", delta))]
    return Spent(currency=currency, loss=exact[0], delta=exact[1], order=order)


def start(budget: Budget, neighbours: Neighbours | None = None) -> Spent:
    """Return the empty total in a budget's currency.

    >>> start(PureDP(epsilon=1)).loss
    Fraction(0, 1)
    """
    return replace(limit(budget), loss=Fraction(0), delta=Fraction(0), neighbours=neighbours)


def price(budget: Budget, event: Event | GaussianDP) -> Spent:
    """Return what one event costs in a budget's currency; refuse an event that the currency cannot price.

    >>> from tacit.guarantees.events import DiscreteGaussianNoise
    >>> noise = DiscreteGaussianNoise(variance=Fraction(50), l2_squared=1, coordinates=1)
    >>> price(ZCDP(rho=1), noise).loss
    Fraction(1, 100)
    """
    most = limit(budget)
    cost = PRICES[most.currency](event, most.order or Fraction(1))
    if cost is None:
        raise InvalidError("event", show(event), WANTS[most.currency])
    loss, delta = cost
    return replace(most, loss=loss, delta=delta, neighbours=getattr(event, "neighbours", None))


def budget_like(budget: Budget, loss: Fraction, delta: Fraction) -> Budget:
    """Return a guarantee of the same kind as a budget, with other amounts.

    >>> budget_like(ApproxDP(epsilon=1, delta=1e-6), Fraction(1, 2), Fraction(0))
    ApproxDP(epsilon=0.5, delta=0.0)
    """
    match budget:
        case PureDP():
            return PureDP(epsilon=Exact(loss))
        case ApproxDP():
            return ApproxDP(epsilon=Exact(loss), delta=Exact(delta))
        case ZCDP():
            return ZCDP(rho=Exact(loss))
        case _:
            return ApproxZCDP(rho=Exact(loss), delta=Exact(delta))


def admit(spent: Spent, budget: Budget, event: Event | GaussianDP) -> Spent:
    """Return the total after one more event, or raise BudgetError if that exceeds the budget.

    The rule, in every currency: admit if and only if total + price ≤ budget. Its proof is at the currency's price.

    Args:
        spent: What was admitted so far, from `start` or an earlier `admit`, in the budget's currency.
        budget: What may be spent in all.
        event: What is to be run next; its parameters may depend on every answer so far.

    >>> from tacit.guarantees.events import PureRelease
    >>> budget = PureDP(epsilon=0.1)
    >>> spent = admit(start(budget), budget, PureRelease(epsilon=Fraction("0.08")))
    >>> admit(spent, budget, PureRelease(epsilon=Fraction("0.05")))
    Traceback (most recent call last):
    tacit.errors.BudgetError: This PureRelease costs epsilon = 0.05 but only 0.02 is left; nothing was spent. ...
    """
    most, cost = limit(budget), price(budget, event)
    _refuse_other_currency(spent, most)
    neighbours = _one_relation(spent, cost)
    loss, delta = spent.loss + cost.loss, spent.delta + cost.delta
    if loss > most.loss or delta > most.delta:
        raise BudgetError(_too_little(type(event).__name__, cost, spent, most))
    loss, delta = min(_shortened(loss), most.loss), min(_shortened(delta), most.delta)
    return replace(spent, loss=loss, delta=delta, neighbours=neighbours)


def admit_all(spent: Spent, budget: Budget, events: Sequence[Event | GaussianDP], what: str = "question") -> Spent:
    """Return the total after several events that are run together, or raise BudgetError, naming what they cost in all.

    >>> from tacit.guarantees.events import PureRelease
    >>> budget = PureDP(epsilon=0.1)
    >>> admit_all(start(budget), budget, [PureRelease(epsilon=Fraction("0.08"))] * 2)
    Traceback (most recent call last):
    tacit.errors.BudgetError: This question costs epsilon = 0.16 but only 0.1 is left; nothing was spent. ...
    """
    most, total = limit(budget), spent
    costs = [price(budget, event) for event in events]
    loss, delta = (sum((getattr(cost, part) for cost in costs), Fraction(0)) for part in ("loss", "delta"))
    _refuse_other_currency(spent, most)
    if spent.loss + loss > most.loss or spent.delta + delta > most.delta:
        raise BudgetError(_too_little(what, replace(most, loss=loss, delta=delta), spent, most))
    for event in events:
        total = admit(total, budget, event)
    return total


def _shortened(total: Fraction) -> Fraction:
    """Return a total whose denominator has at most about 4096 bits: itself, or the next multiple of 2^-4096 up."""
    if total.denominator.bit_length() <= _BITS:
        return total
    return Fraction(ceil(total * 2**_BITS), 2**_BITS)


def _refuse_other_currency(spent: Spent, most: Spent) -> None:
    if not isinstance(spent, Spent):
        raise InvalidError("spent", show(spent), "a total that `start` or `admit` returned")
    if (spent.currency, spent.order) != (most.currency, most.order):
        want = f"a total in {_named(most)}, the budget's currency"
        raise InvalidError("spent", f"one in {_named(spent)}", want)


def _named(amount: Spent) -> str:
    return amount.currency if amount.order is None else f"{amount.currency} of order {amount.order}"


def _one_relation(spent: Spent, cost: Spent) -> Neighbours | None:
    """Return the neighbour relation of the sum: guarantees under two relations do not add."""
    if spent.neighbours is not None and cost.neighbours not in (None, spent.neighbours):
        raise InvalidError("neighbours", f"'{cost.neighbours}'", f"'{spent.neighbours}', as in what was spent so far")
    return spent.neighbours or cost.neighbours


def _too_little(name: str, cost: Spent, spent: Spent, most: Spent) -> str:
    short = " and ".join(_shortages(cost, spent, most))
    advice = "Ask for no more than is left, or have the data's steward raise the limit."
    return f"This {name} costs {short}; nothing was spent. {advice}"


def _shortages(cost: Spent, spent: Spent, most: Spent) -> Iterator[str]:
    """Name each part that does not fit: its cost rounded up, what is left of it rounded down."""
    for part, unit in (("loss", _UNITS[cost.currency]), ("delta", "delta")):
        asked: Fraction = getattr(cost, part)
        left: Fraction = getattr(most, part) - getattr(spent, part)
        if asked > left:  # left is below 0 where the budget was lowered afterwards
            yield f"{unit} = {round_up(asked)} but only {0.0 - round_up(-max(left, Fraction(0)))} is left"
