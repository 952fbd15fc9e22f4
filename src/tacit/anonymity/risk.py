"""The chance to name whose row it is, by what an attacker knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.anonymity.classes import Classes, group
from tacit.anonymity.tables import Column, Longs, Table
from tacit.errors import InvalidError

_SAFE = 5


@dataclass(frozen=True, slots=True)
class Risk:
    """The chance to name whose row it is.

    Attributes:
        prosecutor: the attacker knows that a person is in the table: 1 / size of the smallest class.
        journalist: they only know a population that holds the table: 1 / size of the smallest class there.
        marketer: the share of rows that a guess for each of them names rightly, on average.
        unique: the share of rows that are alone in their class.
        at_risk: the share of rows whose own chance is above 0.2.

    The size of a class is its number of rows; where a unit is named, its number of persons, in the population too.
    """

    prosecutor: float
    journalist: float
    marketer: float
    unique: float
    at_risk: float


def population_sizes(
    columns: Sequence[Column], groups: Classes, inside: Longs, population: Table, unit: str | None
) -> Longs:
    """Return the size of every class in the population: its rows, or its persons.

    Raises:
        InvalidError: the population lacks a column, or is smaller somewhere than the table: it does not hold it.
    """
    outside = []
    for column in columns:
        other = population.column(column.name)
        place = {value: code for code, value in enumerate(column.texts)}
        ours = np.array([place.get(value, -1) for value in other.texts] or [0], dtype=np.int64)
        outside.append(ours[other.codes] + 1)
    both = [np.concatenate([codes, groups.shared[:, at] + 1]) for at, codes in enumerate(outside)]
    joint = group(both, population.rows + len(groups))
    theirs = joint.ids[: population.rows]
    if unit is not None:
        if unit not in population.names:
            raise InvalidError("population", f"a table without {unit!r}", "one with that column, to count its persons")
        theirs = group([theirs, population.column(unit).codes], population.rows).shared[:, 0]
    sizes = np.bincount(theirs, minlength=len(joint))[joint.ids[population.rows :]]
    _require_held(inside, sizes)
    return np.asarray(sizes, dtype=np.int64)


def _require_held(inside: Longs, outside: Longs) -> None:
    lacking = int((outside < inside).sum())
    if lacking:
        got = f"one in which {lacking:,} of the table's {len(inside):,} classes are absent or smaller"
        want = "a table that holds every row of this one, its quasi-identifiers recoded alike"
        raise InvalidError("population", got, want)


def risk_of(sizes: Longs, persons: Longs, outside: Longs) -> Risk:
    """Return the risks, given for every class its rows, its persons, and its persons outside."""
    if not len(sizes):
        return Risk(0.0, 0.0, 0.0, 0.0, 0.0)
    rows = sizes.sum()
    return Risk(
        float(1 / persons.min()),
        float(1 / outside.min()),
        float((sizes / outside).sum() / rows),
        float(sizes[persons == 1].sum() / rows),
        float(sizes[persons < _SAFE].sum() / rows),
    )
