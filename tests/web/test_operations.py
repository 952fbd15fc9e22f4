"""The ledger, policies, people, the audit log, health and metrics over the API; a ledger that fails."""

from __future__ import annotations

import re
import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from tacit.database import Database
from tacit.errors import InvalidError
from tacit.ledger import storage
from tacit.ledger.sql_ledger import SqlLedger
from tacit.web.settings import PREFIX, ServerSettings, read_settings, variable
from tacit.web.store import WebStore
from web.conftest import COUNT, POLICY, MakeSite, Site


def test_the_ledger_shows_every_charge_and_verifies(site: Site) -> None:
    receipt = site.ask().json()["receipt"]
    site.ask({**COUNT, "epsilon": 0.25}, "bob")
    page = site.get("/datasets/survey/ledger?limit=1", "sue").json()
    assert (page["left"]["epsilon"], len(page["charges"]), page["charges"][0]["analyst"]) == (4.25, 1, "bob")
    rest = site.get(f"/datasets/survey/ledger?limit=1&cursor={page['next']}", "sue").json()
    assert (rest["charges"][0]["cost"]["epsilon"], rest["next"]) == (0.5, None)
    shares = site.get("/datasets/survey/ledger/analysts", "sue").json()["analysts"]
    assert {each["analyst"]: each["spent"]["epsilon"] for each in shares} == {"ann": 0.5, "bob": 0.25}
    assert site.get("/ledger", "sue").json()["ledgers"][0]["left"]["epsilon"] == 4.25
    report = site.post("/datasets/survey/ledger/verify", {"receipts": [receipt]}, "sue").json()
    assert report["holds"] is True
    forged = {**receipt, "ledger_link": "0" * 64}
    assert site.post("/datasets/survey/ledger/verify", {"receipts": [forged]}, "sue").json()["holds"] is False


def test_an_analyst_is_limited_and_the_limit_ends(site: Site) -> None:
    path = "/api/v1/datasets/survey/ledger/analysts/ann"
    site.ask()
    shares = site.request("PUT", path, "ada", body={"epsilon": 0.75})
    assert shares.json()["analysts"][0]["left"]["epsilon"] == 0.25
    dear = site.ask({**COUNT, "epsilon": 0.3})
    assert (dear.status_code, dear.json()["kind"]) == (409, "BudgetError")
    assert site.get("/datasets").json()["datasets"][0]["limit"]["epsilon"] == 0.75
    for body in ({"rho": 1}, {}, {"epsilon": -1}, {"epsilon": 1, "rho": 1}, {"epsilon": "1/0"}):
        assert site.request("PUT", path, "ada", body=body).status_code == 422, body
    assert site.request("DELETE", path, "ada").status_code == 200
    assert site.ask({**COUNT, "epsilon": 0.3}).status_code == 200


def test_a_limit_of_the_policy_file_is_changed_there(make_site: MakeSite) -> None:
    site = make_site(f"{POLICY}\n[analysts.ann]\nepsilon = 1.0\n")
    refused = site.request("PUT", "/api/v1/datasets/survey/ledger/analysts/ann", "ada", body={"epsilon": 2})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:tacit:in-policy")


def sql_ledger(database: Database) -> SqlLedger:
    assert isinstance(database.ledger, SqlLedger)
    return database.ledger


def draft(site: Site, old: str, new: str) -> dict[str, Any]:
    policy = site.get("/datasets/survey/policy", "sue").json()
    assert old in policy["text"]
    return {"text": policy["text"].replace(old, new), "version": policy["version"]}


def save(site: Site, body: dict[str, Any], **more: object) -> Any:  # noqa: ANN401 - a response
    return site.request("PUT", "/api/v1/datasets/survey/policy", "sue", body={**body, **more})


def test_two_stewards_who_edit_one_policy_never_mix_it(site: Site) -> None:
    first, second = draft(site, "[0, 1000]", "[0, 900]"), draft(site, "reach = 2", "reach = 3")
    assert save(site, first, accept=True).status_code == 200
    conflict = save(site, second, accept=True)
    assert (conflict.status_code, conflict.json()["type"]) == (409, "urn:tacit:changed")
    assert "[0, 900]" in site.policy.read_text("utf-8")
    assert "reach = 2" in site.policy.read_text("utf-8")
    column = site.get("/datasets/survey").json()["schema"][0]["columns"][2]
    assert (column["name"], column["bounds"]) == ("income", [0.0, 900.0])


