"""The probability of each candidate of a selection, from exponents a_r = rate·(u_r - OPT) ≤ 0 with maximum 0.

**Exponential mechanism.** Pr[r] = e^(a_r)/Σe^(a_j).

**Permute-and-flip.** With p_j = e^(a_j), Pr[r] = p_r·∫₀¹ g_r(t) dt, g_r(t) = Π_{j≠r} (1 - p_j·t) (`mechanisms.
permute_and_flip` proves it). **Noisy max** with geometric noise of ratio ρ = e^(-1/s) and ties broken at random has the
same law, with p_j = e^((v_j-OPT)/s): nobody wins below OPT. At OPT + k, candidate j is below with probability
1 - p_j·ρ^k and there with (1-ρ)·p_j·ρ^k, and among equals one is drawn, so

    Pr[r] = Σ_{k≥0} (1-ρ)·ρ^k·p_r·∫₀¹ Π_{j≠r} (1 - p_j·ρ^k + (1-ρ)·p_j·ρ^k·u) du,

where uⁿ integrates to 1/(n+1). With t = ρ^k·(1 - (1-ρ)·u) the k-th integral is that of g_r from ρ^(k+1) to ρ^k, and
their sum is the integral from 0 to 1.  ∎

**The integral.** Let S = Σp_j. On [0, 1] the n-th derivative of g_r is at most n!·e_n(p) ≤ S^n, where e_n is the
elementary symmetric polynomial. So Gauss-Legendre quadrature with N = 32 nodes on [0, T] errs by at most
T·(ST)^(2N)·(N!)⁴/((2N+1)·((2N)!)³), which is below T·e^(-50) for ST ≤ 42. If S - 1 > 40, T = 40/(S-1): since
g_r(t) ≤ e^(-(S-1)t), the rest is below e^(-40)/(S-1). The integral is at least 1/(1+S) by Jensen's inequality, so both
errors are below a relative 1e-15. All terms are positive, so rounding adds little more.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tacit.arrays import Floats

_NODES, _REACH = 32, 40.0


def exponential_choice(exponents: Floats) -> Floats:
    """Return the probabilities of the exponential mechanism.

    >>> exponential_choice(np.log([1.0, 0.5, 0.5])).round(12).tolist()
    [0.5, 0.25, 0.25]
    """
    with np.errstate(under="ignore"):
        weights = np.exp(exponents)
        return np.asarray(weights / weights.sum())


def first_coin_choice(exponents: Floats) -> Floats:
    """Return the probabilities of permute-and-flip, which are those of noisy max too.

    >>> first_coin_choice(np.log([1.0, 0.5])).round(12).tolist()
    [0.75, 0.25]
    """
    with np.errstate(under="ignore"):
        coins = np.exp(exponents)
        total = float(coins.sum())
        points, weights = _quadrature()
        width = 1.0 if total - 1 <= _REACH else _REACH / (total - 1)
        result = np.zeros(coins.size)
        for t, weight in zip((points * width).tolist(), (weights * width).tolist(), strict=True):
            tails = np.log1p(-coins * t)
            result += weight * np.exp(float(tails.sum()) - tails)
        return np.asarray(coins * result)


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Floats, Floats]:
    """Return the nodes and the weights on the interval from 0 to 1."""
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    return (points + 1) / 2, weights / 2
