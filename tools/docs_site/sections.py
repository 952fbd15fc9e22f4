"""The sections of the site, from the folders of `docs/` and the lists of `docs/index.md`.

A new page appears in the section of its folder, in the order of the lists; pages that no list names come last.
A group is a folder of pages with a first page, so that the navigation stays short.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from docs_site.pages import Page, linked_files, relative, relinked, sentence

INDEX = "docs/index.md"
_HEADING = re.compile(r"^(?:\*\*(?P<bold>[^*\n]+)\*\*(?P<rest>:[^\n]*)?|## (?P<plain>[^\n]+))\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Group:
    """A folder of pages within a section: where it is in the site, its name, and what it is for."""

    folder: str
    name: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its folder in the site, its name in the navigation, its heading in `docs/index.md`, its groups."""

    folder: str
    name: str
    heading: str
    purpose: str
    groups: tuple[Group, ...] = ()


SECTIONS = (
    Section("tutorial", "Tutorials", "Tutorials", "Learn tacit by stories that run, each on data that comes with it."),
    Section("how-to", "How-to", "How-to guides", "Solve one task: limits, ledgers, servers, databases, audits."),
    Section("examples", "Examples", "Examples", "See whole jobs: programs with their data, which the tests run."),
    Section(
        "explanation", "Explanation", "Explanation", "Understand what ε promises, how noise works, and what can fail."
    ),
    Section(
        "reference",
        "Reference",
        "Reference",
        "Look up every name, command, setting, error and route.",
        (
            Group("reference/python", "Every name", "All public names of Python, from their docstrings."),
            Group("reference/shell", "Every command", "All commands of the shell with their options."),
            Group("reference/code", "Settings, errors and routes", "Everything that can be set, raised or called."),
        ),
    ),
    Section(
        "project",
        "Project",
        "For contributors",
        "See benchmarks, changes, decisions, and how the code is built.",
        (Group("decisions", "Decisions", "One page for each choice that would be hard to undo."),),
    ),
)


def sections(index: str) -> list[Section]:
    """Return the sections that `docs/index.md` has; ValueError for a heading without a section."""
    found = lists(index).keys() - {""}
    unknown = found - {section.heading for section in SECTIONS}
    if unknown:
        raise ValueError(
            f"{INDEX} has the headings {sorted(unknown)}: add a section for each to SECTIONS in {__file__}."
        )
    return [section for section in SECTIONS if section.heading in found]


def lists(index: str) -> dict[str, str]:
    r"""Return the list under each heading of `docs/index.md`.

    >>> lists("Hello.\n\n**Tutorials**\n* [First](tutorial/first.md): it.\n")
    {'': 'Hello.', 'Tutorials': '* [First](tutorial/first.md): it.'}
    """
    heads = list(_HEADING.finditer(index))
    ends = [*(head.start() for head in heads[1:]), len(index)]
    found = {"": index[: heads[0].start()].strip() if heads else index}
    for head, end in zip(heads, ends, strict=True):
        text = [sentence((head["rest"] or "").removeprefix(":")), index[head.end() : end].strip()]
        found[(head["bold"] or head["plain"]).strip()] = "\n\n".join(filter(None, text))
    return found


def landings(section: Section, index: str, pages: Iterable[Page]) -> list[Page]:
    """Return the first pages of a section and of its groups.

    The first page of a section has the list of `docs/index.md`, then all pages that the list does not name.

    Args:
        section: the section.
        index: the text of `docs/index.md`.
        pages: all other pages.
    """
    found = sorted(pages, key=lambda page: _place(page, index))
    groups = [(group, [page for page in found if _parent(page) == group.folder]) for group in section.groups]
    firsts = [_group_page(group, members) for group, members in groups]
    own = [page for page in found if _parent(page) == section.folder]
    path = f"{section.folder}/index.md"
    listed = relinked(lists(index)[section.heading], INDEX, path)
    shown = {str(PurePosixPath(link)) for link in linked_files(listed, path)}
    text = [f"# {section.name}", section.purpose, listed, _list([page for page in own if page.path not in shown], path)]
    for first, (_, members) in zip(firsts, groups, strict=True):
        others = [page for page in members if page.path not in shown]
        text += [
            f"## {first.title}",
            f"[{first.title}]({relative(first.path, path)}): {first.summary}",
            _list(others, path),
        ]
    text.append(_toctree([*own, *firsts]))
    return [Page(path, "\n\n".join(filter(None, text)) + "\n", section.purpose), *firsts]


def start_toctree(found: Iterable[Section]) -> str:
    """Return the hidden list of sections for the start page."""
    return _toctree([Page(f"{section.folder}/index.md", "") for section in found])


def _group_page(group: Group, pages: list[Page]) -> Page:
    path = f"{group.folder}/index.md"
    text = [f"# {group.name}", group.purpose, _list(pages, path), _toctree(pages)]
    return Page(path, "\n\n".join(text) + "\n", group.purpose)


def _list(pages: Iterable[Page], path: str) -> str:
    lines = [
        f"* [{page.title}]({relative(page.path, path)}){f': {page.summary}' if page.summary else ''}" for page in pages
    ]
    return "\n".join(lines)


def _toctree(pages: Iterable[Page]) -> str:
    """Return a list of pages for the navigation alone."""
    lines = "\n".join(f"/{page.path}" for page in pages)
    return f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{lines}\n```"


def _parent(page: Page) -> str:
    return str(PurePosixPath(page.path).parent)


def _place(page: Page, index: str) -> int:
    """Return where `docs/index.md` first links a page; pages that it does not link keep their order."""
    place = index.find(f"]({page.path}")
    return place if place >= 0 else len(index)
