"""One number released: from a mechanism that is there, and from one that is made for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, islice

from peers import Contestant
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, join, short

ROUNDS = 6  # a sitting
CALLS, FRESH_CALLS = 500, 20
NAMES = ("tacit", "opendp", "pydp")

LEVELS = {"laplace": 0.1, "gaussian": 10.0}  # ε; σ
KINDS = [(law, kind) for law in LEVELS for kind in ("int", "float")]
HEADER = ["release", *NAMES, "tacit ÷ opendp", "tacit ÷ pydp"]

TEXT = """\
### One scalar release

Microseconds a release of 337 in the best of {rounds} rounds of {calls} releases; sensitivity 1, Laplace with
ε = 0.1, Gaussian with σ = 10. The ratios are of times: below 1, tacit is the faster.

{warm}

The same with a mechanism made for each release, at an ε or σ not used before ({fresh_calls} a round), so
that nothing is cached. No target.

{fresh}"""


Race = tuple[str, str]
Sitting = tuple[dict[Race, Rounds], dict[Race, Rounds]]


def sit(workers: dict[str, Contestant]) -> Sitting:
    """Race releases once: from mechanisms that are there, and from fresh ones."""
    warm = {race: _race(workers, partial(_warm, *race)) for race in KINDS}
    new = {law: _new_levels(level) for law, level in LEVELS.items()}
    fresh = {race: _race(workers, partial(_fresh, *race, new[race[0]])) for race in KINDS}
    return warm, fresh


def report(sittings: Sequence[Sitting]) -> Part:
    """Lay out the times and judge those of mechanisms that are there."""
    warm, fresh = (join(part) for part in zip(*sittings, strict=True))
    text = TEXT.format(
        rounds=ROUNDS * len(sittings),
        calls=CALLS,
        fresh_calls=FRESH_CALLS,
        warm=_table(warm),
        fresh=_table(fresh),
    )
    return Part(text, [_verdict(race, times) for race, times in warm.items()])


def _race(workers: dict[str, Contestant], seconds: Callable[[Contestant], float]) -> Rounds:
    return interleave({name: partial(seconds, workers[name]) for name in NAMES}, ROUNDS)


def _warm(law: str, kind: str, worker: Contestant) -> float:
    return worker.ask("release", law=law, kind=kind, level=LEVELS[law], count=CALLS)["seconds"]


def _fresh(law: str, kind: str, new: Iterator[float], worker: Contestant) -> float:
    return worker.ask("fresh", law=law, kind=kind, levels=list(islice(new, FRESH_CALLS)))["seconds"]


def _new_levels(level: float) -> Iterator[float]:
    """Yield levels a little above this one, as short decimals, none twice."""
    return (round(level * (1 + i / 100_000), 6) for i in count(1))


def _table(found: dict[Race, Rounds]) -> str:
    def microseconds(seconds: Sequence[float]) -> str:
        return short(1e6 * min(seconds))

    rows = [
        [
            name_of(*race),
            *(times.cell(name, microseconds) for name in NAMES),
            *(str(times.ratio("tacit", other)) for other in NAMES[1:]),
        ]
        for race, times in found.items()
    ]
    return table(HEADER, rows)


def name_of(law: str, kind: str) -> str:
    """Return a race's name for people."""
    return f"{law.capitalize()}, {kind}"


def _verdict(race: Race, times: Rounds) -> Verdict:
    ratio = times.ratio("tacit", "opendp")
    met = ratio.value <= 1 if isinstance(ratio, Ratio) else None
    return Verdict(f"{name_of(*race)}: time of a release ÷ opendp", "≤ 1", str(ratio), met)
