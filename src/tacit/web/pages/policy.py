"""Policy: edit the fields or the text, see mistakes at their fields and the diff, accept, and save.

A save names the version of the file that the draft started from. If another steward saved in between, the page shows
both, and nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Request, Response
from starlette.concurrency import run_in_threadpool

from tacit.errors import TacitError
from tacit.web.access import Caller, Role, route
from tacit.web.api.common import DatasetName, TheServer
from tacit.web.credentials import Person
from tacit.web.pages import same
from tacit.web.pages.ask import problem_of
from tacit.web.pages.ask_form import Fields
from tacit.web.pages.page import first, form_of, page_router, render, see_other
from tacit.web.pages.policy_fields import fields_of, with_setting, with_values
from tacit.web.problems import Problem
from tacit.web.server import Server
from tacit.web.services import catalog, policies

router = page_router()
_VERSION = re.compile(r"[0-9a-f]{64}")
_MOST = 500_000
Mode = Annotated[str, Query(max_length=10)]
Key = Annotated[list[str] | None, Query(max_length=8)]
Saved = Annotated[str, Query(max_length=3)]
Value = Annotated[str, Query(max_length=10_000)]


@route(router, "GET", "/datasets/{dataset}/policy", role=Role.STEWARD, problems_of=(404,), response_class=Response)
def policy_page(
    request: Request,
    server: TheServer,
    person: Caller,
    dataset: DatasetName,
    mode: Mode = "fields",
    path: Key = None,
    value: Value = "",
    saved: Saved = "",
) -> Response:
    """Show the policy; with a path and a value, a draft in which this key has the value."""
    present = policies.show(server, dataset)
    draft = present["text"]
    if path and value:
        draft = with_setting(draft, tuple(path), value)
    return _page(
        request,
        server,
        person,
        dataset,
        {"mode": mode, "draft": draft, "version": present["version"], "saved": saved == "yes"},
    )


def _page(
    request: Request, server: Server, person: Person, dataset: str, state: Mapping[str, Any], status: int = 200
) -> Response:
    """Return the page of a draft, with its mistakes, its diff and what it changes in the promise."""
    draft = str(state["draft"])
    fields = fields_of(draft)
    shown = {
        "dataset": catalog.dataset(server, person, dataset),
        "mode": "text" if state["mode"] == "text" or not fields else "fields",
        "fields": fields,
        "comparison": policies.compare(server, dataset, draft),
        "wrong": None,
        "accept": False,
        "conflict": None,
        "saved": False,
        "same": same.of_policy(dataset, draft),
        **{name: each for name, each in state.items() if name != "mode"},
    }
    return render(request, "policy.html", shown, status=status)


@route(
    router,
    "POST",
    "/datasets/{dataset}/policy/check",
    role=Role.STEWARD,
    problems_of=(404,),
    response_class=Response,
)
async def check(request: Request, server: TheServer, dataset: DatasetName) -> Response:
    """Return the mistakes and the diff of a draft, as a part of the page. Nothing is written."""
    form = await form_of(request)
    draft = draft_of(form)
    comparison = await run_in_threadpool(policies.compare, server, dataset, draft)
    shown = {"comparison": comparison, "accept": first(form, "accept") == "yes"}
    return render(request, "policy_part.html", shown)


@route(
    router,
    "POST",
    "/datasets/{dataset}/policy",
    role=Role.STEWARD,
    problems_of=(404, 409),
    response_class=Response,
)
async def save(request: Request, server: TheServer, person: Caller, dataset: DatasetName) -> Response:
    """Save a draft, or show its mistakes and its diff."""
    form = await form_of(request)
    return await run_in_threadpool(_saved, request, server, person, dataset, form)


def _saved(request: Request, server: Server, person: Person, dataset: str, form: Fields) -> Response:
    draft, version = draft_of(form), first(form, "version")
    accept, action = first(form, "accept") == "yes", first(form, "action")
    mode = action if action in ("fields", "text") else first(form, "mode")
    state = {"mode": mode, "draft": draft, "version": version, "accept": accept}
    if action != "save":
        return _page(request, server, person, dataset, state)
    try:
        _check_version(version)
        policies.save(server, person, dataset, {"text": draft, "version": version, "accept": accept})
    except (TacitError, Problem) as error:
        content = problem_of(error, server)
        if isinstance(error, Problem) and error.name == "changed":
            state |= {"conflict": policies.show(server, dataset)}
        return _page(request, server, person, dataset, {**state, "wrong": content}, int(str(content["status"])))
    return see_other(f"{request.url.path}?saved=yes")


def _check_version(version: str) -> None:
    """Raise a problem for a text that is not a version."""
    if _VERSION.fullmatch(version) is None:
        raise Problem(422, "invalid", "This form is damaged.", hint="Load the page again.")


def draft_of(form: Fields) -> str:
    """Return the draft that a form means: its text, with the values of its fields."""
    text = form.get("text", [""])[0][:_MOST].replace("\r\n", "\n")
    if first(form, "mode") != "fields":
        return text
    values = {name.removeprefix("field "): each[0] for name, each in form.items() if name.startswith("field ")}
    return with_values(text, values)
