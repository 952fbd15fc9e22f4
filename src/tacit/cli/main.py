"""The `tacit` command: its subcommands, and `main`, which runs them.

Each subcommand collects its options here and calls the module of its group: `query`, `ledger`, `local`, `microdata`
or `demo`. These modules are imported inside the functions, because they are slow to import.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tacit.cli import options
from tacit.cli.output import SPELL, print_abort, print_error, print_usage_error
from tacit.errors import TacitError

app = typer.Typer(
    name="tacit",
    help="Publish what the data says, not who is in it.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,
)


class _LedgerGroup(TyperGroup):
    """The commands of `tacit ledger`; `tacit ledger POLICY` means show, and POLICY may come before the command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer may bundle its copy of click
        """Put the command first."""
        if args and args[0] not in self.commands and "--help" not in args:
            command = next((arg for arg in args if arg in self.commands), None)
            others = list(args)
            if command is not None:
                others.remove(command)
            args = [command or "show", *others]
        return super().parse_args(ctx, args)


ledger_app = typer.Typer(
    name="ledger",
    help="Show, verify, copy, change or renew the ledger of a policy.",
    no_args_is_help=True,
    rich_markup_mode=None,
    cls=_LedgerGroup,
)
local_app = typer.Typer(
    name="local",
    help="Local model: devices randomise, the server estimates.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


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


@app.command()
def demo(*, json: options.JsonOption = False, chart: options.ChartOption = None) -> None:
    """Run a private query on a made-up survey."""
    from tacit.cli import demo  # noqa: PLC0415 - heavy

    demo.run(json=json, chart=chart)


@app.command()
def init(source: options.SourceArgument, *, table: options.SourceTableOption = None) -> None:
    """Print a policy to fill in. It comes from the schema alone; no row is read."""
    from tacit.cli import query  # noqa: PLC0415 - heavy

    query.init(source, table)


@app.command()
def plan(  # noqa: PLR0913 - one for each option
    policy: options.PolicyArgument,
    sql: options.SqlArgument = None,
    *,
    file: options.SqlFileOption = None,
    param: options.ParamOption = None,
    epsilon: options.EpsilonOption = None,
    delta: options.DeltaOption = 0.0,
    rho: options.RhoOption = None,
    error: options.ErrorOption = None,
    confidence: options.ConfidenceOption = 0.95,
    assume: options.AssumeOption = None,
    reach: options.ReachOption = None,
    max_groups: options.MaxGroupsOption = None,
    max_rows: options.MaxRowsOption = None,
    bounds: options.BoundsOption = None,
    measure_cut: options.MeasureCutOption = None,
    share: options.ShareOption = None,
    no_intervals: options.NoIntervalsOption = False,
    analyst: options.AnalystOption = "",
    ledger: options.LedgerOption = None,
    json: options.JsonOption = False,
) -> None:
    """Print the cost of a query and its expected error. Nothing is spent."""
    from tacit.cli import bounds as group  # noqa: PLC0415 - heavy
    from tacit.cli import query  # noqa: PLC0415 - heavy
    from tacit.cli.query_text import read_params, read_query  # noqa: PLC0415 - heavy

    cost = query.Cost(epsilon=epsilon, delta=delta, rho=rho, error=error)
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst)
    limits = query.given_limits(reach, max_groups, max_rows) | {"bounds": group.read_bounds(bounds or ())}
    cut = {"measure_cut": measure_cut, "share": share, "intervals": not no_intervals}
    text, params = read_query(sql, file), read_params(param)
    question = query.QueryOptions(
        sql=text, params=params, cost=cost, confidence=confidence, assume=assume, limits=limits, cut=cut
    )
    query.plan(access, question, json=json)


