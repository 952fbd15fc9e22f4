"""Rényi divergences of single laws, and amplification by sampling, as rationals rounded up.

D_α(P ‖ Q) = ln E_P[e^((α-1)L)]/(α-1), L the privacy loss: the moments m_L(α-1) of the loss on another scale.
Everything is evaluated in 60 decimal digits, each operation correctly rounded in a context that is independent of the
caller's, and a margin above all rounding is added.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from math import comb

_CTX = Context(60, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, 1, 0, [], [InvalidOperation])
_MARGIN = Fraction(1, 10**50)
_COARSE = Fraction(1, 10**38)
_LARGE = 512
_ONE = Decimal(1)


def randomized_response(epsilon: Fraction, alpha: Fraction) -> Fraction:
    """Return D_α of randomized response, which every ε-DP mechanism post-processes.

    D_α = ε + ln((1 + e^(-(2α-1)ε))/(1 + e^(-ε)))/(α-1) (Mironov, CSF 2017, proposition 5, rearranged). The logarithm
    is in [-ln 2, 0], so 60 digits leave it an error below 1e-57; the rest is exact.

    >>> round(float(randomized_response(Fraction(1), Fraction(2))), 6)
    0.735326
    """
    top, bottom = (_CTX.add(_ONE, _exp(-x)) for x in ((2 * alpha - 1) * epsilon, epsilon))
    log = Fraction(_CTX.ln(_CTX.divide(top, bottom)))
    return epsilon + min(log + _MARGIN, Fraction(0)) / (alpha - 1)


def laplace(epsilon: Fraction, alpha: Fraction) -> Fraction:
    """Return D_α of continuous Laplace noise with Δ/s = ε.

    e^((α-1)D) = (α·e^((α-1)ε) + (α-1)·e^(-αε))/(2α-1) (Mironov, CSF 2017, table II).

    >>> round(float(laplace(Fraction(1), Fraction(2))), 6)
    0.619124
    """
    a = alpha - 1
    top = _CTX.add(
        _CTX.multiply(_decimal(alpha), _exp(a * epsilon)), _CTX.multiply(_decimal(a), _exp(-alpha * epsilon))
    )
    return _rounded(_CTX.divide(top, _decimal(2 * alpha - 1)), a)


def discrete_laplace(scale: Fraction, shift: int, alpha: Fraction) -> Fraction:
    """Return D_α of discrete Laplace noise under an L1 shift: of one number, the worst (`pld.laws` has the proof).

    With a = α-1, e = N/s, r = e^(-1/s) and g = r^(2a+1), a geometric sum over the losses (N-2j)/s:
    e^(aD) = (e^(ae) + r^N·e^(-ae) + (1-r)·e^(ae)·(g-g^N)/(1-g))/(1+r). 1-r and 1-g lose as many digits as
    the scale has, so twice that number is added.

    >>> discrete_laplace(Fraction(1), 1, Fraction(2)) == randomized_response(Fraction(1), Fraction(2))
    False
    >>> round(float(discrete_laplace(Fraction(1), 1, Fraction(2))), 6)
    0.735326
    """
    a, rate = alpha - 1, 1 / scale
    with localcontext(_CTX) as context:
        context.prec = 60 + 2 * len(str(int(scale)))
        steps, excess = (Decimal(x.numerator) / Decimal(x.denominator) for x in (rate, a))
        r, g, last = (-steps).exp(), (-(2 * excess + 1) * steps).exp(), (-(2 * excess + 1) * shift * steps).exp()
        inner = (1 - r) * (g - last) / (1 - g)
        outer = (excess * shift * steps).exp() * (1 + inner) + (-(excess + 1) * shift * steps).exp()
        log = (outer / (1 + r)).ln()
    return max(Fraction(0), Fraction(log) + _COARSE) / a


def sampled_gaussian(rate: Fraction, mu_squared: Fraction, alpha: int) -> Fraction:
    """Return D_α of continuous Gaussian noise on a Poisson sample, at a whole order.

    On removal e^((α-1)D) = E_Q[(1-γ+γr)^α] = Σ_j C(α,j)(1-γ)^(α-j)·γ^j·e^(j(j-1)μ²/2); on addition D is no larger
    (Mironov, Talwar and Zhang, arXiv:1908.10530v1, section 3.3 and theorem 5). All terms are positive.

    >>> sampled_gaussian(Fraction(1), Fraction(1), 2) <= 1 + _COARSE
    True
    """
    total = Decimal(0)
    for j in range(alpha + 1):
        weight = _decimal(comb(alpha, j) * (1 - rate) ** (alpha - j) * rate**j)
        total = _CTX.add(total, _CTX.multiply(weight, _exp(j * (j - 1) * mu_squared / 2)))
    return _rounded(total, Fraction(alpha - 1))


def amplified(rate: Fraction, epsilon: Fraction) -> Fraction:
    """Return ln(1 + γ(e^ε - 1)), the ε on a Poisson sample of rate γ, rounded up; at most ε.

    On removal H at a = 1+γ(e^ε-1) is γ·H at e^ε. On addition it is (1-a(1-γ))₊ ≤ γ times H at c with c ≥ e^ε, since
    c - e^ε has the sign of (e^ε-1)²(1-γ) (the identities are those of `pld.sampled`). So (ε,δ) becomes (this, γδ)
    (Balle, Barthe and Gaboardi, arXiv:1807.01647v2, theorem 8).

    >>> round(float(amplified(Fraction(1, 100), Fraction(1))), 6)
    0.017037
    """
    if epsilon >= _LARGE:
        return epsilon
    grown = _CTX.add(_ONE, _CTX.multiply(_decimal(rate), _CTX.subtract(_exp(epsilon), _ONE)))
    return min(epsilon, Fraction(_CTX.ln(grown)) + _MARGIN)


def _rounded(moment: Decimal, a: Fraction) -> Fraction:
    return max(Fraction(0), Fraction(_CTX.ln(moment)) + _COARSE) / a


def _exp(x: Fraction) -> Decimal:
    return _CTX.exp(_decimal(x))


def _decimal(value: Fraction) -> Decimal:
    return _CTX.divide(Decimal(value.numerator), Decimal(value.denominator))
