"""The history of the caller: what they asked, and what it cost."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Response

from tacit.web import questions
from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import Amounts, DatasetFilter, Most, Page, QuestionCursor, Reply, TheServer, json_response
from tacit.web.questions import Question
from tacit.web.services.asked import text_of
from tacit.web.services.asking import read_body

router = guarded("history")


class Past(Reply):
    """A question of the caller. Its answer is at /api/v1/answers/{id}, at no cost."""

    id: str
    """The id of the question."""
    dataset: str
    """The name of the dataset."""
    kind: str
    """What was asked for: an answer, limits or bounds."""
    question: str
    """The query in SQL."""
    asked: dict[str, Any]
    """The question as it was sent."""
    state: str
    """How far it is, as for a job."""
    time: int
    """When, in seconds since 1970."""
    cost: Amounts | None
    """The cost; null if nothing was charged."""
    record: int | None
    """The number of the charge in the ledger; null if nothing was charged."""


class History(Page):
    """A page of the caller's questions, newest first."""

    questions: list[Past]
    """The questions of this page."""


def past_content(question: Question) -> dict[str, Any]:
    """Return a question of the history."""
    return {
        "id": question.id,
        "dataset": question.dataset,
        "kind": question.kind,
        "question": text_of(read_body(question)),
        "asked": json.loads(question.body),
        "state": question.shown_state,
        "time": question.created,
        "cost": None if question.cost is None else json.loads(question.cost),
        "record": question.record,
    }


@route(router, "GET", "/history", role=Role.ANALYST, response_model=History, summary="My questions")
def history(
    server: TheServer,
    person: Caller,
    dataset: DatasetFilter = None,
    limit: Most = 50,
    cursor: QuestionCursor = None,
) -> Response:
    """Return the caller's own questions, newest first."""
    found, more = questions.of_person(server.store, person.name, dataset, cursor, limit)
    return json_response({"questions": [past_content(each) for each in found], "next": more})
