"""Run an outer query before the charge, on made-up tables: errors and a result that is too large cost nothing.

The first runs are on empty tables and on small ones with made-up values, so DuckDB binds all names and types. If the
result may have more rows than the sandbox returns, a further run is on made-up tables of the real size: the listed keys
are public, so their number is known. If noisy values choose the rows of the result, their number is not known before
the charge: tacit then accepts the query, and its plan says what happens if too many rows remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from tacit.engines.duckdb.sandbox import MOST_ROWS, SandboxError, TooManyRowsError
from tacit.errors import RefusedError
from tacit.query.plan import Plan
from tacit.query.refusals import refused
from tacit.query.results.outer_tables import FEW_ROWS, OuterTable, dummy_table, empty_table
from tacit.query.sql.outer_columns import OuterColumns
from tacit.query.sql.outer_query import OuterQuery

if TYPE_CHECKING:
    from tacit.session import Session

_SECONDS = 5.0
_MOST_PUBLIC_ROWS = 200_000
_MAKE_ROWS = (
    *(exp.Join, exp.SetOperation, exp.Lateral, exp.UDTF, exp.Explode),
    *(exp.Pivot, exp.Rollup, exp.Cube, exp.GroupingSets),
)
"""The nodes of a query whose result may have more rows than each table that it reads."""
_CORRECT = "Correct the part of the query that reads the private aggregates."
_FEWER_ROWS = "Add LIMIT or a condition on a key, or ask for the private aggregate alone and compute with its answer."


def dry_run(session: Session, outer: OuterQuery, plans: Sequence[Plan], outline: OuterColumns) -> tuple[str, ...]:
    """Return the names of the columns of an outer query; or refuse it, if it fails on made-up tables."""
    public = public_tables(session, outer)
    names: tuple[str, ...] = ()
    pivots = outer.tree.find(exp.Pivot) is not None  # an empty table has no columns to pivot to
    small = partial(dummy_table, most=FEW_ROWS)
    for made in (small,) if pivots else (empty_table, small):
        tables = [made(each.table, plan) for each, plan in zip(outer.inner, plans, strict=True)]
        names = _run(session, outer, [*tables, *public], outline, _SECONDS) or names
    if may_overflow(outer, plans, public):
        tables = [dummy_table(each.table, plan) for each, plan in zip(outer.inner, plans, strict=True)]
        _run(session, outer, [*tables, *public], outline)
    return names


def _run(
    session: Session,
    outer: OuterQuery,
    tables: Sequence[OuterTable],
    outline: OuterColumns,
    seconds: float | None = None,
) -> tuple[str, ...]:
    """Return the names of the columns of an outer query on some tables, or refuse it."""
    try:
        with session.sandbox.use() as sandbox:
            sandbox.open(tables)
            return (sandbox.run(outer.text) if seconds is None else sandbox.run(outer.text, seconds)).names
    except TooManyRowsError as error:
        if outline.choice:  # made-up values say nothing about the number of rows
            return ()
        raise _failed(error, _FEWER_ROWS) from None
    except SandboxError as error:
        raise _failed(error, error.hint or _CORRECT) from None


def _failed(error: SandboxError, hint: str) -> RefusedError:
    return RefusedError(f"The computation with the released tables fails: {reason(error)}.", hint=hint)


def may_overflow(outer: OuterQuery, plans: Sequence[Plan], public: Sequence[OuterTable] = ()) -> bool:
    """Return whether the result may have too many rows, which the run on small tables cannot show.

    Without a node that makes rows, a result is not larger than the largest table that the query reads.
    """
    cells = [plan.cells for plan in plans if plan.cells is not None]
    if max(cells, default=0) <= FEW_ROWS or _has_small_limit(outer.tree):
        return False
    rows = [len(table.values[0]) for table in public if table.values]
    return max(*cells, *rows, 0) > MOST_ROWS or outer.tree.find(*_MAKE_ROWS) is not None


def _has_small_limit(tree: exp.Expr) -> bool:
    limit = tree.args.get("limit")
    number = limit.expression if limit is not None else None
    return isinstance(number, exp.Literal) and number.is_int and int(number.name) <= MOST_ROWS


def public_tables(session: Session, outer: OuterQuery) -> list[OuterTable]:
    """Return the public tables that an outer query reads."""
    tables = []
    for name in outer.public:
        policy = session.tables[name]
        if policy.size is not None and policy.size > _MOST_PUBLIC_ROWS:
            message = (
                f"The public table {name} has {policy.size:,} rows; a computation reads at most {_MOST_PUBLIC_ROWS:,}"
            )
            raise refused(message, "Join it inside the private aggregate, or use a smaller table.")
        kinds = {column: each.kind for column, each in policy.columns.items() if not each.hidden and not each.timezone}
        rows = session.public_rows(name, kinds)
        values = tuple(zip(*rows, strict=True)) if rows else tuple(() for _ in kinds)
        tables.append(OuterTable(name, tuple(kinds.items()), values))
    return tables


def reason(error: SandboxError) -> str:
    """Return the reason of an error, without its full stop."""
    return error.message.rstrip(".!")
