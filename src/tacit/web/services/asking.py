"""Asking a question that charges: once for each key, at once or as a job, with its end in the database.

    store the question ─► plan ─► (a job: cancel?) ─► charge ─► read ─► noise ─► store the answer with the audit line

The request name in the ledger is the Idempotency-Key, or the id of the question, so the ledger records every answer
and `again` can show it without a charge. If a worker was killed after a charge, the same key shows the recorded answer
if there is one, and never charges a second time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, cast

from tacit.database import Database
from tacit.errors import CanceledError, RefusedError, TacitError
from tacit.ledger import Ledger, Request, Ticket
from tacit.query.results.release import Release
from tacit.web import audit, problems, quantum, questions
from tacit.web.credentials import Person
from tacit.web.datasets import OpenDataset
from tacit.web.problems import Problem
from tacit.web.questions import Question
from tacit.web.services.asked import Asked, AskedBounds, AskedLimits, amounts_of, quote_of, text_of
from tacit.web.services.contents import Content, answer_content, bounds_content, left_content, limits_content

if TYPE_CHECKING:
    from tacit.web.server import Server

Body = Asked | AskedLimits | AskedBounds
_BODIES: Mapping[str, type[Body]] = {"answer": Asked, "limits": AskedLimits, "bounds": AskedBounds}
KINDS = tuple(_BODIES)


class GatedLedger:
    """A ledger that asks before each charge, and writes when it is the turn of its thread."""

    def __init__(self, ledger: Ledger, gate: Callable[[], None] | None, turn: AbstractContextManager[object]) -> None:
        """Store the ledger, what raises an error if it must not be charged, and the turn to write."""
        self._ledger, self._gate, self._turn = ledger, gate, turn

    def __getattr__(self, name: str) -> object:
        """Return what the ledger has."""
        return getattr(self._ledger, name)

    def charge(self, request: Request) -> Ticket:
        """Ask, then charge."""
        if self._gate is not None:
            self._gate()
        with self._turn:
            return self._ledger.charge(request)

    def finish(self, number: int, outcome: str, answer: str | None = None) -> None:
        """Record the outcome of a charge."""
        with self._turn:
            self._ledger.finish(number, outcome, answer)


def gated(
    one: OpenDataset, person: str, gate: Callable[[], None] | None, turn: AbstractContextManager[object]
) -> Database:
    """Return the database for a person, whose charges ask `gate` first and wait for their turn."""
    ledger = cast("Ledger", GatedLedger(one.ledger, gate, turn))
    return one.database.as_analyst(person, ledger=ledger)


def never_charge() -> None:
    """Refuse every charge: only a recorded answer may be shown."""
    raise RefusedError("The ledger has no recorded answer to this question.", hint="Ask it again; that is charged.")


# --- at once ----------------------------------------------------------------------------------------------------------


def ask(server: Server, person: Person, dataset: str, body: Body, key: str | None) -> tuple[int, Content]:
    """Answer a question and return the status and the content of the response; run this in a thread."""
    _ = server.datasets[dataset]
    kind = kind_of(body)
    begun = questions.begin(
        server.store, server.worker, (person.name, dataset, kind), _plain(body), key, questions.CHARGING
    )
    if not begun.is_ours:
        return stored(server, begun.question)
    server.workshop.track(begun.question.id)
    try:
        return carry_out(server, begun.question, body, _gate(server, begun))
    finally:
        server.workshop.untrack(begun.question.id)


def kind_of(body: Body) -> str:
    """Return the kind of a question."""
    return next(kind for kind, model in _BODIES.items() if type(body) is model)


def _plain(body: Body) -> dict[str, Any]:
    return body.model_dump(mode="json", exclude_defaults=True)


def read_body(question: Question) -> Body:
    """Return the question that was stored."""
    return _BODIES[question.kind].model_validate_json(question.body)


def _gate(server: Server, begun: questions.Begun) -> Callable[[], None]:
    """Return a gate that lets the run of a row charge, unless another run has started it again or charged its key."""
    is_open = False

    def gate() -> None:
        nonlocal is_open
        if is_open:
            return
        if not questions.is_of_run(server.store, begun.question):
            raise _taken_over()
        if begun.again:
            _check_uncharged(server, begun.question)
        is_open = True

    return gate


def _taken_over() -> Problem:
    return Problem(
        409,
        "in-progress",
        "The question with this Idempotency-Key was started again.",
        hint="Try again with the same key; the answer is charged once.",
        headers={"Retry-After": "1"},
    )


def _check_uncharged(server: Server, question: Question) -> None:
    """Raise a problem if an earlier run was charged under this key."""
    with server.datasets[question.dataset].use() as one:
        charged = one.ledger.charged_as(question.person, question.key)
    if charged is not None:
        _interrupted()


def _interrupted() -> None:
    raise Problem(
        409,
        "interrupted",
        "The server was stopped while it answered this question. It was charged, and the charge stands.",
        hint="Use a new Idempotency-Key to ask again; that is charged again.",
        unspent=False,
    )


def stored(server: Server, question: Question) -> tuple[int, Content]:
    """Return the stored response of a question; an answer says that it is repeated."""
    content = question.content
    if content is None:
        return 200, again(server, question, confidence=None)
    if question.state == questions.DONE:
        content |= {"repeated": True, **_left(server, question)}
    return question.status or 200, content


def _left(server: Server, question: Question) -> Content:
    with server.datasets[question.dataset].use() as one:
        return {"left": left_content(one.ledger.standing(question.person))["left"]}


def carry_out(
    server: Server,
    question: Question,
    body: Body,
    gate: Callable[[], None] | None,
    started: float | None = None,
) -> tuple[int, Content]:
    """Charge and answer a question, and store its end; return the status and the content.

    If `started` is given, the end is stored at a multiple of the quantum after it.
    """
    try:
        with server.datasets[question.dataset].use() as one:
            database = gated(one, question.person, gate, server.store.turn)
            content = {"id": question.id, "dataset": question.dataset, **_released(database, body, question.key)}
            content["left"] = left_content(one.ledger.standing(question.person))["left"]
        status, state = 200, questions.DONE
    except Exception as error:  # noqa: BLE001 - every error becomes a problem, with a constant text if unknown
        status, content, _ = problems.content_of(error, server.clean)
        state = questions.CANCELED if isinstance(error, CanceledError) else questions.FAILED
    if started is not None:
        quantum.block(started, server.settings.quantum)
    _store_end(server, question, body, state, status, content)
    return status, content


def _released(database: Database, body: Body, request: str) -> Content:
    match body:
        case AskedLimits():
            report = database.limits(
                body.sql, table=body.table, request=request, confidence=body.confidence, **amounts_of(body)
            )
            return limits_content(report)
        case AskedBounds():
            given: dict[str, Any] = {"where": body.where, "table": body.table, "confidence": body.confidence}
            return bounds_content(database.bounds(body.column, request=request, **given, **amounts_of(body)))
    return answer_content(database.session.answer(quote_of(database, body), request), verb=body.verb)


def _store_end(server: Server, question: Question, body: Body, state: str, status: int, content: Content) -> None:
    """Store the response and the audit line. If that fails, the answer is returned all the same: it was charged."""
    record = content.get("record")
    outcome = "answered" if state == questions.DONE else str(content.get("type", state)).removeprefix("urn:tacit:")
    try:
        with server.store.writing() as connection:
            questions.finish(connection, question, state, status, content, record)
            audit.write(
                connection,
                question.person,
                question.kind,
                dataset=question.dataset,
                detail=text_of(body),
                outcome=outcome,
                record=record,
            )
    except TacitError:
        problems.LOGGER.exception("the end of a question could not be stored", exc_info=False)
    server.metrics.note_question(question.dataset, outcome)


# --- again, from the record -------------------------------------------------------------------------------------------


def recorded(
    server: Server, question: Question, confidence: float | None, shown: Callable[[Release], Content]
) -> Content:
    """Return what `shown` makes of the recorded answer; it costs nothing, because the ledger cannot be charged."""
    body = read_body(question)
    if not isinstance(body, Asked) or question.state != questions.DONE:
        raise Problem(409, "no-answer", "This question has no answer of rows.", hint="Only answers are shown again.")
    if confidence is not None:
        body = body.model_copy(update={"confidence": confidence})
    with server.datasets[question.dataset].use() as one:
        number = question.record
        database = gated(one, question.person, never_charge, server.store.turn)
        answer = database.session.answer(quote_of(database, body), question.key)
        return {"id": question.id, "dataset": question.dataset, "record": number, **shown(answer)}


def again(server: Server, question: Question, confidence: float | None) -> Content:
    """Return an answer again, with another confidence if one is given; it costs nothing."""
    body = read_body(question)
    verb = body.verb if isinstance(body, Asked) else None
    content = recorded(server, question, confidence, lambda answer: answer_content(answer, verb=verb))
    return {**content, **_left(server, question)}


def chart(server: Server, question: Question, theme: str) -> Content:
    """Return the chart of an answer as a Vega-Lite specification."""
    return recorded(server, question, None, lambda answer: {"chart": answer.plot(theme=theme).to_dict()})


# --- jobs -------------------------------------------------------------------------------------------------------------


def start_job(server: Server, person: Person, dataset: str, body: Body, key: str | None) -> Question:
    """Store a question and start to answer it; return it at once."""
    _ = server.datasets[dataset]
    asked = person.name, dataset, kind_of(body)
    begun = questions.begin(server.store, server.worker, asked, _plain(body), key, questions.QUEUED)
    if begun.is_ours:
        server.workshop.track(begun.question.id)
        try:
            server.workshop.start(lambda: _job(server, begun, body))
        except BaseException:
            server.workshop.untrack(begun.question.id)
            questions.cancel(server.store, begun.question)
            raise
    return begun.question


def _job(server: Server, begun: questions.Begun, body: Body) -> None:
    """Answer a question in a thread, unless it was canceled; its end is stored at a multiple of the quantum."""
    question, started = begun.question, time.monotonic()
    try:
        if not questions.move(server.store, question, questions.QUEUED, questions.RUNNING):
            return
        carry_out(server, question, body, _job_gate(server, begun), started)
    except TacitError as error:
        problems.content_of(error, server.clean)  # which logs it; the row has no beat from now on
    finally:
        server.workshop.untrack(question.id)


def _job_gate(server: Server, begun: questions.Begun) -> Callable[[], None]:
    """Return a gate that lets a job charge once it can no longer be canceled."""
    question = begun.question
    before, is_open = _gate(server, begun), False

    def gate() -> None:
        nonlocal is_open
        if not is_open and not questions.move(server.store, question, questions.RUNNING, questions.CHARGING):
            raise CanceledError("The question was canceled before its charge.")
        before()
        is_open = True

    return gate
