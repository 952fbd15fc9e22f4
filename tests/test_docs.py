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


def test_the_index_links_every_page() -> None:
    linked = {(DOCS / link).resolve() for link in _LINK.findall((DOCS / "index.md").read_text("utf-8"))}
    assert [page.name for page in PAGES if page.resolve() not in linked and page.name != "index.md"] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_imports_public_names_only(page: Path) -> None:
    assert _DEEP.findall(page.read_text("utf-8")) == []
