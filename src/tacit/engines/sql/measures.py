"""Measures as SQL: the integer of a row and of a unit, with a proof that nothing overflows.

**Rows.** Let W = high - low. A row has the integer d = clamp(⌊value/step + ½⌋, low, high) - low, in [0, W]. For doubles
⌊y + ½⌋ is computed as ⌊(⌊2y⌋ + 1)/2⌋. There 2y = value·(2/step) is exact, because it is scaled by a power of two; if it
underflows, the result is 0 either way. y + ½ in doubles would not be exact. Values are first compared with doubles that
are not inside the ends. So a number that is cast to an integer is at most 2·max(|low|, |high|)·(1 + 2^-52) in absolute
value: it fits 32 bits if the ends are below 2^29, 64 bits if they are at most 2^60, and 128 bits otherwise.

**Units.** Let a unit have n rows in a cell. Its v adds up to V = sign·S + v₀·n with S = Σd ≤ n·W, where
v₀ = sign·low + offset is the v of low. Let M = max|v|, so that |v₀| ≤ M, and W ≤ 2M if sign ≠ 0. Let
F = M·max_rows·2^fraction_bits ≤ 2^62; `check` refuses larger ones. If absent values count too, p of the n rows have a
value, V = sign·S + v₀·p + absent·(n - p), and |absent| ≤ M, so that no intermediate result is larger. Then

* if n ≤ max_rows: V·2^fraction_bits, all intermediate results within 3F; in 64 bits if F ≤ 2^60, else in 128;
* if n·F ≤ 2^60: V·max_rows·2^fraction_bits // n in 64 bits, all intermediate results within 3·2^60;
* otherwise the same in 128 bits, all intermediate results within 3·n·F < 2^127 for n < 2^63, the range of COUNT.

**Units with a reach** have the weight min(1, max_rows/n, reach/N), where N ≥ n is the number of all their rows in the
cells that they keep. If max_rows > reach it never applies, since reach/N ≤ reach/n < max_rows/n, so reach is used in
its place. With max_rows ≤ reach let F = M·reach·2^fraction_bits ≤ 2^62.

* If n ≤ max_rows and N ≤ reach: V·2^fraction_bits, with all intermediate results within 3F, because n ≤ reach.
* Otherwise, if max_rows·N ≤ reach·n, V·max_rows·2^fraction_bits // n, else V·reach·2^fraction_bits // N: in 64 bits if
  N·F ≤ 2^60, else in 128. The intermediate results are within 3·n·F, and both sides of the comparison within N·F.

The first quotient is used only if n > 0: for n = 0 the comparison is false. The weights of a unit's n rows add up to at
most max_rows in a cell and to at most reach in all cells, so its integers are at most M·2^fraction_bits times that.

`//` truncates toward zero. S and the sum over units are exact in every dialect: at most 2^63 units of at most 2^62.
If low = high, d is 0 and the unit's integer is v₀·min(n, max_rows)·2^fraction_bits: the statement returns the sum of
min(n, max_rows), and Python does the rest. If every row is a unit, the statement likewise returns the sums of d and of
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, floor, inf, isfinite, nextafter
from sys import float_info

from sqlglot import exp

from tacit.engines.sql.builder import SQL, call, cast, infinity, infix, real, when, whole
from tacit.engines.sql.dialect import Dialect
from tacit.errors import InvalidError
from tacit.query.expressions import Call, Case, Column, Constant, Expression
from tacit.query.plan import Measure

_BIGINT, _HUGEINT = "BIGINT", "HUGEINT"
_MOST, _BEYOND = 2**62, 2**64
NEAR = 2**60
"""The largest number from which all intermediate results below fit 64 bits."""

FARTHEST = 2**120
"""The largest distance of a grid's end from 0, in steps."""

_HALF = Fraction(1, 2)
_LAST = float_info.max


@dataclass(frozen=True, slots=True)
class MeasureGrid:
    """A value, and the grid on which each row has the integer d."""

    value: Expression
    step: Fraction
    low: int
    high: int


