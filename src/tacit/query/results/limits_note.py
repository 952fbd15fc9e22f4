"""Sentences on what an answer leaves out: rows in no listed group, rows beyond limits, values beyond bounds.

Intervals are for the data within these limits. So the sentences are shown wherever numbers are shown: under printed
answers, in HTML and charts, in JSON and in receipts. Warnings are about bounds that were to be chosen but were not
found: then the numbers may be useless, so a warning is shown above them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.query.aggregates.cut import cut_share
from tacit.query.expressions import columns
from tacit.query.formatting import grouped, listed
from tacit.query.plan import Noisy, Plan
from tacit.query.pricing.noisy_filters import is_noisy
from tacit.query.results.group_note import keys_note
from tacit.safe_text import visible

NOT_FOUND = "No bounds of"
"""The first words of a warning."""


def not_counted(plan: Plan) -> list[str]:
    """Return the sentences on what the numbers of an answer leave out."""
    return [note for note in (keys_note(plan), limits_note(plan)) if note is not None]


def limits_note(plan: Plan) -> str | None:
    """Return what limits and bounds leave out of an answer; None if nothing is limited."""
    if any(aggregate.ask.function == "bounds" for aggregate in plan.aggregates):
        return None  # bounds are found from all values of a unit, which weigh 1 together
    unit = plan.unit
    limits, clipped = [] if plan.table.unit is None else _limits(plan), _clipped(plan)
    each = [f"Each {unit} counts {listed(limits)}"] if limits else []
    nouns = [*([_counted(plan)] if limits else []), *(["amounts"] if clipped else [])]
    if not nouns:
        return None
    left_out = f"{' and '.join(nouns)} beyond that are not in these numbers, and the intervals do not include them."
    if len(clipped) > 1:
        cuts = ", ".join(f"{name} to {ends}" for name, ends in clipped)
        return visible(". ".join([*each, f"Values are clipped: {cuts}", f"{left_out[0].upper()}{left_out[1:]}"]))
    text = ", and ".join([*each, *(f"{name} is clipped to {ends}" for name, ends in clipped)])
    return visible(f"{text if limits else f'The column {text}'}; {left_out}")


def unit_rows_note(plan: Plan) -> str | None:
    """Return how many rows a unit has in a subquery that groups by the unit; None if there is no such subquery."""
    if plan.units is None:
        return None
    unit = plan.private_unit
    if plan.units.is_one_row:
        return visible(f"The subquery has one row for each {unit}, so no limits are needed.")
    return visible(f"The subquery may have several rows for each {unit}; limits apply to these rows.")


def choice_notes(context: Mapping[str, object]) -> list[str]:
    """Return what was chosen privately for an answer."""
    chosen = context.get("limits_chosen")
    if not isinstance(chosen, Mapping):
        return []
    lines = [f"reach = {chosen['reach']:,} was chosen privately."] if "reach" in chosen else []
    lines += [
        f"The bounds {' … '.join(choice['bounds'])} of {name} were chosen privately."
        for name, choice in chosen.get("bounds", {}).items()
        if choice["found"]
    ]
    return [visible(line) for line in lines]


def warnings(context: Mapping[str, object]) -> list[str]:
    """Return a warning for each column whose bounds were to be chosen but were not found."""
    chosen = context.get("limits_chosen")
    choices = chosen.get("bounds", {}) if isinstance(chosen, Mapping) else {}
    return [visible(_warning(name, choice)) for name, choice in choices.items() if not choice["found"]]


def _warning(name: str, choice: Mapping[str, Any]) -> str:
    ends, fact = " … ".join(choice["bounds"]), f"{NOT_FOUND} {name} were found at this cost."
    if choice["declared"]:
        return f"{fact} The answer uses those of the policy, {ends}; values beyond them are clipped."
    return (
        f"{fact} The answer uses {ends}, which has nothing to do with the data: all values beyond are clipped, and the "
        f"numbers may be far from the truth. Spend more on the query, or give bounds of {name}."
    )


def cut_notes(plan: Plan) -> list[str]:
    """Return what is measured of the rows beyond the reach, and which columns are not corrected by it."""
    cap, reach, unit = plan.cap, plan.table.reach, plan.table.unit
    if cap is None or reach is None:
        return []
    measured = (
        f"Columns that end in not_counted estimate what rows {reach + 1:,} to {cap:,} of each {unit} would add. Those "
        f"that end in up_to_{cap} are the answer with them. This takes {grouped(100 * float(cut_share(plan)))} % of "
        "the cost."
    )
    noise = f"Each has separate noise, so a value that ends in up_to_{cap} can be below the answer without them."
    others = uncorrected(plan)
    more = [f"The cut of {listed(others)} cannot be measured: only a count or a sum of rows can be corrected."]
    return [visible(line) for line in [f"{measured} {noise}", *(more if others else [])]]


def uncorrected(plan: Plan) -> list[str]:
    """Return the noisy columns whose cut is not measured."""
    exact = {name for name, output in plan.outputs if isinstance(output, Noisy) and _has_cut(plan, output)}
    return [name for name, output in plan.outputs if name not in exact and is_noisy(output)]


def _has_cut(plan: Plan, output: Noisy) -> bool:
    return plan.aggregates[output.place].cut is not None


def _limits(plan: Plan) -> list[str]:
    """Return how often a unit counts, by each limit that can leave out rows."""
    table, kinds = plan.table, {measure.per for bundle in plan.bundles for measure in bundle.measures}
    limits = []
    if plan.open or plan.groups < plan.listed:
        limits.append(f"in at most {_some(plan.groups, 'group')}")
    noun = "row" if "row" in kinds else "different value"
    if table.max_rows is not None and kinds & {"row", "value"}:
        limits.append(f"as at most {_some(table.max_rows, noun)}{'' if plan.cells == 1 else ' a group'}")
    if table.reach is not None and kinds & {"row", "value"}:
        limits.append(f"as at most {_some(table.reach, noun)}{'' if table.max_rows is None else ' in all'}")
    elif table.reach is not None and not plan.open and plan.groups > table.reach:
        limits.append(f"as at most {table.reach:,} in all groups together")
    return limits


def _counted(plan: Plan) -> str:
    """Return what limits leave out: rows, or values or groups if the query counts nothing else."""
    kinds = {measure.per for bundle in plan.bundles for measure in bundle.measures}
    return "rows" if "row" in kinds else "values" if "value" in kinds else "groups"


def _clipped(plan: Plan) -> list[tuple[str, str]]:
    """Return the columns with bounds of the policy whose values are aggregated, each with its bounds."""
    asked = {
        name for each in plan.aggregates if each.ask.bounds for value in each.ask.values for name in columns(value)
    }
    bounds = {name: plan.table.columns[name].bounds for name in sorted(asked) if name in plan.table.columns}
    return [
        (name, f"{grouped(float(ends[0]))} … {grouped(float(ends[1]))}")
        for name, ends in bounds.items()
        if ends is not None
    ]


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
