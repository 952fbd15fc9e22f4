"""Measure the timing channel: the correlation between the duration of a release and the size of its noise."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from noise_releases import KINDS, LEVELS, Race, name_of
from peers import Contestant
from report import Part, Verdict, table
from scipy.stats import spearmanr
from serve import Missing, Reply

RELEASES = 20_000
MOST = 0.05
NAMES = ("tacit", "opendp", "pydp", "leaky control")

TEXT = """\
### Timing channel

Spearman's correlation between the duration of a scalar release and |noise|, over {releases:,} releases: the median
of {sessions} sessions and, in parentheses, the value farthest from 0. Without a timing channel, a session is within
±{spread:.3f} of 0 in 19 of 20 cases. The leaky control tosses coins until the first tail. It shows the correlation
that this test measures when there is a timing channel.

{channel}

The same with the signed noise. No target.

{signed}"""

Pair = tuple[float, float]
Session = dict[tuple[Race, str], "Pair | str"]


def run_session(workers: dict[str, Contestant]) -> Session:
    """Return the correlations of the duration with |noise| and with the noise, or the reason why they are missing."""
    return {(race, name): _pair(workers[name], *race) for race in KINDS for name in NAMES}


def _pair(worker: Contestant, law: str, kind: str) -> Pair | str:
    try:
        return _correlations(worker.ask("channel", law=law, kind=kind, level=LEVELS[law], count=RELEASES))
    except Missing as missing:
        return str(missing)


def _correlations(reply: Reply) -> tuple[float, float]:
    """Return the correlation of the durations with |noise| and with the noise."""
    durations, noise = reply["durations"], reply["noise"]
    magnitudes = [abs(x) for x in noise]
    return float(spearmanr(durations, magnitudes).statistic), float(spearmanr(durations, noise).statistic)


def report(sessions: Sequence[Session]) -> Part:
    """Return the correlations, and compare the worst session of tacit with the target."""
    text = TEXT.format(
        releases=RELEASES,
        sessions=len(sessions),
        spread=1.96 * RELEASES**-0.5,
        channel=_table(sessions, 0),
        signed=_table(sessions, 1),
    )
    return Part(text, [_verdict(race, [session[race, "tacit"] for session in sessions]) for race in KINDS])


def _table(sessions: Sequence[Session], index: int) -> str:
    rows = [
        [name_of(*race), *(_cell([session[race, name] for session in sessions], index) for name in NAMES)]
        for race in KINDS
    ]
    return table(["release", *NAMES], rows)


def _cell(pairs: Sequence[Pair | str], index: int) -> str:
    for pair in pairs:
        if isinstance(pair, str):
            return pair
    values = [float(pair[index]) for pair in pairs]
    return f"{median(values):+.3f} ({max(values, key=abs):+.3f})"


def _verdict(race: Race, pairs: Sequence[Pair | str]) -> Verdict:
    correlations = [pair[0] for pair in pairs if not isinstance(pair, str)]
    met = all(abs(rho) <= MOST for rho in correlations) if len(correlations) == len(pairs) else None
    return Verdict(
        f"{name_of(*race)}: correlation of duration and size of noise", f"within ±{MOST}", _cell(pairs, 0), met
    )
