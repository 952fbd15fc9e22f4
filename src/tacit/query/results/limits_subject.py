"""The subject of a report on limits: the rows or the groups of a unit, the aggregate, and the policy's reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tacit.query.plan import Aggregate, Plan
from tacit.query.policy.toml_lines import quoted
from tacit.query.pricing.reach_choice import leading_aggregate
from tacit.query.unit_sizes import limited_by
from tacit.safe_text import visible

_COUNTS = ("count", "table_count", "count_units")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsSubject:
    """The words of a report: a reach limits the `noun`s of a unit, and `remark` says what the errors are of.

    `table` is the table's name in the policy, and `declared` the reach that the policy has. If the rows are those of a
    `subquery`, a reach is about them alone, so it is not one for the policy.
    """

    noun: Literal["row", "group"] = "row"
    remark: str | None = None
    table: str = "…"
    declared: int | None = None
    subquery: bool = False

    @property
    def errors(self) -> str:
        """The unit of measurement of noise and cut: rows, or units if the query counts units."""
        return "rows" if self.noun == "row" else "units"

    def policy_line(self, reach: int) -> str:
        """Return which line of the policy makes a reach that of every query."""
        place, query = f"under [tables.{quoted(self.table)}] of the policy", f"reach={reach} (--reach {reach})"
        if self.subquery:
            return f"It limits the rows of the subquery, so give it to this query: {query}."
        if self.declared == reach:
            return "The policy has this reach already."
        old = "write" if self.declared is None else f"change reach = {self.declared} to"
        return (
            f"To use it in every query, {old} reach = {reach} {place}, or open with reach={reach}; in one, use {query}."
        )


def limits_subject(plan: Plan, declared: int | None) -> LimitsSubject:
    """Return what a report on the limits of a query is about.

    Args:
        plan: the query.
        declared: the reach of the policy.
    """
    noun: Literal["row", "group"] = "group" if limited_by(plan) == "groups" else "row"
    remark = _remark(plan)
    subquery = plan.units is not None
    return LimitsSubject(noun=noun, remark=remark, table=plan.table.name, declared=declared, subquery=subquery)


def _remark(plan: Plan) -> str | None:
    """Return what noise and cut are of, if they are not rows of a count."""
    leader = leading_aggregate(plan)
    if leader is None:
        return None
    text = visible(leader.sql)
    several = f"The reach is recommended for {text}. " if len(plan.aggregates) > 1 else ""
    return (several + (_meaning(leader, text) or "")).strip() or None


def _meaning(leader: Aggregate, text: str) -> str | None:
    function = leader.ask.function
    if function == "count_units":
        return f"{text} counts a unit once in each group, so a reach limits the groups of a unit, not its rows."
    if function in _COUNTS:
        return None
    if function == "sum":
        return f"The noise of {text} is in rows of the largest absolute value that the bounds allow."
    if function == "count_distinct":
        return f"{text} counts different values. A unit has at most one for each row, so it may lose fewer than rows."
    return f"{text} is drawn by the numbers of rows: noise and cut are in rows."
