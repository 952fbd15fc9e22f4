"""Rules that make a hierarchy over the values of a column: `mask`, `intervals`, `ordered`, `dates`, `suppress`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tacit.anonymity.cell_values import day, format_number, number, parse_number, to_text
from tacit.anonymity.hierarchies import TALLEST, Hierarchy, HierarchyRule, build_hierarchy, is_list
from tacit.anonymity.tables import Texts
from tacit.errors import InvalidError, bad_value


@dataclass(frozen=True, slots=True)
class Mask:
    """Hide the last characters, one more at each level."""

    width: int
    character: str = "*"

    def __post_init__(self) -> None:
        """Check the width and the character."""
        if type(self.width) is not int or not 1 <= self.width < TALLEST:
            raise bad_value("mask's width", self.width, f"a whole number ≥ 1 and below {TALLEST:,}")
        if type(self.character) is not str or len(self.character) != 1:
            raise bad_value("mask's character", self.character, "one character")

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return the hierarchy over these values; a value shorter than the width is padded at its end."""
        known = [value for value in values if value is not None]
        levels = [{value: self._masked(value, hidden) for value in known} for hidden in range(1, self.width)]
        return build_hierarchy(values, column, levels, "codes")

    def _masked(self, value: str, hidden: int) -> str:
        kept = max(0, max(self.width, len(value)) - hidden)
        return value[:kept] + self.character * (max(self.width, len(value)) - kept) if kept < len(value) else value


def mask(width: int, character: str = "*") -> HierarchyRule:
    """Hide characters from the right, one more at each level, up to the width.

    >>> mask(5).over(("47677", "47602")).rows[0]
    ('47677', '4767*', '476**', '47***', '4****', '*')

    Args:
        width: the number of characters that can be hidden.
        character: what replaces a hidden character.
    """
    return Mask(width, character)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Join numbers into intervals [a, a + width), where a - start is a multiple of the width.

    If they are fitted, "local" publishes the range [least, largest] of a class instead of an interval.
    """

    widths: tuple[Fraction, ...]
    start: Fraction = Fraction(0)
    fitted: bool = False

    def __post_init__(self) -> None:
        """Check that every width divides the next."""
        if not self.widths or any(width <= 0 for width in self.widths):
            raise bad_value("intervals' widths", self.widths, "numbers > 0")
        for low, high in pairwise(self.widths):
            if high <= low or (high / low).denominator != 1:
                raise InvalidError(
                    f"Intervals of width {format_number(low)} do not nest in intervals of width {format_number(high)}.",
                    argument="intervals' widths",
                    hint="Give rising widths, each a multiple of the width before it.",
                )

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return the hierarchy over these numbers."""
        known = {value: number(value, column) for value in values if value is not None}
        levels = [{v: self._label(x, width) for v, x in known.items()} for width in self.widths]
        return build_hierarchy(values, column, levels, "fitted" if self.fitted else "groups")

    def _label(self, x: Fraction, width: Fraction) -> str:
        low = self.start + (x - self.start) // width * width
        return f"[{format_number(low)}, {format_number(low + width)})"


def intervals(widths: Sequence[float], start: float = 0, *, fitted: bool = False) -> HierarchyRule:
    """Join numbers into intervals of these widths, one level each.

    If `fitted`, the method "local" publishes the range [least, largest] of a class instead of its interval.

    >>> intervals([5, 10, 20, 40]).over(("29", "43")).rows[0]
    ('29', '[25, 30)', '[20, 30)', '[20, 40)', '[0, 40)', '*')

    Args:
        widths: the width of each level, from narrow to wide.
        start: where an interval starts.
        fitted: whether a class publishes its range.
    """
    if not is_list(widths):
        raise bad_value("intervals' widths", widths, "a list of numbers > 0")
    if not isinstance(fitted, bool):
        raise bad_value("intervals' fitted", fitted, "True or False")
    return Intervals(
        tuple(_decimal(width, "intervals' widths") for width in widths), _decimal(start, "intervals' start"), fitted
    )


