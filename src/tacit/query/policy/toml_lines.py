"""The line of each key and each array element in a TOML text, which tomllib does not report.

This is one pass over a text that tomllib has accepted, so it checks nothing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from tacit.safe_text import visible

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root of the document, such as ("tables", "visits", "columns", "cost", "bounds", 1)."""

_TOKEN = re.compile(
    r'''
      (?P<skip>[ \t\r]+|\#[^\n]*)
    | """(?:[^\\]|\\.)*?"""(?:"{0,2})
    | \'\'\'.*?\'\'\'(?:'{0,2})
    | "(?:[^"\\\n]|\\.)*"
    | '[^'\n]*'
    | \d{4}-\d\d-\d\d[ ]\d[^\s\[\]{}=,"'#]+    # a date and a time, with a space between them
    | [^\s\[\]{}=,"'#]+                        # a bare key, dotted perhaps; a number, a date, true or false
    | [\[\]{}=,\n]
    ''',
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class _Token(NamedTuple):
    text: str
    line: int


_END = _Token("", 0)


def locate(text: str) -> dict[KeyPath, int]:
    r"""Return the line, from 1, of every key and array element of a text that is valid TOML.

    If a table is both implied by a longer name and written out, its line is where it is written out.

    >>> locate('a.b = [1,\n  2]\n["c d"]')
    {('a',): 1, ('a', 'b'): 1, ('a', 'b', 0): 1, ('a', 'b', 1): 2, ('c d',): 3}
    """
    scan = _Scan(text)
    scan.document()
    return scan.implied | scan.named


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """Return the line of a path, or of its longest prefix that is written; 1 if no prefix is.

    >>> line_of({("a",): 3}, ("a", "missing"))
    3
    """
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return 1


def dotted_key(path: KeyPath) -> str:
    """Return a path as TOML writes it, with the indices of array elements in brackets.

    >>> dotted_key(("tables", "my visits", "keys", 2))
    'tables."my visits".keys[2]'
    """
    parts = [f"[{part}]" if isinstance(part, int) else f".{quoted(part)}" for part in path]
    return "".join(parts).removeprefix(".")


def quoted(name: str) -> str:
    r"""Return a key as TOML writes it: bare if possible, else in quotes.

    >>> print(quoted("cost"), quoted('a "b"'))
    cost "a \"b\""
    """
    return name if _BARE.fullmatch(name) else string(name)


def string(text: str) -> str:
    r"""Return a text as a TOML string on one line.

    >>> print(string('tab\t and \\'))
    "tab\t and \\"
    """
    return f'"{"".join(_escaped(character) for character in text)}"'


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() and visible(character) == character else f"\\U{ord(character):08X}"


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            yield _Token(match[0], line)
        line += match[0].count("\n")


def _names(token: str) -> list[str]:
    """Return the parts of a key in one token: two for `a.b`, one for a string, an empty list for `.`."""
    if token[0] in "\"'":
        return [tomllib.loads(f"key = {token}")["key"]]
    return [part for part in token.split(".") if part]


class _Scan:
    """A recursive-descent parser, not deeper than tomllib's."""

    def __init__(self, text: str) -> None:
        self.named: dict[KeyPath, int] = {}
        self.implied: dict[KeyPath, int] = {}
        self._tokens = _tokens(text)
        self._now = next(self._tokens, _END)
        self._last: dict[KeyPath, int] = {}  # the index of the last element of each array of tables

    def document(self) -> None:
        """Read the whole document."""
        head: KeyPath = ()
        while self._now is not _END:
            if self._now.text == "\n":
                self._take()
            elif self._now.text == "[":
                head = self._header()
            else:
                self._pair(head)

    def _take(self) -> _Token:
        token, self._now = self._now, next(self._tokens, _END)
        return token

    def _note(self, head: KeyPath, key: KeyPath, line: int) -> None:
        for end in range(1, len(key)):
            self.implied.setdefault(head + key[:end], line)
        self.named.setdefault(head + key, line)

    def _header(self) -> KeyPath:
        line = self._take().line
        many = self._now.text == "["
        if many:
            self._take()
        path = self._inside_arrays(self._key())
        self._note((), path, line)
        if many:
            self._last[path] = self._last.get(path, -1) + 1
            path += (self._last[path],)
            self._note((), path, line)
            self._take()
        self._take()
        return path

    def _inside_arrays(self, key: KeyPath) -> KeyPath:
        """Return the path of a header: inside an array of tables it continues the last element."""
        path: KeyPath = ()
        for part in key[:-1]:
            path += (part,)
            if path in self._last:
                path += (self._last[path],)
        return path + key[-1:]

    def _key(self) -> KeyPath:
        parts: list[str] = []
        while self._now.text not in ("=", "]"):
            parts += _names(self._take().text)
        return tuple(parts)

    def _pair(self, head: KeyPath) -> None:
        line, key = self._now.line, self._key()
        self._note(head, key, line)
        self._take()
        self._value(head + key)

    def _value(self, path: KeyPath) -> None:
        match self._take().text:
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)

    def _array(self, path: KeyPath) -> None:
        index = 0
        while self._now.text != "]":
            if self._now.text in (",", "\n"):
                self._take()
                continue
            element = (*path, index)
            self.named[element] = self._now.line
            self._value(element)
            index += 1
        self._take()

    def _inline_table(self, path: KeyPath) -> None:
        while self._now.text != "}":
            if self._now.text in (",", "\n"):
                self._take()
            else:
                self._pair(path)
        self._take()
