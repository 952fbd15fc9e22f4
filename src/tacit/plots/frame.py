"""The parts that every chart shares: checked numbers, axes, colours and the frame.

altair is an optional package and slow to import, so the first chart loads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import ceil, floor, log10
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.errors import InvalidError, MissingPackageError, show
from tacit.safe_text import chart_label

if TYPE_CHECKING:
    import altair  # noqa: ICN001 - `alt` is assigned, so that other modules may import it

    alt = altair
else:

    class _Altair:
        """A stand-in for the module altair, which it imports when a chart first uses it."""

        def __getattr__(self, name: str) -> object:
            try:
                return getattr(import_module("altair"), name)
            except ImportError as missing:
                raise MissingPackageError("altair", "A chart", extra="plot") from missing

    alt = _Altair()

Numbers: TypeAlias = Sequence[float] | npt.NDArray[np.floating | np.integer]
Row: TypeAlias = dict[str, float | str]
Columns: TypeAlias = Mapping[str, npt.NDArray[np.float64 | np.str_]]
Drawing: TypeAlias = tuple[list[Row], "list[alt.Chart]"]

MOST_ROWS = 5_000
LEAST, LARGEST = 1e-300, 1e300  # beyond these the decades of a log scale leave the floats
WIDTH, HEIGHT = 560, 320
_MOST_DOTS = 25

# Okabe and Ito's colours, which the colour-blind can distinguish, and a violet; yellow is too pale on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#777777", "#6A3D9A")
BLUE, VERMILION = COLOURS[:2]
RED = "#B00020"
INK, _GREY, _PALE = "#222222", "#888888", "#E8E8E8"
AXIS = {
    "labelFontSize": 12,
    "labelColor": INK,
    "titleFontSize": 14,
    "titleFontWeight": "normal",
    "titleColor": INK,
    "gridColor": _PALE,
    "domainColor": _GREY,
    "tickColor": _GREY,
}
TITLE_ON_TOP = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -8}
_TICK_LABEL = "datum.value < 0.01 || datum.value >= 1e6 ? format(datum.value, '~e') : format(datum.value, ',~g')"


def read(sequences: Mapping[str, object]) -> list[Floats]:
    """Read sequences of numbers by name. All must have one length, and none may be empty or hold a NaN."""
    arrays = [_floats(name, values) for name, values in sequences.items()]
    first = next(iter(sequences))
    for name, array in zip(sequences, arrays, strict=True):
        message = f"{name} has {array.size} numbers, but {first} has {arrays[0].size}."
        require(array.size == arrays[0].size, message, name)
    return arrays


def _floats(name: str, values: object) -> Floats:
    message = f"{name} must be a sequence of numbers, not {show(values)}."
    try:
        array = np.asarray(values)
        require(array.dtype.kind in "biufO", message, name)
        floats = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidError(message, argument=name) from None
    require(floats.ndim == 1 and floats.size > 0, f"{name} must be a sequence of at least one number.", name)
    require(not np.isnan(floats).any(), f"{name} holds a NaN.", name)
    return floats


def require(condition: bool | np.bool_, message: str, argument: str) -> None:  # noqa: FBT001 - as in assert
    """Raise InvalidError unless the condition holds."""
    if not condition:
        raise InvalidError(message, argument=argument)


def between(low: float, value: object, high: float) -> bool:
    """Return whether a value is a number from low to high."""
    return isinstance(value, Real) and low <= float(value) <= high


def require_probability(value: object, argument: str) -> None:
    """Raise InvalidError unless a value is a number from 0 to 1."""
    require(between(0, value, 1), f"{argument} must be a number from 0 to 1, not {show(value)}.", argument)


def thin(columns: Mapping[str, Floats], most: int) -> dict[str, Floats]:
    """Sort the columns by the first one. If there are more than `most` rows, keep evenly spaced ones and both ends."""
    first = next(iter(columns.values()))
    order = np.argsort(first, kind="stable")
    if order.size > most:
        order = order[np.linspace(0, order.size - 1, most).round().astype(np.int64)]
    return {name: values[order] for name, values in columns.items()}


def as_rows(columns: Columns, **constants: str) -> list[Row]:
    """Return columns as rows; each row also gets the constants."""
    lists = [values.tolist() for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) | constants for row in zip(*lists, strict=True)]


def short(value: float) -> str:
    """Return a number with three digits, as people write it.

    >>> short(1e-6), short(0.25), short(1e10)
    ('1e-6', '0.25', '1e10')
    """
    return f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: the field of the rows that it shows, its title, its two ends, and whether it is logarithmic."""

    field: str
    title: str
    low: float
    high: float
    log: bool = False

    def share(self, values: Floats) -> Floats:
        """Return the positions of values as shares of the axis: 0 at its start, 1 at its end."""
        low, high = self._bend(np.array([self.low, self.high]))
        return np.asarray((self._bend(values) - low) / (high - low))

    def value(self, shares: Floats) -> Floats:
        """Return the values at shares of the axis: the inverse of `share`."""
        low, high = self._bend(np.array([self.low, self.high]))
        at = low + shares * (high - low)
        return np.asarray(10.0**at if self.log else at)

    def _bend(self, values: Floats) -> Floats:
        return np.log10(values) if self.log else values

    def scale(self) -> alt.Scale:
        """Return the scale with fixed ends."""
        return alt.Scale(type="log" if self.log else "linear", domain=[self.low, self.high], nice=False, zero=False)

    def x(self) -> alt.X:
        """Return the horizontal channel."""
        return alt.X(f"{self.field}:Q", scale=self.scale(), axis=self._axis())

    def y(self) -> alt.Y:
        """Return the vertical channel."""
        return alt.Y(f"{self.field}:Q", scale=self.scale(), axis=self._axis() | TITLE_ON_TOP)

    def _axis(self) -> dict[str, object]:
        ticks = {"values": _ticks(self.low, self.high), "labelExpr": _TICK_LABEL} if self.log else {"tickCount": 7}
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
    """Return the ends of a logarithmic axis around values: 1, 2 or 5 times a power of ten."""
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
    """Return the digits times powers of ten, from below low to above high; parsed from text, so that 2e-3 is exact."""
    powers = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
    return [float(f"{digit}e{power}") for power in powers for digit in digits]