def test_a_draft_says_its_mistakes_with_lines_and_what_it_changes(site: Site) -> None:
    site.ask()
    wrong = draft(site, "bounds = [0, 1000]", "bounds = [5, 1]")
    checked = site.post("/datasets/survey/policy/check", {"text": wrong["text"]}, "sue").json()
    assert (checked["valid"], checked["mistakes"][0]["line"]) == (False, 11)
    assert save(site, wrong).status_code == 422
    narrow = draft(site, "[0, 1000]", "[0, 900]")
    checked = site.post("/datasets/survey/policy/check", {"text": narrow["text"]}, "sue").json()
    assert "+income" in checked["diff"]
    assert checked["changes"] == [{"text": "bounds.income of survey: 0 to 1000 became 0 to 900", "acceptable": True}]
    refused = save(site, narrow)
    assert (refused.status_code, refused.json()["kind"]) == (403, "RefusedError")
    assert save(site, narrow, accept=True).status_code == 200
    fixed = draft(site, 'unit = "person"', 'unit = "income"')
    assert save(site, fixed, accept=True).status_code == 403
    assert site.ask().status_code == 200
    audited = [each for each in site.get("/audit", "ada").json()["entries"] if each["action"] == "save policy"]
    assert audited[0]["outcome"] == "refused"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('ledger = "survey.ledger"', 'ledger = "other.ledger"'),
        ('source = "survey.csv"', 'source = "/etc/passwd.csv"'),
        ("[tables.survey]", '[tables.more]\nsource = "x.csv"\neach_row = true\n\n[tables.survey]'),
        ("reach = 2", 'reach = 2\n\n[public.more]\nsource = "x.csv"'),
        ('ledger = "survey.ledger"', 'ledger = "survey.ledger"\nengine = { temporary = "/tmp" }'),
    ],
)
def test_where_data_and_ledger_are_is_not_changed_over_the_network(site: Site, old: str, new: str) -> None:
    changed = draft(site, old, new)
    assert save(site, changed, accept=True).status_code == 403
    assert site.policy.read_text("utf-8") == POLICY
    assert not (site.policy.parent / "other.ledger").exists()


def test_a_policy_that_breaks_on_disk_answers_nothing_until_it_is_right(site: Site) -> None:
    site.policy.write_text(POLICY.replace("reach = 2", "reach = nothing"), encoding="utf-8")
    site.server.datasets["survey"].look_again()
    broken = site.ask()
    assert (broken.status_code, broken.json()["type"]) == (503, "urn:tacit:policy")
    assert site.request("GET", "/readyz", None).status_code == 503
    assert site.request("GET", "/healthz", None).status_code == 200
    site.policy.write_text(POLICY.replace("reach = 2", "reach = 3"), encoding="utf-8")
    site.server.datasets["survey"].look_again()
    assert site.ask().status_code == 200


def test_people_and_tokens_over_the_api(site: Site) -> None:
    made = site.post("/users", {"name": "eve", "role": "analyst", "password": "several random words"}, "ada")
    assert (made.status_code, made.json()["has_password"]) == (201, True)
    assert site.sign_in("eve", "several random words").status_code == 200
    assert site.post("/users", {"name": "eve", "role": "admin"}, "ada").status_code == 403
    assert site.post("/users", {"name": "z", "role": "analyst", "password": "short"}, "ada").status_code == 422
    token = site.post("/users/eve/tokens", {"days": 1}, "ada").json()["token"]
    site.tokens["eve"] = token
    own = site.post("/tokens", {"label": "mine"}, "eve").json()
    listed = site.get("/tokens", "eve").json()["tokens"]
    assert own["id"] in [each["id"] for each in listed]
    assert all("token" not in each and "digest" not in each for each in listed)
    assert site.request("DELETE", f"/api/v1/tokens/{own['id']}", "ann").status_code == 404
    assert site.request("DELETE", f"/api/v1/tokens/{own['id']}", "eve").status_code == 204


def test_the_audit_log_says_who_asked_what_and_has_no_answer(site: Site) -> None:
    answer = site.ask().json()
    site.ask({**COUNT, "epsilon": 100})
    entries = site.get("/audit?person=ann", "ada").json()["entries"]
    assert [(each["outcome"], each["record"]) for each in entries] == [("budget", None), ("answered", answer["record"])]
    assert entries[1]["detail"] == COUNT["sql"]
    value = str(answer["columns"][1]["values"][0])
    assert value not in re.sub(r'"(time|number|record)": \d+', "", site.get("/audit", "ada").text)


