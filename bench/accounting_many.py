"""Compose many mechanisms: a million equal ones, and three thousand that are all different."""

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
DEFAULT = 1e-4  # the default interval of dp-accounting
INTERVALS = (4e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)
OURS, TURN, TUNED, PRV = "tacit", "dp-accounting", "dp-accounting, tuned", "prv-accountant"
HEADER = ["contestant", "ε from", "to", "error of the upper bound", "seconds", "÷ tacit"]

TEXT = """\
{what} δ = {delta:g}; the true ε is {truth:.7f}, from a numerical inversion of the transform, a method that no
contestant uses. tacit computes a bracket of relative width {width:g}. dp-accounting runs twice: as in its
documentation{turn}, with its default interval {default:g}; and tuned{tuned}, with the interval {interval:g}. That is
the coarsest of {intervals} whose result is within {width:g} of the truth. dp-accounting gives an upper bound only. If
the error of an upper bound is negative, the bound is below the true ε and therefore wrong. prv-accountant runs with an
error of {error:g} in ε and δ/1000 in δ. Seconds are the best of {rounds} rounds; each call is stopped
after {cap:g} s."""


@dataclass(slots=True)
class Contest:
    """A case, the settings of each contestant, and the texts of the report."""

    case: Case
    width: float
    error: float
    rounds: int
    texts: dict[str, str]
    truth: float = 0.0
    race: Race | None = None
    interval: float = 0.0

    def run_session(self, workers: Mapping[str, Contestant]) -> dict[str, Rounds]:
        """Time all contestants once. The first call computes the truth and the best interval for dp-accounting."""
        if self.race is None:
            self.truth = true_epsilon(self.case.events, self.case.delta)
            self.interval = self._coarsest(workers["dp-accounting"])
            entries = {
                OURS: Entry("tacit", {"width": self.width}),
                TURN: Entry("dp-accounting", {"interval": DEFAULT}),
                TUNED: Entry("dp-accounting", {"interval": self.interval, "tuned": True}),
                PRV: Entry("prv-accountant", {"error": self.error}),
            }
            self.race = Race(self.case.request(), entries)
        return {self.case.name: self.race.run_session(workers, self.rounds)}

    def _coarsest(self, worker: Contestant) -> float:
        for interval in INTERVALS[:-1]:
            probe = Race(self.case.request(), {"": Entry("", {"interval": interval, "tuned": True})})
            try:
                probe.ask({"": worker}, "")
            except Missing:
                break
            if abs(self.relative_error(probe.answers[""]["upper"])) <= self.width:
                return interval
        return INTERVALS[-1]

    def relative_error(self, epsilon: float) -> float:
        """Return the relative error of an ε."""
        return epsilon / self.truth - 1

    def excess(self, name: str) -> float:
        """Return the relative error of a contestant's upper bound, or infinity if there is no bound."""
        answers = self.race.answers if self.race else {}
        return self.relative_error(answers[name]["upper"]) if name in answers else inf


MANY = [
    Contest(
        MILLION,
        width=1e-4,
        error=0.1,
        rounds=3,
        texts={"what": "Continuous Laplace noise of ε = 1/1000, 10⁶ times.", "turn": "", "tuned": ""},
    ),
    Contest(
        DISTINCT,
        width=1e-3,
        error=0.1,
        rounds=1,
        texts={
            "what": "1,000 continuous Laplace, 1,000 continuous Gaussian and 1,000 randomized responses, ε and μ "
            "evenly from 0.5/√3000 to 1.5/√3000.",
            "turn": " (one composed after another)",
            "tuned": " (Gaussians merged, randomized response as discrete Laplace noise so that its dots are "
            "connected too, composed in pairs)",
        },
    ),
]


def run_session(workers: Mapping[str, Contestant]) -> dict[str, Rounds]:
    """Time all cases once."""
    return {name: times for contest in MANY for name, times in contest.run_session(workers).items()}


def report(sessions: Sequence[dict[str, Rounds]]) -> Part:
    """Return the bounds, the times and the verdicts."""
    results = join(sessions)
    texts = [_text(contest, results[contest.case.name], len(sessions)) for contest in MANY]
    verdicts = [verdict for contest in MANY for verdict in _verdicts(contest, results[contest.case.name])]
    return Part("\n\n".join(texts), verdicts)


def _text(contest: Contest, times: Rounds, sessions: int) -> str:
    text = TEXT.format(
        delta=contest.case.delta,
        truth=contest.truth,
        width=contest.width,
        default=DEFAULT,
        interval=contest.interval,
        intervals=", ".join(f"{interval:g}" for interval in INTERVALS),
        error=contest.error,
        rounds=contest.rounds * sessions,
        cap=CAP,
        **contest.texts,
    )
    findings = table(HEADER, [_row(contest, times, name) for name in (OURS, TURN, TUNED, PRV)])
    return f"### {contest.case.name}\n\n{fill(text, 112)}\n\n{findings}"


def _row(contest: Contest, times: Rounds, name: str) -> list[str]:
    answer = contest.race.answers.get(name) if contest.race and name in times.numbers else None
    lower = f"{answer['lower']:.6f}" if answer and answer["lower"] else "–"
    upper, relative_error = (f"{answer['upper']:.6f}", f"{contest.excess(name):+.1e}") if answer else ("–", "–")
    ratio = "1" if name == OURS else times_as_long(times, name, OURS)[0]
    return [name, lower, upper, relative_error, seconds(times, name), ratio]


def _verdicts(contest: Contest, times: Rounds) -> list[Verdict]:
    others = (TURN, TUNED)
    tighter = [_tighter(contest, other) for other in others] if contest.case is DISTINCT else []
    return [_narrow(contest), *(_faster(contest, times, other) for other in others), *tighter]


def _narrow(contest: Contest) -> Verdict:
    answer = contest.race.answers.get(OURS) if contest.race else None
    width = (answer["upper"] - answer["lower"]) / answer["upper"] if answer else inf
    title = f"{contest.case.name}: relative width of tacit's bracket"
    return Verdict(title, f"≤ {contest.width:g}", f"{width:.1e}", width <= contest.width)


def _faster(contest: Contest, times: Rounds, other: str) -> Verdict:
    results, reached = times_as_long(times, other, OURS)
    met = None if reached is None else reached >= FASTER
    return Verdict(f"{contest.case.name}: time of {other} ÷ tacit", f"≥ {FASTER:g}", results, met)


def _tighter(contest: Contest, other: str) -> Verdict:
    ours, theirs = contest.excess(OURS), contest.excess(other)
    results = f"{ours:+.1e} and {theirs:+.1e}"
    met = None if theirs == inf else 0 <= ours < abs(theirs)
    return Verdict(f"{contest.case.name}: error of the upper bound, tacit and {other}", "smaller", results, met)
