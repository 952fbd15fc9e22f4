"""The readers of stored text: events, ledger records, exports, receipts, recorded answers, classifiers.

The first byte chooses the reader; the rest is what it reads.

| byte | input |
|---|---|
| e | an event |
| r | the records of a ledger: on each line a kind, a space and a body; the links are computed |
| b | the lines of an exported ledger |
| c | a receipt, which is checked against a ledger |
| h | the derived tables of a ledger: an object of tables, each an object of columns |
| a | the recorded answer to a query |
| d | the recorded answer to a query that computes with private aggregates |
| l | the recorded answer to a query whose limits are chosen |
| m | the content of a classifier; its checksum is computed |
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from hashlib import sha256
from typing import Literal

import tacit as tc
from fuzz.rule import Refusal, folder, require, value_or_refusal
from tacit.cli import ledger as ledger_commands
from tacit.database import Database
from tacit.guarantees.events import PureRelease, from_json, to_json
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import Budget, admit, start
from tacit.json_forms import answer_json
from tacit.learn import model_file
from tacit.ledger import Request, Ticket
from tacit.ledger.backup import read_lines
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.open_ledger import open_ledger, read_ledger
from tacit.ledger.records import Record, link_of
from tacit.ledger.replay import replay, verify
from tacit.quotes import SessionQuote

BUDGETS: tuple[Budget, ...] = (tc.ApproxDP(epsilon=1, delta=0.5), tc.ZCDP(rho=1))
ONE = tc.PureDP(epsilon=1)
QUERY = "SELECT region, count(*) AS n, avg(x) AS x, median(x) AS m FROM survey GROUP BY region"
DERIVED = "SELECT n * 2 AS twice FROM (SELECT region, count(*) AS n FROM survey GROUP BY region)"
ROWS = {"person": [1, 2, 3, 4], "region": ["n", "s", "n", "s"], "x": [1.0, 2.0, 3.0, 4.0]}
COLUMNS = frozenset({"format", "number", "link", "loss", "delta", "budget", "neighbours", "policy", "version", "since"}
                    | {"time", "name", "outcome", "ended", "digest", "kind", "body"})  # fmt: skip


class RecordedLedger(MemoryLedger):
    """A ledger that has the same recorded answer to every query."""

    def __init__(self) -> None:
        super().__init__(tc.PureDP(epsilon=1e9), "add/remove")
        self.text = ""

    def recorded(self, request: Request) -> Ticket | None:
        """Return the recorded answer."""
        del request
        return Ticket(number=1, head="", answer=self.text)


@cache
def recorded_database() -> tuple[Database, RecordedLedger]:
    """Return a database whose ledger has an answer to every query, and that ledger."""
    ledger = RecordedLedger()
    opened = tc.open(
        ROWS,
        name="survey",
        unit="person",
        max_groups=1,
        max_rows=2,
        reach=2,
        bounds={"x": (0, 8)},
        keys={"region": ["n", "s"]},
        budget=tc.PureDP(epsilon=1e9),
        ledger=ledger,
        threads=1,
    )
    return opened, ledger


@cache
def ledger_bytes() -> bytes:
    """Return a ledger file with a charge, its answer and an analyst."""
    path = folder() / "first.ledger"
    ledger = open_ledger(str(path), ONE, "add/remove", analysts={"ann": tc.PureDP(epsilon=0.5)})
    request = Request(question="q", events=(PureRelease(epsilon=Exact(0.1).fraction),), digest="d", repeats=True)
    ledger.finish(ledger.charge(request).number, "answered", "[]")
    ledger.close()
    return path.read_bytes()


def check(data: bytes) -> None:
    """Read an input with the reader that its first byte chooses."""
    reader = _READERS.get(data[:1])
    if reader is not None:
        reader(data[1:].decode("utf-8", "surrogateescape"))


def _event(text: str) -> None:
    event = value_or_refusal(lambda: from_json(text), given=text)
    if isinstance(event, Refusal):
        return
    require(from_json(to_json(event)) == event, "An event that is written and read is not the same.")
    for budget in BUDGETS:
        value_or_refusal(lambda budget=budget: admit(start(budget, "add/remove"), budget, event))  # type: ignore[misc]


def _records(text: str) -> None:
    def chained() -> Iterator[Record]:
        link = ""
        for number, line in enumerate(text.split("\n")):
            kind, _, body = line.partition(" ")
            link = link_of(link, number, kind, body)
            yield Record(number, kind, body, link)

    _check_replay(lambda: list(chained()), text)


def _export(text: str) -> None:
    _check_replay(lambda: read_lines(text.splitlines()), text)


def _check_replay(read: Callable[[], list[Record]], text: str) -> None:
    """Check that records are valid, or that the report on them has a reason."""
    records = value_or_refusal(read, given=text)
    if isinstance(records, Refusal):
        return
    replayed = value_or_refusal(lambda: replay(records, "in the copy"), given=text)
    require(not isinstance(replayed, Refusal), "A wrong record has no report.")
    if not isinstance(replayed, Refusal):
        state, report = replayed
        require(report.holds == (state is not None) and str(report), "The report on a ledger has no reason.")
        if state is not None:
            value_or_refusal(state.rows, given=text)


@contextmanager
def _stored(tables: Mapping[str, object]) -> Iterator[str]:
    """Yield the path of a ledger file, some columns of whose tables have other values."""
    path = folder() / "stored.ledger"
    for old in path.parent.glob("stored.ledger*"):
        old.unlink()
    path.write_bytes(ledger_bytes())
    with closing(sqlite3.connect(path)) as connection:
        for table, columns in tables.items():
            if table not in ("tacit_head", "tacit_analysts", "tacit_charges", "tacit_requests", "tacit_records"):
                continue
            for column, value in columns.items() if isinstance(columns, dict) else ():
                stored = value if isinstance(value, (str, int, float, type(None))) else json.dumps(value)
                if column in COLUMNS:
                    with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
                        connection.execute(f"UPDATE {table} SET {column} = ?", [stored])  # noqa: S608 - both are listed
        connection.commit()
    yield str(path)


def _derived_tables(text: str) -> None:
    try:
        tables = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(tables, dict):
        return
    with _stored(tables) as path:
        value_or_refusal(lambda: _read_all(path), given=text + path)
        value_or_refusal(lambda: _charge_again(path), given=text + path)


def _read_all(path: str) -> None:
    ledger = read_ledger(path)
    try:
        for read in (ledger.entries, lambda: ledger.spent_by("ann"), lambda: ledger.limit_of("ann"),
                     lambda: str(verify(ledger))):  # fmt: skip
            value_or_refusal(read, given=path)
    finally:
        ledger.close()


def _charge_again(path: str) -> None:
    ledger = open_ledger(path, ONE, "add/remove")
    try:
        request = Request(question="q", events=(PureRelease(epsilon=Exact(0.1).fraction),), digest="d", repeats=True)
        ledger.finish(ledger.charge(request).number, "answered", "[]")
    finally:
        ledger.close()


def _receipt(text: str) -> None:
    path = folder() / "receipt.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    receipt = value_or_refusal(lambda: ledger_commands._read_receipt(str(path)), given=text + str(path))
    if isinstance(receipt, Refusal):
        return
    with _stored({}) as stored:
        ledger = read_ledger(stored)
        try:
            value_or_refusal(lambda: str(verify(ledger, [receipt])), given=text + stored)
        finally:
            ledger.close()


@cache
def _quote(query: str, reach: Literal["auto"] | None) -> SessionQuote:
    return recorded_database()[0].plan(query, epsilon=1, reach=reach)


def _answer(text: str, query: str = QUERY, reach: Literal["auto"] | None = None) -> None:
    opened, ledger = recorded_database()
    ledger.text = text
    answer = value_or_refusal(lambda: opened.session.answer(_quote(query, reach), "r"), given=text)
    if not isinstance(answer, Refusal):
        value_or_refusal(lambda: (str(answer), repr(answer), json.dumps(answer_json(answer))), given=text)


def _model(text: str) -> None:
    content: object = text
    with suppress(ValueError, RecursionError):
        content = json.loads(text)
    written = json.dumps(content, sort_keys=True, separators=(",", ":"))
    path = folder() / "model.json"
    file = {"model": content, "sha256": sha256(written.encode()).hexdigest()}
    path.write_text(json.dumps(file), encoding="utf-8")
    model = value_or_refusal(lambda: model_file.load(path), given=text + str(path))
    if not isinstance(model, Refusal):
        value_or_refusal(lambda: (str(model), repr(model)), given=text)
        again = value_or_refusal(lambda: model_file.content_of(model), given=text)
        require(not isinstance(again, Refusal), "A classifier cannot be written.")


_READERS: Mapping[bytes, Callable[[str], None]] = {
    b"e": _event,
    b"r": _records,
    b"b": _export,
    b"c": _receipt,
    b"h": _derived_tables,
    b"a": _answer,
    b"d": lambda text: _answer(text, DERIVED),
    b"l": lambda text: _answer(text, "SELECT count(*) AS n FROM survey", "auto"),
    b"m": _model,
}
