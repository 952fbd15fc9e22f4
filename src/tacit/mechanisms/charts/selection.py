"""Charts of a choice: the probability of each candidate, two neighbours, simulated choices, and the error against ε."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from math import exp
from typing import TYPE_CHECKING

import numpy as np

from tacit import plots
from tacit.errors import InvalidError
from tacit.mechanisms.charts.common import LawChart, Theme, check_kind, error_chart, themed
from tacit.mechanisms.selection import Candidate, Scores, Selection, read_ballot
from tacit.plots import ChartText
from tacit.plots.frame import short

if TYPE_CHECKING:
    import altair as alt

_MOST = 40


def draw(
    mechanism: Selection,
    kind: LawChart,
    scores: Scores[Candidate],
    *,
    neighbour: Scores[Candidate] | None,
    n: int,
    seed: int,
    confidence: float,
    theme: Theme,
) -> alt.LayerChart:
    """Draw one of the charts."""
    check_kind(kind, LawChart)
    if kind == "law":
        chart = _law(mechanism, scores)
    elif kind == "neighbours":
        chart = _neighbours(mechanism, scores, neighbour)
    elif kind == "releases":
        chart = _releases(mechanism, scores, n, seed)
    else:
        chart = _error(mechanism, len(mechanism.probabilities(scores)), confidence)
    return themed(chart, theme)


def _law(mechanism: Selection, scores: Scores[Candidate]) -> alt.LayerChart:
    law = _shown(mechanism.probabilities(scores))
    text = _text(mechanism, "Probability of each candidate", law, _shortfall(mechanism, scores))
    return plots.chances([str(name) for name in law], {"probability": list(law.values())}, text)


def _shortfall(mechanism: Selection, scores: Scores[Candidate]) -> str:
    return f"The choice is {short(mechanism.shortfall(scores).mean)} below the best score on average."


def _neighbours(mechanism: Selection, scores: Scores[Candidate], neighbour: Scores[Candidate] | None) -> alt.LayerChart:
    whole = mechanism.probabilities(scores)
    other = (
        mechanism.probabilities(_neighbour(mechanism, scores))
        if neighbour is None
        else mechanism.probabilities(neighbour)
    )
    if other.keys() != whole.keys():
        message = "neighbour has other candidates than scores."
        raise InvalidError(message, argument="neighbour", hint="Pass one score for each candidate.")
    law, epsilon = _shown(whole), mechanism.guarantee.epsilon
    beside = [other[name] for name in law]
    factor = exp(min(epsilon, 700.0))
    bounds = [chance / factor for chance in beside], [min(1.0, chance * factor) for chance in beside]
    note = f"Grey: e^±ε times the probability under the neighbour, ε = {short(epsilon)}."
    text = _text(mechanism, "Choices of two neighbours", law, note)
    lines = {"the scores": list(law.values()), "a neighbour's scores": beside}
    return plots.chances([str(name) for name in law], lines, text, bounds=bounds)


def _neighbour(mechanism: Selection, scores: Scores[Candidate]) -> dict[Hashable, float]:
    """Return the scores, the best one lower by the sensitivity."""
    ballot, size = read_ballot(scores), mechanism.sensitivity.fraction
    integral = ballot.scores.dtype == np.int64 and size.denominator == 1
    values = [int(score) if integral else float(score) for score in ballot.scores.tolist()]
    values[int(np.argmax(ballot.scores))] -= int(size) if integral else float(size)
    return {ballot.winner(i): value for i, value in enumerate(values)}


def _releases(mechanism: Selection, scores: Scores[Candidate], n: int, seed: int) -> alt.LayerChart:
    law = _shown(mechanism.probabilities(scores))
    tally = Counter(mechanism.sample(n, scores, seed=seed))
    text = _text(mechanism, f"{n:,} simulated choices", law, "A simulation with a seed, not a release.")
    lines = {"simulated choices": [tally[name] / n for name in law], "the law": list(law.values())}
    return plots.chances([str(name) for name in law], lines, text)


def _error(mechanism: Selection, candidates: int, confidence: float) -> alt.LayerChart:
    def errors(epsilon: float) -> tuple[float]:
        other = mechanism._with_epsilon(epsilon)  # noqa: SLF001 - of this package
        return (other.error(confidence=confidence, candidates=candidates),)

    title = f"Error against ε: {type(mechanism).__name__}, {candidates:,} candidates"
    return error_chart("ε", float(mechanism.guarantee.epsilon), errors, (f"{100 * confidence:.4g} % error",), title)


def _shown(law: dict[Hashable, float]) -> dict[Hashable, float]:
    """Return the likeliest candidates, in their order; all of them if they are few."""
    if len(law) <= _MOST:
        return law
    likeliest = set(sorted(law, key=lambda name: -law[name])[:_MOST])
    return {name: chance for name, chance in law.items() if name in likeliest}


def _text(mechanism: Selection, title: str, law: dict[Hashable, float], note: str) -> ChartText:
    first = ", ".join(f"{name} {short(chance)}" for name, chance in list(law.items())[:5])
    return ChartText(
        title=title,
        notes=(repr(mechanism), note),
        across="probability",
        up="",
        description=f"{title}: {mechanism!r}. {note} Probabilities: {first}.",
    )
