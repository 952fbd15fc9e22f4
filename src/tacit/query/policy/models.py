"""The shape of a policy file: every key, what to write there, and an example. The reference is tested against it.

Only shapes and single values are checked here. What depends on several keys is for `policy_file`, which must report all
mistakes at once, while a model that fails skips what comes after its fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PlainValidator

from tacit.errors import InvalidError, show
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import positive, to_fraction
from tacit.query.expressions import Kind
from tacit.query.policy.columns import MOST_REACH

_PROBABILITY = "a number from 0 to less than 1"
_SOURCE = (
    "the path of a Parquet, CSV or DuckDB file, a glob of the first two, "
    "or postgresql://…, spark:… or sc://…, in quotes"
)
_REACH = f"a whole number from 1 to {MOST_REACH:,}"


def _amount(given: object) -> Fraction:
    return positive(given, "budget")


def _delta(given: object) -> Fraction:
    delta = to_fraction(given, "delta", _PROBABILITY)
    if not 0 <= delta < 1:
        raise InvalidError("delta", show(given), _PROBABILITY)
    return delta


_Amount: TypeAlias = Annotated[Fraction, PlainValidator(_amount)]
_Delta: TypeAlias = Annotated[Fraction, PlainValidator(_delta)]
_Text: TypeAlias = Annotated[str, Field(min_length=1)]
_Whole: TypeAlias = Annotated[int, Field(ge=1, le=MOST_REACH)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class BudgetModel(_Model):
    """What may be spent in all."""

    epsilon: _Amount | None = Field(None, description="a finite number > 0", examples=["epsilon = 1.0"])
    delta: _Delta | None = Field(None, description=_PROBABILITY, examples=["delta = 1e-6"])
    rho: _Amount | None = Field(None, description="a finite number > 0", examples=["rho = 0.1"])


class ColumnModel(_Model):
    """What is public about a column."""

    type: Kind | None = Field(
        None, description="integer, real, text, boolean, date or timestamp, in quotes", examples=['type = "real"']
    )
    bounds: list[object] | None = Field(
        None, description="two finite numbers, or two dates, the lower one first", examples=["bounds = [0, 20_000]"]
    )
    keys: list[object] | None = Field(
        None, description="a list of distinct public values", examples=['keys = ["A", "B", "C"]']
    )
    hidden: bool = Field(default=False, description="true or false", examples=["hidden = true"])


class TableModel(_Model):
    """What is public about a table."""

    source: _Text = Field(
        description=_SOURCE,
        examples=['source = "visits.parquet"'],
    )
    table: _Text | None = Field(
        None, description="the table's name in its database, in quotes", examples=['table = "visits"']
    )
    unit: _Text | None = Field(
        None,
        description="the column that says whose row it is, in quotes (or, without a unit, each_row = true)",
        examples=['unit = "patient_id"'],
    )
    each_row: bool = Field(default=False, description="true or false", examples=["each_row = true"])
    max_groups: _Whole | None = Field(None, description=_REACH, examples=["max_groups = 3"])
    max_rows: _Whole | None = Field(None, description=_REACH, examples=["max_rows = 5"])
    columns: dict[str, ColumnModel] = Field(
        default_factory=dict,
        description="a table of columns",
        examples=["[tables.visits.columns]"],
    )


class PublicColumnModel(_Model):
    """How a column of a public table is read."""

    type: Kind | None = Field(
        None, description="integer, real, text, boolean, date or timestamp, in quotes", examples=['type = "integer"']
    )


class PublicModel(_Model):
    """A table that is not private."""

    source: _Text = Field(
        description=_SOURCE,
        examples=['source = "regions.csv"'],
    )
    table: _Text | None = Field(
        None, description="the table's name in its database, in quotes", examples=['table = "regions"']
    )
    columns: dict[str, PublicColumnModel] = Field(
        default_factory=dict,
        description="a table of columns",
        examples=["[public.regions.columns]"],
    )


class PolicyModel(_Model):
    """A policy file."""

    budget: BudgetModel = Field(
        description="a table with epsilon or rho, and delta with either",
        examples=["budget = { epsilon = 1.0, delta = 1e-6 }"],
    )
    ledger: _Text | None = Field(
        None,
        description="the path of a file, or a postgresql:// URL, in quotes",
        examples=['ledger = "clinic.ledger"'],
    )
    data_version: _Text | None = Field(
        None, description="a name for this version of the data, in quotes", examples=['data_version = "2026-01"']
    )
    analysts: dict[str, BudgetModel] = Field(
        default_factory=dict, description="budgets of analysts, under that of all", examples=["[analysts.ann]"]
    )
    neighbours: Neighbours = Field(
        default="add/remove",
        description='"add/remove" or "change one", in quotes',
        examples=['neighbours = "add/remove"'],
    )
    tables: Annotated[dict[str, TableModel], Field(min_length=1)] = Field(
        description="at least one table", examples=["[tables.visits]"]
    )
    public: dict[str, PublicModel] = Field(
        default_factory=dict, description="tables that are not private", examples=["[public.regions]"]
    )


_MODELS: Final[dict[str, type[_Model]]] = {
    "": PolicyModel,
    "budget.": BudgetModel,
    "analysts.NAME.": BudgetModel,
    "tables.NAME.": TableModel,
    "tables.NAME.columns.NAME.": ColumnModel,
    "public.NAME.": PublicModel,
    "public.NAME.columns.NAME.": PublicColumnModel,
}


def plain(model: BaseModel) -> dict[str, object]:
    """Return a model's values by key, defaults included; not by pydantic's own dump, which rewrites rationals."""
    return {name: _plain(getattr(model, name)) for name in type(model).model_fields}


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return plain(value)
    return {key: _plain(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def keys_of(where: str) -> tuple[str, ...]:
    """Return the keys that may stand under a place of the file, such as "tables.NAME."; none if it is no table."""
    return tuple(_MODELS[where].model_fields) if where in _MODELS else ()


def _wanted() -> dict[str, tuple[str, str]]:
    found = {
        "tables.NAME": ("a table", "[tables.visits]"),
        "tables.NAME.columns.NAME": ("a table", "cost = { bounds = [0, 20_000] }"),
        "analysts.NAME": ("a table", "[analysts.ann]"),
        "public.NAME": ("a table", "[public.regions]"),
        "public.NAME.columns.NAME": ("a table", 'population = { type = "integer" }'),
    }
    for where, model in _MODELS.items():
        for name, info in model.model_fields.items():
            found[where + name] = (info.description or "", str((info.examples or [""])[0]))
    return found


WANTED: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(_wanted())
"""For every place of the file, what to write there and an example."""


def place(path: tuple[str | int, ...]) -> str:
    """Return a path with the steward's own names left out, as `WANTED` lists it.

    >>> place(("tables", "visits", "columns", "cost", "bounds"))
    'tables.NAME.columns.NAME.bounds'
    """
    names = (1, 3) if path[:1] in (("tables",), ("public",)) else ()
    return ".".join("NAME" if at in names else str(part) for at, part in enumerate(path))
