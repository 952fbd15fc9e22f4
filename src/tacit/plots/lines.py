"""Lines by name, each with its name at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from tacit.arrays import Floats
from tacit.errors import InvalidError, show
from tacit.plots.axes import Measure, decades, span
from tacit.plots.frame import COLOURS, HEIGHT, INK, Drawing, framed, inline, points
from tacit.plots.loading import alt
from tacit.plots.reading import LARGEST, LEAST, MOST_ROWS, Numbers, Row, as_rows, between, read, require, say, thin
from tacit.safe_text import chart_label

Curves: TypeAlias = dict[str, tuple[Floats, Floats]]

_BROAD = "tight"
_LABEL_GAP = 15 / HEIGHT


def epsilon_by_count(counts: Numbers, by_rule: Mapping[str, Numbers], *, delta: float | None = None) -> alt.LayerChart:
    """Draw ε against the number of uses, a line for each rule, both on log scales; the rule "tight" is drawn broad.

    What is infinite or zero is left out; a rule without any other value is named in the subtitle.

    >>> chart = epsilon_by_count([1, 10, 100], {"basic": [0.1, 1, 10], "tight": [0.1, 0.8, 3.1]}, delta=1e-6)
    >>> chart.to_dict()["title"]["subtitle"]
    'All at δ = 1e-6.'

    Args:
        counts: the numbers of uses k.
        by_rule: ε at each of them, by the name of the rule.
        delta: the δ that all of them are for, to be named in the subtitle.
    """
    if delta is not None:
        require(between(0, delta, 1), "delta", show(delta), "from 0 to 1")
    curves = _curves(("counts", counts), ("by_rule", by_rule), log=True)
    across = Measure("uses", "number of uses k", *span(_all(curves, 0), log=True), log=True)
    up = Measure("epsilon", "ε", *decades(_all(curves, 1)), log=True)
    notes = [] if delta is None else [f"All at δ = {say(delta)}."]
    notes += _missing(by_rule, curves)
    return framed(*_lines(curves, "rule", across, up), "ε against the number of uses", " ".join(notes))


def moments(orders: Numbers, by_name: Mapping[str, Numbers]) -> alt.LayerChart:
    """Draw ln m(α) = ln E[e^(αL)] against α, a line for each mechanism: the lower, the smaller its privacy loss L.

    ln m(α) = α·D(α+1) with D the Rényi divergence, so at most ρα(α+1) under ρ-zCDP. What is infinite is left out.

    >>> chart = moments([1, 2, 3], {"ρ = 1/2": [1, 3, 6]})
    >>> chart.data.to_dict()["values"][1]
    {'order': 2.0, 'log_moment': 3.0, 'mechanism': 'ρ = 1/2'}

    Args:
        orders: the orders α.
        by_name: ln E[e^(αL)] at each of them, by the name of the mechanism.
    """
    curves = _curves(("orders", orders), ("by_name", by_name), log=False)
    across = Measure("order", "order α", *span(_all(curves, 0)))
    up = Measure("log_moment", "ln E[e^(αL)]", *span(np.append(_all(curves, 1) * 1.05, 0.0)))
    notes = ["Lower is more private.", *_missing(by_name, curves)]
    return framed(*_lines(curves, "mechanism", across, up), "Moments of the privacy loss L", " ".join(notes))


def variances(at: Numbers, by_protocol: Mapping[str, Numbers], *, across: str, title: str) -> alt.LayerChart:
    """Draw variances on log scales, a line for each protocol: the lower, the better.

    >>> chart = variances([1, 2], {"GRR": [4, 1], "OUE": [3, 1.5]}, across="ε", title="d = 10")
    >>> chart.to_dict()["title"]["text"]
    'd = 10'

    Args:
        at: where they are compared, all above 0.
        by_protocol: the variances there, by the name of the protocol.
        across: what `at` is.
        title: of the chart.
    """
    curves = _curves(("at", at), ("by_protocol", by_protocol), log=True)
    x = Measure("at", across, *span(_all(curves, 0), log=True), log=True)
    y = Measure("variance", "variance of a count, for each person", *decades(_all(curves, 1)), log=True)
    notes = ["Lower is better.", *_missing(by_protocol, curves)]
    return framed(*_lines(curves, "protocol", x, y), title, " ".join(notes))


def risk_before_after(before: Sequence[tuple[float, float]], after: Sequence[tuple[float, float]]) -> alt.LayerChart:
    """Draw which part of rows can be named with at least a given chance, before and after, both on log scales.

    >>> risk_before_after([(1.0, 5), (0.5, 5)], [(0.2, 10)]).to_dict()["title"]["text"]
    'Risk of being named'

    Args:
        before: pairs of a chance and how many rows have it.
        after: the same of the published table.
    """
    curves: Curves = {}
    for name, pairs in (("before", before), ("after", after)):
        chance, many = read({"chance": [x for x, _ in pairs], "rows": [x for _, x in pairs]})
        order = np.argsort(chance)
        if order.size:
            curves[name] = chance[order], np.cumsum(many[order][::-1])[::-1] / many.sum()
    require(bool(curves), "the tables", "no row", "at least one row")
    across = Measure("chance", "chance of being named", *span(_all(curves, 0), log=True), log=True)
    up = Measure("share", "share of rows with at least that chance", *decades(_all(curves, 1)), log=True)
    subtitle = "Lower is safer; k bounds the chance by 1/k."
    return framed(*_lines(curves, "table", across, up), "Risk of being named", subtitle)


def loss_by_k(ks: Numbers, by_method: Mapping[str, Numbers]) -> alt.LayerChart:
    """Draw the loss against k, a line for each method.

    >>> loss_by_k([2, 5, 10], {"local": [0.05, 0.06, 0.1]}).to_dict()["title"]["text"]
    'Loss against k'

    Args:
        ks: the values of k.
        by_method: the loss at each of them, by the name of the method.
    """
    curves = _curves(("ks", ks), ("by_method", by_method), log=False)
    across = Measure("k", "k", *span(_all(curves, 0), log=True), log=True)
    up = Measure("loss", "loss", *span(np.append(_all(curves, 1) * 1.05, 0.0)))
    return framed(*_lines(curves, "method", across, up), "Loss against k", "Lower is more useful.")


def _lines(curves: Curves, kind: str, across: Measure, up: Measure) -> Drawing:
    """Draw named lines, each with its name at its end; one named "tight" in broad ink behind the others."""
    others = [name for name in curves if name != _BROAD]
    from_back = sorted(curves, key=lambda name: name != _BROAD)  # so that the broad line hides none that agrees with it
    columns = {name: {across.field: curves[name][0], up.field: curves[name][1]} for name in from_back}
    rows = [row for name, both in columns.items() for row in as_rows(both, **{kind: name})]
    hues = [COLOURS[i % len(COLOURS)] for i in range(len(others))]
    scale = alt.Scale(domain=[_BROAD, *map(chart_label, others)], range=[INK, *hues])
    colour = alt.Color(f"{kind}:N", scale=scale, legend=None)
    tips = [alt.Tooltip(f"{kind}:N"), across.tooltip(), up.tooltip()]
    base = alt.Chart().encode(x=across.x(), y=up.y(), color=colour)
    ends = alt.Chart(inline(_labels(curves, kind, across, up)))
    return rows, [
        base.transform_filter(alt.datum[kind] == _BROAD).mark_line(strokeWidth=6),
        base.transform_filter(alt.datum[kind] != _BROAD).mark_line(strokeWidth=2),
        points(base, max(x.size for x, _ in curves.values())).encode(tooltip=tips),
        ends.mark_text(align="left", dx=8, fontSize=13, fontWeight="bold").encode(
            x=across.x(), y=up.y(), text=f"{kind}:N", color=colour
        ),
    ]


def _labels(curves: Curves, kind: str, across: Measure, up: Measure) -> list[Row]:
    """Return where each line's name stands: at its end, moved up or down where names would overlap."""
    ends = sorted((y[-1], x[-1], name) for name, (x, y) in curves.items())
    raised = _LABEL_GAP * np.arange(len(ends))
    lifted = _rising(up.place(np.array([y for y, _, _ in ends])) - raised) + raised
    names = np.array([name for _, _, name in ends])
    return as_rows({across.field: np.array([x for _, x, _ in ends]), up.field: up.value(lifted), kind: names})


