"""Plans of questions: SQL text, its limits and its form become a plan that the engine of its table has checked.

Planning reads no data but a public number of rows, and spends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit import sizing
from tacit.errors import InvalidError, show_name
from tacit.guarantees.filters import limit
from tacit.query.aggregates.cut import with_cut
from tacit.query.aggregates.margins import as_table_count, with_margins
from tacit.query.aggregates.measure_sharing import without_sharing
from tacit.query.aggregates.table_sum import with_all_margins
from tacit.query.expressions import Expression, Kind
from tacit.query.noise_law import Law
from tacit.query.plan import Plan
from tacit.query.policy.limits import Limits, column_names
from tacit.query.pricing.quantile_method import DrawOptions, choose_method
from tacit.query.refusals import refused
from tacit.query.results.quote import QueryForm, Question
from tacit.query.sql import parse as sql_parse
from tacit.query.sql.bounds_plan import bounds_plan
from tacit.query.sql.clock import time_in_zone, with_time
from tacit.query.sql.key_values import own_column
from tacit.query.sql.parse import parse

if TYPE_CHECKING:
    from tacit.session import Session


def sized_plan_of(session: Session, question: Question) -> Plan:
    """Return the plan of a query, which uses the number of rows or units where that is public."""
    plan = plan_of(session, question)
    return plan if question.form != "rows" else sizing.sized(session, plan)


def plan_of(session: Session, question: Question) -> Plan:
    """Return the plan of a query; of a table that adds up if its form asks for one."""
    if question.form != "rows" and question.measure_cut is not None:
        raise InvalidError(
            "The cut of a histogram or a crosstab cannot be measured.",
            argument="measure_cut",
            hint="Use db.count(by=…) or db.sql with measure_cut instead.",
        )
    plan = _parse(session, question)
    if question.form == "rows":
        return plan
    gaussian = question.cost.rho is not None or session.is_zcdp
    law: Law = "gaussian" if gaussian else "laplace"
    if question.form == "margins":
        return with_all_margins(without_sharing(plan), law)
    plan = sizing.sized(session, as_table_count(plan))
    return with_margins(plan, law) if question.form == "crosstab" else plan


def query_text(session: Session, question: Question) -> str:
    """Return the text of a query, with the date at which it was asked for the current date."""
    zone = next((table.timezone for table in session.tables.values() if table.timezone), None)
    return with_time(question.query, time_in_zone(question.asked_at, zone))


def _parse(session: Session, question: Question) -> Plan:
    limits = question.limits
    tables = limits.apply_all(session.tables, subquery_kinds(session, question))
    plan = parse(query_text(session, question), tables, keys=question.keys, bounds=limits.column_bounds)
    _check_keys(plan, question.form)
    if len({id(session.engine(name)) for name in (plan.table.name, *(join.table for join in plan.all_joins))}) > 1:
        raise refused(
            "Tables of different engines cannot be joined",
            "Copy the public table to the engine of the private one.",
        )
    plan = choose_method(plan, question.cost, draw_options(session, question), question.assume)
    if question.measure_cut is not None:
        plan = with_cut(plan, int(question.measure_cut), question.share)
    session.engine_of(plan).check(plan)
    return plan


def subquery_kinds(session: Session, question: Question) -> Mapping[str, Kind]:
    """Return the kinds of the columns of a query's subqueries, if its bounds name a column that no table has."""
    limits = question.limits
    if not limits.names_others(session.tables):
        return {}
    known = {name: pair for name, pair in limits.column_bounds.items() if name not in limits.automatic_bounds}
    own = {name: pair for name, pair in known.items() if name in column_names(session.tables)}
    return sql_parse.subquery_kinds(
        query_text(session, question), replace(limits, bounds=own).apply_all(session.tables), known
    )


def bounds_plan_of(session: Session, question: Question, text: str) -> Plan:
    """Return the plan of the private bounds of the value whose different values a query counts.

    Args:
        session: the open database.
        question: a query of one count(DISTINCT …), which stands for the rows and the value.
        text: the SQL under which the bounds are recorded.
    """
    counted = _parse(session, replace(question, limits=Limits(reach=1)))
    plan = bounds_plan(counted, _counted_value(counted), sql=text)
    session.engine_of(plan).check(plan)
    return plan


def draw_options(session: Session, question: Question) -> DrawOptions:
    """Return what the draws of quantiles depend on besides the plan."""
    in_rho = question.cost.rho is not None or (question.cost.error is not None and session.is_zcdp)
    basic = limit(session.ledger.budget).currency == "basic"
    return DrawOptions(confidence=question.confidence, intervals=question.intervals, rho=in_rho, flips=basic)


def _counted_value(plan: Plan) -> Expression:
    """Return the value of a plan's only count(DISTINCT …), which is over raw columns."""
    ask = plan.aggregates[0].ask
    if ask.function != "count_distinct":
        raise refused("The unit column cannot have bounds", "Name another column.")
    return own_column(ask.values[0], plan.table) or ask.values[0]


def _check_keys(plan: Plan, form: QueryForm) -> None:
    """Raise InvalidError or RefusedError if a table that adds up has keys that are not public, or is not one count."""
    if form == "rows":
        return
    unlisted = [key.name for key in plan.keys if key.values is None]
    keys = ", ".join(f"{show_name(name)}: [...]" for name in unlisted)
    hint = (
        "Ask the data's steward to list them in the policy, as keys of the column; "
        f"in Python the query can list them too: keys={{{keys}}}."
    )
    if unlisted and form == "margins":
        reason = (
            f"ROLLUP, CUBE and GROUPING SETS need public keys, but the values of {', '.join(unlisted)} are not public"
        )
        raise refused(reason, hint)
    if unlisted:
        reason = f"The values of {', '.join(unlisted)} are not public, so they cannot be tabulated."
        raise InvalidError(reason, argument="columns", hint=f"{hint} A δ does not help a table.")
    if form != "margins" and (len(plan.aggregates) != 1 or not plan.keys):
        hint = "List their values in the policy, or in Python with keys=."
        raise InvalidError("A table needs columns with public values to count by.", argument="columns", hint=hint)
