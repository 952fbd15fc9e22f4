"""The grid on which an aggregate's values are counted.

Whole numbers with whole bounds are counted as they are, if there are at most 2^31 of them. Anything else is
put on a grid of 2^24 steps or so: its step is a power of two, and the bounds move outward to it, by less than
a step each. The sensitivity is that of the moved bounds. A unit's scaled sum is truncated on a grid finer by
2^fraction_bits, so that what truncation takes from a million units is far less than one unit's reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from tacit.query.expressions import Expression
from tacit.query.policy import TablePolicy

_STEPS, _WHOLE, _FINE, _FINEST = 24, 31, 32, 20


@dataclass(frozen=True, slots=True)
class Grid:
    """A step, the bounds in steps, and how much finer a unit's scaled sum is."""

    step: Fraction
    low: int
    high: int
    fraction_bits: int


def grid(value: Expression, bounds: tuple[Fraction, Fraction], table: TablePolicy) -> Grid:
    """Choose the grid for a value of known bounds.

    >>> from tacit.query.expressions import Column
    >>> row = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove")
    >>> grid(Column("age", "integer"), (Fraction(0), Fraction(120)), row)
    Grid(step=Fraction(1, 1), low=0, high=120, fraction_bits=0)
    >>> grid(Column("share", "real"), (Fraction(0), Fraction(1)), row)
    Grid(step=Fraction(1, 16777216), low=0, high=16777216, fraction_bits=0)
    """
    low, high = bounds
    whole = value.kind == "integer" and low.denominator == high.denominator == 1 and high - low < 2**_WHOLE
    step = Fraction(1) if whole else _power(high - low)
    first, last = floor(low / step), ceil(high / step)
    bits = max(first.bit_length(), last.bit_length(), 1)
    capped = table.unit is not None
    return Grid(step, first, last, min(_FINEST, max(2, _FINE - bits)) if capped else 0)


def _power(width: Fraction) -> Fraction:
    """Return the least power of two of which at most 2^24 fit into a width; of a width of 0, any."""
    if width <= 0:
        return Fraction(1)
    exponent = width.numerator.bit_length() - width.denominator.bit_length() - _STEPS
    step = Fraction(2) ** exponent
    while width > step * 2**_STEPS:
        step *= 2
    while width <= step / 2 * 2**_STEPS:
        step /= 2
    return step
