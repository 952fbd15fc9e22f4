"""All that is wrong with a policy file, found in one go: its TOML, the shape of it, and what its keys say together."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tacit.errors import show
from tacit.query.expressions import Kind
from tacit.query.policy import ROW
from tacit.query.policy.build import Declared, Fault, examine, is_name
from tacit.query.policy.locations import complaints
from tacit.query.policy.mistakes import Mistake, PolicyError, nearest
from tacit.query.policy.models import WANTED, PolicyModel, keys_of, place
from tacit.query.policy.toml_lines import Path, locate

Problem: TypeAlias = tuple[Path, str]
"""Where in the file, and what is wrong there."""

_NULL = {"null": True}  # TOML has no null
_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_TOO_LONG = re.compile(r"[0-9A-Fa-f_]{4000,}")
_TOO_DEEP = re.compile(r"(?:[\[{][^\[\]{}]*){100,}")
_FILE_KEYS = {"types": "type"}


def read(policy: str, content: bytes) -> tuple[dict[str, object], dict[Path, int]]:
    """Return the values of a TOML file and the line of each, or raise PolicyError at the line where it is no TOML."""
    try:
        text = content.decode("utf-8-sig")
        return tomllib.loads(text), locate(text)
    except UnicodeDecodeError as error:
        line, message = content[: error.start].count(b"\n") + 1, "is not UTF-8 here; save it as UTF-8"
    except tomllib.TOMLDecodeError as error:
        line, message = _syntax(str(error), text)
    except RecursionError:
        line, message = _line(_TOO_DEEP, text), "is nested too deeply; a policy needs few levels"
    except ValueError:  # Python's limit on the digits of an int
        line, message = _line(_TOO_LONG, text), "has a number of thousands of digits; write a smaller one"
    raise PolicyError(policy, [Mistake(line, "the file", message)])


def _syntax(error: str, text: str) -> tuple[int, str]:
    found = _AT_LINE.search(error)
    reason = _AT_LINE.sub("", error)
    if found is None or found[1] is None:
        return text.rstrip().count("\n") + 1, f"is not TOML: {reason} at its end"
    return int(found[1]), f"is not TOML: {reason} at column {found[2]}; are texts in quotes and brackets closed?"


def _line(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return 1 if found is None else text.count("\n", 0, found.start()) + 1


def problems(raw: Mapping[str, object], environment: Mapping[str, str]) -> tuple[PolicyModel | None, list[Problem]]:
    """Return the checked values, if they have the right shape, and everything that is wrong with them."""
    model: PolicyModel | None = None
    found: list[Problem] = []
    try:
        model = PolicyModel.model_validate(raw)
    except ValidationError as error:
        found = [_misshapen(one) for one in error.errors(include_url=False)]
    known = {path for path, _ in found}
    found += _budget_problems(raw.get("budget"), ("budget",))
    found += _analyst_problems(raw)
    found += _location_problems(("ledger",), raw.get("ledger"), environment)
    tables = raw.get("tables")
    found += _table_names(raw)
    for name, table in _public(raw).items():
        found += _location_problems(("public", name, "source"), table.get("source"), environment)
    if isinstance(tables, dict):
        for name, table in tables.items():
            if isinstance(table, dict):
                found += _location_problems(("tables", name, "source"), table.get("source"), environment)
                found += _declaration_problems(name, table, known)
    return model, found


def _misshapen(error: ErrorDetails) -> Problem:
    """Say what the model found in our own words, and what to write instead."""
    path: Path = error["loc"]
    want, example = WANTED.get(place(path), ("", ""))
    if error["type"] == "extra_forbidden":
        known = keys_of(place((*path[:-1], "")))
        return path, f"is not a key of a policy{nearest(path[-1], known)}"
    if error["type"] == "missing":
        return path, f"is required: write {want}, such as {example}"
    if error["input"] == "":
        return path, f"is not filled in yet: write {want}, such as {example}"
    return path, f"must be {want}, such as {example}, but got {show(error['input'])}"


def _budget_problems(budget: object, path: Path) -> Iterator[Problem]:
    if not isinstance(budget, dict):
        return
    if {"epsilon", "rho"} <= set(budget):
        yield path, "must have either epsilon or rho (and delta with either), but has both"
    elif set(budget) <= {"delta"}:  # with other keys, those are the mistake
        yield path, "must have either epsilon or rho (and delta with either), but has neither"


def _analyst_problems(raw: Mapping[str, object]) -> Iterator[Problem]:
    """Yield what is wrong with the budgets of analysts, which are in the currency of the budget of all."""
    budget, analysts = raw.get("budget"), raw.get("analysts")
    for name, own in analysts.items() if isinstance(analysts, dict) else ():
        path = ("analysts", name)
        yield from _budget_problems(own, path)
        if not is_name(name):
            yield path, "must have a name of printable characters"
        if isinstance(own, dict) and isinstance(budget, dict) and ("rho" in own) != ("rho" in budget):
            yield path, f"must be in {'rho' if 'rho' in budget else 'epsilon'}, as the budget of all is"


def _location_problems(path: Path, location: object, environment: Mapping[str, str]) -> Iterator[Problem]:
    if isinstance(location, str):
        yield from ((path, complaint) for complaint in complaints(location, environment))


def _public(raw: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    public = raw.get("public")
    return {name: one for name, one in public.items() if isinstance(one, dict)} if isinstance(public, dict) else {}


def _table_names(raw: Mapping[str, object]) -> Iterator[Problem]:
    """Yield what is wrong with the names of tables, private and public, which stand together in SQL."""
    seen: dict[str, str] = {}
    for section in ("tables", "public"):
        tables = raw.get(section)
        for name in tables if isinstance(tables, dict) else ():
            if not is_name(name):
                yield (section, name), "must have a name that can be printed"
            if name.lower() in seen:
                twin = seen[name.lower()]
                yield (section, name), f"must differ by more than case from the table {twin!r}; rename one"
            seen.setdefault(name.lower(), name)


def _unit_problems(name: str, table: Mapping[str, object]) -> Iterator[Problem]:
    each_row = table.get("each_row", False)
    if each_row is True and "unit" in table:
        yield ("tables", name, "each_row"), "must be left out where there is a unit; keep one of the two"
    if each_row is False and "unit" not in table:
        message = (
            'is required: write the column whose value says whose row it is, such as unit = "patient_id", '
            "or each_row = true where each row is one unit; there is no default, since it decides who is protected"
        )
        yield ("tables", name, "unit"), message


def _declaration_problems(name: str, table: Mapping[str, object], known: set[Path]) -> Iterator[Problem]:
    """Yield what can be told without a schema, as if all columns that are mentioned were there, as text.

    Where something is known to be wrong already, nothing more is said.
    """
    unit = list(_unit_problems(name, table))
    yield from unit
    known.update(path for path, _ in unit)
    declared = declare(table, "add/remove")
    columns = [*_columns(table), *([declared.unit] if isinstance(declared.unit, str) else [])]
    schema: dict[str, Kind] = dict.fromkeys(columns, "text") or {"": "text"}
    for fault in examine(schema, declared):
        path = file_path(name, fault)
        if not any(path[:end] in known for end in range(1, len(path) + 1)):
            yield path, fault.message


def declare(table: Mapping[str, object], neighbours: str) -> Declared:
    """Return what a table of the file declares, whether or not it is well formed."""
    columns = _columns(table)

    def said(key: str) -> dict[str, object]:
        return {name: one[key] for name, one in columns.items() if one.get(key) is not None}

    return Declared(
        unit=table.get("unit") if table.get("each_row", False) is False else ROW,
        max_groups=table.get("max_groups"),
        max_rows=table.get("max_rows"),
        bounds=said("bounds"),
        keys={name: _with_null(keys) for name, keys in said("keys").items()},
        hidden=tuple(name for name, one in columns.items() if one.get("hidden") is True),
        types=said("type"),
        named=tuple(columns),
        neighbours=neighbours,
    )


def _columns(table: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    columns = table.get("columns")
    return {name: one for name, one in columns.items() if isinstance(one, dict)} if isinstance(columns, dict) else {}


def _with_null(keys: object) -> object:
    return [None if key == _NULL else key for key in keys] if isinstance(keys, list) else keys


def file_path(table: str, fault: Fault, section: str = "tables") -> Path:
    """Return where in the file a fault of a table stands."""
    root: Path = () if fault.argument == "neighbours" else (section, table)
    if fault.column is not None:
        column = (*root, "columns", fault.column)
        return column if fault.entire else (*column, _FILE_KEYS.get(fault.argument, fault.argument))
    return root if fault.argument == "schema" else (*root, fault.argument)
