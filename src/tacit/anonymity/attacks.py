"""Attacks on a published table, and who falls to them.

| kind | what the attacker does | who falls |
|---|---|---|
| "homogeneity" | finds a person's class | those whose class has one sensitive value |
| "background" | also rules out j sensitive values | those whose class has at most j + 1 |
| "skewness" | compares a class with the whole table | those of whom a value is `factor` times as likely |
| "similarity" | reads values by groups, or by how near numbers are | those whose class lies in one group or range |
| "linkage" | joins an outside table by the quasi-identifiers | those who fit one row, or one value |

A missing sensitive value is a value of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from tacit.anonymity.classes import Classes, Flags, group, spread
from tacit.anonymity.hierarchies import Quasi, rule
from tacit.anonymity.inferences import Learns, alike, background, homogeneity, in_words, near, skewness
from tacit.anonymity.linkage import Fits, compare, link
from tacit.anonymity.problem import chosen
from tacit.anonymity.report import names_of, roles
from tacit.anonymity.tables import Column, Table, read
from tacit.errors import InvalidError, show
from tacit.safe_text import visible

Kind: TypeAlias = Literal["homogeneity", "background", "skewness", "similarity", "linkage"]
_KINDS = ("homogeneity", "background", "skewness", "similarity", "linkage")


@dataclass(frozen=True, slots=True)
class Victim:
    """A class whose rows fall: what its rows publish, how many there are, and what the attacker learns of each."""

    published: dict[str, str | None]
    rows: int
    learns: str


@dataclass(frozen=True, slots=True)
class Attack:
    """What an attack achieves; `print` shows it.

    Attributes:
        kind: of the attack.
        rows: that it was tried on: of the published table, or of the outside one for "linkage".
        fallen: rows of whom the attacker learns what they should not.
        victims: the classes that fall, or the outside persons, the largest first.
        notes: what could not be tried, and what would be needed for it.
    """

    kind: str
    rows: int
    fallen: int
    victims: tuple[Victim, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The part of the rows that fall."""
        return self.fallen / self.rows if self.rows else 0.0

    @property
    def succeeds(self) -> bool:
        """Whether anybody falls."""
        return self.fallen > 0

    def __str__(self) -> str:
        """Return the attack as lines of text, at most ten victims."""
        head = f"{self.kind}: {self.fallen:,} of {self.rows:,} rows fall ({self.share:.2%})"
        shown = [f"  {_say(one.published)} ({one.rows} rows): {one.learns}" for one in self.victims[:10]]
        return "\n".join(map(visible, [head, *shown, *(f"  note: {note}" for note in self.notes)]))


def _say(published: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} = {'missing' if value is None else value}" for name, value in published.items())


def attack(  # noqa: PLR0913 - each has its own meaning
    table: object,
    *,
    kind: Kind,
    quasi: Sequence[str],
    sensitive: str | None = None,
    excluded: int | Sequence[object] = 1,
    factor: float = 2.0,
    hierarchy: Quasi | None = None,
    level: int = 1,
    reach: float = 0.25,
    outside: object = None,
    hierarchies: Mapping[str, Quasi] | None = None,
    sep: str | None = None,
) -> Attack:
    """Try an attack on any table, and say who falls.

    >>> rows = {"zip": ["476**"] * 3 + ["4790*"] * 3, "disease": ["Heart"] * 3 + ["Flu", "Heart", "Cancer"]}
    >>> print(attack(rows, kind="homogeneity", quasi=["zip"], sensitive="disease"))
    homogeneity: 3 of 6 rows fall (50.00%)
      zip = 476** (3 rows): disease is Heart

    Args:
        table: the published table.
        kind: "homogeneity", "background", "skewness", "similarity" or "linkage".
        quasi: the columns by which the attacker knows a person.
        sensitive: what they want to learn.
        excluded: of "background": how many values they can rule out, or which.
        factor: of "skewness": how many times as likely a value must become.
        hierarchy: of "similarity": groups of the sensitive values; without one they must be numbers.
        level: of "similarity": the level of the hierarchy whose groups count as one.
        reach: of "similarity": the part of the whole range of numbers that counts as near.
        outside: of "linkage": the table that the attacker holds.
        hierarchies: of "linkage": by column, to tell which raw values a published one covers; needed where that is
            neither a raw value nor a mask nor a range of numbers.
        sep: what separates the cells of a CSV file.

    Raises:
        InvalidError: an argument is missing or wrong.
    """
    chosen(kind, _KINDS, "kind")
    if hierarchies is not None and not isinstance(hierarchies, Mapping):
        raise InvalidError("hierarchies", show(hierarchies), "hierarchies by column")
    rows = read(table, sep=sep)
    quasi = names_of(quasi, "quasi")
    if not quasi:
        raise InvalidError("quasi", "none", "the columns by which the attacker knows a person")
    roles(rows, quasi, () if sensitive is None else (sensitive,), None)
    if kind == "linkage":
        return _linkage(rows, quasi, sensitive, outside, hierarchies or {}, sep)
    if sensitive is None:
        raise InvalidError("sensitive", "none", "the column that the attacker wants to learn")
    columns = [rows.column(name) for name in quasi]
    classes = group([column.codes for column in columns], rows.rows)
    told = spread(classes, rows.column(sensitive))
    if kind == "homogeneity":
        learns = homogeneity(told, set())
    elif kind == "background":
        learns = background(told, excluded)
    elif kind == "skewness":
        learns = skewness(told, classes, factor)
    else:
        learns = (
            near(told, reach) if hierarchy is None else alike(told, rule(hierarchy).over(told.values, sensitive), level)
        )
    return _result(kind, columns, classes, told.name, learns)


