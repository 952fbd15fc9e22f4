"""The receipt of an answer: its guarantee and its noise, so that another person can recompute them.

It has no true value and nothing that depends on the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, prod

from tacit.guarantees.events import to_json
from tacit.guarantees.exact import to_fraction
from tacit.guarantees.values import ApproxDP
from tacit.query.aggregates import STATISTICS, notes
from tacit.query.aggregates.categories import Category
from tacit.query.aggregates.cut import cut_share, uncut_error
from tacit.query.choice_law import ChoiceLaw
from tacit.query.expressions import Value
from tacit.query.formatting import amounts
from tacit.query.joins import Join
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Bundle, Combination, Measure, Plan
from tacit.query.pricing.noisy_filters import confidence_in_group, meaning
from tacit.query.pricing.partition_selection import TruncatedLaplace
from tacit.query.pricing.price import Price
from tacit.query.rank_law import RankLaw
from tacit.query.rank_scores import widths
from tacit.query.results.formulas import formulas
from tacit.query.results.intervals import without_intervals
from tacit.query.results.limits_note import not_counted, unit_rows_note, warnings
from tacit.query.results.plan_notes import missing_notes, zones
from tacit.query.results.size_note import size_notes
from tacit.query.results.table import format_value

SCHEMA = 1
_SIDES = ("below", "above")


def receipt(plan: Plan, price: Price, context: Mapping[str, object]) -> dict[str, object]:
    """Return the receipt as a JSON object.

    Args:
        plan: the plan.
        price: its noise.
        context: facts that the database adds: the versions of policy and software, and the ledger record.
    """
    return {
        "schema": SCHEMA,
        "question": plan.sql,
        "table": plan.table.name,
        **({"joins": [_join(join) for join in plan.all_joins]} if plan.all_joins else {}),
        **({} if plan.units is None else {"subquery": unit_rows_note(plan)}),
        "privacy": _privacy(plan, price),
        "mechanisms": [_mechanism(plan, price, index) for index in range(len(plan.bundles))],
        "accuracy": _accuracy(plan, price),
        **({} if plan.size is None else {"public_size": _public_size(plan)}),
        **({"warnings": texts} if (texts := warnings(context)) else {}),
        **({"not_counted": " ".join(texts)} if (texts := not_counted(plan)) else {}),
        **({} if plan.cap is None else {"cut": _cut(plan, price)}),
        **({"missing_values": " ".join(texts)} if (texts := missing_notes(plan)) else {}),
        **({"timezones": names} if (names := zones(plan)) else {}),
        **({"notes": remarks} if (remarks := notes(plan, price.noise)) else {}),
        **{name: value for name, value in context.items() if name != "settled"},
    }


def _public_size(plan: Plan) -> dict[str, object]:
    """Return the public number that the answer uses, and which aggregates are exact because of it."""
    return {
        "of": "rows" if plan.unit is None else "units",
        "number": plan.size,
        "exact": [each.sql for each in plan.aggregates if each.ask.size is not None and not each.bundles],
        "counts_add_up": plan.adds_up,
        "notes": size_notes(plan),
    }


def _privacy(plan: Plan, price: Price) -> dict[str, object]:
    return {
        "promise": amounts(price.guarantee),
        "unit": "row" if (unit := plan.private_unit) is None else f"all rows with one value of {unit}",
        **limits_of(plan),
        "charged": [to_json(event) for event in price.events],
        **({} if price.chosen is None else {"spent_on_limits": str(price.chosen)}),
        "public_keys": {key.name: [_key(value) for value in key.values] for key in plan.keys if key.values is not None},
        **_public_tuples(plan),
        "noise": price.why,
        **({} if price.choice is None else {"groups": _groups(price, price.choice)}),
    }


def limits_of(plan: Plan) -> dict[str, object]:
    """Return what bounds the part of one unit in the integers of a plan."""
    table = plan.table
    return {
        "neighbours": table.neighbours,
        "max_groups": table.max_groups,
        "max_rows": table.max_rows,
        "reach": table.reach,
        "groups_a_unit_can_reach": plan.groups,
        "one_row_a_unit": table.unit is None,
        "cells": None if plan.cells is None else plan.measured_cells,
    }


def _public_tuples(plan: Plan) -> dict[str, object]:
    """Return the listed combinations of keys, by their names; nothing if all keys are listed alone."""
    tuples = [
        {
            "keys": [(*plan.keys, *plan.within)[place].name for place in each.places],
            "values": [list(map(_key, row)) for row in each.rows()],
        }
        for each in plan.tuples
    ]
    return {"public_tuples": tuples} if tuples else {}


def _key(value: Value) -> str | None:
    """Return a key as text, and NULL as null, because the text "NULL" is a different key."""
    return None if value is None else format_value(value)


def _groups(price: Price, choice: TruncatedLaplace) -> dict[str, object]:
    """Return how groups were found: the law, and its parts of ε and δ; the rest is for values."""
    if not isinstance(price.guarantee, ApproxDP):
        raise TypeError("finding groups in the data needs δ")
    epsilon, delta = to_fraction(price.guarantee.epsilon, "epsilon"), to_fraction(price.guarantee.delta, "delta")
    epsilon -= price.chosen or 0
    return {
        "found": "in the data, by numbers of units with noise",
        "epsilon": float(choice.epsilon),
        "delta": float(choice.delta),
        "epsilon_of_values": float(epsilon - choice.epsilon),
        "delta_of_values": float(delta - choice.delta),
        "counts_a_unit_can_move": choice.moving,
        "law": "discrete laplace, cut off beyond the limit; a group is released if its noisy number is above the limit",
        "scale": str(choice.amount),
        "limit": choice.most,
        "chance_of_a_limit_lower_by_one": str(choice.coin),
        "event": to_json(choice.event),
    }


def _join(join: Join) -> dict[str, object]:
    """Return a joined table: its name, the kind of join, and whether its rows are private."""
    return {"table": join.table, "kind": join.kind, "rows": "private" if join.private else "public"}


def _mechanism(plan: Plan, price: Price, index: int) -> dict[str, object]:
    """Return one bundle: its measures, the bounds of its integers, its law, scale, sensitivity and share."""
    bundle, law = plan.bundles[index], price.noise[index]
    if law is price.choice:
        return {
            "for": [aggregate.sql for aggregate in plan.aggregates if index in aggregate.bundles],
            "measures": [_measure(measure) for measure in bundle.measures],
            "law": "released by the selection of groups",
        }
    return {
        "for": [each.sql for each in plan.aggregates if index in each.bundles or index == each.cut],
        **noisy_bundle(plan, bundle, law),
        "share": str(price.shares[index]),
    }


def noisy_bundle(plan: Plan, bundle: Bundle, law: NoiseLaw) -> dict[str, object]:
    """Return a bundle's measures, how far a unit can move its integers, its law and its event."""
    forms = formulas(bundle)
    return {
        "measures": [
            {**_measure(measure), **({} if forms is None else {"product_of": forms.products[place]})}
            for place, measure in enumerate(bundle.measures)
        ],
        **({} if forms is None else {"steps_from_the_low_bound": forms.widths}),
        **({"a_row_adds_to": "one measure"} if _is_in_one(bundle) else {}),
        **({} if bundle.over is None else {"cells_of_the_margin": prod(plan.factors[i].size for i in bundle.over)}),
        "reach_in_one_group": bundle.contribution,
        **({} if bundle.total is None else {"reach_in_all_groups": bundle.total}),
        **({"bins_added_up": bundle.block} if bundle.block > 1 else {}),
        **({} if bundle.combined is None else {"combined": _combined(bundle.combined)}),
        **_law(law),
        "event": to_json(law.event),
    }


