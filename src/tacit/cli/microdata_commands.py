"""The commands on microdata: check, anonymize, attack. Each collects its options and calls `tacit.cli.microdata`."""

from __future__ import annotations

from tacit.cli import anonymity_options, options


def check(  # noqa: PLR0913 - one for each option
    table: anonymity_options.TableArgument,
    *,
    quasi: anonymity_options.QuasiOption = None,
    sensitive: anonymity_options.SensitiveOption = None,
    unit: anonymity_options.UnitOption = None,
    population: anonymity_options.PopulationOption = None,
    sep: anonymity_options.SepOption = None,
    relation: anonymity_options.RelationOption = None,
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


def anonymize(  # noqa: PLR0913 - one for each option
    table: anonymity_options.FileArgument,
    *,
    hierarchies: anonymity_options.HierarchiesOption = None,
    hierarchy_sep: anonymity_options.HierarchySepOption = None,
    quasi: anonymity_options.QuasiOption = None,
    sensitive: anonymity_options.SensitiveOption = None,
    unit: anonymity_options.UnitOption = None,
    keep: anonymity_options.KeepOption = None,
    k: anonymity_options.KOption = None,
    l: anonymity_options.LOption = None,  # noqa: E741 - the literature's letter
    kind: anonymity_options.DiversityKindOption = None,
    c: anonymity_options.COption = None,
    t: anonymity_options.TOption = None,
    n: anonymity_options.NOption = None,
    method: anonymity_options.MethodOption = "best",
    suppression: anonymity_options.SuppressionOption = None,
    objective: anonymity_options.ObjectiveOption = "loss",
    mean: anonymity_options.MeanOption = "geometric",
    seconds: anonymity_options.SecondsOption = None,
    draft: anonymity_options.DraftOption = False,
    out: anonymity_options.TableOutOption = None,
    spreadsheet: anonymity_options.SpreadsheetOption = False,
    save: anonymity_options.SaveRecodingOption = None,
    sep: anonymity_options.SepOption = None,
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


def attack(  # noqa: PLR0913 - one for each option
    table: anonymity_options.FileArgument,
    *,
    kind: anonymity_options.AttackKindOption,
    quasi: anonymity_options.QuasiOption = None,
    sensitive: anonymity_options.TargetOption = None,
    excluded: anonymity_options.ExcludedOption = None,
    factor: anonymity_options.FactorOption = None,
    groups: anonymity_options.GroupsOption = None,
    outside: anonymity_options.OutsideOption = None,
    hierarchies: anonymity_options.HierarchiesOption = None,
    hierarchy_sep: anonymity_options.HierarchySepOption = None,
    sep: anonymity_options.SepOption = None,
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