def _result(kind: str, columns: Sequence[Column], classes: Classes, name: str, learns: Learns) -> Attack:
    victims = [
        Victim(
            {column.name: column.texts[classes.shared[which, at]] for at, column in enumerate(columns)},
            int(classes.sizes[which]),
            words if words.startswith(name) else f"{name} {words}",
        )
        for which, words in learns.items()
    ]
    victims.sort(key=lambda one: -one.rows)
    return Attack(kind, int(classes.sizes.sum()), sum(one.rows for one in victims), tuple(victims))


def _linkage(
    rows: Table,
    quasi: tuple[str, ...],
    sensitive: str | None,
    outside: object,
    trees: Mapping[str, Quasi],
    sep: str | None,
) -> Attack:
    if outside is None:
        raise InvalidError("outside", "none", "the table that the attacker holds")
    theirs = read(outside, sep=sep)
    known = tuple(name for name in quasi if name in theirs.names)
    if not known:
        raise InvalidError("outside", "a table without any of the quasi-identifiers", "one with some of them")
    unknown = [name for name in trees if name not in quasi]
    if unknown:
        raise InvalidError("hierarchies", f"one for {unknown[0]!r}", f"for quasi-identifiers: {', '.join(quasi)}")
    compared = compare(rows, theirs, known, {name: rule(tree) for name, tree in trees.items()})
    notes = _unread(compared, trees)
    victims = []
    told = None if sensitive is None else rows.column(sensitive)
    for person, many, fits in link(rows, theirs, compared):
        values: set[int] = set() if told is None else {int(code) for code in np.unique(told.codes[fits])}
        words = _linked(fits, told, values)
        if words:
            victims.append(Victim(person, many, words))
    victims.sort(key=lambda one: -one.rows)
    return Attack("linkage", theirs.rows, sum(one.rows for one in victims), tuple(victims), notes)


def _unread(compared: Sequence[Fits], trees: Mapping[str, Quasi]) -> tuple[str, ...]:
    """Return which columns cannot be compared in part.

    Raises:
        InvalidError: one cannot be compared at all, and no hierarchy is given for it: that nobody falls would be false.
    """
    for one in compared:
        if one.unread and one.unread == one.values and one.name not in trees:
            got = f"none for {one.name!r}, none of whose published values is a raw one, a mask, or numbers or days"
            raise InvalidError("hierarchies", got, "given for every recoded column, else nobody can be found in it")
    return tuple(words for one in compared for words in _said(one))


def _said(one: Fits) -> Iterator[str]:
    """Say what of one column could not be compared, and what was read by a guess."""
    would = f"hierarchies={{{one.name!r}: …}} would tell what they stand for"
    if one.unread:
        yield (
            f"{one.unread} of {one.values} published values of {one.name} could not be compared, so nobody was found "
            f"there; {would}"
        )
    if one.guessed:
        yield (
            f"{one.guessed} of {one.values} published values of {one.name} name two ends, and were read as all numbers "
            f"or days between them; where they are groups of another order, others fall; {would}"
        )
    if one.strange:
        yield (
            f"{one.strange} of {one.raws} outside values of {one.name} could be compared with no published value, so "
            "nobody who has them was found"
        )


def _linked(fits: Flags | np.ndarray[tuple[int], np.dtype[np.intp]], told: Column | None, values: set[int]) -> str:
    if len(fits) == 1:
        return (
            "fits one row alone"
            if told is None
            else f"fits one row alone; {told.name} is {in_words(told.texts[values.pop()])}"
        )
    if told is not None and len(values) == 1:
        return f"fits {len(fits)} rows, and in all of them {told.name} is {in_words(told.texts[values.pop()])}"
    return ""
