"""Compositions whose ε is known to seven digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from accounting_cases import GOLDEN, Case
from accounting_race import Entry, Race, seconds, times_as_long
from peers import Contestant
from report import Part, Verdict, table
from rounds import Rounds, join

ROUNDS = 2  # a sitting
WIDTH, INTERVAL, ERROR = 1e-3, 1e-4, 1e-2
OURS, DP, PRV = "tacit", "dp-accounting", "prv-accountant"
ENTRIES = {
    OURS: Entry("tacit", {"width": WIDTH}),
    DP: Entry("dp-accounting", {"interval": INTERVAL}),
    PRV: Entry("prv-accountant", {"error": ERROR}),
}

TEXT = """\
### Known values

ε₀ = 1/√k for k Laplace mechanisms, continuous and on the unit grid, where the law is randomized response; k
Gaussians of total μ = 1; a Gaussian of σ = 1 on Poisson samples of rate 0.01. δ = 1e-6 where nothing else is said.
tacit is asked for its default width, {width:g}; dp-accounting for the law on its default interval, {interval:g},
composed k times with itself (its accountant merges equal Gaussians, as tacit does: that is its first row); and
prv-accountant for an error of {error:g} in ε and δ/1000 in δ. **Bold** is what the truth is not within.

{ends}

Seconds in the best of {rounds} rounds, and how many times as long the others take as tacit.

{times}"""

RACES = {case.name: Race(case.request(), ENTRIES) for case in GOLDEN}


def sit(workers: Mapping[str, Contestant]) -> dict[str, Rounds]:
    """Race all cases once."""
    return {name: race.sit(workers, ROUNDS) for name, race in RACES.items()}


def report(sittings: Sequence[dict[str, Rounds]]) -> Part:
    """Lay out ends and times, and judge tacit's brackets."""
    found = join(sittings)
    ends = [[case.name, case.known, *(_cell(case, name) for name in ENTRIES)] for case in GOLDEN]
    others = (DP, PRV)
    times = [
        [
            name,
            *(seconds(found[name], who) for who in ENTRIES),
            *(times_as_long(found[name], who, OURS)[0] for who in others),
        ]
        for name in RACES
    ]
    text = TEXT.format(
        width=WIDTH,
        interval=INTERVAL,
        error=ERROR,
        rounds=ROUNDS * len(sittings),
        ends=table(["case", "ε", OURS, f"{DP}, from above", PRV], ends),
        times=table(["case", *ENTRIES, *(f"{who} ÷ tacit" for who in others)], times),
    )
    return Part(text, _verdicts())


def _cell(case: Case, name: str) -> str:
    race = RACES[case.name]
    if name in race.gone or name not in race.answers:
        return str(race.gone.get(name, "–"))
    lower, upper = race.answers[name]["lower"], race.answers[name]["upper"]
    text = f"{lower:.6f} – {upper:.6f}" if lower else f"{upper:.6f}"
    return text if holds(case, lower, upper) else f"**{text}**"


def holds(case: Case, lower: float, upper: float) -> bool:
    """Say whether a bracket holds the known value, which is rounded to the digits it has."""
    half = 0.5 * 10.0 ** -len(case.known.partition(".")[2])
    return lower <= float(case.known) + half and float(case.known) - half <= upper


def _verdicts() -> list[Verdict]:
    answers = [(case, RACES[case.name].answers.get(OURS)) for case in GOLDEN]
    right = sum(answer is not None and holds(case, answer["lower"], answer["upper"]) for case, answer in answers)
    narrow = sum(
        answer is not None and answer["upper"] - answer["lower"] <= WIDTH * answer["upper"] for _, answer in answers
    )
    total = len(GOLDEN)
    return [
        Verdict("known values within tacit's bracket", f"{total} of {total}", f"{right} of {total}", right == total),
        Verdict(
            f"brackets of relative width ≤ {WIDTH:g}", f"{total} of {total}", f"{narrow} of {total}", narrow == total
        ),
    ]
