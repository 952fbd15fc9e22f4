"""Time the release of one number, from an existing mechanism and from a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, islice

from peers import Contestant
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, join, short

ROUNDS = 6  # per session
CALLS, FRESH_CALLS = 500, 20
NAMES = ("tacit", "opendp", "pydp")

LEVELS = {"laplace": 0.1, "gaussian": 10.0}  # ε; σ
KINDS = [(law, kind) for law in LEVELS for kind in ("int", "float")]
HEADER = ["release", *NAMES, "tacit ÷ opendp", "tacit ÷ pydp"]

TEXT = """\
### One scalar release

Microseconds per release of the number 337, best of {rounds} rounds of {calls} releases. The sensitivity is 1; Laplace
noise has ε = 0.1, Gaussian noise has σ = 10. The ratios compare times: tacit is faster where the ratio is below 1.

{warm}

The same with a new mechanism for each release ({fresh_calls} per round). Each mechanism has a new ε or σ, so that no
cache helps. No target.

{fresh}"""


Race = tuple[str, str]
Session = tuple[dict[Race, Rounds], dict[Race, Rounds]]


def run_session(workers: dict[str, Contestant]) -> Session:
    """Time releases once, from existing mechanisms and from new ones."""
    warm = {race: _race(workers, partial(_warm, *race)) for race in KINDS}
    new = {law: _new_levels(level) for law, level in LEVELS.items()}
    fresh = {race: _race(workers, partial(_fresh, *race, new[race[0]])) for race in KINDS}
    return warm, fresh


def report(sessions: Sequence[Session]) -> Part:
    """Return the times, and compare those of existing mechanisms with the targets."""
    warm, fresh = (join(part) for part in zip(*sessions, strict=True))
    text = TEXT.format(
        rounds=ROUNDS * len(sessions),
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
    """Yield different levels slightly above this one, as short decimals."""
    return (round(level * (1 + i / 100_000), 6) for i in count(1))


def _table(results: dict[Race, Rounds]) -> str:
    def microseconds(seconds: Sequence[float]) -> str:
        return short(1e6 * min(seconds))

    rows = [
        [
            name_of(*race),
            *(times.cell(name, microseconds) for name in NAMES),
            *(str(times.ratio("tacit", other)) for other in NAMES[1:]),
        ]
        for race, times in results.items()
    ]
    return table(HEADER, rows)


def name_of(law: str, kind: str) -> str:
    """Return the label of a race."""
    return f"{law.capitalize()}, {kind}"


def _verdict(race: Race, times: Rounds) -> Verdict:
    ratio = times.ratio("tacit", "opendp")
    met = ratio.value <= 1 if isinstance(ratio, Ratio) else None
    return Verdict(f"{name_of(*race)}: time of a release ÷ opendp", "≤ 1", str(ratio), met)
