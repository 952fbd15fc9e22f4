"""The verb that releases many marginals at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, overload

from tacit.database_verbs.base import SessionVerbs, is_plan
from tacit.guarantees.exact import Number
from tacit.session import unspent

if TYPE_CHECKING:
    from tacit.synthetic.domain import Bins
    from tacit.synthetic.marginal_request import MarginalName, Weights
    from tacit.synthetic.marginals import Marginals
    from tacit.synthetic.release_plan import ReleasePlan


class MarginalVerbs(SessionVerbs):
    """The verb that releases marginals, or plans them."""

    @overload
    def marginals(
        self,
        marginals: Sequence[MarginalName] | str | None = None,
        *,
        ways: int | None = None,
        columns: Sequence[str] | None = None,
        weights: Weights | None = None,
        bins: Bins | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        where: str | None = None,
        table: str | None = None,
        reach: int | None = None,
        confidence: float = 0.95,
        request: str | None = None,
        plan: Literal[False] = False,
    ) -> Marginals: ...
    @overload
    def marginals(
        self,
        marginals: Sequence[MarginalName] | str | None = None,
        *,
        ways: int | None = None,
        columns: Sequence[str] | None = None,
        weights: Weights | None = None,
        bins: Bins | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        where: str | None = None,
        table: str | None = None,
        reach: int | None = None,
        confidence: float = 0.95,
        plan: Literal[True],
    ) -> ReleasePlan: ...
    def marginals(  # noqa: PLR0913 - one for each option
        self,
        marginals: Sequence[MarginalName] | str | None = None,
        *,
        ways: int | None = None,
        columns: Sequence[str] | None = None,
        weights: Weights | None = None,
        bins: Bins | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        where: str | None = None,
        table: str | None = None,
        reach: int | None = None,
        confidence: float = 0.95,
        request: str | None = None,
        plan: bool = False,
    ) -> Marginals | ReleasePlan:
        """Count the combinations of several sets of columns at one cost: `m["age", "sex"]` is a table with intervals.

        The tables are unbiased, agree on every set of columns that two of them have, and have exact variances. Every
        column needs public values: listed keys, booleans, or `bins` for a number. A column that is not `required` has a
        value for missing ones, and for values that are not listed.

        Args:
            marginals: the sets of columns, such as `[("age", "sex"), "town"]`.
            ways: in place of a list, all sets of at most this many columns.
            columns: with `ways`, the columns; by default all with public values or bins.
            weights: how much the variance of each marginal counts when the noise is split; 1 by default.
            bins: for columns of numbers, the edges of bins or the number of bins between the bounds.
            epsilon: ε of all marginals together. Without δ the noise is Laplace noise.
            delta: δ of all marginals together; with it the noise with the smaller error is used.
            rho: ρ instead of ε, for a budget in zCDP.
            where: a condition in SQL.
            table: one of several tables.
            reach: the most rows of one unit that count, in place of the policy's.
            confidence: that of the intervals.
            request: a name for this release, as for `sql`.
            plan: whether to return the plan, and spend nothing.
        """
        from tacit.synthetic import marginal_question  # noqa: PLC0415 - heavy

        with unspent():
            planned = is_plan(plan, {"request": request})
            question = marginal_question.MarginalsQuestion(
                marginals=marginals,
                ways=ways,
                columns=columns,
                weights=weights,
                bins=bins,
                epsilon=epsilon,
                delta=delta,
                rho=rho,
                where=where,
                table=table,
                reach=reach,
                confidence=confidence,
            )
            prepared = marginal_question.prepare(self._session, question)
        return prepared.plan if planned else marginal_question.answer(self._session, prepared, request)
