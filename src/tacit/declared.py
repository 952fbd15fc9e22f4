"""A list of queries that is fixed in advance, priced and charged as one.

Queries that are asked in turn may depend on earlier answers, and only a filter is sound: their ε add up. A list that is
fixed before any answer is one mechanism: the independent composition of all its noise, whose privacy-loss law gives the
least ε at δ. Queries about disjoint rows cost as much as one of them, if each row is a unit. The cost of a declared
list is the least of these prices (`pricing.joint_price`); the noise and the answers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.errors import InvalidError, bad_value
from tacit.guarantees.events import Event
from tacit.guarantees.exact import Number, to_fraction
from tacit.guarantees.filters import Spent, limit
from tacit.notebook import ShownAsLines
from tacit.query.formatting import listed, spell
from tacit.query.pricing.disjoint_parts import disjoint_families, is_part
from tacit.query.pricing.joint_price import JointGuarantee, JointPrice, guarantee_of
from tacit.query.results.release import Release
from tacit.quotes import ChoosingQuote, DerivedQuote, SessionQuote
from tacit.safe_text import as_html, visible
from tacit.session import Session, unspent

_WORTH = Fraction(9, 10)
"""The largest part of the sum of all ε that a plan may cost for the default δ to be spent on it."""


@dataclass(frozen=True, slots=True)
class Declared(ShownAsLines):
    """Queries that are charged together or not at all, and their cost as one plan.

    The price is computed from the queries and δ whenever such an object is created, also by `dataclasses.replace`. And
    `ask` does not rely on it: the database parses and prices every query again before it charges.

    Attributes:
        questions: the queries with their plans.
    """

    questions: tuple[SessionQuote, ...]
    delta: Fraction
    """δ that the plan may use; with 0, ε adds up."""
    worth: Fraction
    """The largest part of the sum of all ε that the plan may cost; above it, ε adds up."""
    _session: Session
    price: JointPrice = field(init=False)

    def __post_init__(self) -> None:
        """Price the queries; refuse those whose price is known only after a choice."""
        _check_known(self.questions)
        object.__setattr__(self, "price", self._session.joint_price(self.questions, self.delta, self.worth))

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that the ledger is charged."""
        return self.price.events

    @property
    def together(self) -> Spent:
        """The cost as one plan."""
        return self.price.together

    @property
    def apart(self) -> Spent:
        """The cost if the queries are asked one by one."""
        return self.price.apart

    @property
    def cost(self) -> JointGuarantee:
        """The cost of all queries together."""
        return self.price.guarantee

    @property
    def disjoint(self) -> tuple[tuple[int, ...], ...]:
        """The queries that are proved to be about disjoint rows, if that lowers the cost: their indices, by family."""
        return self.price.families

    @property
    def saves(self) -> float:
        """The share of ε, or of ρ, that is saved, compared with asking one by one."""
        return 1 - float(self.together.loss / self.apart.loss) if self.apart.loss else 0.0

    def ask(self) -> list[Release]:
        """Price the queries again, charge them as one, and answer each in order; a second `ask` is charged again."""
        return self._session.answer_together(self.questions, self.delta, self.worth, self.price)

    def __str__(self) -> str:
        """Return the cost, how much the plan saves, and which queries are about disjoint rows."""
        symbol = "ε" if self.apart.currency == "basic" else "ρ"
        return (
            f"{len(self.questions)} queries as one declared plan cost {spell(self.cost)}; one by one "
            f"{spell(guarantee_of(self.apart))}. That saves {self.saves:.0%} of {symbol}. All are asked together, or "
            f"none.{self._disjoint_rows()}{self._reason()}"
        )

    def _repr_html_(self) -> str:
        """Return the same as `print` shows, with the queries, as HTML for notebooks."""
        queries = "".join(f"<li><pre>{as_html(quote.plan.sql)}</pre></li>" for quote in self.questions)
        return f"<p>{as_html(str(self))}</p><ol>{queries}</ol>"

    def _reason(self) -> str:
        """Return why the plan saves nothing; an empty text if it saves something, or if it has one query."""
        if self.saves > 0 or len(self.questions) == 1:
            return ""
        plans = [quote.plan for quote in self.questions]
        units = [plan.table.unit for plan in plans if plan.table.unit is not None]
        whole = [f"{number}" for number, plan in enumerate(plans, 1) if not is_part(plan)]
        if units:
            return f" The rows of one {visible(units[0])} can be in several of the queries, so their costs add up."
        if whole:
            which = f"Query {whole[0]} is" if len(whole) == 1 else f"Queries {listed(whole)} are"
            return f" {which} about all rows, so the rows of the queries overlap."
        if disjoint_families(dict(enumerate(plans)), [Fraction(0)] * len(plans)):
            return " A changed row can move from one query's rows to another's, and then both answers change."
        return " There is no proof that no row satisfies the conditions of two queries: they may overlap."

    def _disjoint_rows(self) -> str:
        """Return which queries are about disjoint rows, and what they would cost otherwise."""
        if self.price.overlapping is None:
            return ""
        families = "; ".join(listed([f"{index + 1}" for index in family]) for family in self.disjoint)
        return (
            f" No row is in two of the queries {families}; if their rows could overlap, the plan would cost "
            f"{spell(guarantee_of(self.price.overlapping))}."
        )


