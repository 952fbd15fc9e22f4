"""`tacit check`, `tacit anonymize` and `tacit attack`: what they do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit import anonymity
from tacit.anonymity.drafts import to_toml
from tacit.cli import charts, outputs
from tacit.cli import microdata_hierarchies as hierarchies
from tacit.cli import microdata_options as options
from tacit.cli.microdata_sources import filling
from tacit.cli.show import SCHEMA, data_stream, say, working
from tacit.errors import InvalidError
from tacit.safe_text import as_json, visible_lines

if TYPE_CHECKING:
    from tacit.anonymity import Anonymized, Report

_TABLES = (".csv", ".tsv", ".txt", ".parquet")
_EMPTY = "The table is empty: it has no row, so there is no k, l, t or risk to say. Is it the right file?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The table that a command is about, and the roles of its columns."""

    table: str
    quasi: Sequence[str]
    sensitive: Sequence[str]
    unit: str | None = None
    sep: str | None = None
    relation: str | None = None


def check(read: Read, *, population: str | None, chart: str | None, force: bool, json: bool) -> None:
    """Print how anonymous a table is."""
    with filling(read.table, population) as (table, whole):
        _check(replace(read, table=table), whole, chart=chart, force=force, json=json)


def _check(read: Read, population: str | None, *, chart: str | None, force: bool, json: bool) -> None:
    tables = (read.table, population)
    options.require_paths({"chart": chart})
    charts.check(chart)
    outputs.check({"chart": chart}, options.there(tables), force=force)
    options.require_tables(tables, read.sep)
    with options.relation_hint(), options.separator_hint(tables, read.sep), working("Checking"):
        report = anonymity.check(
            read.table,
            quasi=read.quasi,
            sensitive=read.sensitive,
            unit=read.unit,
            population=population,
            sep=read.sep,
            relation=read.relation,
        )
    _show(_report(report), str(report) if report.rows else _EMPTY, json=json)
    _draw(report, chart)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recode:
    """What `anonymize` is asked for."""

    read: Read
    require: dict[str, Any]
    hierarchies: Sequence[str]
    hierarchy_sep: str | None
    keep: Sequence[str]
    method: str
    suppression: float | None
    objective: str
    mean: str
    seconds: float | None
    spreadsheet: bool = False

    def rules(self) -> Any:  # noqa: ANN401 - hierarchies by column, or names
        """Return the hierarchies, or the names of columns for which they are to be drafted."""
        if not hierarchies.tells_files(self.hierarchies):
            options.refuse({"hierarchy-sep": self.hierarchy_sep}, "without --hierarchies COLUMN=FILE")
        if not self.hierarchies:
            if not self.read.quasi:
                raise InvalidError("--quasi", "none", "a column by which others may know a person; or --hierarchies")
            return self.read.quasi
        return hierarchies.chosen_rules(self.hierarchies, self.hierarchy_sep, self.read.quasi)

    def files(self) -> list[str]:
        """Return every file that is read."""
        return [self.read.table, *hierarchies.rule_files(self.hierarchies)]


def draft(read: Read, *, json: bool) -> None:
    """Print drafted hierarchies as TOML."""
    if not read.quasi:
        raise InvalidError("--quasi", "none", "the columns to draft hierarchies for")
    with filling(read.table) as (table, _):
        options.require_tables([table], read.sep)
        with options.separator_hint([table], read.sep):
            text = to_toml(anonymity.draft(table, read.quasi, sep=read.sep))
    sys.stdout.write(as_json({"schema": SCHEMA, "hierarchies": text}) + "\n" if json else text)


def anonymize(asked: Recode, *, out: str | None, save: str | None, chart: str | None, force: bool, json: bool) -> None:
    """Recode a table and write what was found; files and options are looked at before the search."""
    with filling(asked.read.table) as (table, _):
        there = replace(asked, read=replace(asked.read, table=table))
        _anonymize(there, out=out, save=save, chart=chart, force=force, json=json)


def _anonymize(asked: Recode, *, out: str | None, save: str | None, chart: str | None, force: bool, json: bool) -> None:
    read = asked.read
    options.require_paths({"out": out, "save": save, "chart": chart})
    charts.check(chart)
    outputs.check({"out": out, "save": save, "chart": chart}, options.there(asked.files()), force=force)
    if out is not None and not out.lower().endswith(_TABLES):
        raise InvalidError("out", repr(out), f"a file that ends in one of {', '.join(_TABLES)}")
    if asked.spreadsheet and out is not None and out.lower().endswith(".parquet"):
        raise InvalidError("--spreadsheet", f"the Parquet file {out!r}", "used with a .csv file only, or removed")
    options.require_tables([read.table], read.sep)
    options.require_method(asked.method, suppression=asked.suppression, seconds=asked.seconds)
    options.require_seconds(asked.seconds)
    rules, require = asked.rules(), options.required(**asked.require)
    options.require_sensitive(require, read.sensitive)
    with options.separator_hint([read.table], read.sep), _spinner(asked.method):
        done = anonymity.anonymize(
            read.table, quasi=rules, require=require, sensitive=read.sensitive, unit=read.unit, keep=asked.keep,
            method=asked.method, suppression=asked.suppression or 0.0, objective=asked.objective, mean=asked.mean,  # type: ignore[arg-type]  # other words are refused there
            seconds=asked.seconds, sep=read.sep,
        )  # fmt: skip
    _write(done, out, save, spreadsheet=asked.spreadsheet, json=json)
    _draw(done, chart)


