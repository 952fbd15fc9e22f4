"""Run a call of DuckDB so that a signal can stop it.

Python runs the handlers of signals in the main thread only. While DuckDB computes there, a handler waits until a task
of DuckDB ends, which can take minutes, and DuckDB then replaces the handler's error by its own. So the main thread
waits while another thread runs the call: Ctrl-C raises KeyboardInterrupt, and the statement is interrupted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

_AGAIN = 0.1


def stoppable(call: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """Return what a call returns. If a signal's handler raises meanwhile, interrupt the call, and raise when it ended.

    >>> stoppable(lambda: 7, lambda: None)
    7
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    future: Future[T] = Future()
    try:
        threading.Thread(target=_work, args=(future, call), daemon=True, name="tacit-duckdb").start()
        return future.result()
    except BaseException:
        _stop(future, interrupt)
        raise
    finally:
        del future  # an error refers to this frame, and must not refer to itself through it


def _work(future: Future[T], call: Callable[[], T]) -> None:
    """Run a call, unless it was cancelled before, and store its result or its error."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
        future.set_exception(error)


def _stop(future: Future[T], interrupt: Callable[[], None]) -> None:
    """Interrupt a call until it has ended: an interrupt between two statements is lost. A further signal is ignored."""
    while not (future.cancel() or future.done()):
        with suppress(BaseException):
            interrupt()
            wait([future], timeout=_AGAIN)
