"""Conversions from one notion of privacy to another, each by the tightest known formula.

Every result is rounded up. If a step cancels digits, its inputs are first moved outward by more than their rounding,
or the formula is evaluated in 60 digits, each operation correctly rounded, and 1e-50 of every term is added.

    PureDP ──► ZCDP ──► RenyiDP ──► (ε,δ)        PureDP ──► RenyiDP, (ε,δ)        GaussianDP ──► ZCDP, (ε,δ)

There is no way back: no target implies any of its sources.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from math import erfc, exp, inf, log, log1p, nextafter, sqrt

from tacit.errors import bad_value
from tacit.guarantees.exact import Exact, Number, round_up, to_fraction
from tacit.guarantees.values import ZCDP, GaussianDP, PureDP, RenyiDP

_UP = 1 + 1e-9
"""Covers the rounding of terms that do not cancel; its relative error is below 1e-11."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return δ(ε) of continuous Gaussian noise with Δ/σ = μ, rounded up.

    δ = Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ) (Balle and Wang, arXiv:1805.06530v2, theorem 8). With x = (ε/μ - μ/2)/√2 and
    y = (ε/μ + μ/2)/√2 the two terms are ½erfc(x) and ½e^(-x²)·erfcx(y), since ε - y² = -x²: nothing overflows.
    Both x and y carry an error of a few 2^-52·y, so the first is taken at an x lower by 2^-48·y and the second
    at larger |x| and y. δ is never 0, so the result is at least the least float above 0.

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    from scipy.special import erfcx  # noqa: PLC0415 - heavy

    x, y = (epsilon / mu - mu / 2) / sqrt(2), (epsilon / mu + mu / 2) / sqrt(2)
    slack = y * 2.0**-48
    low, far = x - slack, abs(x) + slack
    first = erfc(low) / 2 if low < 0 else exp(-low * low) * float(erfcx(low)) / 2
    second = exp(-far * far) * float(erfcx(y + slack)) / 2
    return min(1.0, max(first - second + (first + second) * 2.0**-48, nextafter(0, 1)))


def gaussian_delta_below(mu: float, epsilon: float) -> float:
    """Return δ(ε) of continuous Gaussian noise with Δ/σ = μ, rounded down: as `gaussian_delta`, moved the other way.

    >>> 0 < gaussian_delta(1.0, 1.0) - gaussian_delta_below(1.0, 1.0) < 1e-13
    True
    """
    from scipy.special import erfcx  # noqa: PLC0415 - heavy

    x, y = (epsilon / mu - mu / 2) / sqrt(2), (epsilon / mu + mu / 2) / sqrt(2)
    slack = y * 2.0**-48
    high, near = x + slack, max(abs(x) - slack, 0.0)
    first = erfc(high) / 2 if high < 0 else exp(-high * high) * float(erfcx(high)) / 2
    second = exp(-near * near) * float(erfcx(y - slack)) / 2
    return max(0.0, first - second - (first + second) * 2.0**-46)


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
    return min(1.0, exp(best) * _UP + 1e-300)


def epsilon_of_zcdp(rho: Number, delta: Number) -> float:
    """Return the ε that ρ-zCDP implies at δ, rounded up.

    ε = inf over α > 1 of ρα + ln((α-1)/α) - (ln δ + ln α)/(α-1), at least 0: the inverse of `delta_of_zcdp`
    (Canonne et al., arXiv:2004.00010v5, corollary 13). Any α gives a valid bound.

    >>> round(epsilon_of_zcdp(0.5, 1e-6), 4)
    5.2215
    """
    r, d = nonnegative(rho, "rho"), probability(delta, "delta")
    if r == 0 or d == 1:
        return 0.0
    _require_delta(d)
    with working():
        a = Decimal(_best_order(float(r), float(-as_decimal(d).ln())))
        return float_above(_epsilon_at_order(a, as_decimal(r) * (1 + a), d))


def _best_order(rho: float, size: float) -> float:
    """Return α-1 where the bound of `epsilon_of_zcdp` is least, for ln 1/δ = size.

    The bound is at most ε on exactly those α where the log δ of `delta_of_zcdp`, convex in α, is at most ln δ. So
    its sublevel sets are intervals, and a golden-section search over t = ln(α-1) finds its minimum.
    """

    def bound(t: float) -> float:
        a = exp(t)
        return rho * (1 + a) - log1p(1 / a) + (size - log1p(a)) / a

    low, high = -690.0, 690.0
    golden = (sqrt(5) - 1) / 2
    for _ in range(110):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if bound(left) <= bound(right) else (left, high)
    return exp(low)


