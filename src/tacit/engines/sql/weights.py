"""Rows with weights: a unit with more rows than its reach has all of them scaled down together.

    located or kept_rows  the rows that count, in the cells that their units keep
    heavy                 the units with more than R = reach rows there, and their number of rows h
    weighed               the rows, with h of their unit if it is heavy, else NULL

Sums come from two parts (`weighted_shares`): over all rows with weight 1, and over the rows of heavy units, which are
first subtracted with weight 1 and then added with their weights. Python adds the parts as exact integers. Most rows
are then summed without a join; DuckDB takes about a third less time than for a left join of all rows with `heavy`.

Nothing is grouped by unit *and* cell: the weight of a row, R/h or 1, depends on its unit alone.

**A row's integer** is v·2^fraction_bits if its unit is not heavy, and otherwise v·R·2^fraction_bits // h, where `//`
truncates toward zero. Let M = max|v|. The integers of a unit, over all its rows and cells, add up in absolute values to
at most M·R·2^fraction_bits: a unit that is not heavy has at most R rows of at most M·2^fraction_bits, and a heavy one
has h rows of at most M·R·2^fraction_bits/h. For several measures of one bundle, M is the largest sum of their |v|. The
rows of one unit decide whether it is heavy, and no other row does.

**A row beyond the reach** (a measure with `beyond` = C > R) has the integer v·(min(h, C) - R)·2^fraction_bits // h if
its unit is heavy, and otherwise 0. A heavy unit has h rows of at most M·(min(h, C) - R)·2^fraction_bits/h in absolute
value. So the integers of a unit, over all its rows and cells, add up to at most M·(C - R)·2^fraction_bits, however many
rows it has. Without the cap C they would add up to M·(h - R)·2^fraction_bits, which nothing bounds.

**h counts every row that counts**, with or without a value. Rows without a unit are not among them, since they are
not in `located`: an outer join with `heavy` would leave them at weight 1.

**Nothing overflows.** `measures.check` ensures that F = M·R·2^fraction_bits ≤ 2^62. The v of a row and all
intermediate results are within 3M, so that v·R·2^fraction_bits is within 3F: in 64 bits if F ≤ 2^60, else in 128. The
quotient is within F/h < M·2^fraction_bits. Beyond the reach the same holds for F = M·(C - R)·2^fraction_bits, because
0 < min(h, C) - R ≤ C - R and min(h, C) - R < h. With weight 1 rows are summed as d and counted, and Python does the
rest. Sums are exact in every dialect.

**Both uses of the rows see the same rows.** Otherwise a unit whose rows grew in between would exceed its reach.

* DuckDB and PostgreSQL compute a MATERIALIZED common table once, and read the result twice. So the source is read once,
  in one statement, whether or not its state changes.
* PostgreSQL reads a single table several times instead, without storing rows (`weighted_statement`). All reads are in
  one statement, which sees one snapshot, of a table whose parts cannot change (`engines.postgres.sources`). The
  expressions of `located` are functions of the row, and the same in each read.
* Spark computes a common table once for each use of it, and a DataFrame that returns other rows the second time would
  break the bound. So h is a window function there: the rows are read once, exchanged by unit, and counted where they
  are.
"""
# ruff: noqa: S608 - these texts are built here from checked expressions

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tacit.engines.sql.builder import SQL, CommonTables, call, cast, column, infix, is_null, not_null, when, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.measures import NEAR, Share, first_value, largest, product_by
from tacit.query.plan import Measure

_H = column("h")


def heavy_units(tables: CommonTables, source: str, reach: int, dialect: Dialect) -> CommonTables:
    """Return the common tables, which end in the rows that count, with the heavy units added; the rows are stored."""
    *before, (name, _, sql) = tables
    return [*before, (name, dialect.materialized, sql), ("heavy", "", heavy_select(source, reach))]


def heavy_select(source: str, reach: int) -> str:
    """Return a SELECT of the heavy units with their numbers of rows."""
    return f"SELECT u AS heavy_unit, COUNT(*) AS h FROM {source} GROUP BY u HAVING COUNT(*) > {reach}"


