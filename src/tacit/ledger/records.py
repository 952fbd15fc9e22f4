r"""Ledger records: a numbered list in which each record is chained to the one before it.

A record has a number, a kind and a body. The body is a JSON object in canonical form. Its link is

    link(n) = SHA-256(link(n-1) ‖ "\n" ‖ n ‖ "\n" ‖ kind ‖ "\n" ‖ body),  link(-1) empty.

A reader who knows one link can therefore check that no earlier record was changed, removed, added or moved. A receipt
carries the link of its charge, so an older copy of the ledger does not match it.

| kind | content |
|---|---|
| begin | the budget, its currency, the neighbour relation, the software version |
| budget | a new budget, set by the steward |
| analyst | the limit of one analyst, or of each without their own (`UNLISTED`); 0 refuses all queries |
| policy | the public facts about each table on which the guarantee depends |
| version | a new declared version of the data; with `disjoint` its units are new, and the budget starts at zero spent |
| clock | the steward's statement that the clock was wrong before, and is right now |
| size | the public number of rows or units of a table under a declared version of the data |
| charge | a query, the analyst, its events, and all totals after it |
| outcome | the outcome of a charge, and the answer |
| seal | the ledger was moved: the place of the new ledger, and the token that is reserved there |
| moved | the ledger continues here after a seal |

The module `state` has the rules: when a record is valid, and what it changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, TypeAlias

from tacit.errors import bad_value, show_name
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import Budget, Spent, limit, start
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.ledger.policies import RecordedPolicy

OLDEST_FORMAT, FORMAT = 2, 3
"""The oldest and the newest version of the record format that this version of tacit reads.

Format 3 has the kinds `seal` and `moved`. A ledger has the least format that has all its records: one that was never
moved stays in format 2, and older versions of tacit can use it. They refuse format 3, so they cannot charge a ledger
that is sealed.
"""

PENDING = "pending"
"""The outcome of a charge that has not ended, or whose process was killed."""

ANSWERED = "answered"
"""The outcome of a charge whose query got its answer."""

FAILED = "failed"
"""The outcome of a charge whose query failed afterwards; it stays charged."""

SEAL, MOVED = "seal", "moved"
"""The kinds of records that end a ledger at one place and continue it at another."""

UNLISTED = "\n*"
"""The account with the limit of each analyst who is not listed. No analyst's name has a line break."""

_AMOUNT = re.compile(r"-?[0-9]+(/[0-9]+)?")

RecordBody: TypeAlias = Mapping[str, object]
"""The JSON object of a record, parsed."""


class WrongRecordError(Exception):
    """A record that no ledger writes, and the reason."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it is stored."""

    number: int
    kind: str
    body: str
    link: str

    @property
    def fields(self) -> dict[str, Any]:
        """The body, parsed."""
        parsed = json.loads(self.body)
        if not isinstance(parsed, dict):
            raise TypeError("the body of a record is not an object")
        return parsed


def record(number: int, kind: str, body: RecordBody, previous: str) -> Record:
    """Return the record that follows the one with the link `previous`."""
    text = canonical(body)
    return Record(number, kind, text, link_of(previous, number, kind, text))


def link_of(previous: str, number: int, kind: str, body: str) -> str:
    """Return the link of a record. Bytes that are not UTF-8, as in a damaged file, are hashed unchanged."""
    return sha256(f"{previous}\n{number}\n{kind}\n{body}".encode("utf-8", "surrogateescape")).hexdigest()


def canonical(body: RecordBody) -> str:
    """Return JSON in canonical form: sorted keys, no spaces, ASCII only, so that every database stores it unchanged.

    >>> canonical({"b": "ε", "a": None}) == '{"a":null,"b":"' + chr(92) + 'u03b5"}'
    True
    """
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def encode_budget(budget: Budget) -> dict[str, str]:
    """Return the exact numbers of a budget; raise InvalidError for a currency that ledgers do not support.

    >>> encode_budget(ApproxDP(epsilon=0.5, delta=1e-6))
    {'currency': 'basic', 'loss': '1/2', 'delta': '1/1000000'}
    """
    most = limit(budget)
    if most.currency not in ("basic", "zcdp"):
        raise bad_value("budget", budget, "a PureDP, an ApproxDP, a ZCDP or an ApproxZCDP")
    return {"currency": most.currency, "loss": str(most.loss), "delta": str(most.delta)}


