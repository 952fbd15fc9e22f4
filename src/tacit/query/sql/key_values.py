"""The public values of a group key.

They come from the policy and the query alone, in this order: keys that the caller lists; a column's keys; false and
true; whole numbers or days between proved ends; the values of an expression over such values; the results of a CASE.
NULL is one of them only if it is listed: rows without a listed key are dropped. Inside an expression a column may still
be NULL, so that `coalesce(region, 'unknown')` has its value.

Rows are grouped by their raw values, which are not clamped. A row beyond a column's bounds belongs to a bin that is not
listed, so it is left out of the groups; in the first or the last bin it would falsify the count. If the query itself
names all results, as a comparison and a CASE of constants do, all of them are listed, and no row is left out because of
bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import product
from math import ceil, floor, inf, prod

from tacit.errors import RefusedError, show_name
from tacit.query.evaluate import evaluator
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Value, children, columns
from tacit.query.expressions.presence import is_always_present, with_stand_in
from tacit.query.expressions.ranges import prove_range
from tacit.query.policy import TablePolicy
from tacit.query.policy.column_values import read_keys
from tacit.query.refusals import refused
from tacit.query.sql.calendar_order import calendar_places
from tacit.query.sql.moment_grid import moments, resolution, timestamp_in

_MOST_COMBINATIONS = 100_000
_MOST_INTEGERS = 10_000

Values = tuple[Value, ...]
PublicParts = dict[Expression, Values]
"""Parts of an expression whose values are public, with these values."""


def domain(expression: Expression, name: str, table: TablePolicy, listed: Sequence[Value] | None = None) -> Values:
    """Return the public values of a key, in order, or raise RefusedError.

    Args:
        expression: the key of a row.
        name: the name of the key, for messages.
        table: the policy of the columns.
        listed: the values that the caller lists, which come before all others.

    >>> from fractions import Fraction
    >>> from tacit.query.policy import ColumnPolicy
    >>> age = ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(45)))
    >>> t = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns={"age": age})
    >>> tens = Call("divide", (Column("age", "real"), Constant(10.0, "real")), "real")
    >>> bins = Call("multiply", (Call("floor", (tens,), "real"), Constant(10.0, "real")), "real")
    >>> domain(bins, "bin", t)
    (0.0, 10.0, 20.0, 30.0, 40.0)
    """
    if listed is not None:
        return read_keys(listed, expression.kind, f"keys of {show_name(name)}")
    column = own_column(expression, table)
    if column is not None and (keys := table.columns[column.name].keys) is not None:
        return keys
    named = _named_parts(expression)
    parts = _public_parts(expression, table) if named is None else named
    if parts is None or len(parts.get(expression, ())) > _most_values(expression):
        raise _not_public(expression, name, table)
    values = parts[expression] if expression in parts else _images(expression, parts)
    if not values:
        raise refused(f"{show_name(name)} is NULL for every row and has no groups", "Group by another value.")
    return values


def own_column(expression: Expression, table: TablePolicy) -> Column | None:
    """Return the column that an expression is, also if it is required, so that NULL is read as a constant."""
    if isinstance(expression, Column):
        return expression
    pair = with_stand_in(expression)
    if (
        pair is None
        or not table.columns[pair[0].name].required
        or table.columns[pair[0].name].stand_in != pair[1].value
    ):
        return None
    return pair[0]


def possible_values(expression: Expression) -> frozenset[Value] | None:
    """Return all values that a key can have, if the query itself names them; None if other values are possible.

    >>> flag = Column("flag", "boolean")
    >>> sorted(map(str, possible_values(flag) or ())), possible_values(Column("age", "integer"))
    (['False', 'None', 'True'], None)
    """
    parts = _named_parts(expression)
    if parts is None:
        return None
    values = parts[expression] if expression in parts else _images(expression, parts)
    return frozenset(values) | (frozenset() if is_always_present(expression) else {None})


def _most_values(expression: Expression) -> int:
    """Return the largest number of groups of one expression; fewer days than can be used to compute years."""
    return _MOST_INTEGERS if isinstance(expression, Column) and expression.kind == "date" else _MOST_COMBINATIONS


def _named_parts(part: Expression) -> PublicParts | None:
    """Return conditions and CASEs that determine a part, with all values that they can have; None if others do too.

    For all values of the columns, a condition is false or true, and a CASE is one of its results.
    """
    if isinstance(part, Constant):
        return {}
    if part.kind == "boolean":
        return {part: (False, True)}
    below = [_named_parts(child) for child in children(part)]
    if isinstance(part, Case):
        results = _results(part, below)
        return None if results is None else {part: results}
    return None if isinstance(part, Column) else _merge(below)


def _public_parts(part: Expression, table: TablePolicy) -> PublicParts | None:
    """Return the innermost parts with public values that determine a part; None if there are no such parts."""
    if isinstance(part, Constant):
        return {}
    if isinstance(part, Column):
        return _column_values(part, table)
    if (values := _values_in_time(part, table)) is not None:
        return {part: values}
    inner = [_public_parts(child, table) for child in children(part)]
    merged = _merge(inner)
    if merged is not None and all(isinstance(source, Column) for source in merged):
        return _with_results(part, merged)
    named = _truths(part) or _results(part, inner)
    if named is None and merged is not None:
        return merged
    values = named or _integers(part, table)
    return None if values is None else {part: values}


def _with_results(part: Expression, below: PublicParts) -> PublicParts:
    """Return the public parts of a part; for a CASE its values, including all results that the query names."""
    results = children(part)[1::2] + children(part)[-1:] if isinstance(part, Case) else []
    named = {value for result in results if (value := getattr(result, "value", None)) is not None}
    return {part: _sort({*_images(part, below), *named})} if named else below


def _merge(parts: Iterable[PublicParts | None]) -> PublicParts | None:
    """Return all public parts together; None if some are missing or have too many combinations."""
    merged: PublicParts = {}
    for values in parts:
        if values is None:
            return None
        merged.update(values)
    return merged if prod(len(values) for values in merged.values()) <= _MOST_COMBINATIONS else None


def _column_values(column: Column, table: TablePolicy) -> PublicParts | None:
    policy = table.columns[column.name]
    values = policy.keys or _truths(column) or _integers(column, table)
    if values is None and policy.days is not None and column.kind == "date":
        values = _days(*policy.days)
    return None if values is None else {column: values}


def _days(first: date, last: date) -> Values | None:
    count = (last - first).days + 1
    return None if count > _MOST_COMBINATIONS else tuple(first + timedelta(days=day) for day in range(count))


def _values_in_time(part: Expression, table: TablePolicy) -> Values | None:
    """Return the values of a function of the day, or of a label of the time, of a timestamp with bounds.

    A whole number that depends on the time of day, such as the hour, has its values without bounds.
    """
    moment, unit = timestamp_in(part), resolution(part)
    if moment is None or unit is None or (unit != "day" and part.kind == "integer"):
        return None
    policy = table.columns[moment.name]
    if policy.keys is not None or policy.days is None:
        return None
    ends = policy.moments or (datetime.combine(policy.days[0], time.min), datetime.combine(policy.days[1], time.max))
    listed = moments(*ends, unit, _MOST_COMBINATIONS)
    return None if listed is None else _images(part, {moment: listed})


def _truths(part: Expression) -> Values | None:
    return (False, True) if part.kind == "boolean" else None


def _results(part: Expression, below: Sequence[PublicParts | None]) -> Values | None:
    """Return all values of a CASE: the values of each result, from its public parts."""
    if not isinstance(part, Case):
        return None
    indices = [index for index in range(len(below)) if index % 2 or index == 2 * len(part.branches)]
    values: set[Value] = set()
    for index in indices:
        result, parts = children(part)[index], below[index]
        if parts is None:
            return None
        values.update(parts[result] if result in parts else _images(result, parts))
    return _sort(values) if values else None


def _integers(part: Expression, table: TablePolicy) -> Values | None:
    """Return the whole numbers between proved ends, if the part is always whole and there are not too many."""
    ends = prove_range(part, _bounds(table), any_moment=False) if _is_whole(part) else None
    if ends is None or floor(ends[1]) - ceil(ends[0]) >= _MOST_INTEGERS:
        return None
    numbers = range(ceil(ends[0]), floor(ends[1]) + 1)
    return tuple(numbers) if part.kind == "integer" else tuple(float(number) for number in numbers)


def _bounds(table: TablePolicy) -> dict[str, tuple[Fraction, Fraction]]:
    return {name: column.ends for name, column in table.columns.items() if column.ends is not None}


def _is_whole(part: Expression) -> bool:
    """Return whether a part is a whole number on every row on which it is finite."""
    match part:
        case Call(function="floor" | "ceil"):
            return True
        case Call(function="round", arguments=(_, *digits)):
            return all(isinstance(digit, Constant) and digit.value in range(-15, 1) for digit in digits)
        case Call(
            function="add" | "subtract" | "multiply" | "negate" | "abs" | "least" | "greatest" | "clamp" | "coalesce"
        ):
            return all(_is_whole(argument) for argument in part.arguments)
        case Constant(value=float() as value):
            return value.is_integer()
        case Cast(operand=operand, kind="real"):
            return operand.kind == "integer"
        case _:
            return part.kind == "integer"


def _images(expression: Expression, parts: PublicParts) -> Values:
    """Return the distinct values of an expression over all combinations of its parts' values and NULL, in order."""
    run = evaluator(expression, tuple(parts))
    images = {value for row in product(*parts.values()) if (value := run(row)) is not None or None in row}
    with_null = (values if None in values else (*values, None) for values in parts.values())
    return _sort(images | {value for row in product(*with_null) if (value := run(row)) is not None})


