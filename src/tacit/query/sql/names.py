"""Names: what an identifier means, and what a column of the answer is called."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from tacit.query.refusals import quoted, refused


def match(name: exp.Identifier, names: Iterable[str]) -> str | None:
    """Return the name that an identifier means: exactly, or without regard to case if it is not quoted."""
    listed = list(names)
    if name.name in listed:
        return str(name.name)
    near = [] if name.args.get("quoted") else [one for one in listed if one.casefold() == name.name.casefold()]
    if len(near) > 1:
        raise refused(
            f"The name {quoted(name.name)} is ambiguous", 'Write it in "double quotes", with capitals as they are.'
        )
    return near[0] if near else None


def title(node: exp.Expr) -> str:
    """Return what DuckDB would call a column without an alias.

    >>> import sqlglot
    >>> [title(item) for item in sqlglot.parse_one("SELECT COUNT(*), Round(Avg(x)/2, 1)", dialect="duckdb").expressions]
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
    return plain(whole.this, lower=True)


def plain(node: exp.Expr, *, lower: bool = False) -> str:
    """Return a node as text, without comments."""
    return str(node.sql(dialect="duckdb", comments=False, normalize_functions="lower" if lower else "upper"))


def distinct(names: Iterable[str]) -> list[str]:
    """Return names of which no two are alike, by adding _1, _2, … to those that were there before.

    >>> distinct(["n", "n", "n_1"])
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
