"""The time limit of one reading: a thread interrupts the engine when the time is over.

A reading runs several statements. An interrupt between two of them is lost, so the thread interrupts again and again
until the reading ends. Any failure after the time is over is a TimeLimitError.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from typing import TypeVar

from tacit.errors import TacitError, TimeLimitError

T = TypeVar("T")

_AGAIN = 0.5


class TimeLimit:
    """The time that one reading has, from now on."""

    __slots__ = ("_end", "seconds")

    def __init__(self, seconds: float) -> None:
        """Start the time."""
        self.seconds = seconds
        self._end = monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left; 0 if the time is over."""
        return max(0.0, self._end - monotonic())

    def run(self, read: Callable[[], T], interrupt: Callable[[], None]) -> T:
        """Return what a function reads; when the time is over, call `interrupt` until the function ends.

        An error after that is replaced by TimeLimitError, outside of `except`: neither its cause nor its context
        carries the engine's error, which could contain data. A result that is complete is returned.
        """
        ended = Event()
        watch = Thread(target=_watch, args=(ended, self, interrupt), daemon=True, name="tacit-time-limit")
        watch.start()
        try:
            return read()
        except TacitError:
            raise
        except Exception:
            if self.left:
                raise
        finally:
            ended.set()
            watch.join()  # no interrupt may come later: it would stop the next reading
        raise TimeLimitError(self.seconds)


def _watch(ended: Event, limit: TimeLimit, interrupt: Callable[[], None]) -> None:
    """Interrupt the engine once the time is over, until the reading has ended."""
    if ended.wait(limit.left):
        return
    with suppress(Exception):
        interrupt()
    while not ended.wait(_AGAIN):
        with suppress(Exception):
            interrupt()
