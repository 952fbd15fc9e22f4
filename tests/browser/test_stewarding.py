"""The pages of stewards and administrators: a report, the draft, a conflict, people."""

from __future__ import annotations

from workbench import Take, Workbench


def test_bounds_go_from_the_report_through_the_draft_into_the_policy(workbench: Workbench, picture: Take) -> None:
    with workbench.page("sue") as page:
        page.goto("/datasets/survey/limits")
        page.check("input[value=bounds]")
        page.select_option("[name=column]", "income")
        page.fill("#amount", "1")
        page.click("text=Show the plan")
        page.wait_for_selector("text=It would cost ε = 1")
        page.click("text=Measure and charge")
        page.wait_for_selector("figure[data-drawn]")
        picture(page, "bounds")
        page.click("text=Put it into the policy's draft")
        bounds = "[data-field='tables.survey.columns.income.bounds']"
        page.wait_for_selector(bounds)
        suggested = page.input_value(bounds)
        assert suggested != "[0, 200_000]"
        assert f'+income = {{ type = "real", bounds = {suggested} }}' in page.inner_text(".diff")
        page.fill("[data-field='tables.survey.columns.age.bounds']", "[95, 18]")
        page.wait_for_selector(".row .error:has-text('the lower one first')")
        page.fill("[data-field='tables.survey.columns.age.bounds']", "[18, 95]")
        page.wait_for_selector("text=This changes the promise")
        picture(page, "policy")
        page.click("text=Save the policy")
        page.wait_for_selector("text=If this is intended")
        page.check("[name=accept]")
        page.click("text=Save the policy")
        page.wait_for_selector("text=The policy was saved.")
    assert suggested in (workbench.folder / "survey.toml").read_text()


def test_two_stewards_who_edit_one_policy_get_a_conflict(workbench: Workbench) -> None:
    with workbench.page("sue") as sue, workbench.page("tom") as tom:
        for page in (sue, tom):
            page.goto("/datasets/survey/policy?mode=text")
        text = tom.input_value("#text")
        sue.fill("#text", f"# by sue\n{text}")
        sue.click("text=Save the policy")
        sue.wait_for_selector("text=The policy was saved.")
        tom.fill("#text", f"# by tom\n{text}")
        tom.click("text=Save the policy")
        tom.wait_for_selector("text=Another steward saved this policy")
        assert "-# by sue" in tom.inner_text(".diff")
        assert "# by sue" in (workbench.folder / "survey.toml").read_text()
        tom.click("text=Save the policy")
        tom.wait_for_selector("text=The policy was saved.")
    assert "# by tom" in (workbench.folder / "survey.toml").read_text()


def test_the_ledger_shows_what_is_left(workbench: Workbench, picture: Take) -> None:
    with workbench.page("sue") as page:
        page.goto("/datasets/survey/ask?mode=sql")
        page.fill("#sql", "SELECT count(*) AS n FROM survey")
        page.fill("#amount", "0.5")
        page.click("button[value=ask]")
        page.wait_for_selector("table.values")
        page.goto("/datasets/survey/ledger")
        page.wait_for_selector("figure[data-drawn]")
        picture(page, "ledger")
        page.locator("tbody a").first.click()
        page.wait_for_selector("h2:text('Receipt')")
        assert '"mechanisms"' in page.inner_text("pre")


def test_an_administrator_adds_limits_and_removes_a_person(workbench: Workbench) -> None:
    with workbench.page("ada") as page:
        page.goto("/admin")
        page.fill("#name", "eve")
        page.fill("#new-password", "short")
        page.evaluate("document.querySelector('#new-password').removeAttribute('minlength')")
        page.click("button:text('Add')")
        page.wait_for_selector("text=A password has from 12")
        page.fill("#name", "eve")
        page.fill("#new-password", "several random words")
        page.click("button:text('Add')")
        page.wait_for_selector("th:text('eve')")
        page.select_option("[name=name] >> nth=-1", "eve")
        page.fill("#limit-1", "0.5")
        page.click("text=Set the limit")
        page.wait_for_selector("tr:has(th:text('eve')) >> text=ε = 0.5")
        page.click("button[aria-label='Remove eve']")
        page.wait_for_load_state()
        page.click("text=Audit log")
        page.wait_for_selector("td:text('remove person')")


def test_a_token_is_shown_once(workbench: Workbench) -> None:
    with workbench.page("ann") as page:
        page.goto("/account")
        page.fill("#label", "notebook")
        page.click("button:text('Make a token')")
        token = page.inner_text(".good code")
        with workbench.context() as programs:
            headers = {"Authorization": f"Bearer {token}"}
            assert programs.request.get("/api/v1/me", headers=headers).json()["name"] == "ann"
        page.goto("/account")
        assert token not in page.content()
        page.click("text=Remove")
        page.wait_for_selector("text=There is no token.")
