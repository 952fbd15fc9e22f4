"""Questions in the database: each request that may charge has a row, so that no key charges twice.

A row is found by its person, its dataset and its Idempotency-Key. Its states:

    queued ──► running ──► charging ──► done | failed
       └──────────┴──► canceled

Only a row that is `running` may become `charging`, in one UPDATE, and only then does the ledger charge. So a question
is canceled before its charge or not at all. A key that is sent again after a cancel, an error or a killed worker starts
a new run of its row, and the run before it can no longer charge.

A worker writes the time into its rows every few seconds (`beat`). A row that ends nowhere and has no fresh beat belongs
to a worker that was killed: it is shown as interrupted, and the charge stands if there was one.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from time import time_ns
from typing import Any, Final

from sqlalchemy import Connection, and_, or_, select, update

from tacit.safe_text import as_json
from tacit.web.problems import Problem
from tacit.web.store import WebStore, insert_new, now
from tacit.web.tables import QUESTIONS

QUEUED, RUNNING, CHARGING = "queued", "running", "charging"
DONE, FAILED, CANCELED, INTERRUPTED = "done", "failed", "canceled", "interrupted"
ACTIVE: Final = (QUEUED, RUNNING, CHARGING)

SILENCE = 30
"""The seconds without a beat after which a worker counts as killed."""

_AHEAD = 300
_LARGEST_RESPONSE = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request that may charge: who asks what, how far it is, and its response."""

    id: str
    request: str
    person: str
    dataset: str
    kind: str
    key: str
    body: str
    digest: str
    state: str
    worker: str
    """The worker and the run, which is a new one if the row is started again."""
    created: int
    beat: int
    record: int | None = None
    cost: str | None = None
    status: int | None = None
    response: str | None = None

    @property
    def shown_state(self) -> str:
        """The state, or "interrupted" if its worker was killed."""
        return INTERRUPTED if self.is_silent else self.state

    @property
    def is_silent(self) -> bool:
        """True if the question has not ended, and its worker does not beat."""
        return self.state in ACTIVE and not -_AHEAD <= now() - self.beat <= SILENCE

    @property
    def content(self) -> dict[str, Any] | None:
        """The stored response."""
        return None if self.response is None else json.loads(self.response)


@dataclass(frozen=True, slots=True)
class Begun:
    """A question, and whether it is to be carried out now; `again` if a worker may have started it before."""

    question: Question
    is_ours: bool
    again: bool = False


def begin(
    store: WebStore, worker: str, asked: tuple[str, str, str], body: Mapping[str, Any], key: str | None, state: str
) -> Begun:
    """Store a question, or find the one that has the same key.

    Args:
        store: the database.
        worker: the worker that will carry it out.
        asked: the person, the dataset and the kind of the question.
        body: the question as JSON.
        key: its Idempotency-Key, if it has one.
        state: the first state.

    Raises:
        Problem: 409, if the key has another question, or one that is being answered.
    """
    person, dataset, kind = asked
    one = f"{time_ns():016x}{secrets.token_hex(8)}"  # so that ids of one second are in order
    text = as_json(dict(body))
    question = Question(
        id=one,
        request=_request_name(person, dataset, key or f"web-{one}"),
        person=person,
        dataset=dataset,
        kind=kind,
        key=key or f"web-{one}",
        body=text,
        digest=sha256(f"{kind}\n{text}".encode()).hexdigest(),
        state=state,
        worker=f"{worker}-{secrets.token_hex(6)}",
        created=now(),
        beat=now(),
    )
    with store.writing() as connection:
        if insert_new(connection, QUESTIONS, asdict(question)):
            return Begun(question, is_ours=True)
        return _known(connection, _by_request(connection, question.request), question)


def _request_name(person: str, dataset: str, key: str) -> str:
    return sha256(f"{person}\n{dataset}\n{key}".encode()).hexdigest()


def _by_request(connection: Connection, request: str) -> Question:
    """Return the question of a request, and lock its row until the end of the transaction."""
    query = select(QUESTIONS).where(QUESTIONS.c.request == request).with_for_update()
    return Question(**connection.execute(query).mappings().one())


def _known(connection: Connection, known: Question, asked: Question) -> Begun:
    """Return what to do with a question whose key was used before."""
    if known.digest != asked.digest:
        raise Problem(409, "key-used", "This Idempotency-Key was used with another question.", hint="Use a new key.")
    if known.state in ACTIVE and not known.is_silent:
        raise Problem(
            409,
            "in-progress",
            "The question with this Idempotency-Key is being answered.",
            hint="Try again with the same key; the answer is charged once.",
            headers={"Retry-After": "1"},
        )
    if known.state == DONE or (known.state == FAILED and not _is_unspent(known)):
        return Begun(known, is_ours=False)
    again = replace(known, state=asked.state, worker=asked.worker, beat=asked.beat, status=None, response=None)
    values = {"state": again.state, "worker": again.worker, "beat": again.beat, "status": None, "response": None}
    connection.execute(update(QUESTIONS).where(QUESTIONS.c.id == known.id).values(**values))
    return Begun(again, is_ours=True, again=True)


