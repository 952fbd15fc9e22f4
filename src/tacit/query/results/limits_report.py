"""Report what each reach would cut, and which one errs least: post-processing of noisy histograms of units.

Let m(i) be the noisy number of units in bin i (see `unit_sizes`). The number of units above the edge Rⱼ is the sum of
the m(i) with i > j; its interval is the tail bound of the sum of that many noises. The rows that a reach of Rⱼ cuts are
Σ_u max(0, n(u) - Rⱼ), and a unit of bin i has between Rᵢ₋₁ + 1 and Rᵢ rows. So they are between
Σ m(i)·(Rᵢ₋₁ + 1 - Rⱼ) and Σ m(i)·(Rᵢ - Rⱼ), less and more the tail bound of the weighted noise. One noisy unit in a bin
of 2^40 rows would swamp these sums, so they end at the cap: the least edge above which all bins may be empty. The
report says how many units may have more rows than the cap. The rows that a reach at or above the cap cuts are not
known.

**The reach that errs least** has as many units above it as `reach_choice` derives: T. The noise of the histogram
decides how well that is known: among the candidates Rⱼ the one with the least d/s + 2·ln Rⱼ is taken, where d is by how
many units the noisy numbers miss the rule, and s is half the standard deviation of the noise of the number above Rⱼ.
The second term keeps a reach that is far too large from being taken by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tacit import plots
from tacit.arrays import Floats
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates.statistic import miss_rate
from tacit.query.expressions import Kind, Value
from tacit.query.formatting import percent, plain, spell
from tacit.query.noise_law import NoiseLaw
from tacit.query.noise_tails import gaussian_reach, laplace_reach
from tacit.query.policy.column_values import LARGEST_BOUND
from tacit.query.results.release import Release
from tacit.query.results.table import Table
from tacit.query.unit_sizes import SHOWN_EDGES
from tacit.safe_text import as_html, visible

if TYPE_CHECKING:
    import altair as alt

_CLOSE = 0.5
_STRICT = 100


@dataclass(frozen=True)
class LimitsReport:
    """The units and rows that each reach would cut, with intervals, and the reach that errs least.

    `release` holds the noisy histograms. `noise_a_row` is the mean absolute noise of a group of the answer for each row
    of the reach, `groups` the number of its groups, and `spend` the cost of the answer that this is for.
    """

    release: Release
    noise_a_row: float
    groups: int
    spend: PureDP | ApproxDP | ZCDP
    confidence: float

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """The cost of the histograms."""
        return self.release.cost

    @property
    def receipt(self) -> dict[str, object]:
        """The guarantee and the noise as JSON."""
        return self.release.receipt

    @cached_property
    def reach(self) -> int:
        """The reach that errs least."""
        target, rows = self.groups * self.noise_a_row, self._rows
        candidates = [edge for edge in SHOWN_EDGES if edge <= LARGEST_BOUND]
        missing = [
            max(0.0, rows.above(j) - target, target - rows.above(j - 1) if j else 0.0) for j in range(len(candidates))
        ]
        scores = [d / (_CLOSE * rows.deviation(j)) + 2 * log(candidates[j]) for j, d in enumerate(missing)]
        best: int = candidates[scores.index(min(scores))]
        return best

    @property
    def _rows(self) -> _Sizes:
        return _Sizes.of(self.release, 0, self.confidence)

    @cached_property
    def table(self) -> Table:
        """For each reach: the units above it and the rows that it cuts, with intervals, and the mean error of a group.

        `noise` is the mean absolute noise of a group, `cut` the rows that a group misses on average, `error` both. What
        is not known is NULL.
        """
        rows = self._rows
        last = max(rows.cap, SHOWN_EDGES.index(self.reach))
        lines = [self._line(rows, j) for j in range(last + 1)]
        return Table(_COLUMNS, _KINDS, tuple(zip(*lines, strict=True)))

    def _line(self, rows: _Sizes, j: int) -> tuple[float | None, ...]:
        reach, above = SHOWN_EDGES[j], [round(x) for x in rows.interval_above(j)]
        noise = self.noise_a_row * reach
        if j >= rows.cap:
            return (reach, *above, None, None, None, noise, None, None)
        cut = rows.cut(j)
        missed = cut[0] / self.groups
        return (reach, *above, *(round(x) for x in cut), noise, missed, noise + missed)

    @cached_property
    def groups_table(self) -> Table | None:
        """For each number of groups: the units that are in more, with an interval; None without listed groups."""
        if len(self.release.plan.bundles) == 1:
            return None
        sizes = _Sizes.of(self.release, 1, self.confidence)
        lines = [(SHOWN_EDGES[j], *(round(x) for x in sizes.interval_above(j))) for j in range(sizes.cap + 1)]
        return Table(("groups", *_COLUMNS[1:4]), ("integer",) * 4, tuple(zip(*lines, strict=True)))

    @property
    def why(self) -> str:
        """The reason for the recommended reach, in one sentence."""
        row = self.table.dicts()[SHOWN_EDGES.index(self.reach)]
        units = f"{row['units_above']:,} units ({row['units_above_low']:,} to {row['units_above_high']:,})"
        lost = "how many rows they lose is not known and may be many"
        if row["rows_cut"] is not None:
            most = SHOWN_EDGES[self._rows.cap]
            together = f"lose about {row['rows_cut']:,} rows together (up to {most:,} rows a unit)"
            lost = f"they {together}, {_some(row['cut'])} a group on average"
        return (
            f"Use reach = {self.reach:,}. About {units} have more rows; {lost}. The mean noise is "
            f"{_some(row['noise'])} a group. A larger reach would probably add more noise than it saves."
        )

    @property
    def caution(self) -> str:
        """A note on the units that may have more rows than the cap."""
        rows = self._rows
        most = round(rows.interval_above(rows.cap)[2])
        return (
            f"Rows are counted up to {SHOWN_EDGES[rows.cap]:,} a unit. Up to {most:,} units may have more; "
            "the rows that they have beyond it are not in this table."
        )

    def plot(self) -> alt.LayerChart:
        """Draw the mean error of a group against the reach: the noise, the cut, and both."""
        names = ("noise", "cut", "error")
        columns = dict(zip(self.table.names, self.table.columns, strict=True))
        lines = {"both" if name == "error" else name: list(map(_number, columns[name])) for name in names}
        return plots.error_by_reach(list(map(_number, columns["reach"])), lines, best=self.reach)

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON."""
        return {
            "reach": self.reach,
            "why": self.why,
            "caution": self.caution,
            "confidence": self.confidence,
            "table": self.table.dicts(),
            "groups": None if self.groups_table is None else self.groups_table.dicts(),
            "receipt": self.receipt,
        }

    def __str__(self) -> str:
        """Return the recommendation and the tables."""
        parts = [self.why, self._shown(), self.caution]
        if self.groups_table is not None:
            parts.append(f"Units by their number of groups:\n{self.groups_table}")
        return "\n".join([*parts[:1], f"This is for an answer that costs {spell(self.spend)}.", *parts[1:]])

    def _shown(self) -> str:
        share = percent(self.confidence)
        return f"{self._printed()}\nIntervals hold with {share} confidence each; noise and cut are means of one group."

    def _printed(self) -> Table:
        """Return the table with its intervals in words."""
        rows = self.table.dicts()
        columns = (
            tuple(f"{row['reach']:,}" for row in rows),
            tuple(_with_interval(row, "units_above") for row in rows),
            tuple(_with_interval(row, "rows_cut") for row in rows),
            *(tuple(_some(row[name]) for row in rows) for name in ("noise", "cut", "error")),
        )
        most = SHOWN_EDGES[self._rows.cap]
        cut = f"rows cut (up to {most:,} a unit)"
        return Table(("reach", "units above", cut, "mean noise", "cut", "both"), ("text",) * 6, columns)

    def __repr__(self) -> str:
        """Return the recommended reach and the cost in one line."""
        return visible(f"<LimitsReport: reach {self.reach:,}; cost {spell(self.cost)}>")

    def _repr_html_(self) -> str:
        """Return the report as HTML, for notebooks."""
        more = "" if self.groups_table is None else self.groups_table._repr_html_()
        return f"<p>{as_html(self.why)}</p>{self._printed()._repr_html_()}<p>{as_html(self.caution)}</p>{more}"


