"""The law of any event in one direction, also on a Poisson sample.

Let (P, Q) dominate an event's pairs in both directions, and let a sample take each unit with probability γ. When one
unit is removed, the output's laws are (1-γ)Q + γP against Q; when it is added, P against (1-γ)P + γQ. These pairs
dominate: given the rest of the sample the laws are of that form, the hockey-stick divergence is jointly convex, and

    H_a((1-γ)Q + γP ‖ Q) = γ·H_b(P ‖ Q),                b = (a - 1 + γ)/γ,
    H_a(P ‖ (1-γ)P + γQ) = (1 - a(1-γ))₊·H_c(P ‖ Q),    c = aγ/(1 - a(1-γ)),

grow with H(P ‖ Q) (Zhu, Dong and Wang, AISTATS 2022, arXiv:2106.08567v4, theorem 11). A whole composition is either
all removal or all addition, so each direction is composed by itself and the worse one counts. A loss x becomes
ln(1-γ+γe^x) on removal and -ln(1-γ+γe^(-x)) on addition; both rise with x, so cells of one are cells of the other.
For the formal pairs that represent fine discrete Gaussian noise, P has a mass of a little more than 1 and Q of a
little less. The mass that Q lacks, there and where a law is cut off, counts as Q-mass on outcomes of P-mass 0. Then on
removal, for a ≤ 1-γ, H_a is the whole of (1-γ)Q + γP less a·Q, at least 1 - a; and for larger a that part of Q adds
nothing to γ·H_b, b ≥ 0. So the pair dominates for every a. The grid puts this mass at its lowest loss, which is above
the true one, ln(1-γ).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, erfc, exp, expm1, floor, isqrt, log, log1p, sqrt
from typing import assert_never

import numpy as np

from tacit.arrays import Floats
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    LossEvent,
    PoissonSampled,
    PureRelease,
    RandomizedBit,
    Unsampled,
)
from tacit.guarantees.pld import laws
from tacit.guarantees.pld.cells import Cells, contract_atoms, floor_atoms, spread_atoms, spread_cells, united
from tacit.guarantees.profile import PrivacyProfile

_ATOMS = 4096.0**2
_MANY = 1 << 16
_KEPT = 26.0
_SLACK = 2.0**-40
_FAINT = 1e-300
_NEGLIGIBLE = 1e-40
_FAR = 600.0
_MOST_SHIFT = 2**50
_LEAST_RATE = 1e-100

_Between = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two laws by their losses: atoms, and a smooth part on an interval whose masses between losses are known.

    `infinite` is the P-mass where Q has no mass, `missing` the Q-mass where P has no mass. `lacking` is the Q-mass
    outside the interval of the smooth part, or the mass that Q lacks to 1.
    """

    loss: Floats
    p: Floats
    q: Floats
    between: _Between | None = None
    ends: tuple[float, float] = (0.0, 0.0)
    infinite: float = 0.0
    missing: float = 0.0
    lacking: float = 0.0


