"""An answer as text, to be kept and given again: its noisy integers, from which everything else follows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime
from hashlib import sha256
from typing import Any

from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.statistic import Released
from tacit.query.aggregates.table_count import Fitted
from tacit.query.expressions import Value
from tacit.query.histograms import pack
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Plan
from tacit.query.pricing.price import Price
from tacit.query.pricing.truncated_laplace import Truncated
from tacit.query.results.release import Cell, Release
from tacit.version import VERSION


def digest(plan: Plan, price: Price, version: str) -> str:
    """Return what stands for a question with all its parameters, its policy and the declared version of the data."""
    said = repr((VERSION, version, plan, price.noise, price.shares))
    return sha256(said.encode()).hexdigest()


def to_text(answer: Release) -> str:
    """Return an answer's cells as JSON, and the number of groups where they were found in the data.

    >>> _key(date(2026, 1, 2))
    {'date': '2026-01-02'}
    """
    cells = [_cell(answer, cell) for cell in answer.cells]
    record = {"found_groups": answer.found_groups, "cells": cells} if answer.plan.open else cells
    return json.dumps(record, separators=(",", ":"))


def from_text(text: str, plan: Plan, price: Price, context: Mapping[str, object]) -> Release:
    """Return the answer that `to_text` wrote, for the same plan and price.

    tacit 0.1.0 wrote a list of cells alone. If HAVING or LIMIT then chose among found groups, the number of groups is
    not in the record. The cells that are left are too few to stand for it and no bound of it is public, so such an
    answer has no intervals.
    """
    record = json.loads(text)
    cells, groups = (record["cells"], record["found_groups"]) if isinstance(record, dict) else (record, None)
    read = tuple(_read(said, plan, price) for said in cells)
    return Release(plan, price, context, read, found_groups=groups)


def _cell(answer: Release, cell: Cell) -> dict[str, object]:
    parts = list(zip(cell.released, answer.price.noise, strict=True))
    said: dict[str, object] = {
        "keys": [_key(value) for value in cell.keys],
        "integers": [list(one.integers) for one, _ in parts],
    }
    lower = [place for place, (one, law) in enumerate(parts) if one.noise != law]
    centers = [one.center if isinstance(one, Fitted) else None for one, _ in parts]
    return said | ({"lower": lower} if lower else {}) | ({"centers": centers} if any(centers) else {})


def _read(said: Mapping[str, Any], plan: Plan, price: Price) -> Cell:
    lower, centers = said.get("lower", ()), said.get("centers") or [None] * len(plan.bundles)
    fits = any(one.ask.function == "table_count" for one in plan.aggregates)
    released: list[Released] = []
    for place, (bundle, law) in enumerate(zip(plan.bundles, price.noise, strict=True)):
        integers, noise = pack(said["integers"][place]), _lowered(law) if place in lower else law
        if fits and place == len(plan.bundles) - 1:
            released.append(Fitted(bundle, integers, noise, centers[place] or 0.0))
        else:
            released.append(Released(bundle, integers, noise))
    estimates = tuple(
        STATISTICS[one.ask.function].estimate(one.ask, [released[i] for i in one.bundles]) for one in plan.aggregates
    )
    return Cell(tuple(_value(key) for key in said["keys"]), tuple(released), estimates)


def _lowered(law: NoiseLaw) -> NoiseLaw:
    if not isinstance(law, Truncated):
        raise TypeError("only the law by which groups are chosen has a lower limit")
    return law.lower


def _key(value: Value) -> object:
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    return {"date": value.isoformat()} if isinstance(value, date) else value


def _value(said: object) -> Value:
    match said:
        case {"timestamp": str(text)}:
            return datetime.fromisoformat(text)
        case {"date": str(text)}:
            return date.fromisoformat(text)
        case None | bool() | int() | float() | str():
            return said
    raise TypeError("no key")
