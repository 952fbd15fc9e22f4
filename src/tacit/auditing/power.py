"""The smallest violation that an audit can see.

Randomized response with parameter x answers "yes" with probability p = e^x/(1 + e^x) on one input and 1 - p on the
other. Its ratio e^x is at its largest at both outputs, so no mechanism with this ε is easier to tell from one with a
smaller ε (every ε-DP pair of laws is a post-processing of it: Kairouz, Oh, Viswanath, ICML 2015, theorem 3.1,
arXiv:1311.0776v4). `detectable` returns an x for which the audit of this mechanism reports more than the claim with
probability at least 99 %.

**Proof.** Let k be the 0.4 % quantile of Bin(n, p) and j the 99.6 % quantile of Bin(n, 1 - p). The counts of the two
answers on the bounding half are at least k and at most j with probability at least 99.2 % (quantiles in floating
point are exact up to far less than the 0.2 % that is left). The bound is monotone in both counts up to the margins of
`binomial`, which a factor 1 + 1e-6 on the claim absorbs. The search has two answers to choose from; by symmetry each
of its choices gives this bound.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, inf

from scipy import special, stats

from tacit.auditing.binomial import epsilon_lower, lower_probability, ratio_bound, upper_probability

_MISS = 0.004
_STEPS = 30
_DIGITS = 1000


def ceiling(runs: int, *, delta: Fraction, error: Fraction) -> float:
    """Return the largest bound that this many runs can give: an event that always and never happens.

    >>> ceiling(50_000, delta=Fraction(0), error=Fraction(1, 1000))
    8.791...
    """
    p, q = lower_probability(runs, runs, error / 2), upper_probability(0, runs, error / 2)
    return ratio_bound(p, q, delta)


def detectable(runs: int, claimed: float, *, delta: Fraction, error: Fraction) -> float:
    """Return the least ε, rounded up to a thousandth, whose randomized response is found; infinity if it is not found.

    >>> detectable(50_000, 1.0, delta=Fraction(0), error=Fraction(1, 1000))
    1.0...
    """
    high = claimed + 0.001
    while not _seen(high, runs, claimed, delta, error):
        high = claimed + 2 * (high - claimed)
        if high > claimed + 100:
            return inf
    low = claimed
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if _seen(middle, runs, claimed, delta, error) else (middle, high)
    return ceil(high * _DIGITS) / _DIGITS


def _seen(epsilon: float, runs: int, claimed: float, delta: Fraction, error: Fraction) -> bool:
    p, other = float(special.expit(epsilon)), exp(-epsilon) / (1 + exp(-epsilon))
    hits = int(stats.binom.ppf(_MISS, runs, p))
    misses = int(stats.binom.isf(_MISS, runs, other))
    return epsilon_lower((hits, runs), (misses, runs), delta=delta, error=error) > claimed * (1 + 1e-6)
