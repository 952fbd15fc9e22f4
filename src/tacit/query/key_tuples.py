"""The listed combinations of several group keys, the cells that follow, and the public values that keys determine.

Keys whose combinations are listed together form one factor; a listed key that is in no combination is a factor alone. A
cell is one element of the product of the factors. So the columns of one public table have the cells that the table has
rows, not the product of their values.

**Sensitivity.** Combinations of a factor are distinct (engines check it before they read). NULL equals NULL in the
comparison with them. So a row is in at most one combination of each factor, and in at most one cell. Everything that is
proved for cells holds: a row adds to one cell, and a unit to at most min(max_groups, cells) cells. Fewer cells can only
lower a sensitivity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import overload

import numpy as np

from tacit.arrays import Ints, Objects, as_objects
from tacit.query.expressions import Kind, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTuples:
    """The public combinations of some keys, in order, as parallel columns.

    `places` are the indices of the keys in the plan, in rising order, and `columns` their values. `default` is the
    index of the combination under which rows with another combination count; None if such rows do not count.
    `complete` is True if every row has one of the combinations, unless a public table has changed or a required column
    has a value that is not one of its keys.
    """

    places: tuple[int, ...]
    columns: tuple[tuple[Value, ...], ...]
    default: int | None = None
    complete: bool = False

    @property
    def size(self) -> int:
        """The number of combinations."""
        return len(self.columns[0])

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """Return the combinations, each in the order of the places."""
        return zip(*self.columns, strict=True)


class KeyColumns(Sequence[tuple[Value, ...]]):
    """The keys of many groups: a sequence of tuples that is stored as one array for each key."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Objects]) -> None:
        """Store one or more arrays of equal length, which must not change afterwards."""
        self.columns = tuple(columns)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.columns[0])

    @overload
    def __getitem__(self, index: int) -> tuple[Value, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> KeyColumns: ...
    def __getitem__(self, index: int | slice) -> tuple[Value, ...] | KeyColumns:
        """Return the keys of one group, or those of a slice."""
        if isinstance(index, slice):
            return KeyColumns([column[index] for column in self.columns])
        return tuple(column[index] for column in self.columns)

    def __eq__(self, other: object) -> bool:
        """Return whether the other object has the same keys."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # arrays are not hashed

    def __repr__(self) -> str:
        """Return the number of groups; keys may be private."""
        return f"KeyColumns({len(self)} groups)"

    def order(self) -> Ints:
        """Return the indices of the groups in the order of their keys, the first key first, NULLs last.

        >>> KeyColumns([as_objects([None, "b", "b"]), as_objects([1, 3, 2])]).order().tolist()
        [2, 1, 0]
        """
        places: Ints | None = None
        for column in reversed(self.columns):
            ordered = column if places is None else column[places]
            missing = np.fromiter((value is None for value in ordered), dtype=np.bool_, count=len(ordered))
            known = slice(None) if not missing.any() else np.flatnonzero(~missing)  # without NULLs nothing is copied
            order = np.argsort(ordered[known], kind="stable")
            if missing.any():
                order = np.concatenate([np.flatnonzero(~missing)[order], np.flatnonzero(missing)])
            places = order if places is None else places[order]
        return np.arange(len(self)) if places is None else places


def listed_cells(factors: Sequence[KeyTuples]) -> Iterator[tuple[Value, ...]]:
    """Yield the keys of all cells, in the order of their numbers: the first factor counts most.

    >>> pair = KeyTuples(places=(0, 2), columns=(("a", "b"), (1, 2)))
    >>> list(listed_cells([pair, KeyTuples(places=(1,), columns=((True, False),))]))
    [('a', True, 1), ('a', False, 1), ('b', True, 2), ('b', False, 2)]
    """
    places = [place for factor in factors for place in factor.places]
    order = sorted(range(len(places)), key=places.__getitem__)
    for rows in product(*(list(factor.rows()) for factor in factors)):
        values = [value for row in rows for value in row]
        yield tuple(values[index] for index in order)


def listed_columns(factors: Sequence[KeyTuples]) -> tuple[Objects, ...]:
    """Return the keys of all cells as one array for each key; row i of them is cell i of `listed_cells`.

    >>> pair = KeyTuples(places=(0, 2), columns=(("a", "b"), (1, 2)))
    >>> [keys.tolist() for keys in listed_columns([pair, KeyTuples(places=(1,), columns=((True, False),))])]
    [['a', 'a', 'b', 'b'], [True, False, True, False], [1, 1, 2, 2]]
    """
    columns: dict[int, Objects] = {}
    for number, factor in enumerate(factors):
        before, after = (prod(each.size for each in some) for some in (factors[:number], factors[number + 1 :]))
        for place, values in zip(factor.places, factor.columns, strict=True):
            columns[place] = np.tile(np.repeat(as_objects(values), after), before)
    return tuple(columns[place] for place in sorted(columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Determined:
    """An output: a public value that some keys of a group determine. It is exact and costs nothing.

    `sql` is the aggregate in the query. In a group whose keys at `places` are the tuple `rows[i]` it is `values[i]`;
    in any other group it is NULL.
    """

    sql: str
    places: tuple[int, ...]
    rows: tuple[tuple[Value, ...], ...]
    values: tuple[Value, ...]
    kind: Kind
    _by_keys: dict[tuple[Value, ...], Value] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the values by their keys."""
        object.__setattr__(self, "_by_keys", dict(zip(self.rows, self.values, strict=True)))

    @property
    def present(self) -> tuple[Value, ...]:
        """The values that are not NULL."""
        return tuple(value for value in self.values if value is not None)

    def value(self, keys: Sequence[Value]) -> Value:
        """Return the value in the group with these keys."""
        return self._by_keys.get(tuple(keys[place] for place in self.places))
