"""Every chart, as Vega-Lite by altair, from plain arrays.

| function | the picture |
|---|---|
| `privacy_curve` | δ(ε) between its bounds |
| `epsilon_by_count` | ε against the number of uses, a line for each rule |
| `loss_law` | how likely each privacy loss is, and what lies beyond ε |
| `moments` | ln E[e^(αL)] against α, a line for each mechanism |
| `burn_down` | what is left of a budget after each question |
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

from tacit.plots.axes import _ticks as _ticks  # tested by its name, as is `_rising`
from tacit.plots.band import privacy_curve
from tacit.plots.bars import class_sizes
from tacit.plots.intervals import counts, estimates
from tacit.plots.law import loss_law
from tacit.plots.lines import _rising as _rising
from tacit.plots.lines import epsilon_by_count, loss_by_k, moments, risk_before_after, variances
from tacit.plots.steps import burn_down

__all__ = [
    "burn_down",
    "class_sizes",
    "counts",
    "epsilon_by_count",
    "estimates",
    "loss_by_k",
    "loss_law",
    "moments",
    "privacy_curve",
    "risk_before_after",
    "variances",
]
