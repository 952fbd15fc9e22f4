"""Refusals for lack of budget, with what the rest of the budget buys."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit.errors import BudgetError
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import Spent, limit
from tacit.guarantees.values import ApproxDP, ApproxZCDP
from tacit.query.formatting import spell
from tacit.query.pricing.price import Cost, price
from tacit.query.results.quote import Quote

if TYPE_CHECKING:
    from tacit.session import Session


def error_shortage(session: Session, quote: Quote, refusal: BudgetError) -> BudgetError:
    """Return the error for an `error=` that costs too much, with the errors that the rest of the budget buys."""
    rest = limit(session.left).loss
    if rest <= 0 or isinstance(session.ledger.budget, ApproxZCDP):
        return refusal
    delta = quote.cost.delta if isinstance(quote.cost, ApproxDP) else None
    cost = Cost(rho=Exact(rest)) if session.is_zcdp else Cost(epsilon=Exact(rest), delta=delta)
    errors = replace(quote, price=price(quote.plan, cost)).error
    listed = ", ".join(f"{name} ± {error:.4g}" for name, error in errors.items())
    fact = f"{refusal.message} The requested error costs {spell(quote.cost)}; the rest of the budget buys {listed}."
    return BudgetError(fact, hint=refusal.hint)


def joint_shortage(session: Session, cost: Spent, count: int) -> BudgetError | None:
    """Return the error for several queries that cost more than the budget or the analyst's limit leaves, if so.

    A cost is rounded up and an amount that is left is rounded down, to three digits.
    """
    if count == 1:
        return None
    parts = _shortages(cost, limit(session.left))
    if not parts:
        return None
    whose = "" if session.ledger.limit_of(session.analyst) is None else " for you"
    return BudgetError(
        f"These {count} queries cost {' and '.join(parts)}{whose}.",
        hint="Declare fewer queries, lower the cost of each, or have the data steward raise the limit.",
    )


def _shortages(cost: Spent, left: Spent) -> list[str]:
    """Return each amount that exceeds what is left of it."""
    symbols = {"loss": "ε" if cost.currency == "basic" else "ρ", "delta": "δ"}
    return [
        f"{symbol} = {_digits(getattr(cost, part), ROUND_CEILING)} but only "
        f"{_digits(getattr(left, part), ROUND_FLOOR)} is left"
        for part, symbol in symbols.items()
        if getattr(cost, part) > getattr(left, part)
    ]


def _digits(amount: Fraction, rounding: str) -> str:
    context = Context(prec=3, rounding=rounding)
    return f"{context.divide(Decimal(amount.numerator), Decimal(amount.denominator)):g}"


def in_place_of(refusal: BudgetError, better: BudgetError) -> BudgetError:
    """Return a refusal with a better text, which is not logged again."""
    better.unspent = refusal.unspent
    return better
