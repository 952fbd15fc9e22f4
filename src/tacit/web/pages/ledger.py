"""Ledger: what is left after each charge, who spent what, every charge with its receipt, and the check of the chain."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from tacit.errors import TacitError
from tacit.ledger import history
from tacit.web.access import Caller, Role, route
from tacit.web.api.common import DatasetName, NumberCursor, TheServer
from tacit.web.pages import same
from tacit.web.pages.ask import problem_of
from tacit.web.pages.charts import chart_response, is_drawable, specification
from tacit.web.pages.page import first, form_of, page_router, render
from tacit.web.problems import Problem
from tacit.web.server import Server
from tacit.web.services import catalog, ledgers
from tacit.web.services.asked import is_storable
from tacit.web.tables import QUESTIONS

router = page_router()
_MOST = 50
ChartForm = Annotated[Literal["json", "svg"], Path()]
Theme = Annotated[Literal["light", "dark"], Query()]
Number = Annotated[int, Path(ge=0, le=10**15)]


@route(router, "GET", "/ledger", role=Role.STEWARD, response_class=Response)
def overview(request: Request, server: TheServer) -> Response:
    """Show every ledger."""
    return render(request, "ledgers.html", {"ledgers": ledgers.overview(server)})


@route(router, "GET", "/datasets/{dataset}/ledger", role=Role.STEWARD, problems_of=(404,), response_class=Response)
def ledger_page(
    request: Request, server: TheServer, person: Caller, dataset: DatasetName, cursor: NumberCursor = None
) -> Response:
    """Show a ledger."""
    content = catalog.dataset(server, person, dataset)
    before = None if cursor is None else int(cursor)
    return render(request, "ledger.html", {"dataset": content, **_ledger(server, dataset, before)})


def _ledger(server: Server, dataset: str, before: int | None) -> dict[str, Any]:
    return {
        "ledger": ledgers.charges(server, dataset, before, _MOST),
        "shares": ledgers.shares(server, dataset),
        "has_chart": is_drawable(),
        "report": None,
        "wrong": None,
        "receipt": "",
        "same": same.of_ledger(dataset),
    }


@route(
    router,
    "GET",
    "/datasets/{dataset}/ledger/burn-down.{form}",
    role=Role.STEWARD,
    problems_of=(404, 501),
    response_class=Response,
)
def burn_down(server: TheServer, dataset: DatasetName, form: ChartForm, theme: Theme = "light") -> Response:
    """Return the chart of what is left after each charge."""
    with server.datasets[dataset].use() as one:
        chart = specification(history.burn_down(one.ledger), theme)
    return chart_response(chart, form)


@route(
    router,
    "POST",
    "/datasets/{dataset}/ledger/verify",
    role=Role.STEWARD,
    problems_of=(404,),
    response_class=Response,
)
async def verify(request: Request, server: TheServer, person: Caller, dataset: DatasetName) -> Response:
    """Check the chain and all totals, and the charge of a receipt."""
    text = first(await form_of(request), "receipt")
    return await run_in_threadpool(_verified, request, server, person, dataset, text)


def _verified(request: Request, server: Server, person: Caller, dataset: str, text: str) -> Response:
    content = catalog.dataset(server, person, dataset)
    shown = {"dataset": content, **_ledger(server, dataset, None), "receipt": text}
    try:
        return render(request, "ledger.html", {**shown, "report": ledgers.check(server, dataset, _receipts(text))})
    except (TacitError, Problem) as error:
        wrong = problem_of(error, server)
        return render(request, "ledger.html", {**shown, "wrong": wrong}, status=422)


def _receipts(text: str) -> list[dict[str, Any]]:
    """Return the receipt in a text; none in an empty one."""
    if not text:
        return []
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and is_storable(found):
        return [found["receipt"] if isinstance(found.get("receipt"), dict) else found]
    raise Problem(422, "invalid", "This is not a receipt.", hint="Paste the whole file, which is JSON.")


@route(
    router,
    "GET",
    "/datasets/{dataset}/ledger/{number}",
    role=Role.STEWARD,
    problems_of=(404,),
    response_class=Response,
)
def charge(request: Request, server: TheServer, person: Caller, dataset: DatasetName, number: Number) -> Response:
    """Show one charge with its receipt, if this server released its answer."""
    page = ledgers.charges(server, dataset, number + 1, 1)["charges"]
    if not page or page[0]["number"] != number:
        raise Problem(404, "no-charge", "This record is not a charge.", hint="The ledger's page lists all charges.")
    query = select(QUESTIONS.c.response).where(QUESTIONS.c.dataset == dataset, QUESTIONS.c.record == number)
    with server.store.reading() as connection:
        response = connection.execute(query).scalar()
    receipt = None if response is None else json.loads(response).get("receipt")
    shown = {
        "dataset": catalog.dataset(server, person, dataset),
        "charge": page[0],
        "receipt": None if receipt is None else json.dumps(receipt, indent=2, ensure_ascii=False),
    }
    return render(request, "charge.html", shown)
