"""Private bounds of a column, which `db.bounds` returns: post-processing of a noisy histogram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil, floor

from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates.statistic import Released
from tacit.query.aggregates.value_bins import EdgeValue, ValueBins, value_bins
from tacit.query.aggregates.value_bounds import Beyond, beyond, outermost, unit_weight
from tacit.query.expressions import Column
from tacit.query.formatting import amounts, exact, percent, spell
from tacit.query.policy import ColumnPolicy
from tacit.query.policy.toml_lines import quoted
from tacit.query.results.release import Release
from tacit.safe_text import as_html, visible

Part = EdgeValue | Beyond | None
"""A bound, or the number of values beyond one; None if no bounds were found."""


@dataclass(frozen=True, slots=True, repr=False)
class PrivateBounds:
    """Private bounds of a column: `low, high, *_ = db.bounds("cost", epsilon=0.1)`.

    The bounds are ends of fixed, public bins, never the smallest or the largest value of the data. `low` and `high` are
    None if no bin held enough values. Everything in it is computed from noisy integers and public parameters.

    Attributes:
        answer: the noisy counts of all bins.
        column: the name of the column.
    """

    answer: Release
    column: str

    @property
    def low(self) -> EdgeValue | None:
        """The lower bound."""
        return None if self._ends is None else self._bins.low(self._ends[0])

    @property
    def high(self) -> EdgeValue | None:
        """The upper bound."""
        return None if self._ends is None else self._bins.high(self._ends[1])

    @property
    def below(self) -> Beyond | None:
        """The estimated number of values below `low`, with its interval.

        It is in units: all values of a unit count as 1 together, so that a unit with 2 of 10 values there counts 0.2.
        If each row is a unit, it is in rows. The interval holds with the confidence of the query.
        """
        return None if self._ends is None else self._beyond(self._noisy.integers[: self._ends[0]])

    @property
    def above(self) -> Beyond | None:
        """The estimated number of values above `high`, as for `below`."""
        return None if self._ends is None else self._beyond(self._noisy.integers[self._ends[1] + 1 :])

    @property
    def confidence(self) -> float:
        """The probability with which each interval holds."""
        return self.answer.confidence

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """The cost of the bounds."""
        return self.answer.cost

    @property
    def receipt(self) -> dict[str, object]:
        """The guarantee and the noise as JSON, so that another person can recompute the guarantee."""
        return self.answer.receipt

    @property
    def repeated(self) -> bool:
        """True if the ledger had recorded the answer, so that it cost nothing this time."""
        return self.answer.repeated

    @property
    def suggest(self) -> str | None:
        """The line of a policy file with these bounds; None if none were found, or if they are of an expression.

        It is for a column that has no line in the policy yet; `policy_line` says what to change in one that has.
        """
        if self._setting is None or not isinstance(self._value, Column):
            return None
        return f"{quoted(self._value.name)} = {{ {self._setting} }}"

    @property
    def policy_line(self) -> str | None:
        """A sentence on which line of the policy to change; None if there is no `suggest`."""
        if self.suggest is None or not isinstance(self._value, Column):
            return None
        name, table = quoted(self._value.name), self.answer.plan.table
        place = f"the line of {name} under [tables.{quoted(table.name)}.columns] of the policy"
        old = _setting(table.columns[self._value.name])
        if old == self._setting:
            return "The policy has these bounds already."
        if old is not None:
            return f"To use these bounds in every query, change {old} to {self._setting} in {place}."
        return (
            f"To use these bounds in every query, add {self._setting} to {place}; if it has no such line, write "
            f"{self.suggest}"
        )

    @property
    def _setting(self) -> str | None:
        """The bounds as a policy file writes them."""
        if self.low is None or self.high is None:
            return None
        low, high = self.low, self.high
        if isinstance(low, int) and low == high:
            high = low + 1  # a policy needs two different numbers
        return f"bounds = [{_policy_text(low)}, {_policy_text(high)}]"

    def __iter__(self) -> Iterator[Part]:
        """Yield the lower and the upper bound, then the numbers of values below and above."""
        yield from (self.low, self.high, self.below, self.above)

    def to_dict(self) -> dict[str, object]:
        """Return the bounds as an object for JSON; dates and timestamps are texts."""
        return {
            "column": self.column,
            "low": _json(self.low),
            "high": _json(self.high),
            "below": _as_dict(self.below),
            "above": _as_dict(self.above),
            "counted": self._nouns,
            "confidence": self.confidence,
            "suggest": self.suggest,
            "policy": self.policy_line,
            "cost": amounts(self.cost),
            "receipt": self.receipt,
        }

    def __str__(self) -> str:
        """Return the bounds, the numbers of values beyond them, and the line of a policy."""
        return "\n".join(map(visible, self._lines()))

    def __repr__(self) -> str:
        """Return the bounds and the cost in one line."""
        return visible(f"<PrivateBounds: {self._headline()}; cost {spell(self.cost)}>")

    def _repr_html_(self) -> str:
        """Return the same as `print` shows, as HTML, for notebooks."""
        return "".join(f"<p>{as_html(line)}</p>" for line in self._lines())

    # --- parts ------------------------------------------------------------------------------------------------------

    @property
    def _noisy(self) -> Released:
        return self.answer.cells[0].released[0]

    @property
    def _value(self) -> object:
        return self.answer.plan.aggregates[0].ask.values[0]

    @property
    def _bins(self) -> ValueBins:
        return value_bins(self.answer.plan.aggregates[0].ask.values[0].kind)

    @property
    def _ends(self) -> tuple[int, int] | None:
        return outermost(self._noisy.integers, self._noisy.noise)

    @property
    def _nouns(self) -> str:
        return "rows" if self.answer.plan.table.unit is None else "units"

    def _beyond(self, outside: Sequence[int]) -> Beyond:
        noisy = self._noisy
        return beyond(outside, self._bins.count, noisy.noise, unit_weight(noisy.bundle), self.confidence)

    def _headline(self) -> str:
        if self._ends is None:
            return f"{self.column}: no bounds found"
        return f"{self.column}: {_text(self.low)} … {_text(self.high)}"

    def _lines(self) -> list[str]:
        lines, symbol = [self._headline()], "ρ" if isinstance(self.cost, ZCDP) else "ε"
        if self.low is None or self.high is None or self.below is None or self.above is None:
            reason = "Perhaps the rows are few, or the column is NULL or NaN in most of them."
            fact = f"No bin held enough values to show above the noise: {symbol} was too small to find bounds."
            return [*lines, f"{fact} {reason} A larger {symbol} finds smaller bins."]
        lines += [self._count_line("below", self.low, self.below), self._count_line("above", self.high, self.above)]
        if self._nouns == "units":
            lines.append(
                "All values of a unit weigh 1 together: one with 2 of its 10 values there counts as 0.2 units."
            )
        return [*lines, *self._remarks(), *self._advice()]

    def _count_line(self, side: str, bound: EdgeValue, found: Beyond) -> str:
        if self._is_last(side):
            return f"Values {side} {_text(bound)}: none, because the type has no such values."
        ends = f"{floor(found.low):,} to {ceil(found.high):,}"
        return (
            f"Values {side} {_text(bound)}: about {round(found.estimate):,} {self._nouns} "
            f"({percent(self.confidence)} interval {ends})."
        )

    def _is_last(self, side: str) -> bool:
        """Return whether a bound is the end of the type's range."""
        return self._ends is not None and self._ends[side == "above"] == (self._bins.count - 1) * (side == "above")

    def _remarks(self) -> list[str]:
        """Return what is unusual about the bounds."""
        if self._ends is None:
            return []
        first, last = self._ends
        remarks = ["All values that show are in one bin, so they may be equal."] if first == last else []
        if self._is_last("below") or self._is_last("above"):
            infinite = ", perhaps infinite ones" if self._bins.kind == "real" else ""
            remarks.append(f"A bound is the end of the type's range: the outermost bin holds values{infinite}.")
        return remarks

    def _advice(self) -> list[str]:
        if self.policy_line is None:
            return []
        return [
            self.policy_line,
            "Everybody who sees the policy then knows the bounds. Their privacy cost is the cost of this query.",
        ]


