"""Statistical tests with known error probabilities.

`p_value` never understates: for k bins and any n, the generating function of n·KL(p̂ ‖ p) is at most that of a gamma
variable of shape k-1 (Agrawal, arXiv:1904.02291v4), so by Chernoff's bound Pr[n·KL(p̂ ‖ p) ≥ x] ≤
e^(-x)·(e·x/(k-1))^(k-1), and a true law is rejected with probability at most `FALSE_ALARM`. `miss` bounds the other
error: the frequencies that are not rejected form a convex set, so those of a sample of another law q end there with
probability at most e^(-n·KL(p* ‖ q)), p* its point nearest to q (Csiszár, Annals of Probability 12(3), 1984,
theorem 1). The suite makes fewer than 1,000 decisions, each wrong with probability at most 1e-13, so a false
alarm of the whole suite has probability below 1e-10.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, inf, log
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from laws import Law

FALSE_ALARM = 1e-13

FIFTH, TENTH = Fraction(1, 5), Fraction(1, 10)


def draws(brief: int, thorough: int) -> pytest.MarkDecorator:
    """Run a test on few draws, which tell a law from one with an ε a fifth off; on many, a tenth off, in a long run.

    Either way the test asserts the bound on its misses, with the number of draws that it has.
    """
    return pytest.mark.parametrize(
        ("size", "off"), [(brief, FIFTH), pytest.param(thorough, TENTH, marks=pytest.mark.long)]
    )


Floats = npt.NDArray[np.float64]
Sample = npt.NDArray[np.int64]


class Tailed(Protocol):
    """A law whose far tail is known."""

    def tail(self, multiple: int) -> tuple[int, float]:
        """Return t and Pr[|K| > t]."""


def divergence(p: Floats, q: Floats) -> float:
    """Return Σ p·ln(p/q), in nats."""
    seen = p > 0
    if (q[seen] <= 0).any():
        return inf
    return float(np.sum(p[seen] * np.log(p[seen] / q[seen])))


def tail_bound(x: float, bins: int) -> float:
    """Bound Pr[n·KL ≥ x] for this many bins."""
    free = bins - 1
    return 1.0 if x <= free else exp(-x + free * (1 + log(x / free))) if x < inf else 0.0


def critical(bins: int) -> float:
    """Return the n·KL at which a law is rejected."""
    return float(brentq(lambda x: log(tail_bound(x, bins)) - log(FALSE_ALARM), bins, 4 * bins + 200))


def p_value(counts: npt.ArrayLike, chances: Sequence[float]) -> float:
    """Bound the probability of counts at least as far from their chances as these."""
    seen = np.asarray(counts, dtype=np.float64)
    total = float(seen.sum())
    return tail_bound(total * divergence(seen / total, _law(chances)), len(chances))


def miss(claimed: Sequence[float], drawn: Sequence[float], size: int) -> float:
    """Bound the probability that `size` draws of one law pass as the other."""
    p, q, radius = _law(claimed), _law(drawn), critical(len(claimed)) / size
    if divergence(q, p) <= radius:
        return 1.0
    part = float(brentq(lambda t: divergence(_between(p, q, t), p) - radius, 0, 1))
    return exp(-size * divergence(_between(p, q, part), q))


def _law(chances: Sequence[float]) -> Floats:
    p = np.asarray(chances, dtype=np.float64)
    assert abs(p.sum() - 1) < 1e-9
    assert (p >= 0).all()
    return np.asarray(p / p.sum())


def _between(p: Floats, q: Floats, part: float) -> Floats:
    both = (p > 0) & (q > 0)
    mixed = np.where(both, np.exp((1 - part) * _log(p, both) + part * _log(q, both)), 0)
    return np.asarray(mixed / mixed.sum())


def _log(p: Floats, where: npt.NDArray[np.bool_]) -> Floats:
    return np.log(np.where(where, p, 1))


def tally(sample: Sample, edges: Sequence[int]) -> npt.NDArray[np.intp]:
    """Count the draws in (-∞, e_0), [e_0, e_1), …, [e_last, ∞)."""
    return np.bincount(np.searchsorted(np.array(edges), sample, side="right"), minlength=len(edges) + 1)


def fits(sample: Sample, law: Law) -> bool:
    """Return whether the sample passes as the law; a true law fails with probability at most `FALSE_ALARM`."""
    edges = law.edges()
    return p_value(tally(sample, edges), law.chances(edges)) > FALSE_ALARM


def would_miss(claimed: Law, drawn: Law, size: int) -> float:
    """Bound the probability that `fits` accepts draws of one law as another."""
    edges = claimed.edges()
    return miss(claimed.chances(edges), drawn.chances(edges), size)


def tail_p_value(sample: Sample, law: Tailed, multiple: int) -> float:
    """Test the number of draws beyond a multiple of the scale, by the exact binomial law, on both sides."""
    beyond, chance = law.tail(multiple)
    return count_p_value(int(np.count_nonzero(np.abs(sample) > beyond)), sample.size, chance)


def count_p_value(count: int, size: int, chance: float) -> float:
    """Test a number of successes by the exact binomial law, on both sides."""
    return float(2 * min(binom.cdf(count, size, chance), binom.sf(count - 1, size, chance), 0.5))


def count_miss(size: int, claimed: float, drawn: float) -> float:
    """Return the probability that `count_p_value` accepts coins of chance `drawn` as `claimed`."""
    low = binom.ppf(FALSE_ALARM / 2, size, claimed)
    high = binom.isf(FALSE_ALARM / 2, size, claimed)
    return float(binom.cdf(high + 1, size, drawn) - binom.cdf(low - 2, size, drawn))


def window(sample: Sample, low: int, width: int) -> npt.NDArray[np.intp]:
    """Count the values of binary digits low, …, low+width-1."""
    return np.bincount((sample >> low) & ((1 << width) - 1), minlength=1 << width)