def _decimal(value: object, argument: str) -> Fraction:
    """Return a width or a start as the decimal that Python prints."""
    parsed = None if isinstance(value, bool) else parse_number(str(value))
    if parsed is None:
        raise bad_value(argument, value, "a finite number")
    return parsed


@dataclass(frozen=True, slots=True)
class Ordered:
    """Join neighbours in an order: groups of sizes[0] values at level 1, of sizes[1] at level 2."""

    order: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check that every size divides the next."""
        whole = all(type(size) is int for size in self.sizes)
        if not whole or any(low < 1 or high <= low or high % low for low, high in pairwise((1, *self.sizes))):
            raise bad_value(
                "ordered's sizes", self.sizes, "rising whole numbers ≥ 2, each a multiple of the one before"
            )

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return the hierarchy over all values of the order."""
        levels = [{value: self._label(at, size) for at, value in enumerate(self.order)} for size in self.sizes]
        return build_hierarchy(self.order, column, levels).over(values, column)

    def _label(self, at: int, size: int) -> str:
        low = at // size * size
        high = min(low + size, len(self.order)) - 1
        return self.order[low] if low == high else f"{self.order[low]} … {self.order[high]}"


def ordered(order: Sequence[object], sizes: Sequence[int]) -> HierarchyRule:
    """Join neighbours in an order: groups of sizes[0] at level 1, of sizes[1] at level 2.

    >>> ordered(["none", "school", "college", "doctorate"], [2]).over(("none",)).labels(1)
    ('none … school', 'college … doctorate')
    """
    if not isinstance(order, Iterable):
        raise bad_value("ordered's order", order, "a list of values, from the first to the last")
    if not is_list(sizes):
        raise bad_value("ordered's sizes", sizes, "a list of whole numbers ≥ 2")
    return Ordered(tuple(str(to_text(value)) for value in order), tuple(sizes))


@dataclass(frozen=True, slots=True)
class Dates:
    """Join days into months, quarters, years and decades."""

    parts: tuple[str, ...] = ("month", "quarter", "year", "decade")

    def __post_init__(self) -> None:
        """Check that the parts are known and in rising order."""
        known = list(_PARTS)
        indices = [known.index(part) for part in self.parts if part in known]
        if len(indices) < len(self.parts) or indices != sorted(set(indices)):
            raise bad_value("dates' parts", self.parts, f"some of {', '.join(known)}, from fine to coarse")

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return the hierarchy over these days, written as 2024-12-31."""
        known = {value: day(value, column) for value in values if value is not None}
        return build_hierarchy(
            values, column, [{v: _PARTS[part](day) for v, day in known.items()} for part in self.parts]
        )


_PARTS = {
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10:03}0s",
}


def dates(parts: Sequence[str] = ("month", "quarter", "year", "decade")) -> HierarchyRule:
    """Join days into months, quarters, years and decades.

    >>> dates(["month", "year"]).over(("2024-12-31",)).rows
    (('2024-12-31', '2024-12', '2024', '*'),)

    Args:
        parts: "month", "quarter", "year" and "decade", from fine to coarse.
    """
    if not is_list(parts) or not all(isinstance(part, str) for part in parts):
        raise bad_value("dates' parts", parts, f"a list of some of {', '.join(_PARTS)}, from fine to coarse")
    return Dates(tuple(parts))


@dataclass(frozen=True, slots=True)
class Suppress:
    """Keep the value or hide it: two levels."""

    def over(self, values: Texts, column: str = "a column") -> Hierarchy:
        """Return the hierarchy of two levels over these values."""
        return build_hierarchy(values, column, [])


def suppress() -> HierarchyRule:
    """Keep a value or hide it.

    >>> suppress().over(("F", "M")).rows
    (('F', '*'), ('M', '*'))
    """
    return Suppress()
