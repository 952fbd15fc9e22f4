"""200 analysts at one server: each plans every 5 s and asks every 20 s; writes a section of RESULTS.md.

python bench/workbench_load.py [--seconds 60] [--analysts 200] [--workers 2]

It starts `tacit serve` on a made-up survey of 7,200 rows in DuckDB with a ledger in SQLite, adds the analysts, and
loads the server from this process through kept connections. At the end it compares the ledger with the answers: every
answer is one charge, and the budget spent is their sum, exactly. The engine time is the median time of reading the
same question in an idle process. Latencies are wall-clock times on a machine that client and server share.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from report import Verdict, machine, table, verdict_table, write_section

import tacit as tc
from tacit.cli.demo import write_survey
from tacit.web import people
from tacit.web.credentials import make_token
from tacit.web.store import WebStore

COST = 0.001
POLICY = """\
budget = { epsilon = 1000.0 }
ledger = "survey.ledger"
[tables.survey]
source = "survey.csv"
unit = "person_id"
reach = 2
[tables.survey.columns]
region = { keys = ["north", "south", "east", "west"] }
age = { type = "integer", bounds = [18, 95] }
income = { type = "real", bounds = [0, 200_000] }
"""
QUESTIONS = (
    "SELECT region, count(*) AS n FROM survey GROUP BY region",
    "SELECT region, avg(income) AS income FROM survey GROUP BY region",
    "SELECT count(*) AS n FROM survey WHERE age >= 65",
    "SELECT sum(income) AS income FROM survey WHERE region = 'north'",
)

TEXT = """\
## The workbench under load

{analysts} analysts at one `tacit serve` with {workers} workers, for {seconds:g} s: each sends a plan every 5 s and a
question every 20 s. The survey has 7,200 rows in DuckDB, the ledger is a SQLite file. The server and the client that
sends the requests share the machine; its load was {load:.1f} at the end. Answers leave at multiples of 250 ms. Every
answer costs ε = {cost:g}. The engine alone takes {engine:.1f} ms for a question (median, in an idle process).

{verdicts}

{times}

Statuses: {statuses}. The ledger has {charges:,} charges, ε = {spent:g} in all. The server used {server:.1f} s of
processor time, with its start.

{machine}"""


@dataclass
class Seen:
    """Latencies in seconds, statuses, and the charges that answers name."""

    plans: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    records: list[int] = field(default_factory=list)


class Client:
    """One analyst: a kept connection and a token."""

    def __init__(self, port: int, token: str) -> None:
        """Store where to connect."""
        self._port, self._token = port, token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: dict[str, object], key: str = "") -> tuple[int, bytes]:
        """Send a request on the connection, and return the status and the body of the response."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        content = json.dumps(body).encode()
        head = (
            f"POST /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
            + (f"Idempotency-Key: {key}\r\n" if key else "")
            + "\r\n"
        )
        writer.write(head.encode() + content)
        await writer.drain()
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:"))
        return int(lines[0].split()[1]), await reader.readexactly(length)

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()


async def analyst(number: int, port: int, token: str, until: float, seen: Seen) -> None:
    """Plan every 5 s and ask every 20 s until the end."""
    client, clock = Client(port, token), random.Random(number)  # noqa: S311 - offsets of a load test
    start = time.monotonic()
    next_plan, next_question, count = start + clock.uniform(0, 5), start + clock.uniform(0, 20), 0
    while min(next_plan, next_question) < until:
        is_plan = next_plan <= next_question
        await asyncio.sleep(max(0.0, min(next_plan, next_question) - time.monotonic()))
        body: dict[str, object] = {"sql": clock.choice(QUESTIONS), "epsilon": COST}
        began = time.perf_counter()
        if is_plan:
            next_plan += 5
            status, _ = await client.post("/datasets/survey/plans", body)
            seen.plans.append(time.perf_counter() - began)
        else:
            next_question, count = next_question + 20, count + 1
            status, content = await client.post("/datasets/survey/answers", body, f"load-{count}")
            seen.answers.append(time.perf_counter() - began)
            if status == 200:
                seen.records.append(int(json.loads(content)["record"]))
        seen.statuses[status] += 1
    client.close()


async def load(port: int, tokens: list[str], seconds: float) -> Seen:
    """Run all analysts."""
    seen, until = Seen(), time.monotonic() + seconds
    await asyncio.gather(*(analyst(number, port, token, until, seen) for number, token in enumerate(tokens)))
    return seen


