"""The bundles of a plan that are drawn, beside those that get noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Plan


def drawn_bundles(plan: Plan) -> tuple[int, ...]:
    """Return the indices of the bundles that are drawn."""
    return tuple(index for index, bundle in enumerate(plan.bundles) if bundle.rank is not None)


def without_draws(plan: Plan) -> Plan:
    """Return the plan with only the bundles that get noise."""
    return replace(plan, bundles=tuple(bundle for bundle in plan.bundles if bundle.rank is None))


def merge(plan: Plan, every: Sequence[NoiseLaw], others: Sequence[NoiseLaw]) -> tuple[NoiseLaw, ...]:
    """Return the laws of all bundles: those of `every` for drawn ones, and those of `others`, in turn, for the rest."""
    rest = iter(others)
    return tuple(
        law if bundle.rank is not None else next(rest) for bundle, law in zip(plan.bundles, every, strict=True)
    )


def describe_draws(plan: Plan, noise: str = "") -> str:
    """Return how quantiles are drawn, after a sentence on the noise of all other aggregates, if there are any."""
    ranks = [bundle.rank for bundle in plan.bundles if bundle.rank is not None]
    if not ranks:
        return noise
    law = "permute-and-flip" if ranks[0].flips else "the exponential mechanism"
    intervals = "without intervals" if ranks[0].miss is None else "each with its interval"
    draws = f"Quantiles are drawn by {law}, {intervals}."
    return f"{noise} {draws}".strip() if len(ranks) < len(plan.bundles) else draws
