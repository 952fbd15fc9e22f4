"""Mistakes in a policy. They are collected and reported together, each with its place."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from tacit.errors import InvalidError, nearest_name
from tacit.safe_text import visible, visible_lines

_MOST_NAMES = 8


class Mistake(NamedTuple):
    """A mistake in a policy: its line in the file (None for an argument), its place, and a sentence without subject.

    >>> print(Mistake(3, "tables.visits.unit", "is required"))
    line 3: tables.visits.unit is required.
    """

    line: int | None
    where: str
    message: str

    def __str__(self) -> str:
        """Return the mistake as a sentence."""
        line = "" if self.line is None else f"line {self.line}: "
        return f"{line}{self.where} {self.message}{'' if self.message.endswith('?') else '.'}"


class TableMistake(NamedTuple):
    """A mistake in the declaration of a table, before its place is known.

    `argument` is the argument of `tacit.open` that declares it. `entire` is true if the column itself is wrong, not
    only what is declared of it.
    """

    argument: str
    column: str | None
    message: str
    entire: bool = False


class PolicyError(InvalidError):
    """A policy has mistakes; `mistakes` holds all of them.

    >>> raise PolicyError("clinic.toml", [Mistake(3, "tables.visits.unit", "is required")])
    Traceback (most recent call last):
    tacit.query.policy.mistakes.PolicyError: clinic.toml has 1 mistake:
      line 3: tables.visits.unit is required.
    """

    def __init__(self, policy: str, mistakes: Iterable[Mistake]) -> None:
        """Store the mistakes, and list them in the message, one a line."""
        self.mistakes = tuple(mistakes)
        head = f"{policy} has {len(self.mistakes):,} mistake{'s' if len(self.mistakes) != 1 else ''}:"
        super().__init__("\n  ".join(visible(line) for line in (head, *map(str, self.mistakes))))

    def __str__(self) -> str:
        """Return the message, a line for each mistake."""
        return visible_lines(f"{self.where}: {self.args[0]}" if self.where else str(self.args[0]))


class DeclaredValueError(InvalidError):
    """A type, bounds or keys of a column are wrong; `mistake` is the message without its subject."""

    def __init__(self, argument: str, mistake: str) -> None:
        """Store the mistake; the argument is its subject."""
        self.mistake = mistake
        super().__init__(f"{argument} {mistake}.", argument=argument)


def nearest(name: object, names: Collection[str]) -> str:
    """Return a hint for a name that does not exist: the nearest name, or all names if there are few.

    >>> nearest("incom", ["income", "region"]), nearest("x", ["income", "region"])
    ("; did you mean 'income'?", "; there are 'income' and 'region'")
    """
    close = nearest_name(str(name), names)
    if close is not None:
        return f"; did you mean {close!r}?"
    if not 0 < len(names) <= _MOST_NAMES:
        return ""
    *most, last = map(repr, names)
    return f"; there are {', '.join(most)} and {last}" if most else f"; there is only {last}"
