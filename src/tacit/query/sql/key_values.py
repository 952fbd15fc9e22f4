"""The public values that a group key may take.

They come from the policy and the question alone, in this order: keys that the caller lists; a column's keys; false and
true; whole numbers or days between proved ends; what an expression makes of such values; the results of a CASE. NULL is
among them only if it is listed: rows without a listed key are dropped. In an expression a column may be NULL all the
same, so that `coalesce(region, 'unknown')` has its value.

Rows are grouped by their values as they are, not clamped. So a row beyond a column's bounds has the bin that it belongs
to, which is not listed, and is left out of the groups; in the first or the last bin it would be a lie. Where the
question itself names all results, as a comparison and a CASE of constants do, all of them are listed, and no row is
left out for its bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from itertools import product
from math import ceil, floor, inf, prod

from tacit.query.evaluate import evaluator
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Value, children, columns
from tacit.query.expressions.ranges import proven
from tacit.query.expressions.time import DAYS_AND_LONGER
from tacit.query.policy import TablePolicy
from tacit.query.policy.column_values import read_keys
from tacit.query.refusals import quoted, refused

_MOST_COMBINATIONS = 100_000
_MOST_INTEGERS = 10_000

Values = tuple[Value, ...]
Sources = dict[Expression, Values]
"""Parts of an expression whose values are public, with those values."""


def domain(expression: Expression, name: str, table: TablePolicy, listed: Sequence[Value] | None = None) -> Values:
    """Return the values a key may take, in order, or raise RefusedError.

    Args:
        expression: how a row gets its key.
        name: what the key is called, for messages.
        table: the policy of the columns.
        listed: the values that the caller gives, which come before all others.

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
        return read_keys(listed, expression.kind, f"keys of {quoted(name)}")
    if isinstance(expression, Column) and (keys := table.columns[expression.name].keys) is not None:
        return keys
    named = _named(expression)
    sources = _sources(expression, table) if named is None else named
    if sources is None or len(sources.get(expression, ())) > _most(expression):
        raise _unknown(expression, name, table)
    found = sources[expression] if expression in sources else _images(expression, sources)
    if not found:
        raise refused(
            f"{quoted(name)} is NULL for every row, so there is nothing to group by", "Group by another value."
        )
    return found


def _most(expression: Expression) -> int:
    """Return how many groups an expression may have for itself: not as many days as one may compute years from."""
    return _MOST_INTEGERS if isinstance(expression, Column) and expression.kind == "date" else _MOST_COMBINATIONS


def _named(part: Expression) -> Sources | None:
    """Return conditions and choices from which alone a part follows, with all that they can be; None if there are more.

    Whatever the columns are, a condition is false or true and a CASE one of its results.
    """
    if isinstance(part, Constant):
        return {}
    if part.kind == "boolean":
        return {part: (False, True)}
    below = [_named(child) for child in children(part)]
    if isinstance(part, Case):
        found = _results(part, below)
        return None if found is None else {part: found}
    return None if isinstance(part, Column) else _merged(below)


def _sources(part: Expression, table: TablePolicy) -> Sources | None:
    """Return the innermost parts whose values are public and from which the part follows; None if there are none."""
    if isinstance(part, Constant):
        return {}
    if isinstance(part, Column):
        return _of_column(part, table)
    if (days := _of_days(part, table)) is not None:
        return {part: days}
    found = [_sources(child, table) for child in children(part)]
    below = _merged(found)
    if below is not None and all(isinstance(source, Column) for source in below):
        return _with_results(part, below)
    own = _truths(part) or _results(part, found)
    if own is None and below is not None:
        return below
    own = own or _integers(part, table)
    return None if own is None else {part: own}


def _with_results(part: Expression, below: Sources) -> Sources:
    """Return the sources of a part; of a CASE its values, with all results that the question names among them."""
    results = children(part)[1::2] + children(part)[-1:] if isinstance(part, Case) else []
    named = {value for result in results if (value := getattr(result, "value", None)) is not None}
    return {part: _in_order({*_images(part, below), *named})} if named else below


def _merged(found: Iterable[Sources | None]) -> Sources | None:
    """Return all sources together, unless one is missing or their combinations are too many."""
    merged: Sources = {}
    for sources in found:
        if sources is None:
            return None
        merged.update(sources)
    return merged if prod(len(values) for values in merged.values()) <= _MOST_COMBINATIONS else None


def _of_column(column: Column, table: TablePolicy) -> Sources | None:
    policy = table.columns[column.name]
    values = policy.keys or _truths(column) or _integers(column, table)
    if values is None and policy.days is not None and column.kind == "date":
        values = _days(*policy.days)
    return None if values is None else {column: values}


def _days(first: date, last: date) -> Values | None:
    count = (last - first).days + 1
    return None if count > _MOST_COMBINATIONS else tuple(first + timedelta(days=day) for day in range(count))


