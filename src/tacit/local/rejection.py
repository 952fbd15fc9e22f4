"""Which counts a sum contradicts: tails of its law, and the least and the largest count that no tail speaks against.

**Exact tails** are taken where the standard deviation of X is at most 8 (see `inversion`).

**Else**, with the cumulant function K of X and K'(t) = y for y = x - 1/2, Pr[X ≥ x] = 1 - Φ(r*) up to a small relative
error also far out, where r = ±√(2(ty - K(t))), u = 2·sinh(t/2)·√K''(t) and r* = r + ln(u/r)/r: Lugannani and Rice's
formula (Adv. Appl. Prob. 12, 1980) for integers (Daniels, Int. Statist. Rev. 55, 1987, second continuity correction) as
Barndorff-Nielsen writes it. A normal approximation errs by factors there. It also says where exact ends may be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from tacit.arrays import Bools, Floats, Ints
from tacit.local.inversion import Group, log_tail, moments

Ends = tuple[Floats, Floats]
Accepted = Callable[[Ints, Floats], Bools]

PACKED = 1 << 31
"""From so many reports on phases of transforms would lose digits, and two numbers of reports are not one integer."""

_MIDDLE = 1e-4
_EXACT = 64.0
_ROUNDING = 1e-9


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

    @property
    def sums(self) -> Ints:
        """X."""

    @property
    def least(self) -> int:
        """The least that X can be; its largest is n."""

    @property
    def gap(self) -> float:
        """How far the continuous tail begins before x: half the distance of what X can be."""

    def some(self, places: Ints) -> Model:
        """Return the law for some of the values."""

    def groups(self, m: Floats) -> Sequence[Sequence[Group]]:
        """Return the laws that X can have at m, of which the one with the largest tail counts; the widest first."""

    def saddle(self, m: Floats, y: Floats) -> Floats:
        """Return the t with K'(t) = y under the first of these laws."""

    def deviation(self, m: float) -> Floats:
        """Return the standard deviation of the count if m people have the value."""


def score(model: Model, m: Floats, side: int) -> Floats:
    """Return r* for the tail at x on this side; it falls as m grows."""
    y = np.clip(model.sums - side * model.gap, model.least + 0.5, model.n - 0.5)
    t = model.saddle(m, y)
    cumulant, _, spread = moments(model.groups(m)[0], t)
    return r_star(t, y, cumulant, spread)


def r_star(t: Floats, x: Floats, cumulant: Floats, spread: Floats) -> Floats:
    """Return r*, whose normal tail is the tail of X, from the saddle point; 0 in the middle, where nobody asks."""
    r = np.sign(t) * np.sqrt(np.maximum(2 * (t * x - cumulant), 0))
    middle = np.abs(r) < _MIDDLE
    safe = np.where(middle, 1.0, r)
    u = np.where(middle, 1.0, 2 * np.sinh(t / 2) * np.sqrt(spread))
    return np.where(middle, 0.0, r + np.log(u / safe) / safe)


def exact(model: Model, m: Floats, side: int) -> Floats:
    """Return the logarithm of the tail at x on this side, the largest over the laws that X can have."""
    y = np.clip(model.sums - side / 2, model.least + 0.5, model.n - 0.5)
    t = model.saddle(m, y)
    found = [
        log_tail([_turned(group, side) for group in law], (side * model.sums).astype(np.float64), side * t)
        for law in model.groups(m)
    ]
    return np.asarray(np.max(found, axis=0))


def _turned(group: Group, side: int) -> Group:
    """Return the law of X or of -X, so that the tail is the upper one."""
    return group if side > 0 else group._replace(up=group.down, down=group.up)


def ends(model: Model, level: float) -> Ends:
    """Return the least and the largest m with no tail below the level, or what stands for them outside."""
    low, high = (_end(model, level, side) for side in (1, -1))
    counts = model.counts
    return np.minimum(low, counts), np.maximum(high, counts)


def _end(model: Model, level: float, side: int) -> Floats:
    """Return the last m that is not rejected on this side: the least for the upper tail, the largest for the lower."""
    z, n = _quantile(level), model.n
    m = _last(model, level, side)
    at = model.counts - side * model.step / 2
    below = np.minimum(at - side * z * model.deviation(0), 0)
    beyond = np.maximum(at - side * z * model.deviation(n), n)
    if side > 0:
        return np.where(m > n, beyond, np.where(m > 0, m, below))
    return np.where(m < 0, below, np.where(m < n, m, beyond))


def _last(model: Model, level: float, side: int) -> Floats:
    """Return that m as a whole number in -1…n+1: by r*, then near it by exact tails where they are cheap."""
    z = _quantile(level)
    possible = model.sums > model.least if side > 0 else model.sums < model.n

    def by_score(places: Ints, m: Floats) -> Bools:
        return np.asarray(~possible[places] | (side * score(model.some(places), m, side) <= z))

    def by_tail(places: Ints, m: Floats) -> Bools:
        far = exact(model.some(places), m, side) < np.log(level) - _ROUNDING
        return np.asarray(~possible[places] | ~far)

    m = _search(by_score, side, np.full(possible.shape, -1.0), np.full(possible.shape, model.n + 1.0))
    spread = moments(model.groups(np.clip(m, 0, model.n))[0], np.zeros(m.shape))[2]
    few = np.flatnonzero(possible & (spread <= _EXACT) & (model.n < PACKED))
    m[few] = _near(by_tail, model, side, m[few], few)
    return m


def _near(accepted: Accepted, model: Model, side: int, m: Floats, places: Ints) -> Floats:
    """Search about a first answer, and further out where the last m is not there."""
    low, high, reach = -1.0, model.n + 1.0, np.ceil(model.step) + 1
    inner, outer = np.maximum(m - reach, low), np.minimum(m + reach, high)
    for end, limit, wanted in ((inner, low, side < 0), (outer, high, side > 0)):
        open_ = np.flatnonzero(end != limit)
        end[open_[accepted(places[open_], end[open_]) != wanted]] = limit
    return _search(lambda some, at: accepted(places[some], at), side, inner, outer)


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
