"""Checks of a JOIN: its kind, the names of its sides, and which sides may be private."""

from __future__ import annotations

from sqlglot import exp

from tacit.errors import show_name
from tacit.query.expressions import Column
from tacit.query.refusals import refused
from tacit.query.sql.scope import Scope

USE_ON = "Write FROM a JOIN b ON a.x = b.x, or LEFT JOIN."
_METHODS = {
    "NATURAL": (
        "NATURAL joins are not supported, because a new column would change them",
        "Name the columns: USING (x).",
    ),
    "ASOF": ("ASOF joins are not supported", "Join on equal values, such as date_trunc('day', t)."),
    "POSITIONAL": ("POSITIONAL joins are not supported, because rows have no order", USE_ON),
}
_KINDS = {
    "CROSS": ("CROSS joins are not supported", USE_ON),
    "SEMI": ("SEMI joins are not supported", "Write JOIN with a public table that has each value once."),
    "ANTI": (
        "ANTI joins are not supported",
        "Write LEFT JOIN, and in WHERE that a column of the joined table IS NULL.",
    ),
}


def read_side(node: exp.Join) -> str:
    """Return INNER, LEFT, RIGHT or FULL, or raise RefusedError."""
    for name, refusals in (("method", _METHODS), ("kind", _KINDS)):
        if node.args.get(name) in refusals:
            raise refused(*refusals[node.args[name]])
    if node.args.get("kind") not in (None, "INNER", "OUTER") or node.args.get("method"):
        raise refused("This kind of join is not supported", USE_ON)
    if node.args.get("on") is None and not node.args.get("using"):
        raise refused("Joins without a condition are not supported", USE_ON)
    side = str(node.args.get("side") or "INNER")
    if side == "FULL":
        raise refused("FULL joins are not supported", "Run one query with LEFT JOIN for each private side.")
    return side


def check_names(left: Scope, right: Scope) -> None:
    """Check that the sides of a join have different names."""
    taken = {part.name.casefold() for part in left.parts if part.name is not None}
    for part in right.parts:
        if part.name is not None and part.name.casefold() in taken:
            raise refused(f"Two sides of the join have the name {show_name(part.name)}", "Give one an alias: AS b.")


def check_sides(first: Scope, other: Scope, side: str) -> None:
    """Check that these scopes may be joined. `first` is private if either is, and `side` is relative to it."""
    if side == "RIGHT":
        raise refused(
            f"A join that keeps rows of the public table {show_name(other.table.name)} without a match is not "
            "supported, because it would show which of them have no private row",
            "Keep the private rows: JOIN, or private LEFT JOIN public.",
        )
    if side == "LEFT" and first.table.public:
        raise refused("An outer join of two public tables is not supported", "Join the private table first.")
    if side == "LEFT" and other.joins:
        raise refused("A join inside the right side of a LEFT JOIN is not supported", "Join its tables one by one.")
    if not other.table.public:
        _check_private(first, other)


def _check_private(first: Scope, other: Scope) -> None:
    """Check that two private tables differ, have a unit column each, and have the same neighbours."""
    table, joined = first.table, other.table
    if first.units is not None or other.units is not None:
        raise refused(
            "A subquery that groups by the unit cannot be joined with a private table",
            "Join the private tables inside the subquery, before its GROUP BY. There max(x) selects a column that has "
            "one value for each unit.",
        )
    shared = private_tables(first) & private_tables(other)
    if shared:
        reason = f"A join of the private table {show_name(min(shared))} with itself is not supported"
        raise refused(reason, "Compute values of each unit in a subquery that groups by the unit column.")
    if table.unit is None or joined.unit is None:
        bare = joined if joined.unit is None else table
        raise refused(
            f"Each row of {show_name(bare.name)} is a unit, so it cannot be joined with another private table",
            "Ask the data's steward to declare a unit column, or query each table alone.",
        )
    if table.neighbours != joined.neighbours:
        reason = f"{show_name(table.name)} and {show_name(joined.name)} have different neighbours"
        raise refused(reason, "Query each table alone.")


def private_tables(scope: Scope) -> set[str]:
    """Return the names of the private tables of a scope."""
    return {scope.table.name, *(join.table for join in scope.joins if join.private)}


def check_one_row_per_unit(scope: Scope) -> None:
    """Check that a row which is a unit stays one row."""
    if scope.table.public or scope.table.unit is not None:
        return
    source = show_name(scope.table.name) if scope.units is None else "the subquery"
    for join in scope.joins:
        keys = [key for _, key in join.pairs]
        if not any(isinstance(key, Column) and scope.table.columns[key.name].unique for key in keys):
            raise refused(
                f"Each row of {source} is a unit, and the join with {show_name(join.table)} could turn one row into "
                "several",
                "Join on a column of the public table that has no value twice, without a cast.",
            )


def folded_names(scope: Scope) -> frozenset[str]:
    """Return the names of all columns of a scope, without regard to case."""
    return frozenset(name.casefold() for part in scope.parts for name in (*part.columns, *part.hidden))
