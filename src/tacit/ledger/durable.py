"""A ledger that survives: every charge is on disk before a row of the data is read.

A charge is one transaction. Under the lock of `head` it reads the totals so far, asks the filter of the data's budget
and that of the analyst's own, if there is one, and appends the charge with the totals after it; both must admit.
Amounts are rationals, written as text, so that ten times 0.1 is 1. A crash before the commit leaves nothing, a crash
after it leaves a charge that stays "pending": charged, as it must be, since reading may have begun.

The same question with the same parameters, asked again by the same analyst of the same declared version of the data, is
answered from the record: it is the same noisy answer, which is post-processing and free. Another version of the data
ends that, but not what was spent: a unit is all its rows in all versions. Only where the steward declares that the new
version's units are others does a new budget begin.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, insert, select, update

from tacit.errors import BudgetError, InvalidError, LedgerError, RefusedError, show
from tacit.guarantees.events import Neighbours, from_json, to_json
from tacit.guarantees.filters import Budget, Spent, admit_all, limit, start
from tacit.ledger import ANSWERED, FAILED, PENDING, Entry, Request, Ticket, check_name
from tacit.ledger.policies import Policies, changes_of, check_changes
from tacit.ledger.records import Body, Record, budget_read, budget_said, canonical, record, total_read
from tacit.ledger.stores import Store
from tacit.ledger.tables import ANALYSTS, CHARGES, HEAD, RECORDS, REQUESTS

_SET_BACK = timedelta(minutes=5)
_LARGEST_ANSWER = 20_000_000


@dataclass(frozen=True, slots=True)
class Head:
    """Where a ledger stands: the last record, the totals after it, and what holds now."""

    number: int
    link: str
    spent: Spent
    budget: Budget
    policy: dict[str, dict[str, str]]
    version: str
    time: str


class DurableLedger:
    """A budget and its history in a SQLite file or in PostgreSQL."""

    def __init__(self, place: Store, budget: Budget, neighbours: Neighbours) -> None:
        """Keep a store that `open_ledger` has prepared."""
        self._store, self._budget, self._nothing = place, budget, start(budget, neighbours)

    @property
    def named(self) -> str:
        """What people call it: its path, or the scheme of its URL."""
        return self._store.named

    @property
    def budget(self) -> Budget:
        """What may be spent in all."""
        return self._budget

    @property
    def spent(self) -> Spent:
        """What has been spent, by all who share the ledger."""
        with self._store.transaction() as connection:
            return self._head(connection).spent

    @property
    def head(self) -> tuple[int, str]:
        """The number and the link of the last record."""
        with self._store.transaction() as connection:
            head = self._head(connection)
            return head.number, head.link

    def spent_by(self, analyst: str) -> Spent:
        """Return what one analyst has spent."""
        with self._store.transaction() as connection:
            return self._analyst(connection, analyst)[0]

    def limit_of(self, analyst: str) -> Budget | None:
        """Return what one analyst may spend, if that is limited."""
        with self._store.transaction() as connection:
            return self._analyst(connection, analyst)[1]

    def charge(self, request: Request) -> Ticket:
        """Admit all events or none, on disk; or return the answer that this very question got before."""
        with self._store.transaction() as connection:
            head = self._head(connection, lock=True)
            before = self._before(connection, head, request)
            if before is not None:
                return before
            total = admit_all(head.spent, head.budget, request.events)
            own, most = self._analyst(connection, request.analyst)
            own = self._admitted(own, most, request) if most is not None else _added(own, head.spent, total)
            number = self._append(
                connection,
                head,
                "charge",
                {
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
                    "version": head.version,
                },
                total,
            )
            connection.execute(insert(CHARGES), {"number": number.number, "outcome": PENDING})
            _put(
                connection, ANALYSTS, "name", {"name": request.analyst, "loss": str(own.loss), "delta": str(own.delta)}
            )
            for name in _names(head, request):
                _put(connection, REQUESTS, "name", {"name": name, "number": number.number, "digest": request.digest})
            return Ticket(number=number.number, head=number.link)

    def finish(self, number: int, outcome: str, answer: str | None = None) -> None:
        """Record how a charge ended; it stays charged. An answer of more than 20 MB is not kept."""
        if outcome not in (ANSWERED, FAILED):
            raise InvalidError("outcome", show(outcome), "'answered' or 'failed'")
        kept = answer if answer is not None and len(answer) <= _LARGEST_ANSWER else None
        with self._store.transaction() as connection:
            head = self._head(connection, lock=True)
            was = connection.execute(select(CHARGES.c.outcome).where(CHARGES.c.number == number)).scalar()
            if was != PENDING:
                raise InvalidError("number", show(number), "the number of a charge that has not ended")
            ended = self._append(connection, head, "outcome", {"charge": number, "outcome": outcome, "answer": kept})
            changed = {"outcome": outcome, "ended": ended.number}
            connection.execute(update(CHARGES).where(CHARGES.c.number == number).values(**changed))

    def entries(self) -> Sequence[Entry]:
        """Return the charges, oldest first."""
        with self._store.transaction() as connection:
            rows = connection.execute(
                select(RECORDS).where(RECORDS.c.kind == "charge").order_by(RECORDS.c.number)
            ).all()
            ended = {row.number: row.outcome for row in connection.execute(select(CHARGES))}
        return [self._entry(Record(*row), ended.get(row.number, PENDING)) for row in rows]

    def records(self) -> list[Record]:
        """Return every record, oldest first."""
        with self._store.transaction() as connection:
            return [Record(*row) for row in connection.execute(select(RECORDS).order_by(RECORDS.c.number))]

    def derived(self) -> dict[str, list[dict[str, object]]]:
        """Return what stands beside the records, for `verify`."""
        with self._store.transaction() as connection:
            return {
                table.name: [dict(row) for row in connection.execute(select(table)).mappings()]
                for table in (HEAD, ANALYSTS, CHARGES, REQUESTS)
            }

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    # --- what stewards do -----------------------------------------------------------------------------------------

    def set_budget(self, budget: Budget) -> None:
        """Record another budget in the same currency; it may not be less than what is spent."""
        most, now = limit(budget), limit(self._budget)
        if most.currency != now.currency:
            raise RefusedError(
                f"The ledger {self.named} counts in another currency: what was spent cannot be told in it. Nothing was "
                "changed. Begin a new ledger for data of other units, or keep the currency."
            )
        with self._store.transaction() as connection:
            head = self._head(connection, lock=True)
            if most.loss < head.spent.loss or most.delta < head.spent.delta:
                raise RefusedError(
                    f"The budget cannot be lowered below what is spent already ({float(head.spent.loss):g}, δ = "
                    f"{float(head.spent.delta):g}). Nothing was changed. What was spent stays spent."
                )
            said = budget_said(budget)
            self._append(connection, head, "budget", said, budget=canonical(said))
        self._budget = budget

    def set_limit(self, analyst: str, budget: Budget | None) -> None:
        """Record what one analyst may spend under the data's budget; None: no limit of their own."""
        check_name(analyst, "analyst")
        said = None if budget is None else budget_said(budget)
        if said is not None and said["currency"] != self._nothing.currency:
            raise RefusedError("An analyst's budget is in the currency of the data's budget. Nothing was changed.")
        with self._store.transaction() as connection:
            head = self._head(connection, lock=True)
            own, now = self._analyst(connection, analyst)
            if (None if now is None else budget_said(now)) == said:
                return
            self._append(connection, head, "analyst", {"analyst": analyst, "budget": said})
            values = {"name": analyst, "loss": str(own.loss), "delta": str(own.delta)}
            _put(connection, ANALYSTS, "name", values | {"budget": None if said is None else canonical(said)})

    def set_policy(self, policies: Policies, *, accept: bool = False) -> None:
        """Record what is public; what changed since a charge must be accepted, and the unit can never change."""
        with self._store.transaction() as connection:
            head = self._head(connection, lock=True)
            changes = [change for name, parts in policies.items() for change in changes_of(name, head.policy, parts)]
            new = {name: dict(parts) for name, parts in policies.items()}
            if not changes and all(name in head.policy for name in new):
                return
            if head.spent.loss or head.spent.delta:
                check_changes(changes, accept=accept)
            merged = {**head.policy, **new}
            self._append(connection, head, "policy", {"tables": merged}, policy=canonical(merged))

    def set_version(self, version: str, *, disjoint: bool = False) -> None:
        """Record another declared version of the data, after which nothing is repeated for free.

        With `disjoint` the steward declares that no unit of it was in any version before, and the budget is fresh.
        """
        check_name(version, "version")
        with self._store.transaction() as connection:
            head = self._head(connection, lock=True)
            if head.version == version:
                return
            self._append(
                connection,
                head,
                "version",
                {"version": version, "disjoint": disjoint},
                self._nothing if disjoint else None,
                version=version,
            )
            if disjoint:
                connection.execute(update(ANALYSTS).values(loss="0", delta="0"))

    # --- the parts --------------------------------------------------------------------------------------------------

    def _head(self, connection: Connection, *, lock: bool = False) -> Head:
        query = select(HEAD)
        row = connection.execute(query.with_for_update() if lock else query).one_or_none()
        if row is None:
            raise LedgerError(f"The ledger {self.named} has lost its head. Nothing was answered. Put a copy back.")
        return Head(
            row.number,
            row.link,
            total_read(self._nothing, row.loss, row.delta),
            budget_read(json.loads(row.budget)),
            json.loads(row.policy),
            row.version,
            row.time,
        )

    def _append(
        self, connection: Connection, head: Head, kind: str, said: Body, total: Spent | None = None, **changed: str
    ) -> Record:
        """Append a record and move the head."""
        now = _now(head.time, self.named)
        added = record(head.number + 1, kind, {**said, "time": now}, head.link)
        values: dict[str, object] = {"number": added.number, "link": added.link, "time": now, **changed}
        if total is not None:
            values |= {"loss": str(total.loss), "delta": str(total.delta)}
        connection.execute(
            insert(RECORDS),
            {"number": added.number, "kind": kind, "body": added.body, "link": added.link},
        )
        connection.execute(update(HEAD).values(**values))
        return added

    def _analyst(self, connection: Connection, analyst: str) -> tuple[Spent, Budget | None]:
        row = connection.execute(select(ANALYSTS).where(ANALYSTS.c.name == analyst)).one_or_none()
        if row is None:
            return self._nothing, None
        most = None if row.budget is None else budget_read(json.loads(row.budget))
        return total_read(self._nothing, row.loss, row.delta), most

    def _admitted(self, own: Spent, most: Budget, request: Request) -> Spent:
        try:
            return admit_all(own, most, request.events)
        except BudgetError as error:
            raise BudgetError(f"{error} This is the analyst's own budget, under that of the data.") from None

    def _before(self, connection: Connection, head: Head, request: Request) -> Ticket | None:
        """Return the ticket of an answer that was given before, if there is one; refuse a key with another question."""
        if request.key is not None:
            row = connection.execute(select(REQUESTS).where(REQUESTS.c.name == _key(request))).one_or_none()
            if row is not None and row.digest != request.digest:
                raise RefusedError(
                    f"The request {show(request.key)} was made before with another question, other parameters or "
                    "another version of the data. Nothing was spent. Give this one another name."
                )
        for name in _names(head, request):
            number = connection.execute(select(REQUESTS.c.number).where(REQUESTS.c.name == name)).scalar()
            answer = None if number is None else self._answer(connection, number)
            if number is not None and answer is not None:
                link = connection.execute(select(RECORDS.c.link).where(RECORDS.c.number == number)).scalar_one()
                return Ticket(number=number, head=link, answer=answer)
        return None

    def _answer(self, connection: Connection, number: int) -> str | None:
        ended = connection.execute(select(CHARGES.c.ended).where(CHARGES.c.number == number)).scalar()
        body = connection.execute(select(RECORDS.c.body).where(RECORDS.c.number == ended)).scalar()
        answer = None if body is None else json.loads(body)["answer"]
        return None if answer is None else str(answer)

    def _entry(self, charged: Record, outcome: str) -> Entry:
        said = json.loads(charged.body)
        return Entry(
            number=charged.number,
            question=said["question"],
            analyst=said["analyst"],
            events=tuple(from_json(json.dumps(one)) for one in said["events"]),
            outcome=outcome,
            time=said["time"],
            total=total_read(self._nothing, said["loss"], said["delta"]),
        )


