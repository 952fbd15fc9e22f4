"""Find the faults of a built site: broken links, pages far from the start page, requests that leave the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

CLICKS = 2
_LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("object", "data"),
}
_STYLE = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^'\")]+)|@import\s+(?:url\()?\s*['\"]((?:https?:)?//[^'\"]+)")
_TOOLS = ("search.html", "genindex.html")
"""Pages that a box or a button of every page opens."""


@dataclass(slots=True)
class Document(HTMLParser):
    """The links, the names and the loaded files of a page."""

    links: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Prepare the parser."""
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links, names and loads."""
        values = {name: value or "" for name, value in attrs}
        self.names |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and values.get("rel") not in ("canonical", "next", "prev", "search", "index", "author"):
            self.loaded.append(values.get("href", ""))
        self.loaded += [values[name] for kind, name in _LOADED if kind == tag and values.get(name)]


def problems(site: Path) -> list[str]:
    """Return a sentence for everything that is wrong with a site."""
    documents = {path.relative_to(site).as_posix(): _parsed(path) for path in sorted(site.rglob("*.html"))}
    documents = {name: one for name, one in documents.items() if not name.startswith("_static/")}
    found = [*_broken(site, documents), *_outside(site, documents)]
    near = within(documents, CLICKS)
    far = [name for name in documents if name not in near and name not in _TOOLS]
    return found + [f"{name} is more than {CLICKS} clicks from the start page." for name in far]


def within(documents: dict[str, Document], clicks: int, start: str = "index.html") -> set[str]:
    """Return the pages that so many clicks reach from the start page."""
    reached = {start}
    for _ in range(clicks):
        reached |= {_target(page, link)[0] for page in reached & documents.keys() for link in documents[page].links}
    return reached


def _parsed(path: Path) -> Document:
    document = Document()
    document.feed(path.read_text("utf-8"))
    return document


def _target(page: str, link: str) -> tuple[str, str]:
    """Return the file and the name to which a link of a page leads; an empty file for other sites."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return "", ""
    base = Path("/", page)
    path = (base.parent / unquote(parts.path)) if parts.path else base
    steps: list[str] = []
    for step in path.parts[1:]:
        steps = steps[:-1] if step == ".." else [*steps, step]
    name = "/".join(steps)
    return (f"{name}/index.html".lstrip("/") if parts.path.endswith("/") else name), unquote(parts.fragment)


def _broken(site: Path, documents: dict[str, Document]) -> Iterator[str]:
    for page, document in documents.items():
        for link in dict.fromkeys((*document.links, *document.loaded)):
            file, name = _target(page, link)
            if not file or link.startswith("data:"):
                continue
            if not (site / file).is_file():
                yield f"{page} links {link}, which does not exist."
            elif name and file in documents and name not in documents[file].names:
                yield f"{page} links {link}, but {file} has no such place."


def _outside(site: Path, documents: dict[str, Document]) -> Iterator[str]:
    for page, document in documents.items():
        yield from (f"{page} loads {one} from another machine." for one in document.loaded if urlsplit(one).netloc)
    for path in sorted(site.rglob("*.css")):
        for found in _STYLE.finditer(path.read_text("utf-8")):
            yield f"{path.relative_to(site)} loads {found[1] or found[2]} from another machine."
