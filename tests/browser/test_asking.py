"""Asking in a browser: the live plan, the slider, completion, the chart, downloads, progress, and no JavaScript."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest
from sqlalchemy import update

from tacit.web import questions
from tacit.web.services import asking
from tacit.web.tables import QUESTIONS
from workbench import Take, Workbench, ask, violations


def spent(workbench: Workbench) -> float:
    """Return what everybody has spent."""
    with workbench.state.datasets["survey"].use() as one:
        return float(one.ledger.spent.loss)


def test_the_plan_follows_the_typing_and_spends_nothing(workbench: Workbench, picture: Take) -> None:
    before = spent(workbench)
    with workbench.page("ann") as page:
        page.goto("/datasets/survey/ask")
        page.select_option("#measure", "avg income")
        page.check("input[value=region]")
        page.wait_for_selector(".ladder")
        assert page.locator(".price").count() == 0
        assert "no default" in page.inner_text("#plan")
        page.click("[data-choose='0.5']")
        page.wait_for_selector(".price:has-text('ε = 0.5')")
        assert page.input_value("#amount") == "0.5"
        assert "± 2,39" in page.inner_text("tr[aria-current=true]")
        picture(page, "ask")
        page.fill("#error", "1000")
        page.wait_for_selector("text=Fill in “People in a group”.")
        page.fill("#assume", "2000")
        page.wait_for_selector(".price:has-text('ε = 0.5')")
        assert page.is_checked("input[value=yes]")
        page.locator(".slider").focus()
        page.keyboard.press("Home")
        page.wait_for_selector(".price:has-text('ε = 0.')")
        assert page.is_checked("input[value=no]")
    assert spent(workbench) == before


def test_names_are_completed(workbench: Workbench, picture: Take) -> None:
    with workbench.page("ann") as page:
        page.goto("/datasets/survey/ask?mode=sql")
        page.focus("#sql")
        page.keyboard.type("SELECT reg")
        page.wait_for_selector("#completions:not([hidden])")
        assert page.inner_text(".unseen[role=status]") == "2 completions"
        picture(page, "sql")
        assert violations(page) == []
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert page.input_value("#sql") == "SELECT region"
        page.keyboard.type(", count(*) FROM sur")
        page.keyboard.press("Enter")  # nothing is chosen, so it breaks the line
        assert page.input_value("#sql").endswith("sur\n")
        page.keyboard.press("Escape")
        assert page.is_hidden("#completions")


def test_an_answer_has_intervals_a_chart_and_files(workbench: Workbench) -> None:
    with workbench.page("ann") as page:
        address = ask(page)
        page.wait_for_selector("figure[data-drawn=light] svg")
        assert page.locator(".values .pm").count() == 8
        assert page.locator("figure svg[role=img]").get_attribute("aria-label")
        page.emulate_media(color_scheme="dark")
        page.wait_for_selector("figure[data-drawn=dark] svg")
        files = {kind: page.context.request.get(f"{address}/{kind}") for kind in FILES}
        assert {kind: each.status for kind, each in files.items()} == dict.fromkeys(FILES, 200)
        assert files["answer.csv"].text().splitlines()[0] == "region,n,n_low,n_high,income,income_low,income_high"
        assert files["answer.parquet"].body()[:4] == b"PAR1"
        assert files["chart.svg"].text().startswith("<svg")
        assert "vega-lite" in files["chart.json"].json()["$schema"]
        receipt = files["receipt.json"].json()
        values = page.inner_text(".values")
        before = spent(workbench)
        page.fill("#confidence", "0.5")
        page.click("text=Show, at no cost")
        page.wait_for_selector("caption:has-text('50%')")
        assert page.inner_text(".values") != values
        page.goto("/history")
        page.locator("a.code").first.click()
        page.wait_for_selector(".values")
        assert page.inner_text(".values") == values
        assert spent(workbench) == before
    with workbench.page("sue") as page:
        page.goto("/datasets/survey/ledger")
        page.fill("#receipt", json.dumps(receipt))
        page.click("text=Verify the ledger")
        page.wait_for_selector("text=The ledger holds.")
        receipt["ledger_link"] = "0" * 64
        page.fill("#receipt", json.dumps(receipt))
        page.click("text=Verify the ledger")
        page.wait_for_selector("text=The ledger does not hold")
        page.fill("#receipt", "<script>")
        page.click("text=Verify the ledger")
        page.wait_for_selector("text=This is not a receipt.")
        assert page.context.request.get(address).status == 404  # an answer is its analyst's alone


FILES = ("answer.csv", "answer.parquet", "answer.json", "chart.svg", "chart.json", "receipt.json")


def test_a_form_sent_twice_is_charged_once(workbench: Workbench) -> None:
    before = spent(workbench)
    with workbench.page("ann") as page:
        page.goto("/datasets/survey/ask?mode=sql&sql=SELECT sum(age) FROM survey&amount=0.6")
        fields = {each: page.locator(f"#ask [name={each}]").first.input_value() for each in ("csrf", "nonce", "sql")}
        form: dict[str, str | float | bool] = {**fields, "mode": "sql", "amount": "0.6", "action": "ask"}
        sent = [page.context.request.post("/datasets/survey/ask", form=form) for _ in range(2)]
        assert sent[0].url == sent[1].url
        assert round(spent(workbench) - before, 9) == 0.6
        forged = page.context.request.post("/datasets/survey/ask", form={**form, "csrf": "0" * 64})
        assert forged.status == 403


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Hold each question before its charge until the event is set."""
    event, original = threading.Event(), asking._job_gate

    def gate(*arguments: object) -> Callable[[], None]:
        event.wait(20)
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(asking, "_job_gate", gate)
    return event


