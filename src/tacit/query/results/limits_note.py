"""One sentence on what the limits of a unit and the bounds of values leave out of an answer.

Intervals are for the data within these limits. So the sentence is shown wherever numbers are shown: under printed
answers, in HTML and charts, in JSON and in receipts.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacit.query.aggregates.cut import cut_share
from tacit.query.expressions import columns
from tacit.query.formatting import listed, plain
from tacit.query.plan import Noisy, Plan
from tacit.query.pricing.noisy_filters import is_noisy
from tacit.safe_text import visible


def limits_note(plan: Plan) -> str | None:
    """Return what the numbers of an answer leave out; None if each row is a unit, or if nothing is limited."""
    unit = plan.table.unit
    if unit is None:
        return None
    limits, clipped = _limits(plan), _clipped(plan)
    each = [f"each {unit} counts {listed(limits)}"] if limits else []
    nouns = [*(["rows"] if limits else []), *(["amounts"] if clipped else [])]
    if not nouns:
        return None
    text = ", and ".join([*each, *([listed(clipped)] if clipped else [])])
    left_out = f"{' and '.join(nouns)} beyond that are not in these numbers, and the intervals do not include them"
    return visible(f"{text[0].upper()}{text[1:]}; {left_out}.")


def choice_notes(context: Mapping[str, object]) -> list[str]:
    """Return what was chosen privately for an answer, and a warning about bounds that were not found."""
    chosen = context.get("limits_chosen")
    if not isinstance(chosen, Mapping):
        return []
    lines = [f"reach = {chosen['reach']:,} was chosen privately."] if "reach" in chosen else []
    for name, found in chosen.get("bounds", {}).items():
        low, high = found["bounds"]
        if found["found"]:
            lines.append(f"The bounds {low} … {high} of {name} were chosen privately.")
        else:
            lines.append(
                f"Careful: no bounds of {name} were found at this cost, so {low} … {high} were used. Values beyond "
                "them are clipped, and the result may be far from the truth."
            )
    return [visible(line) for line in lines]


def cut_notes(plan: Plan) -> list[str]:
    """Return what is measured of the rows beyond the reach, and which columns are not corrected by it."""
    cap, reach, unit = plan.cap, plan.table.reach, plan.table.unit
    if cap is None or reach is None:
        return []
    measured = (
        f"Measured with {plain(float(cut_share(plan)))} of the cost: up to {cap - reach:,} more rows of each {unit} "
        f"(not_counted), and the answer with them (up_to_{cap})."
    )
    others = uncorrected(plan)
    more = [f"The cut of {listed(others)} cannot be measured: only a count or a sum of rows can be corrected."]
    return [visible(line) for line in [measured, *(more if others else [])]]


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
        limits.append(f"as at most {_some(table.reach, 'unit')} in all groups together")
    return limits


def _clipped(plan: Plan) -> list[str]:
    """Return the columns with bounds of the policy whose values are aggregated, each with its bounds."""
    asked = {
        name for each in plan.aggregates if each.ask.bounds for value in each.ask.values for name in columns(value)
    }
    bounds = {name: plan.table.columns[name].bounds for name in sorted(asked) if name in plan.table.columns}
    return [
        f"{name} is clipped to {plain(float(ends[0]))} … {plain(float(ends[1]))}"
        for name, ends in bounds.items()
        if ends is not None
    ]


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
