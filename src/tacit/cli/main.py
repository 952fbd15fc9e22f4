"""The `tacit` command: its groups of commands, and `main`, which runs them.

The commands are in `query_commands`, `ledger_commands`, `mechanism_commands`, `local_commands` and
`microdata_commands`.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from tacit.cli import mechanism_commands, microdata_commands, query_commands
from tacit.cli.ledger_commands import ledger_app
from tacit.cli.local_commands import local_app
from tacit.cli.output import SPELL, print_abort, print_error, print_usage_error
from tacit.errors import TacitError

app = typer.Typer(
    name="tacit",
    help="Publish what the data says, not who is in it.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,
)
_COMMANDS: tuple[Callable[..., None], ...] = (
    query_commands.demo,
    query_commands.init,
    query_commands.plan,
    query_commands.query,
    query_commands.histogram,
    query_commands.crosstab,
    query_commands.limits,
    query_commands.bounds,
    mechanism_commands.release,
    mechanism_commands.compose,
    microdata_commands.check,
    microdata_commands.anonymize,
    microdata_commands.attack,
)
"""The commands that belong to no group, in the order of `tacit --help`."""
for _command in _COMMANDS:
    app.command()(_command)
app.add_typer(ledger_app)
app.add_typer(local_app)


def main() -> None:
    """Run the command line.

    Exit codes: 0 done, 1 a bug, 2 usage, 3 refused for privacy, 4 the data source failed, 130 stopped by the user.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELL)  # a terminal without ε shows epsilon, not a traceback
    as_json = "--json" in sys.argv[1:]
    try:
        code = app(standalone_mode=False)
    except TacitError as error:
        code = print_error(error, as_json=as_json)
    except typer.Abort:
        code = print_abort(as_json=as_json)
    except Exception as error:
        if not hasattr(error, "format_message"):  # only typer's usage errors have it
            raise
        code = print_usage_error(error, as_json=as_json)
    raise SystemExit(code if isinstance(code, int) else 0)


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
) -> None:
    """Publish what the data says, not who is in it."""
