"""Rules drafted from the values of a column, for a user to check and edit.

| values | drafted rule |
|---|---|
| days | months, quarters, years and decades, as far as they join days |
| ISO countries, ICD-10, NUTS, postcodes | the groups that are usual for them, see `text_shapes` |
| letters and digits of one length, or with a digit in each | a mask, from the right |
| numbers | intervals of round widths, fitted to the class |
| other text | groups of values with the same first word, then one group of all rare values |
| up to three values, few small integers, values that all differ | published or suppressed |

Values that are digits alone can be codes or numbers. Leading zeros, fractions, different lengths and the name of the
column decide; without them, digits of one length ≥ 3 are codes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from tacit.anonymity.cell_values import parse_day, parse_number
from tacit.anonymity.hierarchies import ALL, Hierarchy, HierarchyRule
from tacit.anonymity.hierarchy_rules import Dates, Intervals, Mask, Suppress
from tacit.anonymity.tables import CodedColumn, read
from tacit.anonymity.text_shapes import find_shape
from tacit.errors import bad_value

_FEW, _CODE, _LONGEST_CODE, _SMALL, _MANY = 3, 3, 20, 12, 20
_RARE = Fraction(1, 20)
_STEPS = (1, 5, 10, 20, 40, 80)
_WORDS = re.compile(r"[\s\-_/,;:.()]+")
_AMOUNT = re.compile(
    r"(^|[^a-z])(age|year|income|salary|wage|pay|price|cost|amount|weight|height|hours|days|size|score|count|number)"
    r"s?($|[^a-z])"
)


class Drafts(dict[str, HierarchyRule]):
    """Drafted rules by column; `notes` says for each column what was drafted and why."""

    notes: dict[str, tuple[str, ...]]


def draft(table: object, columns: Sequence[str], *, sep: str | None = None) -> Drafts:
    """Return a drafted rule for each column, for a user to check and edit; `save` writes them with comments.

    >>> draft({"zip": ["47677", "47602"] * 36, "sex": ["F", "M"] * 36}, ["zip", "sex"])
    {'zip': Mask(width=5, character='*'), 'sex': Suppress()}

    Args:
        table: the rows, as for `anonymize`.
        columns: the columns to draft rules for.
        sep: the separator of a CSV file.
    """
    rows = read(table, sep=sep)
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise bad_value("columns", columns, "a list of columns")
    return draft_columns([rows.column(name) for name in columns])


def draft_columns(columns: Iterable[CodedColumn]) -> Drafts:
    """Return drafted rules for columns, with their notes."""
    rules, notes = Drafts(), {}
    for column in columns:
        rule, reason = _draft(column)
        rules[column.name] = rule
        notes[column.name] = (reason, *_example(column, rule))
    rules.notes = notes
    return rules


def _draft(column: CodedColumn) -> tuple[HierarchyRule, str]:
    """Return a drafted rule for the values of a column, and the reason for it."""
    known = [value for value in column.texts if value is not None]
    if len(known) <= 1:
        return Suppress(), "Every value is missing." if not known else "There is one value."
    if all(map(_is_day, known)):
        return _draft_dates(known)
    shape = find_shape(known)
    if shape is not None:
        return _nested(shape[1], least=1), f"Drafted as {shape[0].name}. Check that this is what they are."
    numbers = [number for value in known if (number := parse_number(value)) is not None]
    if len(numbers) == len(known) and not _are_codes(column, known):
        return _draft_numbers(numbers)
    if _are_codes(column, known):
        return Mask(max(map(len, known))), "Drafted as codes, whose last characters matter least."
    return _draft_text(column, known)


def _example(column: CodedColumn, rule: HierarchyRule) -> tuple[str, ...]:
    """Return the labels of one value, from fine to coarse; of one that a level joins with others, if there is one."""
    tree = rule.over(column.texts, column.name)
    known = [at for at, value in enumerate(tree.values) if value is not None]
    if not known:
        return ()
    sizes = np.bincount(tree.groups(min(1, tree.height - 1)))
    at = max(known, key=lambda row: (sizes[tree.groups(min(1, tree.height - 1))[row]], -row))
    return (" → ".join(dict.fromkeys(label for label in tree.rows[at] if label is not None)),)


def _is_day(value: str) -> bool:
    return len(value) >= len("2024-12-31") and parse_day(value) is not None


def _draft_dates(known: list[str]) -> tuple[HierarchyRule, str]:
    """Return the parts of a date that join days, up to the first that joins all of them."""
    parts, groups = [], len(known)
    for part in Dates().parts:
        many = len(set(Dates((part,)).over(tuple(known)).groups(1).tolist()))
        if many < groups:
            parts.append(part)
            groups = many
    return Dates(tuple(parts) or ("year",)), "Drafted as days."


def _are_codes(column: CodedColumn, known: list[str]) -> bool:
    """Return whether values are codes: letters and digits, a digit in each."""
    if not all(value.isalnum() and any(map(str.isdigit, value)) for value in known):
        return False
    longest = max(map(len, known))
    if not all(value.isdecimal() for value in known):
        return longest <= _LONGEST_CODE
    alike = len({len(value) for value in known}) == 1 and longest >= _CODE
    return alike and (any(value[0] == "0" for value in known) or not _AMOUNT.search(column.name.lower()))


def _draft_numbers(numbers: list[Fraction]) -> tuple[HierarchyRule, str]:
    whole = all(number.denominator == 1 for number in numbers)
    reach = max(numbers) - min(numbers)
    if len(numbers) <= _FEW or (whole and reach < _SMALL):
        return Suppress(), "Few numbers, which may be codes. If they have an order, use intervals."
    widths = _widths(numbers, reach)
    if not widths:
        return Suppress(), "No round width joins some of these numbers and not all."
    return Intervals(widths, fitted=True), "Drafted as numbers. Check the widths; each is a multiple of the one before."


def _widths(numbers: list[Fraction], reach: Fraction) -> tuple[Fraction, ...]:
    """Return widths 1, 5, 10, 20, 40 and 80 times a power of ten that join some numbers, but not all."""
    unit = Fraction(1)
    while unit * 5 * 6 > reach:
        unit /= 10
    while unit * 50 * 6 <= reach:
        unit *= 10
    widths, groups = [], len(numbers)
    for step in _STEPS:
        many = len({number // (unit * step) for number in numbers})
        if 1 < many < groups:
            widths.append(unit * step)
            groups = many
    return tuple(widths)


def _draft_text(column: CodedColumn, known: list[str]) -> tuple[HierarchyRule, str]:
    """Return groups by the first word, then a group of all rare values."""
    if len(known) <= _FEW:
        return Suppress(), "Few values: each is published or suppressed."
    counts = np.bincount(column.codes, minlength=len(column.texts))
    if len(known) > _MANY and counts.max() == 1:
        return Suppress(), "Every value differs. If the column names a person, do not publish it."
    words = Counter(_first_word(value) for value in known)
    first = {value: f"{word} …" if words[word := _first_word(value)] > 1 else value for value in known}
    rows = Counter[str]()
    for value, count in zip(column.texts, counts.tolist(), strict=True):
        if value is not None:
            rows[first[value]] += count
    rare = {label for label, count in rows.items() if count < _RARE * rows.total()}
    words_used, other = {value.lower() for value in known}, "other"
    if other in words_used:
        other = "all other values"
    while other in words_used:
        other += " …"
    pooled = {value: other if first[value] in rare and len(rare) > 1 else first[value] for value in known}
    rule = _nested({value: (first[value], pooled[value]) for value in known}, least=2)
    if isinstance(rule, Suppress):
        return rule, "Nothing suggests groups of these values. Put values of similar meaning together, as a table."
    return rule, "tacit does not know what these values mean. Check the groups, and put similar values together."


def _first_word(value: str) -> str:
    return _WORDS.split(value.strip(), maxsplit=1)[0] or value


def _nested(labels: dict[str, tuple[str, ...]], least: int) -> HierarchyRule:
    """Return the levels that join values, into at least so many groups each; `Suppress` if no level does."""
    values = sorted(labels, key=lambda value: (*reversed(labels[value]), value))
    levels: list[dict[str, str]] = []
    groups = len(values)
    for level in range(len(next(iter(labels.values())))):
        many = len({labels[value][level] for value in values})
        if least <= many < groups:
            levels.append({value: labels[value][level] for value in values})
            groups = many
    if not levels:
        return Suppress()
    return Hierarchy(tuple((value, *(level[value] for level in levels), ALL) for value in values))
