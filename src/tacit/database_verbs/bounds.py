"""The verbs that find private bounds of a column."""

from __future__ import annotations

from typing import Literal, Unpack, overload

from tacit import verbs
from tacit.database_verbs.base import SessionVerbs, is_plan
from tacit.guarantees.exact import Number
from tacit.query.results.private_bounds import PrivateBounds
from tacit.query.results.quote import Quote
from tacit.query_options import BoundsOptions, Options, question_of
from tacit.quotes import SessionQuote
from tacit.session import unspent


class BoundsVerbs(SessionVerbs):
    """The verbs that find private bounds of a column, or plan them."""

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
        if is_plan(plan, {"request": request}):
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
