"""The answer of `db.describe`: one row for each column of the data, one column for each statistic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates.statistic import Interval
from tacit.query.expressions import Value
from tacit.query.formatting import percent, spell
from tacit.query.results.answer_table import AnswerTable
from tacit.query.results.release import Release
from tacit.query.results.render import AnswerColumn, text_rows
from tacit.query.results.table import Table
from tacit.safe_text import aligned, html_lines, html_table, visible

_MISSING = "missing"


@dataclass(frozen=True, slots=True, repr=False)
class Description(AnswerTable):
    """Statistics of several columns, each with its interval; `d["mean"]`, `d.to_pandas()`, `print(d)`.

    A share of missing values and its interval are clipped to 0 … 1, where every share is. A statistic that a column
    does not have is NULL. `answer` is the query's own answer.
    """

    answer: Release
    described: Mapping[str, tuple[str, ...]]
    """The statistics of each column."""

    @property
    def confidence(self) -> float:  # type: ignore[override]  # that of the answer
        """The confidence of the query."""
        return self.answer.confidence

    @property
    def table(self) -> Table:
        """The statistics as a table."""
        names, kinds, columns = self.answer.table.names, self.answer.table.kinds, self.answer.table.columns
        values = [AnswerColumn(*each, None) for each in zip(names, kinds, columns, strict=True)]
        statistics = self._statistics(values)
        return Table(
            tuple(each.name for each in statistics),
            tuple(each.kind for each in statistics),
            tuple(each.values for each in statistics),
        )

    def columns(self, confidence: float | None = None) -> list[AnswerColumn]:
        """Return the name of each column of the data, and a column for each statistic with its intervals."""
        return self._statistics(self.answer.columns(confidence))

    def _statistics(self, columns: Sequence[AnswerColumn]) -> list[AnswerColumn]:
        outputs = {each.name: each for each in columns}
        statistics = dict.fromkeys(name for names in self.described.values() for name in names)
        names = AnswerColumn("column", "text", tuple(self.described), None)
        return [names, *(self._statistic(name, outputs) for name in statistics)]

    def _statistic(self, name: str, outputs: Mapping[str, AnswerColumn]) -> AnswerColumn:
        parts = [outputs.get(f"{column} {name}") for column in self.described]
        values: list[Value] = [None if part is None else part.values[0] for part in parts]
        ends: list[Interval | None] = [None if part is None or part.ends is None else part.ends[0] for part in parts]
        if name == _MISSING:
            values = [_share(value) if isinstance(value, (int, float)) else value for value in values]
            ends = [None if pair is None else (_share(pair[0]), _share(pair[1])) for pair in ends]
        noisy = any(pair is not None for pair in ends)
        return AnswerColumn(
            name, "integer" if name == "count" else "real", tuple(values), tuple(ends) if noisy else None
        )

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """The cost of the whole answer."""
        return self.answer.cost

    @property
    def receipt(self) -> dict[str, object]:
        """The receipt of the query."""
        return self.answer.receipt

    @property
    def notes(self) -> list[str]:
        """Sentences that belong under the answer."""
        return self.answer.notes

    def _lines(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows of text, one row for each statistic of each column."""
        rows, statistics = [], self.columns()[1:]
        for index, (column, names) in enumerate(self.described.items()):
            for each in statistics:
                if each.name in names:
                    ends = None if each.ends is None else (each.ends[index],)
                    _, cells = text_rows([AnswerColumn("", each.kind, (each.values[index],), ends)], self.confidence)
                    rows.append([column, each.name, *cells[0], *([""] if ends is None else [])])
        return ["column", "statistic", "value", f"{percent(self.confidence)} interval"], rows

    def __str__(self) -> str:
        """Return one line for each statistic of each column, with its interval."""
        headings, rows = self._lines()
        return "\n".join([*aligned([headings, *rows]), *self._sentences()])

    def _sentences(self) -> Sequence[str]:
        return [f"WARNING: {text}" for text in self.answer.warnings] + self.notes

    def __repr__(self) -> str:
        """Return the columns and the cost in one line."""
        return visible(f"<Description: {', '.join(self.described)}; cost {spell(self.cost)}>")

    def _repr_html_(self) -> str:
        """Return the same as `print` shows, as HTML for notebooks."""
        return html_table(*self._lines()) + html_lines(self._sentences())


def _share(number: float) -> float:
    return min(max(float(number), 0.0), 1.0)
