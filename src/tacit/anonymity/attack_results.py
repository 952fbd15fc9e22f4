"""The result of an attack: the rows that fall, and what the attacker learns about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.notebook import ShownAsLines
from tacit.safe_text import visible


@dataclass(frozen=True, slots=True)
class Victim:
    """A class whose rows are revealed: its published values, its rows, and what the attacker learns about each row."""

    published: dict[str, str | None]
    rows: int
    learns: str


@dataclass(frozen=True, slots=True)
class Attack(ShownAsLines):
    """The result of an attack; `print` shows it.

    Attributes:
        kind: of the attack.
        rows: of the published table; for "linkage", of the outside table.
        fallen: rows about which the attacker learns something that they should not.
        victims: the classes that fall, or the outside persons, the largest first.
        notes: what could not be tried, and what it would need.
    """

    kind: str
    rows: int
    fallen: int
    victims: tuple[Victim, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The share of the rows that fall."""
        return self.fallen / self.rows if self.rows else 0.0

    @property
    def succeeds(self) -> bool:
        """True if any row falls."""
        return self.fallen > 0

    def __str__(self) -> str:
        """Return the attack as lines of text, with at most ten victims."""
        verb = "falls" if self.rows == 1 else "fall"
        head = f"{self.kind}: {self.fallen:,} of {_rows(self.rows)} {verb} ({self.share:.2%})"
        victims = self.victims[:10]
        lines = [f"  {_format(victim.published)} ({_rows(victim.rows)}): {victim.learns}" for victim in victims]
        return "\n".join(map(visible, [head, *lines, *(f"  note: {note}" for note in self.notes)]))


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _format(published: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} = {in_words(value)}" for name, value in published.items())


def in_words(value: str | None) -> str:
    """Return a value, or "missing"."""
    return "missing" if value is None else value


def sorted_attack(kind: str, rows: int, victims: list[Victim], notes: tuple[str, ...] = ()) -> Attack:
    """Return the result of an attack, the largest victims first."""
    victims.sort(key=lambda victim: -victim.rows)
    return Attack(kind, rows, sum(victim.rows for victim in victims), tuple(victims), notes)
