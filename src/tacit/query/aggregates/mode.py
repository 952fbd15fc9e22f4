"""`mode(x)`: the most frequent of the public values of x, drawn privately (`choice_law`).

The values must be public, as the keys of a group: listed in the policy or in the query, or known from bounds. NULL is
not one of them. Rows with another value count for none. Values are compared raw, not clamped.

**The number of a row's value** is a tree of CASE expressions over the sorted values, so that a row is compared with
about log₂ m of m values, and every engine computes it with functions that it has.

The result is a category. It has no interval: `shortfall` states its error in rows instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar, Final

from tacit.errors import InternalError
from tacit.query.aggregates.grid import unit_bundle
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.choice_law import ChoiceLaw
from tacit.query.expressions import Call, Case, Constant, Expression, Kind, Value
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy

MOST_VALUES: Final = 1_000
"""The largest number of values among which a mode is chosen."""

_FINE, _MOST_BITS = 20, 62
_FEW = 4


def mode_ask(value: Expression, values: Sequence[Value]) -> Ask:
    """Return the mode of an expression among some values, which are constants of the aggregate."""
    return Ask(function="mode", values=(value, *(Constant(each, value.kind) for each in values)))


@dataclass(frozen=True, slots=True)
class Choice(ABC):
    """An aggregate that draws one of several public values; see `choice_law`."""

    @abstractmethod
    def values(self, ask: Ask) -> list[Value]:
        """Return the values among which one is drawn."""

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of the values."""
        return ask.values[0].kind

    def estimate(self, ask: Ask, released: Sequence[Released]) -> Value:
        """Return the drawn value."""
        return self.values(ask)[released[0].integers[0]]

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Raise InternalError: a category has no interval."""
        del ask, released, confidence
        raise InternalError("a category has no interval.")

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return by how much the total of the drawn value may miss the best one, with this confidence."""
        del ask, bundles, assume
        (law,) = noise
        if not isinstance(law, ChoiceLaw):
            raise InternalError("a category is drawn by a choice.")
        return law.shortfall(miss_rate(confidence))


class Mode(Choice):
    """The most frequent value; a unit's rows count as at most the limits allow."""

    error_name: ClassVar[str] = "rows_below_the_most_frequent_value"

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return the counts of rows by value; one of the values is drawn."""
        values = self.values(ask)
        return (counts_by_value(value_number(ask.values[0], values), values, table),)

    def values(self, ask: Ask) -> list[Value]:
        """Return the values among which one is drawn."""
        return [each.value for each in ask.values[1:] if isinstance(each, Constant)]

    def error_text(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel, extent: str
    ) -> str:
        """Return the error in words: by how many rows the drawn value may be short of the most frequent one."""
        rows = ceil(self.error(ask, bundles, noise, confidence, None))
        return f"at most {rows:,} rows fewer than the most frequent of {len(self.values(ask)):,} values{extent}"

    def note_text(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel, name: str
    ) -> str:
        """Return the same as the end of a sentence about a column."""
        rows = ceil(self.error(ask, bundles, noise, confidence, None))
        return (
            f"the shown {name} has at most {rows:,} rows fewer than the most frequent one. "
            "It is a category, so it has no interval."
        )


def counts_by_value(number: Expression, values: Sequence[Value], table: TablePolicy) -> Bundle:
    """Return the counts of rows by the number of their value; one value is drawn."""
    fine = 0 if table.unit is None else min(_FINE, max(0, _MOST_BITS - table.rows.bit_length()))
    measure = Measure(value=number, bins=max(2, len(values)), fraction_bits=fine)
    return replace(unit_bundle((measure,), 1 << fine, table, nonnegative=True), values=len(values))


def value_number(value: Expression, values: Sequence[Value]) -> Expression:
    """Return the index of a row's value among some values; NULL if it is not one of them.

    >>> from tacit.query.evaluate import evaluate
    >>> from tacit.query.expressions import Column
    >>> town = value_number(Column("town", "text"), ["c", "a", "b", "e", "d", "f"])
    >>> [evaluate(town, {"town": name}) for name in ("a", "c", "f", "z", None)]
    [1, 0, 5, None, None]
    """
    order = sorted(range(len(values)), key=lambda index: values[index])  # type: ignore[arg-type,return-value]  # one kind
    return _tree(value, [(Constant(values[index], value.kind), index) for index in order])


def _tree(value: Expression, options: Sequence[tuple[Constant, int]]) -> Expression:
    """Return the index of the option that equals a value, from options in increasing order."""
    if len(options) <= _FEW:
        tests = ((Call("equal", (value, each), "boolean"), Constant(index, "integer")) for each, index in options)
        return Case(tuple(tests), None, "integer")
    middle = len(options) // 2
    below = Call("less", (value, options[middle][0]), "boolean")
    return Case(((below, _tree(value, options[:middle])),), _tree(value, options[middle:]), "integer")
