"""From exact integers to an answer: noise first, then everything else, which is post-processing and free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cmp_to_key
from itertools import product
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tacit import plots
from tacit.errors import InvalidError, TacitError, show
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.margins import Fit, whole_table
from tacit.query.aggregates.statistic import Interval, Released
from tacit.query.aggregates.table_count import Fitted, around
from tacit.query.evaluate import evaluate_output
from tacit.query.expressions import Value
from tacit.query.formatting import listed, spell
from tacit.query.histograms import Counts, Histograms, in_blocks, pack, with_noise
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Bundle, Grouped, Measure, Order, Output, Plan
from tacit.query.pricing.choice import candidates, choosing_clauses, confidence_in_group, interval_note
from tacit.query.pricing.partition_selection import Find, Places, Units, answered
from tacit.query.pricing.price import Price
from tacit.query.pricing.truncated_laplace import Shown
from tacit.query.results.intervals import interval, read_confidence
from tacit.query.results.labels import label
from tacit.query.results.receipt import receipt
from tacit.query.results.render import Answered, as_html, as_table, as_text
from tacit.query.results.table import Table
from tacit.query.sql.names import unique_names
from tacit.safe_text import visible

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Integers = Sequence[Sequence[int]]
"""For every measure of a plan, in order, one integer a cell."""

_MOST_NAMES = 8
_AT_ONCE = 2**22
_NO_CHART = (
    "There is nothing to draw: the answer has no row with a number and a finite interval. The answer itself is not "
    "lost: print it, or use .rows()."
)
Own: TypeAlias = Sequence[int] | Counts
"""The integers of one measure."""

NONE: Mapping[int, list[int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell after noise: its keys, its integers by bundle, and what they are estimates of."""

    keys: tuple[Value, ...]
    released: tuple[Released, ...]
    estimates: tuple[Value, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A private answer: a table, its intervals, its cost and its receipt.

    Everything in it is computed from noisy integers and public parameters.
    """

    plan: Plan
    price: Price
    context: Mapping[str, object]
    cells: tuple[Cell, ...]
    confidence: float = 0.95
    found_groups: int | None = None
    """How many groups were found in the data, before HAVING and LIMIT; None if groups are listed or it is unknown."""
    repeated: bool = field(default=False, compare=False)
    """Whether it comes from the ledger's record, and cost nothing this time."""

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

    def intervals(self, confidence: float | None = None) -> Table:
        """Return the answer with the low and high end of every noisy value, each with this confidence.

        They are for the statistic of the bounded data: values clamped, units reaching no further than the
        policy lets them. Each holds for itself; that all of them hold together is less likely. If HAVING or LIMIT chose
        groups by noisy values, the intervals of a column hold together for all groups that could have been shown; see
        `interval_note`. Without a confidence it is that of the question.
        """
        return as_table(self.columns(confidence))

    def columns(self, confidence: float | None = None) -> list[Answered]:
        """Return the columns of the answer, each noisy one with its intervals."""
        confidence = self.confidence if confidence is None else read_confidence(confidence)
        return [self._column(name, output, confidence) for name, output in self.plan.outputs]

    def _column(self, name: str, output: Output, confidence: float) -> Answered:
        found = tuple(self._interval(output, cell, confidence) for cell in self.cells)
        values = tuple(self._value(output, cell) for cell in self.cells)
        return Answered(name, output.kind, values, found if any(ends is not None for ends in found) else None)

    def _interval(self, output: Output, cell: Cell, confidence: float) -> Interval | None:
        if choosing_clauses(self.plan) and candidates(self.plan, self.found_groups) is None:
            return None  # a record without the number of groups: no confidence of each would be right
        each = confidence_in_group(self.plan, confidence, self.found_groups)
        return interval(self.plan, output, cell.released, cell.keys, each)

    @property
    def interval_note(self) -> str | None:
        """What the intervals mean, where noisy values chose or ordered the groups; else None."""
        clauses = choosing_clauses(self.plan)
        if clauses and not self.cells:
            return f"No group passed {listed(clauses)}."
        return interval_note(self.plan, self.found_groups, self.confidence)

    def margin(self, *names: str, confidence: float = 0.95) -> Table:
        """Return a margin of a table that adds up: its counts by some of its keys, with intervals.

        The counts are the sums of the table's cells; the intervals are those of the fitted margin itself, which are
        narrower than what the cells' intervals would add up to.
        """
        ((aggregate,), keys) = self.plan.aggregates or (None,), [key.name for key in self.plan.keys]
        if aggregate is None or aggregate.ask.function != "table_count":
            raise InvalidError("margin", "an answer that is no such table", "of a crosstab or a histogram")
        if len(self.cells) != self.plan.listed:
            raise InvalidError("margin", "an answer without all its cells", "of a whole table, without HAVING or LIMIT")
        for name in names:
            if name not in keys:
                raise InvalidError("margin", show(name), f"of some of {', '.join(keys)}")
        over = tuple(place for place, name in enumerate(keys) if name in names)
        fit = Fit.of(aggregate.ask.sizes, self.plan.bundles, self.price.noise)
        sums: dict[tuple[Value, ...], list[float]] = {}
        for cell in self.cells:
            last = cell.released[-1]
            own = sums.setdefault(tuple(cell.keys[place] for place in over), [0, 0.0])
            own[0] += last.integers[0]
            own[1] += last.center if isinstance(last, Fitted) else 0.0
        ends = [around(center, fit, over, read_confidence(confidence)) for _, center in sums.values()]
        by_key = zip(*sums, strict=True) if over else ()
        columns = [
            *map(tuple, by_key),
            tuple(int(count) for count, _ in sums.values()),
            *map(tuple, zip(*ends, strict=True)),
        ]
        kinds = [self.plan.keys[place].expression.kind for place in over]
        return Table(
            tuple(unique_names([*(keys[place] for place in over), "count", "count_low", "count_high"])),
            (*kinds, "integer", "real", "real"),
            tuple(columns),
        )

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """What the whole answer cost."""
        return self.price.guarantee

    @property
    def receipt(self) -> dict[str, object]:
        """What was promised and how, as JSON: enough for another person to recompute the guarantee."""
        return receipt(self.plan, self.price, self.context)

    def plot(self, confidence: float | None = None) -> alt.FacetChart:
        """Draw every noisy value with its interval; it needs the extra `tacit[plot]`."""
        confidence = self.confidence if confidence is None else read_confidence(confidence)
        bars = [
            (name, self._label(cell), float(value), ends)
            for name, output in self.plan.outputs
            for cell in self.cells
            if (ends := self._interval(output, cell, confidence)) is not None
            and isinstance(value := self._value(output, cell), (int, float))
        ]
        if not any(isfinite(value) and isfinite(ends[1] - ends[0]) for *_, value, ends in bars):
            raise TacitError(_NO_CHART)
        return plots.estimates(
            [name for name, *_ in bars],
            [label for _, label, *_ in bars],
            [value for *_, value, _ in bars],
            [ends for *_, ends in bars],
            confidence=confidence,
            note=interval_note(self.plan, self.found_groups, confidence),
        )

    def _label(self, cell: Cell) -> str:
        return label([self._value(output, cell) for _, output in self.plan.outputs if isinstance(output, Grouped)])

    def __str__(self) -> str:
        """The answer with its intervals."""
        return as_text(self.columns(), self.confidence, self.interval_note)

    def __repr__(self) -> str:
        """What it is, in one line; `print` shows the answer."""
        rows = f"{len(self.cells):,} row{'' if len(self.cells) == 1 else 's'}"
        names = [name for name, _ in self.plan.outputs]
        more = ", …" if len(names) > _MOST_NAMES else ""
        return visible(f"<Release: {rows} of {', '.join(names[:_MOST_NAMES])}{more}; cost {spell(self.cost)}>")

    def _repr_html_(self) -> str:
        """The answer with its intervals, for notebooks."""
        return as_html(self.columns(), self.confidence, self.interval_note)


def release(plan: Plan, price: Price, exact: Integers, context: Mapping[str, object]) -> Release:
    """Add fresh noise to exact integers and make them an answer; HAVING, ORDER BY and LIMIT see noisy values only."""
    noisy = _noisy(plan, price, exact, plan.listed)
    groups = enumerate(product(*(key.listed for key in plan.keys)))
    if any(one.ask.function == "table_count" for one in plan.aggregates):
        return _answer(plan, price, _fitted(plan, price, [list(measures[0]) for measures in noisy]), context)
    return _answer(plan, price, [_cell(plan, price.noise, noisy, place, keys) for place, keys in groups], context)


def _fitted(plan: Plan, price: Price, noisy: Sequence[Sequence[int]]) -> list[Cell]:
    """Return the cells of a table that adds up, from the noisy integers of its margins."""
    (one,) = plan.aggregates
    fit = Fit.of(one.ask.sizes, plan.bundles, price.noise)
    table = fit.table(noisy)
    others = [Released(*part) for part in zip(plan.bundles[:-1], [()] * len(plan.bundles), price.noise, strict=False)]
    cells = []
    for keys, count, center in zip(
        product(*(key.listed for key in plan.keys)), whole_table(table).ravel(), table.ravel(), strict=True
    ):
        last = Fitted(plan.bundles[-1], (int(count),), price.noise[-1], float(center))
        cells.append(Cell(keys, (*others, last), (int(count),)))
    return cells


def release_found(plan: Plan, price: Price, find: Find, context: Mapping[str, object]) -> Release:
    """Do the same with groups that are found in the data: choose them by noisy numbers of units, which are released.

    Groups get their noise and their estimates some at a time, so that no more exact counts of bins than a few million
    are held at once.
    """
    law = price.choice
    if law is None:
        raise ValueError("the groups are listed")
    chosen: list[Shown] = []

    def choose(units: Units) -> Places:
        chosen.append(law.shown(units))
        return chosen[0].places

    found = find(plan, choose)
    order = np.searchsorted(chosen[0].places, found.places)
    units, lower = chosen[0].noisy[order].tolist(), chosen[0].lower[order].tolist()
    laws = [
        tuple(law.lower if one is law else one for one in price.noise) if lower else price.noise for lower in (0, 1)
    ]
    cells: list[Cell] = []
    most = max(1, _AT_ONCE // max([1, *(measure.bins for bundle in plan.bundles for measure in bundle.measures)]))
    for first in range(0, len(found.keys), most):
        some = slice(first, min(first + most, len(found.keys)))
        exact = [own.of(some.start, some.stop) if isinstance(own, Histograms) else own[some] for own in found.integers]
        told = dict.fromkeys(answered(plan), units[some])
        noisy = _noisy(plan, price, exact, some.stop - some.start, told)
        for place, (keys, low) in enumerate(zip(found.keys[some], lower[some], strict=True)):
            cells.append(_cell(plan, laws[low], noisy, place, keys))
    return replace(_answer(plan, price, cells, context), found_groups=len(cells))


def _answer(plan: Plan, price: Price, cells: Sequence[Cell], context: Mapping[str, object]) -> Release:
    """Keep, order and cut as the question says."""
    kept = [
        cell for cell in cells if plan.having is None or evaluate_output(plan.having, cell.estimates, cell.keys) is True
    ]
    for order in reversed(plan.order):
        kept = _ordered(kept, order)
    last = None if plan.limit is None else plan.offset + plan.limit
    return Release(plan, price, context, tuple(kept[plan.offset : last]))


def _noisy(
    plan: Plan, price: Price, exact: Sequence[Own], cells: int, told: Mapping[int, list[int]] = NONE
) -> list[list[Own]]:
    """Return the noisy integers of each measure of each bundle; `told` are bundles that have their noise already."""
    asked = [measure.bins * cells for bundle in plan.bundles for measure in bundle.measures]
    if list(map(len, exact)) != asked:
        raise ValueError("the engine's answer has another shape than the plan")
    given = iter(exact)
    return [
        [
            told[place] if place in told else _added(coarse(plan, bundle, measure, integers), law)
            for measure, integers in zip(bundle.measures, given, strict=False)
        ]
        for place, (bundle, law) in enumerate(zip(plan.bundles, price.noise, strict=True))
    ]


def _added(integers: Own, law: NoiseLaw) -> Own:
    if isinstance(integers, np.ndarray):
        return with_noise(integers, law)
    return [x + noise for x, noise in zip(integers, law.draw(len(integers)), strict=True)]


def coarse(plan: Plan, bundle: Bundle, measure: Measure, integers: Own) -> Own:
    """Return exact integers as a bundle has them: added up over blocks of bins, and over keys that it does not name."""
    if isinstance(integers, np.ndarray):
        return in_blocks(integers, measure.bins, bundle.block)
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


def _cell(
    plan: Plan, noise: Sequence[NoiseLaw], noisy: Sequence[Sequence[Own]], place: int, keys: tuple[Value, ...]
) -> Cell:
    released = []
    for bundle, law, measures in zip(plan.bundles, noise, noisy, strict=True):
        parts: list[Own] = []
        for measure, found in zip(bundle.measures, measures, strict=True):
            width = -(-measure.bins // bundle.block)
            parts.append(found[place * width : (place + 1) * width] if bundle.over is None else [])
        integers = parts[0] if len(parts) == 1 else [int(x) for own in parts for x in own]
        released.append(Released(bundle, pack(integers), law))
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
        return (1 if left > right else -1) * (-1 if order.descending else 1)  # type: ignore[operator]  # of one kind

    return sorted(cells, key=cmp_to_key(compare))
