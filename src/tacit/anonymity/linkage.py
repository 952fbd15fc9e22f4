"""Which published rows fit a person that an attacker knows.

A published value covers a raw one if they are the same; if it is "*"; if it is a group of the raw value's hierarchy,
where one is given; if it is a mask (476**) that the raw value fits; or if it is a range of numbers that holds it:
[43, 52], [40, 50), 20-39, ≥40, <30. A missing value covers only a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from tacit.anonymity.classes import group
from tacit.anonymity.hierarchies import ALL, Hierarchy, Rule
from tacit.anonymity.tables import Table

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_RANGE = re.compile(rf"([\[(])\s*{_NUMBER}\s*,\s*{_NUMBER}\s*([\])])")
_SPAN = re.compile(rf"{_NUMBER}\s*[-–…]\s*{_NUMBER}")
_SIDE = re.compile(rf"(≥|>=|>|≤|<=|<)\s*{_NUMBER}")


def covers(published: str | None, raw: str | None, tree: Hierarchy | None = None) -> bool:
    """Return whether a published value may stand for a raw one.

    >>> covers("476**", "47678"), covers("[43, 52]", "47"), covers("≥40", "36"), covers("2*", "27")
    (True, True, False, True)
    """
    if published in {raw, ALL}:
        return True
    if published is None or raw is None:
        return False
    if tree is not None and raw in tree.values:
        return published in tree.rows[tree.values.index(raw)]
    if ALL in published and len(published) == len(raw):
        return all(p in {ALL, r} for p, r in zip(published, raw, strict=True))
    return _holds(published, raw)


def _holds(published: str, raw: str) -> bool:
    try:
        x = Fraction(raw)
    except (ValueError, ZeroDivisionError):
        return False
    if found := _RANGE.fullmatch(published):
        low, high = Fraction(found[2]), Fraction(found[3])
        return (low < x or (low == x and found[1] == "[")) and (x < high or (x == high and found[4] == "]"))
    if found := _SPAN.fullmatch(published):
        return Fraction(found[1]) <= x <= Fraction(found[2])
    if found := _SIDE.fullmatch(published):
        bound = Fraction(found[2])
        return {"≥": x >= bound, ">=": x >= bound, ">": x > bound, "≤": x <= bound, "<=": x <= bound, "<": x < bound}[
            found[1]
        ]
    return False


def link(
    rows: Table, theirs: Table, known: tuple[str, ...], trees: Mapping[str, Rule]
) -> Iterator[tuple[dict[str, str | None], int, np.ndarray[tuple[int], np.dtype[np.intp]]]]:
    """Return for each different outside person who they are, how many look so, and the published rows that fit."""
    ours, others = [rows.column(name) for name in known], [theirs.column(name) for name in known]
    fits = []
    for name, mine, other in zip(known, ours, others, strict=True):
        tree = trees[name].over(other.texts, name) if name in trees else None
        fits.append(np.array([[covers(p, r, tree) for p in mine.texts] for r in other.texts], dtype=bool))
    persons = group([column.codes for column in others], theirs.rows)
    classes = group([column.codes for column in ours], rows.rows)
    order = np.argsort(classes.ids, kind="stable")
    starts = np.append(0, np.cumsum(classes.sizes))
    for which in range(len(persons)):
        codes = persons.shared[which]
        inside = np.ones(len(classes), dtype=bool)
        for at, table in enumerate(fits):
            inside &= table[codes[at]][classes.shared[:, at]]
        found = [order[starts[c] : starts[c + 1]] for c in np.flatnonzero(inside)]
        person = {name: others[at].texts[codes[at]] for at, name in enumerate(known)}
        yield person, int(persons.sizes[which]), np.concatenate(found) if found else np.zeros(0, dtype=np.intp)
