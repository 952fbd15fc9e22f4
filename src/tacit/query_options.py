"""The options that `db.sql`, `db.plan` and every verb take, and the question that they make of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from tacit.errors import InvalidError, UnusedOptionError, show_name, suggestion
from tacit.guarantees.exact import Number, fraction_between
from tacit.query.expressions import Value
from tacit.query.policy.limits import AUTO, Limits, QueryBounds
from tacit.query.pricing.price import Cost
from tacit.query.results.quote import TENTH, Question
from tacit.query.sql.parameters import ParameterValue, bind
from tacit.verbs import ColumnNames


class Options(TypedDict, total=False):
    """The arguments that every verb takes as `Database.plan` does."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    error: Number | Mapping[str, Number] | None
    keys: Mapping[str, Sequence[Value]] | None
    confidence: float
    assume: int | None
    reach: int | Literal["auto"] | None
    max_groups: int | None
    max_rows: int | None
    bounds: QueryBounds | None
    measure_cut: int | None
    share: Number | None
    intervals: bool
    params: Mapping[str, ParameterValue] | None


class RunOptions(Options, total=False):
    """The arguments that every verb takes as `Database.sql` does."""

    request: str | None


class RowOptions(RunOptions, total=False):
    """The same, with the rows that a verb reads."""

    where: str | None
    table: str | None


class BoundsOptions(TypedDict, total=False):
    """The arguments of `Database.bounds`."""

    epsilon: Number | None
    rho: Number | None
    where: str | None
    table: str | None
    confidence: float
    request: str | None


class GroupOptions(RowOptions, total=False):
    """The same, with the columns that a verb groups by."""

    by: ColumnNames


def check_options(options: Mapping[str, object], known: type[Options] = RunOptions, more: Sequence[str] = ()) -> None:
    """Raise InvalidError for an option that the call does not have; `more` are the names of its other options.

    >>> check_options({"epsilom": 1})
    Traceback (most recent call last):
    tacit.errors.InvalidError: There is no option 'epsilom'. Did you mean 'epsilon'?
    """
    names = [*known.__annotations__, *more]
    unknown = next((name for name in options if name not in names), None)
    if unknown is not None:
        hint = suggestion(unknown, names) or f"The options are {', '.join(names)}."
        raise InvalidError(f"There is no option {show_name(unknown)}.", argument=unknown, hint=hint)


def question_of(query: str, options: Options) -> Question:
    """Return a query with its cost and options, checked."""
    keys, share, measure_cut = options.get("keys"), options.get("share"), options.get("measure_cut")
    bounds: object = options.get("bounds")
    chooses = options.get("reach") == AUTO or (isinstance(bounds, Mapping) and AUTO in bounds.values())
    if share is not None and measure_cut is None and not chooses:
        when = 'without reach="auto", bounds that are "auto", or measure_cut'
        raise UnusedOptionError("share", when, hint="Add one of them, or leave out share.")
    return Question(
        query=bind(query, options.get("params")),
        cost=Cost(
            epsilon=options.get("epsilon"),
            delta=options.get("delta"),
            rho=options.get("rho"),
            error=options.get("error"),
        ),
        keys=dict(keys) if isinstance(keys, Mapping) else keys,
        confidence=options.get("confidence", 0.95),
        assume=options.get("assume"),
        limits=limits_of(options),
        measure_cut=measure_cut,
        share=TENTH if share is None else fraction_between(share, "share", 0, 1),
        intervals=options.get("intervals", True),
    )


def limits_of(options: Options) -> Limits:
    """Return the limits and bounds of a query, checked."""
    return Limits(
        reach=options.get("reach"),
        max_groups=options.get("max_groups"),
        max_rows=options.get("max_rows"),
        bounds=options.get("bounds"),
    )
