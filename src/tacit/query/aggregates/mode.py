"""`mode(x)`: the most frequent of the public values of x, drawn privately (`choice_law`).

The values must be public, as the keys of a group: listed in the policy or in the query, or known from bounds. NULL is
not one of them. Rows with another value count for none. Values are compared raw, not clamped.

**The number of a row's value** is a tree of CASE expressions over the sorted values, so that a row is compared with
about log₂ m of m values, and every engine computes it with functions that it has.

The result is a category. It has no interval: `shortfall` states its error in rows instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Final

from tacit.errors import InternalError
from tacit.query.aggregates.grid import unit_bundle
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.choice_law import ChoiceLaw
from tacit.query.expressions import Call, Case, Constant, Expression, Kind, Value
from tacit.query.formatting import percent
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure, Noisy, Output, Plan
from tacit.query.policy import TablePolicy

MOST_VALUES: Final = 1_000
"""The largest number of values among which a mode is chosen."""

_FINE, _MOST_BITS = 20, 62
_FEW = 4


def mode_ask(value: Expression, values: Sequence[Value]) -> Ask:
    """Return the mode of an expression among some values, which are constants of the aggregate."""
    return Ask(function="mode", values=(value, *(Constant(each, value.kind) for each in values)))


class Mode:
    """The most frequent value; a unit's rows count as at most the limits allow."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return the counts of rows by value; one of the values is drawn."""
        fine = 0 if table.unit is None else min(_FINE, max(0, _MOST_BITS - table.rows.bit_length()))
        values = _values(ask)
        measure = Measure(value=value_number(ask.values[0], values), bins=max(2, len(values)), fraction_bits=fine)
        bundle = unit_bundle((measure,), 1 << fine, table, nonnegative=True)
        return (replace(bundle, values=len(values)),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of the values."""
        return ask.values[0].kind

    def estimate(self, ask: Ask, released: Sequence[Released]) -> Value:
        """Return the drawn value."""
        return _values(ask)[released[0].integers[0]]

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Raise InternalError: a category has no interval."""
        del ask, released, confidence
        raise InternalError("a mode has no interval.")

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return by how many rows the drawn value may be short of the most frequent one, with this confidence."""
        del ask, bundles, assume
        (law,) = noise
        if not isinstance(law, ChoiceLaw):
            raise InternalError("a mode is drawn by a choice.")
        return law.shortfall(miss_rate(confidence))


def _values(ask: Ask) -> list[Value]:
    return [each.value for each in ask.values[1:] if isinstance(each, Constant)]


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


def is_mode(plan: Plan, output: Output) -> bool:
    """Return whether an output is computed from a drawn category, which has no interval."""
    if isinstance(output, Noisy):
        return plan.aggregates[output.place].ask.function == "mode"
    return any(is_mode(plan, part) for part in getattr(output, "arguments", ()))


def mode_error(plan: Plan, noise: Sequence[NoiseLaw], index: int, confidence: ConfidenceLevel, extent: str) -> str:
    """Return the error of a drawn category in words.

    Args:
        plan: the plan.
        noise: the laws of its bundles.
        index: the index of the aggregate.
        confidence: the probability with which it holds, in one group.
        extent: the words for that probability.
    """
    values = len(_values(plan.aggregates[index].ask))
    rows = shortfall(plan, noise, index, confidence)
    return f"at most {rows:,} rows fewer than the most frequent of {values:,} values{extent}"


def mode_notes(plan: Plan, noise: Sequence[NoiseLaw], confidence: float, each: ConfidenceLevel) -> list[str]:
    """Return a note for each column that is a drawn category: its error in words, since it has no interval.

    `confidence` is that of the answer, and `each` that of one group.
    """
    places = [
        (name, output.place) for name, output in plan.outputs if isinstance(output, Noisy) and is_mode(plan, output)
    ]
    return [
        f"With {percent(confidence)} confidence, the shown {name} has at most {shortfall(plan, noise, place, each):,} "
        "rows fewer than the most frequent one. It is a category, so it has no interval."
        for name, place in places
    ]


def shortfall(plan: Plan, noise: Sequence[NoiseLaw], index: int, confidence: ConfidenceLevel) -> int:
    """Return by how many rows a drawn category may be short, rounded up to whole rows."""
    aggregate = plan.aggregates[index]
    return ceil(Mode().error(aggregate.ask, (), [noise[place] for place in aggregate.bundles], confidence, None))
