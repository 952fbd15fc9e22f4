"""The grids on which aggregates count values.

**Sums** (`value_grid`). Whole numbers with whole bounds are counted unchanged if there are at most 2^31 of them. Any
other value is rounded to a grid of about 2^24 steps. The step is a power of two, and the bounds move outward to the
grid by less than a step each. The sensitivity is that of the moved bounds. A unit's scaled sum is truncated on a grid
finer by 2^fraction_bits. So truncation removes far less from a million units than the contribution of one unit.

**Squares and products** (`value_steps`). A value x between a and b becomes d = clamp(⌊x/step + ½⌋, low, high) - low, a
whole number from 0 to W = high - low; that is the listed function `steps`. Any polynomial of such numbers is then an
ordinary row expression in integers. It is exact as long as its range fits ±2^62, and a measure with a step of 1 adds it
up exactly. No engine has to support squares.

Whole numbers with whole bounds are counted unchanged if there are at most 2^bits of them. Any other value is rounded to
a grid of up to 2^bits steps, as above. A square takes twice the bits, so there are fewer steps than for sums: bits =
(36 - log₂ rows)/2, from 15 to 18, where rows is the number of rows as which a unit may count in a cell. So the
contribution of a unit stays small and its noise fits 64 bits. Moving x by half a step of (b-a)/2^18 moves a variance by
at most (b-a)²/2^18.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from tacit.query.expressions import Call, Constant, Expression
from tacit.query.plan import Ask, Bounds, Bundle, Measure
from tacit.query.policy import TablePolicy

_SUM_BITS, _WHOLE, _FINE, _FINEST = 24, 31, 32, 20
_COUNT_BITS = 46
_MOST_SQUARE_BITS, _LEAST_SQUARE_BITS, _SQUARE_BITS = 18, 15, 36


@dataclass(frozen=True, slots=True)
class BoundedGrid:
    """A step, the bounds in steps, and by how many bits a unit's scaled sum is finer."""

    step: Fraction
    low: int
    high: int
    fraction_bits: int


def value_grid(value: Expression, bounds: Bounds, table: TablePolicy) -> BoundedGrid:
    """Choose the grid for sums of a value with known bounds.

    >>> from tacit.query.expressions import Column
    >>> row = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove")
    >>> value_grid(Column("age", "integer"), (Fraction(0), Fraction(120)), row)
    BoundedGrid(step=Fraction(1, 1), low=0, high=120, fraction_bits=0)
    >>> value_grid(Column("share", "real"), (Fraction(0), Fraction(1)), row)
    BoundedGrid(step=Fraction(1, 16777216), low=0, high=16777216, fraction_bits=0)
    """
    low, high = bounds
    whole_values = value.kind == "integer" and low.denominator == high.denominator == 1 and high - low < 2**_WHOLE
    step = Fraction(1) if whole_values else Fraction(2) ** _exponent(high - low, _SUM_BITS)
    first, last = floor(low / step), ceil(high / step)
    bits = max(first.bit_length(), last.bit_length(), 1)
    scaled = table.unit is not None
    return BoundedGrid(step, first, last, min(_FINEST, max(2, _FINE - bits)) if scaled else 0)


@dataclass(frozen=True, slots=True)
class ValueSteps:
    """A value as a whole number d from 0 to `width`; `size` is the distance of the moved bounds.

    `first` is the lower bound, in steps.
    """

    d: Expression
    first: int
    width: int
    step: Fraction

    @property
    def size(self) -> Fraction:
        """The width in the value's unit of measurement."""
        return self.width * self.step

    @property
    def rest(self) -> Expression:
        """The distance to the upper bound: width - d."""
        return _difference(whole(self.width), self.d)


