"""The discrete Laplace law's tail and its quantiles, in 40-digit arithmetic.

For s > 0, r = e^(-1/s) and an integer t ≥ 1:   Pr[|K| ≥ t] = 2·r^t/(1+r),   Pr[K ≥ t] = r^t/(1+r).
Both follow by summing tanh(1/2s)·r^|k| = (1-r)/(1+r)·r^|k|.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from fractions import Fraction

# Contexts that are independent of the caller's.
_CTX = Context(40, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, 1, 0, [], [InvalidOperation])
_UP = Context(40, ROUND_CEILING, MIN_EMIN, MAX_EMAX, 1, 0, [], [InvalidOperation])


def _decimal(value: Fraction) -> Decimal:
    """Return a rational to 40 digits."""
    return _CTX.divide(Decimal(value.numerator), Decimal(value.denominator))


def per_output(beta: Fraction, outputs: int) -> Decimal:
    """Return b with (1-b)^m = 1-β: if each of m independent outputs stays inside with 1-b, all do with 1-β.

    >>> per_output(Fraction(1, 20), 1)
    Decimal('0.05')
    """
    if outputs == 1:
        return _decimal(beta)
    log_inside = _CTX.ln(_decimal(1 - beta))
    return _CTX.subtract(Decimal(1), _CTX.exp(_CTX.divide(log_inside, Decimal(outputs))))


def two_sided_quantile(scale: Fraction, beta: Fraction, outputs: int = 1) -> int:
    """Return the least t ≥ 0 such that all of m draws satisfy |K| ≤ t with probability ≥ 1-β.

    2·r^(t+1)/(1+r) ≤ b  ⟺  t + 1 ≥ s·ln(2/(b(1+r))).

    >>> two_sided_quantile(Fraction(10), Fraction(1, 20))
    30
    """
    return least_beyond(scale, per_output(beta, outputs))


def least_beyond(scale: Fraction, beta: Decimal) -> int:
    """Return the least t ≥ 0 with Pr[|K| > t] ≤ β."""
    return _quantile(scale, _CTX.divide(Decimal(2), beta))


def one_sided_quantile(scale: Fraction, beta: Fraction, outputs: int = 1) -> int:
    """Return the least t ≥ 0 such that all of m draws satisfy K ≤ t with probability ≥ 1-β."""
    return _quantile(scale, _CTX.divide(Decimal(1), per_output(beta, outputs)))


def _quantile(scale: Fraction, ratio: Decimal) -> int:
    r = _CTX.exp(_decimal(-1 / scale))
    bound = _CTX.multiply(_decimal(scale), _CTX.ln(_CTX.divide(ratio, _CTX.add(Decimal(1), r))))
    return max(0, int(_UP.to_integral_value(bound)) - 1)
