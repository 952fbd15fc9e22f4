from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
_PATH = re.compile(r"`((?:src|tests|bench|tools|docs)/[\w./-]*|[\w/-]+/[\w-]+\.py)`")
_ROOTS = (ROOT, ROOT / "src" / "tacit", ROOT / "tests")
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
_DEEP = re.compile(r"(?:from|import) tacit\.(?!safe_text\b|auditing\.receipts\b)(\w+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_and_links_of_a_page_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    missing = [path for path in _PATH.findall(text) if not any((root / path).exists() for root in _ROOTS)]
    missing += [link for link in _LINK.findall(text) if not (page.parent / link).exists()]
    assert missing == []


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    texts = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in texts}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_to_a_heading_finds_it(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", page.read_text("utf-8"))
    found = [(link, anchor, page.parent / link if link else page) for link, anchor in links]
    assert [f"{link}#{anchor}" for link, anchor, target in found if anchor not in anchors(target)] == []


def test_each_task_leads_to_a_page_and_a_start_page_leads_to_the_tasks() -> None:
    tasks = (DOCS / "how-to" / "tasks.md").read_text("utf-8")
    rows = re.findall(r"^\| (?!task |---)(.+?) \| \[[^]]+\]\(([^)]+)\) \|$", tasks, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| (?!task )[^-]", tasks, re.MULTILINE))
    assert len({task for task, _ in rows}) == len(rows) >= 40
    assert "](how-to/tasks.md)" in (DOCS / "index.md").read_text("utf-8")


def test_the_index_links_every_page() -> None:
    linked = {(DOCS / link).resolve() for link in _LINK.findall((DOCS / "index.md").read_text("utf-8"))}
    assert [page.name for page in PAGES if page.resolve() not in linked and page.name != "index.md"] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_imports_public_names_only(page: Path) -> None:
    assert _DEEP.findall(page.read_text("utf-8")) == []
