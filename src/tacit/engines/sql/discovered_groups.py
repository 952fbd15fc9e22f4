"""A plan whose groups are found in the data, as one statement with a row for each group.

    layers, located  as in `plan`, with the keys themselves in place of a cell's number
    opened           the rows whose listed keys are listed
    pairs            by (unit, keys): how many rows, and the sums of d
    chosen           the pairs that each unit keeps, where it may not keep all
    found            by keys: how many units, and the sums over units of each unit's integers

A group is its keys' exact values; NULL, which NaN is too, is a value like others. Of -0.0 and 0.0, which are grouped
together, an engine would show whichever row came first, so both are made 0.0.

A unit keeps exactly min(max_groups, groups it is in): `row_number` orders its groups by a keyed hash of the unit and
the keys, and then by the keys themselves, which differ. So a unit's choice depends on its own rows and the key alone.

Which of them are shown is for `engine` to ask: only those are handed on, in the order of their keys, NULLs last, which
is not the order of any rows.
"""
# ruff: noqa: S608 - every part of these texts is our own, or written by `rows` from checked expressions

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.engines.sql import measures
from tacit.engines.sql.contribution_bounding import numbered
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.statement import (
    added_up,
    key_joins,
    lists_of,
    located,
    max_rows_of,
    shares_of,
    sums_by,
    wanted_of,
    written,
)
from tacit.query.expressions import Value
from tacit.query.plan import Measure, Plan

_UNITS = Measure(value=None, per="unit")


@dataclass(frozen=True, slots=True)
class OpenStatement:
    """A statement with a row (keys …, sums …) for each group, its parameters, and how the sums make up the measures.

    The first sum is the number of units.
    """

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    keys: int
    shares: tuple[tuple[tuple[int, int], ...], ...]
    draws: bool

    def read(self, rows: Sequence[tuple[Value, ...]]) -> list[list[int]]:
        """Return the measures' integers from some of the statement's rows."""
        return [[added_up(row, shares) for row in rows] for shares in self.shares]  # type: ignore[arg-type]  # sums are whole


def open_statement(plan: Plan, types: Mapping[str, str], dialect: Dialect) -> OpenStatement:
    """Return the statement of a plan over a source with these columns and types, or raise InvalidError."""
    asked = [_UNITS, *(measure for bundle in plan.bundles for measure in bundle.measures)]
    for measure in asked:
        measures.check(measure, max_rows_of(plan, measure))
    wanted, by = wanted_of(asked), [f"g{place}" for place in range(len(plan.keys))]
    unit = [] if plan.table.unit is None else ["u"]
    parts = [*located(plan, types, wanted, dialect, coded=False), ("opened", "", opened(plan, dialect))]
    parts.append(("pairs", "", sums_by([*unit, *by], wanted, asked, "opened", dialect)))
    if unit:
        parts.append(("chosen", "", numbered(plan.groups, dialect, by)))
    shares = [shares_of(plan, measure, wanted.places(measure), dialect) for measure in asked]
    columns = {
        text: f"s{i}" for i, text in enumerate(dict.fromkeys(dialect.text(sql) for one in shares for sql, _ in one))
    }
    sums = ", ".join([*by, *(f"{text} AS {name}" for text, name in columns.items())])
    last = "chosen" if unit else "pairs"
    sql = f"WITH {written(parts)}\nSELECT {sums} FROM {last} GROUP BY {', '.join(by)}"
    places = {text: len(by) + i for i, text in enumerate(columns)}
    added = tuple(tuple((places[dialect.text(sql)], factor) for sql, factor in one) for one in shares[1:])
    return OpenStatement(sql, lists_of(plan), len(by), added, bool(unit))


def opened(plan: Plan, dialect: Dialect) -> str:
    """Return the located rows whose listed keys are listed."""
    return f"SELECT located.* FROM located{key_joins(plan, dialect)}"
