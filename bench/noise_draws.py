"""Time a million draws, compared with numpy's floats, OpenDP and PyDP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from peers import Contestant
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, join, short

ROUNDS = 6  # per session
MANY, FEW = 10**6, 20_000
NAMES = ("tacit", "numpy laplace", "numpy normal", "opendp", "pydp")

# (law, scale or σ) and the target: the minimum rate, as a multiple of that of numpy's laplace
LAWS = {
    ("laplace", 1): 1.0,
    ("laplace", 10): 1.0,
    ("laplace", 10**6): 0.6,
    ("gaussian", 10): 0.3,
    ("gaussian", 10**4): 0.3,
}
OVER_OPENDP = 40.0

TEXT = """\
### One million draws

Million draws per second, best of {rounds} rounds. tacit and numpy draw {many:,} values in one call; OpenDP and PyDP
draw {few:,} per round. OpenDP adds noise to a list of integers. PyDP draws one float per call. tacit builds a table at
the first draw of each scale, before the clock starts.

{rates}

The rate of tacit divided by the rate of each other contestant:

{ratios}"""


Race = tuple[str, int]


def run_session(workers: dict[str, Contestant]) -> dict[Race, Rounds]:
    """Time all laws once."""
    return {race: _race(workers, *race) for race in LAWS}


def report(sessions: Sequence[dict[Race, Rounds]]) -> Part:
    """Return the rates and the verdicts."""
    results = join(sessions)
    rates = table(["law", *NAMES], [[_name(*race), *_rates(times)] for race, times in results.items()])
    others = NAMES[1:]
    ratios = table(
        ["tacit ÷", *others],
        [[_name(*race), *(str(times.ratio(other, "tacit")) for other in others)] for race, times in results.items()],
    )
    text = TEXT.format(rounds=ROUNDS * len(sessions), many=MANY, few=FEW, rates=rates, ratios=ratios)
    against_numpy = [_verdict(race, "numpy laplace", least, results[race]) for race, least in LAWS.items()]
    against_opendp = [_verdict(race, "opendp", OVER_OPENDP, results[race]) for race in LAWS]
    return Part(text, against_numpy + against_opendp)


def _race(workers: dict[str, Contestant], law: str, scale: int) -> Rounds:
    """Return the seconds per draw. numpy's laplace runs with every law."""

    def contestant(name: str, law: str, size: int) -> Callable[[], float]:
        return partial(_seconds, workers[name], law, scale, size)

    runs = (
        contestant("tacit", law, MANY),
        contestant("numpy", "laplace", MANY),
        contestant("numpy", "gaussian", MANY),
        contestant("opendp", law, FEW),
        contestant("pydp", law, FEW),
    )
    return interleave(dict(zip(NAMES, runs, strict=True)), ROUNDS)


def _seconds(worker: Contestant, law: str, scale: int, size: int) -> float:
    return worker.ask("draw", law=law, scale=scale, size=size)["seconds"]


def _rates(times: Rounds) -> list[str]:
    def millions(seconds: Sequence[float]) -> str:
        return short(1e-6 / min(seconds))

    return [times.cell(name, millions) for name in NAMES]


def _name(law: str, scale: int) -> str:
    return f"{law.capitalize()}, {'scale' if law == 'laplace' else 'σ'} {scale:,}"


def _verdict(race: Race, other: str, least: float, times: Rounds) -> Verdict:
    ratio = times.ratio(other, "tacit")
    met = ratio.value >= least if isinstance(ratio, Ratio) else None
    return Verdict(f"{_name(*race)}: rate ÷ {other}", f"≥ {least:g}", str(ratio), met)