@app.command()
def query(  # noqa: PLR0913 - one for each option
    policy: options.PolicyArgument,
    sql: options.SqlArgument = None,
    *,
    file: options.SqlFileOption = None,
    param: options.ParamOption = None,
    epsilon: options.EpsilonOption = None,
    delta: options.DeltaOption = 0.0,
    rho: options.RhoOption = None,
    error: options.ErrorOption = None,
    confidence: options.ConfidenceOption = 0.95,
    assume: options.AssumeOption = None,
    reach: options.ReachOption = None,
    max_groups: options.MaxGroupsOption = None,
    max_rows: options.MaxRowsOption = None,
    bounds: options.BoundsOption = None,
    measure_cut: options.MeasureCutOption = None,
    share: options.ShareOption = None,
    no_intervals: options.NoIntervalsOption = False,
    analyst: options.AnalystOption = "",
    ledger: options.LedgerOption = None,
    request: options.RequestOption = None,
    yes: options.YesOption = False,
    chart: options.ChartOption = None,
    out: options.AnswerOutOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Charge a query and print the answer. On a terminal, the plan comes first."""
    from tacit.cli import bounds as group  # noqa: PLC0415 - heavy
    from tacit.cli import query  # noqa: PLC0415 - heavy
    from tacit.cli.query_text import read_params, read_query  # noqa: PLC0415 - heavy

    cost = query.Cost(epsilon=epsilon, delta=delta, rho=rho, error=error)
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst)
    limits = query.given_limits(reach, max_groups, max_rows) | {"bounds": group.read_bounds(bounds or ())}
    cut = {"measure_cut": measure_cut, "share": share, "intervals": not no_intervals}
    question = query.QueryOptions(
        sql=read_query(sql, file),
        params=read_params(param),
        cost=cost,
        confidence=confidence,
        assume=assume,
        limits=limits,
        cut=cut,
        request=request,
    )
    files = query.AnswerFiles(chart=chart, out=out, force=force)
    raise typer.Exit(query.query(access, question, files, json=json, yes=yes))


@app.command()
def histogram(  # noqa: PLR0913 - one for each option
    policy: options.PolicyArgument,
    column: options.HistogramColumnArgument,
    *,
    bins: options.BinsOption,
    by: options.ByOption = None,
    where: options.WhereOption = None,
    table: options.PrivateTableOption = None,
    epsilon: options.EpsilonOption = None,
    delta: options.DeltaOption = 0.0,
    rho: options.RhoOption = None,
    error: options.ErrorOption = None,
    confidence: options.ConfidenceOption = 0.95,
    reach: options.ReachOption = None,
    max_groups: options.MaxGroupsOption = None,
    max_rows: options.MaxRowsOption = None,
    plan: options.PlanOnlyOption = False,
    analyst: options.AnalystOption = "",
    ledger: options.LedgerOption = None,
    request: options.RequestOption = None,
    yes: options.YesOption = False,
    chart: options.ChartOption = None,
    out: options.AnswerOutOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Count a column's values in bins: whole numbers, never negative, with intervals."""
    from tacit.cli import query, tables  # noqa: PLC0415 - heavy

    cost = query.Cost(epsilon=epsilon, delta=delta, rho=rho, error=error)
    rows = {"where": where, "table": table, "confidence": confidence, "request": request}
    given = {**rows, **query.given_limits(reach, max_groups, max_rows), "by": tuple(by or ())}
    counted = tables.Histogram(column=column, bins=tables.read_bins(bins), cost=cost, options=given)
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst)
    files = query.AnswerFiles(chart=chart, out=out, force=force)
    raise typer.Exit(tables.run(access, counted, files, json=json, yes=yes, plan=plan))


