"""A DuckDB in a separate process, for SQL over tables that are already released.

    with Sandbox() as sandbox:
        sandbox.open([OuterTable("t", (("n", "integer"),), ((3, 4),))])
        sandbox.run("SELECT sum(n) FROM t")      # columns and rows, or a SandboxError

The outer part of a query runs after the charge, over released and public tables. It cannot harm privacy. But it is SQL
that somebody wrote, and it must not read files, use the network, or take the released answer with it when it runs
forever or needs too much memory. So it runs in `sandbox_worker`, which this module starts, limits and kills.

**A reply belongs to its request.** Every request has a number, and its reply repeats it. A reply with another number is
never returned. If anything stops a request before its reply is read, such as KeyboardInterrupt, the process is killed,
so no later request can read that reply.

**No request is killed for the time of earlier ones.** The limit of processor time is of the process, which many
requests share. A process that was busy for half of that time is replaced before the next use.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, Queue
from threading import RLock, Thread
from time import monotonic
from typing import Any, Self
from weakref import finalize

from tacit.errors import InternalError, TacitError
from tacit.query.expressions import Value
from tacit.query.results.outer_tables import OuterTable
from tacit.query.results.table import Table

SECONDS = 10.0
"""The time that one statement may take."""
MOST_ROWS = 100_000
"""The largest number of rows of a result."""
_MEGABYTES = 512
_CPU_SECONDS = 600
_GRACE = 2.0
_START = 30.0
_MOST_INTEGER = 2**63 - 1
_NEEDED = ("SYSTEMROOT",) if sys.platform == "win32" else ()
"""The environment variables without which Python does not start."""
_WORKER = Path(__file__).with_name("sandbox_worker.py")
_REASONS = {
    "time": "it took more than {seconds:g} seconds",
    "memory": f"it needed more than {_MEGABYTES} MB of memory",
    "size": "its result is too large",
    "rows": f"it has more than {MOST_ROWS:,} rows",
}


class SandboxError(TacitError):
    """The outer part of a query failed; the message is the reason, as the end of a sentence."""


class TooManyRowsError(SandboxError):
    """The result of the outer part of a query has more than MOST_ROWS rows."""


class Sandbox:
    """One process that runs SQL over the tables that it is given."""

    def __init__(self) -> None:
        """Start the process, without environment variables."""
        self._process = _started()
        self._replies: Queue[str] = Queue()
        Thread(target=_read_lines, args=(self._process, self._replies), daemon=True).start()
        self._end = finalize(self, _end, self._process)
        self._closed = False
        self._number = 0
        self._busy = 0.0

    @property
    def alive(self) -> bool:
        """True until the process has ended or `close` was called."""
        return not self._closed and self._process.poll() is None

    @property
    def is_worn(self) -> bool:
        """True if the process may be near its limit of processor time."""
        return self._busy > _CPU_SECONDS / 2

    def open(self, tables: Sequence[OuterTable]) -> None:
        """Hold these tables, and nothing else."""
        self._ask({"do": "open", "tables": [_record(table) for table in tables]}, _START)

    def run(self, sql: str, seconds: float = SECONDS) -> Table:
        """Return the result of a query, or raise SandboxError."""
        reply = self._ask({"do": "run", "sql": sql, "most": MOST_ROWS, "seconds": seconds}, seconds + _GRACE)
        for name, kind, type_name in reply["columns"]:
            if not kind:
                raise SandboxError(
                    f"the column {name} has the type {type_name}, which an answer cannot have",
                    hint="Cast it to a number, a text or a date.",
                )
        names, kinds = [name for name, *_ in reply["columns"]], [kind for _, kind, _ in reply["columns"]]
        rows = [tuple(_read(value) for value in row) for row in reply["rows"]]
        columns = tuple(zip(*rows, strict=True)) if rows else tuple(() for _ in names)
        return Table(tuple(names), tuple(kinds), columns)

    def run_draws(self, sql: str, count: int, seconds: float) -> list[list[tuple[Value, ...]]]:
        """Return the rows of a query for each draw, until this time has passed; or raise SandboxError."""
        request = {"do": "draws", "sql": sql, "count": count, "most": MOST_ROWS, "seconds": seconds}
        reply = self._ask(request, seconds + _GRACE)
        return [[tuple(_read(value) for value in row) for row in rows] for rows in reply["draws"]]

    def _ask(self, request: dict[str, object], seconds: float) -> dict[str, Any]:
        """Send a request and return its reply; kill the process if it takes longer or if anything interrupts it."""
        if self._closed:
            raise SandboxError("its process ended")
        self._number += 1
        start = monotonic()
        try:
            reply = self._reply({**request, "number": self._number}, seconds)
        except BaseException:  # also KeyboardInterrupt: a reply that was not read must never answer another request
            self.close()
            raise
        self._busy += monotonic() - start
        if "error" in reply:
            kind = TooManyRowsError if reply["error"] == "rows" else SandboxError
            raise kind(_reason(reply["error"], request))
        return reply

    def _reply(self, request: dict[str, object], seconds: float) -> dict[str, Any]:
        """Send a request and return its reply, which has the same number."""
        if self._process.stdin is None:
            raise InternalError("the process of the sandbox has no standard input.")
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._replies.get(timeout=seconds)
        except Empty:
            raise SandboxError(_reason("time", {"seconds": seconds, **request})) from None
        except OSError:
            line = ""
        if not line:
            raise SandboxError("its process ended: it needed too much memory or time")
        reply: dict[str, Any] = json.loads(line)
        if reply.get("number") != request["number"]:
            raise SandboxError("its process sent the reply to another request")
        return reply

    def close(self) -> None:
        """End the process."""
        self._closed = True  # first, so that a process that an interrupt leaves alive is not used again
        self._end()

    def __enter__(self) -> Self:
        """Return the sandbox."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()


