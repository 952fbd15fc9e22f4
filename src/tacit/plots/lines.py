"""Charts of lines: curves by name, a band between two bounds, and steps down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from tacit.arrays import Floats
from tacit.errors import InvalidError, show
from tacit.plots.frame import (
    AXIS,
    BLUE,
    COLOURS,
    HEIGHT,
    INK,
    LARGEST,
    LEAST,
    MOST_ROWS,
    WIDTH,
    Axis,
    Drawing,
    Numbers,
    Row,
    alt,
    as_rows,
    decades,
    framed,
    heading,
    inline,
    points,
    read,
    require,
    require_probability,
    short,
    span,
    thin,
    tooltip,
)
from tacit.safe_text import chart_label

Curves: TypeAlias = dict[str, tuple[Floats, Floats]]

_BROAD = "tight"
_LABEL_GAP = 15 / HEIGHT


def privacy_curve(epsilons: Numbers, lower: Numbers, upper: Numbers) -> alt.LayerChart:
    """Draw δ(ε): a band between its bounds and a line at the upper one, which is the one to rely on.

    δ is on a log scale. The scale ends where it is only certain that δ is less; the subtitle names the ε from which
    this holds. If only the lower bound is 0, the band reaches down to the axis.

    >>> chart = privacy_curve([0.5, 1, 2], [1e-3, 1e-5, 0], [2e-3, 2e-5, 1e-9])
    >>> chart.to_dict()["layer"][1]["encoding"]["y"]["scale"]["type"]
    'log'

    Args:
        epsilons: ε, in any order.
        lower: δ(ε) is at least this.
        upper: δ(ε) is at most this.
    """
    x, low, high = read({"epsilons": epsilons, "lower": lower, "upper": upper})
    require(((x >= 0) & (x < LARGEST)).all(), "epsilons must be finite numbers ≥ 0.", "epsilons")
    ordered = (low >= 0) & (low <= high) & (high <= 1)
    require(ordered.all(), "The bounds must satisfy 0 ≤ lower ≤ upper ≤ 1.", "lower")
    visible, certain = high > LEAST, high[low > LEAST]
    least = certain.min() / 1e3 if certain.size else 0.0  # far below it, only the looseness of the bounds shows
    across = Axis("epsilon", "ε", *span(x))
    up = Axis("upper", "δ", *decades(high[visible & (high >= least)]), log=True)
    under = x[high < up.low]
    note = f" δ < {short(up.low)} from ε = {short(under.min())} on." if under.size else ""
    subtitle = f"The true δ is in the band; the line is the bound to rely on.{note}"
    rows = as_rows(thin({"epsilon": x[visible], "lower": low[visible], "upper": high[visible]}, MOST_ROWS))
    return framed(rows, _band(len(rows), across, up), "Privacy curve δ(ε)", subtitle)


def _band(count: int, across: Axis, up: Axis) -> list[alt.Chart]:
    base = alt.Chart().encode(x=across.x(), y=up.y())
    # A log scale has no zero: there the band ends at the bottom of the frame.
    footed = base.transform_calculate(foot=f"min(datum.upper, max(datum.lower, {up.low}))")
    tips = [across.tooltip(), tooltip("lower", "δ at least"), tooltip("upper", "δ at most")]
    return [
        footed.mark_area(color=BLUE, opacity=0.3, clip=True).encode(y2="foot:Q"),
        base.mark_line(color=BLUE, strokeWidth=2, clip=True),
        points(base.transform_filter(alt.datum.upper >= up.low), count).encode(color=alt.value(BLUE), tooltip=tips),
    ]


def epsilon_by_count(counts: Numbers, by_rule: Mapping[str, Numbers], *, delta: float | None = None) -> alt.LayerChart:
    """Draw ε against the number of parts, a line for each rule, both on log scales; the rule "tight" is drawn broad.

    Infinite and zero values are left out; the subtitle names a rule that has no other values.

    >>> chart = epsilon_by_count([1, 10, 100], {"basic": [0.1, 1, 10], "tight": [0.1, 0.8, 3.1]}, delta=1e-6)
    >>> chart.to_dict()["title"]["subtitle"]
    'All at δ = 1e-6.'

    Args:
        counts: the numbers of parts k.
        by_rule: ε at each of them, by the name of the rule.
        delta: the common δ, named in the subtitle.
    """
    if delta is not None:
        require_probability(delta, "delta")
    curves = read_curves(("counts", counts), ("by_rule", by_rule), log=True)
    across = Axis("parts", "number of parts k", *span(curve_values(curves, 0), log=True), log=True)
    up = Axis("epsilon", "ε", *decades(curve_values(curves, 1)), log=True)
    notes = [] if delta is None else [f"All at δ = {short(delta)}."]
    notes += missing_lines(by_rule, curves)
    return framed(*named_lines(curves, "rule", across, up), "ε against the number of parts", " ".join(notes))


def moments(orders: Numbers, by_name: Mapping[str, Numbers]) -> alt.LayerChart:
    """Draw ln m(α) = ln E[e^(αL)] against α, a line for each mechanism: the lower, the smaller its privacy loss L.

    ln m(α) = α·D(α+1) with D the Rényi divergence, so at most ρα(α+1) under ρ-zCDP. Infinite values are left out.

    >>> chart = moments([1, 2, 3], {"ρ = 1/2": [1, 3, 6]})
    >>> chart.data.to_dict()["values"][1]
    {'order': 2.0, 'log_moment': 3.0, 'mechanism': 'ρ = 1/2'}

    Args:
        orders: the orders α.
        by_name: ln E[e^(αL)] at each of them, by the name of the mechanism.
    """
    curves = read_curves(("orders", orders), ("by_name", by_name), log=False)
    across = Axis("order", "order α", *span(curve_values(curves, 0)))
    up = Axis("log_moment", "ln E[e^(αL)]", *span(np.append(curve_values(curves, 1) * 1.05, 0.0)))
    notes = ["Lower is more private.", *missing_lines(by_name, curves)]
    return framed(*named_lines(curves, "mechanism", across, up), "Moments of the privacy loss L", " ".join(notes))


def variances(at: Numbers, by_protocol: Mapping[str, Numbers], *, across: str, title: str) -> alt.LayerChart:
    """Draw variances on log scales, a line for each protocol: the lower, the better.

    >>> chart = variances([1, 2], {"GRR": [4, 1], "OUE": [3, 1.5]}, across="ε", title="d = 10")
    >>> chart.to_dict()["title"]["text"]
    'd = 10'

    Args:
        at: the positions at which they are compared, all above 0.
        by_protocol: the variances at these positions, by the name of the protocol.
        across: the title of the horizontal axis.
        title: the title of the chart.
    """
    curves = read_curves(("at", at), ("by_protocol", by_protocol), log=True)
    x = Axis("at", across, *span(curve_values(curves, 0), log=True), log=True)
    y = Axis("variance", "variance of a count, for each person", *decades(curve_values(curves, 1)), log=True)
    notes = ["Lower is better.", *missing_lines(by_protocol, curves)]
    return framed(*named_lines(curves, "protocol", x, y), title, " ".join(notes))


def risk_before_after(before: Sequence[tuple[float, float]], after: Sequence[tuple[float, float]]) -> alt.LayerChart:
    """Draw the share of rows that can be named with at least a given chance, before and after, both on log scales.

    >>> risk_before_after([(1.0, 5), (0.5, 5)], [(0.2, 10)]).to_dict()["title"]["text"]
    'Risk of being named'

    Args:
        before: pairs of a chance and the number of rows that have it.
        after: the same for the published table.
    """
    curves: Curves = {}
    for name, pairs in (("before", before), ("after", after)):
        chance, number = read({"chance": [x for x, _ in pairs], "rows": [x for _, x in pairs]})
        order = np.argsort(chance)
        if order.size:
            curves[name] = chance[order], np.cumsum(number[order][::-1])[::-1] / number.sum()
    require(bool(curves), "The tables have no rows.", "before")
    across = Axis("chance", "chance of being named", *span(curve_values(curves, 0), log=True), log=True)
    up = Axis("share", "share of rows with at least that chance", *decades(curve_values(curves, 1)), log=True)
    subtitle = "Lower is safer; k bounds the chance by 1/k."
    return framed(*named_lines(curves, "table", across, up), "Risk of being named", subtitle)


def loss_by_k(ks: Numbers, by_method: Mapping[str, Numbers]) -> alt.LayerChart:
    """Draw the loss against k, a line for each method.

    >>> loss_by_k([2, 5, 10], {"local": [0.05, 0.06, 0.1]}).to_dict()["title"]["text"]
    'Loss against k'

    Args:
        ks: the values of k.
        by_method: the loss at each of them, by the name of the method.
    """
    curves = read_curves(("ks", ks), ("by_method", by_method), log=False)
    across = Axis("k", "k", *span(curve_values(curves, 0), log=True), log=True)
    up = Axis("loss", "loss", *span(np.append(curve_values(curves, 1) * 1.05, 0.0)))
    return framed(*named_lines(curves, "method", across, up), "Loss against k", "Lower is more useful.")


def error_by_reach(
    reaches: Numbers,
    by_part: Mapping[str, Numbers],
    *,
    best: int | None = None,
    titles: tuple[str, str] = ("reach: the most rows of one unit that count", "mean error of a group, in rows"),
) -> alt.LayerChart:
    """Draw the expected error of a group against the reach on log scales: the noise, the cut, and both.

    >>> lines = {"noise": [1, 2], "cut": [5, 1], "both": [6, 3]}
    >>> error_by_reach([1, 2], lines, best=2).to_dict()["title"]["text"]
    'Error against the reach'

    Args:
        reaches: the reaches.
        by_part: the mean error of a group at each of them, by the part that it comes from.
        best: the reach that errs least, to be marked.
        titles: those of the two axes.
    """
    curves = read_curves(("reaches", reaches), ("by_part", by_part), log=True)
    across = Axis("reach", titles[0], *span(curve_values(curves, 0), log=True), log=True)
    up = Axis("error", titles[1], *decades(curve_values(curves, 1)), log=True)
    rows, layers = named_lines(curves, "part", across, up, broad="both")
    if best is not None:
        right = best * best > across.low * across.high  # of the middle, on a log scale
        mark = alt.Chart(inline([{"reach": float(best), "label": f"recommended: {best:,}"}])).encode(x=across.x())
        text = mark.mark_text(align="right" if right else "left", dx=-6 if right else 6, fontSize=13, color=INK)
        layers += [
            mark.mark_rule(color=INK, strokeDash=[5, 4], strokeWidth=1.5),
            text.encode(y=alt.value(8), text="label:N"),
        ]
    note = "A small reach cuts, a large one needs noise. A line ends where its error is 0 or not known."
    return framed(rows, layers, "Error against the reach", note)


def burn_down(left: Numbers, names: Sequence[str], *, unit: str) -> alt.LayerChart:
    """Draw what is left of a budget after each query, as steps down.

    >>> burn_down([1, 0.5], ["", "ann"], unit="ε").to_dict()["title"]["text"]
    'What is left of the budget'

    Args:
        left: the budget at first and after each query.
        names: the analyst of each query, "" for nobody.
        unit: the symbol of the budget: ε or ρ.
    """
    (values,) = read({"left": left})
    message = f"names has {len(names)} texts, but left has {values.size} numbers."
    require(len(names) == values.size, message, "names")
    rows: list[Row] = [
        {"question": float(index), "left": values[index], "analyst": names[index] or "–"}
        for index in range(values.size)
    ][:: max(1, values.size // MOST_ROWS)]
    across = alt.X("question:Q", axis=AXIS | {"title": "number of queries", "tickMinStep": 1})
    up = alt.Y("left:Q", axis=AXIS | {"title": f"{unit} left"}, scale=alt.Scale(zero=True))
    tips = [tooltip("question", "query"), tooltip("left", f"{unit} left"), alt.Tooltip("analyst:N")]
    area = alt.Chart().mark_area(interpolate="step-after", color=BLUE, opacity=0.2)
    line = alt.Chart().mark_line(interpolate="step-after", color=BLUE, point=values.size < 60)  # noqa: PLR2004 - more dots would touch
    layers = [chart.encode(x=across, y=up, tooltip=tips) for chart in (area, line)]
    layered = alt.LayerChart(layer=layers, data=inline(rows))
    drawn: alt.LayerChart = layered.properties(width=WIDTH, title=heading("What is left of the budget"))
    return drawn


def named_lines(curves: Curves, kind: str, across: Axis, up: Axis, broad: str = _BROAD) -> Drawing:
    """Draw named lines, each with its name at its end; the one named `broad` is broad and behind the others."""
    others = [name for name in curves if name != broad]
    from_back = sorted(
        curves, key=lambda name: name != broad
    )  # the broad line must not hide a line that agrees with it
    columns = {name: {across.field: curves[name][0], up.field: curves[name][1]} for name in from_back}
    rows = [row for name, both in columns.items() for row in as_rows(both, **{kind: name})]
    hues = [COLOURS[i % len(COLOURS)] for i in range(len(others))]
    scale = alt.Scale(domain=[broad, *map(chart_label, others)], range=[INK, *hues])
    colour = alt.Color(f"{kind}:N", scale=scale, legend=None)
    tips = [alt.Tooltip(f"{kind}:N"), across.tooltip(), up.tooltip()]
    base = alt.Chart().encode(x=across.x(), y=up.y(), color=colour)
    ends = alt.Chart(inline(_labels(curves, kind, across, up)))
    return rows, [
        base.transform_filter(alt.datum[kind] == broad).mark_line(strokeWidth=6),
        base.transform_filter(alt.datum[kind] != broad).mark_line(strokeWidth=2),
        points(base, max(x.size for x, _ in curves.values())).encode(tooltip=tips),
        ends.mark_text(align="left", dx=8, fontSize=13, fontWeight="bold").encode(
            x=across.x(), y=up.y(), text=f"{kind}:N", color=colour
        ),
    ]


def _labels(curves: Curves, kind: str, across: Axis, up: Axis) -> list[Row]:
    """Return the position of each line's name: at its end, moved up or down if names would overlap."""
    ends = sorted((y[-1], x[-1], name) for name, (x, y) in curves.items())
    raised = _LABEL_GAP * np.arange(len(ends))
    lifted = _rising(up.share(np.array([y for y, _, _ in ends])) - raised) + raised
    names = np.array([name for _, _, name in ends])
    return as_rows({across.field: np.array([x for _, x, _ in ends]), up.field: up.value(lifted), kind: names})


