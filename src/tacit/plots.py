"""Every chart, as Vega-Lite by altair, from plain arrays.

| function | the picture |
|---|---|
| `privacy_curve` | δ(ε) between its bounds |
| `epsilon_by_count` | ε against the number of uses, a line for each rule |
| `loss_law` | how likely each privacy loss is, and what lies beyond ε |
| `moments` | ln E[e^(αL)] against α, a line for each mechanism |
| `estimates` | released values with their intervals, a panel for each column |
| `class_sizes` | rows by the size of the class that they stand in |
| `risk_before_after` | rows whose risk is at least so much, before and after |
| `loss_by_k` | loss against k, a line for each method |
| `counts` | estimated counts with their intervals, one bar a value |
| `variances` | variances on log scales, a line for each protocol |

A chart holds the numbers it was given; more than 5,000 are thinned, curves by even picks, laws by sums. What a
scale cannot show (infinity, and zero where it counts in decades) is left out. Fonts and colours are set on the
parts, not as a configuration of the whole, so that charts can be put side by side: `left | right`.

altair is the extra `tacit[plot]`, loaded by the first chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import ceil, floor, inf, log10
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError, TacitError, show

if TYPE_CHECKING:
    import altair as alt
else:

    class _Altair:
        """Stands for the module until a chart is drawn: altair is an extra, and slow to import."""

        def __getattr__(self, name: str) -> object:
            try:
                return getattr(import_module("altair"), name)
            except ImportError as missing:
                raise TacitError(
                    "A chart needs the package altair, which is not installed; nothing was released or spent. "
                    'Install it with: pip install "tacit[plot]"'
                ) from missing

    alt = _Altair()

Floats: TypeAlias = npt.NDArray[np.float64]
Numbers: TypeAlias = Sequence[float] | npt.NDArray[np.floating | np.integer]
Row: TypeAlias = dict[str, float | str]
Columns: TypeAlias = Mapping[str, npt.NDArray[np.float64 | np.str_]]
Drawing: TypeAlias = tuple[list[Row], "list[alt.Chart]"]
Curves: TypeAlias = dict[str, tuple[Floats, Floats]]

_WIDTH, _HEIGHT = 560, 320
_MOST_ROWS, _MOST_DOTS, _MOST_STEPS, _BARS = 5_000, 25, 1e6, 140
_LEAST, _LARGEST = 1e-300, 1e300  # beyond these the decades of a log scale leave the floats
_LABEL_GAP = 15 / _HEIGHT

_BROAD = "tight"

# Okabe and Ito's colours, which the colour-blind can tell apart, and a violet; yellow is too pale on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#777777", "#6A3D9A")
_BLUE, _VERMILION = _COLOURS[:2]
_INK, _GREY, _PALE = "#222222", "#888888", "#E8E8E8"
_AXIS = {
    "labelFontSize": 12,
    "labelColor": _INK,
    "titleFontSize": 14,
    "titleFontWeight": "normal",
    "titleColor": _INK,
    "gridColor": _PALE,
    "domainColor": _GREY,
    "tickColor": _GREY,
}
_TITLE_ON_TOP = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -8}
_SHORT = "datum.value < 0.01 || datum.value >= 1e6 ? format(datum.value, '~e') : format(datum.value, ',~g')"


@dataclass(frozen=True, slots=True)
class _Measure:
    """What an axis shows: a field of the rows, its title, where it begins and ends, and whether by decades."""

    field: str
    title: str
    low: float
    high: float
    log: bool = False

    def place(self, values: Floats) -> Floats:
        """Return values as shares of the axis: 0 at its beginning, 1 at its end."""
        low, high = self._bend(np.array([self.low, self.high]))
        return np.asarray((self._bend(values) - low) / (high - low))

    def value(self, places: Floats) -> Floats:
        """Return the values at shares of the axis: the inverse of `place`."""
        low, high = self._bend(np.array([self.low, self.high]))
        at = low + places * (high - low)
        return np.asarray(10.0**at if self.log else at)

    def _bend(self, values: Floats) -> Floats:
        return np.log10(values) if self.log else values

    def scale(self) -> alt.Scale:
        """Return the scale, its ends fixed."""
        return alt.Scale(type="log" if self.log else "linear", domain=[self.low, self.high], nice=False, zero=False)

    def x(self) -> alt.X:
        """Return the channel across."""
        return alt.X(f"{self.field}:Q", scale=self.scale(), axis=self._axis())

    def y(self) -> alt.Y:
        """Return the channel upward."""
        return alt.Y(f"{self.field}:Q", scale=self.scale(), axis=self._axis() | _TITLE_ON_TOP)

    def _axis(self) -> dict[str, object]:
        ticks = {"values": _ticks(self.low, self.high), "labelExpr": _SHORT} if self.log else {"tickCount": 7}
        return {"title": self.title} | _AXIS | ticks

    def tooltip(self) -> alt.Tooltip:
        """Return the line of the tooltip."""
        return _tooltip(self.field, self.title)


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
    x, low, high = _columns({"epsilons": epsilons, "lower": lower, "upper": upper})
    _require(((x >= 0) & (x < _LARGEST)).all(), "epsilons", "others", "finite numbers ≥ 0")
    _require(((low >= 0) & (low <= high) & (high <= 1)).all(), "the bounds", "others", "0 ≤ lower ≤ upper ≤ 1")
    seen, certain = high > _LEAST, high[low > _LEAST]
    least = certain.min() / 1e3 if certain.size else 0.0  # far under it, nothing but the looseness of bounds is seen
    across = _Measure("epsilon", "ε", *_ends(x))
    up = _Measure("upper", "δ", *_log_ends(high[seen & (high >= least)]), log=True)
    under = x[high < up.low]
    note = f" δ < {_say(up.low)} from ε = {_say(under.min())} on." if under.size else ""
    subtitle = f"The truth lies in the band; the line is the bound to rely on.{note}"
    rows = _rows(_thin({"epsilon": x[seen], "lower": low[seen], "upper": high[seen]}, _MOST_ROWS))
    return _framed(rows, _band(len(rows), across, up), "Privacy curve δ(ε)", subtitle)


def _band(count: int, across: _Measure, up: _Measure) -> list[alt.Chart]:
    base = alt.Chart().encode(x=across.x(), y=up.y())
    # A log scale has no place for zero: the band stands on the frame's foot there.
    footed = base.transform_calculate(foot=f"min(datum.upper, max(datum.lower, {up.low}))")
    tips = [across.tooltip(), _tooltip("lower", "δ at least"), _tooltip("upper", "δ at most")]
    return [
        footed.mark_area(color=_BLUE, opacity=0.3, clip=True).encode(y2="foot:Q"),
        base.mark_line(color=_BLUE, strokeWidth=2, clip=True),
        _dots(base.transform_filter(alt.datum.upper >= up.low), count).encode(color=alt.value(_BLUE), tooltip=tips),
    ]


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
        _require(_between(0, delta, 1), "delta", show(delta), "from 0 to 1")
    curves = _curves(("counts", counts), ("by_rule", by_rule), log=True)
    across = _Measure("uses", "number of uses k", *_ends(_all(curves, 0), log=True), log=True)
    up = _Measure("epsilon", "ε", *_log_ends(_all(curves, 1)), log=True)
    notes = [] if delta is None else [f"All at δ = {_say(delta)}."]
    notes += _missing(by_rule, curves)
    return _framed(*_lines(curves, "rule", across, up), "ε against the number of uses", " ".join(notes))


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
    across = _Measure("order", "order α", *_ends(_all(curves, 0)))
    up = _Measure("log_moment", "ln E[e^(αL)]", *_ends(np.append(_all(curves, 1) * 1.05, 0.0)))
    notes = ["Lower is more private.", *_missing(by_name, curves)]
    return _framed(*_lines(curves, "mechanism", across, up), "Moments of the privacy loss L", " ".join(notes))


def loss_law(
    losses: Numbers, masses: Numbers, epsilon: float, delta: float, *, scale: Literal["log", "linear"] = "log"
) -> alt.LayerChart:
    """Draw how likely each privacy loss L is, with what lies beyond ε in another colour and a rule at ε.

    δ(ε) = E[(1 - e^(ε-L))₊] counts a loss beyond ε by how far beyond it is, so it is less than Pr[L > ε]. Losses that
    stand too close to be told apart are summed into bars with an edge at ε. What is too unlikely to be seen, far out
    on either side, stays in the data but outside the frame.

    >>> chart = loss_law([-1, 1, float("inf")], [0.268, 0.731, 0.001], epsilon=0.5, delta=0.289)
    >>> chart.to_dict()["title"]["subtitle"]
    'δ(0.5) = 0.289, Pr[L > 0.5] = 0.732, Pr[L = ∞] = 0.001'

    Args:
        losses: the values of L; infinity may be one of them.
        masses: their probabilities.
        epsilon: where the rule stands.
        delta: δ at that ε.
        scale: of the probabilities; on a linear one a small δ cannot be seen.
    """
    loss, mass = _columns({"losses": losses, "masses": masses})
    _require(_between(0, epsilon, _LARGEST), "epsilon", show(epsilon), "a finite number ≥ 0")
    _require(_between(0, delta, 1), "delta", show(delta), "from 0 to 1")
    _require(scale in ("log", "linear"), "scale", show(scale), "'log' or 'linear'")
    _require(((np.abs(loss) < _LARGEST) | (loss == inf)).all(), "losses", "others", "finite numbers or +∞")
    _require(((mass >= 0) & (mass < inf)).all(), "masses", "others", "finite numbers ≥ 0")
    at, endless = _say(epsilon), mass[loss == inf].sum()
    subtitle = f"δ({at}) = {_say(delta)}, Pr[L > {at}] = {_say(mass[loss > epsilon].sum())}"
    subtitle += f", Pr[L = ∞] = {_say(endless)}" if endless > delta / 1e6 else ""  # less is what truncation leaves
    drawn = np.isfinite(loss) & (mass > _LEAST)
    drawing = _law(loss[drawn], mass[drawn], float(epsilon), log=scale == "log")
    return _framed(*drawing, "Law of the privacy loss L", subtitle)


@dataclass(frozen=True, slots=True)
class _Bars:
    """Bars of one width, and the frame around those that can be seen."""

    middle: Floats
    mass: Floats
    width: float
    low: float
    high: float

    def heights(self, epsilon: float, *, log: bool) -> tuple[float, float]:
        """Return where the axis of their masses begins and ends: on a log scale, over three decades at least."""
        framed = (self.middle > self.low) & (self.middle < self.high)
        top = float(self.mass[framed].max(initial=0.0)) or 1.0
        if not log:
            return 0.0, 1.05 * top
        least = _least_seen(self.middle[framed], self.mass[framed], epsilon, log=log)
        return _log_ends(np.array([min(least or 1.0, top / 1e3), top]))


def _law(loss: Floats, mass: Floats, epsilon: float, *, log: bool) -> Drawing:
    bars = _bars(loss, mass, epsilon, log=log)
    half, part = bars.width / 2, np.where(bars.middle > epsilon, "beyond ε", "up to ε")
    rows = _rows({"left": bars.middle - half, "right": bars.middle + half, "mass": bars.mass, "part": part})
    across = _Measure("left", "privacy loss L", bars.low, bars.high)
    up = _Measure("mass", "probability", *bars.heights(epsilon, log=log), log=log)
    colour = alt.Scale(domain=["up to ε", "beyond ε"], range=[_BLUE, _VERMILION])
    histogram: alt.Chart = alt.Chart().mark_bar(clip=True)
    mark = alt.Chart(_inline([{"left": epsilon, "label": f"ε = {_say(epsilon)}"}])).encode(x=across.x())
    return rows, [
        histogram.encode(
            x=across.x(),
            x2="right:Q",
            y=up.y(),
            y2=alt.value(_HEIGHT),  # the frame's foot: a log scale has no zero to stand on
            color=alt.Color("part:N", scale=colour, legend=None),
            tooltip=[_tooltip("left", "L from"), _tooltip("right", "to"), up.tooltip()],
        ),
        mark.mark_rule(color=_INK, strokeDash=[5, 4], strokeWidth=1.5),
        mark.mark_text(align="left", dx=5, fontSize=13, color=_INK).encode(y=alt.value(8), text="label:N"),
    ]


def _bars(loss: Floats, mass: Floats, epsilon: float, *, log: bool) -> _Bars:
    """Return a bar for each loss, or, where they are too close, for each interval (ε + iw, ε + (i+1)w]."""
    loss, place = np.unique(loss, return_inverse=True)
    mass = np.bincount(place, mass, loss.size).astype(np.float64)
    seen = loss[mass >= _least_seen(loss, mass, epsilon, log=log)]
    low, high = _ends(np.append(seen, epsilon))
    finest, gaps = (high - low) / _BARS, np.diff(loss)
    gap = float(gaps.min(initial=inf))
    if gap >= finest and loss.size <= _MOST_ROWS:
        width = 0.9 * min(gap, 8 * finest)
        return _Bars(loss, mass, width, low - width, high + width)
    width = _whole(gaps, finest)
    index = _interval(loss, epsilon, width)
    first, last = _interval(np.array([low, high]), epsilon, width) + np.array([-2.0, 2.0])
    index = np.clip(index, first, last)  # the first and the last stand outside the frame, and hold all that does
    sums = np.bincount((index - first).astype(np.int64), mass).astype(np.float64)
    middle = epsilon + width * (first + np.arange(sums.size) + 0.5)
    return _Bars(middle[sums > 0], sums[sums > 0], width, low - width, high + width)


def _interval(loss: Floats, epsilon: float, width: float) -> Floats:
    """Return i for losses in (ε + iw, ε + (i+1)w]; one that stands at an edge but for rounding is below it."""
    return np.asarray(np.ceil((loss - epsilon) / width - 1e-9) - 1)


def _whole(gaps: Floats, width: float) -> float:
    """Round a width up so that each bar holds equally many points of a grid, if the gaps are those of one.

    An even number of steps, since the losses of symmetric noise often stand on every second point only.
    """
    step, widest = float(gaps.min()), float(gaps.max())
    if widest > _MOST_STEPS * step or not np.allclose(gaps / step, np.round(gaps / step), rtol=0, atol=1e-6):
        return width
    return 2 * step * ceil(width / (2 * step))


def _least_seen(loss: Floats, mass: Floats, epsilon: float, *, log: bool) -> float:
    """Return the least mass that the frame must show: on a log scale, the tail beyond ε down to a thousandth."""
    top = float(mass.max(initial=0.0))
    tail = float(mass[loss > epsilon].max(initial=0.0)) or top / 1e3
    return (tail if log else top) / 1e3


def estimates(
    names: Sequence[str],
    labels: Sequence[str],
    values: Numbers,
    ends: Sequence[tuple[float, float]],
    *,
    confidence: float,
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
    """
    middle, low, high = _columns({"values": values, "ends": [x for x, _ in ends], "ends ": [x for _, x in ends]})
    _require(len(names) == len(labels) == middle.size, "labels", f"a length of {len(labels)}", "as long as values")
    _require(bool((low <= high).all()), "ends", "others", "low ≤ high")
    kept = [i for i in range(middle.size) if np.isfinite([middle[i], low[i], high[i]]).all()][:_MOST_ROWS]
    rows: list[Row] = [
        {"column": names[i], "group": labels[i], "value": middle[i], "low": low[i], "high": high[i]} for i in kept
    ]
    groups = alt.Y("group:N", sort=None, axis=_AXIS | {"title": None, "labelLimit": 240})
    across = alt.X("low:Q", axis=_AXIS | {"title": None, "tickCount": 6}, scale=alt.Scale(zero=False))
    tips = [alt.Tooltip("group:N"), *(_tooltip(field, field) for field in ("value", "low", "high"))]
    bars = (
        alt.Chart().mark_bar(height=6, color=_BLUE, opacity=0.35).encode(x=across, x2="high:Q", y=groups, tooltip=tips)
    )
    dots = (
        alt.Chart().mark_point(filled=True, size=50, color=_BLUE, opacity=1).encode(x="value:Q", y=groups, tooltip=tips)
    )
    panels = (
        alt.layer(bars, dots, data=_inline(rows))
        .properties(width=_WIDTH // 2)
        .facet(facet=alt.Facet("column:N", title=None, sort=None, header=alt.Header(labelFontSize=14)), columns=2)
    )
    heading = alt.TitleParams(
        text="Released values",
        subtitle=f"Bars hold the value of the bounded data with confidence {_say(confidence)} each.",
        anchor="start",
        fontSize=17,
        subtitleFontSize=13,
        subtitleColor="#555555",
    )
    drawn: alt.FacetChart = panels.resolve_scale(x="independent").properties(title=heading)
    return drawn


def burn_down(left: Numbers, names: Sequence[str], *, unit: str) -> alt.LayerChart:
    """Draw what is left of a budget after each question, as steps down.

    >>> burn_down([1, 0.5], ["", "ann"], unit="ε").to_dict()["title"]["text"]
    'What is left of the budget'

    Args:
        left: what is left at first and after each question.
        names: who asked, "" for nobody.
        unit: of what: ε or ρ.
    """
    (values,) = _columns({"left": left})
    _require(len(names) == values.size, "names", f"a length of {len(names)}", "as long as left")
    rows: list[Row] = [
        {"question": float(place), "left": values[place], "analyst": names[place] or "–"}
        for place in range(values.size)
    ][:: max(1, values.size // _MOST_ROWS)]
    across = alt.X("question:Q", axis=_AXIS | {"title": "questions asked", "tickMinStep": 1})
    up = alt.Y("left:Q", axis=_AXIS | {"title": f"{unit} left"}, scale=alt.Scale(zero=True))
    tips = [_tooltip("question", "question"), _tooltip("left", f"{unit} left"), alt.Tooltip("analyst:N")]
    area = alt.Chart().mark_area(interpolate="step-after", color=_BLUE, opacity=0.2)
    line = alt.Chart().mark_line(interpolate="step-after", color=_BLUE, point=values.size < 60)  # noqa: PLR2004
    layers = [one.encode(x=across, y=up, tooltip=tips) for one in (area, line)]
    heading = alt.TitleParams(text="What is left of the budget", anchor="start", fontSize=17)
    layered = alt.LayerChart(layer=layers, data=_inline(rows))
    drawn: alt.LayerChart = layered.properties(width=_WIDTH, title=heading)
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
    middle, least, most = _columns({"values": values, "low ends": low, "high ends": high})
    _require(len(labels) == middle.size, "labels", f"a length of {len(labels)}", "as long as values")
    rows = _rows({"count": middle, "low": least, "high": most, "value": np.array(labels, dtype=np.str_)})[:_MOST_ROWS]
    upward = alt.Y("value:N", sort=None, axis=_AXIS | {"title": None, "labelLimit": 240})
    scale = alt.Scale(zero=True)
    tips = [alt.Tooltip("value:N"), *(_tooltip(field, field) for field in ("count", "low", "high"))]
    dots = alt.Chart().mark_point(filled=True, size=50, color=_BLUE, opacity=1)
    layers = [dots.encode(x=alt.X("count:Q", axis=_AXIS | {"title": "people"}, scale=scale), y=upward, tooltip=tips)]
    if ends is not None:
        bars = alt.Chart().mark_bar(height=6, color=_BLUE, opacity=0.35)
        across = alt.X("low:Q", axis=_AXIS | {"title": "people"}, scale=scale)
        layers.insert(0, bars.encode(x=across, x2="high:Q", y=upward, tooltip=tips))
        note = f"{note} Bars hold the true count with confidence {_say(confidence)} each.".strip()
    heading = alt.TitleParams(
        text="Estimated counts",
        subtitle=note,
        anchor="start",
        fontSize=17,
        subtitleFontSize=13,
        subtitleColor="#555555",
    )
    drawn: alt.LayerChart = alt.LayerChart(layer=layers, data=_inline(rows)).properties(width=_WIDTH, title=heading)
    return drawn


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
    x = _Measure("at", across, *_ends(_all(curves, 0), log=True), log=True)
    y = _Measure("variance", "variance of a count, for each person", *_log_ends(_all(curves, 1)), log=True)
    notes = ["Lower is better.", *_missing(by_protocol, curves)]
    return _framed(*_lines(curves, "protocol", x, y), title, " ".join(notes))


def class_sizes(sizes: Numbers, rows_in: Numbers) -> alt.LayerChart:
    """Draw how many rows stand in classes of each size, sizes on a log scale.

    >>> class_sizes([5, 10], [50, 20]).to_dict()["title"]["text"]
    'Rows by the size of their class'

    Args:
        sizes: the sizes of classes.
        rows_in: the rows in classes of each size.
    """
    size, many = _columns({"sizes": sizes, "rows_in": rows_in})
    _require(bool((size >= 1).all()), "sizes", "others", "numbers ≥ 1")
    edges = np.unique(np.geomspace(1, max(2.0, size.max(initial=1) + 1), 41).round())
    places = np.searchsorted(edges, size, side="right") - 1
    sums = np.bincount(places, weights=many, minlength=edges.size)
    rows: list[Row] = [
        {"low": edges[at], "high": edges[at + 1], "rows": sums[at]} for at in range(edges.size - 1) if sums[at] > 0
    ]
    across = alt.X("low:Q", scale=alt.Scale(type="log"), axis=_AXIS | {"title": "rows in the class"})
    up = alt.Y("rows:Q", axis=_AXIS | {"title": "rows"} | _TITLE_ON_TOP)
    tips = [_tooltip("low", "class size from"), _tooltip("high", "to below"), _tooltip("rows", "rows")]
    bars = alt.Chart().mark_rect(color=_BLUE).encode(x=across, x2="high:Q", y=up, y2=alt.datum(0), tooltip=tips)
    return _framed(rows, [bars], "Rows by the size of their class", "")


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
        chance, many = _columns({"chance": [x for x, _ in pairs], "rows": [x for _, x in pairs]})
        order = np.argsort(chance)
        if order.size:
            curves[name] = chance[order], np.cumsum(many[order][::-1])[::-1] / many.sum()
    _require(bool(curves), "the tables", "no row", "at least one row")
    across = _Measure("chance", "chance of being named", *_ends(_all(curves, 0), log=True), log=True)
    up = _Measure("share", "share of rows with at least that chance", *_log_ends(_all(curves, 1)), log=True)
    subtitle = "Lower is safer; k bounds the chance by 1/k."
    return _framed(*_lines(curves, "table", across, up), "Risk of being named", subtitle)


def loss_by_k(ks: Numbers, by_method: Mapping[str, Numbers]) -> alt.LayerChart:
    """Draw the loss against k, a line for each method.

    >>> loss_by_k([2, 5, 10], {"local": [0.05, 0.06, 0.1]}).to_dict()["title"]["text"]
    'Loss against k'

    Args:
        ks: the values of k.
        by_method: the loss at each of them, by the name of the method.
    """
    curves = _curves(("ks", ks), ("by_method", by_method), log=False)
    across = _Measure("k", "k", *_ends(_all(curves, 0), log=True), log=True)
    up = _Measure("loss", "loss", *_ends(np.append(_all(curves, 1) * 1.05, 0.0)))
    return _framed(*_lines(curves, "method", across, up), "Loss against k", "Lower is more useful.")


def _lines(curves: Curves, kind: str, across: _Measure, up: _Measure) -> Drawing:
    """Draw named lines, each with its name at its end; one named "tight" in broad ink behind the others."""
    others = [name for name in curves if name != _BROAD]
    from_back = sorted(curves, key=lambda name: name != _BROAD)  # so that the broad line hides none that agrees with it
    columns = {name: {across.field: curves[name][0], up.field: curves[name][1]} for name in from_back}
    rows = [row for name, both in columns.items() for row in _rows(both, **{kind: name})]
    hues = [_COLOURS[i % len(_COLOURS)] for i in range(len(others))]
    scale = alt.Scale(domain=[_BROAD, *others], range=[_INK, *hues])
    colour = alt.Color(f"{kind}:N", scale=scale, legend=None)
    tips = [alt.Tooltip(f"{kind}:N"), across.tooltip(), up.tooltip()]
    base = alt.Chart().encode(x=across.x(), y=up.y(), color=colour)
    ends = alt.Chart(_inline(_labels(curves, kind, across, up)))
    return rows, [
        base.transform_filter(alt.datum[kind] == _BROAD).mark_line(strokeWidth=6),
        base.transform_filter(alt.datum[kind] != _BROAD).mark_line(strokeWidth=2),
        _dots(base, max(x.size for x, _ in curves.values())).encode(tooltip=tips),
        ends.mark_text(align="left", dx=8, fontSize=13, fontWeight="bold").encode(
            x=across.x(), y=up.y(), text=f"{kind}:N", color=colour
        ),
    ]


def _labels(curves: Curves, kind: str, across: _Measure, up: _Measure) -> list[Row]:
    """Return where each line's name stands: at its end, moved up or down where names would overlap."""
    ends = sorted((y[-1], x[-1], name) for name, (x, y) in curves.items())
    raised = _LABEL_GAP * np.arange(len(ends))
    lifted = _rising(up.place(np.array([y for y, _, _ in ends])) - raised) + raised
    names = np.array([name for _, _, name in ends])
    return _rows({across.field: np.array([x for _, x, _ in ends]), up.field: up.value(lifted), kind: names})


def _rising(values: Floats) -> Floats:
    """Return the nearest sequence that never falls, by least squares: max over a ≤ i of min over b ≥ i of mean(a…b)."""
    sums, count = np.append(0.0, np.cumsum(values)), values.size
    means = [[(sums[b] - sums[a]) / (b - a) for b in range(a + 1, count + 1)] for a in range(count)]
    return np.array([max(min(means[a][i - a :]) for a in range(i + 1)) for i in range(count)])


def _dots(base: alt.Chart, count: int) -> alt.Chart:
    """Return the points that carry tooltips, seen only where they are few."""
    dots: alt.Chart = base.mark_point(filled=True, size=36, opacity=1.0 if count <= _MOST_DOTS else 0.0)
    return dots


def _framed(rows: list[Row], layers: list[alt.Chart], title: str, subtitle: str) -> alt.LayerChart:
    heading = alt.TitleParams(
        text=title,
        subtitle=subtitle or alt.Undefined,
        anchor="start",
        frame="group",
        offset=8,
        fontSize=17,
        color=_INK,
        subtitleFontSize=13,
        subtitleColor="#555555",
        subtitlePadding=5,
    )
    frame = alt.ViewBackground(stroke=None)
    return alt.LayerChart(data=_inline(rows), layer=layers, width=_WIDTH, height=_HEIGHT, title=heading, view=frame)


def _inline(rows: list[Row]) -> alt.InlineData:
    return alt.InlineData(values=rows)


def _tooltip(field: str, title: str) -> alt.Tooltip:
    return alt.Tooltip(f"{field}:Q", title=title, format=".6~g")


def _curves(x: tuple[str, Numbers], by_name: tuple[str, object], *, log: bool) -> Curves:
    """Read named lines: sorted, thinned, without what the scale cannot show, and without those that have nothing."""
    (x_name, across), (y_name, given) = x, by_name
    if not isinstance(given, Mapping) or not given:
        raise InvalidError(y_name, show(given), "numbers by name, at least one")
    curves: Curves = {}
    for name, values in given.items():
        at, up = _columns({x_name: across, f"{y_name}[{name!r}]": values})
        seen = (np.minimum(at, up) > (_LEAST if log else -_LARGEST)) & (np.maximum(at, up) < _LARGEST)
        if seen.any():
            thinned = _thin({"x": at[seen], "y": up[seen]}, max(2, _MOST_ROWS // len(given)))
            curves[name] = thinned["x"], thinned["y"]
    _require(len(curves) > 0, y_name, "none", "numbers that the scale can show: finite" + " and above 0" * log)
    return curves


def _missing(given: Mapping[str, Numbers], curves: Curves) -> list[str]:
    names = ", ".join(name for name in given if name not in curves)
    return [f"Nothing finite to draw for {names}."] if names else []


def _all(curves: Curves, axis: Literal[0, 1]) -> Floats:
    return np.concatenate([curve[axis] for curve in curves.values()])


def _columns(given: Mapping[str, object]) -> list[Floats]:
    """Read sequences of numbers, all of one length, none of them empty or with a NaN."""
    found = [_floats(name, values) for name, values in given.items()]
    first = next(iter(given))
    for name, values in zip(given, found, strict=True):
        _require(
            values.size == found[0].size, name, f"a length of {values.size}", f"as long as {first} ({found[0].size})"
        )
    return found


def _floats(name: str, values: object) -> Floats:
    try:
        given = np.asarray(values)
        _require(given.dtype.kind in "biufO", name, show(values), "a sequence of numbers")
        found = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidError(name, show(values), "a sequence of numbers") from None
    _require(found.ndim == 1 and found.size > 0, name, show(values), "a sequence of at least one number")
    _require(not np.isnan(found).any(), name, "a NaN among them", "numbers")
    return found


def _require(condition: bool | np.bool_, argument: str, got: str, want: str) -> None:  # noqa: FBT001 - as in assert
    if not condition:
        raise InvalidError(argument, got, want)


def _between(low: float, value: object, high: float) -> bool:
    return isinstance(value, Real) and low <= float(value) <= high


def _thin(columns: Mapping[str, Floats], most: int) -> dict[str, Floats]:
    """Return the columns in the order of the first, and of more rows than may be, even picks with both ends."""
    first = next(iter(columns.values()))
    order = np.argsort(first, kind="stable")
    if order.size > most:
        order = order[np.linspace(0, order.size - 1, most).round().astype(np.int64)]
    return {name: values[order] for name, values in columns.items()}


def _rows(columns: Columns, **fixed: str) -> list[Row]:
    lists = [values.tolist() for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) | fixed for row in zip(*lists, strict=True)]


def _ends(values: Floats, *, log: bool = False) -> tuple[float, float]:
    """Return the least and the largest value, moved apart if they are equal."""
    low, high = float(values.min()), float(values.max())
    if low < high:
        return low, high
    return (low / 2, high * 2) if log else (low - 0.5, high + 0.5)


def _log_ends(values: Floats) -> tuple[float, float]:
    """Return the ends of an axis by decades around values: 1, 2 or 5 times a power of ten."""
    if not values.size:
        return 1e-12, 1.0
    low, high = float(values.min()), float(values.max())
    marks = _marks(low, high, (1, 2, 5))
    ends = max(mark for mark in marks if mark <= low * 1.01), min(mark for mark in marks if mark >= high / 1.01)
    return _ends(np.array(ends), log=True)


def _ticks(low: float, high: float) -> list[float]:
    """Return at most nine powers of ten; over less than three decades, also 2 and 5 times those."""
    if high / low < 999:  # noqa: PLR2004 - three decades
        return [mark for mark in _marks(low, high, (1, 2, 5)) if low <= mark <= high]
    apart = ceil((log10(high) - log10(low)) / 9)
    return [mark for mark in _marks(low, high, (1,)) if low <= mark <= high and round(log10(mark)) % apart == 0]


def _marks(low: float, high: float, digits: Sequence[int]) -> list[float]:
    """Return the digits times powers of ten, from under low to over high; read from text, so exactly as written."""
    powers = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
    return [float(f"{digit}e{power}") for power in powers for digit in digits]


def _say(value: float) -> str:
    """Return a number as people write it.

    >>> _say(1e-6), _say(0.25), _say(1e10)
    ('1e-6', '0.25', '1e10')
    """
    return f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
