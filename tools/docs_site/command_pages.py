"""One page for each command of the shell, or for each group: usage, arguments and options with their help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from docs_site.docstrings import prose, summary
from docs_site.pages import Page, code, sentence, table

from tacit.cli.main import app

FOLDER = "reference/shell"
_LINKS = (
    "See also [the command line](../command-line.md), which has examples, exit codes and the JSON of each command, "
    "and [every setting](../code/settings.md)."
)


def commands() -> Iterator[tuple[str, Any]]:
    """Yield each command with its full name, groups before their commands.

    >>> [name for name, _ in commands()][:3]
    ['tacit', 'tacit demo', 'tacit init']
    """
    return _walk("tacit", typer.main.get_command(app))


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - typer may bundle its copy of click
    yield name, command
    for short, child in getattr(command, "commands", {}).items():
        yield from _walk(f"{name} {short}", child)


def pages() -> list[Page]:
    """Return the page of `tacit` itself, of each command, and of each group with all its commands."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for name, command in commands():
        found.setdefault(" ".join(name.split()[:2]), []).append((name, command))
    return [_page(name, group) for name, group in found.items()]


def _page(name: str, group: list[tuple[str, Any]]) -> Page:
    text = [
        f"# {name}",
        *(part for each, command in group for part in _parts(each, command, heading=each != name)),
        _LINKS,
    ]
    path = f"{FOLDER}/{name.replace(' ', '-')}.md"
    return Page(path, "\n\n".join(text) + "\n", prose(summary(group[0][1].help)))


def _parts(name: str, command: Any, *, heading: bool) -> Iterator[str]:  # noqa: ANN401 - as above
    if heading:
        yield f"## {name}"
    yield prose(command.help or "")
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    yield f"```text\n{_usage(name, command, arguments)}\n```"
    if arguments:
        yield table(["argument", "meaning"], [[code(_shown(one)), prose(one.help or "")] for one in arguments])
    if options:
        yield table(["option", "meaning"], [[_spellings(one), _meaning(one)] for one in options])


def _usage(name: str, command: Any, arguments: list[Any]) -> str:  # noqa: ANN401 - as above
    words = [_shown(one) if one.required else f"[{_shown(one)}]" for one in arguments]
    last = ["COMMAND"] if getattr(command, "commands", None) else words
    return " ".join([name, "[OPTIONS]", *last])


def _shown(one: Any) -> str:  # noqa: ANN401 - as above
    """Return an argument as usage shows it."""
    name = str(one.metavar or one.name.upper())
    return name if one.nargs == 1 else f"{name} …"


def _spellings(one: Any) -> str:  # noqa: ANN401 - as above
    return ", ".join(code(spelling) for spelling in (*one.opts, *one.secondary_opts))


def _meaning(one: Any) -> str:  # noqa: ANN401 - as above
    """Return the help of an option with its default and its environment variable."""
    parts = [prose(sentence(one.help or ""))]
    if one.required:
        parts.append("Required.")
    elif not one.is_flag and isinstance(one.default, int | float | str) and one.default != "":
        parts.append(f"Default: {code(str(one.default))}.")
    if one.envvar:
        parts.append(f"Environment: {code(str(one.envvar))}.")
    return " ".join(parts)