def _is_in_one(bundle: Bundle) -> bool:
    """Return whether a row adds to at most one of several measures: they are sums by the values of a key."""
    return bundle.values is not None and len(bundle.measures) > 1


def _law(law: NoiseLaw) -> dict[str, object]:
    """Return a law: of the noise, of a drawn quantile, or of a choice."""
    if isinstance(law, ChoiceLaw):
        return _choice(law)
    return _draw(law) if isinstance(law, RankLaw) else _noise(law)


def _draw(law: RankLaw) -> dict[str, object]:
    """Return the law of a draw: its rank, its candidates, its scale and sensitivity, and those of its interval."""
    target = law.target
    rank = {"share": str(target.share)} if not target.end else {"rows": law.end_rank, "from": _SIDES[target.share == 1]}
    interval = {"miss": str(target.miss), "margin": str(law.margin), "half_widths": list(widths(law.cells))}
    return {
        "law": "permute-and-flip over ranks" if target.flips else "exponential mechanism over ranks",
        "rank": rank,
        "cells": law.cells,
        "cells_of_a_bin": target.parts,
        "scale": str(law.amount),
        "sensitivity" if law.rho is None else "sensitivity_squared": str(law.change),
        **({} if target.miss is None else {"interval": interval}),
    }


def _combined(combined: Combination) -> dict[str, object]:
    """Return how the measures n, Σd, Σe and Σde become the one integer that gets noise."""
    formula = "Σd" if combined.form == "total" else "n·Σde - Σd·Σe"
    return {"integer": formula, "rows": combined.size, "divided_by": combined.step}


