"""From the declaration of a table and the schema of its source to its policy. All mistakes are reported at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple, get_args

from tacit.errors import InvalidError, show
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import whole
from tacit.query.expressions import Kind
from tacit.query.expressions.casts import CASTS
from tacit.query.expressions.time_zones import check_name, names_of_zones
from tacit.query.policy import ROW, ColumnPolicy, TablePolicy, _Row
from tacit.query.policy.arguments import is_name
from tacit.query.policy.column_values import KINDS, LARGEST_BOUND, read_keys, settle_kind
from tacit.query.policy.declaration import TableDeclaration
from tacit.query.policy.limits import bounded_column
from tacit.query.policy.mistakes import DeclaredValueError, TableMistake, nearest
from tacit.query.policy.tuple_keys import build_tuples, single_keys, tuple_mistakes, values_in_tuples

_MOST_HINTS = 20
_WITH_STAND_IN: tuple[Kind, ...] = ("integer", "real", "boolean")
_LONGEST = 80
_OTHER_TYPE = "has a type that cannot be used (numbers, text, booleans, dates and timestamps can)"
_ROW_HINT = f"{ROW!r} if each row is one unit"
_UNIT_MISSING = (
    f"is required: name the column whose value identifies the unit of a row, or {_ROW_HINT}; "
    "there is no default, because the unit decides who is protected"
)


def build(
    declaration: TableDeclaration,
    schema: Mapping[str, Kind],
    unusable: Collection[str] = (),
    zoned: Collection[str] = (),
) -> TablePolicy:
    """Return the policy of a table, or raise PolicyError with every mistake.

    Args:
        declaration: the declaration, with the table's name in SQL.
        schema: the kind of each column in the source; text for all columns if the source has no types.
        unusable: columns of the source whose types cannot be used. They are not in the schema.
        zoned: columns of instants, which are read in the policy's time zone.
    """
    mistakes = list(table_mistakes(declaration, schema, unusable))
    name = declaration.name
    if not isinstance(name, str) or not is_name(name):
        mistakes.insert(0, TableMistake("name", None, f"must be a text of printable characters, not {show(name)}"))
    if mistakes:
        raise declaration.origin.error(declaration, mistakes)
    unit = declaration.unit if isinstance(declaration.unit, str) else None
    hidden, required = _names(declaration.hidden) or {}, _names(declaration.required) or {}
    columns = {
        column: replace(
            _build_column(_declared_column(column, declaration), kind, hidden=column in hidden),
            required=column in required,
        )
        for column, kind in schema.items()
    }
    zone = declaration.timezone if isinstance(declaration.timezone, str) else ""
    columns |= {column: replace(columns[column], timezone=zone) for column in zoned}
    return TablePolicy(
        name=str(name),
        unit=unit,
        max_groups=whole(declaration.max_groups) if unit is not None else 1,
        max_rows=whole(declaration.max_rows) if unit is not None else 1,
        reach=whole(declaration.reach) if unit is not None else None,
        neighbours="change one" if declaration.neighbours == "change one" else "add/remove",
        columns=MappingProxyType(columns),
        unusable=frozenset(unusable),
        key_tuples=build_tuples(declaration.keys, {name: column.kind for name, column in columns.items()}),
        timezone=zone or None,
    )


def version(policy: TablePolicy) -> str:
    """Return the SHA-256 of a policy's content, for receipts: the same for arguments and for a file.

    A policy without a reach or without key tuples has the version that it had before there were any.
    """
    columns = {
        name: {"kind": column.kind, "bounds": column.bounds, "keys": column.keys, "hidden": column.hidden}
        | ({} if column.days is None else {"days": column.days})
        | ({} if column.moments is None else {"moments": column.moments})
        | ({"required": True} if column.required else {})
        | ({} if column.timezone is None else {"timezone": column.timezone})
        for name, column in policy.columns.items()
    }
    names = ["name", "unit", "max_groups", "max_rows", "neighbours", *["reach"][policy.reach is None :]]
    tuples = [{"columns": each.columns, "values": each.rows} for each in policy.key_tuples]
    more = {"key_tuples": tuples} if tuples else {}
    return digest({name: getattr(policy, name) for name in names} | {"columns": columns} | more)


def digest(content: object) -> str:
    """Return the SHA-256 of the canonical JSON of plain values, rationals and dates, in hexadecimal."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_json)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _json(value: object) -> object:
    match value:
        case Fraction():
            return str(value)
        case datetime():
            return {"timestamp": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
    raise TypeError(type(value).__name__)


def table_mistakes(
    declaration: TableDeclaration, schema: Mapping[str, Kind], unusable: Collection[str] = ()
) -> Iterator[TableMistake]:
    """Yield every mistake in the declaration of a table with this schema, its name aside."""
    yield from _schema_mistakes(schema)
    yield from _unit_mistakes(declaration, schema, unusable)
    yield from _neighbours_mistakes(declaration.neighbours)
    yield from timezone_mistakes(declaration.timezone)
    yield from _name_mistakes(declaration, schema, unusable)
    yield from _column_mistakes(declaration, schema)


def _schema_mistakes(schema: Mapping[str, Kind]) -> Iterator[TableMistake]:
    if not schema:
        yield TableMistake("schema", None, "must have at least one column; the source has no column that can be used")
    seen: dict[str, str] = {}
    for column in schema:
        twin = seen.setdefault(column.lower(), column)
        if twin != column:
            message = f"must not have columns that differ only by case, but has {twin!r} and {column!r}; rename one"
            yield TableMistake("schema", None, message)


def _unit_mistakes(
    declaration: TableDeclaration, schema: Mapping[str, Kind], unusable: Collection[str]
) -> Iterator[TableMistake]:
    unit = declaration.unit
    if isinstance(unit, _Row):
        return
    if unit is None:
        yield TableMistake("unit", None, _UNIT_MISSING)
    elif not isinstance(unit, str):
        yield TableMistake("unit", None, f"must be the name of a column, or {_ROW_HINT}, not {show(unit)}")
    elif unit in unusable:
        yield TableMistake("unit", None, f"must be a column that can be used, but {unit[:_LONGEST]!r} {_OTHER_TYPE}")
    elif unit not in schema:
        message = f"must be a column, but there is no column {unit[:_LONGEST]!r}{nearest(unit, schema)}"
        yield TableMistake("unit", None, message)
    for name in ("max_groups", "max_rows", "reach"):
        value = getattr(declaration, name)
        if value is not None and not 1 <= (whole(value) or 0) <= LARGEST_BOUND:
            yield TableMistake(name, None, f"must be a whole number from 1 to {LARGEST_BOUND:,}, not {show(value)}")


def _neighbours_mistakes(neighbours: object) -> Iterator[TableMistake]:
    if not isinstance(neighbours, str) or neighbours not in get_args(Neighbours):
        yield TableMistake("neighbours", None, f"must be 'add/remove' or 'change one', not {show(neighbours)}")


def timezone_mistakes(timezone: object) -> Iterator[TableMistake]:
    """Yield the mistake in a time zone, if it is not None and not the name of a zone."""
    if timezone is None:
        return
    try:
        check_name(timezone)
    except InvalidError as error:
        near = nearest(timezone, names_of_zones()) if isinstance(timezone, str) else ""
        message = f"must be a name of the IANA time zone database, such as 'Europe/Zurich', not {show(timezone)}{near}"
        yield TableMistake("timezone", None, message if names_of_zones() else f"cannot be used: {error}")


def _name_mistakes(
    declaration: TableDeclaration, schema: Mapping[str, Kind], unusable: Collection[str]
) -> Iterator[TableMistake]:
    """Yield arguments of the wrong shape, and columns that do not exist."""
    hints: dict[str, str] = {}
    for argument in ("bounds", "keys", "types", "hidden", "required", "mentioned"):
        value = getattr(declaration, argument)
        is_list = argument in ("hidden", "required", "mentioned")
        columns = _names(value) if is_list else {} if value is None else value
        columns = single_keys(columns) if argument == "keys" and isinstance(columns, Mapping) else columns
        if not isinstance(columns, Mapping):
            shape = "a list of column names" if is_list else "a mapping from column names"
            yield TableMistake(argument, None, f"must be {shape}, not {show(value)}")
            continue
        for column in columns:
            if not isinstance(column, str) or column not in schema:
                name = column if isinstance(column, str) else show(column)
                if name in unusable:
                    message = f"is about a column that {_OTHER_TYPE}; leave it out"
                    yield TableMistake(argument, name, message, entire=True)
                    continue
                if name not in hints:
                    hints[name] = nearest(name, schema) if len(hints) < _MOST_HINTS else ""
                message = f"is about a column that does not exist{hints[name]}"
                yield TableMistake(argument, name, message, entire=True)


def _names(value: object) -> Mapping[str, None] | None:
    """Return the names in a collection of texts; None for any other value."""
    if isinstance(value, str) or not isinstance(value, Collection) or not all(isinstance(name, str) for name in value):
        return None
    return dict.fromkeys(value)


def _column_mistakes(declaration: TableDeclaration, schema: Mapping[str, Kind]) -> Iterator[TableMistake]:
    hidden = _names(declaration.hidden) or {}
    yield from _required_mistakes(declaration, schema)
    declared = {name: _declared_column(name, declaration).kind(kind) for name, kind in schema.items()}
    yield from tuple_mistakes(declaration.keys, declared)
    for name, kind in (_unknown_columns(declaration, schema) | dict(schema)).items():
        column = _declared_column(name, declaration)
        if column.type is not None and not (isinstance(column.type, str) and column.type in KINDS):
            yield TableMistake("types", name, f"must be one of {', '.join(KINDS)}, not {show(column.type)}")
        elif column.type is not None and column.kind(kind) not in (kinds := _readable(kind)):
            yield TableMistake("types", name, f"must be {_either(kinds)}, because the source has {kind} there")
        if name in hidden:
            for argument, value in (("bounds", column.bounds), ("keys", column.keys)):
                if value is not None:
                    yield TableMistake(argument, name, "is about a hidden column; remove this or hidden")
        else:
            listed = column.keys if name in single_keys(declaration.keys) else None  # tuples are checked above
            yield from _value_mistakes(name, column._replace(keys=listed), column.kind(kind))


def _required_mistakes(declaration: TableDeclaration, schema: Mapping[str, Kind]) -> Iterator[TableMistake]:
    """Yield the required columns whose missing values cannot be read as a public constant."""
    hidden = _names(declaration.hidden) or {}
    for name in (name for name in _names(declaration.required) or {} if name in schema):
        column = _declared_column(name, declaration)
        if name in hidden:
            yield TableMistake("required", name, "is about a hidden column; remove this or hidden")
        elif name == declaration.unit:
            yield TableMistake("required", name, "is about the unit column; rows without a unit are always left out")
        elif column.kind(schema[name]) not in _WITH_STAND_IN and not _has_key(column.keys):
            message = (
                "needs keys: a missing value of a column that is not a number or a boolean is read as the first key"
            )
            yield TableMistake("required", name, message)
        elif column.keys is not None and not _has_key(column.keys):
            yield TableMistake("required", name, "needs a key that is not NULL")


def _has_key(keys: object) -> bool:
    """Return whether some keys have one that is not NULL; keys of a wrong shape are another mistake."""
    return keys is not None and (not isinstance(keys, Collection) or any(key is not None for key in keys))


def _readable(kind: Kind) -> list[Kind]:
    """Return the kinds as which a column of a kind can be read."""
    return [target for target in KINDS if target == kind or (kind, target) in CASTS]


def _either(words: Sequence[str]) -> str:
    """Join words by commas, the last one by "or"."""
    return " or ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])


def _unknown_columns(declaration: TableDeclaration, schema: Mapping[str, Kind]) -> dict[str, Kind]:
    """Return columns that do not exist, as text, so that their bounds and keys are checked too."""
    values = [value for value in (declaration.bounds, declaration.keys) if isinstance(value, Mapping)]
    return {name: "text" for value in values for name in value if isinstance(name, str) and name not in schema}


def _value_mistakes(name: str, column: _DeclaredColumn, kind: Kind) -> Iterator[TableMistake]:
    for argument, value in (("bounds", column.bounds), ("keys", column.keys)):
        if value is None:
            continue
        try:
            if argument == "keys":
                read_keys(value, kind)
            else:
                bounded_column(ColumnPolicy(kind=kind), value)
        except DeclaredValueError as error:
            yield TableMistake(argument, name, error.mistake)


class _DeclaredColumn(NamedTuple):
    """The declaration of one column, not checked yet."""

    type: object
    bounds: object
    keys: object

    def kind(self, schema: Kind) -> Kind:
        """Return the declared kind, or the kind that follows from the schema, the bounds and the keys."""
        declared: Kind | None = next((kind for kind in KINDS if kind == self.type), None)
        return declared or settle_kind(schema, bounds=self.bounds, keys=self.keys)


def _declared_column(name: str, declaration: TableDeclaration) -> _DeclaredColumn:
    values = [getattr(declaration, argument) for argument in ("types", "bounds", "keys")]
    column = _DeclaredColumn(*(value.get(name) if isinstance(value, Mapping) else None for value in values))
    return column if column.keys is not None else column._replace(keys=values_in_tuples(name, declaration.keys))


def _build_column(column: _DeclaredColumn, schema: Kind, *, hidden: bool) -> ColumnPolicy:
    kind = column.kind(schema)
    keys = None if column.keys is None else read_keys(column.keys, kind)
    policy = ColumnPolicy(kind=kind, keys=keys, hidden=hidden)
    return policy if column.bounds is None else bounded_column(policy, column.bounds)
