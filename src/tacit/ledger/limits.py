"""What an analyst's own limit must be beside the budget of the data."""

from __future__ import annotations

from tacit.errors import RefusedError
from tacit.guarantees.filters import Budget, limit
from tacit.query.formatting import spell


def check_currency(analyst: str, own: Budget, budget: Budget) -> None:
    """Raise RefusedError unless an analyst's limit is in the currency of the budget of the data."""
    first, second = limit(own), limit(budget)
    if (first.currency, first.order) != (second.currency, second.order):
        raise RefusedError(
            f"The limit of the analyst {analyst!r} is {spell(own)}, but the budget of the data is {spell(budget)}: "
            "both must be in one currency. Nothing was spent or changed. Write the limit in the budget's currency."
        )


def check_delta(analyst: str, own: Budget, budget: Budget) -> None:
    """Raise RefusedError if an analyst's limit has a δ under a budget that has none, which nobody could spend."""
    if limit(own).delta and not limit(budget).delta:
        raise RefusedError(
            f"The limit of the analyst {analyst!r} is {spell(own)}, but the budget of the data, {spell(budget)}, has "
            "no δ. Nothing was spent or changed. Remove δ from the limit."
        )
