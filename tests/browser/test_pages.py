"""Every page as every role: readable by axe-core's rules, at every size, in light and dark, with the keyboard alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from fastapi.routing import APIRoute

from tacit.web.access import Role
from tacit.web.pages import PAGES
from workbench import PASSWORD, ROLES, SQL, Workbench, ask, violations

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

DESK: ViewportSize = {"width": 1100, "height": 800}
PHONE: ViewportSize = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def addresses(running: Workbench) -> dict[str, list[str]]:
    """Return the pages that each role may see, with questions that were asked and a report."""
    with running.page("ann") as page:
        answer = ask(page)
    with running.page("sue") as page:
        page.goto("/datasets/survey/limits")
        page.check("input[value=bounds]")
        page.select_option("[name=column]", "income")
        page.fill("#amount", "0.5")
        page.click("button[value=ask]")
        page.wait_for_selector("text=Suggested")
        report = page.url
        page.goto("/datasets/survey/ledger")
        charge = page.locator("tbody a").first.get_attribute("href") or ""
    plan = "/datasets/survey/ask?measure=avg+income&by=region&amount=0.5"
    everybody = ["/", "/datasets/survey", plan, f"/datasets/survey/ask?mode=sql&sql={SQL}", "/history", "/account"]
    steward = ["/datasets/survey/limits", "/ledger", "/datasets/survey/ledger", charge, "/datasets/survey/policy",
               "/datasets/survey/policy?mode=text"]  # fmt: skip
    return {"ann": [answer, *everybody], "sue": [report, *steward], "ada": ["/admin", "/admin/audit"]}


@pytest.mark.parametrize("name", ["ann", "sue", "ada"])
def test_every_page_is_accessible_in_light_and_dark_and_fits_a_phone(
    workbench: Workbench, addresses: dict[str, list[str]], name: str
) -> None:
    wrong = []
    with workbench.page(name) as page:
        for address in addresses[name]:
            page.emulate_media(color_scheme="light")
            page.set_viewport_size(DESK)
            page.goto(address)
            page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
            if page.locator("figure[data-chart]").count():
                page.wait_for_selector("figure[data-drawn]")
            wrong += violations(page)
            page.emulate_media(color_scheme="dark")
            wrong += violations(page, "color-contrast")
            page.set_viewport_size(PHONE)
            width = page.evaluate("document.documentElement.scrollWidth")
            wrong += [f"{address} is {width} wide on a phone"] if width > PHONE["width"] else []
    assert wrong == []


def test_each_role_reaches_its_pages_and_no_other(workbench: Workbench, addresses: dict[str, list[str]]) -> None:
    least = {"ann": Role.ANALYST, "sue": Role.STEWARD, "ada": Role.ADMIN}
    shared = {name: [each for each in pages if "/questions/" not in each] for name, pages in addresses.items()}
    for person in ROLES:
        with workbench.context(person) as context:
            for name, pages in shared.items():
                may = Role[ROLES[person].upper()] >= least[name]
                statuses = {each: context.request.get(each).status for each in pages}
                assert set(statuses.values()) == {200 if may else 403}, (person, statuses)
    with workbench.context() as context:
        for address in (each for pages in shared.values() for each in pages):
            response = context.request.get(address, max_redirects=0)
            assert response.status == 303
            assert response.headers["location"].startswith("/sign-in")


def test_every_page_of_the_program_is_visited(addresses: dict[str, list[str]]) -> None:
    routes = [one for router in PAGES for one in router.routes if isinstance(one, APIRoute)]
    paths = {one.path for one in routes if "GET" in (one.methods or ())}
    paths -= {"/sign-in"}  # visited below
    ends = re.compile(r"/static/|/progress$|\.\{form\}$|/receipt\.json$|/burn-down\.")
    visited = [
        each.split("?")[0].removeprefix("http://").split("/", 1)[-1] for pages in addresses.values() for each in pages
    ]
    for path in paths:
        shape = re.compile(re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(path.lstrip("/"))))
        assert ends.search(path) or any(shape.fullmatch(each) for each in visited), path


def test_the_keyboard_alone_suffices_from_the_sign_in_to_an_answer(workbench: Workbench) -> None:
    with workbench.page() as page:
        page.goto("/")
        assert violations(page) == []
        page.keyboard.type("ann")
        page.keyboard.press("Tab")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:text('Datasets')")
        tab_to(page, "a.button:text('Ask survey')")
        page.keyboard.press("Enter")
        page.wait_for_selector("#measure")
        tab_to(page, "#measure")
        page.keyboard.type("Number of rows")
        tab_to(page, "input[value=region]")
        page.keyboard.press("Space")
        tab_to(page, "#amount")
        page.keyboard.type("0.7")
        page.wait_for_selector(".price:has-text('0.7')")
        tab_to(page, "button[value=ask]")
        page.keyboard.press("Enter")
        page.wait_for_selector("table.values")
        assert page.locator("table.values tbody tr").count() == 4


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus, which must then be visible."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(
            "selector => document.activeElement.matches(selector)", selector.split(":text", maxsplit=1)[0]
        ):
            text = selector.partition(":text('")[2].rstrip("')")
            if text in (page.evaluate("document.activeElement.textContent") or ""):
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
                return
    raise AssertionError(selector)


def test_the_first_focus_skips_to_the_content(workbench: Workbench) -> None:
    with workbench.page("ann") as page:
        page.goto("/")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