def _noise(law: NoiseLaw) -> dict[str, object]:
    """Return a law of noise, its scale and its sensitivity."""
    return {
        "law": f"discrete {law.law}",
        "scale" if law.law == "laplace" else "variance": str(law.amount),
        "sensitivity_l1" if law.law == "laplace" else "sensitivity_l2_squared": law.sensitivity,
    }


def _choice(law: ChoiceLaw) -> dict[str, object]:
    """Return the law of a choice, its scale, and the sum of its sensitivities over all groups."""
    return {
        "law": "exponential mechanism" if law.in_rho else "permute-and-flip",
        "values": law.values,
        **({"of": "the least total"} if law.least else {}),
        "scale": str(law.amount),
        "sensitivity_squared" if law.in_rho else "sensitivity": law.sensitivity,
    }


def _measure(measure: Measure) -> dict[str, object]:
    """Return one measure; `row_adds` has the amounts that a row adds at the low and at the high bound."""
    return {
        "of": "rows" if measure.value is None and measure.per == "row" else measure.per,
        "grid_step": str(measure.step),
        "bounds_in_steps": [measure.low, measure.high],
        "row_adds": [measure.sign * end + measure.offset for end in (measure.low, measure.high)],
        **({} if measure.absent is None else {"row_without_a_value_adds": measure.absent}),
        "fraction_bits": measure.fraction_bits,
        **({"bins": measure.bins} if measure.bins > 1 else {}),
        **({} if measure.beyond is None else {"rows_beyond_the_reach_up_to": measure.beyond}),
    }


def _cut(plan: Plan, price: Price) -> dict[str, object]:
    """Return how the rows beyond the reach were measured, and the 95 % error of each aggregate with them."""
    each = confidence_in_group(plan, 0.95)
    return {
        "up_to_rows": plan.cap,
        "share": str(cut_share(plan)),
        "error_up_to_rows": {
            aggregate.sql: uncut_error(plan, price.noise, index, each)
            for index, aggregate in enumerate(plan.aggregates)
            if aggregate.cut is not None
        },
    }


def _accuracy(plan: Plan, price: Price) -> dict[str, object]:
    """Return the 95 % error of each aggregate; for a ratio, without an assumed size, it is the width of its bounds.

    If noisy values choose among listed groups, the error holds in all of them together. For discovered groups it is
    the error in one group before such a choice, because the number of groups depends on the data.
    """
    errors: dict[str, object] = {}
    each = confidence_in_group(plan, 0.95)
    for aggregate in plan.aggregates:
        bundles: list[Bundle] = [plan.bundles[i] for i in aggregate.bundles]
        noise = [price.noise[i] for i in aggregate.bundles]
        statistic = STATISTICS[aggregate.ask.function]
        error = statistic.error(aggregate.ask, bundles, noise, each, None)
        known = error if isfinite(error) else None
        errors[aggregate.sql] = {statistic.error_name: known} if isinstance(statistic, Category) else known
    return {"confidence": 0.95, "error": errors, "intervals": without_intervals(plan, meaning(plan))}