def test_metrics_are_prometheus_text(site: Site) -> None:
    site.ask()
    text = site.request("GET", "/metrics", "ada").text
    sample = r'[a-z_]+(\{[a-zA-Z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+'
    for line in text.splitlines():
        assert line.startswith("# TYPE ") or re.fullmatch(sample, line), line
    assert 'tacit_questions_total{worker="' in text
    assert 'tacit_budget{dataset="survey",kind="left",unit="epsilon"} 4.5' in text


def test_the_security_headers_are_on_every_response(site: Site) -> None:
    for path in ("/", "/nope", "/api/v1/datasets", "/openapi.json"):
        headers = site.request("GET", path, None).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
        assert "server" not in headers


# --- a ledger that is locked, gone or full ---------------------------------------------------------------------------


def test_a_locked_ledger_is_503_and_plans_go_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "WAIT", 0.2)
    other = sqlite3.connect(site.policy.with_name("survey.ledger"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused = site.ask()
    plan = site.post("/datasets/survey/plans", COUNT)
    other.execute("ROLLBACK")
    other.close()
    assert (refused.status_code, refused.json()["kind"]) == (503, "LedgerError")
    assert str(site.policy.parent) not in refused.text
    assert plan.status_code == 200
    assert site.ask().status_code == 200


def test_a_ledger_that_is_gone_is_503_and_comes_back(site: Site) -> None:
    ledger = site.policy.with_name("survey.ledger")
    ledger.rename(ledger.with_name("away"))
    for answer in (site.ask(), site.get("/datasets"), site.request("GET", "/readyz", None)):
        assert answer.status_code == 503
        assert str(ledger.parent) not in answer.text
    assert site.request("GET", "/healthz", None).status_code == 200
    assert not ledger.exists()
    ledger.with_name("away").rename(ledger)
    assert site.ask().status_code == 200


def test_a_full_disk_is_503_and_nothing_is_lost(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.ask()
    original = storage._configure

    def full(connection: sqlite3.Connection) -> None:
        original(connection)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr(storage, "_configure", full)
    body = {"verb": "count", "where": f"region <> '{'x' * 20_000}'", "epsilon": 0.5}
    refused = site.ask(body)
    assert refused.status_code == 503, refused.text
    monkeypatch.undo()
    assert site.spent() == 0.5
    assert site.ask().status_code == 200


# --- settings and the shell ------------------------------------------------------------------------------------------


def test_every_setting_is_an_environment_variable_and_goes_to_workers() -> None:
    given = read_settings(
        {
            "policies": ("/a.toml", "/b.toml"),
            "port": 9,
            "trust_header": "X-Person",
            "plain_http": True,
            "quantum": 0.5,
            "trusted_proxies": ("10.0.0.1", "::1"),
        },
        {},
    )
    environment = given.environment()
    assert set(environment) == {variable(name) for name in ServerSettings.__dataclass_fields__}
    assert read_settings({}, environment) == given
    wrong = (("PORT", "x"), ("PORT", "70000"), ("QUANTUM", "-1"), ("PLAIN_HTTP", "maybe"), ("LOG_LEVEL", "loud"))
    for name, text in (*wrong, ("TLS_CERT", "x.pem")):
        with pytest.raises(InvalidError):
            read_settings({"policies": ("a.toml",)}, {PREFIX + name: text})
    with pytest.raises(InvalidError):
        read_settings({}, {})


def test_the_documentation_has_every_setting() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "run-a-server.md").read_text("utf-8")
    for name in ServerSettings.__dataclass_fields__:
        assert f"`{variable(name)}`" in page


def test_people_may_be_in_a_database_of_their_own(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site(store=str(tmp_path / "people.db"))
    assert site.ask().status_code == 200
    store = WebStore(str(tmp_path / "people.db"))
    store.close()
    with tc.open(str(site.policy)) as database:
        assert tc.ledger.verify(sql_ledger(database)).holds


def test_a_ledger_with_people_verifies_and_is_copied(site: Site, tmp_path: Path) -> None:
    site.ask()
    with tc.open(str(site.policy)) as database:
        assert tc.ledger.verify(sql_ledger(database)).holds
        report = tc.ledger.load(list(tc.ledger.export(sql_ledger(database))), tmp_path / "copy.ledger")
    assert report.holds


def test_no_request_leaves_the_machine(make_site: MakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    site = make_site()
    assert site.ask().status_code == 200
    assert site.request("GET", "/", None).status_code == 200
    assert "http" not in site.request("GET", "/", None).text.replace("</html>", "")
