"""Charts of additive noise: its law, two neighbours, simulated releases, and the error against the guarantee.

Probabilities are divided by the step of the grid, so that they can be compared with a density: for integers they are
the probabilities themselves. If the grid is fine, a bar holds several steps and shows their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from tacit import plots
from tacit.arrays import Floats
from tacit.guarantees.exact import Number, to_fraction
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.mechanisms.charts.common import NoiseChart, Theme, check_kind, error_chart, themed
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.validation import count_of
from tacit.plots import ChartText, Mark
from tacit.plots.frame import short

if TYPE_CHECKING:
    import altair as alt

    from tacit.mechanisms.additive import Additive

_BARS, _WIDE_BARS, _POINTS = 161, 51, 401
_OUTSIDE = 5e-4


def draw(
    noise: Additive,
    kind: NoiseChart,
    *,
    value: Number,
    at: Number | None,
    n: int,
    seed: int,
    confidence: float,
    theme: Theme,
) -> alt.LayerChart:
    """Draw one of the charts."""
    check_kind(kind, NoiseChart)
    center = float(to_fraction(value, "value"))
    if kind == "law":
        chart = _law(noise, center)
    elif kind in ("cdf", "quantile"):
        chart = _cumulative(noise, inverse=kind == "quantile")
    elif kind == "neighbours":
        chart = _neighbours(noise, center, at)
    elif kind == "releases":
        chart = _releases(noise, center, count_of(n, "n"), seed)
    else:
        chart = _error(noise, confidence)
    return themed(chart, theme)


@dataclass(frozen=True, slots=True)
class _Bars:
    """Bars over the middle of a law: the first and the last index of each, and the density in it."""

    first: Floats
    last: Floats
    heights: Floats
    step: float

    @property
    def edges(self) -> tuple[Floats, Floats]:
        """The left and the right ends; there are gaps between single integers."""
        half = 0.4 if self.step == 1 and self.first[0] == self.last[0] else 0.5
        return (self.first - half) * self.step, (self.last + half) * self.step

    @property
    def middle(self) -> Floats:
        """The middle of each bar."""
        return (self.first + self.last) / 2 * self.step


def _bars(noise: Additive, most: int = _BARS) -> _Bars:
    """Return bars of equally many steps that hold all of the noise but a thousandth."""
    law = noise._law  # noqa: SLF001 - the law in steps
    reach = max(3.0, -float(law.quantile(np.array(_OUTSIDE))))
    width = ceil((2 * reach + 1) / most)
    width += 1 - width % 2  # odd, so that the middle bar is symmetric
    middle = width * np.arange(-ceil(reach / width), ceil(reach / width) + 1.0)
    first, last = middle - (width - 1) / 2, middle + (width - 1) / 2
    mass = law.mass(middle) if width == 1 else law.cdf(last) - law.cdf(first - 1)
    return _Bars(first, last, mass / (width * noise.granularity), noise.granularity)


def _law(noise: Additive, center: float) -> alt.LayerChart:
    bars = _bars(noise)
    (left, right), x = bars.edges, np.linspace(bars.edges[0][0], bars.edges[1][-1], _POINTS)
    text = ChartText(
        title="Law of the noise",
        notes=(repr(noise), f"Standard deviation {short(noise.std)}; {_spread(noise)}."),
        across="noise" if center == 0 else "output",
        up=_height(noise),
        description=f"The law of the noise of {noise!r}: bars that are highest in the middle, and the density of the "
        f"continuous law as a line. {_spread(noise)}.",
    )
    names = ("the law that is drawn", "the continuous law")
    return plots.bars_and_line(
        (left + center, right + center), bars.heights, (x + center, np.asarray(noise.pdf(x))), names, text
    )


def _spread(noise: Additive) -> str:
    return f"95 % of the noise is within ±{short(noise.error(confidence=0.95, outputs=1))}"


def _height(noise: Additive) -> str:
    return "probability" if noise.granularity == 1 else "probability per unit"


def _cumulative(noise: Additive, *, inverse: bool) -> alt.LayerChart:
    """Draw the distribution function of the law that is drawn and of the continuous one, or its inverse."""
    bars, law = _bars(noise), noise.continuous
    if inverse:
        at = np.linspace(0.001, 0.999, _POINTS)
        lines = {"drawn": np.asarray(noise.quantile(at)), "continuous": np.asarray(law.quantile(at))}
        titles = ("probability p", "p-quantile of the noise")
    else:
        jumps: Floats = bars.middle[bars.first == bars.last]  # none if the steps are too fine to be seen
        between = np.linspace(bars.edges[0][0], bars.edges[1][-1], _POINTS)
        at = np.unique(np.concatenate((between, jumps, np.nextafter(jumps, -np.inf))))
        lines = {"drawn": np.asarray(noise.cdf(at)), "continuous": np.asarray(law.cdf(at))}
        titles = ("noise", "Pr[noise ≤ x]")
    text = ChartText(
        title="Quantiles of the noise" if inverse else "Distribution function of the noise",
        notes=(repr(noise), f"{_spread(noise)}."),
        across=titles[0],
        up=titles[1],
        description=f"{titles[1]} of {noise!r}: the law that is drawn, in steps, beside the continuous one. "
        f"{_spread(noise)}.",
    )
    return plots.curves(at, lines, text)


def _neighbours(noise: Additive, center: float, at: Number | None) -> alt.LayerChart:
    law, step = noise._law, noise.granularity  # noqa: SLF001 - the law in steps
    shift = float(ceil(noise.sensitivity.fraction / noise._grid.step))  # noqa: SLF001 - of this package
    reach = max(3.0, -float(law.quantile(np.array(_OUTSIDE))), shift)
    stride = max(1, ceil((2 * reach + shift) / _POINTS))
    index = np.unique(np.append(np.arange(-reach, reach + shift + 1, stride), [0.0, shift]))  # with both peaks
    other = center + shift * step
    z = float(to_fraction(at, "at")) if at is not None else center + _default_point(noise)
    exact = noise.ratio(z, value=_typed(noise, center), neighbour=_typed(noise, other))
    label = f"ratio at z = {short(z)}: {float(exact):.4g}"
    heights = {f"x = {short(center)}": law.mass(index) / step, f"x′ = {short(other)}": law.mass(index - shift) / step}
    epsilon, promise = _promise(noise)
    text = ChartText(
        title="Outputs of two neighbours",
        notes=(repr(noise), promise),
        across="output z",
        up=_height(noise),
        description=f"Two bell-like curves of equal shape, around {short(center)} and {short(other)}. {promise} "
        f"The {label}.",
    )
    return plots.two_laws(index * step + center, heights, epsilon=epsilon, mark=Mark(at=z, label=label), text=text)


def _default_point(noise: Additive) -> float:
    """Return 1.3 sensitivities, as an output."""
    point = 1.3 * noise.sensitivity
    return float(round(point)) if noise._grid.integral else point  # noqa: SLF001 - of this package


def _typed(noise: Additive, value: float) -> int | float:
    return round(value) if noise._grid.integral else value  # noqa: SLF001 - of this package


def _promise(noise: Additive) -> tuple[float | None, str]:
    """Return the ε of the band, and what the guarantee says about it."""
    guarantee = noise.guarantee  # type: ignore[attr-defined]  # of every subclass
    if isinstance(guarantee, PureDP):
        return guarantee.epsilon, f"{_band(guarantee.epsilon)} The law of x is inside."
    if isinstance(guarantee, ApproxDP):
        excess = f"The law of x is above it by at most δ = {short(guarantee.delta)} in total."
        return guarantee.epsilon, f"{_band(guarantee.epsilon)} {excess}"
    return None, f"{guarantee!r}: the ratio has no bound, but its tail is small."


def _band(epsilon: float) -> str:
    return f"Grey: e^±ε times the law of x′, ε = {short(epsilon)}."


def _releases(noise: Additive, center: float, n: int, seed: int) -> alt.LayerChart:
    bars = _bars(noise, _WIDE_BARS)
    drawn = np.asarray(noise.sample(n, seed=seed), dtype=np.float64).reshape(n, -1)[:, 0]
    index = np.rint(drawn / noise.granularity)
    width = bars.last[0] - bars.first[0] + 1
    counts, _ = np.histogram(index, np.append(bars.first, bars.last[-1] + 1) - 0.5)
    beyond = n - int(counts.sum())
    outside = f"{beyond:,} {'is' if beyond == 1 else 'are'} outside the frame. " if beyond else ""
    left, right = bars.edges
    text = ChartText(
        title=f"{n:,} simulated releases of {short(center)}",
        notes=(repr(noise), f"{outside}A simulation with a seed, not a release."),
        across="output",
        up=_height(noise),
        description=f"A histogram of {n:,} simulated outputs of {noise!r} follows the line of its law.",
    )
    heights = counts / (n * width * noise.granularity)
    line = (bars.middle + center, bars.heights)
    names = ("simulated releases", "the law")
    return plots.bars_and_line((left + center, right + center), heights, line, names, text)


def _error(noise: Additive, confidence: float) -> alt.LayerChart:
    """Draw the error and the standard deviation of mechanisms with other guarantees."""
    integral = noise._grid.integral  # noqa: SLF001 - of this package
    sensitivity = int(noise.sensitivity) if integral else noise.sensitivity
    step = None if integral else noise._grid.step  # noqa: SLF001 - of this package
    guarantee = noise.guarantee  # type: ignore[attr-defined]  # of every subclass
    symbol, size = ("ρ", guarantee.rho) if isinstance(guarantee, ZCDP) else ("ε", guarantee.epsilon)

    def make(amount: float) -> Additive:
        if isinstance(guarantee, PureDP):
            return Laplace(sensitivity=sensitivity, epsilon=amount, outputs=noise.outputs, granularity=step)
        pair = (amount, guarantee.delta) if isinstance(guarantee, ApproxDP) else (None, None)
        rho = amount if isinstance(guarantee, ZCDP) else None
        return Gaussian(
            sensitivity=sensitivity,
            epsilon=pair[0],
            delta=pair[1],
            rho=rho,
            outputs=noise.outputs,
            granularity=step,
        )

    def errors(amount: float) -> tuple[float, float]:
        other = make(amount)
        return float(other.error(confidence=confidence)), other.std

    names = (f"{100 * confidence:.4g} % error", "standard deviation")
    return error_chart(symbol, float(size), errors, names, f"Error against {symbol}: {type(noise).__name__} noise")
