"""Docstrings as Markdown: sections become lists, examples become code, formulas stay as they are."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples|Note):$")
_ITEM = re.compile(r"^(\*{0,2}\w[\w.]*(?:, \*{0,2}\w+)*): (.*)$", re.DOTALL)
_HEADS = {"Args": "Arguments", "Raises": "Errors"}
_TAG = re.compile(r"<(?=[A-Za-z/!])")
_STAR = re.compile(r"(?<=\S)\*(?=\S)")
_CODE = re.compile(r"(``.+?``|`[^`]+`)")
_START = re.compile(r"^(?=[%>+#=]|- )")


def markdown(docstring: str, *, without: Container[str] = ()) -> str:
    r"""Return a docstring as Markdown, without some sections.

    >>> print(markdown("Do it.\n\nArgs:\n    x: how\n        often."))
    Do it.
    <BLANKLINE>
    **Arguments**
    <BLANKLINE>
    * `x`: how often.
    """
    return "\n\n".join(_blocks(docstring.strip("\n").splitlines(), without))


def summary(docstring: str | None) -> str:
    r"""Return the first sentence of a docstring, as text.

    >>> summary("Return x. It is large.\n\nMore.")
    'Return x.'
    """
    paragraph = " ".join((docstring or "").strip().split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-ZΔ\"`(])", paragraph, maxsplit=1)[0]


def items(docstring: str | None, section: str) -> dict[str, str]:
    r"""Return the described names of a section of a docstring.

    >>> items("Do it.\n\nArgs:\n    x: how\n        often.\n    y: when.", "Args")
    {'x': 'how often.', 'y': 'when.'}
    """
    lines = (docstring or "").splitlines()
    heads = [number for number, line in enumerate(lines) if line.strip() == f"{section}:"]
    found = _entries(_indented(lines, heads[0] + 1)[0]) if heads else ()
    return {name: text for names, text in found for name in names.split(", ")}


def _blocks(lines: list[str], without: Container[str] = ()) -> Iterator[str]:
    """Yield the paragraphs, examples and sections."""
    place = 0
    while place < len(lines):
        line = lines[place]
        if not line.strip():
            place += 1
        elif head := _SECTION.match(line):
            body, place = _indented(lines, place + 1)
            if head[1] not in without:
                yield f"**{_HEADS.get(head[1], head[1])}**"
                yield _section(body)
        else:
            block, place = _block(lines, place)
            yield _shown(block)


def _block(lines: list[str], place: int) -> tuple[list[str], int]:
    """Return the lines up to a blank one, to a section or to the start of an example."""
    example = lines[place].lstrip().startswith(">>>")
    end = place + 1
    while end < len(lines) and lines[end].strip() and not _SECTION.match(lines[end]):
        if not example and lines[end].lstrip().startswith(">>>"):
            break
        end += 1
    return lines[place:end], end


def _indented(lines: list[str], place: int) -> tuple[list[str], int]:
    """Return the indented lines from a place on, without their indent, and the place after them."""
    end = place
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
        end += 1
    body = lines[place:end]
    indent = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
    return [line[indent:] for line in body], end


def _section(body: list[str]) -> str:
    found = list(_entries(body))
    if found:
        return "\n".join(f"* `{name}`: {prose(text)}" for name, text in found)
    return "\n\n".join(_blocks(body))


def _entries(body: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the names with their descriptions; nothing if the section is prose."""
    parts: list[list[str]] = []
    for line in body:
        if line.strip() and not line.startswith(" "):
            parts.append([line])
        elif parts:
            parts[-1].append(line.strip())
    matches = [_ITEM.match(" ".join(" ".join(part).split())) for part in parts]
    if all(matches):
        yield from ((match[1], match[2]) for match in matches if match)


def _shown(block: list[str]) -> str:
    if block[0].lstrip().startswith(">>>"):
        return "\n".join(["```pycon", *_dedented(block), "```"])
    if all(line.startswith("    ") for line in block):
        return "\n".join(["```text", *_dedented(block), "```"])
    if block[0].lstrip().startswith(("* ", "| ", "1. ")):
        return "\n".join(line if line.lstrip().startswith("|") else _escaped(line) for line in block)
    return prose("\n".join(block))


def _dedented(block: list[str]) -> list[str]:
    indent = min(len(line) - len(line.lstrip()) for line in block)
    return [line[indent:] for line in block]


def prose(text: str) -> str:
    r"""Return a paragraph in which nothing but code is markup.

    >>> prose("a*b*c <x> `a*b`")
    'a\\*b\\*c \\<x> `a*b`'
    """
    return "\n".join(_START.sub(r"\\", _escaped(line)) for line in text.splitlines())


def _escaped(line: str) -> str:
    parts = _CODE.split(line)
    return "".join(part if part.startswith("`") else _plain(part) for part in parts)


def _plain(text: str) -> str:
    return _STAR.sub(r"\\*", _TAG.sub(r"\\<", text))
