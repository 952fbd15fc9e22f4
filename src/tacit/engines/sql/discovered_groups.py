"""The statements of a plan whose groups are discovered in the data: a first pass finds them, a second measures more.

**First pass** (`open_statement`), with a row for each group:

    layers, located  as in `statement`, with the keys themselves instead of a cell's number
    opened           the rows whose listed keys are in their lists
    pairs            by (unit, keys): the number of rows, and the sums of d
    chosen           the pairs that each unit keeps, if it may not keep all
    found            by keys: the number of units, and the sums over units of each unit's integers

A group is its keys' exact values. NULL, and NaN, which counts as NULL, is a value like others. An engine groups -0.0
and 0.0 together and would return the one of the first row, so both become 0.0.

A unit keeps exactly min(max_groups, groups it is in): `row_number` orders its groups by a keyed hash of the unit and
the keys, and then by the keys themselves, which differ. So a unit's choice depends only on its own rows and the key.

The groups are read in batches. `query.results.release` decides which groups of a batch are released, by exact noise on
their numbers of units. Only those are kept and passed on. At the end they are sorted by their keys, NULLs last. So the
order does not depend on the order of rows. The noise of each group is independent of all others, so neither does the
law of the selection.

**Second pass** (`shown_statement`), for a measure that is not a plain sum, on the groups that are released:

    layers, located  as above, with x: the number of a row's bin, or the value to count; it may be NULL
    opened           as above
    pairs            by (unit, keys, x): n, the number of rows
    chosen           the pairs in the groups that each unit keeps, if a column names the unit
    there            those of `chosen` that have an x and whose group is released, with the group's index `place`
    answer           by (place, bin): the sums over units of each unit's integers, as in `histogram`;
                     or by place: the number of distinct values in `brought`, as in `statement`

With a reach, `everywhere` and `reached` are between `chosen` and what follows. They have the number of a unit's rows
in all groups that it keeps, or at most `reach` of its values there. They do not depend on which groups are released.

**Which groups a unit keeps.** The groups of all rows of a unit that count, including rows without an x, are ranked by
the hash of the unit and the keys under the query's secret, and then by the keys, as in the first pass. The rows of the
first max_groups groups are kept. DENSE_RANK gives all rows of `pairs` in one group the same rank, and different groups
different ranks, because the keys end the order. So it is the choice that was made for the numbers of units: it uses the
same set of groups and the same order, before x or the released groups matter. The restriction to released groups only
removes groups from it. A hash of the unit, the *keys* and the value decides which values a unit brings to a group. The
hash does not use a group's index, which depends on the other released groups and, in the first pass, on all rows.
`query.pricing.partition_selection` and `query.aggregates.count_distinct` prove what follows for sensitivity.

**Nothing overflows.** Totals are at most 2^63 units' integers of at most 2^62. As quotient and remainder of 2^62 both
parts fit 64 bits. If every row is a unit, the total is n·2^fraction_bits, and the same holds.
"""
# ruff: noqa: S608 - these texts are built here from checked expressions

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tacit.arrays import Ints, WideInts
from tacit.engines.sql import contribution_bounding, measures
from tacit.engines.sql.builder import CommonTables, cast, column, infix, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.distinct_statement import counted_value
from tacit.engines.sql.histogram import bin_grid, check_bins, integer_of, rows_of_unit, split, total_of
from tacit.engines.sql.integer_columns import weighted_sum
from tacit.engines.sql.key_lists import key_joins, key_lists
from tacit.engines.sql.statement import (
    MeasureColumns,
    checked_rows,
    everywhere,
    located_rows,
    measure_columns,
    shares_of,
    sums_by,
    with_clause,
)
from tacit.query.expressions import Value
from tacit.query.histograms import WORD, Histograms
from tacit.query.plan import Bundle, Measure, Plan

SHOWN = "shown"
"""The name of the table with the released groups, in SQL."""

_UNITS = Measure(value=None, per="unit")


@dataclass(frozen=True, slots=True)
class OpenStatement:
    """The statement of the first pass, with a row (keys …, sums …) for each group, and its parameters.

    The first sum is the number of units. `shares` has, for each measure, the (column, factor) pairs that add up to it;
    columns count from the first sum.
    """

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    keys: int
    shares: tuple[tuple[tuple[int, int], ...], ...]
    draws: bool

    def read(self, sums: Sequence[WideInts], size: int) -> list[WideInts]:
        """Return the measures' integers in `size` groups from the columns of sums."""
        return [weighted_sum(sums, shares, size) for shares in self.shares]


