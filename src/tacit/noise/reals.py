"""Real numbers as refinable binary expansions, and the comparison of a uniform variable with one.

A probability such as e^(-1/3) has no finite expansion. So a real number is a function that encloses it to any
precision: `real(n)` returns integers (lo, hi) with lo ≤ p·2^n ≤ hi and hi - lo ≤ 2. A uniform U is drawn bit by bit.
After n bits U is in [u, u+1)/2^n, and U < p is decided as soon as u+1 ≤ lo (true) or u ≥ hi (false). Each further bit
halves the probability of being undecided. So the comparison ends with probability one, and its outcome has
probability exactly p, for any sequence of precisions.

The exponential comes from the standard library's `decimal`, whose `exp` is documented as correctly rounded. One unit
in the last place is added outward on each side, and every other step rounds in a stated direction. All steps name
their context, so the caller's decimal settings do not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction

from tacit.noise.bits import BitSource, extend

Real = Callable[[int], tuple[int, int]]
"""n -> (lo, hi) with lo ≤ p·2^n ≤ hi and hi - lo ≤ 2."""

_LN2 = 0.6931471805599453


def ceil_div(a: int, b: int) -> int:
    """Return ⌈a/b⌉ for b > 0."""
    return -(-a // b)


def rational(p: Fraction) -> Real:
    """Enclose a rational number.

    >>> rational(Fraction(1, 3))(4)
    (5, 6)
    """
    a, b = p.numerator, p.denominator
    return lambda n: ((a << n) // b, ceil_div(a << n, b))


def exp_neg(gamma: Fraction) -> Real:
    """Enclose e^(-γ) for a rational γ ≥ 0.

    >>> exp_neg(Fraction(1))(20)    # 2^20/e = 385749.3...
    (385749, 385750)
    """
    return lambda n: _exp_neg(gamma, n)


def _exp_neg(gamma: Fraction, n: int) -> tuple[int, int]:
    if gamma == 0:
        return 1 << n, 1 << n
    if gamma > (n + 1) * _LN2:  # e^(-γ)·2^n < 1
        return 0, 1
    # γ < n here, so this many digits keep the error of γ and of the product below 2^-n/8.
    digits = int(n * 0.30103) + len(str(n)) + 6
    down, up = context(digits, ROUND_FLOOR), context(digits, ROUND_CEILING)
    num, den, scale = Decimal(gamma.numerator), Decimal(gamma.denominator), Decimal(1 << n)
    low = down.next_minus(down.exp(up.divide(num, den).copy_negate()))
    high = up.next_plus(up.exp(down.divide(num, den).copy_negate()))
    lo = int(down.to_integral_value(down.multiply(low, scale)))
    hi = int(up.to_integral_value(up.multiply(high, scale)))
    return lo, min(hi, 1 << n)


def context(digits: int, rounding: str) -> Context:
    """Return a decimal context that is independent of the caller's, which operators on decimals would use."""
    traps = [InvalidOperation, DivisionByZero, Overflow]
    return Context(digits, rounding, MIN_EMIN, MAX_EMAX, capitals=1, clamp=0, flags=[], traps=traps)


def logistic(x: Fraction) -> Real:
    """Enclose 1/(1+e^x) = q/(1+q) with q = e^(-x), for a rational x ≥ 0."""

    def real(n: int) -> tuple[int, int]:
        guard = n + 8
        lo, hi = _exp_neg(x, guard)
        one = 1 << guard
        return (lo << n) // (one + lo), ceil_div(hi << n, one + hi)

    return real


def log_above(x: Fraction) -> Fraction:
    """Return an upper bound of ln x within 1e-30, for a rational x from 1 to e^100: `decimal` rounds ln correctly.

    >>> float(log_above(Fraction(3)))
    1.0986122886681098
    """
    up = context(60, ROUND_CEILING)
    return Fraction(up.next_plus(up.ln(up.divide(Decimal(x.numerator), Decimal(x.denominator)))))


def below(real: Real, bits: BitSource, prefix: int = 0, known: int = 0) -> bool:
    """Decide U < p exactly, where the first `known` bits of U are `prefix`; further bits are drawn as needed.

    Pr[True] = p over a fresh U. Each round draws 64 bits, so a second round has probability below 2^-62.
    """
    while True:
        if known:
            lo, hi = real(known)
            if prefix < lo:
                return True
            if prefix >= hi:
                return False
        prefix, known = extend(bits, prefix, 64), known + 64
