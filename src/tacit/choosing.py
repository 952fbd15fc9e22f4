"""Queries whose limits are chosen privately before the answer.

    quote    price the choices and the answer together; reads no data, spends nothing
    settle   after the charge: read the histograms and draw each choice
    at       the plan and the price of the answer with what was chosen

The whole charge is fixed before the first read. If an error is given in place of a cost, the cost of the answer depends
on the choice: then the choices are charged alone, and the answer after them (`answer_for_error`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit.errors import InvalidError, TacitError, UnusedOptionError
from tacit.guarantees.exact import Exact, Number, positive, to_fraction
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.ledger import ANSWERED
from tacit.query.expressions import columns as names
from tacit.query.formatting import spell
from tacit.query.plan import Plan
from tacit.query.policy.limits import column_kind
from tacit.query.pricing.bounds_choice import WIDEST, BoundsChoice, bounds_choice
from tacit.query.pricing.price import Cost, Price, price, whole_event
from tacit.query.pricing.reach_choice import ReachChoice, answerable, epsilon_of_rho, reach_choice
from tacit.query.results.quote import Question, Quote
from tacit.query.results.release import Release
from tacit.quotes import USUAL_REACH, ChoosingQuote, SessionQuote, Settled, at_reach

if TYPE_CHECKING:
    from tacit.session import Session

Guarantee = PureDP | ApproxDP | ZCDP


def quote(session: Session, question: Question) -> SessionQuote:
    """Quote a query with limits that are chosen; if each row is a unit, a reach is not needed and not chosen."""
    probe = _with_bounds(question, _widest(session, question))
    plan = session.plan_of(at_reach(probe, 1) if question.limits.automatic else probe)
    columns = question.limits.automatic_bounds
    chooses_reach = question.limits.automatic and plan.table.unit is not None
    if not chooses_reach and not columns:
        return session.priced(plan, question)
    _check_used(plan, columns)
    session.check_currency(question.cost)
    if question.cost.error is not None:
        return _quote_for_error(session, plan, probe, question, chooses_reach=chooses_reach)
    whole = positive(question.cost.rho, "rho") if question.cost.rho is not None else None
    loss = positive(question.cost.epsilon, "epsilon") if whole is None else whole
    parts = loss * question.share / (len(columns) + chooses_reach)
    rest = _cost(loss * (1 - question.share), question.cost)
    answer = price(plan, rest)
    bounds = tuple(
        _bounds_choice(session, plan, column, _cost(parts, question.cost, delta=False)) for column in columns
    )
    reach = None
    if chooses_reach:
        candidates = answerable(lambda r: price(session.plan_of(at_reach(probe, r)), rest), plan)
        epsilon = parts if whole is None else epsilon_of_rho(parts)
        reach = reach_choice(plan, answer.noise, epsilon, candidates, fixed=False)
    _check_statements(session, plan, reach, bounds)
    guarantee = with_loss(answer.guarantee, loss, question.cost.delta)
    session.check_delta(guarantee)
    choices: list[BoundsChoice | ReachChoice] = [*bounds, *([] if reach is None else [reach])]
    last = whole_event(with_loss(answer.guarantee, loss * (1 - question.share), question.cost.delta))
    terms = replace(
        answer, guarantee=guarantee, events=(*(each.event for each in choices), last), chosen=loss * question.share
    )
    return ChoosingQuote(plan, terms, question.confidence, question.assume, session, question, reach, bounds, rest)


def _quote_for_error(
    session: Session, plan: Plan, probe: Question, question: Question, *, chooses_reach: bool
) -> ChoosingQuote:
    """Quote the choice of the reach alone. It costs `share` of what the answer costs at a reach of 10."""
    if question.limits.automatic_bounds or not chooses_reach:
        raise InvalidError(
            "Bounds cannot be chosen for a query with an error: the error would be of bounds that are not known.",
            argument="bounds",
            hint="Give epsilon or rho instead of error, or find bounds with db.bounds.",
        )
    usual = session.priced(session.plan_of(at_reach(probe, USUAL_REACH)), at_reach(probe, USUAL_REACH))
    guarantee = usual.price.guarantee
    in_rho = isinstance(guarantee, ZCDP)
    cost = to_fraction(guarantee.rho if isinstance(guarantee, ZCDP) else guarantee.epsilon, "cost") * question.share
    candidates = answerable(lambda r: session.plan_of(at_reach(probe, r)), plan)
    epsilon = epsilon_of_rho(cost) if in_rho else cost
    reach = reach_choice(usual.plan, usual.price.noise, epsilon, candidates, fixed=True)
    _check_statements(session, plan, reach, ())
    promise = with_loss(guarantee, cost, None)
    terms = replace(usual.price, guarantee=promise, events=(reach.event,), chosen=cost)
    return ChoosingQuote(plan, terms, question.confidence, question.assume, session, question, reach, (), question.cost)


def settle(session: Session, quote: ChoosingQuote) -> Settled:
    """Read the histograms of a charged query, and draw each choice."""
    engine = session.engine_of(quote.plan)
    bounds = {each.column: each.choose(engine.measure(each.plan)[0]) for each in quote.bounds_choices}
    if quote.choice is None:
        return Settled(None, bounds)
    (sizes,) = engine.measure(quote.choice.plan)
    return Settled(quote.choice.choose(sizes), bounds)


def at(session: Session, quote: ChoosingQuote, settled: Settled) -> Quote:
    """Return the plan and the price of the answer with what was chosen."""
    plan, charged = session.plan_of(settled.apply(quote.question)), quote.price
    terms = price(plan, quote.rest)
    terms = replace(terms, guarantee=charged.guarantee, events=charged.events, chosen=charged.chosen)
    return Quote(plan, terms, quote.confidence, quote.assume)


def answer_for_error(session: Session, quote: ChoosingQuote, request: str | None) -> Release:
    """Charge the choice and choose; then solve for the error at that reach, charge the answer and release it."""
    ticket = session.charged(quote, None if request is None else f"{request} (reach)")
    if ticket.answer is None:
        (settled,) = session.guarded(ticket, lambda: [settle(session, quote)])
        session.finish(ticket, ANSWERED, settled.text() if session.data_version or request else None)
    else:
        settled = Settled.read(json.loads(ticket.answer))
    try:
        answer = session.answer(session.quote(settled.apply(quote.question)), request)
    except TacitError as error:
        error.unspent = False
        kept = f"reach={settled.reach}"
        error.add_hint(f"The choice of {kept} stays charged ({spell(quote.cost)}); to keep it, use {kept}.")
        raise
    terms = _together(answer.price, quote.price)
    return replace(answer, price=terms, context={**answer.context, "limits_chosen": quote.record(settled)})


def _together(answer: Price, choice: Price) -> Price:
    """Return the price of an answer with the guarantee and the events of the choice that came before it."""
    first, second = choice.guarantee, answer.guarantee
    if isinstance(first, ZCDP) and isinstance(second, ZCDP):
        both: Guarantee = ZCDP(rho=Exact(to_fraction(first.rho, "rho") + to_fraction(second.rho, "rho")))
    elif isinstance(first, ZCDP) or isinstance(second, ZCDP):
        raise TypeError("a choice and its answer have one currency")
    else:
        loss = to_fraction(first.epsilon, "epsilon") + to_fraction(second.epsilon, "epsilon")
        both = with_loss(second, loss, second.delta if isinstance(second, ApproxDP) else None)
    return replace(answer, guarantee=both, events=(*choice.events, *answer.events), chosen=choice.chosen)


def with_loss(guarantee: Guarantee, loss: Fraction, delta: Number | None) -> Guarantee:
    """Return the guarantee of the kind that an answer has, with another ε or ρ; a δ that was offered is all spent."""
    if isinstance(guarantee, ZCDP):
        return ZCDP(rho=Exact(loss))
    slack = to_fraction(0 if delta is None else delta, "delta")
    return ApproxDP(epsilon=Exact(loss), delta=Exact(slack)) if slack else PureDP(epsilon=Exact(loss))


def _check_used(plan: Plan, columns: tuple[str, ...]) -> None:
    """Raise InvalidError if bounds are to be chosen of a column whose values the query does not aggregate."""
    used = {name for each in plan.aggregates if each.ask.bounds for value in each.ask.values for name in names(value)}
    for column in columns:
        if column not in used:
            raise UnusedOptionError(
                f"bounds[{column!r}]", "in this query, which aggregates no values of it", hint="Leave it out."
            )


def _cost(loss: Fraction, like: Cost, *, delta: bool = True) -> Cost:
    """Return a cost in the currency of a given one."""
    slack = like.delta if delta else None
    return Cost(rho=Exact(loss), delta=slack) if like.rho is not None else Cost(epsilon=Exact(loss), delta=slack)


def _bounds_choice(session: Session, plan: Plan, column: str, cost: Cost) -> BoundsChoice:
    return bounds_choice(plan, session.tables[plan.table.name], column, cost)


def _widest(session: Session, question: Question) -> dict[str, tuple[float, float]]:
    """Return the widest bounds of the columns whose bounds are chosen: what is answered with them is with any."""
    kinds = {column: column_kind(session.tables, column) for column in question.limits.automatic_bounds}
    return {column: WIDEST.get(kind, (0, 1)) for column, kind in kinds.items()}


def _with_bounds(question: Question, bounds: dict[str, tuple[float, float]]) -> Question:
    given = {**question.limits.column_bounds, **bounds}
    return replace(question, limits=replace(question.limits, bounds=given))


def _check_statements(
    session: Session, plan: Plan, reach: ReachChoice | None, bounds: tuple[BoundsChoice, ...]
) -> None:
    """Refuse histograms that the engine cannot measure exactly, before anything is charged."""
    engine = session.engine_of(plan)
    plans = [*(each.plan for each in bounds), *([] if reach is None else [reach.plan])]
    for each in plans:
        engine.check(each)