@app.command()
def crosstab(  # noqa: PLR0913 - one for each option
    policy: options.PolicyArgument,
    columns: options.CrosstabColumnsArgument,
    *,
    where: options.WhereOption = None,
    table: options.PrivateTableOption = None,
    epsilon: options.EpsilonOption = None,
    delta: options.DeltaOption = 0.0,
    rho: options.RhoOption = None,
    error: options.ErrorOption = None,
    confidence: options.ConfidenceOption = 0.95,
    reach: options.ReachOption = None,
    max_groups: options.MaxGroupsOption = None,
    max_rows: options.MaxRowsOption = None,
    plan: options.PlanOnlyOption = False,
    analyst: options.AnalystOption = "",
    ledger: options.LedgerOption = None,
    request: options.RequestOption = None,
    yes: options.YesOption = False,
    chart: options.ChartOption = None,
    out: options.AnswerOutOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Count the combinations of several columns: a table that agrees with its margins."""
    from tacit.cli import query, tables  # noqa: PLC0415 - heavy

    cost = query.Cost(epsilon=epsilon, delta=delta, rho=rho, error=error)
    rows = {"where": where, "table": table, "confidence": confidence, "request": request}
    given = {**rows, **query.given_limits(reach, max_groups, max_rows)}
    counted = tables.Crosstab(columns=tuple(columns), cost=cost, options=given)
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst)
    files = query.AnswerFiles(chart=chart, out=out, force=force)
    raise typer.Exit(tables.run(access, counted, files, json=json, yes=yes, plan=plan))


@app.command()
def limits(  # noqa: PLR0913 - one for each option
    policy: options.PolicyArgument,
    sql: options.LimitsSqlArgument = None,
    *,
    file: options.SqlFileOption = None,
    param: options.ParamOption = None,
    epsilon: options.EpsilonOption = None,
    rho: options.RhoOption = None,
    spend: options.SpendOption = None,
    bounds: options.BoundsOption = None,
    table: options.LimitsTableOption = None,
    confidence: options.ConfidenceOption = 0.95,
    analyst: options.AnalystOption = "",
    ledger: options.LedgerOption = None,
    yes: options.YesOption = False,
    chart: options.ChartOption = None,
    json: options.JsonOption = False,
) -> None:
    """Report privately how many units have how many rows, and which reach errs least."""
    from tacit.cli import limits as group  # noqa: PLC0415 - heavy
    from tacit.cli import query  # noqa: PLC0415 - heavy
    from tacit.cli.bounds import read_bounds  # noqa: PLC0415 - heavy
    from tacit.cli.query_text import read_params, read_query  # noqa: PLC0415 - heavy

    report = group.ReportOptions(
        sql=None if sql is None and file is None else read_query(sql, file),
        params=read_params(param),
        epsilon=epsilon,
        rho=rho,
        spend=spend,
        table=table,
        confidence=confidence,
        bounds=read_bounds(bounds or ()),
    )
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst)
    raise typer.Exit(group.run(access, report, json=json, yes=yes, chart=chart))


@app.command()
def bounds(  # noqa: PLR0913 - one for each option
    policy: options.PolicyArgument,
    column: options.ColumnArgument,
    *,
    epsilon: options.EpsilonOption = None,
    rho: options.RhoOption = None,
    where: options.WhereOption = None,
    table: options.PrivateTableOption = None,
    confidence: options.ConfidenceOption = 0.95,
    analyst: options.AnalystOption = "",
    ledger: options.LedgerOption = None,
    request: options.RequestOption = None,
    yes: options.YesOption = False,
    json: options.JsonOption = False,
) -> None:
    """Charge a query that finds private bounds of a column, and print them with a line for the policy."""
    from tacit.cli import bounds as group  # noqa: PLC0415 - heavy
    from tacit.cli import query  # noqa: PLC0415 - heavy

    access = query.Access(policy=policy, ledger=ledger, analyst=analyst)
    wanted = group.BoundsOptions(
        column=column, epsilon=epsilon, rho=rho, where=where, table=table, confidence=confidence, request=request
    )
    raise typer.Exit(group.run(access, wanted, json=json, yes=yes))


@ledger_app.command()
def show(
    policy: options.PolicyArgument,
    *,
    ledger: options.LedgerOption = None,
    delta: options.PlanDeltaOption = None,
    chart: options.ChartOption = None,
    json: options.JsonOption = False,
) -> None:
    """Show what was spent, by whom, and what is left."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "show", ledger, group.LedgerOptions(delta=delta, chart=chart, json=json)))


@ledger_app.command()
def verify(
    policy: options.PolicyArgument,
    *,
    receipt: options.ReceiptOption = None,
    ledger: options.LedgerOption = None,
    json: options.JsonOption = False,
) -> None:
    """Compute all totals again, and check that no record was changed."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    chosen = group.LedgerOptions(receipts=receipt or (), json=json)
    raise typer.Exit(group.run(policy, "verify", ledger, chosen))


@ledger_app.command()
def export(
    policy: options.PolicyArgument, *, ledger: options.LedgerOption = None, json: options.JsonOption = False
) -> None:
    """Print a copy of the ledger: each record as one line of JSON."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "export", ledger, group.LedgerOptions(json=json)))


@ledger_app.command("import")
def import_(
    policy: options.PolicyArgument,
    file: options.ImportArgument = None,
    *,
    ledger: options.LedgerOption = None,
    json: options.JsonOption = False,
) -> None:
    """Restore a ledger from a copy that `export` printed."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "import", ledger, group.LedgerOptions(file=file, json=json)))


@ledger_app.command()
def accept(
    policy: options.PolicyArgument, *, ledger: options.LedgerOption = None, json: options.JsonOption = False
) -> None:
    """Accept a changed budget, changed bounds or a changed limit of an analyst."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "accept", ledger, group.LedgerOptions(json=json)))


@ledger_app.command()
def renew(
    policy: options.PolicyArgument,
    *,
    ledger: options.LedgerOption = None,
    disjoint: options.DisjointOption = False,
    json: options.JsonOption = False,
) -> None:
    """Start the budget of a new version of the data."""
    from tacit.cli import ledger as group  # noqa: PLC0415 - heavy

    raise typer.Exit(group.run(policy, "renew", ledger, group.LedgerOptions(disjoint=disjoint, json=json)))


@local_app.command()
def choose(  # noqa: PLR0913 - one for each option
    *,
    epsilon: options.ReportEpsilonOption,
    domain: options.DomainOption = None,
    domain_size: options.DomainSizeOption = None,
    people: options.PeopleOption = 100_000,
    max_report_bytes: options.MaxReportBytesOption = None,
    protocol: options.ProtocolOption = None,
    save: options.SaveParametersOption = None,
    against: options.AgainstOption = None,
    chart: options.ChartOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Compare protocols by variance, and name the best. Write its public parameters with --save."""
    from tacit.cli import local  # noqa: PLC0415 - heavy

    chosen = local.ChooseOptions(
        epsilon=epsilon,
        domain=domain,
        domain_size=domain_size,
        people=people,
        max_report_bytes=max_report_bytes,
        protocol=protocol,
    )
    local.choose(chosen, save=save, against=against, chart=chart, force=force, json=json)


@local_app.command()
def randomize(
    parameters: options.ParametersArgument,
    values: options.ValuesArgument = "-",
    *,
    out: options.ReportsOutOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Draw one report per line. Every call draws new reports and costs each person another ε."""
    from tacit.cli import local_reports  # noqa: PLC0415 - heavy

    local_reports.randomize(parameters, values, out=out, force=force, json=json)


@local_app.command()
def aggregate(  # noqa: PLR0913 - one for each option
    parameters: options.ParametersArgument,
    reports: options.ReportsArgument = None,
    *,
    tally: options.TallyOption = None,
    confidence: options.ConfidenceOption = 0.95,
    simultaneous: options.SimultaneousOption = False,
    consistent: options.ConsistentOption = None,
    top: options.TopOption = 20,
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
    epsilon: options.ReportEpsilonOption,
    domain_size: options.SimulatedSizeOption = 128,
    people: options.PeopleOption = 100_000,
    population: options.PopulationShapeOption = "zipf",
    protocol: options.ProtocolsOption = None,
    runs: options.RunsOption = 1,
    consistent: options.ConsistentOption = "norm-sub",
    chart: options.ChartOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Simulate a population, and compare errors with theory."""
    from tacit.cli import local  # noqa: PLC0415 - heavy

    survey = local.Simulation(
        epsilon=epsilon,
        domain_size=domain_size,
        people=people,
        population=population,
        protocols=tuple(protocol or ()),
        runs=runs,
        consistent=consistent,
    )
    local.simulate(survey, chart=chart, force=force, json=json)


app.add_typer(ledger_app)
app.add_typer(local_app)


@app.command()
def check(  # noqa: PLR0913 - one for each option
    table: options.TableArgument,
    *,
    quasi: options.QuasiOption = None,
    sensitive: options.SensitiveOption = None,
    unit: options.UnitOption = None,
    population: options.PopulationOption = None,
    sep: options.SepOption = None,
    relation: options.RelationOption = None,
    chart: options.ChartOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Print the k, l, t and risks of a table of rows."""
    from tacit.cli import microdata  # noqa: PLC0415 - heavy

    table_options = microdata.TableOptions(
        path=table, quasi=quasi or (), sensitive=sensitive or (), unit=unit, sep=sep, relation=relation
    )
    microdata.check(table_options, population=population, chart=chart, force=force, json=json)


@app.command()
def anonymize(  # noqa: PLR0913 - one for each option
    table: options.FileArgument,
    *,
    hierarchies: options.HierarchiesOption = None,
    hierarchy_sep: options.HierarchySepOption = None,
    quasi: options.QuasiOption = None,
    sensitive: options.SensitiveOption = None,
    unit: options.UnitOption = None,
    keep: options.KeepOption = None,
    k: options.KOption = None,
    l: options.LOption = None,  # noqa: E741 - the literature's letter
    kind: options.DiversityKindOption = None,
    c: options.COption = None,
    t: options.TOption = None,
    n: options.NOption = None,
    method: options.MethodOption = "optimal",
    suppression: options.SuppressionOption = None,
    objective: options.ObjectiveOption = "loss",
    mean: options.MeanOption = "geometric",
    seconds: options.SecondsOption = None,
    draft: options.DraftOption = False,
    out: options.TableOutOption = None,
    spreadsheet: options.SpreadsheetOption = False,
    save: options.SaveRecodingOption = None,
    sep: options.SepOption = None,
    chart: options.ChartOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Recode a table of rows until it is anonymous. Print it, or write it to --out."""
    from tacit.cli import microdata  # noqa: PLC0415 - heavy

    job = microdata.AnonymizeOptions(
        table=microdata.TableOptions(path=table, quasi=quasi or (), sensitive=sensitive or (), unit=unit, sep=sep),
        models=microdata.ModelOptions(k=k, l=l, kind=kind, c=c, t=t, n=n),
        hierarchies=microdata.HierarchyOptions(files=hierarchies or (), sep=hierarchy_sep),
        keep=keep or (),
        search=microdata.SearchOptions(method, suppression, objective, mean, seconds),
        output=microdata.OutputOptions(out=out, spreadsheet=spreadsheet, save=save, chart=chart, force=force),
    )
    (microdata.draft if draft else microdata.anonymize)(job, json=json)


@app.command()
def attack(  # noqa: PLR0913 - one for each option
    table: options.FileArgument,
    *,
    kind: options.AttackKindOption,
    quasi: options.QuasiOption = None,
    sensitive: options.TargetOption = None,
    excluded: options.ExcludedOption = None,
    factor: options.FactorOption = None,
    groups: options.GroupsOption = None,
    outside: options.OutsideOption = None,
    hierarchies: options.HierarchiesOption = None,
    hierarchy_sep: options.HierarchySepOption = None,
    sep: options.SepOption = None,
    json: options.JsonOption = False,
) -> None:
    """Try an attack on a published table. Print the rows that it reveals."""
    from tacit.cli import microdata  # noqa: PLC0415 - heavy

    attempt = microdata.AttackOptions(
        table=microdata.TableOptions(
            path=table, quasi=quasi or (), sensitive=() if sensitive is None else (sensitive,), sep=sep
        ),
        kind=kind,
        excluded=excluded or (),
        factor=factor,
        groups=groups,
        outside=outside,
        hierarchies=microdata.HierarchyOptions(files=hierarchies or (), sep=hierarchy_sep),
    )
    microdata.attack(attempt, json=json)
