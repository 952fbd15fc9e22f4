"""From what a steward declares of a table, and the schema of its source, to the policy; all mistakes at once.

`build` is for the arguments of `tacit.open`; `examine` finds the mistakes, also for `policy_file`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple, get_args

from tacit.errors import InvalidError, show
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Number, whole
from tacit.query.expressions import Kind, Value
from tacit.query.expressions.casts import CASTS
from tacit.query.policy import ROW, ColumnPolicy, TablePolicy, _Row
from tacit.query.policy.columns import KINDS, MOST_REACH, read_bounds, read_days, read_keys, settle_kind
from tacit.query.policy.mistakes import Mistake, PolicyError, nearest

_MOST_HINTS = 20
_LONGEST = 80
_OTHER_TYPE = "has a type that cannot be used (numbers, text, booleans, dates and timestamps can)"
_ROW_HINT = f"{ROW!r} where each row is one"
_UNIT_WANTED = (
    "is required: name the column whose value says whose row it is, "
    f"or {_ROW_HINT}; there is no default, since it decides who is protected"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What is declared of one table, as it was handed in: not checked yet, so of any type.

    `named` are columns that are mentioned, be it without a word about them; they must exist too.
    """

    unit: object
    max_groups: object = None
    max_rows: object = None
    bounds: object = field(default_factory=dict)
    keys: object = field(default_factory=dict)
    hidden: object = ()
    types: object = field(default_factory=dict)
    named: object = ()
    neighbours: object = "add/remove"


class Fault(NamedTuple):
    """A mistake before it has a place: the argument, the column, and whether the column as such is at fault."""

    argument: str
    column: str | None
    message: str
    entire: bool = False


def build(  # noqa: PLR0913 - the arguments of tacit.open
    name: str,
    schema: Mapping[str, Kind],
    *,
    unit: str | _Row | None,
    max_groups: int | None = None,
    max_rows: int | None = None,
    bounds: Mapping[str, tuple[Number, Number] | tuple[date, date]] | None = None,
    keys: Mapping[str, Sequence[Value]] | None = None,
    hidden: Collection[str] = (),
    types: Mapping[str, Kind] | None = None,
    neighbours: Neighbours = "add/remove",
    unusable: Collection[str] = (),
) -> TablePolicy:
    """Return a table's policy, or raise PolicyError with every mistake.

    Args:
        name: The table's name in SQL.
        schema: Each column's kind as the source's schema says; text throughout where it says nothing.
        unit: The column whose values name the privacy units, or ROW.
        max_groups: In how many groups of one answer a unit may count; needed by questions with groups. With ROW it is
            1, whatever is given.
        max_rows: As how many rows a unit may count in one group; needed by all questions but those of units.
        bounds: Of number columns, the least and the largest value; of dates, the first and the last day to group by;
            public knowledge.
        keys: Of columns, the values to group by, in the order of the answer; public knowledge.
        hidden: Columns that no question may name.
        types: Kinds that are to hold instead of the schema's; values are cast safely.
        neighbours: Which data sets are to be told apart no better than the guarantee says.
        unusable: Columns of the source that are not in its schema here, since their types cannot be used.

    >>> schema: dict[str, Kind] = {"id": "integer", "age": "text"}
    >>> policy = build("survey", schema, unit="id", max_groups=1, max_rows=1, bounds={"age": (0, 120)})
    >>> policy.columns["age"]
    ColumnPolicy(kind='real', bounds=(Fraction(0, 1), Fraction(120, 1)), keys=None, hidden=False, days=None)
    """
    declared = Declared(
        unit=unit,
        max_groups=max_groups,
        max_rows=max_rows,
        bounds={} if bounds is None else bounds,
        keys={} if keys is None else keys,
        hidden=hidden,
        types={} if types is None else types,
        neighbours=neighbours,
    )
    faults = examine(schema, declared, unusable)
    if not is_name(name):
        faults.insert(0, Fault("name", None, f"must be a text that can be printed, but got {show(name)}"))
    if faults:
        raise PolicyError(
            f"The policy of {name!r}" if is_name(name) else "The policy", [_placed(fault) for fault in faults]
        )
    return assemble(name, schema, declared, unusable)


