"""`tacit check`, `tacit anonymize`, `tacit attack`: tables of rows from a terminal.

What each command does is in the files `microdata_…` beside this one.
"""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Data for machines instead of text; errors too, on stderr.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist; never one that is read.")]
Source = Annotated[str, typer.Argument(help="A CSV or Parquet file.")]
Quasi = Annotated[list[str] | None, typer.Option(help="A column by which others may know a person; may be repeated.")]
Sensitive = Annotated[
    list[str] | None, typer.Option(help="A column that nobody may learn of a person; may be repeated.")
]
Unit = Annotated[str | None, typer.Option(help="The column of persons who may have several rows.")]
Sep = Annotated[str | None, typer.Option(help="What separates the cells of a CSV file; found out by default.")]
Rules = Annotated[
    list[str] | None,
    typer.Option(help="A TOML file of hierarchies, or COLUMN=FILE for one as ARX writes it; may be repeated."),
]
RulesSep = Annotated[
    str | None, typer.Option("--hierarchy-sep", help="What separates the cells of a hierarchy's FILE; ; by default.")
]


def add(app: typer.Typer) -> None:
    """Add the three commands."""
    for command in (check, anonymize, attack):
        app.command()(command)


def check(  # noqa: PLR0913 - one for each option
    table: Annotated[
        str, typer.Argument(help="A CSV, Parquet or DuckDB file, a PostgreSQL URL, spark:table or sc://host.")
    ],
    *,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    unit: Unit = None,
    population: Annotated[str | None, typer.Option(help="A file of the population that holds the table.")] = None,
    sep: Sep = None,
    relation: Annotated[str | None, typer.Option("--table", help="Which table of a database.")] = None,
    chart: Annotated[str | None, typer.Option(help="Save a chart of class sizes to this file.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Say how anonymous, diverse and close to the whole a table of rows is."""
    from tacit.cli import microdata_runs as runs  # noqa: PLC0415 - heavy

    read = runs.Read(table=table, quasi=quasi or [], sensitive=sensitive or [], unit=unit, sep=sep, relation=relation)
    runs.check(read, population=population, chart=chart, force=force, json=json)


def anonymize(  # noqa: PLR0913 - one for each option
    table: Source,
    *,
    hierarchies: Rules = None,
    hierarchy_sep: RulesSep = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    unit: Unit = None,
    keep: Annotated[list[str] | None, typer.Option(help="Another column to publish as it is; may be repeated.")] = None,
    k: Annotated[int | None, typer.Option(help="Rows, or persons, in every class.")] = None,
    l: Annotated[float | None, typer.Option("--l", help="Well-represented sensitive values in every class.")] = None,  # noqa: E741 - the literature's letter
    kind: Annotated[
        str | None, typer.Option(help="With --l: distinct (by default), entropy or recursive diversity.")
    ] = None,
    c: Annotated[float | None, typer.Option("--c", help="Of recursive diversity.")] = None,
    t: Annotated[float | None, typer.Option("--t", help="How far a class may be from the whole table.")] = None,
    n: Annotated[int | None, typer.Option("--n", help="With --t: from a natural superset of so many rows.")] = None,
    method: Annotated[str, typer.Option(help="optimal, local or mondrian.")] = "optimal",
    suppression: Annotated[
        float | None, typer.Option(help="Which part of the rows the optimal search may leave out; 0 by default.")
    ] = None,
    objective: Annotated[str, typer.Option(help="loss, ncp or precision.")] = "loss",
    mean: Annotated[str, typer.Option(help="How columns are averaged: geometric or arithmetic.")] = "geometric",
    seconds: Annotated[float | None, typer.Option(help="When to stop the optimal search.")] = None,
    draft: Annotated[bool, typer.Option("--draft", help="Only write drafted hierarchies, as TOML to edit.")] = False,
    out: Annotated[str | None, typer.Option(help="A .csv or .parquet file for the table; CSV on stdout else.")] = None,
    spreadsheet: Annotated[
        bool, typer.Option("--spreadsheet", help="Of CSV: an apostrophe before texts that look like formulas.")
    ] = False,
    save: Annotated[str | None, typer.Option(help="Keep the recoding in this file.")] = None,
    sep: Sep = None,
    chart: Annotated[str | None, typer.Option(help="Save a chart of risks before and after to this file.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Publish rows so that nobody is known by them: recode a table until it meets what is required."""
    from tacit.cli import microdata_options as options  # noqa: PLC0415 - heavy
    from tacit.cli import microdata_runs as runs  # noqa: PLC0415 - heavy

    read = runs.Read(table=table, quasi=quasi or [], sensitive=sensitive or [], unit=unit, sep=sep)
    require = {"k": k, "l": l, "kind": kind, "c": c, "t": t, "n": n}
    if draft:
        search = {"hierarchies": hierarchies, "hierarchy-sep": hierarchy_sep, "suppression": suppression}
        roles = {"sensitive": sensitive, "unit": unit, "keep": keep, "seconds": seconds}
        files = {"out": out, "spreadsheet": spreadsheet, "save": save, "chart": chart, "force": force}
        options.refuse({**require, **search, **roles, **files}, "with --draft")
        runs.draft(read, json=json)
        return
    asked = runs.Recode(
        read=read,
        require=require,
        hierarchies=hierarchies or [],
        hierarchy_sep=hierarchy_sep,
        keep=keep or [],
        method=method,
        suppression=suppression,
        objective=objective,
        mean=mean,
        seconds=seconds,
        spreadsheet=spreadsheet,
    )
    runs.anonymize(asked, out=out, save=save, chart=chart, force=force, json=json)


def attack(  # noqa: PLR0913 - one for each option
    table: Source,
    *,
    kind: Annotated[str, typer.Option(help="homogeneity, background, skewness, similarity or linkage.")],
    quasi: Quasi = None,
    sensitive: Annotated[str | None, typer.Option(help="The column that the attacker wants to learn.")] = None,
    excluded: Annotated[
        list[str] | None, typer.Option(help="Of background: values that are ruled out, or how many; 1 by default.")
    ] = None,
    factor: Annotated[
        float | None, typer.Option(help="Of skewness: how many times as likely a value must become; 2 by default.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="Of similarity: a file of a hierarchy of the sensitive values.")
    ] = None,
    outside: Annotated[str | None, typer.Option(help="Of linkage: the file that the attacker holds.")] = None,
    hierarchies: Rules = None,
    hierarchy_sep: RulesSep = None,
    sep: Sep = None,
    json: Json = False,
) -> None:
    """Try an attack on a published table, and say who falls."""
    from tacit.cli import microdata_runs as runs  # noqa: PLC0415 - heavy

    read = runs.Read(table=table, quasi=quasi or [], sensitive=[] if sensitive is None else [sensitive], sep=sep)
    tried = runs.Tried(
        kind=kind,
        excluded=excluded,
        factor=factor,
        groups=groups,
        outside=outside,
        hierarchies=hierarchies or [],
        hierarchy_sep=hierarchy_sep,
    )
    runs.attack(read, tried, json=json)
