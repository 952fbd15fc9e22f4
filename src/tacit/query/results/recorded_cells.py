"""The shape of recorded cells: the text of a damaged ledger must not become an answer that fails when it is shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from math import isfinite
from typing import Any

from tacit.query.aggregates.margins import FITTED
from tacit.query.expressions import Kind, Value
from tacit.query.plan import Bundle, Plan

_LARGEST = 1 << 128
"""Far above every sum with its noise, and far below what overflows a float in a formula of an estimate."""
_TYPES: Mapping[Kind, tuple[type, ...]] = {
    "integer": (int,),
    "real": (int, float),
    "text": (str,),
    "boolean": (bool,),
    "date": (date,),
    "timestamp": (datetime,),
}


def check_integers(record: Mapping[str, Any], plan: Plan, summarized: Collection[int]) -> None:
    """Raise ValueError or TypeError unless a cell has the integers and the centers that cells of this plan have.

    Args:
        record: the cell as it is recorded.
        plan: the plan of the answer.
        summarized: the bundles of trees whose counts were dropped.
    """
    integers, centers = record["integers"], record.get("centers") or [None] * len(plan.bundles)
    fitted = [aggregate.bundles[-1] for aggregate in plan.aggregates if aggregate.ask.function in FITTED]
    if [len(each) for each in integers] != [
        0 if index in summarized else int(index in fitted) if fitted else _width(bundle)
        for index, bundle in enumerate(plan.bundles)
    ]:
        raise ValueError("another number of integers")
    if not all(type(x) is int and abs(x) < _LARGEST for each in integers for x in each):
        raise ValueError("not integers with noise")
    if len(centers) != len(plan.bundles) or not all(map(_is_center, centers)):
        raise ValueError("not centers")


def _width(bundle: Bundle) -> int:
    """Return the number of integers that a cell records of a bundle; none if they are added up over keys."""
    if bundle.over is not None:
        return 0
    return 1 if bundle.values is not None else bundle.width


def _is_center(center: object) -> bool:
    return center is None or (isinstance(center, (int, float)) and isfinite(center) and abs(center) < _LARGEST)


def check_keys(keys: Sequence[Value], plan: Plan) -> None:
    """Raise ValueError unless a cell has the keys of a plan, each of its kind or NULL."""
    kinds = [key.expression.kind for key in plan.keys]
    if len(keys) != len(kinds) or not all(map(_is_of_kind, keys, kinds)):
        raise ValueError("other keys")


def _is_of_kind(value: Value, kind: Kind) -> bool:
    if value is None:
        return True
    if isinstance(value, (bool, datetime)):  # Python's are an int and a date
        return kind == ("boolean" if isinstance(value, bool) else "timestamp")
    return isinstance(value, _TYPES[kind])
