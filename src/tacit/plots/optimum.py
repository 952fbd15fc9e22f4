"""The chart of a variance against a constant of a protocol, with its least value marked."""

from __future__ import annotations

import numpy as np

from tacit.plots.frame import BLUE, INK, Axis, Numbers, alt, as_rows, decades, framed, inline, points, read, short, span


def variance_by_constant(
    at: Numbers, variances: Numbers, *, across: str, title: str, note: str, log: bool
) -> alt.LayerChart:
    """Draw variances against a constant of a protocol on a log scale, and mark the least.

    >>> chart = variance_by_constant([2, 4, 8], [4.7, 3.7, 4.4], across="g", title="OLH", note="ε = 1.", log=True)
    >>> chart.to_dict()["title"]["subtitle"]
    'ε = 1. The least variance is 3.7, at 4.'

    Args:
        at: the values of the constant.
        variances: the variance at each of them.
        across: the title of the horizontal axis.
        title: the title of the chart.
        note: the start of the subtitle.
        log: whether the horizontal axis has a log scale.
    """
    x, y = read({"at": at, "variances": variances})
    best = int(np.argmin(y))
    horizontal = Axis("at", across, *span(x, log=log), log=log)
    up = Axis("variance", "variance of a count, for each person", *decades(y), log=True)
    base = alt.Chart().encode(x=horizontal.x(), y=up.y(), color=alt.value(BLUE))
    right = bool((x < x[best]).mean() > 0.5)  # noqa: PLR2004 - the half with less room for the label
    label = inline([{"at": x[best], "variance": y[best], "label": f"least: {short(y[best])} at {short(x[best])}"}])
    mark = alt.Chart(label).encode(x=horizontal.x())
    text = mark.mark_text(align="right" if right else "left", dx=-6 if right else 6, fontSize=13, color=INK)
    layers = [
        base.mark_line(strokeWidth=2),
        points(base, x.size).encode(tooltip=[horizontal.tooltip(), up.tooltip()]),
        mark.mark_rule(color=INK, strokeDash=[5, 4], strokeWidth=1.5),
        text.encode(y=alt.value(8), text="label:N"),
    ]
    subtitle = f"{note} The least variance is {short(y[best])}, at {short(x[best])}."
    return framed(as_rows({"at": x, "variance": y}), layers, title, subtitle)