def is_name(name: object) -> bool:
    """Return whether a table may be called this."""
    return isinstance(name, str) and name != "" and name.isprintable()


def _placed(fault: Fault) -> Mistake:
    where = fault.argument if fault.column is None else f"{fault.argument}[{fault.column!r}]"
    return Mistake(None, where, fault.message)


def examine(schema: Mapping[str, Kind], declared: Declared, unusable: Collection[str] = ()) -> list[Fault]:
    """Return every mistake in what is declared of a table with this schema, and columns that cannot be used."""
    return [
        *_schema_faults(schema),
        *_unit_faults(schema, declared, unusable),
        *_neighbours_faults(declared.neighbours),
        *_name_faults(schema, declared, unusable),
        *_column_faults(schema, declared),
    ]


def assemble(name: str, schema: Mapping[str, Kind], declared: Declared, unusable: Collection[str] = ()) -> TablePolicy:
    """Return the policy that a declaration without mistakes means."""
    unit = declared.unit if isinstance(declared.unit, str) else None
    hidden = _names(declared.hidden) or {}
    columns = {
        column: _column(_declared(column, declared), kind, hidden=column in hidden) for column, kind in schema.items()
    }
    return TablePolicy(
        name=name,
        unit=unit,
        max_groups=whole(declared.max_groups) if unit is not None else 1,
        max_rows=whole(declared.max_rows) if unit is not None else 1,
        neighbours="change one" if declared.neighbours == "change one" else "add/remove",
        columns=MappingProxyType(columns),
        unusable=frozenset(unusable),
    )


def version(policy: TablePolicy) -> str:
    """Return the SHA-256 of a policy's content, for receipts: the same for arguments and for a file."""
    columns = {
        name: {"kind": one.kind, "bounds": one.bounds, "keys": one.keys, "hidden": one.hidden}
        | ({} if one.days is None else {"days": one.days})
        for name, one in policy.columns.items()
    }
    names = ("name", "unit", "max_groups", "max_rows", "neighbours")
    return digest({name: getattr(policy, name) for name in names} | {"columns": columns})


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


def _schema_faults(schema: Mapping[str, Kind]) -> Iterator[Fault]:
    if not schema:
        yield Fault("schema", None, "must have at least one column, but the source has none")
    seen: dict[str, str] = {}
    for column in schema:
        twin = seen.setdefault(column.lower(), column)
        if twin != column:
            message = f"must not have columns that differ only by case, but has {twin!r} and {column!r}; rename one"
            yield Fault("schema", None, message)


def _unit_faults(schema: Mapping[str, Kind], declared: Declared, unusable: Collection[str]) -> Iterator[Fault]:
    unit = declared.unit
    if isinstance(unit, _Row):
        return
    if unit is None:
        yield Fault("unit", None, _UNIT_WANTED)
    elif not isinstance(unit, str):
        yield Fault("unit", None, f"must be the name of a column, or {_ROW_HINT}, but got {show(unit)}")
    elif unit in unusable:
        yield Fault("unit", None, f"must be a column that can be used, but {unit[:_LONGEST]!r} {_OTHER_TYPE}")
    elif unit not in schema:
        yield Fault("unit", None, f"must be a column, but there is no {unit[:_LONGEST]!r}{nearest(unit, schema)}")
    for name in ("max_groups", "max_rows"):
        given = getattr(declared, name)
        if given is not None and not 1 <= (whole(given) or 0) <= MOST_REACH:
            yield Fault(name, None, f"must be a whole number from 1 to {MOST_REACH:,}, but got {show(given)}")


def _neighbours_faults(neighbours: object) -> Iterator[Fault]:
    if not isinstance(neighbours, str) or neighbours not in get_args(Neighbours):
        yield Fault("neighbours", None, f"must be 'add/remove' or 'change one', but got {show(neighbours)}")