def engine_seconds(policy: Path) -> float:
    """Return the median seconds of reading a question from the engine, in an idle process; nothing is charged."""
    from tacit.engines.sql.engine import StatementEngine  # noqa: PLC0415 - beside its use

    spent: list[float] = []
    original = StatementEngine.measure

    def timed(self: StatementEngine, *args: object, **options: object) -> object:
        began = time.perf_counter()
        try:
            return original(self, *args, **options)  # type: ignore[arg-type]
        finally:
            spent.append(time.perf_counter() - began)

    StatementEngine.measure = timed  # type: ignore[method-assign, assignment]
    source = policy.with_name("survey.csv")
    terms = {"unit": "person_id", "reach": 2, "bounds": {"income": (0, 200_000), "age": (18, 95)}}
    kinds = {"income": "real", "age": "integer"}
    keys = {"region": ["north", "south", "east", "west"]}
    with tc.open(source, keys=keys, types=kinds, budget=tc.PureDP(epsilon=10), **terms) as db:  # type: ignore[arg-type]
        for _ in range(5):
            for question in QUESTIONS:
                db.sql(question, epsilon=COST)
    StatementEngine.measure = original  # type: ignore[method-assign]
    return statistics.median(spent)


def prepared(folder: Path, analysts: int) -> tuple[Path, list[str]]:
    """Write the policy and add the analysts; return the policy and their tokens."""
    write_survey(folder)
    policy = folder / "survey.toml"
    policy.write_text(POLICY, encoding="utf-8")
    tc.open(str(policy)).close()
    store = WebStore(str(folder / "survey.ledger"))
    tokens = []
    for number in range(analysts):
        people.add(store, f"analyst{number}", "analyst")
        tokens.append(make_token(store, f"analyst{number}")[1])
    store.close()
    return policy, tokens


def started(policy: Path, workers: int, log: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start the server, and return it with its port when it answers."""
    with log.open("wb") as stream:
        command = [sys.executable, "-m", "tacit", "serve", str(policy), "--port", "0", "--workers", str(workers)]
        server = subprocess.Popen(command, stdout=stream, stderr=stream)
    for _ in range(600):
        found = re.search(r"Serving on http://127\.0\.0\.1:(\d+)", log.read_text("utf-8"))
        if found and _ready(int(found[1])):
            return server, int(found[1])
        time.sleep(0.1)
    raise SystemExit(log.read_text("utf-8"))


def _ready(port: int) -> bool:
    from urllib.request import urlopen  # noqa: PLC0415 - beside its use

    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def percentile(values: list[float], share: float) -> float:
    """Return the value below which a share of the values is, in milliseconds."""
    return 1000 * sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def main() -> None:
    """Run the load and print what was measured."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--analysts", type=int, default=200)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    with TemporaryDirectory() as name:
        policy, tokens = prepared(Path(name), given.analysts)
        engine = engine_seconds(policy)
        server, port = started(policy, given.workers, Path(name) / "serve.log")
        time.sleep(5)  # until every worker has opened the policy
        seen = asyncio.run(load(port, tokens, given.seconds))
        server.terminate()
        server.wait(60)
        with tc.open(str(policy)) as db:
            entries, spent = db.ledger.entries(), db.ledger.spent.loss
            exact = spent == len(entries) * Fraction(repr(COST))
            holds = tc.ledger.verify(db.ledger).holds
    _report(given, engine, seen, [each.number for each in entries], float(spent), holds=holds and exact)


def _report(
    given: argparse.Namespace, engine: float, seen: Seen, charged: list[int], spent: float, *, holds: bool
) -> None:
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
    server = cpu.ru_utime + cpu.ru_stime
    same = sorted(seen.records) == sorted(charged)
    failures = sum(count for status, count in seen.statuses.items() if status >= 500)
    late = percentile(seen.answers, 0.95) - 1000 * engine
    plan = percentile(seen.plans, 0.95)
    verdicts = [
        Verdict("responses with a status of 5xx", "0", str(failures), failures == 0),
        Verdict("budget: charges without an answer, and answers without a charge", "0", "0" if same else "some", same),
        Verdict(
            "budget: spent is the sum of the charges, and the ledger verifies", "yes", "yes" if holds else "no", holds
        ),
        Verdict("plans, p95", "< 200 ms", f"{plan:.0f} ms", plan < 200),
        Verdict("answers, p95 of the time without the engine", "≤ 500 ms", f"{late:.0f} ms", late <= 500),
    ]
    rows = [
        [name, f"{len(times):,}", f"{percentile(times, 0.5):.0f} ms", f"{percentile(times, 0.95):.0f} ms"]
        for name, times in (("plans", seen.plans), ("answers", seen.answers))
    ]
    text = TEXT.format(
        analysts=given.analysts,
        seconds=given.seconds,
        workers=given.workers,
        load=os.getloadavg()[0],
        statuses=", ".join(f"{count:,} of {status}" for status, count in sorted(seen.statuses.items())),
        engine=1000 * engine,
        server=server,
        spent=spent,
        charges=len(charged),
        cost=COST,
        verdicts=verdict_table(verdicts),
        times=table(["requests", "number", "median", "p95"], rows),
        machine=machine({name: version(name) for name in ("fastapi", "uvicorn", "duckdb", "tacit")}),
    )
    write_section("workbench", text)
    print(text)


if __name__ == "__main__":
    main()