def grid_of(measure: Measure) -> MeasureGrid | None:
    """Return the grid of a measure, or None if only the presence of a value counts."""
    if measure.value is None or measure.per == "unit" or measure.low == measure.high or not measure.sign:
        return None
    return unclamped(MeasureGrid(measure.value, measure.step, measure.low, measure.high))


def unclamped(grid: MeasureGrid) -> MeasureGrid:
    """Return the same grid for a column instead of the clamped column, if every row has the same d on both.

    Let g(v) = clamp(⌊v/step + ½⌋, low, high), which does not decrease in v. If a ≤ b are the ends of the inner clamp,
    then g(clamp(v, a, b)) = g(v) for every v, including ±inf, exactly if g(a) = low and g(b) = high. NULL and NaN have
    no d on either.

    >>> from tacit.query.expressions import Column
    >>> x, ends = Column("x", "real"), (Constant(0.0, "real"), Constant(10.0, "real"))
    >>> clamped = Call("clamp", (x, *ends), "real")
    >>> unclamped(MeasureGrid(clamped, Fraction(1), 0, 10)).value == x
    True
    >>> unclamped(MeasureGrid(clamped, Fraction(1), -5, 10)).value == clamped
    True
    """
    match grid.value:
        case Call(
            function="clamp",
            arguments=(Column() as inner, Constant(value=int() | float() as a), Constant(value=int() | float() as b)),
        ) if inner.kind == grid.value.kind and _step_of(a, grid) <= grid.low and _step_of(b, grid) >= grid.high:
            return replace(grid, value=inner)
        case _:
            return grid


def _step_of(end: float, grid: MeasureGrid) -> float:
    """Return ⌊end/step + ½⌋, exactly; ±inf and NaN stay as they are."""
    return floor(Fraction(end) / grid.step + _HALF) if isfinite(end) else end


def presence_of(measure: Measure) -> Expression | None:
    """Return the simplest expression that is NULL exactly where a row does not count, or None if all rows count.

    >>> from tacit.query.expressions import Column
    >>> x, one = Column("x", "real"), Constant(1, "integer")
    >>> there = Call("not", (Call("is_null", (x,), "boolean"),), "boolean")
    >>> presence_of(Measure(value=Case(((there, one),), None, "integer"))) == x
    True
    """
    value = measure.value
    while True:
        match value:
            case Case(
                branches=((Call(function="not", arguments=(Call(function="is_null", arguments=(inner,)),)), result),),
                otherwise=None,
            ) if isinstance(result, Constant) and result.value is not None:
                value = inner
            case _:
                return value


def check(measure: Measure, max_rows: int) -> None:
    """Raise InvalidError if the proof above does not cover a measure."""
    step = measure.step
    if step <= 0 or not (_is_power(step.numerator) and _is_power(step.denominator)):
        raise InvalidError(f"step must be a power of two, not {step}.", argument="step")
    if measure.low > measure.high or max(abs(measure.low), abs(measure.high)) > FARTHEST:
        raise InvalidError(
            "The range of steps is empty or too large.",
            argument="bounds",
            hint="Use increasing bounds within ±2^120 steps.",
        )
    if largest(measure) * max_rows << measure.fraction_bits > _MOST:
        smaller = "reach or max_rows" if measure.beyond is None else "measure_cut"
        raise InvalidError(
            "One unit could contribute more than 2^62 steps to this measure.",
            argument=smaller.split(maxsplit=1)[0],
            hint=f"Use narrower bounds, or a smaller {smaller}.",
        )


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def largest(measure: Measure) -> int:
    """Return max|v|, or 1 if units are counted."""
    return 1 if measure.per == "unit" else max(map(abs, measure.extremes))


