"""Where the rows are: a plan becomes an engine's own SQL, and exact integers come back.

* `duckdb`              the DuckDB engine: `open_duckdb`
* `duckdb_sources`      files and tables, opened read-only, and their schemas
* `duckdb_rows`         row expressions as layers of SELECTs
* `duckdb_functions`, `duckdb_casts`   what each listed function and cast is in DuckDB
* `duckdb_measures`     measures as integers of rows and of units
* `duckdb_keep`         which cells a unit keeps
* `duckdb_plan`         the whole statement
* `duckdb_open`         the same for groups that are found in the data
* `duckdb_shown`        what is measured of them once it is known which are shown
* `duckdb_joins`        the rows of a join, before the statement
* `duckdb_public`       what public tables hold
* `duckdb_sql`          small words of SQL
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from tacit.query.expressions import Kind
from tacit.query.plan import Plan
from tacit.query.selection import Choose, Found

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

    def measure(self, plan: Plan) -> Answer:
        """Read the rows and return the plan's exact integers."""

    def find(self, plan: Plan, choose: Choose) -> Found:
        """Read the rows of a plan whose groups are not listed, and return those groups that are chosen.

        Args:
            plan: the question.
            choose: says which groups to show, from the number of units that each has: a unit counts in at most
                `plan.groups` groups, chosen as for a plan whose groups are listed, and once in each.
        """

    def close(self) -> None:
        """Let go of the source."""
