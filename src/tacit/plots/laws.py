"""Charts of probability laws: bars and a line, two neighbours with the band of e^ε, chances by label, and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from tacit.arrays import Floats
from tacit.plots.frame import (
    AXIS,
    BLUE,
    INK,
    LARGEST,
    MOST_ROWS,
    VERMILION,
    WIDTH,
    Axis,
    Numbers,
    Row,
    alt,
    as_rows,
    between,
    decades,
    framed,
    heading,
    inline,
    read,
    require,
    span,
    thin,
    tooltip,
)
from tacit.plots.lines import curve_values, missing_lines, named_lines, read_curves
from tacit.plots.marks import NUMBER, legend
from tacit.safe_text import chart_label

_MIDDLE = 0.5
_MOST_POINTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartText:
    """The texts of a chart: title, lines below it, the two axes, and a description for people who do not see it."""

    title: str
    notes: tuple[str, ...] = ()
    across: str
    up: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A vertical rule with its label, at a position of the horizontal axis."""

    at: float
    label: str


def bars_and_line(
    edges: tuple[Numbers, Numbers],
    heights: Numbers,
    line: tuple[Numbers, Numbers],
    names: tuple[str, str],
    text: ChartText,
) -> alt.LayerChart:
    """Draw bars and a line over them: two laws, or a histogram and a law.

    >>> text = ChartText(title="Noise", across="noise", up="probability", description="One bar.")
    >>> chart = bars_and_line(([-1], [1]), [0.5], ([-1, 1], [0.4, 0.4]), ("exact", "continuous"), text)
    >>> chart.to_dict()["description"]
    'One bar.'

    Args:
        edges: the left and the right ends of the bars.
        heights: their heights.
        line: the horizontal and the vertical positions of the line.
        names: of the bars and of the line, for the legend.
        text: the texts.
    """
    left, right, height = read({"left": edges[0], "right": edges[1], "heights": heights})
    x, y = read({"line x": line[0], "line y": line[1]})
    curve = thin({"left": x, "height": y}, MOST_ROWS // 2)
    across = Axis("left", text.across, *span(np.concatenate((left, right))))
    up = Axis("height", text.up, 0.0, span(np.append(np.concatenate((height, y)) * 1.08, 0.0))[1])
    colour = _colour(names, (BLUE, VERMILION))
    rows = as_rows({"left": left, "right": right, "height": height}, part=names[0])
    tips = [tooltip("left", "from"), tooltip("right", "to"), tooltip("height", text.up)]
    bars = alt.Chart().mark_bar(opacity=0.6, clip=True).encode(x=across.x(), x2="right:Q", y=up.y(), y2=alt.datum(0))
    drawn = alt.Chart(inline(as_rows(curve, part=names[1]))).mark_line(strokeWidth=2, clip=True)
    layers = [
        bars.encode(color=colour, tooltip=tips),
        drawn.encode(x=across.x(), y=up.y(), color=colour, tooltip=[across.tooltip(), up.tooltip()]),
    ]
    return _described(framed(rows, layers, text.title, list(text.notes)), text)


def two_laws(
    x: Numbers, by_name: Mapping[str, Numbers], *, epsilon: float | None, mark: Mark, text: ChartText
) -> alt.LayerChart:
    """Draw the laws of two neighbours, the band of e^±ε around the second one, and a mark where their ratio is stated.

    >>> text = ChartText(title="Two", across="z", up="probability", description="Two laws.")
    >>> laws = {"x": [0.4, 0.2], "x′": [0.2, 0.4]}
    >>> two_laws([0, 1], laws, epsilon=1.0, mark=Mark(at=0.5, label="1"), text=text).to_dict()["description"]
    'Two laws.'

    Args:
        x: the outputs.
        by_name: their probabilities under two neighbours, by the names of these.
        epsilon: ε of the band; None for no band.
        mark: the output with its ratio.
        text: the texts.
    """
    require(len(by_name) == 2, "by_name must hold two laws.", "by_name")  # noqa: PLR2004 - two neighbours
    require(epsilon is None or between(0, epsilon, LARGEST), "epsilon must be a finite number ≥ 0.", "epsilon")
    (names, laws) = zip(*by_name.items(), strict=True)
    at, first, second = read({"x": x, "the first law": laws[0], "the second law": laws[1]})
    curves = thin({"x": at, "first": first, "second": second}, MOST_ROWS // 3)
    across = Axis("x", text.across, *span(at))
    top = float(np.maximum(first, second).max()) * 1.15
    up = Axis("height", text.up, 0.0, top)
    colour = _colour(names, (BLUE, VERMILION))
    layers = [] if epsilon is None else [_band(curves, exp(min(epsilon, 700.0)), across, up)]
    rows: list[Row] = []
    for name, field in zip(names, ("first", "second"), strict=True):
        rows += as_rows({"x": curves["x"], "height": curves[field]}, part=name)
    base = alt.Chart().encode(x=across.x(), y=up.y(), color=colour, tooltip=[across.tooltip(), up.tooltip()])
    layers.append(base.mark_line(strokeWidth=2, clip=True, point=curves["x"].size <= _MOST_POINTS))
    return _described(framed(rows, layers + _mark(mark, across), text.title, list(text.notes)), text)


def _band(curves: Mapping[str, Floats], factor: float, across: Axis, up: Axis) -> alt.Chart:
    """Return the area between e^-ε and e^ε times the second law, cut at the top of the frame."""
    low, high = curves["second"] / factor, np.minimum(curves["second"] * factor, up.high)
    rows = as_rows({"x": curves["x"], "height": np.minimum(low, up.high), "most": high})
    area: alt.Chart = alt.Chart(inline(rows)).mark_area(color="#888888", opacity=0.22, clip=True)
    drawn: alt.Chart = area.encode(x=across.x(), y=up.y(), y2="most:Q")
    return drawn


def _mark(mark: Mark, across: Axis) -> list[alt.Chart]:
    """Return a dashed rule and its label, on the side of the frame that has more room."""
    right = float(across.share(np.array([mark.at]))[0]) > _MIDDLE
    base = alt.Chart(inline([{across.field: mark.at, "label": mark.label}])).encode(x=across.x())
    text = base.mark_text(align="right" if right else "left", dx=-6 if right else 6, fontSize=13, color=INK)
    return [
        base.mark_rule(color=INK, strokeDash=[5, 4], strokeWidth=1.5),
        text.encode(y=alt.value(8), text="label:N"),
    ]


def chances(
    labels: Sequence[str],
    by_name: Mapping[str, Numbers],
    text: ChartText,
    *,
    bounds: tuple[Numbers, Numbers] | None = None,
) -> alt.LayerChart:
    """Draw probabilities by label, bars side by side for each name, with the range that each of the first may have.

    >>> text = ChartText(title="A choice", across="probability", up="", description="Two candidates.")
    >>> chances(["a", "b"], {"law": [0.7, 0.3]}, text).to_dict()["description"]
    'Two candidates.'

    Args:
        labels: the candidates.
        by_name: the probabilities of the candidates, by name.
        text: the texts.
        bounds: the least and the largest probability of each candidate under the first name.
    """
    rows: list[Row] = []
    for name, values in by_name.items():
        (value,) = read({name: values})
        message = f"labels has {len(labels)} texts, but {name} has {value.size} numbers."
        require(len(labels) == value.size, message, "labels")
        rows += as_rows({"chance": value, "group": np.array(labels, dtype=np.str_)}, part=name)
    names = list(by_name)
    down = alt.Y("group:N", sort=None, axis=AXIS | {"title": None, "labelLimit": 240})
    axis = AXIS | {"title": text.across, "format": NUMBER}
    scale = alt.Scale(domain=[0.0, 1.0] if bounds is None else [0.0, _top(rows, bounds)], nice=False)
    colour = _colour(names, (BLUE, VERMILION))
    side = alt.YOffset("part:N", sort=[chart_label(name) for name in names])
    tips = [alt.Tooltip("group:N"), alt.Tooltip("part:N"), tooltip("chance", "probability")]
    bars = alt.Chart().mark_bar(opacity=0.75, clip=True).encode(y=down, yOffset=side, color=colour, tooltip=tips)
    layers = [bars.encode(x=alt.X("chance:Q", axis=axis, scale=scale))]
    if bounds is not None:
        low, high = read({"low": bounds[0], "high": bounds[1]})
        ranges = as_rows({"low": low, "high": high, "group": np.array(labels, dtype=np.str_)}, part=names[0])
        layers.append(_ranges(ranges, down, side, alt.X("low:Q", axis=axis, scale=scale)))
    drawn: alt.LayerChart = alt.LayerChart(layer=layers, data=inline(rows))
    height = max(60, 18 * (len(names) + 1) * len(labels))
    top = heading(text.title, list(text.notes), grouped=True)
    return _described(drawn.properties(width=WIDTH, height=height, title=top), text)


def _top(rows: list[Row], bounds: tuple[Numbers, Numbers]) -> float:
    """Return the end of the axis: beyond the bars, and beyond a bound that is below 1."""
    largest = max(float(row["chance"]) for row in rows)
    return min(1.0, max(1.1 * largest, min(1.1 * float(np.max(np.asarray(bounds[1]))), 2 * largest)))


def _ranges(rows: list[Row], down: alt.Y, side: alt.YOffset, across: alt.X) -> alt.Chart:
    """Return thin grey bars from `low` to `high` over the bars of the first name."""
    tips = [alt.Tooltip("group:N"), tooltip("low", "at least"), tooltip("high", "at most")]
    bar = alt.Chart(inline(rows)).mark_bar(color="#888888", opacity=0.6, height=6, clip=True)
    drawn: alt.Chart = bar.encode(x=across, x2="high:Q", y=down, yOffset=side, tooltip=tips)
    return drawn


def curves(
    at: Numbers, by_name: Mapping[str, Numbers], text: ChartText, *, log: bool = False, mark: Mark | None = None
) -> alt.LayerChart:
    """Draw named lines, on linear or log scales, with a mark at one position.

    >>> text = ChartText(title="Bounds", across="ε", up="factor", description="Two lines.")
    >>> curves([0, 1], {"1+ε": [1, 2], "e^ε": [1, 2.72]}, text).to_dict()["description"]
    'Two lines.'

    Args:
        at: the horizontal positions.
        by_name: the vertical positions, by the name of the line.
        text: the texts.
        log: whether both scales are logarithmic.
        mark: a vertical rule.
    """
    lines = read_curves(("at", at), ("by_name", by_name), log=log)
    across = Axis("at", text.across, *span(curve_values(lines, 0), log=log), log=log)
    values = curve_values(lines, 1)
    ends = decades(values) if log else span(np.append(values * 1.05, 0.0))
    up = Axis("value", text.up, *ends, log=log)
    rows, layers = named_lines(lines, "line", across, up)
    if len(rows) > _MOST_POINTS:  # fewer invisible points that carry tooltips: each makes a picture larger
        layers[2] = layers[2].properties(data=inline(rows[:: len(rows) // _MOST_POINTS]))
    notes = [*text.notes, *missing_lines(by_name, lines)]
    marks = [] if mark is None else _mark(mark, across)
    return _described(framed(rows, [*layers, *marks], text.title, notes), text)


def _colour(names: Sequence[str], hues: Sequence[str]) -> alt.Color:
    """Return a colour for each name, with a legend at the top if there are several."""
    labels = [chart_label(name) for name in names]
    shown = legend("") if len(labels) > 1 else None
    if shown is not None:
        shown.orient, shown.direction = "bottom", "horizontal"
    return alt.Color("part:N", scale=alt.Scale(domain=labels, range=list(hues[: len(labels)])), legend=shown, sort=None)


def _described(chart: alt.LayerChart, text: ChartText) -> alt.LayerChart:
    drawn: alt.LayerChart = chart.properties(description=chart_label(text.description))
    return drawn
