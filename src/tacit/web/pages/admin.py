"""Admin: people, budgets of analysts, health, and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Query, Request, Response
from starlette.concurrency import run_in_threadpool

from tacit.errors import InvalidError, TacitError
from tacit.ledger import Ledger, history
from tacit.query.formatting import amounts
from tacit.web import audit, people
from tacit.web.access import Caller, Role, route
from tacit.web.api.common import NumberCursor, TheServer
from tacit.web.credentials import Person
from tacit.web.pages import same
from tacit.web.pages.ask import problem_of
from tacit.web.pages.ask_form import Fields, needed_number
from tacit.web.pages.page import first, form_of, page_router, render, see_other
from tacit.web.problems import Problem
from tacit.web.roles import WORDS
from tacit.web.server import Server
from tacit.web.services import ledgers

router = page_router()
_MOST = 100


@route(router, "GET", "/admin", role=Role.ADMIN, response_class=Response)
def admin(request: Request, server: TheServer, person: Caller) -> Response:
    """Show the people and the budgets of analysts."""
    return _page(request, server, person)


def _page(
    request: Request, server: Server, person: Person, wrong: dict[str, object] | None = None, status: int = 200
) -> Response:
    shown = {
        "people": people.everybody(server.store),
        "roles": WORDS,
        "me": person.name,
        "budgets": _budgets(server),
        "health": _health(server),
        "wrong": wrong,
        "same": same.of_admin(request),
    }
    return render(request, "admin.html", shown, status=status)


def _budgets(server: Server) -> list[dict[str, Any]]:
    """Return the analysts of each dataset with what they spent and their limits; limits of the policy are fixed."""
    found = []
    for name, dataset in server.datasets.items():
        with dataset.use() as one:
            fixed = {each for each in one.policy.analysts if each != "*"}
            limited = {each: one.ledger.limit_of(each) for each in people_names(server)}
        shares = {share["analyst"]: share for share in ledgers.shares(server, name)}
        names = sorted({*shares, *fixed, *(each for each, limit in limited.items() if limit is not None)})
        with dataset.use() as one:
            rows = [shares.get(each) or _unspent(one.ledger, each) for each in names]
        found.append({"dataset": name, "rows": rows, "fixed": fixed})
    return found


def _unspent(ledger: Ledger, name: str) -> dict[str, Any]:
    """Return the share of an analyst who has spent nothing."""
    limit = ledger.limit_of(name)
    return {
        "analyst": name,
        "questions": 0,
        "spent": None,
        "limit": None if limit is None else amounts(limit),
        "left": amounts(history.left(ledger, name)),
    }


def people_names(server: Server) -> list[str]:
    """Return the names of all people."""
    return [account.name for account in people.everybody(server.store)]


def _health(server: Server) -> list[tuple[str, str]]:
    """Return whether each dataset and its ledger can be used, and how busy this worker is."""
    lines = [("Questions that wait or run here", str(server.workshop.busy))]
    for name, dataset in server.datasets.items():
        try:
            with dataset.use() as one:
                records = one.ledger.head[0] + 1
            lines.append((f"Dataset {name}", f"ready, {records:,} records in the ledger"))
        except (TacitError, Problem):
            lines.append((f"Dataset {name}", "not ready: its policy or its ledger cannot be used; see the log"))
    return lines


async def _changed(
    request: Request, server: Server, person: Person, change: Callable[[Fields], tuple[str, str]]
) -> Response:
    """Make a change, note it in the audit log, and show the page again."""
    fields = await form_of(request)

    def work() -> Response:
        try:
            action, detail = change(fields)
        except (TacitError, Problem) as error:
            content = problem_of(error, server)
            return _page(request, server, person, content, int(str(content["status"])))
        server.identities.forget()
        if action:
            audit.note(server.store, person.name, action, detail=detail)
        return see_other("/admin")

    return await run_in_threadpool(work)


@route(router, "POST", "/admin/people", role=Role.ADMIN, response_class=Response)
async def add(request: Request, server: TheServer, person: Caller) -> Response:
    """Add a person."""

    def change(fields: Fields) -> tuple[str, str]:
        name, role = first(fields, "name"), first(fields, "role")
        people.add(server.store, name, role, fields.get("password", [""])[0] or None)
        return "add person", f"{name}: {role}"

    return await _changed(request, server, person, change)


@route(router, "POST", "/admin/people/change", role=Role.ADMIN, response_class=Response)
async def change_person(request: Request, server: TheServer, person: Caller) -> Response:
    """Change the role or the password of a person, or remove the person."""

    def change(fields: Fields) -> tuple[str, str]:
        name, action = first(fields, "name"), first(fields, "action")
        if action == "remove":
            people.remove(server.store, name)
            return "remove person", name
        if action == "password":
            people.change(server.store, name, password=fields.get("password", [""])[0])
            return "change person", f"{name}: password"
        role = first(fields, "role")
        people.change(server.store, name, role=role)
        return "change person", f"{name}: {role}"

    return await _changed(request, server, person, change)


@route(router, "POST", "/admin/budgets", role=Role.ADMIN, problems_of=(404, 409), response_class=Response)
async def limit(request: Request, server: TheServer, person: Caller) -> Response:
    """Set or remove the budget of an analyst."""

    def change(fields: Fields) -> tuple[str, str]:
        dataset, name = first(fields, "dataset"), first(fields, "name")
        given = None if first(fields, "action") == "remove" else _budget(server, dataset, fields)
        ledgers.set_limit(server, person, dataset, name, given)
        return "", ""

    return await _changed(request, server, person, change)


def _budget(server: Server, dataset: str, fields: Fields) -> dict[str, Any]:
    """Return a budget in the currency of a dataset."""
    if not dataset:
        raise InvalidError("Choose a dataset.", argument="dataset", hint="A budget is of one dataset.")
    with server.datasets[dataset].use() as one:
        currency = next(name for name in amounts(one.ledger.budget) if name != "delta")
    delta = first(fields, "delta")
    amount = needed_number(first(fields, "amount"), "amount", "Give the budget.")
    return {currency: amount, "delta": needed_number(delta, "delta", "Give δ.") if delta else None}


@route(router, "GET", "/admin/audit", role=Role.ADMIN, response_class=Response)
def audit_page(
    request: Request,
    server: TheServer,
    of: Annotated[str | None, Query(max_length=64)] = None,
    cursor: NumberCursor = None,
) -> Response:
    """Show who asked what and when, who signed in, and who changed what."""
    name = of if of and "\0" not in of else None
    found, more = audit.entries(server.store, person=name, before=None if cursor is None else int(cursor), most=_MOST)
    return render(request, "audit.html", {"entries": found, "more": more, "of": name or ""})
