"""A running demo for the tutorial of the workbench, whose examples connect to a server."""

# ruff: noqa: INP001 - the pages are not a package

from __future__ import annotations

from collections.abc import Iterator

import pytest

from web.running import running


@pytest.fixture(autouse=True)
def demo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Serve the demo while the examples of the tutorial run."""
    page = request.node.path
    if (page.parent.name, page.name) != ("tutorial", "workbench.md"):
        yield
        return
    with running(tmp_path_factory.mktemp("demo"), "--demo") as server:
        monkeypatch.setenv("TACIT_URL", server.url)
        monkeypatch.setenv("TACIT_TOKEN", server.tokens["ann"])
        yield
