"""One question: its progress, its answer with intervals and chart, its receipt, its downloads."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response

from tacit.errors import MissingPackageError
from tacit.query.results.release import Release
from tacit.safe_text import as_json
from tacit.web import audit, questions
from tacit.web.access import Caller, Role, route
from tacit.web.api.common import Confidence, QuestionId, TheServer
from tacit.web.pages import answer_view, same
from tacit.web.pages.charts import chart_of, chart_response
from tacit.web.pages.drafts import drafts_of
from tacit.web.pages.page import page_router, render, see_other
from tacit.web.problems import Problem
from tacit.web.questions import Question
from tacit.web.server import Server
from tacit.web.services import asking, catalog
from tacit.web.services.asked import Asked, text_of

router = page_router()
Theme = Annotated[Literal["light", "dark"], Query()]
Form = Annotated[Literal["csv", "parquet", "json"], Path()]
ChartForm = Annotated[Literal["json", "svg"], Path()]


@route(
    router,
    "GET",
    "/questions/{question}",
    role=Role.ANALYST,
    quantised=True,
    problems_of=(404,),
    response_class=Response,
)
def question_page(
    request: Request, server: TheServer, person: Caller, question: QuestionId, confidence: Confidence = None
) -> Response:
    """Show how far a question is, or its answer."""
    found = questions.find(server.store, question, person.name)
    body = asking.read_body(found)
    dataset = catalog.dataset(server, person, found.dataset)
    asked = body if isinstance(body, Asked) else None
    shown = {
        "question": found,
        "state": found.shown_state,
        "active": found.shown_state in questions.ACTIVE,
        "cancelable": found.state in (questions.QUEUED, questions.RUNNING),
        "text": text_of(body),
        "dataset": dataset,
        "same": same.of_question(request, dataset, asked),
        "has_sql": asked is not None and asked.sql is not None,
        "has_parquet": find_spec("pyarrow") is not None,
        **_result(server, found, confidence),
    }
    return render(request, "question.html", shown)


def _result(server: Server, found: Question, confidence: float | None) -> dict[str, Any]:
    """Return the answer or the problem of a question that has ended."""
    empty: dict[str, Any] = {"answer": None, "problem": None, "chart": None, "report": None, "drafts": []}
    if found.state == questions.FAILED:
        return {**empty, "problem": found.content}
    if found.state != questions.DONE:
        return empty
    chart = chart_of(server, found, "light")
    if found.kind != "answer":
        report = asking.stored(server, found)[1]
        return {**empty, "report": report, "chart": chart, "drafts": drafts_of(found, report)}
    content = asking.again(server, found, confidence) if confidence is not None else asking.stored(server, found)[1]
    return {**empty, "answer": {**content, "table": answer_view.table_of(content)}, "chart": chart}


@route(
    router,
    "GET",
    "/questions/{question}/progress",
    role=Role.ANALYST,
    problems_of=(404,),
    response_class=Response,
)
def progress(request: Request, server: TheServer, person: Caller, question: QuestionId) -> Response:
    """Return the progress as a part of the page; at the end the script loads the page again."""
    found = questions.find(server.store, question, person.name)
    if found.shown_state not in questions.ACTIVE:
        return Response(status_code=204, headers={"HX-Refresh": "true"})
    shown = {
        "question": found,
        "state": found.shown_state,
        "cancelable": found.state in (questions.QUEUED, questions.RUNNING),
    }
    return render(request, "progress_part.html", shown)


@route(
    router,
    "POST",
    "/questions/{question}/cancel",
    role=Role.ANALYST,
    problems_of=(404, 409),
    response_class=Response,
)
def cancel(server: TheServer, person: Caller, question: QuestionId) -> Response:
    """Cancel a question before its charge."""
    found = questions.find(server.store, question, person.name)
    if questions.cancel(server.store, found):
        audit.note(server.store, person.name, "cancel", dataset=found.dataset, detail=found.id)
    return see_other(f"/questions/{question}")


@route(
    router,
    "GET",
    "/questions/{question}/chart.{form}",
    role=Role.ANALYST,
    quantised=True,
    problems_of=(404, 501),
    response_class=Response,
)
def chart(server: TheServer, person: Caller, question: QuestionId, form: ChartForm, theme: Theme = "light") -> Response:
    """Return the chart as a Vega-Lite specification or as a picture."""
    found = questions.find(server.store, question, person.name)
    return chart_response(chart_of(server, found, theme), form)


@route(
    router,
    "GET",
    "/questions/{question}/receipt.json",
    role=Role.ANALYST,
    quantised=True,
    problems_of=(404, 409),
    response_class=Response,
)
def receipt(server: TheServer, person: Caller, question: QuestionId) -> Response:
    """Return the receipt, which `tacit ledger verify` finds in the ledger."""
    content = _content(server, questions.find(server.store, question, person.name))
    return _file(json.dumps(content["receipt"], indent=2).encode(), f"receipt-{question[:8]}.json", "application/json")


def _content(server: Server, found: Question) -> Mapping[str, Any]:
    if found.state != questions.DONE:
        raise Problem(409, "no-answer", "This question has no answer.", hint="Only answers are downloaded.")
    return asking.stored(server, found)[1]


@route(
    router,
    "GET",
    "/questions/{question}/answer.{form}",
    role=Role.ANALYST,
    quantised=True,
    problems_of=(404, 409, 501),
    response_class=Response,
)
def download(server: TheServer, person: Caller, question: QuestionId, form: Form) -> Response:
    """Return the answer with its intervals as a file."""
    found = questions.find(server.store, question, person.name)
    name = f"answer-{question[:8]}.{form}"
    if form == "json":
        return _file(as_json(dict(_content(server, found))).encode(), name, "application/json")
    make, media = _FILES[form]
    return _file(asking.recorded(server, found, None, lambda answer: {"file": make(answer)})["file"], name, media)


def _csv(answer: Release) -> bytes:
    return answer.to_csv(intervals=True).encode()


def _parquet(answer: Release) -> bytes:
    if find_spec("pyarrow") is None:
        raise MissingPackageError("pyarrow", "Writing a Parquet file")
    from pyarrow import parquet  # noqa: PLC0415 - not a dependency

    written = io.BytesIO()
    parquet.write_table(answer.to_arrow(intervals=True), written)
    return written.getvalue()


_FILES: Mapping[str, tuple[Callable[[Release], bytes], str]] = {
    "csv": (_csv, "text/csv; charset=utf-8"),
    "parquet": (_parquet, "application/vnd.apache.parquet"),
}


def _file(content: bytes, name: str, media: str) -> Response:
    return Response(content, media_type=media, headers={"Content-Disposition": f'attachment; filename="{name}"'})
