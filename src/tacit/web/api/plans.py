"""Plans: the cost of a question and its expected error. A plan reads no private row and spends nothing."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import Amounts, DatasetName, Reply, TheServer, json_response
from tacit.web.services import planning
from tacit.web.services.asked import Asked, AskedBounds, AskedLimits

router = guarded("plans")


class Plan(Reply):
    """A plan: its cost, the expected error of each column, and what is left."""

    question: str
    """The query in SQL."""
    cost: Amounts
    """What the question would cost."""
    confidence: float
    """The probability with which the errors hold."""
    error: dict[str, Any]
    """The largest error of each column that has a bound."""
    unknown: list[str]
    """The columns whose error is not known before."""
    left: Amounts
    """What is left for the caller."""
    fits: bool
    """Whether the budget suffices."""
    shortage: dict[str, Any] | None
    """What is missing if it does not; else null."""
    text: str
    """The plan in sentences."""


@route(
    router,
    "POST",
    "/datasets/{dataset}/plans",
    role=Role.ANALYST,
    problems_of=(404, 409, 502),
    response_model=Plan,
    summary="Plan a question",
)
def plan(server: TheServer, person: Caller, dataset: DatasetName, body: Asked) -> Response:
    """Return the cost of a question and its expected error; read no private row and spend nothing."""
    return json_response(planning.plan(server, person, dataset, body))


@route(
    router,
    "POST",
    "/datasets/{dataset}/limits/plans",
    role=Role.STEWARD,
    problems_of=(404, 409, 502),
    response_model=Plan,
    summary="Plan a report on limits",
)
def plan_limits(server: TheServer, person: Caller, dataset: DatasetName, body: AskedLimits) -> Response:
    """Return the cost of a report on limits; read no private row and spend nothing."""
    return json_response(planning.plan(server, person, dataset, body))


@route(
    router,
    "POST",
    "/datasets/{dataset}/bounds/plans",
    role=Role.STEWARD,
    problems_of=(404, 409, 502),
    response_model=Plan,
    summary="Plan private bounds",
)
def plan_bounds(server: TheServer, person: Caller, dataset: DatasetName, body: AskedBounds) -> Response:
    """Return the cost of private bounds; read no private row and spend nothing."""
    return json_response(planning.plan(server, person, dataset, body))
