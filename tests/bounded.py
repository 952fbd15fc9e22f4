"""A second implementation of what a plan measures, in plain Python: the semantics of `tacit.query.plan`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import product
from math import floor, inf, isnan, trunc

from row_evaluator import evaluate
from tacit.guarantees.events import Neighbours
from tacit.query.aggregates import STATISTICS, bundles_of
from tacit.query.expressions import Column, Expression, Value
from tacit.query.plan import Aggregate, Ask, Bundle, Grouped, Key, Measure, Noisy, Order, Output, Plan
from tacit.query.policy import ColumnPolicy, TablePolicy

Row = Mapping[str, Value]
Bounds = tuple[Fraction, Fraction]

REAL, WHOLE = Column("x", "real"), Column("n", "integer")
UNIT = "id"


def ask_for(function: str, value: Expression | None = None, bounds: Bounds | None = None) -> Ask:
    """One aggregate of a question."""
    return Ask(function=function, values=() if value is None else (value,), bounds=() if bounds is None else (bounds,))


def bounds(low: float, high: float) -> Bounds:
    return Fraction(repr(low)), Fraction(repr(high))


def policy(
    *,
    groups: int | None = 1,
    rows: int | None = 1,
    reach: int | None = None,
    neighbours: Neighbours = "add/remove",
    unit: str | None = UNIT,
) -> TablePolicy:
    """A table with a unit, a text key, a real x in [-1, 1] and a whole n in [0, 10]."""
    columns = {
        UNIT: ColumnPolicy(kind="integer"),
        "k": ColumnPolicy(kind="text", keys=("a", "b")),
        "x": ColumnPolicy(kind="real", bounds=bounds(-1, 1)),
        "n": ColumnPolicy(kind="integer", bounds=bounds(0, 10)),
    }
    return TablePolicy(
        name="t",
        unit=unit,
        max_groups=groups,
        max_rows=rows,
        reach=reach,
        neighbours=neighbours,
        columns=columns,
    )


def key(name: str, *values: Value) -> Key:
    return Key(name=name, expression=Column(name, "text"), values=values)


def plan_of(
    table: TablePolicy,
    *asks: Ask,
    keys: Sequence[Key] = (),
    more: Mapping[str, Output] | None = None,
    having: Output | None = None,
    order: tuple[Order, ...] = (),
    limit: int | None = None,
    offset: int = 0,
) -> Plan:
    """A plan whose outputs are its keys, then its aggregates by place (a0, a1, …), then some more."""
    bundles: list[Bundle] = []
    aggregates, outputs = [], [(one.name, Grouped(place, one.expression.kind)) for place, one in enumerate(keys)]
    shown: list[tuple[str, Output]] = list(outputs)
    for place, ask in enumerate(asks):
        own = bundles_of(ask, table)
        places = tuple(range(len(bundles), len(bundles) + len(own)))
        bundles += own
        text = f"{ask.function}({', '.join(getattr(value, 'name', '…') for value in ask.values) or '*'})"
        aggregates.append(Aggregate(ask=ask, bundles=places, sql=text))
        shown.append((f"a{place}", Noisy(place, STATISTICS[ask.function].kind(ask))))
    return Plan(
        sql="SELECT …",
        table=table,
        where=None,
        keys=tuple(keys),
        bundles=tuple(bundles),
        aggregates=tuple(aggregates),
        outputs=(*shown, *(more or {}).items()),
        having=having,
        order=order,
        limit=limit,
        offset=offset,
    )


def with_contribution(bundle: Bundle, size: int) -> Bundle:
    return replace(bundle, contribution=size)


def measured(plan: Plan, rows: Sequence[Row]) -> list[list[int]]:
    """For every measure, one integer a cell, or one for each bin of each cell."""
    cells = list(product(*(one.listed for one in plan.keys)))
    units: dict[Value, dict[tuple[Value, ...], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for number, row in enumerate(rows):
        if plan.where is not None and evaluate(plan.where, row) is not True:
            continue
        unit = number if plan.table.unit is None else row[plan.table.unit]
        cell = tuple(evaluate(one.expression, row) for one in plan.keys)
        if unit is not None and cell in cells:
            units[unit][cell].append(row)
    measures = [measure for bundle in plan.bundles for measure in bundle.measures]
    totals = [{cell: [0] * measure.bins for cell in cells} for measure in measures]
    brought: dict[tuple[int, tuple[Value, ...]], set[Value]] = defaultdict(set)
    for unit, found in units.items():
        for cell in sorted(found, key=lambda cell: _hashed(unit, cell))[: plan.groups]:
            for place, (total, measure) in enumerate(zip(totals, measures, strict=True)):
                if measure.per == "value":
                    kept = sorted(different(measure, found[cell]), key=lambda v: _hashed(unit, (*cell, v)))
                    brought[place, cell].update(kept[: plan.table.rows])
                    total[cell] = [len(brought[place, cell])]
                    continue
                own = contributions(measure, found[cell], plan.table.rows)
                total[cell] = [a + b for a, b in zip(total[cell], own, strict=True)]
    return [[x for cell in cells for x in total[cell]] for total in totals]


def _hashed(unit: Value, cell: tuple[Value, ...]) -> bytes:
    return sha256(repr((unit, cell)).encode()).digest()


def different(measure: Measure, rows: Sequence[Row]) -> set[Value]:
    """The different values of some rows; -0.0 and 0.0 are equal in Python too."""
    return {value for row in rows if not is_null(value := value_of(measure, row))}


def contributions(measure: Measure, rows: Sequence[Row], max_rows: int) -> list[int]:
    """One unit's integers in one cell: one for each bin."""
    if measure.bins == 1:
        return [contribution(measure, rows, max_rows)]
    there = [value for row in rows if not is_null(value := value_of(measure, row))]
    found = [0] * measure.bins
    for number, n in Counter(there).items():
        share = Fraction(n) if len(there) <= max_rows else Fraction(n * max_rows, len(there))
        found[int(number)] = trunc(share * (1 << measure.fraction_bits))  # type: ignore[arg-type]
    return found


def contribution(measure: Measure, rows: Sequence[Row], max_rows: int) -> int:
    """One unit's integer in one cell."""
    there = [value for row in rows if not is_null(value := value_of(measure, row))]
    if measure.per == "unit":
        return int(bool(there))
    total = sum(measure.sign * on_grid(measure, value) + measure.offset for value in there)
    counted = len(there) if measure.absent is None else len(rows)
    total += (counted - len(there)) * (measure.absent or 0)
    share = Fraction(total) if counted <= max_rows else Fraction(total * max_rows, counted)
    return trunc(share * (1 << measure.fraction_bits))


def value_of(measure: Measure, row: Row) -> Value:
    return 1 if measure.value is None else evaluate(measure.value, row)


def is_null(value: Value) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def on_grid(measure: Measure, value: Value) -> int:
    assert isinstance(value, (int, float))
    if value in (inf, -inf):
        return measure.high if value > 0 else measure.low
    return min(max(floor(Fraction(value) / measure.step + Fraction(1, 2)), measure.low), measure.high)