def epsilon_of_renyi(alpha: Number, epsilon: Number, delta: Number) -> float:
    """Return the ε that (α,ε_α)-Rényi DP implies at δ, rounded up.

    ε = ε_α + ln((α-1)/α) - (ln δ + ln α)/(α-1), at least 0 (Canonne et al., arXiv:2004.00010v5, proposition 12;
    Balle et al., arXiv:1905.09982v2, theorem 21). ε_α = 0 means equal laws, so ε = 0 at every δ.

    Args:
        alpha: the order, > 1.
        epsilon: ε_α, the Rényi divergence at that order.
        delta: δ > 0, unless ε_α = 0.

    >>> round(epsilon_of_renyi(8, 0.5, 1e-6), 4)
    2.043
    """
    order, size, d = _order(alpha), nonnegative(epsilon, "epsilon"), probability(delta, "delta")
    if size == 0 or d == 1:
        return 0.0
    _require_delta(d)
    with working():
        return float_above(_epsilon_at_order(as_decimal(order - 1), as_decimal(size), d))


def _epsilon_at_order(a: Decimal, size: Decimal, delta: Fraction) -> Decimal:
    """Return ε_α + ln(a/α) - (ln δ + ln α)/a with a = α-1, moved up by more than its rounding."""
    log_delta, log_order, shape = as_decimal(delta).ln(), (1 + a).ln(), (a / (1 + a)).ln()
    slack = _SLACK * (size - shape + (1 - log_delta + log_order) / a)
    return size + shape - (log_delta + log_order) / a + slack


def delta_of_renyi(alpha: Number, epsilon: Number, at: Number) -> float:
    """Return the δ that (α,ε_α)-Rényi DP implies at an ε, rounded up: the inverse of `epsilon_of_renyi`.

    δ = e^((α-1)(ε_α-ε))/α·(1-1/α)^(α-1), at most 1 (Canonne et al., arXiv:2004.00010v5, proposition 12).

    Args:
        alpha: the order, > 1.
        epsilon: ε_α, the Rényi divergence at that order.
        at: the ε of the pair (ε,δ).

    >>> round(delta_of_renyi(8, 0.5, 2.5), 10)
    4.08e-08
    """
    order, size, target = _order(alpha), nonnegative(epsilon, "epsilon"), nonnegative(at, "at")
    if size == 0:
        return 0.0
    with working():
        a, gap = as_decimal(order - 1), as_decimal(size - target)
        shape, log_order = (a / (1 + a)).ln(), (1 + a).ln()
        slack = _SLACK * (a * (abs(gap) - shape) + log_order + 1)
        return min(1.0, float_above(_positive_exp(a * (gap + shape) - log_order + slack)))


def gaussian_epsilon(mu: Number, delta: Number) -> float:
    """Return ε(δ) of continuous Gaussian noise with Δ/σ = μ, rounded up: the inverse of `gaussian_delta`.

    The curve falls in ε (Balle and Wang, arXiv:1805.06530v2, theorem 8), so bisection finds it.

    >>> round(gaussian_epsilon(1, 1e-6), 6)
    4.886554
    """
    m, d = nonnegative(mu, "mu"), probability(delta, "delta")
    if m == 0 or d == 1:
        return 0.0
    _require_delta(d)
    if not _LEAST_MU <= m <= 1 / _LEAST_MU:
        raise bad_value("mu", mu, "0, or a number from 1e-150 to 1e150")
    size = float(Exact(m))
    if gaussian_delta(size, 0.0) <= d:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(size, high) > d:
        low, high = high, high * 2
    return _bisected(size, d, low, high)


def _bisected(mu: float, delta: Fraction, low: float, high: float) -> float:
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if gaussian_delta(mu, middle) <= delta else (middle, high)
    return high  # the safe end


def delta_of_pure(eps0: Number, epsilon: Number) -> float:
    """Return the δ that an ε₀-DP mechanism has at a smaller ε, rounded up.

    δ = (e^ε₀ - e^ε)₊/(1 + e^ε₀), reached by randomized response, which every ε₀-DP mechanism post-processes
    (Kairouz, Oh and Viswanath, arXiv:1311.0776v4, theorem 3.3 with k = 1).

    >>> delta_of_pure(1, 1), round(delta_of_pure(1, 0), 6)
    (0.0, 0.462117)
    """
    whole, target = nonnegative(eps0, "eps0"), nonnegative(epsilon, "epsilon")
    if target >= whole:
        return 0.0
    with working():
        gap = as_decimal(whole - target)
        gain = min(gap, 1 - (-gap).exp() + _SLACK)  # 1 - e^-x ≤ x is used if the difference cancels
        return min(1.0, float_above(gain / (1 + (-as_decimal(whole)).exp()) * (1 + _SLACK)))


def pure_to_zcdp(guarantee: PureDP) -> ZCDP:
    """Return the zCDP that ε-DP implies: ρ = ε²/2, exactly (Bun and Steinke, arXiv:1605.02065v1, proposition 1.4).

    >>> pure_to_zcdp(PureDP(epsilon=0.1))
    ZCDP(rho=0.005)
    """
    return ZCDP(rho=Exact(exactly(guarantee.epsilon) ** 2 / 2))


def gdp_to_zcdp(guarantee: GaussianDP) -> ZCDP:
    """Return the zCDP that μ-GDP implies: ρ = μ²/2, exactly.

    N(0,1) and N(μ,1) have D_α = αμ²/2, and a pair that is not easier to distinguish has no larger divergence
    (Dong, Roth and Su, arXiv:1905.02383v3, corollary B.6).

    >>> gdp_to_zcdp(GaussianDP(mu=1))
    ZCDP(rho=0.5)
    """
    return ZCDP(rho=Exact(exactly(guarantee.mu) ** 2 / 2))


