"""Ask: a form or SQL, the plan while typing, and the charge."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from tacit.errors import InvalidError
from tacit.query.expressions.functions import FUNCTIONS
from tacit.web import questions
from tacit.web.access import Caller, Role, route
from tacit.web.api.common import DatasetName, TheServer
from tacit.web.credentials import Person
from tacit.web.pages import same, simple
from tacit.web.pages.ask_form import AskForm, Fields, key_of
from tacit.web.pages.page import first, form_of, page_router, render, see_other
from tacit.web.pages.preview import Preview, preview, symbol
from tacit.web.problems import Problem, content_of
from tacit.web.server import Server
from tacit.web.services import asking, catalog
from tacit.web.services.asked import Asked

router = page_router()
_PATIENCE: Final = 1.5
_LOOK_EVERY: Final = 0.05
_MOST_KEYS: Final = 200
AGGREGATES: Final = (
    "count", "sum", "avg", "median", "quantile_cont", "min", "max", "stddev", "variance", "mode", "histogram", "corr",
    "regr_slope", "bool_or", "bool_and", "count_if",
)  # fmt: skip
_KEYWORDS: Final = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "AS", "AND", "OR", "NOT", "IN",
    "BETWEEN", "IS NULL", "LIKE", "CASE WHEN", "THEN", "ELSE", "END", "DISTINCT", "FILTER",
)  # fmt: skip


@route(router, "GET", "/datasets/{dataset}/ask", role=Role.ANALYST, problems_of=(404,), response_class=Response)
def ask_page(request: Request, server: TheServer, person: Caller, dataset: DatasetName) -> Response:
    """Show the form, with the fields of the address filled in."""
    fields = {name: request.query_params.getlist(name) for name in request.query_params}
    if (earlier := first(fields, "again")) != "":
        fields = fields_of(server, person, dataset, earlier)
    form, content = _form(server, person, dataset, fields)
    has_query = bool(form.values["sql"] if form.mode == "sql" else form.values["measure"])
    plan = preview(server, person, dataset, form) if has_query else None
    return _page(request, form, content, plan)


def fields_of(server: Server, person: Person, dataset: str, question: str) -> dict[str, list[str]]:
    """Return the fields of an earlier question of this person, in SQL; no field if it was not in SQL."""
    found = questions.find(server.store, question[:40], person.name)
    asked = asking.read_body(found)
    if not isinstance(asked, Asked) or asked.sql is None or found.dataset != dataset:
        return {}
    amount = asked.epsilon if asked.epsilon is not None else asked.rho
    given = {"mode": "sql", "sql": asked.sql, "amount": amount, "assume": asked.assume, "delta": asked.delta}
    return {name: [str(value)] for name, value in given.items() if value is not None}


def _form(server: Server, person: Person, dataset: str, fields: Fields) -> tuple[AskForm, dict[str, Any]]:
    """Return the form and the public facts about the dataset."""
    content = catalog.dataset(server, person, dataset)
    tables = {table["name"]: table for table in content["schema"] if not table["public"]}
    currency = next(name for name in content["budget"] if name != "delta")
    return AskForm("sql" if first(fields, "mode") == "sql" else "form", fields, tables, currency), content


def _page(
    request: Request, form: AskForm, content: Mapping[str, Any], plan: Preview | None, status: int = 200
) -> Response:
    shown = {
        "dataset": content,
        "form": form,
        "symbol": symbol(form.currency),
        "nonce": secrets.token_hex(16),
        "measures": simple.measures_of(form.table),
        "groups": simple.groups_of(form.table),
        "operators": simple.OPERATORS,
        "filters": range(simple.FILTERS),
        "words": json.dumps(words(content)),
        "preview": plan,
        "wrong": None if plan is None else plan.wrong,
        "same": same.of_question(request, content, _whole(form)),
    }
    return render(request, "ask.html", shown, status=status)


def _whole(form: AskForm) -> Asked | None:
    """Return the question if all its fields are right."""
    try:
        return form.asked()
    except InvalidError:
        return None


def words(content: Mapping[str, Any]) -> list[list[str]]:
    """Return what the editor completes: each word with its kind."""
    found: dict[tuple[str, str], None] = {}
    for table in content["schema"]:
        found[table["name"], "table"] = None
        for column in table["columns"]:
            found[column["name"], f"column, {column['kind']}"] = None
            texts = [key for key in column["keys"] or [] if isinstance(key, str)][:_MOST_KEYS]
            found |= {("'" + key.replace("'", "''") + "'", f"key of {column['name']}"): None for key in texts}
    found |= {(f"{name}(", "aggregate"): None for name in AGGREGATES}
    found |= {(f"{name}(", "function"): None for name, one in FUNCTIONS.items() if not one.internal}
    found |= {(word, "keyword"): None for word in _KEYWORDS}
    return [list(pair) for pair in found]


@route(router, "POST", "/datasets/{dataset}/plan", role=Role.ANALYST, problems_of=(404,), response_class=Response)
async def plan_part(request: Request, server: TheServer, person: Caller, dataset: DatasetName) -> Response:
    """Return the plan of the fields, as a part of the page. It reads no private row and spends nothing."""
    fields = await form_of(request)
    form, content = await run_in_threadpool(_form, server, person, dataset, fields)
    plan = await run_in_threadpool(preview, server, person, dataset, form)
    shown = {
        "dataset": content,
        "form": form,
        "symbol": symbol(form.currency),
        "preview": plan,
        "same": same.of_question(request, content, _whole(form)),
    }
    return render(request, "plan_part.html", shown)


@route(router, "POST", "/datasets/{dataset}/ask", role=Role.ANALYST, problems_of=(404, 409), response_class=Response)
async def ask(request: Request, server: TheServer, person: Caller, dataset: DatasetName) -> Response:
    """Start to answer the question and go to its page; without JavaScript also show the plan, and change the form."""
    fields = await form_of(request)
    form, content = await run_in_threadpool(_form, server, person, dataset, fields)
    plan = await run_in_threadpool(preview, server, person, dataset, form)
    if first(fields, "action") != "ask":
        return _page(request, form, content, plan)
    if plan.wrong is not None or plan.problem is not None:
        return _page(request, form, content, plan, 422)
    asked, nonce = form.asked(), first(fields, "nonce")
    key = key_of(nonce or secrets.token_hex(16), asked)
    try:
        question = await run_in_threadpool(asking.start_job, server, person, dataset, asked, key)
    except Problem as problem:
        if problem.name != "in-progress":
            raise
        return see_other("/history")
    await wait_for(server, person, question.id)
    return see_other(f"/questions/{question.id}")


async def wait_for(server: Server, person: Person, question: str) -> None:
    """Wait a moment for the end of a question, so that most people see no progress at all."""
    until = monotonic() + _PATIENCE
    while monotonic() < until:
        found = await run_in_threadpool(questions.find, server.store, question, person.name)
        if found.state not in questions.ACTIVE:
            return
        await asyncio.sleep(_LOOK_EVERY)


def problem_of(error: Exception, server: Server) -> dict[str, object]:
    """Return an error as the content of a problem, without paths."""
    return content_of(error, server.clean)[1]
