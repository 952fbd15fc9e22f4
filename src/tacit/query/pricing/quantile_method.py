"""The choice between one tree of noisy counts and one draw for each quantile of a column.

All quantiles of a column share its part of the cost. A tree serves them all. With k draws each has a k-th of that
part. The method with the smaller expected error is used: for k quantiles with the errors dᵢ of draws and tᵢ of the
tree, in rows, draws are used if the mean of dᵢ/tᵢ is below 1. For `min` and `max` the error is their rank. If a number
of units is assumed, errors are in values, so that the resolution of the bins counts too. The choice depends on the plan
and the cost alone.

**Confidence.** A drawn interval is for one confidence (see `rank_scores`). It is the highest that an output needs: of
all listed groups together if noisy values choose among them, and of all aggregates of a computed output together. For
discovered groups a number of groups is assumed; if there are more, the intervals are widened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.errors import InvalidError, TooMuchNoiseError
from tacit.guarantees.exact import Exact, positive, to_fraction
from tacit.mechanisms.gaussian import Gaussian
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.cut import cut_share, with_cut
from tacit.query.aggregates.drawn_quantile import DrawnQuantile
from tacit.query.aggregates.measure_sharing import arrange
from tacit.query.aggregates.quantile import Quantile
from tacit.query.aggregates.statistic import ConfidenceLevel, miss_rate
from tacit.query.expressions import Expression
from tacit.query.noise_law import Law
from tacit.query.plan import Ask, Bounds, Computed, Noisy, Output, Plan
from tacit.query.pricing.noisy_filters import confidence_each, confidence_in_group
from tacit.query.pricing.price import Cost, noise_of
from tacit.query.pricing.reach_choice import GUESSED_GROUPS
from tacit.query.rank_target import Draw

_DRAWN = {name: f"drawn_{name}" for name in ("quantile", "quantile_disc", "min", "max")}
_LEAST_MISS, _MOST_MISS = Fraction(1, 2**60), Fraction(2, 5)

QuantileColumn = tuple[Expression, Bounds]
"""A value whose quantiles a query asks for, with its bounds."""

Amounts = Mapping[Law, Fraction]
"""For each law that the noise of a column may have, its amount (see `noise_of`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawOptions:
    """The options of draws, besides the plan.

    `intervals` says whether an interval is drawn with each quantile. `rho` says whether the cost is in ρ, and `flips`
    whether a draw without an interval uses permute-and-flip, which costs more than a bounded range unless ε adds up.
    """

    confidence: float
    intervals: bool
    rho: bool
    flips: bool


def choose_method(plan: Plan, cost: Cost, options: DrawOptions, assume: int | None = None) -> Plan:
    """Return the plan with draws in place of trees where their expected error is smaller.

    A plan whose cost is an error is returned unchanged: `solve` compares the costs of both methods.
    """
    columns = quantile_columns(plan)
    if not columns or cost.error is not None:
        return plan
    trees = _amounts(plan, cost, options)
    if trees is None:
        return plan
    every = with_draws(plan, columns, options)
    draws = {law: amount for law, amount in trees.items() if law == ("gaussian" if options.rho else "laplace")}
    better = [
        column for column in columns if _is_better(plan, every, column, (trees, draws), (options.confidence, assume))
    ]
    return with_draws(plan, better, options) if better else plan


def quantile_columns(plan: Plan) -> list[QuantileColumn]:
    """Return the values whose quantiles a plan asks for, each with its bounds."""
    asks = [aggregate.ask for aggregate in plan.aggregates if aggregate.ask.function in _DRAWN]
    return list(dict.fromkeys(_column(ask) for ask in asks))


def with_draws(plan: Plan, columns: Sequence[QuantileColumn], options: DrawOptions) -> Plan:
    """Return the plan with a draw for each quantile of some columns."""
    asks = [
        _drawn(plan, index, options)
        if aggregate.ask.function in _DRAWN and _column(aggregate.ask) in columns
        else aggregate.ask
        for index, aggregate in enumerate(plan.aggregates)
    ]
    bundles, indices = arrange(asks, plan.table, found=plan.open)
    aggregates = tuple(
        replace(aggregate, ask=ask, bundles=needed, cut=None)
        for aggregate, ask, needed in zip(plan.aggregates, asks, indices, strict=True)
    )
    drawn = replace(plan, bundles=bundles, aggregates=aggregates)
    return drawn if plan.cap is None else with_cut(drawn, plan.cap, cut_share(plan))


def _column(ask: Ask) -> QuantileColumn:
    return ask.values[0], ask.bounds[0]


def _drawn(plan: Plan, index: int, options: DrawOptions) -> Ask:
    """Return a quantile as a draw; equal ranks of a column are drawn once."""
    ask = plan.aggregates[index].ask
    ranks = {
        (one.ask.function in ("min", "max"), one.ask.function if one.ask.parameter is None else one.ask.parameter)
        for one in plan.aggregates
        if one.ask.function in _DRAWN and _column(one.ask) == _column(ask)
    }
    miss = _miss(plan, ask, options.confidence) if options.intervals else None
    flips = options.flips and miss is None
    return replace(
        ask, function=_DRAWN[ask.function], draw=Draw(weight=Fraction(1, len(ranks)), miss=miss, flips=flips)
    )


def _miss(plan: Plan, ask: Ask, confidence: float) -> Fraction:
    """Return the miss rate of the interval of a column's quantiles: the least that an output needs."""
    places = {
        index
        for index, aggregate in enumerate(plan.aggregates)
        if aggregate.ask.function in _DRAWN and _column(aggregate.ask) == _column(ask)
    }
    each = confidence_in_group(plan, confidence, GUESSED_GROUPS)
    parts = [noisy_places(output) for _, output in plan.outputs]
    rates = [miss_rate(confidence_each(each, len(part))) for part in parts if part & places]
    return min(max(min(rates, default=miss_rate(each)), _LEAST_MISS), _MOST_MISS)


def noisy_places(output: Output) -> set[int]:
    """Return the indices of the aggregates of an output."""
    if isinstance(output, Computed):
        return set().union(*map(noisy_places, output.arguments))
    return {output.place} if isinstance(output, Noisy) else set()


def _amounts(plan: Plan, cost: Cost, options: DrawOptions) -> Amounts | None:
    """Return the amounts of a bundle of weight 1 for each law that a tree may have; None if the cost is not valid.

    With a δ a tree has the better one of two laws, and draws have an ε.
    """
    whole = sum((bundle.weight for bundle in plan.bundles), Fraction(0))
    if options.rho:
        return {"gaussian": 1 / whole}
    try:
        epsilon = positive(cost.epsilon, "epsilon")
        delta = to_fraction(0 if cost.delta is None else cost.delta, "delta")
    except InvalidError:  # pricing raises it again
        return None
    amounts: dict[Law, Fraction] = {"laplace": epsilon / whole}
    if 0 < delta < 1:
        with suppress(TooMuchNoiseError):
            unit = Fraction(Gaussian(sensitivity=1.0, epsilon=Exact(epsilon), delta=Exact(delta)).sigma)
            amounts["gaussian"] = 1 / unit**2 / whole
    return amounts


def _is_better(
    tree: Plan,
    draws: Plan,
    column: QuantileColumn,
    amounts: tuple[Amounts, Amounts],
    terms: tuple[ConfidenceLevel, int | None],
) -> bool:
    """Return whether the errors of draws are smaller, on average over the quantiles of a column."""
    places = [
        index
        for index, aggregate in enumerate(tree.aggregates)
        if aggregate.ask.function in _DRAWN and _column(aggregate.ask) == column
    ]
    errors = [(_error(draws, place, amounts[1], *terms), _error(tree, place, amounts[0], *terms)) for place in places]
    return sum(drawn / read if read else 1.0 for drawn, read in errors) <= len(places)


def _error(plan: Plan, place: int, amounts: Amounts, confidence: ConfidenceLevel, assume: int | None) -> float:
    """Return the least error of an aggregate over the laws that it may have: in values if units are assumed."""
    aggregate = plan.aggregates[place]
    statistic = STATISTICS[aggregate.ask.function]
    if not isinstance(statistic, (Quantile, DrawnQuantile)):
        raise TypeError("not a quantile")
    bundles, errors = [plan.bundles[i] for i in aggregate.bundles], []
    for law, amount in amounts.items():
        laws = [noise_of(plan, bundle, law, amount * bundle.weight) for bundle in bundles]
        noise = [each for each in laws if each is not None]
        if len(noise) < len(laws):
            return float("inf")
        rows = statistic.rows(aggregate.ask, bundles, noise, confidence)
        errors.append(rows if not assume else statistic.error(aggregate.ask, bundles, noise, confidence, assume))
    return min(errors)
