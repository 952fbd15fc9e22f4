"""Sign in and out."""

from __future__ import annotations

import hmac
import secrets
from typing import Annotated, Final

from fastapi import Query, Request, Response
from starlette.concurrency import run_in_threadpool

from tacit.web import audit, security
from tacit.web.access import Caller, Role, route
from tacit.web.api.common import TheServer
from tacit.web.api.session import set_session_cookie, sign_in
from tacit.web.credentials import end_session
from tacit.web.pages.page import first, form_of, page_router, render, see_other
from tacit.web.problems import Problem

router = page_router()
_FORM_COOKIE: Final = "tacit-form"
Next = Annotated[str, Query(max_length=4_000)]


def local_path(wanted: str) -> str:
    """Return where to go after the sign-in: a path of this server, and nothing else.

    >>> local_path("/history?cursor=1"), local_path("//evil.example"), local_path("https://evil.example")
    ('/history?cursor=1', '/', '/')
    """
    is_local = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if is_local and "\\" not in wanted else "/"


@route(router, "GET", "/sign-in", role=Role.PUBLIC, response_class=Response)
def sign_in_page(request: Request, server: TheServer, next: Next = "/") -> Response:  # noqa: A002 - the name in the address
    """Show the form."""
    return _form(request, server.store.secret, next, None)


def _form(request: Request, secret: bytes, wanted: str, problem: Problem | None, name: str = "") -> Response:
    """Return the form, whose CSRF token belongs to a cookie of this browser."""
    nonce = request.cookies.get(_cookie(request)) or secrets.token_urlsafe(24)
    content = {
        "wanted": local_path(wanted),
        "name": name,
        "problem": problem,
        "csrf": security.csrf_token(secret, f"form {nonce}"),
    }
    response = render(request, "sign_in.html", content, status=200 if problem is None else problem.status)
    if problem is not None:
        response.headers.update(problem.headers)
    response.set_cookie(
        _cookie(request), nonce, path="/", secure=request.state.secure, httponly=True, samesite="strict"
    )
    return response


def _cookie(request: Request) -> str:
    return f"__Host-{_FORM_COOKIE}" if request.state.secure else _FORM_COOKIE


@route(router, "POST", "/sign-in", role=Role.PUBLIC, problems_of=(401, 403, 429), response_class=Response)
async def start(request: Request, server: TheServer) -> Response:
    """Sign in, and go to the page that was wanted."""
    fields = await form_of(request)
    name, wanted = first(fields, "name")[:64], local_path(first(fields, "next"))
    password = fields.get("password", [""])[0][:200]
    try:
        security.check_transport(request, server.settings)
        _check_form(request, server.store.secret, first(fields, "csrf"))
        secret, _ = await run_in_threadpool(sign_in, server, name, password, request.state.client)
    except Problem as problem:
        return _form(request, server.store.secret, wanted, problem, name)
    response = see_other(wanted)
    set_session_cookie(response, secret, server.settings.cookie_lifetime, secure=request.state.secure)
    return response


def _check_form(request: Request, secret: bytes, given: str) -> None:
    """Raise a problem unless this browser loaded the form from here."""
    nonce = request.cookies.get(_cookie(request), "")
    if not nonce or not hmac.compare_digest(given.encode(), security.csrf_token(secret, f"form {nonce}").encode()):
        raise Problem(403, "csrf", "This form has expired, or your browser takes no cookies.", hint="Try again.")


@route(router, "POST", "/sign-out", role=Role.ANALYST, response_class=Response)
def end(request: Request, server: TheServer, person: Caller) -> Response:
    """End the session."""
    if person.via == "session":
        end_session(server.store, person.credential)
        server.identities.forget()
        audit.note(server.store, person.name, "sign out")
    response = see_other("/sign-in")
    name, secure = security.cookie_name(secure=request.state.secure), request.state.secure
    response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="strict")
    return response
