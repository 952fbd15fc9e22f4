"""Quotes, charges and releases: the path of a query through one open database.

    quote     parse and price: reads no data but a public number of rows, spends nothing
    answer    quote, check the source, charge (committed), read exact integers, add noise

tacit refuses a query before it charges. If an engine knows without reading a row that its source is gone or has
changed, tacit does not charge either. If reading fails after the charge, the charge stands and the message is constant.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from tacit import choosing, deriving, sizing
from tacit.engines import Engine
from tacit.engines.duckdb.sandbox import SharedSandbox
from tacit.errors import (
    BudgetError,
    InternalError,
    InvalidError,
    LedgerError,
    RefusedError,
    SizeChangedError,
    SourceError,
    TacitError,
    TooMuchNoiseError,
)
from tacit.guarantees.events import Event, to_json
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import Budget, Spent, admit_all, limit
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.ledger import ANSWERED, FAILED, Ledger, Request, Ticket, check_name, history
from tacit.ledger.state import check_admission
from tacit.query.aggregates.cut import with_cut
from tacit.query.aggregates.margins import as_table_count, with_margins
from tacit.query.aggregates.measure_sharing import without_sharing
from tacit.query.aggregates.table_sum import with_all_margins
from tacit.query.expressions import Expression, Kind, Value
from tacit.query.formatting import amounts, spell
from tacit.query.noise_law import Law
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.policy import build as policy_build
from tacit.query.policy.limits import Limits, column_names
from tacit.query.pricing.joint_price import JointPrice, joint_price
from tacit.query.pricing.price import Cost, Price, free_price, is_free, price
from tacit.query.pricing.public_size import could_be_free
from tacit.query.pricing.quantile_method import DrawOptions, choose_method, quantile_columns, with_draws
from tacit.query.pricing.reach_choice import GUESSED_GROUPS, check_has_totals, noise_a_row
from tacit.query.pricing.solve import read_errors, solve
from tacit.query.refusals import refused
from tacit.query.results import answer_codec
from tacit.query.results.limits_report import LimitsReport
from tacit.query.results.limits_subject import limits_subject
from tacit.query.results.quote import Question, Quote
from tacit.query.results.release import Release, release_discovered, release_measured
from tacit.query.results.size_note import NOT_COUNTED
from tacit.query.sql.bounds_plan import bounds_plan
from tacit.query.sql.clock import time_in_zone, with_time
from tacit.query.sql.key_values import own_column
from tacit.query.sql.outer_query import split
from tacit.query.sql.parse import parse, subquery_kinds
from tacit.query.unit_sizes import limited_by, shown_plan
from tacit.quotes import ChoosingQuote, DerivedQuote, ReportQuote, SessionQuote, Settled, at_reach
from tacit.version import VERSION

SOURCE_FAILED = "The data source failed after the query was charged, so the charge stands."
SOURCE_HINT = "Ask the data steward to check the source, then run the query again."
_NOTHING: Mapping[str, object] = MappingProxyType({})
_MOST_UNITS = 10**7
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
        error.unspent = True
        raise


class Session:
    """The tables, the ledger and the analyst of one open database."""

    def __init__(
        self,
        tables: Mapping[str, tuple[TablePolicy, Engine]],
        ledger: Ledger,
        *,
        version: str,
        analyst: str,
        data_version: str,
    ) -> None:
        """Store the parts that `open` has put together."""
        self._tables, self.ledger, self._version, self._analyst = tables, ledger, version, analyst
        self.data_version = check_name(data_version, "data_version")
        check_name(analyst, "analyst")
        ledger.open_tables(name for name, (policy, _) in tables.items() if not policy.public)
        self.closed, self.sandbox = False, SharedSandbox()

    @property
    def tables(self) -> Mapping[str, TablePolicy]:
        """The policy of each table."""
        return {name: policy for name, (policy, _) in self._tables.items()}

    def close(self) -> None:
        """Close the sources; the ledger can still be read."""
        self.closed = True
        self.sandbox.close()
        for _, engine in self._tables.values():
            engine.close()

    # --- quotes ---------------------------------------------------------------------------------------------------

    def quote(self, question: Question) -> SessionQuote:
        """Parse and price a query; read nothing private and spend nothing."""
        with unspent():
            question = replace(question, query=self._text(question))
            outer = split(question.query, self.tables) if question.form == "rows" else None
            if outer is not None:
                return deriving.quote(self, question, outer)
            if question.limits.automatic or question.limits.automatic_bounds:
                return choosing.quote(self, question)
            return self.priced(self.sized_plan_of(question), question)

    def sized_plan_of(self, question: Question) -> Plan:
        """Return the plan of a query, which uses the number of rows or units where that is public."""
        plan = self.plan_of(question)
        return plan if question.form != "rows" else sizing.sized(self, plan)

    def plan_of(self, question: Question) -> Plan:
        """Return the plan of a query; of a table that adds up if its form asks for one."""
        if question.form != "rows" and question.measure_cut is not None:
            raise InvalidError(
                "The cut of a histogram or a crosstab cannot be measured.",
                argument="measure_cut",
                hint="Use db.count(by=…) or db.sql with measure_cut instead.",
            )
        plan = self._parse(question)
        if question.form == "rows":
            return plan
        gaussian = question.cost.rho is not None or self._is_zcdp
        law: Law = "gaussian" if gaussian else "laplace"
        if question.form == "margins":
            return _with_margins(plan, law)
        _check_one_count(plan)
        plan = sizing.sized(self, as_table_count(plan))
        return with_margins(plan, law) if question.form == "crosstab" else plan

    def bounds_quote(self, question: Question, text: str) -> SessionQuote:
        """Quote the private bounds of the value whose different values a query counts.

        Args:
            question: a query of one count(DISTINCT …), which stands for the rows and the value.
            text: the SQL under which the bounds are recorded.
        """
        with unspent():
            counted = self._parse(replace(question, limits=Limits(reach=1)))
            plan = bounds_plan(counted, _counted_value(counted), sql=text)
            self._tables[plan.table.name][1].check(plan)
            return self.priced(plan, question)

    def _text(self, question: Question) -> str:
        """Return the text of a query, with the date at which it was asked for the current date."""
        zone = next((table.timezone for table in self.tables.values() if table.timezone), None)
        return with_time(question.query, time_in_zone(question.asked_at, zone))

    def _parse(self, question: Question) -> Plan:
        limits = question.limits
        tables = limits.apply_all(self.tables, self.subquery_kinds(question))
        plan = parse(self._text(question), tables, keys=question.keys, bounds=limits.column_bounds)
        if len({id(self._tables[name][1]) for name in (plan.table.name, *(join.table for join in plan.all_joins))}) > 1:
            raise refused(
                "Tables of different engines cannot be joined",
                "Copy the public table to the engine of the private one.",
            )
        plan = choose_method(plan, question.cost, self._draws(question), question.assume)
        if question.measure_cut is not None:
            plan = with_cut(plan, int(question.measure_cut), question.share)
        self._tables[plan.table.name][1].check(plan)
        return plan

    def subquery_kinds(self, question: Question) -> Mapping[str, Kind]:
        """Return the kinds of the columns of a query's subqueries, if its bounds name a column that no table has."""
        limits = question.limits
        if not limits.names_others(self.tables):
            return {}
        known = {name: pair for name, pair in limits.column_bounds.items() if name not in limits.automatic_bounds}
        own = {name: pair for name, pair in known.items() if name in column_names(self.tables)}
        return subquery_kinds(self._text(question), replace(limits, bounds=own).apply_all(self.tables), known)

    def priced(self, plan: Plan, question: Question) -> SessionQuote:
        """Price a plan by the offered cost, or by the largest error."""
        cost, confidence, assume = question.cost, question.confidence, question.assume
        if is_free(plan):
            return SessionQuote(plan, self._free(plan, cost), confidence, assume, self, question)
        self._check_cost(plan, cost)
        assume = sizing.rows_of_all(self, plan) if assume is None else assume
        try:
            if cost.error is None:
                terms = price(plan, cost)
                self.check_delta(terms.guarantee)
            else:
                columns = quantile_columns(plan)
                others = [with_draws(plan, columns, self._draws(question))] if columns else []
                plan, terms = solve(
                    plan,
                    cost,
                    confidence=confidence,
                    assume=assume,
                    by_rho=self._is_zcdp,
                    others=others,
                    counted=partial(self._reads_every_row, plan),
                )
        except TooMuchNoiseError as error:
            if plan.cap is not None:
                error.add_hint("Or use a smaller measure_cut.")
            raise
        return SessionQuote(plan, terms, confidence, assume, self, question)

    def _reads_every_row(self, plan: Plan) -> bool:
        """Return whether the engine of a plan reads all rows of its table, whatever their values."""
        return self.engine_of(plan).reads_every_row(plan.table.name)

    def _check_cost(self, plan: Plan, cost: Cost) -> None:
        """Check the cost of a plan; if it is missing, say why a plan of a public size is not free."""
        try:
            self.check_currency(cost)
        except InvalidError as error:
            if could_be_free(plan) and not self._reads_every_row(plan):
                error.add_hint(NOT_COUNTED)
            raise

    def _free(self, plan: Plan, cost: Cost) -> Price:
        """Return the price of a plan without noise; a cost or an error may be given, and must be valid."""
        if (cost.epsilon, cost.rho, cost.error) != (None, None, None):
            self.check_currency(cost)
        if cost.error is not None:
            read_errors(plan, cost.error)
        return free_price(by_rho=self._is_zcdp)

    def _draws(self, question: Question) -> DrawOptions:
        """Return what the draws of quantiles depend on besides the plan."""
        in_rho = question.cost.rho is not None or (question.cost.error is not None and self._is_zcdp)
        basic = limit(self.ledger.budget).currency == "basic"
        return DrawOptions(confidence=question.confidence, intervals=question.intervals, rho=in_rho, flips=basic)

    def limits_quote(self, question: Question) -> SessionQuote:
        """Quote the histograms of units by rows and by groups; see `db.limits`."""
        with unspent():
            plan = self.plan_of(at_reach(question, 1))
            if plan.table.unit is None:
                raise InvalidError(
                    "Each row is a unit, so a unit has one row.", argument="question", hint="No limit is needed."
                )
            if limited_by(plan) is None:
                raise InvalidError(
                    "A unit counts once in this query, so no reach changes the answer.",
                    argument="question",
                    hint="No limit is needed.",
                )
            check_has_totals(plan)
            self.check_currency(question.cost)
            sizes = shown_plan(plan)
            terms = price(sizes, question.cost)
            self.check_delta(terms.guarantee)
            if terms.noise[0].scale > _MOST_UNITS:
                raise InvalidError(
                    f"The cost is too small for a report: its noise would be about {terms.noise[0].scale:,.0f} units.",
                    argument="epsilon or rho",
                    hint="Use a larger cost.",
                )
            return ReportQuote(sizes, terms, question.confidence, None, self, question)

    def limits(self, question: Question, spend: Cost) -> LimitsReport:
        """Release these histograms, and report on the limits of an answer at the cost `spend`."""
        quote = self.limits_quote(question)
        with unspent():
            plan = self.plan_of(at_reach(question, 1))
            answer = price(plan, spend)
        slope, groups = noise_a_row(plan, answer.noise), GUESSED_GROUPS if plan.cells is None else plan.cells
        subject = limits_subject(plan, self.tables[plan.table.name].reach)
        return LimitsReport(self.answer(quote), slope, groups, answer.guarantee, question.confidence, subject)

    @property
    def _is_zcdp(self) -> bool:
        return isinstance(self.ledger.budget, (ZCDP, ApproxZCDP))

    def check_currency(self, cost: Cost) -> None:
        """Check that exactly one of epsilon, rho and error is given, and that it matches the budget's currency."""
        basic = limit(self.ledger.budget).currency == "basic"
        if cost.epsilon is None and cost.rho is None and cost.error is None:
            example = "epsilon=0.5 or --epsilon 0.5" if basic else "rho=0.01"
            raise InvalidError(
                "The query has no cost: neither epsilon nor rho nor error is given.",
                argument="epsilon or rho",
                hint=f"Give a cost, such as {example}.",
            )
        if cost.rho is not None and basic:
            raise InvalidError("The budget is in ε, so rho cannot be used.", argument="rho", hint="Use epsilon.")
        if cost.error is not None and (cost.epsilon is not None or cost.rho is not None):
            raise InvalidError(
                "error cannot be combined with epsilon or rho.",
                argument="error",
                hint="Give error alone; tacit then finds the least cost.",
            )

    def check_delta(self, guarantee: PureDP | ApproxDP | ZCDP) -> None:
        """Check that a guarantee has no δ unless the budget has a δ."""
        if isinstance(guarantee, ApproxDP) and guarantee.delta > 0 and limit(self.ledger.budget).delta == 0:
            raise InvalidError("The budget has no δ, so delta cannot be used.", argument="delta", hint="Remove delta.")

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
                raise self._too_dear(quote, refusal) from None
        if ticket.answer is not None:
            return self._recorded(quote, ticket.answer, self.context(quote, ticket))
        (answer,) = self._release([quote], ticket)
        self.finish(ticket, ANSWERED, answer_codec.to_text(answer) if self.data_version or request else None)
        return answer

    def _recorded(self, quote: SessionQuote, text: str, context: Mapping[str, object]) -> Release:
        """Return a recorded answer, at the reach that was chosen for it if one was."""
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
                raise self._joint_shortage(joint.together, len(again)) or refusal from None
        disjoint = {
            "queries": [quote.plan.sql for quote in again],
            "disjoint": [[index + 1 for index in family] for family in joint.families],
        }
        more = {
            "declared_plan": {
                "questions": len(again),
                "promise": amounts(joint.guarantee),
                "charged": [to_json(event) for event in joint.events],
                **(disjoint if joint.families else {}),
            }
        }
        answers = self._release(again, ticket, more)
        self.finish(ticket, ANSWERED)
        return answers

    @property
    def left(self) -> Budget:
        """The amount that this analyst has left, of the budget and of the analyst's limit."""
        return history.left(self.ledger, self._analyst)

    @property
    def analyst(self) -> str:
        """The name of the analyst; empty without one."""
        return self._analyst

    def check_open(self) -> None:
        """Raise RefusedError if the database is closed."""
        if self.closed:
            raise RefusedError("The database is closed.", hint="Open it again to run queries.")

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

    def public_rows(self, name: str, kinds: Mapping[str, Kind]) -> Sequence[Sequence[Value]]:
        """Return the rows of a public table."""
        policy, engine = self._tables[name]
        if not policy.public:
            raise InternalError("rows of a private table are never returned.")
        return engine.public_rows(name, kinds)

    def engine_of(self, plan: Plan) -> Engine:
        """Return the engine of a plan's table."""
        return self._tables[plan.table.name][1]

    def _charge(self, request: Request, quotes: Sequence[Quote]) -> Ticket:
        """Return the recorded answer if there is one; otherwise check that the sources are available and charge."""
        check_admission(self._analyst, self.ledger.limit_of(self._analyst))
        recorded = self.ledger.recorded(request)
        if recorded is not None:
            return recorded
        engines = [self._tables[quote.plan.table.name][1] for quote in quotes]
        for engine in {id(engine): engine for engine in engines}.values():
            engine.ready()
        return self.ledger.charge(request)

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

    def guarded(self, ticket: Ticket, read: Callable[[], list[T]]) -> list[T]:
        """Return what is read after a charge; if that fails, the charge stands and the text is constant."""
        changed = False
        try:
            with suppress(Exception):  # its text could quote the data, also that of a TacitError
                try:
                    return read()
                except SizeChangedError:
                    changed = True
        except BaseException:
            self.finish(ticket, FAILED)
            raise
        self.finish(ticket, FAILED)
        if changed:
            raise SizeChangedError  # its text is constant, and the size is public
        raise SourceError(SOURCE_FAILED, hint=SOURCE_HINT)  # outside of `except`, so that it has no context

    def _released(self, quote: Quote, context: Mapping[str, object]) -> Release:
        _, engine = self._tables[quote.plan.table.name]
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

    def has_public_join(self, plan: Plan) -> bool:
        """Return whether a plan joins public tables, which may change and are not part of the digest."""
        return any(self._tables[join.table][0].public for join in plan.all_joins)

    def finish(self, ticket: Ticket, outcome: str, answer: str | None = None) -> None:
        """Record the outcome of a charge. If that fails, warn: the charge stands, and the answer is returned."""
        try:
            self.ledger.finish(ticket.number, outcome, answer)
        except LedgerError as error:
            reason = " ".join(filter(None, (error.message, error.hint)))
            warnings.warn(f"The charge is recorded, but not its outcome. {reason}", stacklevel=5)

    def context(self, quote: Quote, ticket: Ticket) -> dict[str, object]:
        """Return the facts for the receipt of an answer."""
        bounds = quote.question.limits.record() if isinstance(quote, SessionQuote) else {}
        return {
            **({"bounds_of_this_query": bounds} if bounds else {}),
            "policy": policy_build.version(quote.plan.table),
            **self.facts(ticket),
        }

    def facts(self, ticket: Ticket) -> dict[str, object]:
        """Return the facts about the policy, the ledger and the software that every receipt has."""
        return {
            "policy_file": self._version,
            "data_version": self.data_version or None,
            "ledger_entry": ticket.number,
            "ledger_link": ticket.head or None,
            "software": f"tacit {VERSION}",
        }

    # --- refusals for lack of budget --------------------------------------------------------------------------------

    def _too_dear(self, quote: Quote, refusal: BudgetError) -> BudgetError:
        """Return the error for an `error=` that costs too much, with the errors that the rest of the budget buys."""
        rest = limit(self.left).loss
        if rest <= 0 or isinstance(self.ledger.budget, ApproxZCDP):
            return refusal
        delta = quote.cost.delta if isinstance(quote.cost, ApproxDP) else None
        cost = Cost(rho=Exact(rest)) if self._is_zcdp else Cost(epsilon=Exact(rest), delta=delta)
        errors = replace(quote, price=price(quote.plan, cost)).error
        listed = ", ".join(f"{name} ± {error:.4g}" for name, error in errors.items())
        fact = f"{refusal.message} The requested error costs {spell(quote.cost)}; the rest of the budget buys {listed}."
        return BudgetError(fact, hint=refusal.hint)

    def _joint_shortage(self, cost: Spent, count: int) -> BudgetError | None:
        """Return the error for several queries that cost more than the budget or the analyst's limit leaves, if so.

        A cost is rounded up and an amount that is left is rounded down, to three digits.
        """
        if count == 1:
            return None
        parts = _shortages(cost, limit(self.left))
        if not parts:
            return None
        whose = "" if self.ledger.limit_of(self._analyst) is None else " for you"
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


