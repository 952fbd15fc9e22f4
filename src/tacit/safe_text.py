r"""Text from data, queries and names, made safe for a terminal, HTML, JSON, CSV and charts.

A key of the data, a literal of a query or the name of a file may hold any character: an escape sequence that
rewrites the terminal, a bidirectional override that reorders the line, a tag, a spreadsheet formula. Every function
here returns ordinary text as it is and changes only characters that cannot be seen or that the reader would execute.
Rendering uses these functions; values that programs receive stay exact.

| output | function |
|---|---|
| one line of terminal text, a table cell, an error message | `visible` |
| several lines whose line breaks are tacit's own | `visible_lines` |
| columns of terminal text | `aligned`, `width` |
| HTML | `as_html`, `html_table`, `html_lines` |
| JSON | `as_json` |
| CSV for spreadsheets | `spreadsheet_cell` |
| names and labels in charts | `chart_label` |
| a URL with a password, in a message | `hidden` |
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import TypeVar
from unicodedata import category, east_asian_width

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories without a glyph: control, format, surrogate, private use, unassigned, line and paragraph separator."""
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters and marks that Unicode defines as invisible."""
_Cell = TypeVar("_Cell")
_TAG = re.compile(r"<(?=/?script|!--)", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|nan)", re.ASCII | re.IGNORECASE)
_FORMULA = re.compile(r"'*(?:[\t\r\n]|[\s\u200b\ufeff]*[=+\-@＝＋－＠])")
_JAMO = (("\u1160", "\u11ff"), ("\ud7b0", "\ud7ff"))

_SECRET = re.compile(r":(?!/)[^\s']*@")
"""A password in a URL, which may have lost a slash, or its colon."""


def visible(text: str) -> str:
    r"""Return a text on one line, each character without a glyph as its escape.

    >>> print(visible("a\x1b[31m\u202eb\n"), visible("Zoë 東京"))
    a\x1b[31m\u202eb\n Zoë 東京
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(letter) if _is_unseen(letter) else letter for letter in text)


def visible_lines(text: str) -> str:
    r"""Return a text whose line breaks stay and whose other characters without a glyph are escaped.

    >>> print(visible_lines("one\ntwo\r\x07"))
    one
    two\r\x07
    """
    return "\n".join(map(visible, text.split("\n")))


def _is_unseen(letter: str) -> bool:
    return category(letter) in _UNSEEN or letter in _FILLERS


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def width(text: str) -> int:
    """Return how many cells of a terminal a visible text takes: wide letters two, combining marks none.

    >>> width("abc"), width("東京"), width("e\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(letter: str) -> int:
    if category(letter) in ("Mn", "Me") or any(first <= letter <= last for first, last in _JAMO):
        return 0
    return 2 if east_asian_width(letter) in ("W", "F") else 1


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines of terminal text, every column aligned to the right.

    >>> aligned([["place", "n"], ["東京", "12"]])
    ['place   n', ' 東京  12']
    """
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*shown, strict=True)]
    return [
        "  ".join(" " * (most - width(cell)) + cell for cell, most in zip(row, widths, strict=True)) for row in shown
    ]


def as_html(text: str) -> str:
    r"""Return a text for the body or an attribute of HTML.

    >>> as_html("<b>\u202e")
    '&lt;b&gt;\\u202e'
    """
    return html.escape(visible(text))


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of text as HTML; without headings it has rows alone.

    >>> html_table(["n"], [["<3"]])
    '<table><thead><tr><th>n</th></tr></thead><tbody><tr><td>&lt;3</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{as_html(heading)}</th>" for heading in headings)
    top = f"<thead><tr>{head}</tr></thead>" if headings else ""
    body = "".join("<tr>" + "".join(f"<td>{as_html(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{top}<tbody>{body}</tbody></table>"


def html_lines(lines: Iterable[str]) -> str:
    """Return lines of text as paragraphs of HTML.

    >>> html_lines(["a & b", "c"])
    '<p>a &amp; b</p><p>c</p>'
    """
    return "".join(f"<p>{as_html(line)}</p>" for line in lines)


def as_json(value: object, *, ascii_only: bool = True) -> str:
    r"""Return a value as valid JSON that any terminal may show and that reads back to the same text.

    Infinity and NaN, which JSON does not have, become null.

    >>> as_json({"é": [float("inf"), 1.5]}), as_json("é\u202e", ascii_only=False)
    ('{"\\u00e9": [null, 1.5]}', '"é\\u202e"')

    Args:
        value: what `json.dumps` takes.
        ascii_only: whether letters beyond ASCII are escaped too.
    """
    text = json.dumps(_finite(value), ensure_ascii=ascii_only, allow_nan=False)
    if text.isascii() and text.isprintable():
        return text
    return "".join(json.dumps(letter)[1:-1] if _is_unseen(letter) else letter for letter in text)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, (list, tuple)) else value


def spreadsheet_cell(value: _Cell) -> _Cell | str:
    r"""Return a cell of CSV that no spreadsheet takes for a formula.

    A text that begins with = + - @, a tab or a line break gets an apostrophe before it. A text that reads as a number
    does not. A text that begins with apostrophes and one of these gets one more, so that `spreadsheet_text` reads every
    cell back. A value that is not a text stays as it is.

    >>> spreadsheet_cell("=1+1"), spreadsheet_cell("-5.3"), spreadsheet_cell("O'Neil"), spreadsheet_cell(-5)
    ("'=1+1", '-5.3', "O'Neil", -5)
    """
    if not isinstance(value, str) or not _FORMULA.match(value) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def spreadsheet_text(cell: str) -> str:
    """Return the text that `spreadsheet_cell` wrote.

    >>> spreadsheet_text("'=1+1"), spreadsheet_text("-5.3"), spreadsheet_text("O'Neil")
    ('=1+1', '-5.3', "O'Neil")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def chart_label(text: str) -> str:
    r"""Return a name or a label for a chart: visible, and unable to end the script of an HTML page.

    altair writes the chart into a script element as JSON, in which a label may not contain a closing tag.

    >>> chart_label("</script><b>"), chart_label("a < b")
    ('\\x3c/script><b>', 'a < b')
    """
    return _TAG.sub(r"\\x3c", visible(text))


def hidden(text: str) -> str:
    """Return a text without the passwords of the URLs in it.

    >>> hidden("'postgresql://reader:secret@db/clinic' is not a file")
    "'postgresql://reader:…@db/clinic' is not a file"
    >>> hidden("postgresql//reader:se:cr@et@db"), hidden("postgresql:reader:secret@db")
    ('postgresql//reader:…@db', 'postgresql:…@db')
    """
    return _SECRET.sub(":…@", text)
