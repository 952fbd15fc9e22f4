"""Answers and plans as objects for JSON, which the command line prints and the server sends."""

from __future__ import annotations

from dataclasses import asdict

from tacit.query.aggregates.cut import cut_share
from tacit.query.formatting import amounts
from tacit.query.policy.limits import AUTO
from tacit.query.pricing.noisy_filters import answer_meaning, meaning
from tacit.query.results.cost_shares import shares_json
from tacit.query.results.derived_release import DerivedRelease
from tacit.query.results.intervals import without_intervals
from tacit.query.results.limits_note import cut_notes, not_counted
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release
from tacit.query.results.table import Table
from tacit.query.results.table_text import json_value
from tacit.query.sql.row_work import ROW_LIMITS
from tacit.quotes import ChoosingQuote, DerivedQuote, SessionQuote


def answer_json(answer: Release) -> dict[str, object]:
    """Return an answer as an object for JSON."""
    return {
        "question": answer.plan.sql,
        "cost": amounts(answer.cost),
        "confidence": answer.confidence,
        "intervals": without_intervals(answer.plan, answer_meaning(answer.plan, answer.found_groups)),
        "rows": _json_rows(answer.intervals()),
        "warnings": answer.warnings,
        "notes": answer.notes,
        "not_counted": " ".join(not_counted(answer.plan)) or None,
        "cut": None if answer.cut is None else {"notes": cut_notes(answer.plan), "rows": _json_rows(answer.cut)},
        "receipt": answer.receipt,
        **(_derived_json(answer) if isinstance(answer, DerivedRelease) else {}),
    }


def _derived_json(answer: DerivedRelease) -> dict[str, object]:
    """Return what an answer that is computed from released tables has besides: these tables, and its intervals."""
    return {
        "intervals": {"hold": "together" if answer.outline.choice else "each"},
        "without_interval": answer.without_interval,
        "released": {label: _json_rows(each.intervals()) for label, each in answer.released.items()},
    }


def _json_rows(table: Table) -> list[dict[str, object]]:
    return [{name: json_value(value) for name, value in row.items()} for row in table.dicts()]


def quote_json(quote: Quote) -> dict[str, object]:
    """Return a plan as an object for JSON."""
    return {
        "question": quote.plan.sql,
        "cost": amounts(quote.cost),
        "noise": quote.why,
        "confidence": quote.confidence,
        "shares": shares_json(quote.shares, quote.price),
        "error": quote.error | dict.fromkeys(quote.unknown) | quote.category_errors,
        "error_without_hidden": quote.error_without_hidden,
        "intervals": without_intervals(quote.plan, meaning(quote.plan)),
        "assume": quote.assume,
        "limits": _limits_json(quote),
        "bounds": _bounds_json(quote),
        "public_size": quote.plan.size,
        "not_counted": None if isinstance(quote, ChoosingQuote) else " ".join(not_counted(quote.plan)) or None,
        "cut": _cut_json(quote),
        "row_work": {**asdict(quote.work), **ROW_LIMITS},
        **(_derived_quote_json(quote) if isinstance(quote, DerivedQuote) else {}),
    }


def _derived_quote_json(quote: DerivedQuote) -> dict[str, object]:
    """Return the private aggregates of a query that computes with them, and the columns of the computation."""
    inner = zip(quote.outer.inner, quote.inner, strict=True)
    return {
        "intervals": {"hold": "together" if quote.outline.choice else "each"},
        "columns": quote.methods,
        "released": [{"name": each.label, **quote_json(part)} for each, part in inner],
    }


def _limits_json(quote: Quote) -> dict[str, object]:
    limits = {name: getattr(quote.plan.table, name) for name in ("reach", "max_groups", "max_rows")}
    chosen = isinstance(quote, ChoosingQuote) and quote.choice is not None
    return limits | ({"reach": AUTO} if chosen else {})


def _bounds_json(quote: Quote) -> dict[str, object]:
    if not isinstance(quote, SessionQuote):
        return {}
    given = quote.question.limits
    return {**given.record(), **dict.fromkeys(given.automatic_bounds, AUTO)}


def _cut_json(quote: Quote) -> dict[str, object] | None:
    """Return the share and the errors of a measured cut; None if it is not measured."""
    if quote.plan.cap is None:
        return None
    return {
        "up_to_rows": quote.plan.cap,
        "share": float(cut_share(quote.plan)),
        "error_up_to_rows": quote.uncut_error,
        "error_at_once": {name: quote.error_at_once.get(name) for name in quote.uncut_error},
    }
