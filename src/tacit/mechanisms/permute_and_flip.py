"""Permute-and-flip: a selection that is never worse than the exponential mechanism.

**Algorithm** (McKenna and Sheldon, NeurIPS 2020, arXiv:2010.12603v1, algorithm 1). Visit the candidates in random
order; flip a coin that shows with probability e^(rate·(u_r - OPT)), rate = ε/2Δ; return the first whose coin shows.

Here all coins are flipped, and one of those that show is drawn uniformly. This is the same law: coins are
independent of the order, and the first element of a fixed set in a uniformly random order is uniform in it.
The best candidate's coin always shows, so the set is never empty.

**Statement.** The choice is ε-DP; with a monotone score under add/remove, rate ε/Δ is.
**Proof.** Give every candidate a uniform arrival time in place of the order; with p_r = e^(rate·(u_r-OPT)),
Pr[r] = p_r·∫₀¹ Π_{j≠r} (1 - p_j·t) dt. The same integral is the probability that u_r + E_r is largest for
independent exponential E of mean 1/rate: nobody can win below OPT, so put e^(-rate·(u_r+E_r-OPT)) = t, which
turns the density of E_r into p_r·dt on (0, 1] and Pr[u_j + E_j < u_r + E_r] into 1 - p_j·t. (Found by Ding,
Kifer, Saghaian, Steinke, Wang, Xiao and Zhang, arXiv:2105.07260.) For that form, fix all E_j but r's: r wins
iff E_r > max_j(u_j + E_j) - u_r =: M. For a neighbour, M' ≤ M + 2Δ, or M + Δ if all scores move in one
direction; and Pr[E > M + d] ≥ e^(-rate·d)·Pr[E > M].  ∎

**Accuracy.** r wins only if its coin shows, so Pr[u ≤ OPT - t] ≤ (|R|-1)·e^(-rate·t). It is never worse than the
exponential mechanism (McKenna and Sheldon, section 4).

On real bits: coins compare with exact exponentials of rationals, all of them for every outcome.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from tacit.arrays import Floats
from tacit.laws.choice import first_coin_choice
from tacit.mechanisms.selection import Candidate, Scores, Selection, read_ballot
from tacit.noise import below_integer, bernoulli_exp


class PermuteAndFlip(Selection):
    """Choose a candidate, in expectation at least as good as the exponential mechanism's.

    >>> PermuteAndFlip(sensitivity=1, epsilon=1).choose([3, 8, 5]) in {0, 1, 2}
    True

    Args:
        sensitivity: Δ, the largest move of one candidate's score between neighbours.
        epsilon: the guarantee.
        monotone: whether a unit moves all scores in one direction; add/remove neighbours only.

    Attributes:
        guarantee: the guarantee of one choice, as `PureDP`.
        event: the event of one choice, for an accountant to price.
    """

    def choose(self, scores: Scores[Candidate]) -> Hashable:
        """Return one candidate, or its position if `scores` has no candidates."""
        ballot, rate = read_ballot(scores), self._rate
        coins = bernoulli_exp(-ballot.exponents(rate), lambda i: -ballot.exponent(rate, i))
        standing = np.flatnonzero(coins)
        return ballot.winner(int(standing[below_integer(standing.size)]))

    def _chances(self, exponents: Floats) -> Floats:
        return first_coin_choice(exponents)
