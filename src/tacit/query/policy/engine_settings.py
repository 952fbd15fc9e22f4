"""Settings of engines: how long they may read, and which part of a machine they may use.

| setting | value | without it |
|---|---|---|
| `timeout` | seconds for one reading of the data | an hour |
| `memory` | bytes: a number, or a text such as "8GB" (10^9 bytes each) or "8GiB" (2^30) | the engine's default |
| `threads` | a whole number | the engine's default |
| `temporary` | a directory for data that does not fit memory | DuckDB writes no file |

An argument of `tc.open` comes before a variable of the environment (`TACIT_TIMEOUT`, …), which comes before the key of
the policy's table `[engine]`. No setting changes an answer or a guarantee, so none is part of a policy's version.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final

from tacit.errors import bad_value

LEAST_MEMORY: Final = 64_000_000
"""The least memory in bytes: with less, DuckDB cannot group even a small table on a few threads."""

SECONDS: Final = "a number of seconds from 0.01 to 604,800 (a week)"
MEMORY: Final = 'a text such as "8GB" or "8GiB", or a whole number of bytes, from 64MB to 1,000TB'
THREADS: Final = "a whole number from 1 to 1,024"
DIRECTORY: Final = "the path of a directory"

_HOUR, _WEEK = 3600.0, 604_800
_LEAST_TIMEOUT = 0.01  # with less, almost every query would be charged and then stopped
_MOST_MEMORY = 10**15
_MOST_THREADS = 1024
_SIZE = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?)\s*(?:([kmgt]?)(i?)b)", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The settings of all engines of a database; None leaves the choice to the engine.

    Attributes:
        timeout: the longest time in seconds for one reading of the data.
        memory: the memory in bytes that an engine may use.
        threads: the number of threads that an engine may use.
        temporary: a directory for data that does not fit memory.
        declared: the settings that are arguments or in a policy; tacit refuses these if no engine can apply them.
    """

    timeout: float = _HOUR
    memory: int | None = None
    threads: int | None = None
    temporary: Path | None = None
    declared: frozenset[str] = frozenset()


def read_timeout(value: object, name: str = "timeout") -> float:
    """Return a time limit in seconds, or raise InvalidError.

    >>> read_timeout(60), read_timeout(0.5)
    (60.0, 0.5)
    """
    seconds = 0.0 if isinstance(value, bool) or not isinstance(value, Real) else _float(value)
    if not _LEAST_TIMEOUT <= seconds <= _WEEK:  # NaN fails too
        raise bad_value(name, value, SECONDS)
    return seconds


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return inf


def read_memory(value: object, name: str = "memory") -> int:
    """Return a number of bytes, or raise InvalidError.

    >>> read_memory("8GB"), read_memory("8 GiB"), read_memory("1.5gb"), read_memory(8_000_000_000)
    (8000000000, 8589934592, 1500000000, 8000000000)
    """
    size = _bytes(value)
    if size is None or not LEAST_MEMORY <= size <= _MOST_MEMORY:
        raise bad_value(name, value, MEMORY)
    return size


def _bytes(value: object) -> int | None:
    """Return a number of bytes; None if the value is not one."""
    if isinstance(value, Integral):
        return int(value)  # True is 1 byte, which is too little
    text = value.strip() if isinstance(value, str) else ""
    if re.fullmatch("[0-9][0-9_]{0,30}", text):
        return int(text.replace("_", ""))
    match = _SIZE.fullmatch(text) if len(text) <= len(str(_MOST_MEMORY)) * 2 else None
    if match is None or (match[3] and not match[2]):
        return None
    return int(Fraction(match[1].replace("_", "")) * (1024 if match[3] else 1000) ** _POWERS[match[2].lower()])


def read_threads(value: object, name: str = "threads") -> int:
    """Return a number of threads, or raise InvalidError."""
    threads = 0 if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
    if not 1 <= threads <= _MOST_THREADS:
        raise bad_value(name, value, THREADS)
    return threads


def read_temporary(value: object, name: str = "temporary") -> Path:
    """Return the path of a directory, or raise InvalidError. Engines check that it exists and has room."""
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise bad_value(name, value, DIRECTORY)
    try:
        return Path(text).expanduser()
    except RuntimeError:  # ~name of an unknown user
        raise bad_value(name, value, DIRECTORY) from None


_READERS: Final[Mapping[str, Callable[[object, str], Any]]] = {
    "timeout": read_timeout,
    "memory": read_memory,
    "threads": read_threads,
    "temporary": read_temporary,
}
SETTINGS: Final = tuple(_READERS)
"""The names of all settings."""


def settle(
    arguments: Mapping[str, object], policy: Mapping[str, object], environment: Mapping[str, str] | None = None
) -> EngineSettings:
    """Return the settings of a database, or raise InvalidError for a value that is not valid.

    Args:
        arguments: those of `tc.open`; None leaves a setting open.
        policy: the values of the policy's table `[engine]`; None leaves a setting open.
        environment: the variables; by default those of the process. An empty one counts as not set.

    >>> settings = settle({"timeout": 5}, {"timeout": 60, "threads": 2}, {"TACIT_TIMEOUT": "30", "TACIT_THREADS": "4"})
    >>> settings.timeout, settings.threads, sorted(settings.declared)
    (5.0, 4, ['threads', 'timeout'])
    """
    variables = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for name, read in _READERS.items():
        variable = f"TACIT_{name.upper()}"
        if arguments.get(name) is not None:
            values[name] = read(arguments[name], name)
        elif variables.get(variable):
            values[name] = read(_number(variables[variable], name), variable)
        elif policy.get(name) is not None:
            values[name] = read(policy[name], name)
    declared = {name for name in _READERS if arguments.get(name) is not None or policy.get(name) is not None}
    return EngineSettings(**values, declared=frozenset(declared))


def _number(text: str, name: str) -> object:
    """Return the value of a variable: a number if the setting is one and the text is one, otherwise the text."""
    convert = {"timeout": float, "threads": int}.get(name)
    if convert is None:
        return text
    try:
        return convert(text)
    except ValueError:
        return text
