"""The chart of an answer: which of the forms of `plots.answers` fits its groups and columns.

| answer | form |
|---|---|
| several quantiles of one value | one axis for all of them |
| a date, a timestamp, or a text such as 2026-03 or 2026-03-01 among the keys | an axis of time |
| one key of bins, as `histogram` writes them, or of whole numbers | upright bars |
| two keys, one with at most four values | bars side by side |
| two keys | a heat map |
| any other | a row for each group |

Counts and sums have bars from 0, other values have points.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import isfinite
from typing import TYPE_CHECKING, Final, Literal

from tacit import plots
from tacit.errors import TacitError, bad_value
from tacit.plots.answers import Caption
from tacit.plots.marks import NoisyColumn
from tacit.query.aggregates.margins import FITTED
from tacit.query.expressions import Value
from tacit.query.formatting import listed
from tacit.query.plan import Computed, Grouped, Noisy, Output, Plan
from tacit.query.results.render import AnswerColumn, group_label

if TYPE_CHECKING:
    from tacit.plots.answers import AnswerChart

FROM_ZERO: Final = frozenset(
    {
        "count",
        "count_distinct",
        "count_units",
        "sized_count",
        "sized_group_count",
        "sized_sum",
        "sum",
        "table_count",
        "table_sum",
    }
)
"""The aggregates whose bars start at 0."""

_QUANTILES = frozenset(
    f"{drawn}{name}" for drawn in ("", "drawn_") for name in ("max", "min", "quantile", "quantile_disc")
)
_MOST_BESIDE, _MOST_LINES, _MOST_UPRIGHT, _PAIR = 4, 8, 150, 2
_MONTH = re.compile(r"\d{4}-\d{2}(-\d{2})?", re.ASCII)
_TEXT = re.compile(r"('(?:[^']|'')*')")
_NAME = re.compile(r'"([a-z_][a-z0-9_]*)"', re.ASCII)
_REPEATED = re.compile(r'"([a-z_][a-z0-9_]*)" AS "\1"', re.ASCII)
_BIN = re.compile(r"[\[(].+, .+[\])]")


@dataclass(frozen=True, slots=True)
class ChartColumns:
    """The columns of an answer that a chart shows: those that name groups, and the noisy ones."""

    keys: tuple[AnswerColumn, ...]
    noisy: tuple[NoisyColumn, ...]
    quantiles: bool
    """Whether all noisy columns are quantiles of one value."""

    @property
    def labels(self) -> list[str]:
        """The group of each row as one text."""
        return self.labels_by(self.keys)

    def labels_by(self, keys: Sequence[AnswerColumn]) -> list[str]:
        """Return the group of each row by some keys."""
        return [group_label([key.values[row] for key in keys]) for row in range(len(self.noisy[0].values))]

    @property
    def title(self) -> str:
        """The names of the keys."""
        return ", ".join(key.name for key in self.keys)


def chart_title(plan: Plan) -> str:
    """Return the title of a chart: the query, or for a table that adds up what it counts."""
    if not any(aggregate.ask.function in FITTED for aggregate in plan.aggregates) or plan.where is not None:
        return _without_quotes(plan.sql)
    return f"Counts by {listed([key.name for key in plan.keys])}"


def _without_quotes(sql: str) -> str:
    r"""Return a query without the double quotes of ordinary names, and without aliases that repeat a name.

    >>> print(_without_quotes('SELECT "ward" AS "ward", "a b" FROM "visits" WHERE x = \'"y"\''))
    SELECT ward, "a b" FROM visits WHERE x = '"y"'
    """
    parts = _TEXT.split(sql)
    parts[::2] = [_NAME.sub(r"\1", _REPEATED.sub(r'"\1"', part)) for part in parts[::2]]
    return "".join(parts)


def draw(columns: ChartColumns, caption: Caption) -> AnswerChart:
    """Draw an answer in the form that fits; see the module."""
    if columns.quantiles and len(columns.noisy) > 1:
        return plots.on_one_axis(columns.labels, columns.noisy, caption, group=columns.title)
    if (timed := _over_time(columns, caption)) is not None:
        return timed
    if len(columns.keys) == 1 and _upright(columns.keys[0]):
        bins = ["NULL" if value is None else str(value) for value in columns.keys[0].values]
        return plots.by_bin(bins, columns.noisy, caption, bin_title=columns.title)
    if len(columns.keys) == _PAIR:
        return _crossed(columns, caption)
    return plots.by_group(columns.labels, columns.noisy, caption, group=columns.title)


def _over_time(columns: ChartColumns, caption: Caption) -> AnswerChart | None:
    """Draw an answer with one key of times and few other groups; None if it is another."""
    times = [(key, texts) for key in columns.keys if (texts := _times(key)) is not None]
    if len(times) != 1:
        return None
    (key, texts), others = times[0], [other for other in columns.keys if other is not times[0][0]]
    labels = columns.labels_by(others) if others else [""] * len(texts)
    if len(set(labels)) > _MOST_LINES or len(set(texts)) == 1:
        return None
    return plots.over_time(texts, labels, columns.noisy, caption, time=key.name)


def _times(key: AnswerColumn) -> list[str] | None:
    """Return the times of a key as ISO 8601 writes them in UTC; None if its values are not times."""
    if not key.values or not all(isinstance(value, date) or _is_month(value) for value in key.values):
        return None
    return [_utc(value) for value in key.values]


def _is_month(value: Value) -> bool:
    return isinstance(value, str) and _MONTH.fullmatch(value) is not None


def _utc(value: Value) -> str:
    if isinstance(value, datetime):
        return f"{value.isoformat()}Z"
    return value.isoformat() if isinstance(value, date) else f"{value}-01"[:10]


def _upright(key: AnswerColumn) -> bool:
    """Return whether a key has bins, or whole numbers in order."""
    values = [value for value in key.values if value is not None]
    if not 1 < len(values) <= _MOST_UPRIGHT:
        return False
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return values == sorted(values)
    return all(isinstance(value, str) and _BIN.fullmatch(value) for value in values)


def _crossed(columns: ChartColumns, caption: Caption) -> AnswerChart:
    """Draw an answer with two keys: side by side if one has few values, else as a heat map."""
    first, second = columns.keys
    if len(set(second.values)) > _MOST_BESIDE >= len(set(first.values)):
        first, second = second, first
    pairs = list(zip(columns.labels_by([first]), columns.labels_by([second]), strict=True))
    titles = (first.name, second.name)
    if len(set(second.values)) <= _MOST_BESIDE:
        return plots.side_by_side(pairs, columns.noisy, caption, titles=titles)
    return plots.heat_map(pairs, columns.noisy, caption, titles=titles)


def chart_columns(plan: Plan, columns: Sequence[AnswerColumn], more: Sequence[AnswerColumn]) -> ChartColumns:
    """Return the parts of an answer that a chart shows, or raise TacitError if it has no finite interval.

    Args:
        plan: the plan.
        columns: the columns of the answer, in the order of the plan's outputs.
        more: noisy columns that are not outputs of the plan: what a reach cuts.
    """
    outputs = [output for _, output in plan.outputs]
    keys = [column for column, output in zip(columns, outputs, strict=True) if _names_groups(output)]
    noisy = [
        (_noisy(column, from_zero=_starts_at_zero(plan, output)), output)
        for column, output in zip(columns, outputs, strict=True)
        if column.ends is not None and _is_number(column)
    ]
    others = [_noisy(column, from_zero=True) for column in more if column.ends is not None and _is_number(column)]
    shown = [*(column for column, _ in noisy), *others]
    _check_finite(shown)
    return ChartColumns(tuple(keys), tuple(shown), _one_value(plan, [output for _, output in noisy]) and not others)


def derived_chart_columns(
    keys: Sequence[AnswerColumn], columns: Sequence[AnswerColumn], from_zero: Collection[str]
) -> ChartColumns:
    """Return the parts of an answer that an outer query computed; its exact columns name the groups.

    Args:
        keys: the columns without noise.
        columns: all columns.
        from_zero: the names of those whose bars start at 0.
    """
    shown = [
        _noisy(column, from_zero=column.name in from_zero)
        for column in columns
        if column.ends is not None and _is_number(column)
    ]
    _check_finite(shown)
    return ChartColumns(tuple(keys), tuple(shown), quantiles=False)


def _check_finite(columns: Sequence[NoisyColumn]) -> None:
    """Raise TacitError if no value has a finite interval."""
    if not any(map(isfinite, (end for column in columns for end in column.high))):
        raise TacitError(
            "The answer has no row with a number and a finite interval, so there is no chart.",
            hint="The answer is not lost: print it, or use .rows().",
        )


def _names_groups(output: Output) -> bool:
    """Return whether an output depends on keys alone."""
    if isinstance(output, Computed):
        return any(map(_names_groups, output.arguments)) and not any(map(_is_noisy, output.arguments))
    return isinstance(output, Grouped)


def _is_noisy(output: Output) -> bool:
    return isinstance(output, Noisy) or (isinstance(output, Computed) and any(map(_is_noisy, output.arguments)))


def _is_number(column: AnswerColumn) -> bool:
    return column.kind in ("integer", "real")


def _noisy(column: AnswerColumn, *, from_zero: bool) -> NoisyColumn:
    """Return a column with infinite ends where a value or an interval is missing; such rows are not drawn."""
    values, low, high = [], [], []
    for value, ends in zip(column.values, column.ends or (), strict=True):
        number = isinstance(value, (int, float)) and ends is not None
        values.append(float(value) if number else 0.0)  # type: ignore[arg-type]  # a number
        low.append(float(ends[0]) if number else 0.0)  # type: ignore[index]  # not None
        high.append(float(ends[1]) if number else float("inf"))  # type: ignore[index]  # not None
    return NoisyColumn(name=column.name, values=values, low=low, high=high, from_zero=from_zero)


def starts_at_zero(plan: Plan, name: str) -> bool:
    """Return whether a column of an answer is a count or a sum."""
    output = dict(plan.outputs).get(name)
    return output is not None and _starts_at_zero(plan, output)


def _starts_at_zero(plan: Plan, output: Output) -> bool:
    return isinstance(output, Noisy) and plan.aggregates[output.place].ask.function in FROM_ZERO


def _one_value(plan: Plan, outputs: Sequence[Output]) -> bool:
    """Return whether all outputs are quantiles of one value."""
    asks = [plan.aggregates[output.place].ask for output in outputs if isinstance(output, Noisy)]
    same = len({repr(ask.values) for ask in asks}) == 1
    return same and len(asks) == len(outputs) and all(ask.function in _QUANTILES for ask in asks)


def read_theme(theme: object) -> Literal["light", "dark"]:
    """Return the theme of a chart, or raise InvalidError."""
    if theme not in ("light", "dark"):
        raise bad_value("theme", theme, "'light' or 'dark'")
    return "dark" if theme == "dark" else "light"
