"""Pages of the site: where each file of the repository is in it, and Markdown that is safe in any place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PROJECT = {
    "README.md": "project/readme.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "bench/RESULTS.md": "project/benchmarks.md",
    "docs/architecture.md": "project/architecture.md",
    "docs/glossary.md": "project/glossary.md",
}
"""Where pages outside of a section's folder are in the site."""

_LINK = re.compile(r"(\]\()((?![a-z]+:|#)[^)\s#]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the site: its path, its text, and the sentence that lists of pages show."""

    path: str
    text: str
    summary: str = ""

    @property
    def title(self) -> str:
        """The first heading."""
        return title_of(self.text)


def title_of(text: str) -> str:
    r"""Return the first heading of a page.

    >>> title_of("# Laws of noise\n")
    'Laws of noise'
    """
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    if found is None:
        raise ValueError("A page has no heading of the first level.")
    return found[1].strip()


def site_path(file: str) -> str:
    """Return where a file of the repository is in the site.

    >>> site_path("docs/how-to/open-spark.md"), site_path("README.md"), site_path("bench/noise.py")
    ('how-to/open-spark.md', 'project/readme.md', 'files/bench/noise.py')
    """
    if file in PROJECT:
        return PROJECT[file]
    if file == "examples/README.md":
        return "examples/overview.md"
    if file.startswith("examples/") and file.endswith("/README.md"):
        return f"examples/{file.split('/')[1]}.md"
    return file.removeprefix("docs/") if file.startswith("docs/") else f"files/{file}"


def linked_files(text: str, file: str) -> list[str]:
    """Return the files of the repository to which the Markdown of a file links, its pictures included.

    >>> linked_files("[a](../reference/sql.md#joins) ![b](x.svg) [c](https://example.org)", "docs/how-to/x.md")
    ['docs/reference/sql.md', 'docs/how-to/x.svg']
    """
    return [_target(file, found[2]) for found in _LINK.finditer(_FENCE.sub("", text))]


def relinked(text: str, file: str, path: str) -> str:
    """Return the text of a file with links that work from a path of the site; code blocks stay as they are.

    >>> relinked("[a](../../bench/RESULTS.md#noise)", "docs/how-to/x.md", "how-to/x.md")
    '[a](../project/benchmarks.md#noise)'
    """

    def rewrite(found: re.Match[str]) -> str:
        return found[1] + relative(site_path(_target(file, found[2])), path) + found[3]

    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(rewrite, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(rewrite, text[end:])])


def relative(path: str, start: str) -> str:
    """Return the link from one page to another.

    >>> relative("reference/sql.md", "how-to/x.md")
    '../reference/sql.md'
    """
    return PurePosixPath(os.path.relpath(path, PurePosixPath(start).parent)).as_posix()


def _target(file: str, link: str) -> str:
    return os.path.normpath(PurePosixPath(file).parent / link).replace(os.sep, "/")


def code(text: str) -> str:
    r"""Return a text as code, also in a cell of a table.

    >>> print(code("a | b"), code("`x`"))
    `a \| b` `` `x` ``
    """
    text = text.replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; the cells are Markdown too.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [head, *rows]
    text = [f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines]
    return "\n".join([text[0], "|---" * len(head) + "|", *text[1:]])


def sentence(text: str) -> str:
    """Return a text with a large first letter and a full stop; Greek letters are symbols and stay as they are.

    >>> sentence("the port to listen on"), sentence("ε of the query")
    ('The port to listen on.', 'ε of the query.')
    """
    text = text.strip()
    first = text[:1].upper() if text[:1].isascii() else text[:1]
    return f"{first}{text[1:]}{'' if not text or text.endswith(('.', '!', '?', ':')) else '.'}"