def open_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> OpenStatement:
    """Return the first statement of a plan over a source with these columns and types, or raise InvalidError."""
    requested = [_UNITS, *(measure for bundle in plan.bundles for measure in bundle.measures)]
    for measure in requested:
        measures.check(measure, checked_rows(plan, measure))
    needed, by = measure_columns(requested), [f"g{index}" for index in range(len(plan.keys))]
    unit = [] if plan.table.unit is None else ["u"]
    tables = [*located_rows(plan, types, needed, dialect, coded=False), ("opened", "", _opened(plan, dialect))]
    reached = bool(unit) and plan.table.reach is not None
    tables.append(("pairs", "", sums_by([*unit, *by], needed, requested, "opened", dialect, counted=reached)))
    last = "pairs"
    if unit:
        tables.append(("chosen", "", contribution_bounding.numbered(plan.groups, dialect, by)))
        last = "chosen"
    if reached:
        tables.append(everywhere("chosen", dialect))
        last = "everywhere"
    shares = [shares_of(plan, measure, needed, dialect) for measure in requested]
    texts = dict.fromkeys(dialect.text(sql) for terms in shares for sql, _ in terms)
    sums = ", ".join([*by, *(f"{text} AS s{index}" for index, text in enumerate(texts))])
    sql = f"WITH {with_clause(tables)}\nSELECT {sums} FROM {last} GROUP BY {', '.join(by)}"
    columns = {text: index for index, text in enumerate(texts)}
    indexed = tuple(tuple((columns[dialect.text(sql)], factor) for sql, factor in terms) for terms in shares[1:])
    return OpenStatement(sql, key_lists(plan), len(by), indexed, bool(unit))


