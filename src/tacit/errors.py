"""Every error that tacit raises on purpose.

    TacitError
    ├── InvalidError    an argument, a policy or a file is not what it must be
    │   ├── TooMuchNoiseError    the noise it asks for does not fit 64 bits
    │   └── NoSourceError    there is no such source, or none that can be opened; a SourceError too
    ├── RefusedError    the question cannot be answered privately, or not any more
    ├── BudgetError     the question is fine, but what is left of the budget is too small
    └── SourceError     the engine behind the data failed; its text never carries data
        └── LedgerError    the ledger could not be read or written, or is not what it should be

A message says what happened, that nothing was lost, and what to do next. It may repeat a parameter
that the caller chose, never a value of the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sized
from numbers import Number

from tacit.safe_text import visible

_LONGEST = 80
_SCALARS = (Number, str)


_SECRET = re.compile(r":(?!/)[^\s']*@")
"""A password in a URL, which may have lost a slash, or its colon."""


def hidden(text: str) -> str:
    """Return a text without the passwords of the URLs in it.

    >>> hidden("'postgresql://reader:secret@db/clinic', which is no file")
    "'postgresql://reader:…@db/clinic', which is no file"
    >>> hidden("postgresql//reader:se:cr@et@db"), hidden("postgresql:reader:secret@db")
    ('postgresql//reader:…@db', 'postgresql:…@db')
    """
    return _SECRET.sub(":…@", text)


class TacitError(Exception):
    """The root of every error that tacit raises on purpose.

    It crosses processes as it is: with its whole message, whatever was put before or after it, and with its parts.
    """

    def __str__(self) -> str:
        """Return the message on one line, without characters that could write to a terminal."""
        return visible(super().__str__())

    def __reduce__(self) -> tuple[Callable[..., TacitError], tuple[object, ...], dict[str, object]]:
        """Pickle by what the error says and holds, not by the arguments that it was made from."""
        return _remade, (type(self), *self.args), dict(self.__dict__)


def _remade(kind: type[TacitError], *args: object) -> TacitError:
    """Return an error that says what a pickled one said; its parts are put back by pickle."""
    return kind.__new__(kind, *args)


class InvalidError(TacitError, ValueError):
    """An argument, a policy or a file is not what it must be.

    >>> raise InvalidError("epsilon", "-1", "a number > 0")
    Traceback (most recent call last):
    tacit.errors.InvalidError: epsilon must be a number > 0, but got -1; nothing was drawn, released or spent.
    """

    def __init__(self, argument: str, got: str, want: str) -> None:
        """Keep the three parts for machines; join them for people."""
        got = hidden(got)
        self.argument, self.got, self.want = argument, got, want
        super().__init__(f"{argument} must be {want}, but got {got}; nothing was drawn, released or spent.")


class TooMuchNoiseError(InvalidError):
    """The noise that an argument asks for does not fit 64 bits."""


class RefusedError(TacitError):
    """The question cannot be answered privately, or not any more."""


class BudgetError(TacitError):
    """The question is fine, but what is left of the budget is too small for it."""


class SourceError(TacitError):
    """The engine behind the data failed; the text is constant, since details could carry data."""


class LedgerError(SourceError):
    """The ledger could not be read or written, or is not what it should be; nothing was answered."""


class NoSourceError(InvalidError, SourceError):
    """There is nothing to open where a source should be; a URL is shown by its scheme alone, since it may hold secrets.

    >>> raise NoSourceError("'survy.csv', which does not exist", "a file")
    Traceback (most recent call last):
    tacit.errors.NoSourceError: The source is 'survy.csv', which does not exist; nothing was read ...
    """

    def __init__(self, got: str, want: str) -> None:
        """Keep the parts for machines; join them for people."""
        super().__init__("source", got, want)
        self.args = (f"The source is {self.got}; nothing was read or spent. It must be {want}.",)


def show(value: object) -> str:
    """Return a parameter as an error message shows it: a scalar or a pair as it is, anything else by its type alone.

    A column that was handed in by mistake is data, so it is never shown; and a representation may be long or fail.

    >>> show(-1), show("0.1"), show([5, 6, 7])
    ('-1', "'0.1' (text)", 'a list of 3')
    >>> show("postgresql://reader:secret@db/clinic")
    "'postgresql://reader:…@db/clinic' (text)"
    """
    if isinstance(value, str):
        return f"{hidden(value)[:_LONGEST]!r} (text)"
    if isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(end, _SCALARS) for end in value):  # noqa: PLR2004 - a pair
        return f"({', '.join(map(show, value))})"
    if value is None or isinstance(value, _SCALARS):
        try:
            text = repr(value)
        except Exception:  # noqa: BLE001 - an int of thousands of digits, or a caller's own __repr__
            text = "a number of thousands of digits"
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    try:
        size = f" of {len(value)}" if isinstance(value, Sized) else ""
    except Exception:  # noqa: BLE001 - a 0-d array has no length, and a caller's own __len__ may raise anything
        size = ""
    return f"a {type(value).__name__}{size}"
