"""Account: the person's tokens, for Python and programs."""

from __future__ import annotations

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from tacit.errors import TacitError
from tacit.web import audit, credentials
from tacit.web.access import Caller, Role, route
from tacit.web.api.common import TheServer
from tacit.web.api.tokens import TokenId
from tacit.web.credentials import Person
from tacit.web.pages import same
from tacit.web.pages.ask import problem_of
from tacit.web.pages.page import first, form_of, page_router, render, see_other
from tacit.web.problems import Problem
from tacit.web.server import Server

router = page_router()


@route(router, "GET", "/account", role=Role.ANALYST, response_class=Response)
def account(request: Request, server: TheServer, person: Caller) -> Response:
    """Show the tokens of the person."""
    return _page(request, server, person)


def _page(
    request: Request,
    server: Server,
    person: Person,
    secret: str | None = None,
    wrong: dict[str, object] | None = None,
    status: int = 200,
) -> Response:
    shown = {
        "tokens": credentials.tokens_of(server.store, person.name),
        "secret": secret,
        "wrong": wrong,
        "same": same.of_account(request, next(iter(server.datasets))),
    }
    return render(request, "account.html", shown, status=status)


@route(router, "POST", "/account/tokens", role=Role.ANALYST, problems_of=(409,), response_class=Response)
async def make(request: Request, server: TheServer, person: Caller) -> Response:
    """Make a token and show its secret once."""
    fields = await form_of(request)
    return await run_in_threadpool(_made, request, server, person, first(fields, "label"), first(fields, "days"))


def _made(request: Request, server: Server, person: Person, label: str, days: str) -> Response:
    try:
        number = int(days) if days.isascii() and days.isdecimal() and len(days) < 5 else 0  # noqa: PLR2004 - digits
        facts, secret = credentials.make_token(server.store, person.name, label, number)
    except (TacitError, Problem) as error:
        content = problem_of(error, server)
        return _page(request, server, person, wrong=content, status=int(str(content["status"])))
    audit.note(server.store, person.name, "make token", detail=facts.id)
    return _page(request, server, person, secret)


@route(router, "POST", "/account/tokens/{token}/remove", role=Role.ANALYST, problems_of=(404,), response_class=Response)
def remove(server: TheServer, person: Caller, token: TokenId) -> Response:
    """Remove a token."""
    if credentials.remove_token(server.store, token, person.name):
        server.identities.forget()
        audit.note(server.store, person.name, "remove token", detail=token)
    return see_other("/account")
