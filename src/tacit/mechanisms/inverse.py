"""The inverse of a mechanism's `error`: the confidence of a given error.

The result is rounded down, so it never states more than holds: the error at the returned confidence is within the
given one.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tacit.errors import bad_value
from tacit.guarantees.exact import to_fraction

_TURNS = 60
_NEARLY_ONE = 1 - 2.0**-53


def read_error(error: object) -> Fraction:
    """Return a number ≥ 0, or raise InvalidError."""
    requirement = "a finite number ≥ 0"
    number = to_fraction(error, "error", requirement)
    if number < 0:
        raise bad_value("error", error, requirement)
    return number


def confidence_near(guess: float, accurate: Callable[[float], bool]) -> float:
    """Return a confidence that is accurate: the guess, or a little less if it is not.

    Args:
        guess: the confidence in floats.
        accurate: whether the error at a confidence is within the given one. If it holds, it holds for all less.
    """
    confidence = min(guess, _NEARLY_ONE)
    less = confidence * 2.0**-53
    while confidence > 0:
        if accurate(confidence):
            return confidence
        confidence, less = confidence - less, 2 * less
    return 0.0


def confidence_search(accurate: Callable[[float], bool]) -> float:
    """Return nearly the largest confidence that is accurate, by halving; 0 if none is.

    >>> round(confidence_search(lambda confidence: confidence <= 0.75), 12)
    0.75
    """
    if accurate(_NEARLY_ONE):
        return _NEARLY_ONE
    low, high = 0.0, _NEARLY_ONE
    for _ in range(_TURNS):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if accurate(middle) else (low, middle)
    return low  # the accurate end
