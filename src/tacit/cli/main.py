"""The `tacit` command: its groups of commands, and `main`, which runs them.

The commands are in `query_commands`, `synthesis_commands`, `itemset_commands`, `ledger_commands`, `mechanism_commands`,
`local_commands`, `microdata_commands`, `audit_commands` and `serve_commands`.
"""

from __future__ import annotations

import io
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from tacit.cli import (
    audit_commands,
    itemset_commands,
    mechanism_commands,
    microdata_commands,
    query_commands,
    serve_commands,
    synthesis_commands,
)
from tacit.cli.ledger_commands import ledger_app
from tacit.cli.local_commands import local_app
from tacit.cli.output import INTERRUPTED, SPELL, TERMINATED, print_abort, print_error, print_usage_error, print_warning
from tacit.errors import TacitError


class _Program(TyperGroup):
    """The commands. Typer would end silently after Ctrl-C; `main` reports it, in JSON if that was asked for."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer may bundle its copy of click
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


app = typer.Typer(
    name="tacit",
    help="Publish what the data says, not who is in it.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,
    cls=_Program,
)
_LEVELS = ("debug", "info", "warning", "error")
_COMMANDS: tuple[Callable[..., None], ...] = (
    query_commands.demo,
    query_commands.init,
    query_commands.plan,
    query_commands.query,
    query_commands.histogram,
    query_commands.crosstab,
    query_commands.marginals,
    synthesis_commands.synthesize,
    itemset_commands.itemsets,
    query_commands.classify,
    query_commands.limits,
    query_commands.bounds,
    mechanism_commands.release,
    mechanism_commands.compose,
    audit_commands.audit,
    audit_commands.verify,
    microdata_commands.check,
    microdata_commands.anonymize,
    microdata_commands.attack,
    serve_commands.serve,
)
"""The commands that belong to no group, in the order of `tacit --help`."""
for _command in _COMMANDS:
    app.command()(_command)
app.add_typer(ledger_app)
app.add_typer(local_app)
app.add_typer(serve_commands.user_app)


def main() -> None:
    """Run the command line.

    Exit codes: 0 done, 1 a bug, 2 usage, 3 refused for privacy, 4 the data source failed, 130 stopped by the user, 143
    ended by SIGTERM.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELL)  # a terminal without ε shows epsilon, not a traceback
    as_json = "--json" in sys.argv[1:]
    try:
        with _sigterm_raised(), _warnings_printed(as_json=as_json):
            code = app(standalone_mode=False)
    except TacitError as error:
        code = print_error(error, as_json=as_json)
    except (typer.Abort, KeyboardInterrupt):
        code = print_abort(as_json=as_json)
    except _TerminatedError:
        code = print_abort(INTERRUPTED, as_json=as_json, code=TERMINATED)
    except Exception as error:
        if not hasattr(error, "format_message"):  # only typer's usage errors have it
            raise
        code = print_usage_error(error, as_json=as_json)
    raise SystemExit(code if isinstance(code, int) else 0)


class _TerminatedError(BaseException):
    """SIGTERM arrived. It is not an Exception, so that a charged query is recorded as failed on its way up."""


@contextmanager
def _sigterm_raised() -> Iterator[None]:
    """Turn SIGTERM into an error within, so that files are closed and the outcome of a charge is recorded."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(*_: object) -> NoReturn:
        raise _TerminatedError

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _warnings_printed(*, as_json: bool) -> Iterator[None]:
    """Print the warnings of tacit within as one line on stderr, without the place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print_warning(str(message), as_json=as_json)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _start_log(level: str | None) -> str | None:
    """Write the log of tacit to stderr, from a level on."""
    if level is not None:
        import logging  # noqa: PLC0415 - only for this option

        if level.lower() not in _LEVELS:
            raise typer.BadParameter(f"{level!r} is not one of {', '.join(_LEVELS)}.")
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        logger = logging.getLogger("tacit")
        logger.addHandler(handler)
        logger.setLevel(level.upper())
    return level


def _print_version(requested: bool) -> None:  # noqa: FBT001 - typer's callback
    if requested:
        from tacit.version import VERSION  # noqa: PLC0415 - only for this option

        typer.echo(VERSION)
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    log_level: Annotated[
        str | None,
        typer.Option(
            callback=_start_log, help="Write the log to stderr, from this level on: debug, info, warning or error."
        ),
    ] = None,
) -> None:
    """Publish what the data says, not who is in it."""
