"""Exact numbers: floats that carry the rational numbers they mean.

A float parameter means the decimal that Python prints: 0.1 is 1/10, in noise, price and ledger alike. A derived number
such as 1/30 has no such decimal. It is stored as a rational and shown rounded *up*, which is the safe side for an ε, δ
or ρ.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, nextafter
from typing import Self, SupportsFloat, TypeAlias

import numpy as np

from tacit.errors import bad_value

Number: TypeAlias = SupportsFloat | Decimal | Fraction
"""The type of a numeric parameter: int, float, NumPy's numbers, Fraction or Decimal; never bool or text."""

_LARGEST, _SMALLEST = Fraction(sys.float_info.max), Fraction(1, 10**307)
_DIGITS = 400


def whole(value: object) -> int | None:
    """Return Python's or NumPy's integer as an int; None for anything else, including bools and durations."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64)):
        return int(value)
    return None


def to_fraction(value: object, argument: str, requirement: str = "a finite number") -> Fraction:
    """Return the rational that a parameter means, or raise InvalidError naming the argument.

    Numbers beyond the largest float are invalid, because they could not be shown as floats.

    >>> to_fraction(0.1, "epsilon")
    Fraction(1, 10)
    """
    fraction = _meaning(value)
    if fraction is None or abs(fraction) > _LARGEST:
        raise bad_value(argument, value, requirement)
    return fraction


def _meaning(value: object) -> Fraction | None:
    integer = whole(value)
    if integer is not None:
        return Fraction(integer)
    if isinstance(value, Exact):
        return value.fraction
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < _DIGITS:
        return Fraction(value)
    if isinstance(value, (float, np.floating)) and isfinite(value):
        return Fraction(repr(float(value)))
    return None


def positive(value: object, argument: str) -> Fraction:
    """Return the rational that a parameter means if it is > 0 (and not below the smallest ordinary float)."""
    requirement = "a finite number > 0"
    fraction = to_fraction(value, argument, requirement)
    if fraction < _SMALLEST:
        raise bad_value(argument, value, requirement if fraction <= 0 else f"{requirement}, at least 1e-307")
    return fraction


def fraction_between(value: object, argument: str, low: int, high: int) -> Fraction:
    """Return the rational that a parameter means if it is strictly between two integers."""
    requirement = f"a number strictly between {low} and {high}"
    fraction = to_fraction(value, argument, requirement)
    if not low < fraction < high:
        raise bad_value(argument, value, requirement)
    return fraction


def round_up(value: Fraction) -> float:
    """Return the least float whose printed decimal is ≥ a rational (infinity beyond the largest float).

    >>> round_up(Fraction(1, 10)), round_up(Fraction(1, 3))
    (0.1, 0.33333333333333337)
    """
    try:
        near = float(value)
    except OverflowError:
        return inf
    while isfinite(near) and Fraction(repr(near)) < value:
        near = nextafter(near, inf)
    return near


class Exact(float):
    """A float that carries a rational number; the float is the rational rounded up.

    >>> third = Exact(Fraction(1, 3))
    >>> third, third.fraction
    (0.33333333333333337, Fraction(1, 3))
    """

    __slots__ = ("fraction",)
    fraction: Fraction

    def __new__(cls, value: Number) -> Self:
        """Take any finite number. The caller checks its range."""
        fraction = to_fraction(value, "value")
        self = super().__new__(cls, round_up(fraction))
        self.fraction = fraction
        return self

    def __reduce__(self) -> tuple[type[Exact], tuple[Fraction]]:
        """Pickle and copy by the rational."""
        return Exact, (self.fraction,)

    def __repr__(self) -> str:
        """Print as a float does."""
        return float.__repr__(self)

    __str__ = __repr__
