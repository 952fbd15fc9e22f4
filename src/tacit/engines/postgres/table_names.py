"""Which table of a PostgreSQL database a name means, and how a table must be named.

A part in double quotes is taken as it stands, dots and capital letters included. One without is taken as it stands if
there is such a table, else in small letters, as SQL would. Whatever is offered in a message is written such that it
means that one table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

OPENED: Final = ("r", "p", "m")
"""The kinds of relations that can be opened: tables, partitioned ones, materialized views."""

_PART = r'"(?:[^"]|"")+"|[^".]+'
_NAME = re.compile(rf"(?:({_PART})\.)?({_PART})")
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_SMALL = {large: large + 32 for large in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, a view or the like, as the catalog has it."""

    number: int
    schema: str
    name: str
    sort: str
    is_part: bool
    is_open: bool
    is_away: bool

    @property
    def is_offered(self) -> bool:
        """Whether it is one to choose: the role may read it, its kind is opened, and it is no part of another one."""
        return self.sort in OPENED and self.is_open and not self.is_part and not self.is_away


def quoted(name: str) -> str:
    """Return a name as SQL writes it.

    >>> quoted("Sales")
    '"Sales"'
    """
    doubled = name.replace('"', 2 * '"')
    return f'"{doubled}"'


def plain(name: str) -> str:
    """Return a name as people write it: in quotes only where it needs them.

    >>> print(plain("sales"), plain("Sales 2024"))
    sales "Sales 2024"
    """
    return name if _PLAIN.fullmatch(name) else quoted(name)


def meant(relations: Sequence[Relation], table: object) -> list[Relation]:
    """Return those that a name means: as it stands, or else with as few parts in small letters as possible."""
    parts = _NAME.fullmatch(table) if isinstance(table, str) else None
    if parts is None:
        return []
    schema, name = parts.groups()
    folded = [_folded(schema, one.schema) + _folded(name, one.name) for one in relations]
    least = min(folded, default=_NEVER)
    return [one for one, many in zip(relations, folded, strict=True) if many == least < _NEVER]


_NEVER = 10


def _folded(part: str | None, name: str) -> int:
    """Return 0 if a part of a name means this one as it stands, 1 if in small letters; a large number if it does not.

    >>> [_folded(part, "wards") for part in (None, "wards", '"wards"', "Wards", '"Wards"')]
    [0, 0, 0, 1, 10]
    """
    if part is None:
        return 0
    if part.startswith('"'):
        return 0 if part == quoted(name) else _NEVER
    if part == name:
        return 0
    return 1 if part.translate(_SMALL) == name else _NEVER  # SQL leaves letters beyond ASCII as they are


def spelled(relations: Sequence[Relation], one: Relation) -> str:
    """Return how one of the relations must be named: with its schema where that is not `public` or the name is two's.

    >>> first, second = (Relation(0, schema, "Wards", "r", False, True, False) for schema in ("public", "b"))
    >>> print(spelled([first, second], first), spelled([first], first), spelled([second], second))
    public."Wards" "Wards" b."Wards"
    """
    alone = plain(one.name)
    if one.schema == "public" and meant(relations, alone) == [one]:
        return alone
    return f"{plain(one.schema)}.{alone}"
