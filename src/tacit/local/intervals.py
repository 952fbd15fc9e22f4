"""Intervals for a count: the counts that a sum of reports does not contradict.

**Exact tails.** X is a sum of groups of people; each person of a group adds +1 with probability u, -1 with w, else 0.
Let K be its cumulant function, and φ the transform of the tilted law p'(y) = p(y)·e^(ty - K(t)). For t > 0

    Pr[X ≥ x] = e^(K(t) - tx)·Σ_{j ≥ 0} e^(-tj)·p'(x + j) = e^(K(t) - tx)·(1/2π)∫ φ(θ)e^(-iθx)/(1 - e^(-t-iθ)) dθ.

The mean over Q equidistant θ instead of the integral is Σ_j e^(-tj)·Σ_l p'(x + j + lQ). The added terms are never
negative, so the tail is never understated, except for the rounding of floats. With t near the saddle point, p' has its
middle at x, and the added terms are Q away from it, beyond ten standard deviations.  ∎
Exact tails are used if the standard deviation of X is at most 8.

**Otherwise**, with K'(t) = y for y = x - 1/2, Pr[X ≥ x] = 1 - Φ(r*) up to a small relative error, also far out, where
r = ±√(2(ty - K(t))), u = 2·sinh(t/2)·√K''(t) and r* = r + ln(u/r)/r. This is Lugannani and Rice's formula (Adv. Appl.
Prob. 12, 1980) for integers (Daniels, Int. Statist. Rev. 55, 1987, second continuity correction) in Barndorff-Nielsen's
form. A normal approximation errs by factors there. The formula also gives the starting point of the exact search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from typing import Protocol as Interface

import numpy as np

from tacit.arrays import Bools, Floats, Ints

_REACH, _LEAST = 12, 32
_CELLS = 1 << 19
_APART = 2.0
_CERTAIN = 12.0


class Group(NamedTuple):
    """A number of people, each of whom adds +1, -1 or 0 with these probabilities."""

    people: Floats
    up: float
    down: float
    none: float


class _Tilted(NamedTuple):
    people: Floats
    up: Floats
    down: Floats
    none: Floats
    cumulant: Floats

    @property
    def mean(self) -> Floats:
        return self.people * (self.up - self.down)

    @property
    def spread(self) -> Floats:
        return self.people * ((self.up + self.down) * self.none + 4 * self.up * self.down)


def _tilt(group: Group, t: Floats) -> _Tilted:
    up, down = group.up * np.exp(t), group.down * np.exp(-t)
    all_ = up + down + group.none
    cumulant = group.people * log(group.up * np.expm1(t) + group.down * np.expm1(-t), all_)
    return _Tilted(group.people, up / all_, down / all_, group.none / all_, cumulant)


def log(more: Floats, whole: Floats) -> Floats:
    """Return ln(1 + more) = ln(whole), whichever is exact: sums of 10^15 of them are compared."""
    return np.where(np.abs(more) < 0.5, np.log1p(np.maximum(more, -0.5)), np.log(whole))  # noqa: PLR2004 - both are exact about there


def moments(groups: Sequence[Group], t: Floats) -> tuple[Floats, Floats, Floats]:
    """Return K(t), K'(t) and K''(t)."""
    tilted = [_tilt(group, t) for group in groups]
    cumulant, mean, spread = (
        np.sum([getattr(group, name) for group in tilted], axis=0) for name in ("cumulant", "mean", "spread")
    )
    return cumulant, mean, spread


