"""Hierarchies drafted from a column, for a user to edit; saved as TOML.

A draft looks at the values: days become months, quarters, years, decades; numbers of more than twelve values become
intervals of widths 1, 2, 5 times powers of ten that nest; codes of one length become masks; what is left is kept or
hidden.
"""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.anonymity.files import a_path
from tacit.anonymity.hierarchies import Hierarchy, Rule, hierarchy
from tacit.anonymity.numerals import day, number
from tacit.anonymity.rules import Dates, Intervals, Mask, Ordered, Suppress, dates, mask, ordered, suppress
from tacit.anonymity.tables import Column, read
from tacit.errors import InvalidError, UnreadableFileError, show
from tacit.query.policy.toml_lines import string

_FEW, _CODE, _STEPS = 12, 3, (1, 5, 10, 50, 100, 500)
_FIELDS: dict[str, tuple[str, ...]] = {
    "dates": ("parts",),
    "intervals": ("widths", "start"),
    "mask": ("width", "character"),
    "ordered": ("order", "sizes"),
    "suppress": (),
    "table": ("rows", "file", "sep"),
}


def draft(table: object, columns: Sequence[str], *, sep: str | None = None) -> dict[str, Rule]:
    """Return a drafted hierarchy for each column, to be looked at and edited.

    >>> draft({"age": list(range(18, 90)), "zip": ["47677", "47602"] * 36, "sex": ["F", "M"] * 36}, ["zip", "sex"])
    {'zip': Mask(width=5, character='*'), 'sex': Suppress()}
    """
    rows = read(table, sep=sep)
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidError("columns", show(columns), "a list of columns")
    return {name: draft_column(rows.column(name)) for name in columns}


def draft_column(column: Column) -> Rule:
    """Return a drafted rule for the values of a column."""
    known = [value for value in column.texts if value is not None]
    if known and all(map(_is_day, known)):
        return Dates()
    if _are_codes(known):
        return Mask(len(known[0]))
    numbers = _numbers(column, known)
    if numbers and len(numbers) > _FEW:
        return _widths(numbers)
    return Suppress()


def _are_codes(known: list[str]) -> bool:
    """Return whether values are codes: of one length from three on, letters and digits, each with a digit."""
    alike = len(known) > 1 and len({len(value) for value in known}) == 1 and len(known[0]) >= _CODE
    return alike and all(value.isalnum() and any(map(str.isdigit, value)) for value in known)


def _is_day(value: str) -> bool:
    try:
        return len(value) >= len("2024-12-31") and day(value, "") is not None
    except InvalidError:
        return False


def _numbers(column: Column, known: list[str]) -> list[Fraction]:
    try:
        return [number(value, column.name) for value in known]
    except InvalidError:
        return []


def _widths(numbers: list[Fraction]) -> Intervals:
    """Return widths 5, 10, 50, 100 … times the power of ten that fits, while they are less than the reach."""
    reach = max(numbers) - min(numbers)
    unit = Fraction(1)
    while unit * 100 > reach * 2:
        unit /= 10
    while unit * 1000 < reach:
        unit *= 10
    widths = [unit * step for step in _STEPS if unit * step < reach and (step > 1 or unit != 1)]
    return Intervals(tuple(widths) or (reach or Fraction(1),))


def save(rules: Mapping[str, Rule], path: str | Path) -> None:
    """Write hierarchies to a TOML file, one table for each column.

    >>> import tempfile
    >>> from tacit.anonymity.rules import intervals
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save({"age": intervals([5, 10])}, f"{folder}/rules.toml")
    ...     load(f"{folder}/rules.toml")["age"] == intervals([5, 10])
    True
    """
    if not isinstance(rules, Mapping):
        raise InvalidError("rules", show(rules), "rules by column, such as `draft` gives")
    try:
        a_path(path).write_text(toml(rules), encoding="utf-8")
    except (OSError, UnicodeEncodeError):
        raise InvalidError("the path", repr(str(path)), "a file that can be written") from None


