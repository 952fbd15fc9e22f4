"""Plans of questions: they read no private row and spend nothing."""

from __future__ import annotations

from typing import Any

from tacit.query.results.quote import Quote
from tacit.web.credentials import Person
from tacit.web.server import Server
from tacit.web.services.asked import Asked, AskedBounds, AskedLimits, amounts_of, quote_of
from tacit.web.services.contents import Content, plan_content


def plan(server: Server, person: Person, dataset: str, body: Asked | AskedLimits | AskedBounds) -> Content:
    """Return the plan of a question."""
    with server.datasets[dataset].use() as one:
        database = one.database.as_analyst(person.name)
        quote: Quote
        match body:
            case AskedLimits():
                spend = amounts_of(body)
                spend.pop("spend", None)
                quote = database.limits_plan(body.sql, table=body.table, confidence=body.confidence, **spend)
            case AskedBounds():
                given: dict[str, Any] = {"where": body.where, "table": body.table, "confidence": body.confidence}
                quote = database.bounds(body.column, plan=True, **given, **amounts_of(body))
            case _:
                quote = quote_of(database, body)
        return {"dataset": dataset, **plan_content(quote, one.ledger.standing(person.name), person.name)}
