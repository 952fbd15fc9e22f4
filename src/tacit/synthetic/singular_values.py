"""Shrink a noisy matrix towards zero by its known noise: post-processing in closed form.

A matrix of signal plus independent noise of variance v has r by c free entries, so Σ² of the noise is r·c·v on average.
The signal's share is T = max(0, ‖Y‖² - r·c·v). Two estimates:

    singular values   each y (in units of √(v·c), with c ≥ r and b = r/c) becomes √((y² - b - 1)² - 4b)/y above 1 + √b,
                      and 0 below (Gavish and Donoho, IEEE Trans. Inf. Theory 63(4), 2017, equation 7)
    one factor        T/‖Y‖², the positive-part James-Stein factor

The first keeps Ση² of T and loses the rest; the second keeps T²/‖Y‖². The one that keeps more is used. The second needs
a T of at least two standard deviations of the noise's energy, √(2rc)·v. That number was chosen on generated tables
(random networks and hidden classes of 7 to 11 columns).
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import Floats

_DEVIATIONS = 2.0
_TINY = 1e-300


def shrunk(matrix: Floats, variance: float, rows: int, columns: int) -> tuple[Floats, float]:
    """Return the estimate of the signal and its expected squared error, for `rows` by `columns` free entries.

    >>> estimate, _ = shrunk(np.array([[3.0, 0.0], [0.0, 1.0]]), 1.0, 2, 2)
    >>> estimate.round(1).tolist()
    [[1.8, 0.0], [0.0, 0.6]]
    """
    free = rows * columns
    energy = float((matrix**2).sum())
    if free <= 0 or energy <= 0:
        return np.zeros_like(matrix), 0.0
    if variance <= 0:
        return matrix, 0.0
    signal = max(0.0, energy - free * variance)
    few, many = sorted((rows, columns))
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    kept = _kept(values / np.sqrt(variance * many), few / many, single=few == 1) * np.sqrt(variance * many)
    by_value = float((kept**2).sum())
    if signal >= _DEVIATIONS * np.sqrt(2 * free) * variance and signal**2 / energy > by_value:
        return matrix * (signal / energy), signal * (1 - signal / energy)
    return np.asarray((left * kept) @ right, dtype=np.float64), max(signal - by_value, 0.0)


def _kept(values: Floats, ratio: float, *, single: bool) -> Floats:
    """Return the shrunk singular values, in units of the noise."""
    square = values**2
    if single:  # one free row: James-Stein's factor of a vector
        first = np.arange(values.size) == 0
        return np.where(first, values * np.maximum(0.0, 1 - 1 / np.maximum(square, _TINY)), 0.0)
    inside = np.maximum((square - ratio - 1) ** 2 - 4 * ratio, 0.0)
    return np.where(values > 1 + np.sqrt(ratio), np.sqrt(inside) / np.maximum(values, _TINY), 0.0)
