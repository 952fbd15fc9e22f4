"""Axes: what they measure, where they begin and end, and where their ticks stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import numpy as np

from tacit.arrays import Floats
from tacit.plots.frame import AXIS, TITLE_ON_TOP, tooltip
from tacit.plots.loading import alt

_SHORT = "datum.value < 0.01 || datum.value >= 1e6 ? format(datum.value, '~e') : format(datum.value, ',~g')"


@dataclass(frozen=True, slots=True)
class Measure:
    """What an axis shows: a field of the rows, its title, where it begins and ends, and whether by decades."""

    field: str
    title: str
    low: float
    high: float
    log: bool = False

    def place(self, values: Floats) -> Floats:
        """Return values as shares of the axis: 0 at its beginning, 1 at its end."""
        low, high = self._bend(np.array([self.low, self.high]))
        return np.asarray((self._bend(values) - low) / (high - low))

    def value(self, places: Floats) -> Floats:
        """Return the values at shares of the axis: the inverse of `place`."""
        low, high = self._bend(np.array([self.low, self.high]))
        at = low + places * (high - low)
        return np.asarray(10.0**at if self.log else at)

    def _bend(self, values: Floats) -> Floats:
        return np.log10(values) if self.log else values

    def scale(self) -> alt.Scale:
        """Return the scale, its ends fixed."""
        return alt.Scale(type="log" if self.log else "linear", domain=[self.low, self.high], nice=False, zero=False)

    def x(self) -> alt.X:
        """Return the channel across."""
        return alt.X(f"{self.field}:Q", scale=self.scale(), axis=self._axis())

    def y(self) -> alt.Y:
        """Return the channel upward."""
        return alt.Y(f"{self.field}:Q", scale=self.scale(), axis=self._axis() | TITLE_ON_TOP)

    def _axis(self) -> dict[str, object]:
        ticks = {"values": _ticks(self.low, self.high), "labelExpr": _SHORT} if self.log else {"tickCount": 7}
        return {"title": self.title} | AXIS | ticks

    def tooltip(self) -> alt.Tooltip:
        """Return the line of the tooltip."""
        return tooltip(self.field, self.title)


def span(values: Floats, *, log: bool = False) -> tuple[float, float]:
    """Return the least and the largest value, moved apart if they are equal."""
    low, high = float(values.min()), float(values.max())
    if low < high:
        return low, high
    return (low / 2, high * 2) if log else (low - 0.5, high + 0.5)


def decades(values: Floats) -> tuple[float, float]:
    """Return the ends of an axis by decades around values: 1, 2 or 5 times a power of ten."""
    if not values.size:
        return 1e-12, 1.0
    low, high = float(values.min()), float(values.max())
    marks = _marks(low, high, (1, 2, 5))
    ends = max(mark for mark in marks if mark <= low * 1.01), min(mark for mark in marks if mark >= high / 1.01)
    return span(np.array(ends), log=True)


def _ticks(low: float, high: float) -> list[float]:
    """Return at most nine powers of ten; over less than three decades, also 2 and 5 times those."""
    if high / low < 999:  # noqa: PLR2004 - three decades
        return [mark for mark in _marks(low, high, (1, 2, 5)) if low <= mark <= high]
    apart = ceil((log10(high) - log10(low)) / 9)
    return [mark for mark in _marks(low, high, (1,)) if low <= mark <= high and round(log10(mark)) % apart == 0]


def _marks(low: float, high: float, digits: Sequence[int]) -> list[float]:
    """Return the digits times powers of ten, from under low to over high; read from text, so exactly as written."""
    powers = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
    return [float(f"{digit}e{power}") for power in powers for digit in digits]
