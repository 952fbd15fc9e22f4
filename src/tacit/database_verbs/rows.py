"""The verb that makes synthetic rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, overload

from tacit.database_verbs.base import SessionVerbs, is_plan
from tacit.guarantees.exact import Number
from tacit.session import unspent

if TYPE_CHECKING:
    from tacit.synthetic.domain import Bins
    from tacit.synthetic.release_plan import ReleasePlan
    from tacit.synthetic.synthetic_rows import SyntheticRows


class RowsOptions(TypedDict, total=False):
    """The arguments of `Database.synthesize` that have names only."""

    columns: Sequence[str] | None
    target: str | None
    mode: str
    bins: Bins | None
    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    where: str | None
    table: str | None
    reach: int | None
    given: Mapping[str, object] | None
    constraints: str | Sequence[str] | None
    report: bool
    share: Number
    seconds: float | None
    confidence: float
    progress: Callable[[float, str], None] | None
    request: str | None


class RowVerbs(SessionVerbs):
    """The verb that makes synthetic rows, or plans them."""

    @overload
    def synthesize(
        self, n: int | None = None, *, plan: Literal[False] = False, **options: Unpack[RowsOptions]
    ) -> SyntheticRows: ...
    @overload
    def synthesize(
        self, n: int | None = None, *, plan: Literal[True], **options: Unpack[RowsOptions]
    ) -> ReleasePlan: ...
    def synthesize(  # noqa: PLR0913 - one for each option
        self,
        n: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        target: str | None = None,
        mode: str = "fast",
        bins: Bins | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        where: str | None = None,
        table: str | None = None,
        reach: int | None = None,
        given: Mapping[str, object] | None = None,
        constraints: str | Sequence[str] | None = None,
        report: bool = False,
        share: Number = 0.1,
        seconds: float | None = None,
        confidence: float = 0.95,
        progress: Callable[[float, str], None] | None = None,
        request: str | None = None,
        plan: bool = False,
    ) -> SyntheticRows | ReleasePlan:
        """Make synthetic rows that have about the same tables of counts as the private rows.

        tacit releases noisy counts of columns and of pairs of columns, fits a model to them, and draws rows from it.
        Only the counts cost something: `sample` of the answer draws more rows at no cost. Every column needs public
        values: listed keys, booleans, or `bins` for a number.

        Args:
            n: the number of rows; by default the noisy estimate, or the number itself if it is public.
            columns: the columns; by default all with public values or bins.
            target: the column that the rows are to predict; its dependence on the others then comes first.
            mode: "fast", or "quality", which chooses what to count step by step and takes longer.
            bins: for columns of numbers, the edges of bins or the number of bins between the bounds. Numbers are drawn
                evenly inside their bin.
            epsilon: ε of the release. Without δ the noise is Laplace noise.
            delta: δ of the release; with it the noise with the smaller error is used.
            rho: ρ instead of ε, for a budget in zCDP.
            where: a condition in SQL: only rows that meet it count.
            table: one of several tables.
            reach: the most rows of one unit that count, in place of the policy's.
            given: values that all rows are to have, such as {"sex": "F"}.
            constraints: conditions in SQL that all rows must satisfy; other rows are dropped and drawn again.
            report: whether a part of the cost measures how far the rows are from the private ones.
            share: that part.
            seconds: with mode="quality", the time after which the search for more counts ends.
            confidence: that of the measured distances.
            progress: with mode="quality", called with the finished part and what is being done.
            request: a name for this release, as for `sql`.
            plan: whether to return the plan, and spend nothing.
        """
        from tacit.synthetic import synthesis  # noqa: PLC0415 - heavy

        with unspent():
            planned = is_plan(plan, {"request": request})
            question = synthesis.SyntheticQuestion(
                n=n,
                columns=columns,
                target=target,
                mode=mode,
                bins=bins,
                epsilon=epsilon,
                delta=delta,
                rho=rho,
                where=where,
                table=table,
                reach=reach,
                given=given,
                constraints=constraints,
                report=report,
                share=share,
                seconds=seconds,
                confidence=confidence,
                progress=progress,
            )
            prepared = synthesis.prepare(self._session, question)
        if planned:
            return synthesis.plan(prepared)
        rows = synthesis.answer(self._session, prepared, request)
        for text in rows.warnings:
            warnings.warn(text, stacklevel=2)
        return rows