def _text(value: EdgeValue | None) -> str:
    """Return a bound as text.

    >>> _text(448.0), _text(-3), _text(1e20), _text(datetime(2026, 1, 31))
    ('448', '-3', '1e+20', '2026-01-31 00:00:00')
    """
    return exact(value) if isinstance(value, (int, float)) else str(value)


def _policy_text(value: EdgeValue) -> str:
    """Return a bound as a policy file writes it; a timestamp becomes its day.

    >>> _policy_text(datetime(2026, 1, 31, 23, 59)), _policy_text(1.5)
    ('2026-01-31', '1.5')
    """
    return _text(value.date() if isinstance(value, datetime) else value)


def _setting(column: ColumnPolicy) -> str | None:
    """Return the bounds that a policy has for a column, as its file writes them."""
    if column.moments is not None:
        return f"bounds = [{column.moments[0].isoformat()}, {column.moments[1].isoformat()}]"
    if column.days is not None:
        return f"bounds = [{column.days[0]}, {column.days[1]}]"
    if column.bounds is None:
        return None
    low, high = (exact(float(end)) if end.denominator > 1 else str(int(end)) for end in column.bounds)
    return f"bounds = [{low}, {high}]"


def _json(value: EdgeValue | None) -> object:
    return value if value is None or isinstance(value, (int, float)) else str(value)


def _as_dict(found: Beyond | None) -> dict[str, float] | None:
    return None if found is None else {"estimate": found.estimate, "low": found.low, "high": found.high}
