"""The `tacit` command."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any, NoReturn

import typer

from tacit.cli import local, microdata
from tacit.errors import BudgetError, RefusedError, SourceError, TacitError
from tacit.safe_text import as_json as to_json
from tacit.safe_text import visible_lines

app = typer.Typer(
    name="tacit",
    help="Publish what the data says, not who is in it.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,
)


_USAGE, _STOPPED = 2, 130


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


Json = Annotated[bool, typer.Option("--json", help="Data for machines instead of a table; errors too, on stderr.")]
Policy = Annotated[str, typer.Argument(help="The policy file, as `tacit init` begins it.")]
Sql = Annotated[str, typer.Argument(help="The question.")]
Epsilon = Annotated[float | None, typer.Option(help="ε of the whole question.")]
Delta = Annotated[float, typer.Option(help="δ of the whole question; with some, Gaussian noise where it errs less.")]
Error = Annotated[
    float | None, typer.Option(help="Instead of ε: how far off the answer may be; the cheapest ε for it is found.")
]
Rho = Annotated[float | None, typer.Option(help="ρ instead of ε, for a budget in zCDP.")]
Confidence = Annotated[float, typer.Option(help="How often the errors hold.")]
Assume = Annotated[int | None, typer.Option(help="How many units a group is assumed to have, for averages.")]
Analyst = Annotated[str, typer.Option(envvar="TACIT_ANALYST", help="Who asks, for the ledger.")]
Place = Annotated[
    str | None,
    typer.Option("--ledger", envvar="TACIT_LEDGER", help="Another ledger than the policy's: a file or a URL."),
]


@app.command()
def demo(
    *,
    json: Json = False,
    chart: Annotated[str | None, typer.Option(help="Save a chart of the answer to this file.")] = None,
) -> None:
    """Do the main job on a made-up survey, start to finish."""
    from tacit.cli.demo import run  # noqa: PLC0415 - heavy

    run(json=json, chart=chart)


@app.command()
def init(
    source: Annotated[
        str, typer.Argument(help="Parquet or CSV files, a DuckDB file, a PostgreSQL URL, spark:table or sc://host.")
    ],
    *,
    table: Annotated[
        str | None, typer.Option(help="The table's name in a DuckDB file, in PostgreSQL or in Spark.")
    ] = None,
) -> None:
    """Write a policy to fill in, from the schema alone; no row is read."""
    from tacit.cli import query  # noqa: PLC0415 - heavy

    query.init(source, table)


@app.command()
def plan(  # noqa: PLR0913 - one for each option
    policy: Policy,
    sql: Sql,
    *,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    error: Error = None,
    confidence: Confidence = 0.95,
    assume: Assume = None,
    analyst: Analyst = "",
    place: Place = None,
    json: Json = False,
) -> None:
    """Say what a question costs and how far off its answer will be; spends nothing."""
    from tacit.cli import query  # noqa: PLC0415 - heavy

    asked = query.Asked(
        policy=policy,
        sql=sql,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        error=error,
        confidence=confidence,
        assume=assume,
        analyst=analyst,
        ledger=place,
    )
    query.plan(asked, json=json)


@app.command()
def query(  # noqa: PLR0913 - one for each option
    policy: Policy,
    sql: Sql,
    *,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    error: Error = None,
    confidence: Confidence = 0.95,
    assume: Assume = None,
    analyst: Analyst = "",
    place: Place = None,
    request: Annotated[str | None, typer.Option(help="Your own name for this very question; repeats are free.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking.")] = False,
    chart: Annotated[str | None, typer.Option(help="Save a chart of the answer to this file.")] = None,
    json: Json = False,
) -> None:
    """Ask a question and pay for it; on a terminal the plan is shown first."""
    from tacit.cli import query  # noqa: PLC0415 - heavy

    asked = query.Asked(
        policy=policy,
        sql=sql,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        error=error,
        confidence=confidence,
        assume=assume,
        analyst=analyst,
        ledger=place,
        request=request,
    )
    raise typer.Exit(query.query(asked, json=json, yes=yes, chart=chart))


@app.command()
def ledger(  # noqa: PLR0913 - one for each option
    policy: Policy,
    action: Annotated[
        str,
        typer.Argument(
            help="show, verify, export, import, accept (a changed budget, bounds or analyst's limit) or renew."
        ),
    ] = "show",
    file: Annotated[str | None, typer.Argument(help="What to import; - for standard input.")] = None,
    *,
    receipt: Annotated[list[str] | None, typer.Option(help="With verify: a receipt that must be in it.")] = None,
    place: Place = None,
    disjoint: Annotated[
        bool, typer.Option("--disjoint-units", help="With renew: no unit was in any version of the data before.")
    ] = False,
    delta: Annotated[float | None, typer.Option(help="Show what all would cost as one plan at this δ.")] = None,
    chart: Annotated[str | None, typer.Option(help="Draw what was left after each question to this file.")] = None,
    json: Json = False,
) -> None:
    """Show what was spent and by whom; check, copy or renew the ledger of a policy."""
    from tacit.cli import ledger  # noqa: PLC0415 - heavy

    code = ledger.run(
        policy,
        action,
        file=file,
        receipts=receipt or (),
        ledger=place,
        disjoint=disjoint,
        delta=delta,
        chart=chart,
        json=json,
    )
    raise typer.Exit(code)


app.add_typer(local.app)
microdata.add(app)


def main() -> None:
    """Run the command line.

    Exit codes: 0 done, 1 a bug, 2 usage, 3 refused for privacy, 4 the data source failed, 130 stopped by the user.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε shows a question mark, not a traceback
    as_json = "--json" in sys.argv[1:]
    try:
        code = app(standalone_mode=False)
    except TacitError as error:
        _tell(type(error).__name__, _code(error), str(error), as_json=as_json)
    except typer.Abort:
        _tell("Abort", _STOPPED, "Stopped.", as_json=as_json)
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's errors of usage have one
            raise
        if as_json:
            _tell("UsageError", _USAGE, error.format_message(), as_json=True)
        _show_usage(error)
    raise SystemExit(code if isinstance(code, int) else 0)


def _show_usage(error: Any) -> NoReturn:  # noqa: ANN401 - typer may carry a click of its own
    """Write an error of usage, which repeats arguments, as a terminal may show it."""
    text = io.StringIO()
    error.show(file=text)
    print(visible_lines(text.getvalue()), end="", file=sys.stderr)
    raise SystemExit(error.exit_code) from None


def _tell(kind: str, code: int, message: str, *, as_json: bool) -> NoReturn:
    told = {"schema": 1, "error": {"kind": kind, "code": code, "message": message}}
    print(to_json(told) if as_json else f"tacit: {message}", file=sys.stderr)
    raise SystemExit(code) from None


def _code(error: TacitError) -> int:
    if isinstance(error, (RefusedError, BudgetError)):
        return 3
    return 4 if isinstance(error, SourceError) else _USAGE
