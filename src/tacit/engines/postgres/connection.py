"""A connection to a PostgreSQL server: whose it is, how long it is waited for, and what goes along with a statement."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING, Any

from tacit.engines.postgres.dialect import number_of
from tacit.engines.sql.engine import Parameters

if TYPE_CHECKING:
    from tacit.engines.postgres.sources import Connection

_GRACE = 15.0


@dataclass(slots=True)
class Held:
    """A connection and the process that opened it, which alone may use it or close it."""

    connection: Connection
    process: int

    @property
    def is_ours(self) -> bool:
        """Whether this process opened it."""
        return self.process == os.getpid()

    def close(self) -> None:
        """Close it, if it is ours."""
        if self.is_ours:
            self.connection.close()


@contextmanager
def watched(connection: Connection, seconds: float) -> Iterator[None]:
    """Hang up if the server has not answered a while after it should have given up."""
    watch = Timer(seconds + _GRACE, _hang_up, (connection.fileno(),))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _hang_up(descriptor: int) -> None:
    """End a connection, so that whoever waits for it wakes up."""
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as line:
        line.shutdown(socket.SHUT_RDWR)


def numbered(parameters: Parameters) -> list[object]:
    r"""Return parameters by their numbers: keys of 64 bits with a sign, and lists, those of keys with places.

    A text with NUL in it equals nothing that PostgreSQL can hold, so it is left out of its list.

    >>> numbered({"h0": 2**64 - 1, "h1": 1, "k0": ["a", "a\0", None]})
    [-1, 1, ['a', None], [0, 2]]
    """
    found: dict[int, object] = {}
    for name, value in parameters.items():
        number = number_of(name)
        if isinstance(value, int):
            found[number] = value - 2**64 if value >= 2**63 else value
            continue
        places = [place for place, one in enumerate(value) if not (isinstance(one, str) and "\0" in one)]
        found[number] = _alike([value[place] for place in places])
        if name.startswith("k"):
            found[number + 1] = places
    return [found.get(number, 0) for number in range(1, max(found, default=0) + 1)]


def _alike(values: list[Any]) -> list[Any]:
    """Return numbers as reals where one of them is."""
    if any(isinstance(value, float) for value in values):
        return [None if value is None else float(value) for value in values]
    return values
