"""Permissions: every route as every role and as nobody; roles, sessions, tokens, CSRF and transport."""

from __future__ import annotations

import re

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tacit.web import access, people
from tacit.web.access import Role, check_routes, rules
from tacit.web.app import create_app
from tacit.web.credentials import digest_of, make_token, remove_token
from tacit.web.pages.page import PageRoute
from tacit.web.settings import read_settings
from tacit.web.store import now
from tacit.web.tables import TOKENS
from web.conftest import COUNT, PASSWORD, PEOPLE, MakeSite, Site

APP = create_app(read_settings({"policies": ("none.toml",)}, {}))
PAGE_PATHS = {one.path for one in APP.routes if isinstance(one, PageRoute)}
ROUTES = sorted(each for each in rules(APP).items() if each[0][1] not in PAGE_PATHS)
PUBLIC = {"/openapi.json", "/healthz", "/readyz", "/api/v1/session"}
STEWARDS = re.compile(r"limits|bounds|ledger|policy")
ADMINS = re.compile(r"users|audit|metrics|ledger/analysts/\{name\}")


def filled(path: str) -> str:
    names = {"dataset": "survey", "question": "0" * 32, "token": "0" * 16, "name": "bob"}
    return re.sub(r"\{(\w+)\}", lambda match: names[match[1]], path)


def lowest(method: str, path: str) -> Role:
    """Return the lowest role by a rule that is not the one of the code."""
    if path in PUBLIC and (method, path) != ("DELETE", "/api/v1/session"):
        return Role.PUBLIC
    if ADMINS.search(path):
        return Role.ADMIN
    return Role.STEWARD if STEWARDS.search(path) else Role.ANALYST


def test_every_route_answers_its_roles_and_no_other(site: Site) -> None:
    people.add(site.server.store, "carl", "steward")
    callers = {None: Role.PUBLIC, "ann": Role.ANALYST, "sue": Role.STEWARD, "ada": Role.ADMIN}
    for (method, path), rule in ROUTES:
        assert rule.role == lowest(method, path), path
        for name, role in callers.items():
            if (method, path) == ("DELETE", "/api/v1/users/{name}") and role is Role.ADMIN:
                continue  # it would remove bob
            body: dict[str, str] | None = {} if method in ("POST", "PUT") else None
            status = site.request(method, filled(path), name, body=body).status_code
            wrong = 401 if name is None else 403
            assert (status == wrong) == (role < rule.role), (method, path, name, status)
            assert status < 500, (method, path, name, status)


def test_a_route_without_a_role_stops_the_start() -> None:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.get("/open")(lambda: "data")
    with pytest.raises(RuntimeError, match="/open is not guarded"):
        check_routes(app)
    with pytest.raises(RuntimeError, match="declares no role"):
        access.router("x").add_api_route("/bare", lambda: "data")


@pytest.mark.parametrize("path", ["/api/v1/datasets", "/api/v1/ledger", "/api/v1/users"])
def test_the_contract_paths_refuse_nobody_and_forged_tokens(site: Site, path: str) -> None:
    for header in ({}, {"Authorization": "Bearer forged"}, {"Authorization": "Basic YTpi"}, {"Authorization": ""}):
        response = site.request("GET", path, None, headers=header)
        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")
        assert response.headers["content-type"] == "application/problem+json"


def test_an_analyst_sees_their_own_questions_only(site: Site) -> None:
    mine = site.ask(name="ann").json()["id"]
    assert site.get(f"/answers/{mine}", "ann").status_code == 200
    for path in (f"/answers/{mine}", f"/answers/{mine}/chart", f"/jobs/{mine}", f"/jobs/{mine}/events"):
        assert site.get(path, "bob").status_code == 404, path
        assert site.get(path, "ada").status_code == 404, path
    assert site.get("/history", "bob").json()["questions"] == []


