"""A million draws at once: tacit beside numpy's floats, OpenDP and PyDP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from peers import Contestant
from report import Part, Verdict, table
from rounds import Ratio, Rounds, interleave, join, short

ROUNDS = 6  # a sitting
MANY, FEW = 10**6, 20_000
NAMES = ("tacit", "numpy laplace", "numpy normal", "opendp", "pydp")

# (law, scale or σ) and the least rate, as a multiple of numpy's laplace
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

Million draws a second in the best of {rounds} rounds. tacit and numpy draw {many:,} at once, OpenDP and PyDP
{few:,} a round; OpenDP noises a list of integers, PyDP draws one float a call. Tables that tacit makes at the
first draw of a scale are made before the clock starts.

{rates}

How many times each contestant's rate is tacit's:

{ratios}"""


Race = tuple[str, int]


def sit(workers: dict[str, Contestant]) -> dict[Race, Rounds]:
    """Race all laws once."""
    return {race: _race(workers, *race) for race in LAWS}


def report(sittings: Sequence[dict[Race, Rounds]]) -> Part:
    """Lay out and judge the rates."""
    found = join(sittings)
    rates = table(["law", *NAMES], [[_name(*race), *_rates(times)] for race, times in found.items()])
    others = NAMES[1:]
    ratios = table(
        ["tacit ÷", *others],
        [[_name(*race), *(str(times.ratio(other, "tacit")) for other in others)] for race, times in found.items()],
    )
    text = TEXT.format(rounds=ROUNDS * len(sittings), many=MANY, few=FEW, rates=rates, ratios=ratios)
    against_numpy = [_verdict(race, "numpy laplace", least, found[race]) for race, least in LAWS.items()]
    against_opendp = [_verdict(race, "opendp", OVER_OPENDP, found[race]) for race in LAWS]
    return Part(text, against_numpy + against_opendp)


def _race(workers: dict[str, Contestant], law: str, scale: int) -> Rounds:
    """Return the seconds a draw; numpy's laplace runs beside every law."""

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
