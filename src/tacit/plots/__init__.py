"""Every chart, as Vega-Lite by altair, from plain arrays.

| function | chart | module |
|---|---|---|
| `privacy_curve` | δ(ε) between its bounds | `lines` |
| `epsilon_by_count` | ε against the number of parts, a line for each rule | `lines` |
| `moments` | ln E[e^(αL)] against α, a line for each mechanism | `lines` |
| `error_by_reach` | the error of a group against the reach: noise, cut, and both | `lines` |
| `burn_down` | the budget left after each query | `lines` |
| `risk_before_after` | share of rows whose risk is at least a given one, before and after | `lines` |
| `loss_by_k` | loss against k, a line for each method | `lines` |
| `variances` | variances on log scales, a line for each protocol | `lines` |
| `loss_law` | the probability of each privacy loss, with the part beyond ε in another colour | `bars` |
| `counts` | estimated counts with their intervals, one bar a value | `bars` |
| `class_sizes` | rows by the size of their class | `bars` |
| `by_group`, `by_bin`, `over_time` | answers with their intervals, by one key | `answers` |
| `heat_map`, `side_by_side`, `on_one_axis` | answers by two keys, and several quantiles | `answers` |
| `simulated` | estimates of simulated protocols with the true counts | `bars` |
| `bars_and_line` | a law or a histogram as bars, another law as a line | `laws` |
| `two_laws` | the laws of two neighbours, with the band of e^ε | `laws` |
| `chances` | the probabilities of candidates | `laws` |
| `curves` | named lines with a mark | `laws` |
| `variance_by_constant` | the variance of a protocol against one of its constants, with the least marked | `optimum` |

A chart holds the numbers that it was given. More than 5,000 are thinned: curves to evenly spaced points, laws to sums.
Values that a scale cannot show (infinity, and zero on a log scale) are left out. Fonts and colours are set on the
parts, not as a configuration of the whole, so that charts can be put side by side: `left | right`. `darkened` returns
a chart for a dark page.

altair is the extra `tacit[plot]`; the first chart loads it.
"""

from tacit.plots.answers import by_bin, by_group, heat_map, on_one_axis, over_time, side_by_side
from tacit.plots.bars import class_sizes, counts, loss_law, losses, simulated
from tacit.plots.distances import pair_distances
from tacit.plots.frame import darkened
from tacit.plots.laws import ChartText, Mark, bars_and_line, chances, curves, two_laws
from tacit.plots.lines import (
    burn_down,
    epsilon_by_count,
    error_by_reach,
    loss_by_k,
    moments,
    privacy_curve,
    risk_before_after,
    variances,
)
from tacit.plots.marks import NoisyColumn
from tacit.plots.optimum import variance_by_constant

__all__ = [
    "ChartText",
    "Mark",
    "NoisyColumn",
    "bars_and_line",
    "burn_down",
    "by_bin",
    "by_group",
    "chances",
    "class_sizes",
    "counts",
    "curves",
    "darkened",
    "epsilon_by_count",
    "error_by_reach",
    "heat_map",
    "loss_by_k",
    "loss_law",
    "losses",
    "moments",
    "on_one_axis",
    "over_time",
    "pair_distances",
    "privacy_curve",
    "risk_before_after",
    "side_by_side",
    "simulated",
    "two_laws",
    "variance_by_constant",
    "variances",
]
