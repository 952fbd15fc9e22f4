"""`tacit local`: the local model from a terminal. What each command does is in the files `local_…` beside this one."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    name="local",
    help="People who trust nobody: each device randomises its own answer, the server estimates.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Data for machines instead of a table; errors too, on stderr.")]
Parameters = Annotated[str, typer.Argument(help="The public parameters, as `tacit local choose --save` writes them.")]
Epsilon = Annotated[float, typer.Option(help="ε of each person's report, at most 50.")]
People = Annotated[int, typer.Option(help="How many people report.")]
Confidence = Annotated[float, typer.Option(help="How often intervals hold.")]
Chart = Annotated[str | None, typer.Option(help="Save a chart to this file.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist; never one that is read.")]
Consistent = Annotated[
    str | None, typer.Option(help="Biased: norm-sub, norm-mul, base-cut, simplex or isotonic; often far closer.")
]


@app.command()
def choose(  # noqa: PLR0913 - one for each option
    *,
    epsilon: Epsilon,
    domain: Annotated[
        str | None, typer.Option(help="A file of values: one text a line, or a JSON list in a .json file.")
    ] = None,
    domain_size: Annotated[int | None, typer.Option(help="Instead of a file: the values are 0, 1, …, d-1.")] = None,
    people: People = 100_000,
    max_report_bytes: Annotated[int | None, typer.Option(help="The largest report that is acceptable.")] = None,
    protocol: Annotated[str | None, typer.Option(help="This protocol, whatever would be best.")] = None,
    save: Annotated[str | None, typer.Option(help="Write the public parameters for all devices to this file.")] = None,
    against: Annotated[
        str | None, typer.Option(help="What the chart's variances are drawn against: epsilon (by default) or d.")
    ] = None,
    chart: Chart = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Compare all protocols by their exact variances, name the best, and write its public parameters."""
    from tacit.cli import local_choose  # noqa: PLC0415 - heavy

    wanted = local_choose.Wanted(
        epsilon=epsilon,
        domain=domain,
        domain_size=domain_size,
        people=people,
        max_report_bytes=max_report_bytes,
        protocol=protocol,
    )
    local_choose.choose(wanted, save=save, against=against, chart=chart, force=force, json=json)


@app.command()
def randomize(
    parameters: Parameters,
    values: Annotated[str, typer.Argument(help="A file of values, one a line; - for standard input.")] = "-",
    *,
    out: Annotated[
        str | None, typer.Option(help="A file for the reports: .jsonl, .parquet, or any other name for framed bytes.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Draw one report for each line; every call draws anew and costs each person another ε."""
    from tacit.cli import local_runs  # noqa: PLC0415 - heavy

    local_runs.randomize(parameters, values, out=out, force=force, json=json)


@app.command()
def aggregate(  # noqa: PLR0913 - one for each option
    parameters: Parameters,
    reports: Annotated[
        list[str] | None,
        typer.Argument(help="Files of reports: .jsonl, .parquet, bytes; .npz are tallies; - for JSON lines on stdin."),
    ] = None,
    *,
    tally: Annotated[str | None, typer.Option(help="Go on with the tally in this file, and save it there.")] = None,
    confidence: Confidence = 0.95,
    simultaneous: Annotated[bool, typer.Option("--simultaneous", help="All intervals hold at once.")] = False,
    consistent: Consistent = None,
    top: Annotated[int, typer.Option(help="How many of the largest counts are shown.")] = 20,
    chart: Chart = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Count reports and estimate how many people have each value; what is malformed is counted and dropped."""
    from tacit.cli import local_runs  # noqa: PLC0415 - heavy

    shown = local_runs.Shown(confidence=confidence, simultaneous=simultaneous, consistent=consistent, top=top)
    local_runs.aggregate(parameters, reports or (), tally=tally, shown=shown, chart=chart, force=force, json=json)


@app.command()
def simulate(  # noqa: PLR0913 - one for each option
    *,
    epsilon: Epsilon,
    domain_size: Annotated[int, typer.Option(help="How many values there are.")] = 128,
    people: People = 100_000,
    population: Annotated[str, typer.Option(help="Who has what: zipf, geometric or uniform.")] = "zipf",
    protocol: Annotated[list[str] | None, typer.Option(help="Only this one; may be repeated.")] = None,
    runs: Annotated[int, typer.Option(help="How many times everybody reports.")] = 1,
    consistent: Consistent = "norm-sub",
    chart: Chart = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Have a made-up population report, and hold the estimates against the truth and against theory."""
    from tacit.cli import local_simulate  # noqa: PLC0415 - heavy

    made_up = local_simulate.MadeUp(
        epsilon=epsilon,
        domain_size=domain_size,
        people=people,
        population=population,
        protocols=tuple(protocol or ()),
        runs=runs,
        consistent=consistent,
    )
    local_simulate.run(made_up, chart=chart, force=force, json=json)
