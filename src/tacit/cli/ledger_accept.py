"""`tacit ledger accept`: what the records that it wrote changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, cast

from tacit.ledger.policies import RecordedPolicy, recorded_changes
from tacit.ledger.records import Record, decode_budget
from tacit.query.formatting import spell

Body: TypeAlias = Mapping[str, object]


def changes(records: Iterable[Record], after: int) -> list[str]:
    """Return what a ledger's settings changed in the records after a number.

    Args:
        records: all records of the ledger, oldest first.
        after: the number of the last record before the changes.
    """
    before: dict[tuple[str, object], Body] = {}
    texts: list[str] = []
    for record in records:
        kind = "budget" if record.kind == "begin" else record.kind
        if kind not in _CHANGES:
            continue
        body = record.fields
        subject = kind, body.get("analyst")
        if record.number > after:
            texts += _CHANGES[kind](before.get(subject, {}), body)
        before[subject] = body
    return texts


def _budget(before: Body, after: Body) -> list[str]:
    return [f"budget {spell(decode_budget(before))} → {spell(decode_budget(after))}"]


def _limit(before: Body, after: Body) -> list[str]:
    return [f"limit of {after['analyst']} {_spelled(before.get('budget'))} → {_spelled(after['budget'])}"]


def _spelled(budget: object) -> str:
    return "none" if budget is None else spell(decode_budget(cast("Body", budget)))


def _policy(before: Body, after: Body) -> list[str]:
    return recorded_changes(cast("RecordedPolicy", before.get("tables", {})), cast("RecordedPolicy", after["tables"]))


def _version(before: Body, after: Body) -> list[str]:
    return [f"version of the data {before.get('version') or 'none'} → {after['version']}"]


def _clock(_before: Body, after: Body) -> list[str]:
    return [f"clock, which was wrong at the last record ({after['was']})"]


_CHANGES: Mapping[str, Callable[[Body, Body], list[str]]] = {
    "budget": _budget,
    "analyst": _limit,
    "policy": _policy,
    "version": _version,
    "clock": _clock,
}
