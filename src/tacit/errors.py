"""Every error that tacit raises on purpose.

    TacitError
    ├── InvalidError             an argument, a policy or a file is not valid
    │   ├── ColumnNotFoundError      a table has no column of that name
    │   ├── ColumnValueError         a column has values that cannot be used here
    │   ├── MissingPackageError      an optional package is not installed
    │   ├── TableNotNamedError       a source has several tables, and none is named
    │   ├── TooMuchNoiseError        the noise does not fit into 64 bits
    │   ├── UnreadableFileError      a file does not exist or cannot be parsed
    │   ├── UnusedOptionError        an option has no effect in this call
    │   └── NoSourceError            a source does not exist or cannot be opened; also a SourceError
    ├── RefusedError             the query cannot be answered privately
    ├── BudgetError              the query is valid, but the budget left is too small
    ├── SourceError              the engine that holds the data failed; the message is constant
    │   └── LedgerError              the ledger cannot be read or written, or is corrupt
    └── InternalError            a bug in tacit

A message is a fact; a hint says what to do next. Messages repeat parameters that the caller chose, never a value of
the data, and never a password. Code branches on classes and attributes, not on the text of a message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sized
from difflib import get_close_matches
from numbers import Number

from tacit.safe_text import visible

NOTHING_SPENT = "Nothing was spent."

_LONGEST = 80
_SCALARS = (Number, str)


_SECRET = re.compile(r":(?!/)[^\s']*@")
"""A password in a URL, which may have lost a slash, or its colon."""


def hidden(text: str) -> str:
    """Return a text without the passwords of the URLs in it.

    >>> hidden("'postgresql://reader:secret@db/clinic' is not a file")
    "'postgresql://reader:…@db/clinic' is not a file"
    >>> hidden("postgresql//reader:se:cr@et@db"), hidden("postgresql:reader:secret@db")
    ('postgresql//reader:…@db', 'postgresql:…@db')
    """
    return _SECRET.sub(":…@", text)


class TacitError(Exception):
    """The root of every error that tacit raises on purpose.

    `str(error)` is the message, then the hint, then "Nothing was spent." if `unspent` is set. Only `Database` and the
    ledger set it, for errors raised before a charge. The error keeps all of it when it is pickled.

    >>> error = TacitError("The ledger is locked.", hint="Try again later.")
    >>> error.unspent = True
    >>> print(error)
    The ledger is locked. Try again later. Nothing was spent.
    """

    hint: str | None = None
    unspent: bool = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Store the message and the hint without the passwords of URLs in them."""
        super().__init__(hidden(message))
        self.hint = None if hint is None else hidden(hint)

    @property
    def message(self) -> str:
        """The fact alone, without the hint."""
        return visible(str(self.args[0]))

    def __str__(self) -> str:
        """Return message and hint on one line, without characters that could control a terminal."""
        sentences = (str(self.args[0]), self.hint, NOTHING_SPENT if self.unspent else None)
        return visible(" ".join(sentence for sentence in sentences if sentence))

    def __reduce__(self) -> tuple[Callable[..., TacitError], tuple[object, ...], dict[str, object]]:
        """Pickle the message and the attributes, not the arguments of the constructor."""
        return _unpickle, (type(self), *self.args), dict(self.__dict__)


def _unpickle(kind: type[TacitError], *args: object) -> TacitError:
    """Return an error with the message of a pickled one; pickle restores its attributes."""
    return kind.__new__(kind, *args)