def declare(questions: object, *, delta: Number | None = None) -> Declared:
    """Price queries as one plan that is fixed before any is answered.

    If each row is a unit, tacit recognises conditions that no row can satisfy together. Such queries cost as much as
    the dearest of them; under "change one" as much as the two dearest, if that is more. `print` shows which they are.

    Args:
        questions: plans from `db.plan(...)`, all of one database.
        delta: δ of the whole plan. By default it is the δ that is left, if that saves at least a tenth of ε; otherwise
            0, and ε adds up.
    """
    with unspent():
        quotes = _quotes(questions)
        session = quotes[0].session
        if any(quote.session is not session for quote in quotes):
            raise InvalidError(
                "The plans are of several databases.", argument="questions", hint="Declare one list for each database."
            )
        if delta is not None:
            return Declared(quotes, to_fraction(delta, "delta", "a number from 0 to below 1"), Fraction(1), session)
        return Declared(quotes, limit(session.left).delta, _WORTH, session)


def _check_known(questions: Sequence[SessionQuote]) -> None:
    """Raise InvalidError if a query has an error and a reach that is chosen: its cost depends on that choice."""
    for number, quote in enumerate(questions, 1):
        if isinstance(quote, DerivedQuote):
            raise InvalidError(
                f"Item {number} of questions computes with private aggregates, which a declared list cannot.",
                argument="questions",
                hint="Declare its private aggregates, and compute with their answers.",
            )
        if not quote.plan.outputs:
            raise InvalidError(
                f"Item {number} of questions is a report on limits or bounds.",
                argument="questions",
                hint="Declare queries, and ask for reports on their own.",
            )
        if isinstance(quote, ChoosingQuote) and quote.question.cost.error is not None:
            raise InvalidError(
                f"Item {number} of questions has an error and reach='auto', so its cost depends on the choice.",
                argument="questions",
                hint="Give epsilon or rho instead of error, or give reach as a number.",
            )


def _quotes(questions: object) -> tuple[SessionQuote, ...]:
    """Return the plans of a list, or raise InvalidError, which names the first item that is not a plan."""
    if not isinstance(questions, Sequence) or isinstance(questions, str) or not questions:
        raise bad_value("questions", questions, "a list of plans from `db.plan(...)`")
    for number, item in enumerate(questions, 1):
        if not isinstance(item, SessionQuote):
            raise bad_value(f"item {number} of questions", item, "a plan from `db.plan(...)`")
    return tuple(questions)
