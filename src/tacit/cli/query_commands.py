"""The commands that query a private database, from `tacit demo` to `tacit bounds`.

Each collects its options and calls the module that does the work. These modules are imported inside the functions,
because they are slow to import.
"""

from __future__ import annotations

import typer

from tacit.cli import options


def demo(*, json: options.JsonOption = False, chart: options.ChartOption = None) -> None:
    """Run a private query on a made-up survey."""
    from tacit.cli import demo  # noqa: PLC0415 - heavy

    demo.run(json=json, chart=chart)


def init(source: options.SourceArgument, *, table: options.SourceTableOption = None) -> None:
    """Print a policy to fill in. It comes from the schema alone; no row is read."""
    from tacit.cli import query  # noqa: PLC0415 - heavy

    query.init(source, table)


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
    timeout: options.TimeoutOption = None,
    memory: options.MemoryOption = None,
    threads: options.ThreadsOption = None,
    temporary: options.TemporaryOption = None,
    json: options.JsonOption = False,
) -> None:
    """Print the cost of a query and its expected error. Nothing is spent."""
    from tacit.cli import bounds as group  # noqa: PLC0415 - heavy
    from tacit.cli import query  # noqa: PLC0415 - heavy
    from tacit.cli.query_text import read_params, read_query  # noqa: PLC0415 - heavy

    cost = query.Cost(epsilon=epsilon, delta=delta, rho=rho, error=error)
    settings = {"timeout": timeout, "memory": memory, "threads": threads, "temporary": temporary}
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst, settings=settings)
    limits = query.given_limits(reach, max_groups, max_rows) | {"bounds": group.read_bounds(bounds or ())}
    cut = {"measure_cut": measure_cut, "share": share, "intervals": not no_intervals}
    text, params = read_query(sql, file), read_params(param)
    question = query.QueryOptions(
        sql=text, params=params, cost=cost, confidence=confidence, assume=assume, limits=limits, cut=cut
    )
    query.plan(access, question, json=json)


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
    timeout: options.TimeoutOption = None,
    memory: options.MemoryOption = None,
    threads: options.ThreadsOption = None,
    temporary: options.TemporaryOption = None,
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
    settings = {"timeout": timeout, "memory": memory, "threads": threads, "temporary": temporary}
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst, settings=settings)
    limits = query.given_limits(reach, max_groups, max_rows) | {"bounds": group.read_bounds(bounds or ())}
    cut = {"measure_cut": measure_cut, "share": share, "intervals": not no_intervals}
    text, given = read_query(sql, file), read_params(param)
    question = query.QueryOptions(
        sql=text, params=given, cost=cost, confidence=confidence, assume=assume, limits=limits, cut=cut, request=request
    )
    files = query.AnswerFiles(chart=chart, out=out, force=force)
    raise typer.Exit(query.query(access, question, files, json=json, yes=yes))


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
    timeout: options.TimeoutOption = None,
    memory: options.MemoryOption = None,
    threads: options.ThreadsOption = None,
    temporary: options.TemporaryOption = None,
    request: options.RequestOption = None,
    yes: options.YesOption = False,
    chart: options.ChartOption = None,
    out: options.AnswerOutOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Count a column's values in bins. Counts are whole, never negative, and have intervals."""
    from tacit.cli import query, tables  # noqa: PLC0415 - heavy

    cost = query.Cost(epsilon=epsilon, delta=delta, rho=rho, error=error)
    rows = {"where": where, "table": table, "confidence": confidence, "request": request}
    given = {**rows, **query.given_limits(reach, max_groups, max_rows), "by": tuple(by or ())}
    counted = tables.Histogram(column=column, bins=tables.read_bins(bins), cost=cost, options=given)
    settings = {"timeout": timeout, "memory": memory, "threads": threads, "temporary": temporary}
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst, settings=settings)
    files = query.AnswerFiles(chart=chart, out=out, force=force)
    raise typer.Exit(tables.run(access, counted, files, json=json, yes=yes, plan=plan))


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
    timeout: options.TimeoutOption = None,
    memory: options.MemoryOption = None,
    threads: options.ThreadsOption = None,
    temporary: options.TemporaryOption = None,
    request: options.RequestOption = None,
    yes: options.YesOption = False,
    chart: options.ChartOption = None,
    out: options.AnswerOutOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Count combinations of columns. The table agrees with its margins."""
    from tacit.cli import query, tables  # noqa: PLC0415 - heavy

    cost = query.Cost(epsilon=epsilon, delta=delta, rho=rho, error=error)
    rows = {"where": where, "table": table, "confidence": confidence, "request": request}
    given = {**rows, **query.given_limits(reach, max_groups, max_rows)}
    counted = tables.Crosstab(columns=tuple(columns), cost=cost, options=given)
    settings = {"timeout": timeout, "memory": memory, "threads": threads, "temporary": temporary}
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst, settings=settings)
    files = query.AnswerFiles(chart=chart, out=out, force=force)
    raise typer.Exit(tables.run(access, counted, files, json=json, yes=yes, plan=plan))


def marginals(  # noqa: PLR0913 - one for each option
    policy: options.PolicyArgument,
    *,
    marginal: options.MarginalOption = None,
    ways: options.WaysOption = None,
    columns: options.WaysColumnsOption = None,
    bins: options.ColumnBinsOption = None,
    where: options.WhereOption = None,
    table: options.PrivateTableOption = None,
    epsilon: options.EpsilonOption = None,
    delta: options.DeltaOption = 0.0,
    rho: options.RhoOption = None,
    confidence: options.ConfidenceOption = 0.95,
    reach: options.WholeReachOption = None,
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
    out: options.AnswerOutOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Count the combinations of many sets of columns at one cost. The tables agree with each other."""
    from tacit.cli import column_options, query  # noqa: PLC0415 - heavy
    from tacit.cli import marginals as group  # noqa: PLC0415 - heavy

    cost = {"epsilon": epsilon, "delta": delta or None, "rho": rho}
    rows = {"where": where, "table": table, "reach": reach, "confidence": confidence}
    chosen = {"ways": ways, "columns": column_options.read_columns(columns)}
    sets = {"marginals": group.read_sets(marginal), **chosen, "bins": column_options.read_column_bins(bins)}
    counted = group.MarginalOptions(arguments={**sets, **rows, **cost}, request=request)
    settings = {"timeout": timeout, "memory": memory, "threads": threads, "temporary": temporary}
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst, settings=settings)
    files = group.MarginalFiles(chart=chart, out=out, force=force)
    raise typer.Exit(group.run(access, counted, files, json=json, yes=yes, plan=plan))


