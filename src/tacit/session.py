"""Quotes, charges and releases: the path of a query through one open database.

    quote     parse and price: reads no data but a public number of rows, spends nothing
    answer    quote, check the source, charge (committed), read exact integers, add noise

tacit refuses a query before it charges. If an engine knows without reading a row that its source is gone or has
changed, tacit does not charge either. If reading fails after the charge, the charge stands and the message is constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Self, TypeVar

from tacit import activity, choosing, deriving, sizing
from tacit.charging import ChargingSession, note_charge
from tacit.errors import (
    BudgetError,
    LedgerError,
    RefusedError,
    TacitError,
)
from tacit.guarantees.events import Event
from tacit.guarantees.filters import Budget, admit_all
from tacit.guarantees.values import ZCDP, ApproxZCDP
from tacit.ledger import ANSWERED, Ledger, Request, Ticket, check_name, history
from tacit.ledger.recorded_answers import reading_answer
from tacit.ledger.state import before_charge, check_admission
from tacit.planning import bounds_plan_of, plan_of, query_text, sized_plan_of
from tacit.query.pricing.joint_price import JointPrice, joint_price
from tacit.query.pricing.price import Cost, price
from tacit.query.pricing.reach_choice import GUESSED_GROUPS, noise_a_row
from tacit.query.results import answer_codec
from tacit.query.results.limits_report import LimitsReport
from tacit.query.results.limits_subject import limits_subject
from tacit.query.results.plan_record import declared_plan
from tacit.query.results.quote import Question, Quote
from tacit.query.results.release import Release, release_discovered, release_measured
from tacit.query.sql.outer_query import split
from tacit.quotes import ChoosingQuote, DerivedQuote, SessionQuote, Settled, at_reach
from tacit.quoting import limits_quote, priced
from tacit.shortages import error_shortage, in_place_of, joint_shortage

_NOTHING: Mapping[str, object] = MappingProxyType({})
T = TypeVar("T")


@contextmanager
def unspent() -> Iterator[None]:
    """Mark every error as raised before a charge; its text then ends with "Nothing was spent.".

    A LedgerError is not marked here: only the ledger knows whether a failed write was committed, so it marks its own
    errors.
    """
    try:
        yield
    except LedgerError:
        raise
    except TacitError as error:
        activity.note_refusal(error)
        raise


class Session(ChargingSession):
    """The tables, the ledger and the analyst of one open database."""

    def as_analyst(self, name: str, ledger: Ledger | None = None) -> Self:
        """Return a session of another analyst over the same engines; closing either closes both.

        Args:
            name: the analyst, for the ledger.
            ledger: the same ledger behind another object, such as one that asks before each charge.
        """
        view = copy(self)
        view._analyst = check_name(name, "analyst")  # noqa: SLF001 - a copy of this object
        view.ledger = self.ledger if ledger is None else ledger
        return view

    def close(self) -> None:
        """Close the sources and the connections of the ledger, which can still be read."""
        self._closing.set()
        self.sandbox.close()
        for _, engine in self._tables.values():
            engine.close()
        if self._owns_ledger:
            self.ledger.close()

    # --- quotes ---------------------------------------------------------------------------------------------------

    def quote(self, question: Question) -> SessionQuote:
        """Parse and price a query; read nothing private and spend nothing."""
        with unspent():
            question = replace(question, query=query_text(self, question))
            outer = split(question.query, self.tables) if question.form == "rows" else None
            if outer is not None:
                return deriving.quote(self, question, outer)
            if question.limits.automatic or question.limits.automatic_bounds:
                return choosing.quote(self, question)
            return priced(self, sized_plan_of(self, question), question)

    def bounds_quote(self, question: Question, text: str) -> SessionQuote:
        """Quote the private bounds of the value whose different values a query counts.

        Args:
            question: a query of one count(DISTINCT …), which stands for the rows and the value.
            text: the SQL under which the bounds are recorded.
        """
        with unspent():
            return priced(self, bounds_plan_of(self, question, text), question)

    def limits_quote(self, question: Question) -> SessionQuote:
        """Quote the histograms of units by rows and by groups; see `db.limits`."""
        with unspent():
            return limits_quote(self, question)

    def limits(self, question: Question, spend: Cost, request: str | None = None) -> LimitsReport:
        """Release these histograms, and report on the limits of an answer at the cost `spend`."""
        quote = self.limits_quote(question)
        with unspent():
            plan = plan_of(self, at_reach(question, 1))
            answer = price(plan, spend)
        slope, groups = noise_a_row(plan, answer.noise), GUESSED_GROUPS if plan.cells is None else plan.cells
        subject = limits_subject(plan, self.tables[plan.table.name].reach)
        return LimitsReport(self.answer(quote, request), slope, groups, answer.guarantee, question.confidence, subject)

    @property
    def is_zcdp(self) -> bool:
        """True if the budget is in ρ."""
        return isinstance(self.ledger.budget, (ZCDP, ApproxZCDP))

    def check(self, quote: Quote) -> None:
        """Raise BudgetError if a quote costs more than is left now; read no data and spend nothing."""
        with unspent():
            self.check_events(quote.price.events, "query")

    def check_events(self, events: Sequence[Event], what: str) -> None:
        """Raise BudgetError if events cost more than is left now; `what` names them in its message."""
        own_limit = self.ledger.limit_of(self._analyst)
        check_admission(self._analyst, own_limit)
        nothing = replace(self.ledger.spent, loss=Fraction(0), delta=Fraction(0))
        admit_all(nothing, self.left, events, what if own_limit is None else f"{what}, for this analyst,")

    # --- charges and releases -------------------------------------------------------------------------------------

    def answer(self, quote: SessionQuote, request: str | None = None) -> Release:
        """Charge a quote, read the data and add noise, in this order; or return the recorded answer."""
        if isinstance(quote, ChoosingQuote) and quote.question.cost.error is not None:
            return choosing.answer_for_error(self, quote, request)
        if isinstance(quote, DerivedQuote):
            return deriving.answer(self, quote, request)
        with unspent():
            self.check_open()
            try:
                ticket = self._charge(self._request(quote, request), [quote])
            except BudgetError as refusal:
                if quote.question.cost.error is None:
                    raise
                raise in_place_of(refusal, error_shortage(self, quote, refusal)) from None
        if ticket.answer is not None:
            return self._recorded(quote, ticket.answer, self.context(quote, ticket))
        (answer,) = self._release([quote], ticket)
        self.finish(ticket, ANSWERED, answer_codec.to_text(answer) if self.data_version or request else None)
        return answer

    def _recorded(self, quote: SessionQuote, text: str, context: Mapping[str, object]) -> Release:
        """Return a recorded answer, at the reach that was chosen for it if one was."""
        with reading_answer(self.ledger.name):
            record, answered = answer_codec.chosen(text), Quote(quote.plan, quote.price, quote.confidence, quote.assume)
            if isinstance(quote, ChoosingQuote) and record is not None:
                settled = Settled.read(record)
                context = {**context, "limits_chosen": quote.record(settled)}
                answered = choosing.at(self, quote, settled)
            recorded = answer_codec.from_text(text, answered.plan, answered.price, context)
        return replace(recorded, confidence=quote.confidence, repeated=True)

    def joint_price(self, quotes: Sequence[Quote], delta: Fraction, worth: Fraction) -> JointPrice:
        """Return the price of several queries as one; see `tc.declare`."""
        states = [self.engine_of(quote.plan).keeps_state for quote in quotes]
        queries = [(quote.plan, quote.price) for quote in quotes]
        return joint_price(queries, self.ledger.budget, delta, worth, one_state=states)

    def answer_together(
        self, quotes: Sequence[SessionQuote], delta: Fraction, worth: Fraction, shown: JointPrice
    ) -> list[Release]:
        """Charge several quotes as one, read the data, and answer each; see `tc.declare`.

        Every query is parsed and priced again from its text. Plans and prices that the caller holds only show the
        cost: `dataclasses.replace` can put one query's price on another. If the price is not the one that was `shown`,
        raise RefusedError.
        """
        with unspent():
            self.check_open()
            fresh = {id(quote): self.quote(quote.question) for quote in quotes}
            again = [fresh[id(quote)] for quote in quotes]
            joint = self.joint_price(again, delta, worth)
            if (joint.events, joint.together) != (shown.events, shown.together):
                raise RefusedError(
                    "The declared plan was changed after it was priced.", hint="Declare its queries again."
                )
            text = ";\n".join(quote.plan.sql for quote in again)
            try:
                sizes = sizing.sizes_of(self, [quote.plan for quote in again])
                request = Request(question=text, events=joint.events, analyst=self._analyst, sizes=sizes)
                ticket = self._charge(request, again)
            except BudgetError as refusal:
                shortage = joint_shortage(self, joint.together, len(again))
                raise in_place_of(refusal, shortage or refusal) from None
        record = declared_plan([(quote.plan, quote.price) for quote in again], joint)
        answers = self._release(again, ticket, {"declared_plan": record})
        self.finish(ticket, ANSWERED)
        return answers

    @property
    def left(self) -> Budget:
        """The amount that this analyst has left, of the budget and of the analyst's limit."""
        return history.left(self.ledger, self._analyst)

    def charged(self, quote: SessionQuote, key: str | None) -> Ticket:
        """Charge a quote, or return the recorded answer; every error says that nothing was spent."""
        with unspent():
            self.check_open()
            return self._charge(self._request(quote, key), [quote])

    def charged_together(self, request: Request, quotes: Sequence[SessionQuote]) -> Ticket:
        """Charge several quotes by one request, or return the recorded answer; errors say that nothing was spent."""
        with unspent():
            self.check_open()
            return self._charge(request, quotes)

    def released_together(self, quotes: Sequence[SessionQuote], ticket: Ticket) -> list[Release]:
        """Read the data and add noise for several quotes that were charged."""
        return self._release(quotes, ticket)

    def _charge(self, request: Request, quotes: Sequence[Quote]) -> Ticket:
        """Return the recorded answer if there is one; otherwise check that the sources are available and charge."""
        with before_charge():
            own_limit = self.ledger.limit_of(self._analyst)
        check_admission(self._analyst, own_limit)
        recorded = self.ledger.recorded(request)
        if recorded is not None:
            note_charge(recorded, request)
            return recorded
        self.check_memory(request, quotes)
        engines = [self.engine_of(quote.plan) for quote in quotes]
        for engine in {id(engine): engine for engine in engines}.values():
            engine.ready()
        return self.charge(request)

    def _release(self, quotes: Sequence[Quote], ticket: Ticket, more: Mapping[str, object] = _NOTHING) -> list[Release]:
        """Read the data and add noise for charged queries; after a failure the charge stands.

        Several queries read one state of the data of each engine: a row that changes in between could otherwise be in
        the answers of two queries about disjoint rows.
        """

        def read() -> list[Release]:
            with ExitStack() as states:
                engines = [self.engine_of(quote.plan) for quote in quotes]
                for engine in {id(engine): engine for engine in engines}.values() if len(quotes) > 1 else ():
                    states.enter_context(engine.one_state())
                return [self._released(quote, {**self.context(quote, ticket), **more}) for quote in quotes]

        return self.guarded(ticket, read)

    def _released(self, quote: Quote, context: Mapping[str, object]) -> Release:
        engine = self.engine_of(quote.plan)
        if isinstance(quote, ChoosingQuote):
            settled = choosing.settle(self, quote)
            chosen = {"limits_chosen": quote.record(settled), "settled": settled.text()}
            return self._released(choosing.at(self, quote, settled), {**context, **chosen})
        if quote.plan.open:
            return release_discovered(quote.plan, quote.price, engine.find, context, quote.confidence)
        return release_measured(quote.plan, quote.price, engine.measure, context, quote.confidence)

    def _request(self, quote: Quote, key: str | None) -> Request:
        """Return the charge of a quote. Only a declared version of the data makes a repeated query free."""
        return Request(
            question=quote.plan.sql,
            events=quote.price.events,
            analyst=self._analyst,
            digest=answer_codec.digest(quote.plan, quote.price, self.data_version, *_choices(quote)),
            key=key,
            repeats=bool(self.data_version) and not self.has_public_join(quote.plan),
            sizes=sizing.sizes_of(self, [quote.plan]),
        )


def _choices(quote: Quote) -> list[object]:
    """Return what the noise at a chosen reach depends on: the choice, and the events, which have the answer's cost."""
    return [quote.choice, quote.bounds_choices, quote.price.events] if isinstance(quote, ChoosingQuote) else []
