"""Decisions at a boundary, by integers: a class that meets a requirement exactly meets it."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from math import exp, gcd, log

from tacit.errors import InvalidError, show

_DIGITS = 60
_SMALL = 20_000


def fraction(value: object, argument: str, want: str) -> Fraction:
    """Return a parameter as the decimal that Python prints: 0.1 is 1/10.

    >>> fraction(0.1, "t", "a number")
    Fraction(1, 10)

    Raises:
        InvalidError: it is no finite number.
    """
    if isinstance(value, (int, float, Fraction, Decimal)) and not isinstance(value, bool):
        try:
            return Fraction(repr(value) if isinstance(value, float) else value)
        except (ValueError, OverflowError):
            pass
    raise InvalidError(argument, show(value), want)


def entropy_at_least(counts: Iterable[int], level: Fraction) -> bool:
    """Return whether the entropy of counts is at least ln(level), decided exactly.

    With m = Σcᵢ: H = ln m - Σcᵢ·ln(cᵢ)/m ≥ ln(a/b) if and only if bᵐ·mᵐ ≥ aᵐ·Πcᵢ^cᵢ. Counts may be divided by their
    greatest common divisor first, since H depends on shares alone. Floats decide where they are far from a tie; then
    60 digits; then the integers themselves.

    >>> entropy_at_least([5, 5, 5], Fraction(3)), entropy_at_least([4, 1, 1, 1, 1], Fraction(4))
    (True, True)
    >>> entropy_at_least([5, 5, 4], Fraction(3))
    False
    """
    held = [count for count in counts if count]
    if not held:
        return False
    shared = gcd(*held)
    held = [count // shared for count in held]
    total = sum(held)
    spare = total * log(total) - sum(c * log(c) for c in held) - total * log(level)
    if abs(spare) > 1e-9 * total * (1 + log(total)):
        return spare > 0
    if total > _SMALL:
        wide = Context(prec=_DIGITS)
        far = wide.subtract(_xlogx(total, wide), sum((_xlogx(c, wide) for c in held), Decimal(0)))
        far -= total * (Decimal(level.numerator).ln(wide) - Decimal(level.denominator).ln(wide))
        if abs(far) > Decimal(10) ** -(_DIGITS // 2):
            return far > 0
    product = level.numerator**total
    for count in held:
        product *= count**count
    return bool((level.denominator * total) ** total >= product)


def _xlogx(x: int, wide: Context) -> Decimal:
    return wide.multiply(Decimal(x), Decimal(x).ln(wide))


def entropy_level(counts: Iterable[int]) -> float:
    """Return e^H: the number of equally likely values that would be as uncertain; whole where it is whole exactly.

    >>> entropy_level([7, 7, 7]), round(entropy_level([2, 1]), 4)
    (3.0, 1.8899)
    """
    held = [count for count in counts if count]
    if not held:
        return 0.0
    total = sum(held)
    level = exp(log(total) - sum(c * log(c) for c in held) / total)
    near = Fraction(round(level))
    tied = abs(level - near) < 1e-9  # noqa: PLR2004 - far above the error of floats, far under any gap that matters
    return float(near) if tied and entropy_at_least(held, near) and not _more(held, near) else level


def _more(counts: list[int], level: Fraction) -> bool:
    """Return whether the entropy is strictly more than ln(level): at least, and not equal."""
    shared = gcd(*counts)
    held = [count // shared for count in counts]
    total = sum(held)
    if total > _SMALL:
        return False
    product = level.numerator**total
    for count in held:
        product *= count**count
    return bool((level.denominator * total) ** total > product)


def recursive_holds(counts: Iterable[int], c: Fraction, l: int) -> bool:  # noqa: E741 - the literature's letter
    """Return whether r₁ < c·(r_l + … + r_m), the counts r in falling order.

    >>> recursive_holds([2, 2, 1], Fraction(2), 2), recursive_holds([3, 1, 1], Fraction(3, 2), 2)
    (True, False)
    """
    falling = sorted((count for count in counts if count), reverse=True)
    return bool(falling) and falling[0] < c * sum(falling[l - 1 :])
