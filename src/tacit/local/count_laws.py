"""The laws of the sums in a tally, and intervals for counts from their tails, down to a single report.

**Test.** X is the sum that a tally has for a value, and m the number of people who have it. X grows with m in
stochastic order. The interval holds every m in {0, …, n} at which neither Pr[X ≥ x | m] nor Pr[X ≤ x | m] is below
β/2, as Clopper and Pearson's does (Biometrika 26, 1934): it misses m with probability at most β, at most β/2 on each
side. Tails are exact where they are cheap, and very nearly exact elsewhere; see `intervals`. The tests compare misses
with β by exact enumeration.

**Outside 0…n** no m is possible. Where 0 is not rejected the low end is that of a normal law with the variance at 0,
at most 0, so that it still shows the error of an unbiased count; the same at n. Ends between are whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol as Interface

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.local.intervals import PACKED, Ends, Group, ends, moments
from tacit.local.response_law import Pure

_NEWTON, _CLOSE = 100, 1e-7
_STRIDE = 2.0
_TILT = 200.0
_SHARE = 40


class Decoded(Interface):
    """Unbiased counts and their errors."""

    @property
    def counts(self) -> Floats:
        """The unbiased counts."""

    def std(self) -> Floats:
        """Return the standard error of each."""

    def ends(self, beta: float) -> Ends:
        """Return for each an interval that misses the truth with probability β, with β/2 at most on each side."""


@dataclass(frozen=True)
class Supports:
    """X is how many of n reports support a value: Bin(m, p') + Bin(n - m, q'), by a pure protocol."""

    law: Pure
    support: Ints
    n: int
    least = 0
    gap = 0.5

    @property
    def counts(self) -> Floats:
        """The unbiased counts."""
        return self.law.counts(self.support, self.n)

    @property
    def sums(self) -> Ints:
        """X."""
        return self.support

    @property
    def step(self) -> float:
        """The change of a count when one more report supports it."""
        return self.law.step

    def std(self) -> Floats:
        """Return √V at the estimate, cut to 0…n; V is exact."""
        return self._deviation(np.clip(self.counts, 0, self.n))

    def deviation(self, m: float) -> Floats:
        """Return √V at m."""
        return self._deviation(np.full(self.support.shape, float(m)))

    def _deviation(self, m: Floats) -> Floats:
        return np.sqrt(np.maximum(self.n * self.law.base + self.law.slope * m, 0))

    def ends(self, beta: float) -> Ends:
        """Return an interval for each value; equal supports have equal ones."""
        distinct, inverse = np.unique(self.support, return_inverse=True)
        low, high = ends(Supports(self.law, distinct, self.n), beta / 2)
        return low[inverse], high[inverse]

    def subset(self, positions: Ints) -> Supports:
        """Return the law for some of the values."""
        return replace(self, support=self.support[positions])

    def groups(self, m: Floats) -> Sequence[Sequence[Group]]:
        """Return the people with the value, and the others."""
        p, q, off, no = self._chances()
        return [[Group(m, p, 0.0, off), Group(self.n - m, q, 0.0, no)]]

    def _chances(self) -> tuple[float, float, float, float]:
        p, q = self.law.p, self.law.q
        return float(p), float(q), float(1 - p), float(1 - q)

    def saddle(self, m: Floats, y: Floats) -> Floats:
        """Solve a quadratic equation in w = e^t."""
        p, q, off, no = self._chances()
        a, c = p * q * (self.n - y), y * off * no
        b = m * p * no + (self.n - m) * q * off - y * (p * no + q * off)
        root = np.sqrt(b * b + 4 * a * c)
        w = np.where(b > 0, 2 * c, root - b) / np.where(b > 0, b + root, 2 * a)  # without cancellation
        return np.log(w)


@dataclass(frozen=True)
class Signs:
    """X is the sum of the signs of a value's Hadamard row over the N reports that fell into its block (see `hadamard`).

    Each of the m people who have the value adds +1 with probability `keep`, -1 with `stray`, else 0; each other one of
    the c people whose values are in the block ±1 with (keep + stray)/2 each; each of the n - c others ±1 with `stray`.

    **c is unknown.** N is Bin(c, keep + stray) + Bin(n - c, 2·stray), whatever m is. So Clopper and Pearson's upper
    end C for c from N is below c with probability at most γ = β/40. Reject m if a tail of X is below β/2 - γ for every
    c in {m, …, max(C, m)}. The true m is rejected on one side only if c > C or if that tail is below β/2 - γ at the
    true c: together at most β/2, whoever the others are (Berger and Boos, J. Am. Stat. Assoc. 89, 1994).  ∎
    For each c the tail moves with m one way, and with m = c the same way, so what is not rejected has no holes.

    **The largest tail.** One more person in the block makes (keep - stray)/2 more of ±1 each, which adds that times
    Pr[Y = x - 1] - Pr[Y = x] to the upper tail, Y being the sum of all others. Beyond the middle of Y that is not
    negative if Y has no gaps; where nearly everybody's report is in the block, X is even or odd with c, and the same
    holds for two people more. So the largest of the tails below 1/2 is at c = C or C - 1, and both are tried; the
    continuous tail begins a whole step before x for the same reason. The tests try every c. Where a block has only one
    value, and is not `shared`, c is m.
    """

    keep: float | Fraction
    stray: float | Fraction
    plus: Ints
    minus: Ints
    n: int
    shared: bool = True
    most: Floats | None = None
    gap = 1.0

    @property
    def counts(self) -> Floats:
        """The unbiased counts."""
        return np.asarray((self.plus - self.minus) * self.step, dtype=np.float64)

    @property
    def sums(self) -> Ints:
        """X."""
        return self.plus - self.minus

    @property
    def least(self) -> int:
        """The least that X can be."""
        return -self.n

    @property
    def step(self) -> float:
        """The change of a count with one more report."""
        return 1 / float(self.keep - self.stray)

    def std(self) -> Floats:
        """Return √V at the estimate, cut to 0…n."""
        return self._deviation(np.clip(self.counts, 0, self.n))

    def deviation(self, m: float) -> Floats:
        """Return √V at m."""
        return self._deviation(np.full(self.plus.shape, float(m)))

    def _deviation(self, m: Floats) -> Floats:
        """Return √V for the number of reports in the block, or for the number that the law itself adds if larger."""
        keep, stray = float(self.keep), float(self.stray)
        observed = self.plus + self.minus - m * (keep + stray)
        others = np.maximum(observed, (self.n - m + 1) * 2 * stray)
        return np.asarray(np.sqrt(others + m * (keep + stray - (keep - stray) ** 2)) * self.step)

    def ends(self, beta: float) -> Ends:
        """Return an interval for each value; equal numbers of signs have equal ones."""
        if self.n >= PACKED:
            return _ends_of_signs(self, beta)
        distinct, inverse = np.unique(self.plus * PACKED + self.minus, return_inverse=True)
        low, high = _ends_of_signs(replace(self, plus=distinct // PACKED, minus=distinct % PACKED), beta)
        return low[inverse], high[inverse]

    def in_block(self, gamma: float) -> Floats:
        """Return C, the upper end for the number of people in the block; it is too small with probability at most γ."""
        law = Pure(1 - self._chances[1], 2 * Fraction(self.stray))
        reports, inverse = np.unique(self.plus + self.minus, return_inverse=True)
        return np.asarray(np.clip(np.floor(Supports(law, reports, self.n).ends(2 * gamma)[1]), 0, self.n)[inverse])

    @cached_property
    def _chances(self) -> tuple[float, Fraction]:
        """The probability of a report in the block of its person, and outside of it; rounded ones may sum to 1."""
        outside = max(1 - Fraction(self.keep) - Fraction(self.stray), Fraction(1, 1 << 70))
        return float(1 - outside), outside

    def subset(self, positions: Ints) -> Signs:
        """Return the law for some of the values."""
        most = None if self.most is None else self.most[positions]
        return replace(self, plus=self.plus[positions], minus=self.minus[positions], most=most)

    def groups(self, m: Floats) -> Sequence[Sequence[Group]]:
        """Return the people with the value, the others in its block, and all others; for C and C - 1."""
        keep, stray = float(self.keep), float(self.stray)
        inside, outside = self._chances[0], float(self._chances[1])
        holders, far = Group(m, keep, stray, outside), 1 - 2 * stray
        return [
            [holders, Group(c - m, inside / 2, inside / 2, outside), Group(self.n - c, stray, stray, far)]
            for c in ((m,) if self.most is None else (np.maximum(self.most, m), np.maximum(self.most - 1, m)))
        ]

    def saddle(self, m: Floats, y: Floats) -> Floats:
        """Find t by Newton's method, and by bisection where that leaves the bracket."""
        groups, t = self.groups(m)[0], np.zeros(m.shape)
        low, high = np.full(m.shape, -_TILT), np.full(m.shape, _TILT)
        for _ in range(_NEWTON):
            _, mean, spread = moments(groups, t)
            low, high = np.where(mean < y, t, low), np.where(mean < y, high, t)
            move = np.clip((y - mean) / np.maximum(spread, 1e-300), -_STRIDE, _STRIDE)
            there = np.where((t + move > low) & (t + move < high), t + move, (low + high) / 2)
            done, t = np.abs(there - t) < _CLOSE * (1 + np.abs(t)), there
            if done.all():
                break
        return t


def _ends_of_signs(model: Signs, beta: float) -> Ends:
    if not model.shared:
        return ends(model, beta / 2)
    return ends(replace(model, most=model.in_block(beta / _SHARE)), beta / 2 - beta / _SHARE)