def test_long_work_shows_progress_and_is_canceled_before_its_charge(
    workbench: Workbench, slow: threading.Event
) -> None:
    before = spent(workbench)
    with workbench.page("ann") as page:
        page.goto("/datasets/survey/ask?mode=sql")
        page.fill("#sql", "SELECT count(*) FROM survey")
        page.fill("#amount", "0.3")
        page.click("button[value=ask]")
        page.wait_for_selector("#progress")
        assert violations(page) == []
        assert "Nothing is charged yet" in page.inner_text("#progress")
        page.click("text=Cancel before the charge")
        page.wait_for_selector("text=Nothing was spent.")
        slow.set()
        page.goto("/datasets/survey/ask?mode=sql")
        slow.clear()
        page.fill("#sql", "SELECT count(*) FROM survey")
        page.fill("#amount", "0.3")
        page.click("button[value=ask]")
        page.wait_for_selector("#progress")
        slow.set()
        page.wait_for_selector("table.values")  # the page loads itself again at the end
    assert round(spent(workbench) - before, 9) == 0.3


def test_a_worker_that_was_killed_shows_as_interrupted(workbench: Workbench) -> None:
    store = workbench.state.store
    asked = ("ann", "survey", "answer")
    begun = questions.begin(
        store, "gone", asked, {"sql": "SELECT count(*) FROM survey", "epsilon": 0.1}, None, "running"
    )
    with store.writing() as connection:
        query = update(QUESTIONS).where(QUESTIONS.c.id == begun.question.id)
        connection.execute(query.values(beat=begun.question.beat - 60))
    with workbench.page("ann") as page:
        page.goto(f"/questions/{begun.question.id}")
        assert "the charge stands" in page.inner_text("main")


def test_without_javascript_pages_show_and_forms_post(workbench: Workbench) -> None:
    before = spent(workbench)
    with workbench.page("ann", java_script_enabled=False) as page:
        page.goto("/datasets/survey/ask")
        page.select_option("#measure", "rows")
        page.check("input[value=region]")
        page.select_option("[name=column0]", "age")
        page.select_option("[name=operator0]", ">=")
        page.fill("[name=value0]", "forty")
        page.click("text=Show the plan")
        page.wait_for_selector("text=This is not a whole number.")
        page.fill("[name=value0]", "40")
        page.fill("#amount", "0.4")
        page.click("text=Show the plan")
        page.wait_for_selector(".price:has-text('0.4')")
        assert spent(workbench) == before
        page.click("text=Ask and charge")
        page.wait_for_selector("table.values")
        assert page.locator("figure img").count() == 1
        assert page.context.request.get(page.locator("figure img").get_attribute("src") or "").status == 200
    assert round(spent(workbench) - before, 9) == 0.4


HOSTILE = "<img src=x onerror=alert(1)>{{7*7}}';--\u202e\x00"


@pytest.mark.parametrize(("mode", "names"), [("sql", ("sql", "assume")), ("form", ("amount", "value0"))])
def test_html_and_sql_in_every_field_are_text(workbench: Workbench, mode: str, names: tuple[str, ...]) -> None:
    with workbench.page("ann") as page:
        page.goto(f"/datasets/survey/ask?mode={mode}&measure=rows&column0=region&amount=1")
        if mode == "sql":
            page.fill("#sql", "SELECT count(*) FROM survey")
        for name in names:
            page.fill(f"[name={name}]", HOSTILE)
            with page.expect_response("**/plan") as planned:
                pass
            assert planned.value.status == 200
            assert "<img" not in planned.value.text()
        page.click("button[value=ask]")
        page.wait_for_selector(".notice.wrong, .values")
        assert page.locator("main img").count() == 0
