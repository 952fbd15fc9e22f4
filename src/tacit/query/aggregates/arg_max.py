"""`arg_max(k, count(*))`, `arg_max(k, sum(x))` and `arg_min`: the public value of k with the largest or least total.

In SQL `arg_max(k, x)` is the k of the one row with the largest x, which has no private form. Here the second argument
is a total over the rows of each k, and the k with the largest total is drawn privately (`choice_law`):

    arg_max(ward, count(*))     the ward with the most rows; the same as mode(ward)
    arg_max(ward, count(x))     the ward with the most rows that have x
    arg_min(ward, sum(cost))    the ward with the least total cost

The values of k are public, as for `mode`. A value without rows has the total 0 and can be drawn too. Rows with another
value, or with NULL, count for none.

**Sensitivity.** For a count the integers are those of `mode`: one vector of bins, to which a row of weight 1 adds at
most 1. For a sum there is one measure for each of the m values. It has the row's x on the grid if the row's k is that
value, else 0, and NULL if x is NULL; so the same rows count in all m measures. Let a unit have n rows with x in a cell.
Every measure scales by the same min(1, max_rows/n, …) (`plan`), and a row adds to one measure at most, at most
B = max(|a|, |b|) steps. So the sizes of a unit's integers in the m measures sum to at most B·max_rows in a cell, and to
at most B·reach in all cells; truncation makes none larger. With NULL in place of 0 this would be wrong: n would be the
rows of one value, and a unit could add B·max_rows to each of the m totals.

`choice_law` needs only that sum, for totals of any sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import ClassVar, Final

from tacit.query.aggregates.grid import unit_bundle, value_grid
from tacit.query.aggregates.mode import Choice, counts_by_value, value_number
from tacit.query.aggregates.statistic import ConfidenceLevel
from tacit.query.expressions import Call, Case, Constant, Expression, Value
from tacit.query.formatting import grouped
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bounds, Bundle, Measure
from tacit.query.policy import TablePolicy

MOST_TOTALS: Final = 100
"""The largest number of values whose sums are compared; each has a measure."""


def arg_ask(
    function: str, key: Expression, values: Sequence[Value], counted: Expression | None, bounds: Bounds | None = None
) -> Ask:
    """Return the value of a key with the largest or the least total, among some values.

    Args:
        function: "arg_max" or "arg_min".
        key: the expression whose value is drawn.
        values: the public values of the key.
        counted: the expression that is summed; without bounds, the expression whose values are counted, or all rows.
        bounds: the bounds of the expression that is summed.
    """
    constants = tuple(Constant(each, key.kind) for each in values)
    middle = () if counted is None else (counted,)
    return Ask(function=function, values=(key, *middle, *constants), bounds=() if bounds is None else (bounds,))


@dataclass(frozen=True, slots=True)
class ArgMax(Choice):
    """The value with the largest total; with `least`, the one with the smallest."""

    error_name: ClassVar[str] = "distance_from_the_best_total"
    least: bool = False

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return the totals by value; one of the values is drawn."""
        counted, values = _counted(ask), self.values(ask)
        if ask.bounds and counted is not None:
            bundle = _sums(ask.values[0], values, counted, ask.bounds[0], table)
        else:
            number = value_number(ask.values[0], values)
            bundle = counts_by_value(number if counted is None else _where_present(counted, number), values, table)
        return (replace(bundle, least=self.least),)

    def values(self, ask: Ask) -> list[Value]:
        """Return the values among which one is drawn."""
        start = 1 if _counted(ask) is None else 2
        return [each.value for each in ask.values[start:] if isinstance(each, Constant)]

    def error_text(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel, extent: str
    ) -> str:
        """Return the error in words: how far the total of the drawn value may be from the best one."""
        off, total, best = self._miss(ask, bundles, noise, confidence)
        return f"its {total} is at most {off} {best} of {len(self.values(ask)):,} values{extent}"

    def note_text(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel, name: str
    ) -> str:
        """Return the same as the end of a sentence about a column."""
        off, total, best = self._miss(ask, bundles, noise, confidence)
        return f"the {total} of the shown {name} is at most {off} {best} one. It is a category, so it has no interval."

    def _miss(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel
    ) -> tuple[str, str, str]:
        """Return the largest miss, and the words for the total and for what it misses."""
        off = self.error(ask, bundles, noise, confidence, None)
        text = grouped(off) if ask.bounds else f"{ceil(off):,}"
        return (
            text,
            "sum" if ask.bounds else "number of rows",
            f"{'above the least' if self.least else 'below the largest'}",
        )


def _counted(ask: Ask) -> Expression | None:
    """Return the expression that is counted or summed; None if all rows are counted."""
    second = ask.values[1] if len(ask.values) > 1 else None
    return second if ask.bounds or not isinstance(second, Constant) else None


def _where_present(counted: Expression, number: Expression) -> Expression:
    """Return the number of a row's key if the row has a value that counts, else NULL."""
    present = Call("not", (Call("is_null", (counted,), "boolean"),), "boolean")
    return Case(((present, number),), None, "integer")


def _sums(key: Expression, values: Sequence[Value], summed: Expression, bounds: Bounds, table: TablePolicy) -> Bundle:
    """Return the sums of an expression by the values of a key, bounded together; see the module."""
    grid = value_grid(summed, (min(bounds[0], Fraction(0)), max(bounds[1], Fraction(0))), table)
    zero = Constant(0 if summed.kind == "integer" else 0.0, summed.kind)
    missing = Call("is_null", (summed,), "boolean")
    measures = tuple(
        Measure(
            value=Case(
                (
                    (missing, Constant(None, summed.kind)),
                    (Call("equal", (key, Constant(each, key.kind)), "boolean"), summed),
                ),
                zero,
                summed.kind,
            ),
            step=grid.step,
            low=grid.low,
            high=grid.high,
            fraction_bits=grid.fraction_bits,
        )
        for each in values
    )
    row = max(abs(grid.low), abs(grid.high)) << grid.fraction_bits
    nonnegative = grid.low >= 0 or grid.high <= 0
    return replace(unit_bundle(measures, row, table, nonnegative=nonnegative), values=len(values))
