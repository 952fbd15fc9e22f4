"""A database that answers privately, which `tc.open` returns.

    db.plan(...)   parse and price: reads no data but a public number of rows, spends nothing
    db.sql(...)    parse, price, check the source, charge (committed), read exact integers, add noise

See `session` for the order of these steps. Verbs such as `db.mean(...)` write the SELECT that they stand for (`verbs`)
and run it, so a verb and its SQL have the same plan, price and receipt.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, Self, TypedDict, Unpack

from tacit import verbs
from tacit.engines import Engine
from tacit.errors import InvalidError, TacitError, UnusedOptionError
from tacit.guarantees.exact import Number, fraction_between, positive
from tacit.guarantees.filters import Budget
from tacit.ledger import Ledger
from tacit.ledger.records import budget_like, left_of
from tacit.outside_release import Chargeable, OutsideRelease, charge
from tacit.query.expressions import Value
from tacit.query.formatting import spell
from tacit.query.policy import TablePolicy
from tacit.query.policy.limits import AUTO, Limits, QueryBounds
from tacit.query.pricing.price import Cost
from tacit.query.results import render
from tacit.query.results.limits_report import LimitsReport
from tacit.query.results.private_bounds import PrivateBounds
from tacit.query.results.quote import TENTH, QueryForm, Question, Quote
from tacit.query.results.release import Release
from tacit.query.sql.parameters import ParameterValue, bind
from tacit.quotes import SessionQuote
from tacit.safe_text import visible
from tacit.session import Session, unspent
from tacit.verbs import ColumnNames

_TIMES = 9
"""How many times the cost of a report on limits the answer is assumed to cost."""


class Options(TypedDict, total=False):
    """The arguments that every verb takes as `Database.sql` does."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    error: Number | Mapping[str, Number] | None
    keys: Mapping[str, Sequence[Value]] | None
    confidence: float
    assume: int | None
    reach: int | Literal["auto"] | None
    max_groups: int | None
    max_rows: int | None
    bounds: QueryBounds | None
    measure_cut: int | None
    share: Number | None
    intervals: bool
    params: Mapping[str, ParameterValue] | None


