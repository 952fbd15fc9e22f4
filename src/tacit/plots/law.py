"""A law: how likely each value is, as bars, and what lies beyond a point."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import Literal

import numpy as np

from tacit.arrays import Floats
from tacit.errors import show
from tacit.plots.axes import Measure, decades, span
from tacit.plots.frame import BLUE, HEIGHT, INK, VERMILION, Drawing, framed, inline, tooltip
from tacit.plots.loading import alt
from tacit.plots.reading import LARGEST, LEAST, MOST_ROWS, Numbers, as_rows, between, read, require, say

_MOST_STEPS, _BARS = 1e6, 140


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
    loss, mass = read({"losses": losses, "masses": masses})
    require(between(0, epsilon, LARGEST), "epsilon", show(epsilon), "a finite number ≥ 0")
    require(between(0, delta, 1), "delta", show(delta), "from 0 to 1")
    require(scale in ("log", "linear"), "scale", show(scale), "'log' or 'linear'")
    require(((np.abs(loss) < LARGEST) | (loss == inf)).all(), "losses", "others", "finite numbers or +∞")
    require(((mass >= 0) & (mass < inf)).all(), "masses", "others", "finite numbers ≥ 0")
    at, endless = say(epsilon), mass[loss == inf].sum()
    subtitle = f"δ({at}) = {say(delta)}, Pr[L > {at}] = {say(mass[loss > epsilon].sum())}"
    subtitle += f", Pr[L = ∞] = {say(endless)}" if endless > delta / 1e6 else ""  # less is what truncation leaves
    drawn = np.isfinite(loss) & (mass > LEAST)
    drawing = _law(loss[drawn], mass[drawn], float(epsilon), log=scale == "log")
    return framed(*drawing, "Law of the privacy loss L", subtitle)


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
        return decades(np.array([min(least or 1.0, top / 1e3), top]))


def _law(loss: Floats, mass: Floats, epsilon: float, *, log: bool) -> Drawing:
    bars = _bars(loss, mass, epsilon, log=log)
    half, part = bars.width / 2, np.where(bars.middle > epsilon, "beyond ε", "up to ε")
    rows = as_rows({"left": bars.middle - half, "right": bars.middle + half, "mass": bars.mass, "part": part})
    across = Measure("left", "privacy loss L", bars.low, bars.high)
    up = Measure("mass", "probability", *bars.heights(epsilon, log=log), log=log)
    colour = alt.Scale(domain=["up to ε", "beyond ε"], range=[BLUE, VERMILION])
    histogram: alt.Chart = alt.Chart().mark_bar(clip=True)
    mark = alt.Chart(inline([{"left": epsilon, "label": f"ε = {say(epsilon)}"}])).encode(x=across.x())
    return rows, [
        histogram.encode(
            x=across.x(),
            x2="right:Q",
            y=up.y(),
            y2=alt.value(HEIGHT),  # the frame's foot: a log scale has no zero to stand on
            color=alt.Color("part:N", scale=colour, legend=None),
            tooltip=[tooltip("left", "L from"), tooltip("right", "to"), up.tooltip()],
        ),
        mark.mark_rule(color=INK, strokeDash=[5, 4], strokeWidth=1.5),
        mark.mark_text(align="left", dx=5, fontSize=13, color=INK).encode(y=alt.value(8), text="label:N"),
    ]


def _bars(loss: Floats, mass: Floats, epsilon: float, *, log: bool) -> _Bars:
    """Return a bar for each loss, or, where they are too close, for each interval (ε + iw, ε + (i+1)w]."""
    loss, place = np.unique(loss, return_inverse=True)
    mass = np.bincount(place, mass, loss.size).astype(np.float64)
    seen = loss[mass >= _least_seen(loss, mass, epsilon, log=log)]
    low, high = span(np.append(seen, epsilon))
    finest, gaps = (high - low) / _BARS, np.diff(loss)
    gap = float(gaps.min(initial=inf))
    if gap >= finest and loss.size <= MOST_ROWS:
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