@dataclass(frozen=True, slots=True)
class _Sampling:
    """The change of a pair when it is run on a sample; `adding` is the direction."""

    rate: float
    adding: bool

    def loss(self, x: Floats) -> Floats:
        """Return the losses on the sample."""
        sign = -1.0 if self.adding else 1.0
        y = sign * x
        with np.errstate(under="ignore"):  # ln(1-γ+γe^y) = y + ln γ + ln(1 + (1-γ)/γ·e^(-y)), for y that would overflow
            far = np.maximum(y, _FAR)
            large = far + log(self.rate) + np.log1p((1 - self.rate) / self.rate * np.exp(-far))
            small = np.log1p(self.rate * np.expm1(np.minimum(y, _FAR)))
        return np.asarray(sign * np.where(y > _FAR, large, small))

    def original(self, y: Floats) -> Floats:
        """Return the losses that become y on the sample; ±infinity if there are no such losses."""
        sign = -1.0 if self.adding else 1.0
        near, far = np.minimum(sign * y, _FAR), np.maximum(sign * y, _FAR)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            inside = np.expm1(near) / self.rate
            small = np.where(inside > -1, np.log1p(np.maximum(inside, -1.0)), -np.inf)
            large = far - log(self.rate) + np.log1p(-(1 - self.rate) * np.exp(-far))
        return np.asarray(sign * np.where(sign * y > _FAR, large, small))

    def masses(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Return the two laws' masses on the sample."""
        if self.adding:
            return p, (1 - self.rate) * p + self.rate * q
        return (1 - self.rate) * q + self.rate * p, q

    def rest(self, pair: _Pair) -> tuple[Floats, Floats, float]:
        """Return the atom that one-sided mass becomes, as loss and P-mass, and the mass that stays infinite."""
        mass = pair.infinite if self.adding else (1 - self.rate) * pair.missing
        loss = -log1p(-self.rate) if self.adding else log1p(-self.rate)
        some = mass > _NEGLIGIBLE  # less is not worth a cell far out on the grid: as infinite it counts for more
        infinite = (0.0 if some else pair.infinite) if self.adding else self.rate * pair.infinite
        return np.full(int(some), loss), np.full(int(some), mass), infinite


def upper(event: LossEvent | PrivacyProfile, step: float, *, adding: bool = False, coarse: int = 1) -> Cells:
    """Return a law that dominates the event's in one direction, on the grid."""
    if isinstance(event, PrivacyProfile):
        losses, masses, infinite = event.atoms()
        return spread_atoms(np.array(losses), np.array(masses), step, infinite + _FAINT)
    if not isinstance(event, PoissonSampled) or float(event.rate) >= 1:
        return laws.upper(event.of if isinstance(event, PoissonSampled) else event, step, coarse)
    how, pair = _Sampling(max(float(event.rate), _LEAST_RATE), adding), _above(event.of)
    loss, mass, infinite = how.rest(pair)
    p, _ = how.masses(pair.p, pair.q)
    loss, mass = np.append(how.loss(pair.loss), loss), np.append(p, mass)
    atoms = spread_atoms(loss, mass, step, infinite + _FAINT) if loss.size else None
    if pair.between is None:
        return atoms or Cells(step, 0, np.zeros(1), 1.0)
    low, high = how.loss(np.array(pair.ends))
    first = floor(low / step)
    edge = (first + np.arange(ceil(high / step) - first + 1)) * step
    p, q = how.masses(*pair.between(np.clip(how.original(edge), *pair.ends)))
    smooth = spread_cells(first, p, q, step, infinite=infinite + _FAINT, slack=_SLACK)
    if not adding:
        smooth.mass[1] += (1 - how.rate) * pair.lacking  # this cell is at or above the lowest loss
    return smooth if atoms is None else united(smooth, atoms)


def lower(event: LossEvent | PrivacyProfile, step: float, *, adding: bool = False, coarse: int = 1) -> Cells:
    """Return a law that some pair of the event's family dominates in one direction, on the grid.

    Smooth outcomes are merged into cells around the grid's points; a cell's loss ln(p/q) is nearly its point, and
    the grid is moved down a little, so that this holds for most of the mass. A profile only bounds from above, so from
    below its law is that of equal laws.
    """
    if isinstance(event, PrivacyProfile):
        return Cells(step, 0, np.ones(1))
    if not isinstance(event, PoissonSampled) or event.rate == 1:
        return laws.lower(event.of if isinstance(event, PoissonSampled) else event, step, coarse)
    if not _LEAST_RATE < float(event.rate) < 1:
        return Cells(step, 0, np.ones(1))
    how = _Sampling(float(event.rate), adding)
    pair = _below(_aligned(event.of, how, step))
    one_sided, mass, infinite = how.rest(pair)
    infinite = infinite if pair.infinite > _NEGLIGIBLE else 0.0
    loss, p = np.append(how.loss(pair.loss), one_sided), np.append(how.masses(pair.p, pair.q)[0], mass)
    anchor = float(loss.max()) if 0 < pair.loss.size <= 2 else 0.0  # noqa: PLR2004 - the two ends, aligned
    if pair.between is not None:
        low, high = how.loss(np.array(pair.ends))
        first = floor((low - anchor) / step)
        edge = anchor + (first + np.arange(ceil((high - anchor) / step) - first + 2) - 0.5) * step
        cells_p, cells_q = how.masses(*pair.between(np.clip(how.original(edge), *pair.ends)))
        kept = (cells_p > _FAINT) & (cells_q > _FAINT)
        if not kept.any():
            return Cells(step, 0, np.ones(1))
        inner = np.log(cells_p[kept] / cells_q[kept])
        anchor -= _down(inner, cells_p[kept], step, anchor)
        loss, p = np.append(loss, inner), np.append(p, cells_p[kept])
    # Cells and aligned ends are just above the grid's points; other atoms are better moved closer in pairs.
    loss, p = loss[p > _FAINT], p[p > _FAINT]
    scattered = pair.between is None and pair.loss.size > 2  # noqa: PLR2004 - two ends
    cells = contract_atoms(loss, p, step) if scattered else floor_atoms(loss, p, step, anchor)
    furthest = float(np.abs(loss).max()) * _SLACK
    return Cells(cells.step, cells.start, cells.mass, infinite, cells.offset - furthest, _SLACK)


def _down(loss: Floats, mass: Floats, step: float, anchor: float) -> float:
    """Return how far to move the grid down. A move by d costs all cells d, and those more than d off a whole step."""
    short = anchor + np.round((loss - anchor) / step) * step - loss
    order = np.argsort(-short)
    before = np.cumsum(mass[order]) - mass[order]
    cost = np.maximum(short[order], 0.0) + step * before
    return max(0.0, float(short[order][np.argmin(cost)])) * (1 + 2.0**-30)


def _aligned(event: Unsampled, how: _Sampling, step: float) -> Unsampled:
    """Return the event with its ε lowered until its two extreme losses are a whole number of steps apart."""
    match event:
        case RandomizedBit(epsilon=e) | PureRelease(epsilon=e):
            return RandomizedBit(epsilon=_lowered(float(e), how, step))
        case LaplaceNoise(scale=s, l1=d):
            return LaplaceNoise(scale=Fraction(1), l1=_lowered(float(d / s), how, step))
        case _:
            return event


def _lowered(epsilon: float, how: _Sampling, step: float) -> Fraction:
    def apart(e: float) -> float:
        low, high = how.loss(np.array([-e, e]))
        return float(high - low)

    whole = floor(apart(epsilon) / step * (1 + 2.0**-45)) * step
    low, high = 0.0, epsilon
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if apart(middle) <= whole else (low, middle)
    return Fraction(max(low, epsilon * 1e-9))


def _response(epsilon: float, delta: float = 0.0) -> _Pair:
    kept = (1 - delta) / (1 + exp(-epsilon))
    p = np.array([kept, kept * exp(-epsilon)])
    return _Pair(np.array([epsilon, -epsilon]), p, p[::-1].copy(), infinite=delta, missing=delta)


def _laplace(epsilon: float) -> _Pair:
    def between(edge: Floats) -> tuple[Floats, Floats]:
        wide = -np.expm1(-np.diff(edge) / 2) / 2
        return np.exp((edge[1:] - epsilon) / 2) * wide, np.exp(-(epsilon + edge[:-1]) / 2) * wide

    atoms = np.array([0.5, exp(-epsilon) / 2])
    return _Pair(np.array([epsilon, -epsilon]), atoms, atoms[::-1].copy(), between, (-epsilon, epsilon))


def _bounded_range(epsilon: float) -> _Pair:
    ends = -epsilon, epsilon
    return _Pair(np.zeros(0), np.zeros(0), np.zeros(0), lambda edge: laws.range_between(epsilon, edge), ends)


def _discrete_laplace(scale: Fraction, shift: int) -> _Pair:
    """Return atoms at both ends and, between them, the other atoms or the masses of cells."""
    s = float(scale)
    top, norm = shift / s, 1 / (1 + exp(-1 / s))
    loss, p, q = np.array([top, -top]), np.array([norm, exp(-top) * norm]), np.array([exp(-top) * norm, norm])
    if shift > _MANY:
        return _Pair(loss, p, q, lambda edge: laws.discrete_laplace_between(scale, shift, edge), (-top, top))
    j = np.arange(1, shift)
    inner = -expm1(-1 / s) * norm
    return _Pair(
        np.append(loss, (shift - 2.0 * j) / s),
        np.append(p, inner * np.exp(-j / s)),
        np.append(q, inner * np.exp((j - shift) / s)),
    )


def _gaussian(mu: float, more: float = 0.0, up: float = 0.0) -> _Pair:
    """Return Gaussian noise; with masses e^`more` times as large at losses higher by `up`, for the comparison."""

    def between(edge: Floats) -> tuple[Floats, Floats]:
        p, q = (laws.normal_cells((edge - up - mean) / mu) for mean in (mu * mu / 2, -mu * mu / 2))
        return p * exp(more), q * exp(more - up)

    reach = laws.DEEP * mu
    ends = mu * mu / 2 - reach + up, mu * mu / 2 + reach + up
    lacking = -expm1(more - up) + erfc((laws.DEEP - mu) / sqrt(2)) / 2  # the Q-mass left of the interval
    return _Pair(np.zeros(0), np.zeros(0), np.zeros(0), between, ends, lacking=lacking * (1 + 2.0**-40))


def _discrete_gaussian(event: DiscreteGaussianNoise) -> _Pair:
    """Return both laws term by term, P around 0 and Q around -d."""
    tau, d = float(event.variance), isqrt(event.l2_squared)
    reach = ceil(laws.DEEP * sqrt(tau)) + 1
    k = np.arange(-reach - d, reach + 1, dtype=np.float64)
    with np.errstate(under="ignore"):
        p, q = np.exp(-k * k / (2 * tau)), np.exp(-((k + d) ** 2) / (2 * tau))
    return _Pair((2 * k + d) * d / (2 * tau), p / p.sum(), q / q.sum())


def _fine_gaussian(event: DiscreteGaussianNoise) -> _Pair:
    """Return a shift of one coordinate under fine noise, from below: cells of rounded noise, moved as compared."""
    tau, d = float(event.variance), isqrt(event.l2_squared)
    down, mu = laws.comparison_below(d, tau), d / sqrt(tau) * (1 - 2.0**-50)

    def between(edge: Floats) -> tuple[Floats, Floats]:
        snapped = np.clip(laws.on_lattice(edge, float(d), tau), -_KEPT * mu, _KEPT * mu)
        p, q = (laws.normal_cells((snapped - mean) / mu) for mean in (mu * mu / 2, -mu * mu / 2))
        return p * exp(-down), q

    return _Pair(np.zeros(0), np.zeros(0), np.zeros(0), between, (-_KEPT * mu, _KEPT * mu))


def _above(event: Unsampled) -> _Pair:  # noqa: PLR0911 - one for each event
    """Return a pair that dominates the event's."""
    match event:
        case RandomizedBit(epsilon=e) | PureRelease(epsilon=e):
            return _response(float(e))
        case BoundedRange(epsilon=e):
            return _bounded_range(float(e))
        case ApproxRelease(epsilon=e, delta=d):
            return _response(float(e), float(d))
        case LaplaceNoise(scale=s, l1=d):
            return _laplace(float(d / s))
        case DiscreteLaplaceNoise(scale=s, l1=d):
            return _discrete_laplace(s, ceil(d)) if d < _MOST_SHIFT else _response(float(d / s))
        case GaussianNoise(sigma=s, l2=d):
            return _gaussian(float(d / s))
        case DiscreteGaussianNoise(variance=v, coordinates=m):
            if m == 1 and v <= _ATOMS:
                return _discrete_gaussian(event)
            if v < 1:
                return _Pair(np.zeros(0), np.zeros(0), np.zeros(0), infinite=1.0)
            more, up, astray = laws.comparison(event)
            pair = _gaussian(sqrt(event.l2_squared / float(v)) * (1 + 2.0**-50), more, up)
            return replace(pair, infinite=astray)
        case _:
            assert_never(event)


def _below(event: Unsampled) -> _Pair:
    """Return a pair of the event's family, or one that a pair of the family dominates."""
    match event:
        case BoundedRange(epsilon=e):
            return _response(float(e / 2))
        case DiscreteLaplaceNoise(scale=s, l1=d):
            return _discrete_laplace(s, floor(d)) if 1 <= d <= _MANY else _equal_laws()
        case DiscreteGaussianNoise(variance=v):
            return _discrete_gaussian(event) if v <= _ATOMS else _fine_gaussian(event)
        case _:
            return _above(event)


def _equal_laws() -> _Pair:
    """Return the pair of two equal laws, which every pair dominates."""
    return _Pair(np.zeros(1), np.ones(1), np.ones(1))
