"""A database that answers privately: question, charge, rows, noise, answer; in that order, always. `tc.open` gives it.

    db.plan(...)   parse and price: reads nothing, spends nothing
    db.sql(...)    parse, price, see that the source is there, charge (committed), read exact integers, add noise

Whatever is refused is refused before the charge, and so is a source of which its engine knows, without reading a row,
that it is gone or another one now. What fails after it stays charged, and says one constant sentence.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Self

from tacit.declared import Declared, shortage
from tacit.engines import Engine
from tacit.errors import BudgetError, InvalidError, LedgerError, RefusedError, SourceError, TacitError, show
from tacit.guarantees.exact import Exact, Number
from tacit.guarantees.filters import Budget, admit_all, limit
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.ledger import ANSWERED, Ledger, Request, Ticket, check_name
from tacit.ledger import FAILED as FAILED_OUTCOME
from tacit.query.aggregates.margins import tabulated, with_margins
from tacit.query.expressions import Value
from tacit.query.formatting import spell
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.policy import build as policy_build
from tacit.query.pricing.price import price
from tacit.query.pricing.solve import read_errors, solve
from tacit.query.refusals import refused
from tacit.query.results import answer_codec, catalog
from tacit.query.results.intervals import read_confidence
from tacit.query.results.question import Cost, Question
from tacit.query.results.quote import Planned
from tacit.query.results.receipt import promise
from tacit.query.results.release import Release, release, release_found
from tacit.query.sql.parse import parse
from tacit.safe_text import visible
from tacit.verbs import Costs, Verbs, one_count
from tacit.version import VERSION

FAILED = (
    "The data source failed while it was read. The question stays charged, since reading had begun; no answer was lost "
    "that had been shown. Ask the data's steward to look at the source, then ask again."
)


NOTHING: Mapping[str, object] = MappingProxyType({})
_EFFECT = re.compile(r"Nothing was (?:answered|spent)[^.]*\. ")


class Database(Verbs):
    """Private tables behind one budget; see `open`."""

    def __init__(
        self,
        tables: Mapping[str, tuple[TablePolicy, Engine]],
        ledger: Ledger,
        *,
        version: str,
        analyst: str = "",
        data_version: str = "",
    ) -> None:
        """Keep what `open` put together."""
        self._tables, self._ledger, self._version, self._analyst = dict(tables), ledger, version, analyst
        self._data_version = check_name(data_version, "data_version")
        check_name(analyst, "analyst")
        self._closed = False

    def plan(
        self,
        query: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        keys: Mapping[str, Sequence[Value]] | None = None,
        confidence: float = 0.95,
        assume: int | None = None,
    ) -> Planned:
        """Say what a question would cost and how far off its answer would be; nothing is read or spent.

        Args:
            query: the question, in SQL.
            epsilon: ε of the whole question.
            delta: δ of the whole question; with some, Gaussian noise is used where it errs less.
            rho: ρ instead of ε, for a budget in zCDP.
            error: instead of both, how far off the answer may be: one number for all aggregates, or one for each by
                its name. The cheapest noise that keeps to it is found.
            keys: public values for what is grouped by, where the policy has none; by the name in the answer.
            confidence: how often the errors hold.
            assume: how many units a group is assumed to have, for the error of averages.
        """
        cost = Cost(epsilon=epsilon, delta=delta, rho=rho, error=error)
        question = Question(query=query, keys=None if keys is None else dict(keys), cost=cost)
        return self._planned(question, read_confidence(confidence), _assumed(assume))

    def _planned(self, question: Question, confidence: float, assume: int | None) -> Planned:
        """Parse and price a question; the result keeps the question, so that `ask_declared` can do so again."""
        plan = self._parse(question.query, question.keys)
        return replace(self._priced(plan, question.cost, confidence, assume), question=question)

    def sql(  # noqa: PLR0913 - as `plan`, and a name
        self,
        query: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        keys: Mapping[str, Sequence[Value]] | None = None,
        confidence: float = 0.95,
        assume: int | None = None,
        request: str | None = None,
    ) -> Release:
        """Ask a question and pay for it; the arguments are those of `plan`.

        With `request`, a name of your own for this very question, asking again under it gives the recorded answer at no
        cost: for programs that cannot tell whether they were answered before they broke off.
        """
        plan = self._parse(query, keys)
        cost = Cost(epsilon=epsilon, delta=delta, rho=rho, error=error, request=request)
        return self._answer(self._priced(plan, cost, read_confidence(confidence), _assumed(assume)), cost)

    def _tabulated(self, query: str, costs: Costs, *, margins: bool) -> Release:
        """Ask for a table of counts that adds up."""
        plan = self._parse(query, costs.get("keys"))
        one_count(plan)
        cost = Cost(**{name: costs.get(name) for name in ("epsilon", "delta", "rho", "error")})  # type: ignore[arg-type]  # the same types by name
        plan = tabulated(plan)
        by_rho = cost.rho is not None or isinstance(self._ledger.budget, (ZCDP, ApproxZCDP))
        plan = with_margins(plan, "gaussian" if by_rho else "laplace") if margins else plan
        confidence, assume = read_confidence(costs.get("confidence", 0.95)), _assumed(costs.get("assume"))
        return self._answer(self._priced(plan, cost, confidence, assume), cost)

    def _answer(self, planned: Planned, cost: Cost) -> Release:
        """Charge, read, add noise: in that order."""
        self._check_open()
        try:
            ticket = self._charged(self._request(planned, cost.request), [planned])
        except BudgetError as refusal:
            if cost.error is None:
                raise
            raise self._too_dear(planned, refusal) from None
        if ticket.answer is not None:
            before = answer_codec.from_text(ticket.answer, planned.plan, planned.price, self._context(planned, ticket))
            return replace(before, confidence=planned.confidence, repeated=True)
        (answer,) = self._released([planned], ticket)
        self._ended(ticket, ANSWERED, answer_codec.to_text(answer) if self._data_version or cost.request else None)
        return answer

    def _charged(self, request: Request, questions: Sequence[Planned]) -> Ticket:
        """Charge; or return a recorded answer, for which no source is needed. What is known to fail is not charged."""
        before = self._ledger.recorded(request)
        if before is not None:
            return before
        for engine in {id(one): one for one in (self._tables[each.plan.table.name][1] for each in questions)}.values():
            engine.ready()
        return self._ledger.charge(request)

    def _check_open(self) -> None:
        if self._closed:
            raise RefusedError("The database is closed; nothing was spent. Open it again to ask.")

    def _released(
        self, questions: Sequence[Planned], ticket: Ticket, more: Mapping[str, object] = NOTHING
    ) -> list[Release]:
        """Read and add noise, for questions that are charged; a failure stays charged and says one sentence."""
        answers = []
        try:
            for planned in questions:
                _, engine = self._tables[planned.plan.table.name]
                context = {**self._context(planned, ticket), **more}
                if planned.plan.open:
                    answer = release_found(planned.plan, planned.price, engine.find, context)
                else:
                    answer = release(planned.plan, planned.price, engine.measure(planned.plan), context)
                answers.append(replace(answer, confidence=planned.confidence))
        except Exception:  # noqa: BLE001 - whatever it says could tell of the data
            answers.clear()
        except BaseException:
            self._ended(ticket, FAILED_OUTCOME)
            raise
        if not answers:  # outside of `except`, so that not even the context carries what was raised
            self._ended(ticket, FAILED_OUTCOME)
            raise SourceError(FAILED)
        return answers

    def ask_declared(self, declared: Declared) -> list[Release]:
        """Charge a declared plan as one, read, and answer every question; see `tc.declare`.

        Every question is parsed and priced again from its text. Plans and prices that the caller holds only show what
        will be charged: `dataclasses.replace` can put one question's price on another.
        """
        self._check_open()
        again = self._declared_again(declared)
        text = ";\n".join(one.plan.sql for one in again.questions)
        request = Request(question=text, events=again.events, analyst=self._analyst)
        try:
            ticket = self._charged(request, again.questions)
        except BudgetError as refusal:
            raise BudgetError(shortage(again, self._ledger, self._analyst) or str(refusal)) from None
        more = {"declared_plan": {"questions": len(again.questions), "promise": promise(again.cost)}}
        answers = self._released(again.questions, ticket, more)
        self._ended(ticket, ANSWERED)
        return answers

    def _declared_again(self, declared: Declared) -> Declared:
        """Return a declared plan priced from its questions' texts, or raise if it showed another price."""
        fresh = {id(one): self._planned_again(one) for one in declared.questions}
        questions = tuple(fresh[id(one)] for one in declared.questions)
        again = Declared(questions, declared.delta, declared.worth, self)
        if (again.events, again.together) != (declared.events, declared.together):
            raise RefusedError(
                "The declared plan was changed after it was priced. Nothing was spent. Declare its questions again."
            )
        return again

    def _planned_again(self, planned: Planned) -> Planned:
        if planned.question is None:
            raise InvalidError("questions", "a plan that does not know its question", "what db.plan(...) gives")
        return self._planned(planned.question, read_confidence(planned.confidence), _assumed(planned.assume))

    def _request(self, planned: Planned, key: str | None) -> Request:
        """Return what is charged; a question asked twice is one only under a declared version of the data."""
        return Request(
            question=planned.plan.sql,
            events=planned.price.events,
            analyst=self._analyst,
            digest=answer_codec.digest(planned.plan, planned.price, self._data_version),
            key=key,
            repeats=bool(self._data_version) and not self._is_joined(planned.plan),
        )

    def _is_joined(self, plan: Plan) -> bool:
        """Whether public tables are joined: what they hold may change, and is not in a question's digest."""
        return any(self._tables[join.table][0].public for join in plan.joins)

    def _ended(self, ticket: Ticket, outcome: str, answer: str | None = None) -> None:
        """Record how a question ended; it is charged already, so an answer is not held back if that fails."""
        try:
            self._ledger.finish(ticket.number, outcome, answer)
        except LedgerError as error:
            reason = _EFFECT.sub("", str(error))  # this step neither spends nor answers
            warnings.warn(f"The charge is recorded, but not how it ended. {reason}", stacklevel=4)

    def _parse(self, query: str, keys: Mapping[str, Sequence[Value]] | None) -> Plan:
        plan = parse(query, self.tables, keys=keys)
        if len({id(self._tables[name][1]) for name in (plan.table.name, *(join.table for join in plan.joins))}) > 1:
            raise refused(
                "Tables of different engines cannot be joined", "Copy the public table to where the private is."
            )
        self._tables[plan.table.name][1].check(plan)
        return plan

    def _priced(self, plan: Plan, cost: Cost, confidence: float, assume: int | None) -> Planned:
        """Price a plan by what is paid, or by the errors that are wanted."""
        delta = 0 if cost.delta is None else cost.delta
        self._check_currency(cost)
        if cost.error is None:
            found = price(plan, epsilon=cost.epsilon, delta=delta, rho=cost.rho)
            self._check_delta(found.guarantee)
            return Planned(plan, found, confidence, assume, self)
        if cost.epsilon is not None or cost.rho is not None:
            raise InvalidError("error", "an error and an ε or ρ", "given alone: what it costs is then found")
        by_rho, wanted = isinstance(self._ledger.budget, (ZCDP, ApproxZCDP)), read_errors(plan, cost.error)
        solved = solve(plan, wanted, confidence=confidence, assume=assume, delta=delta, by_rho=by_rho)
        return Planned(*solved, confidence, assume, self)

    def _check_currency(self, cost: Cost) -> None:
        """Raise unless the cost is said once, and in a currency in which this budget can be spent."""
        if cost.epsilon is None and cost.rho is None and cost.error is None:
            how = "epsilon=0.5 or --epsilon 0.5" if limit(self._ledger.budget).currency == "basic" else "rho=0.01"
            raise InvalidError("epsilon or rho", "neither", f"given, to say what the question may cost, such as {how}")
        if cost.rho is not None and limit(self._ledger.budget).currency == "basic":
            raise InvalidError("rho", show(cost.rho), "left out, since this budget is in ε: use epsilon")

    def _check_delta(self, guarantee: PureDP | ApproxDP | ZCDP) -> None:
        if isinstance(guarantee, ApproxDP) and guarantee.delta > 0 and limit(self._ledger.budget).delta == 0:
            raise InvalidError("delta", show(guarantee.delta), "left out, since this budget has no δ")

    def check(self, planned: Planned) -> None:
        """Raise BudgetError if a planned question costs more than is left now; nothing is read or spent."""
        admit_all(self._ledger.spent, self._ledger.budget, planned.price.events)
        own = self._ledger.limit_of(self._analyst)
        if own is not None:
            admit_all(self._ledger.spent_by(self._analyst), own, planned.price.events, "question, for this analyst,")

    def _too_dear(self, planned: Planned, refusal: BudgetError) -> BudgetError:
        """Say what the rest of the budget would buy, where a wanted error costs more."""
        asked = planned.price.guarantee
        delta = asked.delta if isinstance(asked, ApproxDP) else 0
        match self.left:
            case PureDP(epsilon=rest) | ApproxDP(epsilon=rest) if rest > 0:
                could = price(planned.plan, epsilon=Exact(rest), delta=delta)
            case ZCDP(rho=rest) if rest > 0:
                could = price(planned.plan, rho=Exact(rest))
            case _:
                return refusal
        errors = Planned(planned.plan, could, planned.confidence, planned.assume).error
        listed = ", ".join(f"{name} ± {error:.4g}" for name, error in errors.items())
        return BudgetError(f"{refusal} The wanted error costs {spell(planned.cost)}; what is left would buy {listed}.")

    def _context(self, planned: Planned, ticket: Ticket) -> dict[str, object]:
        return {
            "policy": policy_build.version(planned.plan.table),
            "policy_file": self._version,
            "data_version": self._data_version or None,
            "ledger_entry": ticket.number,
            "ledger_link": ticket.head or None,
            "software": f"tacit {VERSION}",
        }

    @property
    def ledger(self) -> Ledger:
        """The budget's history."""
        return self._ledger

    @property
    def spent(self) -> Budget:
        """What has been spent."""
        found = self._ledger.spent
        return _as_budget(self._ledger.budget, found.loss, found.delta)

    @property
    def left(self) -> Budget:
        """What may still be spent."""
        found = self._ledger.spent  # first, since it looks whether somebody has changed the budget
        most = limit(self._ledger.budget)
        return _as_budget(self._ledger.budget, most.loss - found.loss, most.delta - found.delta)

    @property
    def tables(self) -> Mapping[str, TablePolicy]:
        """What is public about each table."""
        return {name: policy for name, (policy, _) in self._tables.items()}

    def __repr__(self) -> str:
        """The tables, and what is left."""
        return visible(f"<Database: {', '.join(self._tables)}; {self._said()}>")

    def _repr_html_(self) -> str:
        """What may be asked about, and what is left, for notebooks."""
        return f"<p>{self._said()}</p>{catalog.as_html(self.tables)}"

    def _said(self) -> str:
        try:
            left = spell(self.left)
        except TacitError:  # a ledger that cannot be read must not make a representation fail
            left = "unknown"
        return f"left: {left} of {spell(self._ledger.budget)}{', closed' if self._closed else ''}"

    def close(self) -> None:
        """Let go of the sources; what was spent and is left can still be read."""
        self._closed = True
        for _, engine in self._tables.values():
            engine.close()

    def __enter__(self) -> Self:
        """Use as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the sources."""
        self.close()


def _as_budget(budget: Budget, loss: Fraction, delta: Fraction) -> Budget:
    match budget:
        case PureDP():
            return PureDP(epsilon=Exact(loss))
        case ApproxDP():
            return ApproxDP(epsilon=Exact(loss), delta=Exact(delta))
        case ZCDP():
            return ZCDP(rho=Exact(loss))
        case _:
            return ApproxZCDP(rho=Exact(loss), delta=Exact(delta))


def _assumed(given: object) -> int | None:
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 1):
        return given
    raise InvalidError("assume", show(given), "a whole number ≥ 1, or left out")
