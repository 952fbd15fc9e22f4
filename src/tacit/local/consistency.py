"""Consistency steps: from unbiased counts to counts that a population can have. Each step makes them biased.

| name | step | sums to n |
|---|---|---|
| norm-sub | max(c + δ, 0), with δ so that the sum is n | yes |
| simplex | the nearest point, by least squares, of {c ≥ 0, Σc = n}: the same as norm-sub | yes |
| norm-mul | max(c, 0), scaled | yes |
| base-cut | c where the reports contradict a count of 0, else 0 | no |
| isotonic | cumulative counts made to rise from 0 to n, by least squares; for an ordered domain | yes |

See Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li, NDSS 2020. The steps use only reports, so privacy is unaffected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from tacit.arrays import Floats

Method = Literal["norm-sub", "norm-mul", "base-cut", "simplex", "isotonic"]
Low = Callable[[float], Floats]
ConsistencyStep = Callable[[Floats, int, Low], Floats]

_EXCESS = 0.05


def norm_sub(counts: Floats, n: int, _: Low) -> Floats:
    """Return max(c + δ, 0), summing to n; the set of those above 0 only shrinks, so the loop ends.

    >>> norm_sub(np.array([6.0, 5.0, -3.0]), 8, np.zeros)
    array([4.5, 3.5, 0. ])
    """
    under = _under(counts)
    kept = np.ones(counts.size, dtype=np.bool_)
    while True:
        moved = under + (n - under[kept].sum()) / np.count_nonzero(kept)
        below = kept & (moved < 0)
        if not below.any():
            return np.where(kept, moved, 0.0)
        kept &= ~below


def simplex(counts: Floats, n: int, _: Low) -> Floats:
    """Return the point of {c ≥ 0, Σc = n} that is nearest (Duchi et al., ICML 2008, figure 1)."""
    under = _under(counts)
    order = np.sort(under)[::-1]
    excess = (np.cumsum(order) - n) / np.arange(1, counts.size + 1)
    last = int(np.flatnonzero(order > excess)[-1])
    return np.asarray(np.maximum(under - excess[last], 0.0))


def _under(counts: Floats) -> Floats:
    """Return each count minus the largest: the nearest point is the same, and n is not lost among huge counts.

    At a tiny ε counts are of size 10^17 and more. Those that stay above 0 are within n of the largest, and such
    differences are exact or nearly so.
    """
    return np.asarray(counts - counts.max())


def norm_mul(counts: Floats, n: int, _: Low) -> Floats:
    """Return max(c, 0) scaled to sum to n; equal counts if none is above 0."""
    cut = np.maximum(counts, 0.0)
    total = float(cut.sum())
    return np.asarray(cut / total * n) if total > 0 else np.full(counts.size, n / counts.size)


def base_cut(counts: Floats, _: int, low: Low) -> Floats:
    """Return the counts whose reports contradict 0, so that all of d absent values are cut at least 19 times in 20.

    An interval of risk β misses a count of 0 upwards with probability at most β/2, which is 1/(20·d) here; d such
    events together have at most d times that.  ∎

    >>> base_cut(np.array([6.0, 5.0, -3.0]), 8, lambda beta: np.array([2.0, -1.0, -9.0]))
    array([6., 0., 0.])
    """
    return np.where(low(2 * _EXCESS / counts.size) > 0, counts, 0.0)


def isotonic(counts: Floats, n: int, _: Low) -> Floats:
    """Return the differences of cumulative counts that rise from 0 to n, nearest to those given by least squares."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - slow to import

    upto = np.clip(isotonic_regression(np.cumsum(counts)[:-1]).x, 0, n)
    return np.diff(upto, prepend=0.0, append=float(n))


METHODS: Mapping[str, ConsistencyStep] = {
    "norm-sub": norm_sub,
    "norm-mul": norm_mul,
    "base-cut": base_cut,
    "simplex": simplex,
    "isotonic": isotonic,
}
