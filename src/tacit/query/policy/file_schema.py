"""The keys of a policy file, each with a description and an example. A test compares the reference page with them.

The models check shapes and single values only. Rules about several keys are in `file_checks`: all mistakes must be
reported at once, and a model stops at the fields that fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PlainValidator

from tacit.errors import bad_value
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import positive, to_fraction
from tacit.query.expressions import Kind
from tacit.query.policy.column_values import LARGEST_BOUND
from tacit.query.policy.engine_settings import (
    DIRECTORY,
    MEMORY,
    SECONDS,
    THREADS,
    read_memory,
    read_threads,
    read_timeout,
)

_PROBABILITY = "a number from 0 to less than 1"
_SOURCE = (
    "the path of a Parquet, CSV or DuckDB file, a glob of the first two, "
    "or postgresql://…, spark:… or sc://…, in quotes"
)
_LIMIT = f"a whole number from 1 to {LARGEST_BOUND:,}"


def _amount(value: object) -> Fraction:
    return positive(value, "budget")


def _limit(value: object) -> Fraction:
    amount = to_fraction(value, "limit", "a finite number ≥ 0")
    if amount < 0:
        raise bad_value("limit", value, "a finite number ≥ 0")
    return amount


def _delta(value: object) -> Fraction:
    delta = to_fraction(value, "delta", _PROBABILITY)
    if not 0 <= delta < 1:
        raise bad_value("delta", value, _PROBABILITY)
    return delta


_Amount: TypeAlias = Annotated[Fraction, PlainValidator(_amount)]
_Limit: TypeAlias = Annotated[Fraction, PlainValidator(_limit)]
_Delta: TypeAlias = Annotated[Fraction, PlainValidator(_delta)]
_NonEmpty: TypeAlias = Annotated[str, Field(min_length=1)]
_Whole: TypeAlias = Annotated[int, Field(ge=1, le=LARGEST_BOUND)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class BudgetModel(_Model):
    """A budget."""

    epsilon: _Amount | None = Field(None, description="a finite number > 0", examples=["epsilon = 1.0"])
    delta: _Delta | None = Field(None, description=_PROBABILITY, examples=["delta = 1e-6"])
    rho: _Amount | None = Field(None, description="a finite number > 0", examples=["rho = 0.1"])


class AnalystModel(_Model):
    """The limit of an analyst; 0 refuses every query."""

    epsilon: _Limit | None = Field(None, description="a finite number ≥ 0", examples=["epsilon = 1.0"])
    delta: _Delta | None = Field(None, description=_PROBABILITY, examples=["delta = 1e-6"])
    rho: _Limit | None = Field(None, description="a finite number ≥ 0", examples=["rho = 0.1"])


class ColumnModel(_Model):
    """The declaration of a column."""

    type: Kind | None = Field(
        None, description="integer, real, text, boolean, date or timestamp, in quotes", examples=['type = "real"']
    )
    bounds: list[object] | None = Field(
        None,
        description="two finite numbers, two dates, or two datetimes, the lower one first",
        examples=["bounds = [0, 20_000]"],
    )
    keys: list[object] | None = Field(
        None, description="a list of distinct public values", examples=['keys = ["A", "B", "C"]']
    )
    hidden: bool = Field(default=False, description="true or false", examples=["hidden = true"])
    required: bool = Field(default=False, description="true or false", examples=["required = true"])


class KeyTuplesModel(_Model):
    """The declaration of keys of several columns together."""

    columns: list[object] = Field(
        description="a list of at least two columns, in quotes", examples=['columns = ["canton", "language"]']
    )
    values: list[object] = Field(
        description="a list of distinct lists, each with a public value for each column",
        examples=['values = [["ZH", "de"], ["GE", "fr"]]'],
    )


class TableModel(_Model):
    """The declaration of a private table."""

    source: _NonEmpty = Field(
        description=_SOURCE,
        examples=['source = "visits.parquet"'],
    )
    table: _NonEmpty | None = Field(
        None, description="the table's name in its database, in quotes", examples=['table = "visits"']
    )
    unit: _NonEmpty | None = Field(
        None,
        description="the column whose value identifies the unit of a row, in quotes (or each_row = true instead)",
        examples=['unit = "patient_id"'],
    )
    each_row: bool = Field(default=False, description="true or false", examples=["each_row = true"])
    max_groups: _Whole | None = Field(None, description=_LIMIT, examples=["max_groups = 3"])
    max_rows: _Whole | None = Field(None, description=_LIMIT, examples=["max_rows = 5"])
    reach: _Whole | None = Field(None, description=_LIMIT, examples=["reach = 20"])
    columns: dict[str, ColumnModel] = Field(
        default_factory=dict,
        description="a table of columns",
        examples=["[tables.visits.columns]"],
    )
    keys: list[KeyTuplesModel] = Field(
        default_factory=list,
        description="a list of tables with columns and values",
        examples=['keys = [{ columns = ["canton", "language"], values = [["ZH", "de"], ["GE", "fr"]] }]'],
    )


class PublicColumnModel(_Model):
    """The declaration of a column of a public table."""

    type: Kind | None = Field(
        None, description="integer, real, text, boolean, date or timestamp, in quotes", examples=['type = "integer"']
    )


class PublicModel(_Model):
    """The declaration of a public table."""

    source: _NonEmpty = Field(
        description=_SOURCE,
        examples=['source = "regions.csv"'],
    )
    table: _NonEmpty | None = Field(
        None, description="the table's name in its database, in quotes", examples=['table = "regions"']
    )
    columns: dict[str, PublicColumnModel] = Field(
        default_factory=dict,
        description="a table of columns",
        examples=["[public.regions.columns]"],
    )


class EngineModel(_Model):
    """Settings of the engines."""

    timeout: Annotated[float | None, PlainValidator(read_timeout)] = Field(
        None, description=SECONDS, examples=["timeout = 600"]
    )
    memory: Annotated[int | None, PlainValidator(read_memory)] = Field(
        None, description=MEMORY, examples=['memory = "8GB"']
    )
    threads: Annotated[int | None, PlainValidator(read_threads)] = Field(
        None, description=THREADS, examples=["threads = 4"]
    )
    temporary: _NonEmpty | None = Field(
        None, description=f"{DIRECTORY}, in quotes", examples=['temporary = "/scratch"']
    )


class PolicyModel(_Model):
    """A policy file."""

    budget: BudgetModel = Field(
        description="a table with epsilon or rho, and delta with either",
        examples=["budget = { epsilon = 1.0, delta = 1e-6 }"],
    )
    ledger: _NonEmpty | None = Field(
        None,
        description="the path of a file, or a postgresql:// URL, in quotes",
        examples=['ledger = "clinic.ledger"'],
    )
    data_version: _NonEmpty | None = Field(
        None, description="a name for this version of the data, in quotes", examples=['data_version = "2026-01"']
    )
    analysts: dict[str, AnalystModel] = Field(
        default_factory=dict,
        description='budgets of single analysts, under the budget of all; "*" is each analyst who is not listed',
        examples=["[analysts.ann]"],
    )
    neighbours: Neighbours = Field(
        default="add/remove",
        description='"add/remove" or "change one", in quotes',
        examples=['neighbours = "add/remove"'],
    )
    timezone: _NonEmpty | None = Field(
        None,
        description="a name of the IANA time zone database, in quotes",
        examples=['timezone = "Europe/Zurich"'],
    )
    tables: Annotated[dict[str, TableModel], Field(min_length=1)] = Field(
        description="at least one table", examples=["[tables.visits]"]
    )
    public: dict[str, PublicModel] = Field(
        default_factory=dict, description="public tables", examples=["[public.regions]"]
    )
    engine: EngineModel = Field(
        default_factory=EngineModel.model_construct,
        description="a table of settings of the engines",
        examples=['engine = { timeout = 600, memory = "8GB" }'],
    )


_MODELS: Final[dict[str, type[_Model]]] = {
    "": PolicyModel,
    "budget.": BudgetModel,
    "analysts.NAME.": AnalystModel,
    "tables.NAME.": TableModel,
    "tables.NAME.columns.NAME.": ColumnModel,
    "tables.NAME.keys.N.": KeyTuplesModel,
    "public.NAME.": PublicModel,
    "public.NAME.columns.NAME.": PublicColumnModel,
    "engine.": EngineModel,
}


def plain(model: BaseModel) -> dict[str, object]:
    """Return a model's values by key, with defaults. pydantic's dump would rewrite rationals."""
    return {name: _plain(getattr(model, name)) for name in type(model).model_fields}


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return plain(value)
    if isinstance(value, list):
        return [_plain(inner) if isinstance(inner, BaseModel) else inner for inner in value]
    return {key: _plain(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def keys_below(where: str) -> tuple[str, ...]:
    """Return the keys that a table of the file may have, such as those of "tables.NAME."; empty for other values."""
    return tuple(_MODELS[where].model_fields) if where in _MODELS else ()


def _describe_keys() -> dict[str, tuple[str, str]]:
    keys = {
        "tables.NAME": ("a table", "[tables.visits]"),
        "tables.NAME.columns.NAME": ("a table", "cost = { bounds = [0, 20_000] }"),
        "analysts.NAME": ("a table", "[analysts.ann]"),
        "public.NAME": ("a table", "[public.regions]"),
        "public.NAME.columns.NAME": ("a table", 'population = { type = "integer" }'),
    }
    for where, model in _MODELS.items():
        for name, info in model.model_fields.items():
            keys[where + name] = (info.description or "", str((info.examples or [""])[0]))
    return keys


KEYS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(_describe_keys())
"""For every key of the file, a description of its value and an example."""


def general_key(path: tuple[str | int, ...]) -> str:
    """Return a path with NAME in place of the steward's names, and N in place of numbers, as in `KEYS`.

    >>> general_key(("tables", "visits", "columns", "cost", "bounds"))
    'tables.NAME.columns.NAME.bounds'
    """
    names = {"tables": (1, 3), "public": (1, 3), "analysts": (1,)}.get(str(path[0]) if path else "", ())
    return ".".join(
        "N" if isinstance(part, int) else "NAME" if index in names else str(part) for index, part in enumerate(path)
    )
