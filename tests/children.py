"""Forked child processes of tests.

A child must not collect garbage: a DuckDB connection or a Spark session of its parent that is destroyed in the child
waits for threads that only the parent has, or crashes. A child that does not end is killed after `PATIENCE` seconds,
so that a test fails and does not hang.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable

PATIENCE = 200


def forked(task: Callable[[], object]) -> int:
    """Run a task in a child, which has all that is imported here, and return its process number."""
    sys.stdout.flush()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # other threads may run
        child = os.fork()
    if child:
        return child
    gc.disable()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(PATIENCE)
    code = 1
    try:
        task()
        code = 0
    except BaseException:  # noqa: BLE001 - printed; the child ends without pytest
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def ended(child: int) -> int:
    """Wait for a child, and return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def result_of_child(task: Callable[[], bytes]) -> bytes:
    """Run a task in a child, and return the bytes that it returned there."""
    out, into = os.pipe()
    child = forked(lambda: os.write(into, task()))
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        written = pipe.read()
    assert ended(child) == 0
    return written
