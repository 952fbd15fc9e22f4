"""Charts of answers: values with their intervals, in the form that fits the groups.

| function | groups | form |
|---|---|---|
| `by_group` | names, or no groups | a row for each group; bars from 0 for counts and sums, points for other values |
| `over_time` | times, perhaps with names | points on an axis of time, joined by lines, a colour for each name |
| `by_bin` | bins or whole numbers, in order | upright bars |
| `heat_map` | two kinds of names | a field for each pair, darker for larger values |
| `side_by_side` | two kinds of names, few of the second | bars side by side, a colour for each second name |
| `on_one_axis` | names; several columns of one scale, such as quantiles | a point of another colour for each column |

A whisker is a line from the low to the high end with a stroke at each end, so that a short one can be seen too. Every
chart has a description for people who do not see it: Vega-Lite writes it into the SVG as the label of the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TypeAlias

from tacit.plots.frame import AXIS, HEIGHT, INK, TITLE_ON_TOP, WIDTH, Row, alt, heading, inline, tooltip
from tacit.plots.marks import (
    FIELDS,
    NUMBER,
    NoisyColumn,
    bar_marks,
    colours,
    dot_marks,
    legend,
    tooltips,
    value_axis,
    whiskers,
)
from tacit.safe_text import chart_label

AnswerChart: TypeAlias = "alt.LayerChart | alt.ConcatChart"

_LETTERS, _LARGE_LETTERS, _MOST_LINES, _TITLE_SIZE = 100, 80, 5, 15
_MOST_TEXTS, _MOST_FIELDS, _DESCRIBED, _MOST_WHISKERS = 60, 100, 12, 90
_WHISKER, _BAND = "Each whisker is", "The band is"
_DARK_FROM = 0.55
"""The share of the largest value from which a field of a heat map is so dark that its text is white."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """The words around the chart of an answer.

    `title` is the query and `cost` its price. `confidence` is None if the values have no intervals. `note` says what
    the intervals mean if they do not hold one by one. `lines` are further sentences, such as what the values leave out.
    `warnings` are reasons to doubt the values; with one of them the title is red.
    """

    title: str
    cost: str
    confidence: float | None
    note: str | None = None
    lines: Sequence[str] = ()
    warnings: Sequence[str] = ()

    def heading(self, marks: str = _WHISKER) -> alt.TitleParams:
        """Return the title and the subtitle, wrapped; `marks` names what shows the intervals."""
        doubts = [line for text in self.warnings for line in wrap(f"WARNING: {text}", _LARGE_LETTERS)]
        lines, cost = wrap(self.title, _LARGE_LETTERS) or ["Released values"], f" · {self.cost}"
        if len(lines) > _MOST_LINES:
            last = wrap(lines[_MOST_LINES - 1], _LARGE_LETTERS - len(cost) - 2)[0]
            lines = [*lines[: _MOST_LINES - 1], f"{last} …"]
        fits = len(lines[-1] + cost) <= _LARGE_LETTERS
        lines[-1:] = [lines[-1] + cost] if fits else [lines[-1], self.cost]
        return heading([*lines, *doubts], self._subtitle(marks), alarming=bool(doubts), size=_TITLE_SIZE)

    def _subtitle(self, marks: str) -> list[str]:
        lines = [self.note] if self.note else []
        if self.confidence is not None:
            interval = f"a {100 * self.confidence:.6g}% interval" if self.note is None else "an interval"
            lines = [f"{marks} {interval} of the value in the bounded data.", *lines]
        return [line for text in [*lines, *self.lines] for line in wrap(text, _LETTERS)]


def by_group(
    labels: Sequence[str], columns: Sequence[NoisyColumn], caption: Caption, *, group: str = ""
) -> AnswerChart:
    """Draw a row for each group, a panel for each column.

    >>> column = NoisyColumn(name="n", values=[3, 4], low=[1, 2], high=[5, 6], from_zero=True)
    >>> chart = by_group(["a", "b"], [column], Caption(title="SELECT 1", cost="ε = 1", confidence=0.95))
    >>> chart.to_dict()["description"]
    'SELECT 1. n: a 3 (1 to 5), b 4 (2 to 6).'

    Args:
        labels: the group of each value.
        columns: the columns.
        caption: the words around the chart.
        group: the title of the axis of groups.
    """
    wide = WIDTH if len(columns) == 1 else WIDTH // 2
    panels = [_group_panel(labels, column, group).properties(width=wide) for column in columns]
    return _titled(panels, labels, columns, caption, across=2)


def _group_panel(labels: Sequence[str], column: NoisyColumn, group: str) -> alt.LayerChart:
    rows = column.rows(group=labels)
    down = alt.Y("group:N", sort=None, axis=AXIS | {"title": chart_label(group) or None, "labelLimit": 240})
    value, low, high = (alt.X(f"{field}:Q", scale=column.scale, axis=value_axis(column)) for field in FIELDS)
    base = alt.Chart().encode(y=down, tooltip=tooltips(column, "group"))
    layers = [bar_marks(base.encode(x=value)) if column.from_zero else dot_marks(base.encode(x=value))]
    if any(row["low"] != row["high"] for row in rows):
        wide = base if column.from_zero else base.transform_filter("datum.low < datum.high")
        layers += whiskers(wide.encode(x=low, x2="high:Q"), [wide.encode(x=low), wide.encode(x=high)], upright=False)
    if column.from_zero and len(rows) <= _MOST_TEXTS:
        right = [row | {"end": max(row["high"], row["value"], 0.0), "text": f"{row['value']:,.6g}"} for row in rows]
        texts = alt.Chart(inline(right)).encode(x="end:Q", y=down, text="text:N")
        layers.append(texts.mark_text(align="left", dx=7, fontSize=12, color=INK))
    return alt.LayerChart(layer=layers, data=inline(rows))


def over_time(
    times: Sequence[str], labels: Sequence[str], columns: Sequence[NoisyColumn], caption: Caption, *, time: str = ""
) -> AnswerChart:
    """Draw values on an axis of time, joined by lines, a colour for each label, a panel for each column.

    >>> column = NoisyColumn(name="n", values=[3, 4], low=[1, 2], high=[5, 6], from_zero=True)
    >>> text = Caption(title="SELECT 1", cost="ε = 1", confidence=0.95)
    >>> over_time(["2026-01-01", "2026-02-01"], ["", ""], [column], text, time="month").to_dict()["description"]
    'SELECT 1. n: 2026-01-01 3 (1 to 5), 2026-02-01 4 (2 to 6).'

    Args:
        times: the date or timestamp of each value, as ISO 8601 writes it, in UTC.
        labels: the other groups of each value; empty texts if there are no others.
        columns: the columns.
        caption: the words around the chart.
        time: the title of the axis of time.
    """
    dense = len(set(times)) > _MOST_WHISKERS
    panels = [_time_panel(times, labels, column, time, dense=dense) for column in columns]
    described = [" ".join(filter(None, pair)) for pair in zip(times, labels, strict=True)]
    return _titled(panels, described, columns, caption, across=1, marks=_BAND if dense else _WHISKER)


def _time_panel(
    times: Sequence[str], labels: Sequence[str], column: NoisyColumn, time: str, *, dense: bool
) -> alt.LayerChart:
    """Return a panel over time; if it is dense, a band takes the place of the whiskers."""
    rows = column.rows(time=times, group=labels)
    across = alt.X("time:T", axis=AXIS | {"title": chart_label(time) or None}, scale=alt.Scale(type="utc"))
    value, low, high = (
        alt.Y(f"{field}:Q", scale=column.scale, axis=value_axis(column) | TITLE_ON_TOP) for field in FIELDS
    )
    tips = [
        alt.Tooltip("utcyearmonthdatehoursminutes(time):T", title=chart_label(time) or "time"),
        *tooltips(column, "group"),
    ]
    base = alt.Chart().encode(x=across, color=colours(labels), tooltip=tips)
    between, line = base.encode(y=low, y2="high:Q"), base.encode(y=value)
    if dense:
        layers = [between.mark_area(opacity=0.25), line.mark_line(strokeWidth=1.5)]
    else:
        layers = [
            line.mark_line(strokeWidth=1.5, opacity=0.6),
            line.mark_point(filled=True, size=45, opacity=1),
            *whiskers(between, [base.encode(y=low), base.encode(y=high)], colour=None),
        ]
    panel: alt.LayerChart = alt.LayerChart(layer=layers, data=inline(rows))
    return panel.properties(width=WIDTH, height=HEIGHT * 3 // 4)


def by_bin(
    bins: Sequence[str], columns: Sequence[NoisyColumn], caption: Caption, *, bin_title: str = ""
) -> AnswerChart:
    """Draw an upright bar for each bin, in the given order, a panel for each column.

    >>> column = NoisyColumn(name="n", values=[3, 4], low=[1, 2], high=[5, 6], from_zero=True)
    >>> chart = by_bin(["[0, 5)", "[5, 9]"], [column], Caption(title="SELECT 1", cost="ε = 1", confidence=0.95))
    >>> chart.to_dict()["layer"][0]["mark"]["type"]
    'bar'

    Args:
        bins: the bin of each value.
        columns: the columns.
        caption: the words around the chart.
        bin_title: the title of the axis of bins.
    """
    panels = [_bin_panel(bins, column, bin_title) for column in columns]
    return _titled(panels, bins, columns, caption, across=1)


def _bin_panel(bins: Sequence[str], column: NoisyColumn, bin_title: str) -> alt.LayerChart:
    rows = column.rows(group=bins)
    band = alt.Scale(paddingInner=0.04, paddingOuter=0.04)
    across = alt.X(
        "group:N",
        sort=None,
        scale=band,
        axis=AXIS | {"title": chart_label(bin_title) or None, "labelAngle": -35, "labelOverlap": True},
    )
    value, low, high = (
        alt.Y(f"{field}:Q", scale=column.scale, axis=value_axis(column) | TITLE_ON_TOP) for field in FIELDS
    )
    base = alt.Chart().encode(x=across, tooltip=tooltips(column, "group"))
    ends = [base.encode(y=low), base.encode(y=high)]
    first = bar_marks(base.encode(y=value)) if column.from_zero else dot_marks(base.encode(y=value))
    size = min(9.0, 0.7 * WIDTH / max(1, len(rows)))
    layers = [first, *whiskers(base.encode(y=low, y2="high:Q"), ends, size=size)]
    panel: alt.LayerChart = alt.LayerChart(layer=layers, data=inline(rows))
    return panel.properties(width=WIDTH, height=HEIGHT * 3 // 4)


def heat_map(
    pairs: Sequence[tuple[str, str]],
    columns: Sequence[NoisyColumn],
    caption: Caption,
    *,
    titles: tuple[str, str] = ("", ""),
) -> AnswerChart:
    """Draw a field for each pair of groups, darker for larger values, with the value and half its interval as text.

    >>> column = NoisyColumn(name="n", values=[3, 4], low=[1, 2], high=[5, 6], from_zero=True)
    >>> text = Caption(title="SELECT 1", cost="ε = 1", confidence=0.95)
    >>> heat_map([("a", "x"), ("b", "x")], [column], text).to_dict()["layer"][0]["mark"]["type"]
    'rect'

    Args:
        pairs: the two groups of each value; the first is drawn downward, the second across.
        columns: the columns.
        caption: the words around the chart.
        titles: those of the axes of the first and the second groups.
    """
    panels = [_heat_panel(pairs, column, titles) for column in columns]
    labels = [f"{a}, {b}" for a, b in pairs]
    return _titled(panels, labels, columns, caption, across=1, marks="± is half the width of")


def _heat_panel(pairs: Sequence[tuple[str, str]], column: NoisyColumn, titles: tuple[str, str]) -> alt.LayerChart:
    rows = column.rows(first=[a for a, _ in pairs], second=[b for _, b in pairs])
    rows = [row | {"text": f"{row['value']:,.4g} ± {_half(row):,.2g}"} for row in rows]
    down = alt.Y("first:N", sort=None, axis=AXIS | {"title": chart_label(titles[0]) or None, "labelLimit": 200})
    across = alt.X("second:N", sort=None, axis=AXIS | {"title": chart_label(titles[1]) or None, "labelAngle": -35})
    shade = alt.Color(
        "value:Q", scale=alt.Scale(scheme="blues", zero=column.from_zero), legend=legend(column.name, NUMBER)
    )
    base = alt.Chart().encode(x=across, y=down, tooltip=tooltips(column, "first", "second"))
    layers = [base.mark_rect(stroke="white").encode(color=shade)]
    if len(rows) <= _MOST_FIELDS:
        values = [float(row["value"]) for row in rows]
        least = 0.0 if column.from_zero else min(values, default=0.0)
        dark = least + _DARK_FROM * (max(values, default=0.0) - least)
        ink = alt.condition(alt.datum.value > dark, alt.value("white"), alt.value(INK))
        layers.append(base.mark_text(fontSize=11).encode(text="text:N", color=ink))
    panel: alt.LayerChart = alt.LayerChart(layer=layers, data=inline(rows))
    return panel.properties(width=max(WIDTH, 70 * len({b for _, b in pairs})) if len(rows) <= _MOST_FIELDS else WIDTH)


def _half(row: Row) -> float:
    return (float(row["high"]) - float(row["low"])) / 2


def side_by_side(
    pairs: Sequence[tuple[str, str]],
    columns: Sequence[NoisyColumn],
    caption: Caption,
    *,
    titles: tuple[str, str] = ("", ""),
) -> AnswerChart:
    """Draw bars side by side: first groups downward, a bar of another colour for each second group.

    >>> column = NoisyColumn(name="n", values=[3, 4], low=[1, 2], high=[5, 6], from_zero=True)
    >>> text = Caption(title="SELECT 1", cost="ε = 1", confidence=0.95)
    >>> side_by_side([("a", "x"), ("a", "y")], [column], text).to_dict()["layer"][0]["encoding"]["yOffset"]["field"]
    'second'

    Args:
        pairs: the two groups of each value.
        columns: the columns.
        caption: the words around the chart.
        titles: those of the axis of the first groups and of the legend.
    """
    panels = [_paired_panel(pairs, column, titles) for column in columns]
    return _titled(panels, [f"{a}, {b}" for a, b in pairs], columns, caption, across=1)


def _paired_panel(pairs: Sequence[tuple[str, str]], column: NoisyColumn, titles: tuple[str, str]) -> alt.LayerChart:
    rows = column.rows(first=[a for a, _ in pairs], second=[b for _, b in pairs])
    down = alt.Y("first:N", sort=None, axis=AXIS | {"title": chart_label(titles[0]) or None, "labelLimit": 240})
    beside = alt.YOffset("second:N", sort=None)
    value, low, high = (alt.X(f"{field}:Q", scale=column.scale, axis=value_axis(column)) for field in FIELDS)
    base = alt.Chart().encode(y=down, yOffset=beside, tooltip=tooltips(column, "first", "second"))
    colour = colours([b for _, b in pairs], field="second", title=titles[1])
    ends = [base.encode(x=low), base.encode(x=high)]
    first = bar_marks(base.encode(x=value)) if column.from_zero else dot_marks(base.encode(x=value))
    layers = [first.encode(color=colour), *whiskers(base.encode(x=low, x2="high:Q"), ends, upright=False)]
    panel: alt.LayerChart = alt.LayerChart(layer=layers, data=inline(rows))
    return panel.properties(width=WIDTH)


def on_one_axis(
    labels: Sequence[str], columns: Sequence[NoisyColumn], caption: Caption, *, group: str = ""
) -> AnswerChart:
    """Draw columns of one scale on one axis, such as several quantiles: points of a colour for each column.

    >>> low, high = (NoisyColumn(name=n, values=[v], low=[v - 1], high=[v + 1]) for n, v in (("q10", 3), ("q90", 8)))
    >>> chart = on_one_axis([""], [low, high], Caption(title="SELECT 1", cost="ε = 1", confidence=0.95))
    >>> chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"]
    ['q10', 'q90']

    Args:
        labels: the group of each value.
        columns: the columns.
        caption: the words around the chart.
        group: the title of the axis of groups.
    """
    rows = [row for column in columns for row in column.rows(group=labels)]
    names = [column.name for column in columns]
    down = alt.Y("group:N", sort=None, axis=AXIS | {"title": chart_label(group) or None, "labelLimit": 240})
    beside = alt.YOffset("column:N", sort=None)
    scale = alt.Scale(zero=False)
    value, low, high = (
        alt.X(f"{field}:Q", scale=scale, axis=AXIS | {"title": None, "format": NUMBER}) for field in FIELDS
    )
    tips = [alt.Tooltip("group:N"), alt.Tooltip("column:N"), *(tooltip(field, field) for field in FIELDS)]
    base = alt.Chart().encode(y=down, yOffset=beside, color=colours(names, field="column"), tooltip=tips)
    ends = [base.encode(x=low), base.encode(x=high)]
    layers = [
        base.encode(x=value).mark_point(filled=True, size=60, opacity=1),
        *whiskers(base.encode(x=low, x2="high:Q"), ends, upright=False, colour=None),
    ]
    panel: alt.LayerChart = alt.LayerChart(layer=layers, data=inline(rows))
    return _titled([panel.properties(width=WIDTH)], labels, columns, caption, across=1)


def _titled(
    panels: Sequence[alt.LayerChart],
    labels: Sequence[str],
    columns: Sequence[NoisyColumn],
    caption: Caption,
    *,
    across: int,
    marks: str = _WHISKER,
) -> AnswerChart:
    """Return the panels as one chart, with its heading and its description."""
    parts = {"title": caption.heading(marks), "description": _description(labels, columns, caption)}
    if len(panels) == 1:
        single: alt.LayerChart = panels[0].properties(**parts)
        return single
    several: alt.ConcatChart = (
        alt.concat(*panels, columns=across).properties(**parts).resolve_scale(color="independent")
    )
    return several


def _description(labels: Sequence[str], columns: Sequence[NoisyColumn], caption: Caption) -> str:
    """Return the title and the first values of each column, for people who do not see the chart."""
    parts = [caption.title]
    for column in columns:
        rows = column.rows(label=labels)
        said = [f"{row['label']} {_reading(row)}".strip() for row in rows[:_DESCRIBED]]
        more = f", and {len(rows) - _DESCRIBED:,} more" if len(rows) > _DESCRIBED else ""
        parts.append(f"{column.name}: {', '.join(said)}{more}")
    return chart_label(". ".join(parts) + ".")


def _reading(row: Row) -> str:
    value, low, high = (f"{row[field]:,.6g}" for field in FIELDS)
    return value if low == high else f"{value} ({low} to {high})"
