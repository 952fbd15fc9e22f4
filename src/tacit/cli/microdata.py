"""`tacit check`, `tacit anonymize` and `tacit attack`: tables of rows."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tacit import anonymity
from tacit.anonymity.rule_files import to_toml
from tacit.cli import microdata_files, output_files
from tacit.cli.microdata_options import (
    AnonymizeOptions,
    AttackOptions,
    HierarchyOptions,
    ModelOptions,
    OutputOptions,
    SearchOptions,
    TableOptions,
)
from tacit.cli.output import data_stream, put_json, say, table_option, working
from tacit.safe_text import visible_lines

if TYPE_CHECKING:
    from tacit.anonymity import Anonymized, Report

__all__ = [
    "AnonymizeOptions",
    "AttackOptions",
    "HierarchyOptions",
    "ModelOptions",
    "OutputOptions",
    "SearchOptions",
    "TableOptions",
    "anonymize",
    "attack",
    "check",
    "draft",
]

_EMPTY = "The table has no rows, so there is no k, l, t or risk. Is it the right file?"
_RISKS = ("prosecutor", "journalist", "marketer", "unique", "at_risk")
_MEASURES = ("distinct_l", "entropy_l", "t", "t_ordered", "t_hierarchical")


def check(table: TableOptions, *, population: str | None, chart: str | None, force: bool, json: bool) -> None:
    """Print how anonymous a table is."""

    def run(path: str, filled_population: str | None) -> Report:
        filled_table = replace(table, path=path)
        microdata_files.check_paths({"--chart": chart})
        output_files.check_chart(chart)
        inputs = microdata_files.existing((path, filled_population))
        output_files.check({"chart": chart}, inputs, force=force)
        filled_table.check_files(filled_population)
        return _check(filled_table, filled_population)

    report = microdata_files.with_variables(run, table.path, population)
    _print(_report_json(report), str(report) if report.rows else _EMPTY, json=json)
    _draw(report, chart)


def _check(table: TableOptions, population: str | None) -> Report:
    hint = microdata_files.separator_hint((table.path, population), table.sep)
    with table_option(), hint, working("Checking"):
        return anonymity.check(
            table.path,
            quasi=table.quasi,
            sensitive=table.sensitive,
            unit=table.unit,
            population=population,
            sep=table.sep,
            relation=table.relation,
        )


def draft(options: AnonymizeOptions, *, json: bool) -> None:
    """Print drafted hierarchies as TOML."""
    options.check_draft()
    table = options.table

    def run(path: str, _: str | None) -> str:
        replace(table, path=path).check_files()
        with microdata_files.separator_hint([path], table.sep):
            return to_toml(anonymity.draft(path, table.quasi, sep=table.sep))

    text = microdata_files.with_variables(run, table.path)
    if json:
        put_json({"hierarchies": text})
    else:
        sys.stdout.write(text)


def anonymize(options: AnonymizeOptions, *, json: bool) -> None:
    """Recode a table and write it. All files and options are checked before the search."""

    def run(path: str, _: str | None) -> Anonymized:
        options.output.check([path, *microdata_files.rule_files(options.hierarchies.files)])
        result = _search(replace(options, table=replace(options.table, path=path)))
        _write(result, options.output, json=json)
        return result

    result = microdata_files.with_variables(run, options.table.path)
    _draw(result, options.output.chart)


def _search(options: AnonymizeOptions) -> Anonymized:
    table, search = options.table, options.search
    table.check_files()
    search.check()
    rules, require = options.rules(), options.required()
    with microdata_files.separator_hint([table.path], table.sep):
        return anonymity.anonymize(
            table.path,
            quasi=rules,
            require=require,
            sensitive=table.sensitive,
            unit=table.unit,
            keep=options.keep,
            method=search.method,  # type: ignore[arg-type]  # it checks
            suppression=search.suppression or 0.0,
            objective=search.objective,  # type: ignore[arg-type]  # it checks
            mean=search.mean,  # type: ignore[arg-type]  # it checks
            seconds=search.seconds,
            sep=table.sep,
        )


def attack(options: AttackOptions, *, json: bool) -> None:
    """Try an attack and print the rows that it reveals."""
    result = microdata_files.with_variables(
        lambda path, outside: _attack(replace(options, table=replace(options.table, path=path), outside=outside)),
        options.table.path,
        options.outside,
    )
    victims = [
        {"published": victim.published, "rows": victim.rows, "learns": victim.learns} for victim in result.victims
    ]
    content = {
        "kind": result.kind,
        "rows": result.rows,
        "fallen": result.fallen,
        "share": result.share,
        "victims": victims,
        "notes": list(result.notes),
    }
    hint = "\nGive hierarchies with --hierarchies." if result.notes and result.kind == "linkage" else ""
    _print(content, f"{result}{hint}", json=json)


def _attack(options: AttackOptions) -> anonymity.Attack:
    options.check()
    table, outside, sep = options.table, options.outside, options.hierarchies.sep
    table.check_files(outside)
    with options.groups_hint(), microdata_files.separator_hint((table.path, outside), table.sep), working("Attacking"):
        return anonymity.attack(
            table.path,
            kind=options.kind,  # type: ignore[arg-type]  # `check` has refused other words
            quasi=table.quasi,
            sensitive=next(iter(table.sensitive), None),
            excluded=options.excluded_values(),
            factor=options.factor,
            hierarchy=microdata_files.read_groups(options.groups, sep),
            outside=outside,
            hierarchies=microdata_files.read_rules(options.hierarchies.files, sep) or None,
            sep=table.sep,
        )


def _print(content: dict[str, object], text: str, *, json: bool) -> None:
    if json:
        put_json(content, ascii_only=False)
    else:
        sys.stdout.write(f"{visible_lines(text)}\n")


def _draw(result: Report | Anonymized, chart: str | None) -> None:
    if chart is not None:
        sys.stdout.flush()
        say(output_files.save_chart(result.plot, chart))


def _report_json(report: Report) -> dict[str, object]:
    """Return a report as an object for JSON; all measures of an empty table are null."""
    known = report.rows > 0
    risk = {name: getattr(report.risk, name) if known else None for name in _RISKS}
    columns = {
        column: {name: getattr(diversity, name) if known else None for name in _MEASURES}
        for column, diversity in report.sensitive.items()
    }
    return {
        "rows": report.rows,
        "k": report.k if known else None,
        "classes": report.classes,
        "risk": risk,
        "sensitive": columns,
        "reference": report.reference,
        "notes": list(report.notes),
    }


def _write(result: Anonymized, output: OutputOptions, *, json: bool) -> None:
    """Write the table to its file and the summary to stdout.

    Without a file, write the table as CSV to stdout and the summary to stderr.
    """
    if output.out is not None:
        with output_files.atomic(output.out) as temporary:
            _write_table(result, temporary, spreadsheet=output.spreadsheet)
    if output.save is not None:
        with output_files.atomic(output.save) as temporary:
            result.save(temporary)
    if output.out is None and not json:
        result.write_csv(data_stream(), spreadsheet=output.spreadsheet)
        sys.stdout.flush()
        say(str(result))
        return
    certificate = result.certificate
    content = {
        "method": result.method,
        "loss": result.loss,
        "levels": result.levels,
        "suppressed": result.suppressed,
        "optimal": None if certificate is None else certificate.optimal,
        "lower": None if certificate is None else certificate.lower,
        "measures": asdict(result.measures),
        "searches": [asdict(trial) for trial in result.searches],
        "hints": list(result.hints),
        "drafted": {name: list(notes) for name, notes in result.drafted.items()},
        "report": _report_json(result.report),
    }
    _print(content, str(result), json=json)


def _write_table(result: Anonymized, path: Path, *, spreadsheet: bool) -> None:
    import duckdb  # noqa: PLC0415 - heavy

    try:
        result.write(path, spreadsheet=spreadsheet)
    except duckdb.Error as error:
        raise OSError from error  # the disk; `output_files.atomic` reports it
