"""A list of questions that is fixed in advance, priced and charged as one.

Asked one by one, questions may be chosen by the answers before, and only a filter is sound: their ε add up. A list that
is fixed before any answer is one mechanism: the independent composition of all its noise, whose privacy-loss law gives
the least ε at δ. That is what a declared list costs; the noise and the answers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit.errors import InvalidError, show
from tacit.guarantees.composition import compose
from tacit.guarantees.events import ApproxRelease, Event
from tacit.guarantees.exact import Exact, Number, to_fraction
from tacit.guarantees.filters import Budget, Spent, limit
from tacit.guarantees.filters import price as cost_of
from tacit.guarantees.values import ApproxDP
from tacit.ledger import Ledger
from tacit.query.formatting import spell
from tacit.query.results.quote import Planned

if TYPE_CHECKING:
    from tacit.database import Database
    from tacit.query.results.release import Release


_WORTH = Fraction(9, 10)
"""Which part of ε a plan may cost at most for δ to be spent on it unasked."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Questions that are asked all together or not at all, and what they cost as one plan.

    The price follows from the questions and δ whenever such an object is made, by `dataclasses.replace` too. And `ask`
    does not rely on it: the database parses and prices every question again before it charges.
    """

    questions: tuple[Planned, ...]
    delta: Fraction
    """δ that the plan may take; with 0, ε only adds up."""
    worth: Fraction
    """Which part of the sum of all ε the plan may cost at most for δ to be taken."""
    _database: Database
    events: tuple[Event, ...] = field(init=False)
    together: Spent = field(init=False)
    apart: Spent = field(init=False)

    def __post_init__(self) -> None:
        """Price the questions."""
        events, together, apart = _priced(self.questions, self._database.ledger.budget, self.delta, self.worth)
        object.__setattr__(self, "events", events)
        object.__setattr__(self, "together", together)
        object.__setattr__(self, "apart", apart)

    @property
    def cost(self) -> ApproxDP:
        """What all questions cost together."""
        return ApproxDP(epsilon=Exact(self.together.loss), delta=Exact(self.together.delta))

    @property
    def saves(self) -> float:
        """Which share of ε is saved against asking one by one."""
        return 1 - float(self.together.loss / self.apart.loss) if self.apart.loss else 0.0

    def ask(self) -> list[Release]:
        """Price the questions again, charge them as one, and answer each in order; a second `ask` is charged again."""
        return self._database.ask_declared(self)

    def __str__(self) -> str:
        """What it costs, and what it saves."""
        one_by_one = ApproxDP(epsilon=Exact(self.apart.loss), delta=Exact(self.apart.delta))
        return (
            f"{len(self.questions)} questions as one declared plan cost {spell(self.cost)}; one by one "
            f"{spell(one_by_one)}. That saves {self.saves:.0%} of ε. All are asked together, or none."
        )


def declare(questions: object, *, delta: Number | None = None) -> Declared:
    """Price questions as one plan that is fixed before any is answered.

    Args:
        questions: what `db.plan(...)` gave, all of one database.
        delta: δ of the whole plan; by default what is left of the budget's δ, if that saves a tenth of ε at least, else
            none. Without any, ε only adds up.
    """
    planned = _plans(questions)
    owners = {id(one.owner): one.owner for one in planned}
    database = next(iter(owners.values()))
    if len(owners) != 1 or database is None:
        raise InvalidError("questions", "plans of several databases", "plans of one database")
    return _declared(planned, database, delta)  # type: ignore[arg-type]  # what made the plans


def _plans(questions: object) -> tuple[Planned, ...]:
    """Return the plans of a list, or raise InvalidError, which names the first item that is not a plan."""
    if not isinstance(questions, Sequence) or isinstance(questions, str) or not questions:
        raise InvalidError("questions", show(questions), "a list of plans from `db.plan(...)`")
    for number, item in enumerate(questions, 1):
        if not isinstance(item, Planned):
            raise InvalidError(f"item {number} of questions", show(item), "a plan from `db.plan(...)`")
    return tuple(questions)


def _declared(planned: tuple[Planned, ...], database: Database, delta: Number | None) -> Declared:
    if delta is not None:
        return Declared(planned, to_fraction(delta, "delta", "a number from 0 to below 1"), Fraction(1), database)
    spent = database.ledger.spent  # first, since it looks whether somebody has changed the budget
    rest = limit(database.ledger.budget).delta - spent.delta
    return Declared(planned, max(rest, Fraction(0)), _WORTH, database)


def shortage(declared: Declared, ledger: Ledger, analyst: str) -> str | None:
    """Return why several questions cost more than is left: of the analyst's limit or of the budget, if they do.

    A cost is rounded up and what is left is rounded down, to three digits.
    """
    if len(declared.questions) == 1:
        return None
    totals = [(ledger.spent, ledger.budget, ""), (ledger.spent_by(analyst), ledger.limit_of(analyst), " for you")]
    for spent, budget, whose in totals:
        parts = [] if budget is None else _exceeded(declared.together, spent, limit(budget))
        if parts:
            return (
                f"These {len(declared.questions)} questions cost {' and '.join(parts)}{whose}. Nothing was spent. "
                "Declare fewer questions, lower the cost of each, or have the data's steward raise the limit."
            )
    return None


def _exceeded(cost: Spent, spent: Spent, most: Spent) -> list[str]:
    """Return each amount that exceeds what is left of it."""
    symbols = {"loss": "ε" if cost.currency == "basic" else "ρ", "delta": "δ"}
    left = {part: max(getattr(most, part) - getattr(spent, part), Fraction(0)) for part in symbols}
    return [
        f"{symbol} = {_digits(getattr(cost, part), ROUND_CEILING)} but only {_digits(left[part], ROUND_FLOOR)} is left"
        for part, symbol in symbols.items()
        if getattr(cost, part) > left[part]
    ]


def _digits(amount: Fraction, rounding: str) -> str:
    context = Context(prec=3, rounding=rounding)
    return f"{context.divide(Decimal(amount.numerator), Decimal(amount.denominator)):g}"


def _noise(planned: Planned) -> Sequence[Event]:
    """Return what is run for one question: each bundle's noise; where groups are found, what that was priced as."""
    return planned.price.events if planned.plan.open else [law.event for law in planned.price.noise]


def _priced(
    planned: Sequence[Planned], budget: Budget, delta: Fraction, worth: Fraction
) -> tuple[tuple[Event, ...], Spent, Spent]:
    """Return what is charged for a plan, what that costs, and what its questions cost one by one."""
    single = tuple(event for one in planned for event in one.price.events)
    apart = [cost_of(budget, event) for event in single]
    sums = [sum((getattr(one, part) for one in apart), Fraction(0)) for part in ("loss", "delta")]
    currency = limit(budget).currency
    alone = Spent(currency=currency, loss=sums[0], delta=sums[1])
    if currency != "basic" or delta <= 0:
        return single, alone, alone
    noise = [event for one in planned for event in _noise(one)]
    epsilon = Fraction(compose(noise).epsilon(delta=Exact(delta)).upper)
    if epsilon >= alone.loss * worth:
        return single, alone, alone
    whole = ApproxRelease(epsilon=epsilon, delta=delta)
    return (whole,), Spent(currency="basic", loss=epsilon, delta=delta), alone
