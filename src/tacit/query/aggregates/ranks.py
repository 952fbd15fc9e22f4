"""The position of a rank among noisy bins, and an interval of positions for it.

A position is a bin and a share of it. C(position) counts the rows before it, where a bin's rows are spread evenly over
the bin. The position of the quantile q is where D = C - q·N - r is 0, with a number of rows r. (`min` has q = 0 and
r > 0, `max` has q = 1 and r < 0.) D is estimated without bias by least squares (`quantile_trees`), and its noise is a
known sum of independent noises.

**Estimate.** Isotonic regression makes D at the edges of the bins increasing; the result is interpolated. Before its
first zero D is below 0, and so is its regression, the max over s ≤ t of the min over u ≥ t of the mean from s to u.
Behind its last zero D is above 0, and so is the regression. So the estimate is between the first and the last zero of
D itself.

**Interval.** It is from the first position where D ≥ -z to the last where D ≤ z, where z is the quantile of D's noise
at that position and the given confidence. That is the hull of all positions where a test of "D is 0 here" does not
reject. At a position where D is truly 0, noise alone decides: each side misses it with at most half of the probability
β. If D jumps past 0 (a bin of one number) or is 0 along several bins (empty bins), it is missed less often. Between two
edges D is linear and its deviation convex. So if both edges are rejected on one side, all positions between are too.

z/deviation hardly changes between positions: from 1.96 to 2.12 at 95 % for all sums of Laplace noises that occur. It is
computed by `noise_tails` at the estimate, again at each end found with it, and once more there. At more than 95 %
confidence it changes more, by half at 1 - 10^-6. There z is computed at the edges themselves: all edges that a bound of
z rejects (`laplace_bounds`) are skipped, and from there inward z is that of `noise_tails`. The weights of D's noise are
linear within a bin, and z is convex in them: for the bound that is proved, for z itself it holds wherever the tests
check. So D + z is convex there: a line through its values at the edges is not below it, and if both edges are rejected,
so are all positions between.

**Many groups.** `edge_ends` has the same interval for many groups at once, from z at all edges: from the first position
where a line through D + z at the edges is ≥ 0 to the last where a line through D - z is ≤ 0. z is convex between two
edges, so the line is not below it: no position that z accepts is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.query.aggregates.quantile_trees import Tree
from tacit.query.noise_law import Law
from tacit.query.noise_tails import gaussian_reach, laplace_bounds, laplace_reach

_POINTS, _ZOOMS, _ROUNDS = 33, 4, 2
_SIMULATED, _STEPS = 0.05, 24

Position = tuple[int, float]
"""A bin and a share of it."""

Positions = tuple[Ints, Floats]
"""The bins of many groups, and the shares of them."""


@dataclass(frozen=True, slots=True)
class TreeNoise:
    """The noise on a tree: its law, and its scale or σ on each level."""

    tree: Tree
    law: Law
    scales: tuple[float, ...]

    def deviations(self, q: float) -> Floats:
        """Return the standard deviation of D at every edge of the bins."""
        return _deviations(self.tree, q)

    def reach(self, position: Position, q: float, beta: float) -> float:
        """Return z: |noise of D| exceeds it with probability at most β."""
        terms = self.tree.terms(*position, q)
        weights = np.abs(terms.weights)
        scales = weights * np.array(self.scales)[terms.levels]
        if self.law == "gaussian":
            quantile = gaussian_reach(float(scales**2 @ terms.counts), beta)
        else:
            quantile = laplace_reach(scales, terms.counts, beta)
        return quantile + float(weights.max()) / 2

    def bounds(self, q: float, beta: float) -> Floats:
        """Return a bound of z at every edge of the bins."""
        return _bounds(self, q, beta)

    def reaches(self, q: float, beta: float) -> Floats:
        """Return z at every edge of the bins."""
        return _reaches(self, q, beta)

    def worst(self, q: float, beta: float) -> float:
        """Return the largest z."""
        edge = int(np.argmax(self.deviations(q)))
        last = self.tree.shape.bins - 1
        return self.reach((min(edge, last), float(edge > last)), q, beta)


@lru_cache(maxsize=64)
def _bounds(noise: TreeNoise, q: float, beta: float) -> Floats:
    terms = noise.tree.all_terms(*_edges(noise.tree.shape.bins), q)
    weights = np.where(terms.counts > 0, np.abs(terms.weights), 0.0)
    if noise.law == "gaussian":
        bounds = gaussian_reach(1.0, beta) * noise.deviations(q)
    else:
        bounds = laplace_bounds(weights * np.array(noise.scales)[terms.levels, None], terms.counts, beta)
    return np.asarray(bounds + weights.max(axis=0) / 2)


@lru_cache(maxsize=64)
def _reaches(noise: TreeNoise, q: float, beta: float) -> Floats:
    if noise.law == "gaussian":
        return noise.bounds(q, beta)
    terms = noise.tree.all_terms(*_edges(noise.tree.shape.bins), q)
    weights = np.where(terms.counts > 0, np.abs(terms.weights), 0.0)
    scales = weights * np.array(noise.scales)[terms.levels, None]
    columns = zip(scales.T, terms.counts.T, strict=True)
    exact = np.array([laplace_reach(each, counts, beta) for each, counts in columns])
    return np.asarray(exact + weights.max(axis=0) / 2)


def edge_ends(excess: Floats, reaches: Floats) -> tuple[Positions, Positions]:
    """Return the ends of the possible positions of a rank in many groups.

    Args:
        excess: D at every edge, a row for each group.
        reaches: z at every edge.
    """
    last = excess.shape[1] - 1
    below, above = excess + reaches, reaches - excess
    edge = np.where((below >= 0).any(axis=1), np.argmax(below >= 0, axis=1), last + 1)
    bins, shares = _crossings(below, edge - 1, edge)
    first = np.where(edge > last, last - 1, bins), np.where(edge > last, 1.0, np.where(edge == 0, 0.0, shares))
    edge = np.where((above >= 0).any(axis=1), last - np.argmax(above[:, ::-1] >= 0, axis=1), -1)
    bins, shares = _crossings(above, edge, edge + 1)
    return first, (bins, np.where(edge < 0, 0.0, np.where(edge == last, 1.0, shares)))


def _crossings(slack: Floats, left: Ints, right: Ints) -> Positions:
    """Return where a line between two adjacent edges crosses 0, in each group; outside the edges, any share."""
    last, rows = slack.shape[1] - 1, np.arange(len(slack))
    one, other = slack[rows, np.clip(left, 0, last)], slack[rows, np.clip(right, 0, last)]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.nan_to_num(one / (one - other), nan=0.0, posinf=1.0, neginf=0.0)
    return np.clip(left, 0, last - 1), np.clip(shares, 0.0, 1.0)


def _position(edge: int, bins: int) -> Position:
    return (edge, 0.0) if edge < bins else (bins - 1, 1.0)


def _edges(bins: int) -> tuple[Ints, Floats]:
    """Return the edges of all bins as positions: the start of each, and the end of the last."""
    edges = np.arange(bins + 1)
    return np.minimum(edges, bins - 1), (edges == bins).astype(np.float64)


@lru_cache(maxsize=256)
def _deviations(tree: Tree, q: float) -> Floats:
    return np.sqrt(tree.variance(*_edges(tree.shape.bins), q))


@dataclass(frozen=True, slots=True)
class Ranks:
    """The estimated number of rows before every edge of the bins, and its noise."""

    before: Floats
    noise: TreeNoise

    @property
    def rows(self) -> float:
        """The estimated number of all rows."""
        return float(self.before[-1])

    def find(self, q: float, rank: float) -> tuple[Position, Position]:
        """Return the first and the last position of a rank; they differ if D is 0 along several edges."""
        from scipy.optimize import isotonic_regression  # noqa: PLC0415 - heavy

        risen = isotonic_regression(self._excess(q, rank)).x
        first, last = int(np.searchsorted(risen, 0.0, "left")), int(np.searchsorted(risen, 0.0, "right")) - 1
        return self._crossed(risen, first - 1), self._crossed(risen, last)

    def ends(self, q: float, rank: float, beta: float) -> tuple[Position, Position]:
        """Return the ends of the possible positions of a rank; the true one is outside with probability at most β."""
        if beta < _SIMULATED:
            return self._bounded_end(q, rank, beta, -1), self._bounded_end(q, rank, beta, 1)
        first, last = self.find(q, rank)
        return self._end(q, rank, beta, first, -1), self._end(q, rank, beta, last, 1)

    def _excess(self, q: float, rank: float) -> Floats:
        return self.before - q * self.rows - rank

    def _crossed(self, risen: Floats, edge: int) -> Position:
        """Return where D crosses 0 in the bin behind an edge; outside the edges, the nearest end."""
        last = self.noise.tree.shape.bins - 1
        if edge < 0 or edge > last:
            return (0, 0.0) if edge < 0 else (last, 1.0)
        low, high = float(risen[edge]), float(risen[edge + 1])
        return edge, min(max(-low / (high - low), 0.0), 1.0) if high > low else 0.5

    def _end(self, q: float, rank: float, beta: float, start: Position, side: int) -> Position:
        position = start
        for _ in range(_ROUNDS):
            bins, shares = np.array([position[0]]), np.array([position[1]])
            deviation = float(np.sqrt(self.noise.tree.variance(bins, shares, q))[0])
            if deviation == 0:  # no noise here, as in a tree of one bin
                return position
            position = self._last_accepted(q, rank, self.noise.reach(position, q, beta) / deviation, side)
        return position

    def _bounded_end(self, q: float, rank: float, beta: float, side: int) -> Position:
        """Return the first position where D + z ≥ 0, or the last where D - z ≤ 0; the safe end.

        The bounds of z show at once which edges are rejected. From there inward z itself is computed at a few edges.
        """
        last = self.noise.tree.shape.bins
        accepted = np.flatnonzero(self.noise.bounds(q, beta) - side * self._excess(q, rank) >= 0)
        if not accepted.size:
            return (last - 1, 1.0) if side < 0 else (0, 0.0)
        edge = int(accepted[0 if side < 0 else -1])
        for _ in range(_STEPS):
            if self._slack(edge, q, rank, beta, side) >= 0:
                break
            edge -= side
        return self._between(edge, q, rank, beta, side)

    def _slack(self, edge: int, q: float, rank: float, beta: float, side: int) -> float:
        """Return the distance of D at an edge from rejection; it is negative if D is rejected."""
        position = _position(edge, self.noise.tree.shape.bins)
        return self.noise.reach(position, q, beta) - side * float(self._excess(q, rank)[edge])

    def _between(self, edge: int, q: float, rank: float, beta: float, side: int) -> Position:
        """Return where D is first rejected beyond an edge, by a line to the next edge."""
        last = self.noise.tree.shape.bins
        if not 0 <= edge + side <= last:
            return _position(edge, last)
        inside, outside = (
            max(sign * self._slack(at, q, rank, beta, side), 0.0) for sign, at in ((1, edge), (-1, edge + side))
        )
        share = inside / (inside + outside) if inside + outside > 0 else 1.0
        return (edge - 1, 1 - share) if side < 0 else (edge, share)

    def _last_accepted(self, q: float, rank: float, times: float, side: int) -> Position:
        """Return the first position where D ≥ -times·deviation, or the last where D ≤ times·deviation; the safe end."""
        excess, deviations = self._excess(q, rank), self.noise.deviations(q)
        last = self.noise.tree.shape.bins
        if side < 0:
            accepted = np.flatnonzero(excess >= -times * deviations)
            edge = int(accepted[0]) - 1 if accepted.size else last
        else:
            accepted = np.flatnonzero(excess <= times * deviations)
            edge = int(accepted[-1]) if accepted.size else -1
        if edge < 0 or edge >= last:
            return (0, 0.0) if edge < 0 else (last - 1, 1.0)
        low, high = 0.0, 1.0
        for _ in range(_ZOOMS):
            shares = np.linspace(low, high, _POINTS)
            spread = np.sqrt(self.noise.tree.variance(np.full(_POINTS, edge), shares, q))
            here = excess[edge] + shares * (excess[edge + 1] - excess[edge])
            inside = np.flatnonzero(here >= -times * spread if side < 0 else here <= times * spread)
            inner = int(inside[0 if side < 0 else -1]) if inside.size else (_POINTS - 1 if side < 0 else 0)
            low, high = (
                (shares[max(inner - 1, 0)], shares[inner])
                if side < 0
                else (shares[inner], shares[min(inner + 1, _POINTS - 1)])
            )
        return edge, float(low if side < 0 else high)
