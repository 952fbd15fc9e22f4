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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from tacit.anonymity.cells import text
from tacit.anonymity.classes import Classes, Flags, Spread, group, spread
from tacit.anonymity.exact import fraction
from tacit.anonymity.hierarchies import Hierarchy, Quasi, rule
from tacit.anonymity.linkage import Fits, compare, link
from tacit.anonymity.numerals import number
from tacit.anonymity.problems import chosen
from tacit.anonymity.report import names_of, roles
from tacit.anonymity.tables import Column, Table, read
from tacit.errors import InvalidError, show

Kind: TypeAlias = Literal["homogeneity", "background", "skewness", "similarity", "linkage"]
_KINDS = ("homogeneity", "background", "skewness", "similarity", "linkage")
_NEAR = 1e-9


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
        return "\n".join([head, *shown, *(f"  note: {note}" for note in self.notes)])


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
        learns = _known(told, set())
    elif kind == "background":
        learns = _background(told, excluded)
    elif kind == "skewness":
        learns = _skewed(told, classes, factor)
    else:
        learns = (
            _near(told, reach)
            if hierarchy is None
            else _alike(told, rule(hierarchy).over(told.values, sensitive), level)
        )
    return _result(kind, columns, classes, told.name, learns)


Learns: TypeAlias = "dict[int, str]"


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


def _sets(told: Spread) -> list[list[int]]:
    """Return the values of every class, as codes."""
    starts = told.starts()
    return [told.value[starts[c] : starts[c + 1]].tolist() for c in range(told.classes)]


def _known(told: Spread, out: set[int]) -> Learns:
    left = {which: [value for value in values if value not in out] for which, values in enumerate(_sets(told))}
    return {which: f"is {_text(told.values[values[0]])}" for which, values in left.items() if len(values) == 1}


def _text(value: str | None) -> str:
    return "missing" if value is None else value


def _background(told: Spread, excluded: int | Sequence[object]) -> Learns:
    want = "how many values can be ruled out, or a list of them"
    if isinstance(excluded, (str, bytes, bool)) or not isinstance(excluded, (int, np.integer, Iterable)):
        raise InvalidError("excluded", show(excluded), want)
    if not isinstance(excluded, (int, np.integer)):
        return _known(told, _ruled_out(told, excluded))
    if excluded < 0:
        raise InvalidError("excluded", show(excluded), "a whole number ≥ 0")
    return {
        which: f"is one of {len(values)}: {', '.join(_text(told.values[value]) for value in values)}"
        for which, values in enumerate(_sets(told))
        if len(values) <= excluded + 1
    }


def _ruled_out(told: Spread, excluded: Iterable[object]) -> set[int]:
    """Return the codes of values that are ruled out, each written as in the table."""
    place = {value: code for code, value in enumerate(told.values)}
    ruled = [(value, text(value)) for value in excluded]
    for value, written in ruled:
        if written not in place:
            raise InvalidError("excluded", f"{show(value)}, which {told.name} lacks", "values of the sensitive column")
    return {place[written] for _, written in ruled}


def _skewed(told: Spread, classes: Classes, factor: float) -> Learns:
    least = fraction(factor, "factor", "a number > 1")
    if not least > 1:
        raise InvalidError("factor", show(factor), "a number > 1")
    sizes, total = classes.sizes[told.of], max(1, told.whole.sum())
    times = (told.count / sizes) / (told.whole / total)[told.value]
    learns: dict[int, str] = {}
    for at in np.argsort(-times, kind="stable"):
        if times[at] < float(least) * (1 - _NEAR):
            break
        if not _as_likely(int(told.count[at]), int(sizes[at]), int(told.whole[told.value[at]]), int(total), least):
            continue
        which, value = int(told.of[at]), told.values[told.value[at]]
        share, before = told.count[at] / sizes[at], told.whole[told.value[at]] / total
        learns.setdefault(
            which, f"is {_text(value)} with chance {share:.3g}, {times[at]:.3g} times the {before:.3g} of all"
        )
    return learns


def _as_likely(count: int, size: int, whole: int, total: int, factor: Fraction) -> bool:
    """Return whether count/size ≥ factor·whole/total, in integers."""
    return count * total * factor.denominator >= factor.numerator * whole * size


def _alike(told: Spread, tree: Hierarchy, level: int) -> Learns:
    if type(level) is not int or not 0 <= level < tree.height - 1:
        raise InvalidError("level", show(level), f"from 0 to {tree.height - 2}, a level under the top of the hierarchy")
    place = {value: row for row, value in enumerate(tree.values)}
    label = [tree.rows[place[value]][level] for value in told.values]
    found = {which: {label[value] for value in values} for which, values in enumerate(_sets(told))}
    return {which: f"is in {_text(next(iter(labels)))}" for which, labels in found.items() if len(labels) == 1}


def _near(told: Spread, reach: float) -> Learns:
    part = fraction(reach, "reach", "a number from 0 to below 1")
    if not 0 <= part < 1:
        raise InvalidError("reach", show(reach), "a number from 0 to below 1")
    numbers = [None if value is None else number(value, told.name) for value in told.values]
    known = [x for x in numbers if x is not None]
    learns: dict[int, str] = {}
    for which, values in enumerate(_sets(told)):
        inside = [numbers[value] for value in values]
        if all(x is None for x in inside):
            learns[which] = "is missing"
        if None in inside:
            continue
        low, high = min(x for x in inside if x is not None), max(x for x in inside if x is not None)
        if high - low <= part * (max(known) - min(known)):
            ends = [told.values[numbers.index(end)] for end in (low, high)]
            learns[which] = f"is in [{ends[0]}, {ends[1]}]"
    return learns


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
            else f"fits one row alone; {told.name} is {_text(told.texts[values.pop()])}"
        )
    if told is not None and len(values) == 1:
        return f"fits {len(fits)} rows, and in all of them {told.name} is {_text(told.texts[values.pop()])}"
    return ""
