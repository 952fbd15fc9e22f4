"""What an attacker learns from a class of a published table, by each kind of inference; `attacks` tells who falls.

Each function gives the classes that fall, by number, and what is learned of their rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from tacit.anonymity.cell_values import text
from tacit.anonymity.classes import Classes, Spread
from tacit.anonymity.exact import fraction
from tacit.anonymity.hierarchies import Hierarchy
from tacit.anonymity.numerals import number
from tacit.errors import InvalidError, show

Learns: TypeAlias = dict[int, str]

_NEAR = 1e-9


def homogeneity(told: Spread, out: set[int]) -> Learns:
    """Say which classes have one value left, beside those that are ruled out."""
    left = {which: [value for value in values if value not in out] for which, values in enumerate(_sets(told))}
    return {which: f"is {in_words(told.values[values[0]])}" for which, values in left.items() if len(values) == 1}


def background(told: Spread, excluded: int | Sequence[object]) -> Learns:
    """Say which classes fall to who can rule out so many values, or these."""
    want = "how many values can be ruled out, or a list of them"
    if isinstance(excluded, (str, bytes, bool)) or not isinstance(excluded, (int, np.integer, Iterable)):
        raise InvalidError("excluded", show(excluded), want)
    if not isinstance(excluded, (int, np.integer)):
        return homogeneity(told, _ruled_out(told, excluded))
    if excluded < 0:
        raise InvalidError("excluded", show(excluded), "a whole number ≥ 0")
    return {
        which: f"is one of {len(values)}: {', '.join(in_words(told.values[value]) for value in values)}"
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


def skewness(told: Spread, classes: Classes, factor: float) -> Learns:
    """Say in which classes a value is at least so many times as likely as in the whole table."""
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
            which, f"is {in_words(value)} with chance {share:.3g}, {times[at]:.3g} times the {before:.3g} of all"
        )
    return learns


def _as_likely(count: int, size: int, whole: int, total: int, factor: Fraction) -> bool:
    """Return whether count/size ≥ factor·whole/total, in integers."""
    return count * total * factor.denominator >= factor.numerator * whole * size


def alike(told: Spread, tree: Hierarchy, level: int) -> Learns:
    """Say which classes lie in one group of a hierarchy's level."""
    if type(level) is not int or not 0 <= level < tree.height - 1:
        raise InvalidError("level", show(level), f"from 0 to {tree.height - 2}, a level under the top of the hierarchy")
    place = {value: row for row, value in enumerate(tree.values)}
    label = [tree.rows[place[value]][level] for value in told.values]
    found = {which: {label[value] for value in values} for which, values in enumerate(_sets(told))}
    return {which: f"is in {in_words(next(iter(labels)))}" for which, labels in found.items() if len(labels) == 1}


def near(told: Spread, reach: float) -> Learns:
    """Say which classes lie in a small part of the whole range of numbers."""
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


def _sets(told: Spread) -> list[list[int]]:
    """Return the values of every class, as codes."""
    starts = told.starts()
    return [told.value[starts[c] : starts[c + 1]].tolist() for c in range(told.classes)]


def in_words(value: str | None) -> str:
    """Return a value in words."""
    return "missing" if value is None else value
