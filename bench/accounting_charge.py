"""One more charge on a ledger that is long already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from accounting_cases import KINDS, NEW, ledger, parts
from accounting_race import Entry, Race
from peers import Contestant
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, join, short

from tacit.guarantees.events import to_json

ROUNDS = 4  # a sitting
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

Microseconds to price one more Laplace mechanism on a ledger that holds its events already, of {kinds} kinds, half
of them Laplace and half Gaussian: the best of {rounds} rounds. tacit's filter adds exact rationals in approximate
zCDP and says yes or no, soundly even if the events were chosen by earlier answers; dp-accounting's accountants
compose the event and read ε at δ = {delta:g}, which stands for events fixed in advance.

{findings}"""


def sit(workers: Mapping[str, Contestant]) -> dict[str, Rounds]:
    """Race the charges once."""
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


def report(sittings: Sequence[dict[str, Rounds]]) -> Part:
    """Lay out the times and judge that the ledger's length does not matter."""
    times = join(sittings)["charge"]
    microseconds: Callable[[Sequence[float]], str] = lambda found: short(1e6 * min(found))  # noqa: E731
    rows = [[name, times.cell(name, microseconds), str(times.ratio(name, OURS))] for name in ENTRIES]
    text = TEXT.format(
        kinds=2 * KINDS,
        rounds=ROUNDS * len(sittings),
        delta=DELTA,
        findings=table(["accountant", "µs", "÷ tacit"], rows),
    )
    ratio = times.ratio(OURS, EARLY)
    met = ratio.value <= MOST if isinstance(ratio, Ratio) else None
    what = f"one more charge on {LONG:,} events ÷ on {SHORT:,}"
    return Part(text, [Verdict(what, f"≤ {MOST:g}", str(ratio), met)])
