"""The verb that finds frequent itemsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, overload

from tacit.database_verbs.base import SessionVerbs, is_plan
from tacit.guarantees.exact import Number
from tacit.query.expressions import Value
from tacit.session import unspent

if TYPE_CHECKING:
    from tacit.synthetic.itemsets import Itemsets
    from tacit.synthetic.release_plan import ReleasePlan

Bins = Mapping[str, int | Sequence[float]]


class ItemsetVerbs(SessionVerbs):
    """The verb that finds frequent itemsets, or plans it."""

    @overload
    def itemsets(  # noqa: PLR0913 - as below
        self,
        *,
        basket: str | None = None,
        item: str | None = None,
        columns: Sequence[str] | None = None,
        k: int | None = None,
        min_support: Number | None = None,
        most: int | None = None,
        keys: Sequence[Value] | Mapping[str, Sequence[Value]] | None = None,
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
    ) -> Itemsets: ...
    @overload
    def itemsets(  # noqa: PLR0913 - as below
        self,
        *,
        basket: str | None = None,
        item: str | None = None,
        columns: Sequence[str] | None = None,
        k: int | None = None,
        min_support: Number | None = None,
        most: int | None = None,
        keys: Sequence[Value] | Mapping[str, Sequence[Value]] | None = None,
        bins: Bins | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        where: str | None = None,
        table: str | None = None,
        reach: int | None = None,
        confidence: float = 0.95,
        request: str | None = None,
        plan: Literal[True],
    ) -> ReleasePlan: ...
    def itemsets(  # noqa: PLR0913 - one for each decision of the analyst
        self,
        *,
        basket: str | None = None,
        item: str | None = None,
        columns: Sequence[str] | None = None,
        k: int | None = None,
        min_support: Number | None = None,
        most: int | None = None,
        keys: Sequence[Value] | Mapping[str, Sequence[Value]] | None = None,
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
    ) -> Itemsets | ReleasePlan:
        """Find sets of items that many baskets include, with noisy supports, intervals and association rules.

        A basket is the rows of one unit with one value of `basket`, or all rows of a unit, or with `columns` one row.
        The items are public (the policy's keys, `keys`, or the values of `columns`), or they are found in the data,
        which needs a δ.

        Args:
            basket: the column that names the baskets of a unit; without it, all rows of a unit are one basket.
            item: the column with one item a row.
            columns: instead of `item`, columns with public values; each row is a basket of one item a column.
            k: the number of sets.
            min_support: instead of k, the part of the baskets that a set must reach; at most all measured sets come.
            most: the items of a basket that count; by default `max_rows` of the policy, or 64.
            keys: the public items.
            bins: the bins of columns of numbers, as for marginals.
            epsilon: ε of the whole release.
            delta: δ of the whole release; with one, many items get less noise.
            rho: ρ instead of ε, for a budget in zCDP.
            where: a condition in SQL.
            table: one of several tables.
            reach: the baskets of a unit that count; by default `max_groups` of the policy, or its reach.
            confidence: the probability with which all intervals hold together.
            request: a name for this release, as for `sql`.
            plan: whether to return the cost and the expected errors, and spend nothing.
        """
        from tacit.synthetic import itemset_query  # noqa: PLC0415 - heavy

        with unspent():
            planned = is_plan(plan, {"request": request})
        given = itemset_query.ItemsetArguments(
            basket=basket,
            item=item,
            columns=columns,
            k=k,
            min_support=min_support,
            most=most,
            keys=keys,
            bins=bins,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            where=where,
            table=table,
            reach=reach,
            confidence=confidence,
        )
        if planned:
            return itemset_query.plan_itemsets(self._session, given)
        return itemset_query.release(self._session, given, request)
