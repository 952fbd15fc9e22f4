"""A database that answers privately, which `tc.open` returns.

    db.plan(...)   parse and price: reads no data but a public number of rows, spends nothing
    db.sql(...)    parse, price, check the source, charge (committed), read exact integers, add noise

See `session` for the order of these steps. Verbs such as `db.mean(...)` write the SELECT that they stand for (`verbs`)
and run it, so a verb and its SQL have the same plan, price and receipt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Literal, Self, Unpack, overload

from tacit import verbs
from tacit.database_verbs import DatabaseVerbs, with_warnings
from tacit.database_verbs.base import is_plan
from tacit.engines import Engine
from tacit.errors import InvalidError, TacitError
from tacit.guarantees.exact import Number, positive
from tacit.guarantees.filters import Budget
from tacit.ledger import Ledger, history
from tacit.ledger.records import budget_like
from tacit.outside_release import Chargeable, OutsideRelease, charge
from tacit.query.expressions import Value
from tacit.query.formatting import spell
from tacit.query.policy import TablePolicy
from tacit.query.policy.limits import QueryBounds
from tacit.query.pricing.price import Cost
from tacit.query.results import render
from tacit.query.results.limits_report import LimitsReport
from tacit.query.results.quote import Question, Quote
from tacit.query.results.release import Release
from tacit.query.sql.parameters import ParameterValue
from tacit.query_options import Options, check_options, question_of
from tacit.quotes import SessionQuote
from tacit.safe_text import html_lines, visible
from tacit.session import Session, unspent
from tacit.synthetic.release_plan import ReleasePlan

_TIMES = 9
"""How many times the cost of a report on limits the answer is assumed to cost."""


class Database(DatabaseVerbs):
    """Private tables behind one budget; see `open`. `DatabaseVerbs` has the queries without SQL."""

    def __init__(
        self,
        tables: Mapping[str, tuple[TablePolicy, Engine]],
        ledger: Ledger,
        *,
        version: str,
        analyst: str = "",
        data_version: str = "",
        owns_ledger: bool = False,
    ) -> None:
        """Store the parts that `open` has put together; `close` closes a ledger that the database owns."""
        self._tables = dict(tables)
        self._session = Session(
            self._tables,
            ledger,
            version=version,
            analyst=analyst,
            data_version=data_version,
            owns_ledger=owns_ledger,
        )

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
            reach: the most rows of one unit that this answer counts, in place of the policy's. Limits
                change the error, never the guarantee. With "auto" a part of the cost chooses it privately.
            max_groups: the largest number of groups in which a unit counts, in place of the policy's.
            max_rows: the most rows of one unit that one group counts, in place of the policy's.
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
        return with_warnings(self._session.answer(quote, request))

    def as_analyst(self, name: str, *, ledger: Ledger | None = None) -> Self:
        """Return this database for another analyst, over the same engines and the same ledger; closing one closes both.

        Args:
            name: the analyst, for the ledger and for the analyst's limit.
            ledger: the same ledger behind another object, such as one that asks before each charge.
        """
        view = copy(self)
        with unspent():
            view._session = self._session.as_analyst(name, ledger)  # noqa: SLF001 - a copy of this object
        return view

    def _quote(self, query: str, **options: Unpack[Options]) -> SessionQuote:
        with unspent():
            question = question_of(query, options)
        return self._session.quote(question)

    @overload
    def limits(
        self,
        query: str | None = None,
        *,
        spend: Number | None = None,
        table: str | None = None,
        request: str | None = None,
        plan: Literal[False] = False,
        **options: Unpack[Options],
    ) -> LimitsReport: ...
    @overload
    def limits(
        self,
        query: str | None = None,
        *,
        spend: Number | None = None,
        table: str | None = None,
        plan: Literal[True],
        **options: Unpack[Options],
    ) -> SessionQuote: ...
    def limits(
        self,
        query: str | None = None,
        *,
        spend: Number | None = None,
        table: str | None = None,
        request: str | None = None,
        plan: bool = False,
        **options: Unpack[Options],
    ) -> LimitsReport | SessionQuote:
        """Release how many units have how many rows, and so which reach errs least.

        Args:
            query: the query whose limits are to be chosen; by default the count of a table's rows.
            spend: the ε or ρ that the query itself will cost; by default nine times that of the report.
            table: one of several tables, if no query is given.
            request: a name for this report, as for `sql`.
            plan: whether to return the quote, as `limits_plan` does, and spend nothing.
            options: `epsilon` or `rho`, the cost of this report; `confidence` of its intervals; `keys` as for `sql`.
                A `delta` is that of the report and of the query, which needs one if its groups are found in the data.
        """
        planned = is_plan(plan, {"request": request})
        question = self._limits_question(query, table, options)
        if planned:
            return self._session.limits_quote(question)
        with unspent():
            cost = question.cost
            given, name = (cost.epsilon, "epsilon") if cost.rho is None else (cost.rho, "rho")
            loss = _TIMES * positive(given, name) if spend is None and given is not None else spend
            answer = Cost(rho=loss) if name == "rho" else Cost(epsilon=loss, delta=cost.delta)
        return self._session.limits(question, answer, request)

    def limits_plan(
        self, query: str | None = None, *, table: str | None = None, **options: Unpack[Options]
    ) -> SessionQuote:
        """Return the cost of `limits`; read no data and spend nothing."""
        return self._session.limits_quote(self._limits_question(query, table, options))

    def _limits_question(self, query: str | None, table: str | None, options: Options) -> Question:
        with unspent():
            check_options(options, Options)
            if options.get("error") is not None:
                raise InvalidError("A report on limits has no error.", argument="error", hint="Give epsilon or rho.")
            return question_of(verbs.count(self._target((), None, table)) if query is None else query, options)

    def check(self, quote: Quote | ReleasePlan) -> None:
        """Raise BudgetError if a quote or a plan costs more than is left now; read no data and spend nothing."""
        if isinstance(quote, Quote):
            self._session.check(quote)
            return
        with unspent():
            self._session.check_events(quote.events, "release")

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
    def session(self) -> Session:
        """The session, for programs such as the server that plan and answer a query in one step."""
        return self._session

    @property
    def analyst(self) -> str:
        """The name of the analyst; empty without one."""
        return self._session.analyst

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
        """The amount that this analyst has left, of the budget of all and of the analyst's own limit."""
        return self._session.left

    def __repr__(self) -> str:
        """Return the tables and the budget that is left."""
        return visible(f"<Database: {', '.join(self._tables)}; {self._status()}>")

    def _repr_html_(self) -> str:
        """Return the tables, their columns and the budget that is left as HTML, for notebooks."""
        return f"{html_lines([self._status()])}{render.catalog_html(self.tables)}"

    def _status(self) -> str:
        closed = ", closed" if self._session.closed else ""
        try:
            left, own_limit = spell(self.left), self.ledger.limit_of(self._session.analyst)
            in_all = f"{spell(history.left(self.ledger))} of {spell(self.ledger.budget)}"
        except TacitError:  # an unreadable ledger must not make repr() fail
            return f"left: unknown of {spell(self.ledger.budget)}{closed}"
        if own_limit is None:
            return f"left: {left} of {spell(self.ledger.budget)}{closed}"
        who = visible(self._session.analyst) or "unnamed analysts"
        return f"left for {who}: {left} of {spell(own_limit)}; left in all: {in_all}{closed}"

    def close(self) -> None:
        """Close the sources and the connections of the ledger.

        A ledger that was passed to `tc.open` as an object stays open. `spent` and `left` can still be read: a closed
        ledger in PostgreSQL opens a connection for each reading and closes it.
        """
        self._session.close()

    def __enter__(self) -> Self:
        """Return the database."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the sources and the connections of the ledger."""
        self.close()
