"""A plan whose rows are weighed one by one, as one statement that returns exact integers (`weights` has the proof).

    located or kept_rows  the rows that count, stored because they are read three times
    heavy                 the units with more rows than their reach, with their numbers of rows
    few                   by cell: sums over the rows of heavy units
    every                 by cell: sums over all rows

An engine that computes a common table once for each use of it has all sums over `weighed` instead.
"""
# ruff: noqa: S608 - these texts are built here from checked expressions

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tacit.engines.sql import measures
from tacit.engines.sql.builder import CommonTables
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.key_lists import key_lists
from tacit.engines.sql.measures import Share
from tacit.engines.sql.statement import (
    Statement,
    checked_rows,
    chooses_cells,
    kept_rows,
    located_rows,
    measure_columns,
    reach_of,
    with_clause,
)
from tacit.engines.sql.weights import counted_rows, heavy_units, weighted_shares
from tacit.query.plan import Plan


def weighted_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> Statement:
    """Return the statement of a plan over a source with these columns and types, or raise InvalidError."""
    requested = [measure for bundle in plan.bundles for measure in bundle.measures]
    for measure in requested:
        measures.check(measure, checked_rows(plan, measure))
    needed, reach = measure_columns(requested), reach_of(plan)
    tables, source = kept_rows(plan, located_rows(plan, types, needed, dialect, coded=True), dialect)
    parts = [
        weighted_shares(measure, needed.names(measure), reach, measure.high - measure.low, dialect)
        for measure in requested
    ]
    every, heavy = (
        {text: f"{letter}{index}" for index, text in enumerate(_texts(shares, dialect))}
        for letter, shares in (("e", [part.every for part in parts]), ("f", [part.heavy for part in parts]))
    )
    build = _together if dialect.computes_again else _apart
    sql = build((tables, source), reach, every, heavy, dialect)
    columns = {name: index for index, name in enumerate([*every.values(), *heavy.values()], 1)}
    indexed = tuple(
        tuple(
            (columns[names[dialect.text(sql)]], factor)
            for names, shares in ((every, part.every), (heavy, part.heavy))
            for sql, factor in shares
        )
        for part in parts
    )
    return Statement(sql, key_lists(plan), indexed, plan.listed, chooses_cells(plan))


def _texts(shares: Iterable[Sequence[Share]], dialect: Dialect) -> list[str]:
    """Return the different sums."""
    return list(dict.fromkeys(dialect.text(sql) for terms in shares for sql, _ in terms))


Rows = tuple[CommonTables, str]
"""The common tables up to the rows that count, and the name of the last one."""


def _apart(rows: Rows, reach: int, every: Mapping[str, str], heavy: Mapping[str, str], dialect: Dialect) -> str:
    """Return the statement that sums all rows and the rows of heavy units apart."""
    tables, source = rows
    tables = heavy_units(tables, source, reach, dialect)
    joined = f"{source} JOIN heavy ON u = heavy_unit"
    tables += [("few", "", _sums("cell AS few_cell", heavy, joined)), ("every", "", _sums("cell", every, source))]
    names = ", ".join(["cell", *every.values(), *heavy.values()])
    return f"WITH {with_clause(tables)}\nSELECT {names} FROM every LEFT JOIN few ON cell = few_cell"


def _together(rows: Rows, reach: int, every: Mapping[str, str], heavy: Mapping[str, str], dialect: Dialect) -> str:
    """Return the statement that computes all sums from one read of the weighed rows."""
    del dialect
    tables, source = rows
    select = _sums("cell", {**every, **heavy}, "weighed")
    return f"WITH {with_clause(counted_rows(tables, source, reach))}\n{select}"


def _sums(cell: str, names: Mapping[str, str], source: str) -> str:
    """Return a SELECT of sums by cell."""
    items = ", ".join([cell, *(f"{text} AS {name}" for text, name in names.items())])
    return f"SELECT {items} FROM {source} GROUP BY cell"
