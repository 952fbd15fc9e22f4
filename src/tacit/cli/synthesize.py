"""`tacit synthesize`: synthetic rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tacit.cli import answer_files, output_files
from tacit.cli.charge import Access, charged, ledger_json, say_spent
from tacit.cli.output import Advance, counting, data_stream, put, put_json, say, working
from tacit.cli.release_plans import print_plan
from tacit.database import Database
from tacit.errors import MissingPackageError, bad_value
from tacit.query.expressions import Kind, Value
from tacit.query.results.table import Table
from tacit.query.results.table_text import json_value
from tacit.safe_text import visible
from tacit.session import unspent
from tacit.synthetic.release_plan import ReleasePlan
from tacit.synthetic.synthetic_rows import SyntheticRows
from tacit.verbs import VerbTarget

_SUFFIXES = (".csv", ".parquet", ".json")
_PERCENT = 100


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


_READ: Mapping[Kind, Callable[[str], Value]] = {
    "integer": int,
    "real": float,
    "boolean": _boolean,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "text": str,
}


@dataclass(slots=True)
class ProgressBar:
    """The progress of the quality mode, as a bar on a terminal."""

    advance: Advance | None = None
    done: int = 0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the bar while the block runs."""
        with counting("Choosing and fitting …", total=_PERCENT) as advance:
            self.advance = advance
            yield

    def __call__(self, part: float, _: str) -> None:
        """Show that a part is done."""
        now = min(_PERCENT, int(_PERCENT * part))
        if self.advance is not None and now > self.done:
            self.advance(now - self.done)
            self.done = now


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    """The rows to make and their cost."""

    arguments: Mapping[str, Any]
    given: Mapping[str, str]
    """The values that rows are to have, as texts; an empty one is a missing value."""
    request: str | None
    bar: ProgressBar = field(default_factory=ProgressBar)

    def plan(self, db: Database) -> ReleasePlan:
        """Return the plan."""
        return db.synthesize(**self.arguments, given=self._given(db), plan=True)

    def release(self, db: Database) -> SyntheticRows:
        """Charge the rows and return them."""
        rows: SyntheticRows = db.synthesize(
            **self.arguments, given=self._given(db), request=self.request, progress=self.bar
        )
        return rows

    def _given(self, db: Database) -> dict[str, Value]:
        """Return the given values, read as the types of their columns."""
        columns = db.tables[VerbTarget(db.tables, (), None, self.arguments["table"]).table_name].columns
        found: dict[str, Value] = {}
        for name, text in self.given.items():
            kind: Kind = columns[name].kind if name in columns else "text"
            try:
                found[name] = _READ[kind](text) if text else None
            except (ValueError, KeyError):
                raise bad_value("--given", f"{name}={text}", f"a value of the type {kind}") from None
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFiles:
    """The files that rows are written to; the chart shows the expected distances of pairs."""

    chart: str | None
    out: str | None
    force: bool

    def check(self, policy: str) -> None:
        """Check their names and folders before anything is spent."""
        with unspent():
            output_files.check_chart(self.chart)
            if self.out is None:
                return
            suffix = Path(self.out).suffix.lower()
            if suffix not in _SUFFIXES:
                raise bad_value("--out", self.out, f"a file whose name ends in one of {', '.join(_SUFFIXES)}")
            if suffix == ".parquet" and find_spec("pyarrow") is None:
                raise MissingPackageError("pyarrow", "Writing a Parquet file")
            output_files.check({"out": self.out}, [policy], force=self.force)

    def write(self, rows: SyntheticRows, json: Callable[[], dict[str, object]]) -> None:
        """Write them, and say so; `json` returns what --json prints."""
        if self.out is not None:
            answer_files.write_table(rows.table, [], self.out, json)
            say(f"Wrote {len(rows):,} rows to {visible(self.out)}.")
        if self.chart is not None:
            say(output_files.save_chart(rows.plot, self.chart))


def read_given(texts: Sequence[str] | None) -> dict[str, str]:
    """Return the values of options such as sex=F, by column.

    >>> read_given(["sex=F", "town="])
    {'sex': 'F', 'town': ''}
    """
    found: dict[str, str] = {}
    for text in texts or ():
        column, equals, value = text.partition("=")
        if not column or not equals or column in found:
            raise bad_value("--given", text, "COLUMN=VALUE such as sex=F, each column once")
        found[column] = value
    return found


def run(access: Access, options: RowOptions, files: RowFiles, *, json: bool, yes: bool, plan: bool) -> int:
    """Print the plan alone, or charge the rows and print them; return the exit code."""
    if plan:
        return print_plan(access, options.plan, json=json)
    files.check(access.policy)

    def show(rows: SyntheticRows, db: Database) -> None:
        def shown() -> dict[str, object]:
            return {**rows.about(), **ledger_json(db, repeated=rows.repeated), "table": _json_rows(rows.table)}

        if json:
            put_json({name: value for name, value in shown().items() if files.out is None or name != "table"})
        else:
            _put(rows, files)
            say_spent(rows.cost, db, repeated=rows.repeated)
        files.write(rows, shown)

    wait = options.bar.shown if options.arguments["mode"] == "quality" else lambda: working("Reading the data …")
    return charged(access, options.plan, options.release, show, json=json, yes=yes, waiting=wait)


def _put(rows: SyntheticRows, files: RowFiles) -> None:
    """Print the rows as CSV and the report as messages; with a file for the rows, the report alone."""
    if files.out is None:
        data_stream().write(rows.to_csv() or "")
        for line in rows.report.lines:
            say(line)
        return
    put(str(rows.report))


def _json_rows(table: Table) -> list[dict[str, object]]:
    return [{name: json_value(value) for name, value in row.items()} for row in table.dicts()]