def _now(last: str, named: str) -> str:
    """Return the time, for people; it never decides anything, and never goes back."""
    now, before = datetime.now(UTC), datetime.fromisoformat(last)
    if now < before - _SET_BACK:
        raise LedgerError(
            f"This machine's clock is at {now:%Y-%m-%d %H:%M} UTC, before the last record of the ledger {named} "
            f"({before:%Y-%m-%d %H:%M}). Nothing was spent. Set the clock right, then ask again."
        )
    return max(now, before).isoformat(timespec="milliseconds")


def _added(own: Spent, before: Spent, after: Spent) -> Spent:
    """Return an analyst's total where no limit of their own is set: what the data's total grew by is added."""
    return total_read(own, own.loss + after.loss - before.loss, own.delta + after.delta - before.delta)


def _names(head: Head, request: Request) -> list[str]:
    """Return the names under which a charge can be found again."""
    names = [f"question {request.analyst}\n{head.version}\n{request.digest}"] if request.repeats else []
    return names + ([] if request.key is None else [_key(request)])


def _key(request: Request) -> str:
    return f"key {request.analyst}\n{request.key}"


def _put(connection: Connection, table: object, key: str, values: Mapping[str, object]) -> None:
    """Insert a row, or change it if it is there; under the lock of the head, so that nobody comes between."""
    column = table.c[key]  # type: ignore[attr-defined]
    changed = connection.execute(update(table).where(column == values[key]).values(**values))  # type: ignore[arg-type]
    if not changed.rowcount:
        connection.execute(insert(table), dict(values))  # type: ignore[arg-type]
