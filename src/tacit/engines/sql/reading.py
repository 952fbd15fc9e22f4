"""Readings of an engine: all statements of a reading see one state of the data, and they share one time limit.

An error of an engine may quote rows. So every error inside a reading is replaced by a constant one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import RLock
from typing import TypeVar

from tacit.engines.sql.runner import ResultRows, RunBatches, StatementParameters, StatementRunner
from tacit.engines.time_limit import TimeLimit
from tacit.errors import guarded
from tacit.query.policy.engine_settings import EngineSettings

FAILED = "The engine failed while it read the data. If the query was charged, it stays charged."
NOT_READ = "The engine failed while it read the data. Nothing was changed."
_CHECK_READING = (
    "Check that the source still exists, is unchanged and readable, and that there is enough memory. The engine's "
    "message is not shown, because it could contain data."
)

T = TypeVar("T")


class ReadingEngine(ABC):
    """An engine that reads its data in contexts; what is read in one context has one state."""

    def __init__(self, settings: EngineSettings | None = None) -> None:
        """Store the settings, such as the time limit of a reading."""
        self.settings = EngineSettings() if settings is None else settings
        self._limit: TimeLimit | None = None
        self._lock = RLock()
        self._shared: StatementRunner | None = None

    @abstractmethod
    def _reading(self) -> AbstractContextManager[StatementRunner]:
        """Return a context in which all statements see the same state of the data.

        Errors inside are raised unchanged; the caller replaces their text by a constant one.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the source."""

    def _interrupt(self) -> None:  # noqa: B027 - optional: a server may stop its statements itself
        """Stop the statement that runs, because the time of its reading is over; it then fails. Any thread may call."""

    def _seconds_left(self) -> float:
        """Return the time in seconds that the present reading has left."""
        return self.settings.timeout if self._limit is None else self._limit.left

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Let this thread read one state of the data until the context ends; other threads wait.

        Errors inside are raised unchanged. An error at the end, if the data cannot have had one state, is raised too:
        the caller must not release what it read.
        """
        with self._lock, self._reading() as run:
            self._shared = run
            try:
                yield
            finally:
                self._shared = None

    def _read(self, read: Callable[[StatementRunner], T], failed: str = FAILED, hint: str = _CHECK_READING) -> T:
        """Return what a function reads in one context; any error of the engine becomes one constant text.

        The time limit is that of this reading. It starts when no other thread reads.
        """

        def in_context() -> T:
            if self._shared is not None:
                return read(self._in_time(self._shared))
            with self._reading() as run:
                return read(self._in_time(run))

        def in_time() -> T:
            with self._lock:
                self._limit = TimeLimit(self.settings.timeout)
                try:
                    return self._limit.run(in_context, self._interrupt)
                finally:
                    self._limit = None

        return guarded(in_time, failed, hint=hint)

    def _in_time(self, run: StatementRunner) -> StatementRunner:
        """Return a runner that starts no statement after the time of its reading: an interrupt before one is lost."""

        def checked(batches: RunBatches) -> RunBatches:
            def start(sql: str, parameters: StatementParameters) -> Iterator[ResultRows]:
                self._check_time()
                return batches(sql, parameters)

            return start

        return StatementRunner(checked(run.batches), checked(run.stream))

    def _check_time(self) -> None:
        """Raise if the time of the present reading is over."""
        if not self._seconds_left():
            raise TimeoutError
