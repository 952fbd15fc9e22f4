"""Exact tails of a sum of independent reports, each of which adds +1, -1 or nothing, by inversion of its transform.

**Formula.** X is a sum of groups of people; all of a group add +1 with probability u, -1 with w, else 0. Let K be its
cumulant function, φ the transform of the law p' that is tilted by e^(tX), so p'(y) = p(y)·e^(ty - K(t)). For t > 0

    Pr[X ≥ x] = e^(K(t) - tx)·Σ_{j ≥ 0} e^(-tj)·p'(x + j) = e^(K(t) - tx)·(1/2π)∫ φ(θ)e^(-iθx)/(1 - e^(-t-iθ)) dθ.

**Error.** The mean over Q equidistant θ in the integral's place is Σ_j e^(-tj)·Σ_l p'(x + j + lQ): what it adds to the
tail is never negative, so the tail is never understated but for the rounding of floats. With t near the saddle point
p' is in its middle at x, and what is added is what lies Q away from there, beyond ten standard deviations.  ∎
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit.arrays import Floats

_REACH, _LEAST = 12, 32
_CELLS = 1 << 19
_APART = 2.0
_CERTAIN = 12.0


class Group(NamedTuple):
    """So many people, each of whom adds +1, -1 or nothing with these probabilities."""

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
        np.sum([getattr(one, name) for one in tilted], axis=0) for name in ("cumulant", "mean", "spread")
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
