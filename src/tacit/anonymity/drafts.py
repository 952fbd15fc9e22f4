"""Rules drafted from the values of a column, for a user to edit, and rules in TOML files.

Days are drafted as months, quarters, years and decades. Columns of more than twelve different numbers become intervals
of widths 1, 5, 10, 50 … times a power of ten, which nest. Codes of one length become masks. Any other value is
published or suppressed.
"""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.anonymity.cell_values import parse_day, parse_number
from tacit.anonymity.hierarchies import Hierarchy, HierarchyRule, hierarchy, hierarchy_error
from tacit.anonymity.hierarchy_rules import Dates, Intervals, Mask, Ordered, Suppress, dates, mask, ordered, suppress
from tacit.anonymity.table_files import exists, to_path
from tacit.anonymity.tables import CodedColumn, read
from tacit.errors import InvalidError, UnreadableFileError, bad_value, show
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


def draft(table: object, columns: Sequence[str], *, sep: str | None = None) -> dict[str, HierarchyRule]:
    """Return a drafted rule for each column, for a user to check and edit.

    >>> draft({"age": list(range(18, 90)), "zip": ["47677", "47602"] * 36, "sex": ["F", "M"] * 36}, ["zip", "sex"])
    {'zip': Mask(width=5, character='*'), 'sex': Suppress()}
    """
    rows = read(table, sep=sep)
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise bad_value("columns", columns, "a list of columns")
    return {name: draft_column(rows.column(name)) for name in columns}


def draft_column(column: CodedColumn) -> HierarchyRule:
    """Return a drafted rule for the values of a column."""
    known = [value for value in column.texts if value is not None]
    if known and all(map(_is_day, known)):
        return Dates()
    if _are_codes(known):
        return Mask(len(known[0]))
    parsed = [parse_number(value) for value in known]
    numbers = [number for number in parsed if number is not None]
    if len(numbers) == len(known) > _FEW:
        return _draft_intervals(numbers)
    return Suppress()


def _are_codes(known: list[str]) -> bool:
    """Return whether values are codes: letters and digits of one length ≥ 3, each with a digit."""
    alike = len(known) > 1 and len({len(value) for value in known}) == 1 and len(known[0]) >= _CODE
    return alike and all(value.isalnum() and any(map(str.isdigit, value)) for value in known)


def _is_day(value: str) -> bool:
    return len(value) >= len("2024-12-31") and parse_day(value) is not None


def _draft_intervals(numbers: list[Fraction]) -> Intervals:
    """Return widths 5, 10, 50, 100 … times a suitable power of ten, while they are less than the whole range."""
    reach = max(numbers) - min(numbers)
    unit = Fraction(1)
    while unit * 100 > reach * 2:
        unit /= 10
    while unit * 1000 < reach:
        unit *= 10
    widths = [unit * step for step in _STEPS if unit * step < reach and (step > 1 or unit != 1)]
    return Intervals(tuple(widths) or (reach or Fraction(1),))


def save(rules: Mapping[str, HierarchyRule], path: str | Path) -> None:
    """Write rules to a TOML file, one table for each column.

    >>> import tempfile
    >>> from tacit.anonymity.hierarchy_rules import intervals
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save({"age": intervals([5, 10])}, f"{folder}/rules.toml")
    ...     load(f"{folder}/rules.toml")["age"] == intervals([5, 10])
    True
    """
    if not isinstance(rules, Mapping):
        raise bad_value("rules", rules, "rules by column, as `draft` returns them")
    file = to_path(path)
    try:
        file.write_text(to_toml(rules), encoding="utf-8")
    except (OSError, UnicodeEncodeError):
        raise InvalidError(f"Cannot write {str(path)!r}.", argument="the path") from None


def to_toml(rules: Mapping[str, HierarchyRule]) -> str:
    """Return rules as TOML, one table for each column."""
    return "\n".join(f"[{string(name)}]\n{_rule_toml(rule)}" for name, rule in rules.items())


def _rule_toml(rule: HierarchyRule) -> str:
    match rule:
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
    """Return a text, a number or a list of them as TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return string(value) if isinstance(value, str) else json.dumps(value)


def load(path: str | Path) -> dict[str, HierarchyRule]:
    """Read rules from a TOML file. The `file` of a table, with its `sep`, is relative to the folder of that file.

    Raises:
        UnreadableFileError: the file does not exist or is not TOML.
        InvalidError: a table does not describe a rule.
    """
    file = to_path(path, "the hierarchies")
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        problem = "it is not a TOML file." if exists(file) else "it does not exist."
        raise UnreadableFileError(path, problem, argument="the hierarchies") from None
    return {name: _load_rule(name, table, file.parent) for name, table in tables.items()}


def _load_rule(name: str, table: Any, folder: Path) -> HierarchyRule:  # noqa: ANN401 - any TOML value
    """Return the rule that a table of the file describes, after checking its fields."""
    kind = table.get("kind") if isinstance(table, Mapping) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise hierarchy_error(name, f"has the kind {show(kind)}.", f"Use one of the kinds {', '.join(_FIELDS)}.")
    hint = f"A {kind} has the fields {', '.join(_FIELDS[kind])}." if _FIELDS[kind] else "A suppress has no fields."
    unknown = next((field for field in table if field not in {"kind", *_FIELDS[kind]}), None)
    if unknown is not None:
        raise hierarchy_error(name, f"has the unknown field {show(unknown)}.", hint)
    try:
        return _build_rule(kind, table, folder)
    except InvalidError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, OSError, csv.Error):
        raise hierarchy_error(name, "lacks a field, or a field is not valid.", hint) from None


def _build_rule(kind: str, table: Mapping[str, Any], folder: Path) -> HierarchyRule:
    match kind:
        case "mask":
            return mask(table["width"], table.get("character", "*"))
        case "intervals":
            return Intervals(tuple(map(_fraction, table["widths"])), _fraction(table.get("start", 0)))
        case "ordered":
            return ordered(_list(table["order"]), _list(table["sizes"]))
        case "dates":
            return dates(_list(table["parts"]))
        case "table":
            return _explicit(table, folder)
        case _:
            return suppress()


def _list(value: Any) -> list[Any]:  # noqa: ANN401 - any TOML value
    if not isinstance(value, list):
        raise TypeError
    return value


def _fraction(value: object) -> Fraction:
    """Return a number of the file, or a text such as 1/2, exactly."""
    over, _, under = str(value).partition("/")
    numerator, denominator = parse_number(over), parse_number(under or "1")
    if numerator is None or not denominator:
        raise bad_value("intervals' widths and start", value, "finite numbers")
    return numerator / denominator


def _explicit(table: Mapping[str, Any], folder: Path) -> Hierarchy:
    if "file" in table:
        return hierarchy(folder / table["file"], table.get("sep", ";"))
    return hierarchy([[cell or None for cell in row] for row in table["rows"]])