def _spinner(method: str) -> AbstractContextManager[None]:
    """Show that work goes on where the search has no bar of its own."""
    return working(f"Recoding by {method}") if method in {"local", "mondrian"} else nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What `attack` is asked for; an option that was not given is None or empty."""

    kind: str
    excluded: Sequence[str] | None
    factor: float | None
    groups: str | None
    outside: str | None
    hierarchies: Sequence[str]
    hierarchy_sep: str | None

    def check(self) -> None:
        """Refuse options that the attack does not use."""
        given = {name: getattr(self, name) for name in ("excluded", "factor", "groups", "outside", "hierarchies")}
        options.require_kind(self.kind, given)
        if self.groups is None and not hierarchies.tells_files(self.hierarchies):
            options.refuse({"hierarchy-sep": self.hierarchy_sep}, "without --groups or --hierarchies COLUMN=FILE")


def attack(read: Read, tried: Tried, *, json: bool) -> None:
    """Try an attack and print who falls."""
    with filling(read.table, tried.outside) as (table, outside):
        _attack(replace(read, table=table), replace(tried, outside=outside), json=json)


def _attack(read: Read, tried: Tried, *, json: bool) -> None:
    tried.check()
    tables = (read.table, tried.outside)
    options.require_tables(tables, read.sep)
    sep = tried.hierarchy_sep
    bare = tried.kind == "similarity" and tried.groups is None
    with options.groups_hint(needed=bare), options.separator_hint(tables, read.sep), working("Attacking"):
        found = anonymity.attack(
            read.table, kind=tried.kind, quasi=read.quasi, sensitive=next(iter(read.sensitive), None),  # type: ignore[arg-type]  # as above
            excluded=options.excluded(tried.excluded), factor=2.0 if tried.factor is None else tried.factor,
            hierarchy=hierarchies.groups(tried.groups, sep),
            outside=tried.outside, hierarchies=hierarchies.rules(tried.hierarchies, sep) or None, sep=read.sep,
        )  # fmt: skip
    victims = [{"published": one.published, "rows": one.rows, "learns": one.learns} for one in found.victims]
    told = {"kind": found.kind, "rows": found.rows, "fallen": found.fallen, "share": found.share, "victims": victims}
    more = "\nHierarchies are given with --hierarchies." if found.notes and found.kind == "linkage" else ""
    _show({**told, "notes": list(found.notes)}, f"{found}{more}", json=json)


def _show(told: dict[str, object], text: str, *, json: bool) -> None:
    shown = as_json({"schema": SCHEMA, **told}, ascii_only=False) if json else visible_lines(text)
    sys.stdout.write(f"{shown}\n")


def _draw(made: Report | Anonymized, chart: str | None) -> None:
    if chart is not None:
        sys.stdout.flush()
        say(charts.save(made.plot, chart))


def _report(report: Report) -> dict[str, object]:
    """Return a report for machines; of an empty table every measure is null."""
    known = report.rows > 0
    risk = {
        of: getattr(report.risk, of) if known else None
        for of in ("prosecutor", "journalist", "marketer", "unique", "at_risk")
    }
    measures = ("distinct_l", "entropy_l", "t", "t_ordered", "t_hierarchical")
    columns = {
        name: {of: getattr(one, of) if known else None for of in measures} for name, one in report.sensitive.items()
    }
    k = report.k if known else None
    told = {"rows": report.rows, "k": k, "classes": report.classes, "risk": risk, "sensitive": columns}
    return {**told, "reference": report.reference, "notes": list(report.notes)}


def _write(done: Anonymized, out: str | None, save: str | None, *, spreadsheet: bool, json: bool) -> None:
    """Write the table to its file, or as CSV to stdout; what is known of it goes to the other place."""
    if out is not None:
        with outputs.whole(out) as half:
            _write_table(done, half, spreadsheet=spreadsheet)
    if save is not None:
        with outputs.whole(save) as half:
            done.save(half)
    if out is None and not json:
        done.write_csv(data_stream(), spreadsheet=spreadsheet)
        sys.stdout.flush()
        say(str(done))
        return
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
    _show(told, str(done), json=json)


def _write_table(done: Anonymized, path: Path, *, spreadsheet: bool) -> None:
    import duckdb  # noqa: PLC0415 - heavy

    try:
        done.write(path, spreadsheet=spreadsheet)
    except duckdb.Error as wrong:
        raise OSError from wrong  # the disk; `outputs.whole` says so
