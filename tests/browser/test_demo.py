"""`tacit serve --demo`: from the start to a first private chart, as a person without a manual would do it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from workbench import Take, Workbench


@pytest.fixture
def demo() -> Iterator[tuple[str, str]]:
    """Start the demo, and return its address and the password of the analyst ann."""
    command = [sys.executable, "-m", "tacit", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        text = ""
        assert process.stdout is not None
        for line in process.stdout:
            text += line
            address = re.search(r"Serving on (\S+?)\.(?:\s|$)", text)
            if address is not None:
                break
        password = re.search(r"analyst\s+ann\s+password (\S+)", text)
        assert address is not None, text
        assert password is not None, text
        yield address[1], password[1]
        process.terminate()
        process.wait(30)


def test_the_demo_leads_to_a_first_chart(workbench: Workbench, demo: tuple[str, str], picture: Take) -> None:
    address, password = demo
    context = workbench.browser.new_context(base_url=address, viewport={"width": 1100, "height": 760})
    page = context.new_page()
    page.goto("/")
    page.fill("#name", "ann")
    page.fill("#password", password)
    page.click("button:text('Sign in')")
    page.click("text=Ask survey")
    page.select_option("#measure", label="Average of income")
    page.check("text=region")
    page.click("[data-choose='0.5']")
    page.click("text=Ask and charge")
    page.wait_for_selector("figure[data-drawn] svg")
    assert page.locator(".values tbody tr").count() == 4
    picture(page, "answer")
    context.close()
