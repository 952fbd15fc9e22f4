"""Sentences on a public number of rows or units: why it is public, what uses it, and what could."""

from __future__ import annotations

from collections.abc import Callable

from tacit.query.expressions import columns
from tacit.query.formatting import listed
from tacit.query.key_tuples import KeyTuples
from tacit.query.plan import Key, Plan
from tacit.query.pricing.public_size import could_use_size, has_public_size
from tacit.query.results.table import format_value
from tacit.query.sql.key_values import possible_values
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
    public = f"n = {plan.size:,} is public here, {_ROWS if plan.table.unit is None else _UNITS}"
    return [visible(f"{public}: {listed(uses)}."), *cell_notes(plan)]


def cell_notes(plan: Plan) -> list[str]:
    """Return where the rows count whose keys are not listed, if the counts add up to the public number."""
    if not plan.adds_up:
        return []
    defaults = [_default(key) for key in plan.keys if key.default is not None and _can_differ(key)]
    notes = [f"A row with another value {listed(defaults)}."] if defaults else []
    notes += [_default_tuple(each, plan) for each in plan.tuples if each.default is not None]
    if plan.rest:
        notes.append("The last row, whose keys are NULL, counts the rows in no other row.")
    return [visible(note) for note in notes]


def _can_differ(key: Key) -> bool:
    """Return whether rows can have a value of a key that is not listed."""
    possible = possible_values(key.expression)
    return possible is None or not possible <= set(key.listed)


def _default(key: Key) -> str:
    return f"of {key.name} counts under {format_value(key.listed[key.default or 0])}"


def _default_tuple(tuples: KeyTuples, plan: Plan) -> str:
    names = listed([plan.keys[place].name for place in tuples.places])
    values = ", ".join(format_value(values[tuples.default or 0]) for values in tuples.columns)
    return f"A row with another combination of {names} counts under ({values})."


def unused_notes(plan: Plan, reads_every_row: Callable[[], bool]) -> list[str]:
    """Return how a query of a whole table could use the public number of rows, if it does not.

    Args:
        plan: the plan.
        reads_every_row: whether its engine reads all rows of the table, whatever their values.
    """
    if plan.table.unit is not None or not has_public_size(plan, alone=False):
        return []
    if not reads_every_row():
        return [NOT_COUNTED]
    missing = could_use_size(plan)
    names = sorted({name for each in missing for value in each.ask.values for name in columns(value)})
    nullable = [name for name in names if not plan.table.columns[name].required]
    if not nullable:
        return []
    have = "has" if len(missing) == 1 else "have"
    return [
        visible(
            f"{listed([each.sql for each in missing])} {have} more noise than necessary: n is public, but "
            f"{listed(nullable)} may have missing values. If not, the policy can say required = true."
        )
    ]
