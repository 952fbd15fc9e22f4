"""Parts that charts of values with intervals share: noisy columns, whiskers, colours and axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tacit.plots.frame import AXIS, BLUE, COLOURS, INK, MOST_ROWS, Numbers, Row, alt, read, require, tooltip
from tacit.safe_text import chart_label

NUMBER: Final = ",.6~g"
"""The format of numbers on axes and in legends."""

FIELDS: Final = ("value", "low", "high")
"""The fields of a row that has a value and the ends of its interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyColumn:
    """A noisy column of an answer: its name, its values, and the ends of their intervals.

    `from_zero` is true for counts and sums, whose bars start at 0.
    """

    name: str
    values: Numbers
    low: Numbers
    high: Numbers
    from_zero: bool = False

    def rows(self, **labels: Sequence[str]) -> list[Row]:
        """Return a row for each value whose interval is finite, with its labels."""
        middle, low, high = read({"values": self.values, "low": self.low, "high": self.high})
        for name, texts in labels.items():
            message = f"{name} has {len(texts)} texts, but values has {middle.size} numbers."
            require(len(texts) == middle.size, message, name)
        require(bool((low <= high).all()), "Each interval must have low ≤ high.", "low")
        finite = np.flatnonzero(np.isfinite(middle) & np.isfinite(low) & np.isfinite(high))[:MOST_ROWS]
        return [
            {"value": middle[i], "low": low[i], "high": high[i], "column": self.name}
            | {name: texts[i] for name, texts in labels.items()}
            for i in finite.tolist()
        ]

    @property
    def scale(self) -> alt.Scale:
        """The scale of the values; it contains 0 if bars start there."""
        return alt.Scale(zero=self.from_zero)


def value_axis(column: NoisyColumn) -> dict[str, object]:
    """Return the axis of a column's values."""
    return AXIS | {"title": chart_label(column.name), "tickCount": 6, "format": NUMBER}


def tooltips(column: NoisyColumn, *labels: str) -> list[alt.Tooltip]:
    """Return the lines of the tooltip of a value: its labels, itself, and its interval."""
    return [
        *(alt.Tooltip(f"{label}:N") for label in labels),
        tooltip("value", chart_label(column.name)),
        tooltip("low", "low"),
        tooltip("high", "high"),
    ]


def colours(labels: Sequence[str], field: str = "group", title: str = "") -> alt.Color:
    """Return a colour for each label, with a legend if there are several."""
    kinds = list(dict.fromkeys(chart_label(label) for label in labels))
    hues = [COLOURS[i % len(COLOURS)] for i in range(len(kinds))]
    shown = legend(title) if len(kinds) > 1 else None
    return alt.Color(f"{field}:N", sort=None, scale=alt.Scale(domain=kinds, range=hues), legend=shown)


def legend(title: str, number_format: str | None = None) -> alt.Legend:
    """Return a legend with its title."""
    return alt.Legend(
        title=chart_label(title) or None,
        format=number_format if number_format is not None else alt.Undefined,
        labelFontSize=12,
        labelColor=INK,
        titleFontSize=13,
        titleFontWeight="normal",
        titleColor=INK,
    )


def bar_marks(base: alt.Chart) -> alt.Chart:
    """Return bars in the one colour of a chart without a legend."""
    bars: alt.Chart = base.mark_bar(color=BLUE, opacity=0.55)
    return bars


def dot_marks(base: alt.Chart) -> alt.Chart:
    """Return points in the one colour of a chart without a legend."""
    dots: alt.Chart = base.mark_point(filled=True, size=55, color=BLUE, opacity=1)
    return dots


def whiskers(
    line: alt.Chart, ends: Sequence[alt.Chart], *, upright: bool = True, colour: str | None = INK, size: float = 9
) -> list[alt.Chart]:
    """Return the line of a whisker and the strokes of a size at its ends; in one colour, or in those of the chart."""
    paint = alt.Undefined if colour is None else colour
    across: Literal["horizontal", "vertical"] = "horizontal" if upright else "vertical"
    return [
        line.mark_rule(strokeWidth=1.5, color=paint),
        *(end.mark_tick(orient=across, size=size, thickness=1.5, opacity=1, color=paint) for end in ends),
    ]
