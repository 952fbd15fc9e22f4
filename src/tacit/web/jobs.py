"""The threads that answer questions, and the beat by which other workers know that this one lives."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock, Thread
from typing import TypeVar

from tacit.errors import TacitError
from tacit.web import questions
from tacit.web.problems import Problem
from tacit.web.store import WebStore

LOGGER = logging.getLogger("tacit.web")
BEAT_EVERY = 5.0

T = TypeVar("T")


class Workshop:
    """The threads of one worker that answer questions, apart from those that plan: a slow source blocks no plan."""

    def __init__(self, store: WebStore, threads: int, waiting: int) -> None:
        """Start the beat; threads start when they are needed."""
        self.worker = secrets.token_hex(8)
        self._store, self._most = store, threads + waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tacit-question")
        self._count, self._active, self._lock = 0, set[str](), Lock()
        self.stopping = Event()
        self._beat = Thread(target=self._beat_always, name="tacit-beat", daemon=True)
        self._beat.start()

    @property
    def busy(self) -> int:
        """The number of questions that wait or are being answered."""
        return self._count

    async def run(self, work: Callable[[], T]) -> T:
        """Do work in a thread and return its result; raise the problem 503 if too many wait."""
        self._enter()
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._done, work)

    def start(self, work: Callable[[], object]) -> None:
        """Do work in a thread, and return at once."""
        self._enter()
        self._pool.submit(self._done, work)

    def _enter(self) -> None:
        with self._lock:
            if self._count >= self._most or self.stopping.is_set():
                raise Problem(
                    503, "busy", "Too many questions are waiting.", hint="Try again.", headers={"Retry-After": "5"}
                )
            self._count += 1

    def _done(self, work: Callable[[], T]) -> T:
        try:
            return work()
        finally:
            with self._lock:
                self._count -= 1

    def track(self, question: str) -> None:
        """Beat for a question until `untrack`."""
        with self._lock:
            self._active.add(question)

    def untrack(self, question: str) -> None:
        """Beat for a question no more."""
        with self._lock:
            self._active.discard(question)

    def _beat_always(self) -> None:
        while not self.stopping.wait(BEAT_EVERY):
            with self._lock:
                active = list(self._active)
            if active:
                try:
                    questions.beat(self._store, active)
                except TacitError:
                    LOGGER.warning("the beat could not be written")

    def stop(self) -> None:
        """Take no more work, drop what waits, and wait for what runs."""
        self.stopping.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._beat.join()
