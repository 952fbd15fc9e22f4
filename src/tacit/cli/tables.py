"""`tacit histogram` and `tacit crosstab`: tables of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tacit.cli import query
from tacit.cli.charge import Access
from tacit.database import Database
from tacit.errors import bad_value
from tacit.query.pricing.price import Cost
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release

_EDGES = "edges such as 0,18,30,65, or a number of bins"


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """A histogram of a column."""

    column: str
    bins: int | Sequence[float]
    cost: Cost
    options: Mapping[str, Any]

    def plan(self, db: Database) -> Quote:
        """Return the plan."""
        return db.histogram(self.column, self.bins, plan=True, **_planned(self.options), **asdict(self.cost))

    def release(self, db: Database) -> Release:
        """Charge the histogram and return it."""
        answer: Release = db.histogram(self.column, self.bins, **self.options, **asdict(self.cost))
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Crosstab:
    """A table of several columns."""

    columns: Sequence[str]
    cost: Cost
    options: Mapping[str, Any]

    def plan(self, db: Database) -> Quote:
        """Return the plan."""
        return db.crosstab(*self.columns, plan=True, **_planned(self.options), **asdict(self.cost))

    def release(self, db: Database) -> Release:
        """Charge the table and return it."""
        answer: Release = db.crosstab(*self.columns, **self.options, **asdict(self.cost))
        return answer


def _planned(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a plan, which has no name for the ledger."""
    return {name: value for name, value in options.items() if name != "request"}


def read_bins(text: str) -> int | list[float]:
    """Return the edges of bins, or their number.

    >>> read_bins("0, 18, 30.5"), read_bins("10")
    ([0, 18, 30.5], 10)
    """
    parts = text.split(",")
    try:
        numbers = [int(part) if part.strip().lstrip("+-").isdecimal() else float(part) for part in parts]
    except ValueError:
        raise bad_value("--bins", text, _EDGES) from None
    if len(numbers) > 1:
        return numbers
    if not isinstance(numbers[0], int):
        raise bad_value("--bins", text, _EDGES)
    return numbers[0]


def run(
    access: Access, table: Histogram | Crosstab, files: query.AnswerFiles, *, json: bool, yes: bool, plan: bool
) -> int:
    """Print the plan alone, or charge the table and print it; return the exit code."""
    if plan:
        query.plan(access, table, json=json)
        return 0
    return query.query(access, table, files, json=json, yes=yes)
