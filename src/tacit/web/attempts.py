"""Rate limits on sign-in, in the database, so that all workers and machines count together.

In a window of 15 minutes an address may fail 50 times, a name 100 times, and a name from one address 10 times. A window
starts with its first failure. Of IPv6, the /64 counts as one address. If the clock was set back before that start, the
window starts again.
"""

from __future__ import annotations

from hashlib import sha256
from ipaddress import IPv4Address, ip_address, ip_network

from sqlalchemy import Connection, delete, select, update

from tacit.web.problems import Problem
from tacit.web.store import WebStore, insert_new, now
from tacit.web.tables import ATTEMPTS

WINDOW = 900
MOST_OF_PAIR, MOST_OF_ADDRESS, MOST_OF_NAME = 10, 50, 100


def _keys(name: str, address: str) -> dict[str, int]:
    """Return the counters of a sign-in and their limits; names are stored as hashes."""
    address = network_of(address)
    texts = {f"pair\n{name}\n{address}": MOST_OF_PAIR, f"address\n{address}": MOST_OF_ADDRESS,
             f"name\n{name}": MOST_OF_NAME}  # fmt: skip
    return {sha256(text.encode("utf-8", "replace")).hexdigest(): most for text, most in texts.items()}


def network_of(address: str) -> str:
    """Return what counts as one address: an IPv4 address, or the /64 of an IPv6 address, which one client has whole.

    >>> network_of("192.0.2.7"), network_of("2001:db8::1:2"), network_of("::ffff:192.0.2.7"), network_of("unknown")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7', 'unknown')
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv4Address) or found.ipv4_mapped is not None:
        return str(found if isinstance(found, IPv4Address) else found.ipv4_mapped)
    return str(ip_network((int(found), 64), strict=False))


def count_attempt(store: WebStore, name: str, address: str) -> None:
    """Count a sign-in as failed until it succeeds, or raise a problem if there were too many failures.

    It counts before the password is checked, so that many sign-ins at one time are limited too.
    """
    keys, time = _keys(name, address), now()
    with store.writing() as connection:
        connection.execute(delete(ATTEMPTS).where(ATTEMPTS.c.started <= time - WINDOW))
        rows = connection.execute(select(ATTEMPTS).where(ATTEMPTS.c.name.in_(keys)).with_for_update()).all()
        waits = [
            row.started + WINDOW - time
            for row in rows
            if _is_open(row.started, time) and row.failures >= keys[row.name]
        ]
        if waits:
            raise Problem(
                429,
                "too-many-attempts",
                "There were too many failed sign-ins.",
                hint="Wait some minutes, then try again.",
                headers={"Retry-After": str(max(waits))},
            )
        for key in sorted(keys):  # in one order, so that no two workers wait for each other
            _count(connection, key, time)


def _count(connection: Connection, key: str, time: int) -> None:
    """Count one failure more, in a new window if the last one is over."""
    if insert_new(connection, ATTEMPTS, {"name": key, "started": time, "failures": 1}):
        return
    row = update(ATTEMPTS).where(ATTEMPTS.c.name == key)
    started = connection.execute(select(ATTEMPTS.c.started).where(ATTEMPTS.c.name == key)).scalar() or 0
    if _is_open(started, time):
        connection.execute(row.values(failures=ATTEMPTS.c.failures + 1))
    else:
        connection.execute(row.values(started=time, failures=1))


def _is_open(started: int, time: int) -> bool:
    return started <= time < started + WINDOW


def forget_failures(store: WebStore, name: str, address: str) -> None:
    """Forget the failures of a name from an address, after it signed in, and do not count this attempt."""
    pair, *others = _keys(name, address)
    with store.writing() as connection:
        connection.execute(delete(ATTEMPTS).where(ATTEMPTS.c.name == pair))
        counted = update(ATTEMPTS).where(ATTEMPTS.c.name.in_(others), ATTEMPTS.c.failures > 0)
        connection.execute(counted.values(failures=ATTEMPTS.c.failures - 1))
