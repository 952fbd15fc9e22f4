"""Quotes of plans: a plan and an offered cost, or a largest error, become a price.

Quoting reads no data but a public number of rows, and spends nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tacit import sizing
from tacit.errors import InvalidError, TooMuchNoiseError
from tacit.guarantees.filters import limit
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.planning import draw_options, plan_of
from tacit.query.plan import Plan
from tacit.query.pricing.price import Cost, Price, free_price, is_free, price
from tacit.query.pricing.public_size import could_be_free
from tacit.query.pricing.quantile_method import quantile_columns, with_draws
from tacit.query.pricing.reach_choice import check_has_totals
from tacit.query.pricing.solve import read_errors, solve
from tacit.query.results.quote import Question
from tacit.query.results.size_note import NOT_COUNTED
from tacit.query.unit_sizes import limited_by, shown_plan
from tacit.quotes import ReportQuote, SessionQuote, at_reach

if TYPE_CHECKING:
    from tacit.session import Session

_MOST_UNITS = 10**7


def priced(session: Session, plan: Plan, question: Question) -> SessionQuote:
    """Price a plan by the offered cost, or by the largest error."""
    cost, confidence, assume = question.cost, question.confidence, question.assume
    if is_free(plan):
        return SessionQuote(plan, _free(session, plan, cost), confidence, assume, session, question)
    _check_cost(session, plan, cost)
    assume = sizing.rows_of_all(session, plan) if assume is None else assume
    try:
        if cost.error is None:
            terms = price(plan, cost)
            check_delta(session, terms.guarantee)
        else:
            columns = quantile_columns(plan)
            others = [with_draws(plan, columns, draw_options(session, question))] if columns else []
            plan, terms = solve(
                plan,
                cost,
                confidence=confidence,
                assume=assume,
                by_rho=session.is_zcdp,
                others=others,
                counted=partial(_reads_every_row, session, plan),
            )
    except TooMuchNoiseError as error:
        if plan.cap is not None:
            error.add_hint("Or use a smaller measure_cut.")
        raise
    return SessionQuote(plan, terms, confidence, assume, session, question)


def _reads_every_row(session: Session, plan: Plan) -> bool:
    """Return whether the engine of a plan reads all rows of its table, whatever their values."""
    return session.engine_of(plan).reads_every_row(plan.table.name)


def _check_cost(session: Session, plan: Plan, cost: Cost) -> None:
    """Check the cost of a plan; if it is missing, say why a plan of a public size is not free."""
    try:
        check_currency(session, cost)
    except InvalidError as error:
        if could_be_free(plan) and not _reads_every_row(session, plan):
            error.add_hint(NOT_COUNTED)
        raise


def _free(session: Session, plan: Plan, cost: Cost) -> Price:
    """Return the price of a plan without noise; a cost or an error may be given, and must be valid."""
    if (cost.epsilon, cost.rho, cost.error) != (None, None, None):
        check_currency(session, cost)
    if cost.error is not None:
        read_errors(plan, cost.error)
    return free_price(by_rho=session.is_zcdp)


def limits_quote(session: Session, question: Question) -> SessionQuote:
    """Quote the histograms of units by rows and by groups; see `db.limits`."""
    plan = plan_of(session, at_reach(question, 1))
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
    check_currency(session, question.cost)
    sizes = shown_plan(plan)
    terms = price(sizes, question.cost)
    check_delta(session, terms.guarantee)
    if terms.noise[0].scale > _MOST_UNITS:
        raise InvalidError(
            f"The cost is too small for a report: its noise would be about {terms.noise[0].scale:,.0f} units.",
            argument="epsilon or rho",
            hint="Use a larger cost.",
        )
    return ReportQuote(sizes, terms, question.confidence, None, session, question)


def check_currency(session: Session, cost: Cost) -> None:
    """Check that exactly one of epsilon, rho and error is given, and that it matches the budget's currency."""
    basic = limit(session.ledger.budget).currency == "basic"
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


def check_delta(session: Session, guarantee: PureDP | ApproxDP | ZCDP) -> None:
    """Check that a guarantee has no δ unless the budget has a δ."""
    if isinstance(guarantee, ApproxDP) and guarantee.delta > 0 and limit(session.ledger.budget).delta == 0:
        raise InvalidError("The budget has no δ, so delta cannot be used.", argument="delta", hint="Remove delta.")
