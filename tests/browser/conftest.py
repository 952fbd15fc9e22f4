"""The server and the browser of all tests here. `workbench.py` says what is watched."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn

from tacit.cli.demo import write_survey
from tacit.cli.serve import DEMO_POLICY
from tacit.web import people
from tacit.web.app import create_app
from tacit.web.server import open_server
from tacit.web.settings import ServerSettings
from workbench import CHROMIUM, FLAGS, PASSWORD, PICTURES, ROLES, Workbench

if TYPE_CHECKING:
    from playwright.sync_api import Page


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if CHROMIUM is None and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="Chromium is missing: apt install chromium"))


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """Run a server and a browser for all tests."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where a browser runs

    folder = tmp_path_factory.mktemp("workbench")
    write_survey(folder)
    policy = folder / "survey.toml"
    policy.write_text(DEMO_POLICY.replace("epsilon = 4.0", "epsilon = 400.0").replace("= 10.0", "= 1000.0"))
    settings = ServerSettings(policies=(str(policy),), quantum=0.05)
    opened = open_server(settings)
    for name, role in ROLES.items():
        people.add(opened.store, name, role, PASSWORD if name == "ann" else None)
    config = uvicorn.Config(create_app(settings, opened), host="127.0.0.1", port=0, log_config=None, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="workbench", daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=list(FLAGS))
        yield Workbench(f"http://127.0.0.1:{port}", folder, opened, browser)
        browser.close()
    server.should_exit = True
    thread.join(30)


@pytest.fixture
def workbench(running: Workbench) -> Iterator[Workbench]:
    """Return the server, and fail if a page did something strange."""
    running.strange.clear()
    yield running
    assert running.strange == []


@pytest.fixture
def picture(tmp_path: Path) -> Callable[[Page, str], None]:
    """Return what takes a picture of a page: for the documentation, if TACIT_TEST_PICTURES is set."""

    def take(page: Page, name: str) -> None:
        folder = PICTURES if os.environ.get("TACIT_TEST_PICTURES") else tmp_path
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=folder / f"{name}.png", animations="disabled")
        assert (folder / f"{name}.png").stat().st_size > 1_000

    return take
