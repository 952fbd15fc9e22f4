"""Every error that tacit raises on purpose.

    TacitError
    ├── InvalidError             an argument, a policy or a file is not valid
    │   ├── ColumnNotFoundError      a table has no column of that name
    │   ├── ColumnValueError         a column has values that cannot be used here
    │   ├── MissingPackageError      an optional package is not installed
    │   │   └── MissingDriverError       the package that reads a source is not installed; also a SourceError
    │   ├── RowNotFoundError         an answer has no row of that number; also an IndexError
    │   ├── TableNotFoundError       a source has no table of that name
    │   ├── TableNotNamedError       a source has several tables, and none is named
    │   ├── TooMuchNoiseError        the noise does not fit into 64 bits
    │   ├── UnreadableFileError      a file does not exist or cannot be parsed
    │   ├── UnusedKeyError           keys are listed for a column that the query does not group by
    │   ├── UnusedOptionError        an option has no effect in this call
    │   └── NoSourceError            a source does not exist or cannot be opened; also a SourceError
    ├── RefusedError             there is no private answer to the query
    │   └── CanceledError            a question was canceled before its charge
    ├── BudgetError              the query is valid, but the budget left is too small
    ├── SourceError              the engine that holds the data failed; the message is constant
    │   ├── LedgerError              the ledger cannot be read or written, or is corrupt
    │   │   ├── CommitError              a commit failed: the last record may or may not be stored
    │   │   └── NoLedgerError            there is no ledger at a location yet
    │   ├── SizeChangedError         the public number of rows or units changed after the charge
    │   └── TimeLimitError           the engine did not finish within its time limit
    └── InternalError            a bug in tacit

A message is a fact; a hint says what to do next. Messages repeat parameters that the caller chose, never a value of
the data, and never a password. Code branches on classes and attributes, not on the text of a message.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Sequence, Sized
from difflib import get_close_matches
from numbers import Number
from typing import Self, TypeVar

from tacit.safe_text import hidden, visible

NOTHING_SPENT = "Nothing was spent."

T = TypeVar("T")

_LONGEST = 80
_LONGEST_PATH = 200
_MOST_NAMES = 20
_NEAR, _SHORTEST = 0.75, 3
"""The least similarity of a suggested name, by `difflib`, and the least length of a name's beginning.

"cots" is as near as this to "cost".
"""
_SCALARS = (Number, str)


class TacitError(Exception):
    """The root of every error that tacit raises on purpose.

    `str(error)` is the message, then the hint, then "Nothing was spent." if `unspent` is set. Only `Database` and the
    ledger set it, for errors raised before a charge. `where` is the place of the failing source in its policy, such as
    "tables.visits", and is printed first. The error keeps all of it when it is pickled.

    >>> error = TacitError("The ledger is locked.", hint="Try again later.")
    >>> error.unspent = True
    >>> print(error)
    The ledger is locked. Try again later. Nothing was spent.

    Attributes:
        hint: what to do next, in a sentence; None if there is no advice.
        unspent: whether the error is known to have come before a charge.
        where: the place of the failing source in its policy; None without one.

    Args:
        message: the fact, in a sentence.
        hint: what to do next, in a sentence.
    """

    hint: str | None = None
    unspent: bool = False
    where: str | None = None

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
        place = f"{self.where}: " if self.where else ""
        return visible(place + " ".join(sentence for sentence in sentences if sentence))

    def add_hint(self, hint: str) -> None:
        """Append a sentence to the hint, for a caller who knows more about what to do next."""
        self.hint = hidden(hint) if self.hint is None else f"{self.hint} {hidden(hint)}"

    def redacted(self, clean: Callable[[str], str]) -> Self:
        """Return a copy in which `clean` has removed secrets from the message, the hint and every other text.

        Raise the copy outside of `except`: otherwise its context is the error with the secrets.
        """
        copy = type(self).__new__(type(self), *(_cleaned(part, clean) for part in self.args))
        for name, value in self.__dict__.items():
            setattr(copy, name, _cleaned(value, clean))
        return copy

    def __reduce__(self) -> tuple[Callable[..., TacitError], tuple[object, ...], dict[str, object]]:
        """Pickle the message and the attributes, not the arguments of the constructor."""
        return _unpickle, (type(self), *self.args), dict(self.__dict__)


def _cleaned(value: object, clean: Callable[[str], str]) -> object:
    if isinstance(value, tuple):
        return tuple(_cleaned(item, clean) for item in value)
    return clean(value) if isinstance(value, str) else value


def _unpickle(kind: type[TacitError], *args: object) -> TacitError:
    """Return an error with the message of a pickled one; pickle restores its attributes."""
    return kind.__new__(kind, *args)


class InvalidError(TacitError, ValueError):
    """An argument, a policy or a file is not valid.

    >>> raise InvalidError("Cannot sample an event twice.", argument="of", hint="Multiply the two rates instead.")
    Traceback (most recent call last):
    tacit.errors.InvalidError: Cannot sample an event twice. Multiply the two rates instead.

    Attributes:
        argument: the name of the argument that is not valid; None without one.
    """

    def __init__(self, message: str, *, argument: str | None = None, hint: str | None = None) -> None:
        """Store the message, the name of the argument, and the hint."""
        super().__init__(message, hint=hint)
        self.argument = argument


class ColumnNotFoundError(InvalidError):
    """A table has no column of that name."""

    def __init__(
        self, name: str, columns: Iterable[str] = (), *, argument: str | None = None, hint: str | None = None
    ) -> None:
        """Store the name and the columns that exist; without a hint, suggest the closest of them."""
        self.name, self.columns = hidden(name), tuple(columns)
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
        command = f"pip install 'tacit[{extra}]'" if extra else f"pip install {shlex.quote(package)}"
        super().__init__(f"{purpose} requires {package}, which is not installed.", hint=f"Run: {command}")


class RowNotFoundError(InvalidError, IndexError):
    """An answer has no row of that number. Python's protocol for sequences expects an IndexError."""