def classify(  # noqa: PLR0913 - one for each option
    policy: options.PolicyArgument,
    target: options.TargetArgument,
    *,
    columns: options.FeatureColumnsOption = None,
    positive: options.PositiveOption = None,
    bins: options.ColumnBinsOption = None,
    method: options.ClassifierMethodOption = None,
    accuracy: options.AccuracyOption = None,
    where: options.WhereOption = None,
    table: options.PrivateTableOption = None,
    epsilon: options.EpsilonOption = None,
    delta: options.DeltaOption = 0.0,
    rho: options.RhoOption = None,
    confidence: options.ConfidenceOption = 0.95,
    reach: options.WholeReachOption = None,
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
    save: options.SaveOption = None,
    force: options.ForceOption = False,
    json: options.JsonOption = False,
) -> None:
    """Fit a private classifier that predicts a column from others, and save it."""
    from tacit.cli import classify as group  # noqa: PLC0415 - heavy
    from tacit.cli import column_options, query  # noqa: PLC0415 - heavy

    cost = {"epsilon": epsilon, "delta": delta or None, "rho": rho}
    rows = {"where": where, "table": table, "reach": reach, "confidence": confidence}
    features, edges = column_options.read_columns(columns), column_options.read_column_bins(bins)
    task = {"target": target, "features": features, "bins": edges}
    fitted = group.ClassifierOptions(
        arguments={**task, "method": method, "accuracy": accuracy, **rows, **cost}, positive=positive, request=request
    )
    settings = {"timeout": timeout, "memory": memory, "threads": threads, "temporary": temporary}
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst, settings=settings)
    files = group.ModelFiles(chart=chart, save=save, force=force)
    raise typer.Exit(group.run(access, fitted, files, json=json, yes=yes, plan=plan))


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
    timeout: options.TimeoutOption = None,
    memory: options.MemoryOption = None,
    threads: options.ThreadsOption = None,
    temporary: options.TemporaryOption = None,
    yes: options.YesOption = False,
    chart: options.ChartOption = None,
    json: options.JsonOption = False,
) -> None:
    """Report which reach errs least. It shows privately how many units have how many rows."""
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
    settings = {"timeout": timeout, "memory": memory, "threads": threads, "temporary": temporary}
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst, settings=settings)
    raise typer.Exit(group.run(access, report, json=json, yes=yes, chart=chart))


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
    timeout: options.TimeoutOption = None,
    memory: options.MemoryOption = None,
    threads: options.ThreadsOption = None,
    temporary: options.TemporaryOption = None,
    request: options.RequestOption = None,
    yes: options.YesOption = False,
    json: options.JsonOption = False,
) -> None:
    """Find bounds of a column privately. The query is charged; it prints a line for the policy."""
    from tacit.cli import bounds as group  # noqa: PLC0415 - heavy
    from tacit.cli import query  # noqa: PLC0415 - heavy

    settings = {"timeout": timeout, "memory": memory, "threads": threads, "temporary": temporary}
    access = query.Access(policy=policy, ledger=ledger, analyst=analyst, settings=settings)
    wanted = group.BoundsOptions(
        column=column, epsilon=epsilon, rho=rho, where=where, table=table, confidence=confidence, request=request
    )
    raise typer.Exit(group.run(access, wanted, json=json, yes=yes))