def zcdp_to_renyi(guarantee: ZCDP, alpha: Number) -> RenyiDP:
    """Return the Rényi DP that ρ-zCDP means at one order: ε_α = ρα, exactly (Bun and Steinke, definition 1.1).

    >>> zcdp_to_renyi(ZCDP(rho=0.1), 8)
    RenyiDP(alpha=8.0, epsilon=0.8)
    """
    order = _order(alpha)
    return RenyiDP(alpha=Exact(order), epsilon=Exact(exactly(guarantee.rho) * order))


def pure_to_renyi(guarantee: PureDP, alpha: Number) -> RenyiDP:
    """Return the Rényi DP that ε-DP implies at one order, rounded up.

    ε_α = ln((e^(αε) + e^((1-α)ε))/(1 + e^ε))/(α-1) = ε + ln((1 + e^((1-2α)ε))/(1 + e^(-ε)))/(α-1), the divergence of
    randomized response (Mironov, arXiv:1702.07476v3, proposition 5), which every ε-DP mechanism post-processes. It
    rises in α from ε·tanh(ε/2) at 1 to ε at infinity, and is at most αε²/2 (Bun and Steinke, proposition 1.4).

    >>> pure_to_renyi(PureDP(epsilon=1), 2)
    RenyiDP(alpha=2.0, epsilon=0.7353256640...)
    """
    order, size = _order(alpha), exactly(guarantee.epsilon)
    least = min(size, order * size**2 / 2)
    with working():
        a, e = as_decimal(max(order - 1, _LEAST_ORDER)), as_decimal(size)
        curve = e + ((1 + (-(2 * a + 1) * e).exp()).ln() - (1 + (-e).exp()).ln()) / a
        bound = float_above(curve + _SLACK * (e + (1 + e) / a))
    near = Fraction(repr(bound)) if bound < inf else least
    return RenyiDP(alpha=Exact(order), epsilon=Exact(min(near, least)))


_SLACK = Decimal("1e-50")
_LEAST_ORDER = Fraction(1, 10**15)
"""Below 1 plus this number, the divergence at 1 plus this number is used, since it rises in α."""
_LEAST_MU = Fraction(1, 10**150)
_LEAST_DELTA = Fraction(1, 10**307)
_LEAST_EXPONENT, _MOST_EXPONENT = -330, 310


def working(digits: int = 60) -> AbstractContextManager[Context]:
    """Compute with this number of decimal digits, independently of the caller's context."""
    return localcontext(Context(digits, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, 1, 0, [], [InvalidOperation]))


def as_decimal(value: Fraction) -> Decimal:
    """Return a rational as a decimal of the current precision."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def float_above(value: Decimal) -> float:
    """Return the least float that prints as at least a number; 0 for a negative one.

    >>> float_above(Decimal("0.1")), float_above(Decimal("1e-999")), float_above(Decimal(-1))
    (0.1, 5e-324, 0.0)
    """
    if value <= 0:
        return 0.0
    if value.adjusted() > _MOST_EXPONENT or value.is_infinite():
        return inf
    return 5e-324 if value.adjusted() < _LEAST_EXPONENT else round_up(Fraction(value))


def _positive_exp(value: Decimal) -> Decimal:
    """Return e^x, at least 1e-400, so that it does not vanish."""
    return max(value.exp(), Decimal("1e-400"))


def exactly(value: float) -> Fraction:
    """Return the rational that a guarantee's field means."""
    return to_fraction(value, "value")


def nonnegative(value: object, argument: str) -> Fraction:
    """Return the rational that a parameter means if it is ≥ 0.

    >>> nonnegative(0.1, "epsilon")
    Fraction(1, 10)
    """
    requirement = "a finite number ≥ 0"
    fraction = to_fraction(value, argument, requirement)
    if fraction < 0:
        raise bad_value(argument, value, requirement)
    return fraction


def probability(value: object, argument: str) -> Fraction:
    """Return the rational that a parameter means if it is from 0 to 1.

    >>> probability(1, "delta")
    Fraction(1, 1)
    """
    requirement = "a number from 0 to 1"
    fraction = to_fraction(value, argument, requirement)
    if not 0 <= fraction <= 1:
        raise bad_value(argument, value, requirement)
    return fraction


def _order(alpha: object) -> Fraction:
    requirement = "a finite number > 1"
    order = to_fraction(alpha, "alpha", requirement)
    if order <= 1:
        raise bad_value("alpha", alpha, requirement)
    return order


def _require_delta(delta: Fraction) -> None:
    """Raise InvalidError if these notions give no finite ε at δ, or if δ is too small to compare with floats."""
    if delta < _LEAST_DELTA:
        hint = "At delta = 0, use the rules 'basic' and 'optimal' for pure guarantees."
        raise bad_value("delta", float(delta), "a number ≥ 1e-307 here", hint=hint)
