"""Recorded answers as JSON: the noisy integers, from which everything else is computed again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime
from hashlib import sha256
from typing import Any

from tacit.query.aggregates import estimates
from tacit.query.aggregates.margins import FITTED, Fitted
from tacit.query.aggregates.statistic import Released
from tacit.query.expressions import Value
from tacit.query.histograms import pack
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Plan
from tacit.query.pricing.partition_selection import TruncatedLaplace
from tacit.query.pricing.price import Price
from tacit.query.results.cells import Cell
from tacit.query.results.release import Release
from tacit.version import VERSION


def digest(plan: Plan, price: Price, version: str, *more: object) -> str:
    """Return a hash of a query with all its parameters, its policy and the declared version of the data.

    `more` is what else the answer depends on, such as a choice of limits.
    """
    text = repr((VERSION, version, plan, price.noise, price.shares, *more))
    return sha256(text.encode()).hexdigest()


def to_text(answer: Release) -> str:
    """Return an answer's cells as JSON, with the number of groups if they were found in the data.

    >>> _key(date(2026, 1, 2))
    {'date': '2026-01-02'}
    """
    cells, chosen = [_cell(answer, cell) for cell in answer.cells], answer.context.get("settled")
    groups = {"found_groups": answer.found_groups} if answer.plan.open else {}
    choice = {} if chosen is None else {"settled": json.loads(str(chosen))}
    record = {**groups, **choice, "cells": cells} if groups or choice else cells
    return json.dumps(record, separators=(",", ":"))


def chosen(text: str) -> Mapping[str, Any] | None:
    """Return the limits that were chosen for a recorded answer, if some were."""
    record = json.loads(text)
    return record.get("settled") if isinstance(record, dict) else None


def from_text(text: str, plan: Plan, price: Price, context: Mapping[str, object]) -> Release:
    """Return the answer that `to_text` wrote, for the same plan and price.

    tacit 0.1.0 wrote a list of cells only. If HAVING or LIMIT then chose among discovered groups, the number of groups
    is not in the record. The remaining cells are too few to replace it and no bound of it is public, so such an answer
    has no intervals.
    """
    record = json.loads(text)
    cells, groups = (record["cells"], record.get("found_groups")) if isinstance(record, dict) else (record, None)
    read = tuple(_read_cell(cell, plan, price) for cell in cells)
    return Release(plan, price, context, read, found_groups=groups)


def _cell(answer: Release, cell: Cell) -> dict[str, object]:
    pairs = list(zip(cell.released, answer.price.noise, strict=True))
    record: dict[str, object] = {
        "keys": [_key(value) for value in cell.keys],
        "integers": [list(bundle.integers) for bundle, _ in pairs],
    }
    lower = [index for index, (bundle, law) in enumerate(pairs) if bundle.noise != law]
    centers = [bundle.center if isinstance(bundle, Fitted) else None for bundle, _ in pairs]
    record |= {"rest": True} if any(isinstance(bundle, Fitted) and bundle.rest for bundle, _ in pairs) else {}
    return record | ({"lower": lower} if lower else {}) | ({"centers": centers} if any(centers) else {})


def _read_cell(record: Mapping[str, Any], plan: Plan, price: Price) -> Cell:
    lower, centers = record.get("lower", ()), record.get("centers") or [None] * len(plan.bundles)
    fitted = {aggregate.bundles[-1] for aggregate in plan.aggregates if aggregate.ask.function in FITTED}
    released: list[Released] = []
    for index, (bundle, law) in enumerate(zip(plan.bundles, price.noise, strict=True)):
        integers, noise = pack(record["integers"][index]), _lower_limit(law) if index in lower else law
        if index in fitted:
            released.append(Fitted(bundle, integers, noise, centers[index] or 0.0, record.get("rest", False)))
        else:
            released.append(Released(bundle, integers, noise))
    return Cell(tuple(_read_key(key) for key in record["keys"]), tuple(released), estimates(plan, released))


def _lower_limit(law: NoiseLaw) -> NoiseLaw:
    if not isinstance(law, TruncatedLaplace):
        raise TypeError("only the law of partition selection has a lower limit")
    return law.lower


def _key(value: Value) -> object:
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    return {"date": value.isoformat()} if isinstance(value, date) else value


def _read_key(record: object) -> Value:
    match record:
        case {"timestamp": str(text)}:
            return datetime.fromisoformat(text)
        case {"date": str(text)}:
            return date.fromisoformat(text)
        case None | bool() | int() | float() | str():
            return record
    raise TypeError("not a key")
