"""The release of an answer: noise on exact integers, then post-processing, which costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from tacit import plots
from tacit.arrays import Bools, Floats, Ints
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.plots.answers import Caption
from tacit.query.aggregates import estimates
from tacit.query.aggregates.categories import category_notes
from tacit.query.aggregates.margins import FITTED, Fit, Fitted, whole_counts, whole_table
from tacit.query.aggregates.statistic import Interval, Released
from tacit.query.aggregates.tree_summary import WIDER, SummarizedTree, drops_trees
from tacit.query.expressions import Value
from tacit.query.formatting import listed, spell
from tacit.query.histograms import Histograms, groups_at_once
from tacit.query.key_tuples import listed_columns
from tacit.query.plan import Aggregate, Ask, Grouped, Output, Plan
from tacit.query.pricing.noisy_filters import candidates, choosing_clauses, confidence_in_group, interval_note
from tacit.query.pricing.partition_selection import (
    DiscoveredGroups,
    Find,
    GroupIndices,
    SelectedGroups,
    bundles_of_selection,
    joined_selections,
)
from tacit.query.pricing.price import Price
from tacit.query.results.answer_table import AnswerTable
from tacit.query.results.binned_noise import (
    BinnedNoise,
    MeasurePlan,
    ReleasedIntegers,
    can_absorb,
    kept_integers,
    summarized,
    tree_misses,
)
from tacit.query.results.cells import Cell, CellColumns, chosen_cells, output_values
from tacit.query.results.chart import chart_columns, chart_title, draw, read_theme
from tacit.query.results.cut_columns import cut_columns
from tacit.query.results.group_note import cell_notes
from tacit.query.results.intervals import has_intervals, no_interval_note, output_intervals, read_confidence
from tacit.query.results.limits_note import choice_notes, cut_notes, not_counted, warnings
from tacit.query.results.margin_table import margin_table
from tacit.query.results.noisy_integers import noisy_integers, released_columns
from tacit.query.results.plan_notes import exact_notes, missing_notes, rank_notes, widened_notes, zone_notes
from tacit.query.results.receipt import receipt
from tacit.query.results.render import MOST_ROWS, AnswerColumn, as_html, as_table, as_text
from tacit.query.results.table import Table
from tacit.safe_text import visible

if TYPE_CHECKING:
    from tacit.plots.answers import AnswerChart

_NONE: Mapping[int, ReleasedIntegers] = MappingProxyType({})
_GROUPS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True, repr=False)
class Release(AnswerTable):
    """A private answer: a table, its intervals, its cost and its receipt. `AnswerTable` has the forms of the table.

    Everything in it is computed from noisy integers and public parameters.

    Attributes:
        plan: the checked query.
        price: the noise and the cost.
        context: facts about the ledger, the policy and the software, for the receipt.
        cells: the noisy values of each group.
        confidence: the confidence of the query, at which intervals are shown.
    """

    plan: Plan
    price: Price
    context: Mapping[str, object]
    cells: Sequence[Cell]
    confidence: float = 0.95
    found_groups: int | None = None
    """The number of discovered groups, before HAVING and LIMIT; None if groups are listed or it is unknown."""
    repeated: bool = field(default=False, compare=False)
    """Whether the ledger had recorded the answer, so that it cost nothing this time."""

    @property
    def table(self) -> Table:
        """The answer as a table."""
        outputs = self.plan.outputs
        columns = tuple(self._values(output) for _, output in outputs)
        return Table(tuple(name for name, _ in outputs), tuple(output.kind for _, output in outputs), columns)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.cells)

    def _values(self, output: Output) -> tuple[Value, ...]:
        return tuple(output_values(self.cells, output).tolist())

    def _interval_notes(self, confidence: float | None) -> tuple[str, ...]:
        return (*widened_notes(self.plan, confidence), *self._dropped_notes(confidence))

    def _dropped_notes(self, confidence: float | None) -> list[str]:
        """Return that intervals of trees are wider than necessary, if their counts were dropped (`tree_summary`)."""
        dropped = bool(self.cells) and any(isinstance(each, SummarizedTree) for each in self.cells[0].released)
        other = confidence is not None and confidence != self.confidence
        return [WIDER] if dropped and other else []

    def columns(self, confidence: float | None = None) -> list[AnswerColumn]:
        """Return the columns of the answer, each noisy one with its intervals."""
        confidence = self.confidence if confidence is None else read_confidence(confidence)
        return [self._column(name, output, confidence) for name, output in self.plan.outputs]

    def _column(self, name: str, output: Output, confidence: float) -> AnswerColumn:
        intervals = self._intervals(output, confidence)
        noisy = any(ends is not None for ends in intervals)
        return AnswerColumn(name, output.kind, self._values(output), intervals if noisy else None)

    def _intervals(self, output: Output, confidence: float) -> Sequence[Interval | None]:
        if choosing_clauses(self.plan) and candidates(self.plan, self.found_groups) is None:
            return ()  # the record lacks the number of groups, so no confidence of one group is valid
        each = confidence_in_group(self.plan, confidence, self.found_groups)
        return output_intervals(self.plan, output, self.cells, each)

    @property
    def interval_note(self) -> str | None:
        """A note on the intervals if noisy values chose or ordered the groups; else None."""
        clauses = choosing_clauses(self.plan)
        if clauses and not self.cells:
            return f"No group passed {listed(clauses)}."
        if clauses and not has_intervals(self.plan):
            return f"{listed(clauses)} chose these groups by noisy values."
        return interval_note(self.plan, self.found_groups, self.confidence)

    @property
    def notes(self) -> list[str]:
        """Sentences that belong under the answer: on its intervals, what was chosen, and what is not counted."""
        each = confidence_in_group(self.plan, self.confidence, self.found_groups)
        drawn = category_notes(self.plan, self.price.noise, self.confidence, each)
        first = [note for note in (self.interval_note, no_interval_note(self.plan)) if note is not None]
        if self.plan.open and not self.cells and not choosing_clauses(self.plan):
            first = ["No group is shown, because none has enough units. The plan states how many units a group needs."]
        facts = [*rank_notes(self.plan, self.price.noise), *exact_notes(self.plan), *choice_notes(self.context)]
        rows = [*not_counted(self.plan), *cell_notes(self.plan), *missing_notes(self.plan), *zone_notes(self.plan)]
        return [*first, *drawn, *facts, *rows]

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the numbers: bounds that were to be chosen but were not found."""
        return warnings(self.context)

    @property
    def cut(self) -> Table | None:
        """The part of each count and sum that the reach cuts, up to `measure_cut` rows a unit; None if not measured.

        For a column n and measure_cut=1000, `n_not_counted` estimates what n leaves out of a unit's first 1,000 rows,
        and `n_up_to_1000` is n with it. Both have intervals. That of `n_up_to_1000` holds the value of the table as it
        is, with clipped values, if no unit has more than 1,000 rows.
        """
        return as_table(self.cut_columns()) if self.plan.cap is not None else None

    def cut_columns(self, confidence: float | None = None) -> list[AnswerColumn]:
        """Return the columns of `cut`, each noisy one with its intervals; an empty list if nothing was measured.

        Args:
            confidence: that of the intervals; by default that of the query.
        """
        confidence = self.confidence if confidence is None else read_confidence(confidence)
        each = confidence_in_group(self.plan, confidence, self.found_groups)
        return cut_columns(self.plan, [(cell.keys, cell.released) for cell in self.cells], each)

    def margin(self, *names: str, confidence: float = 0.95) -> Table:
        """Return a margin of a crosstab or a histogram: its counts by some of its keys, with intervals.

        The counts are the sums of the table's cells. The intervals are those of the fitted margin, which are narrower
        than the sums of the cells' intervals.

        Args:
            names: the keys of the margin.
            confidence: that of the intervals; by default that of the query.
        """
        cells = [(cell.keys, cell.released) for cell in self.cells]
        return margin_table(self.plan, self.price.noise, cells, names, read_confidence(confidence))

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """The cost of the whole answer."""
        return self.price.guarantee

    @property
    def receipt(self) -> dict[str, object]:
        """The guarantee and the noise as JSON, so that another person can recompute the guarantee."""
        return receipt(self.plan, self.price, self.context)

    def plot(self, confidence: float | None = None, *, theme: str = "light") -> AnswerChart:
        """Draw the noisy values with their intervals, in the form that fits the groups; see `results.chart`.

        This requires the extra `tacit[plot]`. The theme is "light" or "dark".
        """
        confidence = self.confidence if confidence is None else read_confidence(confidence)
        dark = read_theme(theme) == "dark"
        caption = Caption(
            title=chart_title(self.plan),
            cost=spell(self.cost),
            confidence=confidence,
            note=interval_note(self.plan, self.found_groups, confidence),
            lines=[*choice_notes(self.context), *not_counted(self.plan), *cut_notes(self.plan)],
            warnings=self.warnings,
        )
        shown = chart_columns(self.plan, self.columns(confidence), self.cut_columns(confidence))
        chart = draw(shown, caption)
        return plots.darkened(chart) if dark else chart

    def __str__(self) -> str:
        """Return the answer with its intervals, and what its limits leave out."""
        shown, more = self._first_rows(), len(self.cells) - MOST_ROWS
        answer = as_text(shown.columns(), self.confidence, self.notes, self.warnings, more=more)
        if self.plan.cap is None:
            return answer
        cut = as_text(shown.cut_columns(), self.confidence, cut_notes(self.plan), more=more)
        return f"{answer}\n{cut}"

    def _first_rows(self) -> Release:
        """Return the rows that text and notebooks show, or all if only later ones have intervals."""
        first = replace(self, cells=self.cells[:MOST_ROWS])
        outputs = zip(first.columns(), self.plan.outputs, strict=True)
        unknown = any(column.ends is None and not isinstance(output, Grouped) for column, (_, output) in outputs)
        return self if unknown else first

    def __repr__(self) -> str:
        """Return a summary and the cost in one line; `print` shows the answer."""
        return visible(f"<Release: {self._summary()}; cost {spell(self.cost)}>")

    def _repr_html_(self) -> str:
        """Return the answer with its intervals, and what its limits leave out, as HTML for notebooks."""
        shown, more = self._first_rows(), len(self.cells) - MOST_ROWS
        answer = as_html(shown.columns(), self.confidence, self.notes, self.warnings, more=more)
        if self.plan.cap is None:
            return answer
        return answer + as_html(shown.cut_columns(), self.confidence, cut_notes(self.plan), more=more)


