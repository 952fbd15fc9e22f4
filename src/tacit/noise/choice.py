"""Exact choice of one candidate with probability proportional to e^(score).

Algorithm. Scores are rationals a_i ≤ 0 with maximum 0. Take integers W_i ≥ 2^k·e^(a_i); draw i with
probability W_i/ΣW exactly (a uniform integer below the sum); accept with probability 2^k·e^(a_i)/W_i, else
start again.
Proof. A round ends with i with probability ∝ W_i·2^k·e^(a_i)/W_i ∝ e^(a_i).  ∎

On real bits: the W_i come from floats. They need only be upper bounds; the proof does not need them to be tight.
np.exp is within 4 units in the last place and a float exponent within 2^-50 of itself, so a factor 1 + 2^-40 and one
unit more cover e^(a) for a ≥ -64, and the one unit alone covers smaller values. With ΣW < 2^63, the sum and its
prefixes are exact. The coin is decided from its float, which is within a relative 2^-43, and by one exact exponential
only in the undecided band (below 2^-39). So every round does the same work for every candidate, and a second round
has probability below 2^-15 for up to 2^20 candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from tacit.arrays import Floats
from tacit.noise.bernoulli import exp_floats, settle_float
from tacit.noise.bits import SYSTEM, BitSource, below_integer, words
from tacit.noise.reals import Real, ceil_div, exp_neg


def choose_exp(score: Floats, exact: Callable[[int], Fraction], bits: BitSource = SYSTEM) -> int:
    """Return index i with probability exactly e^(a_i)/Σe^(a_j).

    Args:
        score: floats within a relative 2^-50 of the a_i ≤ 0; at least one is 0.
        exact: a_i as a rational.
        bits: the source of uniform bytes.
    """
    shift = 61 - int(score.size).bit_length()
    scaled = exp_floats(-score) * 2.0**shift
    weight = (scaled * (1 + 2.0**-40)).astype(np.int64) + 1
    chance = scaled / weight * 2.0**64
    upto = np.cumsum(weight)
    while True:
        index = int(np.searchsorted(upto, below_integer(int(upto[-1]), bits), side="right"))
        real = partial(_accept, exact, index, int(weight[index]), shift)
        if settle_float(chance[index : index + 1], words(bits, np.uint64, 1), real, bits)[0]:
            return index


def _accept(exact: Callable[[int], Fraction], index: int, weight: int, shift: int, _: int) -> Real:
    """Enclose 2^shift·e^score/weight."""
    exponential = exp_neg(-exact(index))

    def real(n: int) -> tuple[int, int]:
        lo, hi = exponential(n + shift)
        return lo // weight, ceil_div(hi, weight)

    return real
