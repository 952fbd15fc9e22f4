"""The verbs of one aggregate: count, sum, mean, variance, std, median, quantile and choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Unpack, overload

from tacit import verbs
from tacit.database_verbs.base import SessionVerbs
from tacit.query.results.release import Release
from tacit.query_options import GroupOptions, RunOptions
from tacit.quotes import SessionQuote
from tacit.verbs import ColumnNames


class AggregateVerbs(SessionVerbs):
    """The verbs that compute one aggregate of the rows, or of each group."""

    @overload
    def count(self, *, plan: Literal[False] = False, **options: Unpack[GroupOptions]) -> Release: ...
    @overload
    def count(self, *, plan: Literal[True], **options: Unpack[GroupOptions]) -> SessionQuote: ...
    def count(
        self,
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Count rows."""
        return self._ask(lambda: verbs.count(self._target(by, where, table)), options, plan=plan)

    @overload
    def sum(self, column: str, *, plan: Literal[False] = False, **options: Unpack[GroupOptions]) -> Release: ...
    @overload
    def sum(self, column: str, *, plan: Literal[True], **options: Unpack[GroupOptions]) -> SessionQuote: ...
    def sum(
        self,
        column: str,
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Add up a column."""
        return self._ask(
            lambda: verbs.aggregate("SUM", column, "sum", self._target(by, where, table)), options, plan=plan
        )

    @overload
    def mean(self, column: str, *, plan: Literal[False] = False, **options: Unpack[GroupOptions]) -> Release: ...
    @overload
    def mean(self, column: str, *, plan: Literal[True], **options: Unpack[GroupOptions]) -> SessionQuote: ...
    def mean(
        self,
        column: str,
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Average a column."""
        return self._ask(
            lambda: verbs.aggregate("AVG", column, "mean", self._target(by, where, table)), options, plan=plan
        )

    @overload
    def variance(
        self, column: str, *, sample: bool = True, plan: Literal[False] = False, **options: Unpack[GroupOptions]
    ) -> Release: ...
    @overload
    def variance(
        self, column: str, *, sample: bool = True, plan: Literal[True], **options: Unpack[GroupOptions]
    ) -> SessionQuote: ...
    def variance(
        self,
        column: str,
        *,
        sample: bool = True,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Return the variance of a column: of a sample (divided by n - 1), or of a population if not `sample`."""
        return self._ask(
            lambda: verbs.aggregate(
                "VAR_SAMP" if sample else "VAR_POP", column, "variance", self._target(by, where, table)
            ),
            options,
            plan=plan,
        )

    @overload
    def std(
        self, column: str, *, sample: bool = True, plan: Literal[False] = False, **options: Unpack[GroupOptions]
    ) -> Release: ...
    @overload
    def std(
        self, column: str, *, sample: bool = True, plan: Literal[True], **options: Unpack[GroupOptions]
    ) -> SessionQuote: ...
    def std(
        self,
        column: str,
        *,
        sample: bool = True,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Return the standard deviation of a column: of a sample, or of a population if not `sample`."""
        return self._ask(
            lambda: verbs.aggregate(
                "STDDEV_SAMP" if sample else "STDDEV_POP", column, "std", self._target(by, where, table)
            ),
            options,
            plan=plan,
        )

    @overload
    def median(self, column: str, *, plan: Literal[False] = False, **options: Unpack[GroupOptions]) -> Release: ...
    @overload
    def median(self, column: str, *, plan: Literal[True], **options: Unpack[GroupOptions]) -> SessionQuote: ...
    def median(
        self,
        column: str,
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Return the median of a column."""
        return self._ask(
            lambda: verbs.aggregate("MEDIAN", column, "median", self._target(by, where, table)), options, plan=plan
        )

    @overload
    def quantile(
        self, column: str, q: float | Sequence[float], *, plan: Literal[False] = False, **options: Unpack[GroupOptions]
    ) -> Release: ...
    @overload
    def quantile(
        self, column: str, q: float | Sequence[float], *, plan: Literal[True], **options: Unpack[GroupOptions]
    ) -> SessionQuote: ...
    def quantile(
        self,
        column: str,
        q: float | Sequence[float],
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Return one quantile of a column, or several, which share the cost; see "Quantiles" in the SQL reference."""
        return self._ask(lambda: verbs.quantiles(column, q, self._target(by, where, table)), options, plan=plan)

    @overload
    def choose(self, column: str, *, plan: Literal[False] = False, **options: Unpack[GroupOptions]) -> Release: ...
    @overload
    def choose(self, column: str, *, plan: Literal[True], **options: Unpack[GroupOptions]) -> SessionQuote: ...
    def choose(
        self,
        column: str,
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Draw the most frequent of a column's public values; `keys=` lists them if the policy does not.

        The answer is a category and has no interval. Its plan and its notes state how many rows it may be short of the
        most frequent value.
        """
        return self._ask(
            lambda: verbs.aggregate("MODE", column, "choice", self._target(by, where, table)), options, plan=plan
        )
