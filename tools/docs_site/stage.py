"""All sources of the site in one folder: hand-written pages, generated pages, first pages of sections, settings."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from docs_site import command_pages, error_pages, name_pages, route_pages, setting_pages
from docs_site.names import public_names
from docs_site.pages import ROOT, Page
from docs_site.sections import INDEX, SECTIONS, landings
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
    firsts = [first for section in SECTIONS for first in landings(section, index, pages.values())]
    return pages | _distinct([*firsts, start_page(index)])


def _distinct(pages: Iterable[Page]) -> dict[str, Page]:
    found: dict[str, Page] = {}
    for page in pages:
        if page.path in found:
            raise ValueError(f"Two pages have the path {page.path}.")
        found[page.path] = page
    return found


def stage(target: Path) -> list[str]:
    """Write all sources and return the links of hand-written pages to files that do not exist."""
    for path, page in all_pages().items():
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page.text, "utf-8")
    shutil.copytree(HERE / "static", target / "_static")
    shutil.copyfile(ICON, target / "_static" / "icon.svg")
    shutil.copyfile(HERE / "conf.py", target / "conf.py")
    return copy_linked(target)