def value_steps(value: Expression, bounds: Bounds, table: TablePolicy, most_bits: int | None = None) -> ValueSteps:
    """Choose the steps for squares and products of a value with known bounds: up to 2^most_bits of them, if given.

    >>> from tacit.query.expressions import Column
    >>> row = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove")
    >>> age = value_steps(Column("age", "integer"), (Fraction(18), Fraction(120)), row)
    >>> share = value_steps(Column("share", "real"), (Fraction(0), Fraction(1)), row)
    >>> (age.width, age.step), (share.width, share.step)
    ((102, Fraction(1, 1)), (262144, Fraction(1, 262144)))
    """
    low, high = bounds
    bits = max(_LEAST_SQUARE_BITS, min(_MOST_SQUARE_BITS, (_SQUARE_BITS - rows_of(table).bit_length() + 1) // 2))
    bits = bits if most_bits is None else most_bits
    whole_bounds = value.kind == "integer" and low.denominator == high.denominator == 1
    exponent = 0 if whole_bounds and high - low <= 2**bits else _exponent(high - low, bits)
    step = Fraction(2) ** exponent
    first, last = floor(low / step), ceil(high / step)
    d = Call("steps", (value, *map(whole, (exponent, first, last))), "integer")
    return ValueSteps(d, first, last - first, step)


def steps_of(ask: Ask, table: TablePolicy, most_bits: int | None = None) -> list[ValueSteps]:
    """Return the steps of each value of an aggregate; see `value_steps`."""
    pairs = zip(ask.values, ask.bounds, strict=True)
    return [value_steps(value, bounds, table, most_bits) for value, bounds in pairs]


def _read_steps(d: Expression) -> ValueSteps:
    """Return the steps that an expression was built with."""
    match d:
        case Call(
            function="steps",
            arguments=(_, Constant(value=int(exponent)), Constant(value=int(low)), Constant(value=int(high))),
        ):
            return ValueSteps(d, low, high - low, Fraction(2) ** exponent)
        case _:
            raise TypeError("not the steps of a value")


def factors(product: Expression | None) -> tuple[ValueSteps, ValueSteps]:
    """Return the steps of the two values in a measured product."""
    match product:
        case Call(function="multiply", arguments=(left, right)):
            return _read_steps(left), _read_steps(right)
        case _:
            raise TypeError("not a product of steps")


def rows_of(table: TablePolicy) -> int:
    """Return as how many rows a unit counts in a cell: 1 if each row is a unit, else the smaller of its limits."""
    return 1 if table.unit is None else table.rows


def reach_of(table: TablePolicy) -> int | None:
    """Return as how many rows a unit counts in all cells together; None if no reach bounds that."""
    return None if table.unit is None else table.reach


def unit_bundle(
    measures: tuple[Measure, ...],
    row: int,
    table: TablePolicy,
    *,
    nonnegative: bool,
    weight: Fraction = Fraction(1),
    block: int = 1,
) -> Bundle:
    """Return the bundle of measures to which a row of weight 1 adds at most `row`, in absolute values together.

    The rows of a unit in a cell have a total weight of at most `table.rows`, and in all cells together of at most
    `table.reach`. Truncation toward zero makes no integer larger. So `row` times these bounds the unit's integers.
    """
    reach = reach_of(table)
    return Bundle(
        measures=measures,
        contribution=max(1, rows_of(table) * row),
        nonnegative=nonnegative,
        weight=weight,
        block=block,
        total=None if reach is None else max(1, reach * row),
    )


def weight_bits(table: TablePolicy) -> int:
    """Return by how many bits a count of weighted rows is finer than a count of rows: 0 without a reach.

    A row of a unit with n > reach rows adds ⌊reach·2^bits/n⌋. With 20 bits that is exact to a thousandth of a row for
    up to a thousand times as many rows. A large reach has fewer bits, so that the noise fits 64 bits.
    """
    reach = reach_of(table)
    return 0 if reach is None else min(_FINEST, max(0, _COUNT_BITS - reach.bit_length()))


def fraction_bits(square: int) -> int:
    """Return by how many bits a unit's scaled sum of squares up to `square` is finer: a grid of about 2^32 steps.

    Then truncation removes far less than a row from a million units, and the noise is nearly continuous.
    """
    return max(0, _FINE - square.bit_length())


def _exponent(width: Fraction, bits: int) -> int:
    """Return the least exponent of a step such that at most 2^bits steps fit into a width; 0 for a width of 0."""
    if width <= 0:
        return 0
    exponent = width.numerator.bit_length() - width.denominator.bit_length() - bits
    return next(e for e in (exponent, exponent + 1) if width <= Fraction(2) ** (e + bits))


def whole(number: int) -> Expression:
    """Return a whole number as a constant."""
    return Constant(number, "integer")


def times(left: Expression, right: Expression) -> Expression:
    """Return the product of two whole numbers."""
    return Call("multiply", (left, right), "integer")


def whole_measure(value: Expression, most: int, bits: int) -> Measure:
    """Return the measure of whole numbers from 0 to `most`, on a grid of step 1."""
    return Measure(value=value, low=0, high=most, fraction_bits=bits)


def _difference(left: Expression, right: Expression) -> Expression:
    return Call("subtract", (left, right), "integer")
