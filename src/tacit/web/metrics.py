"""Numbers for a monitoring server, in Prometheus' text format: questions, refusals, seconds, and the budget left.

Each worker counts in its memory and writes its counters into the database every few seconds, so that one scrape sees
all workers. Seconds are measured after the quantum, so they tell no more about the data than the responses did.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select, update

from tacit import activity
from tacit.errors import TacitError
from tacit.ledger import history
from tacit.query.formatting import amounts
from tacit.web.store import WebStore, now
from tacit.web.tables import COUNTERS

if TYPE_CHECKING:
    from tacit.web.credentials import Person
    from tacit.web.datasets import Datasets

LOGGER = logging.getLogger("tacit.web.request")
WRITE_EVERY = 10.0
_FORGET_AFTER = 3600
_BUCKETS = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class Metrics:
    """The counters of one worker."""

    def __init__(self, store: WebStore, worker: str) -> None:
        """Start to write the counters into the database."""
        self._store, self._worker = store, worker
        self._counts: Counter[str] = Counter()
        self._lock, self._stopping = Lock(), Event()
        self._written: Mapping[str, float] = {}
        self._thread = Thread(target=self._write_always, name="tacit-counters", daemon=True)
        self._thread.start()

    def note(self, method: str, path: str, status: int, seconds: float, person: Person | None) -> None:
        """Count a request, and log it in one line. `path` is that of the route, without what the caller wrote."""
        place = f'method="{method}",path="{path}"'
        with self._lock:
            self._counts[f'tacit_requests_total{{{place},status="{status}"}}'] += 1
            self._counts[f"tacit_request_seconds_sum{{{place}}}"] += seconds  # type: ignore[assignment]  # a float
            self._counts[f"tacit_request_seconds_count{{{place}}}"] += 1
            for edge in (*(each for each in _BUCKETS if seconds <= each), "+Inf"):
                self._counts[f'tacit_request_seconds_bucket{{{place},le="{edge}"}}'] += 1
        LOGGER.info(
            "request",
            extra={
                "facts": {
                    "method": method,
                    "path": path,
                    "status": status,
                    "ms": round(seconds * 1000),
                    "person": "" if person is None else person.name,
                }
            },
        )

    def note_question(self, dataset: str, outcome: str) -> None:
        """Count the end of a question."""
        with self._lock:
            self._counts[f'tacit_questions_total{{dataset="{_escaped(dataset)}",outcome="{_escaped(outcome)}"}}'] += 1

    def stop(self) -> None:
        """Write the counters a last time."""
        self._stopping.set()
        self._thread.join()
        self._write()

    def _now(self) -> dict[str, float]:
        with self._lock:
            counts: dict[str, float] = dict(self._counts)
        return counts | {f'tacit_events_total{{kind="{kind}"}}': n for kind, n in activity.counters().items()}

    def _write_always(self) -> None:
        while not self._stopping.wait(WRITE_EVERY):
            self._write()

    def _write(self) -> None:
        counts = self._now()
        if counts == self._written:
            return
        row = {"time": now(), "counts": json.dumps(counts)}
        try:
            with self._store.writing() as connection:
                connection.execute(delete(COUNTERS).where(COUNTERS.c.time < now() - _FORGET_AFTER))
                mine = COUNTERS.c.worker == self._worker
                if connection.execute(update(COUNTERS).where(mine).values(**row)).rowcount == 0:
                    connection.execute(insert(COUNTERS).values(worker=self._worker, **row))
            self._written = counts
        except TacitError:
            LOGGER.warning("the counters could not be written")

    def text(self, datasets: Datasets, busy: int) -> str:
        """Return the counters of all workers, and what is left of each budget."""
        with self._store.reading() as connection:
            rows = connection.execute(select(COUNTERS)).all()
        counts = {row.worker: json.loads(row.counts) for row in rows} | {self._worker: self._now()}
        lines = list(_counter_lines(counts))
        lines += ["# TYPE tacit_questions_in_progress gauge", f"tacit_questions_in_progress {busy}"]
        lines += ["# TYPE tacit_budget gauge", *_budget_lines(datasets)]
        return "\n".join(lines) + "\n"


def _counter_lines(counts: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Yield every counter of every worker under its name."""
    named: dict[str, list[str]] = {}
    for worker, each in counts.items():
        for series, value in each.items():
            name, _, labels = series.partition("{")
            named.setdefault(name, []).append(f'{name}{{worker="{worker}",{labels} {value:g}')
    histogram = "tacit_request_seconds"
    for name in sorted(named):
        if not name.startswith(histogram):
            yield f"# TYPE {name} counter"
            yield from sorted(named[name])
    yield f"# TYPE {histogram} histogram"
    for name in sorted(each for each in named if each.startswith(histogram)):
        yield from named[name]


def _budget_lines(datasets: Datasets) -> Iterator[str]:
    for name, dataset in datasets.items():
        with dataset.use() as one:
            left, budget = amounts(history.left(one.ledger)), amounts(one.ledger.budget)
        for kind, each in (("left", left), ("budget", budget)):
            for unit, value in each.items():
                labels = f'dataset="{_escaped(name)}",kind="{kind}",unit="{unit}"'
                yield f"tacit_budget{{{labels}}} {value!r}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
