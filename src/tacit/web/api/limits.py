"""Limits and bounds: reports that stewards buy with the budget."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import Amounts, DatasetName, Key, Reply, TheServer, outcome_response
from tacit.web.services import asking
from tacit.web.services.asked import AskedBounds, AskedLimits

router = guarded("limits")


class Limits(Reply):
    """The numbers of units by their rows, and the reach that errs least."""

    id: str
    """The id of the question."""
    reach: int
    """The reach that errs least."""
    why: str
    """The reason, in a sentence."""
    suggest: str
    """A line for the policy."""
    table: list[dict[str, Any]]
    """For each reach, the units above it and the rows that it cuts, with intervals."""
    cost: Amounts
    """What the report cost."""
    left: Amounts
    """What is left for the caller."""


class Bounds(Reply):
    """Private bounds of a column."""

    id: str
    """The id of the question."""
    column: str
    """The column."""
    low: Any
    """The lower bound; null if none was found."""
    high: Any
    """The upper bound; null if none was found."""
    suggest: str | None
    """A line for the policy; null without bounds."""
    cost: Amounts
    """What the bounds cost."""
    left: Amounts
    """What is left for the caller."""


@route(
    router,
    "POST",
    "/datasets/{dataset}/limits",
    role=Role.STEWARD,
    quantised=True,
    problems_of=(404, 409, 502),
    response_model=Limits,
    summary="Report on limits",
)
async def limits(
    server: TheServer, person: Caller, dataset: DatasetName, body: AskedLimits, key: Key = None
) -> Response:
    """Charge and release how many units have how many rows, and so which reach errs least."""
    return outcome_response(*await server.workshop.run(lambda: asking.ask(server, person, dataset, body, key)))


@route(
    router,
    "POST",
    "/datasets/{dataset}/bounds",
    role=Role.STEWARD,
    quantised=True,
    problems_of=(404, 409, 502),
    response_model=Bounds,
    summary="Find private bounds",
)
async def bounds(
    server: TheServer, person: Caller, dataset: DatasetName, body: AskedBounds, key: Key = None
) -> Response:
    """Charge and release private bounds of a column."""
    return outcome_response(*await server.workshop.run(lambda: asking.ask(server, person, dataset, body, key)))
