"""Checks of arguments that several mechanisms share; each names the argument, what it got and what it wants."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import nextafter

from tacit.errors import InvalidError, TooMuchNoiseError, show
from tacit.guarantees.exact import fraction_between, positive, whole

_SMALLEST, _LARGEST = 1e-300, 1e300
_MANY = 2**62
_ORDINARY = 2**400


def one_of(**given: object) -> str:
    """Return the name of the one argument that is given, or raise InvalidError.

    >>> one_of(epsilon=0.1, scale=None)
    'epsilon'
    """
    named = [name for name, value in given.items() if value is not None]
    if len(named) == 1:
        return named[0]
    got = " and ".join(named) if named else "neither" if len(given) == 2 else "none of them"  # noqa: PLR2004 - "neither" is of two
    raise InvalidError(" or ".join(given), got, "given, and exactly one of them")


def count_of(value: object, argument: str) -> int:
    """Return a whole number from 1 to 2^62."""
    number = whole(value)
    if number is None or not 1 <= number <= _MANY:
        raise InvalidError(argument, show(value), "a whole number from 1 to 2^62")
    return number


def flag(value: object, argument: str) -> bool:
    """Return a bool that is a bool."""
    if isinstance(value, bool):
        return value
    raise InvalidError(argument, show(value), "True or False")


def failure(confidence: object) -> Fraction:
    """Return β = 1 - confidence for a confidence strictly between 0 and 1."""
    beta = 1 - fraction_between(confidence, "confidence", 0, 1)
    if beta < Fraction(1, 2**900):
        raise InvalidError("confidence", show(confidence), "at most 1 - 1e-270")
    return beta


def ordinary(value: object, argument: str) -> Fraction:
    """Return a number > 0 whose square and quotients are ordinary floats, too."""
    number = positive(value, argument)
    if not Fraction(1, _ORDINARY) < number < _ORDINARY:
        raise InvalidError(argument, show(value), "a number between 1e-120 and 1e120")
    return number


def probability(value: object, argument: str) -> Fraction:
    """Return a number strictly between 0 and 1 that is so as a float, too."""
    share = fraction_between(value, argument, 0, 1)
    if not Fraction(1, _ORDINARY) < share < 1 - Fraction(1, 2**40):
        raise InvalidError(argument, show(value), "between 1e-120 and 1 - 1e-12")
    return share


def ratio(a: Fraction, b: Fraction) -> float:
    """Return a/b as a float to start a search from, kept away from the floats' ends."""
    return float(min(max(a / b, Fraction(1, 10**290)), Fraction(10**290)))


def least(accurate: Callable[[float], bool], guess: float) -> float:
    """Return the least float x > 0 for which `accurate` holds, if it holds from some x on.

    The answer always satisfies `accurate`; the float just below the search's end does not, or its noise would not fit
    64 bits.
    """

    def holds(x: float) -> bool:
        try:
            return accurate(x)
        except TooMuchNoiseError:
            return False

    high = min(max(guess, 1e-290), 1e290)
    while not holds(high):
        high *= 2
        if high > _LARGEST:
            raise InvalidError("error", "a bound that no noise keeps", "a larger error")
    low = high
    while holds(low):
        high, low = low, low / 2
        if low < _SMALLEST:
            return high
    while nextafter(low, high) < high:
        middle = low + (high - low) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high  # the accurate end
