"""Queries whose limits are chosen privately before the answer.

    quote    price the choices and the answer together; reads no data, spends nothing
    settle   after the charge: read the histograms and draw each choice
    at       the plan and the price of the answer with what was chosen

The whole charge is fixed before the first read. If an error is given in place of a cost, the cost of the answer depends
on the choice: then the choices are charged alone, and the answer after them (`answer_for_error`).

**No choice makes a charged query fail.** A query can be refused for its reach and its bounds: its integers must fit the
engine, and its noise 64 bits. Before the charge, `quote` plans and prices the query at a reach of 1, or at the reach
that is given, and at the widest bounds. After the charge, `settle` draws a reach and bounds, and returns the first of
`alternatives` at which planning and pricing the query are not refused. The first of them is what was drawn. The last is
what `quote` planned and priced. Both steps depend on the query, the policy and the cost alone, so they are not refused
the second time. The list is a function of what was drawn, so going through it is post-processing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING

from tacit.errors import InvalidError, RefusedError, TacitError, UnusedOptionError
from tacit.guarantees.exact import Exact, Number, positive, to_fraction
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.ledger import ANSWERED
from tacit.ledger.recorded_answers import reading_answer
from tacit.planning import plan_of, sized_plan_of, subquery_kinds
from tacit.query.expressions import columns as names
from tacit.query.formatting import spell
from tacit.query.plan import Plan
from tacit.query.policy.limits import column_kind
from tacit.query.pricing.bounds_choice import WIDEST, BoundsChoice, NumberPair, bounds_choice
from tacit.query.pricing.price import Cost, Price, price, whole_event
from tacit.query.pricing.public_size import with_public_size
from tacit.query.pricing.reach_choice import ReachChoice, answerable, check_has_totals, epsilon_of_rho, reach_choice
from tacit.query.results.quote import Question, Quote
from tacit.query.results.release import Release
from tacit.query.unit_sizes import limited_by
from tacit.quotes import USUAL_REACH, ChoosingQuote, SessionQuote, Settled, at_reach
from tacit.quoting import check_currency, check_delta, priced

if TYPE_CHECKING:
    from tacit.session import Session

Guarantee = PureDP | ApproxDP | ZCDP


def quote(session: Session, question: Question) -> SessionQuote:
    """Quote a query with limits that are chosen; if a reach changes nothing, it is not chosen.

    That is so if each row is a unit, and if a unit counts once.
    """
    widest = _widest(session, question)
    probe = _with_bounds(question, widest)
    plan = plan_of(session, at_reach(probe, 1) if question.limits.automatic else probe)
    columns = question.limits.automatic_bounds
    chooses_reach = question.limits.automatic and plan.table.unit is not None and limited_by(plan) is not None
    plan = plan if chooses_reach else sized_plan_of(session, probe)
    if not chooses_reach and not columns:
        return priced(session, plan, question)
    if chooses_reach:
        check_has_totals(plan)
    _check_used(plan, columns)
    check_currency(session, question.cost)
    if question.cost.error is not None:
        return _quote_for_error(session, plan, probe, question, chooses_reach=chooses_reach)
    whole = positive(question.cost.rho, "rho") if question.cost.rho is not None else None
    loss = positive(question.cost.epsilon, "epsilon") if whole is None else whole
    parts = loss * question.share / (len(columns) + chooses_reach)
    rest = _cost(loss * (1 - question.share), question.cost)
    answer = price(plan, rest)
    part, table = _cost(parts, question.cost, delta=False), session.tables[plan.table.name]
    bounds = tuple(bounds_choice(plan, table, column, part, widest[column]) for column in columns)
    reach = None
    if chooses_reach:
        candidates = answerable(lambda r: price(plan_of(session, at_reach(probe, r)), rest))
        epsilon = parts if whole is None else epsilon_of_rho(parts)
        reach = reach_choice(plan, answer.noise, epsilon, candidates, fixed=False)
    _check_statements(session, plan, reach, bounds)
    guarantee = with_loss(answer.guarantee, loss, question.cost.delta)
    check_delta(session, guarantee)
    choices: list[BoundsChoice | ReachChoice] = [*bounds, *([] if reach is None else [reach])]
    last = whole_event(with_loss(answer.guarantee, loss * (1 - question.share), question.cost.delta))
    terms = replace(
        answer, guarantee=guarantee, events=(*(each.event for each in choices), last), chosen=loss * question.share
    )
    return ChoosingQuote(plan, terms, question.confidence, question.assume, session, question, reach, bounds, rest)


def _quote_for_error(
    session: Session, plan: Plan, probe: Question, question: Question, *, chooses_reach: bool
) -> ChoosingQuote:
    """Quote the choice of the reach alone. It costs `share` of what the answer costs at a reach of 50."""
    if question.limits.automatic_bounds or not chooses_reach:
        raise InvalidError(
            "Bounds cannot be chosen for a query with an error: the error would be of bounds that are not known.",
            argument="bounds",
            hint="Give epsilon or rho instead of error, or find bounds with db.bounds.",
        )
    usual = priced(session, plan_of(session, at_reach(probe, USUAL_REACH)), at_reach(probe, USUAL_REACH))
    guarantee = usual.price.guarantee
    in_rho = isinstance(guarantee, ZCDP)
    cost = to_fraction(guarantee.rho if isinstance(guarantee, ZCDP) else guarantee.epsilon, "cost") * question.share
    candidates = answerable(lambda r: plan_of(session, at_reach(probe, r)))
    epsilon = epsilon_of_rho(cost) if in_rho else cost
    reach = reach_choice(usual.plan, usual.price.noise, epsilon, candidates, fixed=True)
    _check_statements(session, plan, reach, ())
    promise = with_loss(guarantee, cost, None)
    terms = replace(usual.price, guarantee=promise, events=(reach.event,), chosen=cost)
    return ChoosingQuote(plan, terms, question.confidence, question.assume, session, question, reach, (), question.cost)


def settle(session: Session, quote: ChoosingQuote) -> Settled:
    """Read the histograms of a charged query, draw each choice, and return limits that the query can be answered at."""
    engine = session.engine_of(quote.plan)
    found = {each.column: each.choose(engine.measure(each.plan)[0]) for each in quote.bounds_choices}
    reach = None if quote.choice is None else quote.choice.choose(engine.measure(quote.choice.plan)[0])
    drawn = Settled(
        reach,
        {each.column: found[each.column] or each.default for each in quote.bounds_choices},
        tuple(column for column, pair in found.items() if pair is not None),
    )
    if quote.question.cost.error is not None:
        return drawn  # the answer is planned, priced and charged after this choice
    return next(settled for settled in alternatives(quote, drawn) if _is_answerable(session, quote, settled))


def alternatives(quote: ChoosingQuote, drawn: Settled) -> Iterator[Settled]:
    """Yield the limits that were drawn, then others that come ever closer to those that were priced before the charge.

    For each reach from the drawn one down to the smallest candidate, bounds are as drawn first, and then ever wider.
    """
    reaches: list[int | None] = [None]
    if quote.choice is not None and drawn.reach is not None:
        reaches = [reach for reach in reversed(quote.choice.candidates) if reach <= drawn.reach]
    for reach in reaches:
        yield replace(drawn, reach=reach)
        chains = [each.wider(drawn.bounds[each.column]) for each in quote.bounds_choices]
        for pairs in zip_longest(*chains):  # a chain that has ended stays at its widest bounds
            bounds = {each.column: pair or each.widest for each, pair in zip(quote.bounds_choices, pairs, strict=True)}
            yield replace(drawn, reach=reach, bounds=bounds)


def _is_answerable(session: Session, quote: ChoosingQuote, settled: Settled) -> bool:
    try:
        at(session, quote, settled)
    except (InvalidError, RefusedError):
        return False
    return True


def at(session: Session, quote: ChoosingQuote, settled: Settled) -> Quote:
    """Return the plan and the price of the answer with what was chosen."""
    plan, charged = plan_of(session, settled.apply(quote.question)), quote.price
    if quote.plan.size is not None and plan.size is None:
        plan = with_public_size(plan, quote.plan.size)
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
        with reading_answer(session.ledger.name):
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


def _widest(session: Session, question: Question) -> dict[str, NumberPair]:
    """Return the widest bounds of the columns whose bounds are chosen."""
    others, columns = subquery_kinds(session, question), question.limits.automatic_bounds
    kinds = {column: others[column] if column in others else column_kind(session.tables, column) for column in columns}
    return {column: WIDEST.get(kind, (0, 1)) for column, kind in kinds.items()}


def _with_bounds(question: Question, bounds: Mapping[str, NumberPair]) -> Question:
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
