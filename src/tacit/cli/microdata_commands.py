"""The commands on microdata: check, anonymize, attack. Each collects its options and calls `tacit.cli.microdata`."""

from __future__ import annotations

from tacit.cli import options


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
    method: options.MethodOption = "best",
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
