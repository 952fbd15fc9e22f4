"""From exact integers to an answer: noise first, then everything else, which is post-processing and free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import product
from typing import TYPE_CHECKING

from tacit import plots
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.statistic import Interval, Released
from tacit.query.evaluate import evaluate_output
from tacit.query.expressions import Value
from tacit.query.intervals import interval, read_confidence
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Bundle, Grouped, Measure, Noisy, Order, Output, Plan
from tacit.query.price import Price
from tacit.query.receipt import receipt
from tacit.query.table import Table

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Integers = Sequence[Sequence[int]]
"""For every measure of a plan, in order, one integer a cell."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell after noise: its keys, its integers by bundle, and what they are estimates of."""

    keys: tuple[Value, ...]
    released: tuple[Released, ...]
    estimates: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """A private answer: a table, its intervals, its cost and its receipt.

    Everything in it is computed from noisy integers and public parameters.
    """

    plan: Plan
    price: Price
    context: Mapping[str, object]
    cells: tuple[Cell, ...]

    @property
    def table(self) -> Table:
        """The answer."""
        outputs = self.plan.outputs
        columns = tuple(tuple(self._value(output, cell) for cell in self.cells) for _, output in outputs)
        return Table(tuple(name for name, _ in outputs), tuple(output.kind for _, output in outputs), columns)

    def _value(self, output: Output, cell: Cell) -> Value:
        return evaluate_output(output, cell.estimates, cell.keys)

    def rows(self) -> list[tuple[Value, ...]]:
        """Return the answer as tuples, one a row, in the order of the columns."""
        return self.table.rows()

    def to_polars(self) -> pl.DataFrame:
        """Return the answer as a polars frame."""
        return self.table.to_polars()

    def to_pandas(self) -> pd.DataFrame:
        """Return the answer as a pandas frame."""
        return self.table.to_pandas()

    def to_arrow(self) -> pa.Table:
        """Return the answer as an Arrow table."""
        return self.table.to_arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the answer to any library that reads Arrow streams."""
        return self.table.__arrow_c_stream__(requested_schema)

    def intervals(self, confidence: float = 0.95) -> Table:
        """Return the answer with the low and high end of every noisy value, each with this confidence.

        They are for the statistic of the bounded data: values clamped, units reaching no further than the
        policy lets them.
        """
        confidence = read_confidence(confidence)
        names: list[str] = []
        kinds, columns = [], []
        for name, output in self.plan.outputs:
            names.append(name)
            kinds.append(output.kind)
            columns.append(tuple(self._value(output, cell) for cell in self.cells))
            found = [self._interval(output, cell, confidence) for cell in self.cells]
            if any(ends is not None for ends in found):
                for side, end in enumerate(("low", "high")):
                    names.append(f"{name}_{end}")
                    kinds.append("real")
                    columns.append(tuple(None if ends is None else ends[side] for ends in found))
        return Table(tuple(names), tuple(kinds), tuple(columns))

    def _interval(self, output: Output, cell: Cell, confidence: float) -> Interval | None:
        return interval(self.plan, output, cell.released, cell.keys, confidence)

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """What the whole answer cost."""
        return self.price.guarantee

    @property
    def receipt(self) -> dict[str, object]:
        """What was promised and how, as JSON: enough for another person to recompute the guarantee."""
        return receipt(self.plan, self.price, self.context)

    def plot(self, confidence: float = 0.95) -> alt.FacetChart:
        """Draw every noisy value with its interval; it needs the extra `tacit[plot]`."""
        confidence = read_confidence(confidence)
        bars = [
            (name, self._label(cell), float(value), ends)
            for name, output in self.plan.outputs
            for cell in self.cells
            if (ends := self._interval(output, cell, confidence)) is not None
            and isinstance(value := self._value(output, cell), (int, float))
        ]
        return plots.estimates(
            [name for name, *_ in bars],
            [label for _, label, *_ in bars],
            [value for *_, value, _ in bars],
            [ends for *_, ends in bars],
            confidence=confidence,
        )

    def _label(self, cell: Cell) -> str:
        shown = [self._value(output, cell) for _, output in self.plan.outputs if isinstance(output, Grouped)]
        return ", ".join(str(value) for value in shown) or "all"

    def __str__(self) -> str:
        """The answer with its 95 % intervals."""
        return str(self.intervals())

    def _repr_html_(self) -> str:
        """The answer with its 95 % intervals, for notebooks."""
        return self.intervals()._repr_html_()


def release(plan: Plan, price: Price, exact: Integers, context: Mapping[str, object]) -> Release:
    """Add fresh noise to exact integers and make them an answer; HAVING, ORDER BY and LIMIT see noisy values only."""
    noisy = _noisy(plan, price, exact)
    cells = [
        _cell(plan, price, noisy, place, keys) for place, keys in enumerate(product(*(key.listed for key in plan.keys)))
    ]
    kept = [
        cell for cell in cells if plan.having is None or evaluate_output(plan.having, cell.estimates, cell.keys) is True
    ]
    for order in reversed(plan.order):
        kept = _ordered(kept, order)
    last = None if plan.limit is None else plan.offset + plan.limit
    return Release(plan, price, context, tuple(kept[plan.offset : last]))


def _noisy(plan: Plan, price: Price, exact: Integers) -> list[list[list[int]]]:
    """Return the noisy integers of each measure of each bundle."""
    asked = [measure.bins * plan.listed for bundle in plan.bundles for measure in bundle.measures]
    if list(map(len, exact)) != asked:
        raise ValueError("the engine's answer has another shape than the plan")
    given = iter(exact)
    return [
        [_added(coarse(plan, bundle, measure, next(given)), law) for measure in bundle.measures]
        for bundle, law in zip(plan.bundles, price.noise, strict=True)
    ]


def _added(integers: Sequence[int], law: NoiseLaw) -> list[int]:
    return [x + noise for x, noise in zip(integers, law.draw(len(integers)), strict=True)]


def coarse(plan: Plan, bundle: Bundle, measure: Measure, integers: Sequence[int]) -> list[int]:
    """Return exact integers as a bundle has them: added up over blocks of bins, and over keys that it does not name."""
    if bundle.over is not None:
        integers = _margin(plan, bundle.over, measure.bins, integers)
    if bundle.block == 1:
        return list(integers)
    rows = range(0, len(integers), measure.bins)
    starts = range(0, measure.bins, bundle.block)
    return [sum(integers[row + i : row + min(i + bundle.block, measure.bins)]) for row in rows for i in starts]


def _margin(plan: Plan, over: tuple[int, ...], bins: int, integers: Sequence[int]) -> list[int]:
    """Return the integers added up over all keys but some, those in the plan's order; a cell's bins stay together."""
    sizes = [len(key.listed) for key in plan.keys]
    sums: dict[tuple[int, ...], list[int]] = {place: [0] * bins for place in product(*(range(sizes[i]) for i in over))}
    for cell, places in enumerate(product(*map(range, sizes))):
        own = sums[tuple(places[i] for i in over)]
        for one in range(bins):
            own[one] += integers[cell * bins + one]
    return [x for own in sums.values() for x in own]


def _cell(plan: Plan, price: Price, noisy: list[list[list[int]]], place: int, keys: tuple[Value, ...]) -> Cell:
    released = []
    for bundle, law, measures in zip(plan.bundles, price.noise, noisy, strict=True):
        integers: list[int] = []
        for measure, found in zip(bundle.measures, measures, strict=True):
            width = -(-measure.bins // bundle.block)
            integers += found[place * width : (place + 1) * width] if bundle.over is None else []
        released.append(Released(bundle, tuple(integers), law))
    estimates = tuple(
        STATISTICS[one.ask.function].estimate(one.ask, [released[i] for i in one.bundles]) for one in plan.aggregates
    )
    return Cell(keys, tuple(released), estimates)


def _ordered(cells: list[Cell], order: Order) -> list[Cell]:
    """Sort by one term, stably; NULLs first or last as the question says."""

    def compare(one: Cell, two: Cell) -> int:
        left, right = (evaluate_output(order.by, cell.estimates, cell.keys) for cell in (one, two))
        if left is None or right is None:
            return 0 if left is right else (-1 if (left is None) == order.nulls_first else 1)
        if left == right:
            return 0
        return (1 if left > right else -1) * (-1 if order.descending else 1)  # type: ignore[operator]

    return sorted(cells, key=cmp_to_key(compare))


def noisy_outputs(plan: Plan) -> list[str]:
    """Return the names of the outputs that are one aggregate, as released."""
    return [name for name, output in plan.outputs if isinstance(output, Noisy)]
