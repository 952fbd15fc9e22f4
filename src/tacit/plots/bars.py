"""Bars: how many of each size."""

from __future__ import annotations

import numpy as np

from tacit.plots.frame import AXIS, BLUE, TITLE_ON_TOP, framed, tooltip
from tacit.plots.loading import alt
from tacit.plots.reading import Numbers, Row, read, require


def class_sizes(sizes: Numbers, rows_in: Numbers) -> alt.LayerChart:
    """Draw how many rows stand in classes of each size, sizes on a log scale.

    >>> class_sizes([5, 10], [50, 20]).to_dict()["title"]["text"]
    'Rows by the size of their class'

    Args:
        sizes: the sizes of classes.
        rows_in: the rows in classes of each size.
    """
    size, many = read({"sizes": sizes, "rows_in": rows_in})
    require(bool((size >= 1).all()), "sizes", "others", "numbers ≥ 1")
    edges = np.unique(np.geomspace(1, max(2.0, size.max(initial=1) + 1), 41).round())
    places = np.searchsorted(edges, size, side="right") - 1
    sums = np.bincount(places, weights=many, minlength=edges.size)
    rows: list[Row] = [
        {"low": edges[at], "high": edges[at + 1], "rows": sums[at]} for at in range(edges.size - 1) if sums[at] > 0
    ]
    across = alt.X("low:Q", scale=alt.Scale(type="log"), axis=AXIS | {"title": "rows in the class"})
    up = alt.Y("rows:Q", axis=AXIS | {"title": "rows"} | TITLE_ON_TOP)
    tips = [tooltip("low", "class size from"), tooltip("high", "to below"), tooltip("rows", "rows")]
    bars = alt.Chart().mark_rect(color=BLUE).encode(x=across, x2="high:Q", y=up, y2=alt.datum(0), tooltip=tips)
    return framed(rows, [bars], "Rows by the size of their class", "")