def on_grid(value: SQL, grid: MeasureGrid, dialect: Dialect) -> SQL:
    """Return d of a named value; it is NULL if the value is NULL or NaN."""
    if grid.value.kind not in ("integer", "real", "boolean"):
        raise InvalidError(f"Cannot sum values of kind {grid.value.kind}, only numbers.", argument="measure")
    width = grid.high - grid.low
    target = "INTEGER" if width < 2**31 else _BIGINT if width < 2**63 else _HUGEINT
    if grid.value.kind == "real" and dialect.clamps_at_once and _ends_are_doubles(grid):
        first, last, inner, _ = _real_steps(clamped(value, grid), grid, dialect)
        return when((exp.Not(this=call("ISNAN", value)), cast(inner, target)))
    if grid.value.kind == "real":
        first, last, inner, over = _real_steps(value, grid, dialect)
    else:
        whole_value = dialect.casts["boolean", "integer"](value) if grid.value.kind == "boolean" else value
        value = cast(whole_value, _integer_type(grid))
        first, last, inner, over = _integer_steps(value, grid, dialect)
    inside = exp.Between(this=value.copy(), low=first, high=last)  # tested first, because most rows pass it
    below = (infix(exp.LT, value, first), whole(0, target))
    return when((inside, cast(inner, target)), below, (over, whole(width, target)))


_Steps = tuple[SQL, SQL, SQL, SQL]
"""The two ends, d of a value between them, and whether a value is above; no test is true for NULL."""


