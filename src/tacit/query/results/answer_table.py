"""An answer as Python values: a number, a sequence of rows, named columns, frames, CSV and JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, overload

from tacit.errors import InvalidError, UnusedOptionError, bad_value
from tacit.query.aggregates.statistic import Interval
from tacit.query.expressions import Value
from tacit.query.formatting import percent
from tacit.query.results.render import AnswerColumn, as_table, text_rows
from tacit.query.results.table import Table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_MOST_NAMES = 8


class AnswerTable(ABC):
    """Released columns, some with intervals.

    If there is one row of one column, the answer is a number: `float(r)`, `r.value`, `r.interval`. Every answer is a
    sequence of rows: `len(r)`, `for row in r`, `r[0]`, `r[-1]`, `r[:3]`; `r["n"]` is a column. The conversions take
    `intervals=True`, which adds a low and a high column to each noisy column.
    """

    __slots__ = ()
    confidence: float

    @abstractmethod
    def columns(self, confidence: float | None = None) -> list[AnswerColumn]:
        """Return the columns of the answer, each noisy one with its intervals."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """The answer as a table."""

    def intervals(self, confidence: float | None = None) -> Table:
        """Return the answer with the low and high end of every noisy value, each with this confidence.

        They are for the statistic of the bounded data: values are clipped, and units contribute within the bounds of
        the policy. Each interval holds separately; that all hold together is less likely. If HAVING or LIMIT chose
        groups by noisy values, the intervals of a column hold together for all groups that could have been returned;
        see `interval_note`. Intervals have possible values only: that of a count starts at 0 or above. Values are not
        clipped, so they stay unbiased, and a value may be outside its interval. Without an argument the confidence is
        that of the query.
        """
        return replace(as_table(self.columns(confidence)), notes=self._interval_notes(confidence))

    def _interval_notes(self, confidence: float | None) -> tuple[str, ...]:  # noqa: ARG002 - children use it
        """Return sentences below the table of intervals at this confidence."""
        return ()

    # --- one value --------------------------------------------------------------------------------------------------

    @property
    def value(self) -> Value:
        """The only value of the answer; InvalidError if there are several."""
        self._check_single("Write r[0] for a row, or r[{!r}] for a column.")
        return self.table[0][0]

    @property
    def interval(self) -> Interval | None:
        """The low and the high end of the only value, at the confidence of the query; None if it has no interval."""
        self._check_single("Write r.intervals() for all intervals.")
        ends = self.columns()[0].ends
        return None if ends is None else ends[0]

    def _check_single(self, hint: str) -> None:
        """Raise InvalidError unless the answer has one row of one column."""
        names, count = self.table.names, len(self)
        if (len(names), count) != (1, 1):
            shape = f"{count:,} row{'' if count == 1 else 's'} of {len(names)} column{'' if len(names) == 1 else 's'}"
            hint = hint.format(names[-1]) if count else "No group is in the answer."
            raise InvalidError(f"The answer has {shape}, so it is not one value.", argument="answer", hint=hint)

    def __float__(self) -> float:
        """Return the only value as a float."""
        return float(self._number())

    def __int__(self) -> int:
        """Return the only value as an int, if it is a whole number."""
        number = self._number()
        if number != number or abs(number) == float("inf") or number != int(number):  # noqa: PLR0124 - NaN
            raise InvalidError("The value is not a whole number.", argument="answer", hint="Write round(float(r)).")
        return int(number)

    def _number(self) -> int | float:
        value = self.value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        kind = "NULL: the noisy numbers do not define it" if value is None else f"of type {self.table.kinds[0]}"
        raise InvalidError(f"The value is {kind}, so it is not a number.", argument="answer", hint="Write r.value.")

    def __round__(self, digits: int | None = None) -> int | float:
        """Return the only value, rounded."""
        return round(self._number(), digits)

    def __format__(self, spec: str) -> str:
        """Return the answer as text, or its only value in a format such as `,.0f`."""
        return format(self._number(), spec) if spec else str(self)

    def _summary(self) -> str:
        """Return the only value with its interval, or the number of rows and the names of the columns, in one line."""
        names, count = self.table.names, len(self)
        if (len(names), count) != (1, 1):
            more = ", …" if len(names) > _MOST_NAMES else ""
            return f"{count:,} row{'' if count == 1 else 's'} of {', '.join(names[:_MOST_NAMES])}{more}"
        _, [[value, *ends]] = text_rows(self.columns(), self.confidence)
        interval = f", {percent(self.confidence)} interval {ends[0].strip()}" if ends else ""
        return f"{names[0]} = {value.strip()}{interval}"

    # --- rows and columns -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table)

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        """Return an iterator over the rows."""
        return iter(self.rows())

    @overload
    def __getitem__(self, item: str) -> list[Value]: ...
    @overload
    def __getitem__(self, item: int) -> tuple[Value, ...]: ...
    @overload
    def __getitem__(self, item: slice) -> list[tuple[Value, ...]]: ...
    def __getitem__(self, item: str | int | slice) -> list[Value] | tuple[Value, ...] | list[tuple[Value, ...]]:
        """Return a column by its name, a row by its number, which may be negative, or a slice of rows."""
        return self.table[item]

    def rows(self) -> list[tuple[Value, ...]]:
        """Return the rows of the answer as tuples, in the order of the columns."""
        return self.table.rows()

    def dicts(self) -> list[dict[str, Value]]:
        """Return the rows of the answer as mappings from the names of the columns."""
        return self.table.dicts()

    # --- conversions ------------------------------------------------------------------------------------------------

    def to_dict(self, *, intervals: bool = False, confidence: float | None = None) -> dict[str, list[Value]]:
        """Return the columns as lists, by their names.

        Args:
            intervals: whether each noisy column is followed by the low and the high end of its intervals.
            confidence: that of the intervals; by default that of the query.
        """
        return self._shown(intervals, confidence).to_dict()

    @overload
    def to_json(self, path: None = None, *, intervals: bool = False, confidence: float | None = None) -> str: ...
    @overload
    def to_json(
        self, path: str | PathLike[str], *, intervals: bool = False, confidence: float | None = None
    ) -> None: ...
    def to_json(
        self, path: str | PathLike[str] | None = None, *, intervals: bool = False, confidence: float | None = None
    ) -> str | None:
        """Return the rows as a list of JSON objects, or write it to a path; a date is a text."""
        return self._shown(intervals, confidence).to_json(path)

    @overload
    def to_csv(
        self,
        path: None = None,
        *,
        intervals: bool = False,
        confidence: float | None = None,
        spreadsheet: bool = True,
    ) -> str: ...
    @overload
    def to_csv(
        self,
        path: str | PathLike[str],
        *,
        intervals: bool = False,
        confidence: float | None = None,
        spreadsheet: bool = True,
    ) -> None: ...
    def to_csv(
        self,
        path: str | PathLike[str] | None = None,
        *,
        intervals: bool = False,
        confidence: float | None = None,
        spreadsheet: bool = True,
    ) -> str | None:
        """Return the rows as CSV, or write them to a path.

        A text that a spreadsheet would run as a formula gets an apostrophe; with spreadsheet=False it is exact.
        """
        return self._shown(intervals, confidence).to_csv(path, spreadsheet=spreadsheet)

    def to_polars(self, *, intervals: bool = False, confidence: float | None = None) -> pl.DataFrame:
        """Return the answer as a polars frame."""
        return self._shown(intervals, confidence).to_polars()

    def to_pandas(self, *, intervals: bool = False, confidence: float | None = None) -> pd.DataFrame:
        """Return the answer as a pandas frame."""
        return self._shown(intervals, confidence).to_pandas()

    def to_arrow(self, *, intervals: bool = False, confidence: float | None = None) -> pa.Table:
        """Return the answer as an Arrow table."""
        return self._shown(intervals, confidence).to_arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the answer to any library that reads Arrow streams."""
        return self.table.__arrow_c_stream__(requested_schema)

    def _shown(self, intervals: object, confidence: float | None) -> Table:
        """Return the table to convert, with intervals or without."""
        if not isinstance(intervals, bool):
            raise bad_value("intervals", intervals, "True or False", hint="Give the confidence as confidence=0.9.")
        if confidence is not None and not intervals:
            raise UnusedOptionError("confidence", "without intervals=True", hint="Add intervals=True.")
        return self.intervals(confidence) if intervals else self.table
