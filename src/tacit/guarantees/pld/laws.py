"""The privacy-loss law of each event, on a grid, from above and from below.

Every event is priced by a pair (P, Q) that dominates all its neighbours' pairs. If that pair is exact, it dominates
the lower law. For noise added to a number the worst shift is the largest (a tail is the best test, and tails fall).
For discrete Laplace noise on several numbers, `_discrete_laplace_upper` has the proof. `(ε, δ)` events are randomized
response with probability 1-δ and reveal everything with probability δ (Kairouz, Oh and Viswanath, ICML 2015, the
extremal pair of theorem 3.3).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, exp, expm1, floor, isqrt, log, log1p, pi, sqrt
from typing import assert_never

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    PureRelease,
    RandomizedBit,
    Unsampled,
)
from tacit.guarantees.pld.cells import Cells, contract_atoms, floor_atoms, spread_atoms, spread_cells, united

DEEP, _KEPT = 38.0, 20.0
"""The standard deviations of a normal law that are kept. The mass beyond `DEEP` is below the smallest float."""
ATOMS = 4096.0**2
_FAINT = 1e-280
_MOST_SHIFT = 2**50


def _response_upper(epsilon: float, step: float, infinite: float = 0.0) -> Cells:
    """Return randomized response from above: ±ε with probability e^(±ε/2)/(2·cosh(ε/2)) under P."""
    loss = np.array([epsilon, -epsilon])
    kept = 1 / (1 + exp(-epsilon))
    return spread_atoms(loss, (1 - infinite) * np.array([kept, kept * exp(-epsilon)]), step, infinite)


def _response_lower(epsilon: float, step: float, infinite: float = 0.0) -> Cells:
    """Return randomized response at the largest ε' ≤ ε whose two losses are a whole number of steps apart."""
    apart = floor(2 * epsilon / step * (1 + 2.0**-50))
    less = min(apart * step / 2, epsilon)
    mass = np.zeros(apart + 1)
    kept = (1 - infinite) / (1 + exp(-less))
    mass[0] += kept * exp(-less)
    mass[-1] += kept
    return Cells(step, 0, mass, infinite, -less * (1 + 2.0**-48))


def _laplace_upper(epsilon: float, step: float) -> Cells:
    """Return continuous Laplace noise from above: masses ½ and ½e^(-ε) at ±ε, density ¼e^(-(ε-x)/2) between them."""
    first = floor(-epsilon / step)
    edge = np.clip((first + np.arange(ceil(epsilon / step) - first + 1)) * step, -epsilon, epsilon)
    low, wide = edge[:-1], -np.expm1(-np.diff(edge) / 2)
    p, q = np.exp((edge[1:] - epsilon) / 2) * wide / 2, np.exp(-(epsilon + low) / 2) * wide / 2
    ends = spread_atoms(np.array([epsilon, -epsilon]), np.array([0.5, exp(-epsilon) / 2]), step)
    return united(spread_cells(first, p, q, step), ends)


