"""One marginal of a release as a table: its public values, unbiased counts, and exact errors of cells and of sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tacit import plots
from tacit.arrays import Floats
from tacit.errors import ColumnNotFoundError
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.plots.answers import Caption
from tacit.plots.marks import NoisyColumn
from tacit.query.aggregates.statistic import miss_rate
from tacit.query.expressions import Value
from tacit.query.formatting import grouped, listed, percent, spell
from tacit.query.results.answer_table import AnswerTable
from tacit.query.results.chart import read_theme
from tacit.query.results.intervals import read_confidence
from tacit.query.results.render import AnswerColumn, as_html, as_text, group_label
from tacit.query.results.table import Table
from tacit.query.sql.names import unique_names
from tacit.safe_text import visible
from tacit.synthetic.domain import Domain
from tacit.synthetic.domain_labels import codes_of, place_of, values_of
from tacit.synthetic.marginal_parts import MarginalNoise, Parts, marginal_of, variance_of
from tacit.synthetic.marginal_release import Columns

if TYPE_CHECKING:
    from tacit.plots.answers import AnswerChart

_PAIR = 2


@dataclass(frozen=True, slots=True)
class CellSum:
    """The sum of some cells: `float(s)`, `s.value`, `s.interval`; unbiased, with its exact variance."""

    value: float
    interval: tuple[float, float]
    variance: float
    confidence: float

    def __float__(self) -> float:
        """Return the value."""
        return self.value

    def __str__(self) -> str:
        """Return the value with its interval."""
        low, high = self.interval
        return f"{self.value:,.1f} ({percent(self.confidence)} interval {low:,.1f} … {high:,.1f})"


@dataclass(frozen=True)
class MarginalRelease:
    """The parts that all marginals of one release share: the public domain, the noise, and the estimates."""

    domain: Domain
    noise: MarginalNoise
    parts: Parts = field(repr=False)
    cost: PureDP | ApproxDP | ZCDP
    confidence: float

    def error(self, columns: Columns, chosen: Sequence[int] | None = None, confidence: float | None = None) -> float:
        """Return the largest error of a cell of a marginal, or of a sum that takes some codes of each column."""
        beta = float(miss_rate(self.confidence if confidence is None else confidence))
        return self.noise.reach(columns, [1] * len(columns) if chosen is None else chosen, beta)


@dataclass(frozen=True, repr=False)
class MarginalTable(AnswerTable):
    """The counts of all combinations of some columns' public values, with intervals: `t.to_pandas()`, `print(t)`.

    `count` is unbiased, so it can be negative; `low` and `high` are the ends of its interval, which starts at 0 or
    above. `t.total(age=[…])` is the sum of some cells with the interval of the sum.
    """

    release: MarginalRelease
    places: Columns
    """The columns of the marginal, in the order in which they were named."""

    @property
    def confidence(self) -> float:  # type: ignore[override]  # that of the release
        """The confidence of the intervals."""
        return self.release.confidence

    @cached_property
    def counts(self) -> Floats:
        """The unbiased counts as an array with an axis for each column, in rows."""
        rising = tuple(sorted(self.places))
        table = marginal_of(self.release.parts, self.release.domain.sizes, rising)
        return np.transpose(table, [rising.index(place) for place in self.places])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.release.domain.names[place] for place in self.places)

    @property
    def error(self) -> float:
        """The largest error of a cell, at the confidence of the release."""
        return self.release.error(tuple(sorted(self.places)))

    @property
    def variance(self) -> float:
        """The variance of each cell, in squared rows."""
        rising = tuple(sorted(self.places))
        return variance_of(self.release.noise.variances, self.release.domain.sizes, rising, [1] * len(rising))

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """The cost of the whole release."""
        return self.release.cost

    @property
    def table(self) -> Table:
        """The marginal as a table, with the intervals."""
        return self.intervals()

    def intervals(self, confidence: float | None = None) -> Table:
        """Return the marginal with the low and high end of every count, each with this confidence."""
        columns = self.columns(confidence)
        ends = columns[-1].ends or ()
        low, high = (tuple(each[side] for each in ends if each is not None) for side in (0, 1))
        return Table(
            tuple(unique_names([*self.names, "count", "low", "high"])),
            (*(column.kind for column in columns[:-1]), "real", "real", "real"),
            (*(column.values for column in columns), low, high),
            tuple(self._interval_notes(confidence)),
        )

    def _interval_notes(self, confidence: float | None = None) -> tuple[str, ...]:
        share = percent(self.confidence if confidence is None else confidence)
        return (f"low and high are the ends of the {share} interval of count.",)

    def columns(self, confidence: float | None = None) -> list[AnswerColumn]:
        """Return the columns of the marginal; the counts have intervals."""
        confidence = self.confidence if confidence is None else read_confidence(confidence)
        error = self.release.error(tuple(sorted(self.places)), confidence=confidence)
        flat = self.counts.ravel()
        ends = np.stack([np.maximum(flat - error, 0.0), np.maximum(flat + error, 0.0)], axis=1)
        return [
            *key_columns(self.release.domain, self.places),
            AnswerColumn("count", "real", tuple(flat.tolist()), tuple(map(tuple, ends.tolist()))),
        ]

    def total(
        self, values: Mapping[str, object] | None = None, /, *, confidence: float | None = None, **more: object
    ) -> CellSum:
        """Return the sum of the cells of some values, with its interval: `t.total(age=["[0, 18)"], sex="F")`.

        A column that is not named counts with all its values, so `t.total()` is the number of rows.

        Args:
            values: the values of some columns, by their names, for names that are not identifiers.
            confidence: that of the interval.
            more: the values of some columns: one or several; a bin by its text or its pair of edges.
        """
        level = self.confidence if confidence is None else read_confidence(confidence)
        wanted = {**(values or {}), **more}
        for name in wanted:
            if name not in self.names:
                raise ColumnNotFoundError(name, self.names, argument="values")
        domain = self.release.domain
        codes = {
            place_of(domain.names, name): codes_of(domain, place_of(domain.names, name), each)
            for name, each in wanted.items()
        }
        chosen = [codes.get(place, list(range(domain.sizes[place]))) for place in self.places]
        value = float(self.counts[np.ix_(*chosen)].sum())
        rising = tuple(sorted(self.places))
        taken = [len(chosen[self.places.index(place)]) for place in rising]
        error = self.release.error(rising, taken, level)
        variance = variance_of(self.release.noise.variances, domain.sizes, rising, taken)
        return CellSum(value, (max(value - error, 0.0), max(value + error, 0.0)), variance, level)

    def plot(self, confidence: float | None = None, *, theme: str = "light") -> AnswerChart:
        """Draw the marginal: bars with whiskers for one column, a heat map for two, else a row for each cell.

        This requires the extra `tacit[plot]`. The theme is "light" or "dark".
        """
        confidence = self.confidence if confidence is None else read_confidence(confidence)
        dark = read_theme(theme) == "dark"
        error = self.release.error(tuple(sorted(self.places)), confidence=confidence)
        chart = _drawn(
            self.columns(confidence),
            error,
            Caption(
                title=f"Counts by {listed(self.names)}",
                cost=spell(self.cost),
                confidence=confidence,
                lines=[f"Each count is within {grouped(error)} of the truth with {percent(confidence)} confidence."],
            ),
            self.names,
        )
        return plots.darkened(chart) if dark else chart

    def _sentences(self) -> list[str]:
        error = f"Each count is within {grouped(self.error)} of the truth with {percent(self.confidence)} confidence."
        return [error, "Counts are unbiased, so they can be negative."]

    def __str__(self) -> str:
        """Return the first rows with their intervals."""
        return as_text(self.columns(), self.confidence, self._sentences())

    def __repr__(self) -> str:
        """Return the columns, the number of cells and the error in one line."""
        cells = prod(self.counts.shape)
        return visible(f"<MarginalTable: {', '.join(self.names)}; {cells:,} cells, each ± {grouped(self.error)}>")

    def _repr_html_(self) -> str:
        """Return the first rows as HTML, for notebooks."""
        return as_html(self.columns(), self.confidence, self._sentences())


def key_columns(domain: Domain, places: Columns) -> list[AnswerColumn]:
    """Return the values of each cell's columns, in the order of a flattened array."""
    shape = [domain.sizes[place] for place in places]
    codes = np.indices(shape).reshape(len(shape), -1)
    found = []
    for place, some in zip(places, codes, strict=True):
        kind, values = values_of(domain, place)
        column: tuple[Value, ...] = tuple(values[code] for code in some.tolist())
        found.append(AnswerColumn(domain.names[place], kind, column, None))
    return found


def _drawn(columns: Sequence[AnswerColumn], error: float, caption: Caption, names: Sequence[str]) -> AnswerChart:
    """Draw the columns of a marginal; a heat map shows ± the error, also where tables cut the interval at 0."""
    *keys, counts = columns
    ends = [each or (0.0, 0.0) for each in counts.ends or ()]
    noisy = NoisyColumn(
        name="count",
        values=[float(value) for value in counts.values],  # type: ignore[arg-type]  # numbers
        low=[low for low, _ in ends],
        high=[high for _, high in ends],
        from_zero=True,
    )
    if len(keys) == _PAIR:
        pairs = [(group_label([a]), group_label([b])) for a, b in zip(keys[0].values, keys[1].values, strict=True)]
        low, high = [n - error for n in noisy.values], [n + error for n in noisy.values]
        whole = replace(noisy, low=low, high=high)
        return plots.heat_map(pairs, [whole], caption, titles=(names[0], names[1]))
    labels = [group_label([key.values[row] for key in keys]) for row in range(len(counts.values))]
    if len(keys) == 1:
        return plots.by_bin(labels, [noisy], caption, bin_title=names[0])
    return plots.by_group(labels, [noisy], caption, group=", ".join(names))
