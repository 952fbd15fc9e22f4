"""Quotes of an open database: they know their session and their query, from which tacit computes them again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tacit.guarantees.values import ZCDP
from tacit.query.formatting import percent, plain
from tacit.query.plan import Noisy
from tacit.query.pricing.price import Cost
from tacit.query.pricing.reach_choice import ReachChoice
from tacit.query.results.quote import Question, Quote

if TYPE_CHECKING:
    from tacit.session import Session

_TOTALS = ("count", "count_units", "count_distinct", "sum", "table_count")


@dataclass(frozen=True, slots=True, repr=False)
class SessionQuote(Quote):
    """A quote that knows its session and its query, from which tacit computes it again before a joint charge."""

    session: Session = field(compare=False)
    question: Question = field(compare=False)

    @property
    def offered(self) -> Cost:
        """The cost of the question; if it gives errors instead, the cost that was found for them."""
        cost = self.question.cost
        return cost if cost.error is None else super(SessionQuote, self).offered


@dataclass(frozen=True, slots=True, repr=False)
class ChoosingQuote(SessionQuote):
    """A quote whose reach is chosen privately before the answer; `plan` and `price` are those of a reach of 1.

    `rest` is the cost of the answer. If the query has an error instead of a cost, `price` is that of the choice alone.
    """

    choice: ReachChoice
    rest: Cost

    @property
    def error(self) -> dict[str, float]:
        """Nothing: the errors depend on the reach that is chosen."""
        return {}

    def _errors(self) -> list[tuple[str, str]]:
        """Return the error of each noisy output for each row of the reach, if it grows with the reach."""
        if self.question.cost.error is not None:
            return [(name, "the error that is asked for") for name in self.unknown]
        share = percent(self.confidence)
        at_one = super(ChoosingQuote, self).error
        return [
            (name, f"off by at most {plain(at_one[name])} times the reach{self._extent(share)}")
            if name in at_one and self._is_total(name)
            else (name, "the error is not known before; the answer will have an interval")
            for name in self.unknown
        ]

    def _is_total(self, name: str) -> bool:
        """Return whether an output is a count or a sum, whose noise is a multiple of the reach."""
        output = dict(self.plan.outputs)[name]
        return isinstance(output, Noisy) and self.plan.aggregates[output.place].ask.function in _TOTALS

    def _limits(self) -> list[str]:
        """Return how the reach is chosen, and at which cost."""
        event, rho = self.choice.event, isinstance(self.price.guarantee, ZCDP)
        part = f"ρ = {float(event.epsilon) ** 2 / 8:.4g}" if rho else f"ε = {float(event.epsilon):.4g}"
        unit = self.plan.table.unit
        return [
            f"The reach, as how many rows each unit (column {unit!r}) counts at most, is chosen privately for {part}; "
            + ("the answer is charged after it." if self.question.cost.error is not None else "the rest answers."),
            f"{self.choice.resolution:,} units more or less above a reach change the choice; fewer hardly do.",
        ]


def at_reach(question: Question, reach: int) -> Question:
    """Return a query with a given reach."""
    return replace(question, limits=replace(question.limits, reach=reach))