def stored_amount(text: object) -> Fraction:
    """Return a rational that a ledger wrote, "a" or "a/b"; raise ValueError or ZeroDivisionError for anything else.

    `Fraction` would also read "1e99999999", which is a few bytes in a damaged ledger and a number of 40 MB in memory.
    """
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        raise ValueError("not an amount")
    return Fraction(text)


def decode_budget(numbers: Mapping[str, object]) -> Budget:
    """Return the budget that `encode_budget` wrote, or raise ValueError.

    >>> decode_budget({"currency": "zcdp", "loss": "1/2", "delta": "0"})
    ZCDP(rho=0.5)
    """
    loss, delta = (Exact(stored_amount(numbers[part])) for part in ("loss", "delta"))
    match numbers["currency"]:
        case "basic":
            return ApproxDP(epsilon=loss, delta=delta) if delta else PureDP(epsilon=loss)
        case "zcdp":
            return ApproxZCDP(rho=loss, delta=delta) if delta else ZCDP(rho=loss)
    raise ValueError("a ledger has no such currency")


def budget_like(budget: Budget, loss: Fraction, delta: Fraction) -> Budget:
    """Return a budget of the same kind with other amounts.

    >>> budget_like(ApproxDP(epsilon=1, delta=0.5), Fraction(1, 4), Fraction(0))
    ApproxDP(epsilon=0.25, delta=0.0)
    """
    match budget:
        case PureDP():
            return PureDP(epsilon=Exact(loss))
        case ApproxDP():
            return ApproxDP(epsilon=Exact(loss), delta=Exact(delta))
        case ZCDP():
            return ZCDP(rho=Exact(loss))
        case _:
            return ApproxZCDP(rho=Exact(loss), delta=Exact(delta))


def left_of(budget: Budget, spent: Spent) -> Budget:
    """Return what is left of a budget or of an analyst's limit; nothing if the limit is below what is spent."""
    most, zero = limit(budget), Fraction(0)
    return budget_like(budget, max(most.loss - spent.loss, zero), max(most.delta - spent.delta, zero))


def left_under(budget: Budget, spent: Spent, own_limit: Budget, spent_by: Spent) -> Budget:
    """Return what an analyst has left: the lesser of the rests of the budget and of the analyst's limit.

    >>> nothing = start(PureDP(epsilon=1))
    >>> left_under(PureDP(epsilon=1), nothing, PureDP(epsilon=0.5), nothing)
    PureDP(epsilon=0.5)
    """
    rests = [limit(left_of(budget, spent)), limit(left_of(own_limit, spent_by))]
    return budget_like(budget, min(rest.loss for rest in rests), min(rest.delta for rest in rests))


def described_analyst(analyst: str) -> str:
    """Return whose limit an account has, for messages.

    >>> described_analyst("ann"), described_analyst(UNLISTED)
    ("analyst 'ann'", 'each unlisted analyst')
    """
    return "each unlisted analyst" if analyst == UNLISTED else f"analyst {show_name(analyst)}"


def decode_total(nothing: Spent, loss: object, delta: object) -> Spent:
    """Return a total in the currency of an empty one."""
    return replace(nothing, loss=stored_amount(loss), delta=stored_amount(delta))


class Account(NamedTuple):
    """The total that one analyst has spent, and the analyst's limit if there is one."""

    spent: Spent
    limit: Budget | None

    def row(self, analyst: str) -> dict[str, object]:
        """Return the row of the table `tacit_analysts`."""
        budget = None if self.limit is None else canonical(encode_budget(self.limit))
        return {"name": analyst, "loss": str(self.spent.loss), "delta": str(self.spent.delta), "budget": budget}


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The state of a ledger after its last record.

    `since` is the number of the record with which the current budget started: 0, or the last disjoint version.
    `moved_to` is the place of the new ledger if this one is sealed, else empty. `format` is that of all its records.
    """

    number: int
    link: str
    spent: Spent
    budget: Budget
    policy: RecordedPolicy
    version: str
    since: int
    time: str
    moved_to: str = ""
    format: int = OLDEST_FORMAT

    @classmethod
    def begin(cls, budget: Budget, neighbours: Neighbours) -> Head:
        """Return the head of a ledger in which nothing was spent."""
        nothing = start(budget, neighbours)
        return cls(number=0, link="", spent=nothing, budget=budget, policy={}, version="", since=0, time="")

    @property
    def nothing(self) -> Spent:
        """An empty total in the ledger's currency."""
        return replace(self.spent, loss=Fraction(0), delta=Fraction(0))

    def row(self) -> dict[str, object]:
        """Return the row of the table `tacit_head`."""
        return {
            "place": 1,
            "format": self.format,
            "number": self.number,
            "link": self.link,
            "loss": str(self.spent.loss),
            "delta": str(self.spent.delta),
            "budget": canonical(encode_budget(self.budget)),
            "neighbours": self.spent.neighbours,
            "policy": canonical(self.policy),
            "version": self.version,
            "since": self.since,
            "time": self.time,
        }


