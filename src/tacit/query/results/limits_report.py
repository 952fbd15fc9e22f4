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

from bisect import bisect_left
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
from tacit.query.formatting import grouped, percent, spell
from tacit.query.noise_law import NoiseLaw
from tacit.query.noise_tails import gaussian_reach, laplace_reach
from tacit.query.policy.column_values import LARGEST_BOUND
from tacit.query.results.limits_subject import LimitsSubject
from tacit.query.results.release import Release
from tacit.query.results.table import Table
from tacit.query.unit_sizes import SHOWN_BINS, SHOWN_EDGES
from tacit.safe_text import as_html, visible

if TYPE_CHECKING:
    import altair as alt

_CLOSE = 0.5
_STRICT = 100
_WHOLE = 1000


@dataclass(frozen=True)
class LimitsReport:
    """The units and rows that each reach would cut, with intervals, and the reach that errs least.

    `release` holds the noisy histograms. `noise_a_row` is the mean absolute noise of a group of the answer for each row
    of the reach, `groups` the number of its groups, and `spend` the cost of the answer that this is for. `subject` says
    what is limited: rows, or groups if the query counts units. Names with "rows" then stand for groups.

    Attributes:
        confidence: that of the intervals.
    """

    release: Release
    noise_a_row: float
    groups: int
    spend: PureDP | ApproxDP | ZCDP
    confidence: float
    subject: LimitsSubject

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """The cost of the histograms."""
        return self.release.cost

    @property
    def receipt(self) -> dict[str, object]:
        """The guarantee and the noise as JSON."""
        return self.release.receipt

    @property
    def repeated(self) -> bool:
        """True if the ledger had recorded the histograms, so that they cost nothing this time."""
        return self.release.repeated

    @cached_property
    def reach(self) -> int:
        """The reach that errs least."""
        target, rows = self.groups * self.noise_a_row, self._rows
        candidates = [edge for edge in SHOWN_EDGES[: rows.edges] if edge <= LARGEST_BOUND]
        missing = [
            max(0.0, rows.above(j) - target, target - rows.above(j - 1) if j else 0.0) for j in range(len(candidates))
        ]
        scores = [rows.surprise(j, d) + 2 * log(candidates[j]) for j, d in enumerate(missing)]
        best: int = candidates[scores.index(min(scores))]
        return best

    @property
    def _rows(self) -> _Sizes:
        most = None if self.subject.noun == "row" else self.groups
        return _Sizes.of(self.release, 0, self.confidence, most)

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
        if j >= rows.cap and not rows.is_last(j):
            return (reach, *above, None, None, None, noise, None, None)
        cut = rows.cut(j)
        missed = cut[0] / self.groups
        return (reach, *above, *(round(x) for x in cut), noise, missed, noise + missed)

    @property
    def _is_lower_bound(self) -> bool:
        """True if units may have more rows than the cap, so that a reach may cut more than `cut`."""
        rows = self._rows
        return not rows.is_last(rows.cap)

    @cached_property
    def groups_table(self) -> Table | None:
        """For each number of groups: the units that are in more, with an interval; None without listed groups."""
        if len(self.release.plan.bundles) == 1:
            return None  # there is one group, or `table` is about groups
        sizes = _Sizes.of(self.release, 1, self.confidence, self.groups)
        lines = [(SHOWN_EDGES[j], *(round(x) for x in sizes.interval_above(j))) for j in range(sizes.cap + 1)]
        return Table(("groups", *_COLUMNS[1:4]), ("integer",) * 4, tuple(zip(*lines, strict=True)))

    @property
    def why(self) -> str:
        """The recommended reach and the reason for it."""
        row = self.table.dicts()[SHOWN_EDGES.index(self.reach)]
        group = "" if self.groups == 1 else " in a group"
        return (
            f"Use reach = {self.reach:,} for an answer that costs {spell(self.spend)}. {self._lost(row)} "
            f"The mean noise{group} is {_some(row['noise'])} {self.subject.errors}."
            + ("" if row["units_above_high"] == 0 else " A larger reach would probably add more noise than it saves.")
        )

    def _lost(self, row: Mapping[str, Value]) -> str:
        """Return how many units are above the recommended reach, and what they lose."""
        noun, share = self.subject.noun, percent(self.confidence)
        if row["units_above_high"] == 0:
            return f"No unit is in more than {self.groups:,} groups."
        units = f"Units {self._more}: about {row['units_above']:,} ({share} interval {_ends(row, 'units_above')})."
        if row["rows_cut"] is None:
            return f"{units} How many {noun}s they lose is not known and may be many."
        each = "" if self.groups == 1 else f", {_some(row['cut'])} a group on average"
        cap = f"up to {SHOWN_EDGES[self._rows.cap]:,} a unit"
        ends = f"{share} interval {_ends(row, 'rows_cut')}"
        return f"{units} They lose about {row['rows_cut']:,} {noun}s ({ends}; {cap}){each}."

    @property
    def _more(self) -> str:
        return "with more rows" if self.subject.noun == "row" else "in more groups"

    @property
    def caution(self) -> str:
        """A note on the units that may have more rows than the cap."""
        rows, noun = self._rows, self.subject.noun
        most = round(rows.interval_above(rows.cap)[2])
        if rows.is_last(rows.cap):
            return f"There are {self.groups:,} groups, so no unit is in more."
        return (
            f"{noun.capitalize()}s are counted up to {SHOWN_EDGES[rows.cap]:,} a unit. Up to {most:,} units may have "
            f"more; the {noun}s that they have beyond it are not in this table."
        )

    @property
    def suggest(self) -> str:
        """The line of a policy file with the recommended reach."""
        return f"reach = {self.reach}"

    def plot(self) -> alt.LayerChart:
        """Draw the mean error of a group against the reach: the noise, the cut, and both; mark the recommended one."""
        names, noun = ("noise", "cut", "error"), self.subject.noun
        columns = dict(zip(self.table.names, self.table.columns, strict=True))
        lines = {"both" if name == "error" else name: list(map(_number, columns[name])) for name in names}
        across = f"reach: {'rows as' if noun == 'row' else 'groups in'} which a unit counts at most"
        up = f"mean error{'' if self.groups == 1 else ' of a group'}, in {self.subject.errors}"
        return plots.error_by_reach(list(map(_number, columns["reach"])), lines, best=self.reach, titles=(across, up))

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON."""
        return {
            "reach": self.reach,
            "why": self.why,
            "remark": self.subject.remark,
            "limited": f"{self.subject.noun}s",
            "suggest": self.suggest,
            "policy": self.subject.policy_line(self.reach),
            "caution": self.caution,
            "confidence": self.confidence,
            "cut_is_at_least": self._is_lower_bound,
            "table": self.table.dicts(),
            "groups": None if self.groups_table is None else self.groups_table.dicts(),
            "receipt": self.receipt,
        }

    def __str__(self) -> str:
        """Return the recommendation and the tables."""
        return "\n".join(str(part) for part in self._parts())

    def _parts(self) -> list[str | Table]:
        """Return the sentences and tables of the report, in order."""
        remark = [] if self.subject.remark is None else [self.subject.remark]
        parts: list[str | Table] = [self.why, self.subject.policy_line(self.reach), *remark, self._printed()]
        parts += [self._legend, self.caution]
        if self.groups_table is not None:
            parts += ["Units by their number of groups:", self._printed_groups(self.groups_table)]
        return parts

    @property
    def _legend(self) -> str:
        of_group = "" if self.groups == 1 else " of one group"
        return (
            f"Each interval holds with {percent(self.confidence)} confidence. The last three columns are "
            f"{self.subject.errors}{of_group}: the mean size of the noise, the mean cut, and their sum."
            + (" A cut is at least this large: rows beyond the cap are not in it." if self._is_lower_bound else "")
        )

    def _printed(self) -> Table:
        """Return the table with its intervals in words."""
        rows, noun = self.table.dicts(), self.subject.noun
        columns = (
            tuple(f"{row['reach']:,}" for row in rows),
            tuple(_with_interval(row, "units_above") for row in rows),
            tuple(_with_interval(row, "rows_cut") for row in rows),
            tuple(_some(row["noise"]) for row in rows),
            *(tuple(self._at_least(row[name]) for row in rows) for name in ("cut", "error")),
        )
        cut = f"{noun}s cut, up to {SHOWN_EDGES[self._rows.cap]:,} a unit"
        names = ("reach", f"units {self._more}", cut, "mean noise", "mean cut", "both")
        return Table(names, ("text",) * 6, columns)

    def _at_least(self, value: Value) -> str:
        """Return a number as a lower bound if units may have rows that were not counted."""
        return f"at least {_some(value)}" if self._is_lower_bound and value is not None else _some(value)

    @staticmethod
    def _printed_groups(table: Table) -> Table:
        rows = table.dicts()
        columns = (
            tuple(f"{row['groups']:,}" for row in rows),
            tuple(_with_interval(row, "units_above") for row in rows),
        )
        return Table(("groups", "units in more groups"), ("text",) * 2, columns)

    def __repr__(self) -> str:
        """Return the recommended reach and the cost in one line."""
        return visible(f"<LimitsReport: reach {self.reach:,}; cost {spell(self.cost)}>")

    def _repr_html_(self) -> str:
        """Return the same as `print` shows, as HTML, for notebooks."""
        return "".join(
            part._repr_html_() if isinstance(part, Table) else f"<p>{as_html(part)}</p>" for part in self._parts()
        )


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
    """Return a number to three digits.

    >>> _some(53.333), _some(371234.0), _some(None)
    ('53.3', '371,000', 'not known')
    """
    if value is None:
        return "not known"
    number = float(f"{_number(value):.3g}")
    return f"{number:,.0f}" if abs(number) >= _WHOLE else grouped(number)


def _number(value: Value) -> float:
    return float(value) if isinstance(value, (int, float)) else inf


def _with_interval(row: Mapping[str, Value], name: str) -> str:
    return "not known" if row[name] is None else f"{row[name]:,} ({row[f'{name}_low']:,} … {row[f'{name}_high']:,})"


def _ends(row: Mapping[str, Value], name: str) -> str:
    return f"{row[f'{name}_low']:,} to {row[f'{name}_high']:,}"


@dataclass(frozen=True, slots=True)
class _Sizes:
    """A noisy histogram of units by size, with the law of its noise."""

    numbers: Sequence[int]
    law: NoiseLaw
    beta: Fraction

    @classmethod
    def of(cls, release: Release, index: int, confidence: float, most: int | None = None) -> _Sizes:
        """Return one histogram of a release; no unit is above `most`, if that is known, so bins above it are empty."""
        released = release.cells[0].released[index]
        numbers = tuple(int(x) for x in released.integers)
        last = None if most is None else bisect_left(SHOWN_EDGES, most) + 1
        return cls(numbers[:last], released.noise, miss_rate(confidence))

    @property
    def edges(self) -> int:
        """The number of edges that have a unit at or below them."""
        return min(len(self.numbers), len(SHOWN_EDGES))

    def is_last(self, j: int) -> bool:
        """Return whether it is known that no unit is above an edge."""
        return j == len(self.numbers) - 1

    def above(self, j: int) -> float:
        """Return the noisy number of units above an edge."""
        return float(sum(self.numbers[j + 1 :]))

    def surprise(self, j: int, units: float) -> float:
        """Return how surprising it is that noise moves the number of units above an edge by this many."""
        each = self.law.scale * (sqrt(2) if self.law.law == "laplace" else 1.0)
        deviation = each * sqrt(max(1, len(self.numbers) - 1 - j))
        return units / (_CLOSE * deviation)

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
        return next((j for j in range(self.edges) if strict.interval_above(j)[1] <= 0), self.edges - 1)

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


def units_error(law: NoiseLaw, confidence: float) -> float:
    """Return the largest error of a number of units above a reach, before a report is made."""
    return _tail_bound(law, (1.0,) * (SHOWN_BINS - 1), miss_rate(confidence))


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
