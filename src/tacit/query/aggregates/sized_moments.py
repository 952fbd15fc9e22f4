"""Counts, sums, averages, variances and covariances of a whole table whose number of rows is public.

**What is public.** Under "change one" neighbouring tables have the same number n of rows: one row gets other values.
So n needs no noise: it may be read before a charge, it may be published, and noise may depend on it. This holds if each
row is a unit, for the rows of one table without WHERE and without a join that drops or repeats rows
(`pricing.public_size`).

**Rows.** On the grid a row has the whole numbers d in [0, W] and e in [0, V], the steps between the lower bounds and
its values, for any values that its columns have: values are clipped, and a row whose value is NULL or NaN adds nothing
to any sum, exactly as if d or e were 0. So no sensitivity below depends on whether a column has missing values. The
meaning of SQL does: a value that SQL would skip must not be counted. So these aggregates are used only for values that
are always present (`expressions.presence`), where the two agree; NULL in a required column was replaced by a constant
before.

**Sum and average** (`form="total"`). The integer is S = Σd. If a row changes from d to d', S changes by d' - d, at most
W in absolute value. With Laplace noise of scale W/ε it is ε-DP. The sum is step·S + n·low, and the average is
low + step·S/n, whose noise has the scale (b - a)/(n·ε): the sensitivity of the average is (b - a)/n.

If a column names the unit, max_rows is 1 and there is no reach, a unit's rows count as one: its integer is its sum of d
over its number of rows with a value, times 2^fraction_bits and truncated, from 0 to W·2^fraction_bits (`plan`). Then n
is the number of units, S is in steps of 2^-fraction_bits, and the same holds for a unit in place of a row.

**Variance and covariance** (`form="spread"`). The integer is

    T = n·Σde - Σd·Σe,      n²·Cov = T in steps;  for a variance e = d.

Let S, U and Q be the sums of d, e and de over the n - 1 rows that do not change. Then

    T = n·(Q + de) - (S + d)(U + e) = c + (n-1)·(d - m)(e - k),    m = S/(n-1), k = U/(n-1),

where c does not depend on the changed row, m is in [0, W] and k is in [0, V]. (For n = 1, T is 0.) The product
(d - m)(e - k) is linear in d and in e, so over the box its extremes are at the corners: mk and (W-m)(V-k), both ≥ 0,
and -m(V-k) and -(W-m)k, both ≤ 0. Its range is at most the largest sum of one of the first two and the size of one of
the last two. These sums are mk + m(V-k) = mV, mk + (W-m)k = Wk, (W-m)(V-k) + m(V-k) = W(V-k) and (W-m)(V-k) + (W-m)k =
(W-m)V. All are at most W·V. So T changes by at most (n-1)·W·V, and the population variance by at most
(b-a)²·(n-1)/n². This is attained: all other rows at d = 0, and one row that changes from 0 to W.

**Rounding.** T is divided by a public power of two q and rounded, ⌊T/q + ½⌋, in exact integers. If T changes by at most
D, then T' ≤ T + q·⌈D/q⌉, so the rounded number changes by at most ⌈D/q⌉. That is the sensitivity used. It is at most
2^36, so that the noise fits 64 bits. The interval is wider by half of q on each side.

**The state of the data.** Each bundle measures the number of rows too, in the same statement as its sums. If that
number is not n, the noise is not made for these sums, and the average would be wrong. Then `combine` raises
SizeChangedError. By the definition of neighbours both have the same number of rows, so the error reveals only n.

Integers are exact in the engine (`engines.sql.measures`: d and e have at most 2^24 steps, so that de fits 2^48 and the
sum of 2^63 rows fits 2^111) and in Python. Intervals use the exact quantile of the noise, and ends are limited to what
is possible: averages to the bounds, a population variance to at most (b-a)²/4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, sqrt

from tacit.errors import InternalError, SizeChangedError
from tacit.query.aggregates.grid import factors, steps_of, times, value_grid, whole_measure
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Combination, Measure
from tacit.query.policy import TablePolicy

_MOST_STEPS = 24
_SENSITIVITY_BITS = 36
_ROWS, _UNITS = Measure(value=None), Measure(value=None, per="unit")


class SizedCount:
    """The public number of rows or units: exact, without noise."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return no bundle: nothing is measured."""
        del ask, table
        return ()

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a count, which is whole."""
        del ask
        return "integer"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> int:
        """Return the public number."""
        del released
        return _size(ask)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the number twice: it is exact."""
        del released, confidence
        return float(_size(ask)), float(_size(ask))

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return 0."""
        del ask, bundles, noise, confidence, assume
        return 0.0


@dataclass(frozen=True, slots=True)
class SizedMean:
    """The average of a value that all rows have, or its sum (`total`)."""

    total: bool

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return the number of rows and Σd, combined to Σd."""
        g = value_grid(ask.values[0], ask.bounds[0], table)
        plain = Measure(value=ask.values[0], step=g.step, low=g.low, high=g.high, offset=-g.low)
        measures = (_ROWS if table.unit is None else _UNITS, replace(plain, fraction_bits=g.fraction_bits))
        combined = Combination(form="total", size=_size(ask))
        width = max(1, (g.high - g.low) << g.fraction_bits)
        return (Bundle(measures=measures, contribution=width, nonnegative=True, combined=combined),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind: a sum of whole numbers is whole."""
        return "integer" if self.total and ask.values[0].kind == "integer" else "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float | int:
        """Return the estimate, limited to what the bounds allow."""
        value = self._value(ask, released[0].bundle, int(released[0].integers[0]))
        return floor(value + Fraction(1, 2)) if self.kind(ask) == "integer" else float(value)

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the estimate plus or minus the exact quantile of its noise, limited to what the bounds allow."""
        ends = released[0].noise.around(released[0].integers[0], miss_rate(confidence))
        low, high = (self._value(ask, released[0].bundle, end) for end in ends)
        return (float(floor(low)), float(ceil(high))) if self.kind(ask) == "integer" else (float(low), float(high))

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the exact quantile of the noise; no number of rows is assumed, because it is public."""
        del assume
        measure = bundles[0].measures[1]
        width = Fraction((measure.high - measure.low) * _size(ask))
        steps = min(Fraction(noise[0].quantile(miss_rate(confidence)), 1 << measure.fraction_bits), width)
        return float(steps * measure.step / (1 if self.total else _size(ask)))

    def _value(self, ask: Ask, bundle: Bundle, integer: int) -> Fraction:
        """Return the sum or the average for Σd, which is limited to 0 … n·W."""
        measure, size = bundle.measures[1], _size(ask)
        steps = Fraction(integer, 1 << measure.fraction_bits)
        inside = min(max(steps, Fraction(0)), Fraction((measure.high - measure.low) * size))
        total = (inside + size * measure.low) * measure.step
        return total if self.total else total / size


@dataclass(frozen=True, slots=True)
class SizedSpread:
    """The variance of a value that all rows have, or the covariance of two, of a `sample` or not; or its root."""

    sample: bool = False
    root: bool = False

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return the number of rows, Σd, Σe and Σde, combined to ⌊T/q + ½⌋."""
        first, *others = steps_of(ask, table, _MOST_STEPS)
        second = others[0] if others else first
        most = (_size(ask) - 1) * first.width * second.width
        step = 1 << max(0, most.bit_length() - _SENSITIVITY_BITS)
        measures = (
            _ROWS,
            whole_measure(first.d, first.width, 0),
            whole_measure(second.d, second.width, 0),
            whole_measure(times(first.d, second.d), first.width * second.width, 0),
        )
        combined = Combination(form="spread", size=_size(ask), step=step)
        return (Bundle(measures=measures, contribution=max(1, -(-most // step)), nonnegative=True, combined=combined),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a variance."""
        del ask
        return "real"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> float:
        """Return the estimate, limited to what the bounds allow."""
        return self._value(ask, released[0].bundle, Fraction(int(released[0].integers[0])))

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the estimate plus or minus the exact quantile of its noise and half a step of T's rounding."""
        low, high = released[0].noise.around(released[0].integers[0], miss_rate(confidence))
        half = Fraction(1, 2) if _combination(released[0].bundle).step > 1 else Fraction(0)
        bundle = released[0].bundle
        return self._value(ask, bundle, low - half), self._value(ask, bundle, high + half)

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the exact quantile of the noise; of a root, its largest error, which is where the variance is 0."""
        del assume
        rounding = Fraction(1, 2) if _combination(bundles[0]).step > 1 else Fraction(0)
        quantile = noise[0].quantile(miss_rate(confidence)) + rounding
        widest = self._most(ask, bundles[0]) - self._least(ask, bundles[0])
        worst = min(quantile * self._unit(ask, bundles[0]), widest)
        return sqrt(worst) if self.root else float(worst)

    def _unit(self, ask: Ask, bundle: Bundle) -> Fraction:
        """Return the (co)variance for one step of T."""
        first, second = factors(bundle.measures[3].value)
        size = _size(ask)
        return _combination(bundle).step * first.step * second.step / (size * (size - self.sample))

    def _most(self, ask: Ask, bundle: Bundle) -> Fraction:
        """Return the largest possible (co)variance: a quarter of the product of the widths, n/(n-1) times for a sample.

        By Popoviciu's and Grüss's inequalities.
        """
        first, second = factors(bundle.measures[3].value)
        size = _size(ask)
        return first.size * second.size * Fraction(size, 4 * (size - self.sample))

    def _least(self, ask: Ask, bundle: Bundle) -> Fraction:
        """Return the least possible variance, 0, or covariance."""
        return -self._most(ask, bundle) if len(ask.values) > 1 else Fraction(0)

    def _value(self, ask: Ask, bundle: Bundle, steps: Fraction) -> float:
        """Return the statistic for T/q, limited to what the bounds allow."""
        inside = max(steps * self._unit(ask, bundle), self._least(ask, bundle))
        inside = min(inside, self._most(ask, bundle))
        return sqrt(inside) if self.root else float(inside)


def combine(bundle: Bundle, integers: Sequence[int]) -> int:
    """Return the integer of a combined bundle that gets noise, from its measured integers.

    Raises:
        SizeChangedError: the table does not have the public number of rows.
    """
    combined, (rows, *sums) = _combination(bundle), integers
    if rows != combined.size:
        raise SizeChangedError
    if combined.form == "total":
        return sums[0]
    first, second, products = sums
    spread = combined.size * products - first * second
    return (2 * spread + combined.step) // (2 * combined.step)


def sized(ask: Ask, size: int) -> Ask:
    """Return an aggregate as one that uses the public size; its name begins with `sized_`."""
    return replace(ask, function=f"sized_{ask.function}", size=size)


def _size(ask: Ask) -> int:
    if ask.size is None:
        raise InternalError("the aggregate has no public size.")
    return ask.size


def _combination(bundle: Bundle) -> Combination:
    if bundle.combined is None:
        raise InternalError("the bundle is not combined.")
    return bundle.combined
