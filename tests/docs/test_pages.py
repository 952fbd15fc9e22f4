"""The site has every page, its links lead somewhere, and two clicks from the start page reach all of it."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest
from docs_site import staging
from docs_site.pages import ROOT, Page, linked_files, relinked, table
from docs_site.sections import INDEX, SECTIONS, landings, lists, sections
from docs_site.stage import all_pages, with_notebook

PAGES = all_pages()
IMAGES = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "images").rglob("*.*")}


def targets(page: Page) -> set[str]:
    """Return the paths of the site that a page links."""
    return set(linked_files(page.text, page.path))


def test_two_clicks_from_the_start_page_reach_every_page() -> None:
    once = targets(PAGES["index.md"])
    twice = set().union(*(targets(PAGES[path]) for path in once & PAGES.keys()))
    assert sorted(PAGES.keys() - once - twice - {"index.md"}) == []


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_the_links_of_a_page_lead_to_pages_or_files(page: Page) -> None:
    files = {path for path in targets(page) - PAGES.keys() - IMAGES if not _is_file(path)}
    assert sorted(files) == []


def _is_file(path: str) -> bool:
    place = path.removeprefix("files/") if path.startswith("files/") else f"docs/{path}"
    return (ROOT / place).is_file()


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_is_in_the_navigation_once(page: Page) -> None:
    places = [other.path for other in PAGES.values() if f"\n/{page.path}\n" in other.text]
    assert len(places) == (page.path != "index.md")


def test_a_new_page_needs_no_list_to_appear() -> None:
    index = (ROOT / INDEX).read_text("utf-8")
    for section in sections(index):
        new = Page(f"{section.folder}/a-new-page.md", "# A new page\n")
        first, *_ = landings(section, index, [new])
        assert "* [A new page](a-new-page.md)" in first.text
        assert "\n/" + new.path in first.text


def test_every_section_has_a_list_in_the_index() -> None:
    found = lists((ROOT / INDEX).read_text("utf-8"))
    assert [section.heading for section in sections((ROOT / INDEX).read_text("utf-8"))] == [*found][1:]


def test_a_heading_without_a_section_says_where_to_add_one() -> None:
    with pytest.raises(ValueError, match=r"\['Recipes'\]: add a section for each to SECTIONS in .*sections\.py"):
        sections("**Tutorials**\n* [a](tutorial/a.md)\n\n**Recipes**\n* [b](recipes/b.md)\n")


def test_the_rest_of_a_heading_is_the_first_sentence_of_its_list() -> None:
    found = lists("Hello.\n\n**Tutorials**: eight pages.\n* [a](tutorial/a.md)\n")
    assert found["Tutorials"] == "Eight pages.\n\n* [a](tutorial/a.md)"


def test_a_page_of_every_folder_is_in_a_section() -> None:
    folders = {group.folder for section in SECTIONS for group in section.groups}
    known = folders | {section.folder for section in SECTIONS} | {"."}
    assert {str(PurePosixPath(path).parent) for path in PAGES} - known == set()


def test_generated_pages_are_not_in_the_repository() -> None:
    made = [path for path in PAGES if path.startswith(("reference/python/", "reference/shell/", "reference/code/"))]
    assert len(made) > 30
    assert [path for path in made if (ROOT / "docs" / path).exists()] == []


def test_links_follow_their_pages_and_code_stays() -> None:
    text = "[a](../../README.md#x) `[b](../c.md)`\n\n```md\n[d](../e.md)\n```\n[f](https://example.org) [g](#h)\n"
    moved = relinked(text, "docs/how-to/x.md", "how-to/x.md")
    assert "[a](../project/readme.md#x)" in moved
    assert "[d](../e.md)" in moved
    assert "[f](https://example.org) [g](#h)" in moved


def test_code_has_no_blank_line_at_its_end() -> None:
    text = "```python\n>>> 1\n1\n\n>>> 2\n2\n\n```\n\n```\nx\n```\n\n```sh\ny\n```\n"
    assert staging.staged(text, "docs/how-to/x.md") == text.replace("2\n\n```", "2\n```")


def test_a_picture_has_a_light_and_a_dark_form() -> None:
    source = (ROOT / "docs" / "explanation" / "laws.md").read_text("utf-8")
    text = staging.staged(source, "docs/explanation/laws.md")
    assert "<picture>" not in text
    assert text.count("{.only-light}") == text.count("{.only-dark}") == source.count("<picture>") > 5


def test_linked_files_that_are_no_pages_are_copied(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# Page\n\n[a](data.csv) [b](../tool.py) [c](lost.csv)\n", "utf-8")
    (tmp_path / "docs" / "data.csv").write_text("x\n1\n", "utf-8")
    (tmp_path / "tool.py").write_text("print()\n", "utf-8")
    (tmp_path / INDEX).write_text("**Tutorials**\n* [Page](page.md)\n", "utf-8")
    assert staging.copy_linked(tmp_path / "out", tmp_path) == ["docs/page.md: docs/lost.csv"]
    copied = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*"))
    assert copied == ["data.csv", "files/tool.py"]


def test_every_page_has_one_first_heading() -> None:
    for page in PAGES.values():
        text = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", page.text, flags=re.MULTILINE | re.DOTALL)
        assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1, page.path


def test_cells_of_a_table_stay_on_one_line() -> None:
    assert table(["a"], [["one\ntwo"]]).splitlines()[2] == "| one two |"


def test_a_tutorial_links_its_notebook_if_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "first.ipynb").write_text("{}", "utf-8")
    first, second = Page("tutorial/first.md", "# First\n\nText.\n"), Page("tutorial/second.md", "# Second\n")
    assert 'href="../notebooks/first.ipynb"' in with_notebook(first, tmp_path)
    assert with_notebook(first, tmp_path).startswith("# First\n")
    assert with_notebook(second, tmp_path) == second.text
    assert with_notebook(Page("how-to/first.md", "# First\n"), tmp_path) == "# First\n"