def _integer_steps(value: SQL, grid: MeasureGrid, dialect: Dialect) -> _Steps:
    """Return the steps of integers. The ends are the first and last integer inside the range, within 64 bits.

    If the step is larger than 2^64, every 64-bit integer is at step 0. If it is smaller than 2^-120, only 0 is between
    the ends.
    """
    target, up, down = _integer_type(grid), grid.step.denominator, grid.step.numerator
    first, last = ceil((grid.low - _HALF) * grid.step), ceil((grid.high + _HALF) * grid.step) - 1
    ends = whole(_within_reach(first), target), whole(_within_reach(last), target)
    steps = value
    if down > _BEYOND or up > FARTHEST:
        steps = whole(min(max(0, grid.low), grid.high), target)  # if 0 is not between the ends, no value is
    elif up > 1:
        steps = infix(exp.Mul, value, whole(up, target))
    elif down > 1:
        steps = dialect.shifted(infix(exp.Add, value, whole(down // 2, target)), down.bit_length() - 1, target)
    return *ends, _less(steps, grid.low, target), infix(exp.GT, value, ends[1])


def _within_reach(end: int) -> int:
    """Return an end, cut to a number just beyond the 64-bit integers."""
    return min(max(end, -_BEYOND), _BEYOND)


def _integer_type(grid: MeasureGrid) -> str:
    """Return the type that holds the ends, the integers between them, and their steps."""
    ends = (max(abs(grid.low), abs(grid.high)) + 1) * max(grid.step, Fraction(1))
    return _BIGINT if ends <= NEAR and grid.step.denominator <= NEAR else _HUGEINT


def _real_steps(value: SQL, grid: MeasureGrid, dialect: Dialect) -> _Steps:
    """Return the steps of doubles. The ends have the steps low and high; if no double is there, d is clamped."""
    largest = max(abs(grid.low), abs(grid.high))
    target = "INTEGER" if largest < 2**29 else _BIGINT if largest <= NEAR else _HUGEINT
    ends = real_ends(grid)
    d = _less(dialect.nearest(value, grid.step, target, positive=grid.low >= 0), grid.low, target)
    if ends[0] != grid.low * grid.step or ends[1] != grid.high * grid.step:
        d = call("LEAST", call("GREATEST", d, whole(0, target)), whole(grid.high - grid.low, target))
    return real(ends[0]), real(ends[1]), d, infix(exp.LTE, value, infinity())


def real_ends(grid: MeasureGrid) -> tuple[float, float]:
    """Return the doubles at the ends of the grid, or the nearest ones beyond them."""
    return _outward(grid.low * grid.step, -inf), _outward(grid.high * grid.step, inf)


def _ends_are_doubles(grid: MeasureGrid) -> bool:
    """Return whether no end is beyond the last double; otherwise ±inf is the only double at that end."""
    return max(abs(grid.low), abs(grid.high)) * grid.step <= _LAST


def clamped(value: SQL, grid: MeasureGrid) -> SQL:
    """Return a double clamped to the ends. NULL becomes an end, and so may NaN; the caller leaves both out."""
    low, high = map(real, real_ends(grid))
    return call("LEAST", call("GREATEST", value, low), high)


def _less(steps: SQL, low: int, target: str) -> SQL:
    return infix(exp.Sub, steps, whole(low, target)) if low else steps


def _outward(end: Fraction, side: float) -> float:
    """Return the nearest double that is not inside an end, or the last double, so that ±inf is beyond it."""
    if abs(end) > _LAST:
        return _LAST if end > 0 else -_LAST
    near = float(end)
    beyond = near >= end if side > 0 else near <= end
    return near if beyond else nextafter(near, side)


@dataclass(frozen=True, slots=True)
class Tally:
    """The columns of a unit's sums: its rows, its rows with a value, and the sum of their d.

    With a reach, `everywhere` is the number of its rows in all cells that it keeps, and `cells` is the number of these.
    """

    rows: SQL
    present: SQL
    steps: SQL | None
    everywhere: SQL | None = None
    cells: SQL | None = None


Share = tuple[SQL, int]
"""A sum over the (unit, cell) pairs of a cell, and its factor in a measure."""


def of_row(measure: Measure, tally: Tally, dialect: Dialect) -> list[Share]:
    """Return a measure from sums over a cell's rows, if every row is a unit."""
    if measure.per == "unit":
        return [(dialect.total(tally.rows), 1)]
    absent = measure.absent or 0
    shares = [(dialect.total(tally.present), (first_value(measure) - absent) << measure.fraction_bits)]
    if absent:
        shares.append((dialect.total(tally.rows), absent << measure.fraction_bits))
    if tally.steps is not None:
        shares.append((dialect.total(tally.steps), measure.sign << measure.fraction_bits))
    return shares


def of_unit(measure: Measure, tally: Tally, max_rows: int, dialect: Dialect, reach: int | None = None) -> list[Share]:
    """Return a measure from the sums of each unit in each cell."""
    if measure.per == "unit":
        return [_of_presence(measure, tally, dialect, reach)]
    if reach is not None and tally.everywhere is not None:
        most = largest(measure) * max_rows << measure.fraction_bits
        value = partial(sum_of_values, measure, tally)
        limits = UnitLimits(max_rows, reach, measure.fraction_bits, largest(measure))
        return [(dialect.bounded(scaled_down(value, tally.rows, tally.everywhere, limits, dialect), most), 1)]
    if tally.steps is None and measure.absent is None:
        rows = call("LEAST", tally.rows, whole(max_rows))
        return [(dialect.bounded(rows, max_rows), first_value(measure) << measure.fraction_bits)]
    most = largest(measure) * max_rows << measure.fraction_bits
    return [(dialect.bounded(_scaled(measure, tally, max_rows, dialect), most), 1)]


def _of_presence(measure: Measure, tally: Tally, dialect: Dialect, reach: int | None) -> Share:
    """Return the number of units, each with its weight: ⌊reach·2^fraction_bits/cells⌋ if it is in more cells."""
    is_present, one = infix(exp.GT, tally.rows, whole(0)), 1 << measure.fraction_bits
    if reach is None or tally.cells is None:
        return dialect.bounded(when((is_present, whole(1))), 1), one
    few = (infix(exp.LTE, tally.cells, whole(reach)), whole(one))
    weight = when(few, otherwise=dialect.quotient(whole(reach << measure.fraction_bits), tally.cells, _BIGINT))
    return dialect.bounded(when((is_present, weight)), one), 1


@dataclass(frozen=True, slots=True)
class UnitLimits:
    """The limits of a unit, max_rows ≤ reach; the bits by which its integers are finer; and max|v|."""

    max_rows: int
    reach: int
    fraction_bits: int
    largest: int


def scaled_down(value: Callable[[str], SQL], rows: SQL, everywhere: SQL, limits: UnitLimits, dialect: Dialect) -> SQL:
    """Return V·2^fraction_bits·min(1, max_rows/n, reach/N), truncated toward zero; see the module.

    Args:
        value: V as an integer of a type.
        rows: n, the rows of the unit that count in the cell.
        everywhere: N ≥ n, its rows in all cells that it keeps.
        limits: its limits.
        dialect: of the engine.
    """
    max_rows, reach, bits = limits.max_rows, limits.reach, limits.fraction_bits
    most = limits.largest * reach << bits

    def cut(target: str) -> SQL:
        n, total = cast(rows, target), cast(everywhere, target)
        by_rows = dialect.quotient(product_by(value(target), max_rows << bits, target), n, target)
        by_reach = dialect.quotient(product_by(value(target), reach << bits, target), total, target)
        if max_rows == reach:
            return by_reach
        tighter = infix(exp.LTE, product_by(total, max_rows, target), product_by(n, reach, target))
        return when((tighter, by_rows), otherwise=by_reach)

    target = _BIGINT if most <= NEAR else _HUGEINT
    is_light = infix(exp.LTE, everywhere, whole(reach))
    if max_rows < reach:
        is_light = infix(exp.And, is_light, infix(exp.LTE, rows, whole(max_rows)))
    branches = [(is_light, product_by(value(target), 1 << bits, target))]
    few = NEAR // max(most, 1)
    if few > max_rows:
        branches.append((infix(exp.LTE, everywhere, whole(few)), cut(_BIGINT)))
    return when(*branches, otherwise=cast(cut(_HUGEINT), target))


def first_value(measure: Measure) -> int:
    """Return v₀, the v of low."""
    return measure.sign * measure.low + measure.offset


def _scaled(measure: Measure, tally: Tally, max_rows: int, dialect: Dialect) -> SQL:
    """Return the unit's integer: V·2^fraction_bits, scaled down to max_rows rows if it has more."""
    rows, most = tally.rows, largest(measure) * max_rows << measure.fraction_bits
    target = _BIGINT if most <= NEAR else _HUGEINT
    plain = product_by(sum_of_values(measure, tally, target), 1 << measure.fraction_bits, target)
    branches = [(infix(exp.LTE, rows, whole(max_rows)), plain)]
    few = NEAR // max(most, 1)
    if few > max_rows:
        branches.append((infix(exp.LTE, rows, whole(few)), _capped(measure, tally, max_rows, _BIGINT, dialect)))
    return when(*branches, otherwise=cast(_capped(measure, tally, max_rows, _HUGEINT, dialect), target))


def sum_of_values(measure: Measure, tally: Tally, target: str) -> SQL:
    """Return V. If no row has a value, the sum of d and V are NULL, unless absent values count."""
    steps = tally.steps if tally.steps is None or measure.absent is None else call("COALESCE", tally.steps, whole(0))
    factors = [(steps, measure.sign), (tally.present, first_value(measure))]
    terms = [product_by(cast(sql, target), factor, target) for sql, factor in factors if sql is not None and factor]
    if measure.absent:
        terms.append(product_by(cast(infix(exp.Sub, tally.rows, tally.present), target), measure.absent, target))
    total = terms[0] if terms else whole(0, target)
    for term in terms[1:]:
        total = infix(exp.Add, total, term)
    return total


def product_by(value: SQL, factor: int, target: str) -> SQL:
    """Return a product with a constant, as an integer of a type."""
    return value if factor == 1 else infix(exp.Mul, value, whole(factor, target))


def _capped(measure: Measure, tally: Tally, max_rows: int, target: str, dialect: Dialect) -> SQL:
    scaled = product_by(sum_of_values(measure, tally, target), max_rows << measure.fraction_bits, target)
    return dialect.quotient(scaled, cast(tally.rows, target), target)
