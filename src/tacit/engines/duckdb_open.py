"""A plan whose groups are found in the data, as one DuckDB statement with a row for each group.

    layers, located  as in `duckdb_plan`, with the keys themselves in place of a cell's number
    opened           the rows whose listed keys are listed, with one zero for both of a real's
    pairs            by (unit, keys): how many rows, and the sums of d
    chosen           the pairs that each unit keeps, where it may not keep all
    found            by keys: how many units, and the sums over units of each unit's integers

A group is its keys' exact values; NULL, which NaN is too, is a value like others. Of -0.0 and 0.0, which are grouped
together, DuckDB would show whichever row came first, so both are made 0.0.

A unit keeps exactly min(max_groups, groups it is in): `row_number` orders its groups by a keyed hash of the unit and
the keys, and then by the keys themselves, which differ. So a unit's choice depends on its own rows and the key alone.

`found` stays in the database until it is known which groups are shown: only those are handed on, in the order of their
keys, NULLs last, which is not the order of any rows.
"""
# ruff: noqa: S608 - every part of these texts is our own, or written by duckdb_rows from checked expressions

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.engines import duckdb_measures as measures
from tacit.engines.duckdb_keep import numbered
from tacit.engines.duckdb_plan import _added, _equal, _located, _max_rows, _shares, _sums, _text, _wanted
from tacit.query.expressions import Value
from tacit.query.plan import Measure, Plan

FOUND = "found"
_UNITS = Measure(value=None, per="unit")


@dataclass(frozen=True, slots=True)
class OpenStatement:
    """A statement that makes the table `found`, its parameters, and how the columns of `rows` make up the measures."""

    sql: str
    rows: str
    parameters: Mapping[str, Sequence[Value]]
    keys: int
    shares: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def draws(self) -> bool:
        """Whether the statement chooses groups, and so needs two more parameters, the keys h0 and h1 of its hash."""
        return "$h0" in self.sql

    def read(self, rows: Sequence[tuple[Value, ...]]) -> list[list[int]]:
        """Return the measures' integers from the rows (number, keys …, sums …) of `rows`."""
        return [[_added(row, shares) for row in rows] for shares in self.shares]  # type: ignore[arg-type]  # sums are whole


def open_statement(plan: Plan, types: Mapping[str, str]) -> OpenStatement:
    """Return the statement of a plan over a source with these columns and DuckDB types, or raise InvalidError."""
    asked = [_UNITS, *(measure for bundle in plan.bundles for measure in bundle.measures)]
    for measure in asked:
        measures.check(measure, _max_rows(plan, measure))
    wanted, by = _wanted(asked), [f"g{place}" for place in range(len(plan.keys))]
    unit = [] if plan.table.unit is None else ["u"]
    parts = [*_located(plan, types, wanted, coded=False), ("opened", "", opened(plan))]
    parts.append(("pairs", "", _sums([*unit, *by], wanted, asked, "opened")))
    if unit:
        parts.append(("chosen", "", numbered(plan.groups, by)))
    shares = [_shares(plan, measure, wanted.places(measure)) for measure in asked]
    columns = {text: f"s{i}" for i, text in enumerate(dict.fromkeys(_text(sql) for one in shares for sql, _ in one))}
    written = ",\n".join(f"{name} AS {held}({sql})" for name, held, sql in parts)
    sums = ", ".join([*by, *(f"{text} AS {name}" for text, name in columns.items())])
    last = "chosen" if unit else "pairs"
    sql = f"CREATE TEMP TABLE {FOUND} AS WITH {written}\nSELECT {sums} FROM {last} GROUP BY {', '.join(by)}"
    places = {text: 1 + len(by) + i for i, text in enumerate(columns)}
    added = tuple(tuple((places[_text(sql)], factor) for sql, factor in one) for one in shares[1:])
    order = ", ".join(f"{key} ASC NULLS LAST" for key in by)
    rows = (
        f"SELECT rowid, * FROM {FOUND} SEMI JOIN (SELECT UNNEST($shown::BIGINT[]) AS p) ON rowid = p ORDER BY {order}"
    )
    listed = {f"k{place}": key.values for place, key in enumerate(plan.keys) if key.values is not None}
    return OpenStatement(sql, rows, listed, len(by), added)


UNITS = f"SELECT rowid AS number, CAST(s0 AS BIGINT) AS units FROM {FOUND} ORDER BY rowid"
"""The number of units of each group: the first sum, which is that of the measure that counts them."""


def opened(plan: Plan) -> str:
    """Return the located rows whose listed keys are listed."""
    zeros = [f"g{place} + CAST(0 AS DOUBLE) AS g{place}" for place in range(len(plan.keys)) if _is_real(plan, place)]
    replaced = f" REPLACE ({', '.join(zeros)})" if zeros else ""
    joins = "".join(
        f" SEMI JOIN key{place} ON {_equal(f'g{place}', f'k{place}', key)}"
        for place, key in enumerate(plan.keys)
        if key.values is not None
    )
    return f"SELECT *{replaced} FROM located{joins}"


def _is_real(plan: Plan, place: int) -> bool:
    return plan.keys[place].expression.kind == "real"
