"""All sources of the site in one folder: hand-written pages, generated pages, first pages of sections, settings."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from docs_site import command_pages, error_pages, name_pages, route_pages, setting_pages
from docs_site.names import public_names
from docs_site.pages import ROOT, Page
from docs_site.sections import INDEX, landings, sections
from docs_site.staging import copy_linked, handwritten
from docs_site.start import start_page

HERE = Path(__file__).parent
ICON = ROOT / "src" / "tacit" / "web" / "static" / "icon.svg"


def generated() -> list[Page]:
    """Return all pages that the code describes."""
    overviews = [setting_pages.page(), error_pages.page(), route_pages.page()]
    return [*overviews, *name_pages.pages(public_names()), *command_pages.pages()]


def all_pages() -> dict[str, Page]:
    """Return every page of the site by its path."""
    index = (ROOT / INDEX).read_text("utf-8")
    pages = _distinct([*(page for _, page in handwritten()), *generated()])
    firsts = [first for section in sections(index) for first in landings(section, index, pages.values())]
    return pages | _distinct([*firsts, start_page(index)])


def _distinct(pages: Iterable[Page]) -> dict[str, Page]:
    found: dict[str, Page] = {}
    for page in pages:
        if page.path in found:
            raise ValueError(f"Two pages have the path {page.path}.")
        found[page.path] = page
    return found


def stage(target: Path, notebooks: Path) -> list[str]:
    """Write all sources and return the links of hand-written pages to files that do not exist.

    Args:
        target: the folder of the sources.
        notebooks: the folder of the tutorials as notebooks, which may not exist.
    """
    for path, page in all_pages().items():
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(with_notebook(page, notebooks), "utf-8")
    shutil.copytree(HERE / "static", target / "_static")
    shutil.copyfile(ICON, target / "_static" / "icon.svg")
    shutil.copyfile(HERE / "conf.py", target / "conf.py")
    return copy_linked(target)


def with_notebook(page: Page, notebooks: Path) -> str:
    """Return the text of a page with a link to its notebook below the title, if there is one."""
    place = PurePosixPath(page.path)
    notebook = notebooks / f"{place.stem}.ipynb"
    if str(place.parent) != "tutorial" or not notebook.exists():
        return page.text
    title, _, rest = page.text.partition("\n")
    return f'{title}\n\n<p><a href="../notebooks/{notebook.name}" download>This page as a notebook</a></p>\n{rest}'
