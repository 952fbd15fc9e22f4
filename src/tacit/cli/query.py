"""`tacit init`, `tacit plan` and `tacit query`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from tacit import opening
from tacit.cli import output_files
from tacit.cli.output import (
    STOPPED,
    make_table,
    put,
    put_json,
    put_table,
    say,
    stderr_console,
    table_option,
    working,
)
from tacit.database import Database
from tacit.engines.sources import home_of, open_source
from tacit.errors import NOTHING_SPENT, BudgetError, RefusedError, TacitError
from tacit.guarantees.values import PureDP
from tacit.ledger import Ledger, history
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.sql_ledger import SqlLedger
from tacit.query.aggregates.cut import cut_share
from tacit.query.formatting import amounts, percent, spell
from tacit.query.policy import file as policy_file
from tacit.query.policy.locations import scheme
from tacit.query.policy.template import skeleton
from tacit.query.pricing.noisy_filters import answer_meaning, meaning
from tacit.query.pricing.price import Cost
from tacit.query.results.limits_note import cut_notes, limits_note
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release
from tacit.query.results.render import AnswerColumn, text_rows
from tacit.query.results.table import Table
from tacit.query.sql.row_work import ROW_LIMITS
from tacit.quotes import ChoosingQuote, SessionQuote
from tacit.safe_text import visible
from tacit.session import unspent

__all__ = ["Access", "Cost", "QueryOptions", "init", "plan", "query"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The policy file, with the ledger and the analyst that options or the environment set."""

    policy: str
    ledger: str | None
    analyst: str

    def open(self, *, json: bool) -> Database:
        """Open the policy's tables and ledger."""
        if sys.stderr.isatty() and not json:
            with suppress(TacitError):  # `opening.open` reports it
                policy = policy_file.load(self.policy)
                _announce_spark(str(table.location()) for table in (*policy.tables.values(), *policy.public.values()))
        return opening.open(self.policy, ledger=self.ledger, analyst=self.analyst or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """A query and its options."""

    sql: str
    cost: Cost
    confidence: float
    assume: int | None
    limits: Mapping[str, Any]
    cut: Mapping[str, float | None]
    request: str | None = None

    def plan(self, db: Database) -> Quote:
        """Return the plan of the query."""
        return db.plan(self.sql, **self._arguments())

    def release(self, db: Database) -> Release:
        """Charge the query and return its answer."""
        return db.sql(self.sql, **self._arguments(), request=self.request)

    def _arguments(self) -> dict[str, Any]:
        others = {"confidence": self.confidence, "assume": self.assume}
        return {**asdict(self.cost), **others, **self.limits, **self.cut}


def given_limits(reach: str | None, max_groups: int | None, max_rows: int | None) -> dict[str, int | str | None]:
    """Return the limits that options give; a reach that is not a whole number stays text, which `db.sql` checks."""
    digits = reach is not None and reach.strip().isdecimal()
    return {"reach": int(reach) if reach and digits else reach, "max_groups": max_groups, "max_rows": max_rows}


def init(source: str, table: str | None) -> None:
    """Print a policy to fill in, from the schema alone."""
    opened = opening.filled(source, table)
    _announce_spark([str(opened.source)])
    with table_option():
        engine = open_source(opened.source, table=table, written=opened.written)
    try:
        tables = {engine.name: (source, engine.schema())}
        typed = not _is_csv(str(opened.source))
        print(skeleton(tables, table=engine.located or table, typed=typed, unusable=engine.unusable()), end="")
    finally:
        engine.close()
    if sys.stderr.isatty():
        say('Fill in the empty fields, then run: tacit plan policy.toml "SELECT …" --epsilon 0.5')


def _announce_spark(sources: Iterable[str]) -> None:
    """Write to a terminal that Spark is starting, which is slow. A Spark Connect server is already running."""
    if sys.stderr.isatty() and any(home_of(source) == "spark" and scheme(source) != "sc" for source in sources):
        say("Starting Spark …")


def _is_csv(source: str) -> bool:
    return source.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def plan(access: Access, options: QueryOptions, *, json: bool) -> None:
    """Print the cost, the expected error, and whether the budget suffices. No row is read and nothing is spent."""
    with access.open(json=json) as db, new_ledger_announced(db.ledger, json=json):
        quote = options.plan(db)
        shortage = _shortage(db, quote)
        if json:
            left = None if _is_temporary(db) else amounts(db.left)
            created = bool(new_ledger_note(db.ledger))
            put_json({**_quote_json(quote), "left": left, "fits": shortage is None, "ledger_begun": created})
            return
        put(str(quote))
        say(_describe_left(db, access.analyst))
        if shortage is not None:
            say(f"The budget does not suffice: {shortage}")
        say("No row was read, and nothing was spent.")


def query(access: Access, options: QueryOptions, *, json: bool, yes: bool, chart: str | None) -> int:
    """Print the plan, ask for consent, charge the query, and print the answer with its intervals."""
    output_files.check_chart(chart)
    with access.open(json=json) as db, new_ledger_announced(db.ledger, json=json):
        with unspent():
            check_ledger(db)
        quote = options.plan(db)
        if not yes and sys.stdin.isatty():
            consent = ask_consent(quote, db, access.analyst)
            if not consent:
                say(NOTHING_SPENT)
                return STOPPED if consent is None else 0
        try:
            with working("Reading the data …"):
                answer = options.release(db)
        except KeyboardInterrupt:
            say("Interrupted. If the query was already charged, the charge stays.")
            return STOPPED
        _print_answer(answer, options, db, json=json)
        if chart is not None:
            say(output_files.save_chart(answer.plot, chart))
    return 0


def check_ledger(db: Database) -> None:
    """Raise RefusedError if the ledger ends with this command."""
    if _is_temporary(db):
        raise RefusedError(
            "The policy has no ledger, so every call of the command line would start with the whole budget.",
            hint='Add a line such as ledger = "policy.ledger" above the first table of the policy.',
        )


def _is_temporary(db: Database) -> bool:
    """Return whether the ledger is in memory and so ends with this command."""
    return isinstance(db.ledger, MemoryLedger)


def _describe_left(db: Database, analyst: str) -> str:
    """Return the budget that is left; if the analyst has a limit, first what is left of it."""
    if _is_temporary(db):
        return f'The budget is {spell(db.ledger.budget)}; tacit query needs a ledger = "…" in the policy to record it.'
    total = f"{spell(db.left)} of {spell(db.ledger.budget)}."
    limit = db.ledger.limit_of(analyst)
    if limit is None:
        return f"Left: {total}"
    rest = history.left_of(limit, db.ledger.spent_by(analyst))
    return f"Left for {analyst or '–'}: {spell(rest)} of {spell(limit)}. Left in all: {total}"


def _shortage(db: Database, quote: Quote) -> str | None:
    """Return why the budget that is left is too small, or None if it suffices."""
    try:
        db.check(quote)
    except BudgetError as error:
        return f"{error.message} {error.hint}" if error.hint else error.message
    return None


def ask_consent(quote: Quote, db: Database, analyst: str) -> bool | None:
    """Ask on the terminal whether to spend; return None after Ctrl-C or Ctrl-D."""
    say(str(quote))
    say(_describe_left(db, analyst))
    shortage = _shortage(db, quote)
    if shortage is not None:
        say(f"The budget does not suffice: {shortage}")
    try:
        return stderr_console().input("Spend it? [y/N] ", markup=False).strip().lower() in ("y", "yes")
    except (KeyboardInterrupt, EOFError):
        say("")
        return None


@contextmanager
def new_ledger_announced(ledger: Ledger, *, json: bool) -> Iterator[None]:
    """Warn if opening created the ledger: an earlier one may be lost, and its spending with it.

    With `json`, stderr holds at most one object, an error. Then the warning becomes a part of its hint.
    """
    note = new_ledger_note(ledger)
    if note and not json:
        say(note)
    try:
        yield
    except TacitError as error:
        if note and json:
            error.add_hint(note)
        raise


def new_ledger_note(ledger: Ledger) -> str:
    """Return the warning about a ledger that was created when it was opened; for any other, an empty text."""
    if not isinstance(ledger, SqlLedger) or not ledger.created:
        return ""
    name = visible(ledger.name)
    return (
        f"Created a new ledger {name if name.startswith('at ') else f'at {name}'}. If you expected an existing ledger, "
        "stop and restore it: earlier spending is not counted. Put the old file back in place of this one, or remove "
        "this one and load a copy with `tacit ledger POLICY import COPY`."
    )


def _print_answer(answer: Release, options: QueryOptions, db: Database, *, json: bool) -> None:
    if json:
        created = bool(new_ledger_note(db.ledger))
        about = {"left": amounts(db.left), "repeated": answer.repeated, "ledger_begun": created}
        put_json({**answer_json(answer), **about})
        return
    put_answer(answer)
    if answer.repeated:
        say(f"This answer is from the ledger: the query was asked before. {NOTHING_SPENT} Left: {spell(db.left)}.")
        return
    no_delta = " No δ was spent." if options.cost.delta and isinstance(answer.cost, PureDP) else ""
    say(f"Spent {spell(answer.cost)}; left {spell(db.left)}.{no_delta}")


def put_answer(answer: Release) -> None:
    """Print the answer, and below it the meaning of its intervals, what its limits leave out, and the measured cut."""
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


def answer_json(answer: Release) -> dict[str, object]:
    """Return an answer as an object for JSON."""
    return {
        "question": answer.plan.sql,
        "cost": amounts(answer.cost),
        "confidence": answer.confidence,
        "intervals": answer_meaning(answer.plan, answer.found_groups),
        "rows": _json_rows(answer.intervals()),
        "not_counted": limits_note(answer.plan),
        "cut": None if answer.cut is None else {"notes": cut_notes(answer.plan), "rows": _json_rows(answer.cut)},
        "receipt": answer.receipt,
    }


def _json_rows(table: Table) -> list[dict[str, object]]:
    return [{name: _json_value(value) for name, value in row.items()} for row in table.dicts()]


def _quote_json(quote: Quote) -> dict[str, object]:
    return {
        "question": quote.plan.sql,
        "cost": amounts(quote.cost),
        "noise": quote.why,
        "confidence": quote.confidence,
        "error": quote.error | dict.fromkeys(quote.unknown),
        "intervals": meaning(quote.plan),
        "assume": quote.assume,
        "limits": _limits_json(quote),
        "bounds": quote.question.limits.record() if isinstance(quote, SessionQuote) else {},
        "not_counted": None if isinstance(quote, ChoosingQuote) else limits_note(quote.plan),
        "cut": _cut_json(quote),
        "row_work": {**asdict(quote.work), **ROW_LIMITS},
    }


def _limits_json(quote: Quote) -> dict[str, object]:
    limits = {name: getattr(quote.plan.table, name) for name in ("reach", "max_groups", "max_rows")}
    return limits | ({"reach": "auto"} if isinstance(quote, ChoosingQuote) else {})


def _cut_json(quote: Quote) -> dict[str, object] | None:
    """Return the share and the errors of a measured cut; None if it is not measured."""
    if quote.plan.cap is None:
        return None
    return {
        "up_to_rows": quote.plan.cap,
        "share": float(cut_share(quote.plan)),
        "error_up_to_rows": quote.uncut_error,
        "error_at_once": {name: quote.error_at_once.get(name) for name in quote.uncut_error},
    }


def _json_value(value: object) -> object:
    """Return a value that JSON has, and any other, such as a date, as text."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