def test_tokens_expire_by_a_clock_that_may_jump(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.web import credentials  # noqa: PLC0415

    today = now()
    for jump, status in ((0, 200), (90 * 86_400 - 60, 200), (90 * 86_400 + 1, 401), (-200, 200), (-86_400, 401)):
        monkeypatch.setattr(credentials, "now", lambda jump=jump: today + jump)
        assert site.get("/me").status_code == status, jump


def test_a_removed_token_and_a_removed_person_are_refused(site: Site) -> None:
    facts, secret = make_token(site.server.store, "ann")
    site.tokens["ann"] = secret
    assert site.get("/me").status_code == 200
    assert remove_token(site.server.store, facts.id)
    assert site.get("/me").status_code == 401
    assert site.get("/me", "bob").status_code == 200
    assert site.request("DELETE", "/api/v1/users/bob", "ada").status_code == 204
    assert site.get("/me", "bob").status_code == 401


def test_a_worker_remembers_a_token_for_its_cache_only(make_site: MakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.web import credentials  # noqa: PLC0415

    site, time = make_site(auth_cache=5.0), [1000.0]
    monkeypatch.setattr(credentials, "monotonic", lambda: time[0])
    assert site.get("/me").status_code == 200
    with site.server.store.writing() as connection:  # as another worker would
        connection.execute(TOKENS.delete().where(TOKENS.c.digest == digest_of(site.tokens["ann"])))
    time[0] += 4.9
    assert site.get("/me").status_code == 200
    time[0] += 0.2
    assert site.get("/me").status_code == 401


def with_password(site: Site, name: str = "ann") -> None:
    people.change(site.server.store, name, password=PASSWORD)  # which ends their tokens
    site.tokens[name] = make_token(site.server.store, name)[1]


def test_a_session_needs_its_csrf_token_to_change_something(site: Site) -> None:
    with_password(site)
    answer = site.sign_in()
    cookie = answer.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "tacit-session=", "Path=/"))
    assert "Secure" not in cookie
    csrf = answer.json()["csrf"]
    assert site.client.get("/api/v1/me").json()["name"] == "ann"
    for wrong in (b"", b"wrong", "é".encode()):
        headers = {b"X-CSRF-Token": wrong} if wrong else {}
        refused = site.client.post("/api/v1/datasets/survey/answers", json=COUNT, headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (403, "urn:tacit:csrf")
    assert site.spent() == 0
    answered = site.client.post("/api/v1/datasets/survey/answers", json=COUNT, headers={"X-CSRF-Token": csrf})
    assert answered.status_code == 200


def test_a_cookie_that_is_replayed_after_signing_out_is_refused(site: Site) -> None:
    with_password(site)
    csrf = site.sign_in().json()["csrf"]
    secret = site.client.cookies["tacit-session"]
    assert site.client.delete("/api/v1/session", headers={"X-CSRF-Token": csrf}).status_code == 204
    site.client.cookies.clear()
    replayed = site.client.get("/api/v1/me", headers={"Cookie": f"tacit-session={secret}"})
    assert replayed.status_code == 401


def test_over_https_the_cookie_is_secure_and_has_another_name(make_site: MakeSite) -> None:
    site = make_site()
    with_password(site)
    site.client.base_url = "https://tacit.test"
    answer = site.sign_in()
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-tacit=")
    assert "Secure" in cookie
    assert answer.headers["strict-transport-security"]
    secret = site.client.cookies["__Host-tacit"]
    site.client.cookies.clear()
    site.client.base_url = "http://tacit.test"
    for name in ("__Host-tacit", "tacit-session"):
        status = site.client.get("/api/v1/me", headers={"Cookie": f"{name}={secret}"}).status_code
        assert status == (401 if name == "__Host-tacit" else 200)  # on this machine plain HTTP is allowed


def test_credentials_over_plain_http_from_elsewhere_are_refused(make_site: MakeSite) -> None:
    site = make_site(client=("192.0.2.7", 5000))
    with_password(site)
    assert site.get("/me").json()["type"] == "urn:tacit:plain-http"
    assert site.sign_in().status_code == 403
    assert site.request("GET", "/healthz", None).status_code == 200
    site.client.base_url = "https://tacit.test"
    assert site.get("/me").status_code == 200
    # nobody but a trusted proxy says that the request came over HTTPS
    site.client.base_url = "http://tacit.test"
    assert site.get("/me", headers={"X-Forwarded-Proto": "https"}).status_code == 403
    assert make_site(client=("192.0.2.7", 5000), plain_http=True).get("/me").status_code == 200


def test_a_trusted_proxy_says_who_signed_in_and_from_where(make_site: MakeSite) -> None:
    settings = {"trust_header": "X-Person", "trusted_proxies": ("192.0.2.1",)}
    site = make_site(client=("192.0.2.1", 5000), **settings)
    proxied = {"X-Person": "ann", "X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.9"}
    me = site.get("/me", None, headers=proxied).json()
    assert (me["name"], me["via"]) == ("ann", "header")
    refused = site.post("/datasets/survey/answers", COUNT, None)
    assert refused.status_code == 401
    answer = site.request("POST", "/api/v1/tokens", None, body={}, headers=proxied)
    assert answer.json()["type"] == "urn:tacit:csrf"
    answer = site.request("POST", "/api/v1/tokens", None, body={}, headers={**proxied, "X-CSRF-Token": me["csrf"]})
    assert answer.status_code == 201
    assert site.get("/me", None, headers={**proxied, "X-Person": "nobody"}).status_code == 401
    assert site.get("/me", None, headers={**proxied, "X-Forwarded-Proto": "http"}).status_code == 403
    others = make_site(client=("192.0.2.2", 5000), **settings)
    assert others.get("/me", None, headers=proxied).status_code == 401  # the header of somebody else says nothing


def test_wrong_passwords_are_limited_for_all_workers(site: Site) -> None:
    with_password(site)
    with_password(site, "bob")
    for _ in range(10):
        assert site.sign_in(password="wrong wrong wrong").status_code == 401  # noqa: S106
    refused = site.sign_in()
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 900
    assert site.sign_in("bob").status_code == 200
    with TestClient(
        create_app(site.server.settings), client=("127.0.0.1", 1), base_url="http://tacit.test"
    ) as other_worker:
        again = other_worker.post("/api/v1/session", json={"name": "ann", "password": PASSWORD})
    assert again.status_code == 429


def test_an_unknown_name_is_told_the_same_as_a_wrong_password(site: Site) -> None:
    with_password(site)
    known, unknown = (site.sign_in(name, "wrong wrong wrong") for name in ("ann", "zoe"))
    assert known.json() == unknown.json()
    assert site.sign_in("bob").status_code == 401  # bob has no password


def test_the_last_administrator_stays(site: Site) -> None:
    for method, body in (("DELETE", None), ("PUT", {"role": "analyst"})):
        answer = site.request(method, "/api/v1/users/ada", "ada", body=body)
        assert answer.status_code == 403
    assert len(site.get("/users", "ada").json()["users"]) == len(PEOPLE)


def test_a_new_role_counts_at_once_and_ends_sessions(site: Site) -> None:
    with_password(site)
    site.sign_in()
    assert site.get("/ledger", "ann").status_code == 403
    assert site.request("PUT", "/api/v1/users/ann", "ada", body={"role": "steward"}).status_code == 200
    assert site.get("/ledger", "ann").status_code == 200
    assert site.client.get("/api/v1/me").status_code == 401
