"""Mutations of receipts that make the promise false, or the receipt contradictory: by the class of the field."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, TypeAlias

Receipt = dict[str, Any]
Value: TypeAlias = Any
"""A value of JSON."""

Path = tuple[str | int, ...]

SHRUNK = frozenset(
    {"scale", "variance", "sensitivity_l1", "sensitivity_l2_squared", "sensitivity", "sensitivity_squared"}
    | {"reach_in_one_group", "limit", "counts_a_unit_can_move", "amount", "groups_a_unit_can_reach"}
)
"""Fields whose half claims more privacy than the noise has."""

GROWN = frozenset(
    {"row_adds", "bounds_in_steps", "fraction_bits", "rows_beyond_the_reach_up_to", "steps_of_one_row"}
    | {"cells", "cells_of_the_margin", "groups_a_unit_can_reach", "schema"}
)
"""Fields whose larger value lets a unit add more than the noise covers, or that others contradict."""

TYPED = (
    SHRUNK | GROWN | {"neighbours", "unit", "one_row_a_unit", "law", "measures", "of", "promise", "share"} - {"share"}
)
"""Fields that no other type may have."""

OPTIONAL = frozenset({"rows_beyond_the_reach_up_to", "neighbours", "cells_of_the_margin"})
"""Fields that may be missing: without them a unit adds less, or the relation is that of the ledger."""

PRICED = ("epsilon", "delta", "rho", "scale", "variance", "l1", "l2_squared", "l2", "sigma")
SPOILT: tuple[Any, ...] = ("many", None, [], -1, {"x": 1}, True, "1e9999")


def leaves(value: Value, path: Path = ()) -> Iterator[tuple[Path, Value]]:
    """Yield every field and every element with its path, the outer ones first."""
    yield path, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from leaves(inner, (*path, key))


def changed(receipt: Receipt, path: Path, value: Value) -> Receipt:
    """Return a receipt with another value at a path."""
    made = copy.deepcopy(receipt)
    place: Any = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


def half(value: Value) -> Value:
    """Return half of a number or of a rational text, rounded down for whole numbers."""
    if isinstance(value, str):
        return str(Fraction(value) / 2)
    return value // 2 if isinstance(value, int) else value / 2


def more(value: Value) -> Value:
    """Return a larger number, or a list of two whole numbers whose larger end is further from 0."""
    if isinstance(value, list):
        return [end + (3 if end == max(value) else 0) for end in value] if value[0] != value[1] else [value[0] - 9, 9]
    return value + 1


def is_event(value: Value) -> bool:
    """Return whether a text is an event."""
    return isinstance(value, str) and value.startswith("{") and '"event"' in value


def is_harmless(path: Path) -> bool:
    """Return whether the promise of a receipt does not depend on a field.

    These are the errors, the number of values among which one is drawn, and the text about chosen bounds.
    """
    names = [key for key in path if isinstance(key, str)]
    drawn = names in (["mechanisms", "cells"], ["limits_chosen", "bounds", "age", "law"])
    return bool({"accuracy", "cut"} & set(path[:1])) or drawn


def _is_idle(receipt: Receipt, path: Path) -> bool:
    """Return whether a measure or a table never moves: a row adds 0 to it, or it is the total of a constant number."""
    owner: Any = receipt
    for key in path[:-1]:
        owner = owner[key]
    own = owner if isinstance(owner, dict) else {}
    return (own.get("row_adds") == [0, 0] and path[-1] == "bounds_in_steps") or own.get("columns") == []


def event_mutations(text: str) -> Iterator[tuple[str, Value]]:
    """Yield events that cost more than the given one, or that no reader knows."""
    event = json.loads(text)
    for name in PRICED:
        if name in event:
            number = Fraction(event[name])
            dearer = number / 2 if name in ("scale", "variance", "sigma") else number * 2
            if name != "delta" or dearer < 1:
                shown = int(dearer) if isinstance(event[name], int) else str(dearer)
                yield f"{name} changed", json.dumps({**event, name: shown})
            yield f"{name} negative", json.dumps({**event, name: str(-number)})
    yield "unknown kind", json.dumps({**event, "event": "NoNoise"})
    yield "unknown version", json.dumps({**event, "version": 2})
    yield "unknown field", json.dumps({**event, "extra": 1})
    yield "a field twice", text[:-1] + ',"version":1}'
    yield "not JSON", text[1:]
    yield "a number", 1
    yield "nothing", None


def mutations(receipt: Receipt) -> Iterator[tuple[str, Path, Receipt]]:
    """Yield (class, path, mutated receipt); every one of them must be rejected."""
    for path, value in list(leaves(receipt)):
        if path and not is_harmless(path) and not _is_idle(receipt, path):
            for kind, other in _other_values(path, value):
                yield kind, path, changed(receipt, path, other)


def _other_values(path: Path, value: Value) -> Iterator[tuple[str, Value]]:
    """Yield values that a field must not have."""
    if is_event(value):
        for name, text in event_mutations(value):
            yield f"event: {name}", text
    key = str(path[-1])
    if path[-2:-1] == ("promise",) and value:
        yield "promise smaller", value * 0.999
    if key in SHRUNK and value:
        yield f"{key} smaller", half(value)
    if key == "chance_of_a_limit_lower_by_one":
        yield f"{key} is 1", "1"
    if key in GROWN and value is not None:
        yield f"{key} larger", more(value)
    for other in SPOILT if key in TYPED else ():
        if (type(other) is not type(value) or other == -1) and not (other is None and key in OPTIONAL):
            yield f"{key} of a wrong type", other
    if key in ("charged", "events", "mechanisms") and isinstance(value, list) and value:
        yield f"{key} one less", value[1:]
