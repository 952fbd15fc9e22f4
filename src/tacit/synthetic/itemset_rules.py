"""Association rules from released itemsets: functions of noisy supports, at no cost.

A rule X → Y has the confidence s(X ∪ Y)/s(X) and the lift s(X ∪ Y)·n/(s(X)·s(Y)). All supports and n are of the same
weighted baskets. Their intervals hold together, so the intervals of all rules hold together with them: a quotient is at
least its least numerator over its largest denominator. A confidence is at most 1, because X ∪ Y includes X.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf

from tacit.query.expressions import Value

Items = tuple[Value, ...]
Ends = tuple[float, float, float]
"""An estimate with its low and its high end."""

LARGEST_RULE = 6
"""Sets of more items give no rules; there would be 2^s of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule: baskets with all items of `antecedent` have those of `consequent` too, in this part of cases."""

    antecedent: Items
    consequent: Items
    support: Ends
    confidence: Ends
    lift: Ends


def rules_of(
    sets: Sequence[Items], supports: Mapping[Items, Ends], total: Ends, min_confidence: float, min_lift: float
) -> list[Rule]:
    """Return the rules of some sets, the largest confidence first; a part without a known support gives no rule."""
    found = [
        rule
        for one in sets
        if 1 < len(one) <= LARGEST_RULE
        for rule in _splits(one, supports, total)
        if rule.confidence[0] >= min_confidence and rule.lift[0] >= min_lift
    ]
    return sorted(found, key=lambda rule: (-rule.confidence[0], -rule.support[0], str(rule.antecedent)))


def _splits(one: Items, supports: Mapping[Items, Ends], total: Ends) -> Iterator[Rule]:
    whole = supports[one]
    for size in range(1, len(one)):
        for antecedent in combinations(one, size):
            consequent = tuple(item for item in one if item not in antecedent)
            if antecedent in supports and consequent in supports:
                confidence = _quotient(whole, supports[antecedent], 1.0)
                lift = _lift(whole, supports[antecedent], supports[consequent], total)
                yield Rule(
                    antecedent=antecedent, consequent=consequent, support=whole, confidence=confidence, lift=lift
                )


def _quotient(above: Ends, below: Ends, most: float) -> Ends:
    """Return a quotient of non-negative numbers with its ends, none above `most`.

    >>> _quotient((6, 4, 8), (10, 8, 12), 1.0)
    (0.6, 0.3333333333333333, 1.0)
    """
    low = max(above[1], 0.0) / below[2] if below[2] > 0 else 0.0
    high = above[2] / below[1] if below[1] > 0 else inf
    estimate = max(above[0], 0.0) / max(below[0], 1.0)
    return min(estimate, most), min(low, most), max(0.0, min(high, most))


def _lift(whole: Ends, left: Ends, right: Ends, total: Ends) -> Ends:
    above = whole[0] * total[0], max(whole[1], 0.0) * max(total[1], 0.0), max(whole[2], 0.0) * max(total[2], 0.0)
    below = max(left[0], 1.0) * max(right[0], 1.0), max(left[1], 0.0) * max(right[1], 0.0), left[2] * right[2]
    return _quotient(above, below, inf)
