"""Queries that compute with private aggregates: the aggregates are charged and released, then the outer query runs.

    quote     split the query, plan each private aggregate, price all as one, and try the outer query on dummy tables
    answer    charge once, read and release each aggregate, and run the outer query on what was released

**Privacy.** The private aggregates are fixed before any is read, so they are one mechanism: the composition of their
noise, which `joint_price` prices. The outer query reads released and public tables alone (`query.sql.outer_query`
proves it) and runs in a process that holds nothing else. So it is post-processing.

**No answer is lost.** `dry_run` finds before the charge what DuckDB cannot bind, and a result that is too large. If
the outer query still fails after it, takes too long, returns too much or is interrupted (Ctrl-C), the answer has the
released tables and a warning. The outcome and the answer are recorded before the outer query runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit import sizing
from tacit.dry_run import dry_run, may_overflow, public_tables, reason
from tacit.engines.duckdb.sandbox import SandboxError, SharedSandbox
from tacit.errors import InvalidError, UnusedKeyError
from tacit.guarantees.exact import Exact, Number, positive, to_fraction
from tacit.guarantees.filters import Spent
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.ledger import ANSWERED, Request
from tacit.ledger.recorded_answers import reading_answer
from tacit.planning import plan_of, sized_plan_of
from tacit.query.expressions import Value
from tacit.query.formatting import listed
from tacit.query.plan import Plan
from tacit.query.pricing.joint_price import JointPrice, joint_price
from tacit.query.pricing.noisy_filters import choosing_clauses, is_noisy
from tacit.query.pricing.price import Cost, Price, free_price, is_free, price
from tacit.query.refusals import refused
from tacit.query.results import answer_codec
from tacit.query.results.derived_release import DerivedRelease
from tacit.query.results.noise_draws import is_linear
from tacit.query.results.outer_tables import OuterTable, released_table
from tacit.query.results.quote import QueryForm, Question
from tacit.query.results.release import Release
from tacit.query.results.table import Table
from tacit.query.sql.outer_columns import OuterColumns, outer_columns
from tacit.query.sql.outer_query import OuterQuery
from tacit.quotes import DerivedQuote, SessionQuote
from tacit.quoting import check_currency, check_delta

if TYPE_CHECKING:
    from tacit.session import Session

_DRAW_SECONDS = 10.0
_HALVINGS = 6
_WORTH = Fraction(9, 10)
"""The largest part of the sum of all ε that the composition at δ may cost to be used."""
_ALONE = "Ask for the private aggregate alone, or give a cost instead."


def quote(session: Session, question: Question, outer: OuterQuery) -> DerivedQuote:
    """Quote a query that computes with private aggregates; nothing private is read and nothing is charged."""
    _check_options(question)
    questions = _questions(session, question, outer)
    plans = [sized_plan_of(session, each) for each in questions]
    shares, joint = _priced(session, plans, question.cost)
    inner = tuple(
        SessionQuote(plan, part, question.confidence, question.assume, session, each)
        for plan, part, each in zip(plans, shares, questions, strict=True)
    )
    outline = _outline(session, outer, plans)
    names = dry_run(session, outer, plans, outline)
    whole = Plan(sql=outer.sql, table=plans[0].table, where=None, keys=(), bundles=(), aggregates=(), outputs=())
    check_delta(session, _guarantee(joint))
    terms = Price(guarantee=_guarantee(joint), noise=(), shares=(), events=joint.events, why=_why(joint, len(inner)))
    return DerivedQuote(
        whole,
        terms,
        question.confidence,
        question.assume,
        session,
        question,
        inner,
        outer,
        outline,
        names,
        bool(outline.choice) and may_overflow(outer, plans),
    )


def _check_options(question: Question) -> None:
    """Refuse options that are about one private aggregate."""
    limits = question.limits
    given = {
        "error": question.cost.error is not None,
        'reach="auto"': bool(limits.automatic),
        'bounds that are "auto"': bool(limits.automatic_bounds),
        "measure_cut": question.measure_cut is not None,
    }
    used = [name for name, is_given in given.items() if is_given]
    if used:
        raise InvalidError(
            f"{listed(used)} cannot be used with a query that computes with private aggregates.",
            argument=used[0].partition("=")[0].partition(" ")[0],
            hint=_ALONE if used == ["error"] else "Ask for the private aggregate alone, or leave the option out.",
        )


def _questions(session: Session, question: Question, outer: OuterQuery) -> list[Question]:
    """Return the question of each private aggregate, with those of the listed keys that it groups by."""
    lists = dict(question.keys or {})
    unused = set(lists)
    questions: list[Question] = []
    for each in outer.inner:
        kept = {}
        for name, values in lists.items():
            alone = replace(question, query=each.sql, keys={name: values})
            if _groups_by(session, alone):
                kept[name] = values
                unused.discard(name)
        form: QueryForm = "margins" if each.tabulated else "rows"
        questions.append(replace(question, query=each.sql, keys=kept or None, form=form))
    for name in lists:
        if name in unused:
            raise UnusedKeyError(name)
    return questions


def _groups_by(session: Session, question: Question) -> bool:
    """Return whether a query groups by the one key that it lists."""
    try:
        plan_of(session, question)
    except UnusedKeyError:
        return False
    return True


# --- the price --------------------------------------------------------------------------------------------------------


def _priced(session: Session, plans: Sequence[Plan], cost: Cost) -> tuple[list[Price], JointPrice]:
    """Return the price of each plan, and of all together, for a cost of the whole query.

    The cost is split evenly. If the joint price is then below it, because plans are about disjoint rows or because
    their noise composes to less than the sum, each plan gets a larger part, as long as the joint price is within the
    cost.
    """
    check_currency(session, cost)
    charged = [plan for plan in plans if not is_free(plan)]
    count = max(len(charged), 1)
    states = [session.engine_of(plan).keeps_state for plan in plans]

    def priced(factor: Fraction) -> tuple[list[Price], JointPrice]:
        part = _part(cost, factor / count, count)
        prices = [free_price(by_rho=cost.rho is not None) if is_free(plan) else price(plan, part) for plan in plans]
        for each in prices:
            check_delta(session, each.guarantee)
        delta = Fraction(0) if cost.delta is None else to_fraction(cost.delta, "delta")
        pairs = list(zip(plans, prices, strict=True))
        return prices, joint_price(pairs, session.ledger.budget, delta, _WORTH, one_state=states)

    best = priced(Fraction(1))
    return best if count == 1 else _enlarged(best, priced, cost, count)


def _enlarged(
    best: tuple[list[Price], JointPrice],
    priced: Callable[[Fraction], tuple[list[Price], JointPrice]],
    cost: Cost,
    count: int,
) -> tuple[list[Price], JointPrice]:
    """Return the largest parts that were found whose joint price is within the cost."""
    given = cost.rho if cost.rho is not None else cost.epsilon
    name = "rho" if cost.rho is not None else "epsilon"
    most = Spent(
        currency=best[1].together.currency,
        loss=positive(given, name),
        delta=Fraction(0) if cost.delta is None else to_fraction(cost.delta, "delta"),
    )
    if not best[1].together.loss or best[1].together.loss >= most.loss:
        return best
    low, high = Fraction(1), Fraction(count)
    straight = min(most.loss / best[1].together.loss, high)
    for _ in range(_HALVINGS):
        middle = straight if straight > low else (low + high) / 2
        straight = Fraction(0)
        tried = priced(middle.limit_denominator(10**6))
        if _within(tried[1].together, most):
            best, low = tried, middle
        else:
            high = middle
        if best[1].together.loss == most.loss:
            break
    return best


def _within(spent: Spent, most: Spent) -> bool:
    return spent.loss <= most.loss and spent.delta <= most.delta


def _part(cost: Cost, part: Fraction, count: int) -> Cost:
    """Return a part of ε or ρ, and of δ an even one."""
    if cost.rho is not None:
        return Cost(rho=Exact(positive(cost.rho, "rho") * part))
    delta: Number | None = None if cost.delta is None else Exact(to_fraction(cost.delta, "delta") / count)
    return Cost(epsilon=Exact(positive(cost.epsilon, "epsilon") * part), delta=delta)


def _guarantee(joint: JointPrice) -> PureDP | ApproxDP | ZCDP:
    guarantee = joint.guarantee
    if isinstance(guarantee, ApproxDP):
        return guarantee if guarantee.delta else PureDP(epsilon=guarantee.epsilon)
    if isinstance(guarantee, ZCDP):
        return guarantee
    raise refused("A query with several private aggregates cannot find groups under a budget in ρ", "List the keys.")


def _why(joint: JointPrice, count: int) -> str:
    if count == 1:
        return "All of it is for one private aggregate; the computation with it costs nothing."
    saved = "" if joint.together == joint.apart else " Together they cost less than one by one."
    return f"It is split over {count} private aggregates; the computation with them costs nothing.{saved}"


# --- the outer query --------------------------------------------------------------------------------------------------


def _outline(session: Session, outer: OuterQuery, plans: Sequence[Plan]) -> OuterColumns:
    """Return what is known about the columns of the outer query."""
    tables = {
        each.table: {name: is_noisy(output) for name, output in plan.outputs}
        for each, plan in zip(outer.inner, plans, strict=True)
    }
    tables |= {name: dict.fromkeys(session.tables[name].columns, False) for name in outer.public}
    chosen = [each.table for each, plan in zip(outer.inner, plans, strict=True) if choosing_clauses(plan)]
    bent = [
        (each.table, name)
        for each, plan in zip(outer.inner, plans, strict=True)
        for name, output in plan.outputs
        if is_noisy(output) and not is_linear(plan, output)
    ]
    return outer_columns(outer.tree, tables, chosen, bent)


@dataclass(frozen=True, slots=True)
class _SandboxComputation:
    """Runs an outer query in the sandbox; a result that cannot be had is None."""

    sandbox: SharedSandbox

    def run(self, tables: Sequence[OuterTable], sql: str) -> Table | None:
        """Return the result of a query."""
        with suppress(SandboxError), self.sandbox.use() as sandbox:
            sandbox.open(tables)
            return sandbox.run(sql)
        return None

    def run_draws(self, tables: Sequence[OuterTable], sql: str, count: int) -> list[list[tuple[Value, ...]]] | None:
        """Return the rows of a query for each draw of its tables."""
        with suppress(SandboxError), self.sandbox.use() as sandbox:
            sandbox.open(tables)
            return sandbox.run_draws(sql, count, _DRAW_SECONDS)
        return None


# --- the answer -------------------------------------------------------------------------------------------------------


def answer(session: Session, quote: DerivedQuote, key: str | None) -> DerivedRelease:
    """Charge all private aggregates as one, release each, and run the outer query; or use the recorded releases."""
    request = _request(session, quote, key)
    ticket = session.charged_together(request, quote.inner)
    context = session.context(quote, ticket)
    if ticket.answer is not None:
        with reading_answer(session.ledger.name):
            texts = json.loads(ticket.answer)["released"]
            releases = [
                replace(
                    answer_codec.from_text(json.dumps(text), each.plan, each.price, session.context(each, ticket)),
                    confidence=quote.confidence,
                )
                for text, each in zip(texts, quote.inner, strict=True)
            ]
        return replace(_computed(session, quote, releases, context), repeated=True)
    releases = session.released_together(quote.inner, ticket)
    session.finish(ticket, ANSWERED, _recorded(releases) if session.data_version or key else None)
    return _computed(session, quote, releases, context)


def _recorded(releases: Sequence[Release]) -> str:
    """Return the record of released tables; their texts are joined, because parsed ones take much more memory."""
    return f'{{"released":[{",".join(map(answer_codec.to_text, releases))}]}}'


def _request(session: Session, quote: DerivedQuote, key: str | None) -> Request:
    plans = [each.plan for each in quote.inner]
    parts = [(each.plan, each.price.noise, each.price.shares) for each in quote.inner]
    fixed = not quote.outer.public and not any(map(session.has_public_join, plans))
    return Request(
        question=quote.outer.sql,
        events=quote.price.events,
        analyst=session.analyst,
        digest=answer_codec.digest(quote.plan, quote.price, session.data_version, parts),
        key=key,
        repeats=bool(session.data_version) and fixed,
        sizes=sizing.sizes_of(session, plans),
    )


def _computed(
    session: Session, quote: DerivedQuote, releases: Sequence[Release], context: Mapping[str, object]
) -> DerivedRelease:
    """Run the outer query on released tables; if it fails, return these tables with a warning."""
    result, failure, public = None, None, list[OuterTable]()
    by_table = {each.table: release for each, release in zip(quote.outer.inner, releases, strict=True)}
    try:
        public = public_tables(session, quote.outer)
        tables = [released_table(name, release) for name, release in by_table.items()]
        with session.sandbox.use() as sandbox:
            sandbox.open([*tables, *public])
            result = sandbox.run(quote.outer.text)
    except SandboxError as error:
        failure = reason(error)
    except KeyboardInterrupt:  # the private aggregates are charged and released, and must reach the caller
        failure = "it was interrupted"
    except Exception:  # noqa: BLE001 - nothing may lose what was charged
        failure = "the process that computes it could not be used"
    return DerivedRelease(
        quote.plan,
        quote.price,
        context,
        (),
        quote.confidence,
        outer=quote.outer,
        outline=quote.outline,
        releases=by_table,
        public=public,
        computation=_SandboxComputation(session.sandbox),
        result=result,
        failure=failure,
    )
