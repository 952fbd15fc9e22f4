"""Intervals for a count from the tails of what was counted, down to a handful of reports.

**Test.** X is the sum that a tally has for a value, and m the number of people who have it. X grows with m in
stochastic order. The interval holds every m in {0, …, n} at which neither Pr[X ≥ x | m] nor Pr[X ≤ x | m] is below β/2,
as Clopper and Pearson's does (Biometrika 26, 1934): it misses m with probability at most β if the tails are right.

**Tails.** With the cumulant function K of X and K'(t) = x - 1/2, Pr[X ≥ x] = 1 - Φ(r*) up to a small relative error
also far out, where r = ±√(2(t(x-1/2) - K(t))), u = 2·sinh(t/2)·√K''(t) and r* = r + ln(u/r)/r: Lugannani and Rice's
formula (Adv. Appl. Prob. 12, 1980) for integers (Daniels, Int. Statist. Rev. 55, 1987, second continuity correction) as
Barndorff-Nielsen writes it. A normal approximation errs by factors there. The tests compare coverage with β by exact
enumeration, from a tenth of an expected report up.

**Outside 0…n** no m is possible. Where 0 is not rejected the low end is that of a normal law with the variance at 0,
at most 0, so that it still shows how far an unbiased count may be off; the same at n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tacit.local.law import Pure

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Ends = tuple[Floats, Floats]

_HALVINGS = 64
_NEWTON = 60
_STRIDE = 2.0
_MIDDLE = 1e-4
_MANY = 4000.0
_PACKED = 1 << 31


class Decoded(Protocol):
    """Unbiased counts and what is known of their errors."""

    @property
    def counts(self) -> Floats:
        """The unbiased counts."""

    def std(self) -> Floats:
        """Return the standard error of each."""

    def ends(self, beta: float) -> Ends:
        """Return for each an interval that misses the truth with probability β."""


class Model(Protocol):
    """The law of X for some values, as a function of m. A side is +1 for the upper tail at x, -1 for the lower."""

    @property
    def n(self) -> int:
        """How many people reported."""

    @property
    def counts(self) -> Floats:
        """The unbiased counts."""

    @property
    def step(self) -> float:
        """How far a count moves when X moves by 1."""

    def possible(self, side: int) -> npt.NDArray[np.bool_]:
        """Tell where X can be beyond x on the other side; else the tail is 1."""

    def score(self, m: Floats, side: int) -> Floats:
        """Return r* for the tail at x on this side; it falls as m grows."""

    def deviation(self, m: float) -> Floats:
        """Return the standard deviation of the count if m people have the value."""


@dataclass(frozen=True)
class Supports:
    """X is how many of n reports support a value: Bin(m, p') + Bin(n - m, q'), by a pure protocol."""

    law: Pure
    support: Ints
    n: int

    @property
    def counts(self) -> Floats:
        """The unbiased counts."""
        return self.law.counts(self.support, self.n)

    @property
    def step(self) -> float:
        """How far a count moves with one report more that supports it."""
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
        kinds, place = np.unique(self.support, return_inverse=True)
        low, high = ends(Supports(self.law, kinds, self.n), beta)
        return low[place], high[place]

    def possible(self, side: int) -> npt.NDArray[np.bool_]:
        """Tell where X can be less (more) than it is."""
        return self.support > 0 if side > 0 else self.support < self.n

    def score(self, m: Floats, side: int) -> Floats:
        """Return r*; the saddle point solves a quadratic equation in w = e^t."""
        p, q, off, no = (float(chance) for chance in (self.law.p, self.law.q, 1 - self.law.p, 1 - self.law.q))
        x, rest = np.clip(self.support - side / 2, 0.5, self.n - 0.5), self.n - m
        a, c = p * q * (self.n - x), x * off * no
        b = m * p * no + rest * q * off - x * (p * no + q * off)
        root = np.sqrt(b * b + 4 * a * c)
        w = np.where(b > 0, 2 * c, root - b) / np.where(b > 0, b + root, 2 * a)  # without cancellation
        own, other = off + p * w, no + q * w
        cumulant = m * _log(p * (w - 1), own) + rest * _log(q * (w - 1), other)
        spread = m * (p * w / own) * (off / own) + rest * (q * w / other) * (no / other)
        return r_star(np.log(w), x, cumulant, spread)


@dataclass(frozen=True)
class Signs:
    """X is the sum of the signs of a value's Hadamard row over the reports that fell into its block (see `hadamard`).

    Each of the m people who have the value adds +1 with probability `keep`, -1 with `stray`, else 0. All others add +1
    and -1 with equal chances. Let ν be how many reports of others are expected in the block: their sum has variance ν
    exactly. ν depends on who else is in the block and is not known, but of the N reports there N - m·(keep + stray) is
    an unbiased estimate of it, and it is at least (n - m)·2·stray, what people of other blocks add; the larger of both
    is taken, with one person more. Their cumulant function is at most ν(cosh t - 1), that of a Poisson number of fair
    signs, which is used. The tests compare coverage with β by exact enumeration over N and the signs.
    """

    keep: float
    stray: float
    plus: Ints
    minus: Ints
    n: int

    @property
    def counts(self) -> Floats:
        """The unbiased counts."""
        return np.asarray((self.plus - self.minus) * self.step, dtype=np.float64)

    @property
    def step(self) -> float:
        """How far a count moves with one report more."""
        return 1 / (self.keep - self.stray)

    def std(self) -> Floats:
        """Return √V at the estimate, cut to 0…n."""
        m = np.clip(self.counts, 0, self.n)
        return np.sqrt(self._variance(m, self._others(m))) * self.step

    def deviation(self, m: float) -> Floats:
        """Return √V at m."""
        every = np.full(self.plus.shape, float(m))
        return np.sqrt(self._variance(every, self._others(every))) * self.step

    def _others(self, m: Floats) -> Floats:
        """Return ν."""
        found = self.plus + self.minus - m * (self.keep + self.stray)
        return np.maximum(found, (self.n - m + 1) * 2 * self.stray)

    def _variance(self, m: Floats, others: Floats) -> Floats:
        return others + m * (self.keep + self.stray - (self.keep - self.stray) ** 2)

    def ends(self, beta: float) -> Ends:
        """Return an interval for each value; equal numbers of signs have equal ones."""
        if self.n >= _PACKED:
            return ends(self, beta)
        kinds, place = np.unique(self.plus * _PACKED + self.minus, return_inverse=True)
        low, high = ends(Signs(self.keep, self.stray, kinds // _PACKED, kinds % _PACKED, self.n), beta)
        return low[place], high[place]

    def possible(self, side: int) -> npt.NDArray[np.bool_]:
        """Tell where X can be less (more) than it is."""
        return (self.plus - self.minus) * side > -self.n

    def score(self, m: Floats, side: int) -> Floats:
        """Return r*, or the normal score where there are thousands of reports."""
        others = self._others(m)
        x = np.clip(self.plus - self.minus - side / 2, 0.5 - self.n, self.n - 0.5)
        result: Floats = (x - m * (self.keep - self.stray)) / np.sqrt(self._variance(m, others))
        few = np.flatnonzero(others < _MANY)
        result[few] = self._few(m[few], others[few], x[few])
        return result

    def _few(self, m: Floats, others: Floats, x: Floats) -> Floats:
        t = np.zeros(m.shape)
        for _ in range(_NEWTON):
            up, down = self.keep * np.exp(t), self.stray * np.exp(-t)
            all_ = 1 - self.keep - self.stray + up + down
            mean = others * np.sinh(t) + m * (up - down) / all_
            spread = others * np.cosh(t) + m * ((up + down) / all_ - ((up - down) / all_) ** 2)
            move = np.clip((x - mean) / spread, -_STRIDE, _STRIDE)
            t = t + move
            if not (np.abs(move) > 1e-12 * (1 + np.abs(t))).any():
                break
        cumulant = others * (np.cosh(t) - 1) + m * np.log(all_)
        return r_star(t, x, cumulant, spread)


def _log(more: Floats, whole: Floats) -> Floats:
    """Return ln(1 + more) = ln(whole), whichever is exact: sums of 10^15 of them are compared."""
    return np.where(np.abs(more) < 0.5, np.log1p(np.maximum(more, -0.5)), np.log(whole))  # noqa: PLR2004


def r_star(t: Floats, x: Floats, cumulant: Floats, spread: Floats) -> Floats:
    """Return r*, whose normal tail is the tail of X, from the saddle point; 0 in the middle, where nobody asks."""
    r = np.sign(t) * np.sqrt(np.maximum(2 * (t * x - cumulant), 0))
    middle = np.abs(r) < _MIDDLE
    safe = np.where(middle, 1.0, r)
    u = np.where(middle, 1.0, 2 * np.sinh(t / 2) * np.sqrt(spread))
    return np.where(middle, 0.0, r + np.log(u / safe) / safe)


def ends(model: Model, beta: float) -> Ends:
    """Return the least and the largest m that are not rejected, or what stands for them outside 0…n."""
    z = _quantile(beta)
    counts = model.counts
    low = np.minimum(_end(model, z, 1), counts)
    return low, np.maximum(_end(model, z, -1), counts)


def _end(model: Model, z: float, side: int) -> Floats:
    """Return the m at which the score is z on this side, found by halving, rounded away from the estimate."""
    n = float(model.n)
    at, possible = model.counts - side * model.step / 2, model.possible(side)
    inner, outer = np.zeros(at.shape), np.full(at.shape, n)
    first = np.where(possible, model.score(inner, side), -side * np.inf) > side * z
    last = np.where(possible, model.score(outer, side), -side * np.inf) > side * z
    for _ in range(_HALVINGS):
        middle = (inner + outer) / 2
        above = model.score(middle, side) > side * z
        inner, outer = np.where(above, middle, inner), np.where(above, outer, middle)
    found = inner if side > 0 else outer
    below = np.minimum(at - side * z * model.deviation(0), 0)
    beyond = np.maximum(at - side * z * model.deviation(n), n)
    return np.where(last, beyond, np.where(first, found, below))


def _quantile(beta: float) -> float:
    """Return z with Pr[|N(0,1)| > z] = β."""
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import

    return float(-ndtri(beta / 2))
