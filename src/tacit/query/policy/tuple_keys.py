"""Keys that a steward declares of several columns together: a list of tuples, or a data frame.

Keys of one column are `{"ward": ["A", "B"]}`; those of several are `{("canton", "language"): [("ZH", "de"), …]}`.

A message states places and kinds, never a value: the list may contain data by mistake.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tacit.errors import show, show_name
from tacit.query.expressions import Kind, Value
from tacit.query.policy import PublicRows
from tacit.query.policy.column_values import MOST_KEYS, fit_key, kind_of_key
from tacit.query.policy.mistakes import DeclaredValueError, TableMistake, nearest

_TWO = 2
_FORM = "a list of tuples, or a data frame with these columns"


def single_keys(keys: object) -> dict[object, object]:
    """Return the keys of single columns."""
    pairs = keys.items() if isinstance(keys, Mapping) else ()
    return {name: values for name, values in pairs if not isinstance(name, tuple)}


def tuple_keys(keys: object) -> dict[tuple[object, ...], object]:
    """Return the keys of several columns together."""
    pairs = keys.items() if isinstance(keys, Mapping) else ()
    return {names: values for names, values in pairs if isinstance(names, tuple)}


def values_in_tuples(name: str, keys: object) -> list[object] | None:
    """Return the different values of a column in the tuples that have it, in order; None if no tuples have it."""
    for names, values in tuple_keys(keys).items():
        if name not in names:
            continue
        try:
            found = [row[names.index(name)] for row in _rows(names, values)]
            return list(dict.fromkeys(found))
        except (DeclaredValueError, TypeError):  # `tuple_mistakes` reports it
            return None
    return None


def build_tuples(keys: object, kinds: Mapping[str, Kind]) -> tuple[PublicRows, ...]:
    """Return the declared tuples as values of the columns' kinds; they have no mistakes."""
    return tuple(
        PublicRows(tuple(map(str, names)), tuple(_fitted(names, _rows(names, values), kinds)))
        for names, values in tuple_keys(keys).items()
    )


def tuple_mistakes(keys: object, kinds: Mapping[str, Kind]) -> Iterator[TableMistake]:
    """Yield every mistake in the keys of several columns. `kinds` are the kinds of the columns that exist."""
    taken = {name for name in single_keys(keys) if isinstance(name, str)}
    for names, values in tuple_keys(keys).items():
        argument = f"keys[{', '.join(show_name(str(name)) for name in names)}]"
        message = _names_mistake(names, kinds, taken)
        taken |= {name for name in names if isinstance(name, str)}
        if message is not None:
            yield TableMistake(argument, None, message)
            continue
        try:
            _fitted(names, _rows(names, values), kinds)
        except DeclaredValueError as error:
            yield TableMistake(argument, None, error.mistake)


def _names_mistake(names: tuple[object, ...], kinds: Mapping[str, Kind], taken: Collection[str]) -> str | None:
    """Return the mistake in the columns of some tuples; None if they are right."""
    if len(names) < _TWO or len(set(map(str, names))) < len(names) or not all(isinstance(name, str) for name in names):
        return "must name at least two different columns; write keys of one column under its name"
    unknown = [str(name) for name in names if name not in kinds]
    if unknown:
        hint = nearest(unknown[0], kinds)
        return f"must name columns of this table, but there is no column {show_name(unknown[0])}{hint}"
    twice = [name for name in names if name in taken]
    return (
        f"must be the only keys of {show_name(str(twice[0]))}, which has other keys too; remove one" if twice else None
    )


def _rows(names: Sequence[object], values: object) -> list[tuple[object, ...]]:
    """Return declared tuples or the rows of a frame, or raise DeclaredValueError."""
    listed = isinstance(values, Sequence) and not isinstance(values, (str, bytes, bytearray, memoryview))
    rows = list(values) if listed and isinstance(values, Sequence) else _rows_of_frame(names, values)
    if not 1 <= len(rows) <= MOST_KEYS:
        raise DeclaredValueError("keys", f"must be 1 to {MOST_KEYS:,} tuples, not {len(rows):,}")
    for place, row in enumerate(rows, 1):
        if not isinstance(row, (tuple, list)) or len(row) != len(names):
            length = f"{len(row):,}" if isinstance(row, (tuple, list)) else kind_of_key(row)
            message = f"must be tuples of {len(names)} values, one for each column; place {place:,} has {length}"
            raise DeclaredValueError("keys", message)
    return [tuple(row) for row in rows]


def _rows_of_frame(names: Sequence[object], values: object) -> list[tuple[object, ...]]:
    """Return the rows of a data frame of pandas, polars or Arrow; a missing value is NULL."""
    import narwhals as nw  # noqa: PLC0415 - seldom needed

    frame = nw.from_native(values, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise DeclaredValueError("keys", f"must be {_FORM}, not {show(values)}")
    missing = [str(name) for name in names if name not in frame.columns]
    if missing:
        raise DeclaredValueError("keys", f"must be a frame with a column {show_name(missing[0])}")
    columns = [
        [None if absent else value for value, absent in zip(series.to_list(), series.is_null().to_list(), strict=True)]
        for series in (frame.get_column(str(name)) for name in names)
    ]
    return list(zip(*columns, strict=True))


def _fitted(
    names: Sequence[object], rows: Sequence[tuple[object, ...]], kinds: Mapping[str, Kind]
) -> dict[tuple[Value, ...], int]:
    """Return the tuples as values of the columns' kinds with their places, or raise DeclaredValueError."""
    found: dict[tuple[Value, ...], int] = {}
    for place, row in enumerate(rows, 1):
        fitted = tuple(
            None if value is None else fit_key(value, kinds[str(name)]) for name, value in zip(names, row, strict=True)
        )
        for name, value, read in zip(names, row, fitted, strict=True):
            if value is not None and read is None:
                reason = f"because the column {show_name(str(name))} is of kind {kinds[str(name)]}"
                raise DeclaredValueError(
                    "keys", f"must fit the columns; place {place:,} has {kind_of_key(value)} there, {reason}"
                )
        first = found.setdefault(fitted, place)
        if first != place:
            raise DeclaredValueError(
                "keys", f"must be distinct tuples, but have the same tuple at places {first:,} and {place:,}"
            )
    return found