def release_measured(
    plan: Plan, price: Price, measure: MeasurePlan, context: Mapping[str, object], confidence: float
) -> Release:
    """Measure a plan whose groups are listed, add noise and compute the answer.

    Counts of bins get their noise some groups at a time, while they are measured (`binned_noise`).
    """
    if not can_absorb(plan):
        return replace(release(plan, price, measure(plan), context), confidence=confidence)
    binned = BinnedNoise(plan, price, confidence)
    exact = measure(plan, binned.absorb)
    return replace(release(plan, price, exact, context, binned.released), confidence=confidence)


def release(
    plan: Plan,
    price: Price,
    exact: Sequence[Sequence[int]],
    context: Mapping[str, object],
    released: Mapping[int, ReleasedIntegers] = _NONE,
) -> Release:
    """Add fresh noise to exact integers and compute the answer; HAVING, ORDER BY and LIMIT use noisy values only.

    Args:
        plan: the plan, whose groups are listed.
        price: its noise.
        exact: the integers of each measure, in order; empty for bundles in `released`.
        context: facts for the receipt.
        released: what is released of bundles that have their noise already.
    """
    noisy = noisy_integers(plan, price, exact, plan.measured_cells, released)
    if any(aggregate.ask.function in FITTED for aggregate in plan.aggregates):
        fitted = _fitted(plan, price, [list(kept_integers(measures[0])) for measures in noisy])
        return _answer(plan, price, fitted, context)
    bundles = released_columns(plan, price.noise, noisy, plan.listed)
    return _answer(plan, price, CellColumns.of(plan, plan.listed, listed_columns(plan.factors), bundles), context)


