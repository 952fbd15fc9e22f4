"""Answers, plans and datasets as JSON: what a response holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from typing import Any

from tacit.errors import TacitError
from tacit.guarantees.exact import round_up
from tacit.guarantees.filters import Budget, Spent, admit_all
from tacit.json_forms import answer_json, quote_json
from tacit.ledger.records import budget_like
from tacit.ledger.sql_ledger import Standing
from tacit.ledger.state import check_admission
from tacit.query.formatting import amounts
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.results.answer_table import AnswerTable
from tacit.query.results.description import Description
from tacit.query.results.limits_report import LimitsReport
from tacit.query.results.private_bounds import PrivateBounds
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release
from tacit.query.results.render import AnswerColumn
from tacit.query.results.table_text import json_value

Content = dict[str, Any]


def described(answer: Release) -> Description:
    """Return the answer of `describe` as a table of statistics; its outputs are called "column statistic"."""
    names: dict[str, list[str]] = {}
    for output in answer.table.names:
        column, _, statistic = output.rpartition(" ")
        names.setdefault(column, []).append(statistic)
    return Description(answer, {column: tuple(each) for column, each in names.items()})


def answer_content(answer: Release, *, verb: str | None = None) -> Content:
    """Return an answer with its columns, intervals, cost and receipt."""
    table: AnswerTable = described(answer) if verb == "describe" else answer
    return {
        **answer_json(answer),
        **({"rows": [_row(each) for each in table.intervals().dicts()]} if verb == "describe" else {}),
        "columns": columns_content(table.columns()),
        "record": answer.receipt.get("ledger_entry"),
        "repeated": answer.repeated,
        "text": str(answer),
    }


def _row(row: Mapping[str, object]) -> Content:
    return {name: json_value(value) for name, value in row.items()}


def columns_content(columns: Sequence[AnswerColumn]) -> list[Content]:
    """Return columns with the ends of their intervals; an end that is infinite or missing is null."""
    return [
        {
            "name": each.name,
            "kind": each.kind,
            "values": [json_value(value) for value in each.values],
            "low": None if each.ends is None else [_end(pair, 0) for pair in each.ends],
            "high": None if each.ends is None else [_end(pair, 1) for pair in each.ends],
        }
        for each in columns
    ]


def _end(pair: tuple[float, float] | None, side: int) -> float | None:
    return None if pair is None or not isfinite(pair[side]) else pair[side]


def limits_content(report: LimitsReport) -> Content:
    """Return a report on limits."""
    content = {**report.to_dict(), "cost": amounts(report.cost), "repeated": report.repeated, "text": str(report)}
    content["table"] = [_row(each) for each in report.table.dicts()]
    return {**content, "record": report.receipt.get("ledger_entry")}


def bounds_content(found: PrivateBounds) -> Content:
    """Return private bounds."""
    return {
        **found.to_dict(),
        "cost": amounts(found.cost),
        "repeated": found.repeated,
        "text": str(found),
        "record": found.receipt.get("ledger_entry"),
    }


def plan_content(quote: Quote, standing: Standing, analyst: str) -> Content:
    """Return a plan, what is left, and why the question would be refused, if it would be."""
    shortage = None
    try:
        check_admission(analyst, standing.limit)
        nothing = replace(standing.spent, loss=Fraction(0), delta=Fraction(0))
        admit_all(nothing, standing.left, quote.price.events, "query")
    except TacitError as error:
        shortage = {"detail": error.message, "hint": error.hint}
    return {
        **quote_json(quote),
        "unknown": list(quote.unknown),
        "text": str(quote),
        "left": amounts(standing.left),
        "fits": shortage is None,
        "shortage": shortage,
    }


def left_content(standing: Standing) -> Content:
    """Return the budget, what is left in all, and what is left for one analyst."""
    budget, spent = standing.budget, standing.spent
    return {
        "budget": amounts(budget),
        "left": amounts(standing.left),
        "left_in_all": amounts(standing.left_in_all),
        "spent": amounts(budget_like(budget, spent.loss, spent.delta)),
        "limit": amount_or_none(standing.limit),
        "currency": type(budget).__name__,
    }


def spent_content(spent: Spent) -> Content:
    """Return an amount that was spent, rounded up."""
    return {"epsilon" if spent.currency == "basic" else "rho": round_up(spent.loss), "delta": round_up(spent.delta)}


def amount_or_none(budget: Budget | None) -> Content | None:
    """Return the amounts of a limit."""
    return None if budget is None else {**amounts(budget)}


def table_content(policy: TablePolicy) -> Content:
    """Return what is public about a table."""
    return {
        "name": policy.name,
        "public": policy.public,
        "unit": policy.unit,
        "each_row": policy.unit is None and not policy.public,
        "reach": policy.reach,
        "max_groups": policy.max_groups,
        "max_rows": policy.max_rows,
        "neighbours": policy.neighbours,
        "columns": [column_content(name, each) for name, each in policy.columns.items() if not each.hidden],
        "key_tuples": [
            {"columns": list(each.columns), "rows": [[json_value(cell) for cell in row] for row in each.rows]}
            for each in policy.key_tuples
        ],
    }


def column_content(name: str, column: ColumnPolicy) -> Content:
    """Return what is public about a column."""
    ends = column.bounds if column.days is None else column.first_and_last
    return {
        "name": name,
        "kind": column.kind,
        "bounds": None if ends is None else [float(end) if not hasattr(end, "isoformat") else str(end) for end in ends],
        "keys": None if column.keys is None else [json_value(key) for key in column.keys],
        "required": column.required,
        "timezone": column.timezone,
    }
