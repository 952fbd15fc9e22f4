"""The chart of synthetic rows: the distance of each pair of columns from the truth, as a heat map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.plots.frame import AXIS, INK, Row, alt, framed, tooltip

_DARK_FROM, _MOST_FIELDS = 0.6, 225


def pair_distances(columns: Sequence[str], values: Mapping[tuple[str, str], float], subtitle: str) -> alt.LayerChart:
    """Draw the expected distance of each pair of columns, darker for larger ones.

    >>> pair_distances(["a", "b"], {("a", "b"): 0.02}, "").to_dict()["layer"][0]["mark"]["type"]
    'rect'

    Args:
        columns: the columns, in their order.
        values: the distance of each pair, from 0 to 1.
        subtitle: a line below the title.
    """
    rows: list[Row] = [
        {"first": one, "second": other, "value": value, "text": f"{value:.3f}"}
        for pair, value in values.items()
        for one, other in (pair, pair[::-1])
    ]
    order = [*columns]
    base = alt.Chart().encode(
        x=alt.X("second:N", sort=order, axis=AXIS | {"title": None, "labelAngle": -35}),
        y=alt.Y("first:N", sort=order, axis=AXIS | {"title": None, "labelLimit": 200}),
        tooltip=[alt.Tooltip("first:N"), alt.Tooltip("second:N"), tooltip("value", "expected distance")],
    )
    shade = alt.Color("value:Q", scale=alt.Scale(scheme="blues", zero=True), legend=None)
    layers = [base.mark_rect(stroke="white").encode(color=shade)]
    if len(rows) <= _MOST_FIELDS:
        dark = _DARK_FROM * max(values.values(), default=0.0)
        ink = alt.condition(alt.datum.value > dark, alt.value("white"), alt.value(INK))
        layers.append(base.mark_text(fontSize=11).encode(text="text:N", color=ink))
    return framed(rows, layers, "Expected distance of each pair of columns from the truth", subtitle)
