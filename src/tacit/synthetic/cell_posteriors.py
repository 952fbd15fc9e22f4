"""Posterior means of counts that are not negative, from noisy counts of known variance and a prior that they choose.

A count x was seen as y = x + normal noise of variance σ², and m is what it would be without dependence. The prior of x
is a mixture of gamma laws with mean m and variance φm, φ on a fixed grid; large φ let a table have few large cells and
many that are almost empty. The weights of the mixture are those that make all noisy counts of the table most likely:
nonparametric empirical Bayes by the EM algorithm, so nothing is tuned. The grid of φ is relative to the one that makes
the mean square of y - m what the noise and the prior predict.

The integrals are sums over a grid in units of σ: fixed nodes for y < 8σ, dense where gamma laws of small shape have
their mass, with the mass below the first node in closed form; evenly spaced nodes around y for larger y.

The grids were chosen on generated tables (`bench/high_dimensional_marginals.py`), not on a data set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.arrays import Floats

_FACTORS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0, 256.0)
"""The grid of m/φ, relative to the moment estimate."""
_FAR, _NODES, _LOW_NODES, _FIRST = 8.0, 65, 96, 1e-6
_LEAST_SPREAD, _LEAST_MEAN, _LEAST_VARIANCE = 1e-3, 1e-12, 1e-9
_CHUNK, _ROUNDS = 4096, 100


@dataclass(frozen=True, slots=True)
class Posterior:
    """The mean and the variance of each count, in the shape of the table."""

    mean: Floats
    variance: Floats


def posterior(noisy: Floats, prior: Floats, variance: float) -> Posterior:
    """Return the posterior of every count of a table.

    Args:
        noisy: the noisy counts.
        prior: the mean of each count's prior, not negative.
        variance: the variance of the noise of each count.
    """
    sigma = float(np.sqrt(variance))
    means = np.maximum(prior, _LEAST_MEAN * sigma)
    total = float(means.sum())
    spread = max(float(np.sum((noisy - prior) ** 2)) - noisy.size * variance, _LEAST_SPREAD * total)
    y, m = noisy.ravel() / sigma, means.ravel() / sigma
    found = [_of_gamma(y, m, m * (sigma * total / spread * factor)) for factor in _FACTORS]
    first, second, logs = (np.array(each) for each in zip(*found, strict=True))
    share = _mixture(logs)
    mean = np.sum(share * first, axis=0)
    squares = np.sum(share * second, axis=0) - mean**2
    shape = noisy.shape
    return Posterior((mean * sigma).reshape(shape), (np.maximum(squares, _LEAST_VARIANCE) * variance).reshape(shape))


def _mixture(logs: Floats) -> Floats:
    """Return the posterior share of each gamma law in each count, at the most likely weights."""
    likely = np.exp(logs - logs.max(axis=0))
    weights = np.full(len(logs), 1 / len(logs))
    for _ in range(_ROUNDS):
        share = weights[:, None] * likely
        share /= share.sum(axis=0)
        weights = share.mean(axis=1)
    return np.asarray(share)


def _of_gamma(y: Floats, m: Floats, shape: Floats) -> tuple[Floats, Floats, Floats]:
    """Return E[x | y], E[x² | y] and the logarithm of the density of y, for gamma priors of some means and shapes."""
    first, second, logs = np.empty_like(y), np.empty_like(y), np.empty_like(y)
    for places in (np.flatnonzero(y > _FAR), np.flatnonzero(y <= _FAR)):
        for start in range(0, len(places), _CHUNK):
            some = places[start : start + _CHUNK]
            first[some], second[some], logs[some] = _integrals(y[some, None], m[some, None], shape[some, None])
    return first, second, logs


def _integrals(y: Floats, m: Floats, shape: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the same for counts that are all far from 0, or all near it."""
    from scipy.special import gammaln  # noqa: PLC0415 - heavy

    constant = shape * np.log(shape / m) - gammaln(shape)
    near = bool(y[0, 0] <= _FAR)
    if near:
        x, log_x, log_width = _near_grid()
    else:
        x = np.maximum(y + np.linspace(-_FAR, _FAR, _NODES), _FIRST)
        log_x, log_width = np.log(x), np.full(_NODES, np.log(2 * _FAR / (_NODES - 1)))
    logs = (shape - 1) * log_x - x * (shape / m) - (x - y) ** 2 / 2 + log_width + constant
    top = logs.max(axis=1, keepdims=True)
    below = np.full_like(top, -np.inf)
    if near:
        below = shape * np.log(_FIRST) - np.log(shape) - y**2 / 2 + constant
        top = np.maximum(top, below)
    weights = np.exp(logs - top)
    total = weights.sum(axis=1) + np.exp(below - top)[:, 0]
    first, second = (weights * x).sum(axis=1) / total, (weights * x * x).sum(axis=1) / total
    return first, second, np.log(total) + top[:, 0]


@lru_cache(maxsize=1)
def _near_grid() -> tuple[Floats, Floats, Floats]:
    """Return nodes from almost 0 to twice the far end, their logarithms, and those of their widths."""
    step = _FAR / (_NODES - 1)
    x = np.concatenate([np.geomspace(_FIRST, 1.0, _LOW_NODES), 1.0 + np.arange(1, 2 * (_NODES - 1)) * step])
    widths = np.convolve(np.diff(x), [0.5, 0.5])  # of the trapezoid rule
    return x, np.log(x), np.log(widths)
