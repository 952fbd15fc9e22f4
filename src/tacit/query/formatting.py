"""Guarantees, budgets and numbers as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from math import floor, isfinite, log10

from tacit.guarantees.filters import Budget
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP

_MOST_DECIMALS, _SIX_DIGITS, _LARGEST = 15, 1e6, 1e15


def spell(guarantee: Budget) -> str:
    """Return a guarantee or a budget in symbols.

    >>> spell(PureDP(epsilon=0.5)), spell(ApproxDP(epsilon=1, delta=1e-6))
    ('ε = 0.5', 'ε = 1, δ = 1e-06')
    """
    match guarantee:
        case PureDP(epsilon=epsilon):
            return f"ε = {float(epsilon):.12g}"
        case ApproxDP(epsilon=epsilon, delta=delta):
            return f"ε = {float(epsilon):.12g}, δ = {float(delta):.12g}"
        case ZCDP(rho=rho):
            return f"ρ = {float(rho):.12g}"
        case ApproxZCDP(rho=rho, delta=delta):
            return f"ρ = {float(rho):.12g}, δ = {float(delta):.12g}"
        case _:
            return str(guarantee)


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    >>> count_text(1, "row"), count_text(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def amounts(guarantee: Budget) -> dict[str, float]:
    """Return the numbers of a guarantee or a budget by name.

    >>> amounts(ApproxDP(epsilon=1, delta=1e-6))
    {'epsilon': 1.0, 'delta': 1e-06}
    >>> amounts(ZCDP(rho=0.5))
    {'rho': 0.5}
    """
    held = {field.name for field in fields(guarantee)}  # a ZCDP has a method epsilon, and no field of that name
    return {name: float(getattr(guarantee, name)) for name in ("epsilon", "rho", "delta") if name in held}


def percent(confidence: float) -> str:
    """Return a confidence as a percentage.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * confidence:.10g}%"


def plain(number: float) -> str:
    """Return a number to about six digits, without an exponent from 10^6 to 10^15.

    >>> plain(3123456.7), plain(1234.5), plain(0.30000000000000004), plain(1e20)
    ('3123457', '1234.5', '0.3', '1e+20')
    """
    return f"{number:.0f}" if _SIX_DIGITS <= abs(number) < _LARGEST else f"{number:.6g}"


def grouped(number: float) -> str:
    """Return a number for a sentence: to about six digits, with thousands separators.

    >>> grouped(3123456.7), grouped(2396.59), grouped(200_000), grouped(0.3), grouped(1e20)
    ('3,123,457', '2,396.59', '200,000', '0.3', '1e+20')
    """
    return f"{number:,.0f}" if _SIX_DIGITS <= abs(number) < _LARGEST else f"{number:,.6g}"


def exact(number: float) -> str:
    """Return a number with all its digits, and a whole one below 10^15 without a decimal point.

    >>> exact(448.0), exact(-3), exact(0.1), exact(1e20)
    ('448', '-3', '0.1', '1e+20')
    """
    return str(int(number)) if abs(number) < _LARGEST and number == int(number) else repr(number)


def decimals(intervals: Iterable[tuple[float, float]]) -> int | None:
    """Return how many decimals distinguish a value from the ends of the narrowest interval.

    >>> decimals([(112.0, 160.0)]), decimals([(41000.25, 41000.75), (0.0, 9000.0)]), decimals([(3.0, 3.0)])
    (0, 2, None)
    """
    widths = [high - low for low, high in intervals if isfinite(high - low) and high > low]
    if not widths:
        return None
    return min(max(0, 1 - floor(log10(min(widths) / 2))), _MOST_DECIMALS)


def rounded(number: float, digits: int | None, outward: int = 0) -> str:
    """Return a number with this many decimals, rounded down (-1), up (1) or to the nearest (0).

    >>> rounded(3.14159, 2), rounded(3.14159, 2, -1), rounded(3.14159, 2, 1), rounded(3, 2)
    ('3.14', '3.14', '3.15', '3')
    """
    if isinstance(number, int) or digits is None or not isfinite(number) or abs(number) >= _LARGEST:
        return str(number) if isinstance(number, int) else plain(number)
    how = {-1: ROUND_FLOOR, 0: ROUND_HALF_EVEN, 1: ROUND_CEILING}[outward]
    decimal = Decimal(repr(number)).quantize(Decimal(1).scaleb(-digits), rounding=how)
    return str(abs(decimal) if decimal == 0 else decimal)


def listed(names: Sequence[str]) -> str:
    """Return names joined for a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
