"""The pages without a browser: every route as every role, the sign-in form, forged forms, and errors without paths."""

from __future__ import annotations

import re

import pytest

from tacit.web import people
from tacit.web.access import Role, rules
from tacit.web.pages.session import local_path
from web.conftest import PASSWORD, MakeSite, Site
from web.test_access import APP, PAGE_PATHS

ROUTES = sorted(each for each in rules(APP).items() if each[0][1] in PAGE_PATHS)
PUBLIC = {"/sign-in", "/static/{version}/{name:path}"}
STEWARDS = re.compile(r"limits|ledger|policy")
NAMES = {"dataset": "survey", "question": "0" * 32, "token": "0" * 16, "name:path": "workbench.css", "number": "1",
         "form": "json", "version": "0"}  # fmt: skip


def lowest(path: str) -> Role:
    """Return the lowest role by a rule that is not the one of the code."""
    if path in PUBLIC:
        return Role.PUBLIC
    if path.startswith("/admin"):
        return Role.ADMIN
    return Role.STEWARD if STEWARDS.search(path) else Role.ANALYST


def test_every_page_answers_its_roles_and_no_other(site: Site) -> None:
    site.client.follow_redirects = False
    callers = {None: Role.PUBLIC, "ann": Role.ANALYST, "sue": Role.STEWARD, "ada": Role.ADMIN}
    for (method, path), rule in ROUTES:
        assert rule.role == lowest(path), path
        for name, role in callers.items():
            filled = re.sub(r"\{([\w:]+)\}", lambda match: NAMES[match[1]], path)
            response = site.request(method, filled, name)
            sent_away = response.status_code == 303 and response.headers["location"].startswith("/sign-in")
            refused = sent_away if name is None else response.status_code == 403
            if path not in PUBLIC and path != "/sign-out":
                assert refused == (role < rule.role), (method, path, name, response.status_code)
            assert response.status_code < 500, (method, path, name, response.status_code)


def form_of(site: Site) -> dict[str, str]:
    text = site.request("GET", "/sign-in?next=/history", None).text
    return {name: re.search(f'name="{name}" value="([^"]*)"', text)[1] for name in ("csrf", "next")}  # type: ignore[index]


def test_a_person_signs_in_by_the_form_and_posts_with_its_token(site: Site) -> None:
    people.change(site.server.store, "ann", password=PASSWORD)
    client = site.client
    client.follow_redirects = False
    form = {**form_of(site), "name": "ann", "password": PASSWORD}
    refused = client.post("/sign-in", data={**form, "csrf": "0" * 64})
    assert refused.status_code == 403
    assert "form has expired" in refused.text
    assert client.post("/sign-in", data={**form, "password": "wrong password"}).status_code == 401
    response = client.post("/sign-in", data=form)
    assert (response.status_code, response.headers["location"]) == (303, "/history")
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/history").status_code == 200
    assert client.post("/sign-out", data={"csrf": "0" * 64}).status_code == 403
    assert client.get("/history").status_code == 200
    csrf = re.search(r'name="csrf" value="(\w+)"', client.get("/account").text)
    assert csrf is not None
    assert client.post("/sign-out", data={"csrf": csrf[1]}).status_code == 303
    assert client.get("/history").status_code == 303


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/a\nb", ""])
def test_a_sign_in_leads_to_this_server_only(wanted: str) -> None:
    assert local_path(wanted) == "/"


def test_a_page_that_does_not_exist_is_a_page_for_browsers_and_a_problem_for_programs(site: Site) -> None:
    page = site.request("GET", "/nothing", None, headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["content-type"][:9]) == (404, "text/html")
    program = site.request("GET", "/nothing", None)
    assert program.headers["content-type"] == "application/problem+json"


def test_errors_of_a_plan_show_no_path(make_site: MakeSite) -> None:
    site = make_site()
    (site.policy.parent / "survey.csv").unlink()
    address = "/datasets/survey/ask?mode=sql&sql=SELECT count(*) FROM survey&amount=0.1"
    response = site.request("GET", address)
    assert response.status_code < 500
    assert str(site.policy.parent) not in response.text


def test_a_form_with_too_many_or_broken_fields_is_refused_without_a_charge(site: Site) -> None:
    for body in (
        "a=1&" * 5_000,
        "%ff%00=%",
        "sql=%00&mode=sql&amount=1&action=ask",
        "mode=form&measure=rows&amount=1e400&action=ask",
    ):
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Bearer {site.tokens['ann']}"}
        response = site.client.post("/datasets/survey/ask", content=body, headers=headers)
        assert response.status_code in (200, 422), body[:20]
    assert site.spent() == 0
