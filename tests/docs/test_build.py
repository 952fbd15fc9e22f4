"""The built site has no broken link, opens without a network, is searched from a disk, and fits a phone."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from build_docs import build
from docs_site.check import problems, within

from workbench import CHROMIUM, FLAGS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LACKS_SPHINX = importlib.util.find_spec("sphinx") is None
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
SHOWN = (
    "index.html",
    "how-to/choose-limits.html",
    "explanation/laws.html",
    "reference/policy.html",
    "reference/python/databases.html",
    "reference/shell/tacit-query.html",
    "reference/code/settings.html",
    "reference/code/routes.html",
    "project/benchmarks.html",
)


def write(folder: Path, **pages: str) -> Path:
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, "utf-8")
    return folder


def test_a_sound_site_has_no_problems(tmp_path: Path) -> None:
    link = '<a href="page.html#part">page</a> <a href="https://example.org">elsewhere</a>'
    assert problems(write(tmp_path, index=link, page='<p id="part"><a href="index.html">back</a></p>')) == []


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        ('<a href="lost.html">x</a>', "index.html links lost.html, which does not exist."),
        ('<a href="#lost">x</a>', "index.html links #lost, but index.html has no such place."),
        ('<img src="lost.png">', "index.html links lost.png, which does not exist."),
        ('<script src="https://cdn.example.org/x.js"></script>', "https://cdn.example.org/x.js from another machine."),
        ('<link rel="stylesheet" href="//fonts.example.org/x.css">', "//fonts.example.org/x.css from another machine."),
        ('<link rel="preconnect" href="https://fonts.example.org">', "https://fonts.example.org from another machine."),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, index: str, problem: str) -> None:
    found = problems(write(tmp_path, index=index))
    assert len(found) == 1
    assert found[0].endswith(problem)


def test_a_style_that_loads_a_font_is_found(tmp_path: Path) -> None:
    (tmp_path / "site.css").write_text("@font-face { src: url('https://fonts.example.org/x.woff2') }", "utf-8")
    assert problems(write(tmp_path, index="")) == [
        "site.css loads https://fonts.example.org/x.woff2 from another machine."
    ]


def test_a_page_that_is_three_clicks_away_is_found(tmp_path: Path) -> None:
    chain = {"index": "a", "a": "b", "b": "c", "c": "a"}
    write(tmp_path, **{name: f'<a href="{other}.html">x</a>' for name, other in chain.items()})
    assert problems(tmp_path) == ["c.html is more than 2 clicks from the start page."]
    assert within({}, 2) == {"index.html"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; the check of its links is part of it."""
    folder = tmp_path_factory.mktemp("docs")
    notebooks = folder / "site" / "notebooks"
    notebooks.mkdir(parents=True)
    (notebooks / "first-release.ipynb").write_text("{}", "utf-8")
    assert build(folder / "site", folder / "work", notebooks) == []
    return folder / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where a browser runs

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=list(FLAGS))
        yield opened
        opened.close()


def opened(browser: Browser, size: dict[str, int], scheme: str) -> tuple[Page, list[str]]:
    """Return a page, and the list of the addresses beyond this disk that it asks for."""
    page = browser.new_context(
        viewport={"width": size["width"], "height": size["height"]},
        color_scheme="dark" if scheme == "dark" else "light",
    ).new_page()
    outside: list[str] = []
    page.on("request", lambda one: None if one.url.startswith(("file:", "data:")) else outside.append(one.url))
    return page, outside


@pytest.mark.long
@pytest.mark.skipif(LACKS_SPHINX, reason="Sphinx is missing: pip install --group docs")
def test_the_site_builds_without_a_problem(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 100
    assert (site / "searchindex.js").stat().st_size > 100_000


@pytest.mark.long
@pytest.mark.skipif(LACKS_SPHINX, reason="Sphinx is missing: pip install --group docs")
def test_the_site_keeps_and_links_the_notebooks(site: Path) -> None:
    assert (site / "notebooks" / "first-release.ipynb").read_text("utf-8") == "{}"
    assert 'href="../notebooks/first-release.ipynb"' in (site / "tutorial" / "first-release.html").read_text("utf-8")


@pytest.mark.long
@pytest.mark.skipif(LACKS_SPHINX or CHROMIUM is None, reason="Sphinx or Chromium is missing")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_pages_fit_the_screen_and_ask_no_other_machine(
    site: Path, browser: Browser, size: dict[str, int], scheme: str
) -> None:
    page, outside = opened(browser, size, scheme)
    for name in SHOWN:
        page.goto((site / name).as_uri())
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], name
    assert outside == []


@pytest.mark.long
@pytest.mark.skipif(LACKS_SPHINX or CHROMIUM is None, reason="Sphinx or Chromium is missing")
@pytest.mark.parametrize(
    ("words", "address"),
    [
        ("PermuteAndFlip", "reference/python/mechanisms.html#tacit.PermuteAndFlip"),
        ("disjoint-units", "reference/shell/tacit-ledger.html"),
        ("TACIT_SERVE_QUANTUM", "reference/code/settings.html"),
        ("Idempotency-Key", "reference/code/routes.html"),
    ],
)
def test_the_search_finds_a_page_without_a_server(site: Path, browser: Browser, words: str, address: str) -> None:
    page, outside = opened(browser, DESKTOP, "light")
    page.goto(f"{(site / 'search.html').as_uri()}?q={words}")
    page.wait_for_selector("#search-results li a")
    found = page.eval_on_selector_all("#search-results li a", "links => links.map(link => link.getAttribute('href'))")
    assert any(link.startswith(address) for link in found)
    assert outside == []


@pytest.mark.long
@pytest.mark.skipif(LACKS_SPHINX or CHROMIUM is None, reason="Sphinx or Chromium is missing")
@pytest.mark.parametrize(("scheme", "hidden"), [("light", "dark"), ("dark", "light")])
def test_a_picture_is_shown_in_the_colours_of_the_page(site: Path, browser: Browser, scheme: str, hidden: str) -> None:
    page, _ = opened(browser, DESKTOP, scheme)
    page.goto((site / "explanation" / "laws.html").as_uri())
    assert page.locator(f"img[src*='-{scheme}.svg']:visible").count() > 5
    assert page.locator(f"img[src*='-{hidden}.svg']:visible").count() == 0
    assert "{." not in page.inner_text("article")
