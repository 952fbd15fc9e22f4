"""Engines: they turn a plan into SQL, run it where the rows are, and return exact integers.

| package or module | contents |
|---|---|
| `sql` | statements for a plan in any engine; the differences between engines are in a dialect |
| `duckdb` | DuckDB, in this process: files, data frames, DuckDB files |
| `postgres` | PostgreSQL: connections, privileges, tables of a server |
| `spark` | Spark: sessions, Spark Connect servers, tables and DataFrames |
| `source` | a source to open, the value that every engine takes |
| `sources` | the engine that a source needs, and opening several sources once |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from tacit.query.basket_table import BasketSource
    from tacit.query.coded_table import AbsorbCodes, CodedTable
    from tacit.query.expressions import Kind, Value
    from tacit.query.histograms import Absorb
    from tacit.query.plan import Plan
    from tacit.query.policy.engine_settings import EngineSettings
    from tacit.query.pricing.partition_selection import Choose, DiscoveredGroups

MeasuredIntegers: TypeAlias = Sequence[Sequence[int]]
"""The exact integers of each measure of a plan's bundles, in order: one integer for each combination of the keys'
values, with the first key changing slowest. Every combination is there, whether or not it has rows."""


class Engine(Protocol):
    """The engine that holds one table, or several that can be joined, and measures plans on it.

    Every failure is a SourceError with a constant message, because the engine's own message may contain data.
    """

    @property
    def name(self) -> str:
        """The table's name in its source."""

    @property
    def settings(self) -> EngineSettings:
        """The time limit, the memory in bytes, the threads and the temporary directory; see `engine_settings`."""

    def schema(self) -> Mapping[str, Kind]:
        """Return the kinds of the usable columns, from the schema alone. No row is read."""

    def check(self, plan: Plan) -> None:
        """Refuse a plan that cannot be measured exactly, without reading a row."""

    def ready(self) -> None:
        """Raise if the source is known to be gone, or is not what was opened. Nothing has been charged yet.

        No row is read, so the error does not depend on the data.
        """

    def measure(self, plan: Plan, absorb: Absorb | None = None) -> MeasuredIntegers:
        """Read the rows and return the plan's exact integers.

        With `absorb`, those of measures with bins are empty, and `absorb` takes them, some groups at a time.
        """

    def find(self, plan: Plan, choose: Choose) -> DiscoveredGroups:
        """Read the rows of a plan whose groups are not listed, and return the chosen groups.

        Args:
            plan: the plan.
            choose: chooses the groups to release from the number of units in each. A unit counts in at most
                `plan.groups` groups, which are chosen as for a plan with listed groups, and once in each.
        """

    def check_codes(self, coded: CodedTable) -> None:
        """Raise InvalidError if the columns cannot be read as codes; read no row."""

    def read_codes(self, coded: CodedTable, absorb: AbsorbCodes) -> None:
        """Read the rows in one statement; `absorb` takes them some at a time, as codes by column and weights."""

    def check_baskets(self, source: BasketSource) -> None:
        """Raise InvalidError if the columns cannot be read as baskets; read no row."""

    def read_baskets(self, source: BasketSource, absorb: Callable[[Sequence[Sequence[Any]]], None]) -> None:
        """Read baskets in one statement, with new random keys of the hash; `absorb` takes rows some at a time."""

    def reads_every_row(self, table: str) -> bool:
        """Return whether a statement reads all rows of a table, whatever their values; lines of CSV may be skipped."""

    def public_rows(self, table: str, kinds: Mapping[str, Kind]) -> Sequence[Sequence[Value]]:
        """Return all rows of a public table, with these columns as these kinds."""

    @property
    def keeps_state(self) -> bool:
        """True if `one_state` can guarantee one state of the data."""

    def one_state(self) -> AbstractContextManager[None]:
        """Return a context in which `measure` and `find` read one state of the data, however often they are called."""

    def close(self) -> None:
        """Close the source."""
