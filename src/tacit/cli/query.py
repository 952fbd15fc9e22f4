"""`tacit init`, `tacit plan` and `tacit query`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from tacit import database, opening
from tacit.cli import charts
from tacit.cli.show import (
    SCHEMA,
    as_json,
    begun_note,
    console,
    planned_json,
    put,
    say,
    show_answer,
    telling_of,
    working,
)
from tacit.engines.sources import home_of, open_source
from tacit.errors import BudgetError, RefusedError, TacitError
from tacit.guarantees.exact import Number
from tacit.guarantees.values import PureDP
from tacit.ledger import history
from tacit.ledger.memory import MemoryLedger
from tacit.query.formatting import amounts, spell
from tacit.query.policy import file as policy_file
from tacit.query.policy.locations import scheme
from tacit.query.policy.template import skeleton
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release
from tacit.safe_text import as_json as to_json

_STOPPED = 130
_NO_LEDGER = (
    "The policy has no ledger, so each call of the command line would begin with the whole budget again; nothing was "
    'spent. Add a line such as ledger = "policy.ledger" above the first table of the policy.'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `plan` and `query` have in common."""

    policy: str
    sql: str
    epsilon: float | None
    delta: float
    rho: float | None
    confidence: float
    assume: int | None
    error: Number | Mapping[str, Number] | None = None
    analyst: str = ""
    ledger: str | None = None
    request: str | None = None

    def open(self, *, json: bool) -> database.Database:
        """Open the policy, with what the environment or an option puts in place of what it says."""
        if sys.stderr.isatty() and not json:
            with suppress(TacitError):  # opening it says what is wrong
                said = policy_file.load(self.policy)
                _tell_of_spark(str(one.location()) for one in (*said.tables.values(), *said.public.values()))
        return opening.open(self.policy, ledger=self.ledger, analyst=self.analyst or None)


def init(source: str, table: str | None) -> None:
    """Print a policy to fill in, from the schema alone."""
    one = opening.filled(source, table)
    _tell_of_spark([str(one.source)])
    engine = open_source(one.source, table=table, written=one.written)
    try:
        tables = {engine.name: (source, engine.schema())}
        which = engine.located or table
        print(skeleton(tables, table=which, typed=not _is_csv(str(one.source)), unusable=engine.unusable()), end="")
    finally:
        engine.close()
    if sys.stderr.isatty():
        say('Fill in what is empty, then: tacit plan policy.toml "SELECT …" --epsilon 0.5')


def _tell_of_spark(sources: Iterable[str]) -> None:
    """Say on a terminal that Spark is about to be started, which takes its time; a server of it runs already."""
    if sys.stderr.isatty() and any(home_of(one) == "spark" and scheme(one) != "sc" for one in sources):
        say("Starting Spark …")


def _is_csv(source: str) -> bool:
    return source.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def plan(asked: Asked, *, json: bool) -> None:
    """Print cost, expected error and whether it fits what is left; read nothing, spend nothing."""
    with asked.open(json=json) as db, telling_of(db.ledger, json=json):
        planned = _planned(db, asked)
        short = _short(db, planned)
        if json:
            left = None if _forgets(db) else amounts(db.left)
            begun = bool(begun_note(db.ledger))
            said = {**planned_json(planned), "left": left, "fits": short is None, "ledger_begun": begun}
            print(to_json(said))
            return
        put(str(planned))
        say(_left(db, asked.analyst))
        if short is not None:
            say(f"It does not fit: {short}")
        say("Nothing was read or spent.")


def _forgets(db: database.Database) -> bool:
    """Whether the budget lives in memory: of no use to a command that ends."""
    return isinstance(db.ledger, MemoryLedger)


def _left(db: database.Database, analyst: str) -> str:
    """Return what is left of the budget, and before it what is left of the analyst's own limit, if there is one."""
    if _forgets(db):
        return f'The budget is {spell(db.ledger.budget)}; tacit query needs a ledger = "…" in the policy to keep it.'
    whole = f"{spell(db.left)} of {spell(db.ledger.budget)}."
    own = db.ledger.limit_of(analyst)
    if own is None:
        return f"Left: {whole}"
    rest = history.left_of(own, db.ledger.spent_by(analyst))
    return f"Left for {analyst or '–'}: {spell(rest)} of {spell(own)}. Left in all: {whole}"


def _short(db: database.Database, planned: Quote) -> str | None:
    """Return why what is left is not enough, if it is not."""
    try:
        db.check(planned)
    except BudgetError as error:
        return str(error)
    return None


def query(asked: Asked, *, json: bool, yes: bool, chart: str | None) -> int:
    """Show the plan, ask, spend, and print the answer with its intervals."""
    charts.check(chart)
    with asked.open(json=json) as db, telling_of(db.ledger, json=json):
        if _forgets(db):
            raise RefusedError(_NO_LEDGER)
        planned = _planned(db, asked)
        if not yes and sys.stdin.isatty():
            agreed = _agreed(planned, db, asked.analyst)
            if not agreed:
                say("Nothing was spent.")
                return _STOPPED if agreed is None else 0
        try:
            with working("Reading the data …"):
                answer = _answer(db, asked)
        except KeyboardInterrupt:
            say("Interrupted. If the question had been charged, it stays charged.")
            return _STOPPED
        _show(answer, asked, db, json=json)
        if chart is not None:
            say(charts.draw(answer, chart))
    return 0


def _show(answer: Release, asked: Asked, db: database.Database, *, json: bool) -> None:
    if json:
        left = amounts(db.left)
        said = {"schema": SCHEMA, **as_json(answer), "left": left, "repeated": answer.repeated}
        print(to_json({**said, "ledger_begun": bool(begun_note(db.ledger))}), flush=True)
        return
    show_answer(answer)
    sys.stdout.flush()
    unspent = " No δ was spent." if asked.delta and isinstance(answer.cost, PureDP) else ""
    if answer.repeated:
        say(f"Answered from the ledger: this was asked before, and nothing was spent. Left: {spell(db.left)}.")
        return
    say(f"Spent {spell(answer.cost)}; left {spell(db.left)}.{unspent}")


def _planned(db: database.Database, asked: Asked) -> Quote:
    return db.plan(
        asked.sql,
        epsilon=asked.epsilon,
        delta=asked.delta,
        rho=asked.rho,
        error=asked.error,
        confidence=asked.confidence,
        assume=asked.assume,
    )


def _answer(db: database.Database, asked: Asked) -> Release:
    return db.sql(
        asked.sql,
        epsilon=asked.epsilon,
        delta=asked.delta,
        rho=asked.rho,
        error=asked.error,
        confidence=asked.confidence,
        assume=asked.assume,
        request=asked.request,
    )


def _agreed(planned: Quote, db: database.Database, analyst: str) -> bool | None:
    """Ask whether to spend; None if the answer is Ctrl-C or Ctrl-D."""
    say(str(planned))
    say(_left(db, analyst))
    short = _short(db, planned)
    if short is not None:
        say(f"It does not fit: {short}")
    try:
        return console().input("Spend it? [y/N] ", markup=False).strip().lower() in ("y", "yes")
    except (KeyboardInterrupt, EOFError):
        say("")
        return None