def _choices(quote: Quote) -> list[object]:
    """Return what the noise at a chosen reach depends on: the choice, and the events, which have the answer's cost."""
    return [quote.choice, quote.bounds_choices, quote.price.events] if isinstance(quote, ChoosingQuote) else []


def _counted_value(plan: Plan) -> Expression:
    """Return the value of a plan's only count(DISTINCT …), which is over raw columns."""
    ask = plan.aggregates[0].ask
    if ask.function != "count_distinct":
        raise refused("The unit column cannot have bounds", "Name another column.")
    return own_column(ask.values[0], plan.table) or ask.values[0]


def _with_margins(plan: Plan, law: Law) -> Plan:
    """Return the plan of ROLLUP, CUBE or GROUPING SETS, whose keys must be public."""
    unlisted = [key.name for key in plan.keys if key.values is None]
    if unlisted:
        reason = (
            f"ROLLUP, CUBE and GROUPING SETS need public keys, but the values of {', '.join(unlisted)} are not public"
        )
        raise refused(reason, "List their values with keys=.")
    return with_all_margins(without_sharing(plan), law)


def _check_one_count(plan: Plan) -> None:
    """Raise InvalidError unless a plan is one count by listed keys."""
    unlisted = [key.name for key in plan.keys if key.values is None]
    hint = "List their values with keys=; a δ does not help a table."
    if unlisted:
        names = ", ".join(unlisted)
        raise InvalidError(
            f"The values of {names} are not public, so they cannot be tabulated.", argument="columns", hint=hint
        )
    if len(plan.aggregates) != 1 or not plan.keys:
        raise InvalidError("A table needs columns with public values to count by.", argument="columns", hint=hint)
