"""Time one more charge on a long ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from accounting_cases import KINDS, NEW, ledger, parts
from accounting_race import Entry, Race
from peers import Contestant
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, join, short

from tacit.guarantees.events import to_json

ROUNDS = 4  # per session
SHORT, LONG = 100, 10_000
CALLS = {"tacit": 1000, "dp-accounting": 3}
DELTA = 1e-6
MOST = 2.0

OURS, EARLY = f"tacit, {LONG:,} events", f"tacit, {SHORT:,} events"
ENTRIES = {
    OURS: (LONG, Entry("tacit", {})),
    EARLY: (SHORT, Entry("tacit", {})),
    f"dp-accounting's RDP accountant, {LONG:,} events": (LONG, Entry("dp-accounting", {"rule": "rdp", "delta": DELTA})),
    f"dp-accounting's PLD accountant, {LONG:,} events": (LONG, Entry("dp-accounting", {"rule": "pld", "delta": DELTA})),
}

TEXT = """\
### One more charge

Microseconds to price one more Laplace mechanism on a ledger that already holds events of {kinds} kinds, half Laplace
and half Gaussian: the best of {rounds} rounds. The filter of tacit adds exact rationals in approximate zCDP and admits
or refuses the event. Its answer is valid even if earlier answers influenced the choice of events. The accountants of
dp-accounting compose the event and compute ε at δ = {delta:g}, which is valid for events fixed in advance.

{findings}"""


def run_session(workers: Mapping[str, Contestant]) -> dict[str, Rounds]:
    """Time the charges of all contestants once."""
    return {"charge": interleave({name: partial(_run, workers, name) for name in ENTRIES}, ROUNDS)}


RACES = {
    name: Race(
        {"parts": parts(ledger(count)), "event": to_json(NEW), "calls": CALLS[entry.worker]},
        {name: entry},
        task="charge",
    )
    for name, (count, entry) in ENTRIES.items()
}


def _run(workers: Mapping[str, Contestant], name: str) -> float:
    return RACES[name].ask(workers, name)


def report(sessions: Sequence[dict[str, Rounds]]) -> Part:
    """Return the times, and check that the length of the ledger does not matter."""
    times = join(sessions)["charge"]
    microseconds: Callable[[Sequence[float]], str] = lambda seconds: short(1e6 * min(seconds))  # noqa: E731
    rows = [[name, times.cell(name, microseconds), str(times.ratio(name, OURS))] for name in ENTRIES]
    text = TEXT.format(
        kinds=2 * KINDS,
        rounds=ROUNDS * len(sessions),
        delta=DELTA,
        findings=table(["accountant", "µs", "÷ tacit"], rows),
    )
    ratio = times.ratio(OURS, EARLY)
    met = ratio.value <= MOST if isinstance(ratio, Ratio) else None
    title = f"one more charge: time with {LONG:,} events ÷ with {SHORT:,}"
    return Part(text, [Verdict(title, f"≤ {MOST:g}", str(ratio), met)])