def _fitted(plan: Plan, price: Price, noisy: Sequence[Sequence[int]]) -> list[Cell]:
    """Return the cells of consistent tables, one for each aggregate, from the noisy integers of their margins."""
    columns = [_fitted_cells(plan, price, aggregate, noisy) for aggregate in plan.aggregates]
    last = {aggregate.bundles[-1]: column for aggregate, column in zip(plan.aggregates, columns, strict=True)}
    groups = [*plan.listed_groups(), *([(None,) * len(plan.keys)] if plan.rest else [])]
    cells: list[Cell] = []
    for index, keys in enumerate(groups):
        released = [
            last[place][index] if place in last else Released(bundle, (), law)
            for place, (bundle, law) in enumerate(zip(plan.bundles, price.noise, strict=True))
        ]
        cells.append(Cell(keys, tuple(released), estimates(plan, released)))
    return cells


def _fitted_cells(plan: Plan, price: Price, aggregate: Aggregate, noisy: Sequence[Sequence[int]]) -> list[Fitted]:
    """Return the cells of one fitted table in order, and the rest last if there is one."""
    noise = [price.noise[index] for index in aggregate.bundles]
    fit = Fit.of(aggregate.ask, [plan.bundles[index] for index in aggregate.bundles], noise)
    table = fit.table([noisy[index] for index in aggregate.bundles])
    whole = _whole(plan, aggregate.ask, table)
    bundle, law = plan.bundles[aggregate.bundles[-1]], noise[-1]
    pairs = zip(whole.ravel().tolist(), table.ravel().tolist(), strict=True)
    cells = [Fitted(bundle, (count,), law, center) for count, center in pairs]
    if plan.rest and plan.size is not None:
        rest = plan.size - int(whole.sum()), plan.size - float(table.sum())
        cells.append(Fitted(bundle, (rest[0],), law, rest[1], rest=True))
    return cells


