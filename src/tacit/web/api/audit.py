"""The audit log, for administrators."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import Query, Response

from tacit.web import audit
from tacit.web.access import Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import Most, NumberCursor, Page, Reply, TheServer, json_response

router = guarded("audit")


class Line(Reply):
    """A line: who did what and when."""

    number: int
    """The number of the line."""
    time: int
    """When, in seconds since 1970."""
    person: str
    """Who."""
    action: str
    """What was done."""
    dataset: str
    """The dataset, if there was one."""
    detail: str
    """More about it, never a value of the data."""
    outcome: str
    """How it ended."""
    record: int | None
    """The number of the charge in the ledger, if there was one."""


class Audit(Page):
    """A page of the audit log, newest first."""

    entries: list[Line]
    """The lines of this page."""


@route(router, "GET", "/audit", role=Role.ADMIN, response_model=Audit, summary="The audit log")
def entries(
    server: TheServer,
    person: Annotated[str | None, Query(max_length=64, description="Only of this person.")] = None,
    limit: Most = 50,
    cursor: NumberCursor = None,
) -> Response:
    """Return who asked what and when, who signed in, and who changed what, newest first."""
    if person is not None and "\0" in person:
        return json_response({"entries": [], "next": None})
    before = None if cursor is None else int(cursor)
    found, more = audit.entries(server.store, person=person, before=before, most=limit)
    return json_response({"entries": [asdict(each) for each in found], "next": more})
