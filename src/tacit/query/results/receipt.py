"""What was promised and how, for another person to recompute; no true value, nothing that depends on the data."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.guarantees.events import to_json
from tacit.guarantees.exact import to_fraction
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates import STATISTICS
from tacit.query.expressions import Value
from tacit.query.joins import Join
from tacit.query.plan import Bundle, Measure, Plan
from tacit.query.pricing.choice import confidence_in_group, meaning
from tacit.query.pricing.price import Price
from tacit.query.pricing.truncated_laplace import Truncated
from tacit.query.results.notes import notes
from tacit.query.results.table import say

SCHEMA = 1


def receipt(plan: Plan, price: Price, context: Mapping[str, object]) -> dict[str, object]:
    """Return the receipt as a JSON object.

    Args:
        plan: the question.
        price: its noise.
        context: what the session knows and the plan does not: the policy's version, the software's, the
        ledger's entry.
    """
    return {
        "schema": SCHEMA,
        "question": plan.sql,
        "table": plan.table.name,
        **({"joins": [_join(join) for join in plan.joins]} if plan.joins else {}),
        "privacy": _privacy(plan, price),
        "mechanisms": [_mechanism(plan, price, place) for place in range(len(plan.bundles))],
        "accuracy": _accuracy(plan, price),
        **({"notes": said} if (said := notes(plan, price)) else {}),
        **context,
    }


def _privacy(plan: Plan, price: Price) -> dict[str, object]:
    table = plan.table
    return {
        "promise": promise(price.guarantee),
        "neighbours": table.neighbours,
        "unit": "row" if table.unit is None else f"all rows with one value of {table.unit}",
        "max_groups": table.max_groups,
        "max_rows": table.max_rows,
        "groups_a_unit_can_reach": plan.groups,
        "public_keys": {key.name: [_key(value) for value in key.values] for key in plan.keys if key.values is not None},
        "noise": price.why,
        **({} if price.choice is None else {"groups": _groups(price, price.choice)}),
    }


def _key(value: Value) -> str | None:
    """Return a key as text, and NULL as null: a text "NULL" is another key."""
    return None if value is None else say(value)


def _groups(price: Price, choice: Truncated) -> dict[str, object]:
    """How groups were found: the law, and what of ε and δ it took; the rest is for values."""
    if not isinstance(price.guarantee, ApproxDP):
        raise TypeError("groups are found with δ")
    epsilon, delta = to_fraction(price.guarantee.epsilon, "epsilon"), to_fraction(price.guarantee.delta, "delta")
    return {
        "found": "in the data, by numbers of units with noise",
        "epsilon": float(choice.epsilon),
        "delta": float(choice.delta),
        "epsilon_of_values": float(epsilon - choice.epsilon),
        "delta_of_values": float(delta - choice.delta),
        "counts_a_unit_can_move": choice.moving,
        "law": "discrete laplace, cut off beyond the limit; a group is shown if its noisy number is above the limit",
        "scale": str(choice.amount),
        "limit": choice.most,
        "chance_of_a_limit_lower_by_one": str(choice.coin),
        "event": to_json(choice.event),
    }


def _join(join: Join) -> dict[str, object]:
    """A joined table: which, how, and whose."""
    return {"table": join.table, "kind": join.kind, "rows": "private" if join.private else "public"}


def promise(guarantee: PureDP | ApproxDP | ZCDP) -> dict[str, float]:
    """Return a guarantee's numbers by name.

    >>> promise(PureDP(epsilon=0.5))
    {'epsilon': 0.5}
    """
    match guarantee:
        case PureDP(epsilon=epsilon):
            return {"epsilon": float(epsilon)}
        case ApproxDP(epsilon=epsilon, delta=delta):
            return {"epsilon": float(epsilon), "delta": float(delta)}
        case ZCDP(rho=rho):
            return {"rho": float(rho)}


def _mechanism(plan: Plan, price: Price, place: int) -> dict[str, object]:
    """One bundle: what it measures, the bounds of its integers, its law, scale, sensitivity and share."""
    bundle, law = plan.bundles[place], price.noise[place]
    if law is price.choice:
        return {
            "for": [one.sql for one in plan.aggregates if place in one.bundles],
            "law": "told by the choice of groups",
        }
    return {
        "for": [one.sql for one in plan.aggregates if place in one.bundles],
        "measures": [_measure(measure) for measure in bundle.measures],
        "reach_in_one_group": bundle.reach,
        **({"bins_added_up": bundle.block} if bundle.block > 1 else {}),
        "law": f"discrete {law.law}",
        "scale" if law.law == "laplace" else "variance": str(law.amount),
        "sensitivity_l1" if law.law == "laplace" else "sensitivity_l2_squared": law.sensitivity,
        "share": str(price.shares[place]),
        "event": to_json(law.event),
    }


def _measure(measure: Measure) -> dict[str, object]:
    """What a row adds is said at the low and at the high bound, so that measures that pull against each other show."""
    return {
        "of": "rows" if measure.value is None and measure.per == "row" else measure.per,
        "grid_step": str(measure.step),
        "bounds_in_steps": [measure.low, measure.high],
        "row_adds": [measure.sign * end + measure.offset for end in (measure.low, measure.high)],
        "fraction_bits": measure.fraction_bits,
        **({"bins": measure.bins} if measure.bins > 1 else {}),
    }


def _accuracy(plan: Plan, price: Price) -> dict[str, object]:
    """The 95 % error of each aggregate; of a ratio for no assumed size of group it is the width of its bounds.

    If noisy values choose among listed groups, it holds in all of them together. Of groups that are found in the data
    it is the error in one group before such a choice: how many there are depends on the data.
    """
    found: dict[str, object] = {}
    each = confidence_in_group(plan, 0.95)
    for one in plan.aggregates:
        bundles: list[Bundle] = [plan.bundles[i] for i in one.bundles]
        noise = [price.noise[i] for i in one.bundles]
        found[one.sql] = STATISTICS[one.ask.function].error(one.ask, bundles, noise, each, None)
    return {"confidence": 0.95, "error": found, "intervals": meaning(plan)}