def _whole(plan: Plan, ask: Ask, table: Floats) -> Ints:
    """Return a fitted table in whole numbers; with the rest, if there is one, they add up to the public size."""
    if ask.function == "table_sum":
        return np.rint(table).astype(np.int64)
    if plan.size is None:
        return whole_table(table)
    if ask.function == "sized_group_count":
        return whole_counts(table, plan.size)
    return whole_table(table, min(max(round(float(table.sum())), 0), plan.size) if plan.rest else plan.size)


def release_discovered(
    plan: Plan, price: Price, find: Find, context: Mapping[str, object], confidence: float = 0.95
) -> Release:
    """Select groups of the data by noisy numbers of units, add noise to their values and compute the answer.

    Groups are processed in blocks of at most 65,536. So at most a million exact counts of bins are in memory at once,
    besides those that the engine found to be above 0, and the noise of few groups.

    Args:
        plan: the plan, whose groups are not listed.
        price: its noise.
        find: the engine's method that reads the plan; it calls back to select groups.
        context: facts for the receipt.
        confidence: that of the intervals.
    """
    law = price.choice
    if law is None:
        raise ValueError("the groups are listed")
    selections = [(0, law.select(np.zeros(0, dtype=np.int64)))]
    seen = 0

    def choose(units: Ints) -> GroupIndices:
        nonlocal seen
        selections.append((seen, law.select(units)))
        seen += units.size
        return selections[-1][1].places

    groups = find(plan, choose)
    units, lower = _selected_units(selections, groups)
    keys, count = groups.key_columns(len(plan.keys)), len(groups.places)
    most = groups_at_once(max([1, *(measure.bins for bundle in plan.bundles for measure in bundle.measures)]))
    most = min(most, _GROUPS_AT_ONCE)
    misses = tree_misses(plan, confidence, count) if drops_trees(plan, count) else {}
    parts: list[CellColumns] = []
    for first in range(0, max(1, count), most):
        block = slice(first, min(first + most, count))
        exact = [
            integers.of(block.start, block.stop) if isinstance(integers, Histograms) else integers[block]
            for integers in groups.integers
        ]
        released = dict.fromkeys(bundles_of_selection(plan), units[block])
        size = block.stop - block.start
        noisy = summarized(plan, price, noisy_integers(plan, price, exact, size, released), misses)
        bundles = released_columns(plan, price.noise, noisy, size, (law, lower[block]))
        parts.append(CellColumns.of(plan, size, [column[block] for column in keys], bundles))
    del groups, exact, noisy, released, bundles, units, lower  # before the parts are copied to one table
    return replace(
        _answer(plan, price, CellColumns.join(parts, keys), context), found_groups=count, confidence=confidence
    )


def _selected_units(selections: list[tuple[int, SelectedGroups]], groups: DiscoveredGroups) -> tuple[Ints, Bools]:
    """Return the noisy number of units of each group, and whether it had the lower limit; empty the selections."""
    selected = joined_selections(selections)
    selections.clear()
    places, noisy, lower = selected.places, selected.noisy, selected.lower
    del selected
    order = np.searchsorted(places, groups.places)
    del places  # large answers need the memory
    return noisy[order], lower[order]


def _answer(plan: Plan, price: Price, cells: Sequence[Cell], context: Mapping[str, object]) -> Release:
    """Apply HAVING, ORDER BY and LIMIT."""
    return Release(plan, price, context, chosen_cells(plan, cells))