def heading(
    title: str | list[str],
    subtitle: str | list[str] = "",
    *,
    grouped: bool = False,
    alarming: bool = False,
    size: int = 17,
) -> alt.TitleParams:
    """Return the title and subtitle of a chart, each of one or several lines.

    Args:
        title: the title.
        subtitle: the subtitle.
        grouped: whether they are aligned with the frame of a layered chart.
        alarming: whether the title is a warning, in red.
        size: the size of the title's letters.
    """
    return alt.TitleParams(
        text=_labels(title),
        subtitle=_labels(subtitle) or alt.Undefined,
        anchor="start",
        fontSize=size,
        subtitleFontSize=13,
        subtitleColor="#555555",
        frame="group" if grouped else alt.Undefined,
        offset=8 if grouped else alt.Undefined,
        color=RED if alarming else INK,
        subtitlePadding=5 if grouped else alt.Undefined,
    )


def _labels(text: str | list[str]) -> str | list[str]:
    """Return lines that are safe in a chart; one line as a text."""
    lines = [chart_label(line) for line in ([text] if isinstance(text, str) else text)]
    return lines[0] if len(lines) == 1 else lines


def framed(rows: list[Row], layers: list[alt.Chart], title: str, subtitle: str | list[str]) -> alt.LayerChart:
    """Return layers as one chart of the common size, with a heading; they share the rows."""
    top = heading(title, subtitle, grouped=True)
    frame = alt.ViewBackground(stroke=None)
    return alt.LayerChart(data=inline(rows), layer=layers, width=WIDTH, height=HEIGHT, title=top, view=frame)


def inline(rows: list[Row]) -> alt.InlineData:
    """Return rows that the chart itself holds, with safe labels for their texts."""
    labelled = [
        {name: chart_label(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    ]
    return alt.InlineData(values=labelled)


def tooltip(field: str, title: str) -> alt.Tooltip:
    """Return the line of a tooltip that shows a field with six digits."""
    return alt.Tooltip(f"{field}:Q", title=title, format=".6~g")


def points(base: alt.Chart, count: int) -> alt.Chart:
    """Return the points that carry tooltips; they are visible only if there are few."""
    dots: alt.Chart = base.mark_point(filled=True, size=36, opacity=1.0 if count <= _MOST_DOTS else 0.0)
    return dots


_DARK = {INK: "#E6E6E6", "#555555": "#B8B8B8", _GREY: "#888888", _PALE: "#3A3A3A", BLUE: "#4FA8DC", RED: "#FF6B6B"}
_DARK_PAGE = "#1B1B1F"

AnyChart = TypeVar("AnyChart", bound="altair.LayerChart | altair.ConcatChart")


def darkened(chart: AnyChart) -> AnyChart:
    """Return a chart with light ink on a dark background.

    >>> from tacit.plots import class_sizes
    >>> darkened(class_sizes([5, 10], [50, 20])).to_dict()["background"]
    '#1B1B1F'
    """
    spec = _repainted(chart.to_dict()) | {"background": _DARK_PAGE}
    return cast("AnyChart", type(chart).from_dict(spec))


def _repainted(part: Any) -> Any:  # noqa: ANN401 - any part of a JSON document
    """Return a part of a chart with the colours of a dark page; data keep theirs."""
    if isinstance(part, dict):
        return {name: value if name == "datasets" else _repainted(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_repainted(value) for value in part]
    return _DARK.get(part, part) if isinstance(part, str) else part
