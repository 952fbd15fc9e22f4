"""Report noisy max: add noise to every score and return the first candidate, but not its score.

**Algorithm.** Round scores to a grid on which Δ is N steps; add to each an independent geometric variable of ratio
e^(-1/s), s = 2N/ε (N/ε for a monotone score under add/remove); return the largest, ties broken at random.

**Statement.** The choice is ε-DP.
**Proof.** Rounding moves no score by more than N steps between neighbours (`grid`). Breaking ties uniformly is
breaking them by a uniformly random ranking of the candidates, drawn beforehand; fix it, and fix the noise of
all candidates but r. Then r wins iff its noise is at least some integer M, and a neighbour's M' satisfies
M' ≤ M + 2N (M + N if all scores move in one direction). A geometric variable has
Pr[G ≥ M + d] = e^(-max(M+d,0)/s) ≥ e^(-d/s)·Pr[G ≥ M] for every integer M and d ≥ 0.  ∎
One-sided noise is enough: this is Dwork and Roth (2014), claim 3.9, whose argument uses only the upper tail; it
is better than Laplace noise (Ding et al., arXiv:2105.07260v1).

**Accuracy.** A given rival t steps below the best wins with probability at most e^(-t/s), so
Pr[u < OPT - t] ≤ (|R|-1)·e^(-t/s), and rounding adds at most one step.

On real bits: scores and noise are integers; the ties that discrete noise has are in the proof.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.errors import InvalidError
from tacit.guarantees.exact import Number, positive
from tacit.keyword_only import keyword_only
from tacit.laws.choice import first_coin_choice
from tacit.mechanisms.grid import check_scale, make_grid
from tacit.mechanisms.selection import Ballot, Candidate, Scores, Selection, read_ballot
from tacit.noise import below_integer, geometric


@keyword_only
class NoisyMax(Selection):
    """Choose the candidate whose noisy score is largest.

    >>> NoisyMax(sensitivity=1, epsilon=1).choose({"a": 3, "b": 8}) in {"a", "b"}
    True

    Args:
        sensitivity: Δ, the largest move of one candidate's score between neighbours; an int for integer scores.
        epsilon: the guarantee.
        monotone: whether a unit moves all scores in one direction; add/remove neighbours only.

    Attributes:
        guarantee: the guarantee of one choice, as `PureDP`.
        event: the event of one choice, for an accountant to price.
    """

    def __init__(self, *, sensitivity: Number, epsilon: Number, monotone: bool = False) -> None:
        """Fix the law, the grid and the guarantee."""
        rate = positive(epsilon, "epsilon") / (1 if monotone is True else 2)
        size = positive(sensitivity, "sensitivity")
        self._grid = make_grid(sensitivity, size, 1, None, 1 / rate)
        self._scale = Fraction(self._grid.l1_steps(size)) / rate
        check_scale(self._scale, "epsilon", epsilon)
        super().__init__(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)

    def choose(self, scores: Scores[Candidate]) -> Hashable:
        """Return one candidate, or its position if `scores` has no candidates."""
        ballot = read_ballot(scores)
        values = self._indices(ballot)
        noise = geometric(self._scale, values.size)
        noisy = values + noise  # within 64 bits, or Python's integers
        first = np.flatnonzero(noisy == noisy.max())
        return ballot.winner(int(first[below_integer(first.size)]))

    def _indices(self, ballot: Ballot) -> Ints:
        """Return the scores on the grid."""
        if not self._grid.integral:
            return self._grid.round(ballot.scores, "scores")
        if ballot.scores.dtype == np.int64:
            return ballot.scores.astype(np.int64)
        hint = "Pass integers, or use a float sensitivity for reals."
        raise InvalidError("The scores are floats, but the sensitivity is an int.", argument="scores", hint=hint)

    def _exponents(self, ballot: Ballot) -> Floats:
        return Ballot(None, self._indices(ballot)).exponents(1 / self._scale)

    def _chances(self, exponents: Floats) -> Floats:
        return first_coin_choice(exponents)

    def error(self, *, confidence: float = 0.95, candidates: int) -> float:
        """Return the largest shortfall of the choice from the best score, with this confidence."""
        rounding = 0.0 if self._grid.integral else float(self._grid.step)
        return super().error(confidence=confidence, candidates=candidates) + rounding
