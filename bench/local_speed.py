"""Time a million reports on client and server, compared with pure-ldp and multi-freq-ldpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from peers import Contestant
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, join, short

ROUNDS = 3  # per session
D, EPSILON, MANY = 1024, 1.0, 10**6
PEERS = ("pure-ldp", "multi-freq-ldpy")
NAMES = ("tacit", *PEERS)

Race = tuple[str, str]  # the task and the protocol

# For each race: the reports per round of the other libraries, and the target for tacit's rate divided by the best rate.
RACES: dict[Race, tuple[int, float | None]] = {
    ("randomize", "GRR"): (20_000, 100),
    ("randomize", "Hadamard"): (2_000, 100),
    ("randomize", "OLH"): (20_000, 100),
    ("randomize", "OUE"): (2_000, 20),
    ("aggregate", "GRR"): (20_000, None),
    ("aggregate", "Hadamard"): (20_000, None),
    ("aggregate", "OLH"): (100, 1000),
    ("aggregate", "OUE"): (2_000, 30),
}

TEXT = """\
### Reports per second

Thousand reports per second, best of {rounds} rounds, d = {d:,}, ε = {epsilon:g}. A client randomises values; a server
adds reports and estimates counts. tacit processes {many:,} reports per round. The other libraries loop over people in
Python and process fewer, but enough that the fixed cost of a round is negligible. pure-ldp's fast variant of OLH, with
one small pool of hash functions for all people, is a different protocol and is not measured.

{rates}

The rate of tacit divided by the rate of each other contestant:

{ratios}"""


def run_session(workers: dict[str, Contestant], *, tiny: bool) -> dict[Race, Rounds]:
    """Time all races once."""
    return {race: _race(workers, *race, tiny=tiny) for race in RACES}


def report(sessions: Sequence[dict[Race, Rounds]]) -> Part:
    """Return the rates and the verdicts."""
    results = join(sessions)
    rates = table(["reports", *NAMES], [[_name(*race), *_rates(times)] for race, times in results.items()])
    ratios = table(
        ["tacit ÷", *PEERS],
        [[_name(*race), *(str(times.ratio(peer, "tacit")) for peer in PEERS)] for race, times in results.items()],
    )
    text = TEXT.format(rounds=ROUNDS * len(sessions), d=D, epsilon=EPSILON, many=MANY, rates=rates, ratios=ratios)
    judged = [(race, least) for race, (_, least) in RACES.items() if least is not None]
    return Part(text, [_verdict(race, least, results[race]) for race, least in judged])


def _race(workers: dict[str, Contestant], task: str, protocol: str, *, tiny: bool) -> Rounds:
    print(f"  {_name(task, protocol)} …", flush=True)
    few = RACES[task, protocol][0]
    sizes = {name: MANY if name == "tacit" else few for name in NAMES}
    runs = {
        name: partial(_seconds, workers[name], task, protocol, max(20, size // 100) if tiny else size)
        for name, size in sizes.items()
    }
    return interleave(runs, 1 if tiny else ROUNDS)


def _seconds(worker: Contestant, task: str, protocol: str, n: int) -> float:
    return worker.ask(task, protocol=protocol, epsilon=EPSILON, d=D, n=n)["seconds"]


def _rates(times: Rounds) -> list[str]:
    def thousands(seconds: Sequence[float]) -> str:
        return short(1e-3 / min(seconds))

    return [times.cell(name, thousands) for name in NAMES]


def _name(task: str, protocol: str) -> str:
    return f"{protocol}, {'client' if task == 'randomize' else 'server'}"


def _verdict(race: Race, least: float, times: Rounds) -> Verdict:
    """Compare with the best available library: the one with the lowest ratio."""
    results = {peer: times.ratio(peer, "tacit") for peer in PEERS}
    ratios = {peer: ratio for peer, ratio in results.items() if isinstance(ratio, Ratio)}
    title, target = f"{_name(*race)}, d = {D:,}: rate ÷ best peer", f"≥ {least:,g}"
    if not ratios:
        return Verdict(title, target, "; ".join(f"{peer}: {why}" for peer, why in results.items()), None)
    best = min(ratios, key=lambda peer: ratios[peer].value)
    return Verdict(title, target, f"{ratios[best]}, {best}", ratios[best].value >= least)
