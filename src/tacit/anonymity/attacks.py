"""Attacks on a published table, and the rows that each attack reveals.

| kind | the attacker | reveals |
|---|---|---|
| "homogeneity" | finds the class of a person | rows whose class has one sensitive value |
| "background" | also rules out j sensitive values | rows whose class has at most j + 1 |
| "skewness" | compares a class with the whole table | rows with a value that is `factor` times as likely |
| "similarity" | reads values by groups, or numbers by their distance | rows whose class is within one group or range |
| "linkage" | joins an outside table by the quasi-identifiers | persons who match one row, or rows of one value |

Linkage and background knowledge combine: `outside` names the persons, and `excluded` the values that they do not have.

A missing sensitive value is a separate value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from tacit.anonymity.attack_results import Attack, Victim, in_words, sorted_attack
from tacit.anonymity.cell_values import number
from tacit.anonymity.classes import ClassCounts, Classes, count_values, group
from tacit.anonymity.excluded_values import ExcludedValues, read_excluded
from tacit.anonymity.hierarchies import Hierarchy, HierarchySource, to_rule
from tacit.anonymity.linkage_attack import link_persons
from tacit.anonymity.roles import check_choice, check_roles, column_names
from tacit.anonymity.tables import CodedTable, read
from tacit.errors import InvalidError, UnusedOptionError, bad_value
from tacit.guarantees.exact import to_fraction

AttackKind: TypeAlias = Literal["homogeneity", "background", "skewness", "similarity", "linkage"]
_KINDS = ("homogeneity", "background", "skewness", "similarity", "linkage")
_KINDS_OF_ARGUMENT = {
    "excluded": ("background", "linkage"),
    "factor": ("skewness",),
    "hierarchy": ("similarity",),
    "level": ("similarity",),
    "reach": ("similarity",),
    "outside": ("linkage", "background"),
    "hierarchies": ("linkage", "background"),
}
_Inferences: TypeAlias = dict[int, str]
_NEAR = 1e-9


def attack(  # noqa: PLR0913 - each has its own meaning
    table: object,
    *,
    kind: AttackKind,
    quasi: Sequence[str],
    sensitive: str | None = None,
    excluded: int | Sequence[object] | None = None,
    factor: float | None = None,
    hierarchy: HierarchySource | None = None,
    level: int | None = None,
    reach: float | None = None,
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
        excluded: for "background" and "linkage": how many values they can rule out (1 for "background"), or a list of
            values.
        factor: for "skewness": how many times as likely a value must become, 2 by default.
        hierarchy: for "similarity": groups of the sensitive values; without it they must be numbers.
        level: with `hierarchy`: the level whose groups count as one value, 1 by default.
        reach: for "similarity" of numbers: the share of their whole range that counts as near, 0.25 by default.
        outside: for "linkage", and for "background" about these persons: the table that the attacker has.
        hierarchies: with `outside`: by column, for labels that are not raw values, masks, or ranges of numbers or days.
        sep: the separator of the cells of a CSV file.

    Raises:
        InvalidError: an argument is missing or wrong.
        UnusedOptionError: an argument has no effect with the kind.
    """
    check_choice(kind, _KINDS, "kind")
    given = {
        "excluded": excluded, "factor": factor, "hierarchy": hierarchy, "level": level, "reach": reach,
        "outside": outside, "hierarchies": hierarchies,
    }  # fmt: skip
    _require_effect(kind, sensitive, given)
    rows, names = _read_roles(table, quasi, sensitive, hierarchies, sep)
    if kind == "background" and excluded is None:
        excluded = 1
    if outside is not None:
        return link_persons(kind, rows, names, sensitive, outside, excluded=excluded, hierarchies=hierarchies, sep=sep)
    classes, counts = _count_sensitive(rows, names, sensitive)
    inferences: _Inferences
    if kind == "similarity":
        inferences = _similarity(counts, hierarchy, 1 if level is None else level, 0.25 if reach is None else reach)
    elif kind == "skewness":
        inferences = _skewness(counts, classes, 2.0 if factor is None else factor)
    else:
        known_not = ExcludedValues() if excluded is None else read_excluded(excluded, counts.name, counts.values)
        inferences = _infer_values(counts, known_not)
    return _result(kind, rows, names, classes, counts.name, inferences)


def _require_effect(kind: str, sensitive: str | None, given: Mapping[str, object]) -> None:
    """Check that every argument that is given has an effect, and that the attack has what it needs.

    Raises:
        UnusedOptionError: an argument has no effect.
        InvalidError: linkage without an outside table, or an attack without a sensitive column.
    """
    for argument, kinds in _KINDS_OF_ARGUMENT.items():
        if given[argument] is not None and kind not in kinds:
            uses = " or ".join(f'kind="{name}"' for name in kinds)
            raise UnusedOptionError(argument, f'with kind="{kind}"', hint=f"Remove it, or use {uses}.")
    if given["level"] is not None and given["hierarchy"] is None:
        raise UnusedOptionError("level", "without hierarchy=", hint="Remove it, or give a hierarchy.")
    if given["reach"] is not None and given["hierarchy"] is not None:
        raise UnusedOptionError("reach", "with hierarchy=", hint="Remove one of them.")
    if given["hierarchies"] is not None and given["outside"] is None and kind != "linkage":
        raise UnusedOptionError("hierarchies", "without outside=", hint="Remove it, or give the outside table.")
    if kind == "linkage" and given["outside"] is None:
        raise InvalidError(
            "The linkage attack needs an outside table.",
            argument="outside",
            hint="Give outside= (--outside), the table that the attacker has.",
        )
    if sensitive is None and (kind != "linkage" or given["excluded"] is not None):
        raise InvalidError(
            "This attack needs a sensitive column.",
            argument="sensitive",
            hint="Name the column that the attacker wants to learn.",
        )


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
    classes = group([rows.column(name).codes for name in quasi], rows.rows)
    return classes, count_values(classes, rows.column(str(sensitive)))


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
    return sorted_attack(kind, int(classes.sizes.sum()), victims)


def _infer_values(counts: ClassCounts, excluded: ExcludedValues) -> _Inferences:
    """Return the classes from whose values the attacker learns something."""
    inferences = {which: excluded.infer(values, counts.values) for which, values in _value_sets(counts)}
    return {which: words for which, words in inferences.items() if words is not None}


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
            f"is {in_words(value)} with chance {share:.3g}, {times[at]:.3g} times the {whole / total:.3g} of all rows"
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
    return {which: f"is in {in_words(next(iter(labels)))}" for which, labels in groups.items() if len(labels) == 1}


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
