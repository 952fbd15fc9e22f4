"""Texts that control a terminal, a browser or a spreadsheet, and a check that an output escapes them."""

from __future__ import annotations

from unicodedata import category

TERMINAL = {
    "colour": "a\x1b[31mb",
    "window title": "\x1b]0;owned\x07",
    "control of one byte": "a\x9b2Jb",
    "backspace": "1\x0899",
    "delete": "a\x7fb",
    "carriage return": "safe\rsorry",
    "line break": "a\nAll records hold",
    "next line": "a\x85b",
    "tab": "a\tb",
    "bidirectional override": "user\u202etxt.exe",
    "bidirectional isolate": "a\u2066b\u2069",
    "zero width": "pay\u200bpal",
    "byte order mark": "\ufeffa",
    "tag": "a\U000e0041b",
    "line separator": "a\u2028b",
    "paragraph separator": "a\u2029b",
    "private use": "a\ue000b",
    "unassigned": "a\u0378b",
    "filler": "a\u3164b",
}
"""Texts with characters that control a terminal or are invisible."""

MARKUP = {
    "rich markup": "[red]x[/red] [link=file:///x]y[/link]",
    "emoji code": ":bomb:",
    "script": "<script>alert(1)</script>",
    "end of script": "</ScRiPt><img src=x onerror=alert(1)>",
    "comment": "<!--<script>",
    "attribute": "\" onmouseover='alert(1)' x=\"",
    "expression": "{'expr': 'alert(1)'}",
    "signal": "datum.value + width",
    "field": "a.b[0]['c']:Q",
    "format": "%s%n {0} ${HOME}",
    "backslash": "C:\\new\\x1b",
}
"""Texts that HTML, charts, rich or a format string would interpret."""

FORMULAS = {
    "formula": '=HYPERLINK("http://x";"y")',
    "command": "=cmd|' /C calc'!A0",
    "plus": "+1+cmd",
    "minus": "-1+cmd",
    "at": "@SUM(1)",
    "tab before": "\t=1",
    "line break before": "\r=1",
    "full width": "＝1+1",
    "apostrophe": "'=1+1",
}
"""Texts that a spreadsheet would run as a formula."""

ORDINARY = (
    "north",
    "Zoë O'Neil",
    "東京",
    "א-ב",
    "a\u00a0b",
    "e\u0301",
    "❤️",
    "5 < 6 & 7",
    "-5.3",
    "+4",
)
HOSTILE = {**TERMINAL, **MARKUP, **FORMULAS}
KEYS = [*ORDINARY, *HOSTILE.values()]
SURROGATE = "a\ud800b"
_INVISIBLE = "\u2028\u2029\u3164\u115f\u1160\uffa0\u034f"


def acting(text: str, *, lines: bool = True) -> list[str]:
    """Return the characters of a text that control a terminal or are invisible, except line breaks with `lines`."""
    allowed = "\n" if lines else ""
    return [letter for letter in text if letter not in allowed and (category(letter)[0] == "C" or letter in _INVISIBLE)]
