"""The values of a policy as fields: where each is in the text, and the text with some of them replaced.

A policy is TOML with comments, which a steward wants to keep. So a field is a span of the text: the value of one key,
also inside `{ … }`. A changed field replaces its span, and nothing else changes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tacit.query.policy.toml_lines import KeyPath, dotted_key, quoted

_TOKEN = re.compile(
    r'''
      (?P<skip>[ \t\r]+|\#[^\n]*)
    | """(?:[^\\]|\\.)*?"""(?:"{0,2}) | \'\'\'.*?\'\'\'(?:'{0,2})
    | "(?:[^"\\\n]|\\.)*" | '[^'\n]*'
    | \d{4}-\d\d-\d\d[ ]\d[^\s\[\]{}=,"'#]+
    | [^\s\[\]{}=,"'#]+
    | [\[\]{}=,\n]
    ''',
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token and where it is."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Field:
    """A value of a policy: its dotted key, its text, and its span."""

    path: KeyPath
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The key as TOML writes it, such as tables.visits.columns.cost.bounds."""
        return dotted_key(self.path)

    @property
    def is_fixed(self) -> bool:
        """True for the places of data, ledger and engine, which the server does not change."""
        return self.path[0] in ("engine", "ledger") or (len(self.path) == _IN_TABLE and self.path[2] in _PLACES)


_IN_TABLE, _PLACES = 3, ("source", "table")


def fields_of(text: str) -> list[Field]:
    r"""Return the fields of a text in order; an empty list if it is not TOML.

    >>> [(field.name, field.text) for field in fields_of('a = 1 # one\n[b]\nc = { d = [2, 3], e = "x" }')]
    [('a', '1'), ('b.c.d', '[2, 3]'), ('b.c.e', '"x"')]
    """
    return list(_scanned(text).fields)


def with_values(text: str, values: Mapping[str, str]) -> str:
    """Return a text whose fields have other values; a value with a line break is not written.

    >>> print(with_values("a = 1 # one", {"a": "2"}))
    a = 2 # one
    """
    for field in reversed(fields_of(text)):
        value = values.get(field.name, field.text).strip()
        if "\n" not in value or "\n" in field.text:
            text = text[: field.start] + (value or field.text) + text[field.end :]
    return text


def with_setting(text: str, path: KeyPath, value: str) -> str:
    r"""Return a text in which one key has a value; a missing key is added to its table.

    >>> print(with_setting("[a]\nb = { c = 1 }", ("a", "b", "d"), "2"))
    [a]
    b = { c = 1, d = 2 }
    >>> print(with_setting("[a]\nb = 1", ("a", "e"), "3"))
    [a]
    e = 3
    b = 1
    """
    scan = _scanned(text)
    for field in scan.fields:
        if field.path == path:
            return text[: field.start] + value + text[field.end :]
    head, key = path[:-1], f"{quoted(str(path[-1]))} = {value}"
    if head in scan.inline:
        start, end = scan.inline[head]
        is_empty = not text[start + 1 : end - 1].strip()
        return f"{text[: end - 1].rstrip()}{' ' if is_empty else ', '}{key} }}{text[end:]}"
    if head in scan.tables:
        place = scan.tables[head]
        return f"{text[:place]}\n{key}{text[place:]}"
    return f"{text.rstrip()}\n\n[{dotted_key(head)}]\n{key}\n"


class _Scan:
    """A pass over a text that tomllib accepts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.fields: list[Field] = []
        self.inline: dict[KeyPath, tuple[int, int]] = {}
        self.tables: dict[KeyPath, int] = {}
        self._tokens = _tokens(text)
        self._now: Token | None = next(self._tokens, None)
        head: KeyPath = ()
        while self._now is not None:
            if self._now.text == "\n":
                self._take()
            elif self._now.text == "[":
                head = self._header()
            else:
                self._pair(head)

    def _take(self) -> Token:
        token, self._now = self._now, next(self._tokens, None)
        if token is None:
            raise ValueError("the text ends too early")
        return token

    def _header(self) -> KeyPath:
        parts: list[str] = []
        while (token := self._take()).text != "]":
            parts += [] if token.text == "[" else _names(token.text)
        if self._now is not None and self._now.text == "]":
            token = self._take()
        self.tables.setdefault(tuple(parts), token.end)
        return tuple(parts)

    def _pair(self, head: KeyPath) -> None:
        parts: list[str] = []
        while (token := self._take()).text != "=":
            parts += _names(token.text)
        self._value((*head, *parts))

    def _value(self, path: KeyPath) -> None:
        first = self._take()
        if first.text == "{":
            while self._now is not None and self._now.text != "}":
                if self._now.text in (",", "\n"):
                    self._take()
                else:
                    self._pair(path)
            self.inline[path] = (first.start, self._take().end)
            return
        end, depth = first.end, int(first.text == "[")
        while depth:
            token = self._take()
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token.text, 0)
            end = token.end
        self.fields.append(Field(path, self.text[first.start : end], first.start, end))


class _Empty:
    """The scan of a text that is not TOML."""

    fields: tuple[Field, ...] = ()
    inline: Mapping[KeyPath, tuple[int, int]] = {}
    tables: Mapping[KeyPath, int] = {}


def _scanned(text: str) -> _Scan | _Empty:
    try:
        tomllib.loads(text)
        return _Scan(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return _Empty()


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            yield Token(match[0], match.start(), match.end())


def _names(token: str) -> list[str]:
    """Return the parts of a key in one token."""
    if token[0] in "\"'":
        return [tomllib.loads(f"key = {token}")["key"]]
    return [part for part in token.split(".") if part]
