"""The exponential mechanism.

**Statement.** Choosing r with probability ∝ e^(ε·u(D,r)/2Δ), where |u(D,r) - u(D',r)| ≤ Δ, is ε-DP. With a
monotone score under add/remove, ∝ e^(ε·u(D,r)/Δ) is.
**Proof** (McSherry and Talwar, FOCS 2007, theorem 6). Each weight changes by a factor in e^(±ε/2) and so does their
sum, in opposite directions at worst. If the score is monotone, all weights change by factors in [1, e^ε] (or
all in [e^-ε, 1]), hence so does the sum, and the quotient by a factor in e^(±ε).  ∎

Its privacy loss is even in an interval of length ε: it is (ε/2Δ)·(u(D,r) - u(D',r)), which is in [-ε/2,
ε/2], plus the logarithm of a quotient that does not depend on r (bounded range; Dong, Durfee and Rogers, ICML
2020). The event records it.

**Accuracy.** With probability ≥ 1-β, u ≥ OPT - (2Δ/ε)·(ln|R| + ln 1/β) (Dwork and Roth 2014, theorem 3.11).

On real bits: exponents are rationals, and `noise.choice` draws exactly, with equal work for every candidate.
"""

from __future__ import annotations

from collections.abc import Hashable

from tacit.arrays import Floats
from tacit.guarantees.events import BoundedRange
from tacit.laws.choice import exponential_choice
from tacit.mechanisms.selection import Candidate, Scores, Selection, read_ballot
from tacit.noise import choose_exp


class Exponential(Selection):
    """Choose a candidate with probability ∝ e^(ε·score/2Δ).

    >>> m = Exponential(sensitivity=1, epsilon=1)
    >>> m.choose({"Chinese": 12, "Indian": 9, "American": 11}) in {"Chinese", "Indian", "American"}
    True
    >>> m.guarantee
    PureDP(epsilon=1.0)
    >>> round(m.error(confidence=0.95, candidates=3), 3)
    8.189
    >>> m.probabilities({"Chinese": 12, "Indian": 9, "American": 11})["Chinese"]  # doctest: +ELLIPSIS
    0.546...

    Args:
        sensitivity: Δ, the largest move of one candidate's score between neighbours.
        epsilon: the guarantee.
        monotone: whether a unit moves all scores in one direction; add/remove neighbours only.

    Attributes:
        guarantee: the guarantee of one choice, as `PureDP`.
        event: the event of one choice, for an accountant to price.
    """

    _event = BoundedRange
    _all_rival = True

    def choose(self, scores: Scores[Candidate]) -> Hashable:
        """Return one candidate, or its position if `scores` has no candidates."""
        ballot, rate = read_ballot(scores), self._rate
        return ballot.winner(choose_exp(ballot.exponents(rate), lambda i: ballot.exponent(rate, i)))

    def _chances(self, exponents: Floats) -> Floats:
        return exponential_choice(exponents)