def _name_faults(schema: Mapping[str, Kind], declared: Declared, unusable: Collection[str]) -> Iterator[Fault]:
    """Yield what is wrong with the shape of an argument, and columns that do not exist."""
    hints: dict[str, str] = {}
    for argument in ("bounds", "keys", "types", "hidden", "named"):
        given = getattr(declared, argument)
        shape = _names(given) if argument in ("hidden", "named") else given
        if not isinstance(shape, Mapping):
            want = "a list of column names" if argument == "hidden" else "a mapping from column names"
            yield Fault(argument, None, f"must be {want}, but got {show(given)}")
            continue
        for column in shape:
            if not isinstance(column, str) or column not in schema:
                name = column if isinstance(column, str) else show(column)
                if name in unusable:
                    yield Fault(argument, name, f"is about a column that {_OTHER_TYPE}; leave it out", entire=True)
                    continue
                if name not in hints:
                    hints[name] = nearest(name, schema) if len(hints) < _MOST_HINTS else ""
                yield Fault(argument, name, f"is about a column that does not exist{hints[name]}", entire=True)


def _names(given: object) -> Mapping[str, None] | None:
    """Return the names in a collection of texts; None if it is no such thing."""
    if isinstance(given, str) or not isinstance(given, Collection) or not all(isinstance(name, str) for name in given):
        return None
    return dict.fromkeys(given)


def _column_faults(schema: Mapping[str, Kind], declared: Declared) -> Iterator[Fault]:
    hidden = _names(declared.hidden) or {}
    for column, kind in (_unknown(schema, declared) | dict(schema)).items():
        given = _declared(column, declared)
        if given.type is not None and not (isinstance(given.type, str) and given.type in KINDS):
            yield Fault("types", column, f"must be one of {', '.join(KINDS)}, but got {show(given.type)}")
        elif given.type is not None and given.kind(kind) not in (read := _readable(kind)):
            yield Fault("types", column, f"must be {_either(read)}, since the source has {kind} there")
        if column in hidden:
            for argument, value in (("bounds", given.bounds), ("keys", given.keys)):
                if value is not None:
                    yield Fault(argument, column, "is about a hidden column; leave out this or hidden")
        else:
            yield from _value_faults(column, given, given.kind(kind))


def _readable(kind: Kind) -> list[Kind]:
    """Return the kinds as which a column of a kind can be read."""
    return [target for target in KINDS if target == kind or (kind, target) in CASTS]


def _either(words: Sequence[str]) -> str:
    """Join words by commas, the last one by "or"."""
    return " or ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])


def _unknown(schema: Mapping[str, Kind], declared: Declared) -> dict[str, Kind]:
    """Return columns that do not exist, as text, which may hold anything: what is said of them is examined too."""
    given = [of for of in (declared.bounds, declared.keys) if isinstance(of, Mapping)]
    return {column: "text" for of in given for column in of if isinstance(column, str) and column not in schema}


def _value_faults(column: str, given: _Given, kind: Kind) -> Iterator[Fault]:
    for argument, value in (("bounds", given.bounds), ("keys", given.keys)):
        if value is None:
            continue
        try:
            if argument == "keys":
                read_keys(value, kind)
            else:
                _read_bounds(value, kind)
        except InvalidError as error:
            yield Fault(argument, column, f"must be {error.want}, but got {error.got}")


class _Given(NamedTuple):
    """What is declared of one column."""

    type: object
    bounds: object
    keys: object

    def kind(self, schema: Kind) -> Kind:
        """Return the column's kind: the declared one, or as the schema and the values say."""
        declared: Kind | None = next((kind for kind in KINDS if kind == self.type), None)
        return declared or settle_kind(schema, bounds=self.bounds, keys=self.keys)


def _declared(column: str, declared: Declared) -> _Given:
    given = [getattr(declared, argument) for argument in ("types", "bounds", "keys")]
    return _Given(*(of.get(column) if isinstance(of, Mapping) else None for of in given))


def _column(given: _Given, schema: Kind, *, hidden: bool) -> ColumnPolicy:
    kind = given.kind(schema)
    bounds, days = (None, None) if given.bounds is None else _read_bounds(given.bounds, kind)
    keys = None if given.keys is None else read_keys(given.keys, kind)
    return ColumnPolicy(kind=kind, bounds=bounds, keys=keys, hidden=hidden, days=days)


def _read_bounds(given: object, kind: Kind) -> tuple[tuple[Fraction, Fraction] | None, tuple[date, date] | None]:
    """Return bounds of numbers, or those of dates."""
    return (None, read_days(given)) if kind in ("date", "timestamp") else (read_bounds(given, kind), None)
