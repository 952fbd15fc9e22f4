"""The error of synthetic rows: expected from the noise, and measured if the steward paid for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.query.formatting import count_text, percent
from tacit.query.results.table import Table
from tacit.safe_text import html_lines, visible, visible_lines
from tacit.synthetic.pair_tables import Columns
from tacit.synthetic.row_distance import Distance

_NAMES = {1: "one column", 2: "two columns", 3: "three columns"}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SyntheticReport:
    """The errors of the tables of synthetic rows, as total variation distances from 0 to 1, and where ε went."""

    columns: tuple[str, ...]
    expected: Mapping[Columns, float]
    """The distance that the noise makes one expect, by the places of the columns; it is not measured on the data."""
    measured: tuple[Distance, ...]
    """Mean distances that were measured privately; empty without report=True."""
    confidence: float
    spent: str
    """Where ε or ρ went."""
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> Table:
        """The expected distance of each column and of each pair that was counted, the largest first."""
        order = sorted(self.expected, key=lambda columns: -self.expected[columns])
        names = tuple(", ".join(self.columns[place] for place in columns) for columns in order)
        numbers = tuple(self.expected[columns] for columns in order)
        return Table(("columns", "expected distance"), ("text", "real"), (names, numbers))

    def mean(self, ways: int) -> float | None:
        """Return the mean expected distance of the tables of so many columns, or None."""
        values = [value for columns, value in self.expected.items() if len(columns) == ways]
        return sum(values) / len(values) if values else None

    @property
    def lines(self) -> list[str]:
        """The report in sentences."""
        means = [
            f"Expected distance because of noise: {value:.3f} (mean over tables of {_NAMES[ways]})."
            for ways in (1, 2)
            if (value := self.mean(ways)) is not None
        ]
        found = [
            f"Measured distance from the private table: {each.value:.3f} (mean over "
            f"{count_text(each.tables, 'table')} of {_NAMES[each.ways]}; {percent(self.confidence)} interval "
            f"{each.low:.3f} to {each.high:.3f})."
            for each in self.measured
        ]
        return [*means, *found, *self.notes, self.spent]

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON."""
        return {
            "expected": [
                {"columns": [self.columns[place] for place in columns], "distance": value}
                for columns, value in self.expected.items()
            ],
            "measured": [
                {"ways": each.ways, "tables": each.tables, "distance": each.value, "low": each.low, "high": each.high}
                for each in self.measured
            ],
            "confidence": self.confidence,
            "notes": list(self.notes),
            "spent": self.spent,
        }

    def __repr__(self) -> str:
        """Return the columns and the number of measured distances in one line."""
        return visible(f"<SyntheticReport: {', '.join(self.columns)}; {len(self.measured)} measured distances>")

    def __str__(self) -> str:
        """Return the report in sentences."""
        return visible_lines("\n".join(self.lines))

    def _repr_html_(self) -> str:
        """Return the report as HTML, for notebooks."""
        return html_lines(self.lines)
