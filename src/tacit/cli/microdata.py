"""`tacit check`, `tacit anonymize`, `tacit attack`: tables of rows from a terminal."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.errors import InvalidError

if TYPE_CHECKING:
    from tacit.anonymity import Anonymized, Report
    from tacit.anonymity.models import Model

SCHEMA = 1

Json = Annotated[bool, typer.Option("--json", help="Data for machines instead of text; errors too, on stderr.")]
Source = Annotated[str, typer.Argument(help="A CSV or Parquet file.")]
Quasi = Annotated[list[str] | None, typer.Option(help="A column by which others may know a person; may be repeated.")]
Sensitive = Annotated[
    list[str] | None, typer.Option(help="A column that nobody may learn of a person; may be repeated.")
]
Unit = Annotated[str | None, typer.Option(help="The column of persons who may have several rows.")]
Sep = Annotated[str | None, typer.Option(help="What separates the cells of a CSV file; found out by default.")]
Rules = Annotated[str | None, typer.Option(help="A TOML file with a hierarchy for each quasi-identifier.")]


def add(app: typer.Typer) -> None:
    """Add the three commands."""
    for command in (check, anonymize, attack):
        app.command()(command)


def check(
    table: Source,
    *,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    unit: Unit = None,
    population: Annotated[str | None, typer.Option(help="A file of the population that holds the table.")] = None,
    sep: Sep = None,
    chart: Annotated[str | None, typer.Option(help="Save a chart of class sizes to this file.")] = None,
    json: Json = False,
) -> None:
    """Say how anonymous, diverse and close to the whole a table of rows is."""
    from tacit import anonymity  # noqa: PLC0415 - heavy
    from tacit.cli import charts  # noqa: PLC0415 - heavy

    charts.check(chart)
    report = anonymity.check(
        table, quasi=quasi or [], sensitive=sensitive or [], unit=unit, population=population, sep=sep
    )
    _show(_report(report), str(report), json=json)
    if chart is not None:
        sys.stderr.write(f"{charts.save(report.plot, chart)}\n")


def anonymize(  # noqa: PLR0913 - one for each option
    table: Source,
    *,
    hierarchies: Rules = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    unit: Unit = None,
    keep: Annotated[list[str] | None, typer.Option(help="Another column to publish as it is; may be repeated.")] = None,
    k: Annotated[int | None, typer.Option(help="Rows, or persons, in every class.")] = None,
    l: Annotated[float | None, typer.Option("--l", help="Well-represented sensitive values in every class.")] = None,  # noqa: E741 - the literature's letter
    kind: Annotated[str, typer.Option(help="Of diversity (distinct, entropy, recursive); of an attack.")] = "distinct",
    c: Annotated[float | None, typer.Option("--c", help="Of recursive diversity.")] = None,
    t: Annotated[float | None, typer.Option("--t", help="How far a class may be from the whole table.")] = None,
    n: Annotated[int | None, typer.Option("--n", help="With --t: from a natural superset of so many rows.")] = None,
    method: Annotated[str, typer.Option(help="optimal, local or mondrian.")] = "optimal",
    suppression: Annotated[float, typer.Option(help="Which part of the rows may be left out.")] = 0.0,
    objective: Annotated[str, typer.Option(help="loss, ncp or precision.")] = "loss",
    mean: Annotated[str, typer.Option(help="How columns are averaged: geometric or arithmetic.")] = "geometric",
    seconds: Annotated[float | None, typer.Option(help="When to stop the optimal search.")] = None,
    draft: Annotated[bool, typer.Option("--draft", help="Only write drafted hierarchies, as TOML to edit.")] = False,
    out: Annotated[str | None, typer.Option(help="A .csv or .parquet file for the table; CSV on stdout else.")] = None,
    save: Annotated[str | None, typer.Option(help="Keep the recoding in this file.")] = None,
    sep: Sep = None,
    chart: Annotated[str | None, typer.Option(help="Save a chart of risks before and after to this file.")] = None,
    json: Json = False,
) -> None:
    """Publish rows so that nobody is known by them: recode a table until it meets what is required."""
    from tacit import anonymity  # noqa: PLC0415 - heavy
    from tacit.anonymity.drafts import toml  # noqa: PLC0415 - heavy
    from tacit.cli import charts  # noqa: PLC0415 - heavy

    if draft:
        sys.stdout.write(toml(anonymity.draft(table, quasi or [], sep=sep)))
        return
    charts.check(chart)
    rules: Any = quasi or []
    if hierarchies is not None:
        held = anonymity.load(hierarchies)
        rules = {name: held[name] for name in quasi or held if name in held or _lacks(hierarchies, name)}
    done = anonymity.anonymize(
        table, quasi=rules, require=_required(k, l, kind, c, t, n), sensitive=sensitive or [], unit=unit,
        keep=keep or [], method=method, suppression=suppression, objective=objective, mean=mean,  # type: ignore[arg-type]
        seconds=seconds, sep=sep,
    )  # fmt: skip
    _write(done, out, json=json)
    if save is not None:
        done.save(save)
    if chart is not None:
        sys.stderr.write(f"{charts.save(done.plot, chart)}\n")


def attack(  # noqa: PLR0913 - one for each option
    table: Source,
    *,
    kind: Annotated[str, typer.Option(help="homogeneity, background, skewness, similarity or linkage.")],
    quasi: Quasi = None,
    sensitive: Annotated[str | None, typer.Option(help="The column that the attacker wants to learn.")] = None,
    excluded: Annotated[list[str] | None, typer.Option(help="Values that are ruled out, or how many.")] = None,
    factor: Annotated[float, typer.Option(help="Of skewness: how many times as likely a value must become.")] = 2.0,
    groups: Annotated[str | None, typer.Option(help="Of similarity: a file of a hierarchy, cells apart by ;")] = None,
    outside: Annotated[str | None, typer.Option(help="Of linkage: the file that the attacker holds.")] = None,
    hierarchies: Rules = None,
    sep: Sep = None,
    json: Json = False,
) -> None:
    """Try an attack on a published table, and say who falls."""
    from tacit import anonymity  # noqa: PLC0415 - heavy

    ruled: Any = excluded or 1
    if excluded is not None and len(excluded) == 1 and excluded[0].isdecimal():
        ruled = int(excluded[0])
    found = anonymity.attack(
        table, kind=kind, quasi=quasi or [], sensitive=sensitive, excluded=ruled, factor=factor, hierarchy=groups,  # type: ignore[arg-type]
        outside=outside, hierarchies=None if hierarchies is None else anonymity.load(hierarchies), sep=sep,
    )  # fmt: skip
    victims = [{"published": one.published, "rows": one.rows, "learns": one.learns} for one in found.victims]
    told = {"kind": found.kind, "rows": found.rows, "fallen": found.fallen, "share": found.share, "victims": victims}
    _show(told, str(found), json=json)


def _lacks(path: str, name: str) -> bool:
    raise InvalidError("the hierarchies", f"none for {name!r} in {path!r}", "one for each quasi-identifier")


def _required(
    k: int | None,
    l: float | None,  # noqa: E741 - the literature's letter
    kind: str,
    c: float | None,
    t: float | None,
    n: int | None,
) -> list[Model]:
    from tacit.anonymity.models import KAnonymity, LDiversity, NTCloseness, TCloseness  # noqa: PLC0415 - heavy

    models: list[Model] = [] if k is None else [KAnonymity(k)]
    if l is not None:
        models.append(LDiversity(int(l) if l == int(l) else l, kind=kind, c=c))  # type: ignore[arg-type]
    if t is not None:
        models.append(TCloseness(t) if n is None else NTCloseness(n, t))
    if not models:
        raise InvalidError("what is required", "nothing", "at least one of --k, --l and --t")
    return models


def _show(told: dict[str, object], text: str, *, json: bool) -> None:
    shown = json_module.dumps({"schema": SCHEMA, **told}, ensure_ascii=False) if json else text
    sys.stdout.write(f"{shown}\n")


def _report(report: Report) -> dict[str, object]:
    risk = {name: getattr(report.risk, name) for name in ("prosecutor", "journalist", "marketer", "unique", "at_risk")}
    columns = {
        name: {of: getattr(one, of) for of in ("distinct_l", "entropy_l", "t", "t_ordered", "t_hierarchical")}
        for name, one in report.sensitive.items()
    }
    return {"rows": report.rows, "k": report.k, "classes": report.classes, "risk": risk, "sensitive": columns}


def _write(done: Anonymized, out: str | None, *, json: bool) -> None:
    """Write the table to its file, or as CSV to stdout; what is known of it goes to the other place."""
    certificate = done.certificate
    told = {
        "method": done.method,
        "loss": done.loss,
        "levels": done.levels,
        "suppressed": done.suppressed,
        "optimal": None if certificate is None else certificate.optimal,
        "lower": None if certificate is None else certificate.lower,
        "report": _report(done.report),
    }
    if out is None and not json:
        done.write_csv(sys.stdout)
        sys.stderr.write(f"{done}\n")
        return
    if out is not None:
        done.write(Path(out))
    _show(told, str(done), json=json)
