"""A measure that is no plain sum, for groups that were found in the data and are shown: the second look at the rows.

    layers, located  as in `plan`, with x: the number of a row's bin, or the value to tell apart; it may be NULL
    opened           as in `found`
    pairs            by (unit, keys, x): n, how many rows
    chosen           those of the groups that each unit keeps, where rows are not units
    there            those of them that have an x and whose keys are those of a shown group, with its place
    answer           by (place, bin): the sums over units of each unit's integers, as in `bins`;
                     or by place: how many different values were brought, as in `distinct`

**Which groups a unit keeps.** The groups of all of a unit's rows that count, those without an x among them, are ranked
by the hash of the unit and the keys under the question's secret, and then by the keys, as in `found`; the rows of
the first max_groups are kept. DENSE_RANK gives all rows of `pairs` that have one group one rank, and different groups
different ranks, since the keys end the order. So it is the choice that was made for the numbers of units: it is made of
the same set of groups by the same order, before anything is said of x or of shown groups. What is shown only takes
groups away from it. Which values are brought to a group is told by a hash of the unit, the *keys* and the value: a
group's place depends on which other groups are shown, and at first on all rows, so it is not hashed. What that is worth
is proved in `query.pricing.partition_selection` and `query.aggregates.count_distinct`.

**Nothing overflows.** Totals are at most 2^63 units' integers of at most 2^62: as quotient and remainder of 2^62 both
parts fit 64 bits. Where each row is a unit the total is n·2^fraction_bits, likewise.
"""
# ruff: noqa: S608 - every part of these texts is our own, or written by `rows` from checked expressions

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from tacit.engines.sql import contribution_bounding, measures
from tacit.engines.sql.builder import cast, column, infix, whole
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.discovered_groups import opened
from tacit.engines.sql.distinct import checked_value
from tacit.engines.sql.histogram import checked_bins, grid_of, integer_of, split, total_of
from tacit.engines.sql.statement import Parts, Wanted, lists_of, located, written
from tacit.query.expressions import Value
from tacit.query.histograms import WORD, Histograms
from tacit.query.plan import Bundle, Measure, Plan

SHOWN = "shown"
"""What the engine calls the groups that are shown."""

_Columns = Mapping[str, npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A statement over the groups that are `shown`, its parameters, and how many bins it counts in.

    That is 1 for different values. `shown` (keys …, place) is for the engine to put before it.
    """

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    bins: int
    draws: bool

    def read(self, columns: _Columns, groups: int) -> Histograms | list[int]:
        """Return the integers from the columns that the statement gave: place, bin, low and high, in that order."""
        place, number, low, high = (columns[name].astype(np.int64) for name in ("place", "bin", "low", "high"))
        found = Histograms(groups, self.bins, place, number, low, high)
        return found if self.bins > 1 else [int(x) for x in found.of(0, groups)]


def apart(plan: Plan) -> tuple[tuple[tuple[int, ...], Plan], list[tuple[tuple[int, ...], Plan]]]:
    """Return the part of a plan that the first look answers, its plain sums, and the others, one for each measure.

    Each comes with the places of its measures among those of the whole plan.
    """
    parts = split(plan)
    plain = [part for part in parts if not _is_later(part[1].bundles[0])]
    none = (), replace(plan, bundles=())
    return (plain[0] if plain else none), [part for part in parts if _is_later(part[1].bundles[0])]


def _is_later(bundle: Bundle) -> bool:
    return bundle.measures[0].bins > 1 or bundle.measures[0].per == "value"


def shown_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> ShownStatement:
    """Return the statement of a plan of one measure that is no plain sum, or raise InvalidError."""
    measure = plan.bundles[0].measures[0]
    measures.check(measure, 1 if plan.table.unit is None else plan.table.rows)
    by = [f"g{place}" for place in range(len(plan.keys))]
    if measure.bins > 1:
        checked_bins(measure)
        parts, x = located(plan, types, Wanted({grid_of(measure): "d0"}, {}), dialect, coded=False), "d0"
        parts += [*_chosen(plan, by, x, dialect), *_bins(plan, measure, dialect)]
    else:
        parts, x = located(plan, types, Wanted({}, {}), dialect, coded=False, counted=checked_value(measure)), "v"
        parts += [*_chosen(plan, by, x, dialect), *_values(plan, by, dialect)]
    sql = f"WITH {written(parts)}\nSELECT {', '.join(_answered(dialect))} FROM answer ORDER BY 1, 2"
    return ShownStatement(sql, lists_of(plan), measure.bins, plan.table.unit is not None)


def _answered(dialect: Dialect) -> Iterator[str]:
    """Yield the columns place, bin, low and high, all of 64 bits."""
    total, word = column("total"), whole(1 << WORD, "HUGEINT")
    halves = {"low": dialect.remainder(total, word), "high": dialect.quotient(total, word, "HUGEINT")}
    for name, sql in {"place": column("place"), "bin": column("x"), **halves}.items():
        yield f"{dialect.text(cast(sql, 'BIGINT'))} AS {name}"


def _chosen(plan: Plan, by: Sequence[str], x: str, dialect: Dialect) -> Parts:
    """Return the parts up to `there`: place, x and n, and where units have rows the unit and the keys."""
    unit = [] if plan.table.unit is None else ["u"]
    grouped = ", ".join([*unit, *by, x])
    pairs = f"SELECT {grouped}, COUNT(*) AS n FROM opened GROUP BY {grouped}"
    parts: Parts = [("opened", "", opened(plan, dialect)), ("pairs", "", pairs)]
    source = "pairs"
    if unit:
        source = "chosen"
        parts.append(("chosen", "", contribution_bounding.numbered(plan.groups, dialect, by, rank="DENSE_RANK")))
    same = " AND ".join(dialect.same(f"c.{key}", f"s.{key}") for key in by)
    columns = ", ".join(["s.place", *(f"c.{name}" for name in [*unit, *by]), f"c.{x} AS x", "n"])
    there = f"SELECT {columns} FROM {source} AS c JOIN {SHOWN} AS s ON {same} WHERE c.{x} IS NOT NULL"
    return [*parts, ("there", "", there)]


def _bins(plan: Plan, measure: Measure, dialect: Dialect) -> Parts:
    """Return the parts from `there` to the totals of every bin of every group."""
    if plan.table.unit is None:
        total = dialect.text(infix(exp.Mul, cast(column("n"), "HUGEINT"), whole(1 << measure.fraction_bits, "HUGEINT")))
        return [("answer", "", f"SELECT place, x, {total} AS total FROM there")]
    t = f"CAST(SUM(n) OVER (PARTITION BY u, place) AS {dialect.type_of('BIGINT')})"
    integer = integer_of(measure, plan.table.rows, dialect)
    total = dialect.text(cast(total_of(plan, measure, integer, dialect), "HUGEINT"))
    return [
        ("weighed", "", f"SELECT place, x, n, {t} AS t FROM there"),
        ("answer", "", f"SELECT place, x, {total} AS total FROM weighed GROUP BY place, x"),
    ]


def _values(plan: Plan, by: Sequence[str], dialect: Dialect) -> Parts:
    """Return the parts from `there` to the number of different values in every group."""
    parts, source = Parts(), "there"
    if plan.table.unit is not None:
        source = "brought"
        parts.append((source, "", contribution_bounding.best_values(plan.table.rows, by, dialect)))
    total = f"CAST(COUNT(DISTINCT x) AS {dialect.type_of('HUGEINT')}) AS total"
    counted = f"SELECT place, 0 AS x, {total} FROM {source} GROUP BY place"
    return [*parts, ("answer", "", counted)]
