"""A policy as its steward wrote it. The arguments of `tacit.open` and a policy file both become one `Policy`.

    tc.open(…)  ──arguments──┐
                             ├──► Policy ──the sources' schemas──► a TablePolicy for each table (`build`)
    clinic.toml ──file───────┘

No source is opened here, and no value of an environment variable is stored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

from tacit.guarantees.filters import Budget
from tacit.query.policy.engine_settings import EngineSettings, settle
from tacit.query.policy.mistakes import PolicyError, TableMistake
from tacit.query.policy.toml_lines import KeyPath

ANYBODY: Final = "*"
"""The name under which a policy writes the limit of each analyst who is not listed."""


class Origin(Protocol):
    """The arguments or the file that a policy comes from."""

    def where(self, table: TableDeclaration) -> str | None:
        """Return where a table is declared, for errors of its source; None for the first argument of `tacit.open`."""

    def error(self, table: TableDeclaration, mistakes: Iterable[TableMistake]) -> PolicyError:
        """Return the error that lists mistakes in the declaration of a table, each with its place."""

    def resolve(self, keys: KeyPath, location: object, environment: Mapping[str, str]) -> object:
        """Return the source or ledger at a location, with environment variables filled in, or raise InvalidError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDeclaration:
    """The declaration of one table. Its values are not checked yet, so they may have any type.

    Attributes:
        origin: the arguments or the file that declare it.
        name: the table's name in SQL; None if it keeps the name that it has in its source.
        source: the source as written, its variables not filled in.
        written: the source as messages show it; None if they may show the source itself.
        table: the table's name in its database.
        public: whether the table is public; then only `types` can be declared.
        unit: the column whose values name the privacy units, or ROW.
        max_groups: the largest number of groups of one answer in which a unit counts; 1 with ROW.
        max_rows: the most rows of one unit that one group counts; 1 with ROW.
        reach: the most rows of one unit that one answer counts; ignored with ROW.
        bounds: the smallest and the largest value of number columns, the first and the last day of date columns.
        keys: for columns to group by, their values in the order of the answer; tuples of values for tuples of columns.
        hidden: the columns that a query must not use.
        required: the columns without missing values; a missing value is read as a public constant.
        types: kinds that replace those of the source's schema; values are cast safely.
        mentioned: columns that are named in a file, even if nothing is declared of them. They must exist.
        neighbours: the neighbour relation of the guarantee.
        timezone: the time zone in which instants are read.
    """

    origin: Origin = field(repr=False, compare=False)
    name: object
    source: object = None
    written: str | None = None
    table: str | None = None
    public: bool = False
    unit: object = None
    max_groups: object = None
    max_rows: object = None
    reach: object = None
    bounds: object = None
    keys: object = None
    hidden: object = ()
    required: object = ()
    types: object = None
    mentioned: object = ()
    neighbours: object = "add/remove"
    timezone: object = None

    @property
    def section(self) -> str:
        """The section of a policy file for such a table."""
        return "public" if self.public else "tables"

    @property
    def where(self) -> str | None:
        """The place of the declaration, for errors of the source."""
        return self.origin.where(self)

    def location(self, environment: Mapping[str, str] | None = None) -> object:
        """Return the source with its variables filled in from this environment (by default the process's)."""
        keys = (self.section, str(self.name), "source")
        return self.origin.resolve(keys, self.source, os.environ if environment is None else environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy: tables by their names in SQL, and the budget for all of them.

    In `tables`, the name None is for a table that keeps the name it has in its source. `ledger` is the ledger as a
    file writes it, and so are the settings in `engine`. `version` is the SHA-256 of a file's content: comments, the
    order of keys, the spelling of numbers and the settings of engines do not change it. It is empty for arguments.
    """

    origin: Origin = field(repr=False, compare=False)
    budget: Budget | None
    tables: Mapping[str | None, TableDeclaration]
    public: Mapping[str, TableDeclaration] = field(default_factory=lambda: MappingProxyType({}))
    ledger: str | None = None
    version: str = ""
    data_version: str = ""
    analysts: Mapping[str, Budget] = field(default_factory=lambda: MappingProxyType({}))
    engine: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def engine_settings(
        self, arguments: Mapping[str, object], environment: Mapping[str, str] | None = None
    ) -> EngineSettings:
        """Return the settings of the engines: from arguments, else from the environment, else from this policy."""
        variables = os.environ if environment is None else environment
        own, directory = dict(self.engine), self.engine.get("temporary")
        if directory is not None:
            own["temporary"] = self.origin.resolve(("engine", "temporary"), directory, variables)
        return settle(arguments, own, variables)

    def ledger_location(self, environment: Mapping[str, str] | None = None) -> str | None:
        """Return the path or URL of the ledger, its variables filled in, if the policy has a ledger."""
        if self.ledger is None:
            return None
        return str(self.origin.resolve(("ledger",), self.ledger, os.environ if environment is None else environment))
