"""Charts of bars: laws, class sizes, and values with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Literal

import numpy as np

from tacit.arrays import Floats
from tacit.errors import show
from tacit.plots.frame import (
    AXIS,
    BLUE,
    HEIGHT,
    INK,
    LARGEST,
    LEAST,
    MOST_ROWS,
    TITLE_ON_TOP,
    VERMILION,
    WIDTH,
    Axis,
    Drawing,
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
    require_probability,
    short,
    span,
    tooltip,
)
from tacit.plots.marks import FIELDS, NUMBER, NoisyColumn, colours, whiskers

_MOST_STEPS, _BARS = 1e6, 140


def class_sizes(sizes: Numbers, rows_in: Numbers) -> alt.LayerChart:
    """Draw how many rows belong to classes of each size, sizes on a log scale.

    >>> class_sizes([5, 10], [50, 20]).to_dict()["title"]["text"]
    'Rows by the size of their class'

    Args:
        sizes: the sizes of classes.
        rows_in: the rows in classes of each size.
    """
    size, weights = read({"sizes": sizes, "rows_in": rows_in})
    require(bool((size >= 1).all()), "sizes must be numbers ≥ 1.", "sizes")
    edges = np.unique(np.geomspace(1, max(2.0, size.max(initial=1) + 1), 41).round())
    indices = np.searchsorted(edges, size, side="right") - 1
    sums = np.bincount(indices, weights=weights, minlength=edges.size)
    rows: list[Row] = [
        {"low": edges[at], "high": edges[at + 1], "rows": sums[at]} for at in range(edges.size - 1) if sums[at] > 0
    ]
    across = alt.X("low:Q", scale=alt.Scale(type="log"), axis=AXIS | {"title": "rows in the class"})
    up = alt.Y("rows:Q", axis=AXIS | {"title": "rows"} | TITLE_ON_TOP)
    tips = [tooltip("low", "class size from"), tooltip("high", "to below"), tooltip("rows", "rows")]
    bars = alt.Chart().mark_rect(color=BLUE).encode(x=across, x2="high:Q", y=up, y2=alt.datum(0), tooltip=tips)
    return framed(rows, [bars], "Rows by the size of their class", "")


def _intervals(label: str, bar: alt.X, point: alt.X, value: str) -> list[alt.Chart]:
    """Return bars from `low` to `high` and points at a value, one below the other."""
    down = alt.Y(f"{label}:N", sort=None, axis=AXIS | {"title": None, "labelLimit": 240})
    tips = [alt.Tooltip(f"{label}:N"), *(tooltip(field, field) for field in (value, "low", "high"))]
    shape = alt.Chart().mark_bar(height=6, color=BLUE, opacity=0.35, stroke=BLUE)  # the outline of one point is visible
    bars = shape.encode(x=bar, x2="high:Q", y=down, tooltip=tips)
    dots = alt.Chart().mark_point(filled=True, size=50, color=BLUE, opacity=1).encode(x=point, y=down, tooltip=tips)
    return [bars, dots]


def counts(
    labels: Sequence[str],
    values: Numbers,
    ends: Sequence[Numbers] | None,
    *,
    confidence: float,
    note: str = "",
) -> alt.LayerChart:
    """Draw estimated counts as points, in the given order, with their intervals as bars if there are any.

    >>> chart = counts(["tea", "water"], [310, 12], [[280, -5], [340, 29]], confidence=0.95, note="500 reports.")
    >>> chart.to_dict()["title"]["subtitle"]
    '500 reports. Bars hold the true count with confidence 0.95 each.'

    Args:
        labels: the values that were counted.
        values: the estimated counts.
        ends: the low and the high ends of their intervals, or None.
        confidence: of each interval, named in the subtitle.
        note: a further text for the subtitle.
    """
    low, high = (values, values) if ends is None else ends
    middle, least, most = read({"values": values, "low ends": low, "high ends": high})
    message = f"labels has {len(labels)} texts, but values has {middle.size} numbers."
    require(len(labels) == middle.size, message, "labels")
    rows = as_rows({"count": middle, "low": least, "high": most, "value": np.array(labels, dtype=np.str_)})[:MOST_ROWS]
    bar, point = (
        alt.X(f"{field}:Q", axis=AXIS | {"title": "people"}, scale=alt.Scale(zero=True)) for field in ("low", "count")
    )
    layers = _intervals("value", bar, point, "count")
    if ends is None:
        layers = layers[1:]
    else:
        note = f"{note} Bars hold the true count with confidence {short(confidence)} each.".strip()
    top = heading("Estimated counts", note)
    drawn: alt.LayerChart = alt.LayerChart(layer=layers, data=inline(rows)).properties(width=WIDTH, title=top)
    return drawn


def losses(names: Sequence[str], values: Numbers, *, title: str, subtitle: str | list[str]) -> alt.LayerChart:
    """Draw losses from 0 to 1 as bars, one below the other in the given order, each with its number.

    >>> losses(["age", "sex"], [0.5, 0], title="Loss by column", subtitle="").to_dict()["title"]["text"]
    'Loss by column'

    Args:
        names: of the columns or the searches.
        values: their losses.
        title: of the chart.
        subtitle: its second line.
    """
    (loss,) = read({"values": values})
    require(len(names) == loss.size, f"names has {len(names)} texts, but values has {loss.size} numbers.", "names")
    require(bool(((loss >= 0) & (loss <= 1)).all()), "values must be numbers from 0 to 1.", "values")
    texts = np.array([f"{value:.3f}" for value in loss], dtype=np.str_)
    rows = as_rows({"loss": loss, "shown": texts, "name": np.array(names, dtype=np.str_)})[:MOST_ROWS]
    down = alt.Y("name:N", sort=None, axis=AXIS | {"title": None, "labelLimit": 240})
    across = alt.X("loss:Q", axis=AXIS | {"title": "loss"}, scale=alt.Scale(domain=[0, 1]))
    tips = [alt.Tooltip("name:N", title="name"), tooltip("loss", "loss")]
    bars = alt.Chart().mark_bar(color=BLUE, height=14).encode(x=across, y=down, tooltip=tips)
    words = alt.Chart().mark_text(align="left", dx=4, color=INK).encode(x=across, y=down, text="shown:N", tooltip=tips)
    top = heading(title, subtitle)
    return alt.LayerChart(layer=[bars, words], data=inline(rows)).properties(width=WIDTH, title=top)


def simulated(
    labels: Sequence[str], truth: Numbers, columns: Sequence[NoisyColumn], *, title: str, subtitle: str
) -> alt.LayerChart:
    """Draw the estimates of simulated protocols, a colour for each, with the true counts as black strokes.

    >>> column = NoisyColumn(name="OUE", values=[310, 12], low=[280, 0], high=[340, 29])
    >>> chart = simulated(["tea", "water"], [300, 10], [column], title="A survey", subtitle="ε = 1")
    >>> chart.to_dict()["layer"][-1]["mark"]["type"]
    'tick'

    Args:
        labels: the values that are counted.
        truth: their true counts.
        columns: the estimated counts by each protocol.
        title: the title of the chart.
        subtitle: its subtitle.
    """
    (true,) = read({"truth": truth})
    rows = [row for column in columns for row in column.rows(group=labels)]
    exact: list[Row] = [{"group": label, "count": count} for label, count in zip(labels, true.tolist(), strict=True)]
    down = alt.Y("group:N", sort=None, axis=AXIS | {"title": None, "labelLimit": 240})
    scale, axis = alt.Scale(zero=True), AXIS | {"title": "people", "format": NUMBER}
    value, low, high = (alt.X(f"{field}:Q", scale=scale, axis=axis) for field in FIELDS)
    tips = [alt.Tooltip("group:N"), alt.Tooltip("column:N"), *(tooltip(field, field) for field in FIELDS)]
    names = [column.name for column in columns]
    colour = colours(names, field="column")
    base = alt.Chart().encode(y=down, yOffset=alt.YOffset("column:N", sort=None), color=colour, tooltip=tips)
    ends = [base.encode(x=low), base.encode(x=high)]
    true_mark = alt.Chart(inline(exact)).mark_tick(
        orient="vertical", size=14 * len(columns) + 4, thickness=2, color=INK
    )
    layers = [
        base.encode(x=value).mark_point(filled=True, size=50, opacity=1),
        *whiskers(base.encode(x=low, x2="high:Q"), ends, upright=False, colour=None),
        true_mark.encode(x=alt.X("count:Q", scale=scale, axis=axis), y=down, tooltip=tooltip("count", "true count")),
    ]
    drawn: alt.LayerChart = alt.LayerChart(layer=layers, data=inline(rows))
    height = max(60, 16 * (len(columns) + 1) * len(labels))
    return drawn.properties(width=WIDTH, height=height, title=heading(title, subtitle, size=15))


def loss_law(
    losses: Numbers, masses: Numbers, epsilon: float, delta: float, *, scale: Literal["log", "linear"] = "log"
) -> alt.LayerChart:
    """Draw the probability of each privacy loss L. Losses beyond ε have another colour, and a rule marks ε.

    δ(ε) = E[(1 - e^(ε-L))₊] counts a loss beyond ε by its distance from ε, so δ(ε) is less than Pr[L > ε]. Losses that
    are too close to distinguish are summed into bars with an edge at ε. Masses that are too small to be seen, far out
    on either side, stay in the data but outside the frame.

    >>> chart = loss_law([-1, 1, float("inf")], [0.268, 0.731, 0.001], epsilon=0.5, delta=0.289)
    >>> chart.to_dict()["title"]["subtitle"]
    'δ(0.5) = 0.289, Pr[L > 0.5] = 0.732, Pr[L = ∞] = 0.001'

    Args:
        losses: the values of L; infinity may be one of them.
        masses: their probabilities.
        epsilon: the ε of the rule.
        delta: δ at that ε.
        scale: of the probabilities; on a linear one a small δ cannot be seen.
    """
    loss, mass = read({"losses": losses, "masses": masses})
    require(
        between(0, epsilon, LARGEST), f"epsilon must be a finite number ≥ 0, not {show(epsilon)}.", argument="epsilon"
    )
    require_probability(delta, "delta")
    require(scale in ("log", "linear"), f"scale must be 'log' or 'linear', not {show(scale)}.", "scale")
    require(((np.abs(loss) < LARGEST) | (loss == inf)).all(), "losses must be finite numbers or +∞.", argument="losses")
    require(((mass >= 0) & (mass < inf)).all(), "masses must be finite numbers ≥ 0.", "masses")
    at, endless = short(epsilon), mass[loss == inf].sum()
    subtitle = f"δ({at}) = {short(delta)}, Pr[L > {at}] = {short(mass[loss > epsilon].sum())}"
    subtitle += f", Pr[L = ∞] = {short(endless)}" if endless > delta / 1e6 else ""  # less is what truncation leaves
    visible = np.isfinite(loss) & (mass > LEAST)
    drawing = _law(loss[visible], mass[visible], float(epsilon), log=scale == "log")
    return framed(*drawing, "Law of the privacy loss L", subtitle)


@dataclass(frozen=True, slots=True)
class _Bars:
    """Bars of one width, and the frame around the visible ones."""

    middle: Floats
    mass: Floats
    width: float
    low: float
    high: float

    def heights(self, epsilon: float, *, log: bool) -> tuple[float, float]:
        """Return the two ends of the axis of their masses: on a log scale, over three decades at least."""
        inside = (self.middle > self.low) & (self.middle < self.high)
        top = float(self.mass[inside].max(initial=0.0)) or 1.0
        if not log:
            return 0.0, 1.05 * top
        least = _least_visible(self.middle[inside], self.mass[inside], epsilon, log=log)
        return decades(np.array([min(least or 1.0, top / 1e3), top]))


def _law(loss: Floats, mass: Floats, epsilon: float, *, log: bool) -> Drawing:
    bars = _bars(loss, mass, epsilon, log=log)
    half, side = bars.width / 2, np.where(bars.middle > epsilon, "beyond ε", "up to ε")
    rows = as_rows({"left": bars.middle - half, "right": bars.middle + half, "mass": bars.mass, "part": side})
    across = Axis("left", "privacy loss L", bars.low, bars.high)
    up = Axis("mass", "probability", *bars.heights(epsilon, log=log), log=log)
    colour = alt.Scale(domain=["up to ε", "beyond ε"], range=[BLUE, VERMILION])
    histogram: alt.Chart = alt.Chart().mark_bar(clip=True)
    mark = alt.Chart(inline([{"left": epsilon, "label": f"ε = {short(epsilon)}"}])).encode(x=across.x())
    return rows, [
        histogram.encode(
            x=across.x(),
            x2="right:Q",
            y=up.y(),
            y2=alt.value(HEIGHT),  # the bottom of the frame: a log scale has no zero
            color=alt.Color("part:N", scale=colour, legend=None),
            tooltip=[tooltip("left", "L from"), tooltip("right", "to"), up.tooltip()],
        ),
        mark.mark_rule(color=INK, strokeDash=[5, 4], strokeWidth=1.5),
        mark.mark_text(align="left", dx=5, fontSize=13, color=INK).encode(y=alt.value(8), text="label:N"),
    ]


def _bars(loss: Floats, mass: Floats, epsilon: float, *, log: bool) -> _Bars:
    """Return a bar for each loss. If losses are too close, return one for each interval (ε + iw, ε + (i+1)w]."""
    loss, inverse = np.unique(loss, return_inverse=True)
    mass = np.bincount(inverse, mass, loss.size).astype(np.float64)
    visible = loss[mass >= _least_visible(loss, mass, epsilon, log=log)]
    low, high = span(np.append(visible, epsilon))
    finest, gaps = (high - low) / _BARS, np.diff(loss)
    gap = float(gaps.min(initial=inf))
    if gap >= finest and loss.size <= MOST_ROWS:
        width = 0.9 * min(gap, 8 * finest)
        return _Bars(loss, mass, width, low - width, high + width)
    width = _bar_width(gaps, finest)
    index = _interval(loss, epsilon, width)
    first, last = _interval(np.array([low, high]), epsilon, width) + np.array([-2.0, 2.0])
    index = np.clip(index, first, last)  # the first and the last bar are outside the frame and hold all the rest
    sums = np.bincount((index - first).astype(np.int64), mass).astype(np.float64)
    middle = epsilon + width * (first + np.arange(sums.size) + 0.5)
    return _Bars(middle[sums > 0], sums[sums > 0], width, low - width, high + width)


def _interval(loss: Floats, epsilon: float, width: float) -> Floats:
    """Return i for losses in (ε + iw, ε + (i+1)w]; a loss that is at an edge up to rounding counts as below it."""
    return np.asarray(np.ceil((loss - epsilon) / width - 1e-9) - 1)


def _bar_width(gaps: Floats, width: float) -> float:
    """Round a width up so that each bar holds equally many points of a grid, if the gaps are those of a grid.

    The number of steps is even, since the losses of symmetric noise often use only every second point.
    """
    step, widest = float(gaps.min()), float(gaps.max())
    if widest > _MOST_STEPS * step or not np.allclose(gaps / step, np.round(gaps / step), rtol=0, atol=1e-6):
        return width
    return 2 * step * ceil(width / (2 * step))


def _least_visible(loss: Floats, mass: Floats, epsilon: float, *, log: bool) -> float:
    """Return the least mass that the frame must show: on a log scale, the tail beyond ε down to a thousandth."""
    top = float(mass.max(initial=0.0))
    tail = float(mass[loss > epsilon].max(initial=0.0)) or top / 1e3
    return (tail if log else top) / 1e3
