"""The page of all errors: the tree, and each class with its attributes, exit code and status."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from docs_site.docstrings import prose, summary
from docs_site.name_pages import entry
from docs_site.names import Name, members
from docs_site.pages import Page, code, table

import tacit
from tacit.cli.output import exit_code
from tacit.errors import TacitError
from tacit.query.policy import mistakes
from tacit.web.problems import content_of

PATH = "reference/code/errors.md"
_INTRODUCTION = (
    "All errors are subclasses of `tc.TacitError`. A message is a fact; a hint says what to do next. Code branches on "
    "classes and attributes, never on the text of a message."
)
_MODULES = (TacitError.__module__, mistakes.__name__)
"""The modules of errors that leave tacit; other modules have errors that tacit itself catches."""


def classes(root: type[TacitError] = TacitError) -> list[type[TacitError]]:
    """Return every class of errors that leaves tacit, each after its bases."""
    found = [root]
    for child in sorted(root.__subclasses__(), key=lambda kind: kind.__name__):
        if child.__module__ in _MODULES:
            found += [kind for kind in classes(child) if kind not in found]
    return list(dict.fromkeys(found))


def page() -> Page:
    """Return the page."""
    rows = [
        [f"[{code(kind.__name__)}](#{_path(kind)})", _codes(kind), prose(summary(kind.__doc__))] for kind in classes()
    ]
    text = (
        "# Every error",
        _INTRODUCTION,
        f"```text\n{chr(10).join(_tree())}\n```",
        table(["class", "exit code and status", "when"], rows),
        *(entry(_name(kind)) for kind in classes()),
    )
    return Page(PATH, "\n\n".join(text) + "\n", "The tree of error classes, their attributes, exit codes and statuses.")


def _tree(root: type[TacitError] = TacitError, indent: str = "") -> Iterator[str]:
    """Yield a line for each class, below its first base."""
    yield indent + root.__name__
    for kind in classes(root)[1:]:
        if kind.__bases__[0] is root:
            yield from _tree(kind, indent + "    ")


def _codes(kind: type[TacitError]) -> str:
    """Return the exit code of the shell and the status of the server for a class."""
    error = kind.__new__(kind, "A fact.")
    vars(error).update(argument=None, mistakes=())
    with _silence():
        return f"{exit_code(error)}, {content_of(error, str)[0]}"


@contextmanager
def _silence() -> Iterator[None]:
    """Write no log: the server logs each error that it shows."""
    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _path(kind: type[TacitError]) -> str:
    return f"tacit.{kind.__name__}" if kind.__name__ in tacit.__all__ else f"{kind.__module__}.{kind.__name__}"


def _name(kind: type[TacitError]) -> Name:
    return Name(_path(kind), kind, "errors", tuple(members(kind)))
