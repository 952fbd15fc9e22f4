"""Answers: a question is charged, read and answered with noise."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query, Response

from tacit.web import questions
from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import (
    Amounts,
    Confidence,
    DatasetName,
    Key,
    QuestionId,
    Reply,
    TheServer,
    json_response,
    outcome_response,
)
from tacit.web.services import asking
from tacit.web.services.asked import Asked

router = guarded("answers")


class AnswerColumn(Reply):
    """A column: its values, and the ends of their intervals if it is noisy."""

    name: str
    """The name of the column."""
    kind: str
    """Its type: integer, real, text, boolean, date or timestamp."""
    values: list[Any]
    """Its values, one for each row."""
    low: list[float | None] | None
    """The low ends of the intervals; null if the column is not noisy."""
    high: list[float | None] | None
    """The high ends of the intervals; null if the column is not noisy."""


class Answer(Reply):
    """An answer. `repeated` is true if it was recorded before and cost nothing now."""

    id: str
    """The id of the question, at which the answer can be read again."""
    dataset: str
    """The name of the dataset."""
    question: str
    """The query in SQL."""
    cost: Amounts
    """What the question cost."""
    confidence: float
    """The probability with which the intervals hold."""
    columns: list[AnswerColumn]
    """The columns with their intervals."""
    rows: list[dict[str, Any]]
    """The rows, by the names of the columns."""
    notes: list[str]
    """Sentences below the rows."""
    warnings: list[str]
    """Sentences about what limits the answer."""
    receipt: dict[str, Any]
    """The guarantee, the noise and the place in the ledger, as JSON."""
    record: int | None
    """The number of the charge in the ledger; null if nothing was charged."""
    repeated: bool
    """Whether the answer was recorded before and cost nothing now."""
    left: Amounts
    """What is left for the caller."""


class Chart(Reply):
    """A chart as a Vega-Lite specification."""

    id: str
    """The id of the question."""
    chart: dict[str, Any]
    """The specification."""


@route(
    router,
    "POST",
    "/datasets/{dataset}/answers",
    role=Role.ANALYST,
    quantised=True,
    problems_of=(404, 409, 501, 502),
    response_model=Answer,
    summary="Ask a question",
)
async def ask(server: TheServer, person: Caller, dataset: DatasetName, body: Asked, key: Key = None) -> Response:
    """Charge a question and answer it.

    With an Idempotency-Key the question is charged once, however often it is sent: the same key and the same question
    get the same answer. The response leaves at a multiple of the server's quantum.
    """
    return outcome_response(*await server.workshop.run(lambda: asking.ask(server, person, dataset, body, key)))


@route(
    router,
    "GET",
    "/answers/{question}",
    role=Role.ANALYST,
    quantised=True,
    problems_of=(404, 409, 502),
    response_model=Answer,
    summary="An answer again",
)
def again(server: TheServer, person: Caller, question: QuestionId, confidence: Confidence = None) -> Response:
    """Return one of the caller's answers again, with another confidence if one is given; it costs nothing."""
    found = questions.find(server.store, question, person.name)
    if confidence is None and found.state == questions.DONE and found.response is not None:
        return outcome_response(*asking.stored(server, found))
    return json_response(asking.again(server, found, confidence))


@route(
    router,
    "GET",
    "/answers/{question}/chart",
    role=Role.ANALYST,
    quantised=True,
    problems_of=(404, 409, 501, 502),
    response_model=Chart,
    summary="The chart of an answer",
)
def chart(
    server: TheServer,
    person: Caller,
    question: QuestionId,
    theme: Annotated[Literal["light", "dark"], Query(description="The colours of the chart.")] = "light",
) -> Response:
    """Return the chart of one of the caller's answers as a Vega-Lite specification; it costs nothing."""
    return json_response(asking.chart(server, questions.find(server.store, question, person.name), theme))