def counted_rows(tables: CommonTables, source: str, reach: int) -> CommonTables:
    """Return the common tables with `weighed` added: the rows with h, which a window function counts."""
    counted = f"SELECT *, COUNT(*) OVER (PARTITION BY u) AS rows_of_unit FROM {source}"
    weighed = f"SELECT *, CASE WHEN rows_of_unit > {reach} THEN rows_of_unit END AS h FROM counted"
    return [*tables, ("counted", "", counted), ("weighed", "", weighed)]


def weighed_rows(tables: CommonTables, source: str, reach: int, dialect: Dialect) -> tuple[CommonTables, str]:
    """Return the common tables, which end in the rows that count, with the heavy units added; and the weighed rows."""
    if dialect.computes_again:
        return counted_rows(tables, source, reach), "weighed"
    return heavy_units(tables, source, reach, dialect), f"{source} LEFT JOIN heavy ON u = heavy_unit"


def weight(reach: int, bits: int, dialect: Dialect) -> SQL:
    """Return the integer of a row with v = 1."""
    heavy = dialect.quotient(whole(reach << bits), _H, "BIGINT")
    return when((is_null(_H), whole(1 << bits)), otherwise=heavy)


@dataclass(frozen=True, slots=True)
class WeightedShares:
    """The sums that add up to a measure: over all rows of a cell, and over its rows of heavy units."""

    every: list[Share]
    heavy: list[Share]


def weighted_shares(
    measure: Measure, names: tuple[str | None, str | None], reach: int, width: int, dialect: Dialect
) -> WeightedShares:
    """Return a measure from sums over a cell's rows.

    Args:
        measure: the measure, of rows.
        names: the column whose values are counted (None: all rows), and the column d that is summed (None: nothing).
        reach: the reach.
        width: the largest d.
        dialect: of the engine.
    """
    counted, summed = names
    most = largest(measure) << measure.fraction_bits
    scaled = dialect.bounded(_of_heavy(_scaled(measure, names, reach, dialect), dialect), most), 1
    if measure.beyond is not None:
        return WeightedShares([], [scaled])
    absent = measure.absent or 0
    factors = [(counted, first_value(measure) - absent), (None, absent)]
    every = [(call("COUNT", _present(name)), factor << measure.fraction_bits) for name, factor in factors if factor]
    heavy = [
        (call("COUNT", _of_heavy(_present(name), dialect)), -factor << measure.fraction_bits)
        for name, factor in factors
        if factor
    ]
    if summed is not None:
        factor = measure.sign << measure.fraction_bits
        every.append((dialect.bounded(column(summed), width), factor))
        heavy.append((dialect.bounded(_of_heavy(column(summed), dialect), width), -factor))
    return WeightedShares(every, [*heavy, scaled])


def _present(name: str | None) -> SQL:
    """Return what COUNT counts: a column, or all rows."""
    return whole(1) if name is None else column(name)


def _of_heavy(value: SQL, dialect: Dialect) -> SQL:
    """Return a value of rows of heavy units. Where all rows are weighed together, it is NULL for other rows."""
    return when((not_null(_H), value)) if dialect.computes_again else value


def _scaled(measure: Measure, names: tuple[str | None, str | None], reach: int, dialect: Dialect) -> SQL:
    """Return the integer of a row of a heavy unit; NULL for rows that do not count."""
    counted, summed = names
    rows = reach if measure.beyond is None else measure.beyond - reach
    target = "BIGINT" if largest(measure) * rows << measure.fraction_bits <= NEAR else "HUGEINT"
    value = whole(first_value(measure), target)
    if summed is not None:
        steps = product_by(cast(column(summed), target), measure.sign, target)
        value = infix(exp.Add, steps, value) if first_value(measure) else steps
    elif counted is not None:
        value = when((not_null(column(counted)), value))
    if measure.absent:
        value = call("COALESCE", value, whole(measure.absent, target))
    if measure.beyond is None:
        product = product_by(value, reach << measure.fraction_bits, target)
    else:
        kept = call("LEAST", cast(_H, target), whole(measure.beyond, target))
        beyond = infix(exp.Sub, kept, whole(reach, target))
        product = infix(exp.Mul, value, product_by(beyond, 1 << measure.fraction_bits, target))
    return dialect.quotient(product, cast(_H, target), target)