class TableNotFoundError(InvalidError):
    """A source has no table of that name."""

    def __init__(self, name: str, tables: Iterable[str], *, hint: str | None = None) -> None:
        """Store the name and the tables that exist; suggest the closest of them and list all."""
        self.name, self.tables = hidden(name), tuple(tables)
        hints = (suggestion(name, self.tables), _choice(self.tables), hint)
        super().__init__(
            f"Unknown table {show_name(name)}.", argument="table", hint=" ".join(filter(None, hints)) or None
        )


class TableNotNamedError(InvalidError):
    """A source has several tables, and none is named."""

    def __init__(self, tables: Iterable[str], *, hint: str | None = None) -> None:
        """Store the names of the tables, as they must be written."""
        self.tables = tuple(tables)
        hints = ("Name one of them." if self.tables else None, _choice(self.tables), hint)
        super().__init__(
            "The source has several tables." if self.tables else "No table is named, and the source has no tables.",
            argument="table",
            hint=" ".join(filter(None, hints)) or None,
        )


def _choice(tables: Sequence[str]) -> str | None:
    """Return the names of tables, and how to choose one of them.

    >>> print(_choice(["visits", "staff"]))
    The tables are 'staff', 'visits' (table = "staff" in the policy, table= in Python, --table for `tacit init`).
    """
    if not tables:
        return None
    names = sorted(tables)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    example = json.dumps(names[0], ensure_ascii=False)
    return (
        f"The tables are {', '.join(map(show_name, names[:_MOST_NAMES]))}{more} "
        f"(table = {example} in the policy, table= in Python, --table for `tacit init`)."
    )


class TooMuchNoiseError(InvalidError):
    """The noise does not fit into 64 bits."""


class UnreadableFileError(InvalidError):
    """A file does not exist or cannot be parsed."""

    def __init__(self, path: object, problem: str, *, argument: str | None = None, hint: str | None = None) -> None:
        """Store the path; `problem` completes "Cannot read 'x.csv': …"."""
        self.path = hidden(str(path))
        shown = self.path if len(self.path) <= _LONGEST_PATH else f"…{self.path[-_LONGEST_PATH:]}"
        super().__init__(f"Cannot read {shown!r}: {problem}", argument=argument, hint=hint)


class UnusedKeyError(InvalidError):
    """Keys are listed for a column that the query does not group by."""

    def __init__(self, name: object) -> None:
        """Write the message for the name of the keys."""
        message = f"keys contains {show(name)}, which the query does not group by."
        super().__init__(message, argument="keys", hint="Use the names of the query's GROUP BY items.")


class UnusedOptionError(InvalidError):
    """An option has no effect in this call."""

    def __init__(self, option: str, situation: str, *, hint: str | None = None) -> None:
        """Store the option; `situation` completes "--k has no effect …"."""
        self.option = option
        super().__init__(f"{option} has no effect {situation}.", argument=option, hint=hint or "Remove it.")


class RefusedError(TacitError):
    """There is no private answer to the query."""


