"""Public columns of a classifier: how raw values become codes, without reading anything from the data.

A column of values has one code for each value and a last code for all others and missing ones. A column of numbers has
one code for each bin; numbers beyond the outer edges belong to the outer bins, and missing and NaN to a last code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from tacit.errors import InvalidError, bad_value
from tacit.synthetic.coded_rows import Codes

_MOST = 60_000


@dataclass(frozen=True, slots=True)
class PublicColumn:
    """A column with public values, or with the public edges of its bins."""

    name: str
    values: tuple[str | int | float | bool, ...] = ()
    edges: tuple[float, ...] = ()

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
        if self.size > _MOST:
            raise InvalidError(f"Column {self.name!r} has {self.size:,} codes; {_MOST:,} is the most.")

    @property
    def size(self) -> int:
        """The number of codes, with that of missing and other values."""
        return len(self.values) + 1 if self.values else len(self.edges)

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each code."""
        if self.values:
            return (*(f"{self.name}={value}" for value in self.values), f"{self.name}=other")
        bins = zip(self.edges, self.edges[1:], strict=False)
        return (*(f"{self.name}=[{low:g}, {high:g})" for low, high in bins), f"{self.name}=missing")

    def codes(self, values: Sequence[object]) -> Codes:
        """Return the code of each raw value. No value raises."""
        if self.edges:
            numbers = np.array([_number(value) for value in values], dtype=np.float64)
            place = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, len(self.edges) - 2)
            return np.where(np.isnan(numbers), self.size - 1, place).astype(np.uint16)
        known: dict[object, int] = {value: code for code, value in enumerate(self.values)}
        return np.array([_lookup(known, value, self.size - 1) for value in values], dtype=np.uint16)


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # anything else is missing
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _lookup(known: Mapping[object, int], value: object, other: int) -> int:
    try:
        return known.get(value, other)
    except TypeError:  # a value that cannot be hashed is not public
        return other


def columns_of(frame: object, names: Sequence[str]) -> list[Sequence[object]]:
    """Return the named columns of a frame, a mapping, or an array whose columns have this order."""
    if isinstance(frame, Mapping) or hasattr(frame, "columns"):
        present = list(frame) if isinstance(frame, Mapping) else [str(name) for name in frame.columns]
        lost = [name for name in names if name not in present]
        if lost:
            raise InvalidError(f"The table has no column {lost[0]!r}.", argument="X", hint="Pass all features.")
        return _same_length([list(frame[name]) for name in names])  # type: ignore[index]
    array = np.asarray(frame, dtype=object)
    if array.ndim != 2 or array.shape[1] != len(names):  # noqa: PLR2004 - rows and columns
        raise bad_value("X", f"an array of shape {array.shape}", f"a frame, or rows of {len(names)} columns")
    return [list(array[:, place]) for place in range(len(names))]


def _same_length(columns: list[Sequence[object]]) -> list[Sequence[object]]:
    if len({len(column) for column in columns}) > 1:
        raise InvalidError("The columns have different lengths.", argument="X")
    return columns


def coded(frame: object, columns: Sequence[PublicColumn]) -> Codes:
    """Return the codes of the public columns of a frame, rows by columns."""
    raw = columns_of(frame, [column.name for column in columns])
    return np.stack([column.codes(values) for column, values in zip(columns, raw, strict=True)], axis=1)
