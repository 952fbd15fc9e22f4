"""The result of `anonymize`, and recodings applied to other rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

import numpy as np

from tacit import plots
from tacit.anonymity.classes import ClassCounts, Classes, count_values, failing, group
from tacit.anonymity.comparison import Trial, hints, trial_lines, trial_name
from tacit.anonymity.loss import Measures, average, column_losses, loss_lines, measure
from tacit.anonymity.optimal import Certificate
from tacit.anonymity.privacy_models import (
    KAnonymity,
    Model,
    NTCloseness,
    TCloseness,
    column_of,
    describe,
    models_of,
)
from tacit.anonymity.recoding import RecodedTable, Recoding
from tacit.anonymity.report import Report, check
from tacit.anonymity.roles import Roles, check_choice, check_roles, column_names
from tacit.anonymity.tables import CodedColumn, CodedTable, encode, from_coded_columns, pick, random_order, read
from tacit.anonymity.write_table import for_spreadsheet, to_frame, write
from tacit.arrays import Ints
from tacit.errors import InternalError, InvalidError, bad_value
from tacit.notebook import ShownAsLines
from tacit.safe_text import visible

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Anonymized(ShownAsLines):
    """A published table with its report, its loss and the proof of the search; `print` shows them.

    Attributes:
        table: the published rows, recoded, in a random order and without an index; a frame of the input's type.
        report: the result of `check`, with t measured against all input rows. If rows are suppressed and t is required,
            a note states whether t is also met if measured against the published rows alone.
        loss: by the objective and the mean of the call.
        levels: the level of every column, if each column has one; else None.
        suppressed: rows that are not published.
        certificate: of the optimal search; None for the other methods.
        measures: every measure of loss.
        method: the search that found the table; with "best" the winner.
        searches: with "best", every search with its loss.
        hints: kept columns by which rows can be found, and what would halve the loss, or how to find out.
        drafted: by column, what tacit drafted if no hierarchy was given, and the labels of one value.
        recoding: to save, and to apply to other rows.
        before: the result of `check` on the input.
    """

    table: Any
    report: Report
    loss: float
    levels: dict[str, int] | None
    suppressed: int
    certificate: Certificate | None
    measures: Measures
    method: str
    searches: tuple[Trial, ...]
    hints: tuple[str, ...]
    drafted: Mapping[str, tuple[str, ...]]
    recoding: Recoding = field(repr=False)
    before: Report = field(repr=False)
    _columns: Mapping[str, CodedColumn] = field(repr=False)
    _require: tuple[Model, ...] = field(repr=False)
    _roles: Roles = field(repr=False)

    def write(self, path: str | Path, *, spreadsheet: bool = False) -> None:
        """Write the table to a CSV or Parquet file.

        Args:
            path: of the file; its suffix selects the format.
            spreadsheet: for CSV: write an apostrophe before each text that a spreadsheet would read as a formula. By
                default every value is written unchanged, for programs that read the file.
        """
        write(self._columns, path, spreadsheet=spreadsheet)

    def write_csv(self, stream: TextIO, *, spreadsheet: bool = False) -> None:
        """Write the table as CSV to an open stream; a missing value is an empty cell.

        Args:
            stream: open for text.
            spreadsheet: as for `write`.
        """
        if not hasattr(stream, "write"):
            raise bad_value("stream", stream, "a stream open for text", hint="`write(path)` writes a file.")
        lines = _Lines(stream)  # with \r\n the writer quotes a cell that contains either of them
        if spreadsheet:  # some programs also split cells at ;
            writer = csv.writer(lines, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
        else:
            writer = csv.writer(lines, lineterminator="\r\n")
        columns = for_spreadsheet(self._columns) if spreadsheet else self._columns
        writer.writerow(columns)
        writer.writerows(zip(*(pick(_cells(column), column.codes) for column in columns.values()), strict=True))

    def save(self, path: str | Path) -> None:
        """Save the recoding; `tc.anonymity.Recoding.load(path)` loads it.

        The file has every value of the quasi-identifiers, also those of suppressed rows. Do not publish it.

        Args:
            path: of a JSON file.
        """
        self.recoding.save(path)

    def transform(self, table: object, *, sep: str | None = None) -> Anonymized:
        """Return other rows recoded the same way; classes that fail the requirements are not published.

        Args:
            table: the other rows, as for `anonymize`.
            sep: the separator of a CSV file.
        """
        roles = self._roles
        return transform(
            table, self.recoding, require=self._require, sensitive=roles.sensitive, unit=roles.unit, keep=roles.keep,
            sep=sep,
        )  # fmt: skip

    def plot(self, of: Literal["risk", "loss", "searches"] = "risk") -> alt.LayerChart:
        """Draw the risk of the rows before and after, the loss of each column, or the loss of each search of "best"."""
        check_choice(of, ("risk", "loss", "searches"), "of")
        if of == "risk":
            return plots.risk_before_after(_risks(self.before), _risks(self.report))
        scale = "0: every value unchanged; 1: every value hidden"
        if of == "loss":
            columns = self.measures.columns
            return plots.losses(list(columns), list(columns.values()), title="Loss by column", subtitle=scale)
        bars = [(trial_name(trial), trial.loss) for trial in self.searches if trial.loss is not None]
        if not bars:
            raise InvalidError(
                f"The method {self.method} compared no searches.", argument="of", hint='Use method="best".'
            )
        names, values = zip(*sorted(bars, key=lambda bar: bar[1]), strict=True)
        return plots.losses(names, values, title="Loss by search", subtitle=[f"published: {self.method}", scale])

    def __str__(self) -> str:
        """Return the result as lines of text."""
        rows = self.report.rows + self.suppressed
        met = ", ".join(map(describe, self._require))
        lines = [
            f"{self.report.rows:,} of {rows:,} rows published, {self.suppressed:,} suppressed; method {self.method}",
            f"meets {met}" if self.report.rows else f"nothing is published: every row fails {met}",
        ]
        values = {cover.name: len(cover.tree.rows) for cover in self.recoding.covers}
        lines += loss_lines(self.loss, self.measures.columns, values)
        if self.levels is not None:
            lines.append("levels: " + ", ".join(f"{name} {level}" for name, level in self.levels.items()))
        if self.certificate is not None:
            c = self.certificate
            proved = "proved best" if c.optimal else f"lower bound {c.lower:.6f}, gap {c.gap:.6f}"
            lines.append(
                f"{proved}: {c.bounded:,} bounds over a lattice of {c.lattice:,}, {c.cut:,} cut, {c.ties} tied"
            )
        lines += [*trial_lines(self.searches, self.method), *(f"hint: {hint}" for hint in self.hints)]
        lines += self._drafted_lines()
        return "\n".join([*map(visible, lines), str(self._shown_report())])

    def _shown_report(self) -> Report:
        """Return the report without the reference of t if no row is gone and no t is required."""
        unused = self.suppressed == 0 and not any(
            isinstance(model, (TCloseness, NTCloseness)) for model in self._require
        )
        return replace(self.report, reference=None) if unused else self.report

    def _drafted_lines(self) -> Iterator[str]:
        if self.drafted:
            yield "drafted hierarchies; check them with draft(…), or --draft in the shell:"
        for name, (reason, *example) in self.drafted.items():
            yield f"  {name}: {example[0] if example else reason}"

    def __repr__(self) -> str:
        """Return the headline on one line."""
        met = ", ".join(map(describe, self._require))
        return (
            f"Anonymized(rows={self.report.rows}, suppressed={self.suppressed}, method={self.method!r}, "
            f"k={self.report.k}, loss={self.loss:.6f}, meets={met!r})"
        )


@dataclass(frozen=True, slots=True)
class _Lines:
    """A stream on which the rows of CSV end in a line feed."""

    stream: TextIO

    def write(self, row: str) -> int:
        """Write a row."""
        return self.stream.write(row.removesuffix("\r\n") + "\n")


def _cells(column: CodedColumn) -> list[str]:
    return ["" if text is None else text for text in column.texts]


def _risks(report: Report) -> list[tuple[float, int]]:
    """Return the risk of the rows of each class size, and the number of rows; see `Risk`."""
    sizes = report.groups.sizes if report.persons is None else report.persons
    different, which = np.unique(sizes, return_inverse=True)
    rows = np.bincount(which.reshape(-1), weights=report.groups.sizes, minlength=len(different))
    return [(1 / int(size), int(many)) for size, many in zip(different, rows, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """A recoded table that should meet the requirements, and what is known about it."""

    recoded: RecodedTable
    recoding: Recoding
    loss: float
    levels: dict[str, int] | None
    certificate: Certificate | None
    measures: Measures
    method: str
    trials: tuple[Trial, ...] = ()
    drafted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def publish(rows: CodedTable, roles: Roles, require: tuple[Model, ...], solution: Solution) -> Anonymized:
    """Return the published table, in a random order, after checking the requirements once more.

    Raises:
        InternalError: the table fails a requirement, which is a bug in a search; nothing is published.
    """
    recoded = solution.recoded
    kept = np.flatnonzero(recoded.kept)
    order = kept[random_order(len(kept))]
    columns = _published_columns(rows, roles, recoded, order)
    persons = {} if roles.unit is None else {roles.unit: _reorder(rows.column(roles.unit), order)}
    report = check(
        from_coded_columns({**columns, **persons}, rows.backend),
        quasi=roles.quasi,
        sensitive=roles.sensitive,
        unit=roles.unit,
        reference=rows if roles.sensitive else None,
    )
    failed = [describe(model) for model in require if report.failing(model)]
    if failed:
        raise InternalError(f"the search returned a table that fails {failed[0]}. Nothing was published.")
    if report.rows < rows.rows and any(isinstance(model, TCloseness) for model in require):
        report = _note_published_t(report, require)
    return Anonymized(
        table=to_frame({name: columns[name] for name in rows.names if name in columns}, rows.backend),
        report=report,
        loss=solution.loss,
        levels=solution.levels,
        suppressed=int((~recoded.kept).sum()),
        certificate=solution.certificate,
        measures=solution.measures,
        method=solution.method,
        searches=solution.trials,
        hints=(
            *_kept_hints([columns[name] for name in roles.keep]),
            *hints(solution.trials, solution.method, solution.loss, int((~recoded.kept).sum())),
        ),
        drafted=solution.drafted,
        recoding=solution.recoding,
        before=check(rows, quasi=roles.quasi, unit=roles.unit),
        _columns=columns,
        _require=require,
        _roles=roles,
    )


def _kept_hints(kept: Sequence[CodedColumn]) -> Iterator[str]:
    """Return a hint for each kept column that has a unique value in at least half of the rows."""
    for column in kept:
        rows = len(column.codes)
        alone = int((np.bincount(column.codes, minlength=1) == 1).sum())
        if 1 < rows <= 2 * alone:
            yield (
                f"{alone:,} of {rows:,} rows have a unique value in {column.name}, which is published as it is; "
                "somebody who knows the value finds the row"
            )


def _note_published_t(report: Report, require: tuple[Model, ...]) -> Report:
    """Add a note if t is not met against the published rows alone, as a reader of the table measures it."""
    published = {}
    for name, column in report.sensitive.items():
        counts = column.counts
        whole = np.bincount(counts.value, weights=counts.count, minlength=len(counts.whole)).astype(np.int64)
        published[name] = replace(column, counts=replace(counts, whole=whole))
    alone = replace(report, sensitive=published)
    notes = [
        f"{describe(model)} is met against the {report.reference:,} input rows; against the {report.rows:,} published"
        f" rows alone, {many:,} of {len(report.groups):,} classes are further away"
        for model in require
        if isinstance(model, TCloseness) and (many := alone.failing(model))
    ]
    return replace(report, notes=(*report.notes, *notes))


def _published_columns(rows: CodedTable, roles: Roles, recoded: RecodedTable, order: Ints) -> dict[str, CodedColumn]:
    """Return the published columns, in their new order; labels with the same text are one value."""
    columns: dict[str, CodedColumn] = {}
    for cover, codes in zip(recoded.covers, recoded.codes, strict=True):
        if (cover.level == 0).all():  # unchanged
            columns[cover.name] = _reorder(rows.column(cover.name), order)
        else:
            labels = encode(cover.name, cover.labels)
            columns[cover.name] = _reorder(replace(labels, codes=labels.codes[codes]), order)
    return columns | {name: _reorder(rows.column(name), order) for name in (*roles.sensitive, *roles.keep)}


def _reorder(column: CodedColumn, order: Ints) -> CodedColumn:
    """Return some rows of a column, without the values of other rows, which could change the type of what is published.

    >>> column = CodedColumn("x", ("7", "kuru", None), (7, "kuru", None), np.array([0, 1, 0, 2]))
    >>> _reorder(column, np.array([2, 0])).values
    (7,)
    """
    codes = column.codes[order]
    is_used = np.zeros(len(column.values), dtype=bool)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    places = np.cumsum(is_used) - 1
    texts, values = tuple(column.texts[place] for place in used), tuple(column.values[place] for place in used)
    return CodedColumn(column.name, texts, values, places[codes].astype(codes.dtype))


def suppress_failing(rows: CodedTable, roles: Roles, recoded: RecodedTable, require: tuple[Model, ...]) -> RecodedTable:
    """Return a recoded table without the classes that fail a requirement; t is measured against all rows.

    Natural supersets shrink when classes are suppressed, so this repeats until no class fails.
    """
    kept = recoded.kept.copy()
    while True:
        at = np.flatnonzero(kept)
        classes = group([codes[at] for codes in recoded.codes], len(at))
        wrong = np.zeros(len(classes), dtype=bool)
        persons = None if roles.unit is None else _counts_of(rows, roles.unit, at, classes).different
        columns = {name: _counts_of(rows, name, at, classes) for name in roles.sensitive}
        for model in require:
            counts = [column for name, column in columns.items() if column_of(model) in {None, name}]
            wrong |= failing(model, classes, counts, persons)
        if not wrong.any():
            return replace(recoded, kept=kept)
        kept[at[wrong[classes.ids]]] = False
        if not any(isinstance(model, NTCloseness) for model in require):
            return replace(recoded, kept=kept)


def _counts_of(rows: CodedTable, name: str, at: Ints, classes: Classes) -> ClassCounts:
    column = rows.column(name)
    return count_values(classes, replace(column, codes=column.codes[at]), column)


def transform(
    table: object,
    recoding: Recoding,
    *,
    require: Model | Sequence[Model],
    sensitive: str | Sequence[str] | None = None,
    unit: str | None = None,
    keep: Sequence[str] = (),
    sep: str | None = None,
) -> Anonymized:
    """Apply a recoding to other rows, suppress the classes that fail the requirements, and check the rest.

    t is measured against the new rows.

    Raises:
        InvalidError: a column does not exist, or has a value that its hierarchy lacks.

    Args:
        table: the other rows, as for `anonymize`.
        recoding: the recoding of a published table.
        require: the requirements, such as `tc.KAnonymity(5)`.
        sensitive: the sensitive columns.
        unit: the column of persons, if a person may have several rows.
        keep: the columns to publish unchanged.
        sep: the separator of a CSV file.
    """
    rows = read(table, sep=sep)
    if not isinstance(recoding, Recoding):
        raise bad_value("recoding", recoding, "a recoding: `out.recoding`, or one that was loaded")
    quasi = tuple(cover.name for cover in recoding.covers)
    roles = Roles(quasi, column_names(sensitive, "sensitive"), unit, column_names(keep, "keep"))
    check_roles(rows, roles.quasi, roles.sensitive, roles.unit)
    models = models_of(require)
    if not roles.sensitive and not all(isinstance(model, KAnonymity) for model in models):
        raise InvalidError(
            "A requirement needs a sensitive column.", argument="sensitive", hint="Name the column in sensitive=."
        )
    unprotected = [name for name in roles.keep if name in (*roles.quasi, roles.unit)]
    if unprotected:
        raise InvalidError(
            f"keep would publish {', '.join(unprotected)} unchanged.",
            argument="keep",
            hint="Name columns that are neither quasi-identifying nor the unit.",
        )
    recoded, raw = recoding.apply(rows)
    recoded = suppress_failing(rows, roles, recoded, models)
    levels = None if recoding.levels is None else dict(zip(roles.quasi, recoding.levels, strict=True))
    loss = average(column_losses(recoded, "loss"), "geometric")
    solution = Solution(
        recoded=recoded, recoding=recoding, loss=loss, levels=levels, certificate=None, measures=measure(recoded, raw),
        method="transform",
    )  # fmt: skip
    return publish(rows, roles, models, solution)