def toml(rules: Mapping[str, Rule]) -> str:
    """Return hierarchies as TOML, one table for each column."""
    return "\n".join(f"[{string(name)}]\n{_toml(one)}" for name, one in rules.items())


def _toml(one: Rule) -> str:
    match one:
        case Mask(width=width, character=character):
            lines = {"kind": "mask", "width": width, "character": character}
        case Intervals(widths=widths, start=start):
            lines = {"kind": "intervals", "widths": [str(width) for width in widths], "start": str(start)}
        case Ordered(order=order, sizes=sizes):
            lines = {"kind": "ordered", "order": list(order), "sizes": list(sizes)}
        case Dates(parts=parts):
            lines = {"kind": "dates", "parts": list(parts)}
        case Hierarchy(rows=rows):
            table = ",\n  ".join(_value([cell or "" for cell in row]) for row in rows if row[0] is not None)
            return f'kind = "table"\nrows = [\n  {table},\n]\n'
        case _:
            lines = {"kind": "suppress"}
    return "".join(f"{key} = {_value(value)}\n" for key, value in lines.items())


def _value(value: object) -> str:
    """Return a text, a number or a list of these as TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return string(value) if isinstance(value, str) else json.dumps(value)


def load(path: str | Path) -> dict[str, Rule]:
    """Read hierarchies from a TOML file; a table's `file`, with its `sep`, is looked for beside that file.

    Raises:
        InvalidError: there is no such file, or it is no such file.
    """
    file = a_path(path, "the hierarchies")
    try:
        held = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UnreadableFileError(path, "it is not a TOML file.", argument="the hierarchies") from None
    return {name: _rule(name, one, file.parent) for name, one in held.items()}


def _rule(name: str, held: Any, folder: Path) -> Rule:  # noqa: ANN401 - what a file holds
    """Return the rule that a table of the file describes, every field of it known."""
    kind = held.get("kind") if isinstance(held, Mapping) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise InvalidError(f"the hierarchy of {name}", show(kind), f"a table with a kind: {', '.join(_FIELDS)}")
    fields = f"a {kind} with the fields {', '.join(_FIELDS[kind])}" if _FIELDS[kind] else "a suppress without fields"
    unknown = next((field for field in held if field not in {"kind", *_FIELDS[kind]}), None)
    if unknown is not None:
        raise InvalidError(f"the hierarchy of {name}", f"the field {show(unknown)}", fields)
    try:
        return _made(kind, held, folder)
    except InvalidError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, OSError, csv.Error):
        raise InvalidError(f"the hierarchy of {name}", "a field that is missing or cannot be read", fields) from None


def _made(kind: str, held: Mapping[str, Any], folder: Path) -> Rule:
    match kind:
        case "mask":
            return mask(held["width"], held.get("character", "*"))
        case "intervals":
            return Intervals(tuple(map(_exact, held["widths"])), _exact(held.get("start", 0)))
        case "ordered":
            return ordered(_list(held["order"]), _list(held["sizes"]))
        case "dates":
            return dates(_list(held["parts"]))
        case "table":
            return _table(held, folder)
        case _:
            return suppress()


def _list(value: Any) -> list[Any]:  # noqa: ANN401 - what a file holds
    if not isinstance(value, list):
        raise TypeError
    return value


def _exact(value: object) -> Fraction:
    """Return a number of the file, or a text such as 1/2, exactly."""
    over, _, under = str(value).partition("/")
    try:
        return number(over, "") / number(under or "1", "")
    except (InvalidError, ZeroDivisionError):
        raise InvalidError("intervals' widths and start", show(value), "finite numbers") from None


def _table(held: Mapping[str, Any], folder: Path) -> Hierarchy:
    if "file" in held:
        return hierarchy(folder / held["file"], held.get("sep", ";"))
    return hierarchy([[cell or None for cell in row] for row in held["rows"]])
