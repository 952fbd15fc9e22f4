"""Shared by all pages: routes that show errors as pages, templates, forms, and CSRF tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tacit.query.formatting import percent
from tacit.safe_text import visible
from tacit.version import VERSION
from tacit.web import problems
from tacit.web.access import GuardedRoute, Role
from tacit.web.credentials import Person
from tacit.web.pages import shown
from tacit.web.security import csrf_token
from tacit.web.server import Server

_TEMPLATES: Final = Path(__file__).parents[1] / "templates"
_UNKNOWN: Final = 401

TOP_PAGES: Final = (
    ("/", "Datasets", Role.ANALYST),
    ("/history", "History", Role.ANALYST),
    ("/ledger", "Ledger", Role.STEWARD),
    ("/admin", "Admin", Role.ADMIN),
)
"""The pages in the bar at the top: address, label and role."""
DATASET_PAGES: Final = (
    ("", "Overview", Role.ANALYST),
    ("/ask", "Ask", Role.ANALYST),
    ("/limits", "Limits", Role.STEWARD),
    ("/ledger", "Ledger", Role.STEWARD),
    ("/policy", "Policy", Role.STEWARD),
)
"""The pages of a dataset: the end of the address, the label and the role."""


class PageRoute(GuardedRoute):
    """A guarded route whose problems are pages. Nobody is sent to the sign-in page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the guarded handler, whose problems are shown as pages."""
        guarded = super().get_route_handler()

        async def handle(request: Request) -> Response:
            response = await guarded(request)
            return problem_page(request, response) if response.media_type == problems.MEDIA else response

        return handle


def page_router() -> APIRouter:
    """Return a router of pages."""
    return APIRouter(route_class=PageRoute, include_in_schema=False)


def problem_page(request: Request, response: Response) -> Response:
    """Return a problem as a page; a problem of nobody leads to the sign-in page."""
    if response.status_code == _UNKNOWN and request.url.path != "/sign-in":
        return _to_sign_in(request)
    content = json.loads(bytes(response.body))
    template = "problem_part.html" if is_part(request) else "problem.html"
    page = render(request, template, {"problem": content}, status=response.status_code)
    page.headers.update({name: value for name, value in response.headers.items() if name == "retry-after"})
    return page


def _to_sign_in(request: Request) -> Response:
    """Return a redirect to the sign-in page, which returns to the page that was asked for."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    target = (
        "/sign-in"
        if request.method != "GET" or wanted == "/" or is_part(request)
        else f"/sign-in?{urlencode({'next': wanted})}"
    )
    if is_part(request):
        return Response(status_code=204, headers={"HX-Redirect": target})
    return RedirectResponse(target, 303)


def wants_page(request: Request) -> bool:
    """Return whether a browser asks for a page, and not a program for the API."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")


def is_part(request: Request) -> bool:
    """Return whether a script asks for a part of a page."""
    return request.headers.get("hx-request") == "true"


def render(request: Request, template: str, content: Mapping[str, object], *, status: int = 200) -> Response:
    """Return a page from a template."""
    person: Person | None = getattr(request.state, "person", None)
    server: Server = request.app.state.server
    shared = {
        "person": person,
        "role": Role.PUBLIC if person is None else person.role,
        "csrf": "" if person is None else csrf_token(server.store.secret, person.credential),
        "path": request.url.path,
        "is_part": is_part(request),
        "tacit_version": VERSION,
    }
    return HTMLResponse(environment().get_template(template).render({**shared, **content}), status)


def see_other(path: str) -> Response:
    """Return a redirect after a form was posted."""
    return RedirectResponse(path, 303)


async def form_of(request: Request) -> Mapping[str, list[str]]:
    """Return the fields of a posted form; a body of another kind has no field."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return {}
    body = (await request.body()).decode("utf-8", "replace")
    return parse_qs(body, keep_blank_values=True, max_num_fields=1_000) if body.count("&") < 1_000 else {}  # noqa: PLR2004 - fields


def first(fields: Mapping[str, list[str]], name: str) -> str:
    """Return the first value of a field without spaces around it; empty if it is missing.

    >>> first({"name": [" ann "]}, "name"), first({}, "name")
    ('ann', '')
    """
    return fields.get(name, [""])[0].strip()


@cache
def environment() -> Environment:
    """Return the templates: everything is escaped, and an unknown name is an error."""
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "visible": lambda text: visible(str(text)),
        "amounts": shown.amounts_text,
        "number": shown.number_text,
        "cell": shown.cell_text,
        "when": shown.time_text,
        "part": shown.part_of,
        "main_amount": shown.main_text,
        "percent": percent,
        "segment": lambda text: quote(str(text), safe=""),
    }
    made.globals |= {
        "Role": Role,
        "top_pages": TOP_PAGES,
        "dataset_pages": DATASET_PAGES,
        "has_pictures": find_spec("vl_convert") is not None,
    }
    return made
