"""What `anonymize` hands back."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from tacit import plots
from tacit.anonymity.loss import Measures
from tacit.anonymity.models import KAnonymity, Model, TCloseness, models_of, say
from tacit.anonymity.optimal import Certificate
from tacit.anonymity.recoded import Published
from tacit.anonymity.recoding import Recoding
from tacit.anonymity.report import Report, check, names_of
from tacit.anonymity.tables import Column, Longs, Table, coded, of_columns, picked, read, shuffled
from tacit.anonymity.write_table import build, for_spreadsheet, write
from tacit.errors import InvalidError, show
from tacit.safe_text import visible

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Anonymized:
    """A published table with what is proved and measured of it; `print` shows that.

    Attributes:
        table: the rows that are kept, recoded, in a random order and without an index; of the kind that came in.
        report: what `check` says of it, t measured against the rows that came in; where rows are suppressed and t is
            required, a note says what t is against the published rows alone.
        loss: by the objective and mean that were asked for.
        levels: the level of every column, where each has one; else None.
        suppressed: rows that are not published.
        certificate: of the optimal search; None for the other methods.
        measures: every measure of loss.
        method: that found it.
        recoding: to be saved, and applied to other rows.
    """

    table: Any
    report: Report
    loss: float
    levels: dict[str, int] | None
    suppressed: int
    certificate: Certificate | None
    measures: Measures
    method: str
    recoding: Recoding = field(repr=False)
    before: Report = field(repr=False)
    _columns: Mapping[str, Column] = field(repr=False)
    _require: tuple[Model, ...] = field(repr=False)
    _roles: Mapping[str, Any] = field(repr=False)

    def write(self, path: str | Path, *, spreadsheet: bool = False) -> None:
        """Write the table to a CSV or Parquet file.

        Args:
            path: of the file, which says by its ending what it is.
            spreadsheet: of CSV: write an apostrophe before each text that a spreadsheet would take for a formula. By
                default every value is written as it is, for programs that read the file back.
        """
        write(self._columns, path, spreadsheet=spreadsheet)

    def write_csv(self, stream: TextIO, *, spreadsheet: bool = False) -> None:
        """Write the table as CSV to an open stream; a missing value is an empty cell.

        Args:
            stream: open for text.
            spreadsheet: as for `write`.
        """
        if not hasattr(stream, "write"):
            raise InvalidError("stream", show(stream), "a stream open for text; `write(path)` writes a file")
        lines = _Lines(stream)  # \r\n, so that the writer quotes a cell with either of them
        if spreadsheet:  # some programs also split cells at ;
            writer = csv.writer(lines, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
        else:
            writer = csv.writer(lines, lineterminator="\r\n")
        columns = for_spreadsheet(self._columns) if spreadsheet else self._columns
        writer.writerow(columns)
        writer.writerows(zip(*(picked(_cells(one), one.codes) for one in columns.values()), strict=True))

    def save(self, path: str | Path) -> None:
        """Save the recoding, to be applied to other rows: `tc.anonymity.Recoding.load(path)`."""
        self.recoding.save(path)

    def transform(self, table: object, *, sep: str | None = None) -> Anonymized:
        """Return other rows recoded the same way: classes that fail the requirements are not published."""
        return transform(table, self.recoding, require=self._require, sep=sep, **self._roles)

    def plot(self) -> alt.LayerChart:
        """Draw the risk of rows before and after."""
        return plots.risk_before_after(_risks(self.before), _risks(self.report))

    def __str__(self) -> str:
        """Return what was done as lines of text."""
        rows = self.report.rows + self.suppressed
        lines = [
            f"{self.report.rows:,} of {rows:,} rows published, {self.suppressed:,} suppressed; method {self.method}",
            f"meets {', '.join(map(say, self._require))}; loss {self.loss:.6f}",
        ]
        if not self.report.rows:
            lines[1] = f"nothing is published: every row fails {', '.join(map(say, self._require))}"
        if self.levels is not None:
            lines.append("levels: " + ", ".join(f"{name} {level}" for name, level in self.levels.items()))
        if self.certificate is not None:
            c = self.certificate
            proved = "proved best" if c.optimal else f"at least {c.lower:.6f} is needed, gap {c.gap:.6f}"
            lines.append(
                f"{proved}: {c.bounded:,} bounds over a lattice of {c.lattice:,}, {c.cut:,} cut, {c.ties} tied"
            )
        return "\n".join([*map(visible, lines), str(self.report)])

    def __repr__(self) -> str:
        """Return the headline on one line."""
        met = ", ".join(map(say, self._require))
        return (
            f"Anonymized(rows={self.report.rows}, suppressed={self.suppressed}, method={self.method!r}, "
            f"k={self.report.k}, loss={self.loss:.6f}, meets={met!r})"
        )


@dataclass(frozen=True, slots=True)
class _Lines:
    """A stream whose rows of CSV end in a line feed alone."""

    stream: TextIO

    def write(self, row: str) -> int:
        """Write a row."""
        return self.stream.write(row.removesuffix("\r\n") + "\n")


def _cells(column: Column) -> list[str]:
    return ["" if written is None else written for written in column.texts]


def _risks(report: Report) -> list[tuple[float, int]]:
    """Return the chance to name whose row it is, by the size of a class, with how many rows have it; see `Risk`."""
    sizes = report.groups.sizes if report.persons is None else report.persons
    different, which = np.unique(sizes, return_inverse=True)
    rows = np.bincount(which.reshape(-1), weights=report.groups.sizes, minlength=len(different))
    return [(1 / int(size), int(many)) for size, many in zip(different, rows, strict=True)]


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column plays which part in what is published."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    unit: str | None
    keep: tuple[str, ...]


def finish(
    rows: Table,
    roles: Roles,
    out: Published,
    recoding: Recoding,
    require: tuple[Model, ...],
    **known: Any,  # noqa: ANN401 - the rest of the outcome's fields
) -> Anonymized:
    """Write the published table in a random order, and check it against the requirements once more.

    Raises:
        InvalidError: it fails a requirement, which would be a bug of a search: nothing is handed out.
    """
    kept = np.flatnonzero(out.kept)
    order = kept[shuffled(len(kept))]
    columns = _published(rows, roles, out, order)
    persons = {} if roles.unit is None else {roles.unit: _ordered(rows.column(roles.unit), order)}
    report = check(
        of_columns({**columns, **persons}, rows.backend),
        quasi=roles.quasi,
        sensitive=roles.sensitive,
        unit=roles.unit,
        reference=rows if roles.sensitive else None,
    )
    broken = [say(model) for model in require if report.failing(model)]
    if broken:
        raise InvalidError("the published table", f"one that fails {broken[0]}", "one that meets every requirement")
    if report.rows < rows.rows and any(isinstance(model, TCloseness) for model in require):
        report = _note_own(report, require)
    before = check(rows, quasi=roles.quasi, unit=roles.unit)
    return Anonymized(
        table=build({name: columns[name] for name in rows.names if name in columns}, rows.backend),
        report=report,
        suppressed=int((~out.kept).sum()),
        recoding=recoding,
        before=before,
        _columns=columns,
        _require=require,
        _roles={"sensitive": roles.sensitive, "unit": roles.unit, "keep": roles.keep},
        **known,
    )


def _note_own(report: Report, require: tuple[Model, ...]) -> Report:
    """Return a report that also says whether t holds against the published rows alone, as any reader measures it."""
    own = {}
    for name, one in report.sensitive.items():
        kept = np.bincount(one.spread.value, weights=one.spread.count, minlength=len(one.spread.whole))
        own[name] = replace(one, spread=replace(one.spread, whole=kept.astype(np.int64)))
    alone = replace(report, sensitive=own)
    notes = [
        f"{say(model)} holds against the {report.reference:,} rows that came in; against the {report.rows:,} published"
        f" alone {many:,} of {len(report.groups):,} classes are further away"
        for model in require
        if isinstance(model, TCloseness) and (many := alone.failing(model))
    ]
    return replace(report, notes=(*report.notes, *notes))


def _published(rows: Table, roles: Roles, out: Published, order: Longs) -> dict[str, Column]:
    """Return what is published, in its new order; labels that are written alike are one value."""
    columns: dict[str, Column] = {}
    for cover, codes in zip(out.covers, out.codes, strict=True):
        if (cover.level == 0).all():  # as it came
            columns[cover.name] = _ordered(rows.column(cover.name), order)
        else:
            labels = coded(cover.name, cover.labels)
            columns[cover.name] = replace(labels, codes=labels.codes[codes[order]])
    return columns | {name: _ordered(rows.column(name), order) for name in (*roles.sensitive, *roles.keep)}


def _ordered(column: Column, order: Longs) -> Column:
    return replace(column, codes=column.codes[order])


def transform(
    table: object,
    recoding: Recoding,
    *,
    require: Model | Sequence[Model],
    sensitive: str | Sequence[str] = (),
    unit: str | None = None,
    keep: Sequence[str] = (),
    sep: str | None = None,
) -> Anonymized:
    """Apply a recoding to other rows, leave out the classes that fail the requirements, and check the rest.

    t is measured against the rows that come in now.

    Raises:
        InvalidError: a column is missing, or has a value that its hierarchy lacks.
    """
    from tacit.anonymity.loss import averaged, column_losses, measure  # noqa: PLC0415 - beside its only use
    from tacit.anonymity.report import roles as check_roles  # noqa: PLC0415 - beside its only use
    from tacit.anonymity.search import suppress_failing  # noqa: PLC0415 - it imports this module

    rows = read(table, sep=sep)
    if not isinstance(recoding, Recoding):
        raise InvalidError("recoding", show(recoding), "a recoding: `out.recoding`, or one that was loaded")
    roles = Roles(
        tuple(cover.name for cover in recoding.covers),
        names_of(sensitive, "sensitive"),
        unit,
        names_of(keep, "keep"),
    )
    check_roles(rows, roles.quasi, roles.sensitive, roles.unit)
    models = models_of(require)
    if not roles.sensitive and not all(isinstance(model, KAnonymity) for model in models):
        raise InvalidError("sensitive", "none", "given, since a requirement is about sensitive values")
    raw_too = [name for name in roles.keep if name in (*roles.quasi, roles.unit)]
    if raw_too:
        raise InvalidError("keep", ", ".join(raw_too), "columns that are neither quasi-identifying nor the unit")
    out, raw = recoding.apply(rows)
    out = suppress_failing(rows, roles, out, models)
    levels = None if recoding.levels is None else dict(zip(roles.quasi, recoding.levels, strict=True))
    return finish(
        rows, roles, out, recoding, models, loss=averaged(column_losses(out, "loss"), "geometric"),
        levels=levels, certificate=None, measures=measure(out, raw), method="transform",
    )  # fmt: skip