class Database:
    """Private tables behind one budget; see `open`.

    In the verbs, `by` names the columns to group by, `where` is a condition in SQL, and `table` names one of several
    tables. A column may be an expression in SQL. The cost and the limits are given as for `sql`: `epsilon=`,
    `delta=`, `rho=` or `error=`; `reach=`, `max_groups=`, `max_rows=`, `bounds=`; `measure_cut=`, `share=`,
    `intervals=`, `params=`.
    """

    def __init__(
        self,
        tables: Mapping[str, tuple[TablePolicy, Engine]],
        ledger: Ledger,
        *,
        version: str,
        analyst: str = "",
        data_version: str = "",
    ) -> None:
        """Store the parts that `open` has put together."""
        self._tables = dict(tables)
        self._session = Session(self._tables, ledger, version=version, analyst=analyst, data_version=data_version)

    def plan(  # noqa: PLR0913 - the cost, the limits and what they are shown with
        self,
        query: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        keys: Mapping[str, Sequence[Value]] | None = None,
        confidence: float = 0.95,
        assume: int | None = None,
        reach: int | Literal["auto"] | None = None,
        max_groups: int | None = None,
        max_rows: int | None = None,
        bounds: QueryBounds | None = None,
        measure_cut: int | None = None,
        share: Number | None = None,
        intervals: bool = True,
        params: Mapping[str, ParameterValue] | None = None,
    ) -> SessionQuote:
        """Return the cost of a query and the expected error of its answer; read nothing private and spend nothing.

        Args:
            query: the query, in SQL.
            epsilon: ε of the whole query.
            delta: δ of the whole query; with a δ, Gaussian noise is used where its error is smaller.
            rho: ρ instead of ε, for a budget in zCDP.
            error: instead of both, the largest error of the answer: one number for all aggregates, or one for each by
                its name. tacit finds the cheapest noise that meets it.
            keys: public values of group keys that the policy does not list, by the name in the answer.
            confidence: the probability that the errors are not larger.
            assume: the number of units that a group is assumed to have, for the errors of averages and ratios.
            reach: the largest number of rows as which a unit counts in this answer, in place of the policy's. Limits
                change the error, never the guarantee. With "auto" a part of the cost chooses it privately.
            max_groups: the largest number of groups in which a unit counts, in place of the policy's.
            max_rows: the largest number of rows as which a unit counts in one group, in place of the policy's.
            bounds: bounds of columns in place of the policy's, such as {"cost": (0, 500)}. Values beyond them are
                clipped. With "auto" a part of the cost chooses them privately.
            measure_cut: a number of rows a unit, above the reach. A part of the cost measures what the reach cuts of
                every count and sum, up to so many rows a unit; see `Release.cut`.
            share: the part of the cost that chooses what is "auto", and the same part again for measure_cut; a tenth
                by default.
            intervals: with False, single quantiles have no interval and a smaller error. It changes nothing else: the
                intervals of other aggregates, and those of many quantiles of one column, cost nothing.
            params: the values of the query's parameters, by their names: {"since": date(2026, 1, 1)} for $since. A
                value is a typed constant; it cannot change the query.
        """
        return self._quote(
            query,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            error=error,
            keys=keys,
            confidence=confidence,
            assume=assume,
            reach=reach,
            max_groups=max_groups,
            max_rows=max_rows,
            bounds=bounds,
            measure_cut=measure_cut,
            share=share,
            intervals=intervals,
            params=params,
        )

    def sql(  # noqa: PLR0913 - as `plan`, and a name
        self,
        query: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        keys: Mapping[str, Sequence[Value]] | None = None,
        confidence: float = 0.95,
        assume: int | None = None,
        reach: int | Literal["auto"] | None = None,
        max_groups: int | None = None,
        max_rows: int | None = None,
        bounds: QueryBounds | None = None,
        measure_cut: int | None = None,
        share: Number | None = None,
        intervals: bool = True,
        params: Mapping[str, ParameterValue] | None = None,
        request: str | None = None,
    ) -> Release:
        """Run a query and charge it; the arguments are those of `plan`.

        `request` is a name that you choose for this query. If you run the same query again under the same name, tacit
        returns the recorded answer at no cost. It is for programs that crashed and do not know whether they got an
        answer.
        """
        quote = self._quote(
            query,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            error=error,
            keys=keys,
            confidence=confidence,
            assume=assume,
            reach=reach,
            max_groups=max_groups,
            max_rows=max_rows,
            bounds=bounds,
            measure_cut=measure_cut,
            share=share,
            intervals=intervals,
            params=params,
        )
        return _with_warnings(self._session.answer(quote, request))

    def _quote(self, query: str, **options: Unpack[Options]) -> SessionQuote:
        with unspent():
            question = _question(query, options)
        return self._session.quote(question)

    def limits(
        self,
        query: str | None = None,
        *,
        spend: Number | None = None,
        table: str | None = None,
        **options: Unpack[Options],
    ) -> LimitsReport:
        """Release how many units have how many rows, and so which reach errs least.

        Args:
            query: the query whose limits are to be chosen; by default the count of a table's rows.
            spend: the ε or ρ that the query itself will cost; by default nine times that of the report.
            table: one of several tables, if no query is given.
            options: `epsilon` or `rho`, the cost of this report; `confidence` of its intervals; `keys` as for `sql`.
                A `delta` is that of the report and of the query, which needs one if its groups are found in the data.
        """
        question = self._limits_question(query, table, options)
        with unspent():
            cost = question.cost
            given, name = (cost.epsilon, "epsilon") if cost.rho is None else (cost.rho, "rho")
            loss = _TIMES * positive(given, name) if spend is None and given is not None else spend
            answer = Cost(rho=loss) if name == "rho" else Cost(epsilon=loss, delta=cost.delta)
        return self._session.limits(question, answer)

    def limits_plan(
        self, query: str | None = None, *, table: str | None = None, **options: Unpack[Options]
    ) -> SessionQuote:
        """Return the cost of `limits`; read no data and spend nothing."""
        return self._session.limits_quote(self._limits_question(query, table, options))

    def _limits_question(self, query: str | None, table: str | None, options: Options) -> Question:
        with unspent():
            if options.get("error") is not None:
                raise InvalidError("A report on limits has no error.", argument="error", hint="Give epsilon or rho.")
            return _question(verbs.count(self._target((), None, table)) if query is None else query, options)

    def check(self, quote: Quote) -> None:
        """Raise BudgetError if a quote costs more than is left now; read no data and spend nothing."""
        self._session.check(quote)

    # --- verbs ------------------------------------------------------------------------------------------------------

    def count(
        self, *, by: ColumnNames = (), where: str | None = None, table: str | None = None, **options: Unpack[Options]
    ) -> Release:
        """Count rows."""
        return self._run(lambda: verbs.count(self._target(by, where, table)), options)

    def sum(
        self,
        column: str,
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        **options: Unpack[Options],
    ) -> Release:
        """Add up a column."""
        return self._run(lambda: verbs.aggregate("SUM", column, "sum", self._target(by, where, table)), options)

    def mean(
        self,
        column: str,
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        **options: Unpack[Options],
    ) -> Release:
        """Average a column."""
        return self._run(lambda: verbs.aggregate("AVG", column, "mean", self._target(by, where, table)), options)

    def variance(
        self,
        column: str,
        *,
        sample: bool = True,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        **options: Unpack[Options],
    ) -> Release:
        """Return the variance of a column: of a sample (divided by n - 1), or of a population if not `sample`."""
        function = "VAR_SAMP" if sample else "VAR_POP"
        return self._run(lambda: verbs.aggregate(function, column, "variance", self._target(by, where, table)), options)

    def median(
        self,
        column: str,
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        **options: Unpack[Options],
    ) -> Release:
        """Return the median of a column."""
        return self._run(lambda: verbs.aggregate("MEDIAN", column, "median", self._target(by, where, table)), options)

    def quantile(
        self,
        column: str,
        q: float | Sequence[float],
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        **options: Unpack[Options],
    ) -> Release:
        """Return one quantile of a column, or several, which share the cost; see "Quantiles" in the SQL reference."""
        return self._run(lambda: verbs.quantiles(column, q, self._target(by, where, table)), options)

    def choose(
        self,
        column: str,
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        **options: Unpack[Options],
    ) -> Release:
        """Draw the most frequent of a column's public values; `keys=` lists them if the policy does not.

        The answer is a category and has no interval. Its plan and its notes state how many rows it may be short of the
        most frequent value.
        """
        return self._run(lambda: verbs.aggregate("MODE", column, "choice", self._target(by, where, table)), options)

    def histogram(
        self,
        column: str,
        bins: int | Sequence[float],
        *,
        by: ColumnNames = (),
        where: str | None = None,
        table: str | None = None,
        **options: Unpack[Options],
    ) -> Release:
        """Count a column's values in bins: whole numbers, never negative.

        Args:
            column: a column of numbers.
            bins: their edges, increasing; a bin contains its lower edge, and the last bin its upper edge too. Or the
                number of bins of equal width between the column's public bounds.
            by: columns to group by as well.
            where: a condition in SQL.
            table: one of several tables.
            options: the cost and more; see `sql`.
        """
        with unspent():
            target = verbs.VerbTarget(_limits(options).apply_all(self.tables), by, where, table)
            query, labels = verbs.histogram(column, bins, target)
        keys = {**labels, **(options.get("keys") or {})}
        return self._tabulate(query, {**options, "keys": keys}, "table")

    def crosstab(
        self, *columns: str, where: str | None = None, table: str | None = None, **options: Unpack[Options]
    ) -> Release:
        """Count the combinations of several columns: whole numbers, never negative, consistent with all margins.

        `margin(...)` of the answer returns a margin with its intervals. The budget is split over the table and its
        margins so that the total error is least.
        """
        with unspent():
            query = verbs.crosstab(columns, self._target(columns, where, table))
        return self._tabulate(query, options, "crosstab")

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
    ) -> PrivateBounds:
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
        """
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
            question = _question(query, options)
        return self._session.bounds_quote(question, text), column

    def _target(self, by: ColumnNames, where: str | None, table: str | None) -> verbs.VerbTarget:
        return verbs.VerbTarget(self.tables, by, where, table)

    def _run(self, write: Callable[[], str], options: Options) -> Release:
        """Run the query that a verb writes."""
        with unspent():
            query = write()
        return self.sql(query, **options)

    def _tabulate(self, query: str, options: Options, form: QueryForm) -> Release:
        """Run a count as a table that adds up."""
        with unspent():
            question = replace(_question(query, options), form=form)
        return _with_warnings(self._session.answer(self._session.quote(question)))

    # --- the budget and the tables ----------------------------------------------------------------------------------

    def charge(self, mechanism: Chargeable, *, note: str) -> OutsideRelease:
        """Charge a release that you compute outside SQL; read nothing.

        Charge first, then release. tacit cannot check the release: you answer for it that it has the charged guarantee
        for the unit of this database under its neighbour relation. The sensitivity of a mechanism must cover all rows
        of one unit.

        Args:
            mechanism: a mechanism, a guarantee or an event. Every release is charged separately.
            note: a line that states what is released; everybody who reads the ledger sees it.
        """
        return charge(self._session, mechanism, note)

    @property
    def ledger(self) -> Ledger:
        """The budget and its history."""
        return self._session.ledger

    @property
    def spent(self) -> Budget:
        """The amount that has been spent."""
        spent = self.ledger.spent
        return budget_like(self.ledger.budget, spent.loss, spent.delta)

    @property
    def left(self) -> Budget:
        """The amount that is left."""
        spent = self.ledger.spent  # first, because reading it updates the budget
        return left_of(self.ledger.budget, spent)

    @property
    def tables(self) -> Mapping[str, TablePolicy]:
        """The policy of each table: what is public about it."""
        return self._session.tables

    def __repr__(self) -> str:
        """Return the tables and the budget that is left."""
        return visible(f"<Database: {', '.join(self._tables)}; {self._status()}>")

    def _repr_html_(self) -> str:
        """Return the tables, their columns and the budget that is left as HTML, for notebooks."""
        return f"<p>{self._status()}</p>{render.catalog_html(self.tables)}"

    def _status(self) -> str:
        try:
            left = spell(self.left)
        except TacitError:  # an unreadable ledger must not make repr() fail
            left = "unknown"
        return f"left: {left} of {spell(self.ledger.budget)}{', closed' if self._session.closed else ''}"

    def close(self) -> None:
        """Close the sources; `spent` and `left` can still be read."""
        self._session.close()

    def __enter__(self) -> Self:
        """Return the database."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the sources."""
        self.close()


