"""A workbench in a browser: its server, its people, and pages that are watched.

Every page that a test opens is watched: a request to another host, an error on the console (such as one of the content
security policy) or an exception fails the test.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tacit.web.credentials import start_session
from tacit.web.security import PLAIN_COOKIE
from tacit.web.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PASSWORD = "correct horse battery"  # noqa: S105 - of people in tests
ROLES = {"ann": "analyst", "sue": "steward", "tom": "steward", "ada": "admin"}
PICTURES = Path(__file__).parents[1] / "docs" / "images" / "workbench"
AXE = Path(__file__).parent / "browser" / "vendor" / "axe.min.js"
SQL = "SELECT region, count(*) AS n, avg(income) AS income FROM survey GROUP BY region"
Take = Callable[["Page", str], None]


@dataclass
class Workbench:
    """A running server, and pages of its people."""

    address: str
    folder: Path
    state: Server
    browser: Browser
    strange: list[str] = field(default_factory=list)
    cookies: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def context(self, name: str | None = None, **options: Any) -> Iterator[BrowserContext]:  # noqa: ANN401 - Playwright's
        """Yield a browser context in which a person is signed in."""
        context = self.browser.new_context(
            base_url=self.address, **{"viewport": {"width": 1100, "height": 800}, **options}
        )
        context.set_default_timeout(20_000)
        if name is not None:
            context.add_cookies([{"name": PLAIN_COOKIE, "value": self._cookie(name), "url": self.address}])
        context.on("request", lambda request: self._check_host(request.url))
        context.on("console", lambda message: self._note(message.type, message.text))
        context.on("weberror", lambda error: self._note("error", str(error.error)))
        try:
            yield context
        finally:
            context.close()

    @contextmanager
    def page(self, name: str | None = None, **options: Any) -> Iterator[Page]:  # noqa: ANN401 - Playwright's
        """Yield a page of a person."""
        with self.context(name, **options) as context:
            yield context.new_page()

    def _cookie(self, name: str) -> str:
        if name not in self.cookies:
            self.cookies[name] = start_session(self.state.store, name, 3600)[0]
        return self.cookies[name]

    def _check_host(self, url: str) -> None:
        if urlsplit(url).scheme != "data" and not url.startswith(self.address):
            self.strange.append(f"request to {url}")

    def _note(self, kind: str, text: str) -> None:
        if kind == "error" and "status of 4" not in text:
            self.strange.append(text)


def ask(page: Page, sql: str = SQL, epsilon: str = "0.5") -> str:
    """Ask a question in SQL and return the address of its answer."""
    page.goto("/datasets/survey/ask?mode=sql")
    page.fill("#sql", sql)
    page.fill("#amount", epsilon)
    page.click("button[value=ask]")
    page.wait_for_selector("table.values")
    return page.url


def violations(page: Page, *rules: str) -> list[str]:
    """Return what axe-core finds wrong in a page."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    chosen = (
        {"runOnly": list(rules)}
        if rules
        else {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
    )
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", chosen)
    return [
        f"{page.url} {each['id']}: {node['html'][:150]} {node.get('failureSummary', '')[:200]}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
