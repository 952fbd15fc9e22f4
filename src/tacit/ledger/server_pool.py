"""Connections to PostgreSQL servers: all ledgers of one process on one URL share a small pool.

A store takes a pool when it is opened and returns it when it is closed. When the last store of a URL is closed, tacit
closes the connections of its pool. So closed databases hold no connections, however many there were.

**Forks.** A child must not use or close the connections of its parent: both would write to one socket. After a fork,
each pool of the child starts empty, and the parent's connections are left open. The lock is held during a fork, so that
a child never inherits it from another thread.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from threading import RLock

from sqlalchemy import URL, Engine, ExceptionContext, create_engine, event

from tacit import activity

IDLE, MOST = 2, 10
"""The number of connections of one pool that stay open between transactions, and the largest number at one time."""

PATIENCE = 60.0
"""The number of seconds to wait for a connection of the pool."""

_GUARD = RLock()  # reentrant: the collector of garbage may close a store while this thread holds it


@dataclass(eq=False, slots=True)
class Pool:
    """The connections to one URL, and the number of open stores that use them."""

    key: str
    engine: Engine
    stores: int = 0


_POOLS: dict[str, Pool] = {}


def take(url: URL) -> Pool:
    """Return the pool of a URL, which is created for its first store; each call needs one call of `give_back`.

    Raises:
        ImportError: psycopg is not installed.
    """
    key = url.render_as_string(hide_password=False)
    with _GUARD:
        pool = _POOLS.get(key) or Pool(key, _engine(url))
        pool.stores += 1
        _POOLS[key] = pool
        return pool


def take_again(pool: Pool) -> None:
    """Take a pool that was given back before, for one transaction."""
    with _GUARD:
        pool.stores += 1
        _POOLS.setdefault(pool.key, pool)


def give_back(pool: Pool) -> None:
    """Return a pool; the last store of a URL closes its connections."""
    with _GUARD:
        pool.stores -= 1
        if pool.stores == 0:
            if _POOLS.get(pool.key) is pool:
                del _POOLS[pool.key]
            pool.engine.dispose()


def _engine(url: URL) -> Engine:
    """Return an engine that checks each connection before it is used, and replaces one that was cut."""
    engine = create_engine(
        url,
        pool_pre_ping=True,
        pool_size=IDLE,
        max_overflow=MOST - IDLE,
        pool_timeout=PATIENCE,
        isolation_level="READ COMMITTED",
    )
    event.listen(engine, "handle_error", _note_reconnection)
    return engine


def _note_reconnection(context: ExceptionContext) -> None:
    """Count a connection that was cut while nobody used it; the pool opens another."""
    if context.is_pre_ping:
        activity.note("retry", "the connection to the ledger's server was cut; tacit opens another")


def _after_fork() -> None:
    """Start with empty pools in a child; the connections of the parent stay open."""
    for pool in _POOLS.values():
        pool.engine.dispose(close=False)
    _GUARD.release()


if sys.platform != "win32":
    os.register_at_fork(before=_GUARD.acquire, after_in_parent=_GUARD.release, after_in_child=_after_fork)