def _with_warnings(answer: Release) -> Release:
    """Return an answer, and issue its warnings."""
    for text in answer.warnings:
        warnings.warn(text, stacklevel=3)
    return answer


def _question(query: str, options: Options) -> Question:
    """Return a query with its cost and options, checked."""
    keys, share, measure_cut = options.get("keys"), options.get("share"), options.get("measure_cut")
    bounds: object = options.get("bounds")
    chooses = options.get("reach") == AUTO or (isinstance(bounds, Mapping) and AUTO in bounds.values())
    if share is not None and measure_cut is None and not chooses:
        when = 'without reach="auto", bounds that are "auto", or measure_cut'
        raise UnusedOptionError("share", when, hint="Add one of them, or leave out share.")
    return Question(
        query=bind(query, options.get("params")),
        cost=Cost(
            epsilon=options.get("epsilon"),
            delta=options.get("delta"),
            rho=options.get("rho"),
            error=options.get("error"),
        ),
        keys=dict(keys) if isinstance(keys, Mapping) else keys,
        confidence=options.get("confidence", 0.95),
        assume=options.get("assume"),
        limits=_limits(options),
        measure_cut=measure_cut,
        share=TENTH if share is None else fraction_between(share, "share", 0, 1),
        intervals=options.get("intervals", True),
    )


def _limits(options: Options) -> Limits:
    """Return the limits and bounds of a query, checked."""
    return Limits(
        reach=options.get("reach"),
        max_groups=options.get("max_groups"),
        max_rows=options.get("max_rows"),
        bounds=options.get("bounds"),
    )
