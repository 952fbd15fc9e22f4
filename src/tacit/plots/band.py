"""A band between two bounds."""

from __future__ import annotations

from tacit.plots.axes import Measure, decades, span
from tacit.plots.frame import BLUE, framed, points, tooltip
from tacit.plots.loading import alt
from tacit.plots.reading import LARGEST, LEAST, MOST_ROWS, Numbers, as_rows, read, require, say, thin


def privacy_curve(epsilons: Numbers, lower: Numbers, upper: Numbers) -> alt.LayerChart:
    """Draw δ(ε): a band between its bounds and a line at the upper one, which is the one to rely on.

    δ is on a log scale, which ends where all that is certain is that δ is less; the subtitle says from which ε on.
    Where only the lower bound is 0, the band reaches down to the axis.

    >>> chart = privacy_curve([0.5, 1, 2], [1e-3, 1e-5, 0], [2e-3, 2e-5, 1e-9])
    >>> chart.to_dict()["layer"][1]["encoding"]["y"]["scale"]["type"]
    'log'

    Args:
        epsilons: ε, in any order.
        lower: δ(ε) is at least this.
        upper: δ(ε) is at most this.
    """
    x, low, high = read({"epsilons": epsilons, "lower": lower, "upper": upper})
    require(((x >= 0) & (x < LARGEST)).all(), "epsilons", "others", "finite numbers ≥ 0")
    require(((low >= 0) & (low <= high) & (high <= 1)).all(), "the bounds", "others", "0 ≤ lower ≤ upper ≤ 1")
    seen, certain = high > LEAST, high[low > LEAST]
    least = certain.min() / 1e3 if certain.size else 0.0  # far under it, nothing but the looseness of bounds is seen
    across = Measure("epsilon", "ε", *span(x))
    up = Measure("upper", "δ", *decades(high[seen & (high >= least)]), log=True)
    under = x[high < up.low]
    note = f" δ < {say(up.low)} from ε = {say(under.min())} on." if under.size else ""
    subtitle = f"The truth lies in the band; the line is the bound to rely on.{note}"
    rows = as_rows(thin({"epsilon": x[seen], "lower": low[seen], "upper": high[seen]}, MOST_ROWS))
    return framed(rows, _band(len(rows), across, up), "Privacy curve δ(ε)", subtitle)


def _band(count: int, across: Measure, up: Measure) -> list[alt.Chart]:
    base = alt.Chart().encode(x=across.x(), y=up.y())
    # A log scale has no place for zero: the band stands on the frame's foot there.
    footed = base.transform_calculate(foot=f"min(datum.upper, max(datum.lower, {up.low}))")
    tips = [across.tooltip(), tooltip("lower", "δ at least"), tooltip("upper", "δ at most")]
    return [
        footed.mark_area(color=BLUE, opacity=0.3, clip=True).encode(y2="foot:Q"),
        base.mark_line(color=BLUE, strokeWidth=2, clip=True),
        points(base.transform_filter(alt.datum.upper >= up.low), count).encode(color=alt.value(BLUE), tooltip=tips),
    ]
