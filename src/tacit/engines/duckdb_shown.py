"""A measure that is no plain sum, for groups that were found in the data and are shown: the second look at the rows.

    layers, located  as in `duckdb_plan`, with x: the number of a row's bin, or the value to tell apart; it may be NULL
    opened           as in `duckdb_open`
    pairs            by (unit, keys, x): n, how many rows
    chosen           those of the groups that each unit keeps, where rows are not units
    there            those of them that have an x and whose keys are those of a shown group, with its place
    answer           by (place, bin): the sums over units of each unit's integers, as in `duckdb_bins`;
                     or by place: how many different values were brought, as in `duckdb_distinct`

**Which groups a unit keeps.** The groups of all of a unit's rows that count, those without an x among them, are ranked
by the hash of the unit and the keys under the question's secret, and then by the keys, as in `duckdb_open`; the rows of
the first max_groups are kept. DENSE_RANK gives all rows of `pairs` that have one group one rank, and different groups
different ranks, since the keys end the order. So it is the choice that was made for the numbers of units: it is made of
the same set of groups by the same order, before anything is said of x or of shown groups. What is shown only takes
groups away from it. Which values are brought to a group is told by a hash of the unit, the *keys* and the value: a
group's place depends on which other groups are shown, and at first on all rows, so it is not hashed. What that is worth
is proved in `query.selection` and `query.aggregates.count_distinct`.

**Nothing overflows.** Totals are at most 2^63 units' integers of at most 2^62: as quotient and remainder of 2^62 both
parts fit 64 bits. Where each row is a unit the total is n·2^fraction_bits, likewise.
"""
# ruff: noqa: S608 - every part of these texts is our own, or written by duckdb_rows from checked expressions

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.engines import duckdb_keep as keep
from tacit.engines import duckdb_measures as measures
from tacit.engines.duckdb_bins import checked_bins, grid_of, integer_of, split
from tacit.engines.duckdb_distinct import checked_value
from tacit.engines.duckdb_open import FOUND, opened
from tacit.engines.duckdb_plan import _located, _Wanted
from tacit.query.expressions import Value
from tacit.query.histograms import WORD, Histograms
from tacit.query.plan import Bundle, Measure, Plan

SHOWN = "shown"
_Columns = Mapping[str, npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A statement over the table `shown`, its parameters, and how many bins it counts in: 1 for different values."""

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    bins: int

    @property
    def draws(self) -> bool:
        """Whether the statement chooses, and so needs two more parameters, the keys h0 and h1 of its hash."""
        return "$h0" in self.sql

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


def show(keys: int, numbers: Sequence[int]) -> tuple[str, Mapping[str, Sequence[int]]]:
    """Return the statement that makes the table `shown` of the keys and the places of shown groups, in this order."""
    by = ", ".join(f"g{place}" for place in range(keys))
    places = f"SELECT UNNEST($numbers::BIGINT[]) AS number, UNNEST(RANGE({len(numbers)})) AS place"
    sql = f"CREATE TEMP TABLE {SHOWN} AS SELECT {by}, place FROM {FOUND} JOIN ({places}) ON {FOUND}.rowid = number"
    return sql, {"numbers": numbers}


def shown_statement(plan: Plan, types: Mapping[str, str]) -> ShownStatement:
    """Return the statement of a plan of one measure that is no plain sum, or raise InvalidError."""
    measure = plan.bundles[0].measures[0]
    measures.check(measure, 1 if plan.table.unit is None else plan.table.rows)
    by = [f"g{place}" for place in range(len(plan.keys))]
    if measure.bins > 1:
        checked_bins(measure)
        parts, x = _located(plan, types, _Wanted({grid_of(measure): "d0"}, {}), coded=False), "d0"
        parts += [*_chosen(plan, by, x), *_bins(plan, measure)]
    else:
        parts, x = _located(plan, types, _Wanted({}, {}), coded=False, counted=checked_value(measure)), "v"
        parts += [*_chosen(plan, by, x), *_values(plan, by)]
    written = ",\n".join(f"{name} AS {held}({sql})" for name, held, sql in parts)
    word = f"CAST({1 << WORD} AS HUGEINT)"
    halves = f"CAST(total % {word} AS BIGINT) AS low, CAST(total // {word} AS BIGINT) AS high"
    sql = f"WITH {written}\nSELECT CAST(place AS BIGINT) AS place, CAST(x AS BIGINT) AS bin, {halves} FROM answer"
    listed = {f"k{place}": key.values for place, key in enumerate(plan.keys) if key.values is not None}
    return ShownStatement(f"{sql} ORDER BY place, bin", listed, measure.bins)


_Parts = list[tuple[str, str, str]]


def _chosen(plan: Plan, by: Sequence[str], x: str) -> _Parts:
    """Return the parts up to `there`: place, x and n, and where units have rows the unit and the keys."""
    unit = [] if plan.table.unit is None else ["u"]
    grouped = ", ".join([*unit, *by, x])
    pairs = f"SELECT {grouped}, COUNT(*) AS n FROM opened GROUP BY {grouped}"
    parts: _Parts = [("opened", "", opened(plan)), ("pairs", "", pairs)]
    source = "pairs"
    if unit:
        source = "chosen"
        parts.append(("chosen", "", keep.numbered(plan.groups, by).replace("ROW_NUMBER()", "DENSE_RANK()")))
    same = " AND ".join(f"c.{key} IS NOT DISTINCT FROM s.{key}" for key in by)
    columns = ", ".join(["s.place", *(f"c.{name}" for name in [*unit, *by]), f"c.{x} AS x", "n"])
    there = f"SELECT {columns} FROM {source} AS c JOIN {SHOWN} AS s ON {same} WHERE c.{x} IS NOT NULL"
    return [*parts, ("there", "", there)]


def _bins(plan: Plan, measure: Measure) -> _Parts:
    """Return the parts from `there` to the totals of every bin of every group."""
    if plan.table.unit is None:
        total = f"CAST(n AS HUGEINT) * CAST({1 << measure.fraction_bits} AS HUGEINT)"
        return [("answer", "", f"SELECT place, x, {total} AS total FROM there")]
    t = "CAST(SUM(n) OVER (PARTITION BY u, place) AS BIGINT)"
    total = f"CAST(SUM({integer_of(measure, plan.table.rows)}) AS HUGEINT)"
    return [
        ("weighed", "", f"SELECT place, x, n, {t} AS t FROM there"),
        ("answer", "", f"SELECT place, x, {total} AS total FROM weighed GROUP BY place, x"),
    ]


def _values(plan: Plan, by: Sequence[str]) -> _Parts:
    """Return the parts from `there` to the number of different values in every group."""
    parts, source = _Parts(), "there"
    if plan.table.unit is not None:
        source = "brought"
        parts.append((source, "", keep.best_values(plan.table.rows, by)))
    counted = f"SELECT place, 0 AS x, CAST(COUNT(DISTINCT x) AS HUGEINT) AS total FROM {source} GROUP BY place"
    return [*parts, ("answer", "", counted)]
