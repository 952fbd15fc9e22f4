"""The attack by linkage: an outside table, joined by the quasi-identifiers, with or without background knowledge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tacit.anonymity.attack_results import Attack, Victim, sorted_attack
from tacit.anonymity.excluded_values import ExcludedValues, read_excluded
from tacit.anonymity.hierarchies import HierarchySource, to_rule
from tacit.anonymity.linkage import ColumnMatch, compare, link
from tacit.anonymity.tables import CodedColumn, CodedTable, read
from tacit.arrays import Ints
from tacit.errors import InvalidError


def link_persons(
    kind: str,
    rows: CodedTable,
    quasi: tuple[str, ...],
    sensitive: str | None,
    outside: object,
    *,
    excluded: object = None,
    hierarchies: Mapping[str, HierarchySource] | None = None,
    sep: str | None = None,
) -> Attack:
    """Return the outside persons about whom the attacker learns something, from the rows that each may be.

    Args:
        kind: of the attack, "linkage" or "background".
        rows: the published table.
        quasi: its quasi-identifiers.
        sensitive: the column that the attacker wants to learn, if there is one.
        outside: the table of persons.
        excluded: the sensitive values that the attacker rules out for each person, or their number; None for no value.
        hierarchies: by column, for labels that cannot be read.
        sep: the separator of the cells of the outside table.
    """
    persons, given = read(outside, sep=sep), hierarchies or {}
    known = tuple(name for name in quasi if name in persons.names)
    if not known:
        raise InvalidError("The outside table has no quasi-identifier.", argument="outside")
    unknown = [name for name in given if name not in quasi]
    if unknown:
        raise InvalidError(
            f"hierarchies names {unknown[0]!r}, which is not a quasi-identifier.",
            argument="hierarchies",
            hint=f"The quasi-identifiers are {', '.join(quasi)}.",
        )
    column = None if sensitive is None else rows.column(sensitive)
    known_not = ExcludedValues()
    if column is not None and excluded is not None:
        known_not = read_excluded(excluded, column.name, column.texts)
    columns = compare(rows, persons, known, {name: to_rule(source) for name, source in given.items()})
    notes = _comparison_notes(columns, given)
    victims = [
        Victim(person, many, words)
        for person, many, matches in link(rows, persons, columns)
        if (words := _describe_match(matches, column, known_not))
    ]
    return sorted_attack(kind, persons.rows, victims, notes)


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


def _describe_match(matches: Ints, sensitive: CodedColumn | None, excluded: ExcludedValues) -> str:
    """Return what the attacker learns about a person who matches these rows; nothing is an empty text."""
    alone = len(matches) == 1
    if sensitive is None:
        return "matches one row alone" if alone else ""
    values = np.unique(sensitive.codes[matches]).tolist()
    words = excluded.infer(values, sensitive.texts)
    if words is None:
        return ""
    learned = f"{sensitive.name} {words}"
    if alone:
        return f"matches one row alone; {learned}"
    if excluded.codes and len(values) > 1:
        return f"matches {len(matches)} rows; without {excluded.in_words(sensitive.texts)}, {learned} in all of them"
    if len(values) > 1:
        return f"matches {len(matches)} rows; {learned}"
    return f"matches {len(matches)} rows, and in all of them {learned}"
