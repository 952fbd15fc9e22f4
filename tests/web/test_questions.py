"""Questions over the API: plans, charges, idempotent requests, jobs, cancelling, killed workers, and bad input."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pytest

import tacit as tc
from tacit.errors import LedgerError, SourceError
from tacit.session import Session
from tacit.web import questions, store
from tacit.web.services import asking
from tacit.web.tables import QUESTIONS
from web.conftest import COUNT, MakeSite, Site

VERBS: tuple[dict[str, object], ...] = (
    {"verb": "count"},
    {"verb": "mean", "column": "income", "by": ["region"]},
    {"verb": "sum", "column": "income", "where": "region = 'north'"},
    {"verb": "std", "column": "income", "sample": False},
    {"verb": "quantile", "column": "income", "q": [0.25, 0.75]},
    {"verb": "choose", "column": "region"},
    {"verb": "top", "column": "region", "n": 1},
    {"verb": "describe"},
    {"verb": "histogram", "column": "income", "bins": [0, 500, 1000]},
    {"verb": "crosstab", "columns": ["region"]},
)


@pytest.mark.parametrize("asked", VERBS, ids=lambda asked: str(asked["verb"]))
def test_each_verb_costs_what_its_plan_says_and_what_the_library_charges(site: Site, asked: dict[str, Any]) -> None:
    body = {**asked, "epsilon": 0.25}
    plan = site.post("/datasets/survey/plans", body)
    assert plan.status_code == 200, plan.text
    assert site.spent() == 0
    answer = site.ask(body)
    assert answer.status_code == 200, answer.text
    content = answer.json()
    assert content["cost"] == plan.json()["cost"] == {"epsilon": 0.25}
    assert site.spent() == 0.25
    given = {
        name: value for name, value in asked.items() if name not in ("verb", "column", "columns", "q", "n", "bins")
    }
    first = [asked[name] for name in ("column", "q", "n", "bins") if name in asked] + list(asked.get("columns", []))
    with site.server.datasets["survey"].use() as one:
        here = getattr(one.database, str(asked["verb"]))(*first, plan=True, epsilon=0.25, **given)
    assert content["question"] == here.plan.sql
    assert all(len(column["values"]) == len(content["rows"]) for column in content["columns"])


def test_noisy_numbers_are_what_an_analyst_gets(site: Site) -> None:
    body = {"sql": "SELECT count(*) AS n FROM survey", "epsilon": 0.02}
    numbers = [site.ask(body).json()["columns"][0]["values"][0] for _ in range(8)]
    # without noise all are 400; 8 draws of Laplace noise of scale 50 are 0 with probability 0.01 each: 1e-16
    assert any(number != 400 for number in numbers)


def test_a_key_is_charged_once_and_shows_the_same_answer(site: Site) -> None:
    first, again = site.ask(key="k-1"), site.ask(key="k-1")
    assert (first.json()["repeated"], again.json()["repeated"]) == (False, True)
    assert first.json()["columns"] == again.json()["columns"]
    assert site.spent() == 0.5
    assert site.ask(key="k-2").json()["columns"] != first.json()["columns"] or site.spent() == 1.0
    assert site.ask(name="bob", key="k-1").json()["repeated"] is False  # the key is Ann's
    other = site.ask({**COUNT, "epsilon": 0.1}, key="k-1")
    assert (other.status_code, other.json()["type"]) == (409, "urn:tacit:key-used")


def test_the_key_is_the_name_of_the_request_in_the_library(site: Site) -> None:
    sent = site.ask(key="monday").json()
    with tc.open(str(site.policy), analyst="ann") as database:
        answer = database.sql(str(COUNT["sql"]), epsilon=0.5, request="monday")
    assert answer.repeated
    assert answer["n"] == sent["columns"][1]["values"]


def test_a_refusal_before_the_charge_can_be_tried_again_with_its_key(site: Site) -> None:
    dear = {**COUNT, "epsilon": 4.9}
    site.ask({**COUNT, "epsilon": 0.5})
    refused = site.ask(dear, key="dear")
    assert (refused.status_code, refused.json()["kind"], refused.json()["unspent"]) == (409, "BudgetError", True)
    limit = site.policy.read_text("utf-8").replace("epsilon = 5.0", "epsilon = 6.0")
    version = site.get("/datasets/survey/policy", "sue").json()["version"]
    saved = site.request(
        "PUT", "/api/v1/datasets/survey/policy", "sue", body={"text": limit, "version": version, "accept": True}
    )
    assert saved.status_code == 200, saved.text
    assert site.ask(dear, key="dear").status_code == 200
    assert site.spent() == pytest.approx(5.4)


def test_the_same_key_at_the_same_time_is_charged_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, leave = threading.Event(), threading.Event()
    original = Session.answer

    def slow(self: Session, *args: Any, **options: Any) -> object:  # noqa: ANN401 - the method's own
        entered.set()
        assert leave.wait(30)
        return original(self, *args, **options)

    monkeypatch.setattr(Session, "answer", slow)
    answers: list[int] = []
    first = threading.Thread(target=lambda: answers.append(site.ask(key="same").status_code))
    first.start()
    assert entered.wait(30)
    second = site.ask(key="same")
    leave.set()
    first.join()
    assert (answers, second.status_code, second.json()["type"]) == ([200], 409, "urn:tacit:in-progress")
    assert second.headers["retry-after"]
    assert site.spent() == 0.5
    assert site.ask(key="same").json()["repeated"]


def test_an_answer_again_costs_nothing_and_takes_another_confidence(site: Site) -> None:
    first = site.ask().json()
    same = site.get(f"/answers/{first['id']}").json()
    wide = site.get(f"/answers/{first['id']}?confidence=0.999").json()
    assert same["columns"] == first["columns"]
    assert wide["columns"][1]["values"] == first["columns"][1]["values"]
    assert wide["columns"][1]["low"][0] < first["columns"][1]["low"][0]
    assert site.get(f"/answers/{first['id']}/chart?theme=dark").json()["chart"]["$schema"].startswith("https://vega")
    assert site.spent() == 0.5


def finished(site: Site, job: str) -> dict[str, Any]:
    for _ in range(200):
        content: dict[str, Any] = site.get(f"/jobs/{job}").json()
        if content["state"] not in ("queued", "running", "charging"):
            return content
        time.sleep(0.05)
    raise AssertionError(content)


@pytest.mark.parametrize(
    ("kind", "body", "name"),
    [
        ("answer", COUNT, "ann"),
        ("limits", {"epsilon": 0.1}, "sue"),
        ("bounds", {"column": "income", "epsilon": 0.1}, "sue"),
    ],
)
def test_a_job_ends_with_what_the_request_would_have_answered(
    site: Site, kind: str, body: dict[str, Any], name: str
) -> None:
    site.tokens["ann"] = site.tokens[name]
    started = site.post("/datasets/survey/jobs", {"kind": kind, kind: body}, key="job")
    assert started.status_code == 202
    assert started.headers["location"] == f"/api/v1/jobs/{started.json()['id']}"
    job = finished(site, started.json()["id"])
    assert job["state"] == "done"
    direct = "answers" if kind == "answer" else kind
    again = site.post(f"/datasets/survey/{direct}", body, key="job")
    assert again.json()["repeated"] is True
    assert again.json()["cost"] == job["result"]["cost"]
    assert site.spent() == body["epsilon"]
    events = site.get(f"/jobs/{job['id']}/events").text
    assert '"state": "done"' in events
    assert "result" in events


def test_jobs_of_stewards_are_theirs(site: Site) -> None:
    for kind in ("limits", "bounds"):
        body = {"kind": kind, kind: {"epsilon": 0.1, **({"column": "income"} if kind == "bounds" else {})}}
        assert site.post("/datasets/survey/jobs", body, "ann").status_code == 403


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> Iterator[threading.Event]:
    """Hold the calls of a method within, until the event is set; the method runs then."""
    original, leave, entered = getattr(owner, name), threading.Event(), threading.Event()

    def slow(self: object, *args: object, **options: object) -> object:
        entered.set()
        assert leave.wait(30)
        return original(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, slow)
        leave.entered = entered  # type: ignore[attr-defined]
        yield leave
        leave.set()


def test_a_job_is_canceled_before_its_charge_and_not_after(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch, Session, "answer") as leave:
        job = site.post("/datasets/survey/jobs", {"answer": COUNT}).json()["id"]
        assert leave.entered.wait(30)  # type: ignore[attr-defined]
        canceled = site.request("DELETE", f"/api/v1/jobs/{job}")
        assert (canceled.status_code, canceled.json()["state"]) == (200, "canceled")
        leave.set()
        site.server.workshop._pool.submit(int).result()
    time.sleep(0.2)
    assert finished(site, job)["state"] == "canceled"
    assert site.spent() == 0
    with held(monkeypatch, Session, "_release") as leave:  # which runs after the charge
        job = site.post("/datasets/survey/jobs", {"answer": COUNT}).json()["id"]
        assert leave.entered.wait(30)  # type: ignore[attr-defined]
        assert site.spent() == 0.5
        late = site.request("DELETE", f"/api/v1/jobs/{job}")
        assert (late.status_code, late.json()["type"]) == (409, "urn:tacit:too-late")
        leave.set()
        assert finished(site, job)["state"] == "done"


def interrupted(site: Site, question: str, state: str, *, silent: bool = True) -> None:
    """Put a question into the state in which a killed worker leaves it."""
    ago = questions.SILENCE + 1 if silent else 0
    values = {"state": state, "beat": store.now() - ago, "response": None, "status": None, "worker": "killed"}
    with site.server.store.writing() as connection:
        connection.execute(QUESTIONS.update().where(QUESTIONS.c.id == question).values(**values))


def test_a_killed_worker_loses_no_charge_and_its_key_never_charges_twice(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = site.ask(key="answered").json()
    interrupted(site, answered["id"], "charging")
    assert site.get(f"/jobs/{answered['id']}").json()["state"] == "interrupted"
    again = site.ask(key="answered").json()  # killed after the answer was recorded
    assert (again["columns"], again["repeated"]) == (answered["columns"], True)
    assert site.spent() == 0.5
    with monkeypatch.context() as patch:
        patch.setattr(Session, "finish", lambda *_, **__: None)  # killed between the charge and its outcome
        charged = site.ask(key="charged").json()
    interrupted(site, charged["id"], "charging")
    refused = site.ask(key="charged")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:tacit:interrupted")
    assert refused.json()["unspent"] is False
    assert site.spent() == 1.0
    fresh = site.ask(key="fresh").json()
    interrupted(site, fresh["id"], "charging", silent=False)
    assert site.ask(key="fresh").json()["type"] == "urn:tacit:in-progress"


def test_a_killed_worker_before_the_charge_costs_nothing(site: Site) -> None:
    begun = questions.begin(
        site.server.store, "killed", ("ann", "survey", "answer"), {"sql": COUNT["sql"], "epsilon": 0.5}, "k", "charging"
    )
    interrupted(site, begun.question.id, "charging")
    assert site.ask(key="k").status_code == 200
    assert site.spent() == 0.5


def test_clocks_that_jump_make_a_question_look_killed_at_most(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    question = questions.begin(
        site.server.store, "other", ("ann", "survey", "answer"), {"sql": "x"}, "jump", "charging"
    ).question
    now = store.now()
    for jump, silent in ((0, False), (29, False), (31, True), (-200, False), (-400, True)):
        monkeypatch.setattr(questions, "now", lambda jump=jump: now + jump)
        assert replace(question, beat=now).is_silent is silent, jump


SECRET = "patient 4711 of ward B"  # noqa: S105 - a text that must not be shown


@pytest.mark.parametrize(
    "error", [ValueError(SECRET), SourceError(SECRET), LedgerError(SECRET), RecursionError(SECRET)]
)
def test_errors_after_the_charge_are_constant(site: Site, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("tacit.session.release_measured", fail)
    answer = site.ask(key="fails")
    assert site.spent() == 0.5
    assert (answer.status_code, answer.json()["unspent"]) == (502, False)
    assert "4711" not in answer.text
    stored = site.ask(key="fails")
    assert (stored.status_code, stored.json()) == (502, answer.json())
    assert site.spent() == 0.5
    assert "4711" not in site.get("/history").text
    assert "4711" not in site.get("/audit", "ada").text


def test_a_bug_shows_neither_its_text_nor_its_trace(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError(SECRET)

    monkeypatch.setattr("tacit.web.services.planning.quote_of", fail)
    answer = site.post("/datasets/survey/plans", COUNT)
    assert answer.status_code == 500
    assert "4711" not in answer.text
    assert "Traceback" not in answer.text


def test_an_answer_leaves_at_a_multiple_of_the_quantum(make_site: MakeSite) -> None:
    site = make_site(quantum=0.4)
    for body, status in ((COUNT, 200), ({"sql": "SELECT nothing", "epsilon": 1}, 403), ({"sql": 3}, 422)):
        started = time.monotonic()
        assert site.ask(body).status_code == status
        elapsed = time.monotonic() - started
        assert elapsed >= 0.4
    started = time.monotonic()
    job = site.post("/datasets/survey/jobs", {"answer": COUNT}).json()["id"]
    finished(site, job)
    assert time.monotonic() - started >= 0.4


def test_the_history_has_pages_and_shows_own_questions(site: Site) -> None:
    costs = [0.1, 0.11, 0.12, 0.13, 0.14]
    for cost in costs:
        site.ask({**COUNT, "epsilon": cost})
    first = site.get("/history?limit=3").json()
    rest = site.get(f"/history?limit=3&cursor={first['next']}").json()
    shown = [*first["questions"], *rest["questions"]]
    assert (len(first["questions"]), len(rest["questions"]), rest["next"]) == (3, 2, None)
    assert len({each["id"] for each in shown}) == 5
    assert {each["cost"]["epsilon"] for each in shown} == set(costs)
    assert shown[0]["asked"]["sql"] == COUNT["sql"]
    assert site.get("/history?dataset=other").json()["questions"] == []


HOSTILE = (
    "'; DROP TABLE tacit_web_people; --",
    "<script>alert(1)</script>",
    "\x1b[31m",
    "\u202e",
    "${HOME}",
    "{{7*7}}",
    "../../etc/passwd",
    "a" * 5000,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_sql_and_html_in_text_fields_change_nothing(site: Site, text: str) -> None:
    bodies: tuple[dict[str, object], ...] = (
        {"sql": text},
        {"verb": "mean", "column": text},
        {"verb": "count", "where": text},
        {"verb": "count", "by": [text]},
        {"verb": "count", "table": text},
        {"sql": COUNT["sql"], "keys": {text: [text]}},
    )
    for body in bodies:
        answer = site.ask({**body, "epsilon": 0.1})
        assert answer.status_code in (403, 422), (body, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert "\x1b" not in answer.text
    for name in (text, f"x{text}"):
        assert site.post("/users", {"name": name, "role": "analyst"}, "ada").status_code == 422
    assert site.post("/tokens", {"label": text[:100]}).status_code in (201, 422)
    assert site.spent() == 0
    assert len(site.get("/users", "ada").json()["users"]) == 4


@pytest.mark.parametrize("text", ["\x00", "\ud800"])
def test_text_that_no_database_stores_is_refused(site: Site, text: str) -> None:
    for path, body in (("/datasets/survey/plans", {"sql": text, "epsilon": 1}), ("/tokens", {"label": text}),
                       ("/session", {"name": text, "password": text})):  # fmt: skip
        assert site.post(path, body).status_code == 422


def test_malformed_and_oversized_bodies_are_problems(make_site: MakeSite) -> None:
    site = make_site(body_limit=2000)
    token = {"Authorization": f"Bearer {site.tokens['ann']}"}
    json = {**token, "Content-Type": "application/json"}
    path = "/api/v1/datasets/survey/plans"
    cases: list[tuple[bytes, dict[str, str], set[int]]] = [
        (b"{", json, {422}),
        (b"", json, {422}),
        (b"[" * 1900, json, {400, 422}),
        (b'{"sql": NaN}', json, {422}),
        (b'{"epsilon": 1e999, "sql": "SELECT count(*) FROM survey"}', json, {422}),
        (b'{"sql": "x", "unknown": 1}', json, {422}),
        (b"\xff\xfe", json, {400, 422}),
        (b'{"sql": "x"}', {**token, "Content-Type": "text/plain"}, {422}),
        (b'{"sql": "' + b"x" * 3000 + b'"}', json, {413}),
    ]
    for content, headers, statuses in cases:
        answer = site.client.request("POST", path, content=content, headers=headers)
        assert answer.status_code in statuses, (content[:20], answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    chunks = (b"x" * 1000 for _ in range(5))  # without a Content-Length
    assert site.client.request("POST", path, content=chunks, headers=json).status_code == 413


def test_unknown_addresses_and_methods_are_problems(site: Site) -> None:
    for method, path, status in (
        ("GET", "/nope", 404),
        ("GET", "/api/v1/datasets/other", 404),
        ("PATCH", "/api/v1/datasets", 405),
        ("TRACE", "/api/v1/datasets", 405),
        ("GET", "/api/v1/jobs/x", 422),
        ("GET", "/api/v1/history?limit=0", 422),
        ("GET", "/api/v1/history?cursor='", 422),
        ("GET", "/docs", 404),
    ):
        answer = site.request(method, path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), path


def test_the_gate_refuses_every_charge_of_a_replay(site: Site) -> None:
    with site.server.datasets["survey"].use() as one, pytest.raises(tc.RefusedError):
        asking.gated(one, "ann", asking.never_charge, nullcontext()).count(epsilon=0.1)
    assert site.spent() == 0
