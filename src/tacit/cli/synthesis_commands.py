"""The command that makes synthetic rows; it collects its options and calls the module that does the work."""

from __future__ import annotations

import typer

from tacit.cli import options


def synthesize(  # noqa: PLR0913 - one for each option
    policy: options.PolicyArgument,
    *,
    n: options.RowCountOption = None,
    columns: options.RowColumnsOption = None,
    target: options.RowTargetOption = None,
    mode: options.ModeOption = "fast",
    bins: options.ColumnBinsOption = None,
    given: options.GivenOption = None,
    constraint: options.ConstraintOption = None,
    where: options.WhereOption = None,
    table: options.PrivateTableOption = None,
    epsilon: options.EpsilonOption = None,
    delta: options.DeltaOption = 0.0,
    rho: options.RhoOption = None,
    reach: options.WholeReachOption = None,
    report: options.DistancesOption = False,
    share: options.DistanceShareOption = 0.1,
    seconds: options.RowSecondsOption = None,
    confidence: options.ConfidenceOption = 0.95,
    plan: options.PlanOnlyOption = False,
    analyst: options.AnalystOption = "",
    ledger: options.LedgerOption = None,
    timeout: options.TimeoutOption = None,
    memory: options.MemoryOption = None,
    threads: options.ThreadsOption = None,
    temporary: options.TemporaryOption = None,
    request: options.RequestOption = None,
    yes: options.YesOption = False,
    chart: options.ChartOption = None,
    out: options.RowsOutOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Make synthetic rows that have about the same tables of counts as the private rows."""
    from tacit.cli import column_options, query  # noqa: PLC0415 - heavy
    from tacit.cli import synthesize as group  # noqa: PLC0415 - heavy

    cost = {"epsilon": epsilon, "delta": delta or None, "rho": rho}
    rows = {"where": where, "table": table, "reach": reach, "constraints": constraint}
    chosen = {"columns": column_options.read_columns(columns), "bins": column_options.read_column_bins(bins)}
    model = {**chosen, "target": target, "mode": mode}
    measured = {"report": report, "share": share, "seconds": seconds, "confidence": confidence}
    settings = {"timeout": timeout, "memory": memory, "threads": threads, "temporary": temporary}
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst, settings=settings)
    arguments = {"n": n, **model, **rows, **measured, **cost}
    wanted = group.RowOptions(arguments=arguments, given=group.read_given(given), request=request)
    files = group.RowFiles(chart=chart, out=out, force=force)
    raise typer.Exit(group.run(access, wanted, files, json=json, yes=yes, plan=plan))
