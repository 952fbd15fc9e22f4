"""Charts of randomized response: its answers, both bits, simulated surveys, and the error against ε."""

from __future__ import annotations

from math import ceil, exp, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tacit import plots
from tacit.arrays import Floats
from tacit.errors import bad_value
from tacit.mechanisms.charts.common import LawChart, Theme, check_kind, error_chart, themed
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.seeded import generator
from tacit.mechanisms.validation import count_of
from tacit.plots import ChartText
from tacit.plots.frame import short

if TYPE_CHECKING:
    import altair as alt

_ANSWERS = ["answer True", "answer False"]
_SURVEYS, _BARS, _REACH = 2000, 61, 9.0


def draw(
    mechanism: RandomizedResponse,
    kind: LawChart,
    *,
    n: int,
    share: float,
    seed: int,
    confidence: float,
    theme: Theme,
) -> alt.LayerChart:
    """Draw one of the charts."""
    check_kind(kind, LawChart)
    size = count_of(n, "n")
    if kind == "law":
        chart = _law(mechanism)
    elif kind == "neighbours":
        chart = _neighbours(mechanism)
    elif kind == "releases":
        chart = _releases(mechanism, size, share, seed)
    else:
        chart = _error(mechanism, size, confidence)
    return themed(chart, theme)


def _chances(mechanism: RandomizedResponse, *, bit: bool) -> list[float]:
    return [float(mechanism.pmf(answer, bit=bit)) for answer in (1, 0)]


def _law(mechanism: RandomizedResponse) -> alt.LayerChart:
    chances = _chances(mechanism, bit=True)
    note = f"A bit is kept with probability e^ε/(1+e^ε) = {short(chances[0])}."
    text = _text(f"Answers if the bit is True: {mechanism!r}", note)
    return plots.chances(_ANSWERS, {"probability": chances}, text)


def _neighbours(mechanism: RandomizedResponse) -> alt.LayerChart:
    first, second = (_chances(mechanism, bit=bit) for bit in (True, False))
    factor = exp(min(mechanism.guarantee.epsilon, 700.0))
    bounds = [chance / factor for chance in second], [min(1.0, chance * factor) for chance in second]
    note = f"Grey: e^±ε times the probability if the bit is False, ε = {short(mechanism.guarantee.epsilon)}."
    text = _text(f"Answers of two neighbours: {mechanism!r}", note)
    return plots.chances(_ANSWERS, {"the bit is True": first, "the bit is False": second}, text, bounds=bounds)


def _text(title: str, note: str) -> ChartText:
    return ChartText(title=title, notes=(note,), across="probability", up="", description=f"{title}. {note}")


def _releases(mechanism: RandomizedResponse, n: int, share: object, seed: int) -> alt.LayerChart:
    """Draw the estimates of simulated surveys beside the exact law of the estimate."""
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise bad_value("share", share, "a number from 0 to 1")
    yes, random = round(share * n), generator(seed)
    kept, flipped = _chances(mechanism, bit=True)
    counts = random.binomial(yes, kept, _SURVEYS) + random.binomial(n - yes, flipped, _SURVEYS)
    support, law = _count_law(n, yes, kept)
    width = ceil(np.ptp(support[law > law.max() / 1e3]) / _BARS) or 1
    first = support[0] + width * np.arange(ceil(support.size / width))
    masses = np.add.reduceat(law, np.arange(0, support.size, width))
    shown = masses > masses.max() / 1e3
    bars, _ = np.histogram(counts, np.append(first, first[-1] + width) - 0.5)
    slope = 2 * kept - 1

    def estimate(count: Floats) -> Floats:
        return (count / n - 0.5) / slope + 0.5

    left, right = (estimate(first + shift - 0.5)[shown] for shift in (0, width))
    note = f"A true share of {short(yes / n)}. A simulation with a seed, not a release."
    title = f"Estimates of {_SURVEYS:,} simulated surveys of {n:,} bits, ε = {short(mechanism.guarantee.epsilon)}"
    text = ChartText(
        title=title,
        notes=(note,),
        across="estimated share",
        up="probability of a bar",
        description=f"{title}: a histogram around the true share, and the exact law as a line. {note}",
    )
    line = ((left + right) / 2, masses[shown])
    names = ("simulated surveys", "the law")
    return plots.bars_and_line((left, right), bars[shown] / _SURVEYS, line, names, text)


def _count_law(n: int, yes: int, kept: float) -> tuple[Floats, Floats]:
    """Return the values of the number of "yes" answers and their probabilities, but for a tail below 1e-15."""
    from scipy.stats import binom  # noqa: PLC0415 - heavy

    parts = []
    for size, chance in ((yes, kept), (n - yes, 1 - kept)):
        middle, reach = size * chance, _REACH * sqrt(size * chance * (1 - chance)) + 10
        values = np.arange(max(0, int(middle - reach)), min(size, ceil(middle + reach)) + 1.0)
        parts.append((values, binom.pmf(values, size, chance)))
    law = np.convolve(parts[0][1], parts[1][1])
    return parts[0][0][0] + parts[1][0][0] + np.arange(float(law.size)), law


def _error(mechanism: RandomizedResponse, n: int, confidence: float) -> alt.LayerChart:
    def errors(epsilon: float) -> tuple[float]:
        return (RandomizedResponse(epsilon=epsilon).error(confidence=confidence, n=n),)

    title = f"Error of the estimated share of {n:,} bits against ε"
    return error_chart("ε", float(mechanism.guarantee.epsilon), errors, (f"{100 * confidence:.4g} % error",), title)
