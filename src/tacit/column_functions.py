"""Private statistics of one column, without a database: `tc.count`, `tc.sum`, `tc.mean`, `tc.quantile`, `tc.histogram`.

Each call opens the column in memory with `unit=tc.ROW` and a budget of exactly this call, and asks the verb of that
name. So the guarantee, the treatment of None, NaN and infinities, the answer and its interval are those of a database.
A list has no type. It is read as numbers, or as values of the kind of the keys; a value of another kind is missing.

**Guarantee.** Every value is one unit. The answer has the guarantee of the call under the given neighbour relation
(see `session`). Nothing adds up several calls: their costs add up, and `tc.compose` computes by how much. To keep a
budget, or if a person has several values, use `tc.open`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Literal, TypeAlias, TypedDict, Unpack

import numpy as np

from tacit.database import Database
from tacit.engines.duckdb.columns import column_of_kind, kind_of_keys
from tacit.errors import InvalidError
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Number
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.opening import open as open_database
from tacit.query.expressions import Kind, Value
from tacit.query.policy import ROW
from tacit.query.policy.mistakes import PolicyError
from tacit.query.results.release import Release
from tacit.query_options import Options

ColumnBounds: TypeAlias = tuple[Number, Number] | Literal["auto"]
"""The public bounds of the values; with "auto" a part of the cost chooses them privately."""

_NAME = "value"


class ColumnOptions(TypedDict, total=False):
    """The arguments that all functions of a column take: the cost, the neighbour relation and the confidence."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    neighbours: Neighbours
    confidence: float


def count(values: object, **options: Unpack[ColumnOptions]) -> Release:
    """Count the values of a column, also missing ones.

    >>> r = count([3, 5, None, 8], epsilon=100)
    >>> int(r), r.interval
    (4, (4.0, 4.0))

    Args:
        values: a list, a NumPy array, or a column of pandas, polars or Arrow; each value is one unit.
        options: `epsilon`, `delta` or `rho`, the cost; `neighbours`, "add/remove" by default; `confidence` of the
            interval.
    """
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Sized) or getattr(values, "ndim", 1) != 1:
        raise _not_a_column(values)
    with _opened({_NAME: np.zeros(len(values))}, None, options) as db:
        return db.count(**_cost(options))


def sum(values: object, *, bounds: ColumnBounds | None = None, **options: Unpack[ColumnOptions]) -> Release:  # noqa: A001 - the name is the public surface's
    """Add up a column of numbers; values beyond the bounds are clipped, and missing ones are skipped.

    >>> round(float(sum([3, 5, None, 8], bounds=(0, 10), epsilon=10_000)))
    16

    Args:
        values: as for `count`.
        bounds: the public bounds of the values, or "auto".
        options: as for `count`.
    """
    with _opened(_source(values), _given(bounds), options) as db:
        return db.sum(_NAME, **_cost(options, bounds))


def mean(values: object, *, bounds: ColumnBounds | None = None, **options: Unpack[ColumnOptions]) -> Release:
    """Average a column of numbers; values beyond the bounds are clipped, and missing ones are skipped.

    >>> round(float(mean([20, 40, 60], bounds=(0, 100), epsilon=10_000)))
    40

    Args:
        values: as for `count`.
        bounds: the public bounds of the values, or "auto".
        options: as for `count`.
    """
    with _opened(_source(values), _given(bounds), options) as db:
        return db.mean(_NAME, **_cost(options, bounds))


def quantile(
    values: object, q: float | Sequence[float], *, bounds: ColumnBounds | None = None, **options: Unpack[ColumnOptions]
) -> Release:
    """Return one quantile of a column of numbers, or several, which share the cost.

    >>> len(quantile(range(100), [0.25, 0.75], bounds=(0, 100), epsilon=1)[0])
    2

    Args:
        values: as for `count`.
        q: a number from 0 to 1, or several.
        bounds: the public bounds of the values, or "auto".
        options: as for `count`.
    """
    with _opened(_source(values), _given(bounds), options) as db:
        return db.quantile(_NAME, q, **_cost(options, bounds))


