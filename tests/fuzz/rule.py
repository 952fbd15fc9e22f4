"""The rule of every fuzz target: a call returns a value or raises a listed error, in time, in memory, in plain words.

A target breaks the rule if it raises anything but a TacitError, if that error is an InternalError, if its text has a
line of a stack trace, a path, the address of an object or a secret, or if a call needs too much time or memory.
"""

from __future__ import annotations

import atexit
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import thread_time
from typing import TypeVar

import tacit
from tacit.errors import InternalError, TacitError

T = TypeVar("T")

MOST_SECONDS = 20.0
"""The processor time of one input. The slowest input in the corpora takes less than a tenth of it."""
MOST_MEMORY = 1 << 30
"""The bytes by which one input may raise the peak of memory."""
MOST_TEXT = 100_000
"""The characters of a message."""

_TRACES = ("Traceback (most recent call last)", 'File "', " object at 0x")
_PLACES = tuple({str(Path(tacit.__file__).parents[1]), str(Path(sys.prefix)), "/site-packages/"})
_UNIT = 1 if sys.platform == "darwin" else 1024
_LIBRARIES = re.compile(r"\b(sqlglot|pydantic|tomllib|numpy|pyarrow|sqlalchemy|starlette|fastapi)\b")


class BrokenRuleError(AssertionError):
    """An input for which a target breaks the rule."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A listed error, whose text is checked."""

    error: TacitError


def value_or_refusal(call: Callable[[], T], *, secrets: Sequence[str] = (), given: str = "") -> T | Refusal:
    """Return what a call returns, or its listed error; any other exception passes through to the fuzzer.

    Args:
        call: the call.
        secrets: texts that no message may have.
        given: the input; a message may repeat what it has.
    """
    seconds, peak = thread_time(), _peak()
    try:
        result: T | Refusal = call()
    except TacitError as error:
        check_error(error, secrets=secrets, given=given)
        result = Refusal(error)
    check_resources(thread_time() - seconds, _peak() - peak)
    return result


def check_resources(seconds: float, growth: int) -> None:
    """Raise BrokenRuleError if a call needed too much time or memory."""
    if seconds > MOST_SECONDS:
        raise BrokenRuleError(f"It took {seconds:.1f} s of processor time; the limit is {MOST_SECONDS:g} s.")
    if growth > MOST_MEMORY:
        raise BrokenRuleError(
            f"It raised the peak of memory by {growth >> 20} MB; the limit is {MOST_MEMORY >> 20} MB."
        )


def check_error(error: TacitError, *, secrets: Sequence[str] = (), given: str = "") -> None:
    """Raise BrokenRuleError if an error is a bug of tacit, or if its text says what it must not."""
    if isinstance(error, InternalError):
        raise BrokenRuleError(f"An internal error: {error}") from error
    for text in (error.message, str(error)):
        check_text(text, secrets=secrets, given=given)
    if not str(error).replace("\n", "").isprintable():
        raise BrokenRuleError("The message has a character that cannot be printed.")


def check_text(text: str, *, secrets: Sequence[str] = (), given: str = "") -> None:
    """Raise BrokenRuleError if a text has a stack trace, a path, an address or a secret, or is very long."""
    found = [part for part in (*_TRACES, *_PLACES, *secrets) if part in text and part not in given]
    found += [match[0] for match in _LIBRARIES.finditer(text) if match[0] not in given]
    if found:
        raise BrokenRuleError(f"The message has {found[0]!r}: {text[:500]}")
    if len(text) > MOST_TEXT:
        raise BrokenRuleError(f"The message has {len(text):,} characters.")


def require(condition: object, fact: str) -> None:
    """Raise BrokenRuleError with a fact unless a condition holds."""
    if not condition:
        raise BrokenRuleError(fact)


@cache
def folder() -> Path:
    """Return a folder for the files of targets, in memory if there is one; the end of the process removes it."""
    memory = "/dev/shm"  # noqa: S108 - a new folder there, of random name
    path = Path(tempfile.mkdtemp(prefix="fuzz-files-", dir=memory if Path(memory).is_dir() else None))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def _peak() -> int:
    """Return the largest memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
