"""Rate limits on sign-in, in the database, so that all workers and machines count together.

In a window of 15 minutes an address may fail 50 times, a name 100 times, and a name from one address 10 times. A window
starts with its first failure. If the clock was set back before that start, the window starts again.
"""

from __future__ import annotations

from hashlib import sha256

from sqlalchemy import delete, select, update

from tacit.web.problems import Problem
from tacit.web.store import WebStore, insert_new, now
from tacit.web.tables import ATTEMPTS

WINDOW = 900
MOST_OF_PAIR, MOST_OF_ADDRESS, MOST_OF_NAME = 10, 50, 100


def _keys(name: str, address: str) -> dict[str, int]:
    """Return the counters of a sign-in and their limits; names are stored as hashes."""
    texts = {f"pair\n{name}\n{address}": MOST_OF_PAIR, f"address\n{address}": MOST_OF_ADDRESS,
             f"name\n{name}": MOST_OF_NAME}  # fmt: skip
    return {sha256(text.encode("utf-8", "replace")).hexdigest(): most for text, most in texts.items()}


def check_attempts(store: WebStore, name: str, address: str) -> None:
    """Raise a problem if there were too many failures."""
    keys = _keys(name, address)
    with store.reading() as connection:
        rows = connection.execute(select(ATTEMPTS).where(ATTEMPTS.c.name.in_(keys))).all()
    time = now()
    waits = [
        row.started + WINDOW - time for row in rows if _is_open(row.started, time) and row.failures >= keys[row.name]
    ]
    if waits:
        raise Problem(
            429,
            "too-many-attempts",
            "There were too many failed sign-ins.",
            hint="Wait some minutes, then try again.",
            headers={"Retry-After": str(max(waits))},
        )


def _is_open(started: int, time: int) -> bool:
    return started <= time < started + WINDOW


def note_failure(store: WebStore, name: str, address: str) -> None:
    """Count a failed sign-in, and forget old windows."""
    time = now()
    with store.writing() as connection:
        connection.execute(delete(ATTEMPTS).where(ATTEMPTS.c.started <= time - WINDOW))
        for key in _keys(name, address):
            if insert_new(connection, ATTEMPTS, {"name": key, "started": time, "failures": 1}):
                continue
            started = connection.execute(select(ATTEMPTS.c.started).where(ATTEMPTS.c.name == key)).scalar() or 0
            if _is_open(started, time):
                row = update(ATTEMPTS).where(ATTEMPTS.c.name == key)
                connection.execute(row.values(failures=ATTEMPTS.c.failures + 1))
            else:
                connection.execute(update(ATTEMPTS).where(ATTEMPTS.c.name == key).values(started=time, failures=1))


def forget_failures(store: WebStore, name: str, address: str) -> None:
    """Forget the failures of a name from an address, after it signed in."""
    pair = next(iter(_keys(name, address)))
    with store.reading() as connection:
        known = connection.execute(select(ATTEMPTS.c.name).where(ATTEMPTS.c.name == pair)).first()
    if known is not None:
        with store.writing() as connection:
            connection.execute(delete(ATTEMPTS).where(ATTEMPTS.c.name == pair))
