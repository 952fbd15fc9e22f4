"""The commands of `tacit local`. Each collects its options and calls a module that is slow to import."""

from __future__ import annotations

import typer

from tacit.cli import local_options, options

local_app = typer.Typer(
    name="local",
    help="Local model: devices randomise, the server estimates.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@local_app.command()
def choose(  # noqa: PLR0913 - one for each option
    *,
    epsilon: local_options.ReportEpsilonOption = None,
    p: local_options.TruthOption = None,
    q: local_options.OtherBitOption = None,
    buckets: local_options.BucketsOption = None,
    size: local_options.SubsetSizeOption = None,
    domain: local_options.DomainOption = None,
    domain_size: local_options.DomainSizeOption = None,
    words: local_options.WordsOption = None,
    people: local_options.PeopleOption = 100_000,
    max_report_bytes: local_options.MaxReportBytesOption = None,
    protocol: local_options.ProtocolOption = None,
    client: local_options.ClientOption = None,
    save: local_options.SaveParametersOption = None,
    against: local_options.AgainstOption = None,
    chart: options.ChartOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Compare protocols by variance, and name the best. Write its public parameters with --save."""
    from tacit.cli import local, local_protocols  # noqa: PLC0415 - heavy

    chosen = local.ChooseOptions(
        numbers=local_protocols.ProtocolOptions(epsilon=epsilon, p=p, q=q, buckets=buckets, size=size),
        domain=domain,
        domain_size=domain_size,
        words=words,
        people=people,
        max_report_bytes=max_report_bytes,
        protocol=protocol,
        client=client,
    )
    local.choose(chosen, save=save, against=against, chart=chart, force=force, json=json)


@local_app.command()
def randomize(
    parameters: local_options.ParametersArgument,
    values: local_options.ValuesArgument = "-",
    *,
    out: local_options.ReportsOutOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Draw one report per line. Every call draws new reports and costs each person another ε."""
    from tacit.cli import local_reports  # noqa: PLC0415 - heavy

    local_reports.randomize(parameters, values, out=out, force=force, json=json)


@local_app.command()
def aggregate(  # noqa: PLR0913 - one for each option
    parameters: local_options.ParametersArgument,
    reports: local_options.ReportsArgument = None,
    *,
    tally: local_options.TallyOption = None,
    confidence: options.ConfidenceOption = 0.95,
    simultaneous: local_options.SimultaneousOption = False,
    consistent: local_options.ConsistentOption = None,
    top: local_options.TopOption = 20,
    chart: options.ChartOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Count reports and estimate how many people have each value. Malformed reports are counted and dropped."""
    from tacit.cli import local_reports as group  # noqa: PLC0415 - heavy

    view = group.EstimateOptions(confidence=confidence, simultaneous=simultaneous, consistent=consistent, top=top)
    group.aggregate(parameters, reports or (), tally=tally, view=view, chart=chart, force=force, json=json)


@local_app.command()
def simulate(  # noqa: PLR0913 - one for each option
    *,
    epsilon: local_options.ReportEpsilonOption = None,
    p: local_options.TruthOption = None,
    q: local_options.OtherBitOption = None,
    buckets: local_options.BucketsOption = None,
    size: local_options.SubsetSizeOption = None,
    domain_size: local_options.SimulatedSizeOption = None,
    words: local_options.WordsOption = None,
    people: local_options.PeopleOption = 100_000,
    population: local_options.PopulationShapeOption = "zipf",
    protocol: local_options.ProtocolsOption = None,
    runs: local_options.RunsOption = 1,
    seed: local_options.SimulationSeedOption = None,
    consistent: local_options.ConsistentOption = "norm-sub",
    chart: options.ChartOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Simulate a population, and compare errors with theory."""
    from tacit.cli import local_protocols, local_simulate  # noqa: PLC0415 - heavy

    survey = local_simulate.SimulateOptions(
        numbers=local_protocols.ProtocolOptions(epsilon=epsilon, p=p, q=q, buckets=buckets, size=size),
        domain_size=domain_size,
        words=words,
        people=people,
        population=population,
        protocols=tuple(protocol or ()),
        runs=runs,
        seed=seed,
        consistent=consistent,
    )
    local_simulate.simulate(survey, chart=chart, force=force, json=json)
