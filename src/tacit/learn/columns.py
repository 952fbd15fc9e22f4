"""Public columns of a classifier: how raw values become codes, without reading anything from the data.

A column of values has one code for each value. A column of numbers has one code for each bin; numbers beyond the outer
edges belong to the outer bins. `missing` is the code of missing values and NaN, `other` that of all other values. Both
may share a code, as in `tc.learn`, or be that of the public stand-in of a required column, as in a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import isfinite
from typing import TypeAlias

import numpy as np

from tacit.errors import InvalidError, bad_value
from tacit.synthetic.coded_rows import Codes

Label: TypeAlias = str | int | float | bool | date | datetime
MOST_CODES = 2**16


@dataclass(frozen=True, slots=True)
class PublicColumn:
    """A column with public values, or with the public edges of its bins."""

    name: str
    values: tuple[Label, ...] = ()
    edges: tuple[float, ...] = ()
    missing: int = -1
    other: int = -1
    """The codes of missing and of other values; -1 is the one after those of all values or bins."""

    def __post_init__(self) -> None:
        """Raise InvalidError unless there are values or edges that can be codes."""
        if bool(self.values) == bool(self.edges):
            hint = "Pass the edges of bins for numbers, or the list of all values."
            raise InvalidError(f"Column {self.name!r} has no public values or bins.", argument="bounds", hint=hint)
        if len(self.values) != len(set(self.values)):
            raise InvalidError(f"Column {self.name!r} has a public value twice.", argument="bounds")
        rising = all(low < high for low, high in zip(self.edges, self.edges[1:], strict=False))
        if self.edges and (len(self.edges) == 1 or not rising or not all(map(isfinite, self.edges))):
            raise InvalidError(f"The edges of column {self.name!r} must be finite and rise.", argument="bounds")
        for field in ("missing", "other"):
            if getattr(self, field) == -1:
                object.__setattr__(self, field, self.known)
            if not 0 <= getattr(self, field) <= self.known + 1:
                raise InvalidError(f"Column {self.name!r} has codes that are not valid.", argument="bounds")
        if self.size > MOST_CODES:
            raise InvalidError(f"Column {self.name!r} has {self.size:,} codes; {MOST_CODES:,} is the most.")

    @property
    def known(self) -> int:
        """The number of values or bins."""
        return len(self.values) if self.values else len(self.edges) - 1

    @property
    def size(self) -> int:
        """The number of codes."""
        return max(self.known, self.missing + 1, self.other + 1 if self.values else 0)

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each code."""
        bins = zip(self.edges, self.edges[1:], strict=False)
        names = [str(value) for value in self.values] or [f"[{low:g}, {high:g})" for low, high in bins]
        if self.edges:
            names[-1] = f"{names[-1][:-1]}]"  # it has the upper edge
        rest = range(self.known, self.size)
        names += ["NULL" if code == self.missing and not self._shared else "(other)" for code in rest]
        return tuple(f"{self.name}={name}" for name in names)

    @property
    def _shared(self) -> bool:
        """Return whether missing values share a code with other values; a boolean has no others."""
        return self.missing == self.other and not all(isinstance(value, bool) for value in self.values)

    def codes(self, values: Sequence[object]) -> Codes:
        """Return the code of each raw value. No value raises."""
        if self.edges:
            numbers = np.array([_number(value) for value in values], dtype=np.float64)
            place = np.searchsorted(self.edges[1:-1], numbers, side="right")
            return np.where(np.isnan(numbers), self.missing, place).astype(np.uint16)
        known: dict[object, int] = {value: code for code, value in enumerate(self.values)}
        return np.array([self._lookup(known, value) for value in values], dtype=np.uint16)

    def _lookup(self, known: Mapping[object, int], value: object) -> int:
        try:
            code = known.get(value)
            return (self.missing if _is_missing(value) else self.other) if code is None else code
        except Exception:  # noqa: BLE001 - a value that cannot be hashed or compared is not public
            return self.other


def _is_missing(value: object) -> bool:
    """Return whether a value is None, or unequal to itself as NaN and pandas' missing values are.

    >>> [_is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), "", 0)]
    [True, True, True, False, False]
    """
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124 - NaN


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # anything else is missing
    except Exception:  # noqa: BLE001 - the method of a value may raise anything
        return float("nan")


def columns_of(frame: object, names: Sequence[str]) -> list[Sequence[object]]:
    """Return the named columns of a frame, a mapping, or an array whose columns have this order."""
    if isinstance(frame, Mapping) or hasattr(frame, "columns"):
        present = list(frame) if isinstance(frame, Mapping) else [str(name) for name in frame.columns]
        lost = [name for name in names if name not in present]
        if lost:
            raise InvalidError(f"The table has no column {lost[0]!r}.", argument="X", hint="Pass all features.")
        return _same_length([_raw(frame, name) for name in names])
    array = np.asarray(frame, dtype=object)
    if array.ndim != 2 or array.shape[1] != len(names):  # noqa: PLR2004 - rows and columns
        raise bad_value("X", f"an array of shape {array.shape}", f"a frame, or rows of {len(names)} columns")
    return [list(array[:, place]) for place in range(len(names))]


def _raw(frame: object, name: str) -> Sequence[object]:
    """Return a column as Python's values where the frame can; Arrow's scalars equal nothing else."""
    column = frame[name]  # type: ignore[index]
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            values: list[object] = getattr(column, method)()
            return values
    return list(column)


def _same_length(columns: list[Sequence[object]]) -> list[Sequence[object]]:
    if len({len(column) for column in columns}) > 1:
        raise InvalidError("The columns have different lengths.", argument="X")
    return columns


def coded(frame: object, columns: Sequence[PublicColumn]) -> Codes:
    """Return the codes of the public columns of a frame, rows by columns."""
    raw = columns_of(frame, [column.name for column in columns])
    return np.stack([column.codes(values) for column, values in zip(columns, raw, strict=True)], axis=1)
