"""Commands that charge: open the policy, print the plan, ask for consent, charge, and show what was released."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tacit import opening
from tacit.cli.output import INTERRUPTED, drop_output, print_abort, say, stderr_console, working
from tacit.database import Database
from tacit.engines.sources import home_of
from tacit.errors import NOTHING_SPENT, BudgetError, RefusedError, SourceError, TacitError
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.ledger import Ledger, history
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.sql_ledger import SqlLedger
from tacit.query.formatting import amounts, spell
from tacit.query.policy import file as policy_file
from tacit.query.policy.locations import scheme
from tacit.query.results.quote import Quote
from tacit.safe_text import visible
from tacit.session import unspent
from tacit.synthetic.release_plan import ReleasePlan

NO_LEDGER = (
    "The ledger does not exist yet; the first query creates it. If you expected an existing ledger, restore it first: "
    "its spending is not counted here."
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The policy file, with the ledger, the analyst and the settings of engines that options or the environment set."""

    policy: str
    ledger: str | None
    analyst: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def open(self, *, json: bool) -> Database:
        """Open the policy's tables and ledger."""
        self._announce(json=json)
        return opening.open(self.policy, ledger=self.ledger, analyst=self.analyst or None, **self.settings)

    def open_to_plan(self, *, json: bool) -> tuple[Database, bool]:
        """Open the policy's tables and ledger, but create no ledger; return whether it exists."""
        self._announce(json=json)
        analyst = self.analyst or None
        return opening.open_to_plan(self.policy, ledger=self.ledger, analyst=analyst, settings=self.settings)

    def _announce(self, *, json: bool) -> None:
        if sys.stderr.isatty() and not json:
            with suppress(TacitError):  # `opening.open` reports it
                policy = policy_file.load(self.policy)
                announce_spark(str(table.location()) for table in (*policy.tables.values(), *policy.public.values()))


def announce_spark(sources: Iterable[str]) -> None:
    """Write to a terminal that Spark is starting, which is slow. A Spark Connect server is already running."""
    if sys.stderr.isatty() and any(home_of(source) == "spark" and scheme(source) != "sc" for source in sources):
        say("Starting Spark …")


def charged(
    access: Access,
    plan: Callable[[Database], Quote | ReleasePlan],
    release: Callable[[Database], T],
    show: Callable[[T, Database], None],
    *,
    json: bool,
    yes: bool,
) -> int:
    """Print the plan, ask for consent, charge, and show what was released; return the exit code.

    A ledger that does not exist yet is created after that, so a query that is refused creates none.

    Args:
        access: the policy, the ledger and the analyst.
        plan: prices the query; it spends nothing.
        release: charges and answers it.
        show: prints the answer.
        json: whether stdout and stderr hold JSON alone.
        yes: whether the user has consented already. Without a terminal, nobody is asked.
    """
    planned, exists = access.open_to_plan(json=json)
    with planned:
        with unspent():
            _check_ledger(planned, exists=exists)
        quote = plan(planned)
        if not yes and sys.stdin.isatty():
            consent = _ask(quote, planned, access.analyst, exists=exists)
            if consent is None:
                return print_abort(f"Stopped. {NOTHING_SPENT}", as_json=json)
            if not consent:
                say(NOTHING_SPENT)
                return 0
        if exists:
            return _release(planned, release, show, json=json)
        planned.check(quote)  # a query that costs more than the whole budget creates no ledger
    with access.open(json=json) as db, new_ledger_announced(db.ledger, json=json):
        return _release(db, release, show, json=json)


def _release(db: Database, release: Callable[[Database], T], show: Callable[[T, Database], None], *, json: bool) -> int:
    """Charge, and show what was released; return the exit code."""
    try:
        with working("Reading the data …"):
            answer = release(db)
    except KeyboardInterrupt:
        return print_abort(INTERRUPTED, as_json=json)
    try:
        show(answer, db)
    except BrokenPipeError:
        raise  # the reader has seen enough
    except OSError as error:
        drop_output()
        raise SourceError(
            f"The query was charged, but its answer could not be written: {os.strerror(error.errno or 0)}.",
            hint="If the query had --request or the policy has a data_version, ask again: a recorded answer is free.",
        ) from None
    return 0


def say_spent(cost: PureDP | ApproxDP | ZCDP, db: Database, *, repeated: bool, more: str = "") -> None:
    """Write what a release cost and what is left; a repeated one cost nothing."""
    if repeated:
        say(f"This answer is from the ledger: the query was asked before. {NOTHING_SPENT} Left: {spell(db.left)}.")
    else:
        say(f"Spent {spell(cost)}; left {spell(db.left)}.{more}")


def ledger_json(db: Database, *, repeated: bool) -> dict[str, object]:
    """Return the same as an object for JSON, and whether opening created the ledger."""
    return {"left": amounts(db.left), "repeated": repeated, "ledger_begun": bool(new_ledger_note(db.ledger))}


def _check_ledger(db: Database, *, exists: bool) -> None:
    """Raise RefusedError if the policy has no ledger, so that it would end with this command."""
    if exists and is_temporary(db):
        raise RefusedError(
            "The policy has no ledger, so every call of the command line would start with the whole budget.",
            hint='Add a line such as ledger = "policy.ledger" above the first table of the policy.',
        )


def is_temporary(db: Database) -> bool:
    """Return whether the ledger is in memory and so ends with this command."""
    return isinstance(db.ledger, MemoryLedger)


def describe_left(db: Database, analyst: str, *, planned: bool = False) -> str:
    """Return the budget that is left; if the analyst has a limit, first what is left of it.

    `planned` is True if the ledger does not exist yet, so that memory takes its place.
    """
    if is_temporary(db) and not planned:
        return f'The budget is {spell(db.ledger.budget)}; tacit query needs a ledger = "…" in the policy to record it.'
    total = f"{spell(history.left(db.ledger))} of {spell(db.ledger.budget)}."
    limit = db.ledger.limit_of(analyst)
    if limit is None:
        return f"Left: {total}"
    return f"Left for {analyst or 'unnamed analysts'}: {spell(db.left)} of {spell(limit)}. Left in all: {total}"


def shortage_of(db: Database, quote: Quote | ReleasePlan) -> str | None:
    """Return why the query will be refused: the budget is too small, or the analyst is not admitted; or None."""
    try:
        db.check(quote)
    except (BudgetError, RefusedError) as error:
        reason = "The budget does not suffice. " if isinstance(error, BudgetError) else ""
        return f"{reason}{error.message} {error.hint}" if error.hint else f"{reason}{error.message}"
    return None


def _ask(quote: Quote | ReleasePlan, db: Database, analyst: str, *, exists: bool) -> bool | None:
    """Ask on the terminal whether to spend; return None after Ctrl-C or Ctrl-D."""
    say(str(quote))
    if not exists:
        say(NO_LEDGER)
    say(describe_left(db, analyst, planned=not exists))
    shortage = shortage_of(db, quote)
    if shortage is not None:
        say(shortage)
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
        "stop and restore it: earlier spending is not counted. Put the old one back in its place, or remove "
        "this one and load a copy with `tacit ledger import POLICY COPY`."
    )
