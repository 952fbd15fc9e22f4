"""Synthetic rows with their cost, receipt and report: what `db.synthesize` returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING

from tacit.errors import MissingPackageError, bad_value
from tacit.guarantees.exact import whole
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.expressions import Value
from tacit.query.formatting import amounts, count_text, spell
from tacit.query.results.table import Table
from tacit.safe_text import html_lines, visible_lines
from tacit.synthetic.row_rules import check_rules
from tacit.synthetic.row_source import RowSource
from tacit.synthetic.row_values import given_codes, given_values
from tacit.synthetic.synthetic_report import SyntheticReport

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

MOST_ROWS = 10**9
_SHOWN = 10


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SyntheticRows:
    """Rows that were drawn from a private model of a table; `sample` draws more from it at no cost.

    Attributes:
        cost: the cost of the model, from which any number of rows can be drawn.
        receipt: the guarantee and the noise as JSON.
        report: the expected distances of pairs of columns, and the measured ones if they were asked for.
        warnings: sentences about what limits the rows.
        source: what draws the rows.
    """

    table: Table
    """The rows."""
    cost: PureDP | ApproxDP | ZCDP
    receipt: Mapping[str, object]
    report: SyntheticReport
    repeated: bool
    """True if the model is the recorded one of an earlier, identical release, which cost nothing again."""
    warnings: tuple[str, ...]
    source: RowSource = field(repr=False)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table)

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        """Return an iterator over the rows."""
        return iter(self.table)

    def __getitem__(self, item: str) -> list[Value]:
        """Return a column by its name."""
        return self.table[item]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.table.names

    @property
    def total(self) -> float:
        """The estimated number of rows of the private table; the number itself if it is public."""
        return self.source.model.total

    def sample(self, n: int | None = None, given: Mapping[str, object] | None = None) -> SyntheticRows:
        """Draw other rows from the same model. It costs nothing: the model is released already.

        Args:
            n: the number of rows; by default the estimated number of rows with the given values.
            given: values that all rows are to have, such as {"sex": "F"}. A number selects its bin.
        """
        count = read_count(n)
        codes = given_codes(self.source.values, given)
        check_rules(self.source.rules, self.source.values, given_values(self.source.values, given))
        table, warnings = self.source.rows(count, codes, given or {})
        return replace(self, table=table, warnings=(*self.source.warnings, *warnings))

    def rows(self) -> list[tuple[Value, ...]]:
        """Return the rows as tuples."""
        return self.table.rows()

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas frame."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a polars frame."""
        return self.table.to_polars()

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self.table.to_arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the rows to any library that reads Arrow streams."""
        return self.table.__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, list[Value]]:
        """Return the columns as lists, by their names."""
        return self.table.to_dict()

    def to_csv(self, path: str | PathLike[str] | None = None, *, spreadsheet: bool = True) -> str | None:
        """Return the rows as CSV, or write them to a path.

        A text that a spreadsheet would run as a formula gets an apostrophe; with spreadsheet=False it is exact.
        """
        return self.table.to_csv(path, spreadsheet=spreadsheet)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the rows to a Parquet file.

        Args:
            path: the file.
        """
        try:
            from pyarrow import parquet  # noqa: PLC0415 - not a dependency
        except ImportError:
            raise MissingPackageError("pyarrow", "Writing a Parquet file") from None
        parquet.write_table(self.to_arrow(), path)

    def plot(self) -> alt.LayerChart:
        """Draw the expected distance of each pair of columns from the truth, as a heat map."""
        from tacit import plots  # noqa: PLC0415 - heavy

        named = {
            (self.report.columns[pair[0]], self.report.columns[pair[1]]): value
            for pair, value in self.report.expected.items()
            if len(pair) == 2  # noqa: PLR2004 - a pair
        }
        return plots.pair_distances(self.report.columns, named, self._subtitle)

    @property
    def _subtitle(self) -> str:
        rows, columns = count_text(len(self), "synthetic row"), count_text(len(self.columns), "column")
        return f"{rows} of {columns} at {spell(self.cost)}"

    def about(self) -> dict[str, object]:
        """Return everything but the rows as JSON."""
        return {
            "rows": len(self),
            "columns": list(self.columns),
            "estimated_rows": self.total,
            "cost": amounts(self.cost),
            "report": self.report.to_dict(),
            "warnings": list(self.warnings),
            "receipt": dict(self.receipt),
        }

    @property
    def _first(self) -> Table:
        return replace(self.table, columns=tuple(column[:_SHOWN] for column in self.table.columns))

    @property
    def _more(self) -> list[str]:
        more = len(self) - _SHOWN
        return [f"… and {count_text(more, 'more row')}"] if more > 0 else []

    @property
    def _lines(self) -> list[str]:
        return [f"{self._subtitle}.", *self.warnings, *self.report.lines]

    def __str__(self) -> str:
        """Return the first rows and the report."""
        return f"{self._first}\n{visible_lines(chr(10).join([*self._more, '', *self._lines]))}"

    def __repr__(self) -> str:
        """Return the number of rows and the cost."""
        return f"<SyntheticRows: {self._subtitle}>"

    def _repr_html_(self) -> str:
        """Return the first rows and the report as HTML, for notebooks."""
        return self._first._repr_html_() + html_lines([*self._more, *self._lines])


def read_count(n: object) -> int | None:
    """Return a number of rows, or raise InvalidError; None stands for the estimated number."""
    if n is None:
        return None
    number = None if isinstance(n, bool) else whole(n)
    if number is None or not 1 <= number <= MOST_ROWS:
        raise bad_value("n", n, f"a whole number from 1 to {MOST_ROWS:,}")
    return number
