"""History: what I asked, what it cost, and every answer again at no cost."""

from __future__ import annotations

from fastapi import Request, Response

from tacit.web import questions
from tacit.web.access import Caller, Role, route
from tacit.web.api.common import DatasetFilter, QuestionCursor, TheServer
from tacit.web.api.history import past_content
from tacit.web.pages.page import page_router, render

router = page_router()
_MOST = 50


@route(router, "GET", "/history", role=Role.ANALYST, response_class=Response)
def history(
    request: Request,
    server: TheServer,
    person: Caller,
    dataset: DatasetFilter = None,
    cursor: QuestionCursor = None,
) -> Response:
    """Show the questions of the person, newest first."""
    found, more = questions.of_person(server.store, person.name, dataset or None, cursor, _MOST)
    shown = {
        "questions": [past_content(each) for each in found],
        "more": more,
        "dataset": dataset or "",
        "datasets": list(server.datasets),
        "active": set(questions.ACTIVE),
    }
    return render(request, "history.html", shown)
