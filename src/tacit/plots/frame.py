"""What every chart shares: the size, the colours, the frame."""

from __future__ import annotations

from typing import TypeAlias

from tacit.plots.loading import alt
from tacit.plots.reading import Row
from tacit.safe_text import chart_label

Drawing: TypeAlias = tuple[list[Row], "list[alt.Chart]"]

WIDTH, HEIGHT = 560, 320
_MOST_DOTS = 25

# Okabe and Ito's colours, which the colour-blind can tell apart, and a violet; yellow is too pale on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#777777", "#6A3D9A")
BLUE, VERMILION = COLOURS[:2]
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


def framed(rows: list[Row], layers: list[alt.Chart], title: str, subtitle: str) -> alt.LayerChart:
    """Return layers as one chart of the common size, with a heading; they share the rows."""
    heading = alt.TitleParams(
        text=chart_label(title),
        subtitle=chart_label(subtitle) or alt.Undefined,
        anchor="start",
        frame="group",
        offset=8,
        fontSize=17,
        color=INK,
        subtitleFontSize=13,
        subtitleColor="#555555",
        subtitlePadding=5,
    )
    frame = alt.ViewBackground(stroke=None)
    return alt.LayerChart(data=inline(rows), layer=layers, width=WIDTH, height=HEIGHT, title=heading, view=frame)


def inline(rows: list[Row]) -> alt.InlineData:
    """Return rows that the chart itself holds, their texts as labels."""
    labelled = [
        {name: chart_label(part) if isinstance(part, str) else part for name, part in row.items()} for row in rows
    ]
    return alt.InlineData(values=labelled)


def tooltip(field: str, title: str) -> alt.Tooltip:
    """Return the line of a tooltip that shows a field to six digits."""
    return alt.Tooltip(f"{field}:Q", title=title, format=".6~g")


def points(base: alt.Chart, count: int) -> alt.Chart:
    """Return the points that carry tooltips, seen only where they are few."""
    dots: alt.Chart = base.mark_point(filled=True, size=36, opacity=1.0 if count <= _MOST_DOTS else 0.0)
    return dots
