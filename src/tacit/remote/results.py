"""Plans and answers of a server, rebuilt from JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from tacit.query.aggregates.statistic import Interval
from tacit.query.formatting import grouped, spell
from tacit.query.results.answer_table import AnswerTable
from tacit.query.results.render import AnswerColumn, as_html
from tacit.query.results.table import Table
from tacit.remote.encoding import Guarantee, guarantee_of, value_of
from tacit.safe_text import html_lines, visible, visible_lines

if TYPE_CHECKING:
    from tacit.plots.answers import AnswerChart

_MOST_ROWS = 50


@dataclass(frozen=True, repr=False)
class RemotePlan:
    """The cost of a question and its expected error; nothing was spent.

    Attributes:
        content: the plan as the server sent it.
    """

    content: Mapping[str, Any]

    @property
    def cost(self) -> Guarantee:
        """The cost of the whole question."""
        return guarantee_of(self.content["cost"])

    @property
    def error(self) -> dict[str, float]:
        """The largest error of every column that has a bound, with the given confidence."""
        return {name: error for name, error in self.content["error"].items() if isinstance(error, (int, float))}

    @property
    def unknown(self) -> tuple[str, ...]:
        """The columns whose error is not known before."""
        return tuple(self.content["unknown"])

    @property
    def confidence(self) -> float:
        """The probability that the errors are not larger."""
        return float(self.content["confidence"])

    @property
    def why(self) -> str:
        """The kind of noise, and the reason for it."""
        return str(self.content["noise"])

    @property
    def fits(self) -> bool:
        """True if the budget left suffices."""
        return bool(self.content["fits"])

    def __str__(self) -> str:
        """Return the question, its cost and the error of each column."""
        return visible_lines(self.content["text"])

    def __repr__(self) -> str:
        """Return the cost and the errors in one line."""
        errors = [f"{name} ± {grouped(error)}" for name, error in self.error.items()]
        errors += [f"{name} ± ?" for name in self.unknown]
        return visible(f"<Quote: costs {spell(self.cost)}; {', '.join(errors)}>")

    def _repr_html_(self) -> str:
        """Return the plan as HTML, for notebooks."""
        return html_lines(str(self).splitlines())


@dataclass(frozen=True, repr=False)
class RemoteRelease(AnswerTable):
    """A private answer that a server sent: a table, its intervals, its cost and its receipt.

    Intervals at another confidence are asked from the server, at no cost.

    Attributes:
        content: the answer as the server sent it.
        fetch: what asks the server again.
    """

    content: Mapping[str, Any]
    fetch: Callable[[str], dict[str, Any]] = field(compare=False)
    _others: dict[float, Mapping[str, Any]] = field(default_factory=dict, compare=False)

    @property
    def confidence(self) -> float:  # type: ignore[override]  # that of the answer
        """The confidence of the question."""
        return float(self.content["confidence"])

    def columns(self, confidence: float | None = None) -> list[AnswerColumn]:
        """Return the columns of the answer, each noisy one with its intervals."""
        return [_column(each) for each in self._at(confidence)["columns"]]

    def _at(self, confidence: float | None) -> Mapping[str, Any]:
        """Return the answer with intervals of a confidence."""
        if confidence is None or confidence == self.confidence:
            return self.content
        if confidence not in self._others:
            self._others[confidence] = self.fetch(f"/answers/{self.content['id']}?confidence={confidence!r}")
        return self._others[confidence]

    @property
    def table(self) -> Table:
        """The answer as a table."""
        columns = self.columns()
        return Table(
            tuple(each.name for each in columns),
            tuple(each.kind for each in columns),
            tuple(each.values for each in columns),
        )

    @property
    def cost(self) -> Guarantee:
        """The cost of the whole answer."""
        return guarantee_of(self.content["cost"])

    @property
    def receipt(self) -> dict[str, Any]:
        """The guarantee and the noise as JSON."""
        return dict(self.content["receipt"])

    @property
    def repeated(self) -> bool:
        """True if the answer was recorded before, so that it cost nothing this time."""
        return bool(self.content["repeated"])

    @property
    def notes(self) -> list[str]:
        """Sentences that belong under the answer."""
        return list(self.content["notes"])

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the numbers."""
        return list(self.content["warnings"])

    def plot(self, *, theme: str = "light") -> AnswerChart:
        """Draw the noisy values with their intervals; the server makes the chart, and tacit[plot] shows it.

        Args:
            theme: "light" or "dark".
        """
        import altair as alt  # noqa: PLC0415 - slow to import, and optional

        content = self.fetch(f"/answers/{self.content['id']}/chart?theme={theme}")
        chart = content["chart"]
        joined: type[AnswerChart] = alt.ConcatChart if "concat" in chart else alt.LayerChart
        drawn: AnswerChart = joined.from_dict(chart, validate=False)
        return drawn

    def __str__(self) -> str:
        """Return the answer with its intervals, and what its limits leave out."""
        return visible_lines(self.content["text"])

    def __repr__(self) -> str:
        """Return a summary and the cost in one line; `print` shows the answer."""
        return visible(f"<Release: {self._summary()}; cost {spell(self.cost)}>")

    def _repr_html_(self) -> str:
        """Return the answer with its intervals as HTML, for notebooks."""
        more = max(0, len(self) - _MOST_ROWS)
        first = [AnswerColumn(each.name, each.kind, each.values[:_MOST_ROWS], each.ends and each.ends[:_MOST_ROWS])
                 for each in self.columns()]  # fmt: skip
        return as_html(first, self.confidence, self.notes, self.warnings, more=more)


def _column(content: Mapping[str, Any]) -> AnswerColumn:
    values = tuple(value_of(value, content["kind"]) for value in content["values"])
    lows, highs = content["low"], content["high"]
    ends = None if lows is None else tuple(_ends(*pair) for pair in zip(lows, highs, strict=True))
    return AnswerColumn(content["name"], content["kind"], values, ends)


def _ends(low: float | None, high: float | None) -> Interval | None:
    """Return an interval; one end that is missing is infinite."""
    if low is None and high is None:
        return None
    return (-inf if low is None else low, inf if high is None else high)


@dataclass(frozen=True, repr=False)
class RemoteReport:
    """A report on limits that a server sent.

    Attributes:
        content: the report as the server sent it.
    """

    content: Mapping[str, Any]

    @property
    def reach(self) -> int:
        """The reach that errs least."""
        return int(self.content["reach"])

    @property
    def cost(self) -> Guarantee:
        """The cost of the report."""
        return guarantee_of(self.content["cost"])

    @property
    def receipt(self) -> dict[str, Any]:
        """The guarantee and the noise as JSON."""
        return dict(self.content["receipt"])

    @property
    def table(self) -> Table:
        """For each reach: the units above it and the rows that it cuts, with intervals, and the mean error."""
        rows = self.content["table"]
        names = tuple(rows[0])
        columns = tuple(tuple(row[name] for row in rows) for name in names)
        whole = [all(isinstance(value, int) for value in column if value is not None) for column in columns]
        return Table(names, tuple("integer" if each else "real" for each in whole), columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return dict(self.content)

    def __str__(self) -> str:
        """Return the recommendation and the tables."""
        return visible_lines(self.content["text"])

    def __repr__(self) -> str:
        """Return the recommended reach and the cost in one line."""
        return visible(f"<LimitsReport: reach {self.reach:,}; cost {spell(self.cost)}>")
