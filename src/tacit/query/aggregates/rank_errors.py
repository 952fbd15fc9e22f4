"""The error of a drawn quantile in rows, if the rows are dense.

Let y be the number of rows between the drawn value and the quantile, in units of s (see `rank_law`).

**Without an interval** the density of y is e^(-y), so y exceeds ln(1/β) with probability β. Permute-and-flip is not
worse.

**With an interval** let x_k be the rows within the half width w_k, so that x_k/x_{k-1} = 2.5. Then G_k = x_k - y and
H_k = x_k - y in `rank_scores`, and the density of y is proportional to

    Σ_k exp(λk - max(y, t + y - x_k, x_{k-1} - y - t)).

It depends on the x_k only by their positions between two powers of 2.5. The largest error over 8 positions is used. For
95 % it is 3.6, against 3.0 without an interval.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import log

import numpy as np

from tacit.arrays import Floats
from tacit.query.rank_scores import GROWTH, RATIO, margin

_STEP, _FARTHEST = 0.01, 120.0
_POSITIONS = 8


@lru_cache(maxsize=256)
def rank_error(miss: Fraction | None, beta: float) -> float:
    """Return a number of rows, in units of s, that the error exceeds with probability at most β.

    Args:
        miss: the largest probability that the drawn interval misses the quantile; None if no interval is drawn.
        beta: the probability that the error is larger.

    >>> round(rank_error(None, 0.05), 2), round(rank_error(Fraction(1, 20), 0.05), 1)
    (3.0, 3.6)
    """
    if miss is None:
        return log(1 / beta)
    distances = np.arange(_STEP / 2, _FARTHEST, _STEP)
    return max(_exceeded(distances, part / _POSITIONS, float(margin(miss)), beta) for part in range(_POSITIONS))


def _exceeded(distances: Floats, position: float, slack: float, beta: float) -> float:
    """Return the least distance that is exceeded with probability at most β, for one position of the widths."""
    count = int(log(3 * (slack + _FARTHEST)) / log(RATIO)) + 12
    sizes = float(RATIO) ** (np.arange(count) - 10 + position)
    density = np.zeros(distances.size)
    for k, (inner, outer) in enumerate(zip(np.concatenate(([0.0], sizes[:-1])), sizes, strict=True)):
        penalty = np.maximum(np.maximum(distances, slack + distances - outer), inner - distances - slack)
        density += np.exp(float(GROWTH) * k - penalty)
    beyond = np.cumsum(density[::-1])[::-1] / density.sum()
    return float(distances[np.flatnonzero(beyond <= beta)[0]]) if beyond[-1] <= beta else _FARTHEST
