"""All mistakes in a policy file, found at once: in its TOML, in its shape, and in what its keys declare together."""

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
from tacit.query.policy.arguments import is_name
from tacit.query.policy.build import table_mistakes, timezone_mistakes
from tacit.query.policy.declaration import Origin, TableDeclaration
from tacit.query.policy.file_schema import KEYS, PolicyModel, general_key, keys_below
from tacit.query.policy.locations import location_mistakes
from tacit.query.policy.mistakes import Mistake, PolicyError, TableMistake, nearest
from tacit.query.policy.toml_lines import KeyPath, locate
from tacit.query.policy.tuple_keys import tuple_keys

FileMistake: TypeAlias = tuple[KeyPath, str]
"""A mistake before its line is known: its keys in the file, and a sentence without subject."""

_NULL = {"null": True}  # TOML has no null
_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_TOO_LONG = re.compile(r"[0-9A-Fa-f_]{4000,}")
_TOO_DEEP = re.compile(r"(?:[\[{][^\[\]{}]*){100,}")
_FILE_KEYS = {"types": "type"}


def read_toml(policy: str, content: bytes) -> tuple[dict[str, object], dict[KeyPath, int]]:
    """Return the values of a TOML file and the line of each, or raise PolicyError with the line of a syntax error."""
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
    match = _AT_LINE.search(error)
    reason = _AT_LINE.sub("", error)
    if match is None or match[1] is None:
        return text.rstrip().count("\n") + 1, f"is not TOML: {reason} at its end"
    return int(match[1]), f"is not TOML: {reason} at column {match[2]}; are texts in quotes and brackets closed?"


