"""A question as the API and the pages send it, and the arguments that it means for a database.

A question is SQL, or a verb with its arguments, and a cost with options: the same names as in Python. A date is
`{"date": "2026-01-31"}` and a timestamp `{"timestamp": "2026-01-31T12:00:00"}`; a fraction is a text such as "1/3".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction
from math import isfinite
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from tacit.database import Database
from tacit.errors import InvalidError, UnusedOptionError
from tacit.query.expressions import Value
from tacit.quotes import SessionQuote

Verb = Literal[
    "count", "sum", "mean", "variance", "std", "median", "quantile", "choose", "top", "describe", "histogram",
    "crosstab",
]  # fmt: skip
VERBS: tuple[Verb, ...] = get_args(Verb)

_Text = Annotated[StrictStr, Field(max_length=100_000)]
_Name = Annotated[StrictStr, Field(min_length=1, max_length=1_000)]
_Names = Annotated[list[_Name], Field(max_length=50)]
_MOST_BINS = 10_000
_Number = StrictInt | StrictFloat
_Fraction = Annotated[StrictStr, Field(pattern=r"^[0-9]{1,40}/[1-9][0-9]{0,39}$")]
Amount: TypeAlias = _Number | _Fraction
_Whole = Annotated[StrictInt, Field(ge=1, le=2**53)]


class Day(BaseModel):
    """A date."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    date: date
    """The date, such as 2026-01-31."""


class Moment(BaseModel):
    """A timestamp."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    timestamp: datetime
    """The time without a zone, such as 2026-01-31T12:00:00."""


_Cell: TypeAlias = StrictBool | StrictInt | StrictFloat | StrictStr | Day | Moment | None
_End: TypeAlias = StrictInt | StrictFloat | Day | Moment


class Body(BaseModel):
    """A body without unknown fields, and without characters and numbers that no database stores."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _storable(cls, content: object) -> object:
        """Refuse what JSON in the database cannot hold: lone surrogates, NUL, infinity, NaN, and very deep nesting."""
        if not is_storable(content):
            raise ValueError("a text has a NUL or a lone surrogate, a number is not finite, or it is nested too deeply")
        return content


def is_storable(content: object, depth: int = 50) -> bool:
    r"""Return whether all texts and numbers in some content can be stored, and it is not nested too deeply.

    >>> is_storable({"a": ["b"]}), is_storable("a\x00"), is_storable(["\ud800"]), is_storable({"q": [float("inf")]})
    (True, False, False, False)
    """
    match content:
        case str():
            return "\0" not in content and not any("\ud800" <= letter <= "\udfff" for letter in content)
        case float():
            return isfinite(content)
        case dict() | list():
            parts = [*content, *content.values()] if isinstance(content, dict) else content
            return depth > 0 and all(is_storable(part, depth - 1) for part in parts)
    return True


class Asked(Body):
    """A question: SQL or a verb, its cost, and its options."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"sql": "SELECT region, count(*) AS n FROM survey GROUP BY region", "epsilon": 0.1},
                {"verb": "mean", "column": "income", "by": ["region"], "epsilon": 0.1},
            ]
        },
    )

    sql: _Text | None = Field(None, description="The query, in SQL.")
    verb: Verb | None = Field(None, description="A verb instead of SQL.")
    column: _Name | None = Field(None, description="The column of a verb.")
    columns: _Names | None = Field(None, description="The columns of crosstab and describe.")
    by: _Names | None = Field(None, description="The columns to group by.")
    where: _Text | None = Field(None, description="A condition in SQL.")
    table: _Name | None = Field(None, description="One of several tables.")
    q: _Number | list[_Number] | None = Field(None, description="The ranks of quantile.")
    n: StrictInt | None = Field(None, description="How many values top returns.")
    bins: Annotated[StrictInt, Field(le=_MOST_BINS)] | Annotated[list[_Number], Field(max_length=_MOST_BINS)] | None = (
        Field(None, description="The edges of the bins of histogram, or their number.")
    )
    sample: StrictBool | None = Field(None, description="Whether std and variance are those of a sample.")
    epsilon: Amount | None = Field(None, description="ε of the whole question.")
    delta: Amount | None = Field(None, description="δ of the whole question.")
    rho: Amount | None = Field(None, description="ρ instead of ε, for a budget in zCDP.")
    error: Amount | dict[_Name, Amount] | None = Field(None, description="The largest error, instead of a cost.")
    keys: dict[_Name, Annotated[list[_Cell], Field(max_length=100_000)]] | None = Field(
        None, description="Public values of group keys that the policy does not list."
    )
    confidence: StrictFloat = Field(0.95, description="The probability with which errors and intervals hold.")
    assume: _Whole | None = Field(None, description="The units that a group is assumed to have.")
    reach: StrictInt | Literal["auto"] | None = Field(None, description="The most rows of one unit.")
    max_groups: StrictInt | None = None
    """The largest number of groups in which a unit counts."""
    max_rows: StrictInt | None = None
    """The most rows of one unit that one group counts."""
    bounds: dict[_Name, tuple[_End, _End] | Literal["auto"]] | None = Field(None, description="Bounds of columns.")
    measure_cut: StrictInt | None = None
    """Measure what the reach cuts of counts and sums, up to this number of rows of a unit."""
    share: Amount | None = None
    """The part of the cost that chooses what is "auto", and the same part again for `measure_cut`."""
    intervals: StrictBool = True
    """Whether single quantiles are drawn with intervals."""
    params: dict[_Name, _Cell] | None = Field(None, description="The values of the query's parameters.")


class AskedLimits(Body):
    """A report on limits."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"epsilon": 0.1}]})

    sql: _Text | None = Field(None, description="The query whose limits are to be chosen.")
    table: _Name | None = Field(None, description="One of several tables, if there is no query.")
    spend: Amount | None = Field(None, description="The cost of the query itself; nine times that of the report.")
    epsilon: Amount | None = None
    """ε of the report."""
    delta: Amount | None = None
    """δ of the report."""
    rho: Amount | None = None
    """ρ instead of ε, for a budget in zCDP."""
    confidence: StrictFloat = 0.95
    """The probability with which the intervals hold."""


