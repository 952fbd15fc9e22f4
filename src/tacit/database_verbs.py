"""The verbs of a database: each writes the SELECT that it stands for, and runs it or plans it.

A verb and its SQL have the same plan, price and receipt. With `plan=True` a verb returns the quote of its query: it
reads no private row and spends nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, Unpack, overload

from tacit import verbs
from tacit.errors import UnusedOptionError, bad_value
from tacit.guarantees.exact import Number
from tacit.query.policy import TablePolicy
from tacit.query.results.description import Description
from tacit.query.results.private_bounds import PrivateBounds
from tacit.query.results.quote import QueryForm, Quote
from tacit.query.results.release import Release
from tacit.query_options import (
    BoundsOptions,
    GroupOptions,
    Options,
    RowOptions,
    RunOptions,
    check_options,
    limits_of,
    question_of,
)
from tacit.quotes import SessionQuote
from tacit.session import Session, unspent
from tacit.verbs import ColumnNames


class DatabaseVerbs:
    """The verbs of `Database`.

    `by` names the columns to group by, `where` is a condition in SQL, and `table` names one of several tables. A column
    may be an expression in SQL. The cost and the limits are given as for `sql`: `epsilon=`, `delta=`, `rho=` or
    `error=`; `reach=`, `max_groups=`, `max_rows=`, `bounds=`; `measure_cut=`, `share=`, `intervals=`, `params=`,
    `request=`. With `plan=True` a verb returns the cost and the expected errors, and spends nothing.
    """

    _session: Session

    @property
    def tables(self) -> Mapping[str, TablePolicy]:
        """The policy of each table: what is public about it."""
        return self._session.tables

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
        return self._ask(lambda: verbs.top(column, n, self._target(column, where, table)), options, plan=plan)

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
        answer = self._ask(lambda: query, options, plan=plan)
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
            lambda: verbs.crosstab(columns, self._target(columns, where, table)), options, plan=plan, form="crosstab"
        )

    @overload
    def bounds(
        self, column: str, *, plan: Literal[False] = False, **options: Unpack[BoundsOptions]
    ) -> PrivateBounds: ...
    @overload
    def bounds(self, column: str, *, plan: Literal[True], **options: Unpack[BoundsOptions]) -> Quote: ...
    def bounds(
        self,
        column: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        where: str | None = None,
        table: str | None = None,
        confidence: float = 0.95,
        request: str | None = None,
        plan: bool = False,
    ) -> PrivateBounds | Quote:
        """Find private bounds of a column of numbers, dates or timestamps: `low, high, *_ = db.bounds("cost", …)`.

        The bounds are ends of fixed bins over all values of the type, never the smallest or the largest value. All rows
        of a unit weigh 1 together, so no limit is needed.

        Args:
            column: a column, or an expression in SQL.
            epsilon: ε of the bounds.
            rho: ρ instead of ε, for a budget in zCDP.
            where: a condition in SQL.
            table: one of several tables.
            confidence: the probability with which the interval of the values beyond each bound holds.
            request: a name for this query, as for `sql`.
            plan: whether to return the quote, as `plan_bounds` does, and spend nothing.
        """
        if _is_plan(plan, {"request": request}):
            return self.plan_bounds(column, epsilon=epsilon, rho=rho, where=where, table=table, confidence=confidence)
        quote, name = self._bounds_quote(
            column, where, table, {"epsilon": epsilon, "rho": rho, "confidence": confidence}
        )
        return PrivateBounds(self._session.answer(quote, request), name)

    def plan_bounds(
        self,
        column: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        where: str | None = None,
        table: str | None = None,
        confidence: float = 0.95,
    ) -> Quote:
        """Return the cost of private bounds and how many units a bin needs; read no data and spend nothing."""
        options: Options = {"epsilon": epsilon, "rho": rho, "confidence": confidence}
        quote, _ = self._bounds_quote(column, where, table, options)
        return Quote(quote.plan, quote.price, quote.confidence, quote.assume)

    def _bounds_quote(
        self, column: str, where: str | None, table: str | None, options: Options
    ) -> tuple[SessionQuote, str]:
        """Return the quote of private bounds, and the name of the column or the text of the expression."""
        with unspent():
            query, text = verbs.bounds(column, self._target((), where, table))
            question = question_of(query, options)
        return self._session.bounds_quote(question, text), column

    def _target(self, by: ColumnNames, where: str | None, table: str | None) -> verbs.VerbTarget:
        return verbs.VerbTarget(self.tables, by, where, table)

    def _ask(
        self, write: Callable[[], str], options: RunOptions, *, plan: bool, form: QueryForm = "rows"
    ) -> Release | SessionQuote:
        """Run the query that a verb writes, or return its quote."""
        with unspent():
            planned = _is_plan(plan, options)
            check_options(options)
            question = replace(question_of(write(), options), form=form)
        quote = self._session.quote(question)
        return quote if planned else with_warnings(self._session.answer(quote, options.get("request")))


def _is_plan(plan: object, options: RunOptions) -> bool:
    """Return whether a verb only plans, or raise InvalidError."""
    if not isinstance(plan, bool):
        raise bad_value("plan", plan, "True or False")
    if plan and options.get("request") is not None:
        raise UnusedOptionError("request", "with plan=True")
    return plan


def with_warnings(answer: Release) -> Release:
    """Return an answer, and issue its warnings."""
    for text in answer.warnings:
        warnings.warn(text, stacklevel=4)
    return answer
