"""The verbs whose answer is a table: top, describe, histogram and crosstab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Unpack, overload

from tacit import verbs
from tacit.database_verbs.base import SessionVerbs
from tacit.query.results.description import Description
from tacit.query.results.release import Release
from tacit.query_options import GroupOptions, RowOptions, RunOptions, limits_of
from tacit.quotes import SessionQuote
from tacit.session import unspent
from tacit.verbs import ColumnNames


class TableVerbs(SessionVerbs):
    """The verbs whose answer is a table of counts or of several statistics."""

    @overload
    def top(self, column: str, n: int, *, plan: Literal[False] = False, **options: Unpack[RowOptions]) -> Release: ...
    @overload
    def top(self, column: str, n: int, *, plan: Literal[True], **options: Unpack[RowOptions]) -> SessionQuote: ...
    def top(
        self,
        column: str,
        n: int,
        *,
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Return the n most frequent values of a column with their noisy counts of rows, the largest first.

        The values are the column's public keys (`keys=` lists them if the policy does not), or they are found in the
        data, which needs a δ. Noise decides which values are shown and in which order. So the intervals hold together
        for all values that could have been shown, and they are wider than those of `count`.

        Args:
            column: a column, or an expression in SQL.
            n: the largest number of values.
            where: a condition in SQL.
            table: one of several tables.
            plan: whether to return the quote, and spend nothing.
            options: the cost and more; see `sql`.
        """
        return self._ask(
            lambda: verbs.top(column, n, self._target(column, where, table)), options, plan=plan, known=RowOptions
        )

    @overload
    def describe(self, *columns: str, plan: Literal[False] = False, **options: Unpack[RowOptions]) -> Description: ...
    @overload
    def describe(self, *columns: str, plan: Literal[True], **options: Unpack[RowOptions]) -> SessionQuote: ...
    def describe(
        self,
        *columns: str,
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Description | SessionQuote:
        """Describe columns at one cost: count, missing share, mean, std, min, quartiles and max, with intervals.

        It is one query, whose cost is split over all columns. A column that is not a number, or has no bounds, gets its
        count and its missing share only. Min and max are private quantiles near the ends; the plan states their ranks.

        Args:
            columns: columns, or expressions in SQL; by default every column of numbers with bounds.
            where: a condition in SQL.
            table: one of several tables.
            plan: whether to return the quote, and spend nothing.
            options: the cost and more; see `sql`.
        """
        with unspent():
            limits = limits_of(options)
            given = {name: pair for name, pair in limits.column_bounds.items() if name not in limits.automatic_bounds}
            tables = replace(limits, reach=None, bounds=given).apply_all(self.tables)
            target = verbs.VerbTarget(tables, (), where, table)
            query, described = verbs.describe(columns, target, limits.automatic_bounds)
        answer = self._ask(lambda: query, options, plan=plan, known=RowOptions)
        return Description(answer, described) if isinstance(answer, Release) else answer

    @overload
    def histogram(
        self, column: str, bins: int | Sequence[float], *, plan: Literal[False] = False, **options: Unpack[GroupOptions]
    ) -> Release: ...
    @overload
    def histogram(
        self, column: str, bins: int | Sequence[float], *, plan: Literal[True], **options: Unpack[GroupOptions]
    ) -> SessionQuote: ...
    def histogram(
        self,
        column: str,
        bins: int | Sequence[float],
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Count a column's values in bins: whole numbers, never negative.

        Args:
            column: a column of numbers.
            bins: their edges, increasing; a bin contains its lower edge, and the last bin its upper edge too. Or the
                number of bins of equal width between the column's public bounds.
            by: columns to group by as well.
            where: a condition in SQL.
            table: one of several tables.
            plan: whether to return the quote, and spend nothing.
            options: the cost and more; see `sql`.
        """
        with unspent():
            target = verbs.VerbTarget(limits_of(options).apply_all(self.tables), by, where, table)
            query, labels = verbs.histogram(column, bins, target)
        keys = {**labels, **(options.get("keys") or {})}
        return self._ask(lambda: query, {**options, "keys": keys}, plan=plan, form="table")

    @overload
    def crosstab(self, *columns: str, plan: Literal[False] = False, **options: Unpack[RowOptions]) -> Release: ...
    @overload
    def crosstab(self, *columns: str, plan: Literal[True], **options: Unpack[RowOptions]) -> SessionQuote: ...
    def crosstab(
        self,
        *columns: str,
        where: str | None = None,
        table: str | None = None,
        plan: bool = False,
        **options: Unpack[RunOptions],
    ) -> Release | SessionQuote:
        """Count the combinations of several columns: whole numbers, never negative, consistent with all margins.

        `margin(...)` of the answer returns a margin with its intervals. The budget is split over the table and its
        margins so that the total error is least.
        """
        return self._ask(
            lambda: verbs.crosstab(columns, self._target(columns, where, table)),
            options,
            plan=plan,
            form="crosstab",
            known=RowOptions,
        )