def _rising(values: Floats) -> Floats:
    """Return the nearest sequence that never falls, by least squares: max over a ≤ i of min over b ≥ i of mean(a…b)."""
    sums, count = np.append(0.0, np.cumsum(values)), values.size
    means = [[(sums[b] - sums[a]) / (b - a) for b in range(a + 1, count + 1)] for a in range(count)]
    return np.array([max(min(means[a][i - a :]) for a in range(i + 1)) for i in range(count)])


def read_curves(x: tuple[str, Numbers], by_name: tuple[str, object], *, log: bool) -> Curves:
    """Read named lines: sorted, thinned, without values that the scale cannot show, and without empty lines."""
    (x_name, across), (y_name, lines) = x, by_name
    if not isinstance(lines, Mapping) or not lines:
        message = f"{y_name} must map at least one name to numbers, not {show(lines)}."
        raise InvalidError(message, argument=y_name)
    curves: Curves = {}
    for name, values in lines.items():
        at, up = read({x_name: across, f"{y_name}[{name!r}]": values})
        visible = (np.minimum(at, up) > (LEAST if log else -LARGEST)) & (np.maximum(at, up) < LARGEST)
        if visible.any():
            thinned = thin({"x": at[visible], "y": up[visible]}, max(2, MOST_ROWS // len(lines)))
            curves[name] = thinned["x"], thinned["y"]
    needed = "finite and above 0" if log else "finite"
    require(len(curves) > 0, f"{y_name} has no numbers that are {needed}, so the chart would be empty.", y_name)
    return curves


def missing_lines(lines: Mapping[str, Numbers], curves: Curves) -> list[str]:
    """Return a sentence that names the lines without finite values, if there are any."""
    names = ", ".join(name for name in lines if name not in curves)
    return [f"Nothing finite to draw for {names}."] if names else []


def curve_values(curves: Curves, axis: Literal[0, 1]) -> Floats:
    """Return the values of all lines on one axis."""
    return np.concatenate([curve[axis] for curve in curves.values()])
