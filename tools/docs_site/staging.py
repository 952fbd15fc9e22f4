"""Hand-written pages as sources of the site: their links follow them, pictures get a light and a dark form."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from docs_site.pages import PROJECT, ROOT, Page, linked_files, relinked, site_path
from docs_site.sections import INDEX

_PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\s*'
    r'<img alt="(?P<alt>[^"]*)" src="(?P<light>[^"]+)"[^>]*>\s*</picture>'
)
_BLANK_END = re.compile(r"^(```[a-z]+\n(?:(?!```).*\n)*?)\n(```)$", re.MULTILINE)
"""A block of code whose last line is blank, with which a doctest ends its output."""
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def handwritten(root: Path = ROOT) -> Iterator[tuple[str, Page]]:
    """Yield each page of the repository with its file: those of `docs/` but the index, examples, and `PROJECT`."""
    found = [*sorted((root / "docs").rglob("*.md")), *sorted((root / "examples").rglob("README.md"))]
    inside = (path.relative_to(root).as_posix() for path in found)
    for file in dict.fromkeys((*inside, *PROJECT)):
        path = root / file
        if file != INDEX and path.exists():
            yield file, Page(site_path(file), staged(path.read_text("utf-8"), file))


def staged(text: str, file: str) -> str:
    """Return the text of a page as Sphinx needs it."""
    plain = _COMMENT.sub("", text) if file == "bench/RESULTS.md" else text
    trimmed = _BLANK_END.sub(r"\1\2", _PICTURE.sub(_both, plain))
    return relinked(trimmed, file, site_path(file))


def _both(found: re.Match[str]) -> str:
    """Return a picture as two; a page shows the one for its colours."""
    alt = found["alt"].replace("[", "\\[").replace("]", "\\]")
    return f"![{alt}]({found['light']}){{.only-light}}\n![{alt}]({found['dark']}){{.only-dark}}"


def copy_linked(target: Path, root: Path = ROOT) -> list[str]:
    """Copy the files that pages link, other than pages; return the links to files that do not exist.

    Args:
        target: the folder of the sources of the site.
        root: the repository.
    """
    missing = []
    files = [*(file for file, _ in handwritten(root)), INDEX]
    for file in files:
        text = _PICTURE.sub(_both, (root / file).read_text("utf-8"))
        for linked in linked_files(text, file):
            source = root / linked
            if not source.is_file():
                missing.append(f"{file}: {linked}")
            elif source.suffix != ".md":
                place = target / site_path(linked)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, place)
    return missing
