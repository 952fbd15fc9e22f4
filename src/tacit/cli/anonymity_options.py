"""Arguments and options of `tacit check`, `anonymize` and `attack`, with their help texts."""

from __future__ import annotations

from typing import Annotated

import typer

FileArgument = Annotated[str, typer.Argument(help="A CSV or Parquet file.")]
TableArgument = Annotated[
    str, typer.Argument(help="A CSV, Parquet or DuckDB file, a PostgreSQL URL, spark:table or sc://host.")
]
QuasiOption = Annotated[
    list[str] | None,
    typer.Option(help="A quasi-identifying column, by which others may know a person; may be repeated."),
]
SensitiveOption = Annotated[
    list[str] | None, typer.Option(help="A column whose value nobody may learn about a person; may be repeated.")
]
TargetOption = Annotated[str | None, typer.Option("--sensitive", help="The column that the attacker wants to learn.")]
UnitOption = Annotated[str | None, typer.Option(help="The column that identifies persons with several rows.")]
SepOption = Annotated[
    str | None, typer.Option(help="The separator of cells in a CSV file; detected if it is not given.")
]
PopulationOption = Annotated[
    str | None, typer.Option(help="A file of the population that the rows of the table were drawn from.")
]
RelationOption = Annotated[str | None, typer.Option("--table", help="The table's name in a database.")]
HierarchiesOption = Annotated[
    list[str] | None,
    typer.Option(help="A TOML file of hierarchies, or COLUMN=FILE for one in ARX's format; may be repeated."),
]
HierarchySepOption = Annotated[
    str | None,
    typer.Option("--hierarchy-sep", help="The separator of cells in a hierarchy's FILE; ; is the default."),
]
KeepOption = Annotated[
    list[str] | None, typer.Option(help="Another column to publish without changes; may be repeated.")
]
KOption = Annotated[int | None, typer.Option("--k", help="The least number of rows, or persons, in every class.")]
LOption = Annotated[
    float | None, typer.Option("--l", help="The number of well-represented sensitive values in every class.")
]
DiversityKindOption = Annotated[
    str | None, typer.Option("--kind", help="With --l: distinct (the default), entropy or recursive diversity.")
]
COption = Annotated[float | None, typer.Option("--c", help="With --kind recursive: its constant c.")]
TOption = Annotated[float | None, typer.Option("--t", help="The largest distance between a class and the whole table.")]
NOption = Annotated[
    int | None, typer.Option("--n", help="With --t: compare with a natural superset of this many rows instead.")
]
MethodOption = Annotated[str, typer.Option(help="best (the least loss of all), optimal, local or mondrian.")]
SuppressionOption = Annotated[
    float | None, typer.Option(help="The share of rows that best and optimal may leave out; 0 is the default.")
]
ObjectiveOption = Annotated[str, typer.Option(help="loss, ncp or precision.")]
MeanOption = Annotated[str, typer.Option(help="The mean over columns: geometric or arithmetic.")]
SecondsOption = Annotated[float | None, typer.Option(help="The time limit of the search; 60 for best.")]
DraftOption = Annotated[bool, typer.Option("--draft", help="Only write drafted hierarchies, as TOML to edit.")]
TableOutOption = Annotated[
    str | None, typer.Option("--out", help="A .csv or .parquet file for the table; without it, CSV goes to stdout.")
]
SpreadsheetOption = Annotated[
    bool, typer.Option("--spreadsheet", help="In CSV: put an apostrophe before texts that look like formulas.")
]
SaveRecodingOption = Annotated[str | None, typer.Option("--save", help="Save the recoding to this file.")]
AttackKindOption = Annotated[
    str, typer.Option("--kind", help="homogeneity, background, skewness, similarity or linkage.")
]
ExcludedOption = Annotated[
    list[str] | None,
    typer.Option(help="With background and linkage: values that are ruled out, or their number."),
]
FactorOption = Annotated[
    float | None,
    typer.Option(help="With skewness: how many times more likely a value must become; 2 is the default."),
]
GroupsOption = Annotated[
    str | None, typer.Option(help="With similarity: a file with a hierarchy of the sensitive values.")
]
OutsideOption = Annotated[str | None, typer.Option(help="With linkage and background: the file that the attacker has.")]