def _is_unspent(question: Question) -> bool:
    content = question.content
    return bool(content and content.get("unspent"))


def move(store: WebStore, question: Question, before: str, after: str) -> bool:
    """Move a question of this run from a state to another; return False if it is in another state or run."""
    query = update(QUESTIONS).where(QUESTIONS.c.id == question.id, QUESTIONS.c.state == before)
    with store.writing() as connection:
        moved = connection.execute(query.where(QUESTIONS.c.worker == question.worker).values(state=after, beat=now()))
        return moved.rowcount > 0


def is_of_run(store: WebStore, question: Question) -> bool:
    """Return whether no other run has started the question again."""
    query = select(QUESTIONS.c.worker).where(QUESTIONS.c.id == question.id)
    with store.reading() as connection:
        return bool(connection.execute(query).scalar() == question.worker)


def cancel(store: WebStore, question: Question) -> bool:
    """Cancel a question before its charge; return False if that is too late."""
    query = update(QUESTIONS).where(QUESTIONS.c.id == question.id, QUESTIONS.c.state.in_((QUEUED, RUNNING)))
    with store.writing() as connection:
        return connection.execute(query.values(state=CANCELED)).rowcount > 0


def finish(
    connection: Connection, question: Question, state: str, status: int, content: Mapping[str, Any], record: int | None
) -> None:
    """Store the end of a question, in a transaction. A response of more than 5 MB stays in the ledger alone.

    An answer is final. An end without a charge is stored only if no other run has started the question again.
    """
    text = as_json(dict(content))
    values = {
        "state": state,
        "status": status,
        "record": record,
        "cost": as_json(content["cost"]) if "cost" in content else None,
        "response": text if len(text) <= _LARGEST_RESPONSE else None,
    }
    query = update(QUESTIONS).where(QUESTIONS.c.id == question.id, QUESTIONS.c.state != DONE)
    if state != DONE and content.get("unspent"):
        query = query.where(QUESTIONS.c.worker == question.worker)
    connection.execute(query.values(**values))


def drop_queued(store: WebStore, worker: str) -> None:
    """Cancel the questions that a worker has not started, when it stops."""
    mine = QUESTIONS.c.worker.startswith(f"{worker}-", autoescape=True)
    query = update(QUESTIONS).where(mine, QUESTIONS.c.state == QUEUED)
    with store.writing() as connection:
        connection.execute(query.values(state=CANCELED))


def beat(store: WebStore, questions: Sequence[str]) -> None:
    """Write the time into the rows of questions that this worker carries out."""
    with store.writing() as connection:
        connection.execute(update(QUESTIONS).where(QUESTIONS.c.id.in_(questions)).values(beat=now()))


def find(store: WebStore, question: str, person: str) -> Question:
    """Return a question of a person, or raise the problem 404."""
    query = select(QUESTIONS).where(QUESTIONS.c.id == question, QUESTIONS.c.person == person)
    with store.reading() as connection:
        row = connection.execute(query).mappings().first()
    if row is None:
        raise Problem(404, "no-question", "You have no such question.", hint="GET /api/v1/history lists yours.")
    return Question(**row)


def of_person(
    store: WebStore, person: str, dataset: str | None, cursor: str | None, most: int
) -> tuple[list[Question], str | None]:
    """Return questions of a person without their responses, newest first, and the cursor of those before them."""
    columns = [column for column in QUESTIONS.c if column.name != "response"]
    query = select(*columns).where(QUESTIONS.c.person == person)
    if dataset is not None:
        query = query.where(QUESTIONS.c.dataset == dataset)
    if cursor is not None:
        created, one = read_cursor(cursor)
        older = and_(QUESTIONS.c.created == created, QUESTIONS.c.id < one)
        query = query.where(or_(QUESTIONS.c.created < created, older))
    query = query.order_by(QUESTIONS.c.created.desc(), QUESTIONS.c.id.desc()).limit(most + 1)
    with store.reading() as connection:
        rows = [Question(**row) for row in connection.execute(query).mappings()]
    more = f"{rows[most - 1].created}-{rows[most - 1].id}" if len(rows) > most else None
    return rows[:most], more


def read_cursor(cursor: str) -> tuple[int, str]:
    """Return the time and the id of a cursor, whose shape the API has checked.

    >>> read_cursor("1700000000-ab12")
    (1700000000, 'ab12')
    """
    created, _, one = cursor.partition("-")
    return int(created), one