def _opened(plan: Plan, dialect: Dialect) -> str:
    """Return a SELECT of the located rows whose listed keys are in their lists."""
    return f"SELECT located.* FROM located{key_joins(plan, dialect)}"


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A statement of the second pass, its parameters, and its number of bins, which is 1 for distinct values.

    The engine must define the table `shown` (keys …, place) before it runs the statement.
    """

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    bins: int
    draws: bool

    def read(self, columns: Mapping[str, Ints], groups: int) -> Histograms | list[int]:
        """Return the integers from the columns of the result: place, bin, low and high, in that order."""
        group, number, low, high = (columns[name].astype("int64") for name in ("place", "bin", "low", "high"))
        histograms = Histograms(groups, self.bins, group, number, low, high)
        return histograms if self.bins > 1 else [int(x) for x in histograms.of(0, groups)]


def split_passes(plan: Plan) -> tuple[tuple[tuple[int, ...], Plan], list[tuple[tuple[int, ...], Plan]]]:
    """Return the plan of the first pass, with the plain sums, and those of the second, one for each other measure.

    Each comes with the indices of its measures among those of the whole plan.
    """
    plans = split(plan)
    first = [item for item in plans if not _is_second(item[1].bundles[0])]
    no_sums = (), replace(plan, bundles=())
    return (first[0] if first else no_sums), [item for item in plans if _is_second(item[1].bundles[0])]


def _is_second(bundle: Bundle) -> bool:
    return bundle.measures[0].bins > 1 or bundle.measures[0].per == "value"


def shown_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> ShownStatement:
    """Return the statement of a plan with one measure that is not a plain sum, or raise InvalidError."""
    measure = plan.bundles[0].measures[0]
    measures.check(measure, checked_rows(plan, measure))
    by = [f"g{index}" for index in range(len(plan.keys))]
    if measure.bins > 1:
        check_bins(measure)
        needed, x = MeasureColumns({bin_grid(measure): "d0"}, {}), "d0"
        tables = located_rows(plan, types, needed, dialect, coded=False)
        tables += [*_chosen(plan, by, x, dialect), *_bins(plan, measure, dialect)]
    else:
        needed, x = MeasureColumns({}, {}), "v"
        tables = located_rows(plan, types, needed, dialect, coded=False, counted=counted_value(measure))
        tables += [*_chosen(plan, by, x, dialect), *_values(plan, by, dialect)]
    sql = f"WITH {with_clause(tables)}\nSELECT {', '.join(_answer(dialect))} FROM answer ORDER BY 1, 2"
    return ShownStatement(sql, key_lists(plan), measure.bins, plan.table.unit is not None)


def _answer(dialect: Dialect) -> Iterator[str]:
    """Yield the columns place, bin, low and high, all of 64 bits."""
    total, word = column("total"), whole(1 << WORD, "HUGEINT")
    halves = {"low": dialect.remainder(total, word), "high": dialect.quotient(total, word, "HUGEINT")}
    for name, sql in {"place": column("place"), "bin": column("x"), **halves}.items():
        yield f"{dialect.text(cast(sql, 'BIGINT'))} AS {name}"


def _chosen(plan: Plan, by: Sequence[str], x: str, dialect: Dialect) -> CommonTables:
    """Return the common tables up to `there`: place, x and n, and the unit and the keys if a column names the unit."""
    unit = [] if plan.table.unit is None else ["u"]
    grouped = ", ".join([*unit, *by, x])
    pairs = f"SELECT {grouped}, COUNT(*) AS n FROM opened GROUP BY {grouped}"
    tables: CommonTables = [("opened", "", _opened(plan, dialect)), ("pairs", "", pairs)]
    source = "pairs"
    if unit:
        source = "chosen"
        tables.append(("chosen", "", contribution_bounding.numbered(plan.groups, dialect, by, rank="DENSE_RANK")))
    more = ["n"]
    if unit and plan.table.reach is not None:
        tables += _reached(plan, by, x, dialect)
        source, more = "reached", ["n", *["rows_of_unit"][x == "v" :]]
    is_shown = " AND ".join(dialect.null_safe_equal(f"c.{key}", f"s.{key}") for key in by)
    columns = ", ".join(["s.place", *(f"c.{name}" for name in [*unit, *by]), f"c.{x} AS x", *more])
    there = f"SELECT {columns} FROM {source} AS c JOIN {SHOWN} AS s ON {is_shown} WHERE c.{x} IS NOT NULL"
    return [*tables, ("there", "", there)]


def _reached(plan: Plan, by: Sequence[str], x: str, dialect: Dialect) -> CommonTables:
    """Return the common tables from `chosen` to `reached`, if there is a reach: before it is known what is released.

    For bins they add the number of a unit's rows in all groups that it keeps. Of values they keep at most max_rows in
    each group, and at most `reach` in all groups.
    """
    if x != "v":
        return [("reached", "", f"SELECT *, {rows_of_unit(dialect)} FROM chosen")]
    tables, last = [("valued", "", f"SELECT * FROM chosen WHERE {x} IS NOT NULL")], "valued"
    if plan.table.max_rows is not None:
        tables.append(("in_groups", "", contribution_bounding.group_values(plan.table.rows, last, by, x, dialect)))
        last = "in_groups"
    reach = plan.table.reach or plan.table.rows
    return [*tables, ("reached", "", contribution_bounding.reached_values(reach, last, by, x, dialect))]


def _bins(plan: Plan, measure: Measure, dialect: Dialect) -> CommonTables:
    """Return the common tables from `there` to the totals of every bin of every group."""
    if plan.table.unit is None:
        total = dialect.text(infix(exp.Mul, cast(column("n"), "HUGEINT"), whole(1 << measure.fraction_bits, "HUGEINT")))
        return [("answer", "", f"SELECT place, x, {total} AS total FROM there")]
    t = f"CAST(SUM(n) OVER (PARTITION BY u, place) AS {dialect.type_of('BIGINT')})"
    integer = integer_of(plan, measure, dialect)
    more = "" if plan.table.reach is None else ", rows_of_unit"
    total = dialect.text(cast(total_of(plan, measure, integer, dialect), "HUGEINT"))
    return [
        ("weighed", "", f"SELECT place, x, n, {t} AS t{more} FROM there"),
        ("answer", "", f"SELECT place, x, {total} AS total FROM weighed GROUP BY place, x"),
    ]


def _values(plan: Plan, by: Sequence[str], dialect: Dialect) -> CommonTables:
    """Return the common tables from `there` to the number of distinct values in every group."""
    tables, source = CommonTables(), "there"
    if plan.table.unit is not None and plan.table.reach is None:
        source = "brought"
        tables.append((source, "", contribution_bounding.best_values(plan.table.rows, by, dialect)))
    total = f"CAST(COUNT(DISTINCT x) AS {dialect.type_of('HUGEINT')}) AS total"
    counted = f"SELECT place, 0 AS x, {total} FROM {source} GROUP BY place"
    return [*tables, ("answer", "", counted)]