def _line(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return 1 if match is None else text.count("\n", 0, match.start()) + 1


def file_mistakes(
    raw: Mapping[str, object], environment: Mapping[str, str], origin: Origin
) -> tuple[PolicyModel | None, list[FileMistake]]:
    """Return the values of a file in its model, if they fit it, and every mistake that needs no schema."""
    model: PolicyModel | None = None
    mistakes: list[FileMistake] = []
    try:
        model = PolicyModel.model_validate(raw)
    except ValidationError as error:
        mistakes = [_shape_mistake(details) for details in error.errors(include_url=False)]
    known = {path for path, _ in mistakes}
    mistakes += _budget_mistakes(raw.get("budget"), ("budget",))
    mistakes += _analyst_mistakes(raw)
    mistakes += _timezone_mistakes(raw.get("timezone"))
    mistakes += _location_mistakes(("ledger",), raw.get("ledger"), environment)
    engine = raw.get("engine")
    directory = engine.get("temporary") if isinstance(engine, dict) else None
    mistakes += _location_mistakes(("engine", "temporary"), directory, environment)
    mistakes += _table_name_mistakes(raw)
    for name, table in _subtables(raw, "public").items():
        mistakes += _location_mistakes(("public", name, "source"), table.get("source"), environment)
    for name, table in _subtables(raw, "tables").items():
        mistakes += _location_mistakes(("tables", name, "source"), table.get("source"), environment)
        mistakes += _declaration_mistakes(name, table, known, origin)
    return model, mistakes


def _shape_mistake(error: ErrorDetails) -> FileMistake:
    """Return a mistake that the model found, in tacit's words, with an example."""
    path: KeyPath = error["loc"]
    description, example = KEYS.get(general_key(path), ("", ""))
    if error["type"] == "extra_forbidden":
        known = keys_below(general_key((*path[:-1], "")))
        return path, f"is not a key of a policy{nearest(path[-1], known)}"
    if error["type"] == "missing":
        return path, f"is required: write {description}, such as {example}"
    if error["input"] == "":
        return path, f"is not filled in yet: write {description}, such as {example}"
    return path, f"must be {description}, such as {example}, not {show(error['input'])}"


def _budget_mistakes(budget: object, path: KeyPath) -> Iterator[FileMistake]:
    if not isinstance(budget, dict):
        return
    if {"epsilon", "rho"} <= set(budget):
        yield path, "must have either epsilon or rho (and delta with either), but has both"
    elif set(budget) <= {"delta"}:  # with other keys, those are the mistake
        yield path, "must have either epsilon or rho (and delta with either), but has neither"


def _analyst_mistakes(raw: Mapping[str, object]) -> Iterator[FileMistake]:
    """Yield mistakes in the budgets of analysts, which must be in the unit of the budget of all."""
    budget, analysts = raw.get("budget"), raw.get("analysts")
    for name, limit in analysts.items() if isinstance(analysts, dict) else ():
        path = ("analysts", name)
        yield from _budget_mistakes(limit, path)
        if not is_name(name):
            yield path, "must have a name of printable characters"
        if isinstance(limit, dict) and isinstance(budget, dict) and ("rho" in limit) != ("rho" in budget):
            yield path, f"must be in {'rho' if 'rho' in budget else 'epsilon'}, as the budget of all is"


def _timezone_mistakes(timezone: object) -> Iterator[FileMistake]:
    if isinstance(timezone, str) and timezone:  # the model reports other values
        yield from ((("timezone",), mistake.message) for mistake in timezone_mistakes(timezone))


def _location_mistakes(path: KeyPath, location: object, environment: Mapping[str, str]) -> Iterator[FileMistake]:
    if isinstance(location, str):
        yield from ((path, message) for message in location_mistakes(location, environment))


def _subtables(table: Mapping[str, object], key: str) -> dict[str, Mapping[str, object]]:
    """Return the tables below a key, by name; other values there are left out."""
    tables = table.get(key)
    return (
        {name: value for name, value in tables.items() if isinstance(value, dict)} if isinstance(tables, dict) else {}
    )


def _table_name_mistakes(raw: Mapping[str, object]) -> Iterator[FileMistake]:
    """Yield mistakes in the names of tables; private and public ones must differ in SQL."""
    seen: dict[str, str] = {}
    for section in ("tables", "public"):
        tables = raw.get(section)
        for name in tables if isinstance(tables, dict) else ():
            if not is_name(name):
                yield (section, name), "must have a name of printable characters"
            if name.lower() in seen:
                twin = seen[name.lower()]
                yield (section, name), f"must differ by more than case from the table {twin!r}; rename one"
            seen.setdefault(name.lower(), name)


def _unit_mistakes(name: str, table: Mapping[str, object]) -> Iterator[FileMistake]:
    each_row = table.get("each_row", False)
    if each_row is True and "unit" in table:
        yield ("tables", name, "each_row"), "must be left out if there is a unit; keep one of the two"
    if each_row is False and "unit" not in table:
        message = (
            'is required: write the column whose value identifies the unit of a row, such as unit = "patient_id", '
            "or each_row = true if each row is one unit; there is no default, because the unit decides who is protected"
        )
        yield ("tables", name, "unit"), message


def _declaration_mistakes(
    name: str, table: Mapping[str, object], known: set[KeyPath], origin: Origin
) -> Iterator[FileMistake]:
    """Yield mistakes in the declaration of a table that need no schema.

    The schema is taken to have all columns that the declaration mentions, as text. Values with a known mistake are
    not checked again. Whether a column can be required depends on its type, so that is checked with the schema.
    """
    unit = list(_unit_mistakes(name, table))
    yield from unit
    known.update(path for path, _ in unit)
    declaration = declare(name, table, origin)
    columns = [*_subtables(table, "columns"), *([declaration.unit] if isinstance(declaration.unit, str) else [])]
    columns += [str(column) for names in tuple_keys(declaration.keys) for column in names]
    schema: dict[str, Kind] = dict.fromkeys(columns, "text") or {"": "text"}
    for mistake in table_mistakes(declaration, schema):
        path = file_path(declaration, mistake)
        if mistake.argument != "required" and not any(path[:end] in known for end in range(1, len(path) + 1)):
            yield path, mistake.message


def declare(
    name: str,
    table: Mapping[str, object],
    origin: Origin,
    *,
    public: bool = False,
    neighbours: str = "add/remove",
    timezone: object = None,
) -> TableDeclaration:
    """Return the declaration in one table of the file, whether or not its shape is right."""
    columns = _subtables(table, "columns")

    def by_column(key: str) -> dict[str, object]:
        return {column: values[key] for column, values in columns.items() if values.get(key) is not None}

    source, database_table = table.get("source"), table.get("table")
    each_row = public or table.get("each_row", False) is not False
    return TableDeclaration(
        origin=origin,
        name=name,
        source=source,
        written=source if isinstance(source, str) else None,
        table=database_table if isinstance(database_table, str) else None,
        public=public,
        unit=ROW if each_row else table.get("unit"),
        max_groups=table.get("max_groups"),
        max_rows=table.get("max_rows"),
        reach=table.get("reach"),
        bounds=by_column("bounds"),
        keys={column: _with_null(keys) for column, keys in by_column("keys").items()} | _tuple_keys(table.get("keys")),
        hidden=tuple(column for column, values in columns.items() if values.get("hidden") is True),
        required=tuple(column for column, values in columns.items() if values.get("required") is True),
        types=by_column("type"),
        mentioned=tuple(columns),
        neighbours=neighbours,
        timezone=timezone,
    )


def _tuple_keys(keys: object) -> dict[tuple[object, ...], object]:
    """Return the keys of several columns by these columns, as `tacit.open` takes them."""
    found: dict[tuple[object, ...], object] = {}
    for each in keys if isinstance(keys, list) else ():
        columns, values = (each.get("columns"), each.get("values")) if isinstance(each, dict) else (None, None)
        if isinstance(columns, list) and all(isinstance(column, str) for column in columns):
            rows = [_with_null(row) for row in values] if isinstance(values, list) else values
            found[tuple(columns)] = rows
    return found


def _with_null(keys: object) -> object:
    return [None if key == _NULL else key for key in keys] if isinstance(keys, list) else keys


def file_path(table: TableDeclaration, mistake: TableMistake) -> KeyPath:
    """Return the keys of a mistake in the declaration of a table."""
    root: KeyPath = () if mistake.argument in ("neighbours", "timezone") else (table.section, str(table.name))
    if mistake.column is not None:
        column = (*root, "columns", mistake.column)
        return column if mistake.entire else (*column, _FILE_KEYS.get(mistake.argument, mistake.argument))
    argument = mistake.argument.partition("[")[0]  # keys of several columns are at keys[columns]
    return root if argument == "schema" else (*root, argument)
