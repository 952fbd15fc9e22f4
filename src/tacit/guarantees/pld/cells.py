"""A privacy-loss law on a grid, from above and from below.

The privacy loss of a pair (P, Q) is L = ln P/Q under P, and δ(ε) = Pr[L = ∞] + E[(1 - e^(ε-L))₊; L < ∞].

**From above** (connect the dots; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, PETS 2022). Let a cell (ih,
(i+1)h] of losses have mass p under P and q under Q. Replace it by two atoms at its ends with the same p and
the same q: b = (p - q·e^(ih))/(1 - e^(-h)) at the upper end, p - b at the lower. δ(ε) is the integral of a
function convex in e^(-L) against Q, so spreading a cell to its ends while keeping both masses never lowers it,
for any ε; and it keeps a pair a pair, so it composes.

**From below.** δ(ε) grows with L. So moving losses down never raises it, and neither does merging outcomes
(post-processing), which puts the mass of a cell at ln(p/q). Moving two losses closer together while keeping both
masses does not raise it either: of all laws between two points with given masses, the one on the two points is the
most spread out.

On real bits: masses are floats within a relative `slack` of the truth, which `convolve` adds to its bounds;
the share b/p loses up to slack/h where p and q·e^(ih) agree in their leading digits, and is raised by that. A
law from above is moved up, and one from below down, by more than the rounding of its largest loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import Floats, Ints

_TINY = 2.0**-36


@dataclass(frozen=True, slots=True)
class Cells:
    """Pr[L = (start + i)·step + offset] = mass[i], and Pr[L = ∞] = infinite."""

    step: float
    start: int
    mass: Floats
    infinite: float = 0.0
    offset: float = 0.0
    slack: float = 2.0**-46

    @property
    def losses(self) -> Floats:
        """The finite losses, in order, without the offset."""
        return np.arange(self.start, self.start + self.mass.size, dtype=np.float64) * self.step


def spread_atoms(loss: Floats, mass: Floats, step: float, infinite: float = 0.0) -> Cells:
    """Put atoms on the grid from above: each to its two neighbours, keeping its masses under P and under Q.

    An atom at ih + r goes up with the share (1 - e^(-r))/(1 - e^(-h)).
    """
    index = np.floor(loss / step)
    share = np.expm1(-(loss - index * step)) / np.expm1(-step)
    share = np.clip(share * (1 + 2.0**-48) + 2.0**-50 / step * (share > 0), 0.0, 1.0)
    return _collect(index.astype(np.int64), mass, share, step, infinite)


def spread_cells(
    first: int, p: Floats, q: Floats, step: float, infinite: float = 0.0, slack: float = 2.0**-46
) -> Cells:
    """Put cells ((first+i)h, (first+i+1)h] with masses p and q on the grid from above."""
    index = first + np.arange(p.size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = (1 - q / p * np.exp(index * step)) / -np.expm1(-step)
    share = np.clip(np.nan_to_num(share, nan=1.0, posinf=1.0, neginf=0.0) + 4 * slack / step, 0.0, 1.0)
    return _collect(index, p, share, step, infinite, slack)


def _collect(index: Ints, mass: Floats, share: Floats, step: float, infinite: float, slack: float = 2.0**-46) -> Cells:
    start = int(index.min())
    cell = index - start
    size = int(cell.max()) + 2
    total = np.bincount(cell, mass * (1 - share), size) + np.bincount(cell + 1, mass * share, size)
    furthest = max(abs(start), abs(start + size)) * step
    return Cells(step, start, total.astype(np.float64), infinite, furthest * 2.0**-49, slack)


def floor_atoms(loss: Floats, mass: Floats, step: float, offset: float = 0.0) -> Cells:
    """Put atoms on the grid, shifted by an offset, from below: each on the point at or below it."""
    return _placed(_floor(loss, step, offset), mass, step, offset)


def contract_atoms(loss: Floats, mass: Floats, step: float) -> Cells:
    """Put atoms on the grid from below, in pairs that move closer together: first-order errors cancel.

    A law with E_P[e^(-L)] = 1 is a mixture of laws on two points x < 0 < y with that property: p - q is a surplus at
    y and a deficit at x, and surplus and deficit are matched in order. Each pair of total mass s is replaced by one on
    the grid's points X ≥ x and Y ≤ y next to them, with masses s·(1-e^(-Y)) and s·(e^(-X)-1) over e^(-X)-e^(-Y). 0 is a
    point of the grid, so X ≤ 0 ≤ Y. Atoms that are not matched, by truncation or rounding, move down to the grid.
    """
    with np.errstate(over="ignore"):
        surplus = np.maximum(-np.expm1(-loss), -1e300) * mass
    ups, downs = (np.flatnonzero(sign * surplus > 0) for sign in (1, -1))
    rest = _floor(loss, step, 0.0)
    if not ups.size or not downs.size:
        return _placed(rest, mass, step, 0.0)
    # From the far ends inward: running sums keep the digits of small masses there.
    ups, downs = ups[np.argsort(-loss[ups])], downs[np.argsort(loss[downs])]
    gained, lost = np.cumsum(surplus[ups]), np.cumsum(-surplus[downs])
    ends = np.union1d(gained, lost)
    ends = ends[ends <= min(gained[-1], lost[-1])]
    moved = np.diff(ends, prepend=0.0)
    i, j = ups[np.searchsorted(gained, ends)], downs[np.searchsorted(lost, ends)]
    shares = np.concatenate([mass[i] / surplus[i] * moved, -mass[j] / surplus[j] * moved])
    taken = np.bincount(np.concatenate([i, j]), shares, mass.size)
    with np.errstate(divide="ignore", invalid="ignore"):  # no atom may give more than its mass, despite rounding
        scale = np.where(taken > mass, mass / taken, 1.0) * (1 - 2.0**-50)
    fair = np.minimum(scale[i], scale[j])
    shares *= np.concatenate([fair, fair])
    high = np.maximum(rest[i], 0)
    low = np.minimum(np.ceil(loss[j] / step - _TINY).astype(np.int64), 0)
    lower, total = _lower_share(low * step, high * step), shares[: i.size] + shares[i.size :]
    left = mass.copy()
    np.subtract.at(left, np.concatenate([i, j]), shares)
    weight = np.concatenate([total * lower, total * (1 - lower), np.maximum(left, 0.0)])
    return _placed(np.concatenate([low, high, rest]), weight, step, 0.0)


def _lower_share(low: Floats, high: Floats) -> Floats:
    """Return the share of the lower point in a pair that keeps both masses; 0 if the upper is not above 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share: Floats = np.expm1(-high) / (np.expm1(-high) - np.expm1(-low))
    return np.clip(np.nan_to_num(share, nan=0.0), 0.0, 1.0)


def _floor(loss: Floats, step: float, offset: float) -> Ints:
    """Return the grid's points at or below losses; a loss that rounding puts just below a point counts as at it."""
    index: Ints = np.floor((loss - offset) / step + _TINY).astype(np.int64)
    return index


def _placed(index: Ints, mass: Floats, step: float, offset: float) -> Cells:
    """Return a law from below, moved down by more than `_floor` may have moved it up."""
    start = int(index.min())
    return Cells(step, start, np.bincount(index - start, mass).astype(np.float64), 0.0, offset - 2 * _TINY * step)


def united(left: Cells, right: Cells) -> Cells:
    """Add two parts of one law, on one grid."""
    start = min(left.start, right.start)
    size = max(cells.start + cells.mass.size for cells in (left, right)) - start
    mass = np.zeros(size)
    for cells in (left, right):
        mass[cells.start - start : cells.start - start + cells.mass.size] += cells.mass
    infinite, offset = left.infinite + right.infinite, max(left.offset, right.offset)
    return Cells(left.step, start, mass, infinite, offset, max(left.slack, right.slack))
