"""The timing channel: does the duration of a release tell how large its noise was?"""

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

Spearman's correlation between the duration of a scalar release and |noise|, over {releases:,} releases: the
median of {sittings} sittings and, in parentheses, the one farthest from 0. Without any channel a sitting is
within ±{spread:.3f} of 0 in 19 of 20 cases. The leaky control counts coins until the first tail; it shows
what the instrument sees where there is a channel.

{channel}

The same with the signed noise. No target.

{signed}"""

Pair = tuple[float, float]
Sitting = dict[tuple[Race, str], "Pair | str"]


def sit(workers: dict[str, Contestant]) -> Sitting:
    """Correlate durations with |noise| and with noise once, or say why not."""
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


def report(sittings: Sequence[Sitting]) -> Part:
    """Lay out the correlations and judge tacit's with |noise|, by the worst sitting."""
    text = TEXT.format(
        releases=RELEASES,
        sittings=len(sittings),
        spread=1.96 * RELEASES**-0.5,
        channel=_table(sittings, 0),
        signed=_table(sittings, 1),
    )
    return Part(text, [_verdict(race, [sitting[race, "tacit"] for sitting in sittings]) for race in KINDS])


def _table(sittings: Sequence[Sitting], of: int) -> str:
    rows = [
        [name_of(*race), *(_cell([sitting[race, name] for sitting in sittings], of) for name in NAMES)]
        for race in KINDS
    ]
    return table(["release", *NAMES], rows)


def _cell(found: Sequence[Pair | str], of: int) -> str:
    for pair in found:
        if isinstance(pair, str):
            return pair
    values = [float(pair[of]) for pair in found]
    return f"{median(values):+.3f} ({max(values, key=abs):+.3f})"


def _verdict(race: Race, found: Sequence[Pair | str]) -> Verdict:
    measured = [pair[0] for pair in found if not isinstance(pair, str)]
    met = all(abs(rho) <= MOST for rho in measured) if len(measured) == len(found) else None
    return Verdict(f"{name_of(*race)}: duration against size of noise", f"within ±{MOST}", _cell(found, 0), met)
