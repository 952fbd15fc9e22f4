"""The query of a command: from its argument, a file or standard input, and the values of its parameters."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tacit.errors import InvalidError, UnreadableFileError, bad_value
from tacit.query.sql.parameters import ParameterValue, typed_value

_PARAMETER = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(:(?P<kind>[a-z]+))?=(?P<value>.*)", re.ASCII | re.DOTALL)
_MOST_BYTES = 1_000_000
_STDIN = "-"


def read_query(sql: str | None, file: str | None) -> str:
    """Return the text of the query, which must come from one place.

    Args:
        sql: the argument of the command; - for standard input. If it is missing, standard input is read in a pipe.
        file: the file that --file names.
    """
    if sql is not None and file is not None:
        raise InvalidError(
            "There are two queries: one in --file and one on the command line.", argument="--file", hint="Give one."
        )
    if file is not None and file != _STDIN:
        return _read_file(file)
    if sql is not None and sql != _STDIN:
        return sql
    if sql is None and file is None and sys.stdin.isatty():
        raise InvalidError(
            "There is no query.", argument="sql", hint='Write it after the policy, "SELECT …", or name a file with -f.'
        )
    return _decoded(sys.stdin.buffer.read(_MOST_BYTES + 1), "standard input")


def _read_file(file: str) -> str:
    try:
        with Path(file).open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError):
        raise UnreadableFileError(file, "it does not exist or cannot be opened.", argument="--file") from None
    return _decoded(content, file)


def _decoded(content: bytes, name: str) -> str:
    if len(content) > _MOST_BYTES:
        raise UnreadableFileError(name, f"it has more than {_MOST_BYTES:,} bytes.", argument="--file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFileError(name, "it is not text in UTF-8.", argument="--file") from None


def read_params(params: Sequence[str] | None) -> dict[str, ParameterValue]:
    """Return the values of parameters from texts such as town=Bern or zip:text=3000."""
    values: dict[str, ParameterValue] = {}
    for text in params or ():
        found = _PARAMETER.fullmatch(text)
        if found is None:
            raise bad_value("--param", text, "name=value or name:type=value")
        if found["name"] in values:
            raise InvalidError(
                f"The parameter {found['name']} is given twice.", argument="--param", hint="Give it once."
            )
        values[found["name"]] = typed_value(found["value"], found["kind"])
    return values
