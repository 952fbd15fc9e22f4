"""Answers leave at multiples of a fixed time, so that response time tells little about the data.

An answer that takes t seconds leaves at the next multiple of the quantum q after the start of its request: at
q·⌈t/q⌉. An observer of one response then learns ⌈t/q⌉ and no more. Queries about the same rows can still fall on two
sides of a multiple, so this narrows the channel and does not close it; see the threat model.
"""

from __future__ import annotations

import asyncio
import time
from math import ceil


def pause(elapsed: float, quantum: float) -> float:
    """Return the time to wait until the next multiple of the quantum.

    >>> pause(0.1, 0.25), pause(0.25, 0.25), pause(0.6, 0)
    (0.15, 0.0, 0.0)
    """
    return max(0.0, ceil(elapsed / quantum) * quantum - elapsed) if quantum > 0 else 0.0


async def wait(started: float, quantum: float) -> None:
    """Wait until the next multiple of the quantum after a start, which is a time of `time.monotonic`."""
    delay = pause(time.monotonic() - started, quantum)
    if delay > 0:
        await asyncio.sleep(delay)


def block(started: float, quantum: float) -> None:
    """Block this thread as `wait` waits."""
    time.sleep(pause(time.monotonic() - started, quantum))
