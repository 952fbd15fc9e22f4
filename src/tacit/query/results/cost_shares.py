"""The part of a query's cost that each of its aggregates takes, including those that only HAVING or ORDER BY names.

Every aggregate is measured with noise, whether the answer shows it or not: HAVING and ORDER BY compare its noisy value.
So an aggregate that only these clauses name costs as much as one that is shown. Aggregates that are computed from the
same integers share their part (`aggregates.measure_sharing`).

A part is the share of ε, or of ρ. With Gaussian noise for (ε, δ) it is the share of the precision (see
`pricing.price`), which does not add up in ε.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.guarantees.exact import to_fraction
from tacit.guarantees.values import ZCDP, PureDP
from tacit.query.aggregates.measure_sharing import arrange
from tacit.query.formatting import listed
from tacit.query.plan import Computed, Noisy, Output, Plan
from tacit.query.pricing.output_errors import places_in
from tacit.query.pricing.price import Price

_FINDING, _CHOOSING, _CUT = "finding the groups", "choosing the limits", "the cut of"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostShare:
    """A part of a query's cost: its share, and what it is for.

    `aggregates` are the SQL texts of the aggregates that share it. `purpose` says what a part is for that does not
    measure their values. `only_in` has the aggregates that the answer does not show, with the clauses that name them.
    """

    share: Fraction
    aggregates: tuple[str, ...] = ()
    purpose: str | None = None
    only_in: Mapping[str, tuple[str, ...]]

    def __str__(self) -> str:
        """Return the share and what it is for, as a clause.

        >>> print(CostShare(share=Fraction(1, 2), aggregates=("count(*)",), only_in={"count(*)": ("ORDER BY",)}))
        50% is for count(*), which only ORDER BY names
        """
        names = listed(list(self.aggregates))
        what = names if self.purpose is None else f"{self.purpose} {names}".rstrip()
        text = f"{float(100 * self.share):.3g}% is for {what}"
        if len(self.aggregates) == 1 and self.only_in:
            return f"{text}, which only {listed(list(self.only_in[self.aggregates[0]]))} names"
        hidden = [
            f"{sql}, which only {listed(list(clauses))} names, costs nothing extra"
            for sql, clauses in self.only_in.items()
        ]
        return "; ".join([text, *hidden])


def cost_shares(plan: Plan, price: Price) -> tuple[CostShare, ...]:
    """Return the parts of a query's cost, in the order of its aggregates; together they are the whole cost."""
    chosen = _part_of_choice(price)
    hidden = hidden_aggregates(plan)
    parts: dict[tuple[str | None, tuple[str, ...]], Fraction] = {}
    for index, share in enumerate(price.shares):
        uses = [each.sql for each in plan.aggregates if index in each.bundles]
        cuts = [each.sql for each in plan.aggregates if index == each.cut]
        key = (None, tuple(uses)) if uses or not cuts else (_CUT, tuple(cuts))
        if share and (uses or cuts):
            parts[key] = parts.get(key, Fraction(0)) + share * (1 - chosen)
    shares = [
        CostShare(
            share=share,
            aggregates=names,
            purpose=purpose,
            only_in={name: hidden[name] for name in names if name in hidden},
        )
        for (purpose, names), share in parts.items()
    ]
    return (*_before(plan, price, chosen), *shares)


def _before(plan: Plan, price: Price, chosen: Fraction) -> Iterator[CostShare]:
    """Yield the parts that are spent before the values of groups."""
    if chosen:
        yield CostShare(share=chosen, purpose=_CHOOSING, only_in={})
    finding = (1 - sum(price.shares, Fraction(0))) * (1 - chosen)
    if plan.open and finding:
        yield CostShare(share=finding, purpose=_FINDING, only_in={})


def _part_of_choice(price: Price) -> Fraction:
    """Return the share of the cost that chooses limits."""
    if price.chosen is None:
        return Fraction(0)
    guarantee = price.guarantee
    whole = guarantee.rho if isinstance(guarantee, ZCDP) else guarantee.epsilon
    return price.chosen / to_fraction(whole, "cost")


def hidden_aggregates(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the aggregates that the answer does not show, by their SQL, with the clauses that name them."""
    shown = set().union(*(places_in(output) for _, output in plan.outputs))
    clauses: dict[str, set[int]] = {
        "HAVING": set() if plan.having is None else places_in(plan.having),
        "ORDER BY": set().union(*(places_in(order.by) for order in plan.order)),
    }
    return {
        aggregate.sql: names
        for index, aggregate in enumerate(plan.aggregates)
        if index not in shown and (names := tuple(name for name, places in clauses.items() if index in places))
    }


def without_hidden(plan: Plan) -> Plan | None:
    """Return the plan of the shown aggregates alone; None if none is hidden, or if only hidden ones are left.

    It is for comparing errors: it has no HAVING and no ORDER BY.
    """
    hidden = hidden_aggregates(plan)
    kept = [index for index, aggregate in enumerate(plan.aggregates) if aggregate.sql not in hidden]
    if not hidden or not kept or plan.cap is not None:
        return None
    bundles, indices = arrange([plan.aggregates[index].ask for index in kept], plan.table, found=plan.open)
    places = {old: new for new, old in enumerate(kept)}
    return replace(
        plan,
        bundles=bundles,
        aggregates=tuple(
            replace(plan.aggregates[index], bundles=needed) for index, needed in zip(kept, indices, strict=True)
        ),
        outputs=tuple((name, _moved(output, places)) for name, output in plan.outputs),
        having=None,
        order=(),
        limit=None,
        offset=0,
    )


def _moved(output: Output, places: Mapping[int, int]) -> Output:
    """Return an output with new indices of its aggregates."""
    if isinstance(output, Computed):
        return replace(output, arguments=tuple(_moved(argument, places) for argument in output.arguments))
    return replace(output, place=places[output.place]) if isinstance(output, Noisy) else output


def share_lines(shares: tuple[CostShare, ...]) -> list[str]:
    """Return a sentence on the parts of the cost; nothing if one part is for all that the answer shows.

    A quote says itself what the choice of limits costs.
    """
    others = [share for share in shares if share.purpose != _CHOOSING]
    if len(others) < 2 and not any(share.only_in for share in others):  # noqa: PLR2004 - one part is the whole
        return []
    return [f"Of the cost, {'; '.join(map(str, shares))}."]


def shares_json(shares: tuple[CostShare, ...], price: Price) -> list[dict[str, object]]:
    """Return the parts as JSON, with the amounts of ε or ρ where they add up."""
    guarantee = price.guarantee
    amount: dict[str, Fraction] = {}
    if isinstance(guarantee, PureDP):
        amount = {"epsilon": to_fraction(guarantee.epsilon, "epsilon")}
    elif isinstance(guarantee, ZCDP):
        amount = {"rho": to_fraction(guarantee.rho, "rho")}
    return [
        {
            "for": list(share.aggregates),
            "purpose": share.purpose,
            "share": float(share.share),
            **{name: float(whole * share.share) for name, whole in amount.items()},
            "only_in": {name: list(clauses) for name, clauses in share.only_in.items()},
        }
        for share in shares
    ]
