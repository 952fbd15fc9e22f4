"""Events about one feature of an output, in words and as code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tacit.arrays import Floats
from tacit.auditing.features import Feature, Features
from tacit.auditing.sampling import ABSENT, PROJECTION, Column, Table, as_floats, as_text
from tacit.errors import InvalidError

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Projection:
    """A weighted sum of numeric features, which the search fits to outputs of many numbers."""

    names: tuple[str, ...]
    weights: tuple[float, ...]

    def value(self, output: Features) -> float:
        """Return the sum; a feature that an output lacks counts as 0."""
        total = 0.0
        for name, weight in zip(self.names, self.weights, strict=True):
            number = output.get(name, 0.0)
            total += 0.0 if isinstance(number, str) else weight * number
        return total

    def values(self, size: int, chunk: Mapping[str, Column]) -> Floats:
        """Return the sums of a chunk of a table, by the same additions in the same order."""
        total = np.zeros(size)
        for name, weight in zip(self.names, self.weights, strict=True):
            if name in chunk:
                numbers = as_floats(chunk[name], size)
                total += np.where(np.isnan(numbers), 0.0, weight * numbers)
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A set of outputs: a feature is in intervals (a, b], or is one of some values.

    Attributes:
        feature: the name of the feature, such as "value" or "exception".
        intervals: open on the left and closed on the right; empty if `values` are given.
        values: texts or numbers.
        projection: the weights if the feature is a weighted sum.
        observe: derives the features of an output.
    """

    feature: str
    intervals: tuple[tuple[float, float], ...] = ()
    values: tuple[Feature, ...] = ()
    projection: Projection | None = None
    observe: Callable[[object], Features] | None = field(default=None, repr=False, compare=False)

    def holds(self, output: Features) -> bool:
        """Return whether a described output is in the event."""
        if self.projection is not None:
            return self._has(self.projection.value(output))
        return self._has(output.get(self.feature, ABSENT))

    def _has(self, found: Feature) -> bool:
        if self._texts or isinstance(found, str):
            return as_text(found) in self.values
        return found in self.values or any(low < found <= high for low, high in self.intervals)

    @property
    def _texts(self) -> bool:
        return bool(self.values) and all(isinstance(value, str) for value in self.values)

    def contains(self, output: object) -> bool:
        """Return whether an output of the release is in the event. Durations are not part of an output.

        Raises:
            InvalidError: if the event is not part of a report.
        """
        if self.observe is None:
            raise InvalidError("This event is not part of a report.", hint="Use the event of a report of tc.audit.")
        return self.holds(self.observe(output))

    def count(self, table: Table) -> int:
        """Return how many outputs of a table are in the event."""
        return sum(self._count(size, chunk) for size, chunk in table.chunks())

    def _count(self, size: int, chunk: Mapping[str, Column]) -> int:
        if self.projection is not None:
            values: Column = self.projection.values(size, chunk)
        elif self.feature in chunk:
            values = chunk[self.feature]
        else:
            return size * (ABSENT in self.values)
        if self._texts or values.dtype == object:
            return sum(map(self._has, values.tolist()))
        found = np.isin(values, [value for value in self.values if not isinstance(value, str)])
        for low, high in self.intervals:
            found |= (values > low) & (values <= high)
        return int(np.count_nonzero(found))

    def __str__(self) -> str:
        """Return the event in words."""
        name = self.feature
        if self.projection is not None:
            parts = zip(self.projection.names, self.projection.weights, strict=True)
            name = f"{PROJECTION} ({' + '.join(f'{weight:.3g}·{each}' for each, weight in list(parts)[:_SHOWN])}, …)"
        words = [_interval(name, low, high) for low, high in self.intervals[:_SHOWN]]
        if self.values:
            ordered = self.values if self._texts else sorted(self.values)
            shown = [value if isinstance(value, str) else f"{value:.12g}" for value in ordered]
            more = f" or {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
            words.append(f"{name} is {' or '.join(shown[:_SHOWN])}{more}")
        hidden = len(self.intervals) - _SHOWN
        return " or ".join(words) + (f" or in {hidden} more intervals" if hidden > 0 else "")


def _interval(name: str, low: float, high: float) -> str:
    if low == float("-inf"):
        return f"{name} ≤ {high:.12g}"
    return f"{name} > {low:.12g}" if high == float("inf") else f"{low:.12g} < {name} ≤ {high:.12g}"
