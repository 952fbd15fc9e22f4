"""The terminal: data on stdout, messages, progress and errors on stderr.

All text passes through `safe_text`, so that no value of the data can control the terminal.
"""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias, cast

from tacit.errors import (
    BudgetError,
    InternalError,
    InvalidError,
    RefusedError,
    SourceError,
    TableNotFoundError,
    TableNotNamedError,
    TacitError,
    show_name,
)
from tacit.safe_text import as_json as to_json
from tacit.safe_text import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
"""The version of every JSON object that a command prints."""

BUG, USAGE, REFUSED, FAILED, STOPPED, TERMINATED = 1, 2, 3, 4, 130, 143
"""Exit codes."""

Advance: TypeAlias = Callable[[int], None]
"""Add a number of finished items to a progress bar."""

_WIDE = 10_000
_KINDS = ("BudgetError", "InternalError", "InvalidError", "LedgerError", "NoSourceError", "PolicyError", "RefusedError",
          "SourceError", "TacitError", "TooMuchNoiseError")  # fmt: skip


def stderr_console() -> Console:
    """Return the console for messages."""
    from rich.console import Console  # noqa: PLC0415 - heavy

    return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def stdout_console() -> Console:
    """Return the console for data: as wide as the terminal, and wide enough for any table elsewhere."""
    from rich.console import Console  # noqa: PLC0415 - heavy

    width = None if sys.stdout.isatty() else _WIDE
    return Console(file=sys.stdout, highlight=False, soft_wrap=True, width=width, emoji=False)


def say(text: str) -> None:
    """Write a message to stderr."""
    print(visible_lines(text), file=sys.stderr, flush=True)


def put(text: str) -> None:
    """Write text to stdout."""
    print(visible_lines(text), flush=True)


def put_warning(text: str) -> None:
    """Write a warning to stdout, in bold on a terminal."""
    if not sys.stdout.isatty():
        put(text)
        return
    stdout_console().print(visible_lines(text), markup=False, style="bold red")


def put_json(content: dict[str, object], *, ascii_only: bool = True) -> None:
    """Write an object with the version of the schema to stdout, as one line of JSON."""
    print(to_json({"schema": SCHEMA, **content}, ascii_only=ascii_only), flush=True)


def drop_output() -> None:
    """Drop what could not be written to stdout, so that the end of the process does not try again."""
    sys.stdout = io.StringIO()


class _TerminalStream:
    """Standard output on a terminal: characters that would control it are written as escapes."""

    def write(self, text: str) -> int:
        """Write text."""
        return sys.stdout.write(visible_lines(text))


def data_stream() -> TextIO:
    """Return the stream for a table of data: stdout, with escapes if it is a terminal."""
    return cast("TextIO", _TerminalStream()) if sys.stdout.isatty() else sys.stdout


@contextmanager
def working(activity: str) -> Iterator[None]:
    """Show a spinner while the block runs, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with stderr_console().status(activity):
        yield


@contextmanager
def counting(activity: str, total: int | None = None) -> Iterator[Advance]:
    """Show a progress bar while the block runs, if stderr is a terminal; the block gets a function that advances it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - heavy

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stderr_console(), transient=True) as bar:
        task = bar.add_task(activity, total=total)
        yield lambda finished: bar.advance(task, finished)


_SPELLED = {
    "ε": "epsilon", "δ": "delta", "ρ": "rho", "σ": "sigma", "μ": "mu", "α": "alpha", "β": "beta", "λ": "lambda",
    "Δ": "Delta", "…": "...", "–": "-", "—": "-", "±": "+/-", "≤": "<=", "≥": ">=", "≠": "!=", "·": "*", "×": "x",
    "²": "^2", "√": "sqrt", "∞": "inf", "½": "1/2", "→": "->", "“": '"', "”": '"', "’": "'",
}  # fmt: skip
SPELL = "tacit.spell"
"""The name of the error handler that spells letters which a stream cannot encode."""


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Return ASCII for the characters that a stream cannot encode: ε as epsilon; others as question marks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_SPELLED.get(letter, "?") for letter in text), error.end


codecs.register_error(SPELL, _spell)


def print_error(error: TacitError, *, as_json: bool) -> int:
    """Write an error to stderr and return its exit code."""
    code = exit_code(error)
    _print(error_kind(error), code, str(error), as_json=as_json)
    return code


INTERRUPTED = "Interrupted. If the query was already charged, the charge stays. `tacit ledger show POLICY` lists it."


def print_abort(text: str = "Stopped.", *, as_json: bool, code: int = STOPPED) -> int:
    """Write to stderr that the user or a signal stopped the command, and return the exit code."""
    _print("Abort", code, text, as_json=as_json)
    return code


def print_warning(message: str, *, as_json: bool) -> None:
    """Write a warning to stderr, on one line."""
    text = to_json({"schema": SCHEMA, "warning": {"message": message}}) if as_json else f"Warning: {visible(message)}"
    print(text, file=sys.stderr)


def print_usage_error(error: Any, *, as_json: bool) -> int:  # noqa: ANN401 - typer may bundle its copy of click
    """Write typer's error about the options to stderr, without characters that control a terminal."""
    if as_json:
        _print("UsageError", USAGE, error.format_message(), as_json=True)
        return USAGE
    text = io.StringIO()
    error.show(file=text)
    print(visible_lines(text.getvalue()), end="", file=sys.stderr)
    return int(error.exit_code)


def _print(kind: str, code: int, message: str, *, as_json: bool) -> None:
    content = {"schema": SCHEMA, "error": {"kind": kind, "code": code, "message": message}}
    print(to_json(content) if as_json else f"Error: {message}", file=sys.stderr)


def exit_code(error: TacitError) -> int:
    """Return the exit code for an error."""
    if isinstance(error, (RefusedError, BudgetError)):
        return REFUSED
    if isinstance(error, SourceError):
        return FAILED
    return BUG if isinstance(error, InternalError) else USAGE


def error_kind(error: TacitError) -> str:
    """Return the name of an error's class in JSON; a class that is not in `_KINDS` has the name of its base."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _KINDS)


@contextmanager
def table_option() -> Iterator[None]:
    """Turn errors about the table of a database into errors about the option --table."""
    try:
        yield
    except (TableNotFoundError, TableNotNamedError) as error:
        tables = ", ".join(map(show_name, sorted(error.tables)))
        hint = f"Name one of these tables with --table: {tables}." if tables else error.hint
        raise InvalidError(error.message, argument="--table", hint=hint) from None
