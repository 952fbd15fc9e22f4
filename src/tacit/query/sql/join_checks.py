"""Which joins are answered; every other is refused, with the private way to ask. Why, is said in `joins`."""

from __future__ import annotations

from sqlglot import exp

from tacit.query.expressions import Column
from tacit.query.refusals import quoted, refused
from tacit.query.sql.scope import Scope

PLAINLY = "Write FROM a JOIN b ON a.x = b.x, or LEFT JOIN."
_METHODS = {
    "NATURAL": ("NATURAL joins are not answered, since a new column would change them", "Name the columns: USING (x)."),
    "ASOF": ("ASOF joins are not answered", "Join on equal values, such as date_trunc('day', t)."),
    "POSITIONAL": ("POSITIONAL joins are not answered: rows have no order", PLAINLY),
}
_KINDS = {
    "CROSS": ("CROSS joins are not answered", PLAINLY),
    "SEMI": ("SEMI joins are not answered", "Write JOIN with a public table in which each value stands once."),
    "ANTI": ("ANTI joins are not answered", "Write LEFT JOIN, and in WHERE that a column of the joined table IS NULL."),
}


def side_of(node: exp.Join) -> str:
    """Return INNER, LEFT, RIGHT or FULL, or raise RefusedError."""
    for name, listed in (("method", _METHODS), ("kind", _KINDS)):
        if node.args.get(name) in listed:
            raise refused(*listed[node.args[name]])
    if node.args.get("kind") not in (None, "INNER", "OUTER") or node.args.get("method"):
        raise refused("This kind of join is not answered", PLAINLY)
    if node.args.get("on") is None and not node.args.get("using"):
        raise refused("Joins without a condition are not answered", PLAINLY)
    side = str(node.args.get("side") or "INNER")
    if side == "FULL":
        raise refused("FULL joins are not answered", "Ask one question with LEFT JOIN for each private side.")
    return side


def check_names(left: Scope, right: Scope) -> None:
    """Raise if two sources of a join have one name."""
    taken = {part.name.casefold() for part in left.parts if part.name is not None}
    for part in right.parts:
        if part.name is not None and part.name.casefold() in taken:
            raise refused(f"Two sources of the join are called {quoted(part.name)}", "Give one an alias: AS b.")


def check_sides(first: Scope, other: Scope, side: str) -> None:
    """Raise unless these sources may be joined; `first` is private if one of them is, and `side` is as seen from it."""
    if side == "RIGHT":
        raise refused(
            f"A join that keeps rows of the public table {quoted(other.table.name)} without a match is not answered, "
            "since it would show which of them nobody has",
            "Keep the private rows: JOIN, or private LEFT JOIN public.",
        )
    if side == "LEFT" and first.table.public:
        raise refused("An outer join of two public tables is not answered", "Join the private table first.")
    if side == "LEFT" and other.joins:
        raise refused("A join inside the right side of a LEFT JOIN is not answered", "Join its tables one by one.")
    if not other.table.public:
        _check_private(first, other)


def _check_private(first: Scope, other: Scope) -> None:
    one, two = first.table, other.table
    shared = _private_tables(first) & _private_tables(other)
    if shared:
        raise refused(
            f"The private table {quoted(min(shared))} is joined with itself, which is not answered",
            "Compute what you need row by row.",
        )
    if one.unit is None or two.unit is None:
        raise refused(
            f"Each row of {quoted((two if two.unit is None else one).name)} is a unit of its own, so that it cannot be "
            "joined with another private table on the unit",
            "Have the data's steward declare a unit column, or ask each table alone.",
        )
    if one.neighbours != two.neighbours:
        raise refused(f"{quoted(one.name)} and {quoted(two.name)} have different neighbours", "Ask each table alone.")


def _private_tables(scope: Scope) -> set[str]:
    return {scope.table.name, *(join.table for join in scope.joins if join.private)}


def check_each_row(scope: Scope) -> None:
    """Raise if a row that is a unit of its own could become several rows."""
    if scope.table.public or scope.table.unit is not None:
        return
    for join in scope.joins:
        keys = [key for _, key in join.pairs]
        if not any(isinstance(key, Column) and scope.table.columns[key.name].unique for key in keys):
            raise refused(
                f"Each row of {quoted(scope.table.name)} is a unit, and the join with {quoted(join.table)} could make "
                "several rows of one",
                "Join on a column of the public table in which no value stands twice, as it is, without a cast.",
            )
