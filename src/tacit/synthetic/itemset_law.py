"""How far the noise on a support reaches: quantiles of one discrete noise, and of a sum of discrete Laplace noises.

One noise has its own exact law (`guarantees.laplace_law`, `guarantees.gaussian_law`).

**A sum S of T discrete Laplace noises of scale b** (a support that is added up from bins) has the characteristic function
φ(u)^T with φ(u) = (1-q)²/(1 - 2q·cos u + q²), q = e^(-1/b).

* *Deviations up to 2^14.* S modulo N has the masses (1/N)·Σⱼ φ(2πj/N)^T·cos(2πjx/N), which one Fourier transform gives.
  With N of at least 64 deviations, Pr[|S| > N/2] is below 100·e^(-1.4·32) < 10^-17 (`query.noise_tails`). The
  transform errs by less than 10^-12 in a sum of masses, which `_SLIP` covers.
* *Wider.* A Laplace variable of scale b is K + V with V = U - U' independent of K, and U, U' in [0, 1). So
  |S| ≤ |ΣX| + |ΣV|, and Pr[|ΣV| > v] ≤ 2e^(-v²/2T) (Hoeffding, as V is symmetric within ±1). A thousandth of β pays for
  ΣV, and the rest for ΣX, the sum of continuous ones (`noise_tails.laplace_reach`).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, log, sqrt

import numpy as np

from tacit.guarantees import gaussian_law, laplace_law
from tacit.query.noise_tails import laplace_reach
from tacit.synthetic.itemset_noise import Noise

_WIDE = 2**14
_SLIP = 1e-11
_PERIODS = 64
_PART = 1e-3


@lru_cache(maxsize=1024)
def noise_reach(law: Noise, beta: Fraction) -> float:
    """Return t with Pr[|noise| > t] ≤ β, in baskets.

    >>> noise_reach(Noise(pure=True, amount=Fraction(10)), Fraction(1, 20))
    30.0
    >>> noise_reach(Noise(pure=True, amount=Fraction(10), terms=400), Fraction(1, 20))
    554.0
    """
    if not law.pure:
        return gaussian_law.two_sided_quantile(law.amount, float(beta)) / law.step
    if law.terms == 1:
        return laplace_law.two_sided_quantile(law.amount, beta) / law.step
    scale, deviation = float(law.amount), law.deviation * law.step
    if deviation <= _WIDE and float(beta) > 2 * _SLIP:
        return _summed(scale, law.terms, deviation, float(beta)) / law.step
    rest = float(beta) * _PART
    around = sqrt(2 * law.terms * log(2 / rest))
    one = np.ones(1)
    return ceil(laplace_reach(scale * one, law.terms * one, float(beta) - rest) + around) / law.step


def _summed(scale: float, terms: int, deviation: float, beta: float) -> int:
    """Return the least t with Pr[|S| > t] ≤ β - slip, from the masses of S modulo N."""
    size = 1 << ceil(_PERIODS * max(deviation, 1.0)).bit_length()
    q, one_less = exp(-1 / scale), -expm1(-1 / scale)
    angles = np.pi * np.arange(size // 2 + 1) / size  # half angles: 1 - 2q·cos u + q² = (1-q)² + 4q·sin²(u/2)
    ratio = 4 * q * (np.sin(angles) / one_less) ** 2
    masses = np.fft.irfft(np.exp(-terms * np.log1p(ratio)), size)
    inside = np.cumsum(np.concatenate([masses[:1], 2 * masses[1 : size // 2]]))
    return int(np.searchsorted(inside, 1 - beta + _SLIP))
