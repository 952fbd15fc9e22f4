"""Recorded answers as JSON: the noisy integers, from which everything else is computed again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np

from tacit.query.aggregates import estimates
from tacit.query.aggregates.margins import FITTED, Fitted
from tacit.query.aggregates.statistic import Released
from tacit.query.aggregates.tree_summary import (
    QuantileColumn,
    SummarizedTree,
    SummaryTable,
    quantile_name,
    trees_of,
)
from tacit.query.expressions import Value
from tacit.query.histograms import pack
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Plan
from tacit.query.pricing.partition_selection import TruncatedLaplace
from tacit.query.pricing.price import Price
from tacit.query.results.cells import Cell
from tacit.query.results.recorded_cells import check_integers, check_keys
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
    chosen, trees = answer.context.get("settled"), _kept_misses(answer)
    groups = {"found_groups": answer.found_groups} if answer.plan.open else {}
    choice = {} if chosen is None else {"settled": json.loads(str(chosen))}
    facts = _compact({**groups, **choice, **({"trees": trees} if trees else {})})
    cells = (
        f"[{','.join(_compact(_cell(answer, cell)) for cell in answer.cells)}]"  # one cell at a time: dicts are large
    )
    return cells if facts == "{}" else f'{facts[:-1]},"cells":{cells}}}'


def _compact(record: Mapping[str, object]) -> str:
    return json.dumps(record, separators=(",", ":"))


def _kept_misses(answer: Release) -> dict[str, list[str]]:
    """Return the miss rates of the intervals of trees whose counts were dropped, by the first bundle of each."""
    first = answer.cells[0].released if answer.cells else ()
    trees = {str(tree[0]): first[tree[0]] for tree in trees_of(answer.plan) if first}
    return {
        name: list(map(str, level.table.misses)) for name, level in trees.items() if isinstance(level, SummarizedTree)
    }


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
    record = record if isinstance(record, dict) else {"cells": record}
    cells, groups = record["cells"], record.get("found_groups")
    if groups is not None and (type(groups) is not int or groups < len(cells)):
        raise ValueError("not a number of groups")
    tables = _read_trees(record.get("trees", {}), plan, cells)
    read = tuple(_read_cell(cell, plan, price, tables, row) for row, cell in enumerate(cells))
    return Release(plan, price, context, read, found_groups=groups)


def _cell(answer: Release, cell: Cell) -> dict[str, object]:
    pairs = list(zip(cell.released, answer.price.noise, strict=True))
    record: dict[str, object] = {
        "keys": [_key(value) for value in cell.keys],
        "integers": [list(bundle.integers) for bundle, _ in pairs],
    }
    lower = [index for index, (bundle, law) in enumerate(pairs) if bundle.noise != law]
    centers = [bundle.center if isinstance(bundle, Fitted) else None for bundle, _ in pairs]
    trees = {str(tree[0]): cell.released[tree[0]] for tree in trees_of(answer.plan)}
    kept = {name: level.numbers() for name, level in trees.items() if isinstance(level, SummarizedTree)}
    record |= {"trees": kept} if kept else {}
    record |= {"rest": True} if any(isinstance(bundle, Fitted) and bundle.rest for bundle, _ in pairs) else {}
    return record | ({"lower": lower} if lower else {}) | ({"centers": centers} if any(centers) else {})


def _read_trees(
    misses: Mapping[str, Sequence[str]], plan: Plan, cells: Sequence[Mapping[str, Any]]
) -> dict[int, SummaryTable]:
    """Return the quantiles of all trees whose counts were dropped, by each of their bundles."""
    tables: dict[int, SummaryTable] = {}
    for tree, asks in trees_of(plan).items():
        name = str(tree[0])
        if name in misses:
            numbers = np.array([cell["trees"][name] for cell in cells], dtype=np.float64)
            names = dict.fromkeys(map(quantile_name, asks))
            columns = {
                each: QuantileColumn(numbers[:, place, 0], numbers[:, place, 1::2].T, numbers[:, place, 2::2].T)
                for place, each in enumerate(names)
            }
            tables |= dict.fromkeys(tree, SummaryTable(tuple(map(Fraction, misses[name])), columns))
    return tables


def _read_cell(
    record: Mapping[str, Any], plan: Plan, price: Price, tables: Mapping[int, SummaryTable], row: int
) -> Cell:
    check_integers(record, plan, tables)
    lower, centers = record.get("lower", ()), record.get("centers") or [None] * len(plan.bundles)
    fitted = {aggregate.bundles[-1] for aggregate in plan.aggregates if aggregate.ask.function in FITTED}
    released: list[Released] = []
    for index, (bundle, law) in enumerate(zip(plan.bundles, price.noise, strict=True)):
        integers, noise = pack(record["integers"][index]), _lower_limit(law) if index in lower else law
        if index in tables:
            released.append(SummarizedTree(bundle, (), noise, tables[index], row))
        elif index in fitted:
            released.append(Fitted(bundle, integers, noise, centers[index] or 0.0, record.get("rest", False)))
        else:
            released.append(Released(bundle, integers, noise))
    keys = tuple(_read_key(key) for key in record["keys"])
    check_keys(keys, plan)
    return Cell(keys, tuple(released), estimates(plan, released))


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
