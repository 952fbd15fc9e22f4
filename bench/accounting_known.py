"""Compare brackets for compositions whose ε is known to seven digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from accounting_cases import GOLDEN, Case
from accounting_race import Entry, Race, seconds, times_as_long
from peers import Contestant
from report import Part, Verdict, table
from rounds import Rounds, join

ROUNDS = 2  # per session
WIDTH, INTERVAL, ERROR = 1e-3, 1e-4, 1e-2
OURS, DP, PRV = "tacit", "dp-accounting", "prv-accountant"
ENTRIES = {
    OURS: Entry("tacit", {"width": WIDTH}),
    DP: Entry("dp-accounting", {"interval": INTERVAL}),
    PRV: Entry("prv-accountant", {"error": ERROR}),
}

TEXT = """\
### Known values

The cases: k Laplace mechanisms with ε₀ = 1/√k, continuous and on the unit grid (where the law is randomized response);
k Gaussian mechanisms of total μ = 1; a Gaussian of σ = 1 on Poisson samples of rate 0.01. δ = 1e-6 unless the case
states another. tacit uses its default width, {width:g}. dp-accounting composes the law k times with itself on its
default interval, {interval:g}. (Its accountant merges equal Gaussians, as tacit does; the first Gaussian row shows that
result.) prv-accountant uses an error of {error:g} in ε and δ/1000 in δ. **Bold** marks a result that does not contain
the true value.

{ends}

Seconds, best of {rounds} rounds, and the time of each other library divided by the time of tacit.

{times}"""

RACES = {case.name: Race(case.request(), ENTRIES) for case in GOLDEN}


def run_session(workers: Mapping[str, Contestant]) -> dict[str, Rounds]:
    """Time all cases once."""
    return {name: race.run_session(workers, ROUNDS) for name, race in RACES.items()}


def report(sessions: Sequence[dict[str, Rounds]]) -> Part:
    """Return the brackets, the times and the verdicts."""
    times_by_case = join(sessions)
    ends = [[case.name, case.known, *(_cell(case, name) for name in ENTRIES)] for case in GOLDEN]
    others = (DP, PRV)
    times = [
        [
            name,
            *(seconds(times_by_case[name], entry) for entry in ENTRIES),
            *(times_as_long(times_by_case[name], entry, OURS)[0] for entry in others),
        ]
        for name in RACES
    ]
    text = TEXT.format(
        width=WIDTH,
        interval=INTERVAL,
        error=ERROR,
        rounds=ROUNDS * len(sessions),
        ends=table(["case", "ε", OURS, f"{DP}, from above", PRV], ends),
        times=table(["case", *ENTRIES, *(f"{entry} ÷ tacit" for entry in others)], times),
    )
    return Part(text, _verdicts())


def _cell(case: Case, name: str) -> str:
    race = RACES[case.name]
    if name in race.failures or name not in race.answers:
        return str(race.failures.get(name, "–"))
    lower, upper = race.answers[name]["lower"], race.answers[name]["upper"]
    text = f"{lower:.6f} – {upper:.6f}" if lower else f"{upper:.6f}"
    return text if holds(case, lower, upper) else f"**{text}**"


def holds(case: Case, lower: float, upper: float) -> bool:
    """Return whether a bracket contains the known value, which is rounded to its last digit."""
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
