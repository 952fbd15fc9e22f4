"""The marginals that a caller asks for: lists of columns, or all up to some size, with their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, TypeAlias

from tacit.errors import ColumnNotFoundError, InvalidError, RefusedError, UnusedOptionError, bad_value, show_name
from tacit.guarantees.exact import whole
from tacit.query.formatting import count_text
from tacit.synthetic.marginal_release import Columns

MarginalName: TypeAlias = str | Sequence[str]
"""The columns of a marginal, or one column."""
Weights: TypeAlias = Mapping[Any, float] | Sequence[float]
"""A weight for some marginals, or one for each; keys of mappings are invariant, so their type is not stated."""

MOST_MARGINALS = 20_000
_LEAST_WEIGHT = 1e-9
_FORM = 'a list of marginals such as [("age", "sex"), "town"]'


def read_marginals(marginals: object) -> list[tuple[str, ...]] | None:
    """Return the columns of each marginal of a list; None without one.

    >>> read_marginals([("age", "sex"), "town"])
    [('age', 'sex'), ('town',)]
    """
    if marginals is None:
        return None
    listed = [marginals] if isinstance(marginals, str) else marginals
    if not isinstance(listed, Sequence) or not listed:
        raise bad_value("marginals", marginals, _FORM)
    return [read_name(each) for each in listed]


def read_name(name: object) -> tuple[str, ...]:
    """Return the columns of one marginal, or raise InvalidError."""
    columns = (name,) if isinstance(name, str) else name
    if not isinstance(columns, Sequence) or not columns or not all(isinstance(each, str) for each in columns):
        raise bad_value("marginals", name, _FORM)
    if len(set(columns)) < len(columns):
        fact = f"The marginal ({', '.join(columns)}) names a column twice."
        raise InvalidError(fact, argument="marginals", hint="Name each column once.")
    return tuple(columns)


def check_choice(listed: object, ways: object, columns: object, bins: Mapping[str, object]) -> None:
    """Raise InvalidError unless either marginals are listed or `ways` is given."""
    if (listed is None) == (ways is None):
        raise InvalidError(
            "Give either a list of marginals or ways.",
            argument="marginals",
            hint='For example db.marginals([("age", "sex")], …), or db.marginals(ways=2, …) for all pairs.',
        )
    if listed is not None and columns is not None:
        raise UnusedOptionError("columns", "with a list of marginals", hint="Give columns with ways=.")
    if isinstance(listed, list):
        named = {column for marginal in listed for column in marginal}
        for name in bins:
            if name not in named:
                raise ColumnNotFoundError(name, sorted(named), argument="bins")


def requested_sets(
    names: Sequence[str], listed: Sequence[tuple[str, ...]] | None, ways: object, weights: Weights | None
) -> dict[Columns, float]:
    """Return the marginals as tuples of rising places of columns, with their weights.

    Args:
        names: the names of the columns.
        listed: the marginals that are listed; None for all up to `ways` columns.
        ways: the largest number of columns of a marginal.
        weights: the weight of some marginals, or of each listed one.
    """
    if listed is None:
        most = whole(ways)
        if most is None or not 1 <= most <= len(names):
            raise bad_value("ways", ways, f"a whole number from 1 to {len(names)}, the number of columns")
        count = sum(comb(len(names), size) for size in range(1, most + 1))
        if count > MOST_MARGINALS:
            fact = (
                f"There are {count:,} marginals of up to {most} of {len(names)} columns, more than {MOST_MARGINALS:,}."
            )
            raise RefusedError(fact, hint="Lower ways, or name fewer columns.")
        sets = [each for size in range(1, most + 1) for each in combinations(range(len(names)), size)]
    else:
        sets = [places_of(names, each) for each in listed]
        if len(set(sets)) < len(sets):
            raise InvalidError("A marginal is listed twice.", argument="marginals", hint="List it once.")
    return _weighted(sets, _read_weights(names, sets, weights))


def places_of(names: Sequence[str], columns: Sequence[str]) -> Columns:
    """Return the rising places of some columns, or raise ColumnNotFoundError."""
    for column in columns:
        if column not in names:
            raise ColumnNotFoundError(column, names, argument="marginals")
    return tuple(sorted(names.index(column) for column in columns))


def _weighted(sets: Sequence[Columns], weights: Mapping[Columns, float]) -> dict[Columns, float]:
    return {columns: weights.get(columns, 1.0) for columns in sets}


def _read_weights(names: Sequence[str], sets: Sequence[Columns], weights: object) -> dict[Columns, float]:
    """Return the weights that were given, or raise InvalidError."""
    if weights is None:
        return {}
    given: dict[Columns, object] = {}
    if isinstance(weights, Mapping):
        for name, value in weights.items():
            columns = places_of(names, read_name(name))
            if columns not in sets or columns in given:
                problem = "has two weights" if columns in given else "has a weight but is not asked for"
                raise InvalidError(f"The marginal {_shown(name)} {problem}.", argument="weights")
            given[columns] = value
    elif isinstance(weights, Sequence) and not isinstance(weights, str) and len(weights) == len(sets):
        given.update(zip(sets, weights, strict=True))
    else:
        wanted = f"a mapping from marginals to numbers, or a list of {count_text(len(sets), 'number')}"
        raise bad_value("weights", weights, wanted)
    return {columns: _weight(value) for columns, value in given.items()}


def _weight(value: object) -> float:
    number = isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)
    if not number or not _LEAST_WEIGHT <= value <= 1 / _LEAST_WEIGHT:  # type: ignore[operator]  # a number; NaN fails
        raise bad_value("weights", value, "numbers from 1e-9 to 1e9")
    return float(value)  # type: ignore[arg-type]  # as above


def _shown(name: object) -> str:
    return show_name(name if isinstance(name, str) else ", ".join(read_name(name)))
