"""Sentences on groups: which rows count in which group, and which count in none."""

from __future__ import annotations

from tacit.query.expressions import Case, Value, columns
from tacit.query.expressions.presence import is_always_present
from tacit.query.formatting import listed
from tacit.query.key_tuples import KeyTuples
from tacit.query.plan import Key, Plan
from tacit.query.policy import ColumnPolicy
from tacit.query.pricing.public_size import has_public_size
from tacit.query.results.table import format_value
from tacit.query.sql.key_values import own_column, possible_values
from tacit.safe_text import visible


def keys_note(plan: Plan) -> str | None:
    """Return which rows are in no group because their keys are not listed; None if all rows have a group."""
    if plan.adds_up:  # every row is in one of the cells; `cell_notes` says in which
        return None
    keys = [key for key in plan.keys if key.values is not None]
    others = [key.name for key in keys if _has_others(key)]
    nulls = [key.name for key in keys if _loses_nulls(key, plan)]
    stand_ins = [f"rows without {key.name} count as {value}" for key in keys if (value := _stand_in(key, plan))]
    lost = [
        *([f"rows with another {' or '.join(others)}"] if others else []),
        *([f"rows where {' or '.join(nulls)} is NULL"] if nulls else []),
    ]
    left_out = [f"{', and '.join(lost)}{',' if len(lost) > 1 else ''} are not counted"] if lost else []
    text = "; ".join([*([listed(stand_ins)] if stand_ins else []), *left_out])
    return visible(" ".join([f"{text[0].upper()}{text[1:]}.", *_alone(plan, keys)])) if text else None


def _has_others(key: Key) -> bool:
    """Return whether rows can have a value of a key that is not listed, besides NULL."""
    possible = possible_values(key.expression)
    return possible is None or not possible - {None} <= set(key.listed)


def _loses_nulls(key: Key, plan: Plan) -> bool:
    """Return whether rows without a value of a key are in no group."""
    if None in key.listed or _stand_in(key, plan):
        return False
    return _required(key, plan) is not None or not is_always_present(key.expression)


def _required(key: Key, plan: Plan) -> ColumnPolicy | None:
    """Return the policy of a key that is a required column."""
    if plan.units is not None:  # the subquery makes the values of its columns, so none is missing
        return None
    column = own_column(key.expression, plan.table)
    policy = None if column is None else plan.table.columns[column.name]
    return policy if policy is not None and policy.required else None


def _stand_in(key: Key, plan: Plan) -> str | None:
    """Return the listed value that rows without a value of a required column count as; None without such a value."""
    policy = _required(key, plan)
    return value_text(policy.stand_in) if policy is not None and policy.stand_in in key.listed else None


def _alone(plan: Plan, keys: list[Key]) -> list[str]:
    """Return why a lone count(*) differs, if its rows with another key count under the first one."""
    if not plan.table.unit and plan.aggregates and not plan.tuples and has_public_size(plan, alone=False):
        named = [key for key in keys if _stand_in(key, plan) and _has_others(key)]
        if named and len(named) == len([key for key in keys if _has_others(key) or _loses_nulls(key, plan)]):
            counts = [f"as {_stand_in(key, plan)}" for key in named]
            return [
                f"If count(*) is the only aggregate, these rows count {listed(counts)}, so that counts add up to n."
            ]
    return []


def cell_notes(plan: Plan) -> list[str]:
    """Return where the rows count whose keys are not listed, if the counts add up to the public number."""
    if not plan.adds_up:
        return []
    defaults = [_default(key, plan) for key in plan.keys if key.default is not None and _can_differ(key)]
    notes = [f"{text[0].upper()}{text[1:]}."] if (text := listed(defaults)) else []
    notes += [_default_tuple(each, plan) for each in plan.tuples if each.default is not None]
    if plan.rest:
        notes.append(f"The last row (NULL) counts all remaining rows: {_remaining(plan)}.")
    return [visible(note) for note in notes]


def _remaining(plan: Plan) -> str:
    """Return which rows are in no listed cell of a table."""
    incomplete = [key for key in plan.keys if key.default is None]
    required = {name for name, policy in plan.table.columns.items() if policy.required}
    missing = any(not columns(key.expression) <= required for key in incomplete)
    bins = any(isinstance(key.expression, Case) for key in incomplete)
    outside = ["values outside the bins" if bins else "values that are not listed"]
    return listed(
        [*(["missing values"] if missing else []), *(outside if bins or any(map(_has_others, incomplete)) else [])]
    )


def _can_differ(key: Key) -> bool:
    """Return whether rows can have a value of a key that is not listed, or none."""
    possible = possible_values(key.expression)
    return possible is None or not possible <= set(key.listed)


def _default_tuple(tuples: KeyTuples, plan: Plan) -> str:
    names = listed([plan.keys[place].name for place in tuples.places])
    values = ", ".join(format_value(values[tuples.default or 0]) for values in tuples.columns)
    return f"Rows with another combination of {names} count as ({values})."


def _default(key: Key, plan: Plan) -> str:
    without = ", or without one," if _required(key, plan) is not None else ""
    return f"rows with another {key.name}{without} count as {value_text(key.listed[key.default or 0])}"


def value_text(value: Value) -> str:
    """Return a value for a sentence; numbers have thousands separators.

    >>> value_text(30_000), value_text(0.5), value_text("White"), value_text(False)
    ('30,000', '0.5', 'White', 'false')
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value):
        return f"{int(value):,}"
    return format_value(value)
