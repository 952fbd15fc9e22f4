"""Names: the meaning of an identifier, and the name of a column of the answer."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from tacit.errors import show_name
from tacit.query.refusals import refused


def resolve(identifier: exp.Identifier, names: Iterable[str]) -> str | None:
    """Return the name that an identifier refers to, ignoring case if it is not quoted; None if there is no match."""
    listed = list(names)
    if identifier.name in listed:
        return str(identifier.name)
    folded = identifier.name.casefold()
    near = [] if identifier.args.get("quoted") else [name for name in listed if name.casefold() == folded]
    if len(near) > 1:
        hint = 'Write it in "double quotes", with the same capitals.'
        raise refused(f"The name {show_name(identifier.name)} is ambiguous", hint)
    return near[0] if near else None


def check_case(names: Iterable[str]) -> None:
    """Raise RefusedError if two names are equal to tacit, which ignores the case of all letters, but not to DuckDB.

    DuckDB ignores the case of A to Z alone. "ß" and "ss" are two names there, and one name after `casefold`.

    >>> check_case(["Total", "total", "straße"])
    """
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.casefold(), name)
        if _ascii_lower(other) != _ascii_lower(name):
            reason = f"The names {show_name(other)} and {show_name(name)} differ only in the case of letters"
            raise refused(reason, "Give one of them another name.")


def _ascii_lower(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass").lower()


def default_name(node: exp.Expr) -> str:
    """Return DuckDB's name for a column without an alias.

    >>> import sqlglot
    >>> items = sqlglot.parse_one("SELECT COUNT(*), Round(Avg(x)/2, 1)", dialect="duckdb").expressions
    >>> [default_name(item) for item in items]
    ['count_star()', 'round((avg(x) / 2), 1)']
    """
    if isinstance(node, exp.Column):
        return str(node.name)
    whole = exp.Paren(this=node.copy())
    for part in reversed(list(whole.this.walk())):
        if isinstance(part, exp.Count) and isinstance(part.this, exp.Star):
            part.replace(exp.Anonymous(this="count_star"))
        elif isinstance(part, exp.Paren):
            part.replace(part.this)
        elif isinstance(part, exp.Binary):
            wrapped = exp.Paren()
            part.replace(wrapped)
            wrapped.set("this", part)
    return to_sql(whole.this, lower=True)


def to_sql(node: exp.Expr, *, lower: bool = False) -> str:
    """Return the SQL of a node, without comments.

    >>> import sqlglot
    >>> to_sql(sqlglot.parse_one("SELECT bool_or(x > 3)", dialect="duckdb"))
    'SELECT BOOL_OR(x > 3)'
    """
    node = node.transform(_plain_call)
    return str(node.sql(dialect="duckdb", comments=False, normalize_functions="lower" if lower else "upper"))


def _plain_call(node: exp.Expr) -> exp.Expr:
    """Return a call as it was written, where the generator would change it.

    It would add a cast to the argument of `bool_or` and `bool_and`, and leave out the format of `to_char`.
    """
    if isinstance(node, exp.ToChar):
        parts = [part for part in (node.this, node.args.get("format")) if part is not None]
        return exp.Anonymous(this="TO_CHAR", expressions=parts)
    if not isinstance(node, (exp.LogicalOr, exp.LogicalAnd)):
        return node
    name = "BOOL_OR" if isinstance(node, exp.LogicalOr) else "BOOL_AND"
    return exp.Anonymous(this=name, expressions=[node.this])


def unique_names(names: Iterable[str]) -> list[str]:
    """Return the names, with _1, _2, … added to those that occurred before.

    >>> unique_names(["n", "n", "n_1"])
    ['n', 'n_1', 'n_1_1']
    """
    taken: dict[str, int] = {}
    for name in names:
        free = name
        while free in taken:
            taken[name] += 1
            free = f"{name}_{taken[name]}"
        taken[free] = 0
    return list(taken)
