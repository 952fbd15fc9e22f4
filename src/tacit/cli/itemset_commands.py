"""The command that finds frequent itemsets."""

from __future__ import annotations

import typer

from tacit.cli import options


def itemsets(  # noqa: PLR0913 - one for each option
    policy: options.PolicyArgument,
    *,
    basket: options.BasketOption = None,
    item: options.ItemOption = None,
    columns: options.BasketColumnsOption = None,
    bins: options.BasketBinsOption = None,
    k: options.ItemsetNumberOption = None,
    min_support: options.MinSupportOption = None,
    most: options.MostItemsOption = None,
    key: options.ItemKeyOption = None,
    rules: options.RulesOption = False,
    min_confidence: options.MinConfidenceOption = None,
    min_lift: options.MinLiftOption = None,
    where: options.WhereOption = None,
    table: options.PrivateTableOption = None,
    epsilon: options.EpsilonOption = None,
    delta: options.DeltaOption = 0.0,
    rho: options.RhoOption = None,
    confidence: options.ConfidenceOption = 0.95,
    reach: options.BasketReachOption = None,
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
    """Find sets of items that many baskets include, and rules between them."""
    from tacit.cli import column_options  # noqa: PLC0415 - heavy
    from tacit.cli import itemsets as group  # noqa: PLC0415 - heavy
    from tacit.cli.charge import Access  # noqa: PLC0415 - heavy

    chosen = {"columns": column_options.read_columns(columns), "bins": column_options.read_column_bins(bins)}
    what = {"basket": basket, "item": item, **chosen}
    wanted = {"k": k, "min_support": min_support, "most": most, "keys": key or None, "reach": reach}
    cost = {"epsilon": epsilon, "delta": delta or None, "rho": rho}
    rows = {"where": where, "table": table, "confidence": confidence}
    found = group.ItemsetOptions(
        arguments={**what, **wanted, **cost, **rows},
        request=request,
        rules=rules,
        min_confidence=min_confidence,
        min_lift=min_lift,
    )
    settings = {"timeout": timeout, "memory": memory, "threads": threads, "temporary": temporary}
    access = Access(policy=policy, ledger=ledger, analyst=analyst, settings=settings)
    files = group.ItemsetFiles(chart=chart, out=out, force=force)
    raise typer.Exit(group.run(access, found, files, json=json, yes=yes, plan=plan))
