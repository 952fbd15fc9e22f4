"""Attacks that once worked: bodies, keys that are sent again, credentials of proxies, errors and redirects."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from time import sleep
from typing import Any

import pytest

import tacit as tc
from tacit import opening
from tacit.errors import LedgerError, SourceError
from tacit.web import questions, store
from tacit.web.services import asked, asking
from tacit.web.services.asking import GatedLedger
from web.conftest import COUNT, POLICY, MakeSite, Site

# --- bodies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        '{"verb": "quantile", "column": "income", "q": [1e999], "epsilon": 0.1}',
        '{"verb": "histogram", "column": "income", "bins": [1e999], "epsilon": 0.1}',
        '{"sql": "SELECT count(*) FROM survey", "confidence": NaN, "epsilon": 0.1}',
    ],
)
def test_a_number_that_json_has_not_leaves_the_history_readable(site: Site, body: str) -> None:
    signed = {"Authorization": f"Bearer {site.tokens['ann']}", "Content-Type": "application/json"}
    refused = site.client.post("/api/v1/datasets/survey/answers", content=body, headers=signed)
    assert refused.status_code == 422
    assert site.get("/history").status_code == 200
    assert site.request("GET", "/history").status_code == 200


@pytest.mark.parametrize("depth", [60, 400, 900])
def test_a_body_that_is_nested_deeply_is_refused(site: Site, depth: int) -> None:
    nested: object = 1
    for _ in range(depth):
        nested = {"a": nested}
    assert site.post("/datasets/survey/ledger/verify", {"receipts": [nested]}, "sue").status_code == 422
    assert site.ask({"params": {"a": nested}, **COUNT}).status_code == 422


def test_a_plan_with_very_many_bins_takes_no_memory(site: Site) -> None:
    asked_bins = {"verb": "histogram", "column": "income", "epsilon": 0.1}
    refused = site.post("/datasets/survey/plans", {**asked_bins, "bins": 10_001})  # 10**9 took all memory
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"].startswith("body.bins")


# --- keys that are sent again -----------------------------------------------------------------------------------------


class Doors:
    """Holds calls until they are let through, in the order in which they came."""

    def __init__(self, count: int) -> None:
        self.doors = [threading.Event() for _ in range(count)]
        self.came = [threading.Event() for _ in range(count)]
        self._next: Iterator[int] = iter(range(count))

    def wait(self) -> None:
        number = next(self._next, None)
        if number is not None:
            self.came[number].set()
            assert self.doors[number].wait(20)


def wait_for_state(site: Site, question: str, state: str) -> None:
    for _ in range(400):
        if site.get(f"/jobs/{question}").json()["state"] == state:
            return
        sleep(0.02)
    raise AssertionError(state)


def test_a_charged_job_is_never_shown_as_canceled(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    plans, charges = Doors(2), Doors(1)
    quote_of, charge = asked.quote_of, GatedLedger.charge

    def slow_plan(*arguments: Any) -> Any:  # noqa: ANN401 - as quote_of
        plans.wait()
        return quote_of(*arguments)

    def slow_charge(*arguments: Any) -> Any:  # noqa: ANN401 - as charge
        ticket = charge(*arguments)
        charges.wait()
        return ticket

    monkeypatch.setattr(asking, "quote_of", slow_plan)
    monkeypatch.setattr(GatedLedger, "charge", slow_charge)
    job = site.post("/datasets/survey/jobs", {"answer": COUNT}, key="again").json()["id"]
    assert plans.came[0].wait(20)
    assert site.request("DELETE", f"/api/v1/jobs/{job}").status_code == 200
    assert site.post("/datasets/survey/jobs", {"answer": COUNT}, key="again").json()["id"] == job
    assert plans.came[1].wait(20)
    plans.doors[0].set()  # the canceled run comes to its charge first
    sleep(0.3)
    assert site.spent() == 0
    plans.doors[1].set()
    assert charges.came[0].wait(20)
    assert site.get(f"/jobs/{job}").json()["state"] == "charging"
    charges.doors[0].set()
    wait_for_state(site, job, "done")
    assert site.spent() == 0.5


def test_a_clock_that_jumps_lets_no_key_charge_twice(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = Doors(2), Doors(2)
    charge = GatedLedger.charge

    def slow_charge(*arguments: Any) -> Any:  # noqa: ANN401 - as charge
        before.wait()
        ticket = charge(*arguments)
        after.wait()  # charged, before the answer
        return ticket

    monkeypatch.setattr(GatedLedger, "charge", slow_charge)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(site.ask, key="jump")
        assert before.came[0].wait(20)
        now = store.now()
        monkeypatch.setattr(questions, "now", lambda: now + 3600)
        second = pool.submit(site.ask, key="jump")
        assert before.came[1].wait(20)
        for door in before.doors:
            door.set()
            sleep(0.3)
        assert site.spent() == 0.5
        for door in after.doors:
            door.set()
        assert {first.result().status_code, second.result().status_code} == {200, 409}
    assert site.ask(key="jump").json()["repeated"] is True


# --- errors -----------------------------------------------------------------------------------------------------------


def test_a_policy_that_breaks_hides_no_error_and_no_charge_of_another(
    make_site: MakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site()
    other = site.policy.with_name("other.toml")
    other.write_text(POLICY.replace("survey.ledger", "other.ledger"), encoding="utf-8")
    site.close()
    both = make_site(policies=(str(site.policy), str(other)))
    other.write_text("broken [", encoding="utf-8")
    both.server.datasets["other"].look_again()
    assert both.ask({**COUNT, "epsilon": -1}).status_code == 422

    def fail(*_: object, **__: object) -> None:
        raise SourceError("the disk is gone")

    monkeypatch.setattr("tacit.session.release_measured", fail)
    failed = both.ask(key="charged")
    assert both.spent() == 0.5
    assert (failed.status_code, failed.json()["unspent"]) == (502, False)
    assert both.get("/history").json()["questions"][0]["state"] == "failed"


def test_a_policy_that_is_restored_is_in_the_audit_log(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before = site.get("/datasets/survey/policy", "sue").json()
    open_policy = opening.open_policy

    def fail(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as open_policy
        if "accept" in options:
            raise LedgerError("the ledger is locked")
        return open_policy(*arguments, **options)

    monkeypatch.setattr(opening, "open_policy", fail)
    draft = {"text": f"{before['text']}# a comment\n", "version": before["version"]}
    assert site.request("PUT", "/api/v1/datasets/survey/policy", "sue", body=draft).status_code == 503
    assert site.get("/datasets/survey/policy", "sue").json() == before
    newest = site.get("/audit", "ada").json()["entries"][0]
    assert (newest["action"], newest["outcome"], newest["detail"]) == ("save policy", "restored", before["version"])


def test_a_chart_that_was_asked_for_too_early_is_drawn_later(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    plans, quote_of = Doors(1), asked.quote_of

    def slow_plan(*arguments: Any) -> Any:  # noqa: ANN401 - as quote_of
        plans.wait()
        return quote_of(*arguments)

    monkeypatch.setattr(asking, "quote_of", slow_plan)
    job = site.post("/datasets/survey/jobs", {"answer": COUNT}).json()["id"]
    assert plans.came[0].wait(20)
    assert site.request("GET", f"/questions/{job}/chart.json").status_code == 404
    plans.doors[0].set()
    wait_for_state(site, job, "done")
    assert site.request("GET", f"/questions/{job}/chart.json").status_code == 200


# --- credentials ------------------------------------------------------------------------------------------------------


def test_a_token_is_no_cookie_also_when_it_is_remembered(make_site: MakeSite) -> None:
    site = make_site(auth_cache=5.0)
    assert site.get("/me").status_code == 200
    cookie = {"Cookie": f"tacit-session={site.tokens['ann']}"}
    assert site.get("/me", None, headers=cookie).status_code == 401


def test_a_client_cannot_write_the_headers_of_a_proxy_that_adds_lines(make_site: MakeSite) -> None:
    site = make_site(client=("192.0.2.1", 5000), trust_header="X-Person", trusted_proxies=("192.0.2.1",))
    token = ("Authorization", f"Bearer {site.tokens['ann']}")
    spoofed = [token, ("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-For", "198.51.100.9")]
    assert site.client.get("/api/v1/me", headers=spoofed).status_code == 403  # plain HTTP, and not from this machine
    spoofed = [token, ("X-Forwarded-Proto", "https"), ("X-Forwarded-Proto", "http")]
    assert site.client.get("/api/v1/me", headers=spoofed).status_code == 403
    twice = [("X-Person", "ada"), ("X-Person", "ann"), ("X-Forwarded-Proto", "https")]
    assert site.client.get("/api/v1/me", headers=twice).status_code == 401


def test_sign_ins_at_one_time_are_limited(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> bool:
        sleep(0.5)
        return False

    monkeypatch.setattr("tacit.web.api.session.matches", slow)
    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda _: site.sign_in().status_code, range(20)))
    assert (statuses.count(401), statuses.count(429)) == (10, 10)


def test_one_client_with_many_ipv6_addresses_is_limited(make_site: MakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.web.api.session.matches", lambda *_: False)
    site = make_site(client=("::1", 5000))

    def sign_in(number: int) -> int:
        came = {"X-Forwarded-For": f"2001:db8::{number:x}", "X-Forwarded-Proto": "https"}
        wrong = {"name": f"person{number}", "password": "x"}
        return site.request("POST", "/api/v1/session", None, body=wrong, headers=came).status_code

    assert [sign_in(number) for number in range(51)] == [401] * 50 + [429]


# --- tc.connect -------------------------------------------------------------------------------------------------------


class Redirect(BaseHTTPRequestHandler):
    """Sends every request elsewhere, with a body in JSON."""

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", "http://192.0.2.1/")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None: ...


def test_a_redirect_and_a_wrong_port_are_errors_of_the_library() -> None:
    server = HTTPServer(("127.0.0.1", 0), Redirect)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(tc.InvalidError, match="not that of a server of tacit"):
            tc.connect(f"http://127.0.0.1:{server.server_port}", token="t")  # noqa: S106 - of nobody
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    for url in ("http://127.0.0.1:99999", "https://x:abc", "http://[::1"):
        with pytest.raises(tc.InvalidError):
            tc.connect(url, token="t")  # noqa: S106 - of nobody