@dataclass(slots=True)
class SharedSandbox:
    """A sandbox that is started when it is first used, and again if its process has ended."""

    _sandbox: Sandbox | None = None
    _lock: RLock = field(default_factory=RLock)

    @contextmanager
    def use(self) -> Iterator[Sandbox]:
        """Yield the sandbox; other threads wait."""
        with self._lock:
            if self._sandbox is None or not self._sandbox.alive or self._sandbox.is_worn:
                self.close()
                self._sandbox = Sandbox()
            yield self._sandbox

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            if self._sandbox is not None:
                self._sandbox.close()
            self._sandbox = None


def _reason(word: str, request: Mapping[str, object]) -> str:
    """Return the reason of an error of the process; its own messages are returned as they are."""
    return _REASONS[word].format(seconds=request.get("seconds")) if word in _REASONS else word


def _started() -> subprocess.Popen[str]:
    """Start the worker, or raise SandboxError."""
    found = find_spec("duckdb")
    packages = str(Path(found.origin).parents[1]) if found is not None and found.origin else ""
    command = [sys.executable or "python", "-I", str(_WORKER), packages, str(_MEGABYTES), str(_CPU_SECONDS)]
    try:
        return subprocess.Popen(  # noqa: S603 - this interpreter and our own file
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _NEEDED if name in os.environ},
            text=True,
            encoding="utf-8",
            close_fds=True,
        )
    except OSError:
        raise SandboxError("its process could not be started") from None


def _read_lines(process: subprocess.Popen[str], replies: Queue[str]) -> None:
    """Put each line of the process into the queue, and an empty one when it ends."""
    if process.stdout is not None:
        with suppress(ValueError):  # closed while it is read
            for line in process.stdout:
                replies.put(line)
    replies.put("")


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and close its streams."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # what was not sent is lost
                stream.close()


def _record(table: OuterTable) -> dict[str, object]:
    """Return a table as JSON."""
    values = [[_written(value) for value in column] for column in table.values]
    drawn = {} if table.draws is None else {"draws": list(table.draws)}
    return {"name": table.name, "columns": table.columns, "values": values, **drawn}


def _written(value: Value) -> object:
    """Return a value as JSON; an integer beyond 64 bits is clipped to their range."""
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-_MOST_INTEGER - 1, min(_MOST_INTEGER, value))
    return value


def _read(value: object) -> Value:
    match value:
        case {"timestamp": str(text)}:
            return datetime.fromisoformat(text)
        case {"date": str(text)}:
            return date.fromisoformat(text)
        case None | bool() | int() | float() | str():
            return value
    raise InternalError("the sandbox returned a value that is not of any kind.")
