"""Jobs: questions that take long. A job is answered in the background, shows its progress, and can be canceled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from typing import Any, Literal

from fastapi import Response
from fastapi.responses import StreamingResponse
from pydantic import ConfigDict
from starlette.concurrency import run_in_threadpool

from tacit.errors import TacitError
from tacit.safe_text import as_json
from tacit.web import audit, questions
from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import DatasetName, Key, QuestionId, Reply, TheServer, json_response
from tacit.web.problems import Problem
from tacit.web.questions import Question
from tacit.web.server import Server
from tacit.web.services import asking
from tacit.web.services.asked import Asked, AskedBounds, AskedLimits, Body

router = guarded("jobs")
_LOOK_EVERY = 0.5
_LONGEST_STREAM = 25.0


class NewJob(Body):
    """A question, or a report on limits or bounds."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"kind": "answer", "answer": {"sql": "SELECT count(*) FROM survey", "epsilon": 0.1}}]
        },
    )

    kind: Literal["answer", "limits", "bounds"] = "answer"
    """What to do: answer a question, or report on limits or bounds."""
    answer: Asked | None = None
    """The question, for the kind "answer"."""
    limits: AskedLimits | None = None
    """The report, for the kind "limits"."""
    bounds: AskedBounds | None = None
    """The report, for the kind "bounds"."""


class Job(Reply):
    """A job: its state, and its result when it has ended."""

    id: str
    """The id of the job, and of its question."""
    dataset: str
    """The name of the dataset."""
    kind: str
    """What it does: answer, limits or bounds."""
    state: Literal["queued", "running", "charging", "done", "failed", "canceled", "interrupted"]
    """How far it is."""
    created: int
    """When it was started, in seconds since 1970."""
    cancelable: bool
    """Whether it can still be canceled."""
    result: dict[str, Any] | None
    """The answer, the report or the problem; null until it has ended."""


def job_content(question: Question, *, result: bool = True) -> dict[str, Any]:
    """Return the state of a job, with its result if it has ended."""
    ended = question.state in (questions.DONE, questions.FAILED)
    return {
        "id": question.id,
        "dataset": question.dataset,
        "kind": question.kind,
        "state": question.shown_state,
        "created": question.created,
        "cancelable": question.state in (questions.QUEUED, questions.RUNNING),
        "result": question.content if ended and result else None,
    }


@route(
    router,
    "POST",
    "/datasets/{dataset}/jobs",
    role=Role.ANALYST,
    status=202,
    problems_of=(404, 409),
    response_model=Job,
    summary="Start a job",
)
def start(server: TheServer, person: Caller, dataset: DatasetName, body: NewJob, key: Key = None) -> Response:
    """Start to answer a question in the background. Reports on limits and bounds need the role steward."""
    asked: Asked | AskedLimits | AskedBounds | None = getattr(body, body.kind)
    others = [name for name in asking.KINDS if name != body.kind and getattr(body, name) is not None]
    if asked is None or others:
        raise Problem(422, "invalid", f"A job of this kind has its question in {body.kind}, and nothing else.")
    if body.kind != "answer" and person.role < Role.STEWARD:
        raise Problem(403, "forbidden", "Your role does not allow this.", hint="It needs the role steward.")
    question = asking.start_job(server, person, dataset, asked, key)
    location = {"Location": f"/api/v1/jobs/{question.id}"}
    return json_response(job_content(question), 202, location)


@route(router, "GET", "/jobs/{question}", role=Role.ANALYST, problems_of=(404,), response_model=Job, summary="A job")
def job(server: TheServer, person: Caller, question: QuestionId) -> Response:
    """Return the state of one of the caller's jobs, and its result when it has ended. Any worker can say it."""
    return json_response(job_content(questions.find(server.store, question, person.name)))


@route(
    router,
    "DELETE",
    "/jobs/{question}",
    role=Role.ANALYST,
    problems_of=(404, 409),
    response_model=Job,
    summary="Cancel a job",
)
def cancel(server: TheServer, person: Caller, question: QuestionId) -> Response:
    """Cancel one of the caller's jobs before its charge. Afterwards it is too late: a charge is final."""
    found = questions.find(server.store, question, person.name)
    if not questions.cancel(server.store, found):
        raise Problem(409, "too-late", "The job was charged or has ended.", hint="Wait for its answer.", unspent=False)
    audit.note(server.store, person.name, "cancel", dataset=found.dataset, detail=found.id)
    return json_response(job_content(questions.find(server.store, question, person.name)))


@route(
    router,
    "GET",
    "/jobs/{question}/events",
    role=Role.ANALYST,
    problems_of=(404,),
    response_class=StreamingResponse,
    responses={200: {"description": "Server-sent events", "content": {"text/event-stream": {}}}},
    summary="The progress of a job",
)
def events(server: TheServer, person: Caller, question: QuestionId) -> Response:
    """Send the state of a job as server-sent events until it ends. A stream lasts 25 s at most; browsers reconnect."""
    questions.find(server.store, question, person.name)
    return StreamingResponse(_states(server, person.name, question), media_type="text/event-stream")


async def _states(server: Server, person: str, question: str) -> AsyncIterator[str]:
    """Yield an event for each change of the state, and one for the end."""
    shown, until = "", monotonic() + _LONGEST_STREAM
    yield "retry: 1000\n\n"
    while monotonic() < until and not server.workshop.stopping.is_set():
        try:
            found = await run_in_threadpool(questions.find, server.store, question, person)
        except (TacitError, Problem):
            return
        content = job_content(found, result=False)
        if content["state"] != shown:
            shown = content["state"]
            yield f"event: state\ndata: {as_json(content)}\n\n"
        if found.shown_state not in questions.ACTIVE:
            return
        await asyncio.sleep(_LOOK_EVERY)
