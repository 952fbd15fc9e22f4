"""Discrete Laplace noise that is cut off on both sides, for the numbers of units by which groups are chosen.

`selection` has the law, K and λ, and what is proved of it. X_K is discrete Laplace noise of scale 1/ε', drawn again
while it is beyond ±K: exactly its law. How often that happens depends on K and ε' alone.

Adding up r^|x|: Pr[X_K ≥ t] = r^t·(1-r^(K+1-t))/((1-r^(K+1)) + r·(1-r^K)) for 1 ≤ t ≤ K, and 1 - Pr[X_K ≥ 1-t] for
t ≤ 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.guarantees.events import ApproxRelease
from tacit.noise.bernoulli import bernoulli
from tacit.noise.bits import SYSTEM, BitSource
from tacit.noise.laplace import discrete_laplace
from tacit.noise.reals import rational
from tacit.query.noise_law import NoiseLaw


@dataclass(frozen=True, slots=True)
class Shown:
    """The groups to show: their places, their noisy numbers of units, and which of them had the lower limit."""

    places: npt.NDArray[np.intp]
    noisy: Ints
    lower: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated(NoiseLaw):
    """The law by which all groups are chosen: `amount` is 1/ε', `most` is k, `coin` is λ; ε and δ are of the whole.

    Noise beyond ±k does not occur, and less is as likely as `selection` says.
    """

    most: int
    coin: Fraction
    epsilon: Fraction
    delta: Fraction

    @property
    def event(self) -> ApproxRelease:
        """What the choice of all groups costs."""
        return ApproxRelease(epsilon=self.epsilon, delta=self.delta)

    @property
    def lower(self) -> Truncated:
        """The law of a group whose coin fell so that its limit is k - 1."""
        return replace(self, most=self.most - 1)

    def shown(self, units: Ints, bits: BitSource = SYSTEM) -> Shown:
        """Choose among groups by the units of each."""
        lower = bernoulli(rational(self.coin), units.size, bits)
        limits = self.most - lower
        noisy = units + self._drawn(limits, bits)
        places = np.flatnonzero(noisy > limits)
        return Shown(places, noisy[places], lower[places])

    def drawn(self, size: int, bits: BitSource = SYSTEM) -> Ints:
        """Draw fresh noise of the higher limit."""
        return self._drawn(np.full(size, self.most), bits)

    def _drawn(self, limits: Ints, bits: BitSource) -> Ints:
        found = np.empty(limits.size, dtype=np.int64)
        missing = np.arange(limits.size)
        while missing.size:
            drawn, ends = discrete_laplace(self.amount, missing.size, bits), limits[missing]
            inside = np.asarray((drawn >= -ends) & (drawn <= ends), dtype=np.bool_)
            found[missing[inside]] = drawn[inside]
            missing = missing[~inside]
        return found

    def beyond(self, least: int) -> float:
        """Return Pr[X ≥ t] of the higher limit."""
        if least <= 0:
            return 1.0 if least <= -self.most else 1.0 - self.beyond(1 - least)
        if least > self.most:
            return 0.0
        e, k = 1 / float(self.amount), self.most
        return exp(-e * least) * expm1(-e * (k + 1 - least)) / (expm1(-e * (k + 1)) + exp(-e) * expm1(-e * k))

    def probability(self, units: int) -> float:
        """Return how likely a group of so many units is shown."""
        higher, lower = self.beyond(self.most + 1 - units), self.lower.beyond(self.most - units)
        return higher + float(self.coin) * (lower - higher)

    def quantile(self, beta: Fraction) -> int:
        """Return the least t with Pr[|noise| > t] ≤ β for both limits."""
        return _quantile(self, float(beta))

    def around(self, found: int, beta: Fraction) -> tuple[int, int]:
        """Return ends that hold the units of a *shown* group, whose limit is `most`, with probability ≥ 1-β.

        That a group is shown says that its noise was not low. So n is tested by the law of n + X given n + X > k, with
        β/2 for each side. That law rises with n, since its ratios do, so each side is found by bisection. The noisy
        number itself is taken in.
        """
        return _around(self, found, float(beta))


@lru_cache(maxsize=1024)
def _quantile(law: Truncated, beta: float) -> int:
    low, high = -1, law.most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if 2 * law.beyond(middle + 1) <= beta else (middle, high)
    return high


@lru_cache(maxsize=65536)
def _around(law: Truncated, found: int, beta: float) -> tuple[int, int]:
    """See `Truncated.around`; groups with one noisy number have one interval."""
    k = law.most
    low, high = max(1, found - k) - 1, found  # what is left of the first end is too small to give this number
    while high - low > 1:
        n = (low + high) // 2
        low, high = (n, high) if law.beyond(found - n) <= beta / 2 * law.beyond(k + 1 - n) else (low, n)
    first, low, high = high, found, found + k + 1
    while high - low > 1:
        n = (low + high) // 2
        no_more = law.beyond(n - found) - law.beyond(n - k)  # by symmetry Pr[k - n < X ≤ found - n], small and exact
        low, high = (low, n) if no_more <= beta / 2 * law.beyond(k + 1 - n) else (n, high)
    return first, low
