"""Lower bounds on ε from all thresholds of a number at once, by the band of Dvoretzky, Kiefer and Wolfowitz.

**Theorem** (Massart, Annals of Probability 18(3), 1990, corollary 1). Let F_n be the empirical distribution function
of n independent values with the same distribution function F. Then Pr[sup |F_n - F| > λ] ≤ 2·e^(-2nλ²) for every λ >
0, whether or not F is continuous.

An output may lack the number. Count it as +∞ for the events {x ≤ t}, and as -∞ for the events {x > t}. This gives two
distribution functions on each input, four in all. With λ ≥ √(ln(8/a)/(2n)) each is further than λ from its empirical
one with probability at most a/4. So, except with probability a, all these events have probabilities within λ of their
frequencies, for all t at once, and ε is at least the largest of ln((p̂ - λ - δ)/(q̂ + λ)) over all t, both sides and
both directions. The threshold may be chosen on the same values. λ is above 1/√n, so rare events say little here:
Clopper and Pearson's bound for one event is better for them.

Unlike `binomial`, this needs runs with one law: a drift of the machine is not covered.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np

from tacit.arrays import Floats
from tacit.auditing.binomial import ratio_bound

_UP = Context(prec=40, rounding=ROUND_CEILING)


@dataclass(frozen=True, slots=True)
class Threshold:
    """The best threshold: the bound on ε, the number, the side, and on which input the event is more likely."""

    bound: float
    at: float
    above: bool
    on_first: bool


def band(runs: int, error: Fraction) -> Fraction:
    """Return λ for four empirical distribution functions of this many runs and an error of all of them.

    Every operation rounds up, except the logarithm, whose error of 1e-39 is added.

    >>> float(band(10_000, Fraction(1, 1000))) # √(ln 8000/20000)
    0.0211981...
    """
    ratio = _UP.divide(Decimal(8 * error.denominator), Decimal(error.numerator))
    square = _UP.divide(_UP.add(_UP.ln(ratio), Decimal("1e-37")), Decimal(2 * runs))
    return Fraction(_UP.add(_UP.sqrt(square), Decimal("1e-37")))


def best_threshold(first: Floats, second: Floats, *, delta: Fraction, error: Fraction) -> Threshold:
    """Return the threshold with the largest bound on ε, from values on two inputs; NaN is an absent value."""
    runs = first.size, second.size
    margins = [band(size, error) for size in runs]
    present = [np.sort(values[~np.isnan(values)]) for values in (first, second)]
    points = np.unique(np.concatenate(present))
    best = Threshold(0.0, 0.0, above=False, on_first=True)
    for above in (False, True):
        counts = [np.searchsorted(values, points, side="right") for values in present]
        if above:
            counts = [values.size - below for values, below in zip(present, counts, strict=True)]
        for likely, unlikely in ((0, 1), (1, 0)):
            shares = counts[likely] / runs[likely] - float(margins[likely] + delta)
            others = counts[unlikely] / runs[unlikely] + float(margins[unlikely])
            place = int(np.argmax(shares / others))
            p = Fraction(int(counts[likely][place]), runs[likely]) - margins[likely]
            q = Fraction(int(counts[unlikely][place]), runs[unlikely]) + margins[unlikely]
            bound = ratio_bound(p, min(q, Fraction(1)), delta)
            if bound > best.bound or (above, likely) == (False, 0):
                best = Threshold(bound, float(points[place]), above, likely == 0)
    return best
