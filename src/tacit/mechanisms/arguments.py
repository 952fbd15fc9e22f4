"""Checks of arguments that several mechanisms share; each names the argument, what it got and what it wants."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isfinite, nextafter

from tacit.errors import InvalidError
from tacit.guarantees.exact import fraction_between, whole


def one_of(**given: object) -> str:
    """Return the name of the one argument that is given, or raise InvalidError.

    >>> one_of(epsilon=0.1, scale=None)
    'epsilon'
    """
    named = [name for name, value in given.items() if value is not None]
    if len(named) == 1:
        return named[0]
    got = " and ".join(named) + " together" if named else "none of them"
    raise InvalidError(" / ".join(given), got, "given exactly once: one of them, not two")


def count_of(value: object, argument: str) -> int:
    """Return a whole number ≥ 1."""
    number = whole(value)
    if number is None or number < 1:
        raise InvalidError(argument, repr(value), "a whole number ≥ 1")
    return number


def flag(value: object, argument: str) -> bool:
    """Return a bool that is a bool."""
    if isinstance(value, bool):
        return value
    raise InvalidError(argument, repr(value), "True or False")


def failure(confidence: object) -> Fraction:
    """Return β = 1 - confidence for a confidence strictly between 0 and 1."""
    return 1 - fraction_between(confidence, "confidence", 0, 1)


def least(accurate: Callable[[float], bool], guess: float) -> float:
    """Return the least float x > 0 for which `accurate` holds, if it holds from some x on.

    The answer always satisfies `accurate`; the float just below the search's end does not.
    """
    high = guess
    while not accurate(high):
        high *= 2
        if not isfinite(high):
            raise InvalidError("error", "a bound that no noise keeps", "a larger error")
    low = high
    while accurate(low):
        high, low = low, low / 2
    while nextafter(low, high) < high:
        middle = low + (high - low) / 2
        low, high = (low, middle) if accurate(middle) else (middle, high)
    return high  # the accurate end
