"""Rules in TOML files: one table for each column, with comments if the rules are drafted."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.anonymity.cell_values import parse_number
from tacit.anonymity.hierarchies import Hierarchy, HierarchyRule, hierarchy, hierarchy_error
from tacit.anonymity.hierarchy_rules import Dates, Intervals, Mask, Ordered, dates, mask, ordered, suppress
from tacit.anonymity.table_files import exists, to_path
from tacit.errors import InvalidError, UnreadableFileError, bad_value, show
from tacit.query.policy.toml_lines import string
from tacit.safe_text import visible

_SAFE = 2**53
_FIELDS: dict[str, tuple[str, ...]] = {
    "dates": ("parts",),
    "intervals": ("widths", "start", "fitted"),
    "mask": ("width", "character"),
    "ordered": ("order", "sizes"),
    "suppress": (),
    "table": ("rows", "file", "sep"),
}


def save(rules: Mapping[str, HierarchyRule], path: str | Path) -> None:
    """Write rules to a TOML file, one table for each column. Drafted rules get comments.

    >>> import tempfile
    >>> from tacit.anonymity.hierarchy_rules import intervals
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save({"age": intervals([5, 10])}, f"{folder}/rules.toml")
    ...     load(f"{folder}/rules.toml")["age"] == intervals([5, 10])
    True

    Args:
        rules: the rules by the names of columns.
        path: the TOML file.
    """
    if not isinstance(rules, Mapping):
        raise bad_value("rules", rules, "rules by column, as `draft` returns them")
    file = to_path(path)
    try:
        file.write_text(to_toml(rules), encoding="utf-8")
    except (OSError, UnicodeEncodeError):
        raise InvalidError(f"Cannot write {str(path)!r}.", argument="the path") from None


def to_toml(rules: Mapping[str, HierarchyRule]) -> str:
    """Return rules as TOML, one table for each column, with the notes of drafted rules as comments."""
    notes: Mapping[str, tuple[str, ...]] = getattr(rules, "notes", {})
    return "\n".join(
        f"[{string(name)}]\n{_comments(notes.get(name, ()))}{_rule_toml(rule)}" for name, rule in rules.items()
    )


def _comments(notes: tuple[str, ...]) -> str:
    return "".join(f"# {visible(note)}\n" for note in notes)


def _rule_toml(rule: HierarchyRule) -> str:
    match rule:
        case Mask(width=width, character=character):
            lines = {"kind": "mask", "width": width, "character": character}
        case Intervals(widths=widths, start=start, fitted=fitted):
            lines = {"kind": "intervals", "widths": list(map(_number, widths)), "start": _number(start)}
            lines |= {"fitted": True} if fitted else {}
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


def _number(value: Fraction) -> int | str:
    """Return a whole number, or the text of a fraction, such as 1/2."""
    return value.numerator if value.denominator == 1 and abs(value) < _SAFE else str(value)


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

    Args:
        path: the TOML file.
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
            widths, start = tuple(map(_fraction, table["widths"])), _fraction(table.get("start", 0))
            return Intervals(widths, start, _truth(table.get("fitted", False)))
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


def _truth(value: Any) -> bool:  # noqa: ANN401 - any TOML value
    if not isinstance(value, bool):
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