class Tables(Protocol):
    """The state of a ledger beside its head: analysts, charges and requests, by name or number."""

    @property
    def name(self) -> str:
        """The name of the ledger in messages."""

    def account(self, analyst: str, nothing: Spent) -> Account:
        """Return the account of an analyst; an analyst without a record has spent `nothing`."""

    def set_account(self, analyst: str, account: Account) -> None:
        """Store the account of an analyst."""

    def reset_accounts(self, nothing: Spent) -> None:
        """Set what each analyst has spent to zero; limits stay."""

    def outcome(self, charge: int) -> str | None:
        """Return the outcome of a charge, or None if there is no such charge."""

    def set_outcome(self, charge: int, outcome: str, record: int | None) -> None:
        """Store the outcome of a charge and the number of its record."""

    def charged_after(self, number: int) -> bool:
        """Return whether there is a charge after a record."""

    def request(self, name: str) -> tuple[int, str] | None:
        """Return the number and the digest of the latest record with a request name."""

    def set_request(self, name: str, number: int, digest: str) -> None:
        """Store the number and the digest under a request name."""


@dataclass(slots=True)
class MemoryTables:
    """The tables in memory."""

    name: str
    accounts: dict[str, Account] = field(default_factory=dict)
    charges: dict[int, tuple[str, int | None]] = field(default_factory=dict)
    requests: dict[str, tuple[int, str]] = field(default_factory=dict)

    def account(self, analyst: str, nothing: Spent) -> Account:
        """Return the account of an analyst."""
        return self.accounts.get(analyst) or Account(nothing, None)

    def set_account(self, analyst: str, account: Account) -> None:
        """Store the account of an analyst."""
        self.accounts[analyst] = account

    def reset_accounts(self, nothing: Spent) -> None:
        """Set what each analyst has spent to zero."""
        self.accounts = {name: Account(nothing, account.limit) for name, account in self.accounts.items()}

    def outcome(self, charge: int) -> str | None:
        """Return the outcome of a charge."""
        return self.charges.get(charge, (None, None))[0]

    def set_outcome(self, charge: int, outcome: str, record: int | None) -> None:
        """Store the outcome of a charge."""
        self.charges[charge] = outcome, record

    def charged_after(self, number: int) -> bool:
        """Return whether there is a charge after a record; charges are stored in order."""
        return next(reversed(self.charges), -1) > number

    def request(self, name: str) -> tuple[int, str] | None:
        """Return the latest record with a request name."""
        return self.requests.get(name)

    def set_request(self, name: str, number: int, digest: str) -> None:
        """Store a request."""
        self.requests[name] = number, digest

    def rows(self, head: Head) -> dict[str, list[dict[str, object]]]:
        """Return the rows of all derived tables of a SQL ledger in this state."""
        return {
            "tacit_head": [head.row()],
            "tacit_analysts": [account.row(name) for name, account in self.accounts.items()],
            "tacit_charges": [
                {"number": number, "outcome": outcome, "ended": record}
                for number, (outcome, record) in self.charges.items()
            ],
            "tacit_requests": [
                {"name": name, "number": number, "digest": digest} for name, (number, digest) in self.requests.items()
            ],
        }


def query_name(analyst: str, version: str, digest: str) -> str:
    """Return the name of a repeatable query in `tacit_requests`. Analysts and versions have no line breaks."""
    return f"question {analyst}\n{version}\n{digest}"


def key_name(analyst: str, key: str) -> str:
    """Return the name of an analyst's request key in `tacit_requests`."""
    return f"key {analyst}\n{key}"


def version_name(version: str) -> str:
    """Return the name of a declared version of the data in `tacit_requests`."""
    return f"version {version}"


def size_name(version: str, table: str) -> str:
    """Return the name of a table's public size in `tacit_requests`. SQL ignores the case of table names."""
    return f"size {version}\n{table.strip().casefold()}"
