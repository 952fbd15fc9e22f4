"""Whole numbers of which sums of squares and products are exact.

A value x between a and b becomes d = clamp(⌊x/step + ½⌋, low, high) - low, a whole number from 0 to W = high - low: the
listed function `steps`. Any polynomial of such numbers is then an ordinary row expression in integers, exact as long as
its range fits ±2^62, and a measure with a step of 1 adds it up exactly; no engine has to know of squares.

Whole numbers with whole bounds are counted as they are, if there are at most 2^bits of them. Anything else is put on a
grid of up to 2^bits steps, a power of two; the bounds move outward to it by less than a step each. A square takes twice
the bits, so there are fewer of them than in `grid`: (36 - log₂ max_rows)/2, from 15 to 18, so that what a unit reaches
stays small and its noise fits 64 bits. Moving x by half a step of (b-a)/2^18 moves a variance by at most (b-a)²/2^18.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from tacit.query.expressions import Call, Constant, Expression
from tacit.query.plan import Bounds, Measure
from tacit.query.policy import TablePolicy

_MOST, _LEAST, _ALL, _FINE = 18, 15, 36, 32


@dataclass(frozen=True, slots=True)
class Steps:
    """A value as a whole number d from 0 to `width`; `size` is how far apart the bounds are after they moved."""

    d: Expression
    width: int
    step: Fraction

    @property
    def size(self) -> Fraction:
        """What `width` steps are in the value's own measure."""
        return self.width * self.step

    @property
    def rest(self) -> Expression:
        """What is left to the upper bound: width - d."""
        return less(whole(self.width), self.d)


def steps(value: Expression, bounds: Bounds, table: TablePolicy) -> Steps:
    """Choose the steps of a value of known bounds.

    >>> from tacit.query.expressions import Column
    >>> row = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove")
    >>> age = steps(Column("age", "integer"), (Fraction(18), Fraction(120)), row)
    >>> share = steps(Column("share", "real"), (Fraction(0), Fraction(1)), row)
    >>> (age.width, age.step), (share.width, share.step)
    ((102, Fraction(1, 1)), (262144, Fraction(1, 262144)))
    """
    low, high = bounds
    bits = max(_LEAST, min(_MOST, (_ALL - rows_of(table).bit_length() + 1) // 2))
    whole_bounds = value.kind == "integer" and low.denominator == high.denominator == 1
    exponent = 0 if whole_bounds and high - low <= 2**bits else _exponent(high - low, bits)
    step = Fraction(2) ** exponent
    first, last = floor(low / step), ceil(high / step)
    return Steps(Call("steps", (value, *map(whole, (exponent, first, last))), "integer"), last - first, step)


def read(d: Expression) -> Steps:
    """Return the steps that an expression was made with."""
    match d:
        case Call(
            function="steps",
            arguments=(_, Constant(value=int(exponent)), Constant(value=int(low)), Constant(value=int(high))),
        ):
            return Steps(d, high - low, Fraction(2) ** exponent)
        case _:
            raise TypeError("not the steps of a value")


def factors(product: Expression | None) -> tuple[Steps, Steps]:
    """Return the steps of two values whose product is measured."""
    match product:
        case Call(function="multiply", arguments=(one, other)):
            return read(one), read(other)
        case _:
            raise TypeError("not a product of steps")


def rows_of(table: TablePolicy) -> int:
    """Return as how many rows a unit counts in a cell: one, where it is a row."""
    return 1 if table.unit is None else table.rows


def fraction_bits(square: int) -> int:
    """Return how much finer a unit's scaled sum is counted, of squares up to this: on a grid of 2^32 steps or so.

    Then truncation takes far less than a row from a million units, and noise is as good as continuous.
    """
    return max(0, _FINE - square.bit_length())


def _exponent(width: Fraction, bits: int) -> int:
    """Return the least exponent of a step of which at most 2^bits fit into a width; of a width of 0, any."""
    if width <= 0:
        return 0
    exponent = width.numerator.bit_length() - width.denominator.bit_length() - bits
    return next(e for e in (exponent, exponent + 1) if width <= Fraction(2) ** (e + bits))


def whole(number: int) -> Expression:
    """Return a whole number as a constant."""
    return Constant(number, "integer")


def less(one: Expression, other: Expression) -> Expression:
    """Return the difference of two whole numbers."""
    return Call("subtract", (one, other), "integer")


def times(one: Expression, other: Expression) -> Expression:
    """Return the product of two whole numbers."""
    return Call("multiply", (one, other), "integer")


def summed(value: Expression, most: int, bits: int) -> Measure:
    """Return the measure of whole numbers from 0 to `most`, as they are."""
    return Measure(value=value, low=0, high=most, fraction_bits=bits)
