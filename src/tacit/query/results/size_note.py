"""Sentences on a public number of rows or units: why it is public, what uses it, and what could."""

from __future__ import annotations

from collections.abc import Callable

from tacit.query.formatting import listed
from tacit.query.plan import Plan
from tacit.query.pricing.public_size import could_use_size, has_public_size, unrequired_columns
from tacit.query.results.group_note import cell_notes
from tacit.safe_text import visible

_ROWS = "since each row is a unit and neighbours have the same number of rows"
_UNITS = "since there is one private table and neighbours have the same number of units"
NOT_COUNTED = (
    "n is not used: tacit skips bad lines of a CSV file, so the number of rows that it reads could depend on one row. "
    "Store the table as Parquet to use n."
)


def size_notes(plan: Plan) -> list[str]:
    """Return which public number a plan uses, why it is public, and what for; an empty list if it uses none."""
    if plan.size is None:
        return []
    exact = [each.sql for each in plan.aggregates if each.ask.size is not None and not each.bundles]
    others = [each.sql for each in plan.aggregates if each.ask.size is not None and each.bundles]
    uses = [f"{listed(exact)} {'is' if len(exact) == 1 else 'are'} exact"] if exact else []
    if plan.adds_up:
        uses.append("the counts add up to n")
    elif others:
        uses.append(f"{listed(others)} {'uses' if len(others) == 1 else 'use'} n")
    public = f"n = {plan.size:,} is public here, {_ROWS if plan.unit is None else _UNITS}"
    return [visible(f"{public}: {listed(uses)}."), *cell_notes(plan)]


def unused_notes(plan: Plan, reads_every_row: Callable[[], bool]) -> list[str]:
    """Return how a query of a whole table could use the public number of rows, if it does not.

    Args:
        plan: the plan.
        reads_every_row: whether its engine reads all rows of the table, whatever their values.
    """
    if plan.unit is not None or not has_public_size(plan, alone=False):
        return []
    if not reads_every_row():
        return [NOT_COUNTED]
    missing = could_use_size(plan)
    nullable = unrequired_columns(plan, missing)
    if not nullable:
        return []
    names, verb = ", ".join(f'"{name}"' for name in nullable), "is" if len(nullable) == 1 else "are"
    fewer = f"{listed([each.sql for each in missing])} then {'has' if len(missing) == 1 else 'have'} less noise"
    effect = "the error then halves" if all(each.ask.function == "avg" for each in missing) else fewer
    declare = f"declare required=[{names}] (policy: required = true)"
    return [visible(f"If {listed(nullable)} {verb} never missing, {declare}: {effect}.")]
