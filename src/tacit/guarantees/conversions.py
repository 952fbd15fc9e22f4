"""From one notion to another, only where the theory allows it, each by the tightest known formula.

Every result is rounded up: where a step cancels digits, its inputs are first moved outward by more than their
rounding.
"""

from __future__ import annotations

from math import erfc, exp, log, sqrt

_UP = 1 + 1e-9
"""Covers the rounding of what does not cancel, whose relative error is below 1e-11."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return δ(ε) of continuous Gaussian noise with Δ/σ = μ, rounded up.

    δ = Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ) (Balle and Wang, arXiv:1805.06530v2, theorem 8). With x = (ε/μ - μ/2)/√2 and
    y = (ε/μ + μ/2)/√2 the two terms are ½erfc(x) and ½e^(-x²)·erfcx(y), since ε - y² = -x²: nothing overflows.
    Both x and y carry an error of a few 2^-52·y, so the first is taken at an x lower by 2^-48·y and the second
    at larger |x| and y.

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    from scipy.special import erfcx  # noqa: PLC0415 - heavy

    x, y = (epsilon / mu - mu / 2) / sqrt(2), (epsilon / mu + mu / 2) / sqrt(2)
    slack = y * 2.0**-48
    low, far = x - slack, abs(x) + slack
    first = erfc(low) / 2 if low < 0 else exp(-low * low) * float(erfcx(low)) / 2
    second = exp(-far * far) * float(erfcx(y + slack)) / 2
    return min(1.0, first - second + (first + second) * 2.0**-48)


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """Return the δ(ε) that ρ-zCDP implies, rounded up.

    δ = inf over α > 1 of e^((α-1)(αρ-ε))/(α-1)·(1-1/α)^α (Canonne et al., arXiv:2004.00010v5, cor. 13).
    Any α gives a valid bound, so the minimisation (convex in α) need not be exact; each term's rounding is added.
    """

    def log_delta(alpha: float) -> float:
        less = alpha - 1
        rounding = 2.0**-50 * (less * (alpha * rho + epsilon) + alpha * (abs(log(less)) + log(alpha)))
        return less * (alpha * rho - epsilon) - log(less) + alpha * (log(less) - log(alpha)) + rounding

    low, high = 1 + 1e-9, min(max(2.0, (epsilon + 1) / rho + 2), 1e12)
    golden = (sqrt(5) - 1) / 2
    for _ in range(120):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if log_delta(left) <= log_delta(right):
            high = right
        else:
            low = left
    best = min(log_delta(low), log_delta(high), 0.0)
    return min(1.0, exp(best) * _UP)
