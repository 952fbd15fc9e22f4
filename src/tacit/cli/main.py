"""The `tacit` command."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from tacit.errors import TacitError

app = typer.Typer(
    name="tacit",
    help="Publish what the data says, not who is in it.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:  # noqa: FBT001 - typer's callback
    if asked:
        import tacit  # noqa: PLC0415 - only when asked

        typer.echo(tacit.__version__)
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish what the data says, not who is in it."""


@app.command()
def demo(
    *, json: Annotated[bool, typer.Option("--json", help="Data for machines instead of a table.")] = False
) -> None:
    """Count rural units privately at two budgets, with honest error bars."""
    from tacit.cli.demo import run  # noqa: PLC0415 - heavy

    run(json=json)


def main() -> None:
    """Run the command line; exit codes: 0 done, 1 a bug, 2 usage or a refused argument."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε shows a question mark, not a traceback
    try:
        app()
    except TacitError as error:
        print(f"tacit: {error}", file=sys.stderr)
        raise SystemExit(2) from None
