"""The star of a select list of an outer query, and the columns that it stands for."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tacit.query.sql.derivations import Derivation, joint
from tacit.query.sql.outer_scopes import Columns, OuterScope

_DROPPING = frozenset(("except_",))
_STAR = _DROPPING | {"replace", "rename"}
"""The changes of a star that are followed; REPLACE and RENAME only over one relation."""


def star_of(item: exp.Expr) -> exp.Star | None:
    """Return the star of an item of a select list, if it is one."""
    inner = item.unalias()
    star = inner.this if isinstance(inner, exp.Column) else inner
    return star if isinstance(star, exp.Star) else None


def other_columns(node: exp.Select, scope: OuterScope, anything: Derivation) -> Derivation | None:
    """Return the derivation of columns of a star that are not known; None if all are known."""
    stars = [item for item in node.expressions if star_of(item) is not None]
    given = {name for item in stars for name, value in star_of(item).args.items() if value}  # type: ignore[union-attr]  # filtered
    tables = {item.unalias().table.casefold() for item in stars if isinstance(item.unalias(), exp.Column)}
    shown = (
        scope.relations
        if "" in tables or len(tables) < len(stars)
        else {each: scope.relations[each] for each in tables & set(scope.relations)}
    )
    changes = given <= _DROPPING or (given <= _STAR and len(shown) == 1)
    plain = not any(column.table for item in stars for column in _changed(item))
    regular = not scope.irregular and changes and plain and tables - {""} <= set(scope.relations)
    unknown = [relation.others for relation in shown.values() if relation.others is not None]
    if not stars or (regular and not unknown):
        return None
    return joint(unknown) if regular and len(scope.relations) == len(stars) == len(node.expressions) == 1 else anything


def _changed(item: exp.Expr) -> list[exp.Column]:
    """Return the columns that a star leaves out or renames."""
    star = star_of(item)
    parts = [] if star is None else [*(star.args.get("except_") or ()), *(star.args.get("rename") or ())]
    return [part.unalias() for part in parts if isinstance(part.unalias(), exp.Column)]


def star_columns(
    item: exp.Expr, star: exp.Star, scope: OuterScope, derive: Callable[[exp.Expr], Derivation]
) -> Columns:
    """Return the columns of a star of a select list."""
    inner = item.unalias()
    table = inner.table.casefold() if isinstance(inner, exp.Column) else ""
    dropped = {part.name.casefold() for part in star.args.get("except_") or ()}
    replaced = {part.alias.casefold(): part.this for part in star.args.get("replace") or ()}
    names = {part.this.name.casefold(): part.alias for part in star.args.get("rename") or ()}
    columns: Columns = []
    seen: set[str] = set()
    for alias, relation in scope.relations.items():
        if table and alias != table:
            continue
        for name, derivation in relation.columns:
            folded = name.casefold()
            if folded in dropped or (folded in scope.merged and folded in seen and not table):
                continue
            seen.add(folded)
            shown = scope.merged.get(folded, derivation) if not table else derivation
            new = replaced.get(folded)
            columns.append((names.get(folded, name), shown if new is None else derive(new)))
    return columns