_COLUMNS = (
    "reach",
    "units_above",
    "units_above_low",
    "units_above_high",
    "rows_cut",
    "rows_cut_low",
    "rows_cut_high",
    "noise",
    "cut",
    "error",
)
_KINDS: tuple[Kind, ...] = (*("integer",) * 7, *("real",) * 3)


def _some(value: Value) -> str:
    return "?" if value is None else plain(float(f"{_number(value):.3g}"))


def _number(value: Value) -> float:
    return float(value) if isinstance(value, (int, float)) else inf


def _with_interval(row: Mapping[str, Value], name: str) -> str:
    return "not known" if row[name] is None else f"{row[name]:,} ({row[f'{name}_low']:,} … {row[f'{name}_high']:,})"


@dataclass(frozen=True, slots=True)
class _Sizes:
    """A noisy histogram of units by size, with the law of its noise."""

    numbers: Sequence[int]
    law: NoiseLaw
    beta: Fraction

    @classmethod
    def of(cls, release: Release, index: int, confidence: float) -> _Sizes:
        released = release.cells[0].released[index]
        return cls(tuple(int(x) for x in released.integers), released.noise, miss_rate(confidence))

    def above(self, j: int) -> float:
        """Return the noisy number of units above an edge."""
        return float(sum(self.numbers[j + 1 :]))

    def deviation(self, j: int) -> float:
        """Return the standard deviation of its noise."""
        each = self.law.scale * (sqrt(2) if self.law.law == "laplace" else 1.0)
        return each * sqrt(len(self.numbers) - 1 - j)

    def interval_above(self, j: int) -> tuple[float, float, float]:
        """Return the number of units above an edge, and the ends of its interval; none is below 0."""
        number, error = self.above(j), self._bound(np.ones(len(self.numbers) - 1 - j))
        return tuple(max(0.0, x) for x in (number, number - error, number + error))  # type: ignore[return-value]  # three

    @property
    def cap(self) -> int:
        """The least edge above which all bins may be empty.

        It is found from the same noise as the intervals, so it is decided at a far smaller β: a row of the report is
        shown only if there are units above it almost surely, and its interval is hardly affected by that.
        """
        strict = replace(self, beta=self.beta / _STRICT)
        edges = range(len(SHOWN_EDGES))
        return next((j for j in edges if strict.interval_above(j)[1] <= 0), len(SHOWN_EDGES) - 1)

    def cut(self, j: int) -> tuple[float, float, float]:
        """Return the rows that a reach cuts of units up to the cap, and the ends of its interval."""
        bins = range(j + 1, self.cap + 1)
        low = np.array([SHOWN_EDGES[i - 1] + 1 - SHOWN_EDGES[j] for i in bins], dtype=float)
        high = np.array([SHOWN_EDGES[i] - SHOWN_EDGES[j] for i in bins], dtype=float)
        numbers = np.array([float(self.numbers[i]) for i in bins])
        if not len(numbers):
            return 0.0, 0.0, 0.0
        ends = float(numbers @ low) - self._bound(low), float(numbers @ high) + self._bound(high)
        middle = max(0.0, float(numbers @ (low + high)) / 2)
        return middle, max(0.0, min(ends[0], middle)), max(ends[1], middle)

    def _bound(self, weights: Floats) -> float:
        return _tail_bound(self.law, tuple(weights.tolist()), self.beta)


@lru_cache(maxsize=4096)
def _tail_bound(law: NoiseLaw, weights: tuple[float, ...], beta: Fraction) -> float:
    """Return the tail bound of the weighted sum of noises, with half a step for the grid (see `noise_tails`).

    It is cached, because a report needs the same bounds many times.
    """
    if not weights:
        return 0.0
    each = np.array(weights)
    if law.law == "laplace":
        bound = laplace_reach(each * law.scale, np.ones(len(each)), float(beta))
    else:
        bound = gaussian_reach(float(np.sum(each**2)) * float(law.amount), float(beta))
    return bound + max(weights) / 2
