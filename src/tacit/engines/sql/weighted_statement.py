"""A plan whose rows are weighed one by one, as one statement that returns exact integers (`weights` has the proof).

    located or kept_rows  the rows that count, stored because they are read three times
    heavy                 the units with more rows than their reach, with their numbers of rows
    few                   by cell: sums over the rows of heavy units
    every                 by cell: sums over all rows

An engine that computes a common table once for each use of it has all sums over `weighed` instead.

**Reading again.** PostgreSQL fills and reads a stored table in one process, and writes it to disk if it is large. If a
second read of the source returns the same rows (`Dialect.unit_halves`), it is faster to read it again:

    every        by cell: sums over all rows
    first_half   by cell: sums over the rows of heavy units, for one half of the units
    second_half  the same for the other half
    parts        all three, with NULL for the sums that a part does not have

PostgreSQL computes the parts in parallel, each in one process. A single part for all heavy units would take longer than
the others together, and its workers would not share the heavy units: each would compute all of them. A unit is in one
half with all its rows, so its h is the same as above. The integers of the parts are added up, in any order. The source
is read five times, and PostgreSQL lets reads at the same time share their pages.

If the rows cost more to compute than to store, they are stored: with a join, with several layers, which PostgreSQL does
not compute in parallel, with a subquery that groups by the unit, or if a unit may not keep all cells.
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
from tacit.engines.sql.weights import counted_rows, heavy_select, heavy_units, weighted_shares
from tacit.query.plan import Plan

REREAD = "NOT MATERIALIZED "
"""The keyword before a common table that is computed for each use of it."""


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
    halves = _halves(plan, types, dialect) if source == "located" and _is_cheap(plan, tables) else None
    if dialect.computes_again:
        sql = _together((tables, source), reach, every, heavy)
    elif halves is None:
        sql = _apart((tables, source), reach, every, heavy, dialect)
    else:
        sql = _in_halves((tables, source), reach, every, heavy, dialect, halves)
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


def _halves(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> tuple[str, str] | None:
    """Return the conditions that split the units of a plan, or None if the source must not be read again."""
    unit = plan.table.unit
    return None if unit is None else dialect.unit_halves(types[unit], plan.table.columns[unit].kind)


def _is_cheap(plan: Plan, tables: CommonTables) -> bool:
    """Return whether the rows that count come from one table through one layer, and not from a grouped subquery."""
    return not plan.joins and plan.units is None and sum(name.startswith("layer") for name, _, _ in tables) == 1


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
    tables += [("few", "", _sums("cell AS few_cell", heavy.items(), joined))]
    tables.append(("every", "", _sums("cell", every.items(), source)))
    names = ", ".join(["cell", *every.values(), *heavy.values()])
    return f"WITH {with_clause(tables)}\nSELECT {names} FROM every LEFT JOIN few ON cell = few_cell"


def _in_halves(
    rows: Rows,
    reach: int,
    every: Mapping[str, str],
    heavy: Mapping[str, str],
    dialect: Dialect,
    halves: tuple[str, str],
) -> str:
    """Return the statement that reads the source again for each sum, and sums heavy units in two halves."""
    (*before, (name, _, sql)), source = rows
    huge = dialect.type_of("HUGEINT")  # PostgreSQL computes parts in parallel only if their types are equal
    no_every, no_heavy = ([(f"CAST(NULL AS {huge})", name) for name in names.values()] for names in (every, heavy))
    of_every, of_heavy = ([(f"CAST({text} AS {huge})", name) for text, name in sums.items()] for sums in (every, heavy))
    parts = {"every": _sums("cell", [*of_every, *no_heavy], source)}
    for half, condition in zip(("first_half", "second_half"), halves, strict=True):
        of_half = f"(SELECT * FROM {source} WHERE {condition}) AS rows_of_half"
        joined = f"{of_half} JOIN ({heavy_select(of_half, reach)}) AS heavy ON u = heavy_unit"
        parts[half] = _sums("cell", [*no_every, *of_heavy], joined)
    tables = [*before, (name, REREAD, sql), *((part, "", select) for part, select in parts.items())]
    tables.append(("parts", "", " UNION ALL ".join(f"SELECT * FROM {part}" for part in parts)))
    totals = [(f"SUM({name})", name) for name in [*every.values(), *heavy.values()]]
    return f"WITH {with_clause(tables)}\n{_sums('cell', totals, 'parts')}"


def _together(rows: Rows, reach: int, every: Mapping[str, str], heavy: Mapping[str, str]) -> str:
    """Return the statement that computes all sums from one read of the weighed rows."""
    tables, source = rows
    select = _sums("cell", [*every.items(), *heavy.items()], "weighed")
    return f"WITH {with_clause(counted_rows(tables, source, reach))}\n{select}"


def _sums(cell: str, sums: Iterable[tuple[str, str]], source: str) -> str:
    """Return a SELECT of sums, each with its name, by cell."""
    items = ", ".join([cell, *(f"{text} AS {name}" for text, name in sums)])
    return f"SELECT {items} FROM {source} GROUP BY cell"