class AskedBounds(Body):
    """Private bounds of a column."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"column": "income", "epsilon": 0.1}]})

    column: _Name
    """The column."""
    where: _Text | None = None
    """A condition in SQL."""
    table: _Name | None = None
    """One of several tables."""
    epsilon: Amount | None = None
    """ε of the bounds."""
    rho: Amount | None = None
    """ρ instead of ε, for a budget in zCDP."""
    confidence: StrictFloat = 0.95
    """The probability with which the interval of the values beyond the bounds holds."""


def text_of(asked: Asked | AskedLimits | AskedBounds) -> str:
    """Return a question in one line, for the history and the audit log."""
    if isinstance(asked, AskedBounds):
        return f"bounds({asked.column})"
    if isinstance(asked, AskedLimits):
        return f"limits({asked.sql or asked.table or ''})"
    if asked.sql is not None:
        return asked.sql
    shown = {name: getattr(asked, name) for name in _ARGUMENTS + _ROWS if getattr(asked, name) is not None}
    return f"{asked.verb}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


_ARGUMENTS = ("column", "columns", "q", "n", "bins", "sample")
_ROWS = ("by", "where", "table")
_TAKES: Mapping[str, tuple[str, ...]] = {
    "count": (),
    "quantile": ("column", "q"),
    "top": ("column", "n"),
    "describe": ("columns",),
    "crosstab": ("columns",),
    "histogram": ("column", "bins"),
    "std": ("column", "sample"),
    "variance": ("column", "sample"),
}
_OPTIONAL = ("sample", "columns")
_UNGROUPED = ("top", "describe", "crosstab")


def quote_of(database: Database, asked: Asked) -> SessionQuote:
    """Plan a question; read nothing private and spend nothing."""
    options = _options(asked)
    if (asked.sql is None) == (asked.verb is None):
        raise InvalidError("A question has either sql or a verb.", argument="sql", hint="Give one of them.")
    if asked.sql is not None:
        _check_unused(asked, (*_ARGUMENTS, *_ROWS), "with sql")
        return database.plan(asked.sql, **options)
    verb = str(asked.verb)
    taken = _TAKES.get(verb, ("column",))
    rows = tuple(name for name in _ROWS if name != "by" or verb not in _UNGROUPED)
    _check_unused(asked, tuple(name for name in (*_ARGUMENTS, *_ROWS) if name not in (*taken, *rows)), f"with {verb}")
    missing = [name for name in taken if getattr(asked, name) is None and name not in _OPTIONAL]
    if missing:
        raise InvalidError(f"{verb} needs {missing[0]}.", argument=missing[0], hint="Give it.")
    given = {name: getattr(asked, name) for name in rows if getattr(asked, name) is not None}
    given |= {"sample": asked.sample} if asked.sample is not None else {}
    positional = [asked.columns or []] if "columns" in taken else [[getattr(asked, name)] for name in taken
                                                                   if name != "sample"]  # fmt: skip
    call: Callable[..., SessionQuote] = getattr(database, verb)
    return call(*(value for values in positional for value in values), plan=True, **given, **options)


def _check_unused(asked: Asked, names: tuple[str, ...], situation: str) -> None:
    for name in names:
        if getattr(asked, name) is not None:
            raise UnusedOptionError(name, situation)


_PLAIN = ("confidence", "assume", "reach", "max_groups", "max_rows", "measure_cut", "intervals")
_AMOUNTS = ("epsilon", "delta", "rho", "share", "spend")


def _options(asked: Asked) -> dict[str, Any]:
    options: dict[str, Any] = {name: getattr(asked, name) for name in _PLAIN}
    options |= amounts_of(asked)
    if isinstance(asked.error, dict):
        options["error"] = {name: _amount(each) for name, each in asked.error.items()}
    elif asked.error is not None:
        options["error"] = _amount(asked.error)
    if asked.keys is not None:
        options["keys"] = {name: [_cell(each) for each in values] for name, values in asked.keys.items()}
    if asked.bounds is not None:
        options["bounds"] = {
            name: pair if isinstance(pair, str) else tuple(map(_cell, pair)) for name, pair in asked.bounds.items()
        }
    if asked.params is not None:
        options["params"] = {name: _cell(each) for name, each in asked.params.items()}
    return options


def amounts_of(asked: Asked | AskedLimits | AskedBounds) -> dict[str, Any]:
    """Return the amounts of a question by their names."""
    return {name: _amount(value) for name in _AMOUNTS if (value := getattr(asked, name, None)) is not None}


def _amount(value: Amount) -> int | float | Fraction:
    return Fraction(value) if isinstance(value, str) else value


def _cell(value: _Cell) -> Value:
    match value:
        case Day():
            return value.date
        case Moment():
            return value.timestamp
    return value