def _rising(values: Floats) -> Floats:
    """Return the nearest sequence that never falls, by least squares: max over a ≤ i of min over b ≥ i of mean(a…b)."""
    sums, count = np.append(0.0, np.cumsum(values)), values.size
    means = [[(sums[b] - sums[a]) / (b - a) for b in range(a + 1, count + 1)] for a in range(count)]
    return np.array([max(min(means[a][i - a :]) for a in range(i + 1)) for i in range(count)])


def _curves(x: tuple[str, Numbers], by_name: tuple[str, object], *, log: bool) -> Curves:
    """Read named lines: sorted, thinned, without what the scale cannot show, and without those that have nothing."""
    (x_name, across), (y_name, given) = x, by_name
    if not isinstance(given, Mapping) or not given:
        raise InvalidError(y_name, show(given), "numbers by name, at least one")
    curves: Curves = {}
    for name, values in given.items():
        at, up = read({x_name: across, f"{y_name}[{name!r}]": values})
        seen = (np.minimum(at, up) > (LEAST if log else -LARGEST)) & (np.maximum(at, up) < LARGEST)
        if seen.any():
            thinned = thin({"x": at[seen], "y": up[seen]}, max(2, MOST_ROWS // len(given)))
            curves[name] = thinned["x"], thinned["y"]
    require(len(curves) > 0, y_name, "none", "numbers that the scale can show: finite" + " and above 0" * log)
    return curves


def _missing(given: Mapping[str, Numbers], curves: Curves) -> list[str]:
    names = ", ".join(name for name in given if name not in curves)
    return [f"Nothing finite to draw for {names}."] if names else []


def _all(curves: Curves, axis: Literal[0, 1]) -> Floats:
    return np.concatenate([curve[axis] for curve in curves.values()])
