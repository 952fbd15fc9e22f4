"""All that is wrong with a policy, said at once: where, and what to write instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import NamedTuple

from tacit.errors import InvalidError
from tacit.safe_text import visible, visible_lines

_MOST_NAMES = 8


class Mistake(NamedTuple):
    """One thing to put right: its line in the policy file (None for an argument), where, and what to write instead."""

    line: int | None
    where: str
    message: str

    def __str__(self) -> str:
        """As it is listed."""
        line = "" if self.line is None else f"line {self.line}: "
        return f"{line}{self.where} {self.message}{'' if self.message.endswith('?') else '.'}"


class PolicyError(InvalidError):
    """A policy has mistakes; `mistakes` holds them all.

    >>> raise PolicyError("clinic.toml", [Mistake(3, "tables.visits.unit", "is required")])
    Traceback (most recent call last):
    tacit.query.policy.mistakes.PolicyError: clinic.toml has 1 mistake; nothing was read or spent.
      line 3: tables.visits.unit is required.
    """

    def __init__(self, policy: str, mistakes: Iterable[Mistake]) -> None:
        """Keep the mistakes for machines; list them for people."""
        self.mistakes = tuple(mistakes)
        count = f"{len(self.mistakes):,} mistake{'s' if len(self.mistakes) != 1 else ''}"
        super().__init__(policy, count, "a policy without mistakes")
        head = f"{policy} has {count}; nothing was read or spent."
        self.args = ("\n  ".join(visible(line) for line in (head, *map(str, self.mistakes))),)

    def __str__(self) -> str:
        """Return the message, a line for each mistake."""
        return visible_lines(Exception.__str__(self))


def nearest(name: object, names: Collection[str]) -> str:
    """Return a hint for a name that does not exist: the nearest one, or all if there are few.

    >>> nearest("incom", ["income", "region"]), nearest("x", ["income", "region"])
    ("; did you mean 'income'?", "; there are 'income' and 'region'")
    """
    lower = {known.lower(): known for known in names}
    close = get_close_matches(str(name).lower(), lower, n=1)
    if close:
        return f"; did you mean {lower[close[0]]!r}?"
    if not 0 < len(names) <= _MOST_NAMES:
        return ""
    *most, last = map(repr, names)
    return f"; there are {', '.join(most)} and {last}" if most else f"; there is only {last}"