def _laplace_lower(epsilon: float, step: float, coarse: int = 1) -> Cells:
    """Return Laplace noise from below, cells of 2·`coarse` steps merged.

    The shift is the largest ε' ≤ ε with 2ε' a whole number of steps.

    A cell's P-density is e^(x/2) and its Q-density e^(-x/2) up to a common factor, so its merged loss is its
    midpoint, exactly. Cells are counted from the top; the rest at the bottom joins the atom there, which
    lowers its loss.
    """
    apart = floor(2 * epsilon / step * (1 + 2.0**-50))
    half, top = max(1, min(coarse, apart // 16)), apart * step / 2
    middle = np.arange(apart - half, half - 1, -2 * half)
    mass = np.zeros(apart + 1)
    mass[middle] = np.exp(((middle + half) * step - 2 * top) / 2) * -expm1(-half * step) / 2
    left = (apart % (2 * half)) * step
    mass[0] += exp(-top) / 2 * (1 + expm1(left / 2))
    mass[-1] += 0.5
    return Cells(step, 0, mass, 0.0, -top * (1 + 2.0**-48))


def _discrete_laplace_upper(scale: Fraction, shift: int, step: float) -> Cells:
    """Return discrete Laplace noise from above.

    Its losses are (N-2j)/s; j = 0 has mass 1/(1+r), j = N has r^N/(1+r), others (1-r)/(1+r)·r^j.

    **Several numbers.** If shifts of a and b in two numbers make up N = a + b, the loss is (N-2j)/s with j = i
    + k, i and k independent with the masses above for a and b. Both laws live on the same losses, and so does
    their law under Q; both have mean 1 there in e^L. Let R(j) be the mass of i + k = j over that of the scalar
    shift N. All masses but those of the ends are r^j times constants, and a term of two inner masses adds
    (1-r)/(1+r) to R(j), one of an inner and an end mass 1/(1+r), one of two end masses 1/(1-r²). An inner j
    has at least two terms with an end mass: R(j) ≥ 2/(1+r) ≥ 1 or more. At j = 0 and j = N, R = 1/(1+r) < 1.
    So the difference of the two laws changes sign twice, and the scalar one is larger at both ends: it is
    larger in convex order (the cut criterion; Shaked and Shanthikumar, Stochastic Orders, 2007, theorem
    3.A.44), and δ(ε) = E_Q[(e^L-e^ε)₊] is convex in e^L. Domination survives composition, so more numbers
    follow by induction, and a smaller N by monotony: a scalar shift of the whole L1 sensitivity is the worst.
    """
    s = float(scale)
    top, norm = shift / s, 1 / (1 + exp(-1 / s))
    ends = spread_atoms(np.array([top, -top]), np.array([norm, exp(-top) * norm]), step)
    if shift == 1:
        return ends
    first = floor(-top / step)
    edge = np.arange(first, ceil(top / step) + 1, dtype=np.float64) * step
    return united(spread_cells(first, *discrete_laplace_between(scale, shift, edge), step), ends)


def discrete_laplace_between(scale: Fraction, shift: int, edge: Floats) -> tuple[Floats, Floats]:
    """Return the masses of the outcomes 1 … N-1 whose losses are between neighbouring edges.

    The j of a cell (x, y] are those with (N - y·s)/2 ≤ j < (N - x·s)/2.
    """
    s = float(scale)
    j = np.clip(np.ceil((shift - edge * s) / 2), 1, shift)
    low, high = j[1:], j[:-1]
    wide = -np.expm1((low - high) / s) / (1 + exp(-1 / s))
    return np.exp(-low / s) * wide, np.exp((high - 1 - shift) / s) * wide


def _discrete_laplace_lower(scale: Fraction, shift: int, step: float) -> Cells:
    """Return a discrete Laplace law that the given one dominates, on an offset grid.

    Noise of a larger scale s' is noise of scale s plus something independent: with z = e^(iω), (1-rz)/(1-r'z) = r/r' +
    (1-r/r')/(1-r'z) has positive weights for r < r'. So raising the scale is post-processing. If neighbouring
    losses are at least two steps apart, 1/s' is the largest multiple of the step below 1/s, and all losses are
    on the grid. If not, s' = c/step for the least c ≥ s·step, the shift is lowered to a multiple of c, and c
    neighbouring outcomes are merged: their merged loss is their mean, exactly, because P and Q are e^(±x/2) up
    to a common factor; blocks are then two steps apart.
    """
    rate = floor(1 / (float(scale) * step) * (1 + 2.0**-50))
    if rate >= 1:
        return _laplace_atoms(rate * step, shift, np.arange(shift + 1), step)
    block = ceil(float(scale) * step * (1 - 2.0**-50))
    if shift < 2 * block:
        return Cells(step, 0, np.ones(1))
    return _laplace_blocks(step / block, shift // block * block, block, step)


def _laplace_atoms(rate: float, shift: int, j: Ints, step: float) -> Cells:
    loss, norm = (shift - 2.0 * j).astype(np.float64) * rate, 1 / (1 + exp(-rate))
    mass = -expm1(-rate) * norm * np.exp(-rate * j)
    mass[0], mass[-1] = norm, exp(-rate * shift) * norm
    return floor_atoms(loss, mass, step)


def _laplace_blocks(rate: float, shift: int, block: int, step: float) -> Cells:
    """Return blocks centred two steps apart, from the top; half a block before them, and the rest at the bottom."""
    start, norm = (block + 1) // 2, 1 / (1 + exp(-rate))
    first = np.append(1, start + block * np.arange((shift - start) // block))
    size = np.append(start - 1, np.full(first.size - 1, block))
    loss = (shift - 2.0 * first - size + 1).astype(np.float64) * rate
    mass = np.exp(-rate * first) * -np.expm1(-rate * size) * norm
    left = int(first[-1] + size[-1])  # outcomes left … N and beyond
    p, q = exp(-rate * left) * norm, 1 - exp(-rate * (shift - left + 1)) * norm
    if p <= _FAINT:
        return floor_atoms(np.append(loss, shift * rate), np.append(mass, norm), step, offset=shift * rate)
    ends = np.array([shift * rate, log(p / q)])
    return floor_atoms(np.append(loss, ends), np.append(mass, [norm, p]), step, offset=shift * rate)


def _gaussian_upper(mu: float, step: float, coarse: int = 1) -> Cells:
    """Return continuous Gaussian noise from above, in cells of `coarse` steps.

    L is N(μ²/2, μ²) under P and N(-μ²/2, μ²) under Q.
    """
    reach, wide = DEEP * mu, coarse * step
    first, last = floor((mu * mu / 2 - reach) / wide), ceil((mu * mu / 2 + reach) / wide)
    edge = np.arange(first, last + 1, dtype=np.float64) * wide
    p, q = (normal_cells((edge - centre) / mu) for centre in (mu * mu / 2, -mu * mu / 2))
    return _finer(spread_cells(first, p, q, wide, infinite=1e-300, slack=2.0**-40), coarse)


def _finer(cells: Cells, coarse: int) -> Cells:
    """Return the law on a grid `coarse` times as fine."""
    if coarse == 1:
        return cells
    mass = np.zeros((cells.mass.size - 1) * coarse + 1)
    mass[::coarse] = cells.mass
    return replace(cells, step=cells.step / coarse, start=cells.start * coarse, mass=mass)


def _gaussian_lower(mu: float, step: float, lattice: tuple[float, float] | None = None, coarse: int = 1) -> Cells:
    """Return continuous Gaussian noise from below: each cell's loss ln(p/q), moved down to a grid with a common offset.

    Cells are centred at grid points; a cell's merged loss differs from its centre by O(step²), so one small
    offset downward brings all of them to the grid or above it. With a `lattice` (d, τ), the cells' ends are
    moved to losses (2kd+d²)/2τ of half-integer k, so that the cells are unions of those of rounded noise.
    """
    reach, wide = _KEPT * mu, coarse * step
    first, last = floor((mu * mu / 2 - reach) / wide), ceil((mu * mu / 2 + reach) / wide)
    centre = (first + np.arange(last - first)) * wide
    edge = np.append(centre - wide / 2, centre[-1] + wide / 2).astype(np.float64)
    if lattice is not None:
        edge = on_lattice(edge, *lattice)
    p, q = (normal_cells((edge - mean) / mu) for mean in (mu * mu / 2, -mu * mu / 2))
    kept = (p > _FAINT) & (q > _FAINT) & (np.abs(centre - mu * mu / 2) < _KEPT * mu)
    if not kept.any():
        return Cells(step, 0, np.ones(1))
    with np.errstate(divide="ignore"):
        gap = np.where(kept, np.log(p / np.where(kept, q, 1.0)) - centre, 0.0)
    down = float(min(gap[kept].min(), 0.0)) - 2.0**-38
    return _finer(Cells(wide, first, np.where(kept, p, 0.0), 0.0, down, 2.0**-40), coarse)


def on_lattice(edge: Floats, d: float, tau: float) -> Floats:
    """Move losses to the nearest (2kd+d²)/2τ below with half-integer k; cells of rounded noise end there."""
    return (np.floor((edge * tau - d * d / 2) / d) + 0.5) * d / tau + d * d / (2 * tau)


def normal_cells(edge: Floats) -> Floats:
    """Return the mass of a standard normal law between neighbouring edges, within a relative 2^-41.

    Narrow cells by the midpoint's density and its first correction, w·φ(c)·(1 + (c²-1)w²/24); the next term is
    (c⁴ - 6c² + 3)w⁴/1920. Wide ones near 0 as a difference of distribution functions; far out, with a the
    nearer edge and m Mills' ratio, φ(a)·(m(a) - e^(-(b²-a²)/2)·m(b)), whose digits do not cancel beyond 1/(w·c).
    """
    from scipy.special import erfcx, ndtr  # noqa: PLC0415 - heavy

    low, high = edge[:-1], edge[1:]
    flip = low + high > 0
    near, far = np.where(flip, low, -high), np.where(flip, high, -low)  # mirrored to the right of 0
    c, w = (low + high) / 2, high - low
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        narrow = w * np.exp(-c * c / 2) / sqrt(2 * pi) * (1 + (c * c - 1) * w * w / 24)
        mills = erfcx(near / sqrt(2)) - np.exp(-(far - near) * (far + near) / 2) * erfcx(far / sqrt(2))
        outer = np.exp(-near * near / 2) / 2 * mills
    inner = ndtr(-near) - ndtr(-far)
    wide = np.where(near > 1, outer, inner)
    return np.where((3 + 6 * c * c + c**4) * w**4 < 2.0**-43 * 1920, narrow, wide)


def _discrete_gaussian_atoms(variance: Fraction, shift: int) -> tuple[Floats, Floats]:
    """Return the losses (2kd+d²)/2τ and masses of discrete Gaussian noise of σ ≤ 4096, except for 1e-300 of it."""
    tau = float(variance)
    reach = ceil(DEEP * sqrt(tau)) + 1
    k = np.arange(-reach, reach + 1, dtype=np.float64)
    with np.errstate(under="ignore", over="ignore"):
        mass = np.exp(-k * k / (2 * tau))
    return (2 * k + shift) * shift / (2 * tau), mass / mass.sum()


def range_upper(epsilon: float, step: float) -> Cells:
    """Return a selection of bounded range ε from above: density e^(x/2)/(4·sinh(ε/2)) on [-ε, ε].

    The pairs of bounded range ε are post-processings of those with two losses t and t-ε (Dong, Durfee and Rogers,
    ICML 2020, arXiv:1909.13830v3, lemma 3.2), t from 0 to ε, which have P-masses p = (e^ε-e^t)/(e^ε-1) and 1-p. So
    δ(x) = sup over t of p·(1-e^(x-t)) = (e^(ε/2)-e^(x/2))²/(e^ε-1), at t = (x+ε)/2. It is convex in e^x, so a pair
    has exactly that curve, and dominates all of them (Zhu, Dong and Wang, arXiv:2106.08567v4, proposition 8); its
    Q-density in e^x is the second derivative.
    """
    first = floor(-epsilon / step)
    edge = np.clip((first + np.arange(ceil(epsilon / step) - first + 1)) * step, -epsilon, epsilon)
    return spread_cells(first, *range_between(epsilon, edge), step)


def range_between(epsilon: float, edge: Floats) -> tuple[Floats, Floats]:
    """Return the masses of the bounded-range law between neighbouring losses."""
    wide = -np.expm1(-np.diff(edge) / 2) / -expm1(-epsilon)
    return np.exp((edge[1:] - epsilon) / 2) * wide, np.exp(-(edge[:-1] + epsilon) / 2) * wide


def upper(event: Unsampled, step: float, coarse: int = 1) -> Cells:  # noqa: PLR0911 - one for each event
    """Return a law that dominates the event's, on the grid; one Gaussian among many events on a `coarse` one."""
    match event:
        case RandomizedBit(epsilon=e) | PureRelease(epsilon=e):
            return _response_upper(float(e), step)
        case BoundedRange(epsilon=e):
            return range_upper(float(e), step)
        case ApproxRelease(epsilon=e, delta=d):
            return _response_upper(float(e), step, float(d))
        case LaplaceNoise(scale=s, l1=d):
            return _laplace_upper(float(d / s), step)
        case DiscreteLaplaceNoise(scale=s, l1=d):
            return _discrete_laplace_upper(s, ceil(d), step) if d < _MOST_SHIFT else _response_upper(float(d / s), step)
        case GaussianNoise(sigma=s, l2=d):
            return _gaussian_upper(float(d / s), step, coarse)
        case DiscreteGaussianNoise():
            return _discrete_gaussian_upper(event, step)
        case _:
            assert_never(event)


def lower(event: Unsampled, step: float, coarse: int = 1) -> Cells:  # noqa: PLR0911 - one for each event
    """Return a law that some pair of the event's family dominates, on the grid."""
    match event:
        case RandomizedBit(epsilon=e) | PureRelease(epsilon=e):
            return _response_lower(float(e), step)
        case BoundedRange(epsilon=e):  # two candidates, both scores moving by Δ apart: randomized response at ε/2
            return _response_lower(float(e / 2), step)
        case ApproxRelease(epsilon=e, delta=d):
            return _response_lower(float(e), step, float(d))
        case LaplaceNoise(scale=s, l1=d):
            return _laplace_lower(float(d / s), step, coarse)
        case DiscreteLaplaceNoise(scale=s, l1=d):
            return _discrete_laplace_lower(s, floor(d), step) if 1 <= d < _MOST_SHIFT else Cells(step, 0, np.ones(1))
        case GaussianNoise(sigma=s, l2=d):
            return _gaussian_lower(float(d / s), step, coarse=coarse)
        case DiscreteGaussianNoise():
            return _discrete_gaussian_lower(event, step)
        case _:
            assert_never(event)


def _discrete_gaussian_upper(event: DiscreteGaussianNoise, step: float) -> Cells:
    """Return the atoms for one coordinate and σ ≤ 4096; else the continuous law, moved by the comparison.

    With the constants of `gaussian_law`: outside a set of P-mass e^(mb)·q the loss is at most that of rounded
    continuous noise plus mb + a, and Pr ≤ e^(mb)·R. So the law with masses e^(mb)·R at losses raised by mb +
    a, and e^(mb)·q at ∞, dominates; and R itself is dominated by the continuous law.
    """
    tau = float(event.variance)
    if event.coordinates == 1 and tau <= ATOMS:
        loss, mass = _discrete_gaussian_atoms(event.variance, isqrt(event.l2_squared))
        return spread_atoms(loss, mass, step, 1e-300)
    if tau < 1:
        return Cells(step, 0, np.zeros(1), 1.0)
    more, up, astray = comparison(event)
    plain = _gaussian_upper(sqrt(event.l2_squared / tau) * (1 + 2.0**-50), step)
    return replace(plain, mass=plain.mass * exp(more), infinite=astray + plain.infinite, offset=plain.offset + up)


def comparison(event: DiscreteGaussianNoise) -> tuple[float, float, float]:
    """Return b, a + b and the excluded mass: masses are e^b times, losses a + b above those of rounded noise."""
    tau, m, tail = float(event.variance), event.coordinates, 100.0
    b = -log1p(-1 / (24 * tau)) * m
    length = (sqrt(tau * (m + 2 * sqrt(m * tail) + 2 * tail)) + sqrt(m) / 2) ** 2
    a = length / (24 * tau * tau) + m * 3 * exp(-2 * pi * pi * tau)
    return b, (a + b) * (1 + 2.0**-40), exp(b - tail)


def _discrete_gaussian_lower(event: DiscreteGaussianNoise, step: float) -> Cells:
    """Return the law of one coordinate that moves by ⌊√S⌋: atoms, or merged cells of rounded noise, moved down.

    The cells are moved by the comparison.

    With the same constants, Pr ≥ e^(-a)·R and the loss is at least that of rounded noise less a + b, for |k| ≤
    13σ + d.
    """
    tau, d = float(event.variance), isqrt(event.l2_squared)
    if tau <= ATOMS:
        loss, mass = _discrete_gaussian_atoms(event.variance, d)
        return contract_atoms(loss[mass > _FAINT], mass[mass > _FAINT], step)
    if step * tau / d < 4:  # noqa: PLR2004 - a cell narrower than that many outcomes cannot be a union of them
        return Cells(step, 0, np.ones(1))
    down = comparison_below(d, tau)
    plain = _gaussian_lower(d / sqrt(tau) * (1 - 2.0**-50), step, (float(d), tau))
    return replace(plain, mass=plain.mass * exp(-down), offset=plain.offset - down)


def comparison_below(d: int, tau: float) -> float:
    """Return a + b of the comparison from below, for |k| ≤ 13σ + d and more."""
    return ((31 + d / sqrt(tau)) ** 2 / 24 + 1 / 24) / tau * (1 + 2.0**-40)
