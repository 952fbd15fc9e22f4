"""`tacit init`, `tacit plan` and `tacit query`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol
from warnings import catch_warnings, filterwarnings

from tacit import opening
from tacit.cli import answer_files, output_files
from tacit.cli.charge import (
    NO_LEDGER,
    Access,
    announce_spark,
    charged,
    describe_left,
    is_temporary,
    ledger_json,
    say_spent,
    shortage_of,
)
from tacit.cli.output import put, put_json, put_warning, say, table_option
from tacit.cli.output_tables import make_table, put_table
from tacit.database import Database
from tacit.engines.sources import open_source
from tacit.guarantees.values import PureDP
from tacit.json_forms import answer_json, quote_json
from tacit.query.formatting import amounts, percent
from tacit.query.policy.template import skeleton
from tacit.query.pricing.price import Cost
from tacit.query.results.derived_release import FAILED, DerivedRelease
from tacit.query.results.limits_note import NOT_FOUND, cut_notes
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release
from tacit.query.results.render import WARNING, AnswerColumn, text_rows
from tacit.query.sql.parameters import ParameterValue
from tacit.quotes import SessionQuote

__all__ = ["Access", "Cost", "QueryOptions", "answer_json", "init", "plan", "query"]


class AnswerOptions(Protocol):
    """A query or a table with its options: what it may cost, its plan, and its answer."""

    @property
    def cost(self) -> Cost:
        """The cost that was given."""

    def plan(self, db: Database) -> Quote:
        """Return the plan."""

    def release(self, db: Database) -> Release:
        """Charge it and return its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """A query and its options."""

    sql: str
    params: Mapping[str, ParameterValue]
    cost: Cost
    confidence: float
    assume: int | None
    limits: Mapping[str, Any]
    cut: Mapping[str, float | bool | None]
    request: str | None = None

    def plan(self, db: Database) -> Quote:
        """Return the plan of the query."""
        return db.plan(self.sql, **self._arguments())

    def release(self, db: Database) -> Release:
        """Charge the query and return its answer, whose warnings are printed with it."""
        with catch_warnings():
            filterwarnings("ignore", message=NOT_FOUND)
            filterwarnings("ignore", message=FAILED)
            return db.sql(self.sql, **self._arguments(), request=self.request)

    def _arguments(self) -> dict[str, Any]:
        others = {"confidence": self.confidence, "assume": self.assume, "params": self.params}
        return {**asdict(self.cost), **others, **self.limits, **self.cut}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFiles:
    """The files that an answer is written to."""

    chart: str | None
    out: str | None
    force: bool

    def check(self, policy: str) -> None:
        """Check their names and folders before anything is spent."""
        output_files.check_chart(self.chart)
        answer_files.check(self.out, policy, force=self.force)

    def write(self, answer: Release, json: Callable[[], dict[str, object]]) -> None:
        """Write them, and say so; `json` makes the object that --json prints."""
        if self.out is not None:
            say(answer_files.write(answer, self.out, json))
        if self.chart is not None:
            say(output_files.save_chart(answer.plot, self.chart))


def given_limits(reach: str | None, max_groups: int | None, max_rows: int | None) -> dict[str, int | str | None]:
    """Return the limits that options give; a reach that is not a whole number stays text, which `db.sql` checks."""
    digits = reach is not None and reach.strip().isdecimal()
    return {"reach": int(reach) if reach and digits else reach, "max_groups": max_groups, "max_rows": max_rows}


def init(source: str, table: str | None) -> None:
    """Print a policy to fill in, from the schema alone."""
    opened = opening.filled(source, table)
    announce_spark([str(opened.source)])
    with table_option():
        engine = open_source(opened.source, table=table, written=opened.written)
    try:
        tables = {engine.name: (source, engine.schema())}
        typed = not _is_csv(str(opened.source))
        others = {"unusable": engine.unusable(), "zoned": engine.zoned()}
        print(skeleton(tables, table=engine.located or table, typed=typed, **others), end="")
    finally:
        engine.close()
    if sys.stderr.isatty():
        say('Fill in the empty fields, then run: tacit plan policy.toml "SELECT …" --epsilon 0.5')


def _is_csv(source: str) -> bool:
    return source.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def plan(access: Access, options: AnswerOptions, *, json: bool) -> None:
    """Print the cost, the expected error, and whether the budget suffices. Nothing private is read or spent."""
    db, exists = access.open_to_plan(json=json)
    with db:
        quote = options.plan(db)
        shortage = shortage_of(db, quote)
        if json:
            left = amounts(db.left) if not exists or not is_temporary(db) else None
            put_json({**quote_json(quote), "left": left, "fits": shortage is None, "ledger_begun": False})
            return
        put(str(quote))
        if not exists:
            say(NO_LEDGER)
        say(describe_left(db, access.analyst, planned=not exists))
        if shortage is not None:
            say(shortage)
        assumed = quote.question.assume if isinstance(quote, SessionQuote) else quote.assume
        unread = quote.plan.size is None and quote.assume == assumed
        read = "No row was read" if unread else "Only the public number n was read"
        say(f"{read}, and nothing was spent.")


def query(access: Access, options: AnswerOptions, files: AnswerFiles, *, json: bool, yes: bool) -> int:
    """Print the plan, ask for consent, charge the query, and print the answer with its intervals."""
    files.check(access.policy)

    def show(answer: Release, db: Database) -> None:
        _print_answer(answer, options, db, json=json)
        files.write(answer, lambda: {**answer_json(answer), **ledger_json(db, repeated=answer.repeated)})

    return charged(access, options.plan, options.release, show, json=json, yes=yes)


def _print_answer(answer: Release, options: AnswerOptions, db: Database, *, json: bool) -> None:
    if json:
        put_json({**answer_json(answer), **ledger_json(db, repeated=answer.repeated)})
        return
    put_answer(answer)
    no_delta = " No δ was spent." if options.cost.delta and isinstance(answer.cost, PureDP) else ""
    say_spent(answer.cost, db, repeated=answer.repeated, more=no_delta)


def put_answer(answer: Release) -> None:
    """Print warnings, the answer, and below it its notes and the measured cut."""
    for warning in answer.warnings:
        put_warning(f"{WARNING}{warning}")
    if isinstance(answer, DerivedRelease) and answer.result is None:
        for label, each in answer.released.items():
            put(f"{label}:")
            _put_columns(each.columns(), each.confidence, each.notes)
        sys.stdout.flush()
        return
    _put_columns(answer.columns(), answer.confidence, answer.notes)
    if answer.plan.cap is not None:
        _put_columns(answer.cut_columns(), answer.confidence, cut_notes(answer.plan))
    sys.stdout.flush()


def _put_columns(columns: Sequence[AnswerColumn], confidence: float, notes: Sequence[str]) -> None:
    headings, rows = text_rows(columns, confidence)
    intervals = [f"{percent(confidence)} interval of {column.name}" for column in columns]
    put_table(make_table(headings, rows, left=intervals, dim=intervals))
    for note in notes:
        put(note)