def log_tail(groups: Sequence[Group], x: Floats, t: Floats) -> Floats:
    """Return ln Pr[X ≥ x] for each x; t is near the saddle point at x, and may be below 0."""
    spread = moments(groups, np.maximum(t, 0.0))[2]
    t = np.maximum(t, _APART / np.sqrt(spread + 1))
    cumulant, _, spread = moments(groups, t)
    nodes = int(_REACH * float(np.sqrt(spread.max(initial=0.0)))) + _LEAST
    nodes += nodes % 2
    result = np.zeros(x.shape)
    part = max(1, 2 * _CELLS // nodes)
    for start in range(0, x.size, part):
        some = slice(start, start + part)
        result[some] = _mean(
            [_tilt(group._replace(people=group.people[some]), t[some]) for group in groups], x[some], t[some], nodes
        )
    far = cumulant - t * x > _CERTAIN  # far below the middle, where the tail is 1 and the sum would cancel
    return np.where(far, 0.0, np.minimum(cumulant - t * x + np.log(np.maximum(result, 1e-300)), 0.0))


def _mean(tilted: Sequence[_Tilted], x: Floats, t: Floats, nodes: int) -> Floats:
    """Return the mean over θ; nodes θ and -θ are conjugate, so half of them are enough."""
    theta = np.arange(nodes // 2 + 1) * (2 * np.pi / nodes)
    weight = np.full(theta.size, 2 / nodes)
    weight[[0, -1]] = 1 / nodes
    v, sine = 2 * np.sin(theta / 2) ** 2, np.sin(theta)
    size, phase = np.zeros((x.size, theta.size)), -x[:, None] * theta
    for people, up, down, none, _ in tilted:
        both, product = (up + down)[:, None], (up * down)[:, None]
        change = v * (4 * product * v - 2 * (both * none[:, None] + 4 * product))
        size += people[:, None] / 2 * np.log1p(np.maximum(change, -1 + 2.0**-53))
        phase += people[:, None] * np.arctan2((up - down)[:, None] * sine, 1 - both * v)
    transform = np.exp(size + 1j * phase) / (1 - np.exp(-t[:, None] - 1j * theta))
    return np.asarray(transform.real @ weight)


Ends = tuple[Floats, Floats]
Accepted = Callable[[Ints, Floats], Bools]

PACKED = 1 << 31
"""From this number of reports on, phases of transforms lose digits, and two counts do not fit into one integer."""

_MIDDLE = 1e-4
_EXACT = 64.0
_ROUNDING = 1e-9


class SumLaw(Interface):
    """The law of X for some values, as a function of m. A side is +1 for the upper tail at x, -1 for the lower."""

    @property
    def n(self) -> int:
        """The number of people who reported."""

    @property
    def counts(self) -> Floats:
        """The unbiased counts."""

    @property
    def step(self) -> float:
        """The change of a count when X changes by 1."""

    @property
    def sums(self) -> Ints:
        """X."""

    @property
    def least(self) -> int:
        """The least value of X; the largest is n."""

    @property
    def gap(self) -> float:
        """The distance from x to the start of the continuous tail: half the distance of two values of X."""

    def subset(self, positions: Ints) -> SumLaw:
        """Return the law for some of the values."""

    def groups(self, m: Floats) -> Sequence[Sequence[Group]]:
        """Return the laws that X can have at m, the widest first. The one with the largest tail decides."""

    def saddle(self, m: Floats, y: Floats) -> Floats:
        """Return the t with K'(t) = y under the first of these laws."""

    def deviation(self, m: float) -> Floats:
        """Return the standard deviation of the count if m people have the value."""


def score(law: SumLaw, m: Floats, side: int) -> Floats:
    """Return r* for the tail at x on this side; it falls as m grows."""
    y = np.clip(law.sums - side * law.gap, law.least + 0.5, law.n - 0.5)
    t = law.saddle(m, y)
    cumulant, _, spread = moments(law.groups(m)[0], t)
    return r_star(t, y, cumulant, spread)


def r_star(t: Floats, x: Floats, cumulant: Floats, spread: Floats) -> Floats:
    """Return r*, whose normal tail is the tail of X, from the saddle point; 0 near the middle."""
    r = np.sign(t) * np.sqrt(np.maximum(2 * (t * x - cumulant), 0))
    middle = np.abs(r) < _MIDDLE
    safe = np.where(middle, 1.0, r)
    u = np.where(middle, 1.0, 2 * np.sinh(t / 2) * np.sqrt(spread))
    return np.where(middle, 0.0, r + np.log(u / safe) / safe)


def exact(law: SumLaw, m: Floats, side: int) -> Floats:
    """Return the logarithm of the tail at x on this side, the largest over the laws that X can have."""
    y = np.clip(law.sums - side / 2, law.least + 0.5, law.n - 0.5)
    t = law.saddle(m, y)
    tails = [
        log_tail([_turned(group, side) for group in groups], (side * law.sums).astype(np.float64), side * t)
        for groups in law.groups(m)
    ]
    return np.asarray(np.max(tails, axis=0))


def _turned(group: Group, side: int) -> Group:
    """Return the law of X or of -X, so that the tail is the upper one."""
    return group if side > 0 else group._replace(up=group.down, down=group.up)


def ends(law: SumLaw, level: float) -> Ends:
    """Return the least and the largest m with no tail below the level, or the normal approximation outside 0…n."""
    low, high = (_end(law, level, side) for side in (1, -1))
    counts = law.counts
    return np.minimum(low, counts), np.maximum(high, counts)


def _end(law: SumLaw, level: float, side: int) -> Floats:
    """Return the last m that is not rejected on this side: the least for the upper tail, the largest for the lower."""
    z, n = _quantile(level), law.n
    m = _last(law, level, side)
    at = law.counts - side * law.step / 2
    below = np.minimum(at - side * z * law.deviation(0), 0)
    beyond = np.maximum(at - side * z * law.deviation(n), n)
    if side > 0:
        return np.where(m > n, beyond, np.where(m > 0, m, below))
    return np.where(m < 0, below, np.where(m < n, m, beyond))


def _last(law: SumLaw, level: float, side: int) -> Floats:
    """Return that m as a whole number in -1…n+1: by r*, then near it by exact tails where they are cheap."""
    z = _quantile(level)
    possible = law.sums > law.least if side > 0 else law.sums < law.n

    def by_score(positions: Ints, m: Floats) -> Bools:
        return np.asarray(~possible[positions] | (side * score(law.subset(positions), m, side) <= z))

    def by_tail(positions: Ints, m: Floats) -> Bools:
        far = exact(law.subset(positions), m, side) < np.log(level) - _ROUNDING
        return np.asarray(~possible[positions] | ~far)

    m = _search(by_score, side, np.full(possible.shape, -1.0), np.full(possible.shape, law.n + 1.0))
    spread = moments(law.groups(np.clip(m, 0, law.n))[0], np.zeros(m.shape))[2]
    few = np.flatnonzero(possible & (spread <= _EXACT) & (law.n < PACKED))
    m[few] = _near(by_tail, law, side, m[few], few)
    return m


def _near(accepted: Accepted, law: SumLaw, side: int, m: Floats, positions: Ints) -> Floats:
    """Search around a first answer, and further out if the last m is not there."""
    low, high, reach = -1.0, law.n + 1.0, np.ceil(law.step) + 1
    inner, outer = np.maximum(m - reach, low), np.minimum(m + reach, high)
    for end, limit, expected in ((inner, low, side < 0), (outer, high, side > 0)):
        open_ = np.flatnonzero(end != limit)
        end[open_[accepted(positions[open_], end[open_]) != expected]] = limit
    return _search(lambda chosen, at: accepted(positions[chosen], at), side, inner, outer)


def _search(accepted: Accepted, side: int, inner: Floats, outer: Floats) -> Floats:
    """Return the least m in (inner, outer] that is accepted, or the largest in [inner, outer), by halving."""
    inner, outer = inner.copy(), outer.copy()
    while (open_ := np.flatnonzero(outer - inner > 1)).size:
        middle = np.floor((inner[open_] + outer[open_]) / 2)
        towards = accepted(open_, middle) == (side > 0)
        outer[open_[towards]] = middle[towards]
        inner[open_[~towards]] = middle[~towards]
    return outer if side > 0 else inner


def _quantile(level: float) -> float:
    """Return z with Pr[N(0,1) > z] = level."""
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import

    return float(-ndtri(level))
