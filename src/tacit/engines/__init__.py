"""Where the rows are: a plan becomes an engine's own SQL, and exact integers come back.

* `statements`          a plan as statements of SQL, for any engine; what differs is a dialect
* `duckdb`              DuckDB: `open_duckdb`
* `duckdb_sources`      files and tables, opened read-only, and their schemas
* `duckdb_dialect`, `duckdb_functions`, `duckdb_casts`   how DuckDB writes what all engines do
* `postgres`            PostgreSQL: `open_postgres`
* `postgres_sources`    how a server is reached, and what of it is opened
* `postgres_lines`      a connection, and how long it is waited for
* `postgres_names`, `postgres_rights`   which table is meant, and who may open it
* `postgres_dialect`, `postgres_functions`, `postgres_doubles`, `postgres_casts`   how PostgreSQL writes it
* `spark`               Spark: `open_spark`
* `spark_start`, `spark_sessions`   a session where there is none, and one of our own beside the caller's
* `spark_sources`       which table of Spark's is meant
* `spark_dialect`, `spark_functions`, `spark_casts`   how Spark writes it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from tacit.query.expressions import Kind
from tacit.query.plan import Plan
from tacit.query.pricing.partition_selection import Choose, DiscoveredGroups

Answer: TypeAlias = Sequence[Sequence[int]]
"""For every measure of a plan's bundles, in order, one exact integer a cell: the product of the keys' values, the first
key changing slowest. Every cell is there, empty or not."""


class Engine(Protocol):
    """Where one table lies and how it is measured.

    Any failure of the engine is a SourceError with a constant text: what an engine says may carry data.
    """

    @property
    def name(self) -> str:
        """What the table is called unless the user says otherwise."""

    def schema(self) -> Mapping[str, Kind]:
        """Return the kinds of the columns that can be used, read from the schema alone, never from a row."""

    def check(self, plan: Plan) -> None:
        """Refuse, without reading, a plan that cannot be measured exactly."""

    def ready(self) -> None:
        """Raise, before anything is charged or read, if the source is known to be gone or is not what was opened.

        It reads no row, so nothing that it raises depends on the data.
        """

    def measure(self, plan: Plan) -> Answer:
        """Read the rows and return the plan's exact integers."""

    def find(self, plan: Plan, choose: Choose) -> DiscoveredGroups:
        """Read the rows of a plan whose groups are not listed, and return those groups that are chosen.

        Args:
            plan: the question.
            choose: says which groups to show, from the number of units that each has: a unit counts in at most
                `plan.groups` groups, chosen as for a plan whose groups are listed, and once in each.
        """

    def close(self) -> None:
        """Let go of the source."""