class CanceledError(RefusedError):
    """A question was canceled before its charge."""


class BudgetError(TacitError):
    """The query is valid, but the budget left is too small."""


class SourceError(TacitError):
    """The engine that holds the data failed. The message is constant, because details could carry data."""


class LedgerError(SourceError):
    """The ledger cannot be read or written, or is corrupt; no query was answered."""


class NoLedgerError(LedgerError):
    """There is no ledger at a location yet."""


class SizeChangedError(SourceError):
    """The number of rows or units, which is public, is not the one that a charged query was priced with."""

    def __init__(self) -> None:
        """Store the constant message."""
        super().__init__(
            "Rows were added or removed after the query was charged, so it could not be answered. The charge stands.",
            hint="Run the query again when the table does not change.",
        )


class TimeLimitError(SourceError):
    """The engine did not finish within its time limit and was stopped. The message depends on the limit alone.

    >>> print(TimeLimitError(60))
    The engine did not finish within its time limit of 60 s. Raise the limit (timeout= in Python, --timeout in the
    shell, TACIT_TIMEOUT, or timeout under [engine] in the policy), or narrow the query.
    """

    def __init__(self, seconds: float, *, charged: bool = False) -> None:
        """Store the limit; `charged` is whether a query was charged before the engine started."""
        self.seconds = seconds
        fact = f"The engine did not finish within its time limit of {seconds:,.12g} s."
        super().__init__(
            f"{fact} The query was charged, and the charge stands." if charged else fact,
            hint="Raise the limit (timeout= in Python, --timeout in the shell, TACIT_TIMEOUT, or timeout under "
            f"[engine] in the policy), or narrow the query.{' A repeated query is charged again.' if charged else ''}",
        )


class MissingDriverError(MissingPackageError, SourceError):
    """The package that reads a source is not installed."""


class CommitError(LedgerError):
    """The ledger failed while it committed a record, which may or may not be stored. `unspent` is never set."""


class NoSourceError(InvalidError, SourceError):
    """A source does not exist or cannot be opened. A URL is shown by its scheme only, because it may hold secrets."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Store the message and the hint."""
        super().__init__(message, argument="source", hint=hint)


class InternalError(TacitError):
    """A bug in tacit: a check on its own result failed."""

    def __init__(self, message: str) -> None:
        """Ask for a report, after the fact."""
        super().__init__(f"Internal error: {message}", hint="Please report this.")


def guarded(call: Callable[[], T], message: str, *, hint: str | None = None) -> T:
    """Return what a call returns; if it fails with an error that is not tacit's, raise SourceError with this message.

    The error of an engine or a driver may quote rows or a URL. So SourceError is raised outside of `except`: neither
    its cause nor its context carries the other error.

    >>> guarded(lambda: 1 // 0, "The engine failed.", hint="Check the source.")
    Traceback (most recent call last):
    tacit.errors.SourceError: The engine failed. Check the source.
    """
    try:
        return call()
    except TacitError:
        raise
    except Exception:  # noqa: BLE001, S110 - its text is not shown
        pass
    raise SourceError(message, hint=hint)


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
    close = nearest_name(name, known)
    return None if close is None else f"Did you mean {show_name(close)}?"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelled almost like this one, or that begins with it, in any case; or None.

    >>> [nearest_name(name, ["Region", "Department"]) for name in ("REGOIN", "dep", "patient")]
    ['Region', 'Department', None]
    """
    names, sought = {other.casefold(): other for other in known}, name.casefold()
    close = get_close_matches(sought, names, n=1, cutoff=_NEAR)
    if not close and len(sought) >= _SHORTEST:
        close = [other for other in names if other.startswith(sought)]
    return names[close[0]] if close else None


def show(value: object) -> str:
    """Return a parameter as an error message shows it: a scalar or a pair as it is, anything else by its type alone.

    A column that was passed by mistake is data, so it is never shown. A representation may also be long or fail.

    >>> show(-1), show("0.1"), show([5, 6, 7])
    ('-1', "'0.1' (text)", 'a list of 3')
    >>> show("postgresql://reader:secret@db/clinic")
    "'postgresql://reader:…@db/clinic' (text)"
    """
    if isinstance(value, str):
        return f"{hidden(value)[:_LONGEST]!r} (text)"
    if isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(end, _SCALARS) for end in value):  # noqa: PLR2004 - a pair
        return f"({', '.join(map(show, value))})"
    if isinstance(value, type):
        return f"the class {value.__name__[:_LONGEST]}"
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
