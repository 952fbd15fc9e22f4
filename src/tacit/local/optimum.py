"""The variance of a protocol against its own constants, at one ε: where the optimum is.

| protocol | constant | optimum |
|---|---|---|
| `OUE` | p', the probability that the own bit is 1 | 1/2 |
| `OLH` | g, the number of buckets | e^ε + 1 |
| `SubsetSelection` | k, the number of values in a report | d/(e^ε + 1) |
"""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import Number
from tacit.local.base import read_arguments
from tacit.local.local_hashing import OLH
from tacit.local.subset_selection import SubsetSelection
from tacit.local.unary_encoding import OUE

if TYPE_CHECKING:
    import altair as alt

Tunable = Literal["OUE", "OLH", "SubsetSelection"]

_POINTS, _MOST_BUCKETS = 60, 1 << 16
_ACROSS = {
    "OUE": "p', the probability that the own bit is 1",
    "OLH": "g, the number of buckets",
    "SubsetSelection": "k, the number of values in a report",
}


def plot_optimum(*, protocol: Tunable, epsilon: Number, domain_size: int = 128) -> alt.LayerChart:
    """Draw the variance of a rare value against the constant that a survey may choose itself, at one ε.

    >>> chart = plot_optimum(protocol="OLH", epsilon=1)
    >>> chart.to_dict()["title"]["subtitle"]
    'ε = 1, d = 128. The least variance is 3.69, at 4.'

    Args:
        protocol: "OUE" for p', "OLH" for g, "SubsetSelection" for k.
        epsilon: the guarantee of each report.
        domain_size: the number of values.
    """
    from tacit import plots  # noqa: PLC0415 - only for charts

    if protocol not in get_args(Tunable):
        raise bad_value("protocol", protocol, f"one of {', '.join(get_args(Tunable))}")
    domain, target = read_arguments(domain_size, epsilon)
    at, variances = _curve(protocol, float(target), domain.size)
    return plots.variance_by_constant(
        at,
        variances,
        across=_ACROSS[protocol],
        title=f"Variance of a rare value by {protocol}",
        note=f"ε = {float(target):g}, d = {domain.size:,}.",
        log=protocol != "OUE",
    )


def _curve(protocol: Tunable, epsilon: float, d: int) -> tuple[list[float], list[float]]:
    """Return the constants and the variances, without the constants at which ε is too small for 64 bits."""
    at, variances = [], []
    for constant in _constants(protocol, epsilon, d):
        try:
            variances.append(_variance(protocol, constant, epsilon, d))
        except InvalidError:
            continue
        at.append(constant)
    return at, variances


def _constants(protocol: Tunable, epsilon: float, d: int) -> list[float]:
    if protocol == "OUE":
        return [round(share, 4) for share in np.linspace(0.02, 0.98, 49).tolist()]
    best, most = (exp(epsilon) + 1, _MOST_BUCKETS) if protocol == "OLH" else (d / (exp(epsilon) + 1), d - 1)
    low, high = (2, min(most, 16 * best)) if protocol == "OLH" else (1, most)
    grid = np.geomspace(low, max(low + 1, high), _POINTS).round().tolist()
    near = {min(max(round(best) + shift, low), most) for shift in (-1, 0, 1)}
    return sorted({float(min(number, most)) for number in grid} | {float(number) for number in near})


def _variance(protocol: Tunable, constant: float, epsilon: float, d: int) -> float:
    if protocol == "OUE":
        return OUE(domain=d, epsilon=epsilon, p=constant).variance(n=1)
    if protocol == "OLH":
        return OLH(domain=d, epsilon=epsilon, buckets=int(constant)).variance(n=1)
    return SubsetSelection(domain=d, epsilon=epsilon, size=int(constant)).variance(n=1)
