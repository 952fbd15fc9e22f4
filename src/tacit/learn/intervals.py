"""Intervals of the log-odds of classes in each cell, from noisy counts alone.

The subject is θ = log(a/b) - log(A/B) of the table that was read: a and b are the exact rows of a class and of all
other classes in a cell, A and B those of the whole table. With noisy counts â = a + X and b̂ = b + Y, where X and Y are
independent normal noise of deviation s and t, the ratio r = a/b is in

    { r ≥ 0 : |â - r·b̂| ≤ z·√(s² + r²t²) }

with the probability of |N(0, 1)| ≤ z, since â - r·b̂ is normal around 0 (Fieller, J. Royal Stat. Soc. B 16(2), 1954).
`ratio` returns the hull of that set, so it holds at least as often. If noise hides b, an end is infinite.
For Laplace noise, a and b are each within the quantile of half the miss rate, by Bonferroni; the ratio follows. Sums of
several Laplace variables have lighter tails than one of the same variance, so they use its quantile too.
θ gets an interval of log(a/b) that misses with 9/10 of the rate, less one of log(A/B) that misses with 1/10: together
the miss rate, by Bonferroni. With more than two classes θ has the rates a/(a + b) and A/(A + B) in place of the odds, as
the weights do: the same ratios give them. The noise is discrete in steps of at most 1/16 row, which changes no quantile visibly.

The weights of naive Bayes are near θ, shrunk to 0. The intervals are of θ, not of what shrinking expects; and of this
table, not of a population. The weights of logistic regression depend on noise in each round, so they have none.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import TypeAlias

import numpy as np

from tacit.learn.rates import Tables

Ends: TypeAlias = tuple[float, float]
_CELL = 0.9
"""The part of the miss rate that a cell gets; the whole table gets the rest."""


def cell_intervals(tables: Tables, cls: int, confidence: float, *, laplace: bool) -> list[Ends]:
    """Return the interval of θ of a class for each cell; with more than two classes, of θ with rates for odds."""
    miss = 1 - confidence
    whole, whole_noise = tables.classes, tables.class_noise
    number = len(whole)
    rest = (float(whole.sum() - whole[cls]), whole_noise * sqrt(number - 1))
    form = _log_odds if number == 2 else _log_rate  # noqa: PLR2004 - as the weights of naive Bayes
    base = form(_ratio((float(whole[cls]), whole_noise), rest, miss * (1 - _CELL), laplace=laplace))
    found = []
    for place in range(tables.counts.shape[1]):
        noise = float(tables.noise[place])
        one = (float(tables.counts[cls, place]), noise)
        others = (float(np.delete(tables.counts[:, place], cls).sum()), noise * sqrt(number - 1))
        low, high = form(_ratio(one, others, miss * _CELL, laplace=laplace))
        found.append((_less(low, base[1]), _less(high, base[0])))
    return found


def _less(one: float, two: float) -> float:
    """Return one - two; an infinite end stays."""
    return one if abs(one) == inf else one - two


def _ratio(one: Ends, two: Ends, miss: float, *, laplace: bool) -> Ends:
    return (box if laplace else ratio)(one, two, miss)


def _log_odds(ends: Ends) -> Ends:
    low, high = ends
    return (log(low) if low > 0 else -inf, log(high) if 0 < high < inf else (inf if high > 0 else -inf))


def _log_rate(ends: Ends) -> Ends:
    """Return an interval of log(a/(a + b)) from one of a/b."""
    low, high = ends
    return _log_odds((low / (1 + low) if low < inf else 1.0, high / (1 + high) if high < inf else 1.0))


def ratio(one: Ends, two: Ends, miss: float) -> Ends:
    """Return an interval of a/b from (â, s) and (b̂, t).

    >>> low, high = ratio((100.0, 1.0), (50.0, 1.0), 0.05)
    >>> round(low, 3), round(high, 3)
    (1.914, 2.092)
    >>> ratio((100.0, 1.0), (0.0, 1.0), 0.05)[1]
    inf
    """
    z = normal_quantile(1 - miss / 2)
    (a, s), (b, t) = one, two
    # (b² - z²t²)·r² - 2ab·r + (a² - z²s²) ≤ 0
    lead, half, last = b * b - (z * t) ** 2, a * b, a * a - (z * s) ** 2
    root = half * half - lead * last
    if lead > 0:  # root > 0 follows unless a and b are both far from 0
        spread = sqrt(max(root, 0.0))
        return max(0.0, (half - spread) / lead), max(0.0, (half + spread) / lead)
    if root <= 0 or lead == 0:
        return 0.0, inf
    first, second = sorted(((half - sqrt(root)) / lead, (half + sqrt(root)) / lead))
    return (second, inf) if first < 0 < second else (0.0, inf)  # the set is all that is not between them


def box(one: Ends, two: Ends, miss: float) -> Ends:
    """Return an interval of a/b from (â, s) and (b̂, t) with Laplace noise of these standard deviations."""
    reach = log(2 / miss) / sqrt(2)
    (a, s), (b, t) = one, two
    low, high, least, most = a - reach * s, a + reach * s, b - reach * t, b + reach * t
    return max(0.0, low) / most if most > 0 else 0.0, max(0.0, high) / least if least > 0 else inf


def right_share(right: tuple[float, float, float], miss: float, *, laplace: bool) -> tuple[float, Ends]:
    """Return the share of right predictions and its interval, from the noisy right and wrong rows and their noise."""
    one, two, noise = right
    low, high = _ratio((one, noise), (two, noise), miss, laplace=laplace)
    share = min(max(one / max(one + two, 1.0), 0.0), 1.0)
    return share, (low / (1 + low), 1.0 if high == inf else high / (1 + high))


def normal_quantile(probability: float) -> float:
    """Return the quantile of the standard normal law."""
    from statistics import NormalDist  # noqa: PLC0415 - heavy

    return NormalDist().inv_cdf(probability)