def _sort(values: set[Value]) -> Values:
    """Return the values sorted, NULL last, without infinite values and with one zero; weekdays and months in order."""
    finite = [value + 0.0 if isinstance(value, float) else value for value in values if value not in (inf, -inf)]
    places = calendar_places(finite)
    return tuple(sorted(finite, key=lambda value: (value is None, places.get(value, 0), value)))


def _not_public(expression: Expression, key: str, table: TablePolicy) -> RefusedError:
    """Return the error that names the columns without public values and says what to do."""
    many = _too_many(expression, table)
    if many is not None:
        return refused(f"{show_name(key)} has {many}", "Group in larger bins, or list the keys that you need.")
    used = ((name, table.columns[name].named(name)) for name in sorted(columns(expression)))
    bare = [name for name, column in used if _column_values(column, table) is None]
    kinds = {table.columns[name].kind for name in bare}
    bounded = all(table.columns[name].bounds is not None for name in bare)
    bins = ""
    if kinds & {"integer", "real"}:
        bins = f" Numbers {'' if bounded else 'with bounds '}can be grouped in bins, such as floor(x / 10) * 10."
    if kinds == {"integer"} and not bounded and len(bare) == 1:
        bins += (
            f" With bounds={{{bare[0]!r}: (low, high)}} or --bounds {bare[0]}=LOW:HIGH each whole number is a group."
        )
    if kinds & {"date", "timestamp"}:
        bins += " Dates with bounds can be grouped by day, week, month or year, such as date_trunc('month', x)."
    have = "has" if len(bare) == 1 else "have"
    why = f"{', '.join(bare)} {have} no public keys" if bare else f"more than {_MOST_COMBINATIONS:,} combinations"
    return refused(
        f"The values of {show_name(key)} are not public ({why})",
        "Ask the data's steward to list them in the policy, as keys of the column; "
        f"in Python the query can list them too: keys={{{show_name(key)}: [...]}}.{bins}",
    )


def _too_many(expression: Expression, table: TablePolicy) -> str | None:
    """Return the number of values and the limit as text, if the number is known and above the limit."""
    parts = _public_parts(expression, table)
    if parts is not None and expression in parts:
        return f"{len(parts[expression]):,} values; the limit is {_most_values(expression):,}"
    bounds = _bounds(table)
    ends = prove_range(expression, bounds, any_moment=False) if _is_whole(expression) else None
    if ends is None or parts is not None or not columns(expression) <= set(bounds):
        return None
    return f"{floor(ends[1]) - ceil(ends[0]) + 1:,} values; the limit is {_MOST_INTEGERS:,}"
