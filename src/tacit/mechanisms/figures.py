"""Figures that explain the laws of noise: textbook densities, e^ε, and comparisons of mechanisms.

| function | figure |
|---|---|
| `laplace_densities` | Laplace densities of several means and scales |
| `laplace_and_normal` | a Laplace and a normal density of equal variance |
| `exponential` | exponential densities, survivor functions, or the law after a time t |
| `exp_epsilon` | e^ε against 1 + ε |
| `laplace_and_gaussian` | joint errors of both mechanisms against the number of queries, with the crossing |
| `laplace_and_randomized_response` | errors of a count by both mechanisms against the number of people |

Each returns a chart of altair (the extra `tacit[plot]`) and takes `theme="light"` or `"dark"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit import plots
from tacit.arrays import Floats
from tacit.errors import bad_value
from tacit.guarantees.exact import Number, positive, to_fraction
from tacit.laws.continuous import ExponentialLaw, LaplaceLaw, NormalLaw
from tacit.mechanisms.charts.common import Theme, check_kind, themed
from tacit.mechanisms.gaussian import NoiseComparison, compare_noise
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.validation import count_of
from tacit.plots import ChartText, Mark
from tacit.plots.frame import short

if TYPE_CHECKING:
    import altair as alt

ExponentialFigure = Literal["density", "survivor", "memory"]

_POINTS = 401
_QUERIES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 20, 30, 50, 100, 200, 500, 1000)
_PEOPLE = (10**2, 10**3, 10**4, 10**5, 10**6)
_LEAST_MEMORY = 1e-9


def laplace_densities(
    laws: Sequence[tuple[float, float]] = ((0, 0.1), (0, 0.5), (0, 1), (-5, 1)), *, theme: Theme = "light"
) -> alt.LayerChart:
    """Draw the densities e^(-|x-μ|/s)/2s of several pairs (μ, s).

    >>> laplace_densities([(0, 1)]).to_dict()["title"]["text"]
    'Laplace densities'

    Args:
        laws: pairs of a mean and a scale.
        theme: "light" or "dark".
    """
    if not laws:
        raise bad_value("laws", laws, "at least one pair of a mean and a scale")
    parts = [LaplaceLaw(mean=mean, scale=scale) for mean, scale in laws]
    width = 3 * max(law.scale for law in parts)
    means = [law.mean for law in parts]
    # the peaks are corners, so they must be among the points
    x = np.unique(np.append(np.linspace(min(means) - width, max(means) + width, _POINTS), means))
    lines = {f"μ = {short(law.mean)}, s = {short(law.scale)}": np.asarray(law.pdf(x)) for law in parts}
    text = ChartText(
        title="Laplace densities",
        notes=("The scale s sets the width; the variance is 2s².",),
        across="x",
        up="density",
        description=f"Densities with a peak of height 1/2s at μ: {', '.join(lines)}.",
    )
    return themed(plots.curves(x, lines, text), theme)


def laplace_and_normal(*, variance: Number = 1, theme: Theme = "light") -> alt.LayerChart:
    """Draw the Laplace and the normal density of one variance.

    >>> laplace_and_normal().to_dict()["title"]["text"]
    'Laplace and normal density of variance 1'

    Args:
        theme: "light" or "dark".
        variance: that of both.
    """
    size = float(positive(variance, "variance"))
    laplace, normal = LaplaceLaw(scale=sqrt(size / 2)), NormalLaw(sigma=sqrt(size))
    x = np.linspace(-4, 4, _POINTS) * sqrt(size)
    beyond = [2 * float(law.sf(3 * sqrt(size))) for law in (laplace, normal)]
    text = ChartText(
        title=f"Laplace and normal density of variance {short(size)}",
        notes=(f"Beyond three standard deviations: Laplace {short(beyond[0])}, normal {short(beyond[1])}.",),
        across="x",
        up="density",
        description="The Laplace density has a sharp peak and heavier tails than the normal one of the same variance.",
    )
    lines = {"Laplace": np.asarray(laplace.pdf(x)), "normal": np.asarray(normal.pdf(x))}
    return themed(plots.curves(x, lines, text), theme)


def exponential(
    kind: ExponentialFigure = "density",
    *,
    rates: Sequence[float] = (0.5, 1, 1.5),
    after: float = 1.0,
    theme: Theme = "light",
) -> alt.LayerChart:
    """Draw exponential laws: their densities, survivor functions, or the survivor functions given that X > t.

    The last kind shows that the law has no memory: Pr[X > t + x | X > t] = Pr[X > x], so the curve after t is the
    curve from 0, moved by t.

    >>> exponential("survivor", rates=[1]).to_dict()["title"]["text"]
    'Exponential survivor functions'

    Args:
        kind: "density", "survivor" or "memory".
        rates: the rates λ.
        after: t of the kind "memory".
        theme: "light" or "dark".
    """
    check_kind(kind, ExponentialFigure)
    if not rates:
        raise bad_value("rates", rates, "at least one rate")
    laws = [ExponentialLaw(rate=rate) for rate in rates]
    x = np.linspace(0, 5 / min(rates), _POINTS)
    if kind == "memory":
        return themed(_memory(laws, float(positive(after, "after")), x), theme)
    name, up, formula = {
        "density": ("densities", "density", "λe^(-λx)"),
        "survivor": ("survivor functions", "Pr[X > x]", "e^(-λx)"),
    }[kind]
    lines = {f"λ = {short(law.rate)}": np.asarray(law.pdf(x) if kind == "density" else law.sf(x)) for law in laws}
    text = ChartText(
        title=f"Exponential {name}",
        notes=(f"{formula} for x ≥ 0. The magnitude of Laplace noise has this law, with λ = 1/s.",),
        across="x",
        up=up,
        description=f"Exponential {name} {formula}, which fall from the left: {', '.join(lines)}.",
    )
    return themed(plots.curves(x, lines, text), theme)


def _memory(laws: Sequence[ExponentialLaw], after: float, x: Floats) -> alt.LayerChart:
    """Draw Pr[X > x] and Pr[X > x | X > t], computed as the quotient Pr[X > max(x, t)]/Pr[X > t]."""
    at = np.unique(np.append(x, after))
    lines = {}
    for law in laws:
        if float(law.sf(after)) < _LEAST_MEMORY:
            raise bad_value("after", after, "a time after which some of the law is left")
        lines[f"λ = {short(law.rate)}"] = np.asarray(law.sf(at))
        given = np.asarray(law.sf(np.maximum(at, after))) / float(law.sf(after))
        lines[f"λ = {short(law.rate)}, given X > {short(after)}"] = given
    text = ChartText(
        title="An exponential law has no memory",
        notes=(
            f"Given X > {short(after)}, the rest X - {short(after)} has the law of X: the curve moves to the right.",
        ),
        across="x",
        up="Pr[X > x]",
        description=f"Survivor functions, and the same given that X > {short(after)}: each is the first curve, moved.",
    )
    return plots.curves(at, lines, text, mark=Mark(at=after, label=f"t = {short(after)}"))


def exp_epsilon(*, most: Number = 2, theme: Theme = "light") -> alt.LayerChart:
    """Draw e^ε against 1 + ε, from 0 to `most`: they agree for small ε only.

    >>> exp_epsilon().to_dict()["title"]["text"]
    'e^ε against 1 + ε'

    Args:
        most: the largest ε.
        theme: "light" or "dark".
    """
    end = float(positive(most, "most"))
    if end > 700:  # noqa: PLR2004 - beyond, e^ε is not a float
        raise bad_value("most", most, "at most 700")
    x = np.linspace(0, end, _POINTS)
    text = ChartText(
        title="e^ε against 1 + ε",
        notes=("e^ε exceeds 1 + ε by 0.47 % at ε = 0.1, and by 36 % at ε = 1.",),
        across="ε",
        up="largest ratio of probabilities",
        description="The curve e^ε and the line 1 + ε start together at 1; the curve grows faster.",
    )
    return themed(plots.curves(x, {"e^ε": np.exp(x), "1 + ε": 1 + x}, text), theme)


def laplace_and_gaussian(
    *,
    epsilon: Number,
    delta: Number,
    confidence: float = 0.95,
    queries: Iterable[int] = _QUERIES,
    theme: Theme = "light",
) -> alt.LayerChart:
    """Draw the joint errors of m counting queries with Laplace and with Gaussian noise against m, and where they cross.

    m queries have Δ₁ = m and Δ₂ = √m. `compare_noise` computes both errors from the laws that are drawn.

    >>> chart = laplace_and_gaussian(epsilon=1, delta=1e-6, queries=[4, 5, 6])
    >>> chart.to_dict()["title"]["subtitle"]
    'At ε = 1, δ = 1e-6 and confidence 0.95, Gaussian noise errs less from m = 6 on.'

    Args:
        epsilon: of both.
        delta: of the Gaussian noise.
        confidence: with which all errors are within the one drawn.
        queries: the numbers of queries m.
        theme: "light" or "dark".
    """
    counts = sorted({count_of(m, "queries") for m in queries})
    compared = [_counting(m, epsilon, delta, confidence) for m in counts]
    better = [m for m, each in zip(counts, compared, strict=True) if each.better == "gaussian"]
    where = f"Gaussian noise errs less from m = {better[0]:,} on" if better else "Laplace noise errs less for all m"
    size, slack = (short(float(to_fraction(x, "epsilon"))) for x in (epsilon, delta))
    note = f"At ε = {size}, δ = {slack} and confidence {short(confidence)}, {where}."
    text = ChartText(
        title="Laplace against Gaussian noise",
        notes=(note,),
        across="number of counting queries m",
        up="joint error",
        description=f"Joint errors of m counting queries, a line for each noise, both growing with m. {note}",
    )
    lines = {
        "Laplace": [each.laplace_error for each in compared],
        "Gaussian": [each.gaussian_error for each in compared],
    }
    mark = Mark(at=float(better[0]), label=f"m = {better[0]:,}") if better else None
    return themed(plots.curves(counts, lines, text, log=True, mark=mark), theme)


def _counting(m: int, epsilon: Number, delta: Number, confidence: float) -> NoiseComparison:
    """Compare both noises for m counting queries."""
    l2 = Fraction(repr(sqrt(m)))
    return compare_noise(l1=Fraction(m), l2=l2, outputs=m, epsilon=epsilon, delta=delta, confidence=confidence)


def laplace_and_randomized_response(
    *, epsilon: Number, confidence: float = 0.95, people: Iterable[int] = _PEOPLE, theme: Theme = "light"
) -> alt.LayerChart:
    """Draw the error of a count of N people by Laplace noise and by randomized response, against N.

    A curator who adds Laplace noise errs by about 3/ε for any N; answers that are randomised one by one err by √N.

    >>> laplace_and_randomized_response(epsilon=1, people=[100, 1000]).to_dict()["title"]["text"]
    'A count of N people at ε = 1'

    Args:
        epsilon: ε of both.
        confidence: the probability with which the errors hold.
        people: the numbers N.
        theme: "light" or "dark".
    """
    counts = sorted({count_of(n, "people") for n in people})
    laplace = Laplace(sensitivity=1, epsilon=epsilon).error(confidence=confidence)
    response = RandomizedResponse(epsilon=epsilon)
    errors = [n * response.error(confidence=confidence, n=n) for n in counts]
    text = ChartText(
        title=f"A count of N people at ε = {short(float(positive(epsilon, 'epsilon')))}",
        notes=(f"At N = {counts[-1]:,}: Laplace {laplace:,.4g}, randomized response {errors[-1]:,.0f} people.",),
        across="number of people N",
        up=f"{100 * confidence:.4g} % error of the count",
        description=f"The error of Laplace noise is {short(laplace)} for every N; that of randomized response grows as "
        f"the root of N, up to {errors[-1]:,.0f}.",
    )
    lines = {"Laplace": [float(laplace)] * len(counts), "randomized response": errors}
    return themed(plots.curves(counts, lines, text, log=True), theme)