def histogram(
    values: object,
    *,
    bins: int | Sequence[float] | None = None,
    keys: Sequence[Value] | None = None,
    bounds: tuple[Number, Number] | None = None,
    **options: Unpack[ColumnOptions],
) -> Release:
    """Count the values of a column in bins, or by public keys: whole numbers, never negative.

    >>> histogram(["a", "b", "a"], keys=["a", "b", "c"], epsilon=100).to_dict()
    {'value': ['a', 'b', 'c'], 'count': [2, 1, 0]}

    Args:
        values: as for `count`.
        bins: the edges of bins of numbers, increasing; or the number of bins of equal width between `bounds`.
        keys: the public values to count, instead of bins.
        bounds: the public bounds of the values, if `bins` is a number.
        options: as for `count`.
    """
    if (bins is None) == (keys is None):
        raise InvalidError("A histogram needs bins or keys, and not both.", argument="bins", hint="Give one of them.")
    if bounds is not None and not isinstance(bins, int):
        raise InvalidError("bounds has no effect without a number of bins.", argument="bounds", hint="Remove it.")
    kind: Kind = "real" if keys is None else kind_of_keys(list(keys))
    with _opened(_source(values, kind), bounds, options) as db:
        if keys is not None:
            cost = _cost(options)
            cost["keys"] = {_NAME: keys}
            return db.crosstab(_NAME, **cost)
        return db.histogram(_NAME, [] if bins is None else bins, **_cost(options))


def _source(values: object, kind: Kind = "real") -> object:
    """Return a source with one column, in the library of the values if it has one.

    A column without a type, such as a list or an array of objects, is read as values of one kind, which follows from
    the call and never from the values.
    """
    library, name = type(values).__module__.partition(".")[0], type(values).__name__
    typed = str(getattr(values, "dtype", "object")).lower() != "object"
    if library in ("pandas", "polars") and name == "Series" and typed:
        return values.to_frame(_NAME)  # type: ignore[attr-defined]  # both have it
    if library == "pyarrow" and name.endswith("Array"):
        from pyarrow import table  # noqa: PLC0415 - not a dependency

        return table({_NAME: values})
    if isinstance(values, (str, bytes, Mapping)) or hasattr(values, "columns"):
        raise _not_a_column(values)
    if typed or not isinstance(values, Iterable):
        return {_NAME: values}
    return {_NAME: column_of_kind(_NAME, values, kind)}


def _not_a_column(values: object) -> InvalidError:
    """Return the error for a value that is not a column. It names the type alone: values and lengths are private."""
    return InvalidError(
        f"values must be a list, an array or a column of pandas, polars or Arrow, not of type {type(values).__name__}.",
        argument="values",
        hint="For a table use tacit.open(...).",
    )


def _given(bounds: ColumnBounds | None) -> ColumnBounds:
    if bounds is None:
        raise InvalidError(
            "The values need bounds.",
            argument="bounds",
            hint="Give public bounds, such as bounds=(0, 100), or bounds='auto', which a part of the cost chooses.",
        )
    return bounds


def _opened(source: object, bounds: object, options: ColumnOptions) -> Database:
    """Open a column under a budget that is the cost of this call."""
    unknown = next((name for name in options if name not in ColumnOptions.__annotations__), None)
    if unknown is not None:
        known = ", ".join(ColumnOptions.__annotations__)
        raise InvalidError(f"There is no option {unknown!r}.", argument=unknown, hint=f"The options are {known}.")
    declared = None if bounds is None or (isinstance(bounds, str) and bounds == "auto") else {_NAME: bounds}
    try:
        return open_database(
            source,
            unit=ROW,
            bounds=declared,  # type: ignore[arg-type]  # `open` checks them
            neighbours=options.get("neighbours", "add/remove"),
            budget=_budget(options),
        )
    except PolicyError as error:
        mistake = error.mistakes[0]
        if len(error.mistakes) == 1 and mistake.where == f"bounds[{_NAME!r}]":
            raise InvalidError(f"bounds {mistake.message}.", argument="bounds") from None
        raise


def _budget(options: ColumnOptions) -> PureDP | ApproxDP | ZCDP:
    epsilon, delta, rho = options.get("epsilon"), options.get("delta"), options.get("rho")
    if (epsilon is None) == (rho is None):
        problem = "has no cost" if epsilon is None else "has two costs"
        raise InvalidError(f"The call {problem}.", argument="epsilon", hint="Give epsilon=0.5, or rho=0.01.")
    if rho is not None and delta is not None:
        raise InvalidError("rho cannot be combined with delta.", argument="delta", hint="Remove delta.")
    if rho is not None:
        return ZCDP(rho=rho)  # type: ignore[arg-type]  # any number
    if delta is not None:
        return ApproxDP(epsilon=epsilon, delta=delta)  # type: ignore[arg-type]  # as above
    return PureDP(epsilon=epsilon)  # type: ignore[arg-type]  # as above


def _cost(options: ColumnOptions, bounds: object = None) -> Options:
    """Return the options of the verb."""
    cost = Options(
        epsilon=options.get("epsilon"),
        delta=options.get("delta"),
        rho=options.get("rho"),
        confidence=options.get("confidence", 0.95),
    )
    return {**cost, "bounds": {_NAME: "auto"}} if isinstance(bounds, str) and bounds == "auto" else cost
