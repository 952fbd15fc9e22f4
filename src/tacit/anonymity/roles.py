"""The roles of columns: quasi-identifying, sensitive, the unit, and other columns that are published unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tacit.anonymity.tables import CodedTable
from tacit.errors import InvalidError, bad_value


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns of each role."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    unit: str | None
    keep: tuple[str, ...]


def column_names(names: object, argument: str) -> tuple[str, ...]:
    """Return the columns that an argument names: one name, or a list of names; None if no column is sensitive.

    Raises:
        InvalidError: it is neither.
    """
    if names is None and argument == "sensitive":
        return ()
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise bad_value(argument, names, "the name of a column, or a list of names")
    return tuple(names)


def check_roles(rows: CodedTable, quasi: Sequence[str], sensitive: Sequence[str], unit: str | None) -> None:
    """Check that every column exists and has one role.

    Raises:
        ColumnNotFoundError: a column does not exist.
        InvalidError: a column has two roles.
    """
    if isinstance(quasi, str):
        raise bad_value("quasi", quasi, "a list of columns, or hierarchies by column")
    for name in (*quasi, *sensitive, *(() if unit is None else (unit,))):
        rows.require(name)
    both = [name for name in quasi if name in sensitive or name == unit] + [name for name in sensitive if name == unit]
    if both or len(set(quasi)) < len(quasi):
        twice = both[0] if both else next(name for name in quasi if list(quasi).count(name) > 1)
        raise InvalidError(
            f"Column {twice!r} has two roles.",
            argument="a column's role",
            hint="Give each column one role: quasi-identifying, sensitive or unit.",
        )


def check_choice(choice: object, allowed: Sequence[str], argument: str) -> str:
    """Return a choice if it is among the allowed ones, or raise InvalidError."""
    if choice not in allowed:
        raise bad_value(argument, choice, f"one of {', '.join(allowed)}")
    return str(choice)