class InvalidError(TacitError, ValueError):
    """An argument, a policy or a file is not valid.

    >>> raise InvalidError("Cannot sample an event twice.", argument="of", hint="Multiply the two rates instead.")
    Traceback (most recent call last):
    tacit.errors.InvalidError: Cannot sample an event twice. Multiply the two rates instead.
    """

    def __init__(
        self,
        message: str,
        got: str | None = None,
        want: str | None = None,
        *,
        argument: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Store the message, the name of the argument, and the hint."""
        if want is not None:
            argument, message = (
                message,
                f"{message} must be {want}, but got {got}; nothing was drawn, released or spent.",
            )
            self.got, self.want = hidden(str(got)), want
        super().__init__(message, hint=hint)
        self.argument = argument


class ColumnNotFoundError(InvalidError):
    """A table has no column of that name."""

    def __init__(
        self, name: str, columns: Iterable[str] = (), *, argument: str | None = None, hint: str | None = None
    ) -> None:
        """Store the name and the columns that exist; without a hint, suggest the closest of them."""
        self.name, self.columns = name, tuple(columns)
        hint = suggestion(name, self.columns) if hint is None else hint
        super().__init__(f"Unknown column {show_name(name)}.", argument=argument, hint=hint)


class ColumnValueError(InvalidError):
    """A column has values that cannot be used here."""

    def __init__(self, column: str, problem: str, *, hint: str | None = None) -> None:
        """Store the column; `problem` completes "Column 'age' …"."""
        self.column = column
        super().__init__(f"Column {show_name(column)} {problem}", argument=f"the column {column}", hint=hint)


class MissingPackageError(InvalidError):
    """An optional package is not installed."""

    def __init__(self, package: str, purpose: str, *, extra: str | None = None) -> None:
        """Store the package and the extra of tacit that installs it."""
        self.package, self.extra = package, extra
        command = f"pip install 'tacit[{extra}]'" if extra else f"pip install {package}"
        super().__init__(f"{purpose} requires {package}, which is not installed.", hint=f"Run: {command}")


class TableNotNamedError(InvalidError):
    """A source has several tables, and none is named."""

    def __init__(self, tables: Iterable[str]) -> None:
        """Store the names of the tables."""
        self.tables = tuple(tables)
        names = ", ".join(map(show_name, self.tables))
        super().__init__(
            "The source has several tables.",
            argument="table",
            hint=f"Name one with table=…: {names}." if names else None,
        )


class TooMuchNoiseError(InvalidError):
    """The noise does not fit into 64 bits."""


class UnreadableFileError(InvalidError):
    """A file does not exist or cannot be parsed."""

    def __init__(self, path: object, problem: str, *, argument: str | None = None, hint: str | None = None) -> None:
        """Store the path; `problem` completes "Cannot read 'x.csv': …"."""
        self.path = str(path)
        super().__init__(f"Cannot read {show_name(self.path)}: {problem}", argument=argument, hint=hint)


class UnusedOptionError(InvalidError):
    """An option has no effect in this call."""

    def __init__(self, option: str, situation: str, *, hint: str | None = None) -> None:
        """Store the option; `situation` completes "--k has no effect …"."""
        self.option = option
        super().__init__(f"{option} has no effect {situation}.", argument=option, hint=hint or "Remove it.")


class RefusedError(TacitError):
    """The query cannot be answered privately."""


class BudgetError(TacitError):
    """The query is valid, but the budget left is too small."""


class SourceError(TacitError):
    """The engine that holds the data failed. The message is constant, because details could carry data."""


class LedgerError(SourceError):
    """The ledger cannot be read or written, or is corrupt; no query was answered."""


class NoSourceError(InvalidError, SourceError):
    """A source does not exist or cannot be opened. A URL is shown by its scheme only, because it may hold secrets."""

    def __init__(self, message: str, want: str | None = None, *, hint: str | None = None) -> None:
        """Store the message and the hint."""
        if want is not None:
            message, self.got, self.want = (
                f"The source is {message}; nothing was read or spent. It must be {want}.",
                hidden(message),
                want,
            )
        super().__init__(message, argument="source", hint=hint)


class InternalError(TacitError):
    """A bug in tacit: a check on its own result failed."""

    def __init__(self, message: str) -> None:
        """Ask for a report, after the fact."""
        super().__init__(f"Internal error: {message}", hint="Please report this.")


def bad_value(argument: str, value: object, requirement: str, *, hint: str | None = None) -> InvalidError:
    """Return the error for an argument with a wrong value.

    >>> print(bad_value("epsilon", -1, "a number > 0"))
    epsilon must be a number > 0, not -1.
    """
    return InvalidError(f"{argument} must be {requirement}, not {show(value)}.", argument=argument, hint=hint)


def show_name(name: str) -> str:
    """Return a name in quotes, cut after 80 characters and without passwords.

    >>> show_name("visits")
    "'visits'"
    """
    return repr(hidden(name)[:_LONGEST])


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """Return "Did you mean …?" if a known name is close to this one.

    >>> suggestion("cots", ["cost", "age"])
    "Did you mean 'cost'?"
    """
    close = get_close_matches(name, list(known), n=1)
    return f"Did you mean {show_name(close[0])}?" if close else None


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
