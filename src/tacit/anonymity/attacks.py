"""Attacks on a published table, and the rows that each attack reveals.

| kind | the attacker | reveals |
|---|---|---|
| "homogeneity" | finds the class of a person | rows whose class has one sensitive value |
| "background" | also rules out j sensitive values | rows whose class has at most j + 1 |
| "skewness" | compares a class with the whole table | rows with a value that is `factor` times as likely |
| "similarity" | reads values by groups, or numbers by their distance | rows whose class is within one group or range |
| "linkage" | joins an outside table by the quasi-identifiers | persons who match one row, or rows of one value |

A missing sensitive value is a separate value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from tacit.anonymity.cell_values import number, to_text
from tacit.anonymity.classes import ClassCounts, Classes, count_values, group
from tacit.anonymity.hierarchies import Hierarchy, HierarchySource, to_rule
from tacit.anonymity.linkage import ColumnMatch, compare, link
from tacit.anonymity.roles import check_choice, check_roles, column_names
from tacit.anonymity.tables import CodedColumn, CodedTable, read
from tacit.arrays import Ints
from tacit.errors import InvalidError, bad_value, show
from tacit.guarantees.exact import to_fraction
from tacit.notebook import ShownAsLines
from tacit.safe_text import visible

AttackKind: TypeAlias = Literal["homogeneity", "background", "skewness", "similarity", "linkage"]
_KINDS = ("homogeneity", "background", "skewness", "similarity", "linkage")
_Inferences: TypeAlias = dict[int, str]
_NEAR = 1e-9


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
        head = f"{self.kind}: {self.fallen:,} of {self.rows:,} rows fall ({self.share:.2%})"
        lines = [f"  {_format(victim.published)} ({victim.rows} rows): {victim.learns}" for victim in self.victims[:10]]
        return "\n".join(map(visible, [head, *lines, *(f"  note: {note}" for note in self.notes)]))


def _format(published: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} = {_in_words(value)}" for name, value in published.items())


def attack(  # noqa: PLR0913 - each has its own meaning
    table: object,
    *,
    kind: AttackKind,
    quasi: Sequence[str],
    sensitive: str | None = None,
    excluded: int | Sequence[object] = 1,
    factor: float = 2.0,
    hierarchy: HierarchySource | None = None,
    level: int = 1,
    reach: float = 0.25,
    outside: object = None,
    hierarchies: Mapping[str, HierarchySource] | None = None,
    sep: str | None = None,
) -> Attack:
    """Try an attack on any table, and return the rows that fall.

    >>> rows = {"zip": ["476**"] * 3 + ["4790*"] * 3, "disease": ["Heart"] * 3 + ["Flu", "Heart", "Cancer"]}
    >>> print(attack(rows, kind="homogeneity", quasi=["zip"], sensitive="disease"))
    homogeneity: 3 of 6 rows fall (50.00%)
      zip = 476** (3 rows): disease is Heart

    Args:
        table: the published table.
        kind: "homogeneity", "background", "skewness", "similarity" or "linkage".
        quasi: the columns by which the attacker knows a person.
        sensitive: the column that they want to learn.
        excluded: for "background": how many values they can rule out, or a list of values.
        factor: for "skewness": how many times as likely a value must become.
        hierarchy: for "similarity": groups of the sensitive values; without it they must be numbers.
        level: for "similarity": the level of the hierarchy whose groups count as one value.
        reach: for "similarity": the share of the whole range of numbers that counts as near.
        outside: for "linkage": the table that the attacker has.
        hierarchies: for "linkage": by column, for labels that are not raw values, masks, or ranges of numbers or days.
        sep: the separator of the cells of a CSV file.

    Raises:
        InvalidError: an argument is missing or wrong.
    """
    check_choice(kind, _KINDS, "kind")
    rows, names = _read_roles(table, quasi, sensitive, hierarchies, sep)
    if kind == "linkage":
        return _link(rows, names, sensitive, outside, hierarchies or {}, sep)
    classes, counts = _count_sensitive(rows, names, sensitive)
    if kind == "similarity":
        inferences = _similarity(counts, hierarchy, level, reach)
    else:
        inferences = _infer(kind, counts, classes, excluded, factor)
    return _result(kind, rows, names, classes, counts.name, inferences)


def _read_roles(
    table: object, quasi: object, sensitive: str | None, hierarchies: object, sep: str | None
) -> tuple[CodedTable, tuple[str, ...]]:
    if hierarchies is not None and not isinstance(hierarchies, Mapping):
        raise bad_value("hierarchies", hierarchies, "hierarchies by column")
    rows, names = read(table, sep=sep), column_names(quasi, "quasi")
    if not names:
        raise InvalidError(
            "quasi is empty.", argument="quasi", hint="Name the columns by which the attacker knows a person."
        )
    check_roles(rows, names, () if sensitive is None else (sensitive,), None)
    return rows, names


def _count_sensitive(rows: CodedTable, quasi: Sequence[str], sensitive: str | None) -> tuple[Classes, ClassCounts]:
    if sensitive is None:
        raise InvalidError(
            "This attack needs a sensitive column.",
            argument="sensitive",
            hint="Name the column that the attacker wants to learn.",
        )
    classes = group([rows.column(name).codes for name in quasi], rows.rows)
    return classes, count_values(classes, rows.column(sensitive))


def _result(
    kind: str, rows: CodedTable, quasi: Sequence[str], classes: Classes, sensitive: str, inferences: _Inferences
) -> Attack:
    texts = {name: rows.column(name).texts for name in quasi}
    victims = [
        Victim(
            {name: texts[name][classes.shared[which, at]] for at, name in enumerate(quasi)},
            int(classes.sizes[which]),
            words if words.startswith(sensitive) else f"{sensitive} {words}",
        )
        for which, words in inferences.items()
    ]
    return _sorted_attack(kind, int(classes.sizes.sum()), victims)


def _sorted_attack(kind: str, rows: int, victims: list[Victim], notes: tuple[str, ...] = ()) -> Attack:
    victims.sort(key=lambda victim: -victim.rows)
    return Attack(kind, rows, sum(victim.rows for victim in victims), tuple(victims), notes)


def _infer(
    kind: str, counts: ClassCounts, classes: Classes, excluded: int | Sequence[object], factor: float
) -> _Inferences:
    """Return the classes that fall, by number, and what the attacker learns about their rows."""
    if kind == "homogeneity":
        return _homogeneity(counts, set())
    return _background(counts, excluded) if kind == "background" else _skewness(counts, classes, factor)


def _homogeneity(counts: ClassCounts, excluded: set[int]) -> _Inferences:
    """Return the classes with one value left, beside the values that are ruled out."""
    left = {which: [value for value in values if value not in excluded] for which, values in _value_sets(counts)}
    return {which: f"is {_in_words(counts.values[values[0]])}" for which, values in left.items() if len(values) == 1}


def _background(counts: ClassCounts, excluded: int | Sequence[object]) -> _Inferences:
    """Return the classes that fall to an attacker who can rule out this number of values, or these values."""
    if isinstance(excluded, (str, bytes, bool)) or not isinstance(excluded, (int, np.integer, Iterable)):
        raise bad_value("excluded", excluded, "a number of values that are ruled out, or a list of them")
    if not isinstance(excluded, (int, np.integer)):
        return _homogeneity(counts, _excluded_codes(counts, excluded))
    if excluded < 0:
        raise bad_value("excluded", excluded, "a whole number ≥ 0")
    return {
        which: f"is one of {len(values)}: {', '.join(_in_words(counts.values[value]) for value in values)}"
        for which, values in _value_sets(counts)
        if len(values) <= excluded + 1
    }


def _excluded_codes(counts: ClassCounts, excluded: Iterable[object]) -> set[int]:
    """Return the codes of the values that are ruled out, each written as in the table."""
    code_of = {value: code for code, value in enumerate(counts.values)}
    texts = [(value, to_text(value)) for value in excluded]
    for value, text in texts:
        if text not in code_of:
            raise InvalidError(
                f"Column {counts.name!r} does not have the excluded value {show(value)}.",
                argument="excluded",
                hint="Exclude values of the sensitive column.",
            )
    return {code_of[text] for _, text in texts}


def _skewness(counts: ClassCounts, classes: Classes, factor: float) -> _Inferences:
    """Return the classes in which a value is at least `factor` times as likely as in the whole table."""
    least = to_fraction(factor, "factor", "a number > 1")
    if not least > 1:
        raise bad_value("factor", factor, "a number > 1")
    sizes, total = classes.sizes[counts.class_of], max(1, counts.whole.sum())
    times = (counts.count / sizes) / (counts.whole / total)[counts.value]
    inferences: _Inferences = {}
    for at in np.argsort(-times, kind="stable"):
        if times[at] < float(least) * (1 - _NEAR):
            break
        whole = int(counts.whole[counts.value[at]])
        if not _is_as_likely(int(counts.count[at]), int(sizes[at]), whole, int(total), least):
            continue
        value, share = counts.values[counts.value[at]], counts.count[at] / sizes[at]
        words = (
            f"is {_in_words(value)} with chance {share:.3g}, {times[at]:.3g} times the {whole / total:.3g} of all rows"
        )
        inferences.setdefault(int(counts.class_of[at]), words)
    return inferences


def _is_as_likely(count: int, size: int, whole: int, total: int, factor: Fraction) -> bool:
    """Return whether count/size ≥ factor·whole/total, in integers."""
    return count * total * factor.denominator >= factor.numerator * whole * size


def _similarity(counts: ClassCounts, source: HierarchySource | None, level: int, reach: float) -> _Inferences:
    if source is None:
        return _within_range(counts, reach)
    return _within_group(counts, to_rule(source).over(counts.values, counts.name), level)


def _within_group(counts: ClassCounts, tree: Hierarchy, level: int) -> _Inferences:
    """Return the classes within one group of a level of a hierarchy."""
    if type(level) is not int or not 0 <= level < tree.height - 1:
        raise bad_value("level", level, f"from 0 to {tree.height - 2}, a level below the top of the hierarchy")
    row_of = {value: row for row, value in enumerate(tree.values)}
    label = [tree.rows[row_of[value]][level] for value in counts.values]
    groups = {which: {label[value] for value in values} for which, values in _value_sets(counts)}
    return {which: f"is in {_in_words(next(iter(labels)))}" for which, labels in groups.items() if len(labels) == 1}


def _within_range(counts: ClassCounts, reach: float) -> _Inferences:
    """Return the classes within a small part of the whole range of numbers."""
    part = to_fraction(reach, "reach", "a number from 0 to below 1")
    if not 0 <= part < 1:
        raise bad_value("reach", reach, "a number from 0 to below 1")
    numbers = [None if value is None else number(value, counts.name) for value in counts.values]
    known = [x for x in numbers if x is not None]
    inferences: _Inferences = {}
    for which, values in _value_sets(counts):
        inside = [numbers[value] for value in values]
        if all(x is None for x in inside):
            inferences[which] = "is missing"
        if None in inside:
            continue
        low, high = min(x for x in inside if x is not None), max(x for x in inside if x is not None)
        if high - low <= part * (max(known) - min(known)):
            ends = [counts.values[numbers.index(end)] for end in (low, high)]
            inferences[which] = f"is in [{ends[0]}, {ends[1]}]"
    return inferences


def _value_sets(counts: ClassCounts) -> Iterator[tuple[int, list[int]]]:
    """Return the number of every class with its values, as codes."""
    starts = counts.starts()
    for which in range(counts.classes):
        yield which, counts.value[starts[which] : starts[which + 1]].tolist()


def _in_words(value: str | None) -> str:
    return "missing" if value is None else value


def _link(
    rows: CodedTable,
    quasi: tuple[str, ...],
    sensitive: str | None,
    outside: object,
    hierarchies: Mapping[str, HierarchySource],
    sep: str | None,
) -> Attack:
    if outside is None:
        raise InvalidError(
            "The linkage attack needs an outside table.",
            argument="outside",
            hint="Give outside=, the table that the attacker has.",
        )
    persons = read(outside, sep=sep)
    known = tuple(name for name in quasi if name in persons.names)
    if not known:
        raise InvalidError("The outside table has no quasi-identifier.", argument="outside")
    unknown = [name for name in hierarchies if name not in quasi]
    if unknown:
        raise InvalidError(
            f"hierarchies names {unknown[0]!r}, which is not a quasi-identifier.",
            argument="hierarchies",
            hint=f"The quasi-identifiers are {', '.join(quasi)}.",
        )
    columns = compare(rows, persons, known, {name: to_rule(source) for name, source in hierarchies.items()})
    notes = _comparison_notes(columns, hierarchies)
    victims = []
    column = None if sensitive is None else rows.column(sensitive)
    for person, many, matches in link(rows, persons, columns):
        words = _describe_match(matches, column)
        if words:
            victims.append(Victim(person, many, words))
    return _sorted_attack("linkage", persons.rows, victims, notes)


def _comparison_notes(columns: Sequence[ColumnMatch], hierarchies: Mapping[str, object]) -> tuple[str, ...]:
    """Return notes on the values that could not be compared, and on labels that were read by a guess.

    Raises:
        InvalidError: no value of a column can be compared, and it has no hierarchy: "nobody falls" would be false.
    """
    for column in columns:
        if column.incomparable and column.incomparable == column.values and column.name not in hierarchies:
            raise InvalidError(
                f"No published value of {column.name!r} is a raw value, a mask, numbers or days, so nobody can be "
                "matched by it.",
                argument="hierarchies",
                hint="Give a hierarchy for every recoded column in hierarchies=.",
            )
    return tuple(note for column in columns for note in _column_notes(column))


def _column_notes(column: ColumnMatch) -> Iterator[str]:
    name, values = column.name, column.values
    hint = f"hierarchies={{{name!r}: …}} would define their meaning"
    if column.incomparable:
        yield (
            f"{column.incomparable} of {values} published values of {name} could not be compared, so they match "
            f"nobody; {hint}"
        )
    if column.guessed:
        yield (
            f"{column.guessed} of {values} published values of {name} name two ends, and were read as all numbers or "
            f"days between them; if they are groups in another order, other rows fall; {hint}"
        )
    if column.incomparable_raw:
        yield (
            f"{column.incomparable_raw} of {column.raw_values} outside values of {name} could not be compared with any "
            "published value, so nobody with them was matched"
        )


def _describe_match(matches: Ints, sensitive: CodedColumn | None) -> str:
    """Return what the attacker learns about a person who matches these rows; nothing is an empty text."""
    values = set() if sensitive is None else {int(code) for code in np.unique(sensitive.codes[matches])}
    if sensitive is None:
        return "matches one row alone" if len(matches) == 1 else ""
    if len(values) != 1:
        return ""
    learned = f"{sensitive.name} is {_in_words(sensitive.texts[values.pop()])}"
    return (
        f"matches one row alone; {learned}"
        if len(matches) == 1
        else f"matches {len(matches)} rows, and in all of them {learned}"
    )
