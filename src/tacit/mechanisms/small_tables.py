"""All small tables over a domain, their neighbours, and the checked values of a caller's function on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, log
from typing import Any, TypeAlias

import numpy as np

from tacit.errors import InvalidError
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import to_fraction, whole

Function: TypeAlias = Callable[[list[Any]], object]
"""A function of a list of rows."""
Table: TypeAlias = tuple[int, ...]
"""The rows of a table, as their places in the domain."""
Values: TypeAlias = tuple[int | Fraction, ...]

COUNTLESS = 10**18
"""A number of tables that is beyond every limit."""


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables of one relation, and which of them are neighbours."""

    values: int
    rows: int
    relation: Neighbours
    symmetric: bool

    @property
    def sizes(self) -> range:
        """The numbers of rows."""
        return range(self.rows if self.relation == "change one" else 0, self.rows + 1)

    def number(self) -> int:
        """Return how many tables there are, or a number beyond every limit."""
        if not self.symmetric and self.rows * log(self.values) > log(COUNTLESS):
            return COUNTLESS
        if self.symmetric:
            return sum(comb(n + self.values - 1, n) for n in self.sizes)
        return sum(int(self.values**n) for n in self.sizes)

    def of_size(self, size: int) -> Iterator[Table]:
        """Return the tables of one size."""
        if self.symmetric:
            return combinations_with_replacement(range(self.values), size)
        return product(range(self.values), repeat=size)

    def smaller(self, table: Table) -> set[Table]:
        """Return half of the neighbours: each pair of neighbours is found from one of its two tables."""
        if self.relation == "add/remove":
            return {table[:i] + table[i + 1 :] for i in range(len(table))}
        return {
            self._ordered((*table[:i], value, *table[i + 1 :])) for i in range(len(table)) for value in range(table[i])
        }

    def larger(self, table: Table) -> set[Table]:
        """Return the other half of the neighbours."""
        if self.relation == "add/remove":
            if len(table) == self.rows:
                return set()
            places = range(1) if self.symmetric else range(len(table) + 1)
            added = product(places, range(self.values))
            return {self._ordered((*table[:i], value, *table[i:])) for i, value in added}
        return {
            self._ordered((*table[:i], value, *table[i + 1 :]))
            for i in range(len(table))
            for value in range(table[i] + 1, self.values)
        }

    def neighbours(self, table: Table) -> set[Table]:
        """Return all neighbours of a table."""
        return self.smaller(table) | self.larger(table)

    def _ordered(self, table: Table) -> Table:
        return tuple(sorted(table)) if self.symmetric else table


@dataclass(slots=True)
class Evaluations:
    """The values of a function, each computed twice and stored."""

    function: Function
    domain: tuple[object, ...]
    symmetric: bool
    known: dict[Table, Values] = field(default_factory=dict)
    outputs: int | None = None

    def evaluate(self, table: Table) -> Values:
        """Return the value at a table; raise InvalidError if it is random or not a number."""
        if table not in self.known:
            self.known[table] = self._checked(table)
        return self.known[table]

    def _checked(self, table: Table) -> Values:
        value, again = self._called(table), self._called(table)
        if value != again:
            raise InvalidError(
                f"The function returned two values for one table of {in_rows(table)}.",
                argument="f",
                hint="Pass the statistic without its noise; a random function has no sensitivity.",
            )
        if self.symmetric and self._called(table[::-1]) != value:
            raise InvalidError(
                f"The function is not symmetric: its value changes with the order of {in_rows(table)}.",
                argument="symmetric",
                hint="Remove symmetric=True. If the values are floats, their last digits may depend on the order.",
            )
        if self.outputs is None:
            self.outputs = len(value)
        if len(value) != self.outputs:
            message = f"The function returned {len(value)} numbers for one table and {self.outputs} for another."
            raise InvalidError(message, argument="f", hint="Return the same number of values for every table.")
        return value

    def _called(self, table: Table) -> Values:
        """Call the function with copies of the rows, so that it cannot change the domain."""
        rows = [_copied(self.domain[place]) for place in table]
        try:
            result = self.function(rows)
        except Exception as error:
            raise InvalidError(
                f"The function raised {type(error).__name__} for a table of {in_rows(table)}.",
                argument="f",
                hint="It must have a value for every table."
                + ("" if table else " If n is public, pass neighbours='change one': no table is then empty."),
            ) from error
        return _numbers(result, table)


def _copied(value: object) -> object:
    if isinstance(value, (int, float, str, bytes, Fraction)) or value is None:
        return value
    try:
        return deepcopy(value)
    except Exception as error:
        raise InvalidError(
            "A value of the domain cannot be copied.",
            argument="domain",
            hint="Use numbers, text, or tuples, lists and arrays of them.",
        ) from error


def in_rows(table: Table) -> str:
    """Return the number of rows of a table in words."""
    return f"{len(table)} row{'' if len(table) == 1 else 's'}"


def _numbers(result: object, table: Table) -> Values:
    """Return a result as rationals: a number, or any array, list or tuple of numbers."""
    flat = result.reshape(-1).tolist() if isinstance(result, np.ndarray) else result
    items: Sequence[object] = flat if isinstance(flat, (list, tuple)) else [flat]
    values = tuple(_number(item) for item in items)
    if not values or None in values:
        raise InvalidError(
            f"For a table of {in_rows(table)} the function did not return a finite number or a list of finite numbers.",
            argument="f",
            hint="NaN, infinity, None and text have no distance from a number.",
        )
    return values  # type: ignore[return-value]  # no None is left


def _number(item: object) -> int | Fraction | None:
    if isinstance(item, (bool, np.bool_)):
        return int(item)
    if (integer := whole(item)) is not None:
        return integer
    try:
        return to_fraction(item, "f")
    except InvalidError:
        return None
