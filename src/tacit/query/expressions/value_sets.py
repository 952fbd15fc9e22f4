"""Sets of values of one kind, with or without NULL: the values that an expression can have where a condition holds.

A set is a list of spans between cuts. A cut is a position just before or just after a value, so open and closed ends
are the same:

    x = 5         from before 5 to after 5
    x > 5         from after 5 to the end
    x <> 5        from the start to before 5, and from after 5 to the end

Values are compared as the functions of a row compare them (`functions`): numbers by size with ±inf as ordinary numbers
and one zero, text by code point, false before true. NaN is NULL. Whole numbers, truth values and days have a next
value, so the position after one is the position before the next: no whole number is between 5 and 6. Reals, texts and
timestamps have values between any two here. That can only make a set look larger than it is.

A set with too many spans becomes the one span around them, which is larger too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, TypeAlias

from tacit.query.expressions import Kind, Value

Cut: TypeAlias = tuple[int] | tuple[int, float | str | date, int]
"""A position: `START`, (0, value, -1) before a value, (0, value, 1) after it, or `END`. Cuts compare by position."""

Span: TypeAlias = tuple[Cut, Cut]

START: Final[Cut] = (-1,)
END: Final[Cut] = (1,)
MOST_SPANS: Final = 1_000
"""The largest number of spans of a set."""


def before(value: float | str | date) -> Cut:
    """Return the position just before a value."""
    return (0, int(value) if isinstance(value, bool) else value, -1)


def after(value: float | str | date, kind: Kind) -> Cut:
    """Return the position just after a value: that before the next one, where there is a next one.

    >>> after(5, "integer") == before(6), after(5.0, "real") == before(6.0)
    (True, False)
    """
    if kind in ("integer", "boolean") and isinstance(value, int):
        return (0, value + 1, -1)
    if kind == "date" and isinstance(value, date) and value < date.max:
        return (0, value + timedelta(days=1), -1)
    return (0, value, 1)


@dataclass(frozen=True, slots=True)
class ValueSet:
    """Some values of a kind: the spans between cuts, in order and apart, and whether NULL is one of them."""

    kind: Kind
    spans: tuple[Span, ...]
    null: bool = False

    @property
    def is_empty(self) -> bool:
        """True if nothing is in the set, not even NULL."""
        return not self.spans and not self.null

    def __and__(self, other: ValueSet) -> ValueSet:
        """Return what is in both sets.

        >>> (up_to(5, "integer") & from_on(5, "integer")) == points([5], "integer")
        True
        """
        found: list[Span] = []
        left, right = 0, 0
        while left < len(self.spans) and right < len(other.spans):
            (low, high), (first, last) = self.spans[left], other.spans[right]
            if max(low, first) < min(high, last):
                found.append((max(low, first), min(high, last)))
            left, right = (left + 1, right) if high <= last else (left, right + 1)
        return ValueSet(self.kind, tuple(found), self.null and other.null)

    def __or__(self, other: ValueSet) -> ValueSet:
        """Return what is in one of the sets, or in both."""
        return union([self, other])

    def __invert__(self) -> ValueSet:
        """Return all values that are not in the set; neither set has NULL.

        >>> ~from_on(True, "boolean") == points([False], "boolean")
        True
        """
        (first, last), ends = _whole(self.kind), [end for span in self.spans for end in span]
        ends = ends[1:] if ends[:1] == [first] else [first, *ends]
        ends = ends[:-1] if ends[-1:] == [last] else [*ends, last]
        return ValueSet(self.kind, tuple(zip(ends[::2], ends[1::2], strict=True)))

    def with_null(self) -> ValueSet:
        """Return the set and NULL."""
        return ValueSet(self.kind, self.spans, null=True)


def _whole(kind: Kind) -> Span:
    return (before(0), before(2)) if kind == "boolean" else (START, END)


def every(kind: Kind) -> ValueSet:
    """Return all values of a kind, without NULL."""
    return ValueSet(kind, (_whole(kind),))


def nothing(kind: Kind) -> ValueSet:
    """Return the empty set."""
    return ValueSet(kind, ())


def only_null(kind: Kind) -> ValueSet:
    """Return the set that has NULL alone."""
    return ValueSet(kind, (), null=True)


def between(low: Cut, high: Cut, kind: Kind) -> ValueSet:
    """Return the values between two positions."""
    return ValueSet(kind, ((low, high),)) & every(kind) if low < high else nothing(kind)


def up_to(value: float | str | date, kind: Kind) -> ValueSet:
    """Return the values ≤ a value."""
    return between(START, after(value, kind), kind)


def from_on(value: float | str | date, kind: Kind) -> ValueSet:
    """Return the values ≥ a value."""
    return between(before(value), END, kind)


def points(values: Iterable[Value], kind: Kind) -> ValueSet:
    """Return the set of some values; NULL among them is left out."""
    listed = [value for value in values if value is not None]
    return union([nothing(kind), *(between(before(value), after(value, kind), kind) for value in listed)])


def union(sets: Iterable[ValueSet]) -> ValueSet:
    """Return what is in one of several sets of one kind; at least one set must be given."""
    listed = list(sets)
    merged: list[Span] = []
    for low, high in sorted(span for each in listed for span in each.spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    if len(merged) > MOST_SPANS:
        merged = [(merged[0][0], merged[-1][1])]
    return ValueSet(listed[0].kind, tuple(merged), any(each.null for each in listed))


def with_prefix(prefix: str) -> ValueSet:
    """Return the texts that start with a prefix: those from the prefix to before the next text of its length.

    A text x ≥ p that does not start with p differs from p first at a position where x has the larger code point, so it
    is at or above the next text. Every text that starts with p is between the two. The last code point, U+10FFFF, has
    no next one: then the position before it moves on.

    >>> with_prefix("ab") == between(before("ab"), before("ac"), "text")
    True
    """
    stem = prefix.rstrip(chr(0x10FFFF))
    following = before(stem[:-1] + chr(ord(stem[-1]) + 1)) if stem else END
    return between(before(prefix), following, "text")
