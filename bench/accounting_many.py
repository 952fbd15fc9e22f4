"""A great many mechanisms at once: a million of one kind, and three thousand of which no two are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from textwrap import fill

from accounting_cases import DISTINCT, MILLION, Case
from accounting_race import CAP, Entry, Race, seconds, times_as_long
from accounting_truth import true_epsilon
from peers import Contestant
from report import Part, Verdict, table
from rounds import Rounds, join
from serve import Missing

FASTER = 20.0
DEFAULT = 1e-4  # dp-accounting's interval
INTERVALS = (4e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)
OURS, TURN, KNOWING, PRV = "tacit", "dp-accounting", "dp-accounting, knowing", "prv-accountant"
HEADER = ["contestant", "ε from", "to", "upper end is off by", "seconds", "÷ tacit"]

TEXT = """\
{what} δ = {delta:g}; the true ε is {truth:.7f}, by numerical inversion of the transform, which no contestant uses.
tacit is asked for a width of {width:g}. dp-accounting is asked in two ways: as its documentation does it{turn}, on its
default interval {default:g}; and as one who knows it would{knowing}, on {interval:g}, the coarsest interval of
{intervals} that comes within {width:g} of the truth. It claims an upper end only. An upper end that is off by less
than 0 is no upper bound. prv-accountant is asked for an error of {error:g} in ε and δ/1000 in δ. Seconds are the best
of {rounds} rounds; no call may take more than {cap:g}."""


@dataclass(slots=True)
class Contest:
    """A case with what is asked of each contestant, and what is said about it."""

    case: Case
    width: float
    error: float
    rounds: int
    says: dict[str, str]
    truth: float = 0.0
    race: Race | None = None
    interval: float = 0.0

    def sit(self, workers: Mapping[str, Contestant]) -> dict[str, Rounds]:
        """Race all contestants once; before the first time, find the truth and dp-accounting's best interval."""
        if self.race is None:
            self.truth = true_epsilon(self.case.events, self.case.delta)
            self.interval = self._coarsest(workers["dp-accounting"])
            entries = {
                OURS: Entry("tacit", {"width": self.width}),
                TURN: Entry("dp-accounting", {"interval": DEFAULT}),
                KNOWING: Entry("dp-accounting", {"interval": self.interval, "knowing": True}),
                PRV: Entry("prv-accountant", {"error": self.error}),
            }
            self.race = Race(self.case.request(), entries)
        return {self.case.name: self.race.sit(workers, self.rounds)}

    def _coarsest(self, worker: Contestant) -> float:
        for interval in INTERVALS[:-1]:
            probe = Race(self.case.request(), {"": Entry("", {"interval": interval, "knowing": True})})
            try:
                probe.ask({"": worker}, "")
            except Missing:
                break
            if abs(self.off(probe.answers[""]["upper"])) <= self.width:
                return interval
        return INTERVALS[-1]

    def off(self, epsilon: float) -> float:
        """Return how far an ε is above the truth, relative to it."""
        return epsilon / self.truth - 1

    def excess(self, name: str) -> float:
        """Return how far a contestant's upper end is off, infinite if it has none."""
        answers = self.race.answers if self.race else {}
        return self.off(answers[name]["upper"]) if name in answers else inf


MANY = [
    Contest(
        MILLION,
        width=1e-4,
        error=0.1,
        rounds=3,
        says={"what": "Continuous Laplace noise of ε = 1/1000, 10⁶ times.", "turn": "", "knowing": ""},
    ),
    Contest(
        DISTINCT,
        width=1e-3,
        error=0.1,
        rounds=1,
        says={
            "what": "1,000 continuous Laplace, 1,000 continuous Gaussian and 1,000 randomized responses, ε and μ "
            "evenly from 0.5/√3000 to 1.5/√3000.",
            "turn": " (one composed after another)",
            "knowing": " (Gaussians merged, randomized response as discrete Laplace noise so that its dots are "
            "connected too, composed in pairs)",
        },
    ),
]


def sit(workers: Mapping[str, Contestant]) -> dict[str, Rounds]:
    """Race everything once."""
    return {name: times for contest in MANY for name, times in contest.sit(workers).items()}


def report(sittings: Sequence[dict[str, Rounds]]) -> Part:
    """Lay out ends and times, and judge them."""
    found = join(sittings)
    texts = [_text(contest, found[contest.case.name], len(sittings)) for contest in MANY]
    verdicts = [verdict for contest in MANY for verdict in _verdicts(contest, found[contest.case.name])]
    return Part("\n\n".join(texts), verdicts)


def _text(contest: Contest, times: Rounds, sittings: int) -> str:
    text = TEXT.format(
        delta=contest.case.delta,
        truth=contest.truth,
        width=contest.width,
        default=DEFAULT,
        interval=contest.interval,
        intervals=", ".join(f"{interval:g}" for interval in INTERVALS),
        error=contest.error,
        rounds=contest.rounds * sittings,
        cap=CAP,
        **contest.says,
    )
    findings = table(HEADER, [_row(contest, times, name) for name in (OURS, TURN, KNOWING, PRV)])
    return f"### {contest.case.name}\n\n{fill(text, 112)}\n\n{findings}"


def _row(contest: Contest, times: Rounds, name: str) -> list[str]:
    answer = contest.race.answers.get(name) if contest.race and name in times.numbers else None
    lower = f"{answer['lower']:.6f}" if answer and answer["lower"] else "–"
    upper, off = (f"{answer['upper']:.6f}", f"{contest.excess(name):+.1e}") if answer else ("–", "–")
    ratio = "1" if name == OURS else times_as_long(times, name, OURS)[0]
    return [name, lower, upper, off, seconds(times, name), ratio]


def _verdicts(contest: Contest, times: Rounds) -> list[Verdict]:
    others = (TURN, KNOWING)
    tighter = [_tighter(contest, other) for other in others] if contest.case is DISTINCT else []
    return [_narrow(contest), *(_faster(contest, times, other) for other in others), *tighter]


def _narrow(contest: Contest) -> Verdict:
    answer = contest.race.answers.get(OURS) if contest.race else None
    width = (answer["upper"] - answer["lower"]) / answer["upper"] if answer else inf
    what = f"{contest.case.name}: relative width of tacit's bracket"
    return Verdict(what, f"≤ {contest.width:g}", f"{width:.1e}", width <= contest.width)


def _faster(contest: Contest, times: Rounds, other: str) -> Verdict:
    found, reached = times_as_long(times, other, OURS)
    met = None if reached is None else reached >= FASTER
    return Verdict(f"{contest.case.name}: time of {other} ÷ tacit", f"≥ {FASTER:g}", found, met)


def _tighter(contest: Contest, other: str) -> Verdict:
    ours, theirs = contest.excess(OURS), contest.excess(other)
    found = f"{ours:+.1e} against {theirs:+.1e}"
    met = None if theirs == inf else 0 <= ours < abs(theirs)
    return Verdict(f"{contest.case.name}: tighter from above than {other}", "nearer", found, met)
