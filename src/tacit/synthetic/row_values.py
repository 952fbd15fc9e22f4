"""The values of synthetic rows: codes become keys, booleans, numbers inside public bins, and NULL.

A bin becomes a number that is drawn evenly from it: integers stay integers, and no number is beyond the bounds of the
column. Missing values are None. A value that is not listed is the text "(other)" in a column of texts, unless that text
is a key; in other columns it is None.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, nextafter

import numpy as np

from tacit.arrays import Floats, Ints, as_objects
from tacit.errors import InvalidError, bad_value, show, show_name, suggestion
from tacit.query.expressions import Kind, Value
from tacit.synthetic.domain import OTHER, Domain, DomainColumn

OTHER_TEXT = "(other)"
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The values of the codes of one column."""

    column: DomainColumn
    kind: Kind
    bounds: tuple[float, float]

    def draw(self, codes: Ints, generator: np.random.Generator) -> list[Value]:
        """Return one value for each code."""
        if self.column.edges is None:
            listed: list[Value] = as_objects(self.listed)[codes].tolist()
            return listed
        lows, highs = self._ends()
        known = codes < lows.size
        place = np.where(known, codes, 0)
        shares = generator.random(codes.size)
        if self.kind == "integer":
            steps = np.floor(shares * (highs[place] - lows[place] + 1))
            numbers: list[Value] = np.minimum(lows[place] + steps, highs[place]).astype(np.int64).tolist()
        else:
            inside = lows[place] + shares * (highs[place] - lows[place])
            numbers = np.clip(inside, lows[place], highs[place]).tolist()
        return numbers if bool(known.all()) else [x if seen else None for x, seen in zip(numbers, known, strict=True)]

    @property
    def listed(self) -> tuple[Value, ...]:
        """The value of each code of a column with listed values."""
        other = OTHER_TEXT if self.kind == "text" and OTHER_TEXT not in self.column.labels else None
        return tuple(other if label is OTHER else label for label in self.column.labels)  # type: ignore[misc]  # values

    def possible(self, most: int) -> Sequence[Value] | None:
        """Return all values that rows can have, or None if there are more than `most`."""
        if self.column.edges is None:
            values: list[Value] = list(dict.fromkeys(self.listed))
            return values if len(values) <= most else None
        lows, highs = self._ends()
        if self.kind != "integer" or float((highs - lows + 1).sum()) > most:
            return None
        numbers = [*range(int(lows[0]), int(highs[-1]) + 1)]
        return [*numbers, None] if None in self.column.labels else [*numbers]

    def code_of(self, value: object) -> int:
        """Return the code of a value that rows are to have, or raise InvalidError."""
        if value is None:
            if None in self.column.labels:
                return self.column.labels.index(None)
            raise self._unknown(value, "It has no missing values: the policy says that it is required.")
        if self.column.edges is not None:
            return self._bin_of(value)
        places = [place for place, label in enumerate(self.listed) if label is not None and _same(label, value)]
        if not places:
            known = [label for label in self.listed if label is not None]
            shown = [show_name(label) if isinstance(label, str) else str(label) for label in known]
            more = ", …" if len(shown) > _SHOWN else ""
            raise self._unknown(value, f"Its values are {', '.join(shown[:_SHOWN])}{more}.")
        return places[0]

    def number(self, value: object) -> int | float:
        """Return a given number of a column with bins; `code_of` has checked it."""
        return int(value) if self.kind == "integer" else float(value)  # type: ignore[call-overload, arg-type]

    def _bin_of(self, value: object) -> int:
        edges = self.column.edges or ()
        low, high = max(edges[0], self.bounds[0]), min(edges[-1], self.bounds[1])
        number = value if isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value) else None
        if number is None or (self.kind == "integer" and number != int(number)) or not low <= number <= high:
            kind = "a whole number" if self.kind == "integer" else "a number"
            raise self._unknown(value, f"Give {kind} from {low:g} to {high:g}.")
        return bisect_right(self.column.coded.cuts, number)

    def _unknown(self, value: object, hint: str) -> InvalidError:
        fact = f"{show(value)} is not a public value of the column {show_name(self.column.name)}."
        return InvalidError(fact, argument="given", hint=hint)

    def _ends(self) -> tuple[Floats, Floats]:
        """Return the least and the largest value of each bin, within the bounds."""
        edges, (least, most) = np.array(self.column.edges), self.bounds
        lows, highs = edges[:-1].copy(), edges[1:].copy()
        if self.kind == "integer":
            lows = np.ceil(lows)
            highs[:-1] = np.ceil(highs[:-1]) - 1
            highs[-1] = floor(highs[-1])
            least, most = (ceil(least) if isfinite(least) else least), (floor(most) if isfinite(most) else most)
        else:
            highs[:-1] = [nextafter(edge, -inf) for edge in highs[:-1]]
        lows, highs = lows.clip(least, most), highs.clip(least, most)
        return lows, np.maximum(lows, highs)  # a bin without an integer gives its upper edge


def values_of(domain: Domain) -> tuple[ColumnValues, ...]:
    """Return the values of the codes of each column of a domain."""
    found = []
    for column in domain.columns:
        policy = domain.table.columns[column.name]
        low, high = (-inf, inf) if policy.bounds is None else (float(policy.bounds[0]), float(policy.bounds[1]))
        found.append(ColumnValues(column, policy.kind, (low, high)))
    return tuple(found)


def given_codes(values: Sequence[ColumnValues], given: Mapping[str, object] | None) -> dict[int, int]:
    """Return the codes of the values that rows are to have, by the place of the column, or raise InvalidError."""
    if given is None:
        return {}
    names = [each.column.name for each in values]
    if not isinstance(given, Mapping):
        raise bad_value("given", given, 'a mapping from columns to values, such as {"sex": "F"}')
    for name in given:
        if name not in names:
            hint = suggestion(str(name), names) or f"The columns are {', '.join(map(show_name, names))}."
            fact = f"The synthetic rows have no column {show_name(str(name))}."
            raise InvalidError(fact, argument="given", hint=hint)
    return {names.index(name): values[names.index(name)].code_of(value) for name, value in given.items()}


def given_values(values: Sequence[ColumnValues], given: Mapping[str, object] | None) -> dict[int, Value]:
    """Return the values that rows are to have, by the place of the column; `given_codes` has checked them."""
    names = [each.column.name for each in values]
    return {names.index(name): value for name, value in (given or {}).items()}  # type: ignore[misc]  # public values


def _same(label: object, value: object) -> bool:
    """Return whether a value is a label; True is not 1."""
    return isinstance(label, bool) == isinstance(value, bool) and bool(label == value)
