"""Run tacit's tight composition, and the filter that a ledger applies before every charge."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from importlib.metadata import version

from accounting_serve import Ends, Parts, Record, serve

from tacit import compose
from tacit.guarantees.events import Event, from_json
from tacit.guarantees.filters import admit, start
from tacit.guarantees.values import ApproxZCDP

BUDGET = ApproxZCDP(rho=100, delta=1e-6)


def events(parts: Parts) -> list[tuple[Event, int]]:
    """Return the parts with their events."""
    return [(from_json(json.dumps(record)), count) for record, count in parts]


def epsilon(parts: Parts, delta: float, width: float) -> Callable[[], Ends]:
    """Return a function that computes the bounds on ε to a relative width."""
    items = events(parts)

    def run() -> Ends:
        bounds = compose(items).epsilon(delta=delta, width=width)
        return bounds.lower, bounds.upper

    return run


def charge(parts: Parts, event: Record) -> Callable[[], Callable[[], object]]:
    """Return a function that prices one more event in approximate zCDP, after all parts were admitted one by one."""
    spent, new = start(BUDGET), from_json(json.dumps(event))
    for item, count in events(parts):
        for _ in range(count):
            spent = admit(spent, BUDGET, item)
    return lambda: partial(admit, spent, BUDGET, new)


if __name__ == "__main__":
    serve("tacit", {"tacit": version("tacit"), "numpy": version("numpy")}, epsilon, charge)