def _of_days(part: Expression, table: TablePolicy) -> Values | None:
    """Return what a function of the day alone makes of a timestamp between known days; the time of day is not known."""
    moment = children(part)[-1]
    if not isinstance(moment, Column) or moment.kind != "timestamp" or not _is_of_day(part):
        return None
    days = table.columns[moment.name].days
    listed = None if days is None else _days(*days)
    if listed is None or table.columns[moment.name].keys is not None:
        return None
    midnights = tuple(datetime(day.year, day.month, day.day) for day in listed if isinstance(day, date))  # noqa: DTZ001 - without a zone
    return _images(part, {moment: midnights})


def _is_of_day(part: Expression) -> bool:
    match part:
        case Cast(kind="date") | Call(function="year" | "quarter" | "month" | "day" | "weekday"):
            return True
        case Call(function="date_trunc", arguments=(Constant(value=unit), _)):
            return unit in DAYS_AND_LONGER
        case _:
            return False


def _truths(part: Expression) -> Values | None:
    return (False, True) if part.kind == "boolean" else None


def _results(part: Expression, below: Sequence[Sources | None]) -> Values | None:
    """Return what a CASE can give: what each of its results can be, from the sources of its parts."""
    if not isinstance(part, Case):
        return None
    results = [place for place in range(len(below)) if place % 2 or place == 2 * len(part.branches)]
    found: set[Value] = set()
    for place in results:
        result, sources = children(part)[place], below[place]
        if sources is None:
            return None
        found.update(sources[result] if result in sources else _images(result, sources))
    return _in_order(found) if found else None


def _integers(part: Expression, table: TablePolicy) -> Values | None:
    """Return the whole numbers between proved ends, if the part is always whole and they are few enough."""
    bounds = {name: column.bounds for name, column in table.columns.items() if column.bounds is not None}
    ends = proven(part, bounds) if _is_whole(part) else None
    if ends is None or floor(ends[1]) - ceil(ends[0]) >= _MOST_INTEGERS:
        return None
    numbers = range(ceil(ends[0]), floor(ends[1]) + 1)
    return tuple(numbers) if part.kind == "integer" else tuple(float(number) for number in numbers)


def _is_whole(part: Expression) -> bool:
    """Whether a part is a whole number wherever it is a finite number."""
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


def _images(expression: Expression, sources: Sources) -> Values:
    """Return the distinct values of an expression over all combinations of its sources' values and NULL, in order."""
    run = evaluator(expression, tuple(sources))
    listed = product(*sources.values())
    found = {value for row in listed if (value := run(row)) is not None or None in row}
    with_null = (values if None in values else (*values, None) for values in sources.values())
    return _in_order(found | {value for row in product(*with_null) if (value := run(row)) is not None})


def _in_order(values: set[Value]) -> Values:
    """Return values sorted, NULL last, without infinite ones and with one zero."""
    plain = [value + 0.0 if isinstance(value, float) else value for value in values if value not in (inf, -inf)]
    return tuple(sorted(plain, key=lambda value: (value is None, value)))


def _unknown(expression: Expression, key: str, table: TablePolicy) -> Exception:
    """Say which columns lack public values and what may be done."""
    many = _too_many(expression, table)
    if many is not None:
        return refused(f"{quoted(key)} can take {many}", "Group in larger bins, or list the keys that you want.")
    named = ((name, Column(name, table.columns[name].kind)) for name in sorted(columns(expression)))
    bare = [name for name, column in named if _of_column(column, table) is None]
    kinds = {table.columns[name].kind for name in bare}
    bounded = all(table.columns[name].bounds is not None for name in bare)
    bins = ""
    if kinds & {"integer", "real"}:
        bins = f" Numbers {'' if bounded else 'with bounds '}can be grouped in bins, such as floor(x / 10) * 10."
    if kinds & {"date", "timestamp"}:
        bins += " Dates with bounds can be grouped by day, week, month or year, such as date_trunc('month', x)."
    have = "has" if len(bare) == 1 else "have"
    why = f"{', '.join(bare)} {have} no public keys" if bare else f"more than {_MOST_COMBINATIONS:,} combinations"
    return refused(
        f"The values that {quoted(key)} can take are not public ({why})",
        "Have the data's steward list them in the policy, as keys of the column; "
        f"in Python they may come with the question too: keys={{{quoted(key)}: [...]}}.{bins}",
    )


def _too_many(expression: Expression, table: TablePolicy) -> str | None:
    """Say how many values there are, if they are known and too many."""
    sources = _sources(expression, table)
    if sources is not None and expression in sources:
        return f"{len(sources[expression]):,} values, more than {_most(expression):,}"
    bounds = {name: column.bounds for name, column in table.columns.items() if column.bounds is not None}
    ends = proven(expression, bounds) if _is_whole(expression) else None
    if ends is None or sources is not None or not columns(expression) <= set(bounds):
        return None
    return f"{floor(ends[1]) - ceil(ends[0]) + 1:,} values, more than {_MOST_INTEGERS:,}"
