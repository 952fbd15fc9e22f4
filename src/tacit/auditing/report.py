"""The reports of audits."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from tacit.auditing.binomial import rounded_down
from tacit.auditing.events import Event
from tacit.notebook import ShownAsLines
from tacit.version import VERSION


def verdict_of(epsilon_lower: float, claimed: float | None) -> str:
    """Return the verdict on a claimed ε.

    >>> verdict_of(1.2, 1.0), verdict_of(0.8, 1.0), verdict_of(0.8, None)
    ('violates', 'no violation found', 'no claim')
    """
    if claimed is None:
        return "no claim"
    return "violates" if Fraction(epsilon_lower) > Fraction(repr(claimed)) else "no violation found"


def guarantee_text(epsilon: float, delta: float) -> str:
    """Return an ε, and δ if it is above 0."""
    return f"ε = {epsilon:.12g}" + (f", δ = {delta:.12g}" if delta else "")


def sure_text(confidence: float) -> str:
    """Return a confidence in words.

    >>> sure_text(0.999), sure_text(0.999999999)
    ('with confidence 99.9%', 'with confidence 1 - 1e-09')
    """
    if confidence > 0.9999:  # noqa: PLR2004 - nines are hard to count
        return f"with confidence 1 - {1 - confidence:.3g}"
    return f"with confidence {100 * confidence:.6g}%"


def versions() -> str:
    """Return the versions on which an audit depends."""
    return f"tacit {VERSION}, NumPy {np.__version__}, Python {platform.python_version()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport(ShownAsLines):
    """The result of `tc.audit`.

    Attributes:
        epsilon_lower: the release is not (ε, δ)-DP for any ε below this; wrong with probability at most 1 - confidence.
        delta: the δ at which ε is bounded.
        confidence: the probability with which the bound holds.
        epsilon: the claimed ε, or None.
        verdict: "violates", "no violation found", or "no claim".
        samples: the number of runs on each input, over all pairs.
        counts: how many of the bounding runs were in the event: on the input where it is more likely, and on the other.
        runs: the number of bounding runs on each input of the pair that gave the bound.
        event: the outputs that distinguish the inputs; `event.contains(output)` checks one.
        likelier: the input on which the event is more likely: "on" or "against".
        pair: the number of the pair that gave the bound, from 0.
        pairs: the number of pairs that were run.
        detectable: randomized response with this ε would be found to violate the claim with probability at least 99 %.
        ceiling: the largest bound that this number of runs could give.
        method: "clopper-pearson" or "dkw".
        seed: the seed of the order of the runs.
        reproduce: the call that repeats the audit.
        versions: the versions on which the audit depends.
    """

    epsilon_lower: float
    delta: float
    confidence: float
    epsilon: float | None
    samples: int
    counts: tuple[int, int]
    runs: int
    event: Event
    likelier: str
    pair: int
    pairs: int
    detectable: float
    ceiling: float
    method: str
    seed: int
    reproduce: str
    versions: str = field(default_factory=versions)

    @property
    def verdict(self) -> str:
        """The verdict on the claim."""
        return verdict_of(self.epsilon_lower, self.epsilon)

    @property
    def violates(self) -> bool:
        """True if the claim is refuted."""
        return self.verdict == "violates"

    def __str__(self) -> str:
        """Return the report in words."""
        return "\n".join((self._verdict_line(), *self._details()))

    def _verdict_line(self) -> str:
        sure = sure_text(self.confidence)
        bound = f"ε ≥ {rounded_down(self.epsilon_lower)}" + (f" at δ = {self.delta:.12g}" if self.delta else "")
        if self.epsilon is None:
            return f"{bound} {sure}."
        claim = guarantee_text(self.epsilon, self.delta)
        if self.violates:
            return f"The release violates {claim}: {bound} {sure}."
        if self.detectable == inf:
            return (
                f"No violation of {claim} was found, but {self.samples:,} runs on each input are too few to see one: "
                f"they cannot prove more than ε ≥ {rounded_down(self.ceiling)}."
            )
        return (
            f"No violation of {claim} was found. One of ε ≥ {self.detectable:.6g} would have been seen with "
            f"probability 99%, if it is as clear as in randomized response. The bound is {bound} {sure}."
        )

    def _details(self) -> list[str]:
        if self.epsilon_lower == 0:
            return ["Event: no event was clearly more likely on one input.", *self._numbers()]
        other = "against" if self.likelier == "on" else "on"
        event = (
            f"Event: {self.event}. It happened in {self.counts[0]:,} of {self.runs:,} runs on `{self.likelier}`, "
            f"and in {self.counts[1]:,} of {self.runs:,} on `{other}`."
        )
        return [event, *self._numbers()]

    def _numbers(self) -> list[str]:
        over = f", over {self.pairs} pairs" if self.pairs > 1 else ""
        many = f"; pair {self.pair + 1} of {self.pairs} gave the bound" if self.pairs > 1 else ""
        return [
            f"Samples: {self.samples:,} runs on each input{over}; half to find the event, half to bound it{many}.",
            f"Largest possible bound: ε ≥ {rounded_down(self.ceiling)} with this number of samples.",
            f"Reproduce: {self.reproduce} ({self.versions}). The noise itself differs from run to run.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values of JSON."""
        return {
            "verdict": self.verdict,
            "epsilon_lower": self.epsilon_lower,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "confidence": self.confidence,
            "samples": self.samples,
            "runs": self.runs,
            "counts": list(self.counts),
            "event": str(self.event),
            "likelier": self.likelier,
            "pair": self.pair,
            "pairs": self.pairs,
            "detectable": None if self.detectable == inf else self.detectable,
            "ceiling": self.ceiling,
            "method": self.method,
            "seed": self.seed,
            "reproduce": self.reproduce,
            "versions": self.versions,
        }
