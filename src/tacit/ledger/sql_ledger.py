"""A ledger that survives: every charge is on disk before a row of the data is read.

A charge is one transaction. Under the lock of `head` it reads the totals so far, asks the filter of the data's budget
and that of the analyst's own, if there is one, and appends the charge with the totals after it; both must admit.
Amounts are rationals, written as text, so that ten times 0.1 is 1. A crash before the commit leaves nothing, a crash
after it leaves a charge that stays "pending": charged, as it must be, since reading may have begun.

The same question with the same parameters, asked again by the same analyst of the same declared version of the data, is
answered from the record: it is the same noisy answer, which is post-processing and free. Another version of the data
ends that, but not what was spent: a unit is all its rows in all versions. Only where the steward declares that the new
version's units are others does a new budget begin; who opened the ledger before that cannot spend of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager

from sqlalchemy import Connection, insert, select, update

from tacit.errors import BudgetError, InvalidError, RefusedError, show
from tacit.guarantees.events import from_json, to_json
from tacit.guarantees.exact import whole
from tacit.guarantees.filters import Budget, Spent, admit_all
from tacit.ledger import ANSWERED, FAILED, PENDING, Entry, Request, Ticket, check_name
from tacit.ledger.changes import settle_budget, settle_limit, settle_policy, settle_version
from tacit.ledger.head import append, check_clock, damaged, read_analyst, read_head
from tacit.ledger.policies import Policies
from tacit.ledger.records import Head, Record, key_name, question_name, total_read
from tacit.ledger.replay import grown
from tacit.ledger.schema import ANALYSTS, CHARGES, HEAD, RECORDS, REQUESTS, put
from tacit.ledger.storage import Store

_LARGEST_ANSWER = 20_000_000
_LARGEST_NUMBER = 2**63 - 1
_MANY = 1000

Rows = list[dict[str, object]]
Snapshot = tuple[Iterator[Record], Callable[[], dict[str, Rows]]]


class DurableLedger:
    """A budget and its history in a SQLite file or in PostgreSQL."""

    def __init__(self, place: Store, head: Head, version: str | None, *, begun: bool = False, after: int = 0) -> None:
        """Keep a store that `open_ledger` has prepared, and after which record it recorded what it changed."""
        self._store, self._budget, self._since, self._version = place, head.budget, head.since, version
        self._begun, self.opened_after = begun, after

    @property
    def named(self) -> str:
        """What people call it: its path, or the scheme of its URL."""
        return self._store.named

    @property
    def begun(self) -> bool:
        """Whether there was no ledger in its place, so that this one was begun when it was opened."""
        return self._begun

    @property
    def budget(self) -> Budget:
        """What may be spent in all, as it was when the ledger was last looked at."""
        return self._budget

    @property
    def spent(self) -> Spent:
        """What has been spent, by all who share the ledger."""
        with self._store.reading() as connection:
            return self._head(connection).spent

    @property
    def head(self) -> tuple[int, str]:
        """The number and the link of the last record."""
        with self._store.reading() as connection:
            head = self._head(connection)
            return head.number, head.link

    @property
    def since(self) -> int:
        """The number of the record with which the budget began."""
        with self._store.reading() as connection:
            return self._head(connection).since

    def spent_by(self, analyst: str) -> Spent:
        """Return what one analyst has spent."""
        return self._analyst(analyst)[0]

    def limit_of(self, analyst: str) -> Budget | None:
        """Return what one analyst may spend, if that is limited."""
        return self._analyst(analyst)[1]

    def recorded(self, request: Request) -> Ticket | None:
        """Return the answer that this very question got before, if it did; nothing is charged."""
        if request.key is None and not request.repeats:
            return None
        with self._store.reading() as connection:
            head = self._head(connection)
            self._check_version(head)
            return self._before(connection, head, request)

    def charge(self, request: Request) -> Ticket:
        """Admit all events or none, on disk; or return the answer that this very question got before."""
        with self._store.writing() as connection:
            head = self._head(connection, lock=True)
            self._check_version(head)
            check_clock(head, self.named)
            before = self._before(connection, head, request)
            if before is not None:
                return before
            total = admit_all(head.spent, head.budget, request.events)
            own, most = read_analyst(connection, head, request.analyst, self.named)
            own = grown(own, head.spent, total) if most is None else _admitted(own, most, request)
            said = _charged(request, total, own) | {"version": head.version, "since": head.since}
            moved = append(connection, head, "charge", said, spent=total)
            connection.execute(insert(CHARGES), {"number": moved.number, "outcome": PENDING, "ended": None})
            put(connection, ANALYSTS, {"name": request.analyst, "loss": str(own.loss), "delta": str(own.delta)})
            for name in _names(head, request):
                put(connection, REQUESTS, {"name": name, "number": moved.number, "digest": request.digest})
        return Ticket(number=moved.number, head=moved.link)

    def finish(self, number: int, outcome: str, answer: str | None = None) -> None:
        """Record how a charge ended; it stays charged. An answer of more than 20 MB is not kept."""
        if outcome not in (ANSWERED, FAILED):
            raise InvalidError("outcome", show(outcome), "'answered' or 'failed'")
        if (whole(number) or 0) not in range(1, _LARGEST_NUMBER):
            raise InvalidError("number", show(number), "the number of a charge that has not ended")
        kept = answer if answer is not None and outcome == ANSWERED and len(answer) <= _LARGEST_ANSWER else None
        with self._store.writing() as connection:
            head = self._head(connection, lock=True)
            was = connection.execute(select(CHARGES.c.outcome).where(CHARGES.c.number == number)).scalar()
            if was != PENDING:
                raise InvalidError("number", show(number), "the number of a charge that has not ended")
            ended = append(connection, head, "outcome", {"charge": number, "outcome": outcome, "answer": kept})
            changed = {"outcome": outcome, "ended": ended.number}
            connection.execute(update(CHARGES).where(CHARGES.c.number == number).values(**changed))

    def entries(self) -> Sequence[Entry]:
        """Return the charges, oldest first."""
        with self._store.reading() as connection:
            nothing = self._head(connection).nothing
            joined = RECORDS.outerjoin(CHARGES, RECORDS.c.number == CHARGES.c.number)
            wanted = select(RECORDS, CHARGES.c.outcome).select_from(joined).where(RECORDS.c.kind == "charge")
            rows = connection.execute(wanted.order_by(RECORDS.c.number)).all()
        try:
            return [_entry(Record(*row[:4]), row[4] or PENDING, nothing) for row in rows]
        except (KeyError, TypeError, ValueError, ArithmeticError):
            raise damaged(self.named) from None

    def records(self) -> list[Record]:
        """Return every record, oldest first."""
        with self.snapshot() as (records, _):
            return list(records)

    def derived(self) -> dict[str, Rows]:
        """Return what stands beside the records."""
        with self.snapshot() as (_, derived):
            return derived()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Read every record, one after the other, and what stands beside them, as of one moment."""
        with self._store.reading() as connection:

            def derived() -> dict[str, Rows]:
                tables = (HEAD, ANALYSTS, CHARGES, REQUESTS)
                return {one.name: [dict(row) for row in connection.execute(select(one)).mappings()] for one in tables}

            with closing(_records(connection)) as records:
                yield records, derived

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    # --- what stewards do -----------------------------------------------------------------------------------------

    def set_budget(self, budget: Budget) -> None:
        """Record another budget in the same currency; it may not be less than what is spent."""
        with self._store.writing() as connection:
            head = self._head(connection, lock=True)
            self._budget = settle_budget(connection, head, budget, self.named, accept=True).budget

    def set_limit(self, analyst: str, budget: Budget | None) -> None:
        """Record what one analyst may spend under the data's budget; None: no limit of their own."""
        with self._store.writing() as connection:
            settle_limit(connection, self._head(connection, lock=True), analyst, budget, self.named, accept=True)

    def set_policy(self, policies: Policies, *, accept: bool = False) -> None:
        """Record what is public; what changed since a charge must be accepted, and the unit can never change."""
        with self._store.writing() as connection:
            settle_policy(connection, self._head(connection, lock=True), policies, accept=accept)

    def set_version(self, version: str, *, disjoint: bool = False) -> None:
        """Record another declared version of the data, after which nothing is repeated for free.

        With `disjoint` the steward declares that no unit of it was in any version before, and the budget is fresh: for
        who opens the ledger for that version. What was opened before cannot be charged to it.
        """
        with self._store.writing() as connection:
            settle_version(connection, self._head(connection, lock=True), version, disjoint=disjoint)

    # --- the parts --------------------------------------------------------------------------------------------------

    def _head(self, connection: Connection, *, lock: bool = False) -> Head:
        head = read_head(connection, self.named, lock=lock)
        self._budget = head.budget
        return head

    def _analyst(self, analyst: str) -> tuple[Spent, Budget | None]:
        check_name(analyst, "analyst")
        with self._store.reading() as connection:
            return read_analyst(connection, self._head(connection), analyst, self.named)

    def _check_version(self, head: Head) -> None:
        if head.since != self._since or self._version not in (None, head.version):
            raise RefusedError(
                f"The ledger {self.named} is at the version {show(head.version)} of the data now, which is not the one "
                "that was opened. Nothing was spent. Open the data of that version, and ask again."
            )

    def _before(self, connection: Connection, head: Head, request: Request) -> Ticket | None:
        """Return the ticket of an answer that was given before, if there is one; refuse a key with another question."""
        if request.key is not None:
            named = key_name(request.analyst, request.key)
            digest = connection.execute(select(REQUESTS.c.digest).where(REQUESTS.c.name == named)).scalar()
            if digest not in (None, request.digest):
                raise RefusedError(
                    f"The request {show(request.key)} was made before with another question, other parameters or "
                    "another version of the data. Nothing was spent. Give this one another name."
                )
        for name in _names(head, request):
            found = (
                select(REQUESTS.c.number, CHARGES.c.ended)
                .join(CHARGES, CHARGES.c.number == REQUESTS.c.number)
                .where(REQUESTS.c.name == name, CHARGES.c.outcome == ANSWERED)
            )
            for number, ended in connection.execute(found).all():
                answer = self._said(connection, ended).get("answer")
                if isinstance(answer, str):
                    link = connection.execute(select(RECORDS.c.link).where(RECORDS.c.number == number)).scalar_one()
                    return Ticket(number=number, head=link, answer=answer)
        return None

    def _said(self, connection: Connection, number: int) -> dict[str, object]:
        body = connection.execute(select(RECORDS.c.body).where(RECORDS.c.number == number)).scalar()
        try:
            return dict(json.loads(body or ""))
        except (TypeError, ValueError):
            raise damaged(self.named) from None


