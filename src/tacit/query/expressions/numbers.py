"""Functions of numbers: their meanings on values that are not NULL; `functions` handles NULL.

Real arithmetic is that of doubles: overflow gives ±inf, and `functions` turns a NaN into NULL. A result of None is
NULL. Addition, subtraction, multiplication, negation and absolute value are Python's own.
"""

from __future__ import annotations

import math
from fractions import Fraction


def divide(a: float, b: float) -> float | None:
    """Return a/b as a real number; NULL if b is 0."""
    return None if b == 0 else float(a) / float(b)


def modulo(a: float, b: float) -> float | None:
    """Return the remainder of a/b, with the sign of a; NULL if b is 0 or a is infinite.

    >>> modulo(-7, 3), modulo(7.5, 2.0), modulo(1, 0)
    (-1, 1.5, None)
    """
    if b == 0 or math.isinf(a):
        return None
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) % abs(b) * (-1 if a < 0 else 1)  # fmod would round to doubles
    return math.fmod(a, b)


def quotient(a: int, b: int) -> int | None:
    """Return a/b truncated toward zero; NULL if b is 0.

    >>> quotient(7, 2), quotient(-7, 2)
    (3, -3)
    """
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def sign(a: float) -> int:
    """Return -1, 0 or 1."""
    return (a > 0) - (a < 0)


def floor(a: float) -> float:
    """Return the largest whole number ≤ a, as a real."""
    return a if math.isinf(a) else float(math.floor(a))


def ceil(a: float) -> float:
    """Return the smallest whole number ≥ a, as a real."""
    return a if math.isinf(a) else float(math.ceil(a))


def round_half_up(a: float, digits: float = 0) -> float:
    """Return ⌊a·10^d + ½⌋/10^d, each step in doubles; for d < 0 it is ⌊a/10^-d + ½⌋·10^-d.

    A half is rounded up, neither to even nor away from zero, because engines differ in those.

    >>> round_half_up(2.5), round_half_up(-2.5), round_half_up(3.14159, 2), round_half_up(1250.0, -2)
    (3.0, -2.0, 3.14, 1300.0)
    """
    power = 10.0 ** abs(int(digits))
    return floor(a * power + 0.5) / power if digits >= 0 else floor(a / power + 0.5) * power


def sqrt(a: float) -> float | None:
    """Return √a; NULL if a < 0."""
    return None if a < 0 else math.sqrt(a)


def ln(a: float) -> float | None:
    """Return the natural logarithm of a; NULL if a ≤ 0."""
    return None if a <= 0 else math.log(a)


def exp(a: float) -> float:
    """Return e^a; +inf if it is too large for a double."""
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf


def power(a: float, b: float) -> float | None:
    """Return a^b; NULL unless it is a finite real number.

    >>> power(2.0, 10.0), power(-8.0, 0.5), power(0.0, -1.0), power(10.0, 400.0)
    (1024.0, None, None, None)
    """
    try:
        result = math.pow(a, b)
    except (OverflowError, ValueError):
        return None
    return result if math.isfinite(result) else None


def clamp(a: float, low: float, high: float) -> float:
    """Return a, but at least low and at most high; ±inf becomes an end."""
    return min(max(a, low), high)


def steps(a: float, exponent: int, low: int, high: int) -> int:
    """Return the index of a on a grid, clamp(⌊a/2^exponent + ½⌋, low, high) - low, exactly; ±inf gives an end.

    >>> steps(2.6, -1, 2, 8), steps(-math.inf, -1, 2, 8), steps(10**18 + 1, 0, 10**18, 10**18 + 5)
    (3, 0, 1)
    """
    if math.isinf(a):
        return high - low if a > 0 else 0
    return min(max(math.floor(Fraction(a) / Fraction(2) ** exponent + Fraction(1, 2)), low), high) - low
