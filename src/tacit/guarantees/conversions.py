"""From one notion to another, only where the theory allows it, each by the tightest known formula."""

from __future__ import annotations

from math import erfc, exp, log, sqrt

_UP = 1 + 1e-9
"""Covers float rounding, whose relative error is below 1e-11 in each formula here."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return δ(ε) of continuous Gaussian noise with Δ/σ = μ, rounded up.

    δ = Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ) (Balle and Wang, arXiv:1805.06530v2, theorem 5). The second term is
    e^ε·½e^(-y²)·erfcx(y), y = (ε/μ + μ/2)/√2, and ε - y² = -x² with x = (ε/μ - μ/2)/√2, so nothing overflows.

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    from scipy.special import erfcx  # noqa: PLC0415 - heavy

    x, y = (epsilon / mu - mu / 2) / sqrt(2), (epsilon / mu + mu / 2) / sqrt(2)
    if x < 0:
        first, second = erfc(x) / 2, exp(-x * x) * float(erfcx(y)) / 2
        return first - second + (first + second) * 1e-14
    gap = float(erfcx(x)) - float(erfcx(y))
    return exp(-x * x) / 2 * (gap + float(erfcx(x)) * 1e-13) * _UP


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """Return the δ(ε) that ρ-zCDP implies, rounded up.

    δ = inf over α > 1 of e^((α-1)(αρ-ε))/(α-1)·(1-1/α)^α (Canonne et al., arXiv:2004.00010v5, cor. 13).
    Any α gives a valid bound, so the minimisation (convex in α) need not be exact.
    """

    def log_delta(alpha: float) -> float:
        less = alpha - 1
        return less * (alpha * rho - epsilon) - log(less) + alpha * (log(less) - log(alpha))

    low, high = 1 + 1e-9, max(2.0, (epsilon + 1) / rho + 2)
    golden = (sqrt(5) - 1) / 2
    for _ in range(120):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if log_delta(left) <= log_delta(right):
            high = right
        else:
            low = left
    best = min(log_delta(low), log_delta(high), 0.0)
    return min(1.0, exp(best) * _UP)
