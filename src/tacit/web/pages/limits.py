"""Limits: reports that a steward buys, on the reach of units and the bounds of columns."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from tacit.errors import InvalidError, TacitError
from tacit.web import questions
from tacit.web.access import Caller, Role, route
from tacit.web.api.common import DatasetName, TheServer
from tacit.web.api.history import past_content
from tacit.web.credentials import Person
from tacit.web.pages import same
from tacit.web.pages.ask import problem_of, wait_for
from tacit.web.pages.ask_form import Fields, key_of, needed_number
from tacit.web.pages.page import first, form_of, page_router, render, see_other
from tacit.web.server import Server
from tacit.web.services import asking, catalog, planning
from tacit.web.services.asked import AskedBounds, AskedLimits

router = page_router()
_NUMBERS = ("integer", "real", "date", "timestamp")


@route(router, "GET", "/datasets/{dataset}/limits", role=Role.STEWARD, problems_of=(404,), response_class=Response)
def limits_page(request: Request, server: TheServer, person: Caller, dataset: DatasetName) -> Response:
    """Show the limits and bounds of the policy, and what may be measured."""
    return _page(request, server, person, dataset, {}, {})


def _page(
    request: Request,
    server: Server,
    person: Person,
    dataset: str,
    fields: Fields,
    more: Mapping[str, Any],
    status: int = 200,
) -> Response:
    content = catalog.dataset(server, person, dataset)
    currency = next(name for name in content["budget"] if name != "delta")
    found, _ = questions.of_person(server.store, person.name, dataset, None, 200)
    private = [table for table in content["schema"] if not table["public"]]
    columns = [each for table in private for each in table["columns"] if each["kind"] in _NUMBERS]
    shown = {
        "dataset": content,
        "private": private,
        "columns": columns,
        "symbol": "ε" if currency == "epsilon" else "ρ",
        "nonce": secrets.token_hex(16),
        "values": {name: first(fields, name) for name in ("report", "amount", "table", "column")},
        "reports": [past_content(each) for each in found if each.kind != "answer"][:20],
        "plan": None,
        "wrong": None,
        "same": same.of_limits(request, content, currency),
        **more,
    }
    return render(request, "limits.html", shown, status=status)


@route(router, "POST", "/datasets/{dataset}/limits", role=Role.STEWARD, problems_of=(404, 409), response_class=Response)
async def measure(request: Request, server: TheServer, person: Caller, dataset: DatasetName) -> Response:
    """Show the plan of a report, or charge it and go to its page."""
    fields = await form_of(request)
    try:
        asked = await run_in_threadpool(_asked, server, person, dataset, fields)
        plan = await run_in_threadpool(planning.plan, server, person, dataset, asked)
    except TacitError as error:
        wrong = problem_of(error, server)
        return await run_in_threadpool(_page, request, server, person, dataset, fields, {"wrong": wrong}, 422)
    if first(fields, "action") != "ask":
        return await run_in_threadpool(_page, request, server, person, dataset, fields, {"plan": plan})
    key = key_of(first(fields, "nonce") or secrets.token_hex(16), asked)
    question = await run_in_threadpool(asking.start_job, server, person, dataset, asked, key)
    await wait_for(server, person, question.id)
    return see_other(f"/questions/{question.id}")


def _asked(server: Server, person: Person, dataset: str, fields: Fields) -> AskedLimits | AskedBounds:
    """Return the report that the fields mean."""
    budget = catalog.dataset(server, person, dataset)["budget"]
    currency = next(name for name in budget if name != "delta")
    amount = needed_number(first(fields, "amount"), "amount", "Choose the privacy cost.")
    table = first(fields, "table") or None
    try:
        if first(fields, "report") == "bounds":
            column = first(fields, "column")
            if not column:
                raise InvalidError("Choose a column.", argument="column", hint="Its values are numbers or times.")
            return AskedBounds.model_validate({"column": column, "table": table, currency: amount})
        return AskedLimits.model_validate({"table": table, currency: amount})
    except ValidationError:
        raise InvalidError("A field is not valid.", argument="amount", hint="Check it.") from None