def _charged(request: Request, total: Spent, own: Spent) -> dict[str, object]:
    """Return what the record of a charge says."""
    return {
        "question": request.question,
        "analyst": request.analyst,
        "events": [json.loads(to_json(one)) for one in request.events],
        "loss": str(total.loss),
        "delta": str(total.delta),
        "analyst_loss": str(own.loss),
        "analyst_delta": str(own.delta),
        "digest": request.digest,
        "repeats": request.repeats,
        "key": request.key,
    }


def _admitted(own: Spent, most: Budget, request: Request) -> Spent:
    try:
        return admit_all(own, most, request.events)
    except BudgetError as error:
        raise BudgetError(f"{error} This is the analyst's own budget, under that of the data.") from None


def _records(connection: Connection) -> Generator[Record, None, None]:
    wanted = select(RECORDS).order_by(RECORDS.c.number).execution_options(yield_per=_MANY)
    with connection.execute(wanted) as rows:
        for row in rows:
            yield Record(*row)


def _entry(charged: Record, outcome: str, nothing: Spent) -> Entry:
    said = json.loads(charged.body)
    return Entry(
        number=charged.number,
        question=said["question"],
        analyst=said["analyst"],
        events=tuple(from_json(json.dumps(one)) for one in said["events"]),
        outcome=outcome,
        time=said["time"],
        total=total_read(nothing, said["loss"], said["delta"]),
        since=said["since"],
    )


def _names(head: Head, request: Request) -> list[str]:
    """Return the names under which a charge can be found again."""
    names = [question_name(request.analyst, head.version, request.digest)] if request.repeats else []
    return names + ([] if request.key is None else [key_name(request.analyst, request.key)])
