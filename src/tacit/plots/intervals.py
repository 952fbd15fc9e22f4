"""Values with their intervals: a point in a bar, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.plots.frame import AXIS, BLUE, WIDTH, inline, tooltip
from tacit.plots.loading import alt
from tacit.plots.reading import MOST_ROWS, Numbers, Row, as_rows, read, require, say
from tacit.safe_text import chart_label


def estimates(
    names: Sequence[str],
    labels: Sequence[str],
    values: Numbers,
    ends: Sequence[tuple[float, float]],
    *,
    confidence: float,
    note: str | None = None,
) -> alt.FacetChart:
    """Draw released values as points with their intervals as bars, one panel for each column of the answer.

    >>> chart = estimates(["n", "n"], ["a", "b"], [3, 4], [(1, 5), (2, 6)], confidence=0.95)
    >>> chart.to_dict()["title"]["subtitle"]
    'Bars hold the value of the bounded data with confidence 0.95 each.'

    Args:
        names: the column that each value belongs to.
        labels: the group that each value belongs to.
        values: the released values.
        ends: the low and the high end of each interval.
        confidence: of each interval, named in the subtitle.
        note: what the intervals mean, if they do not hold each for itself; a second line of the subtitle.
    """
    middle, low, high = read({"values": values, "ends": [x for x, _ in ends], "ends ": [x for _, x in ends]})
    require(len(names) == len(labels) == middle.size, "labels", f"a length of {len(labels)}", "as long as values")
    require(bool((low <= high).all()), "ends", "others", "low ≤ high")
    kept = [i for i in range(middle.size) if np.isfinite([middle[i], low[i], high[i]]).all()][:MOST_ROWS]
    rows: list[Row] = [
        {"column": names[i], "group": labels[i], "value": middle[i], "low": low[i], "high": high[i]} for i in kept
    ]
    groups = alt.Y("group:N", sort=None, axis=AXIS | {"title": None, "labelLimit": 240})
    across = alt.X("low:Q", axis=AXIS | {"title": None, "tickCount": 6}, scale=alt.Scale(zero=False))
    tips = [alt.Tooltip("group:N"), *(tooltip(field, field) for field in ("value", "low", "high"))]
    bars = (
        alt.Chart().mark_bar(height=6, color=BLUE, opacity=0.35).encode(x=across, x2="high:Q", y=groups, tooltip=tips)
    )
    dots = (
        alt.Chart().mark_point(filled=True, size=50, color=BLUE, opacity=1).encode(x="value:Q", y=groups, tooltip=tips)
    )
    panels = (
        alt.layer(bars, dots, data=inline(rows))
        .properties(width=WIDTH // 2)
        .facet(facet=alt.Facet("column:N", title=None, sort=None, header=alt.Header(labelFontSize=14)), columns=2)
    )
    held = f"Bars hold the value of the bounded data with confidence {say(confidence)}"
    heading = alt.TitleParams(
        text="Released values",
        subtitle=f"{held} each." if note is None else [f"{held}.", note],
        anchor="start",
        fontSize=17,
        subtitleFontSize=13,
        subtitleColor="#555555",
    )
    drawn: alt.FacetChart = panels.resolve_scale(x="independent").properties(title=heading)
    return drawn


def counts(
    labels: Sequence[str],
    values: Numbers,
    ends: Sequence[Numbers] | None,
    *,
    confidence: float,
    note: str = "",
) -> alt.LayerChart:
    """Draw estimated counts as points, in the order given, with their intervals as bars where there are any.

    >>> chart = counts(["tea", "water"], [310, 12], [[280, -5], [340, 29]], confidence=0.95, note="500 reports.")
    >>> chart.to_dict()["title"]["subtitle"]
    '500 reports. Bars hold the true count with confidence 0.95 each.'

    Args:
        labels: the values that were counted.
        values: the estimated counts.
        ends: the low and the high ends of their intervals, or None.
        confidence: of each interval, named in the subtitle.
        note: what else to say there.
    """
    low, high = (values, values) if ends is None else ends
    middle, least, most = read({"values": values, "low ends": low, "high ends": high})
    require(len(labels) == middle.size, "labels", f"a length of {len(labels)}", "as long as values")
    rows = as_rows({"count": middle, "low": least, "high": most, "value": np.array(labels, dtype=np.str_)})[:MOST_ROWS]
    upward = alt.Y("value:N", sort=None, axis=AXIS | {"title": None, "labelLimit": 240})
    scale = alt.Scale(zero=True)
    tips = [alt.Tooltip("value:N"), *(tooltip(field, field) for field in ("count", "low", "high"))]
    dots = alt.Chart().mark_point(filled=True, size=50, color=BLUE, opacity=1)
    layers = [dots.encode(x=alt.X("count:Q", axis=AXIS | {"title": "people"}, scale=scale), y=upward, tooltip=tips)]
    if ends is not None:
        bars = alt.Chart().mark_bar(height=6, color=BLUE, opacity=0.35)
        across = alt.X("low:Q", axis=AXIS | {"title": "people"}, scale=scale)
        layers.insert(0, bars.encode(x=across, x2="high:Q", y=upward, tooltip=tips))
        note = f"{note} Bars hold the true count with confidence {say(confidence)} each.".strip()
    heading = alt.TitleParams(
        text="Estimated counts",
        subtitle=chart_label(note),
        anchor="start",
        fontSize=17,
        subtitleFontSize=13,
        subtitleColor="#555555",
    )
    drawn: alt.LayerChart = alt.LayerChart(layer=layers, data=inline(rows)).properties(width=WIDTH, title=heading)
    return drawn
