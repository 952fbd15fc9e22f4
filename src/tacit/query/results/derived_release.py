"""An answer that is computed from released tables: its table, its intervals, and the releases themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tacit import plots
from tacit.plots.answers import Caption
from tacit.query.aggregates.statistic import Interval
from tacit.query.formatting import amounts, percent, spell
from tacit.query.plan import Output
from tacit.query.pricing.noisy_filters import confidence_each, is_noisy
from tacit.query.results.chart import derived_chart_columns, draw, read_theme, starts_at_zero
from tacit.query.results.derived_intervals import (
    Ends,
    Row,
    arranged,
    box,
    copied_interval,
    copied_values,
    joint_intervals,
    row_keys,
    separate_intervals,
)
from tacit.query.results.intervals import read_confidence
from tacit.query.results.noise_draws import draws, is_drawable, is_linear, seeded
from tacit.query.results.outer_tables import Computation, OuterTable, drawn_table, end_table, released_table
from tacit.query.results.plan_record import charged_together
from tacit.query.results.receipt import SCHEMA, receipt
from tacit.query.results.release import Release
from tacit.query.results.render import AnswerColumn, as_html, as_text
from tacit.query.results.table import Table
from tacit.query.sql.derivations import Derivation, Form, Input
from tacit.query.sql.outer_columns import OuterColumns
from tacit.query.sql.outer_query import OuterQuery
from tacit.safe_text import visible

if TYPE_CHECKING:
    from tacit.plots.answers import AnswerChart

_DRAWS = 999
_MOST_DRAWS = 3_999
_FEWEST = 199
_DRAWS_A_ROW = 60
_NUMBERS = ("integer", "real")
_UNKNOWN = "it is not a sum, a difference or a ratio of released values"
_DRAWN = "one of the released values in it has no noise that can be simulated"
_CHOSEN = "noisy values chose the rows from which it is computed"
_ALIKE = "no exact columns tell its rows apart"
_FAILED = "the simulation of its noise failed or took too long"
_FEW = "too few draws of its noise can be made for this confidence"
FAILED = "The query was charged and its private aggregates were released, but the computation with them failed: "
"""The first words of the warning of an answer without a result."""


@dataclass(frozen=True, slots=True, repr=False)
class DerivedRelease(Release):
    """An answer that is computed from released tables.

    `released` has the releases by the names of their tables, and `labels` their names in the query. `result` is the
    table that was computed from them; if that failed, it is None, `failure` is the reason, and the answer has the
    released tables.
    """

    outer: OuterQuery = field(kw_only=True)
    outline: OuterColumns = field(kw_only=True)
    releases: Mapping[str, Release] = field(kw_only=True)
    public: Sequence[OuterTable] = field(kw_only=True, compare=False)
    computation: Computation = field(kw_only=True, compare=False)
    result: Table | None = field(kw_only=True)
    failure: str | None = field(kw_only=True, default=None)
    _drawn: dict[tuple[str, int], list[list[Row]] | None] = field(kw_only=True, default_factory=dict, compare=False)
    _columns: dict[float, list[AnswerColumn]] = field(kw_only=True, default_factory=dict, compare=False)

    @property
    def released(self) -> dict[str, Release]:
        """The private aggregates, by their names in the query."""
        return {each.label: self.releases[each.table] for each in self.outer.inner}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table)

    @property
    def table(self) -> Table:
        """The answer as a table; if it could not be computed, the first released table."""
        return self.result if self.result is not None else next(iter(self.releases.values())).table

    # --- intervals ----------------------------------------------------------------------------------------------------

    def columns(self, confidence: float | None = None) -> list[AnswerColumn]:
        """Return the columns of the answer, each noisy one with its intervals if it has some."""
        confidence = self.confidence if confidence is None else read_confidence(confidence)
        if self.result is None:
            return next(iter(self.releases.values())).columns(confidence)
        if confidence not in self._columns:
            count = len(self.result.names)
            self._columns[confidence] = [self._answer_column(place, confidence) for place in range(count)]
        return list(self._columns[confidence])

    def _answer_column(self, place: int, confidence: float) -> AnswerColumn:
        name, kind, values = self.table.names[place], self.table.kinds[place], self.table.columns[place]
        ends = self._ends(place, confidence) if kind in _NUMBERS else None
        if ends is None or isinstance(ends, str) or not any(pair is not None for pair in ends):
            return AnswerColumn(name, kind, values, None)
        shown = [None if value is None else pair for value, pair in zip(values, ends, strict=True)]
        return AnswerColumn(name, kind, values, tuple(shown))

    @property
    def _derivations(self) -> list[Derivation | None]:
        names = self.table.names
        return [self.outline.derivation(place, name, len(names)) for place, name in enumerate(names)]

    def _ends(self, place: int, confidence: float) -> Ends | str | None:
        """Return the intervals of a column; None if it is exact, and a reason if it has no intervals."""
        derivation = self._derivations[place]
        if derivation is None:
            return _UNKNOWN
        if derivation.exact:
            return None
        copied = self._copied(derivation, confidence)
        if copied is not None:
            return copied
        if derivation.smooth and all(map(self._is_drawable, derivation.inputs)):
            return self._simulated(place, confidence)
        if derivation.rising:
            return self._propagated(place, derivation, confidence)
        return _DRAWN if derivation.smooth else _UNKNOWN

    def _copied(self, derivation: Derivation, confidence: float) -> Ends | None:
        """Return the intervals of a copy of a released column, if the keys of its rows are in the answer."""
        for use, column in sorted(derivation.copies):
            values = copied_values(use, self.outline, self.releases, self._derivations)
            if values is not None:
                return [
                    None
                    if cell is None
                    else copied_interval(values.release, column, cell, confidence, together=bool(self.outline.choice))
                    for cell in values.cells(self.table)
                ]
        return None

    def _is_drawable(self, noisy: Input) -> bool:
        table, column = noisy
        return is_drawable(self.releases[table], self._output(table, column))

    def _output(self, table: str, column: str) -> Output:
        return dict(self.releases[table].plan.outputs)[column]

    def _exact_places(self) -> list[int]:
        return [place for place, each in enumerate(self._derivations) if each is not None and each.exact]

    def _simulated(self, place: int, confidence: float) -> Ends | str:
        """Return intervals from draws of the noise, or the reason if they cannot be made."""
        chosen = bool(self.outline.choice)
        sql = self.outline.relaxed if chosen else self.outer.text
        if sql is None:
            return _CHOSEN
        base = self._base(sql) if chosen else self.table
        if base is None or len(base.names) != len(self.table.names):
            return _CHOSEN
        places = self._exact_places()
        keys = row_keys(base.rows(), places)
        if keys is None:
            return _ALIKE
        rows = self._draws(self.outline.drawn, self._count(len(base), confidence, chosen=chosen))
        values = None if rows is None or len(rows) < _FEWEST else arranged(rows, keys, places, place)
        if values is None:
            return _FAILED
        ends = joint_intervals(values, confidence) if chosen else separate_intervals(values, confidence)
        numbers = [keys.get(tuple(row[each] for each in places)) for row in self.table.rows()]
        found = [None if number is None else ends[number] for number in numbers]
        return found if any(pair is not None for pair in found) else _FEW

    def _base(self, sql: str) -> Table | None:
        """Return the result without the choice of rows at its end."""
        return self.computation.run([*self._tables(), *self.public], sql)

    def _tables(self) -> list[OuterTable]:
        return [released_table(name, each) for name, each in self.releases.items()]

    def _count(self, rows: int, confidence: float, *, chosen: bool) -> int:
        """Return the number of draws: more if intervals must hold together, or with a high confidence."""
        needed = int(10 / (1 - confidence)) * 2 - 1
        return min(max(_DRAWS, needed, _DRAWS_A_ROW * rows if chosen else 0), _MOST_DRAWS)

    def _draws(self, sql: str, count: int) -> list[list[Row]] | None:
        """Return the rows of a query for each draw of its released tables; the draws are made once."""
        if (sql, count) not in self._drawn:
            tables = [*self._drawn_tables(count), *self.public]
            self._drawn[sql, count] = self.computation.run_draws(tables, sql, count)
        return self._drawn[sql, count]

    def _drawn_tables(self, count: int) -> list[OuterTable]:
        """Return released tables with draws of their linear columns; no simulated column uses another noisy one."""
        random, tables = seeded(list(self.releases.values())), list[OuterTable]()
        for name, each in self.releases.items():
            noisy = [
                column
                for column, output in each.plan.outputs
                if is_noisy(output) and is_linear(each.plan, output) and is_drawable(each, output)
            ]
            drawn = draws(each, noisy, count, random)
            tables.append(drawn_table(name, each, dict(zip(noisy, drawn, strict=True)), count))
        return tables

    def _propagated(self, place: int, derivation: Derivation, confidence: float) -> Ends | str:
        """Return the intervals of a rising function, from its values at the ends of intervals that hold together."""
        if self.outline.choice:
            return _CHOSEN
        inputs = sorted(derivation.inputs)
        level = confidence_each(confidence, sum(len(self.releases[table].cells) for table, _ in inputs))
        results: list[Table] = []
        for side in (0, 1):
            tables = []
            for name, each in self.releases.items():
                columns = [column for table, column in inputs if table == name]
                ends = dict(zip(columns, box(each, columns, level), strict=True))
                if any(pair is None for column in ends.values() for pair in column):
                    return _DRAWN
                known = {column: [pair for pair in pairs if pair is not None] for column, pairs in ends.items()}
                tables.append(end_table(name, each, known, side))
            result = self.computation.run([*tables, *self.public], self.outer.text)
            if result is None:
                return _FAILED
            results.append(result)
        return self._between(place, results)

    def _between(self, place: int, results: Sequence[Table]) -> Ends | str:
        """Return pairs of values of two results, in the order of the rows of the answer."""
        places = self._exact_places()
        ends: list[dict[Row, float | None]] = []
        for result in results:
            keys = row_keys(result.rows(), places)
            if keys is None or len(result) != len(self.table):
                return _ALIKE
            column = result.columns[place]
            ends.append({key: _number(column[number]) for key, number in keys.items()})
        pairs: list[Interval | None] = []
        for row in self.table.rows():
            low, high = (side.get(tuple(row[each] for each in places)) for side in ends)
            pairs.append(None if low is None or high is None else (low, high))
        return pairs

    # --- words --------------------------------------------------------------------------------------------------------

    @property
    def notes(self) -> list[str]:
        """Sentences that belong under the answer: how its intervals hold, and which columns have no interval."""
        if self.result is None:
            return []
        share, columns = percent(self.confidence), self.columns()
        notes: list[str] = []
        if self.outline.choice and any(column.ends is not None for column in columns):
            notes.append(
                f"Noisy values chose these rows. With {share} confidence the intervals of a column are right for all "
                "rows that could have been shown."
            )
        notes += [visible(f"{name} has no interval: {reason}.") for name, reason in self.without_interval.items()]
        if any(release.plan.open for release in self.releases.values()):
            notes.append("Totals, shares and intervals are about the groups that were found.")
        return [*notes, *self._release_notes()]

    def _release_notes(self) -> list[str]:
        """Return the notes of the releases, each once; those that are not about all of them name theirs."""
        labels: dict[str, list[str]] = {}
        for label, each in self.released.items():
            for note in each.notes:
                labels.setdefault(note, []).append(label)
        everywhere = len(self.released)
        return [
            visible(note if len(names) == everywhere else f"{', '.join(names)}: {note}")
            for note, names in labels.items()
        ]

    @property
    def without_interval(self) -> dict[str, str]:
        """The noisy columns that have no interval, each with the reason."""
        if self.result is None or not len(self.result):
            return {}
        reasons: dict[str, str] = {}
        for place, column in enumerate(self.columns()):
            ends = self._ends(place, self.confidence) if column.ends is None else None
            derivation = self._derivations[place]
            if isinstance(ends, str) or (column.ends is None and (derivation is None or not derivation.exact)):
                reasons[column.name] = ends if isinstance(ends, str) and column.kind in _NUMBERS else _UNKNOWN
        return reasons

    @property
    def interval_note(self) -> str | None:
        """None: `notes` explain the intervals."""
        return None

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the numbers: a computation that failed."""
        return [] if self.failure is None else [visible(f"{FAILED}{self.failure}.")]

    @property
    def receipt(self) -> dict[str, object]:
        """The releases, with their noise, and the computation with them, as JSON."""
        return {
            "schema": SCHEMA,
            "question": self.outer.sql,
            "privacy": {"promise": amounts(self.price.guarantee), "noise": self.price.why},
            "together": charged_together(
                [(release.plan, release.price) for release in self.released.values()], self.price.events
            ),
            "released": [
                {"name": label, "in_computation": each.table, **receipt(release.plan, release.price, release.context)}
                for each, (label, release) in zip(self.outer.inner, self.released.items(), strict=True)
            ],
            "computed": {
                "sql": self.outer.text,
                "public_tables": list(self.outer.public),
                "failed": self.failure,
                "columns": self.methods(),
            },
            **self.context,
        }

    def methods(self) -> dict[str, str]:
        """Return how each column of the answer is computed, and where its interval comes from."""
        if self.result is None:
            return {}
        pairs = zip(self.table.names, self._derivations, strict=True)
        return {name: method(derivation, chosen=bool(self.outline.choice)) for name, derivation in pairs}

    def plot(self, confidence: float | None = None, *, theme: str = "light") -> AnswerChart:
        """Draw every value that has an interval; if nothing was computed, the first released table.

        This requires the extra `tacit[plot]`. The theme is "light" or "dark".
        """
        if self.result is None:
            return next(iter(self.releases.values())).plot(confidence, theme=theme)
        confidence = self.confidence if confidence is None else read_confidence(confidence)
        dark, columns = read_theme(theme) == "dark", self.columns(confidence)
        exact = [
            column for column, each in zip(columns, self._derivations, strict=True) if each is not None and each.exact
        ]
        caption = Caption(
            title=self.outer.sql,
            cost=spell(self.cost),
            confidence=confidence,
            note=None,
            lines=self.notes,
            warnings=self.warnings,
        )
        chart = draw(derived_chart_columns(exact, columns, self._from_zero()), caption)
        return plots.darkened(chart) if dark else chart

    def _from_zero(self) -> set[str]:
        """Return the columns that are linear functions of counts and sums, whose bars start at 0."""
        return {
            name
            for name, each in zip(self.table.names, self._derivations, strict=True)
            if each is not None
            and each.form == Form.LINEAR
            and all(starts_at_zero(self.releases[table].plan, column) for table, column in each.inputs)
        }

    def __str__(self) -> str:
        """Return the answer with its intervals; if it could not be computed, all released tables."""
        if self.result is not None:
            return as_text(self.columns(), self.confidence, self.notes, self.warnings)
        tables = [f"{label}:\n{each}" for label, each in self.released.items()]
        return "\n".join([*(f"WARNING: {warning}" for warning in self.warnings), *tables])

    def __repr__(self) -> str:
        """Return a summary and the cost in one line; `print` shows the answer."""
        return visible(f"<Release: {self._summary()}; cost {spell(self.cost)}>")

    def _repr_html_(self) -> str:
        """Return the answer with its intervals as HTML; if it could not be computed, all released tables."""
        if self.result is not None:
            return as_html(self.columns(), self.confidence, self.notes, self.warnings)
        tables = [as_html(each.columns(), self.confidence, each.notes, ()) for each in self.releases.values()]
        return as_html([], self.confidence, (), self.warnings) + "".join(tables)


def method(derivation: Derivation | None, *, chosen: bool) -> str:
    """Return in words how a column depends on released values.

    >>> method(Derivation(), chosen=True)
    'exact in each row; noisy values chose the rows'
    """
    if derivation is None:
        return "computed; it has no interval"
    if derivation.exact:
        return "exact in each row; noisy values chose the rows" if chosen else "exact: it depends on no noisy value"
    together = ", for all rows together" if chosen else ""
    if derivation.copies:
        return f"released; its interval is that of the released value{together}"
    if derivation.smooth:
        return f"computed; its interval is simulated from the noise{together}"
    if derivation.rising and not chosen:
        return "computed; its interval is propagated from intervals that hold together"
    return f"computed; it has no interval, because {_UNKNOWN}"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
