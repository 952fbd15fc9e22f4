"""The charges of an open database: the charge, reading after it, its outcome, and the facts of its receipt.

If reading fails after the charge, the charge stands and the message is constant.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from tacit import activity
from tacit.engines import Engine
from tacit.engines.duckdb.sandbox import SharedSandbox
from tacit.errors import (
    InternalError,
    LedgerError,
    RefusedError,
    SizeChangedError,
    SourceError,
    TimeLimitError,
)
from tacit.ledger import ANSWERED, FAILED, Ledger, Request, Ticket, check_name
from tacit.machine_memory import default_limit
from tacit.query.expressions import Kind, Value
from tacit.query.memory_need import check_memory as check_answers
from tacit.query.memory_need import check_record
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.policy import build as policy_build
from tacit.query.results.quote import Quote
from tacit.quotes import SessionQuote
from tacit.version import VERSION

SOURCE_FAILED = "The data source failed after the query was charged, so the charge stands."
SOURCE_HINT = (
    "Ask the data steward to check the source, and the memory and temporary directory of the engine. A repeated query "
    "is charged again."
)
T = TypeVar("T")


class ChargingSession:
    """The tables, the ledger and the analyst of one open database, with its charges."""

    def __init__(
        self,
        tables: Mapping[str, tuple[TablePolicy, Engine]],
        ledger: Ledger,
        *,
        version: str,
        analyst: str,
        data_version: str,
        owns_ledger: bool = False,
    ) -> None:
        """Store the parts that `open` has put together; `close` closes a ledger that the session owns."""
        self._tables, self.ledger, self._version, self._analyst = tables, ledger, version, analyst
        self._owns_ledger = owns_ledger
        self.data_version = check_name(data_version, "data_version")
        check_name(analyst, "analyst")
        ledger.open_tables(name for name, (policy, _) in tables.items() if not policy.public)
        self._closing, self.sandbox = threading.Event(), SharedSandbox()
        self.memory_limit = min(
            (size for _, engine in tables.values() if (size := engine.settings.memory)), default=None
        )
        """The bytes that answers may need in this process; None for half of the machine's memory."""

    @property
    def tables(self) -> Mapping[str, TablePolicy]:
        """The policy of each table."""
        return {name: policy for name, (policy, _) in self._tables.items()}

    @property
    def closed(self) -> bool:
        """True if this session, or that of another analyst over the same engines, was closed."""
        return self._closing.is_set()

    @property
    def analyst(self) -> str:
        """The name of the analyst; empty without one."""
        return self._analyst

    def check_open(self) -> None:
        """Raise RefusedError if the database is closed."""
        if self.closed:
            raise RefusedError("The database is closed.", hint="Open it again to run queries.")

    def public_rows(self, name: str, kinds: Mapping[str, Kind]) -> Sequence[Sequence[Value]]:
        """Return the rows of a public table."""
        policy, engine = self._tables[name]
        if not policy.public:
            raise InternalError("rows of a private table are never returned.")
        return engine.public_rows(name, kinds)

    def engine(self, table: str) -> Engine:
        """Return the engine of a table."""
        return self._tables[table][1]

    def engine_of(self, plan: Plan) -> Engine:
        """Return the engine of a plan's table."""
        return self.engine(plan.table.name)

    def charge(self, request: Request) -> Ticket:
        """Charge the ledger, and log it."""
        ticket = self.ledger.charge(request)
        note_charge(ticket, request)
        return ticket

    def check_memory(self, request: Request, quotes: Sequence[Quote]) -> None:
        """Raise RefusedError if the answers would not fit memory, or not the record that a request needs."""
        plans, limit = [quote.plan for quote in quotes], self.memory_limit or default_limit()
        if request.key is not None:
            check_record(plans)
        if limit is not None:
            check_answers(plans, limit, recorded=bool(self.data_version) or request.key is not None)

    def guarded(self, ticket: Ticket, read: Callable[[], list[T]]) -> list[T]:
        """Return what is read after a charge; if that fails, the charge stands and the text is constant."""
        failure = SourceError(SOURCE_FAILED, hint=SOURCE_HINT)
        try:
            with suppress(Exception):  # its text could quote the data, also that of a TacitError
                try:
                    return read()
                except SizeChangedError:
                    failure = SizeChangedError()  # its text is constant, and the size is public
                except TimeLimitError as error:
                    failure = TimeLimitError(error.seconds, charged=True)  # its text depends on the limit alone
        except BaseException as error:
            self.finish(ticket, FAILED, cause=error)
            raise
        self.finish(ticket, FAILED, cause=failure)
        raise failure  # outside of `except`, so that it has no context

    def has_public_join(self, plan: Plan) -> bool:
        """Return whether a plan joins public tables, which may change and are not part of the digest."""
        return any(self._tables[join.table][0].public for join in plan.all_joins)

    def finish(
        self, ticket: Ticket, outcome: str, answer: str | None = None, *, cause: BaseException | None = None
    ) -> None:
        """Record the outcome of a charge. If that fails, warn: the charge stands, and the answer is returned.

        The log has the class of `cause`, the error that the caller gets.
        """
        kind: activity.Kind = "answer" if outcome == ANSWERED else "failure"
        name = None if cause is None else type(cause).__name__
        activity.note(kind, record=ticket.number, analyst=self._analyst, error=name)
        try:
            self.ledger.finish(ticket.number, outcome, answer)
        except LedgerError as error:
            activity.note("warning", "the outcome of a charge was not recorded", record=ticket.number)
            what = "answered" if outcome == ANSWERED else "charged, and failed"
            warnings.warn(
                f"The query was {what}, but its outcome could not be recorded: it stays pending. {error.message}",
                stacklevel=5,
            )

    def context(self, quote: Quote, ticket: Ticket) -> dict[str, object]:
        """Return the facts for the receipt of an answer."""
        bounds = quote.question.limits.record() if isinstance(quote, SessionQuote) else {}
        return {
            **({"bounds_of_this_query": bounds} if bounds else {}),
            "policy": policy_build.version(quote.plan.table),
            **self.facts(ticket),
        }

    def facts(self, ticket: Ticket) -> dict[str, object]:
        """Return the facts about the policy, the ledger and the software that every receipt has."""
        return {
            "policy_file": self._version,
            "data_version": self.data_version or None,
            "ledger_entry": ticket.number,
            "ledger_link": ticket.head or None,
            "software": f"tacit {VERSION}",
        }


def note_charge(ticket: Ticket, request: Request) -> None:
    """Log a charge, or a recorded answer that cost nothing."""
    kind: activity.Kind = "charge" if ticket.answer is None else "replay"
    activity.note(kind, record=ticket.number, analyst=request.analyst, query=activity.query_hash(request.question))
