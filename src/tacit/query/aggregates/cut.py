"""The part that a reach cuts: for each count and sum, a second bundle with the rows between the reach and a cap.

Let R be the reach and C > R the cap. The bundle of an aggregate has its values with the weights of rows beyond the
reach (see `plan`): (min(n, C) - R)/n for each of the n rows of a unit, if n > R. So answer + cut is the aggregate of
the table with a reach of C; if no unit has more than C rows, that is the table as it is, with values clipped to their
bounds. Both integers of a row of a heavy unit are truncated toward zero, so each of these rows misses less than one
step of each grid: 2^-20 of a row for a count with a reach up to 2^26.

**Sensitivity.** `plan` proves that it is that of a reach of C - R. So the bundle is built as for such a reach.

**The interval of answer + cut.** The answer is Σ wᵢ·xᵢ over the integers of its bundle, and the cut is w·x of one
integer. All have independent noise of one family, Laplace or Gaussian, with two scales. Let Nᵢ be the noise that is
drawn. Pr[abs(Σ wᵢNᵢ) > t] is bounded by continuous laws, and by the union bound; the smaller t is used, which is valid
because both depend on the plan alone.

* Laplace. Discrete Laplace noise of scale b is the difference of two geometric variables, each the whole part of an
  exponential variable of scale b. So a Laplace variable L of scale b has abs(L - N) < 1 almost surely, and
  abs(Σ wᵢNᵢ) ≤ abs(Σ wᵢLᵢ) + Σ abs(wᵢ). `noise_tails` has the quantile of Σ wᵢLᵢ.
* Gaussian. Discrete Gaussian noise with the parameter σ² has Pr[N = k] = e^(-k²/2σ²)/Z, where Z ≥ σ√(2π) by Poisson's
  summation formula. Let X be a normal variable of variance σ², and U uniform on [-½, ½]. Pr[X rounds to k] is
  φ(k)·E[cosh(kU/σ²)·e^(-U²/2σ²)] ≥ φ(k)·e^(-1/24σ²), by cosh ≥ 1 and Jensen's inequality with E U² = 1/12. So
  Pr[N = k] ≤ e^(1/24σ²)·Pr[X rounds to k]. Then Pr[abs(Σ wᵢNᵢ) > t + Σ abs(wᵢ)/2] is at most e^(Σ 1/24σᵢ²) times
  Pr[abs(Σ wᵢXᵢ) > t].
* Union bound. abs(Σ wᵢNᵢ) ≤ Σ abs(wᵢ)·qᵢ, where qᵢ is the exact quantile of Nᵢ at β over the number of integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, floor

import numpy as np

from tacit.errors import InvalidError
from tacit.query.aggregates import bundles_of
from tacit.query.aggregates.count import count_weights
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.aggregates.sum import sum_weights
from tacit.query.noise_law import NoiseLaw
from tacit.query.noise_tails import gaussian_reach, laplace_reach
from tacit.query.plan import Aggregate, Ask, Bundle, Noisy, Plan
from tacit.query.policy import TablePolicy

LARGEST_CAP = 10**9
_CUT_BITS = 46
_SAFE = 1 + 1e-9
"""A factor for the rounding of floats, far above it."""

NoisePart = tuple[Fraction, NoiseLaw]
"""The weight of an integer in a result, and the noise of that integer."""


def with_cut(plan: Plan, cap: int, share: Fraction) -> Plan:
    """Return a plan that also measures the rows between its reach and a cap, or raise InvalidError.

    Args:
        plan: the plan.
        cap: the number of rows a unit up to which rows are measured.
        share: the part of the cost that the cuts get, all together; they share it evenly.
    """
    _check(plan, cap)
    shown = {output.place for _, output in plan.outputs if isinstance(output, Noisy)}
    measured = {
        index: cut_bundle(aggregate.ask, plan.table, cap)
        for index, aggregate in enumerate(plan.aggregates)
        if index in shown and aggregate.ask.function in ("count", "sum")
    }
    if not measured:
        raise InvalidError(
            "The query has no column that is a count(*), count(x) or sum(x), so there is no cut to measure.",
            argument="measure_cut",
            hint="Leave out measure_cut, or select such a column.",
        )
    places = {bundle: len(plan.bundles) + number for number, bundle in enumerate(dict.fromkeys(measured.values()))}
    weight = sum((bundle.weight for bundle in plan.bundles), Fraction(0)) * share / (1 - share) / len(places)
    aggregates = tuple(
        replace(aggregate, cut=places[measured[index]]) if index in measured else aggregate
        for index, aggregate in enumerate(plan.aggregates)
    )
    bundles = (*plan.bundles, *(replace(bundle, weight=weight) for bundle in places))
    return replace(plan, bundles=bundles, aggregates=aggregates)


def _check(plan: Plan, cap: int) -> None:
    """Raise InvalidError unless rows are weighed by the reach alone, and the cap is above it."""
    table = plan.table
    reason = None
    if table.unit is None:
        reason = "each row is a unit, so nothing is cut", "Leave out measure_cut."
    elif table.reach is None:
        reason = "the query has no reach", "Give the query a reach, such as reach=20."
    elif table.max_rows is not None:
        reason = "the query has max_rows", "Use a reach alone, without max_rows in the query and in the policy."
    elif plan.open:
        reason = "the groups are found in the data", "List the groups with keys=, and leave out max_groups."
    elif plan.groups < plan.listed:
        reason = "the query has max_groups", "Use a reach alone, without max_groups in the query and in the policy."
    elif cap <= table.reach:
        reason = f"it must be above the reach, which is {table.reach:,}", "Use a larger measure_cut."
    if reason is not None:
        raise InvalidError(f"measure_cut cannot be used: {reason[0]}.", argument="measure_cut", hint=reason[1])


def cut_bundle(ask: Ask, table: TablePolicy, cap: int) -> Bundle:
    """Return the bundle of the rows between the reach and a cap, for a count or a sum.

    Its integers are as fine as those of a reach of cap - reach, unless the noise would then not fit 64 bits.
    """
    rows = cap - (table.reach or 0)
    (bundle,) = bundles_of(ask, replace(table, reach=rows))
    (measure,) = bundle.measures
    largest = bundle.contribution >> measure.fraction_bits
    coarser = measure.fraction_bits - min(measure.fraction_bits, max(0, _CUT_BITS - largest.bit_length()))
    bound = max(1, bundle.contribution >> coarser)  # contribution is a multiple of 2^fraction_bits, or 1
    finest = replace(measure, fraction_bits=measure.fraction_bits - coarser, beyond=cap)
    return replace(bundle, measures=(finest,), contribution=bound, total=bound)


def is_cut(bundle: Bundle) -> bool:
    """Return whether a bundle measures rows beyond the reach."""
    return bundle.measures[0].beyond is not None


def cut_share(plan: Plan) -> Fraction:
    """Return the part of the cost that measures the cut; 0 if nothing does."""
    total = sum((bundle.weight for bundle in plan.bundles), Fraction(0))
    return sum((bundle.weight for bundle in plan.bundles if is_cut(bundle)), Fraction(0)) / total


def uncut_estimate(aggregate: Aggregate, answer: Released, cut: Released) -> float | int:
    """Return the answer with its cut: the estimate for the table with a reach of the cap."""
    value = _value(aggregate.ask, answer, cut)
    return floor(value + Fraction(1, 2)) if _is_whole(aggregate.ask) else float(value)


def uncut_interval(aggregate: Aggregate, answer: Released, cut: Released, confidence: ConfidenceLevel) -> Interval:
    """Return an interval that holds the aggregate of the table with a reach of the cap with this confidence."""
    value = _value(aggregate.ask, answer, cut)
    error = Fraction(_error(aggregate.ask, (answer.bundle, cut.bundle), (answer.noise, cut.noise), confidence))
    low, high = value - error, value + error
    return (float(floor(low)), float(ceil(high))) if _is_whole(aggregate.ask) else (float(low), float(high))


def uncut_error(plan: Plan, noise: Sequence[NoiseLaw], index: int, confidence: ConfidenceLevel) -> float:
    """Return the largest error of an aggregate with its cut, with this confidence, before the data is read."""
    aggregate = plan.aggregates[index]
    if aggregate.cut is None:
        raise ValueError("the cut of this aggregate is not measured")
    places = aggregate.bundles[0], aggregate.cut
    first, second = (plan.bundles[place] for place in places)
    laws = noise[places[0]], noise[places[1]]
    return _error(aggregate.ask, (first, second), laws, confidence)


def _value(ask: Ask, answer: Released, cut: Released) -> Fraction:
    weights = _both_weights(ask, answer.bundle, cut.bundle)
    pairs = zip((*weights[0], *weights[1]), (*answer.integers[: len(weights[0])], *cut.integers), strict=True)
    return sum((weight * int(x) for weight, x in pairs), Fraction(0))


def _error(
    ask: Ask, bundles: tuple[Bundle, Bundle], noise: tuple[NoiseLaw, NoiseLaw], confidence: ConfidenceLevel
) -> float:
    weights = _both_weights(ask, *bundles)
    return _spread(tuple((abs(w), law) for law, some in zip(noise, weights, strict=True) for w in some), confidence)


def _both_weights(ask: Ask, answer: Bundle, cut: Bundle) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the weights of the integers of an answer and of its cut in the unit of measurement of the result."""
    weights = count_weights if ask.function == "count" else sum_weights
    return weights(ask, answer), weights(ask, cut)


@lru_cache(maxsize=1024)
def _spread(parts: tuple[NoisePart, ...], confidence: ConfidenceLevel) -> float:
    """Return t such that abs(Σ w·noise) > t has a probability of at most β; see the module."""
    parts = tuple((w, law) for w, law in parts if w)
    beta, total = miss_rate(confidence), float(sum(w for w, _ in parts))
    union = sum((w * law.quantile(beta / len(parts)) for w, law in parts), Fraction(0))
    scales = np.array([float(w) * law.scale for w, law in parts])
    laws = {law.law for _, law in parts}
    if laws == {"laplace"}:
        joint = laplace_reach(scales, np.ones(scales.size), float(beta)) * _SAFE + total
    elif laws == {"gaussian"}:
        factor = exp(-sum(1 / (24 * float(law.amount)) for _, law in parts))
        joint = gaussian_reach(float(np.sum(scales**2)), float(beta) * factor) * _SAFE + total / 2 if factor else np.inf
    else:
        joint = np.inf
    return min(float(union) * _SAFE, float(joint))


def _is_whole(ask: Ask) -> bool:
    return ask.function == "count" or ask.values[0].kind == "integer"
